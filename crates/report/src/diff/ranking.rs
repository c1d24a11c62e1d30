//! The methods by the change of one metric: their own numbers, and those with all that they called.

use std::cmp::Reverse;
use std::rc::Rc;

use perk_analysis::diff::{Change, Diff, MethodNumbers, MetricDiff};
use perk_profile::units::{amount, plural};
use perk_profile::{MethodId, Metric, Unit};
use perk_render::{Cell, Column, Json, LazyTable, Part, Section};

use super::lists::Number;
use super::{relative_number, signed, state};
use crate::selection::metric::is_exact;

/// A change of a time that is not of samples is noise if it is a smaller part of the total.
const LEAST_PART: f64 = 0.01;
/// The keys of the numbers in JSON, which has the unit of the metric beside them.
const KEYS: [&str; 2] = ["self", "total"];

/// The methods of a metric.
#[derive(Debug)]
pub(super) struct Ranking<'d> {
    diff: &'d Diff,
    /// The numbers as the files have them.
    raw: &'d MetricDiff,
    /// As people read them.
    shown: MetricDiff,
    presence: Rc<Vec<[bool; 2]>>,
    is_normalized: bool,
}

type Row = Change<MethodId, MethodNumbers>;

/// The number that ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    Own,
    Total,
}

impl NumberKind {
    fn sides(self, row: &Row) -> [u64; 2] {
        [row.before, row.after].map(|it| if self == NumberKind::Own { it.own } else { it.total })
    }

    fn other(self) -> Self {
        if self == NumberKind::Own { NumberKind::Total } else { NumberKind::Own }
    }
}

impl<'d> Ranking<'d> {
    /// The ranking of `raw`, which people see as `shown`.
    pub(super) fn new(
        diff: &'d Diff,
        raw: &'d MetricDiff,
        shown: MetricDiff,
        presence: &Rc<Vec<[bool; 2]>>,
        is_normalized: bool,
    ) -> Self {
        Self { diff, raw, shown, presence: Rc::clone(presence), is_normalized }
    }

