//! Collapsed ("folded") stacks: a line a stack, `outer;…;inner count`, as Brendan Gregg's
//! `flamegraph.pl` and most profilers read and write them. `docs/formats/collapsed.md` has the
//! details.

use std::borrow::Cow;
use std::io::{self, Write};

use perk_profile::{FrameId, Line, Profile, Value};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::fill::Filler;
use crate::graph::{Graph, Part, pairs};

/// Stands for the stack of samples that have none.
const NO_STACK: &str = "[no stack]";
/// Stands for the stacks of samples that the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";
/// Stands for a method without a name.
const UNKNOWN: &str = "[unknown]";

/// Writes what `profile` has of `value`: frames merged by class and method name, lines sorted frame
/// by frame; of allocations the class is the last frame.
pub fn write(profile: &Profile, value: Value, out: &mut dyn Write) -> io::Result<()> {
    let graph = Graph::new(profile, value, |part| text(profile, part));
    let mut line = String::new();
    let mut ends: Vec<usize> = Vec::new();
    for node in &graph.nodes {
        ends.truncate(node.level);
        line.truncate(ends.last().copied().unwrap_or(0));
        if node.level > 0 {
            line.push(';');
        }
        line.push_str(&graph.labels[node.label]);
        ends.push(line.len());
        if node.self_count > 0 {
            writeln!(out, "{line} {}", node.self_count)?;
        }
    }
    Ok(())
}

/// Writes two profiles as `difffolded.pl` does: a line a stack, with what it has before and after.
/// `values` are the same value in each.
///
/// # Errors
/// As `out` fails.
pub fn write_pair(
    profiles: [&Profile; 2],
    values: [Value; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    let [before, after] = [0, 1].map(|side| {
        let profile = profiles[side];
        Graph::new(profile, values[side], |part| text(profile, part))
    });
    let mut line = String::new();
    let mut ends: Vec<usize> = Vec::new();
    for pair in pairs(&before, &after) {
        ends.truncate(pair.level);
        line.truncate(ends.last().copied().unwrap_or(0));
        if pair.level > 0 {
            line.push(';');
        }
        line.push_str(&pair.label);
        ends.push(line.len());
        if pair.before > 0 || pair.after > 0 {
            writeln!(out, "{line} {} {}", pair.before, pair.after)?;
        }
    }
    Ok(())
}

/// Reads collapsed stacks. Equal stacks add up.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let newlines = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        Error::Line { line: newlines + 1, expected: "UTF-8" }
    })?;
    let mut reader = Reader::default();
    for (index, line) in text.split('\n').enumerate() {
        reader.line(line).map_err(|expected| Error::Line { line: index + 1, expected })?;
    }
    Ok(reader.filler.finish())
}

fn text(profile: &Profile, part: Part) -> String {
    let strings = &profile.symbols.strings;
    match part {
        Part::Thread(name) => format!("[{}]", escape(strings.get(name))),
        Part::Method { id, .. } => {
            let method = profile.symbols.get_method(id);
            let class = profile.symbols.class_name(method.class);
            match (class, strings.get(method.name)) {
                ("", "") => UNKNOWN.to_owned(),
                ("", name) => escape(name).into_owned(),
                (class, name) => format!("{}.{}", escape(class), escape(name)),
            }
        }
        Part::Objects(name) => escape(strings.get(name)).into_owned(),
        Part::NoStack => NO_STACK.to_owned(),
        Part::BelowCutoff => BELOW_CUTOFF.to_owned(),
    }
}

/// The characters that cannot stand in a frame, as what is written instead.
const ESCAPES: [(char, &str); 4] =
    [(';', r"\u003B"), ('\n', r"\u000A"), ('\r', r"\u000D"), ('\\', r"\u005C")];

/// The escape that `text` begins with, and its character.
fn leading_escape(text: &str) -> Option<(char, &'static str)> {
    ESCAPES.into_iter().find(|(_, written)| text.starts_with(written))
}

fn escape(name: &str) -> Cow<'_, str> {
    if !name.contains([';', '\n', '\r', '\\']) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for (at, c) in name.char_indices() {
        // A backslash stays as it is unless it would be read as the start of an escape.
        let plain = c == '\\' && leading_escape(&name[at..]).is_none();
        match ESCAPES.into_iter().find(|&(raw, _)| raw == c && !plain) {
            Some((_, written)) => escaped.push_str(written),
            None => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut name = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        name.push_str(&rest[..at]);
        rest = &rest[at..];
        let (raw, written) = leading_escape(rest).unwrap_or(('\\', "\\"));
        name.push(raw);
        rest = &rest[written.len()..];
    }
    name.push_str(rest);
    Cow::Owned(name)
}

/// `'a` is the file's text: names are looked up by their place in it, without a copy.
#[derive(Default)]
struct Reader<'a> {
    filler: Filler,
    frames: FxHashMap<&'a str, FrameId>,
    stack: Vec<FrameId>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), &'static str> {
        let line = line.trim_end_matches([' ', '\t', '\r']);
        if line.is_empty() {
            return Ok(());
        }
        let (stack, count) =
            line.rsplit_once([' ', '\t']).ok_or("frames, a space and a count of samples")?;
        if stack.is_empty() {
            return Err("frames before the count of samples");
        }
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("a whole number of samples at the end");
        }
        let count = count.parse().map_err(|_| "a number of samples below 2^64")?;
        if stack == BELOW_CUTOFF {
            self.filler.add_unlisted(count);
            return Ok(());
        }
        let (thread, stack) = match split_thread(stack) {
            Some((name, stack)) => (Some(self.filler.thread(&unescape(name))), stack),
            None => (None, stack),
        };
        self.stack.clear();
        if stack != NO_STACK {
            for name in stack.split(';') {
                let frame = *self.frames.entry(name).or_insert_with(|| {
                    let (class, name) = split_method(name);
                    self.filler.frame(&unescape(class), &unescape(name), "", Line::Unknown)
                });
                self.stack.push(frame);
            }
        }
        let node = self.filler.profile.tree.insert(self.stack.iter().copied()).node;
        self.filler.add(thread, node, count);
        Ok(())
    }
}

