//! Collapsed ("folded") stacks: a line a stack, `outer;…;inner count`, as Brendan Gregg's
//! `flamegraph.pl` and most profilers read and write them. `docs/formats/collapsed.md` has the
//! details.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use perk_profile::{FrameId, NodeId, Profile, ThreadId, Value};
use rustc_hash::FxHashMap;

use crate::fill::Filler;
use crate::frame_name::{FrameName, split_id};
use crate::graph::{Graph, Part, pairs};
use crate::{Error, lines};

/// Stands for the stack of samples that have none.
const NO_STACK: &str = "[no stack]";
/// Stands for the stacks of samples that the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";
/// Stands for a method without a name.
const UNKNOWN: &str = "[unknown]";
/// Frames of other tools that look like threads: what has no name, and processors.
const NO_THREADS: [&[u8]; 2] = [b"[unknown", b"[CPU-"];
/// A line this long at a file's head need not be whole.
const LONG_HEAD_BYTES: usize = 4096;

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

/// Whether a file that begins with `head` is of this format: its first line, as far as it can be
/// seen, is a stack and a count.
pub fn recognise(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return false;
    }
    let (line, is_cut) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], false),
        // A line as long as all that is looked at need not end here.
        None => (text, head.len() >= LONG_HEAD_BYTES),
    };
    // Below them are the numbers of a binary file; names can have an escape.
    let is_text = !line.iter().any(|&byte| byte < b'\t');
    is_text && (is_cut || split_count(line).is_ok_and(|it| it.is_some()))
}

/// Reads collapsed stacks. Equal stacks add up.
///
/// # Errors
/// [`Error::Line`] with the line that is no stack and count.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = Reader::default();
    lines::each(input, |line| reader.line(line))?;
    Ok(reader.finish())
}

fn text(profile: &Profile, part: Part) -> String {
    let strings = &profile.symbols.strings;
    match part {
        Part::Thread(name) => {
            let name = strings.get(name);
            let has_id = split_id(name).1.is_some();
            format!("[{}]", if has_id { escape_all(name) } else { escape(name) })
        }
        Part::Method { id, .. } => {
            let method = profile.symbols.get_method(id);
            frame(profile.symbols.class_name(method.class), strings.get(method.name))
        }
        Part::Objects(name) => escape(strings.get(name)).into_owned(),
        Part::NoStack => NO_STACK.to_owned(),
        Part::BelowCutoff => BELOW_CUTOFF.to_owned(),
    }
}

/// A method as a frame. What would be read as something else is escaped.
fn frame(class: &str, method: &str) -> String {
    let write = |escape: fn(&str) -> Cow<'_, str>| match (class, method) {
        ("", "") => UNKNOWN.to_owned(),
        ("", method) => escape(method).into_owned(),
        (class, method) => format!("{}.{}", escape(class), escape(method)),
    };
    let text = write(escape);
    let read = FrameName::of(&text);
    let is_same = match &*read.class {
        "" => read.method == text,
        class => text.strip_prefix(class).and_then(|it| it.strip_prefix('.')) == Some(read.method),
    };
    if is_same && !text.starts_with("::") { text } else { write(escape_all) }
}

/// What is written instead of a character that cannot stand in a frame, or could be read as more
/// than a part of a name; and whether it is always written so.
const ESCAPES: [(char, &str, bool); 10] = [
    (';', r"\u003B", true),
    ('\n', r"\u000A", true),
    ('\r', r"\u000D", true),
    ('\\', r"\u005C", true),
    ('/', r"\u002F", false),
    (':', r"\u003A", false),
    ('[', r"\u005B", false),
    ('(', r"\u0028", false),
    (' ', r"\u0020", false),
    ('=', r"\u003D", false),
];

/// The escape that `text` begins with, and its character.
fn leading_escape(text: &str) -> Option<(char, &'static str)> {
    let found = ESCAPES.into_iter().find(|(_, written, _)| text.starts_with(written));
    found.map(|(raw, written, _)| (raw, written))
}

fn escape(name: &str) -> Cow<'_, str> {
    escape_where(name, |is_always| is_always)
}

fn escape_all(name: &str) -> Cow<'_, str> {
    escape_where(name, |_| true)
}

