//! Collapsed ("folded") stacks: one stack per line, `outer;…;inner count`, as Brendan Gregg's
//! `flamegraph.pl` and most profilers read and write them. `docs/formats/collapsed.md` has the
//! details.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use perk_analysis::label_tree::{LevelNode, LevelTree, Part};
use perk_hprof::LineReader;
use perk_profile::{FrameId, KeyedMap, NodeId, Profile, ThreadId, deep, names};

use crate::Error;
use crate::builder::ProfileBuilder;
use crate::deep::LEFT_OUT;
use crate::file_format::{
    Depth, Detail, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};
use crate::frame_name::{FrameName, split_id};
use crate::lines::BadLines;
use crate::memory;

/// The frame of samples without a stack.
const NO_STACK: &str = "[no stack]";
/// The frame of samples whose stacks the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";
/// The name of a method without one.
const UNKNOWN: &str = "[unknown]";
/// The beginnings of frames of other tools that look like threads: names that are missing, and
/// processors.
const NO_THREADS: [&[u8]; 2] = [b"[unknown", b"[CPU-"];
/// The beginning of a line that is not a stack.
const COMMENT: &[u8] = b"#";
/// The length from which a line at a file's head may be incomplete.
const LONG_HEAD_BYTES: usize = 4096;

/// The format's name.
pub(crate) const NAME: &str = "collapsed";

pub(crate) struct CollapsedStacks;

impl FileFormat for CollapsedStacks {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: NAME,
            title: "collapsed stacks",
            about: "One line a call path: `main;a;b 12`",
            endings: &["collapsed", "folded"],
            page: "collapsed.md",
            keeps: "one metric by call path, without lines and signatures",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::One,
                detail: Detail::Paths,
                documents: &[],
                accounting: false,
                depth: Depth::Ends,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    fn holds_interval(&self, _profile: &Profile) -> bool {
        false
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view, out)
    }
}

/// Writes the shown part of a profile. Frames are merged by class and method name, and lines are
/// sorted frame by frame. For objects and locks, the last frame is the class. For two profiles, a
/// line has both numbers, as the lines of `difffolded.pl` do.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile does not have the metric.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_limited(view, deep::limit(&view.profiles()), out)
}

fn write_limited(view: &View<'_>, limit: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let mut path = Path::new(limit);
    let LevelTree { labels, nodes, .. } = view.tree(text)?;
    for LevelNode { level, label, before, after } in nodes {
        path.go(level, &labels[label as usize]);
        if before == 0 && after == 0 {
            continue;
        }
        path.write(out)?;
        match view.before {
            None => writeln!(out, " {after}")?,
            Some(_) => writeln!(out, " {before} {after}")?,
        }
    }
    Ok(())
}

/// The stack down to a node of a tree.
struct Path {
    stack: String,
    /// The end of the name of each frame.
    ends: Vec<usize>,
    /// The number of frames that are written of a stack.
    limit: Option<usize>,
}

impl Path {
    fn new(limit: Option<usize>) -> Self {
        Self { stack: String::new(), ends: Vec::new(), limit }
    }

    /// Goes to the next node in preorder, at this level of the tree.
    fn go(&mut self, level: u32, name: &str) {
        self.ends.truncate(level as usize);
        self.stack.truncate(self.ends.last().copied().unwrap_or(0));
        if level > 0 {
            self.stack.push(';');
        }
        self.stack.push_str(name);
        self.ends.push(self.stack.len());
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { stack, ends, limit } = self;
        match limit.filter(|&limit| ends.len() > limit) {
            None => out.write_all(stack.as_bytes()),
            Some(limit) => {
                let outer = &stack[..ends[limit / 2 - 1]];
                let inner = &stack[ends[ends.len() - (limit - limit / 2) - 1]..];
                write!(out, "{outer};{LEFT_OUT}{inner}")
            }
        }
    }
}

/// Whether a file that begins with `head` is of this format: its first line that is not a comment,
/// as far as it is visible, is a stack and a count. A title may precede the stacks: then most lines
/// are stacks, and one has several frames.
pub fn recognise(head: &[u8]) -> bool {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return false;
    }
    let (mut stack_count, mut other_count) = (0_u64, 0_u64);
    let mut has_frames = false;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        // A line as long as the whole head need not end there.
        let is_cut = !line.ends_with(b"\n") && head.len() >= LONG_HEAD_BYTES;
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(COMMENT) {
            continue;
        }
        // Bytes below TAB occur in the numbers of a binary file. Names can contain an escape character.
        if line.iter().any(|&byte| byte < b'\t') {
            return false;
        }
        let is_first = stack_count + other_count == 0;
        if is_cut {
            return is_first || other_count <= stack_count && has_frames;
        }
        let is_stack = split_count(line).is_ok_and(|it| it.is_some());
        if is_first && is_stack {
            return true;
        }
        stack_count += u64::from(is_stack);
        other_count += u64::from(!is_stack);
        has_frames |= is_stack && line.contains(&b';');
    }
    other_count <= stack_count && has_frames
}

