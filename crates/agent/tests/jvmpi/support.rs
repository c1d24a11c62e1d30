//! Compiles the profilers and runs programs with them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use perk_testkit::{JavaRun, Jdk, jdk, workspace};

/// Compiles a profiler of the folder `agents`, once. Returns the library's path.
#[track_caller]
pub(crate) fn library(name: &str) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _compiling = COMPILING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("jvmpi");
    std::fs::create_dir_all(&folder).unwrap();
    let (library, own) = (folder.join(format!("lib{name}.so")), std::process::id());
    let source = workspace().join(format!("crates/agent/tests/jvmpi/agents/{name}.c"));
    // Tests run in processes of their own: each sees a whole library.
    let temporary = folder.join(format!("{name}.{own}"));
    compile(&source, &temporary, &["-shared", "-fPIC"]);
    std::fs::rename(temporary, &library).unwrap();
    library
}

/// Has the C compiler compile a file with JVMPI's header.
#[track_caller]
pub(crate) fn compile(source: &Path, result: &Path, options: &[&str]) {
    let java = jdk::compiler().home.join("include");
    let mut command = Command::new("cc");
    command.args(["-std=c89", "-pedantic", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
    for include in [workspace().join("include"), java.clone(), java.join("linux")] {
        command.arg("-I").arg(include);
    }
    let command =
        command.args(options).arg("-o").arg(result).arg(source).args(["-lpthread", "-lm"]);
    let output = command.output().expect("the C compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a run with a profiler and its options; `more` are options of perk, each with a comma after
/// it.
#[track_caller]
pub(crate) fn profiled(jdk: &Jdk, more: &str, name: &str, options: &str) -> JavaRun {
    let library = library(name);
    JavaRun::new(jdk).agent(&format!("{more}jvmpi={}={options}", library.display()))
}
