//! What was measured over time: `series` and `pauses`.

use perk_profile::{Event, Metric, Pause, SeriesSubject};

use super::names::unit;
use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// A number over time.
pub(super) struct Number {
    metric: Metric,
    time_ns: u64,
    tick_ns: u64,
    of: SeriesSubject,
    value: u64,
}

pub(super) fn series() -> TableOf<Number> {
    TableOf {
        name: "series",
        about: "allocations, waits and states of threads over time, of which no stack is known at each time",
        rows: Box::new(numbers),
        columns: vec![
            Column::recording(),
            Column::new(
                "metric",
                Values::Text(|_, row| Some(row.metric.name())),
                "the metric, as in `samples`",
            ),
            Column::new(
                "unit",
                Values::Text(|_, row| Some(unit(&row.metric))),
                "its unit: count, nanoseconds or bytes",
            ),
            Column::new(
                "time",
                Values::Time(|it, row| it.unix_ns(row.time_ns)),
                "the start of the tick",
            ),
            Column::new(
                "tick_ns",
                Values::Number(|_, row| Some(row.tick_ns)),
                "the length of the tick",
            ),
            Column::new(
                "thread_serial",
                Values::Number(|_, row| row.of.thread.map(u64::from)),
                "the number of the thread, as in `threads`; null for all threads that are not by themselves",
            ),
            Column::new(
                "state",
                Values::Text(|_, row| row.of.state.map(|state| state.name())),
                "the state of the thread, where the metric is by state",
            ),
            Column::new(
                "value",
                Values::Number(|_, row| Some(row.value)),
                "the number, in the unit of the metric",
            ),
        ],
    }
}

fn numbers(recording: &Recording) -> Vec<Number> {
    let series = recording.profile.events.iter().filter_map(|event| match event {
        Event::TimeSeries(series) => Some(series),
        _ => None,
    });
    let numbers = series.flat_map(|series| {
        series.numbers.iter().map(|(&(tick, of), &value)| Number {
            metric: series.metric.clone(),
            time_ns: series.time_ns(tick),
            tick_ns: series.tick_ns,
            of,
            value,
        })
    });
    numbers.collect()
}

pub(super) fn pauses() -> TableOf<Pause> {
    TableOf {
        name: "pauses",
        about: "the pauses in which no Java code ran",
        rows: Box::new(|it| {
            let pauses = it.profile.events.iter().filter_map(|event| match event {
                Event::Pauses(pauses) => Some(pauses.clone()),
                _ => None,
            });
            pauses.flatten().collect()
        }),
        columns: vec![
            Column::recording(),
            Column::new("time", Values::Time(|it, row| it.unix_ns(row.begin_ns)), "its start"),
            Column::new(
                "duration_ns",
                Values::Number(|_, row| Some(row.duration_ns)),
                "its length",
            ),
            Column::new(
                "kind",
                Values::Text(|_, row| Some(row.kind.name())),
                "collection (of garbage), or safepoint for another operation of the JVM",
            ),
        ],
    }
}
