//! The output of `perf script`, with the Java names that a map of the JVM's compiled code gives it.
//!
//! Source of the format: perf's manual and its output; see `docs/formats/perf-script.md`.

mod head;

use std::collections::BTreeMap;
use std::io::Read;

use perk_profile::{FrameId, FrameKind, KeyedMap, Line, Profile, ThreadId, Unit};

use crate::Error;
use crate::builder::{MetricId, ProfileBuilder};
use crate::file_format::{FileFormat, FormatFacts, Reading};
use crate::frame_name::FrameName;
use crate::lines::{self, TextEnd};
use head::{Head, nanoseconds, next_word, number};

/// The events of time on a processor. The first of them in a file becomes its samples.
const CPU_EVENTS: [&str; 5] = ["cpu-clock", "task-clock", "cycles", "cpu-cycles", "ref-cycles"];
/// A frame of code that is not known.
const UNKNOWN: &str = "[unknown]";
/// The beginning of the kinds of records that are not samples.
const RECORD: &[u8] = b"PERF_RECORD_";
/// The number of methods in each other that a symbol of inlined code can have.
const MAX_INLINED: usize = 1_000;
/// The number of lines at a file's head that are looked at.
const HEAD_LINES: usize = 100;

pub(crate) struct PerfScript;

impl FileFormat for PerfScript {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "perf",
            title: "perf script",
            about: "The output of `perf script`",
            endings: &["perf"],
            page: "perf-script.md",
            keeps: "samples and events by call path",
            reading: Reading::ToCut,
            written: None,
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }
}

/// Whether a file that begins with `head` is of this format: its first line that is not a comment
/// is the head of a sample, with a time and an event, or with a frame after it.
pub fn recognise(head: &[u8]) -> bool {
    let lines = head.split(|&byte| byte == b'\n').take(HEAD_LINES);
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    let Some(first) = lines.next().filter(|line| !line.starts_with(b"\t")) else { return false };
    let is_indented = |line: &[u8]| line.first().is_some_and(u8::is_ascii_whitespace);
    let is_frame =
        |line: &[u8]| frame(line).is_some_and(|(_, file)| is_indented(line) || !file.is_empty());
    Head::of(first).is_some_and(|head| {
        (head.time.is_some() && (!head.event.is_empty() || !head.rest.is_empty()))
            || lines.next().is_some_and(is_frame)
    })
}

