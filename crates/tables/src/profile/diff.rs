//! `diff(a, b)`: two recordings side by side, by method.

use std::sync::Arc;

use perk_analysis::diff::{Diff, MetricDiff};
use perk_profile::{MethodId, Symbols};

use super::names::{class, name, signature};
use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// A method of both recordings. Its names are those of neither.
pub(crate) struct DiffRow {
    metric: String,
    unit: &'static str,
    class: String,
    method: String,
    signature: Option<String>,
    own: [u64; 2],
    total: [u64; 2],
    is_significant: Option<bool>,
}

/// The comparison of a recording with the one at `after` of these.
pub(crate) fn diff(recordings: Arc<[Recording]>, after: usize) -> TableOf<DiffRow> {
    TableOf {
        name: "diff(1, 2)",
        about: "two sides, here recordings: the numbers of each metric that both have, by method",
        rows: Box::new(move |before| {
            let diff = Diff::new(&before.profile, &recordings[after].profile);
            let rows = |metric: &MetricDiff| {
                let rows = metric.methods.iter();
                let rows = rows.map(|row| {
                    let own = [row.before.own, row.after.own];
                    DiffRow {
                        total: [row.before.total, row.after.total],
                        is_significant: metric.is_significant(own),
                        ..DiffRow::new(&diff.symbols, metric, row.key, own)
                    }
                });
                rows.collect::<Vec<_>>()
            };
            diff.metrics.iter().flat_map(rows).collect()
        }),
        columns: vec![
            Column::new(
                "metric",
                Values::Text(|_, row| Some(&row.metric)),
                "the metric, as in `samples`",
            ),
            Column::new(
                "unit",
                Values::Text(|_, row| Some(row.unit)),
                "its unit: count, nanoseconds or bytes",
            ),
            Column::new("class", Values::Text(|_, row| Some(&row.class)), "its class"),
            Column::new("method", Values::Text(|_, row| Some(&row.method)), "its name"),
            Column::new(
                "signature",
                Values::Text(|_, row| row.signature.as_deref()),
                "its parameters and result; null if one side has none",
            ),
            Column::new(
                "self_before",
                Values::Number(|_, row| Some(row.own[0])),
                "the number with it on top of the stack, of the first side",
            ),
            Column::new(
                "self_after",
                Values::Number(|_, row| Some(row.own[1])),
                "the same of the second side",
            ),
            Column::new(
                "total_before",
                Values::Number(|_, row| Some(row.total[0])),
                "the number with it anywhere on the stack, of the first side",
            ),
            Column::new(
                "total_after",
                Values::Number(|_, row| Some(row.total[1])),
                "the same of the second side",
            ),
            Column::new(
                "is_significant",
                Values::Flag(|_, row| row.is_significant),
                "whether the change of self is more than the error of samples (95 %); null for exact numbers",
            ),
        ],
    }
}

impl DiffRow {
    fn new(symbols: &Symbols, metric: &MetricDiff, method: MethodId, own: [u64; 2]) -> Self {
        Self {
            metric: metric.metric.name().to_owned(),
            unit: metric.unit.name(),
            class: class(symbols, method).to_owned(),
            method: name(symbols, method).to_owned(),
            signature: signature(symbols, method).map(str::to_owned),
            own,
            total: [0; 2],
            is_significant: None,
        }
    }
}
