//! `samples`: all numbers, by time, thread, stack and labels.

use super::names::unit;
use crate::sample::Sample;
use crate::table::{Column, TableOf, Values};

pub(super) fn samples() -> TableOf<Sample> {
    TableOf {
        name: "samples",
        about: "all numbers of the files; their sums are in `metrics`",
        rows: Box::new(|it| Sample::all(&it.profile)),
        columns: vec![
            Column::recording(),
            Column::new(
                "metric",
                Values::Text(|_, row| Some(row.metric.name())),
                "the metric, as in --metric: samples, wall, allocated, blocked and so on",
            ),
            Column::new(
                "unit",
                Values::Text(|_, row| Some(unit(&row.metric))),
                "its unit: count, nanoseconds or bytes",
            ),
            Column::new(
                "time",
                Values::Time(|it, row| it.unix_ns(row.time_ns?)),
                "when it was measured, to within a tick of the recording; null if that is not known",
            ),
            Column::new(
                "thread",
                Values::Text(|it, row| Some(it.profile.thread_name(row.thread?))),
                "the name of the thread; null if it is not known",
            ),
            Column::new(
                "thread_serial",
                Values::Number(|it, row| Some(it.profile.get_thread(row.thread?).serial.into())),
                "the number of the thread in the recording, as in `threads`",
            ),
            Column::new(
                "stack",
                Values::Stack(|it, row| it.stack(it.profile.get_trace(row.trace).node)),
                "the stack, as in `stacks`; null if it is not known",
            ),
            Column::new(
                "subject",
                Values::Text(|_, row| row.subject.as_deref()),
                "what the number is of besides: the class of the objects or of the lock, a field, the state of the thread",
            ),
            Column::new(
                "labels",
                Values::Labels(|it, row| it.profile.labels.get(row.labels).into()),
                "the labels of the number: labels['service']",
            ),
            Column::new(
                "value",
                Values::Number(|_, row| Some(row.value)),
                "the number, in the unit of the metric",
            ),
            Column::new(
                "cpu_ns",
                Values::Number(|it, row| row.cpu_ns(&it.profile)),
                "the CPU time of CPU samples: recordings can have different intervals; null for other metrics",
            ),
        ],
    }
}