/// Reads samples with their call paths, by thread. A sample of the first event of time on a
/// processor is a CPU sample. The count of each event is a metric of its own.
///
/// # Errors
/// [`Error::Line`] if a number is too large, or if the file has no sample.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = PerfReader::default();
    let TextEnd { line_count, is_cut } = lines::each(input, |line| reader.line(line))?;
    // The last sample may lack some frames.
    if !is_cut {
        reader.end_sample();
    }
    if reader.sample_count == 0 {
        let expected = "a sample: command, thread, time and event, then a line per frame";
        return Err(Error::Line { line: line_count.max(1), expected });
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct PerfReader {
    builder: ProfileBuilder,
    sample: Option<Sample>,
    sample_count: u64,
    /// The frames of the sample, from the innermost outward.
    stack: Vec<FrameId>,
    /// The frames of a symbol in a file, the innermost first.
    frames: KeyedMap<Box<[u8]>, Box<[FrameId]>>,
    key: Vec<u8>,
    events: KeyedMap<Box<[u8]>, Event>,
    has_cpu_event: bool,
    /// Whether the CPU samples represent times that differ.
    is_uneven: bool,
    /// The number of records without a sample, by kind.
    records: BTreeMap<String, u64>,
    /// The number of lines that do not belong to a sample.
    skipped: u64,
}

/// A sample whose frames are being read.
#[derive(Clone, Copy)]
struct Sample {
    thread: Option<ThreadId>,
    event: Event,
    /// The time, in nanoseconds by the recording's clock.
    time_ns: Option<u64>,
    /// The count of the event that the sample represents.
    period: Option<u64>,
    /// Whether its first line can only be the head of a sample, or is missing.
    is_sure: bool,
}

#[derive(Clone, Copy, Default)]
struct Event {
    metric: Option<MetricId>,
    is_cpu: bool,
    is_time: bool,
}

impl PerfReader {
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if line.trim_ascii().is_empty() {
            self.end_sample();
            return Ok(());
        }
        if line.starts_with(b"\t") {
            self.begin_without_head();
            match frame(line) {
                Some((symbol, file)) => self.push_frame(symbol, file),
                None => self.skipped += 1,
            }
            return Ok(());
        }
        if line.starts_with(b"#") {
            return Ok(());
        }
        let head = Head::of(line);
        // Frames can follow blanks, or have no indentation, but not at the beginning of a sample.
        if (self.sample.is_some() || head.is_none())
            && !head.as_ref().is_some_and(Head::is_no_frame)
            && let Some((symbol, file)) = frame(line)
        {
            self.begin_without_head();
            self.push_frame(symbol, file);
            return Ok(());
        }
        let Some(head) = head else {
            self.skipped += 1;
            return Ok(());
        };
        self.end_sample();
        if head.event.starts_with(RECORD) {
            let kind = self.builder.name(head.event).into_owned();
            *self.records.entry(kind).or_default() += 1;
            return Ok(());
        }
        self.begin_sample(&head)
    }

    /// Begins a sample without a thread, if none is begun.
    fn begin_without_head(&mut self) {
        if self.sample.is_none() {
            let event = self.event(b"");
            self.sample =
                Some(Sample { thread: None, event, time_ns: None, period: None, is_sure: true });
        }
    }

    fn begin_sample(&mut self, head: &Head<'_>) -> Result<(), &'static str> {
        let tid = match head.tid {
            Some(digits) => Some(number(digits).ok_or("the number of a thread below 2^64")?),
            None => None,
        };
        let thread = match (self.builder.name(head.command), tid) {
            (command, None) if command.is_empty() => None,
            (command, Some(tid)) if command.is_empty() => {
                Some(self.builder.thread_with_id(&format!("tid={tid}"), tid))
            }
            (command, tid) => Some(self.builder.thread_with_id(&command, tid.unwrap_or(0))),
        };
        let period = match head.period {
            Some(digits) => Some(number(digits).ok_or("a count of the event below 2^64")?),
            None => None,
        };
        let event = self.event(head.event);
        let time_ns = head.time.and_then(nanoseconds);
        self.sample = Some(Sample { thread, event, time_ns, period, is_sure: head.is_sure() });
        // Without call paths the only frame is on the same line.
        if let Some((symbol, file)) = frame(head.rest) {
            self.push_frame(symbol, file);
        }
        Ok(())
    }

    fn event(&mut self, name: &[u8]) -> Event {
        if let Some(&event) = self.events.get(name) {
            return event;
        }
        let text = self.builder.name(name);
        let base = base_of(&text);
        let mut event = Event { is_time: base.ends_with("-clock"), ..Event::default() };
        if name.is_empty() || (CPU_EVENTS.contains(&base) && !self.has_cpu_event) {
            event.is_cpu = true;
            self.has_cpu_event |= !name.is_empty();
        }
        if !name.is_empty() {
            let unit = if event.is_time { Unit::Nanoseconds } else { Unit::Count };
            event.metric = Some(self.builder.metric(&text, unit));
        }
        self.events.insert(name.into(), event);
        event
    }

    fn push_frame(&mut self, symbol: &[u8], file: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(symbol);
        self.key.push(0);
        self.key.extend_from_slice(file);
        if let Some(frames) = self.frames.get(&*self.key) {
            self.stack.extend_from_slice(frames);
            return;
        }
        let frames = self.new_frames(symbol, file);
        self.stack.extend_from_slice(&frames);
        self.frames.insert(self.key.as_slice().into(), frames.into());
    }

    /// Returns the frames of a symbol, the innermost first: more than one if others are inlined.
    fn new_frames(&mut self, symbol: &[u8], file: &[u8]) -> Vec<FrameId> {
        let symbol = self.builder.name(symbol).into_owned();
        let file = self.builder.name(file).into_owned();
        let kind = Code::of(&file);
        if symbol == UNKNOWN {
            let base = file.rsplit('/').next().unwrap_or_default().trim_matches(['[', ']']);
            let name = match kind {
                Code::Native if !base.is_empty() && file != UNKNOWN => format!("[{base}]"),
                _ => UNKNOWN.to_owned(),
            };
            return vec![self.builder.frame("", &name, "", kind.line())];
        }
        if kind == Code::Native {
            let kind = if is_kernel(&file) { FrameKind::Kernel } else { FrameKind::Native };
            return vec![self.builder.frame_of_kind("", &symbol, "", Line::Native, kind)];
        }
        // More are a symbol that contains the mark by chance.
        let is_chain = symbol.matches("->").count() < MAX_INLINED;
        let parts = symbol.split(if is_chain { "->" } else { "\0" }).map(|part| {
            let FrameName { class, method, signature, line, kind: mark } = FrameName::of(part);
            let is_interpreter = part == "Interpreter";
            let is_compiled = line == Line::Unknown && !is_interpreter;
            let line = if is_compiled { kind.line() } else { line };
            let mark = if is_interpreter { FrameKind::Interpreted } else { mark };
            self.builder.frame_of_kind(&class, method, &signature, line, mark)
        });
        let mut frames: Vec<_> = parts.collect();
        frames.reverse();
        frames
    }

    fn end_sample(&mut self) {
        let Some(sample) = self.sample.take() else { return };
        let Sample { thread, event, time_ns, period, is_sure } = sample;
        if !is_sure && self.stack.is_empty() {
            self.skipped += 1;
            return;
        }
        let frames = self.stack.drain(..).rev();
        let node = self.builder.profile.tree.insert(frames);
        self.sample_count += 1;
        if event.is_cpu {
            match time_ns {
                Some(time_ns) => self.builder.add_at(thread, node, 1, time_ns),
                None => self.builder.add(thread, node, 1),
            }
            let ns = period.filter(|_| event.is_time);
            self.is_uneven |=
                ns.is_none() || self.builder.interval_ns.is_some_and(|it| Some(it) != ns);
            self.builder.interval_ns = ns;
        }
        if let Some(metric) = event.metric
            && let Some(number) = period.or((!event.is_cpu && !event.is_time).then_some(1))
        {
            match time_ns {
                Some(time_ns) => {
                    self.builder.add_metric_at(metric, thread, node, number, time_ns);
                }
                None => self.builder.add_metric(metric, thread, node, number),
            }
        }
    }

    fn finish(mut self) -> Profile {
        if self.is_uneven {
            self.builder.interval_ns = None;
        }
        for (kind, count) in std::mem::take(&mut self.records) {
            self.builder.note(count, "record", "records", &format!("{kind} skipped"));
        }
        let one = "line that is not part of a sample";
        let many = "lines that are not part of a sample";
        self.builder.note(self.skipped, one, many, "skipped");
        self.builder.finish()
    }
}

/// The kind of the code in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// Code made by the JVM.
    Jit,
    Native,
    /// The file does not show it.
    Unknown,
}

