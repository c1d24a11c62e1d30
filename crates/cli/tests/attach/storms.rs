//! Attaching while the JVM loads and unloads classes, and while it collects garbage.

use perk_testkit::jdk;

use super::{ALL, assert_unharmed, perk, start, storm};
use crate::util::{Folder, stderr};

/// The recordings of each JVM.
const RECORDINGS: usize = 3;

/// Attaches with all measurements while threads of these kinds run.
fn attach_to(kinds: &[&str]) {
    jdk::each(|jdk| {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseZGC"] {
            let folder = Folder::new();
            let java = start(&storm(jdk, kinds).jvm_arg(collector).jvm_arg("-Xmx128m"));
            for _ in 0..RECORDINGS {
                let more = ["--interval", "1ms", "--quiet", "--duration", "100ms", "-o", "a.hprof"];
                let output = perk(&folder, &java, &[&["attach", "PID"], &ALL[..], &more].concat());
                if !output.status.success() {
                    // The JVM says why it has ended.
                    std::fs::write(java.dir().join("stop"), "").unwrap();
                    panic!("{collector}: {}\n{:?}", stderr(&output), java.wait());
                }
            }
            assert_unharmed(java);
        }
    });
}

#[test]
fn classes_come_and_go() {
    attach_to(&["classes", "locks"]);
}

#[test]
fn garbage_is_collected_without_a_pause() {
    attach_to(&["garbage", "classes"]);
}
