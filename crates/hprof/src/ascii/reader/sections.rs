//! The sections of a text: CPU SAMPLES, CPU TIME and SITES.
//!
//! Text has percentages where the model has numbers: the self times of CPU TIME and the total of
//! SITES are found from them, to their two decimals.

use std::mem;

use perk_profile::{
    Allocations, CallRow, CpuSamples, CpuTimes, Event, Site, SiteSelection, Sites, Timestamp,
    TraceId,
};

use super::Reader;
use crate::Error;
use crate::ascii::BY_ALLOCATED;
use crate::lines::{cut, hundredths, number, text, word};
use crate::units::{MS_NS, from_ms};

/// Sections that are passed over.
const OTHERS: [&[u8]; 1] = [b"HEAP DUMP"];

/// A row of CPU SAMPLES or CPU TIME.
struct CpuRow<'a> {
    own: &'a [u8],
    accumulated: &'a [u8],
    count: u64,
    trace: TraceId,
}

impl<'a> Reader<'a> {
    /// Reads a section, if `line` begins one; false if not.
    pub(super) fn section(&mut self, line: &'a [u8]) -> Result<bool, Error> {
        if let Some(rest) = line.strip_prefix(b"CPU SAMPLES BEGIN (total = ") {
            self.open_trace = None;
            self.cpu_samples(rest)?;
        } else if let Some(rest) = line.strip_prefix(b"CPU TIME (ms) BEGIN (total = ") {
            self.open_trace = None;
            self.cpu_times(rest)?;
        } else if let Some(rest) = line.strip_prefix(b"MONITOR TIME BEGIN (total = ") {
            self.open_trace = None;
            self.monitor_times(rest)?;
        } else if line == b"MONITOR DUMP BEGIN" {
            self.open_trace = None;
            self.monitor_dump()?;
        } else if let Some(rest) = line.strip_prefix(b"SITES BEGIN (") {
            self.open_trace = None;
            self.sites(rest)?;
        } else {
            let begins = |name: &&[u8]| {
                line.strip_prefix(*name).is_some_and(|rest| rest.starts_with(b" BEGIN"))
            };
            let Some(name) = OTHERS.into_iter().find(begins) else { return Ok(false) };
            self.open_trace = None;
            self.pass_over(name)?;
        }
        Ok(true)
    }

    fn cpu_samples(&mut self, rest: &[u8]) -> Result<(), Error> {
        let (total, rest) = self.number(rest, "the total of the samples")?;
        let is_interim = mem::take(&mut self.is_interim);
        let mut samples =
            CpuSamples { total, is_interim, written: date(rest), ..CpuSamples::default() };
        while let Some(row) = self.cpu_row("CPU SAMPLES END")? {
            samples.rows.push((row.trace, row.count));
        }
        self.profile.events.push(Event::CpuSamples(samples));
        Ok(())
    }

    fn cpu_times(&mut self, rest: &[u8]) -> Result<(), Error> {
        let (total_ms, rest) = self.number(rest, "the total of the milliseconds")?;
        let total_ns = from_ms(total_ms);
        let mut times = CpuTimes { total_ns, rows: Vec::new(), written: date(rest) };
        let mut sum_ns = 0_u64;
        while let Some(row) = self.cpu_row("CPU TIME (ms) END")? {
            let CpuRow { count, trace, .. } = row;
            // Of a total of 0 ms the original's percentages are `nan`.
            let self_ns = if total_ns == 0 {
                0
            } else {
                let (Some(own), Some(sum)) = (hundredths(row.own), hundredths(row.accumulated))
                else {
                    return Err(self.expected("percentages with two decimals in a row of CPU TIME"));
                };
                self_ns(total_ns, own, sum, sum_ns)
            };
            sum_ns = sum_ns.saturating_add(self_ns);
            times.rows.push(CallRow { trace, count, self_ns, total_ns: 0 });
        }
        self.profile.events.push(Event::CpuTimes(times));
        Ok(())
    }