    /// The numbers as the files have them.
    pub(super) fn raw(&self) -> &'d MetricDiff {
        self.raw
    }

    pub(super) fn metric(&self) -> &'d Metric {
        &self.raw.metric
    }

    /// How much changed by more than chance, as a part of all; 0 where there is nothing to show.
    pub(super) fn moved(&self) -> f64 {
        let sum = |by: NumberKind| {
            let moved = |row: &Row| {
                let [before, after] = by.sides(row);
                before.abs_diff(after)
            };
            self.rows(by, false).iter().map(moved).fold(0, u64::saturating_add)
        };
        let largest = self.shown.total.before.max(self.shown.total.after).max(1);
        let own = sum(NumberKind::Own);
        // Changes of callers alone come last.
        let all = if own > 0 { own } else { u64::from(sum(NumberKind::Total) > 0) };
        all as f64 / largest as f64
    }

    /// Where the samples do not tell any change from chance: a sentence with the largest.
    pub(super) fn uncertain(&self) -> Option<String> {
        if self.shown.sample.is_none() || self.moved() > 0.0 {
            return None;
        }
        let largest = |by: NumberKind| Some((by, *self.rows(by, true).first()?));
        let (by, row) = largest(NumberKind::Own).or_else(|| largest(NumberKind::Total))?;
        let (sides, unit) = (by.sides(&row), self.shown.unit);
        let name = perk_render::labels(&self.diff.symbols, [row.key]);
        let margin = amount(self.shown.margin(sides)?, unit);
        Some(format!(
            "{}: the change of no method is significant at 95 %, as samples are too few; the largest is {} ± \
             {margin} in {} (--top)",
            self.heading("by method"),
            signed(sides, unit),
            name[&row.key],
        ))
    }

    /// Whether methods have more than their own numbers.
    fn has_totals(&self) -> bool {
        self.raw
            .methods
            .iter()
            .any(|row| NumberKind::Own.sides(row) != NumberKind::Total.sides(row))
    }

    /// The rows with a change, most changed first; `all` with those that are no more than chance.
    fn rows(&self, by: NumberKind, all: bool) -> Vec<Row> {
        let largest = self.shown.total.before.max(self.shown.total.after) as f64;
        let moved = |by: NumberKind, row: &Row| {
            let [before, after] = by.sides(row);
            before.abs_diff(after)
        };
        let is_small = |row: &Row| (moved(by, row) as f64) < largest * LEAST_PART;
        let is_noise = |row: &Row| match self.shown.is_significant(by.sides(row)) {
            // Times of calls differ from run to run, too.
            Some(true) if *self.metric() == Metric::SelfTime => is_small(row),
            Some(is_significant) => !is_significant,
            None => !self.is_counted() && is_small(row),
        };
        let rows = self.shown.methods.iter().filter(|row| moved(by, row) > 0);
        let mut rows: Vec<_> = rows.filter(|row| all || !is_noise(row)).copied().collect();
        // The order of the rows decides what is equal. Of a method and its callers that have the same
        // total, it comes first.
        rows.sort_by_key(|row| {
            (is_noise(row), Reverse(moved(by, row)), Reverse(moved(by.other(), row)))
        });
        rows
    }

    /// Whether every event was counted, so that each difference is one of the programs.
    fn is_counted(&self) -> bool {
        is_counted(self.raw, self.diff)
    }

    /// For people: a table by each number, or the one alone. `top` is the number of rows, and whether
    /// somebody asked for it: then changes are shown that may be chance.
    pub(super) fn sections(&self, has_both: bool, top: (usize, bool)) -> Vec<Section> {
        let mut sections = Vec::new();
        let has_totals = self.has_totals();
        for by in [NumberKind::Own, NumberKind::Total] {
            if by == NumberKind::Own || has_totals && has_both {
                sections.push(self.section(by, has_totals, top));
            }
        }
        // Callers changed, and no method by itself.
        if has_totals && !has_both && self.rows(NumberKind::Own, top.1).is_empty() {
            sections.push(self.section(NumberKind::Total, has_totals, top));
        }
        sections
    }

    fn section(&self, by: NumberKind, has_totals: bool, (top, is_asked): (usize, bool)) -> Section {
        let rows = self.rows(by, is_asked);
        let changed = self.shown.methods.iter().filter(|row| {
            let [before, after] = by.sides(row);
            before != after
        });
        let hidden = changed.count() - rows.len();
        let more = rows.len().saturating_sub(top);
        let by_what = match by {
            _ if !has_totals => "by method",
            NumberKind::Own => "by method, its own",
            NumberKind::Total => "by method, with all that it called",
        };
        let heading = self.heading(by_what);
        if rows.is_empty() {
            return Vec::new();
        }
        let mut table = self.table(by, has_totals, heading, rows.into_iter().take(top).collect());
        if more > 0 {
            table = table.note(format!("and {more} more (--top)"));
        }
        if hidden > 0 {
            let noise = match self.shown.sample {
                Some(_) if *self.metric() == Metric::SelfTime => {
                    "within the error or by less than 1 % of the total"
                }
                Some(_) => "within the error",
                None => "by less than 1 % of the total",
            };
            let methods = plural(hidden as u64, "smaller change");
            table = table.note(format!("and {methods} {noise} (--top)"));
        }
        vec![Part::table(table)]
    }

    /// The metric, with these words.
    fn heading(&self, by_what: &str) -> String {
        let name = match (&self.shown.metric, self.shown.unit) {
            (Metric::Samples, Unit::Nanoseconds) => "CPU time".to_owned(),
            (metric, _) => metric.title(),
        };
        let mut chars = name.chars();
        let name: String =
            chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
        let is_share = self.is_normalized
            && (self.shown.sample.is_some() || self.shown.unit == Unit::Nanoseconds);
        let share = if is_share { ", in proportion to the total before" } else { "" };
        format!("{name} {by_what}{share}")
    }

    fn table(
        &self,
        by: NumberKind,
        has_totals: bool,
        heading: String,
        rows: Vec<Row>,
    ) -> LazyTable<'d> {
        let unit = self.shown.unit;
        let [all_before, all_after] = [self.shown.total.before, self.shown.total.after];
        let words = |position, heading: &'static str| Column::words().at(position, heading);
        let other = if by == NumberKind::Own { "total" } else { "self" };
        let mut table = LazyTable::of(&self.diff.symbols, heading, rows)
            .column(Column::method_name("name").name("method"), |row| row.key)
            .column(words(0, "before"), move |row| amount(by.sides(row)[0], unit))
            .column(words(1, "after"), move |row| amount(by.sides(row)[1], unit))
            .column(words(2, "change"), move |row| signed(by.sides(row), unit));
        if self.shown.sample.is_some() {
            let margins = MetricDiff { methods: Vec::new(), ..self.shown.clone() };
            table = table.column(words(3, "±"), move |row| {
                margins.margin(by.sides(row)).map(|margin| amount(margin, unit))
            });
        }
        let presence = Rc::clone(&self.presence);
        table = table
            .column(words(4, "change %"), move |row| {
                match state(NumberKind::Total.sides(row), presence[row.key.index()]) {
                    "changed" if by.sides(row)[0] == 0 => "-".to_owned(),
                    "changed" => relative_number(by.sides(row)),
                    state => state.to_owned(),
                }
            })
            .column(words(6, "before %"), move |row| Cell::Share(by.sides(row)[0], all_before))
            .column(words(7, "after %"), move |row| Cell::Share(by.sides(row)[1], all_after));
        if has_totals {
            table = table.column(words(5, other), move |row| signed(by.other().sides(row), unit));
        }
        table.table()
    }

    /// For JSON: at most `top` of the rows that differ, with the numbers as the files have them.
    pub(super) fn json(&self, top: usize) -> Json {
        let rows: Vec<_> = self.changed().take(top).collect();
        let raw = MetricDiff { methods: Vec::new(), ..self.raw.clone() };
        let totals = [raw.total.before, raw.total.after];
        let presence = Rc::clone(&self.presence);
        let both = |of: &dyn Fn(NumberKind) -> Json| {
            Json::object(KEYS.into_iter().zip([of(NumberKind::Own), of(NumberKind::Total)]))
        };
        let other = Column::other;
        let margin = raw.clone();
        LazyTable::of(&self.diff.symbols, "", rows)
            .column(Column::method_name("name"), |row| row.key)
            .column(other("state"), move |row| {
                state(NumberKind::Total.sides(row), presence[row.key.index()])
            })
            .column(other("before"), move |row| both(&|by| by.sides(row)[0].into()))
            .column(other("after"), move |row| both(&|by| by.sides(row)[1].into()))
            .column(other("change"), move |row| both(&|by| change(by.sides(row))))
            .column(other("before_percent"), move |row| {
                both(&|by| percent(by.sides(row)[0], totals[0]))
            })
            .column(other("after_percent"), move |row| {
                both(&|by| percent(by.sides(row)[1], totals[1]))
            })
            .column(other("margin"), move |row| both(&|by| margin.margin(by.sides(row)).into()))
            .column(other("is_significant"), move |row| {
                both(&|by| raw.is_significant(by.sides(row)).into())
            })
            .table()
            .into()
    }

    /// The rows that differ in any number, most changed first.
    fn changed(&self) -> impl Iterator<Item = Row> {
        self.raw.methods.iter().filter(|row| row.before != row.after).copied()
    }

    /// For CSV: each number that differs, of at most `top` methods.
    pub(super) fn numbers(self, top: usize) -> Vec<Number<'d>> {
        let totals = [self.raw.total.before, self.raw.total.after];
        let mut numbers = Vec::new();
        for row in self.changed().take(top) {
            for (by, id) in
                [NumberKind::Own, NumberKind::Total].into_iter().zip(keys_with_unit(self.raw.unit))
            {
                let sides = by.sides(&row);
                if sides[0] != sides[1] {
                    let name = perk_render::full_name(&self.diff.symbols, row.key);
                    numbers.push(Number {
                        kind: self.raw.metric.name(),
                        name,
                        caller: String::new(),
                        id,
                        sides,
                        totals,
                        margin: self.raw.margin(sides),
                    });
                }
            }
        }
        numbers
    }
}

/// The keys of the numbers in CSV.
fn keys_with_unit(unit: Unit) -> [&'static str; 2] {
    match unit {
        Unit::Count => ["self_count", "total_count"],
        Unit::Nanoseconds => ["self_ns", "total_ns"],
        Unit::Bytes => ["self_bytes", "total_bytes"],
    }
}

/// Whether every event of a metric was counted, so that each difference is one of the programs.
pub(super) fn is_counted(of: &MetricDiff, diff: &Diff) -> bool {
    let metric = &of.metric;
    is_exact(metric)
        || metric.is_of_fields()
        || *metric == Metric::Calls
        || metric.is_of_objects() && !diff.is_estimated
}

/// The difference as a number.
pub(super) fn change([before, after]: [u64; 2]) -> Json {
    let moved = i128::from(after) - i128::from(before);
    Json::Signed(i64::try_from(moved).unwrap_or(if moved > 0 { i64::MAX } else { i64::MIN }))
}

/// A share of all; unknown of nothing.
pub(super) fn percent(part: u64, all: u64) -> Json {
    match all {
        0 => Json::Null,
        all => Json::Float((part as f64 * 10_000.0 / all as f64).round() / 100.0),
    }
}
