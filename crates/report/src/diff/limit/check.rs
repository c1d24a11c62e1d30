//! Limits held against a comparison.

use anyhow::bail;
use perk_analysis::diff::{Change, Diff, MethodNumbers, MetricDiff};
use perk_analysis::near;
use perk_analysis::objects::FieldKey;
use perk_profile::{ClassId, MethodId, Metric, NamePattern, Profile, Unit};

use super::{CHOSEN, Direction, Limit, LimitSubject, NumberKind, OF_OBJECTS};
use crate::selection::metric::is_exact;
use crate::words::no_such_name;

/// The profiles that limits are held against.
#[derive(Clone, Copy, Debug)]
pub(in crate::diff) struct LimitInput<'a> {
    pub(in crate::diff) diff: &'a Diff,
    /// Before and after.
    pub(in crate::diff) profiles: [&'a Profile; 2],
    /// The metric of `--metric`.
    pub(in crate::diff) asked: Option<&'a Metric>,
    /// Whether `--normalize` is given.
    pub(in crate::diff) is_normalized: bool,
}

/// The result of a limit.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::diff) struct Verdict {
    pub(in crate::diff) limit: String,
    /// The unit of its numbers.
    pub(in crate::diff) unit: Unit,
    /// The numbers compared; of samples with a name, after is scaled to as many samples as before.
    pub(in crate::diff) before: u64,
    pub(in crate::diff) after: u64,
    pub(in crate::diff) is_exceeded: bool,
    /// The most by which the number of samples lets the change be wrong, at 95 %; `None` where it is not
    /// of samples.
    pub(in crate::diff) margin: Option<u64>,
    /// Whether a change as large as the limit would be hidden by the margin, or this one is.
    pub(in crate::diff) is_uncertain: bool,
    /// The method that moved most in the direction of the limit, and its numbers before and after,
    /// where the limit is exceeded and its numbers are of every call.
    pub(in crate::diff) most: Option<(MethodId, [u64; 2])>,
}

/// The numbers of a limit.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    unit: Unit,
    sides: [u64; 2],
    margin: Option<u64>,
    /// Whether there is a row of that name.
    is_found: bool,
}

impl Limit {
    /// Holds the limit against a comparison.
    ///
    /// # Errors
    /// One of the profiles has no such number, or neither has the name: a limit on nothing would
    /// never be passed. Or the limit has another unit.
    pub(in crate::diff) fn check(&self, compared: LimitInput<'_>) -> anyhow::Result<Verdict> {
        let diff = compared.diff;
        let Some(numbers) = self.numbers(compared) else {
            let own = Metric::OWN.iter().filter(|it| **it != Metric::EstimatedCalls);
            let own = own.map(Metric::name);
            let others = diff.metrics.iter().filter(|it| it.metric.is_other());
            let others = others.map(|it| it.metric.name());
            let known: Vec<_> = own.chain(OF_OBJECTS).chain(others).chain(CHOSEN).collect();
            bail!("--fail-on {self}: not in both profiles (limits are on {})", known.join(", "));
        };
        if !numbers.is_found {
            let name = self.name.iter().map(|name| {
                no_such_name("class or method", name, &near::names(name, &diff.symbols))
            });
            bail!("--fail-on {self}: {}", name.collect::<String>());
        }
        let Numbers { unit, sides: [before, after], margin, .. } = numbers;
        let number = self.text.split(['>', '<']).next().unwrap_or_default().trim();
        if let Err(error) = self.bound.fits(number, unit) {
            bail!("--fail-on {self}: {error}");
        }
        let (from, to) = match self.direction {
            Direction::Growth => (before, after),
            Direction::Shrinking => (after, before),
        };
        let moved = to.saturating_sub(from);
        let bound = self.bound.of(before);
        let is_exceeded = moved > 0 && moved as f64 > bound;
        let is_uncertain = margin.is_some_and(|margin| match is_exceeded {
            true => moved <= margin,
            false => bound < margin as f64,
        });
        let most = if is_exceeded { self.most(compared) } else { None };
        let limit = self.text.clone();
        Ok(Verdict { limit, unit, before, after, is_exceeded, margin, is_uncertain, most })
    }

