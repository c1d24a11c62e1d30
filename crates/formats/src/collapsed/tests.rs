//! Tests of the reader and the writer.

use std::collections::BTreeMap;

use perk_profile::{Allocations, CallRow, CallTimes, Event, Line, Metric, Site, Sites};
use proptest::prelude::*;

use super::*;

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(&View::new(profile, ""), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(written(&read(text.as_bytes()).unwrap()), expected);
}

#[track_caller]
fn check_error(bytes: &[u8], line: usize, expected: &'static str) {
    assert_eq!(read(bytes).unwrap_err(), Error::Line { line, expected });
}

const SAMPLE: &str = "[Größe;x];T.main;java.util.HashMap.get 18446744073709551615\r\n\
    \n[no stack] 3\n[main];[no stack] 4\nfoo::bar(int, x.y) with space 5\nA.b;A.c 0\n";

#[test]
fn every_value_has_its_numbers() {
    let mut profile = read(&b"T.main;T.f 1\nT.main 2\n"[..]).unwrap();
    let traces: Vec<_> = profile.total_cpu_samples().rows.iter().map(|row| row.0).collect();
    let rows = [(traces[0], 10, 700), (traces[1], 1, 50)];
    let rows = rows.map(|(trace, count, self_ns)| CallRow { trace, count, self_ns, total_ns: 0 });
    let times = CallTimes { total_ns: 1_000, rows: rows.to_vec(), written: None };
    profile.events = vec![Event::from(times)];
    let class = profile.symbols.class("byte[]");
    let mut sites = Sites::default();
    for (trace, allocated_bytes, live_bytes) in
        [(traces[0], 64, 16), (traces[0], 8, 0), (profile.system_trace(), 24, 24)]
    {
        let objects = Allocations { allocated_bytes, live_bytes, ..Allocations::default() };
        sites.total.add(objects);
        sites.rows.push(Site { class, trace, objects });
    }
    assert_eq!(Metric::first_of(&profile), Some(Metric::SelfTime));
    profile.events.push(Event::from(sites));
    let text = |metric| {
        let mut out = Vec::new();
        write(&View::new(&profile, "").with_metric(metric), &mut out)?;
        Ok::<_, io::Error>(String::from_utf8(out).unwrap())
    };
    let error = text(&Metric::Samples).unwrap_err().to_string();
    assert_eq!(error, "the profile has no samples by call path");
    let text = |metric| text(metric).unwrap();
    assert_eq!(text(&Metric::SelfTime), "T.main 50\nT.main;T.f 700\n[below cutoff] 250\n");
    assert_eq!(text(&Metric::Calls), "T.main 1\nT.main;T.f 10\n");
    assert_eq!(text(&Metric::AllocatedBytes), "T.main;T.f;byte[] 72\n[no stack];byte[] 24\n");
    assert_eq!(text(&Metric::LiveBytes), "T.main;T.f;byte[] 16\n[no stack];byte[] 24\n");
    profile.events.remove(0);
    assert_eq!(Metric::first_of(&profile), Some(Metric::AllocatedBytes));
    assert_eq!(Metric::first_of(&Profile::default()), None);
}

#[test]
fn two_profiles_are_two_columns() {
    let read = |text: &str| read(text.as_bytes()).unwrap();
    let (before, after) = (read("T.a;T.b 1\nT.c 2\n"), read("T.a;T.b 5\nT.a 3\nT.d 4\n"));
    let mut out = Vec::new();
    let before = View::new(&before, "");
    let view = View { before: Some(&before), ..View::new(&after, "") };
    write(&view, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "T.a 0 3\nT.a;T.b 1 5\nT.c 2 0\nT.d 0 4\n");
}

#[test]
fn merges_and_sorts() {
    check("T.b;T.c 1\nT.a 2\nT.b;T.c 3\nT.b 4\n", "T.a 2\nT.b 4\nT.b;T.c 4\n");
}

#[test]
fn takes_windows_line_ends_blank_lines_and_no_last_newline() {
    check("a.b 1\r\n\r\n  \n\na.c 2", "a.b 1\na.c 2\n");
}

