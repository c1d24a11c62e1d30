//! The sizes of objects against those that JVMs count with each collector.

use std::collections::BTreeMap;

use perk_heap::{Heap, NoWatch, Options};
use perk_testkit::{JavaRun, Jdk, fixture, jdk, workspace};

use crate::real::ProgramDump;

/// The flags of each layout, and the JDK that has them first.
const LAYOUTS: [(&[&str], u32); 4] = [
    (&[], 17),
    (&["-XX:-UseCompressedOops"], 17),
    (&["-XX:+UseCompactObjectHeaders"], 25),
    (&["-XX:-UseCompressedOops", "-XX:+UseCompactObjectHeaders"], 25),
];

/// The classes whose sizes may differ by some bytes for each object: HotSpot adds fields to them that
/// dumps do not give, or to the class above, and few instances show how large they are. One object
/// of `java.lang.Class` in JDK 17 is larger than its static fields. The only cell of a counter, of which
/// there is one when threads have met, has padding on both sides.
const HIDDEN: [(&str, u64); 7] = [
    ("java.lang.Class", 16),
    ("java.lang.InternalError", 16),
    ("java.lang.invoke.ConstantCallSite", 16),
    ("java.lang.invoke.MethodHandleNatives$CallSiteContext", 16),
    ("java.lang.ref.Finalizer$FinalizerThread", 16),
    ("java.util.concurrent.ConcurrentHashMap$CounterCell", 256),
    ("jdk.internal.misc.InnocuousThread", 16),
];

/// Number and bytes of objects by class.
type Rows = BTreeMap<String, (u64, u64)>;

/// Returns the rows of `jcmd GC.class_histogram`.
fn rows(text: &str) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [rank, count, bytes, name, ..] = words[..] else { continue };
        if rank.ends_with(':') && rank != "num" {
            let name = perk_profile::names::from_signature(name).replace("/0x", ".0x");
            let row = rows.entry(name).or_default();
            row.0 += count.parse::<u64>().unwrap();
            row.1 += bytes.parse::<u64>().unwrap();
        }
    }
    rows
}

fn rows_of(heap: &Heap) -> Rows {
    let mut rows = Rows::new();
    for class in heap.classes().iter().filter(|it| it.instance_count > 0) {
        let row = rows.entry(class.name.replace('+', ".")).or_default();
        row.0 += class.instance_count;
        row.1 += class.shallow_bytes;
    }
    rows
}

/// Compares the classes of a JVM whose numbers of objects are the same in the dump and in the
/// JVM's histograms before and after it. Returns how many are equal, and the others but [`HIDDEN`].
fn compare(jdk: &Jdk, flags: &[&str]) -> (usize, Vec<String>) {
    let source = workspace().join("java/bench/HeapMix.java");
    let run = JavaRun::new(jdk).classes(fixture::compile_files(&[&source])).jvm_arg("-Xmx512m");
    let run = flags.iter().fold(run, |run, flag| run.jvm_arg(*flag));
    let dumped = ProgramDump::new(run.main("HeapMix").args(["1"]), "READY");
    let histogram = || rows(&dumped.jcmd(&["GC.class_histogram", "-all"]));
    let before = histogram();
    dumped.dump(&dumped.path.with_extension("second"));
    let after = histogram();
    let path = dumped.path.with_extension("second");
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let (mut equal, mut differ, mut hidden_count) = (0, Vec::new(), 0);
    for (name, found) in rows_of(&heap) {
        let Some(of_jvm) = before.get(&name).filter(|it| after.get(&name) == Some(it)) else {
            continue;
        };
        if of_jvm.0 != found.0 {
            continue;
        }
        let is_hidden = HIDDEN.iter().any(|(class, bytes)| {
            *class == name && (found.1..=found.1 + bytes * found.0).contains(&of_jvm.1)
        });
        match of_jvm.1 == found.1 {
            true => equal += 1,
            false if is_hidden => hidden_count += 1,
            false => {
                differ.push(format!("{name}: {} objects, {} for {}", found.0, found.1, of_jvm.1));
            }
        }
    }
    let version = jdk.version;
    eprintln!("JDK {version}, {flags:?}: {equal} equal, {hidden_count} have hidden bytes");
    (equal, differ)
}

/// Checks a collector: on JDK 17 and 25 with all layouts, on JDK 21 with the usual one.
fn check(collector: &str) {
    jdk::each(|jdk| {
        let layouts = if jdk.version == 21 { &LAYOUTS[..1] } else { &LAYOUTS };
        for (layout, _) in layouts.iter().filter(|it| it.1 <= jdk.version) {
            let flags: Vec<&str> = [collector].into_iter().chain(layout.iter().copied()).collect();
            let (equal, differ) = compare(jdk, &flags);
            assert_eq!(differ, [] as [String; 0], "JDK {}, {flags:?}", jdk.version);
            assert!(equal >= 150, "JDK {}, {flags:?}: only {equal} are equal", jdk.version);
        }
    });
}

#[test]
fn sizes_with_serial() {
    check("-XX:+UseSerialGC");
}

#[test]
fn sizes_with_parallel() {
    check("-XX:+UseParallelGC");
}

#[test]
fn sizes_with_g1() {
    check("-XX:+UseG1GC");
}

#[test]
fn sizes_with_zgc() {
    check("-XX:+UseZGC");
}

#[test]
fn sizes_with_shenandoah() {
    check("-XX:+UseShenandoahGC");
}
