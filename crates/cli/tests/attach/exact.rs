//! Calls of running programs, counted exactly.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use perk_testkit::{JavaRun, RunningJava, jdk};
use rustix::process::{Pid, Signal, kill_process};

use super::{attach, perk, start};
use crate::util::{Folder, stderr, wait_for};

/// Records until the program has made a call, however busy the machine is. Returns the messages.
#[track_caller]
fn record(folder: &Folder, java: &RunningJava, options: &[&str]) -> String {
    let mut child = attach(folder, java, options);
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("recording ") {
        assert!(messages.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let round = java.dir().join("round");
    fs::write(&round, "").unwrap();
    wait_for("a call", || (!round.exists()).then_some(()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    messages.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// The program is as before when the recording is over, and a second one is as good as the first.
#[test]
fn calls_of_a_running_program_are_counted() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&JavaRun::new(jdk).main("SpinUntilStop"));
        for kind in ["times", "old"] {
            let options = ["--cpu", kind, "--include", "IdleThreads.burn", "-o", "a.txt"];
            let text = record(&folder, &java, &options);
            // On a busy machine the clock that it reads takes more time than its loop.
            let is_counted = |line: &str| line.ends_with(" IdleThreads.burn");
            assert!(text.lines().any(is_counted), "{text}");
            assert!(text.contains("counted in "), "{text}");
            fs::remove_file(folder.join("a.txt")).unwrap();
        }
        let samples = ["attach", "PID", "--duration", "500ms", "-o", "b.txt"];
        let output = perk(&folder, &java, &samples);
        assert!(output.status.success(), "{}", stderr(&output));
        fs::write(java.dir().join("stop"), "").unwrap();
        java.wait().assert_success();
    });
}

/// Classes that come and go get probes as they are loaded.
#[test]
fn calls_are_counted_in_a_storm_of_classes() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        // The JVM gets rid of the classes often. On a busy machine it takes a minute to change those that it
        // has, several times.
        let run = JavaRun::new(jdk).timeout(Duration::from_secs(300));
        let run = run.jvm_arg("-XX:+UseSerialGC").jvm_arg("-XX:MaxMetaspaceSize=160m");
        let java = start(&run.main("LoadingStorm").args(["2"]));
        for _ in 0..2 {
            let options = ["--cpu", "times", "--include", "LoadingStorm", "-o", "a.txt"];
            let text = record(&folder, &java, &options);
            let is_counted = |line: &str| line.ends_with(" LoadingStorm.define");
            assert!(text.lines().any(is_counted), "{text}");
            fs::remove_file(folder.join("a.txt")).unwrap();
        }
        fs::write(java.dir().join("go"), "").unwrap();
        let outcome = java.wait();
        outcome.assert_success();
        assert!(outcome.number("defined") > 0, "{}", outcome.report());
    });
}
