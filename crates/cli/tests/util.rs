//! The common parts of the integration tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use tempfile::TempDir;

/// The tool under test.
pub(crate) const PERK: &str = env!("CARGO_BIN_EXE_perk");

/// A separate folder for each test, in which it runs perk.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file that can be executed.
    pub(crate) fn program(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns a command of perk in this folder.
    pub(crate) fn perk(&self) -> Command {
        let mut command = Command::new(PERK);
        command.current_dir(self.path()).timeout(Duration::from_secs(120));
        for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_HPROF_OPTIONS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs perk with `arguments`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.perk().args(arguments).output().unwrap()
    }

    /// Returns the names of its files.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns the line of a shell that runs a command with these words, whatever characters they have.
pub(crate) fn shell_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns a path of perk that every user can start it by: the folder of the build may be private.
pub(crate) fn perk_for_all(folder: &Folder) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open.clone()).unwrap();
    let path = folder.join("perk-for-all");
    if !path.exists() {
        fs::copy(PERK, &path).unwrap();
        fs::set_permissions(&path, open).unwrap();
    }
    path
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Fails unless perk refused with one line that contains each of `parts`.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, parts: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(stdout(output), "");
    assert!(text.starts_with("perk: ") && text.lines().count() == 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Waits until `condition` returns a value.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
