//! Calls of running programs, counted exactly.

use std::fs;

use perk_testkit::{JavaRun, jdk};

use super::{perk, start};
use crate::util::{Folder, stderr};

/// The program is as before when the recording is over, and a second one is as good as the first.
#[test]
fn calls_of_a_running_program_are_counted() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&JavaRun::new(jdk).main("SpinUntilStop"));
        for kind in ["times", "old"] {
            let arguments = ["attach", "PID", "--duration", "500ms", "--cpu", kind, "--include"];
            let arguments = [&arguments[..], &["IdleThreads.burn", "-o", "a.txt"]].concat();
            let output = perk(&folder, &java, &arguments);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}");
            let row = text.lines().find(|line| line.ends_with(" IdleThreads.burn"));
            assert!(row.is_some_and(|row| row.trim_start().starts_with("1 ")), "{text}");
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
        // The JVM gets rid of the classes often.
        let run =
            JavaRun::new(jdk).jvm_arg("-XX:+UseSerialGC").jvm_arg("-XX:MaxMetaspaceSize=160m");
        let java = start(&run.main("LoadingStorm").args(["2"]));
        for _ in 0..3 {
            let options = ["--cpu", "times", "--include", "LoadingStorm", "--duration", "200ms"];
            let arguments = [&["attach", "PID", "-o", "a.txt"], &options[..]].concat();
            let output = perk(&folder, &java, &arguments);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}");
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
