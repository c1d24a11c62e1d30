//! The common parts of the tests of the agent's files: short ways to run a program, to check its
//! file strictly and to examine its samples.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_control::{DumpPart, messages};
use perk_profile::{Profile, TraceId};
use perk_testkit::hprof::{Frame, HprofFormat, Recording, Trace};
use perk_testkit::{JavaRun, Jdk, Outcome, workspace};

/// Samples by method.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The file that runs write.
pub(crate) const FILE: &str = "o.txt";
/// HPROF's default interval.
pub(crate) const INTERVAL_NS: u64 = 10_000_000;

/// Returns a run that writes [`FILE`] with `cpu=samples` and more options, which begin with a
/// comma.
pub(crate) fn sampled(jdk: &Jdk, options: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("cpu=samples,file={FILE}{options}"))
}

/// Runs a program that must succeed, and checks its file.
#[track_caller]
pub(crate) fn run(jdk: &Jdk, options: &str, main: &str, args: &[&str]) -> (Outcome, Recording) {
    let outcome = sampled(jdk, options).main(main).args(args).run();
    outcome.assert_success();
    let text = checked(&outcome);
    (outcome, text)
}

/// Reads a text file with samples alone, of the original or of perk.
pub(crate) fn read_text(bytes: &[u8]) -> Result<Recording, String> {
    read(bytes, HprofFormat::Text)
}

/// Reads a text file with samples alone that perk has written.
pub(crate) fn read_perk_text(bytes: &[u8]) -> Result<Recording, String> {
    let recording = read_text(bytes)?;
    recording.check_perk()?;
    Ok(recording)
}

/// Reads records of samples and sites, of the original or of perk.
pub(crate) fn read_records(bytes: &[u8]) -> Result<Recording, String> {
    read(bytes, HprofFormat::Binary)
}

fn read(bytes: &[u8], format: HprofFormat) -> Result<Recording, String> {
    let recording = Recording::read(bytes)?;
    if recording.format != format {
        return Err(format!("{:?}, not {format:?}", recording.format));
    }
    recording.check_plain()?;
    Ok(recording)
}

/// Returns the text of [`FILE`], strictly checked.
#[track_caller]
pub(crate) fn checked(outcome: &Outcome) -> Recording {
    match read_perk_text(outcome.bytes(FILE)) {
        Ok(text) => text,
        Err(what) => panic!("{FILE}: {what}\n{}", outcome.report()),
    }
}

/// Runs a program with `format=p`. Returns its profile, and the samples of the threads whose names
/// begin with a prefix. Samples without a stack have no thread and are counted for these threads:
/// other threads have few.
#[track_caller]
pub(crate) fn run_by_threads(
    jdk: &Jdk,
    options: &str,
    main: &str,
    args: &[&str],
    threads: &str,
) -> (Outcome, Profile, u64) {
    let outcome = sampled(jdk, &format!(",thread=y,format=p{options}")).main(main).args(args).run();
    outcome.assert_success();
    let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
    let is_theirs = |trace: &TraceId| {
        let thread = profile.get_trace(*trace).thread;
        thread.is_some_and(|thread| profile.thread_name(thread).starts_with(threads))
    };
    let rows = profile.cpu_samples().flat_map(|samples| samples.rows);
    let theirs: u64 = rows.filter(|(trace, _)| is_theirs(trace)).map(|(_, count)| count).sum();
    let without_stack = profile.accounting.as_ref().unwrap().unattributed_count;
    (outcome, profile, theirs + without_stack)
}

/// Returns a file of the original agent.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path: PathBuf = workspace().join("testdata/hprof").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the message of one dump on stderr.
pub(crate) fn progress() -> String {
    let part = DumpPart::Samples.progress();
    format!("{}{part}{}", messages::DUMP_BEGIN, messages::DUMP_END)
}

