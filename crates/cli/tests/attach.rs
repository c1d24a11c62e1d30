//! `perk attach`, `perk ps` and the commands for running JVMs, with real JVMs.

mod containers;
mod faults;
mod foreign;
mod namespaces;
mod ps;
mod recording;

use std::process::Output;

use perk_testkit::{JavaRun, Jdk, RunningJava};

use crate::util::Folder;

/// A JVM that does nothing for longer than any test takes.
fn sleeper(jdk: &Jdk) -> JavaRun {
    JavaRun::new(jdk).main("Sleeper").args(["3600000"])
}

/// Starts a JVM, and waits until its program runs.
fn start(run: &JavaRun) -> RunningJava {
    let mut java = run.spawn();
    java.wait_for_stdout("ready");
    java
}

/// Runs perk with `arguments`, of which `PID` is the JVM.
fn perk(folder: &Folder, java: &RunningJava, arguments: &[&str]) -> Output {
    let pid = java.pid().to_string();
    let arguments = arguments.iter().map(|&it| if it == "PID" { pid.as_str() } else { it });
    folder.perk().args(arguments).output().unwrap()
}
