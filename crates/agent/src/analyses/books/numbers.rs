//! Numbers by trace of metrics that are named as they are booked.

use perk_profile::{Metric, Section, TraceId, Unit};
use rustc_hash::FxHashMap;

/// The numbers; see the module.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberBook {
    metrics: Vec<MetricNumbers>,
}

/// A metric and its numbers.
#[derive(Clone, Debug)]
struct MetricNumbers {
    metric: Metric,
    kind: NumberKind,
    rows: FxHashMap<TraceId, Number>,
}

/// The meaning of a number that is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    /// A part of the total since the start. All parts are booked anew for each dump, which has the
    /// increase since the one before.
    Total,
    /// A part of the increase since the dump before.
    Increase,
    /// The number as of this dump.
    State,
}

#[derive(Clone, Copy, Debug, Default)]
struct Number {
    booked: u64,
    /// The total that earlier dumps have.
    before: u64,
    is_dumped: bool,
}

impl NumberBook {
    /// Books a part of a total since the start. All parts are booked anew for each dump, which has
    /// the increase since the one before.
    pub(super) fn book_total(&mut self, name: &str, unit: Unit, trace: TraceId, part: u64) {
        self.number(name, unit, NumberKind::Total, trace).booked += part;
    }

    /// Books a part of the increase since the dump before.
    pub(super) fn add(&mut self, name: &str, unit: Unit, trace: TraceId, increase: u64) {
        self.number(name, unit, NumberKind::Increase, trace).booked += increase;
    }

    /// Books the number as it is now.
    pub(super) fn set(&mut self, name: &str, unit: Unit, trace: TraceId, now: u64) {
        self.number(name, unit, NumberKind::State, trace).booked = now;
    }

    fn number(&mut self, name: &str, unit: Unit, kind: NumberKind, trace: TraceId) -> &mut Number {
        let known = self.metrics.iter().position(|it| it.metric.name() == name);
        let index = known.unwrap_or_else(|| {
            let metric = Metric::other(name, unit);
            self.metrics.push(MetricNumbers { metric, kind, rows: FxHashMap::default() });
            self.metrics.len() - 1
        });
        self.metrics[index].rows.entry(trace).or_default()
    }

    /// Returns the sections of a dump. A row that is in an earlier one is left out if it would add
    /// nothing.
    pub(super) fn take(&mut self) -> Vec<Section> {
        let sections = self.metrics.iter_mut().map(|MetricNumbers { metric, kind, rows }| {
            let mut section = Vec::with_capacity(rows.len());
            for (trace, number) in rows {
                let value = match kind {
                    NumberKind::Total | NumberKind::Increase => {
                        number.booked.saturating_sub(number.before)
                    }
                    NumberKind::State => number.booked,
                };
                if value > 0 || !number.is_dumped {
                    section.push((*trace, value));
                }
                if *kind == NumberKind::Total {
                    // Threads that run make a total inexact, and it may be less the next time.
                    number.before = number.before.max(number.booked);
                }
                if *kind != NumberKind::State {
                    number.booked = 0;
                }
                number.is_dumped = true;
            }
            section.sort_unstable();
            let total = section.iter().map(|row| row.1).fold(0, u64::saturating_add);
            Section::of(metric.clone(), total, section)
        });
        sections.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(book: &mut NumberBook) -> Vec<Vec<u64>> {
        let rows = |it: Section| it.rows().flat_map(|(_, row)| row.to_vec()).collect();
        book.take().into_iter().map(rows).collect()
    }

    #[test]
    fn a_dump_has_the_increase_since_the_one_before() {
        let trace = TraceId::new(0);
        let mut book = NumberBook::default();
        let mut booked = |totals: [u64; 2], increase: u64, state: u64| {
            for total in totals {
                book.number("total", Unit::Count, NumberKind::Total, trace).booked += total;
            }
            book.number("increase", Unit::Count, NumberKind::Increase, trace).booked += increase;
            book.number("state", Unit::Count, NumberKind::State, trace).booked = state;
            rows(&mut book)
        };
        assert_eq!(booked([3, 4], 5, 6), [[7], [5], [6]]);
        assert_eq!(booked([3, 5], 2, 1), [[1], [2], [1]]);
        // A row that adds nothing is left out.
        assert_eq!(booked([3, 5], 0, 1), [vec![], vec![], vec![1]]);
        // A total that was less for a moment does not count twice.
        assert_eq!(booked([3, 2], 0, 0), [vec![], vec![], Vec::<u64>::new()]);
        assert_eq!(booked([3, 7], 0, 0), [vec![2], vec![], vec![]]);
    }
}
