//! Writes HPROF ASCII.

use std::borrow::Cow;
use std::io::{self, Write};

use perk_profile::{CpuSamples, FrameId, Line, Profile, TraceId};

use super::{ACCOUNTING, PROSE_END};
use crate::write::{ThreadStart, Written, date};

const PROSE: &str = "\
This is a profile of a Java program, in the ASCII format of the HPROF agent.
It was written by perk and holds these records:

THREAD START
THREAD END      the life of a Java thread; id is its serial number.

TRACE           a call trace: the frames of a stack, the innermost first.
                (thread=n) is the thread it belongs to, where threads are
                told apart. Other records refer to it by its number.

CPU SAMPLES     where the program spent its CPU time. Each sample stands for
                one interval of CPU time that a thread burned; threads that
                wait or sleep have none. Rows are traces, those with the most
                samples first: self is a row's share of all samples, accum
                the share of all rows down to it.

Records after this header come in the order in which they happened. CPU
SAMPLES come when the program ends and each time a dump is asked for
(SIGQUIT, jcmd PID JVMTI.data_dump); each section begins from zero.
";

/// Writes the text, record by record.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    traces: Written,
}

impl<W: Write> Writer<W> {
    /// Writes the header and its prose, with the accounting where the profile has one by now.
    ///
    /// # Errors
    /// As the sink fails; so do all other methods.
    pub fn begin(mut out: W, profile: &Profile) -> io::Result<Self> {
        writeln!(out, "JAVA PROFILE 1.0.1, created {}\n", date(None, profile).ctime())?;
        out.write_all(PROSE.as_bytes())?;
        if let Some(accounting) = &profile.accounting {
            writeln!(out, "\nWhat was taken, what was lost and what perk itself cost:\n")?;
            for line in accounting.to_text().lines() {
                writeln!(out, "{ACCOUNTING}{line}")?;
            }
        }
        write!(out, "\n{PROSE_END}\n\n")?;
        Ok(Self { out, traces: Written::default() })
    }

    /// Writes `THREAD START`.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        writeln!(
            self.out,
            "THREAD START (obj={:x}, id = {}, name=\"{}\", group=\"{}\")",
            thread.object_id,
            thread.serial,
            one_line(thread.name),
            one_line(thread.group.unwrap_or("")),
        )
    }

    /// Writes `THREAD END`.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        writeln!(self.out, "THREAD END (id = {serial})")
    }

    /// Writes the traces that are new, in the rows' order, and the section.
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        for &(trace, _) in &samples.rows {
            if self.traces.first(trace.index()) {
                self.trace(profile, trace)?;
            }
        }
        let stamp = date(samples.written, profile).ctime();
        writeln!(self.out, "CPU SAMPLES BEGIN (total = {}) {stamp}", samples.total)?;
        if !samples.rows.is_empty() {
            writeln!(self.out, "rank   self  accum   count trace method")?;
        }
        let percent = |count: u64| count as f64 * 100.0 / samples.total as f64;
        let mut sum = 0_u64;
        for (index, &(id, count)) in samples.rows.iter().enumerate() {
            sum = sum.saturating_add(count);
            let (rank, own, accumulated) = (index + 1, percent(count), percent(sum));
            let trace = profile.get_trace(id);
            write!(
                self.out,
                "{rank:4} {own:5.2}% {accumulated:5.2}% {count:7} {:5} ",
                trace.serial
            )?;
            match profile.tree.frame(trace.node) {
                Some(frame) => writeln!(self.out, "{}", method(profile, frame))?,
                None => writeln!(self.out, "<empty trace>")?,
            }
        }
        writeln!(self.out, "CPU SAMPLES END")
    }

    fn trace(&mut self, profile: &Profile, id: TraceId) -> io::Result<()> {
        let trace = profile.get_trace(id);
        write!(self.out, "TRACE {}:", trace.serial)?;
        if let Some(thread) = trace.thread {
            write!(self.out, " (thread={})", profile.get_thread(thread).serial)?;
        }
        writeln!(self.out)?;
        let mut empty = true;
        for id in profile.tree.frames(trace.node) {
            empty = false;
            let frame = profile.symbols.get_frame(id);
            let source = profile.symbols.get_method(frame.method).source;
            let source = source.map_or("<Unknown Source>", |id| profile.symbols.strings.get(id));
            write!(self.out, "\t{}({}:", method(profile, id), one_line(source))?;
            match frame.line {
                Line::Number(line) => writeln!(self.out, "{line})")?,
                Line::Unknown => writeln!(self.out, "Unknown line)")?,
                Line::Compiled => writeln!(self.out, "Compiled method)")?,
                Line::Native => writeln!(self.out, "Native method)")?,
            }
        }
        if empty {
            writeln!(self.out, "\t<empty>")?;
        }
        Ok(())
    }

    /// The sink.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }
}

fn method(profile: &Profile, frame: FrameId) -> String {
    let frame = profile.symbols.get_frame(frame);
    match one_line(&profile.symbols.method_name(frame.method)) {
        Cow::Borrowed(name) => name.to_owned(),
        Cow::Owned(name) => name,
    }
}

/// Names pass through as they are, as the original printed them, but for the two characters that
/// would break the line.
fn one_line(name: &str) -> Cow<'_, str> {
    if name.contains(['\n', '\r']) {
        Cow::Owned(name.replace('\n', "\\n").replace('\r', "\\r"))
    } else {
        Cow::Borrowed(name)
    }
}
