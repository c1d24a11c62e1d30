//! A tool, or a JVM, that is killed in the middle of a recording.

use std::time::Duration;
use std::{fs, thread};

use perk_testkit::jdk;
use perk_testkit::run::Signal;

use super::{ALL, assert_unharmed, attach, perk, start, storm, wait_for_state};
use crate::util::{Folder, stderr};

/// Pseudorandom numbers below `limit`, the same in each run.
fn numbers(seed: u64, limit: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |state| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    })
    .skip(1)
    .map(move |state| (state >> 33) % limit)
}

/// The recording ends with its file finished, the JVM continues, and the next tool records.
#[test]
fn the_recording_of_a_killed_tool_ends() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&storm(jdk, &["work", "locks"]));
        for (round, delay_ms) in numbers(jdk.version.into(), 150).take(8).enumerate() {
            let arguments = [&ALL[..], &["--quiet", "-o", "lost.hprof"]].concat();
            let mut child = attach(&folder, &java, &arguments);
            // In the first round it records; later it may be anywhere.
            match round {
                0 => wait_for_state(&folder, &java, "recording"),
                _ => thread::sleep(Duration::from_millis(delay_ms)),
            }
            child.kill().unwrap();
            child.wait().unwrap();
            wait_for_state(&folder, &java, "idle");
        }
        let output =
            perk(&folder, &java, &["attach", "PID", "--duration", "100ms", "-o", "a.hprof"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(folder.names(), ["a.hprof"]);
        assert_unharmed(java);
    });
}

/// A recording of `perk start` does not depend on the tool, and the end of another tool's connection is
/// none of its.
#[test]
fn only_the_recording_of_the_killed_tool_ends() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let java = start(&storm(jdk, &["work"]));
        let mut child = attach(&folder, &java, &["--quiet", "-o", "lost.hprof"]);
        wait_for_state(&folder, &java, "recording");
        child.kill().unwrap();
        child.wait().unwrap();
        wait_for_state(&folder, &java, "idle");
        let options = format!("cpu=samples,file={}", folder.join("own.txt").display());
        let started = perk(&folder, &java, &["start", "PID", &options]);
        assert!(started.status.success(), "{}", stderr(&started));
        let mut rival = attach(&folder, &java, &["--quiet"]);
        rival.kill().unwrap();
        rival.wait().unwrap();
        wait_for_state(&folder, &java, "recording");
        let stopped = perk(&folder, &java, &["stop", "PID"]);
        assert!(stopped.status.success(), "{}", stderr(&stopped));
        assert!(fs::read_to_string(folder.join("own.txt")).unwrap().contains("CPU SAMPLES"));
        assert_unharmed(java);
    });
}

/// The tool ends, with a line or with a profile.
#[test]
fn a_jvm_is_killed_at_any_moment() {
    jdk::each(|jdk| {
        for delay_ms in numbers(u64::from(jdk.version) + 1, 300).take(7) {
            let folder = Folder::new();
            let mut java = start(&storm(jdk, &["work"]));
            let arguments = [&ALL[..], &["--quiet", "--duration", "150ms", "-o", "a.hprof"]];
            let child = attach(&folder, &java, &arguments.concat());
            thread::sleep(Duration::from_millis(delay_ms));
            java.signal(Signal::KILL);
            let output = child.wait_with_output().unwrap();
            let text = stderr(&output);
            match output.status.code() {
                Some(0) => assert_eq!(folder.names(), ["a.hprof"]),
                code => {
                    assert_eq!(code, Some(2), "{delay_ms} ms: {text}");
                    assert!(text.lines().last().unwrap().starts_with("perk: "), "{text}");
                    assert_eq!(folder.names(), [""; 0], "{delay_ms} ms: {text}");
                }
            }
            assert!(!text.contains("panicked"), "{delay_ms} ms: {text}");
        }
    });
}