fn escape_where(name: &str, is_meant: fn(bool) -> bool) -> Cow<'_, str> {
    let escape_of = |c| ESCAPES.into_iter().find(|&(raw, _, always)| raw == c && is_meant(always));
    if !name.contains(|c| escape_of(c).is_some()) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for (at, c) in name.char_indices() {
        // A backslash stays as it is unless it would be read as the start of an escape.
        let plain = c == '\\' && leading_escape(&name[at..]).is_none();
        match escape_of(c).filter(|_| !plain) {
            Some((_, written, _)) => escaped.push_str(written),
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

/// Stacks are mostly like the one before: only what differs is looked up.
#[derive(Default)]
struct Reader {
    filler: Filler,
    frames: FxHashMap<Box<[u8]>, FrameId>,
    /// The stack before, as far as `levels` tell of it.
    stack: Vec<u8>,
    /// Its frames, from the outermost inward; the first one can be a thread.
    levels: Vec<Level>,
    thread: Option<ThreadId>,
    /// Counts that were no whole numbers.
    rounded: u64,
}

struct Level {
    /// Where its name ends in the stack.
    end: usize,
    node: NodeId,
}

impl Reader {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let Some((stack, count)) = split_count(line)? else { return Ok(()) };
        let count = match count {
            Count::Whole(count) => count,
            Count::Rounded(count) => {
                self.rounded += 1;
                count
            }
        };
        if stack == BELOW_CUTOFF.as_bytes() {
            self.filler.add_unlisted(count);
            return Ok(());
        }
        let node = self.node(stack);
        self.filler.add(self.thread, node, count);
        Ok(())
    }

    /// The node of `stack`; `thread` becomes its thread.
    fn node(&mut self, stack: &[u8]) -> NodeId {
        let same = common_prefix(&self.stack, stack);
        self.keep_levels(stack, same);
        let mut node = self.filler.profile.tree.root();
        let mut begin = 0;
        if let Some(last) = self.levels.last() {
            node = last.node;
            begin = last.end + 1;
        } else {
            self.thread = None;
        }
        while begin <= stack.len() {
            let end = frame_end(stack, begin);
            let name = &stack[begin..end];
            let is_only =
                end == stack.len() && self.levels.len() == usize::from(self.thread.is_some());
            if is_only && name == NO_STACK.as_bytes() {
                break;
            }
            if begin == 0 && end < stack.len() && is_thread(name) {
                self.thread = Some(self.thread_of(&name[1..name.len() - 1]));
            } else {
                let frame = self.frame(name);
                node = self.filler.child(node, frame);
            }
            self.levels.push(Level { end, node });
            begin = end + 1;
        }
        self.stack.truncate(same);
        self.stack.extend_from_slice(&stack[same..]);
        node
    }

    /// Drops the levels that `stack` does not share, where it begins with `same` bytes of the stack
    /// before.
    fn keep_levels(&mut self, stack: &[u8], same: usize) {
        let ends_frame = |end: usize| end == stack.len() || stack[end] == b';';
        let is_kept = |level: &Level| level.end < same || level.end == same && ends_frame(same);
        let kept = self.levels.partition_point(is_kept);
        self.levels.truncate(kept);
        // The frame that seems to end here goes on in this stack.
        let rest = self.levels.last().map_or(&b""[..], |last| &stack[last.end..]);
        if rest.starts_with(b";::") {
            self.levels.pop();
        }
        // A frame alone on its line is no thread.
        if self.levels.len() == 1 && stack.first() == Some(&b'[') {
            self.levels.clear();
        }
    }

    #[inline]
    fn frame(&mut self, name: &[u8]) -> FrameId {
        match self.frames.get(name) {
            Some(&frame) => frame,
            None => self.new_frame(name),
        }
    }

    #[cold]
    fn new_frame(&mut self, name: &[u8]) -> FrameId {
        let text = self.filler.name(name);
        let FrameName { class, method, signature, line } = FrameName::of(&text);
        let frame = self.filler.frame(&unescape(&class), &unescape(method), &signature, line);
        self.frames.insert(name.into(), frame);
        frame
    }

    fn thread_of(&mut self, name: &[u8]) -> ThreadId {
        let text = self.filler.name(name);
        let (name, id) = split_id(&text);
        self.filler.thread_with_id(&unescape(name), id.unwrap_or(0))
    }

    fn finish(mut self) -> Profile {
        self.filler.note(self.rounded, "count", "counts", "with decimals rounded");
        self.filler.finish()
    }
}

enum Count {
    Whole(u64),
    Rounded(u64),
}

/// The stack and the count of a line; `None` of a blank one.
#[inline]
fn split_count(line: &[u8]) -> Result<Option<(&[u8], Count)>, &'static str> {
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return Ok(None);
    }
    let space = memchr::memrchr2(b' ', b'\t', line);
    let space = space.ok_or("frames, a space and a count of samples")?;
    let (stack, digits) = (&line[..space], &line[space + 1..]);
    if stack.is_empty() {
        return Err("frames before the count of samples");
    }
    let mut count = 0_u64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            let count = decimal(digits).ok_or("a number of samples, 0 or more, at the end")?;
            return Ok(Some((stack, Count::Rounded(count))));
        }
        let next = count.checked_mul(10).and_then(|it| it.checked_add(u64::from(digit - b'0')));
        count = next.ok_or("a number of samples below 2^64")?;
    }
    Ok(Some((stack, Count::Whole(count))))
}