#[test]
fn single_bad_lines_and_comments_are_skipped_and_reported() {
    let text = "# a comment 3\na.b 1\n\na.b\n#\na.c 2\na.d -1\na.e 4\n";
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(written(&profile), "a.b 1\na.c 2\na.e 4\n");
    let bad =
        "2 lines skipped, the first is line 4: expected frames, a space and a count of samples";
    assert_eq!(profile.notes, ["2 comments skipped", bad]);
    let profile = read(&b"a.b 1\nx 1.2.3\n"[..]).unwrap();
    let bad = "line 2 skipped: expected a number of samples, 0 or more, at the end";
    assert_eq!(profile.notes, [bad]);
    assert!(recognise(b"# eventName 1\n#\n\na.b 1\n") && !recognise(b"# only 1\n# comments 2\n"));
}

#[test]
fn a_file_without_its_end_is_read_as_far_as_it_is_whole() {
    let profile = read(&b"a.b 1\na.c 2\na.d"[..]).unwrap();
    assert_eq!(written(&profile), "a.b 1\na.c 2\n");
    let cut = "line 3 has no end: the file may be cut off there";
    let bad = "line 3 skipped: expected frames, a space and a count of samples";
    assert_eq!(profile.notes, [bad, cut]);
    assert_eq!(read(&b"a.b 1\na.c 2"[..]).unwrap().notes, [cut.replace('3', "2")]);
}

#[test]
fn a_frame_that_begins_like_a_comment_is_escaped() {
    let text = written(&profile_of(&[(None, vec![(String::new(), "#a".to_owned())], 1)]));
    check(&text, "\\u0023a 1\n");
}

#[test]
fn slashes_of_other_languages_stay() {
    let text = "github.com/a/b.(*T).Get;net/http.(*conn).serve;gopkg.in/yaml.v3.Get;net/http.Get;\
                example.org/start;java/util/Map.get 1\n";
    check(text, &text.replace("java/util/Map", "java.util.Map"));
}

#[test]
fn the_place_of_a_bad_line_is_named() {
    check_error(b"\na.b\n", 2, "frames, a space and a count of samples");
    for bad in ["-1", "1.5.", "x", "nan", "inf", "+1", "1e99"] {
        let text = format!("\r\na.b {bad}");
        check_error(text.as_bytes(), 2, "a number of samples, 0 or more, at the end");
    }
    check_error(b" 5", 1, "frames before the count of samples");
    check_error(b"a.b 18446744073709551616", 1, "a number of samples below 2^64");
}

#[test]
fn samples_without_a_stack_keep_their_count() {
    let text = "[below cutoff] 7\n[main];T.run 1\n[main];[no stack] 2\n[no stack] 3\n";
    check(text, text);
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(profile.total_cpu_samples().total, 13);
    assert_eq!(profile.threads.len(), 1);
}

#[test]
fn a_bracketed_frame_alone_is_no_thread() {
    let profile = read(&b"[GC] 1\n"[..]).unwrap();
    assert!(profile.threads.is_empty());
    assert_eq!(written(&profile), "[GC] 1\n");
}

#[test]
fn the_middle_of_deep_stacks_can_be_left_out() {
    let profile = read(&b"a;b;c;d;e;f 1\na;b;c;d;e 2\n"[..]).unwrap();
    let mut out = Vec::new();
    write_limited(&View::new(&profile, ""), Some(5), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "a;b;c;d;e 2\na;b;[frames left out];d;e;f 1\n");
}

#[test]
fn large_counts_do_not_wrap() {
    let max = u64::MAX;
    let text = format!("a.b {max}\na.b {max}\n");
    check(&text, &format!("a.b {max}\n"));
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(profile.overflown(), [Metric::Samples]);
}

