//! Runs a recorded command line with perk.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, fixture, workspace};

use crate::case::Case;

/// The time that a program runs before a signal is sent to it, and between two signals.
const BEFORE_SIGNAL: Duration = Duration::from_millis(700);

/// Returns the class folder of the recorded programs.
pub(crate) fn classes() -> std::path::PathBuf {
    let folder = workspace().join("java/conformance");
    let entries = fs::read_dir(&folder).expect("the programs of the recorded runs");
    let sources: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "java"))
        .collect();
    let sources: Vec<_> = sources.iter().map(|path| path.as_path()).collect();
    fixture::compile_files_for(8, &sources)
}

/// Returns the recorded command line with perk.
pub(crate) fn with_perk(jdk: &Jdk, case: &Case) -> JavaRun {
    with_options(jdk, case, "")
}

/// Returns the same, with `more` after the options.
pub(crate) fn with_options(jdk: &Jdk, case: &Case, more: &str) -> JavaRun {
    let is_xrun = case.command.command.iter().any(|word| word.starts_with("-Xrun"));
    let mut run = without_agent(jdk, case);
    run = if is_xrun { run.xrunhprof() } else { run.agentlib_hprof() };
    for options in case.command.agent_options() {
        let is_ended = options.is_empty() || options.ends_with(',');
        let separator = if is_ended || more.is_empty() { "" } else { "," };
        run = run.agent(&format!("{options}{separator}{more}"));
    }
    for (name, value) in &case.command.environment {
        run = run.env(name, value);
    }
    for (name, bytes) in case.foreign_files() {
        run = run.file(name, bytes.clone());
    }
    if let Some(name) = case.overwritten() {
        run = run.file(name, "old\n");
    }
    run
}

/// Returns the program alone.
pub(crate) fn without_agent(jdk: &Jdk, case: &Case) -> JavaRun {
    let mut run = JavaRun::new(jdk).classes(classes());
    for arg in case.jvm_args() {
        run = run.jvm_arg(arg);
    }
    match case.main() {
        Some(main) => run.main(main).args(case.args()),
        None => run,
    }
}

/// Runs to the end, and sends the signals that the recorded run got.
pub(crate) fn run(case: &Case, run: &JavaRun) -> Outcome {
    let signal = match case.command.exit_code {
        143 => Some(Signal::TERM),
        -9 => Some(Signal::KILL),
        _ => None,
    };
    if case.quits() == 0 && signal.is_none() {
        return run.run();
    }
    let mut running = run.spawn();
    wait_until_begun(&mut running);
    for quit in 0..case.quits() {
        sleep(BEFORE_SIGNAL);
        running.signal(Signal::QUIT);
        running.wait_until("the thread dump", |running| {
            running.stdout().matches("Full thread dump").count() > quit
        });
    }
    if let Some(signal) = signal {
        sleep(BEFORE_SIGNAL);
        running.signal(signal);
    }
    running.wait()
}

/// Waits until the JVM has the thread that receives signals.
fn wait_until_begun(running: &mut RunningJava) {
    running.wait_until("the JVM's begin", |running| {
        let threads = fs::read_dir(format!("/proc/{}/task", running.pid()));
        let names = threads.into_iter().flatten().flatten();
        let mut names = names.filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
        names.any(|name| name.starts_with("Signal Dispatch"))
    });
}