/// Fails unless `found` is within `percent` of `expected`, give or take `slack`.
#[track_caller]
pub(crate) fn assert_near(found: u64, expected: u64, percent: u64, slack: u64, what: &str) {
    let limit = expected * percent / 100 + slack;
    let difference = found.abs_diff(expected);
    assert!(difference <= limit, "{what}: {found}, expected {expected} +- {limit}");
}

/// Returns the samples of the traces that `wanted` selects.
pub(crate) fn samples_where(recording: &Recording, wanted: impl Fn(&Trace) -> bool) -> u64 {
    let counts = recording.samples_by_trace();
    counts.iter().filter(|(serial, _)| wanted(&recording.traces[serial])).map(|(_, n)| n).sum()
}

/// Returns a method's name: with its signature if the file has it and it is wanted.
fn method(frame: &Frame, with_signature: bool) -> String {
    let signature = frame.signature.as_deref().filter(|_| with_signature);
    frame.method.clone() + signature.unwrap_or_default()
}

/// Returns the samples by the method on top of the stack.
pub(crate) fn self_counts(recording: &Recording, with_signature: bool) -> Counts {
    let mut counts = Counts::new();
    for (serial, count) in recording.samples_by_trace() {
        let top = recording.frames(serial).first();
        let top = top.map_or("<empty trace>".to_owned(), |frame| method(frame, with_signature));
        *counts.entry(top).or_default() += count;
    }
    counts
}

/// Returns the samples by each method on the stack; recursion counts once.
pub(crate) fn total_counts(recording: &Recording, with_signature: bool) -> Counts {
    let mut counts = Counts::new();
    for (serial, count) in recording.samples_by_trace() {
        let frames = recording.frames(serial).iter();
        let methods: BTreeSet<String> = frames.map(|frame| method(frame, with_signature)).collect();
        for method in methods {
            *counts.entry(method).or_default() += count;
        }
    }
    counts
}

/// Whether a trace of `CpuBound` lies between the first and the last reading of its clock: below
/// its main method, but not in the calls that the clock itself needs. Traces must have all their frames:
/// the first strings that are printed take 10 to 100 ms of class loading, far above the main method.
pub(crate) fn in_main(trace: &Trace) -> bool {
    trace.has("CpuBound.main") && !trace.has("Work.<clinit>")
}

/// A mount that is undone when dropped.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system in memory; if that is not allowed, reports it and returns `None`.
    pub(crate) fn new(folder: &Path, options: &str) -> Option<Mount> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "perk-test"])
            .arg(folder)
            .output()
            .expect("mount starts");
        if mount.status.success() {
            return Some(Mount(folder.to_owned()));
        }
        let reason = String::from_utf8_lossy(&mount.stderr);
        // Written directly, as the output of a passing test is captured.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no tmpfs can be mounted: {reason}");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fails if the JVM or the agent complained.
#[track_caller]
pub(crate) fn assert_quiet(outcome: &Outcome) {
    for line in outcome.stdout.lines().chain(outcome.stderr.lines()) {
        let complaint = ["WARNING", "FATAL", "HPROF ERROR", "# A fatal", "Exception"];
        assert!(!complaint.iter().any(|word| line.contains(word)), "{}", outcome.report());
    }
}

/// Fails unless the deepest trace of a program with 50,000 frames has `depth` of them, or all.
#[track_caller]
pub(crate) fn assert_deepest(jdk: &Jdk, options: &str, depth: usize) {
    let options = format!("{options},depth={depth},cutoff=0.01");
    let (outcome, text) = run(jdk, &options, "DeepRecursion", &["50000", "800"]);
    assert_eq!(outcome.stdout, "depth=50000\n");
    let deepest = text.traces.values().map(|trace| trace.frames.len()).max().unwrap();
    let expected = if depth < 50_000 { depth..depth + 1 } else { 50_000..50_100 };
    assert!(expected.contains(&deepest), "{deepest} of {depth}");
}
