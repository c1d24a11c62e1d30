//! Chunks that are not whole or not right, of files and of other versions.

use super::*;

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
fn events_that_are_not_as_their_types_say_are_counted() {
    let mut chunk = full(false);
    // One event ends too early; the constant of the other has a type that nothing describes.
    chunk.event(EXECUTION, ByteBuilder::default().byte(1));
    chunk.add_type(210, "jdk.ThreadEnd", &[("thread", 999, Inline)]);
    chunk.event(210, ByteBuilder::default().byte(1));
    chunk.constant(999, 1, ByteBuilder::default().byte(1));
    let profile = read(&chunk.finish());
    assert!(has_note(&profile, "2 events are not as their types say"), "{:?}", profile.notes);
    assert!(has_note(&profile, "1 checkpoint is not as its types say"), "{:?}", profile.notes);
}

#[test]
fn fields_of_other_types_than_the_jdks_are_as_if_not_there() {
    let mut chunk = ChunkBuilder::new(false);
    let fields =
        [("stackTrace", INT, Inline), ("sampledThread", STRING, Array), ("state", INT, Inline)];
    chunk.add_type(EXECUTION, "jdk.ExecutionSample", &fields);
    chunk.event(EXECUTION, ByteBuilder::default().int(1).int(1).text("x").int(1));
    check_rows(&weights(&read(&chunk.finish()), &Metric::Samples), &[("", 1)]);
}

#[test]
fn types_that_hold_themselves_or_nothing_end() {
    let mut chunk = ChunkBuilder::new(false);
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
        chunk.event(id, ByteBuilder::default());
    }
    chunk.event(352, ByteBuilder::default().int(i32::MAX));
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
    let b = || ByteBuilder::of(&ChunkBuilder::default());
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
    let b = || ByteBuilder::of(&ChunkBuilder::default());
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
            let mut chunk = ChunkBuilder::default();
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