impl Code {
    fn of(file: &str) -> Self {
        let base = file.rsplit('/').next().unwrap_or_default();
        let is_map = base.starts_with("perf-") && base.ends_with(".map");
        let is_dump = base.starts_with("jitted-") && base.ends_with(".so");
        match file {
            "" | "inlined" => Self::Unknown,
            _ if is_map || is_dump => Self::Jit,
            _ => Self::Native,
        }
    }

    fn line(self) -> Line {
        match self {
            Self::Jit => Line::Compiled,
            Self::Native => Line::Native,
            Self::Unknown => Line::Unknown,
        }
    }
}

/// Whether the code of a file belongs to the kernel.
fn is_kernel(file: &str) -> bool {
    file.starts_with("[kernel") || file.ends_with(".ko") || file.starts_with("[guest.kernel")
}

/// Returns the name of an event without the details of its counting: `cycles` of `cycles:u` and
/// `cpu_core/cycles/P`.
fn base_of(event: &str) -> &str {
    let name = event.split_once('/').map_or(event, |(_, name)| name);
    name.split([':', '/', ',']).next().unwrap_or_default()
}

/// Returns symbol and file of a frame `7f5d5cece00c int Work.fib(int)+0x4c (/tmp/perf-24822.map)`.
fn frame(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (begin, end) = next_word(line, 0)?;
    let address = &line[begin..end];
    let address = address.strip_prefix(b"0x").unwrap_or(address);
    if address.is_empty() || !address.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let (symbol, file) = split_file(line[end..].trim_ascii());
    let symbol = without_offset(symbol);
    Some((if symbol.is_empty() { UNKNOWN.as_bytes() } else { symbol }, file))
}

