//! CPU SAMPLES and CPU TIME.

use std::mem;

use perk_profile::{CallRow, CallTimes, CpuSamples, Event, Frame, Line};

use super::Section;
use super::contents::Contents;
use super::shares::{RowHead, Total, date, part, self_ns};
use crate::lines::{method, number, text, word};
use crate::units::from_ms;

const COLUMNS: &str = "rank self accum count trace method";

/// The columns of the rows. Those of JDK 1.1 have no counts and, if stacks have one frame, no
/// traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    count: bool,
    trace: bool,
}

impl Columns {
    const ALL: Self = Self { count: true, trace: true };

    /// Returns the columns that the line of titles gives, or `None` if `line` is not a line of
    /// titles.
    fn of_titles(mut line: &[u8]) -> Option<Self> {
        let begin = [&b"rank"[..], b"self", b"accum"];
        if !begin.iter().all(|&title| word(&mut line) == Some(title)) {
            return None;
        }
        let mut columns = Self { count: false, trace: false };
        loop {
            match word(&mut line)? {
                b"count" if !columns.count && !columns.trace => columns.count = true,
                b"trace" if !columns.trace => columns.trace = true,
                b"method" => return line.trim_ascii().is_empty().then_some(columns),
                _ => return None,
            }
        }
    }
}

/// Whether `line` has the titles of CPU SAMPLES and CPU TIME.
pub(in crate::ascii) fn is_cpu_title(line: &[u8]) -> bool {
    Columns::of_titles(line) == Some(Columns::ALL)
}

/// A row: `rank self% accum% count trace method`.
struct Row<'a> {
    head: RowHead<'a>,
    count: u64,
    serial: u64,
    method: &'a [u8],
}

impl<'a> Row<'a> {
    fn of(mut rest: &'a [u8], columns: Columns) -> Option<Self> {
        let rest = &mut rest;
        let head = RowHead::of(rest)?;
        let mut column = |is_there| if is_there { number(word(rest)?) } else { Some(0) };
        let (count, serial) = (column(columns.count)?, column(columns.trace)?);
        Some(Row { head, count, serial, method: rest })
    }
}

/// CPU SAMPLES.
pub(super) struct Samples {
    samples: CpuSamples,
    columns: Columns,
    /// The limits that the rows set for the total, if the section's first line is missing.
    told: Option<Total>,
    sum: u64,
}

impl Samples {
    /// Begins a section. `rest` follows the total.
    pub(super) fn new(total: Option<u64>, rest: &[u8], contents: &mut Contents) -> Self {
        let samples = CpuSamples {
            total: total.unwrap_or_default(),
            is_interim: mem::take(&mut contents.is_interim),
            written: date(rest),
            ..CpuSamples::default()
        };
        let told = total.is_none().then(Total::default);
        Self { samples, columns: Columns::ALL, told, sum: 0 }
    }

    /// Parses `1703 samples, 1712 ticks, depth 1) date`, as JDK 1.1 has it. The shares of the rows
    /// are of the ticks: the threads that were found running each time the JVM looked.
    pub(super) fn of_ticks(rest: &[u8], contents: &mut Contents) -> Result<Self, String> {
        let line = text(rest);
        let parts = (|| {
            let (looks, rest) = line.split_once(" samples, ")?;
            let (ticks, rest) = rest.split_once(" ticks, depth ")?;
            let (depth, _) = rest.split_once(')')?;
            Some((number(looks.as_bytes())?, number(ticks.as_bytes())?, depth.parse().ok()?))
        })();
        let (looks, ticks, depth) = parts
            .ok_or("expected CPU SAMPLES BEGIN (total = …), or (… samples, … ticks, depth …)")?;
        contents.profile.depth = contents.profile.depth.or(Some(depth));
        contents.profile.notes.push(format!(
            "line {}: the JVM looked {looks} times and found {ticks} threads running, which are the \
             samples",
            contents.line
        ));
        let end = rest.iter().position(|&byte| byte == b')').unwrap_or(rest.len());
        let mut samples = Self::new(Some(ticks), &rest[end..], contents);
        samples.columns = Columns { count: false, trace: false };
        Ok(samples)
    }
}

impl Section for Samples {
    fn title(&self) -> &'static str {
        "CPU SAMPLES"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        if let Some(columns) = Columns::of_titles(line) {
            self.columns = columns;
            return Ok(true);
        }
        let Some(row) = Row::of(line, self.columns) else { return Ok(false) };
        let count = if self.columns.count {
            row.count
        } else {
            let Some((own, sum)) = row.head.hundredths() else { return Ok(false) };
            part(self.samples.total, own, sum, self.sum)
        };
        let trace = if self.columns.trace {
            contents.trace(row.serial, self.samples.rows.len(), row.method)?
        } else {
            let profile = &mut contents.profile;
            let method = method(text(row.method).trim(), profile);
            let frame = Frame::new(method, Line::Unknown);
            let frame = profile.symbols.frame(frame);
            let node = profile.tree.insert([frame]);
            profile.trace(node, None)
        };
        self.sum = self.sum.saturating_add(count);
        if let Some(told) = &mut self.told {
            told.limit(count, row.head.own);
        }
        self.samples.rows.push((trace, count));
        Ok(true)
    }

    fn close(mut self: Box<Self>, contents: &mut Contents) {
        if let Some(told) = self.told {
            self.samples.total = told.nearest(self.sum);
        }
        contents.profile.events.push(Event::from(self.samples));
    }
}

/// CPU TIME.
pub(super) struct Times {
    times: CallTimes,
    sum_ns: u64,
}

impl Times {
    /// Begins a section. `rest` follows the total.
    pub(super) fn new(total_ms: u64, rest: &[u8]) -> Self {
        let total_ns = from_ms(total_ms);
        Self { times: CallTimes { total_ns, rows: Vec::new(), written: date(rest) }, sum_ns: 0 }
    }
}

impl Section for Times {
    fn title(&self) -> &'static str {
        "CPU TIME (ms)"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        let Some(row) = Row::of(line, Columns::ALL) else { return Ok(is_cpu_title(line)) };
        // If the total is 0 ms, the original's percentages are `nan`.
        let self_ns = if self.times.total_ns == 0 {
            0
        } else {
            let shares = row.head.hundredths();
            let (own, sum) =
                shares.ok_or("expected percentages with two decimals in a row of CPU TIME")?;
            self_ns(self.times.total_ns, own, sum, self.sum_ns)
        };
        self.sum_ns = self.sum_ns.saturating_add(self_ns);
        let trace = contents.trace(row.serial, self.times.rows.len(), row.method)?;
        self.times.rows.push(CallRow { trace, count: row.count, self_ns, total_ns: 0 });
        Ok(true)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        contents.profile.events.push(Event::from(self.times));
    }
}
