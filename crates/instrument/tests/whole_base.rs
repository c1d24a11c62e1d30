//! The whole of java.base with all probes, run by real JVMs.
#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeMap;
use std::fs;

use perk_instrument::{Probes, instrument, leaves};
use perk_testkit::{JavaRun, Jdk, jdk};
use support::Numbers;

const PROBES: Probes = Probes { unwinding: true, lines: true, heap: true, object_record: true };

fn run(jdk: &Jdk) -> BTreeMap<String, i64> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    support::helper(folder);
    let programs = support::program(folder, "WholeBase.java");
    let classes = support::base_classes(jdk, folder, &[]);
    let mut numbers = Numbers::default();
    for (name, bytes) in &classes {
        numbers.leaves.insert(name.clone().into_bytes(), leaves(bytes).unwrap());
    }
    let mut list = String::new();
    for (name, bytes) in &classes {
        let instrumented = instrument(bytes, PROBES, &mut numbers).unwrap();
        assert_eq!(instrumented.skipped, [], "{name}");
        if let Some(bytes) = instrumented.bytes {
            support::patch(folder, name, &bytes);
            list += &format!("{}\n", name.replace('/', "."));
        }
    }
    for entry in fs::read_dir(&programs).unwrap() {
        let path = entry.unwrap().path();
        let instrumented = instrument(&fs::read(&path).unwrap(), PROBES, &mut numbers).unwrap();
        if let Some(bytes) = instrumented.bytes {
            fs::write(&path, bytes).unwrap();
        }
    }
    let patch = format!("--patch-module=java.base={}", folder.join("base").display());
    let outcome = JavaRun::new(jdk)
        .jvm_arg("-Xverify:all")
        .jvm_arg("-Xshare:off")
        .jvm_arg("-Xbatch")
        // One carrier: the counts of virtual threads are exact then.
        .jvm_arg("-Djdk.virtualThreadScheduler.parallelism=1")
        .jvm_arg("-Djdk.virtualThreadScheduler.maxPoolSize=1")
        .jvm_arg(patch)
        .classes(&programs)
        .main("WholeBase")
        .file("classes.txt", list.clone())
        .args(["classes.txt"])
        .timeout(std::time::Duration::from_secs(300))
        .run();
    outcome.assert_success();
    let failed: Vec<_> = outcome.stdout.lines().filter(|it| it.starts_with("failed")).collect();
    assert_eq!(failed, [""; 0]);
    let pairs = outcome.stdout.lines().filter_map(|line| line.split_once('='));
    let mut counts: BTreeMap<_, _> =
        pairs.map(|(name, count)| (name.to_owned(), count.parse().unwrap())).collect();
    assert_eq!(counts.remove("linked"), Some(list.lines().count() as i64));
    counts
}

#[test]
fn java_base_links_and_counts() {
    jdk::each(|jdk| {
        let mut counts = run(jdk);
        let context = format!("JDK {}: {counts:?}", jdk.version);
        let mut take = |name| counts.remove(name).unwrap_or_else(|| panic!("{name}: {context}"));
        // Every entry has its exit, however a method was left.
        assert_eq!((take("depth"), take("unknown")), (0, 0), "{context}");
        for name in ["entered", "exited", "leaves", "lines", "objects", "arrays"] {
            assert!(take(name) > 10_000, "{name}: {context}");
        }
        // Twenty threads begin, and sleep two times.
        if jdk.version >= 21 {
            assert_eq!((take("mounted"), take("unmounted")), (60, 60), "{context}");
        }
        // What is left is how many allocations were counted too much or too little.
        let wrong: BTreeMap<_, _> = counts.iter().filter(|(_, count)| **count != 0).collect();
        assert!(counts.len() == 12 && wrong.is_empty(), "{wrong:?}; {context}");
    });
}
