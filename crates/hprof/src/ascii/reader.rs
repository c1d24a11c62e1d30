//! Reads HPROF text of all ages, line by line.

mod by_text;
mod calls;
mod contents;
mod cpu;
mod heap;
mod monitors;
mod section;
mod shares;
mod sites;
mod threads;

use std::io::Read;

use perk_profile::{Accounting, Profile, Timestamp};

use self::calls::CallsSection;
use self::contents::Contents;
use self::cpu::{SamplesSection, TimesSection};
use self::heap::HeapDumpSection;
use self::monitors::{MonitorDumpSection, MonitorTimeSection};
use self::section::SectionReader;
use self::sites::SiteSection;
use super::titles::is_cpu_title;
use super::{ACCOUNTING, PROSE_END, after_cpu_time, begins_record, cpu_time_total};
use crate::lines::{cut, text, word};
use crate::{Error, LineReader, SkippedLines, old};

/// The original agent makes its lines in a buffer of this size. Longer lines end there, without a
/// line end.
const LINE_BYTES: usize = 1023;

/// Reads a file of the agents of JDK 1.2 to 8, or of perk. It may hold several dumps, or several
/// files one after the other. It may be an excerpt, which begins with any record. A file that is
/// cut off is read as far as it goes. Lines that are damaged are skipped, unless they are the
/// majority.
///
/// # Errors
/// [`Error::Ascii`] with the first line that cannot be understood, if most lines cannot, or with the
/// last line if there is nothing to read.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut lines = LineReader::new(input);
    let mut reader = AsciiReader::default();
    while lines.next()?.is_some() {
        reader.contents.line = lines.line();
        let read =
            if lines.is_cut() { reader.last_line(lines.last()) } else { reader.line(lines.last()) };
        if let Err(what) = read {
            reader.skipped.add(lines.line(), what);
        }
    }
    reader.is_cut |= lines.has_failed();
    reader.finish()
}

#[derive(Default)]
struct AsciiReader {
    at: LinePlace,
    contents: Contents,
    /// The indentation of the first record.
    indent: Option<usize>,
    /// Whether the last line, or the packed input, is cut off.
    is_cut: bool,
    /// The lines that are damaged, and the number of those of traces and sections that are not.
    skipped: SkippedLines,
    good_count: u64,
    /// Whether there was a header. A file with a header may have no records.
    has_header: bool,
}

/// The place that the next line belongs to.
#[derive(Default)]
enum LinePlace {
    /// Records: the line begins one.
    #[default]
    Records,
    /// The prose of the header, with the accounting found in it so far.
    Header(String),
    /// The frames of the open trace.
    Trace,
    /// The rows of a section.
    Section(Box<dyn SectionReader>),
}