    /// The method that moved most in the direction of the limit.
    fn most(&self, compared: LimitInput<'_>) -> Option<(MethodId, [u64; 2])> {
        let diff = compared.diff;
        let of = |of: &MetricDiff, by: NumberKind| -> Vec<(MethodId, [u64; 2])> {
            let number = |it: &MethodNumbers| if by == NumberKind::Own { it.own } else { it.total };
            let sides = |row: &Change<_, _>| (row.key, [number(&row.before), number(&row.after)]);
            of.methods.iter().map(sides).collect()
        };
        let rows = match &self.limited {
            LimitSubject::Metric(Metric::Calls) => {
                let rows = diff.methods.iter().flatten();
                rows.map(|row| (row.key, [row.before.count, row.after.count])).collect()
            }
            LimitSubject::Metric(metric) => {
                of(found(diff, metric).filter(|it| is_exact(&it.metric))?, NumberKind::Own)
            }
            LimitSubject::Time(by) | LimitSubject::Chosen(by) => {
                let it = self.limited.timed(compared)?;
                if it.sample.is_some() && it.metric != Metric::SelfTime {
                    return None;
                }
                of(&it, if self.name.is_some() { *by } else { NumberKind::Own })
            }
            _ => return None,
        };
        let is_meant = |method| match &self.name {
            Some(name) => name.matches_method(&diff.symbols, method),
            None => true,
        };
        let moved = |&(_, [before, after]): &(MethodId, [u64; 2])| match self.direction {
            Direction::Growth => after.saturating_sub(before),
            Direction::Shrinking => before.saturating_sub(after),
        };
        let rows = rows.into_iter().filter(|row| is_meant(row.0));
        // The rows are ordered: of several that moved as much, the first.
        rows.rev().max_by_key(moved).filter(|row| moved(row) > 0)
    }

    /// The numbers that the limit is on; `None` where they are not in both profiles.
    fn numbers(&self, compared: LimitInput<'_>) -> Option<Numbers> {
        let diff = compared.diff;
        let symbols = &diff.symbols;
        let is_method =
            |method| self.name.as_ref().is_none_or(|name| name.matches_method(symbols, method));
        let is_class = |class: ClassId| {
            self.name.as_ref().is_none_or(|name| name.matches_class(symbols.class_name(class)))
        };
        let counted = |(before, after, is_found): (u64, u64, bool), unit| Numbers {
            unit,
            sides: [before, after],
            margin: None,
            is_found: is_found || self.name.is_none(),
        };
        let metric = match &self.limited {
            LimitSubject::Metric(metric) => metric,
            LimitSubject::Time(by) | LimitSubject::Chosen(by) => {
                return self.of_methods(compared, *by);
            }
            LimitSubject::SharedObjects => {
                let rows = diff.accessed.as_ref()?.iter().filter(|row| is_class(row.key));
                return Some(counted(sum(rows, |it| it.shared_count), Unit::Count));
            }
            LimitSubject::HeapBytes => {
                let rows = diff.heap.as_ref()?.iter().filter(|row| is_class(row.key));
                return Some(counted(sum(rows, |it| it.shallow_bytes), Unit::Bytes));
            }
            LimitSubject::HeapCount => {
                let rows = diff.heap.as_ref()?.iter().filter(|row| is_class(row.key));
                return Some(counted(sum(rows, |it| it.instance_count), Unit::Count));
            }
        };
        let unit = metric.unit();
        let place = |of: &[Metric]| of.iter().position(|it| it == metric);
        if let Some(place) = place(&Metric::OF_LOCKS) {
            let rows = diff.locks.as_ref()?.iter().filter(|row| is_class(row.key));
            return Some(counted(sum(rows, |waits| waits.numbers()[place]), unit));
        }
        if let Some(place) = place(&Metric::OF_OBJECTS) {
            let rows = diff.sites.as_ref()?.iter().filter(|row| {
                let (class, node) = row.key;
                let is_named = |name: &NamePattern| name.matches_class(symbols.class_name(class));
                let inner = diff.tree.frame(node).map(|frame| symbols.get_frame(frame).method);
                self.name.as_ref().is_none_or(is_named) || inner.is_some_and(is_method)
            });
            let numbers = counted(sum(rows, |objects| objects.numbers()[place]), unit);
            let margin = found(diff, metric).and_then(|it| it.margin(numbers.sides));
            return Some(Numbers { margin, ..numbers });
        }
        if let Some(fields) = diff.fields.as_ref().filter(|_| metric.is_of_fields()) {
            let is_field = |(class, field): FieldKey| {
                self.name.as_ref().is_none_or(|name| field.is_meant(name, class, symbols))
            };
            let rows = fields.iter().filter(|row| is_field(row.key));
            let numbers = sum(rows, |it| match metric {
                Metric::FieldAccesses => it.access_count,
                _ => it.other_access_count,
            });
            return Some(counted(numbers, unit));
        }
        if *metric == Metric::Calls {
            let rows = diff.methods.as_ref()?.iter().filter(|row| is_method(row.key));
            return Some(counted(sum(rows, |calls| calls.count), unit));
        }
        // The metric of that name, whatever its unit.
        let found = found(diff, metric)?;
        if self.name.is_none() {
            let sides = [found.total.before, found.total.after];
            let margin = found.margin(sides);
            return Some(Numbers { unit: found.unit, sides, margin, is_found: true });
        }
        // Of an exact number all, otherwise the share of all.
        let normalized;
        let of = match is_exact(&found.metric) {
            true => found,
            false => {
                normalized = found.normalized();
                &normalized
            }
        };
        let rows = of.methods.iter().filter(|row| is_method(row.key));
        let numbers = counted(sum(rows, |it| it.own), of.unit);
        Some(Numbers { margin: of.margin(numbers.sides), ..numbers })
    }

