//! Writes the times of samples, and pauses. Other readers skip the records.

use std::io::{self, Write};

use perk_profile::{Metric, Pause, Profile, TimeSeries, TimelineHead, mutf8};

use super::{Body, Writer};
use crate::binary::cursor::zigzag;
use crate::binary::{IS_OTHER, UNITS, tag};
use crate::write::TimedRow;

/// The most rows of a record. Further rows go into another record.
const RECORD_ROWS: usize = 1 << 16;

impl<W: Write> Writer<W> {
    /// Writes TIMELINE: the times of samples, in order of time, after those of their traces that
    /// are new.
    pub fn timeline(
        &mut self,
        profile: &Profile,
        head: &TimelineHead,
        mut rows: impl ExactSizeIterator<Item = TimedRow>,
    ) -> io::Result<()> {
        let is_extended = self.extended.is_some();
        self.tree(profile)?;
        let traces = self.trace_numbers();
        let begin = Body::default().metric(&head.metric);
        let begin = begin.varint(head.tick_ns).varint(head.begin_ns).varint(head.end_ns);
        let mut body = Body::default();
        loop {
            body.bytes.clear();
            body = body.bytes(&begin.bytes);
            let (mut tick, mut thread, mut trace) = (0, 0, 0);
            for row in rows.by_ref().take(RECORD_ROWS) {
                let of_row = if is_extended {
                    traces.get(row.trace.index())
                } else {
                    self.trace(profile, row.trace)?;
                    profile.get_trace(row.trace).serial
                };
                body = body.varint(row.tick.saturating_sub(tick));
                body = body.difference(thread, row.thread).difference(trace, of_row);
                body = body.varint(row.count);
                (tick, thread, trace) = (row.tick, row.thread, of_row);
            }
            self.record_of(tag::TIMELINE, &body.bytes)?;
            if rows.len() == 0 {
                return Ok(());
            }
        }
    }

    /// Writes TIME SERIES.
    pub fn time_series(&mut self, series: &TimeSeries) -> io::Result<()> {
        let mut body = Body::default().metric(&series.metric);
        body = body.varint(series.tick_ns).varint(series.begin_ns);
        let (mut last, mut before) = (0, 0);
        for (&(tick, subject), &number) in &series.numbers {
            let thread = subject.thread.unwrap_or(0);
            let state = subject.state.map_or(0, |state| state.number() + 1);
            body = body.varint(tick - last).difference(before, thread).u1(state).varint(number);
            (last, before) = (tick, thread);
        }
        self.record_of(tag::TIME_SERIES, &body.bytes)
    }

    /// Writes PAUSES, in order of time.
    pub fn pauses(&mut self, pauses: &[Pause]) -> io::Result<()> {
        let mut pauses = pauses.to_vec();
        pauses.sort_unstable();
        for pauses in pauses.chunks(RECORD_ROWS) {
            let mut body = Body::default();
            let mut begin_ns = 0;
            for pause in pauses {
                body = body.varint(pause.begin_ns - begin_ns).varint(pause.duration_ns);
                body = body.u1(pause.kind as u8);
                begin_ns = pause.begin_ns;
            }
            self.record_of(tag::PAUSES, &body.bytes)?;
        }
        Ok(())
    }
}

impl Body {
    /// Adds the marks, the unit and the name of a metric.
    fn metric(self, metric: &Metric) -> Self {
        let name = mutf8::encode(metric.file_name());
        let unit = UNITS.iter().position(|unit| *unit == metric.unit()).unwrap_or(0);
        let marks = if metric.is_other() { IS_OTHER } else { 0 };
        self.u1(marks).u1(unit as u8).u4(name.len() as u32).bytes(&name)
    }

    /// Adds the difference of two numbers.
    fn difference(self, last: u32, next: u32) -> Self {
        self.varint(zigzag(i64::from(next) - i64::from(last)))
    }
}
