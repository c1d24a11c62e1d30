//! Recordings made byte by byte: every part of the format, and the faults of files.

mod damage;

use perk_formats::{Error, jfr};
use perk_profile::{Event, Line, LockKind, Metric, Profile, Unit};
use proptest::prelude::*;

use super::build::FieldValue::{Array, Inline, Millis, Pooled, PooledArray};
use super::build::{
    BOOLEAN, ByteBuilder, CLASS, ChunkBuilder, FRAME, INT, LONG, METHOD, STACK, STATE, STRING,
    SYMBOL, THREAD,
};
use super::{has_note, metric, waits, weights};

const EXECUTION: i64 = 101;
const CPU_TIME: i64 = 102;
const ALLOCATION: i64 = 103;
const ENTER: i64 = 104;
const PARK: i64 = 105;
const SETTING: i64 = 106;
const START: i64 = 107;
const OTHER: i64 = 108;
const NATIVE: i64 = 109;

const MAIN: &str = "main;a.B.main:7";
const LEAF: &str = "main;a.B.main:7;a.B.leaf*";

/// Returns a chunk with the types of events that are read, as the JDK has them, and without events.
fn typed(is_plain: bool) -> ChunkBuilder {
    let mut chunk = ChunkBuilder::new(is_plain);
    let sample = [
        ("startTime", LONG, Inline),
        ("sampledThread", THREAD, Pooled),
        ("stackTrace", STACK, Pooled),
        ("state", STATE, Pooled),
    ];
    chunk.add_type(EXECUTION, "jdk.ExecutionSample", &sample);
    chunk.add_type(NATIVE, "jdk.NativeMethodSample", &sample);
    let sample = [
        ("startTime", LONG, Inline),
        ("stackTrace", STACK, Pooled),
        ("eventThread", THREAD, Pooled),
        ("failed", BOOLEAN, Inline),
        ("samplingPeriod", LONG, Millis),
        ("biased", BOOLEAN, Inline),
    ];
    chunk.add_type(CPU_TIME, "jdk.CPUTimeSample", &sample);
    let at = [
        ("startTime", LONG, Inline),
        ("eventThread", THREAD, Pooled),
        ("stackTrace", STACK, Pooled),
    ];
    let mut fields = at.to_vec();
    fields.extend([("objectClass", CLASS, Pooled), ("weight", LONG, Inline)]);
    chunk.add_type(ALLOCATION, "jdk.ObjectAllocationSample", &fields);
    for (id, name, class) in
        [(ENTER, "jdk.JavaMonitorEnter", "monitorClass"), (PARK, "jdk.ThreadPark", "parkedClass")]
    {
        let mut fields = at.to_vec();
        fields.insert(1, ("duration", LONG, Inline));
        fields.push((class, CLASS, Pooled));
        chunk.add_type(id, name, &fields);
    }
    let fields = [("id", LONG, Inline), ("name", STRING, Inline), ("value", STRING, Inline)];
    chunk.add_type(SETTING, "jdk.ActiveSetting", &fields);
    let fields = [("startTime", LONG, Inline), ("thread", THREAD, Pooled)];
    chunk.add_type(START, "jdk.ThreadStart", &fields);
    let fields = [
        ("methods", METHOD, PooledArray),
        ("names", STRING, Array),
        ("frames", FRAME, Array),
        ("flag", BOOLEAN, Inline),
    ];
    chunk.add_type(OTHER, "app.Other", &fields);
    chunk
}

/// Adds an execution sample: thread, stack, state.
fn sample(chunk: &mut ChunkBuilder, thread: i64, stack: i64, state: i64) {
    let fields = ByteBuilder::of(chunk).long(1).long(thread).long(stack).long(state);
    chunk.event(EXECUTION, fields);
}

/// Adds a CPU-time sample on stack 2.
fn cpu_time(chunk: &mut ChunkBuilder, failed: bool, period_ms: i64) {
    let stack = if failed { 0 } else { 2 };
    let fields =
        ByteBuilder::of(chunk).long(1).long(stack).long(1).byte(failed.into()).long(period_ms);
    chunk.event(CPU_TIME, fields.byte(1));
}

