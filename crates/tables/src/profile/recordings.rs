//! What was recorded: `recordings` and `accounting`.

use perk_profile::Metric;

use crate::table::{Column, TableOf, Values};

/// One row for each recording.
pub(super) fn recordings() -> TableOf<()> {
    TableOf {
        name: "recordings",
        about: "the files that are asked, one row each",
        rows: Box::new(|_| vec![()]),
        columns: vec![
            Column::recording(),
            Column::new("file", Values::Text(|it, _| Some(&it.file)), "its name"),
            Column::new("created", Values::Time(|it, _| it.unix_ns(0)), "its start, if it says"),
            Column::new(
                "duration_ns",
                Values::Number(|it, _| Some(it.profile.accounting.as_ref()?.wall_ns)),
                "its length; null without an account",
            ),
            Column::new(
                "interval_ns",
                Values::Number(|it, _| it.profile.sample_interval_ns()),
                "the CPU time that a sample represents; null if it is not known",
            ),
            Column::new(
                "program",
                Values::Text(|it, _| Some(&it.profile.accounting.as_ref()?.program)),
                "the main class or jar with its arguments, without secrets",
            ),
            Column::new(
                "jvm",
                Values::Text(|it, _| Some(&it.profile.accounting.as_ref()?.jvm)),
                "the name and version of the JVM",
            ),
            Column::new(
                "cpu_ns",
                Values::Number(|it, _| Some(it.profile.accounting.as_ref()?.process_cpu_ns)),
                "CPU time of the process, with the JVM's own threads",
            ),
            Column::new(
                "perk_cpu_ns",
                Values::Number(|it, _| Some(it.profile.accounting.as_ref()?.perk_cpu_ns)),
                "the part of it that perk took",
            ),
            Column::new(
                "labels",
                Values::Labels(|it, _| it.profile.common_labels().into()),
                "the labels that all of its numbers have, such as service and host: labels['service']",
            ),
        ],
    }
}

/// What the readers skipped.
pub(super) fn notes() -> TableOf<String> {
    TableOf {
        name: "notes",
        about: "what perk skipped or found wrong in each file",
        rows: Box::new(|it| it.profile.notes.clone()),
        columns: vec![
            Column::recording(),
            Column::new("note", Values::Text(|_, row| Some(row)), "the note, a sentence"),
        ],
    }
}

/// The metrics of each recording.
pub(super) fn metrics() -> TableOf<Metric> {
    TableOf {
        name: "metrics",
        about: "the metrics of each recording, with their sums",
        rows: Box::new(|it| Metric::all_of(&it.profile)),
        columns: vec![
            Column::recording(),
            Column::new(
                "metric",
                Values::Text(|_, row| Some(row.name())),
                "its name in all tables",
            ),
            Column::new(
                "unit",
                Values::Text(|_, row| Some(row.unit().name())),
                "its unit: count, nanoseconds or bytes",
            ),
            Column::new(
                "total",
                Values::Number(|it, row| Some(row.total(&it.profile))),
                "the sum of all numbers, also of those that the file leaves out",
            ),
            Column::new(
                "listed",
                Values::Number(|it, row| {
                    let numbers = row.by_trace(&it.profile).1.into_iter().map(|row| row.1);
                    Some(numbers.fold(0, u64::saturating_add))
                }),
                "the sum of the numbers that the file has: that of `samples`",
            ),
            Column::new(
                "period",
                Values::Number(|it, row| row.period(&it.profile)),
                "the nanoseconds or bytes from sample to sample; null if all was counted, or it is not known",
            ),
        ],
    }
}

/// A line of the account: a name and a value.
pub(super) struct Line {
    name: String,
    value: String,
}

/// The account of each recording.
pub(super) fn accounting() -> TableOf<Line> {
    TableOf {
        name: "accounting",
        about: "what was recorded, lost and cost, one row for each number of each recording",
        rows: Box::new(|recording| {
            let text = recording.profile.accounting.as_ref().map(|it| it.to_text());
            let text = text.unwrap_or_default();
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let line =
                |(name, value): (&str, &str)| Line { name: name.into(), value: value.into() };
            lines.map(line).collect()
        }),
        columns: vec![
            Column::recording(),
            Column::new(
                "name",
                Values::Text(|_, row| Some(&row.name)),
                "the name of the number, with its unit, as in perk report --json",
            ),
            Column::new("value", Values::Text(|_, row| Some(&row.value)), "its value as text"),
            Column::new(
                "number",
                Values::Number(|_, row| row.value.parse().ok()),
                "its value as a number; null if it is none",
            ),
        ],
    }
}