    /// `rank self% accum% count trace method`; `None` at the line `end`. The line of titles is
    /// passed over.
    fn cpu_row(&mut self, end: &str) -> Result<Option<CpuRow<'a>>, Error> {
        loop {
            let line = self.lines.expect(end)?;
            if line == end.as_bytes() {
                return Ok(None);
            }
            if line.starts_with(b"rank ") {
                continue;
            }
            let rest = &mut &line[..];
            let columns = (word(rest), word(rest), word(rest), word(rest), word(rest));
            let (Some(_), Some(own), Some(accumulated), Some(count), Some(serial)) = columns else {
                return Err(self.no_row(line, "rank self accum count trace method", end));
            };
            let (Some(count), Some(serial)) = (number(count), number(serial)) else {
                return Err(self.no_row(line, "rank self accum count trace method", end));
            };
            let trace = self.trace_above(serial)?;
            return Ok(Some(CpuRow { own, accumulated, count, trace }));
        }
    }

    /// `rank self% accum% live bytes, objects, allocated bytes, objects, trace, class`
    fn sites(&mut self, rest: &'a [u8]) -> Result<(), Error> {
        const END: &str = "SITES END";
        let order = rest.iter().position(|&byte| byte == b')').unwrap_or(rest.len());
        let by_allocated = rest[..order].ends_with(BY_ALLOCATED.as_bytes());
        let mut sites = Sites {
            selection: SiteSelection { by_allocated, ..SiteSelection::default() },
            sample_interval_bytes: self.sample_interval_bytes.take(),
            written: date(&rest[order..]),
            ..Sites::default()
        };
        let mut live = LiveTotal::default();
        loop {
            let line = self.lines.expect(END)?;
            if line == END.as_bytes() {
                break;
            }
            let rest = &mut &line[..];
            let (rank, own, sum) = (word(rest), word(rest), word(rest));
            if matches!(rank, Some(b"percent" | b"rank")) {
                continue;
            }
            let mut column = || word(rest).and_then(number);
            let columns = (column(), column(), column(), column(), column());
            let (Some(live_bytes), Some(live_count), Some(bytes), Some(count), Some(serial)) =
                columns
            else {
                return Err(self.no_row(line, "rank self accum live alloc'ed trace class", END));
            };
            let objects = Allocations {
                live_bytes,
                live_count,
                allocated_bytes: bytes,
                allocated_count: count,
            };
            let class = self.profile.symbols.class(&text(rest));
            let trace = self.trace_above(serial)?;
            sites.total.add(objects);
            live.limit(live_bytes, own);
            live.limit(sites.total.live_bytes, sum);
            sites.rows.push(Site { class, trace, objects });
        }
        sites.total.live_bytes = live.nearest(sites.total.live_bytes);
        self.profile.events.push(Event::Sites(sites));
        Ok(())
    }

    /// Passes over a section up to its END line.
    fn pass_over(&mut self, section: &[u8]) -> Result<(), Error> {
        let (name, first) = (text(section).into_owned(), self.lines.line);
        let end = [section, b" END"].concat();
        while self.lines.expect(&format!("{name} END"))? != end {}
        let count = self.lines.line - first + 1;
        let note = format!("line {first}: {name} ({count} lines) was passed over");
        self.profile.notes.push(note);
        Ok(())
    }

    pub(super) fn trace_above(&self, serial: u64) -> Result<TraceId, Error> {
        let trace = u32::try_from(serial).ok().and_then(|n| self.profile.trace_by_serial(n));
        trace.ok_or_else(|| self.lines.error(format!("no TRACE {serial} stands before this row")))
    }

    pub(super) fn no_row(&self, line: &[u8], columns: &str, end: &str) -> Error {
        let found = cut(line);
        self.lines.error(format!("expected a row \"{columns}\" or {end}, found \"{found}\""))
    }
}

/// The date behind a section's parenthesis.
pub(super) fn date(rest: &[u8]) -> Option<Timestamp> {
    rest.strip_prefix(b") ").and_then(|date| Timestamp::from_ctime(&text(date)))
}