/// The thread's name and the rest of a stack whose first of several frames is `[a thread]`.
fn split_thread(stack: &str) -> Option<(&str, &str)> {
    let (first, rest) = stack.strip_prefix('[')?.split_once(';')?;
    Some((first.strip_suffix(']')?, rest))
}

/// Class and method of a frame: parted at the last dot, or the last before a list of parameters.
fn split_method(frame: &str) -> (&str, &str) {
    let end = frame.find('(').unwrap_or(frame.len());
    match frame[..end].rfind('.') {
        // A leading dot parts nothing.
        None | Some(0) => ("", frame),
        Some(dot) => (&frame[..dot], &frame[dot + 1..]),
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Allocations, CallRow, CpuTimes, Event, Site, Sites};
    use proptest::prelude::*;

    use super::*;

    fn written(profile: &Profile) -> String {
        let mut out = Vec::new();
        write(profile, Value::Samples, &mut out).unwrap();
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
        let mut profile = read(b"T.main;T.f 1\nT.main 2\n").unwrap();
        let traces: Vec<_> = profile.total_cpu_samples().rows.iter().map(|row| row.0).collect();
        let rows = [(traces[0], 10, 700), (traces[1], 1, 50)];
        let rows =
            rows.map(|(trace, count, self_ns)| CallRow { trace, count, self_ns, total_ns: 0 });
        let times = CpuTimes { total_ns: 1_000, rows: rows.to_vec(), written: None };
        profile.events = vec![Event::CpuTimes(times)];
        let class = profile.symbols.class("byte[]");
        let mut sites = Sites::default();
        for (trace, allocated_bytes, live_bytes) in
            [(traces[0], 64, 16), (traces[0], 8, 0), (profile.system_trace(), 24, 24)]
        {
            let objects = Allocations { allocated_bytes, live_bytes, ..Allocations::default() };
            sites.total.add(objects);
            sites.rows.push(Site { class, trace, objects });
        }
        assert_eq!(Value::first_of(&profile), Some(Value::Time));
        profile.events.push(Event::Sites(sites));
        let text = |value| {
            let mut out = Vec::new();
            write(&profile, value, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(Value::Samples), "");
        assert_eq!(text(Value::Time), "T.main 50\nT.main;T.f 700\n[below cutoff] 250\n");
        assert_eq!(text(Value::Calls), "T.main 1\nT.main;T.f 10\n");
        assert_eq!(text(Value::Allocated), "T.main;T.f;byte[] 72\n[no stack];byte[] 24\n");
        assert_eq!(text(Value::Live), "T.main;T.f;byte[] 16\n[no stack];byte[] 24\n");
        profile.events.remove(0);
        assert_eq!(Value::first_of(&profile), Some(Value::Allocated));
        assert_eq!(Value::first_of(&Profile::default()), None);
    }

    #[test]
    fn two_profiles_are_two_columns() {
        let read = |text: &str| read(text.as_bytes()).unwrap();
        let (before, after) = (read("T.a;T.b 1\nT.c 2\n"), read("T.a;T.b 5\nT.a 3\nT.d 4\n"));
        let mut out = Vec::new();
        write_pair([&before, &after], [Value::Samples; 2], &mut out).unwrap();
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
    fn tells_where_a_line_is_bad() {
        check_error(b"a.b 1\n\na.b\n", 3, "frames, a space and a count of samples");
        check_error(b"a.b 1\na.b -1", 2, "a whole number of samples at the end");
        check_error(b"a.b 1.5", 1, "a whole number of samples at the end");
        check_error(b" 5", 1, "frames before the count of samples");
        check_error(b"a.b 18446744073709551616", 1, "a number of samples below 2^64");
        check_error(b"a.b 1\na.\xFF 1\n", 2, "UTF-8");
    }

    #[test]
    fn parts_class_and_method() {
        for (frame, class, name) in [
            ("java.util.HashMap.get", "java.util.HashMap", "get"),
            ("A$$Lambda.0x00ff.run", "A$$Lambda.0x00ff", "run"),
            ("T.f(java.lang.String)", "T", "f(java.lang.String)"),
            ("start_thread", "", "start_thread"),
            (".text", "", ".text"),
            ("T.", "T", ""),
        ] {
            assert_eq!(split_method(frame), (class, name));
        }
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
        let profile = read(b"[GC] 1\n").unwrap();
        assert!(profile.threads.is_empty());
        assert_eq!(written(&profile), "[GC] 1\n");
    }

    #[test]
    fn large_counts_do_not_wrap() {
        let max = u64::MAX;
        check(&format!("a.b {max}\na.b {max}\n"), &format!("a.b {max}\n"));
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
        let mut filler = Filler::default();
        for (thread, frames, count) in stacks {
            let thread = thread.as_ref().map(|name| filler.thread(name));
            let stack: Vec<_> = frames
                .iter()
                .map(|(class, name)| filler.frame(class, name, "", Line::Number(1)))
                .collect();
            let node = filler.profile.tree.insert(stack).node;
            filler.add(thread, node, *count);
        }
        filler.finish()
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[a-c.;\\[\\] \n\r\\\\u003B]{0,6}", "\\PC{0,4}", Just("no stack".to_owned())]
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

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes);
        }
    }
}
