//! One run of a program, and what is compared with that without perk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use perk_profile::Accounting;
use perk_testkit::agent;
use procfs::process::Process;

use super::flags::Flags;
use super::programs::{Program, Start};

/// The time limit of a run, with room for other load on the machine.
const LONGEST: Duration = Duration::from_secs(300);
/// The time between two looks at a running program.
const PERIOD: Duration = Duration::from_millis(5);
/// The file of the agent.
const FILE: &str = "o.hprof";
/// The exit code of scripts that cannot run here.
const SKIPPED: i32 = 77;

/// A program without perk.
#[derive(Debug)]
pub(super) struct PlainRun {
    output: Output,
    /// The most memory that it held.
    pub(super) peak_bytes: u64,
}

/// What a program leaves.
#[derive(Debug, PartialEq)]
struct Output {
    code: Option<i32>,
    /// The lines on stdout, without times.
    lines: Vec<String>,
    /// A hash of each class file that it made.
    classes: BTreeMap<String, u64>,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// As without perk.
    Right,
    /// Otherwise.
    Wrong {
        what: Fault,
        /// Where its files are.
        folder: PathBuf,
    },
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Crash(ExitStatus),
    Hang,
    Difference,
    /// The agent's file cannot be read, or records a panic.
    Profile,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Crash(status) => write!(f, "crash ({status})"),
            Fault::Hang => write!(f, "no end within {} s", LONGEST.as_secs()),
            Fault::Difference => f.write_str("other output than without perk"),
            Fault::Profile => f.write_str("no good profile"),
        }
    }
}

/// A run under perk.
#[derive(Debug)]
pub(super) struct SampledRun {
    pub(super) ending: Ending,
    pub(super) accounting: Accounting,
    /// The samples that the agent says were lost.
    pub(super) lost_count: u64,
    pub(super) peak_bytes: u64,
}

impl PlainRun {
    /// Runs a program without perk; `None` if it cannot run here.
    pub(super) fn of(program: &Program) -> Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let run = Run::of(program, folder.path(), &[])?;
        let output = run.output(folder.path());
        if output.code == Some(SKIPPED) {
            return Ok(None);
        }
        ensure!(output.code == Some(0), "it ended with {:?}: {:?}", run.status, output.lines);
        Ok(Some(Self { output, peak_bytes: run.peak_bytes }))
    }
}

/// Runs a program under perk. The folder of a run that is not right is moved into `kept`.
pub(super) fn sampled(
    program: &Program,
    plain: &PlainRun,
    flags: &Flags,
    interval: &str,
    kept: &Path,
) -> Result<SampledRun> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(FILE);
    let options = format!(
        "cpu=samples,engine=signal,interval={interval},depth=1024,format=p,force=y,file={}",
        file.display()
    );
    let mut arguments = vec![format!("-agentpath:{}={options}", agent::agent_so().display())];
    arguments.push("-Xlog:disable".to_owned());
    arguments.extend(flags.all.iter().map(|&it| it.to_owned()));
    let run = Run::of(program, folder.path(), &arguments)?;
    let output = run.output(folder.path());
    let profile = fs::read(&file).ok().and_then(|bytes| perk_hprof::read(&*bytes).ok());
    let accounting = profile.and_then(|profile| profile.accounting);
    let is_good = accounting.as_ref().is_some_and(|it| it.fault_count == 0);
    let fault = match run.status {
        None => Some(Fault::Hang),
        Some(status) if output.code != plain.output.code => Some(Fault::Crash(status)),
        Some(_) if !output.is_like(&plain.output, flags) => Some(Fault::Difference),
        Some(_) => (!is_good).then_some(Fault::Profile),
    };
    let stderr = fs::read_to_string(folder.path().join("stderr")).unwrap_or_default();
    let ending = match fault {
        None => Ending::Right,
        Some(what) => {
            fs::write(folder.path().join("command"), format!("{program:?} {arguments:?}\n"))?;
            Ending::Wrong { what, folder: keep(folder, kept)? }
        }
    };
    let accounting = accounting.unwrap_or_default();
    Ok(SampledRun {
        ending,
        accounting,
        lost_count: lost_count(&stderr),
        peak_bytes: run.peak_bytes,
    })
}

/// Returns the number in the agent's line about samples that were lost.
fn lost_count(stderr: &str) -> u64 {
    let line = stderr.lines().find(|line| line.contains(" samples were lost"));
    let words = line.into_iter().flat_map(str::split_whitespace);
    words.filter_map(|word| word.parse().ok()).next().unwrap_or(0)
}