#[test]
fn counts_with_decimals_are_rounded_and_reported() {
    let profile = read(&b"a.b 1.5\na.c 1.255e+02\na.d 3\n"[..]).unwrap();
    assert_eq!(written(&profile), "a.b 2\na.c 126\na.d 3\n");
    assert_eq!(profile.notes, ["2 counts with decimals rounded"]);
}

#[test]
fn whole_counts_are_exact_however_they_are_written() {
    for (count, whole) in [
        ("1e3", 1000),
        ("1.25E+02", 125),
        ("12.0", 12),
        ("1500e-2", 15),
        ("0.000", 0),
        ("0e99", 0),
        ("9007199254740993.0", 9_007_199_254_740_993),
        ("1.8446744073709551615e19", u64::MAX),
    ] {
        let profile = read(format!("a.b {count}\n").as_bytes()).unwrap();
        assert_eq!(profile.total_cpu_samples().total, whole, "{count}");
        assert_eq!(profile.notes, [""; 0], "{count}");
    }
}

#[test]
fn frames_of_other_tools() {
    let text = "[main tid=7];java/lang/Thread.run_[j];Lcom/foo/Bar;::baz;elf_load_[k] 3\n\
                [main tid=8];java/lang/Thread.run:833_[0];Lcom/foo/Bar;;x 4\n\
                [unknown];java;int T.fib 1\n";
    let profile = read(text.as_bytes()).unwrap();
    let shown = "[main];java.lang.Thread.run;Lcom/foo/Bar;[unknown];x 4\n\
                 [main];java.lang.Thread.run;com.foo.Bar.baz;elf_load 3\n\
                 [unknown];java;T.fib 1\n";
    assert_eq!(written(&profile), shown);
    let ids: Vec<_> = profile.threads.iter().map(|thread| thread.object_id).collect();
    assert_eq!(ids, [7, 8]);
    let lines: Vec<_> = profile
        .frames(profile.total_cpu_samples().rows[0].0)
        .map(|frame| profile.symbols.get_frame(frame).line)
        .collect();
    assert_eq!(lines, [Line::Native, Line::Unknown, Line::Compiled]);
}

#[test]
fn bytes_that_are_no_utf_8_are_shown_and_reported() {
    let profile = read(&b"a.gr\xf6sse 1\n[t\xfc];a.gr\xf6sse 2\n"[..]).unwrap();
    assert_eq!(written(&profile), "[t\\xFC];a.gr\\xF6sse 2\na.gr\\xF6sse 1\n");
    assert_eq!(profile.notes, ["2 names are not UTF-8: the bytes are shown as \\xFF"]);
}

#[test]
fn names_that_look_like_another_tool_s_are_escaped() {
    for (class, name) in [
        ("a/b", "c"),
        ("a.b", "c_[j]"),
        ("a.b", "c:12"),
        ("", "void a.b()"),
        ("", "::c"),
        ("", "a.b(I)V"),
        ("", "x_[k]"),
        ("$", "0."),
        ("A$B", "0x12.c.d"),
        ("A$B", "7.c(d.e"),
        ("a$b", "1.#"),
    ] {
        let stacks = [(Some("x tid=5".to_owned()), vec![(class.into(), name.into())], 1)];
        let text = written(&profile_of(&stacks));
        let read = read(text.as_bytes()).unwrap();
        assert_eq!(written(&read), text);
        assert_eq!(read.thread_name(ThreadId::new(0)), "x tid=5");
        let frame = read.frames(read.total_cpu_samples().rows[0].0).next().unwrap();
        let shown = read.symbols.method_name(read.symbols.get_frame(frame).method);
        assert_eq!(shown, format!("{class}.{name}").trim_start_matches('.'), "{text}");
    }
}