/// Reads collapsed stacks. Equal stacks add up. Other lines are skipped, unless they are the
/// majority.
///
/// # Errors
/// [`Error::Line`] with the first line that is not a stack and a count, if most lines are not.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = CollapsedReader::default();
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next()? {
        if let Err(expected) = reader.line(line) {
            reader.bad_lines.add(lines.line(), expected);
        }
    }
    if let Some(error) = reader.bad_lines.error(reader.stack_count) {
        return Err(error);
    }
    Ok(reader.finish(lines.is_cut().then(|| lines.line())))
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
        Part::Subject(name) => escape(strings.get(name)).into_owned(),
        Part::State(state) => state.label().to_owned(),
        Part::AboveYours | Part::Idle => unreachable!("files have whole stacks"),
        Part::NoStack => NO_STACK.to_owned(),
        Part::BelowCutoff => BELOW_CUTOFF.to_owned(),
    }
}

/// Returns a method as a frame. Text that would be read as another name is escaped as far as it must be.
fn frame(class: &str, method: &str) -> String {
    if class.is_empty() && method.is_empty() {
        return UNKNOWN.to_owned();
    }
    let name = joined(class, method);
    let meant = joined(&names::stable(class), method);
    let is_meant = |text: &str| {
        let read = FrameName::of(text);
        let class = unescape(&read.class);
        !text.starts_with("::")
            && !text.starts_with('#')
            && joined(&names::stable(&class), &unescape(read.method)) == meant
    };
    [escape, escape_all]
        .map(|it| it(&name))
        .into_iter()
        .find(|text| is_meant(text))
        .map_or_else(|| escape_where(&name, EscapeRule::WithDots).into_owned(), Cow::into_owned)
}

/// Returns the name of a method with its class.
fn joined(class: &str, method: &str) -> String {
    if class.is_empty() { method.to_owned() } else { format!("{class}.{method}") }
}

/// The characters of a name that are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EscapeRule {
    /// Those that cannot be in a frame.
    Always,
    /// Those that could be read as more than a part of a name, too.
    IfMisread,
    /// The dots, too: all is the name of a method without a class.
    WithDots,
}

/// The texts that are written instead of characters, and when.
const ESCAPES: [(char, &str, EscapeRule); 12] = [
    (';', r"\u003B", EscapeRule::Always),
    ('\n', r"\u000A", EscapeRule::Always),
    ('\r', r"\u000D", EscapeRule::Always),
    ('\\', r"\u005C", EscapeRule::Always),
    ('/', r"\u002F", EscapeRule::IfMisread),
    (':', r"\u003A", EscapeRule::IfMisread),
    ('[', r"\u005B", EscapeRule::IfMisread),
    ('(', r"\u0028", EscapeRule::IfMisread),
    (' ', r"\u0020", EscapeRule::IfMisread),
    ('=', r"\u003D", EscapeRule::IfMisread),
    ('#', r"\u0023", EscapeRule::IfMisread),
    ('.', r"\u002E", EscapeRule::WithDots),
];

/// Returns the escape at the beginning of `text`, and its character.
fn leading_escape(text: &str) -> Option<(char, &'static str)> {
    let found = ESCAPES.into_iter().find(|(_, written, _)| text.starts_with(written));
    found.map(|(raw, written, _)| (raw, written))
}

fn escape(name: &str) -> Cow<'_, str> {
    escape_where(name, EscapeRule::Always)
}

fn escape_all(name: &str) -> Cow<'_, str> {
    escape_where(name, EscapeRule::IfMisread)
}

fn escape_where(name: &str, escaped: EscapeRule) -> Cow<'_, str> {
    let escape_of = |c| ESCAPES.into_iter().find(|&(raw, _, when)| raw == c && when <= escaped);
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

/// The reader. Most stacks resemble the one before, so only the differing frames are looked up.
#[derive(Default)]
struct CollapsedReader {
    builder: ProfileBuilder,
    frames: KeyedMap<Box<[u8]>, FrameId>,
    /// The previous stack, as far as `levels` cover it.
    stack: Vec<u8>,
    /// The frames of that stack, from the outermost inward. The first one can be a thread.
    levels: Vec<Level>,
    thread: Option<ThreadId>,
    /// The number of counts that were not whole numbers.
    rounded: u64,
    comment_count: u64,
    /// The number of lines that are a stack and a count.
    stack_count: u64,
    bad_lines: BadLines,
}

struct Level {
    /// The end of the frame's name in the stack.
    end: usize,
    node: NodeId,
}

