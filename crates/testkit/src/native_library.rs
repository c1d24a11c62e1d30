//! Libraries of native methods for Java programs.

use std::path::Path;
use std::process::Command;

use crate::workspace;

/// Has rustc compile a source file of the workspace as a library in a folder. Returns the library's
/// path, for `System.load`.
///
/// # Panics
///
/// Panics if it does not compile.
pub fn compile(source: &str, folder: &Path) -> String {
    compile_with(source, folder, &[])
}

/// Does as [`compile`] with optimisation, for code that must not take long, but with the checks of
/// unoptimised code.
///
/// # Panics
///
/// Panics if it does not compile.
pub fn compile_optimized(source: &str, folder: &Path) -> String {
    compile_with(source, folder, &["-O", "-C", "debug-assertions=on"])
}

fn compile_with(source: &str, folder: &Path, options: &[&str]) -> String {
    let library = folder.join("library.so");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(&library);
    let output =
        rustc.args(options).arg(source).current_dir(workspace()).output().expect("rustc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library.to_str().expect("a name of plain characters").to_owned()
}
