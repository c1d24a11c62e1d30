use std::io::Read;

use perk_hprof::LineReader;
use perk_profile::{FrameId, FrameKind, Line, NodeId, Profile, ThreadId, Unit};

use super::{
    BLOCKED, BLOCKED_METRIC, ELAPSED_METRIC, GLOBAL_HEAD, LOCAL_HEAD, NATIVE_METRIC, OF_KIND,
    PROGRAM_METRIC, RECEIVED, RECEIVED_METRIC, RUNTIME_STUB, THREAD_HEAD, Table, WAITING,
    WAITING_METRIC,
};
use crate::Error;
use crate::builder::ProfileBuilder;
use crate::frame_name::FrameName;
use crate::lines::BadLines;

/// The maximum number of kinds of ticks in the global summary. HotSpot has nine.
const MOST_KINDS: usize = 32;

/// Whether a file that begins with `head` is of this format: the profile of a thread begins in it,
/// after the output of the program.
pub fn recognise(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        matches!(thread_head(line), Ok(Some(_))) || matches!(global_head(line), Ok(Some(_)))
    })
}

/// Reads the tables in the output of a program.
///
/// Each method is a trace of one frame. Its table determines the line: unknown for interpreted
/// methods, otherwise compiled or native. The number of its ticks in native code is a metric.
///
/// Lines that are damaged are skipped, unless they are the majority.
///
/// # Errors
/// [`Error::Line`] with the first line that cannot be understood, if most lines cannot, or with the
/// last one if there is no table.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = XprofReader::default();
    let mut skipped = BadLines::default();
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next()? {
        if let Err(expected) = reader.line(line) {
            skipped.add(lines.line(), expected);
        }
    }
    let line_count = lines.line();
    if let Some(error) = skipped.error(reader.row_count) {
        return Err(error);
    }
    if reader.section == InputPart::Before {
        let expected = "a line \"Flat profile of … secs (… total ticks): …\"";
        return Err(Error::Line { line: line_count.max(1), expected });
    }
    reader.builder.profile.notes.extend(skipped.note());
    Ok(reader.finish())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InputPart {
    /// The output of the program before the tables.
    #[default]
    Before,
    Table(Table),
    /// The ticks of a thread outside methods.
    Local,
    Global,
}

#[derive(Default)]
struct XprofReader {
    builder: ProfileBuilder,
    section: InputPart,
    thread: Option<ThreadId>,
    /// The ticks of the thread that no row has covered so far.
    rest: u64,
    has_global: bool,
    kind_count: usize,
    /// The number of rows.
    row_count: u64,
    /// The number of lines that are not part of a table.
    skipped: u64,
    /// The number of threads whose rows have more ticks than the thread itself.
    overfull: u64,
}

