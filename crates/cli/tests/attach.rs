//! `perk attach`, `perk ps` and the commands for running JVMs, with real JVMs.

mod containers;
mod exact;
mod faults;
mod foreign;
mod gone;
mod kills;
mod limits;
mod litter;
mod namespaces;
mod ps;
mod recording;
mod repeated;
mod rivals;
mod storms;
mod watch;

use std::process::{Child, Command, Output, Stdio};

use perk_testkit::{JavaRun, Jdk, RunningJava};

use crate::util::{Folder, PERK, stdout, wait_for};

/// A JVM that does nothing for longer than any test takes.
fn sleeper(jdk: &Jdk) -> JavaRun {
    JavaRun::new(jdk).main("Sleeper").args(["3600000"])
}

/// Starts a JVM, and waits until its program runs.
pub(crate) fn start(run: &JavaRun) -> RunningJava {
    let mut java = run.spawn();
    java.wait_for_stdout("ready");
    java
}

/// A JVM that runs `AttachStorm` with threads of these kinds, and how it must end.
fn storm(jdk: &Jdk, kinds: &[&str]) -> JavaRun {
    // A JVM since 21 would print a warning.
    let run = JavaRun::new(jdk).jvm_arg("-XX:+EnableDynamicAgentLoading");
    run.main("AttachStorm").args(kinds)
}

/// Has `AttachStorm` end, and fails unless it ran as without perk.
#[track_caller]
fn assert_unharmed(java: RunningJava) {
    std::fs::write(java.dir().join("stop"), "").unwrap();
    let outcome = java.wait();
    outcome.assert_success();
    assert_eq!(outcome.stdout, "ready\nwrong=0\n");
    assert_eq!(outcome.stderr, "");
}

/// Begins to attach, with the arguments after the process id.
fn attach(folder: &Folder, java: &RunningJava, arguments: &[&str]) -> Child {
    let mut command = Command::new(PERK);
    command.args(["attach", &java.pid().to_string()]).args(arguments).current_dir(folder.path());
    // What a killed tool leaves goes with the folder of the JVM.
    command.env("TMPDIR", java.dir());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the agent has this state.
#[track_caller]
pub(crate) fn wait_for_state(folder: &Folder, java: &RunningJava, state: &str) {
    wait_for(state, || {
        let output = perk(folder, java, &["status", "PID"]);
        stdout(&output).contains(&format!("state={state}\n")).then_some(())
    });
}

/// The measurements that can attach.
const ALL: [&str; 5] = ["--cpu", "samples", "--wall", "--alloc", "--lock"];

/// Runs perk with `arguments`, of which `PID` is the JVM.
pub(crate) fn perk(folder: &Folder, java: &RunningJava, arguments: &[&str]) -> Output {
    let pid = java.pid().to_string();
    let arguments = arguments.iter().map(|&it| if it == "PID" { pid.as_str() } else { it });
    folder.perk().args(arguments).output().unwrap()
}