/// Moves a run's folder to where it stays.
fn keep(folder: tempfile::TempDir, kept: &Path) -> Result<PathBuf> {
    let from = folder.keep();
    fs::create_dir_all(kept).with_context(|| kept.display().to_string())?;
    let to = kept.join(from.file_name().context("a folder has a name")?);
    // The temporary folder may be on another disk.
    let moved = Command::new("mv").args([&from, &to]).status();
    Ok(if moved.is_ok_and(|status| status.success()) { to } else { from })
}

/// A process that has ended.
struct Run {
    /// `None` if it had to be killed.
    status: Option<ExitStatus>,
    peak_bytes: u64,
}

impl Run {
    /// Runs a program in a folder, with options of the JVM.
    fn of(program: &Program, folder: &Path, options: &[String]) -> Result<Self> {
        let mut command = match &program.start {
            Start::Java(arguments) => {
                let mut command = Command::new(&program.java);
                command.args(options).args(arguments);
                command
            }
            Start::Script(script) => {
                let mut command = Command::new(script);
                command.env("JAVA", &program.java).env("JAVA_OPTS", options.join(" "));
                command
            }
        };
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(variable);
        }
        let stream = |name: &str| File::create(folder.join(name));
        command.current_dir(folder).stdin(Stdio::null());
        command.stdout(stream("stdout")?).stderr(stream("stderr")?);
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let (begin, mut peak_bytes) = (Instant::now(), 0);
        let status = loop {
            peak_bytes = peak_of(child.id()).unwrap_or(0).max(peak_bytes);
            match child.try_wait()? {
                Some(status) => break Some(status),
                None if begin.elapsed() < LONGEST => thread::sleep(PERIOD),
                None => {
                    // A JVM that can still do so prints where it stands.
                    let _ = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status();
                    thread::sleep(Duration::from_secs(2));
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
            }
        };
        Ok(Self { status, peak_bytes })
    }

    fn output(&self, folder: &Path) -> Output {
        let text = fs::read(folder.join("stdout")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let is_steady = |line: &&str| !line.contains("_ns=");
        let lines = text.lines().filter(is_steady).map(str::to_owned).collect();
        let mut classes = BTreeMap::new();
        hash_files(&folder.join("classes"), &mut classes);
        let code = self.status.and_then(|status| match status.signal() {
            Some(signal) => Some(128 + signal),
            None => status.code(),
        });
        Output { code, lines, classes }
    }
}

impl Output {
    fn is_like(&self, plain: &Output, flags: &Flags) -> bool {
        if !flags.is_chatty {
            return self == plain;
        }
        // The program's lines are there, in their order.
        let mut lines = self.lines.iter();
        self.classes == plain.classes && plain.lines.iter().all(|line| lines.any(|it| it == line))
    }
}

/// Returns the most memory that a process has held, as the kernel counts it.
fn peak_of(pid: u32) -> Option<u64> {
    let status = Process::new(pid.try_into().ok()?).ok()?.status().ok()?;
    Some(status.vmhwm? << 10)
}

fn hash_files(folder: &Path, into: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            hash_files(&path, into);
        } else if let Ok(bytes) = fs::read(&path) {
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            into.insert(name, hasher.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_are_differences_unless_the_jvm_is_chatty() {
        let output = |lines: &[&str]| Output {
            code: Some(0),
            lines: lines.iter().map(|&it| it.to_owned()).collect(),
            classes: BTreeMap::new(),
        };
        let (quiet, chatty) = (
            Flags { all: &[], is_slow: false, is_chatty: false },
            Flags { all: &["-Xcheck:jni"], is_slow: false, is_chatty: true },
        );
        let plain = output(&["a=1", "b=2"]);
        assert!(output(&["a=1", "b=2"]).is_like(&plain, &quiet));
        assert!(!output(&["a=1", "WARNING", "b=2"]).is_like(&plain, &quiet));
        assert!(output(&["a=1", "WARNING", "b=2"]).is_like(&plain, &chatty));
        assert!(!output(&["b=2", "a=1"]).is_like(&plain, &chatty));
    }

    #[test]
    fn lost_samples_are_read_from_the_agents_line() {
        assert_eq!(lost_count("x\nHPROF WARNING: 17 samples were lost: they came too fast\n"), 17);
        assert_eq!(lost_count("Dumping CPU usage by sampling running threads ... done.\n"), 0);
    }
}
