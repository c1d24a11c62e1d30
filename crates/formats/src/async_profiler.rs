//! The text of async-profiler: `traces` and `flat`.
//!
//! Source of the format: async-profiler's manual and its output; see
//! `docs/formats/async-profiler.md`.

use std::io::Read;

use perk_profile::{FrameId, KeyedMap, Profile, ThreadId, Unit};

use crate::Error;
use crate::builder::ProfileBuilder;
use crate::file_format::{FileFormat, FormatFacts, Reading};
use crate::frame_name::{self, FrameName};
use crate::lines::{self, TextEnd};

/// The beginning of the text.
const HEAD: &[u8] = b"--- Execution profile ---";
/// The metric of the number of occurrences of an event that is not time on a processor.
const EVENTS_METRIC: &str = "events";

pub(crate) struct AsyncProfiler;

impl FileFormat for AsyncProfiler {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "async",
            title: "async-profiler text",
            about: "The text of async-profiler: `flat` and `traces`",
            endings: &["async"],
            page: "async-profiler.md",
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

/// Whether a file that begins with `head` is of this format.
pub fn recognise(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(HEAD)
}

/// Reads the traces, and from the flat table the numbers that no trace has.
///
/// # Errors
/// [`Error::Line`] with the line that cannot be understood.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = TextReader::default();
    let TextEnd { line_count, is_cut } = lines::each(input, |line| reader.line(line))?;
    // The last trace may lack some frames.
    if is_cut && reader.part == InputPart::Trace {
        reader.part = InputPart::Summary;
    }
    if reader.part == InputPart::Before {
        let expected = "\"--- Execution profile ---\"";
        return Err(Error::Line { line: line_count.max(1), expected });
    }
    Ok(reader.finish())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InputPart {
    #[default]
    Before,
    Summary,
    Trace,
    Flat,
}

/// The numbers of a trace or of a row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct EventNumbers {
    /// The counter, in the unit of the profile.
    counter: u64,
    samples: u64,
}

#[derive(Default)]
struct TextReader {
    builder: ProfileBuilder,
    part: InputPart,
    /// The number of all samples according to the summary.
    total: u64,
    /// The number of samples of traces and rows.
    listed: u64,
    /// The unit of the counters: `ns`, `bytes`, `calls`…
    unit: String,
    /// The trace that is being read.
    numbers: EventNumbers,
    /// The frames of that trace, from the innermost outward.
    stack: Vec<FrameId>,
    thread: Option<ThreadId>,
    /// The numbers of the traces by innermost frame. The table contains them again.
    leaves: KeyedMap<Box<[u8]>, EventNumbers>,
    skipped: u64,
}

impl TextReader {
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let text = line.trim_ascii();
        if text == HEAD {
            self.end_profile();
            self.part = InputPart::Summary;
        } else if text.is_empty() || text.starts_with(b"-----") {
            self.end_trace();
        } else if self.part == InputPart::Before {
            self.skipped += 1;
        } else if let Some((numbers, unit)) = trace_head(text)? {
            self.end_trace();
            self.part = InputPart::Trace;
            self.numbers = numbers;
            self.set_unit(unit);
        } else if self.part == InputPart::Trace
            && let Some(name) = frame(text)
        {
            self.frame(name);
        } else if let Some(unit) = table_head(text) {
            self.end_trace();
            self.part = InputPart::Flat;
            self.set_unit(unit);
        } else if self.part == InputPart::Flat
            && let Some((numbers, name)) = row(text)?
        {
            self.row(numbers, name);
        } else if self.part == InputPart::Summary {
            self.summary(text)?;
        } else {
            self.skipped += 1;
        }
        Ok(())
    }

    /// Reads a line such as `Total samples       : 733`.
    fn summary(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let (label, rest) = text.split_at(memchr::memchr(b':', text).unwrap_or(text.len()));
        let (label, count) = (label.trim_ascii(), number(word(rest.get(1..).unwrap_or(b"")).0));
        match (label, count) {
            (b"Frame buffer usage", _) => {}
            (b"Total samples", Some(count)) => self.total = self.total.saturating_add(count),
            (b"Total samples", None) => return Err("a number of samples below 2^64"),
            (_, Some(count)) => {
                let why = format!("without a whole stack: {}", self.builder.name(label));
                self.builder.note(count, "sample", "samples", &why);
            }
            (_, None) => self.skipped += 1,
        }
        Ok(())
    }

    fn set_unit(&mut self, unit: &[u8]) {
        // A trace of an old version does not give the unit.
        if !unit.is_empty() && unit != self.unit.as_bytes() {
            self.unit = self.builder.name(unit).into_owned();
        }
    }

    fn frame(&mut self, name: &[u8]) {
        if self.stack.is_empty() {
            let leaf = self.leaves.entry(name.into()).or_default();
            leaf.counter = leaf.counter.saturating_add(self.numbers.counter);
            leaf.samples = leaf.samples.saturating_add(self.numbers.samples);
        }
        let text = self.builder.name(name);
        match frame_name::thread(&text) {
            Some((thread, id)) => self.thread = Some(self.builder.thread_with_id(thread, id)),
            None => {
                let frame = self.new_frame(&text);
                self.stack.push(frame);
            }
        }
    }

    fn new_frame(&mut self, text: &str) -> FrameId {
        let FrameName { class, method, signature, line, kind } = FrameName::of(text);
        self.builder.frame_of_kind(&class, method, &signature, line, kind)
    }

    fn end_trace(&mut self) {
        if self.part != InputPart::Trace {
            return;
        }
        self.part = InputPart::Summary;
        let frames: Vec<_> = self.stack.drain(..).rev().collect();
        let (numbers, thread) = (std::mem::take(&mut self.numbers), self.thread.take());
        self.add(thread, &frames, numbers);
    }

    /// Adds a row of the table, less the numbers that the traces have given already.
    fn row(&mut self, numbers: EventNumbers, name: &[u8]) {
        let leaf = self.leaves.remove(name).unwrap_or_default();
        let rest = EventNumbers {
            counter: numbers.counter.saturating_sub(leaf.counter),
            samples: numbers.samples.saturating_sub(leaf.samples),
        };
        if rest != EventNumbers::default() {
            let text = self.builder.name(name);
            let frame = self.new_frame(&text);
            self.add(None, &[frame], rest);
        }
    }

    fn add(&mut self, thread: Option<ThreadId>, frames: &[FrameId], numbers: EventNumbers) {
        let EventNumbers { counter, samples } = numbers;
        let builder = &mut self.builder;
        let node = builder.profile.tree.insert(frames.iter().copied());
        self.listed = self.listed.saturating_add(samples);
        if is_cpu(&self.unit) {
            builder.add(thread, node, samples);
        } else {
            let events = builder.metric(EVENTS_METRIC, Unit::Count);
            builder.add_metric(events, thread, node, samples);
        }
        let name = if self.unit.is_empty() { "counter" } else { &self.unit };
        let metric = builder.metric(name, unit_of(name));
        builder.add_metric(metric, thread, node, counter);
    }

    fn end_profile(&mut self) {
        self.end_trace();
        self.leaves.clear();
        let rest = std::mem::take(&mut self.total).saturating_sub(std::mem::take(&mut self.listed));
        if rest > 0 && is_cpu(&self.unit) {
            self.builder.add_unlisted(rest);
        } else if rest > 0 {
            let events = self.builder.metric(EVENTS_METRIC, Unit::Count);
            self.builder.add_unlisted_metric(events, rest);
        }
    }

    fn finish(mut self) -> Profile {
        self.end_profile();
        self.builder.note(self.skipped, "line", "lines", "of other text skipped");
        self.builder.finish()
    }
}