/// A number such as `12.5` or `1.2e+06`, rounded.
fn decimal(digits: &[u8]) -> Option<u64> {
    let is_plain = digits.first()?.is_ascii_digit()
        && digits.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte));
    let number: f64 = std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()?;
    (number.round() < u64::MAX as f64).then_some(number.round() as u64)
}

/// Where the frame that begins at `begin` ends: at a semicolon, but for the one in
/// `Lcom/foo/Bar;::baz`.
#[inline]
fn frame_end(stack: &[u8], begin: usize) -> usize {
    let end =
        |from: usize| memchr::memchr(b';', &stack[from..]).map_or(stack.len(), |at| from + at);
    let first = end(begin);
    let goes_on = stack.get(first + 1..).is_some_and(|rest| rest.starts_with(b"::"));
    if goes_on && stack[begin] == b'L' { end(first + 1) } else { first }
}

/// How many bytes `a` and `b` begin with that are the same.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 16;
    let steps = a.as_chunks::<STEP>().0.iter().zip(b.as_chunks::<STEP>().0);
    let begin = steps.take_while(|(a, b)| a == b).count() * STEP;
    begin + a[begin..].iter().zip(&b[begin..]).take_while(|(a, b)| a == b).count()
}

/// Whether the first of several frames is a thread's name in brackets.
fn is_thread(name: &[u8]) -> bool {
    name.len() >= 2
        && name.starts_with(b"[")
        && name.ends_with(b"]")
        && !NO_THREADS.iter().any(|other| name.starts_with(other))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perk_profile::{Allocations, CallRow, CpuTimes, Event, Line, Site, Sites};
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
        let mut profile = read(&b"T.main;T.f 1\nT.main 2\n"[..]).unwrap();
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
        for bad in ["-1", "1.5.", "x", "nan", "inf", "+1", "1e99"] {
            let text = format!("a.b 1\r\na.b {bad}");
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
    fn large_counts_do_not_wrap() {
        let max = u64::MAX;
        let text = format!("a.b {max}\na.b {max}\n");
        check(&text, &format!("a.b {max}\n"));
        let profile = read(text.as_bytes()).unwrap();
        assert_eq!(profile.notes, ["the sum of the counts stops at 2^64 - 1"]);
    }

    #[test]
    fn counts_with_decimals_are_rounded_and_told() {
        let profile = read(&b"a.b 1.5\na.c 1.25e+02\na.d 3\n"[..]).unwrap();
        assert_eq!(written(&profile), "a.b 2\na.c 125\na.d 3\n");
        assert_eq!(profile.notes, ["2 counts with decimals rounded"]);
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
    fn bytes_that_are_no_utf_8_are_shown_and_told() {
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
        prop_oneof![
            "[a-cL.:;/()=\\[\\] \n\r\\\\u003B]{0,6}",
            "[a-c/]{1,3}_\\[[ijk01]\\]",
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

        /// What a line means does not hang on the line before.
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
}