#[test]
fn heads() {
    let check = |head: &[u8], is_it| assert_eq!(recognise(head), is_it, "{head:?}");
    check(b"main;a;b 12\n", true);
    check(b"\n\nmain;a;gr\xf6 1.5\r\nx", true);
    check(b"a 1", true);
    check(b"a\x1b[2J 1", true);
    check(&[b'a'; LONG_HEAD_BYTES], true);
    // A title before the stacks.
    for title in ["// made by x\n", "\n stacks: \r\n\r\n", "stack,count\n# x\n", "a.b\n"] {
        let text = format!("{title}a;b 1\nb;c 3\n");
        check(text.as_bytes(), true);
        let profile = read(text.as_bytes()).unwrap();
        assert_eq!(
            (written(&profile).as_str(), profile.total_cpu_samples().total),
            ("a;b 1\nb;c 3\n", 4)
        );
        assert!(profile.notes.iter().any(|it| it.contains(" skipped: expected ")), "{title}");
    }
    check(b"two\nlines\na;b 1\n", false);
    check(b"a\nb 1\nc 2\n", false);
    check(b"\xef\xbb\xbfa;b\r\na;b 1\r\n", true);
    for head in [&b""[..], b"\n", b"a;b\nc 1\n", b"\xff\xfe 12\n", b"a\0b 12\n", b"a -1\n"] {
        check(head, false);
    }
}

#[test]
fn cut_anywhere_it_reads_or_says_why_not() {
    for end in 0..SAMPLE.len() {
        if let Ok(profile) = read(&SAMPLE.as_bytes()[..end]) {
            written(&profile);
        }
    }
}

#[test]
fn names_survive_escaping() {
    for name in ["a;b", "a\r\nb", r"a\u003Bb", r"\\u003B;", r"a\xFF", r"\u005Cu003B", "\\"] {
        assert_eq!(unescape(&escape(name)), name);
        assert!(!escape(name).contains([';', '\n', '\r']));
    }
    assert_eq!(escape(r"C:\path"), r"C:\path");
}

/// A thread, the class and method names of a stack, and a count.
type Stack = (Option<String>, Vec<(String, String)>, u64);

fn profile_of(stacks: &[Stack]) -> Profile {
    let mut builder = ProfileBuilder::default();
    for (thread, frames, count) in stacks {
        let thread = thread.as_ref().map(|name| builder.thread(name));
        let stack: Vec<_> = frames
            .iter()
            .map(|(class, name)| builder.frame(class, name, "", Line::Number(1)))
            .collect();
        let node = builder.profile.tree.insert(stack);
        builder.add(thread, node, *count);
    }
    builder.finish()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-cL.:;/()=\\[\\] \n\r\\\\u003B]{0,6}",
        "[a-c/]{1,3}_\\[[ijk01]\\]",
        // The numbers of generated classes are left out of their names.
        "[a$.0x/+]{0,5}",
        "\\PC{0,4}",
        Just("no stack".to_owned())
    ]
}

proptest! {
    #[test]
    fn odd_names_read_back(stacks in prop::collection::vec(
        (prop::option::of(name()), prop::collection::vec((name(), name()), 0..4), 1_u64..9),
        0..8,
    )) {
        let profile = profile_of(&stacks);
        let text = written(&profile);
        let read = read(text.as_bytes()).unwrap();
        prop_assert_eq!(read.total_cpu_samples().total, profile.total_cpu_samples().total);
        prop_assert_eq!(written(&read), text);
    }

    /// The meaning of a line does not depend on the line before it.
    #[test]
    fn lines_are_read_alike_in_any_order(lines in prop::collection::vec(
        prop::collection::vec("\\[a\\]|\\[no stack\\]|a|ab|La|::b|", 1..6), 1..12,
    )) {
        let mut sums = BTreeMap::new();
        let mut text = String::new();
        for stack in lines.iter().map(|frames| frames.join(";")).filter(|it| !it.is_empty()) {
            let line = format!("{stack} 1\n");
            *sums.entry(written(&read(line.as_bytes()).unwrap())).or_insert(0) += 1;
            text += &line;
        }
        let profile = read(text.as_bytes()).unwrap();
        let mut read: BTreeMap<_, _> = BTreeMap::new();
        for line in written(&profile).lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            read.insert(format!("{stack} 1\n"), count.parse::<i32>().unwrap());
        }
        prop_assert_eq!(read, sums);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&bytes[..]);
    }
}