impl AsciiReader {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        if line.len() > LINE_BYTES {
            return self.long_line(line);
        }
        self.whole_line(line)
    }

    fn whole_line(&mut self, mut line: &[u8]) -> Result<(), String> {
        line = self.unindented(line);
        match &mut self.at {
            LinePlace::Trace => {
                if self.contents.frame_line(line)? {
                    self.good_count += u64::from(!line.is_empty());
                    return Ok(());
                }
                self.contents.close_trace();
                self.record(line)
            }
            LinePlace::Section(section) => {
                if is_end(line, section.title()) {
                    self.close_section();
                    return Ok(());
                }
                if section.row(line, &mut self.contents)? || line.is_empty() {
                    self.good_count += u64::from(!line.is_empty());
                    return Ok(());
                }
                self.end_of_section(line)
            }
            LinePlace::Header(accounting) => {
                if line == PROSE_END.as_bytes() || begins_record(line) {
                    if !accounting.is_empty() {
                        self.contents.profile.accounting = Some(Accounting::from_text(accounting));
                    }
                    self.at = LinePlace::Records;
                    return if line == PROSE_END.as_bytes() { Ok(()) } else { self.record(line) };
                }
                if let Some(line) = line.strip_prefix(ACCOUNTING.as_bytes()) {
                    *accounting += &text(line);
                    accounting.push('\n');
                }
                Ok(())
            }
            LinePlace::Records => self.record(line),
        }
    }

    /// Returns `line` without the indentation that excerpts may have as a whole: that of the first
    /// record.
    fn unindented<'t>(&mut self, line: &'t [u8]) -> &'t [u8] {
        let text = line.trim_ascii_start();
        let indent = line.len() - text.len();
        if self.indent.is_none() && begins_record(text) {
            self.indent = Some(indent);
        }
        match self.indent {
            None | Some(0) => line,
            // Each kind of line may have its own indentation, as people retype them.
            Some(_) if begins_record(text) || self.is_end(text) => text,
            Some(first) => &line[indent.min(first)..],
        }
    }

    /// Takes a line in a section that is not one of its rows.
    fn end_of_section(&mut self, line: &[u8]) -> Result<(), String> {
        let LinePlace::Section(section) = &self.at else { return Ok(()) };
        let (title, columns) = (section.title(), section.columns());
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() || trimmed.starts_with(b"...") || trimmed == b"." || trimmed == b".."
        {
            // Excerpts mark rows left out in this way, also in words: `... cut for brevity ...`.
            self.contents.notes.elided += usize::from(!trimmed.is_empty());
            Ok(())
        } else if begins_record(line) || old::is_title(line) {
            if section.has_end() {
                self.contents.notes.open_section(title, self.contents.line);
            }
            self.close_section();
            self.record(line)
        } else {
            let end =
                if section.has_end() { format!("{title} END") } else { "a record".to_owned() };
            Err(format!("expected a row \"{columns}\" or {end}, found \"{}\"", cut(line)))
        }
    }

    /// Whether `line` ends the section that is open.
    fn is_end(&self, line: &[u8]) -> bool {
        matches!(&self.at, LinePlace::Section(section) if is_end(line, section.title()))
    }

    fn close_section(&mut self) {
        if let LinePlace::Section(section) = std::mem::take(&mut self.at) {
            section.close(&mut self.contents);
        }
    }

    fn record(&mut self, line: &[u8]) -> Result<(), String> {
        self.at = LinePlace::Records;
        let contents = &mut self.contents;
        if let Some(rest) = line.strip_prefix(b"TRACE ")
            && begins_record(line)
        {
            contents.open_trace(rest)?;
            self.at = LinePlace::Trace;
        } else if let Some(rest) = line.strip_prefix(b"THREAD START (") {
            contents.thread_start(rest)?;
        } else if let Some(rest) = line.strip_prefix(b"THREAD END (") {
            contents.thread_end(rest)?;
        } else if line.starts_with(b"JAVA PROFILE ") {
            contents.resolve_rows();
            let header = text(line);
            let created = header.split_once(", created ");
            let created = created.and_then(|(_, date)| Timestamp::from_ctime(date));
            contents.profile.created = contents.profile.created.or(created);
            self.has_header = true;
            self.at = LinePlace::Header(String::new());
        } else if let Some(section) = begin_section(contents, line)? {
            contents.trace_left_open = None;
            self.at = LinePlace::Section(section);
        } else if !contents.wait(line)? && !line.trim_ascii().is_empty() {
            contents.notes.unknown(line, contents.line);
        }
        Ok(())
    }

    /// Takes a line longer than the original's lines can be. If another line begins after its last
    /// possible byte, there are two lines, and the end of the first is lost.
    fn long_line(&mut self, mut line: &[u8]) -> Result<(), String> {
        while line.len() > LINE_BYTES && self.begins_line(&line[LINE_BYTES..]) {
            let (first, rest) = line.split_at(LINE_BYTES);
            self.contents.notes.lost_ends += 1;
            let mended = self.mended(first);
            // A line that makes no sense without its end is lost as well.
            if self.whole_line(mended.as_deref().unwrap_or(first)).is_err() {
                self.contents.notes.lost_lines += 1;
            }
            line = rest;
        }
        self.whole_line(line)
    }

    /// Whether `rest` may follow the line before it.
    fn begins_line(&self, rest: &[u8]) -> bool {
        if begins_record(rest) {
            return true;
        }
        match &self.at {
            LinePlace::Trace => rest.starts_with(b"\t") && rest.ends_with(b")"),
            LinePlace::Section(section) => {
                let is_row = || {
                    let digits = rest.trim_ascii_start();
                    let rank = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    rank > 0 && digits[rank..].starts_with(b" ") && digits.contains(&b'%')
                };
                let begins = [&b"ROOT "[..], b"OBJ ", b"ARR ", b"CLS ", b"    ", b"\t"];
                is_end(rest, section.title())
                    || is_row()
                    || section.title().ends_with("DUMP")
                        && begins.iter().any(|begin| rest.starts_with(begin))
            }
            LinePlace::Records | LinePlace::Header(_) => false,
        }
    }

    /// Returns `line` with an end in place of the one it lost, if it needs one.
    fn mended(&self, line: &[u8]) -> Option<Vec<u8>> {
        if line.starts_with(b"THREAD START (") {
            let has_name = line.windows(10).any(|part| part == b"\", group=\"");
            let end: &[u8] = if has_name { b"\")" } else { b"\", group=\"\")" };
            return Some([line, end].concat());
        }
        if matches!(self.at, LinePlace::Trace) && line.starts_with(b"\t") {
            let method = line.iter().position(|&byte| byte == b'(').unwrap_or(line.len());
            return Some([&line[..method], b"(<Unknown Source>:Unknown line)"].concat());
        }
        None
    }

    /// Takes a line without a line end, if its syntax shows that nothing is missing.
    fn last_line(&mut self, line: &[u8]) -> Result<(), String> {
        let is_whole = match &self.at {
            LinePlace::Section(section) => {
                is_end(line, section.title())
                    // If the method on top has begun, the numbers are whole.
                    || section.title().starts_with("CPU ") && words(line) > 5
            }
            LinePlace::Records | LinePlace::Trace => line.ends_with(b")") || line.ends_with(b":"),
            LinePlace::Header(_) => line == PROSE_END.as_bytes(),
        };
        if !(is_whole && self.line(line).is_ok()) {
            self.is_cut = true;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Profile, Error> {
        let line = self.contents.line;
        let within = match &self.at {
            LinePlace::Section(section) => section.has_end().then(|| section.title().to_owned()),
            LinePlace::Header(_) => Some("its header".to_owned()),
            LinePlace::Trace | LinePlace::Records => None,
        };
        if let LinePlace::Trace = self.at {
            self.contents.close_trace();
        }
        self.close_section();
        if self.contents.has_open_rows() {
            // In excerpts the traces follow the section.
            self.contents.trace_left_open = None;
        }
        self.contents.resolve_rows();
        if let Some((line, what)) = self.skipped.majority(self.good_count) {
            return Err(Error::Ascii { line, what });
        }
        let Contents { mut profile, notes, trace_left_open, .. } = self.contents;
        let is_empty =
            profile.events.is_empty() && profile.threads.is_empty() && profile.traces().len() <= 1;
        let is_cut = self.is_cut || within.is_some();
        if is_empty && !(self.has_header && !is_cut && notes.first_unknown().is_none()) {
            return Err(match notes.first_unknown() {
                Some((line, found)) if !self.has_header || !is_cut => Error::Ascii {
                    line,
                    what: format!(
                        "expected a record (THREAD START, THREAD END, TRACE, … BEGIN), found \
                         \"{found}\""
                    ),
                },
                _ if line == 0 => Error::NotHprof { found: "none: the file is empty".to_owned() },
                _ => {
                    let what = "the file is cut off here, before its first record".to_owned();
                    Error::Ascii { line, what }
                }
            });
        }
        profile.notes.extend(self.skipped.note());
        notes.report(&mut profile.notes);
        if let Some(within) = within {
            profile.notes.push(format!("the file is cut off in line {line}, in {within}"));
        } else if self.is_cut {
            profile.notes.push(format!("the file is cut off in line {line}"));
        } else if let Some(serial) = trace_left_open {
            let what = "no section follows that refers to it";
            profile.notes.push(format!("the file ends after TRACE {serial}: {what}"));
        }
        Ok(profile)
    }
}

fn words(mut line: &[u8]) -> usize {
    std::iter::from_fn(|| word(&mut line)).count()
}

/// Returns the section that `line` begins.
fn begin_section(
    contents: &mut Contents,
    line: &[u8],
) -> Result<Option<Box<dyn SectionReader>>, String> {
    Ok(Some(if let Some(rest) = line.strip_prefix(b"CPU SAMPLES BEGIN (total = ") {
        let (total, rest) = contents.counter(rest, "the total of the samples")?;
        Box::new(SamplesSection::new(Some(total), rest, contents))
    } else if let Some(rest) = line.strip_prefix(b"CPU SAMPLES BEGIN (") {
        Box::new(SamplesSection::of_ticks(rest, contents)?)
    } else if let Some(rest) = cpu_time_total(line) {
        let (total_ms, rest) = contents.counter(rest, "the total of the milliseconds")?;
        Box::new(TimesSection::new(total_ms, rest))
    } else if let Some(rest) = line.strip_prefix(b"MONITOR TIME BEGIN (total = ") {
        let (total_ms, rest) = contents.counter(rest, "the total of the milliseconds")?;
        Box::new(MonitorTimeSection::new(total_ms, rest))
    } else if line.starts_with(b"MONITOR DUMP BEGIN") {
        Box::new(MonitorDumpSection::default())
    } else if let Some(rest) = line.strip_prefix(b"SITES BEGIN (") {
        Box::new(SiteSection::new(rest, contents))
    } else if line.starts_with(b"HEAP DUMP BEGIN") {
        Box::new(HeapDumpSection::new(contents.line))
    } else if old::is_title(line) {
        Box::new(CallsSection::default())
    } else if is_cpu_title(line) {
        // An excerpt that has only the rows.
        Box::new(SamplesSection::new(None, b"", contents))
    } else {
        return Ok(None);
    }))
}

/// Whether `line` is the `… END` of a section. CPU TIME may end as `CPU TIMES END`.
fn is_end(line: &[u8], title: &str) -> bool {
    line.strip_suffix(b" END").is_some_and(|begin| {
        begin == title.as_bytes()
            || title.starts_with("CPU TIME") && after_cpu_time(begin) == Some(b"")
    })
}
