//! Attaching to one JVM again and again.

use std::fs;

use perk_testkit::{RunningJava, jdk};

use super::{ALL, assert_unharmed, perk, start, storm};
use crate::util::{Folder, stderr};

const ROUNDS: usize = 100;
/// The rounds after which the JVM has what it needs for all of them.
const WARM_UP: usize = 20;
/// The limit of what the JVM's memory may grow by in the other rounds: 400 KiB each. The tables of a
/// recording take more (600 KiB).
const MOST_KB: u64 = (ROUNDS - WARM_UP) as u64 * 400;

/// What a process has.
#[derive(Debug)]
struct Resources {
    descriptors: usize,
    mappings: usize,
    kb: u64,
}

impl Resources {
    fn of(java: &RunningJava) -> Self {
        let file = |name: &str| format!("/proc/{}/{name}", java.pid());
        let status = fs::read_to_string(file("status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            descriptors: fs::read_dir(file("fd")).unwrap().count(),
            mappings: fs::read_to_string(file("maps")).unwrap().lines().count(),
            kb: rss.trim().strip_suffix(" kB").unwrap().parse().unwrap(),
        }
    }
}

/// The names of perk's threads.
fn own_threads(java: &RunningJava) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", java.pid())).unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).filter(|name| name.contains("perk")).collect()
}

#[test]
fn a_hundred_recordings_leave_nothing() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        // The heap has its size from the start, so that it does not count.
        let heap = ["-XX:+UseSerialGC", "-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch"];
        let run =
            heap.iter().fold(storm(jdk, &["work", "locks", "garbage"]), |run, it| run.jvm_arg(it));
        let java = start(&run.timeout(std::time::Duration::from_secs(300)));
        let more = ["--interval", "1ms", "--quiet", "--duration", "10ms", "-o", "a.hprof"];
        let arguments = [&["attach", "PID"], &ALL[..], &more].concat();
        let mut before = None;
        for round in 0..ROUNDS {
            let output = perk(&folder, &java, &arguments);
            assert!(output.status.success(), "round {round}: {}", stderr(&output));
            if round + 1 == WARM_UP {
                before = Some(Resources::of(&java));
            }
        }
        let (before, after) = (before.unwrap(), Resources::of(&java));
        assert_eq!(own_threads(&java), ["perk control"]);
        assert!(after.descriptors <= before.descriptors, "{before:?}, {after:?}");
        assert!(after.mappings <= before.mappings + 32, "{before:?}, {after:?}");
        assert!(after.kb <= before.kb + MOST_KB, "{before:?}, {after:?}");
        assert_unharmed(java);
    });
}
