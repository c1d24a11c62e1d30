//! Recordings made byte by byte: every part of the format, and the faults of files.

use perk_formats::{Error, jfr};
use perk_profile::{Event, Line, LockKind, Metric, Profile, Unit};
use proptest::prelude::*;

use super::build::How::{Array, Inline, Millis, Pooled, PooledArray};
use super::build::{
    BOOLEAN, Bytes, CLASS, Chunk, FRAME, INT, LONG, METHOD, STACK, STATE, STRING, SYMBOL, THREAD,
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
fn typed(is_plain: bool) -> Chunk {
    let mut chunk = Chunk::new(is_plain);
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
fn sample(chunk: &mut Chunk, thread: i64, stack: i64, state: i64) {
    let fields = Bytes::of(chunk).long(1).long(thread).long(stack).long(state);
    chunk.event(EXECUTION, fields);
}

/// Adds a CPU-time sample on stack 2.
fn cpu_time(chunk: &mut Chunk, failed: bool, period_ms: i64) {
    let stack = if failed { 0 } else { 2 };
    let fields = Bytes::of(chunk).long(1).long(stack).long(1).byte(failed.into()).long(period_ms);
    chunk.event(CPU_TIME, fields.byte(1));
}

/// Returns a chunk with at least one event of most types.
fn full(is_plain: bool) -> Chunk {
    let mut chunk = typed(is_plain);
    let b = Bytes::of(&chunk);
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
fn unfinished(mut chunk: Chunk) -> Chunk {
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
fn stacks_of_several_chunks_are_told_apart_by_their_frames_and_not_by_keys_or_bytes() {
    let b = |is_plain| Bytes::of(&Chunk::new(is_plain));
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
        // The same bytes stand for other frames.
        chunk(false, &[(100, "two"), (101, "one"), (far, "far")], &[(9, &[100, 101, far])]),
        // Other bytes and another key stand for the same frames.
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
fn unfinished_chunks_are_read_as_far_as_they_go() {
    let unfinished = unfinished(full(false)).finish();
    // Returns the profile without a note that must be there.
    let noted = |mut profile: Profile, part: &str| {
        assert!(has_note(&profile, part), "{:?}", profile.notes);
        profile.notes.retain(|note| !note.contains(part));
        profile
    };
    check_full(&noted(read(&unfinished), "1 chunk was never finished"), 1);
    // Another chunk follows, from another file.
    let two = [unfinished.clone(), full(true).finish()].concat();
    check_full(&noted(read(&two), "1 chunk was never finished"), 2);
    // An event that is not whole, and zeros that were never overwritten.
    for rest in [&[200, 101, 1][..], &[0; 100]] {
        let bytes = [&*unfinished, rest, &full(false).finish()].concat();
        let profile = noted(read(&bytes), "1 chunk was never finished");
        let stray = format!("{} bytes that belong to no event skipped", rest.len());
        check_full(&noted(profile, &stray), 2);
    }
}

#[test]
fn a_chunk_without_types_is_skipped() {
    let mut chunk = unfinished(full(false));
    chunk.is_untyped = true;
    let profile = read(&chunk.finish());
    assert_eq!(Metric::all_of(&profile), []);
    assert!(
        has_note(&profile, "chunk 1 at byte 0: skipped with 18 events: its types are not there"),
        "{:?}",
        profile.notes
    );
}

#[test]
fn a_bad_chunk_loses_only_itself() {
    let good = full(false).finish();
    let (begin, length) = (good.len(), good.len());
    let metadata = good.windows(4).position(|it| it == b"root").unwrap();
    type Change = (&'static str, fn(&mut [u8], usize), u64, &'static str);
    let changes: [Change; 6] = [
        ("magic", |chunk, _| chunk[0] = b'X', 2, "belong to no event skipped, the first at byte"),
        ("version", |chunk, _| chunk[5] = 9, 2, "belong to no event skipped, the first at byte"),
        // The name of the tree's root is longer than the metadata.
        (
            "metadata",
            |chunk, at| chunk[at - 1..at + 4].fill(0xFF),
            2,
            "skipped with 18 events: byte",
        ),
        ("events", |chunk, _| chunk[70..100].fill(0), 2, "its types are not there"),
        ("long", |chunk, _| chunk[12] = 0x7F, 3, ""),
        ("endless", |chunk, _| chunk[8..16].fill(0xFF), 3, ""),
    ];
    for (name, change, count, note) in changes {
        let mut bytes = good.repeat(3);
        change(&mut bytes[begin..begin + length], metadata);
        let mut profile = read(&bytes);
        let place = format!("byte {begin}");
        let is_said = |it: &String| it.contains(note) && it.contains(&place);
        assert!(
            note.is_empty() || profile.notes.iter().any(is_said),
            "{name}: {:?}",
            profile.notes
        );
        let is_of_chunk = |it: &String| it.starts_with("chunk 2 at") || it.contains("no event");
        profile.notes.retain(|it| !is_of_chunk(it));
        check_full(&profile, count);
    }
    // Each of them is bad: the first fault is the file's.
    let mut bytes = good.clone();
    bytes[metadata - 1..metadata + 4].fill(0xFF);
    assert!(matches!(jfr::read(&*bytes.repeat(2)), Err(Error::Offset { .. })));
}

/// Without a clock the numbers that are not times are read.
#[test]
fn without_a_clock_times_are_not_known() {
    let mut bytes = full(false).finish();
    bytes[56..64].fill(0);
    let profile = read(&bytes);
    let with_clock = read(&full(false).finish());
    for metric in [Metric::Samples, Metric::AllocatedBytes, Metric::BlockedCount] {
        let total = metric.rows(&profile).total;
        assert_eq!(total, metric.rows(&with_clock).total, "{metric:?}");
        assert!(total > 0);
    }
    assert_eq!(Metric::BlockedTime.rows(&profile).total, 0);
    assert_eq!(profile.timelines().count(), 0);
    let note = "chunk 1 at byte 0: 0 ticks per second: its times in ticks are not known";
    assert!(has_note(&profile, note), "{:?}", profile.notes);
}

#[test]
fn version_1_has_other_names_of_types() {
    for is_plain in [false, true] {
        let mut chunk = full(is_plain);
        chunk.is_old = true;
        let bytes = chunk.finish();
        assert!(jfr::recognise(&bytes));
        check_full(&read(&bytes), 1);
        // The next chunk is one of a later JDK.
        check_full(&read(&[bytes, full(false).finish()].concat()), 2);
    }
}

#[test]
fn strings_of_the_constant_pool_and_of_other_encodings() {
    let mut chunk = typed(false);
    let b = Bytes::of(&chunk);
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
        let fields = Bytes::of(&chunk).long(ticks).long(1).long(2).long(1);
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
    let fields = Bytes::of(&chunk).long(EXECUTION).text("period").text("10 ms");
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
    let b = Bytes::of(&chunk);
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
            let fields = Bytes::of(&chunk).long(1);
            chunk.event(300 + index, fields);
        }
    }
    let profile = read(&chunk.finish());
    let named = "com.acme.Kind2 (7), com.acme.Kind0 (3), com.acme.Kind3 (2), and 2 more";
    let note = format!("5 event types skipped, 14 events: {named}");
    assert!(profile.notes.contains(&note), "{:?}", profile.notes);
}

#[test]
fn events_that_are_not_as_their_types_say_are_counted() {
    let mut chunk = full(false);
    // One event ends too early; the constant of the other has a type that nothing describes.
    chunk.event(EXECUTION, Bytes::default().byte(1));
    chunk.add_type(210, "jdk.ThreadEnd", &[("thread", 999, Inline)]);
    chunk.event(210, Bytes::default().byte(1));
    chunk.constant(999, 1, Bytes::default().byte(1));
    let profile = read(&chunk.finish());
    assert!(has_note(&profile, "2 events are not as their types say"), "{:?}", profile.notes);
    assert!(has_note(&profile, "1 checkpoint is not as its types say"), "{:?}", profile.notes);
}

#[test]
fn fields_of_other_types_than_the_jdks_are_as_if_not_there() {
    let mut chunk = Chunk::new(false);
    let fields =
        [("stackTrace", INT, Inline), ("sampledThread", STRING, Array), ("state", INT, Inline)];
    chunk.add_type(EXECUTION, "jdk.ExecutionSample", &fields);
    chunk.event(EXECUTION, Bytes::default().int(1).int(1).text("x").int(1));
    check_rows(&weights(&read(&chunk.finish()), &Metric::Samples), &[("", 1)]);
}

#[test]
fn types_that_hold_themselves_or_nothing_end() {
    let mut chunk = Chunk::new(false);
    chunk.add_type(301, "Self", &[("itself", 301, Inline), ("also", 301, Inline)]);
    chunk.add_type(302, "Nothing", &[]);
    // Each level contains two of the level below: 2^30 empty structs.
    for level in 0..30 {
        let below = if level == 0 { 302 } else { 309 + level };
        chunk.add_type(310 + level, "Level", &[("a", below, Inline), ("b", below, Inline)]);
    }
    chunk.add_type(350, "jdk.ThreadStart", &[("thread", 301, Inline)]);
    chunk.add_type(351, "jdk.ThreadEnd", &[("thread", 339, Inline)]);
    chunk.add_type(352, "jdk.ThreadPark", &[("nothing", 302, Array)]);
    for id in [350, 351] {
        chunk.event(id, Bytes::default());
    }
    chunk.event(352, Bytes::default().int(i32::MAX));
    assert!(has_note(&read(&chunk.finish()), "3 events are not as their types say"));
}

#[test]
fn what_is_no_recording_is_an_error() {
    let error = |bytes: &[u8]| jfr::read(bytes).unwrap_err();
    let begin =
        Error::Offset { offset: 0, expected: "\"FLR\" and a zero, the beginning of a chunk" };
    for bytes in [&b""[..], b"F", b"FLR", b"JAVA PROFILE 1.0.2", &[0; 100]] {
        assert_eq!(error(bytes), begin, "{bytes:?}");
    }
    let full = full(false).finish();
    let header = Error::Offset { offset: 67, expected: "a chunk's header of 68 bytes" };
    assert_eq!(error(&full[..67]), header);
    for version in [0, 3] {
        let other = [&full[..4], &[0, version], &full[6..]].concat();
        let expected = "version 1 or 2 of the chunk format (JDK 9 and later)";
        assert_eq!(error(&other), Error::Offset { offset: 4, expected });
    }
    assert!(jfr::recognise(&full) && !jfr::recognise(b"FLR2") && !jfr::recognise(b""));
}

#[test]
fn lengths_are_not_trusted() {
    let full = full(false).finish();
    for size in [68, 100, full.len() as u64 + 1, u64::from(u32::MAX), 1 << 63, u64::MAX] {
        let mut bytes = full.clone();
        bytes[8..16].copy_from_slice(&size.to_be_bytes());
        let profile = read(&bytes);
        assert!(has_note(&profile, "byte") || has_note(&profile, "never finished"), "{size}");
    }
    // The metadata event claims to have 2^31 - 1 strings.
    let head = &full[..68];
    let event = [&[10, 0, 0, 0, 0][..], &[0xff, 0xff, 0xff, 0xff, 0x07]].concat();
    let mut bytes = [head, &event].concat();
    bytes[8..16].copy_from_slice(&(78_u64).to_be_bytes());
    assert_eq!(
        jfr::read(&*bytes).unwrap_err(),
        Error::Offset { offset: 78, expected: "one more byte" }
    );
}

#[test]
fn many_stacks_and_long_names_are_read() {
    const STACKS: i64 = 50_000;
    let mut chunk = typed(false);
    let b = || Bytes::of(&Chunk::default());
    let long = "x".repeat(1 << 20);
    chunk.constant(SYMBOL, 100, b().text(&long));
    chunk.constant(METHOD, 100, b().long(1).long(100).long(5).byte(0));
    for key in 100..100 + STACKS {
        let frame = b().long(100).int(key as i32).int(0).long(1);
        chunk.constant(STACK, key, b().byte(0).int(1).raw(&frame.bytes));
        sample(&mut chunk, 1, key, 1);
    }
    let profile = read(&chunk.finish());
    let samples = profile.cpu_samples().next().unwrap();
    assert_eq!((samples.total, samples.rows.len()), (50_000, 50_000));
    assert!(profile.symbols.strings.lookup(&long).is_some());
}

#[test]
fn numbers_beyond_all_bounds_are_the_most_there_is() {
    let mut chunk = typed(false);
    let b = || Bytes::of(&Chunk::default());
    for _ in 0..3 {
        let weight = b().long(1).long(1).long(1).long(2).long(i64::MAX);
        chunk.event(ALLOCATION, weight);
        chunk.event(ENTER, b().long(1).long(i64::MAX).long(1).long(1).long(1));
    }
    // A value below 0 counts as missing.
    chunk.event(ALLOCATION, b().long(1).long(1).long(2).long(2).long(-1));
    let profile = read(&chunk.finish());
    assert_eq!(Metric::AllocatedBytes.rows(&profile).total, u64::MAX);
    assert_eq!(waits(&profile, "a.B", LockKind::Monitor).blocked_ns, u64::MAX);
}

#[test]
fn cut_anywhere_it_is_read_or_an_error_and_said() {
    let chunk = full(false).finish();
    let two = [chunk.clone(), chunk.clone()].concat();
    for end in 0..two.len() {
        match jfr::read(&two[..end]) {
            Ok(profile) if end == chunk.len() => check_full(&profile, 1),
            Ok(profile) => {
                let is_said =
                    has_note(&profile, "missing at the end") || has_note(&profile, "to no event");
                assert!(is_said, "{end}: {:?}", profile.notes);
            }
            Err(error) => assert!(end < 68, "{end}: {error}"),
        }
    }
}

proptest! {
    #[test]
    fn damage_is_survived(
        is_plain: bool,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = [full(is_plain).finish(), full(false).finish()].concat();
        for (at, mask) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        let _ = jfr::read(&*bytes);
        let _ = jfr::event_counts(&*bytes);
    }

    #[test]
    fn any_bytes_behind_a_header_are_survived(rest in prop::collection::vec(any::<u8>(), 0..300)) {
        for is_unfinished in [false, true] {
            let mut chunk = Chunk::default();
            (chunk.is_unfinished, chunk.is_untyped) = (is_unfinished, true);
            let mut bytes = chunk.finish();
            bytes.extend(&rest);
            if !is_unfinished {
                let size = bytes.len() as u64;
                bytes[8..16].copy_from_slice(&size.to_be_bytes());
            }
            let _ = jfr::read(&*bytes);
        }
    }
}
