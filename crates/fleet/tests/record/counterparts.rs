//! Programs of others that receive, decode and write what perk delivers: see `tests/counterparts`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use perk_testkit::peer;
use serde_json::Value;

/// Whether the counterparts are here.
pub(crate) fn are_here() -> bool {
    peer("counterparts/python/moto/server.py", "counterparts").is_some()
        && peer("counterparts/pprof", "counterparts").is_some()
}

/// A script of `tests/counterparts`.
pub(crate) fn script(name: &str) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts").join(name);
    let mut command = Command::new("python3");
    let packages = perk_testkit::tools().join("counterparts/python");
    command.arg(path).env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Runs a command, and returns what it printed.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// A server that prints its port. It ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A receiver of requests, in a folder.
pub(crate) struct Receiver {
    pub(crate) folder: PathBuf,
    pub(crate) server: Server,
}

/// A request that a receiver got.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Value,
    /// What was done with it.
    pub(crate) behaviour: String,
    pub(crate) body: PathBuf,
}

impl Receiver {
    /// Starts one, with more arguments.
    pub(crate) fn start(folder: PathBuf, more: &[&str]) -> Self {
        fs::create_dir_all(&folder).unwrap();
        let mut command = script("receiver.py");
        command.arg(&folder).args(more);
        Self { folder, server: Server::start(command) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.port
    }

    /// Sets what it does with the requests to come.
    pub(crate) fn behave(&self, behaviour: &str) {
        let part = self.folder.join("behaviour.part");
        fs::write(&part, behaviour).unwrap();
        fs::rename(part, self.folder.join("behaviour")).unwrap();
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<Request> {
        let files = fs::read_dir(&self.folder).unwrap().map(|it| it.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
        files.sort();
        let read = |path: PathBuf| {
            let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            Request {
                path: json["path"].as_str().unwrap().to_owned(),
                headers: json["headers"].clone(),
                behaviour: json["behaviour"].as_str().unwrap().to_owned(),
                body: path.with_extension("body"),
            }
        };
        files.into_iter().map(read).collect()
    }
}

/// The sums of the values of a profile in pprof, as Go's program reads them: type, unit and sum.
#[track_caller]
pub(crate) fn sums_of_pprof(path: &Path) -> Vec<(String, u64)> {
    let pprof = peer("counterparts/pprof", "counterparts").unwrap();
    let text = output(Command::new(pprof).arg("-raw").arg(path));
    let mut lines = text.lines().skip_while(|line| *line != "Samples:").skip(1);
    let types = lines.next().unwrap().split_whitespace();
    let types = types.map(|it| it.trim_end_matches("[dflt]").to_owned());
    let mut sums: Vec<_> = types.map(|it| (it, 0_u64)).collect();
    for line in lines.take_while(|line| *line != "Locations") {
        let Some((values, _)) = line.split_once(": ") else { continue };
        let values: Vec<_> = values.split_whitespace().map(str::parse::<u64>).collect();
        // Labels have lines of their own.
        if values.len() == sums.len() && values.iter().all(Result::is_ok) {
            sums.iter_mut().zip(values).for_each(|(sum, value)| sum.1 += value.unwrap());
        }
    }
    sums
}

/// The JSON that a script prints for a file.
#[track_caller]
pub(crate) fn decoded(name: &str, file: &Path) -> Value {
    serde_json::from_str(&output(script(name).arg(file))).unwrap()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_it: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(90);
    while !is_it() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}