/// Returns a chunk with at least one event of most types.
fn full(is_plain: bool) -> ChunkBuilder {
    let mut chunk = typed(is_plain);
    let b = ByteBuilder::of(&chunk);
    chunk.event(SETTING, b.clone().long(EXECUTION).text("period").text("20 ms"));
    chunk.event(SETTING, b.clone().long(ENTER).text("threshold").text("10 ms"));
    chunk.event(START, b.clone().long(9).long(2));
    chunk.event(START, b.clone().long(3).long(1));
    for (stack, state) in [(1, 1), (1, 1), (2, 1), (0, 1), (9, 1), (1, 2)] {
        sample(&mut chunk, 1, stack, state);
    }
    sample(&mut chunk, 2, 2, 1);
    chunk.event(NATIVE, b.clone().long(1).long(1).long(1).long(1));
    chunk.event(ALLOCATION, b.clone().long(1).long(1).long(1).long(2).long(1 << 40));
    chunk.event(ALLOCATION, b.clone().long(1).long(1).long(1).long(2).long(1000));
    // 2,500 ticks are 2.5 ms.
    chunk.event(ENTER, b.clone().long(1).long(2500).long(1).long(1).long(1));
    chunk.event(PARK, b.clone().long(1).long(1000).long(1).long(1).long(3));
    chunk.event(PARK, b.clone().long(1).long(1000).long(1).long(1).long(0));
    let frame = b.clone().long(1).int(1).int(2).long(1).bytes;
    let other = b.clone().int(2).long(1).long(2).int(2).text("x").byte(0).int(1).raw(&frame);
    chunk.event(OTHER, other.byte(1));
    chunk
}

/// Returns the chunk as a killed JVM leaves it.
fn unfinished(mut chunk: ChunkBuilder) -> ChunkBuilder {
    chunk.is_unfinished = true;
    chunk
}

fn read(bytes: &[u8]) -> Profile {
    jfr::read(bytes).unwrap()
}

#[track_caller]
fn check_rows(rows: &[(String, u64)], expected: &[(&str, u64)]) {
    let rows: Vec<_> = rows.iter().map(|(path, count)| (path.as_str(), *count)).collect();
    assert_eq!(rows, expected);
}

#[track_caller]
fn check_full(profile: &Profile, times: u64) {
    let samples = [("main", 2), (MAIN, 1), (LEAF, 2), ("virtual threads;a.B.main:7", 1)]
        .map(|(path, count)| (path, count * times));
    check_rows(&weights(profile, &Metric::Samples), &samples);
    assert!(profile.cpu_samples().all(|it| it.interval_ns == Some(20_000_000)));
    check_rows(&metric(profile, "native samples"), &[(LEAF, times)]);
    check_rows(&metric(profile, "waiting samples"), &[(LEAF, times)]);
    let site = &*format!("{LEAF};int[]");
    check_rows(&weights(profile, &Metric::AllocatedBytes), &[(site, ((1 << 40) + 1000) * times)]);
    let blocked = waits(profile, "a.B", LockKind::Monitor);
    assert_eq!((blocked.blocked_count, blocked.blocked_ns), (times, 2_500_000 * times));
    let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    assert_eq!(waits(profile, lock, LockKind::Parking).blocked_ns, 1_000_000 * times);
    let parked = waits(profile, "java.util.concurrent.locks.LockSupport", LockKind::Parking);
    assert_eq!((parked.wait_count, parked.waited_ns), (times, 1_000_000 * times));
    assert_eq!(profile.depth, Some(1));
    let created = profile.created.unwrap();
    assert_eq!((created.unix_ms, created.utc_offset_s), (1_700_000_000_123, 3600));
    assert!(has_note(profile, "waits for locks shorter than 10 ms are not recorded"));
    assert!(has_note(profile, "counted without one"));
    assert!(has_note(profile, "cut off after 1 frames at most"));
    assert!(has_note(profile, "1 event type skipped, "));
    assert_eq!(profile.notes.len(), 4, "{:?}", profile.notes);
}

#[test]
fn everything_is_read() {
    for is_plain in [false, true] {
        check_full(&read(&full(is_plain).finish()), 1);
    }
}

