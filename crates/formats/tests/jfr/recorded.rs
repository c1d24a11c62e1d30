//! The recordings of `testdata/jfr`, with the numbers that `jfr summary` and `jfr print` give for
//! them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use perk_formats::jfr;
use perk_profile::{Event, LockKind, Metric, PauseKind, Profile};

use super::{has_note, metric, waits, weights};

const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
const NO_BLOCKER: &str = "java.util.concurrent.locks.LockSupport";

fn open(name: &str) -> GzDecoder<File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr").join(name);
    GzDecoder::new(File::open(path).unwrap())
}

fn read(name: &str) -> Profile {
    jfr::read(open(name)).unwrap()
}

#[track_caller]
fn check_counts(name: &str, expected: &[(&str, u64)]) {
    let counts = jfr::event_counts(open(name)).unwrap();
    let expected: BTreeMap<String, u64> =
        expected.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
    assert_eq!(counts, expected);
}

fn total(rows: &[(String, u64)]) -> u64 {
    rows.iter().map(|row| row.1).sum()
}

#[test]
fn jdk_17() {
    check_counts(
        "jdk17.jfr.gz",
        &[
            ("jdk.ActiveSetting", 337),
            ("jdk.ObjectAllocationSample", 84),
            ("jdk.ExecutionSample", 44),
            ("jdk.Checkpoint", 14),
            ("jdk.ThreadPark", 10),
            ("jdk.ThreadStart", 9),
            ("jdk.ThreadEnd", 6),
            ("jdk.JavaMonitorEnter", 3),
            ("jdk.JavaMonitorWait", 3),
            ("jdk.GarbageCollection", 2),
            ("jdk.JVMInformation", 1),
            ("jdk.Metadata", 1),
        ],
    );
    let profile = read("jdk17.jfr.gz");
    let samples = profile.cpu_samples().next().unwrap();
    assert_eq!((samples.total, samples.interval_ns), (44, Some(10_000_000)));
    assert_eq!(profile.depth, Some(64));
    assert_eq!(Metric::AllocatedBytes.rows(&profile).total, 168_563_512);
    let blocked = waits(&profile, "java.lang.Object", LockKind::Monitor);
    assert_eq!((blocked.blocked_count, blocked.blocked_ns / 1000), (3, 109_621));
    assert_eq!((blocked.wait_count, blocked.waited_ns / 1000), (3, 98_388));
    let locked = waits(&profile, LOCK, LockKind::Parking);
    assert_eq!((locked.blocked_count, locked.blocked_ns / 1000), (3, 97_236));
    assert_eq!(locked.wait_count, 0);
    let parked = waits(&profile, NO_BLOCKER, LockKind::Parking);
    assert_eq!((parked.wait_count, parked.waited_ns / 1000), (7, 245_482));
    let count = |is_it: fn(&Event) -> bool| profile.events.iter().filter(|it| is_it(it)).count();
    // For one of the starts, the JDK's own tool does not know the thread either.
    assert_eq!(count(|event| matches!(event, Event::ThreadStart(_))), 8);
    assert_eq!(count(|event| matches!(event, Event::ThreadEnd(_))), 6);
    assert!(has_note(
        &profile,
        "recorded of Recorded (process 18402) on OpenJDK 64-Bit Server VM (17.0.15"
    ));
    assert!(has_note(&profile, "1 event names a thread that is not in the file"));
    assert!(has_note(&profile, "9 events have stacks cut off after 64 frames at most"));
    assert!(has_note(&profile, "waits for locks shorter than 5 ms are not recorded"));
    assert!(!has_note(&profile, "skipped"));
    assert_eq!(pauses_us(&profile), [(0, 6156), (94_963, 1151)]);
}

/// The collections: the time since the first, and the length, in microseconds.
fn pauses_us(profile: &Profile) -> Vec<(u64, u64)> {
    let first_ns = profile.pauses().next().map_or(0, |it| it.begin_ns);
    assert!(profile.pauses().all(|it| it.kind == PauseKind::Collection && first_ns > 0));
    let pauses = profile.pauses();
    pauses.map(|it| ((it.begin_ns - first_ns) / 1000, it.duration_ns / 1000)).collect()
}

#[test]
fn jdk_25_with_cpu_time_samples() {
    let profile = read("jdk25.jfr.gz");
    let samples = profile.cpu_samples().next().unwrap();
    // There are 54 samples; two of them represent two periods.
    assert_eq!((samples.total, samples.interval_ns), (56, Some(10_000_000)));
    assert_eq!(total(&metric(&profile, "execution samples")), 63);
    assert_eq!(Metric::AllocatedBytes.rows(&profile).total, 194_833_536);
    assert!(has_note(&profile, "26 events have stacks cut off"));
    assert!(has_note(&profile, "2 CPU-time samples were lost by the JVM"));
    assert!(has_note(&profile, "CPU-time samples are biased to safepoints"));
    assert_eq!(pauses_us(&profile), [(0, 16_405), (207_754, 13_111)]);
}

#[test]
fn of_a_killed_jvm() {
    let profile = read("killed.jfr.gz");
    assert_eq!(Metric::Samples.rows(&profile).total, 60);
    assert!(has_note(&profile, "1 chunk was never finished"));
    assert!(!has_note(&profile, "stack that is not in the file"));
}

#[test]
fn by_async_profiler() {
    check_counts(
        "async-profiler.jfr.gz",
        &[
            ("jdk.ObjectAllocationInNewTLAB", 300),
            ("profiler.WallClockSample", 221),
            ("jdk.ExecutionSample", 73),
            ("jdk.ActiveSetting", 30),
            ("jdk.JavaMonitorEnter", 3),
            ("jdk.ThreadPark", 3),
            ("jdk.ActiveRecording", 1),
            ("jdk.Checkpoint", 1),
            ("jdk.Metadata", 1),
        ],
    );
    let profile = read("async-profiler.jfr.gz");
    let samples = profile.cpu_samples().next().unwrap();
    assert_eq!((samples.total, samples.interval_ns), (73, Some(5_000_000)));
    assert_eq!(total(&metric(&profile, "wall-clock samples")), 940);
    let sites = profile.sites().unwrap();
    assert_eq!(sites.total.allocated_bytes, 157_286_400);
    assert_eq!(sites.sample_interval_bytes, Some(524_288));
    let blocked = waits(&profile, "java.lang.Object", LockKind::Monitor);
    assert_eq!((blocked.blocked_count, blocked.blocked_ns), (3, 90_393_520));
    assert_eq!(waits(&profile, LOCK, LockKind::Parking).blocked_ns, 100_456_514);
    // A native function does not have a class. Its library takes the place of the source file.
    let native = weights(&profile, &Metric::Samples);
    assert!(native.iter().any(|(path, _)| path.contains(";start_thread*")), "{native:#?}");
    let has_library = |name: &str| profile.symbols.strings.lookup(name).is_some();
    assert!(has_library("libjvm.so"));
}