    /// The numbers of the methods of that name, of their own or with all that they called; the total
    /// without a name.
    fn of_methods(&self, compared: LimitInput<'_>, by: NumberKind) -> Option<Numbers> {
        let LimitInput { diff, profiles, .. } = compared;
        let Some(name) = &self.name else {
            let all = self.limited.timed(compared)?;
            let sides = [all.total.before, all.total.after];
            return Some(Numbers {
                unit: all.unit,
                sides,
                margin: all.margin(sides),
                is_found: true,
            });
        };
        let found = self.limited.raw(compared)?;
        let is_meant = |method| name.matches_method(&diff.symbols, method);
        let rows = found.methods.iter().filter(|row| is_meant(row.key));
        let (before, after, is_found) = sum(rows, |it| it.own);
        let totals = match by {
            NumberKind::Own => [0; 2],
            NumberKind::Total => diff.on_stacks_with(profiles, &found.metric, is_meant),
        };
        let side = |side: usize| MethodNumbers { own: [before, after][side], total: totals[side] };
        let all = Change { key: MethodId::new(0), before: side(0), after: side(1) };
        let scaled = compared.scaled(&MetricDiff { methods: vec![all], ..found.clone() });
        let sides = scaled.methods.iter().flat_map(|row| [row.before, row.after]);
        let sides: Vec<_> =
            sides.map(|it| if by == NumberKind::Own { it.own } else { it.total }).collect();
        let sides = [sides[0], sides[1]];
        Some(Numbers { unit: scaled.unit, sides, margin: scaled.margin(sides), is_found })
    }
}

impl LimitSubject {
    /// The numbers of a limit on time, or on the chosen metric.
    fn raw<'d>(&self, compared: LimitInput<'d>) -> Option<&'d MetricDiff> {
        let diff = compared.diff;
        match (self, compared.asked) {
            (LimitSubject::Chosen(_), Some(asked)) => found(diff, asked),
            _ => {
                let samples = diff.metric(&Metric::Samples).filter(|samples| {
                    samples.sample_ns.is_some() || matches!(self, LimitSubject::Chosen(_))
                });
                diff.metric(&Metric::SelfTime).or(samples)
            }
        }
    }

    /// The same as they are compared.
    fn timed(&self, compared: LimitInput<'_>) -> Option<MetricDiff> {
        self.raw(compared).map(|it| compared.scaled(it))
    }
}

impl LimitInput<'_> {
    /// The numbers of a metric as they are compared: samples as time, and in proportion if that is
    /// asked for.
    pub(in crate::diff) fn scaled(&self, it: &MetricDiff) -> MetricDiff {
        let it = it.in_time();
        match self.is_normalized && (it.sample.is_some() || it.unit == Unit::Nanoseconds) {
            true => it.normalized(),
            false => it,
        }
    }
}

/// The metric of that name, whatever its unit.
fn found<'d>(diff: &'d Diff, metric: &Metric) -> Option<&'d MetricDiff> {
    diff.metrics.iter().find(|it| it.metric.name() == metric.name())
}

/// The sums of both sides, and whether there is a row.
fn sum<'a, K: 'a, V: 'a>(
    rows: impl Iterator<Item = &'a Change<K, V>>,
    number: impl Fn(&V) -> u64,
) -> (u64, u64, bool) {
    rows.fold((0, 0, false), |(before, after, _), row| {
        let before = u64::saturating_add(before, number(&row.before));
        let after = u64::saturating_add(after, number(&row.after));
        (before, after, true)
    })
}
