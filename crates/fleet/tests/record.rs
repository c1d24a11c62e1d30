//! A recorder, its files, and what it says.

pub(crate) mod counterparts;
pub(crate) mod files;
mod places;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use perk_profile::Profile;

/// A recorder with folders of its own. It is killed when this is dropped.
pub(crate) struct Recorder {
    child: Child,
    log: PathBuf,
}

/// Where a recorder writes.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts a recorder of some JVMs.
    pub(crate) fn start(&self, arguments: &[&str]) -> Recorder {
        self.start_with(arguments, &[])
    }

    /// Starts a recorder of some JVMs with more variables in its environment.
    pub(crate) fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Recorder {
        let (out, spool) = (self.path("out"), self.path("spool"));
        let own = ["--to", out.to_str().unwrap(), "--spool", spool.to_str().unwrap()];
        self.spawn(&[arguments, &own].concat(), variables)
    }

    /// Starts a recorder with these arguments alone.
    pub(crate) fn start_as_is(&self, arguments: &[&str]) -> Recorder {
        self.spawn(arguments, &[])
    }

    fn spawn(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Recorder {
        let count = fs::read_dir(self.0.path()).unwrap().count();
        let log = self.path(&format!("log-{count}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        command.arg("record").args(arguments).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        Recorder { child: command.spawn().unwrap(), log }
    }

    /// The files that were delivered, by path.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        list(&self.path("out"), &mut files);
        files.sort();
        files
    }

    pub(crate) fn profiles(&self) -> Vec<Profile> {
        self.files().iter().map(|path| read(path)).collect()
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // A file that is written now gets its name later.
        let is_part = entry.file_name().to_string_lossy().ends_with(".part");
        match entry.metadata() {
            Ok(its) if its.is_dir() => list(&entry.path(), files),
            Ok(_) if !is_part => files.push(entry.path()),
            _ => {}
        }
    }
}

pub(crate) fn read(path: &Path) -> Profile {
    let packed = fs::read(path).unwrap();
    let plain = zstd::stream::decode_all(&*packed).unwrap();
    perk_hprof::read(&plain[..]).unwrap()
}

impl Recorder {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_it: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_it() {
            assert!(Instant::now() < end, "{what} does not come: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, || self.log().contains(text));
    }

    /// Sends a signal, such as `-INT`.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for the end. Returns the exit code and what was said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.log())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