impl CollapsedReader {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if line.starts_with(COMMENT) {
            self.comment_count += 1;
            return Ok(());
        }
        let Some((stack, count)) = split_count(line)? else { return Ok(()) };
        self.stack_count += 1;
        let count = match count {
            Count::Whole(count) => count,
            Count::Rounded(count) => {
                self.rounded += 1;
                count
            }
        };
        if stack == BELOW_CUTOFF.as_bytes() {
            self.builder.add_unlisted(count);
            return Ok(());
        }
        let node = self.node(stack);
        self.builder.add(self.thread, node, count);
        Ok(())
    }

    /// Returns the node of `stack`, and sets `thread` to its thread.
    fn node(&mut self, stack: &[u8]) -> NodeId {
        let same = common_prefix(&self.stack, stack);
        self.keep_levels(stack, same);
        let mut node = self.builder.profile.tree.root();
        let mut begin = 0;
        if let Some(last) = self.levels.last() {
            node = last.node;
            begin = last.end + 1;
        } else {
            self.thread = None;
        }
        while begin <= stack.len() && !memory::is_full(1) {
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
                node = self.builder.child(node, frame);
            }
            self.levels.push(Level { end, node });
            begin = end + 1;
        }
        self.stack.truncate(same);
        self.stack.extend_from_slice(&stack[same..]);
        node
    }

    /// Drops the levels that `stack` does not share. The first `same` bytes of `stack` are those of
    /// the previous stack.
    fn keep_levels(&mut self, stack: &[u8], same: usize) {
        let ends_frame = |end: usize| end == stack.len() || stack[end] == b';';
        let is_kept = |level: &Level| level.end < same || level.end == same && ends_frame(same);
        let kept = self.levels.partition_point(is_kept);
        self.levels.truncate(kept);
        // The frame that seems to end here continues in this stack.
        let rest = self.levels.last().map_or(&b""[..], |last| &stack[last.end..]);
        if rest.starts_with(b";::") {
            self.levels.pop();
        }
        // A frame alone on its line is not a thread.
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
        let text = self.builder.name(name);
        let FrameName { class, method, signature, line, kind } = FrameName::of(&text);
        let (class, method) = (unescape(&class), unescape(method));
        let frame = self.builder.frame_of_kind(&class, &method, &signature, line, kind);
        self.frames.insert(name.into(), frame);
        frame
    }

    fn thread_of(&mut self, name: &[u8]) -> ThreadId {
        let text = self.builder.name(name);
        let (name, id) = split_id(&text);
        self.builder.thread_with_id(&unescape(name), id.unwrap_or(0))
    }

    /// Returns the profile. `cut_line` is the last line, if it has no line end.
    fn finish(mut self, cut_line: Option<usize>) -> Profile {
        self.builder.note(self.rounded, "count", "counts", "with decimals rounded");
        self.builder.note(self.comment_count, "comment", "comments", "skipped");
        self.builder.profile.notes.extend(self.bad_lines.note());
        if let Some(line) = cut_line.filter(|_| self.stack_count > 0) {
            let note = format!("line {line} has no end: the file may be cut off there");
            self.builder.profile.notes.push(note);
        }
        self.builder.finish()
    }
}

enum Count {
    Whole(u64),
    Rounded(u64),
}

/// Returns the stack and the count of a line; `None` for a blank one.
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
            return Ok(Some((stack, count)));
        }
        let next = count.checked_mul(10).and_then(|it| it.checked_add(u64::from(digit - b'0')));
        count = next.ok_or("a number of samples below 2^64")?;
    }
    Ok(Some((stack, Count::Whole(count))))
}

/// Reads a number such as `12.5`, rounded, or `1.2e+06`, which is whole.
fn decimal(digits: &[u8]) -> Option<Count> {
    let is_plain = digits.first()?.is_ascii_digit()
        && digits.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte));
    let text = std::str::from_utf8(digits).ok().filter(|_| is_plain)?;
    let number: f64 = text.parse().ok()?;
    if let Some(whole) = whole(text) {
        return Some(Count::Whole(whole));
    }
    (number.round() < u64::MAX as f64).then_some(Count::Rounded(number.round() as u64))
}

/// Returns the value of a number with a point or a power of ten, if it is whole and below 2^64.
fn whole(text: &str) -> Option<u64> {
    let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, behind) = number.split_once('.').unwrap_or((number, ""));
    let behind = behind.trim_end_matches('0');
    let all = format!("{before}{behind}");
    let digits = all.trim_end_matches('0');
    if digits.trim_start_matches('0').is_empty() {
        return Some(0);
    }
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let power = power.parse::<i64>().ok()?.checked_add(zeros)?;
    let power = power.checked_sub(i64::try_from(behind.len()).ok()?)?;
    let factor = 10_u64.checked_pow(u32::try_from(power).ok()?)?;
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns the end of the frame that begins at `begin`. A frame ends at a semicolon, except the one
/// in `Lcom/foo/Bar;::baz`.
#[inline]
fn frame_end(stack: &[u8], begin: usize) -> usize {
    let end =
        |from: usize| memchr::memchr(b';', &stack[from..]).map_or(stack.len(), |at| from + at);
    let first = end(begin);
    let goes_on = stack.get(first + 1..).is_some_and(|rest| rest.starts_with(b"::"));
    if goes_on && stack[begin] == b'L' { end(first + 1) } else { first }
}

/// Returns the number of equal bytes at the beginning of `a` and `b`.
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
mod tests;
