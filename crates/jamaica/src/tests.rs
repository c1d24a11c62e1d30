//! Tests of the reader and the writer.

use perk_profile::{Line, Metric, Profile, Unit};
use proptest::prelude::*;

use super::*;

const SEED: &str = include_str!("../../../testdata/jamaica/seed.prof");

/// A line of each keyword, as perk writes them.
const ALL: &str = include_str!("../../../testdata/jamaica/perk.prof");

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn total(profile: &Profile, name: &str) -> u64 {
    Metric::find(profile, name).map_or(0, |metric| metric.rows(profile).total)
}

#[test]
fn the_manuals_lists_are_read() {
    let profile = read(SEED.as_bytes()).unwrap();
    assert_eq!(profile.notes, [""; 0]);
    assert_eq!(Metric::first_of(&profile), Some(Metric::other("bytecodes", Unit::Count)));
    let sum = |keyword: &str| -> u64 {
        let rows = SEED.lines().filter_map(|line| line.strip_prefix(keyword));
        rows.map(|row| row.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(total(&profile, "bytecodes"), sum("PROFILE: "));
    assert_eq!(total(&profile, "cycles"), sum("PROFILE_CYCLES: "));
    let names: Vec<_> = profile
        .traces()
        .iter()
        .filter_map(|trace| profile.tree.frame(trace.node))
        .map(|frame| {
            let method = profile.symbols.get_frame(frame).method;
            let signature = profile.symbols.get_method(method).signature;
            let signature = signature.map_or("", |id| profile.symbols.strings.get(id));
            profile.symbols.method_name(method) + signature
        })
        .collect();
    assert_eq!(names[0], "java.nio.ByteBufferImpl.put(B)Ljava/nio/ByteBu");
    assert!(names.iter().any(|name| name == "java.nio.Buffer.hasRemaining()Z"), "{names:?}");
    assert!(names.iter().any(|name| name == "HelloWorld.main([Ljava/lang/String;)V"), "{names:?}");
}

#[test]
fn the_manuals_list_is_laid_out_as_there() {
    let profile = read(SEED.as_bytes()).unwrap();
    let text = written(&profile);
    // Further down, methods whose names the manual cut to the same text are one method.
    for (line, expected) in text.lines().zip(SEED.lines()).take(10) {
        assert_eq!(line.find('/'), expected.find('/'), "{line}");
        assert_eq!(line.split_whitespace().nth(1), expected.split_whitespace().nth(1));
    }
}

#[test]
fn cut_names_are_written_and_read_as_they_are() {
    let text = written(&read(SEED.as_bytes()).unwrap());
    assert_eq!(written(&read(text.as_bytes()).unwrap()), text);
}

#[test]
fn each_keyword_is_read_and_written() {
    let profile = read(ALL.as_bytes()).unwrap();
    assert_eq!(profile.notes, [""; 0]);
    assert_eq!(written(&profile), ALL);
    let calls: u64 = profile.call_times().flat_map(|times| times.rows).map(|row| row.count).sum();
    assert_eq!(calls, 1005);
    let sites = profile.sites().unwrap();
    assert_eq!((sites.total.live_count, sites.total.allocated_bytes), (5321, 2_915_936));
}

#[test]
fn what_several_runs_appended_adds_up() {
    let profile = read(ALL.repeat(3).as_bytes()).unwrap();
    assert_eq!(total(&profile, "bytecodes"), 1200);
    assert_eq!(total(&profile, "threads at once"), 7);
    assert_eq!(profile.sites().unwrap().total.allocated_count, 3 * 91_123);
    assert!(written(&profile).contains("PROFILE_INVOKE: 3000 @ 12 "));
    assert!(written(&profile).contains("PROFILE: 900 (75%)      A.main("));
    assert!(written(&profile).contains("PROFILE_LINES: 840 A.main("));
    assert!(written(&profile).contains(" A.java 3:30:30:1/1 5:810:90:9/12 7:0:0:0/4\n"));
}

#[test]
fn of_several_walks_of_the_heap_the_last_counts() {
    let walk = |objects: u64, words: u64| {
        format!(
            "HEAP_REFS: 5 of {words} words (1%)\n\
             HEAP_USE: {objects} objects * 1 blocks * 16 bytes = 32 bytes (100%) trees: 0 (0%) A\n"
        )
    };
    let profile = read((walk(2, 100) + &walk(7, 90) + &walk(3, 80)).as_bytes()).unwrap();
    assert_eq!((total(&profile, "heap words"), total(&profile, "heap references")), (80, 5));
    let live = profile.sites().unwrap();
    assert_eq!((live.total.live_count, live.rows[0].objects.live_count), (3, 3));
}

#[test]
fn bytecodes_belong_to_lines_or_to_the_method() {
    let profile = read(ALL.as_bytes()).unwrap();
    let metric = Metric::find(&profile, metric::BYTECODES).unwrap();
    let mut rows: Vec<_> = Vec::new();
    for (trace, count) in metric.rows(&profile).by_trace() {
        let frame = profile.symbols.get_frame(profile.frames(trace).next().unwrap());
        let method = profile.symbols.get_method(frame.method);
        let source = method.source.map(|id| profile.symbols.strings.get(id));
        rows.push((profile.symbols.method_name(frame.method), frame.line, source, count));
    }
    let main = |line, count| ("A.main".to_owned(), line, Some("A.java"), count);
    assert_eq!(
        rows,
        [
            main(Line::Unknown, 20),
            ("p.B.f".to_owned(), Line::Unknown, None, 100),
            main(Line::Number(3), 10),
            main(Line::Number(5), 270),
        ]
    );
}

#[test]
fn methods_of_several_runs_are_one_whether_their_lines_are_known_or_not() {
    let with = "PROFILE: 9 (100%) A.f()V\nPROFILE_LINES: 9 A.f()V A.java 3:9:9:1/1\n";
    let without = "PROFILE: 5 (100%) A.f()V\nPROFILE_INVOKE: 1 @ 2 A.f()V -> A.g()V\n";
    let text = with.to_owned() + without + with;
    let profile = read(text.as_bytes()).unwrap();
    assert!(written(&profile).contains("PROFILE: 23 (100%)      A.f()V\n"));
    assert!(written(&profile).contains("PROFILE_LINES: 18 A.f()V A.java 3:18:18:1/1\n"));
    assert_eq!(profile.symbols.method_count(), 2);
}

#[test]
fn notes_come_first_and_are_skipped() {
    let notes = ["11 Feb 2031, a\nb".to_owned(), "HotSpot has no blocks: 32 bytes".to_owned()];
    let mut out = Vec::new();
    let line_count = write_part(&read(ALL.as_bytes()).unwrap(), &notes, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let (head, rest) = text.split_at(text.len() - ALL.len());
    assert_eq!(head, "PERK_NOTE: 11 Feb 2031, a b\nPERK_NOTE: HotSpot has no blocks: 32 bytes\n");
    assert_eq!((rest, line_count), (ALL, ALL.lines().count()));
    assert!(recognise(text.as_bytes()));
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(profile.notes, [""; 0]);
    assert_eq!(written(&profile), ALL);
}

#[test]
fn what_it_does_not_know_is_counted() {
    let text = "PROFILE_VERSION: 3\nPROFILE_VERSION: 3\n\r\nPROFILE: 1 (100%) A.b()V\r\n\
                PROFILE_CYCLES: 5 A.b()V(inlined)\n\
                INSTANTIATION_COUNT: 2 * 3 = 6 blocks 192 bytes trees: 2 (100%) app [C\n";
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(
        profile.notes,
        [
            "2 lines PROFILE_VERSION skipped: perk does not know them",
            "1 methods in a mode that is neither interpreted nor compiled",
            "2 objects organised in a tree: their number by class skipped",
        ]
    );
    assert_eq!(profile.symbols.class_name(profile.sites().unwrap().rows[0].class), "char[]");
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    for line in [
        "no keyword",
        "PROFILE",
        "PROFILE: ",
        "PROFILE: x (1%) A.b()V",
        "PROFILE: -1 (1%) A.b()V",
        "PROFILE: 18446744073709551616 (1%) A.b()V",
        "PROFILE: 1 (1%)",
        "PROFILE_CYCLES: 12",
        "PROFILE_LINES: 12 A.b()V",
        "PROFILE_LINES: 12 A.b()V A.java 3:4:5:6",
        "PROFILE_LINES: 12 A.b()V A.java 3:4:5/6",
        "PROFILE_LINES: 12 A.b()V A.java 3:4:5:6:7/6",
        "PROFILE_LINES: 12 A.b()V A.java 4294967296:4:5:6/6",
        "PROFILE_INVOKE: 1 @ 2 A.b()V",
        "PROFILE_INVOKE: 1 @ 99999999999 A.b()V -> A.c()V",
        "HEAP_REFS: 1",
        "HEAP_USE: 1 objects * 1 blocks",
        "PROFILE_THREAD: 5 6 int",
        "PROFILE_THREADS: many",
        "PROFILE_CLASS_USED_VIA_REFLECTION:",
    ] {
        let error = read(format!("\n{line}\n").as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Line { line: 2, .. }), "{line}: {error}");
        let profile = read(format!("PROFILE: 1 (1%) A.b()V\n{line}\n").as_bytes()).unwrap();
        let note = &profile.notes[0];
        assert!(note.starts_with("1 line skipped, line 2: expected "), "{note}");
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let error = write(&Profile::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn its_files_are_recognised() {
    assert!(recognise(SEED.as_bytes()));
    assert!(recognise(b"\nHEAP_REFS: 1 of 2 words (50%)\n"));
    for head in [&b""[..], b"PROFILE", b"PROFILER: 1", b"TRACE 1:", b"PROFILE 1\n"] {
        assert!(!recognise(head), "{}", head.escape_ascii());
    }
}

#[test]
fn a_file_cut_anywhere_is_read_or_refused() {
    for end in 0..ALL.len() {
        let _ = read(&ALL.as_bytes()[..end]);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(flips in prop::collection::vec((0..2_000_usize, any::<u8>()), 1..9)) {
        let mut bytes = ALL.as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(profile) = read(&bytes[..]) {
            let _ = write(&profile, &mut Vec::new());
        }
    }

    #[test]
    fn what_is_written_is_read_back(
        rows in prop::collection::btree_map(("[a-z]{1,3}", "[a-z]{1,3}", 0..9_i32), 1..u64::MAX / 20, 1..20)
    ) {
        let mut text = String::new();
        for ((caller, callee, bci), count) in &rows {
            text += &format!("PROFILE: {count} (0%) p/{caller}.{callee}()V\n");
            let lines = count / 3;
            text += &format!("PROFILE_LINES: {lines} p/{caller}.{callee}()V {callee}.java {bci}:{lines}:9:1/2\n");
            text += &format!("PROFILE_INVOKE: {count} @ {bci} p/{caller}.m(I)[J -> {callee}.n()V\n");
            text += &format!("HEAP_USE: {count} objects * 1 blocks * 1 bytes = {count} bytes (0%) trees: 0 (0%) {caller}\n");
        }
        let profile = read(text.as_bytes()).unwrap();
        let again = read(written(&profile).as_bytes()).unwrap();
        prop_assert_eq!(written(&again), written(&profile));
        for name in ["bytecodes", "line executions", "line instructions", "line instructions run"] {
            prop_assert_eq!(total(&again, name), total(&profile, name));
        }
        prop_assert_eq!(total(&again, "bytecodes"), rows.values().sum::<u64>());
        prop_assert_eq!(again.sites().unwrap().total, profile.sites().unwrap().total);
    }
}