impl XprofReader {
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let head = thread_head(line);
        if head.is_err() {
            // The rows that follow are of a thread whose name is not known.
            self.end_thread();
            (self.thread, self.rest, self.section) = (None, u64::MAX, InputPart::Local);
        }
        if let Some(ThreadHead { elapsed_ns, ticks, name }) = head? {
            self.end_thread();
            let name = self.builder.name(name).into_owned();
            let thread = self.builder.new_thread(&name);
            self.thread = Some(thread);
            self.rest = ticks;
            self.section = InputPart::Local;
            self.elapsed(Some(thread), elapsed_ns);
        } else if let Some(elapsed_ns) = global_head(line)? {
            self.end_thread();
            self.thread = None;
            self.section = InputPart::Global;
            self.has_global = true;
            self.elapsed(None, elapsed_ns);
        } else if self.section == InputPart::Before {
            self.skipped += 1;
        } else if line == LOCAL_HEAD.as_bytes() {
            self.section = InputPart::Local;
        } else if let Some(table) = table_of(line) {
            self.section = InputPart::Table(table);
        } else {
            match row(line)? {
                Some(row) => {
                    self.row_count += 1;
                    self.row(row);
                }
                None => self.skipped += 1,
            }
        }
        Ok(())
    }

    fn elapsed(&mut self, thread: Option<ThreadId>, elapsed_ns: u64) {
        let name = if thread.is_some() { ELAPSED_METRIC } else { PROGRAM_METRIC };
        let metric = self.builder.metric(name, Unit::Nanoseconds);
        let root = self.builder.profile.tree.root();
        self.builder.add_metric(metric, thread, root, elapsed_ns);
    }

    fn row(&mut self, row: XprofRow<'_>) {
        let root = self.builder.profile.tree.root();
        let idle = [(BLOCKED, BLOCKED_METRIC), (WAITING, WAITING_METRIC)];
        let idle = idle.iter().find(|it| it.0.as_bytes() == row.name).map(|it| it.1);
        match (self.section, row.native) {
            (InputPart::Table(table), Some(native)) => {
                self.method(table, row.name, row.ticks, native)
            }
            (InputPart::Local, None) => match idle {
                Some(metric) => {
                    let metric = self.builder.metric(metric, Unit::Count);
                    self.builder.add_metric(metric, self.thread, root, row.ticks);
                    self.add_ticks(row.ticks);
                }
                None => {
                    let node = self.label(row.name);
                    self.samples(node, row.ticks);
                }
            },
            (InputPart::Global, None) => self.global(row),
            _ => self.skipped += 1,
        }
    }

    /// Adds the ticks of a method in code and in native code.
    fn method(&mut self, table: Table, name: &[u8], ticks: u64, native: u64) {
        if name.starts_with(table.total().as_bytes()) {
            // The ticks of left-out rows are the thread's ticks that no row covers.
            return;
        }
        let mut node = self.builder.profile.tree.root();
        let (line, kind) = match table {
            Table::Interpreted => (Line::Unknown, FrameKind::Interpreted),
            Table::Compiled | Table::RuntimeStub => (Line::Compiled, FrameKind::Compiled),
            Table::CompiledC1 => (Line::Compiled, FrameKind::CompiledC1),
            Table::CompiledC2 => (Line::Compiled, FrameKind::CompiledC2),
            Table::Stub => (Line::Native, FrameKind::Native),
        };
        if table == Table::RuntimeStub {
            let kind = FrameKind::Stub;
            let frame = self.builder.frame_of_kind("", RUNTIME_STUB, "", Line::Unknown, kind);
            node = self.builder.child(node, frame);
        }
        let frame = self.frame(name, line, kind);
        let node = self.builder.child(node, frame);
        self.samples(node, ticks);
        self.samples(node, native);
        if native > 0 {
            let metric = self.builder.metric(NATIVE_METRIC, Unit::Count);
            self.builder.add_metric(metric, self.thread, node, native);
        }
    }

    fn frame(&mut self, name: &[u8], line: Line, kind: FrameKind) -> FrameId {
        let text = self.builder.name(name);
        let FrameName { class, method, signature, .. } = FrameName::of(&text);
        self.builder.frame_of_kind(&class, method, &signature, line, kind)
    }

    /// Returns the node of a label that is not a method.
    fn label(&mut self, label: &[u8]) -> NodeId {
        let label = format!("[{}]", self.builder.name(label));
        let frame = self.builder.frame("", &label, "", Line::Unknown);
        let root = self.builder.profile.tree.root();
        self.builder.child(root, frame)
    }

    fn samples(&mut self, node: NodeId, ticks: u64) {
        if ticks > 0 {
            self.builder.add(self.thread, node, ticks);
            self.add_ticks(ticks);
        }
    }

    fn add_ticks(&mut self, ticks: u64) {
        self.overfull += u64::from(self.rest != u64::MAX && self.rest < ticks);
        self.rest = self.rest.checked_sub(ticks).unwrap_or(u64::MAX);
    }

    /// Adds a row of the global summary: the ticks that the JVM received, or those of a kind.
    fn global(&mut self, row: XprofRow<'_>) {
        let name = if row.name == RECEIVED.as_bytes() {
            RECEIVED_METRIC.to_owned()
        } else if self.kind_count < MOST_KINDS {
            self.kind_count += 1;
            format!("{RECEIVED_METRIC}{OF_KIND}{}", self.builder.name(row.name))
        } else {
            self.skipped += 1;
            return;
        };
        let metric = self.builder.metric(&name, Unit::Count);
        let root = self.builder.profile.tree.root();
        self.builder.add_metric(metric, None, root, row.ticks);
    }

    fn end_thread(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if self.thread.is_some() && rest > 0 && rest != u64::MAX {
            let root = self.builder.profile.tree.root();
            self.builder.add(self.thread, root, rest);
        }
    }

    fn finish(mut self) -> Profile {
        self.end_thread();
        let one = "line that belongs";
        self.builder.note(self.skipped, one, "lines that belong", "to no table skipped");
        let what = "more ticks in the tables than in the title";
        self.builder.note(self.overfull, "thread has", "threads have", what);
        if !self.has_global {
            self.builder.profile.notes.push("the file ends without a global summary".to_owned());
        }
        self.builder.finish()
    }
}

