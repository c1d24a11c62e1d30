//! The agent and the tool under test. They are built at the first request.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use serde_json::Value;

use crate::workspace;

/// Returns the path of the agent library: `$PERK_AGENT_SO`, or a library built as it is shipped.
///
/// # Panics
///
/// Panics if it does not build.
pub fn agent_so() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            given_or_built("PERK_AGENT_SO", &["--profile", "agent", "-p", "perk-agent"])
        })
        .clone()
}

/// Returns the path of the `perk` command: `$PERK_BIN`, or a command built in debug mode.
///
/// # Panics
///
/// Panics if it does not build.
pub fn perk_bin() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| given_or_built("PERK_BIN", &["-p", "perk-cli", "--bin", "perk"])).clone()
}

/// Creates a folder that holds the agent as `libhprof.so`, for `LD_LIBRARY_PATH`.
pub(crate) fn hprof_folder(parent: &Path) -> PathBuf {
    let folder = parent.join("hprof-lib");
    fs::create_dir_all(&folder).expect("a folder for libhprof.so");
    let link = folder.join("libhprof.so");
    if !link.exists() {
        std::os::unix::fs::symlink(agent_so(), link).expect("a link to the agent");
    }
    folder
}

/// Returns Cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => workspace().join(folder),
        None => workspace().join("target"),
    }
}

fn given_or_built(variable: &str, arguments: &[&str]) -> PathBuf {
    let artifact = match env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => build(arguments),
    };
    artifact.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", artifact.display()))
}

/// Builds and returns the resulting shared library or executable.
fn build(arguments: &[&str]) -> PathBuf {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .current_dir(workspace())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo build {arguments:?}: {}", output.status);
    let messages = String::from_utf8_lossy(&output.stdout);
    artifact(&messages).unwrap_or_else(|| panic!("cargo build {arguments:?} made nothing"))
}

/// Returns the last shared library or executable in cargo's messages.
fn artifact(messages: &str) -> Option<PathBuf> {
    let file = |message: Value| -> Option<PathBuf> {
        let executable = message["executable"].as_str();
        let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        executable.or_else(|| files.find(|name| name.ends_with("libperk.so"))).map(PathBuf::from)
    };
    messages.lines().filter_map(|line| serde_json::from_str(line).ok()).filter_map(file).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_found_in_cargos_messages() {
        let library = r#"{"reason":"compiler-artifact","filenames":["/t/libperk.so"],"executable":null}
{"reason":"build-finished","success":true}"#;
        assert_eq!(artifact(library), Some(PathBuf::from("/t/libperk.so")));
        let binary = r#"{"reason":"compiler-artifact","filenames":["/t/libx.so"],"executable":null}
{"reason":"compiler-artifact","filenames":["/t/perk"],"executable":"/t/perk"}"#;
        assert_eq!(artifact(binary), Some(PathBuf::from("/t/perk")));
        assert_eq!(artifact("{}\nnot json\n"), None);
    }
}