/// Whether counters of this unit are time on a processor, as far as the text shows. The time of
/// locks and of waiting has the unit `ns` too.
fn is_cpu(unit: &str) -> bool {
    matches!(unit, "" | "ns" | "cycles")
}

fn unit_of(name: &str) -> Unit {
    match name {
        "ns" => Unit::Nanoseconds,
        "bytes" => Unit::Bytes,
        _ => Unit::Count,
    }
}

/// Returns the numbers and the unit of `--- 8208 bytes (19.58%), 1 sample`, or of `Total: 47839
/// (56.23%)  samples: 3`, the form of old versions.
fn trace_head(text: &[u8]) -> Result<Option<(EventNumbers, &[u8])>, &'static str> {
    const EXPECTED: &str = "\"--- … ns (…%), … samples\" with numbers below 2^64";
    let (counter, unit, samples) = if let Some(rest) = text.strip_prefix(b"--- ") {
        let (counter, rest) = word(rest);
        let (unit, rest) = word(rest);
        let (_, rest) = word(rest);
        (counter, unit, word(rest).0)
    } else if let Some(rest) = text.strip_prefix(b"Total: ") {
        let (counter, rest) = word(rest);
        let (_, rest) = word(rest);
        let (label, rest) = word(rest);
        (counter, &b""[..], if label == b"samples:" { word(rest).0 } else { b"" })
    } else {
        return Ok(None);
    };
    let numbers = number(counter).zip(number(samples));
    let (counter, samples) = numbers.ok_or(EXPECTED)?;
    Ok(Some((EventNumbers { counter, samples }, unit)))
}

/// Returns the name in `[ 0] java.lang.Thread.run`.
fn frame(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"[")?;
    let end = rest.iter().position(|&byte| byte == b']')?;
    let index = rest[..end].trim_ascii();
    let name = rest[end + 1..].trim_ascii();
    (number(index).is_some() && !name.is_empty()).then_some(name)
}

/// Returns the unit in the title `ns  percent  samples  top`.
fn table_head(text: &[u8]) -> Option<&[u8]> {
    let mut words = text.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let unit = words.next()?;
    words.eq([&b"percent"[..], b"samples", b"top"]).then_some(unit)
}

/// Reads a row `120000000   21.43%       20  Work.fib`.
fn row(text: &[u8]) -> Result<Option<(EventNumbers, &[u8])>, &'static str> {
    let (counter, rest) = word(text);
    let (percent, rest) = word(rest);
    let (samples, name) = word(rest);
    let name = name.trim_ascii();
    if !percent.ends_with(b"%") || name.is_empty() {
        return Ok(None);
    }
    let numbers = number(counter).zip(number(samples));
    let (counter, samples) = numbers.ok_or("a counter and samples, from 0 to below 2^64")?;
    Ok(Some((EventNumbers { counter, samples }, name)))
}

/// Returns the first word and the rest.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    text.split_at(text.iter().position(|&byte| byte == b' ').unwrap_or(text.len()))
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}
