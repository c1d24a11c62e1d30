//! Tests of the whole of java.base in real JVMs: with all kinds of probes, and with the results of
//! counting.
#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use perk_instrument::HELPER;
use perk_testkit::{JavaRun, Jdk, jdk};
use support::image;
use support::round_trip::{
    self, ACCESSES, BRACKETS, CALLS_OF_SOME, EVERYTHING, ProbeResult, Prober,
};

#[test]
fn java_base_is_written_as_it_was_read() {
    jdk::each(|jdk| {
        for class in image::read(jdk, &["java.base"]) {
            for all_code in [false, true] {
                let result = round_trip::identical(&class.bytes, all_code);
                assert_eq!(result, Ok(()), "JDK {}: {}", jdk.version, class.name);
            }
        }
    });
}

#[test]
fn java_base_links_with_all_kinds_of_probes() {
    jdk::each(|jdk| {
        let classes = image::read(jdk, &["java.base"]);
        let leaves = round_trip::leaf_table(&classes);
        // Together these have all kinds of probes; `xtask roundtrip-jdk` also tests them
        // separately.
        for kind in [CALLS_OF_SOME, EVERYTHING, ACCESSES, BRACKETS] {
            let mut probed = ProbeResult::new(&classes, kind, &leaves);
            // An array of constants, which fills its method.
            const FULL: &str = "sun/util/resources/cldr/LocaleNames_en.getContents()";
            probed.skipped.retain(|it| !(kind.probes.accesses && it.starts_with(FULL)));
            let context = format!("JDK {}: {}", jdk.version, kind.name);
            assert_eq!(probed.skipped, [""; 0], "{context}");
            assert_eq!(probed.link(jdk), [""; 0], "{context}");
        }
    });
}

/// Returns the counts of the probes of java.base and of a program that uses much of it.
fn count(jdk: &Jdk) -> BTreeMap<String, i64> {
    let folder = tempfile::tempdir().unwrap();
    let (patched, programs) = (folder.path().join("patched"), folder.path().join("programs"));
    support::helper(&patched, HELPER);
    support::program(&patched, &programs, "WholeBase.java");
    let classes = image::read(jdk, &["java.base"]);
    let leaves = round_trip::leaf_table(&classes);
    let mut prober = Prober::new(EVERYTHING, &leaves);
    for mut class in classes {
        if let Some(bytes) = prober.instrument(&class.bytes).unwrap().bytes {
            class.bytes = bytes;
            class.write(&patched);
        }
    }
    for entry in fs::read_dir(&programs).unwrap() {
        let path = entry.unwrap().path();
        if let Some(bytes) = prober.instrument(&fs::read(&path).unwrap()).unwrap().bytes {
            fs::write(&path, bytes).unwrap();
        }
    }
    let patch = format!("--patch-module=java.base={}", patched.join("java.base").display());
    let outcome = JavaRun::new(jdk)
        .jvm_arg("-Xverify:all")
        .jvm_arg("-Xshare:off")
        .jvm_arg("-Xbatch")
        // With a single carrier, the counts of virtual threads are exact.
        .jvm_arg("-Djdk.virtualThreadScheduler.parallelism=1")
        .jvm_arg("-Djdk.virtualThreadScheduler.maxPoolSize=1")
        .jvm_arg(patch)
        .classes(&programs)
        .main("WholeBase")
        .timeout(Duration::from_secs(600))
        .run();
    outcome.assert_success();
    let pairs = outcome.stdout.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, count)| (name.to_owned(), count.parse().unwrap())).collect()
}

#[test]
fn java_base_counts() {
    jdk::each(|jdk| {
        let mut counts = count(jdk);
        let context = format!("JDK {}: {counts:?}", jdk.version);
        let mut take = |name| counts.remove(name).unwrap_or_else(|| panic!("{name}: {context}"));
        // Every method restores the position of its caller, in whatever way it ends.
        assert_eq!(take("depth"), 0, "{context}");
        for name in ["entered", "left", "leaves", "objects", "arrays"] {
            assert!(take(name) > 10_000, "{name}: {context}");
        }
        // Twenty threads begin, and each of them sleeps twice.
        if jdk.version >= 21 {
            assert_eq!((take("mounted"), take("unmounted")), (60, 60), "{context}");
        }
        // The remaining counts are the numbers of surplus and missing allocations.
        let wrong: BTreeMap<_, _> = counts.iter().filter(|(_, count)| **count != 0).collect();
        assert!(counts.len() == 12 && wrong.is_empty(), "{wrong:?}; {context}");
    });
}
