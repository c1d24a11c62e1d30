//! `perk-fleet sql` over recordings of real JVMs.

pub(crate) mod answers;
mod events;
mod faults;
mod heap;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use perk_testkit::{jdk, workspace};
use serde_json::Value;

use crate::record::files::{pid, start};
use crate::record::{Place, read};

/// Two recordings of a program that uses the CPU, allocates and waits.
pub(crate) fn recordings() -> &'static [PathBuf] {
    static RECORDED: OnceLock<(Place, Vec<PathBuf>)> = OnceLock::new();
    let (_, files) = RECORDED.get_or_init(|| {
        let place = Place::new();
        jdk::on(17, |jdk| {
            let mut program = start(jdk);
            let recorder = place.start(&[&pid(&program), "--every", "2s", "--budget", "50%"]);
            recorder.wait_until("the files", || place.files().len() >= 4);
            recorder.signal("-INT");
            recorder.end();
            std::fs::write(program.dir().join("go"), "").unwrap();
            program.wait_for_stdout("waits=");
        });
        // The first and the last one can be too short for samples.
        let has_samples =
            |file: &PathBuf| read(file).cpu_samples().map(|it| it.total).sum::<u64>() > 5;
        let files: Vec<_> = place.files().into_iter().filter(has_samples).take(2).collect();
        assert_eq!(files.len(), 2, "{:?}", place.files());
        (place, files)
    });
    files
}

/// A recording of another tool.
fn sample() -> PathBuf {
    workspace().join("testdata/hprof/samples-and-calls.txt")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    command.arg("sql").args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn run(files: &[&Path], arguments: &[&str]) -> Output {
    command(arguments_of(files, arguments).as_slice()).output().unwrap()
}

fn arguments_of<'a>(files: &[&'a Path], arguments: &[&'a str]) -> Vec<&'a str> {
    files.iter().map(|it| it.to_str().unwrap()).chain(arguments.iter().copied()).collect()
}

/// The rows of a query over both recordings.
#[track_caller]
fn rows(query: &str) -> Vec<Value> {
    let files: Vec<_> = recordings().iter().map(PathBuf::as_path).collect();
    rows_of(&files, query)
}

#[track_caller]
pub(crate) fn rows_of(files: &[&Path], query: &str) -> Vec<Value> {
    let output = run(files, &[query, "--json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}\n{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}
