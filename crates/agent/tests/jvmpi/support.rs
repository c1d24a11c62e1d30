//! Compiles the profilers and runs programs with them.

use std::path::PathBuf;

use perk_testkit::{JavaRun, Jdk, jvmpi};

pub(crate) use perk_testkit::jvmpi::compile;

/// Compiles a profiler of the folder `agents`, once. Returns the library's path.
#[track_caller]
pub(crate) fn library(name: &str) -> PathBuf {
    jvmpi::library(&format!("crates/agent/tests/jvmpi/agents/{name}.c"))
}

/// Returns a run with a profiler and its options; `more` are options of perk, each with a comma after
/// it.
#[track_caller]
pub(crate) fn profiled(jdk: &Jdk, more: &str, name: &str, options: &str) -> JavaRun {
    let library = library(name);
    JavaRun::new(jdk).agent(&format!("{more}jvmpi={}={options}", library.display()))
}
