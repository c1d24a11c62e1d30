//! CPU SAMPLES and CPU TIME.

use std::mem;

use perk_profile::{CallRow, CallTimes, CpuSamples, Event, Frame, Line};

use super::contents::Contents;
use super::section::SectionReader;
use super::shares::{RowHead, TotalRange, date, part, self_ns};
use crate::ascii::titles::{CpuColumns, is_cpu_title};
use crate::lines::{method, number, text, word};
use crate::units::from_ms;

const COLUMNS: &str = "rank self accum count trace method";

/// A row: `rank self% accum% count trace method`.
struct CpuRow<'a> {
    head: RowHead<'a>,
    count: u64,
    serial: u64,
    method: &'a [u8],
}

impl<'a> CpuRow<'a> {
    fn of(mut rest: &'a [u8], columns: CpuColumns) -> Option<Self> {
        let rest = &mut rest;
        let head = RowHead::of(rest)?;
        let mut column = |is_there| if is_there { number(word(rest)?) } else { Some(0) };
        let (count, serial) = (column(columns.count)?, column(columns.trace)?);
        Some(CpuRow { head, count, serial, method: rest })
    }
}

/// CPU SAMPLES.
pub(super) struct SamplesSection {
    samples: CpuSamples,
    columns: CpuColumns,
    /// The limits that the rows set for the total, if the section's first line is missing.
    range: Option<TotalRange>,
    sum: u64,
}

impl SamplesSection {
    /// Begins a section. `rest` follows the total.
    pub(super) fn new(total: Option<u64>, rest: &[u8], contents: &mut Contents) -> Self {
        let samples = CpuSamples {
            total: total.unwrap_or_default(),
            is_interim: mem::take(&mut contents.is_interim),
            written: date(rest),
            ..CpuSamples::default()
        };
        let range = total.is_none().then(TotalRange::default);
        Self { samples, columns: CpuColumns::ALL, range, sum: 0 }
    }

    /// Parses `1703 samples, 1712 ticks, depth 1) date` of JDK 1.1. The shares of the rows are of
    /// the ticks: the threads that were found running each time the JVM looked.
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
        samples.columns = CpuColumns { count: false, trace: false };
        Ok(samples)
    }
}

impl SectionReader for SamplesSection {
    fn title(&self) -> &'static str {
        "CPU SAMPLES"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        if let Some(columns) = CpuColumns::of_titles(line) {
            self.columns = columns;
            return Ok(true);
        }
        let Some(row) = CpuRow::of(line, self.columns) else { return Ok(false) };
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
        if let Some(range) = &mut self.range {
            range.limit(count, row.head.own);
        }
        self.samples.rows.push((trace, count));
        Ok(true)
    }

    fn close(mut self: Box<Self>, contents: &mut Contents) {
        if let Some(range) = self.range {
            self.samples.total = range.nearest(self.sum);
        }
        contents.profile.events.push(Event::from(self.samples));
    }
}

/// CPU TIME.
pub(super) struct TimesSection {
    times: CallTimes,
    sum_ns: u64,
}

impl TimesSection {
    /// Begins a section. `rest` follows the total.
    pub(super) fn new(total_ms: u64, rest: &[u8]) -> Self {
        let total_ns = from_ms(total_ms);
        Self { times: CallTimes { total_ns, rows: Vec::new(), written: date(rest) }, sum_ns: 0 }
    }
}

impl SectionReader for TimesSection {
    fn title(&self) -> &'static str {
        "CPU TIME (ms)"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        let Some(row) = CpuRow::of(line, CpuColumns::ALL) else { return Ok(is_cpu_title(line)) };
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
