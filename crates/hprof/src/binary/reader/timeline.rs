//! Reads the times of samples, and pauses.

use std::collections::BTreeMap;

use perk_profile::{
    Event, Metric, Pause, PauseKind, SeriesSubject, TimeSeries, Timeline, TimelineHead,
    TimelineRow, TraceId,
};

use super::BinaryReader;
use super::extended::{name, state, unit};
use crate::Error;
use crate::binary::IS_OTHER;
use crate::binary::cursor::{Cursor, unzigzag};

/// Reads the metric of a timeline, and the length of its ticks.
fn clock(body: &mut Cursor<'_>) -> Result<(Metric, u64), Error> {
    let marks = body.u1("the marks of a timeline")?;
    let unit = unit(body)?;
    let name = name(body)?;
    let own = Metric::own(&name).filter(|_| marks & IS_OTHER == 0);
    let metric = own.unwrap_or_else(|| Metric::other(&name, unit));
    let tick_ns = body.varint("the length of a tick")?;
    if tick_ns == 0 {
        return Err(body.error("a tick of a timeline has no length".to_owned()));
    }
    Ok((metric, tick_ns))
}

impl BinaryReader {
    /// Reads a record TIMELINE. Records of one head are one timeline.
    pub(super) fn timeline(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let (metric, tick_ns) = clock(body)?;
        // Times are since the first file's start, where files follow each other.
        let offset_ns = self.file_begun_us.saturating_mul(1000);
        let begin_ns = offset_ns.saturating_add(body.varint("the start of a timeline")?);
        let end_ns = offset_ns.saturating_add(body.varint("the end of a timeline")?);
        let head = TimelineHead { metric, tick_ns, begin_ns, end_ns };
        let mut rows = Vec::new();
        let (mut tick, mut thread, mut trace) = (0_u64, 0_u32, 0_u32);
        while !body.is_empty() {
            let more = body.varint("the ticks since a row of a timeline")?;
            tick = tick.checked_add(more).ok_or_else(|| {
                body.error("the number of a tick has more than 64 bits".to_owned())
            })?;
            thread = next(thread, body, "a thread of a timeline")?;
            trace = next(trace, body, "a trace of a timeline")?;
            let count = body.varint("a number of samples")?;
            rows.push(TimelineRow {
                tick,
                thread: (thread != 0).then(|| self.thread(thread)),
                trace: self.trace_of_timeline(trace, body)?,
                count,
            });
        }
        match self.profile.events.last_mut() {
            Some(Event::Timeline(begun)) if begun.head == head => begun.rows.extend(rows),
            _ => self.profile.events.push(Event::Timeline(Timeline { head, rows: rows.into() })),
        }
        Ok(())
    }

    /// Reads a record TIME SERIES.
    pub(super) fn time_series(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let (metric, tick_ns) = clock(body)?;
        let offset_ns = self.file_begun_us.saturating_mul(1000);
        let begin_ns = offset_ns.saturating_add(body.varint("the start of a time series")?);
        let (mut numbers, mut tick, mut thread) = (BTreeMap::new(), 0_u64, 0_u32);
        while !body.is_empty() {
            tick = tick.saturating_add(body.varint("the ticks since a number of a time series")?);
            thread = next(thread, body, "a thread of a time series")?;
            let state = match body.u1("a state of a time series")? {
                0 => None,
                number => Some(state(number - 1, body)?),
            };
            let number = body.varint("a number of a time series")?;
            let subject = SeriesSubject { thread: (thread != 0).then_some(thread), state };
            let sum: &mut u64 = numbers.entry((tick, subject)).or_default();
            *sum = sum.saturating_add(number);
        }
        let series = TimeSeries { metric, tick_ns, begin_ns, numbers };
        self.profile.events.push(Event::TimeSeries(series));
        Ok(())
    }

    /// Reads a record PAUSES.
    pub(super) fn pauses(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let offset_ns = self.file_begun_us.saturating_mul(1000);
        let mut begin_ns = 0_u64;
        let mut pauses = Vec::new();
        while !body.is_empty() {
            let more = body.varint("the time since a pause")?;
            begin_ns = begin_ns.saturating_add(more);
            let duration_ns = body.varint("the length of a pause")?;
            let kind = body.u1("the kind of a pause")?;
            let kind = *PauseKind::ALL
                .get(usize::from(kind))
                .ok_or_else(|| body.error(format!("{kind} is not a kind of pause")))?;
            let begin_ns = offset_ns.saturating_add(begin_ns);
            pauses.push(Pause { begin_ns, duration_ns, kind });
        }
        self.profile.events.push(Event::Pauses(pauses));
        Ok(())
    }

    /// Returns a trace by its number in extended files, or else by its serial number.
    fn trace_of_timeline(&mut self, trace: u32, body: &Cursor<'_>) -> Result<TraceId, Error> {
        match &self.extended {
            Some(_) => self.trace_at(trace, body),
            None => self.trace_of(trace, body),
        }
    }
}

/// Reads the difference from `last` to a number.
fn next(last: u32, body: &mut Cursor<'_>, what: &str) -> Result<u32, Error> {
    let difference = unzigzag(body.varint(what)?);
    let number = i64::from(last).checked_add(difference).and_then(|it| u32::try_from(it).ok());
    number.ok_or_else(|| body.error(format!("{what} is not a number of 32 bits")))
}
