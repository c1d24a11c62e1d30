//! The tools that tests of all crates need to start real JVMs: JDKs, compiled Java programs, the
//! agent, a runner that never hangs, recorded runs of the original agent, and readers of HPROF
//! files that are independent of perk's own.
//!
//! This crate is for development only: nothing that ships depends on it. Functions that set up a
//! test panic with the reason if they fail, because a test cannot handle such an error.

#![forbid(unsafe_code)]

pub mod agent;
pub mod combinations;
pub mod fixture;
pub mod golden;
pub mod hprof;
pub mod jdk;
pub mod jvmpi;
pub mod native_library;
pub mod protobuf;
pub mod random_accesses;
pub mod random_program;
pub mod run;
pub mod webdriver;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub use jdk::Jdk;
pub use random_accesses::RandomAccesses;
pub use random_program::RandomProgram;
pub use run::{JavaRun, Outcome, RunningJava, Signal, compiled_at_once};

/// Returns the root of the workspace.
pub fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is where it was compiled")
}

/// Returns the folder of what `tools/setup.sh` gets: `$PERK_TOOLS`, or `.tools` of the workspace.
pub fn tools() -> PathBuf {
    env::var_os("PERK_TOOLS").map_or_else(|| workspace().join(".tools"), PathBuf::from)
}

/// Returns a file of another tool in [`tools`], and reports on stderr if `part` of `tools/setup.sh` has
/// not put it there.
pub fn peer(file: &str, part: &str) -> Option<PathBuf> {
    let path = tools().join(file);
    if !path.is_file() {
        // Bypasses the capture of test output, which a passing test never shows.
        let line = format!("*** NOT TESTED BESIDE {part}: tools/setup.sh {part} gets it ***");
        let _ = writeln!(io::stderr(), "{line}");
        return None;
    }
    Some(path)
}

/// Returns the file that perk writes before it gets the name `file`, if there is one.
pub fn part_of(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let entries = fs::read_dir(file.parent()?).ok()?.flatten();
    let is_part = |path: &PathBuf| {
        let rest = path.file_name()?.to_str()?.strip_prefix(name)?;
        (rest.starts_with(".perk-") && rest.ends_with(".part")).then_some(())
    };
    entries.map(|entry| entry.path()).find(|path| is_part(path).is_some())
}