#[test]
fn threads_start_in_order_of_time() {
    let profile = read(&full(false).finish());
    let started: Vec<_> = profile
        .events
        .iter()
        .filter_map(|event| match *event {
            Event::ThreadStart(id) => Some(profile.thread_name(id)),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["main", "virtual threads"]);
}

#[test]
fn frames_have_lines_bytecode_indexes_and_signatures() {
    let profile = read(&full(false).finish());
    let trace = profile.cpu_samples().next().unwrap().rows.iter().find(|row| row.1 == 2).unwrap().0;
    let frames: Vec<_> = profile.frames(trace).map(|id| profile.symbols.get_frame(id)).collect();
    assert_eq!(frames.len(), 2);
    assert_eq!((frames[0].line, frames[0].bci), (Line::Native, None));
    assert_eq!((frames[1].line, frames[1].bci), (Line::Number(7), Some(3)));
    let signature = profile.symbols.get_method(frames[1].method).signature.unwrap();
    assert_eq!(profile.symbols.strings.get(signature), "()V");
}

#[test]
fn chunks_add_up() {
    // Each chunk specifies whether it is compressed.
    let bytes = [full(false).finish(), full(true).finish(), full(false).finish()].concat();
    let profile = read(&bytes);
    check_full(&profile, 3);
    assert_eq!(profile.threads.len(), 2);
    let counts = jfr::event_counts(&*bytes).unwrap();
    assert_eq!((counts["jdk.ExecutionSample"], counts["app.Other"]), (21, 3));
}

#[test]
fn stacks_of_several_chunks_are_distinguished_by_their_frames_and_not_by_keys_or_bytes() {
    let b = |is_plain| ByteBuilder::of(&ChunkBuilder::new(is_plain));
    // The methods by key; for each stack its key, and the methods of its frames.
    let chunk = |is_plain, methods: &[(i64, &str)], stacks: &[(i64, &[i64])]| {
        let mut chunk = typed(is_plain);
        for &(key, name) in methods {
            chunk.constant(SYMBOL, key, b(is_plain).text(name));
            chunk.constant(METHOD, key, b(is_plain).long(1).long(key).long(5).byte(0));
        }
        for &(key, frames) in stacks {
            let mut stack = b(is_plain).byte(0).int(frames.len() as i32);
            for &method in frames {
                stack = stack.long(method).int(1).int(0).long(1);
            }
            chunk.constant(STACK, key, stack);
            sample(&mut chunk, 1, key, 1);
        }
        chunk.finish()
    };
    let far = i64::MAX - 1;
    let bytes = [
        chunk(false, &[(100, "one"), (101, "two"), (far, "far")], &[(9, &[100, 101, far])]),
        // The same bytes represent other frames.
        chunk(false, &[(100, "two"), (101, "one"), (far, "far")], &[(9, &[100, 101, far])]),
        // Other bytes and another key represent the same frames.
        chunk(false, &[(7, "far"), (8, "one"), (9, "two")], &[(5, &[8, 9, 7]), (6, &[9, 8, 7])]),
        chunk(true, &[(100, "one"), (101, "two"), (far, "far")], &[(9, &[100, 101, far])]),
        // A method that this chunk does not have is lost, even if an earlier chunk had it.
        chunk(false, &[(101, "two"), (far, "far")], &[(9, &[100, 101, far])]),
    ];
    let profile = read(&bytes.concat());
    let samples = profile.cpu_samples().next().unwrap();
    let mut rows: Vec<_> = samples
        .rows
        .iter()
        .map(|&(trace, count)| {
            let frames = profile.frames(trace).map(|frame| {
                let method = profile.symbols.get_frame(frame).method;
                profile.symbols.method_name(method)
            });
            (frames.collect::<Vec<_>>().join(" "), count)
        })
        .collect();
    rows.sort();
    let rows: Vec<_> = rows.iter().map(|(frames, count)| (frames.as_str(), *count)).collect();
    assert_eq!(rows, [("", 1), ("a.B.one a.B.two a.B.far", 3), ("a.B.two a.B.one a.B.far", 2)]);
    assert!(has_note(&profile, "1 event has a stack that is not in the file"));
}

#[test]
fn strings_of_the_constant_pool_and_of_other_encodings() {
    let mut chunk = typed(false);
    let b = ByteBuilder::of(&chunk);
    chunk.constant(STRING, 5, b.clone().byte(5).int(2).raw(b"\xE4z"));
    chunk.constant(STRING, 6, b.clone().byte(2).long(6));
    // A name by key, another in UTF-16 with a character of two units, and one that refers to
    // itself.
    chunk.constant(THREAD, 5, b.clone().byte(0).long(0).byte(2).long(5).long(5).byte(0));
    let units = b.clone().byte(4).int(2).int(0xd83d).int(0xde00).bytes;
    chunk.constant(THREAD, 6, b.clone().byte(0).long(0).raw(&units).long(6).byte(0));
    chunk.constant(THREAD, 7, b.clone().byte(0).long(7).byte(2).long(6).long(0).byte(0));
    for thread in [5, 6, 7] {
        sample(&mut chunk, thread, 2, 1);
    }
    let names = ["thread 7;a.B.main:7", "äz;a.B.main:7", "😀;a.B.main:7"].map(|name| (name, 1));
    check_rows(&weights(&read(&chunk.finish()), &Metric::Samples), &names);
}

#[test]
fn cpu_time_samples_count_as_their_periods() {
    let mut chunk = typed(false);
    sample(&mut chunk, 1, 2, 1);
    for (failed, period_ms) in [(false, 10), (true, 10), (false, 20)] {
        cpu_time(&mut chunk, failed, period_ms);
    }
    let profile = read(&chunk.finish());
    check_rows(&weights(&profile, &Metric::Samples), &[("main", 1), (MAIN, 3)]);
    assert_eq!(profile.sample_interval_ns(), Some(10_000_000));
    check_rows(&metric(&profile, "execution samples"), &[(MAIN, 1)]);
    assert!(has_note(&profile, "1 CPU-time sample failed: it has no stack"));
    assert!(has_note(&profile, "3 CPU-time samples are biased to safepoints"));
    // If one period is not a multiple of the other, each sample counts once, and the time is a
    // metric.
    cpu_time(&mut chunk, false, 15);
    let profile = read(&chunk.finish());
    check_rows(&weights(&profile, &Metric::Samples), &[("main", 1), (MAIN, 3)]);
    assert_eq!(profile.sample_interval_ns(), None);
    check_rows(&metric(&profile, "CPU time"), &[("main", 10_000_000), (MAIN, 45_000_000)]);
    assert_eq!(Metric::find(&profile, "CPU time").unwrap().unit(), Unit::Nanoseconds);
}

/// Times are since the first chunk's start, to 10 ms.
#[test]
fn samples_have_times() {
    let mut chunk = typed(false);
    // The chunk begins at tick 77, a tick is a microsecond. One event is from before.
    for ticks in [77, 5, 10_076, 10_077, 3_000_077] {
        let fields = ByteBuilder::of(&chunk).long(ticks).long(1).long(2).long(1);
        chunk.event(EXECUTION, fields);
    }
    let bytes = chunk.finish();
    let ticks = |bytes: &[u8]| -> Vec<_> {
        let profile = read(bytes);
        let timelines: Vec<_> = profile.timelines().collect();
        let [timeline] = timelines[..] else { panic!("{timelines:?}") };
        assert_eq!(timeline.head.metric, Metric::Samples);
        let thread = |row: &perk_profile::TimelineRow| profile.thread_name(row.thread.unwrap());
        assert!(timeline.rows.iter().all(|row| thread(row) == "main"));
        timeline.rows.iter().map(|row| (row.tick, row.count)).collect()
    };
    assert_eq!(ticks(&bytes), [(0, 3), (1, 1), (300, 1)]);
    // A second chunk that begins a second later.
    let mut later = bytes.clone();
    later[32..40].copy_from_slice(&1_700_000_001_123_000_000_i64.to_be_bytes());
    let both = [bytes, later].concat();
    let expected = [(0, 3), (1, 1), (99, 1), (100, 2), (101, 1), (300, 1), (400, 1)];
    assert_eq!(ticks(&both), expected);
    // Weights of CPU-time samples have times as well.
    let mut chunk = typed(false);
    for period_ms in [10, 20] {
        cpu_time(&mut chunk, false, period_ms);
    }
    assert_eq!(ticks(&chunk.finish()), [(0, 3)]);
}

#[test]
fn periods_that_changed_are_no_interval() {
    let mut chunk = full(false);
    let fields = ByteBuilder::of(&chunk).long(EXECUTION).text("period").text("10 ms");
    chunk.event(SETTING, fields);
    assert_eq!(read(&chunk.finish()).sample_interval_ns(), None);
}

#[test]
fn allocations_by_buffer_are_taken_before_samples() {
    let mut chunk = full(false);
    let fields = [
        ("eventThread", THREAD, Pooled),
        ("stackTrace", STACK, Pooled),
        ("objectClass", CLASS, Pooled),
        ("allocationSize", LONG, Inline),
        ("tlabSize", LONG, Inline),
    ];
    chunk.add_type(201, "jdk.ObjectAllocationInNewTLAB", &fields);
    chunk.add_type(202, "jdk.ObjectAllocationOutsideTLAB", &fields[..4]);
    let b = ByteBuilder::of(&chunk);
    chunk.event(201, b.clone().long(1).long(2).long(2).long(16).long(1600));
    chunk.event(202, b.long(1).long(2).long(2).long(5000));
    let profile = read(&chunk.finish());
    check_rows(&weights(&profile, &Metric::AllocatedBytes), &[(&format!("{MAIN};int[]"), 6600)]);
    let sites = profile.sites().unwrap();
    assert_eq!((sites.total.allocated_count, sites.sample_interval_bytes), (101, Some(3300)));
    assert!(has_note(&profile, "2 event types skipped, 3 events: "), "{:?}", profile.notes);
}

#[test]
fn the_most_frequent_of_the_skipped_events_are_named() {
    let mut chunk = full(false);
    for (index, count) in [(0, 3), (1, 1), (2, 7), (3, 2)] {
        chunk.add_type(300 + index, &format!("com.acme.Kind{index}"), &[("value", LONG, Inline)]);
        for _ in 0..count {
            let fields = ByteBuilder::of(&chunk).long(1);
            chunk.event(300 + index, fields);
        }
    }
    let profile = read(&chunk.finish());
    let named = "com.acme.Kind2 (7), com.acme.Kind0 (3), com.acme.Kind3 (2), and 2 more";
    let note = format!("5 event types skipped, 14 events: {named}");
    assert!(profile.notes.contains(&note), "{:?}", profile.notes);
}
