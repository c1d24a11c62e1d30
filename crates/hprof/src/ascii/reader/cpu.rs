//! CPU SAMPLES and CPU TIME.

use std::mem;

use perk_profile::{CallRow, CpuSamples, CpuTimes, Event};

use super::Section;
use super::contents::{Contents, is_cpu_title};
use super::shares::{Total, date, self_ns};
use crate::lines::{hundredths, number, word};
use crate::units::from_ms;

const COLUMNS: &str = "rank self accum count trace method";

/// A row: `rank self% accum% count trace method`.
struct Row<'a> {
    own: &'a [u8],
    accumulated: &'a [u8],
    count: u64,
    serial: u64,
    method: &'a [u8],
}

impl<'a> Row<'a> {
    fn of(mut rest: &'a [u8]) -> Option<Self> {
        let rest = &mut rest;
        let (_rank, own, accumulated) = (word(rest)?, word(rest)?, word(rest)?);
        let (count, serial) = (number(word(rest)?)?, number(word(rest)?)?);
        Some(Row { own, accumulated, count, serial, method: rest })
    }
}

/// CPU SAMPLES.
pub(super) struct Samples {
    samples: CpuSamples,
    /// What the rows tell of the total where the section's first line is not there.
    told: Option<Total>,
    sum: u64,
}

impl Samples {
    /// `rest` stands behind the total.
    pub(super) fn new(total: Option<u64>, rest: &[u8], contents: &mut Contents) -> Self {
        let samples = CpuSamples {
            total: total.unwrap_or_default(),
            is_interim: mem::take(&mut contents.is_interim),
            written: date(rest),
            ..CpuSamples::default()
        };
        Self { samples, told: total.is_none().then(Total::default), sum: 0 }
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
        let Some(row) = Row::of(line) else { return Ok(is_cpu_title(line)) };
        let trace = contents.trace(row.serial, self.samples.rows.len(), row.method)?;
        self.sum = self.sum.saturating_add(row.count);
        if let Some(told) = &mut self.told {
            told.limit(row.count, Some(row.own));
        }
        self.samples.rows.push((trace, row.count));
        Ok(true)
    }

    fn close(mut self: Box<Self>, contents: &mut Contents) {
        if let Some(told) = self.told {
            self.samples.total = told.nearest(self.sum);
        }
        contents.profile.events.push(Event::CpuSamples(self.samples));
    }
}

/// CPU TIME.
pub(super) struct Times {
    times: CpuTimes,
    sum_ns: u64,
}

impl Times {
    /// `rest` stands behind the total.
    pub(super) fn new(total_ms: u64, rest: &[u8]) -> Self {
        let total_ns = from_ms(total_ms);
        Self { times: CpuTimes { total_ns, rows: Vec::new(), written: date(rest) }, sum_ns: 0 }
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
        let Some(row) = Row::of(line) else { return Ok(is_cpu_title(line)) };
        // Of a total of 0 ms the original's percentages are `nan`.
        let self_ns = if self.times.total_ns == 0 {
            0
        } else {
            let shares = hundredths(row.own).zip(hundredths(row.accumulated));
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
        contents.profile.events.push(Event::CpuTimes(self.times));
    }
}