/// Takes off the file in parentheses at the end. It can have parentheses of its own.
fn split_file(text: &[u8]) -> (&[u8], &[u8]) {
    if !text.ends_with(b")") {
        return (text, b"");
    }
    let mut depth = 0_usize;
    for at in memchr::memrchr2_iter(b'(', b')', text) {
        if text[at] == b')' {
            depth += 1;
            continue;
        }
        depth = depth.saturating_sub(1);
        if depth == 0 {
            let symbol = &text[..at];
            let is_file = symbol.is_empty() || symbol.ends_with(b" ");
            let file = &text[at + 1..text.len() - 1];
            return if is_file { (symbol.trim_ascii_end(), file) } else { (text, b"") };
        }
    }
    (text, b"")
}

/// Takes off `+0x4c`.
fn without_offset(symbol: &[u8]) -> &[u8] {
    let Some(at) = memchr::memrchr(b'+', symbol) else { return symbol };
    match symbol[at + 1..].strip_prefix(b"0x") {
        Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => &symbol[..at],
        _ => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_indentation_is_read() {
        let tabs = "# captured\njava 7/8 [001] 5.25: 3 cycles:u: \n\t     7f f+0x1 (/a.so)\n\
                    \tffffffff81a0 main (/b (x).so)\n\njava 7/8 5.5: 3 cycles:u: \n\t 7f f (/a.so)\n";
        let shown = |text: &str| {
            assert!(recognise(text.as_bytes()), "{text}");
            let profile = read(text.as_bytes()).unwrap();
            assert_eq!(profile.notes, [""; 0], "{text}");
            let mut out = Vec::new();
            crate::collapsed::write(&crate::View::new(&profile, ""), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let expected = shown(tabs);
        assert!(expected.contains(";main;f 1\n"), "{expected}");
        for indentation in ["    ", " ", "", " \t", "\t\t"] {
            assert_eq!(shown(&tabs.replace('\t', indentation)), expected, "{indentation:?}");
        }
        // simpleperf's script separates command and thread by a tab.
        let text = "com.app\t8 [002] 5.25: 3 cpu-cycles:\n    00007f0012345678 f (/a.so)\n\n";
        assert_eq!(shown(text), "[com.app];f 1\n");
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn frames_in_all_forms() {
        for (line, symbol, file) in [
            (
                "\t 7f int Work.fib(int)+0x4c (/tmp/perf-1.map)",
                "int Work.fib(int)",
                "/tmp/perf-1.map",
            ),
            ("\tffffffff81 elf_load+0x2 ([kernel.kallsyms])", "elf_load", "[kernel.kallsyms]"),
            ("\t7f [unknown] (/tmp/a b.so (deleted))", "[unknown]", "/tmp/a b.so (deleted)"),
            ("\t7f StubRoutines (1)+0xc9 (/tmp/perf-1.map)", "StubRoutines (1)", "/tmp/perf-1.map"),
            ("\t7f int Work.fib(int)", "int Work.fib(int)", ""),
            ("\t7f f (inlined)", "f", "inlined"),
            ("\t7f a+0xzz", "a+0xzz", ""),
            ("\t0x7f", "[unknown]", ""),
            ("\t7f ) (", ") (", ""),
        ] {
            let (found, of) = frame(line.as_bytes()).unwrap();
            assert_eq!((text(found), text(of)), (symbol, file), "{line}");
        }
        assert_eq!(frame(b"\tfile.java:12"), None);
        assert_eq!(frame(b"\t"), None);
    }

    #[test]
    fn events_by_their_base() {
        for (event, base) in
            [("cycles:u", "cycles"), ("cpu_core/cycles/P", "cycles"), ("cpu-clock", "cpu-clock")]
        {
            assert_eq!(base_of(event), base);
        }
    }
}
