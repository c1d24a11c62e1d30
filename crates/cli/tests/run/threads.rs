//! Threads: files keep them apart, tables and pictures merge them.

use std::fs;

use perk_profile::{Metric, Profile};
use perk_testkit::{Jdk, jdk};

use super::exact::{read, run};
use crate::util::{Folder, stdout};

/// Eight virtual threads without a name, four of which work.
const VIRTUAL: [&str; 3] = ["VirtualThreads", "4", "200"];

/// The names of the threads that have samples below a method.
fn threads_below(profile: &Profile, method: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (key, _) in Metric::Samples.rows(profile).rows {
        let mut frames = profile.frames(key.trace).map(|id| profile.symbols.get_frame(id));
        if frames.any(|frame| profile.symbols.method_name(frame.method) == method) {
            let thread = profile.get_trace(key.trace).thread;
            let name = thread.map_or("-", |thread| profile.thread_name(thread));
            if !names.iter().any(|it| it == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

fn on_each_with_virtual_threads(body: impl Fn(&Jdk)) {
    jdk::each(|jdk| {
        if jdk.version >= 21 {
            body(jdk);
        }
    });
}

#[test]
fn all_virtual_threads_are_one() {
    on_each_with_virtual_threads(|jdk| {
        let folder = Folder::new();
        let options = ["--interval", "1ms", "-o", "o.hprof", "-o", "o.collapsed", "-o", "o.html"];
        run(&folder, jdk, &options, &VIRTUAL);
        let profile = read(&folder, "o.hprof");
        let of_work = threads_below(&profile, "VirtualThreads.burnInVirtual");
        assert_eq!(of_work, ["virtual threads"], "{}", jdk.version);
        assert!(!threads_below(&profile, "VirtualThreads.main").contains(&"-".to_owned()));
        let collapsed = fs::read_to_string(folder.join("o.collapsed")).unwrap();
        assert!(collapsed.contains("VirtualThreads.burnInVirtual "), "{collapsed}");
        assert!(!collapsed.contains("[virtual threads"), "{collapsed}");
        let page = fs::read_to_string(folder.join("o.html")).unwrap();
        assert!(page.contains("virtual threads"), "the page has threads");
        let report = stdout(&folder.run(&["report", "--threads", "o.hprof"]));
        assert!(report.contains("Thread virtual threads: "), "{report}");
    });
}

#[test]
fn unnamed_virtual_threads_are_one_row() {
    on_each_with_virtual_threads(|jdk| {
        let folder = Folder::new();
        let options = ["--threads", "--interval", "1ms", "-o", "o.hprof", "-o", "o.collapsed"];
        run(&folder, jdk, &options, &VIRTUAL);
        let of_work = threads_below(&read(&folder, "o.hprof"), "VirtualThreads.burnInVirtual");
        assert_eq!(of_work, [""], "{}", jdk.version);
        let report = stdout(&folder.run(&["report", "--threads", "o.hprof"]));
        assert_eq!(report.matches("Thread unnamed virtual threads: ").count(), 1, "{report}");
        let collapsed = fs::read_to_string(folder.join("o.collapsed")).unwrap();
        assert!(collapsed.lines().any(|line| line.starts_with("[main")), "{collapsed}");
    });
}

#[test]
fn exact_counts_are_of_all_threads() {
    let program = ["CallCounts", "100"];
    for (options, are_apart) in [
        (&["--cpu", "times"][..], false),
        (&["--heap", "sites"], false),
        (&["--cpu", "times", "--lock"], false),
        (&["--cpu", "times", "--threads"], true),
    ] {
        let folder = Folder::new();
        run(&folder, jdk::compiler(), &[options, &["-o", "o.hprof"]].concat(), &program);
        let profile = read(&folder, "o.hprof");
        let metric = if options[0] == "--cpu" { Metric::Calls } else { Metric::AllocatedBytes };
        let rows = metric.rows(&profile).rows;
        let has_thread =
            |row: &(perk_profile::Key, u64)| profile.get_trace(row.0.trace).thread.is_some();
        assert!(!rows.is_empty());
        assert_eq!(rows.iter().any(has_thread), are_apart, "{options:?}");
    }
}
