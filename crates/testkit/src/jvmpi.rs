//! Profilers of JVMPI: libraries in C, compiled with perk's own header.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{fs, process};

use crate::{agent, jdk, workspace};

/// Compiles a source file of the workspace as a library, once. Returns the library's path, whose name is
/// that of the source: `old.c` becomes `libold.so`.
///
/// # Panics
///
/// Panics if it does not compile.
#[track_caller]
pub fn library(source: &str) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _compiling = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let source = workspace().join(source);
    let name = source.file_stem().expect("a source has a name").to_string_lossy();
    let folder = agent::target_folder().join("tmp/jvmpi");
    fs::create_dir_all(&folder).expect("a folder for profilers");
    let library = folder.join(format!("lib{name}.so"));
    // Tests run in processes of their own: each sees a whole library.
    let temporary = folder.join(format!("{name}.{}", process::id()));
    compile(&source, &temporary, &["-shared", "-fPIC"]);
    fs::rename(temporary, &library).expect("the library gets its name");
    library
}

/// Has the C compiler compile a file with JVMPI's header.
///
/// # Panics
///
/// Panics if it does not compile.
#[track_caller]
pub fn compile(source: &Path, result: &Path, options: &[&str]) {
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