/// The self time of a row that prints `own` hundredths of a percent of the total and `sum` down to
/// it, where the rows above it have `sum_ns`: the whole milliseconds that print so, or what lies
/// between two of them.
pub(super) fn self_ns(total_ns: u64, own: u32, sum: u32, sum_ns: u64) -> u64 {
    let (total_ns, own) = (u128::from(total_ns), u128::from(own));
    let least_ns = ((2 * own).saturating_sub(1) * total_ns).div_ceil(20_000);
    let most_ns = (2 * own + 1) * total_ns / 20_000;
    let told_ns = u128::from(sum) * total_ns / 10_000;
    let told_ns = told_ns.saturating_sub(sum_ns.into()).clamp(least_ns, most_ns);
    let ms = u128::from(MS_NS);
    let (least_ms, most_ms) = (least_ns.div_ceil(ms), most_ns / ms);
    let self_ns = if least_ms <= most_ms {
        ((told_ns + ms / 2) / ms).clamp(least_ms, most_ms) * ms
    } else {
        told_ns
    };
    u64::try_from(self_ns).unwrap_or(u64::MAX)
}

/// The live bytes of all sites, as far as the rows' percentages tell.
struct LiveTotal {
    least: u64,
    most: u64,
}

impl Default for LiveTotal {
    fn default() -> Self {
        Self { least: 0, most: u64::MAX }
    }
}

impl LiveTotal {
    /// `bytes` are printed as `percent` of the total.
    fn limit(&mut self, bytes: u64, percent: Option<&[u8]>) {
        let Some(percent) = percent.and_then(hundredths).map(u128::from) else { return };
        let scaled = u128::from(bytes) * 20_000;
        let narrow = |limit: u128| u64::try_from(limit).unwrap_or(u64::MAX);
        self.least = self.least.max(narrow(scaled.div_ceil(2 * percent + 1)));
        if percent > 0 {
            self.most = self.most.min(narrow(scaled / (2 * percent - 1)));
        }
    }

    /// The sum of the rows, if it may be the total; if not, the middle of what may be. Numbers that
    /// fit no total leave the sum.
    fn nearest(&self, sum: u64) -> u64 {
        if self.least > self.most || (self.least..=self.most).contains(&sum) {
            sum
        } else {
            self.least + (self.most - self.least) / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn whole_milliseconds_are_found_again() {
        // Of 814 ms: 204, 200 and 1 ms.
        let total_ns = from_ms(814);
        assert_eq!(self_ns(total_ns, 2506, 2506, 0), from_ms(204));
        assert_eq!(self_ns(total_ns, 2457, 4963, from_ms(204)), from_ms(200));
        assert_eq!(self_ns(total_ns, 12, 4975, from_ms(404)), from_ms(1));
        assert_eq!(self_ns(total_ns, 0, 4975, from_ms(405)), 0);
    }

    #[test]
    fn what_is_shorter_than_a_millisecond_is_found_as_its_share() {
        // 0.3 ms of 814: 0.04 %.
        let found = self_ns(from_ms(814), 4, 4, 0);
        assert!((285_000..=366_000).contains(&found), "{found}");
    }

    #[test]
    fn sums_keep_long_times_together() {
        // 100 equal rows of an hour: each prints 0.33 %, and the sums tell the rest.
        let total_ns = 3600 * SECOND_NS;
        let row_ns = 12 * SECOND_NS;
        let mut sum_ns = 0;
        for row in 1..=100 {
            let accumulated = (row * row_ns * 10_000 + total_ns / 2) / total_ns;
            sum_ns += self_ns(total_ns, 33, accumulated as u32, sum_ns);
        }
        let off_ns = sum_ns.abs_diff(100 * row_ns);
        assert!(off_ns <= total_ns / 20_000, "{off_ns} ns off");
    }

    #[test]
    fn the_total_of_sites_is_what_their_percentages_say() {
        let mut live = LiveTotal::default();
        live.limit(24_000, Some(b"4.14%"));
        live.limit(36_784, Some(b"6.35%"));
        let total = live.nearest(36_784);
        assert!((578_900..579_800).contains(&total), "{total}");
        live.limit(1, Some(b"nan%"));
        assert_eq!(live.nearest(36_784), total);
        live.limit(total, Some(b"100.00%"));
        assert_eq!(live.nearest(total), total);
    }
}