/// The beginning of the tables of a thread.
struct ThreadHead<'a> {
    elapsed_ns: u64,
    ticks: u64,
    name: &'a [u8],
}

/// Reads `Flat profile of 7.55 secs (736 total ticks): main`.
fn thread_head(line: &[u8]) -> Result<Option<ThreadHead<'_>>, &'static str> {
    let Some(rest) = line.strip_prefix(THREAD_HEAD.as_bytes()) else { return Ok(None) };
    let head = split(rest, b" secs (").and_then(|(seconds, rest)| {
        let (ticks, name) = split(rest, b" total ticks):")?;
        let ticks = std::str::from_utf8(ticks).ok()?.parse().ok()?;
        Some(ThreadHead { elapsed_ns: nanoseconds(seconds)?, ticks, name: name.trim_ascii() })
    });
    head.map(Some).ok_or("\"Flat profile of … secs (… total ticks): …\"")
}

/// Returns the time in nanoseconds of `Global summary of 7.57 seconds:`.
fn global_head(line: &[u8]) -> Result<Option<u64>, &'static str> {
    let Some(rest) = line.strip_prefix(GLOBAL_HEAD.as_bytes()) else { return Ok(None) };
    let seconds = rest.strip_suffix(b" seconds:").and_then(nanoseconds);
    seconds.map(Some).ok_or("\"Global summary of … seconds:\"")
}

/// Returns the table with the title `Compiled + native   Method`.
fn table_of(line: &[u8]) -> Option<Table> {
    let title = line.strip_suffix(b"Method")?.trim_ascii_end().strip_suffix(b"+ native")?;
    let title = title.trim_ascii_end();
    Table::ALL.into_iter().find(|table| table.title().as_bytes() == title)
}

struct XprofRow<'a> {
    ticks: u64,
    native: Option<u64>,
    name: &'a [u8],
}

/// Reads a row `3.7%    23  +     4    a.b.c` or `1.4%    10             Class loader`; `None` if
/// the line is something else.
fn row(line: &[u8]) -> Result<Option<XprofRow<'_>>, &'static str> {
    let Some((percent, rest)) = split(line, b"%") else { return Ok(None) };
    if percent.contains(&b' ') {
        return Ok(None);
    }
    let (ticks, rest) = word(rest);
    if ticks.is_empty() || !is_number(ticks) {
        return Ok(None);
    }
    let number = |digits: &[u8]| {
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.ok_or("ticks, from 0 to below 2^64")
    };
    let ticks = number(ticks)?;
    let (native, name) = match word(rest) {
        (b"+", rest) => {
            let (native, name) = word(rest);
            if !is_number(native) {
                return Ok(None);
            }
            (Some(number(native)?), name)
        }
        _ => (None, rest),
    };
    let name = name.trim_ascii();
    Ok((!name.is_empty()).then_some(XprofRow { ticks, native, name }))
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Returns the first word and the rest.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    text.split_at(text.iter().position(|&byte| byte == b' ').unwrap_or(text.len()))
}

fn split<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(text, separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Reads seconds with decimals after a point or, in other locales, a comma.
fn nanoseconds(seconds: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(seconds).ok()?.replace(',', ".");
    let seconds: f64 = text.parse().ok()?;
    let ns = (seconds * 1e9).round();
    (ns >= 0.0 && ns < u64::MAX as f64).then_some(ns as u64)
}
