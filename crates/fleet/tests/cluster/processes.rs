//! The processes of a cluster. They end when they are dropped.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use tempfile::TempDir;

use super::wait_until;

/// A scheduler and executors.
pub(super) struct Processes {
    pub(super) scheduler: Process,
    pub(super) executors: Vec<Executor>,
    pub(super) address: String,
}

/// An executor with a folder for its work.
pub(super) struct Executor {
    process: Process,
    folder: TempDir,
}

/// A process that has said that it listens.
pub(super) struct Process {
    child: Child,
    /// What it says first.
    line: String,
    _stderr: BufReader<ChildStderr>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        Self { child, line, _stderr: stderr }
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Executor {
    /// An executor of a scheduler at `HOST:PORT`.
    pub(super) fn start(scheduler: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = folder.path().to_str().unwrap();
        let process = Process::start(&[
            "executor",
            "--scheduler",
            scheduler,
            "--port",
            "0",
            "--tasks",
            "2",
            "--work-dir",
            work_dir,
        ]);
        assert!(process.line.contains("the executor listens"), "{}", process.line);
        Self { process, folder }
    }

    /// Whether it has begun a part of a query: each session has a folder for what does not fit the memory.
    pub(super) fn has_worked(&self) -> bool {
        !self.names().is_empty()
    }

    /// Whether it has results of a part of a query that is not over.
    pub(super) fn has_results(&self) -> bool {
        self.names().iter().any(|it| !it.starts_with("datafusion-"))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }
}

impl Processes {
    pub(super) fn start(executors: usize) -> Self {
        let scheduler = Process::start(&["scheduler", "--port", "0"]);
        let address = scheduler.line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("ballista://127.0.0.1:"), "{}", scheduler.line);
        let place = address.strip_prefix("ballista://").unwrap();
        let executors: Vec<_> = (0..executors).map(|_| Executor::start(place)).collect();
        wait_for_executors(place, executors.len());
        Self { scheduler, executors, address }
    }
}

/// Waits until a scheduler knows its executors.
pub(super) fn wait_for_executors(place: &str, count: usize) {
    wait_until("the executors", || {
        let Ok(mut stream) = TcpStream::connect(place) else { return false };
        write!(stream, "GET /readyz HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.contains(&format!("ready: {count} executors"))
    });
}

/// A question to a cluster.
pub(super) fn command(store: &Path, query: &str, address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    command.arg("sql").arg(store).args([query, "--json", "--cluster", address]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
