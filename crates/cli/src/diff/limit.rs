//! Limits on what may change: `calls>+5%`, `allocated_bytes(com.acme.Cache)>+0`.

use std::fmt;

use anyhow::bail;
use perk_analysis::diff::{Change, Diff, MethodNumbers, MetricDiff};
use perk_analysis::near;
use perk_analysis::objects::FieldKey;
use perk_profile::{ClassId, MethodId, Metric, NamePattern, Unit};

use crate::filter::no_such_name;
use crate::metric::is_exact;

const USAGE: &str = "use NUMBER>+LIMIT or NUMBER<-LIMIT, such as calls>+5%, \
                     calls(com.acme.Foo.bar)>+0, allocated_bytes>+1% or time>+20ms";

/// A number, and the most by which it may change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    text: String,
    limited: Limited,
    name: Option<NamePattern>,
    direction: Direction,
    bound: Bound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Limited {
    Metric(Metric),
    /// The bytes of the objects in the heap.
    HeapBytes,
    /// The objects in the heap.
    HeapCount,
    /// The objects that another thread than their owner accessed.
    SharedObjects,
}

/// The names of the limits on objects, which are no metrics.
const OF_OBJECTS: [&str; 3] = ["heap_bytes", "heap_count", "shared_objects"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Growth,
    Shrinking,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Percent(f64),
    /// In the number's own unit: calls, nanoseconds, bytes.
    Amount(u64),
}

/// The result of a limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) limit: String,
    /// The numbers compared; of samples with a name, after is scaled to as many samples as before.
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) is_exceeded: bool,
    /// The method that moved most in the direction of the limit, and its numbers before and after,
    /// where the limit is exceeded and its numbers are counted.
    pub(super) most: Option<(MethodId, [u64; 2])>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a limit.
pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    let error = || USAGE.to_owned();
    let at = text.find(['>', '<']).ok_or_else(error)?;
    let (number, bound) = text.split_at(at);
    let (direction, bound) = if let Some(bound) = bound.strip_prefix(">+") {
        (Direction::Growth, bound)
    } else if let Some(bound) = bound.strip_prefix("<-") {
        (Direction::Shrinking, bound)
    } else {
        return Err(error());
    };
    let (number, name) = match number.trim().split_once('(') {
        Some((number, name)) => {
            let name = name.strip_suffix(')').and_then(NamePattern::new).ok_or_else(error)?;
            (number, Some(name))
        }
        None => (number.trim(), None),
    };
    let limited = match number {
        "" => return Err(error()),
        "heap_bytes" => Limited::HeapBytes,
        "heap_count" => Limited::HeapCount,
        "shared_objects" => Limited::SharedObjects,
        // The unit of a metric of another tool is known when the profiles are.
        name => Limited::Metric(
            Metric::own(name).unwrap_or_else(|| Metric::other(name, Unit::Nanoseconds)),
        ),
    };
    let bound = bound.trim();
    let bound = match bound.strip_suffix('%') {
        Some(share) => {
            let share: f64 = share.trim_end().parse().map_err(|_| error())?;
            if !share.is_finite() || share < 0.0 {
                return Err(error());
            }
            Bound::Percent(share)
        }
        None => Bound::Amount(amount(bound, &limited).ok_or_else(error)?),
    };
    Ok(Limit { text: text.to_owned(), limited, name, direction, bound })
}

/// A number; times may have a unit.
fn amount(text: &str, limited: &Limited) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_time = matches!(limited, Limited::Metric(it) if it.unit() == Unit::Nanoseconds);
    let factor = match &text[digits.len()..] {
        "" => 1,
        _ if !is_time => return None,
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

impl Limit {
    /// Holds the limit against a comparison.
    ///
    /// # Errors
    /// One of the profiles has no such number, or neither has the name: a limit on nothing would
    /// never be passed.
    pub(super) fn check(&self, diff: &Diff) -> anyhow::Result<Verdict> {
        let Some((before, after, is_found)) = self.numbers(diff) else {
            let own = Metric::OWN.iter().map(Metric::name);
            let others = diff.metrics.iter().filter(|it| it.metric.is_other());
            let others = others.map(|it| it.metric.name());
            let known: Vec<_> = own.chain(OF_OBJECTS).chain(others).collect();
            bail!("--fail-on {self}: not in both profiles (limits are on {})", known.join(", "));
        };
        if !is_found {
            let name = self.name.iter().map(|name| {
                no_such_name("class or method", name, &near::names(name, &diff.symbols))
            });
            bail!("--fail-on {self}: {}", name.collect::<String>());
        }
        let (from, to) = match self.direction {
            Direction::Growth => (before, after),
            Direction::Shrinking => (after, before),
        };
        let moved = to.saturating_sub(from);
        let is_exceeded = moved > 0
            && match self.bound {
                Bound::Percent(share) => moved as f64 > before as f64 * share / 100.0,
                Bound::Amount(amount) => moved > amount,
            };
        let most = if is_exceeded { self.most(diff) } else { None };
        Ok(Verdict { limit: self.text.clone(), before, after, is_exceeded, most })
    }

    /// The method that moved most in the direction of the limit.
    fn most(&self, diff: &Diff) -> Option<(MethodId, [u64; 2])> {
        let Limited::Metric(metric) = &self.limited else { return None };
        let rows: Vec<(MethodId, [u64; 2])> = match metric {
            Metric::Calls => {
                let rows = diff.methods.iter().flatten();
                rows.map(|row| (row.key, [row.before.count, row.after.count])).collect()
            }
            _ => {
                let found = Self::found(diff, metric).filter(|it| is_exact(&it.metric))?;
                let rows = found.methods.iter();
                rows.map(|row| (row.key, [row.before.own, row.after.own])).collect()
            }
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

    /// The metric of that name, whatever its unit.
    fn found<'d>(diff: &'d Diff, metric: &Metric) -> Option<&'d MetricDiff> {
        diff.metrics.iter().find(|it| it.metric.name() == metric.name())
    }

    /// The totals; with a name, what its methods have, after scaled to as much as before.
    fn shares(
        &self,
        rows: &[Change<MethodId, MethodNumbers>],
        all: Change<(), u64>,
        is_meant: impl Fn(MethodId) -> bool,
    ) -> (u64, u64, bool) {
        if self.name.is_none() {
            return (all.before, all.after, true);
        }
        let rows = rows.iter().filter(|row| is_meant(row.key));
        let (before, after, is_found) = sum(rows, |numbers| numbers.own);
        let scaled = u128::from(after) * u128::from(all.before);
        let scaled = scaled.checked_div(u128::from(all.after)).unwrap_or(0);
        (before, u64::try_from(scaled).unwrap_or(u64::MAX), is_found)
    }

    /// Before, after, and whether the name was found; `None` where it is not in both profiles.
    fn numbers(&self, diff: &Diff) -> Option<(u64, u64, bool)> {
        let symbols = &diff.symbols;
        let is_meant =
            |method| self.name.as_ref().is_none_or(|name| name.matches_method(symbols, method));
        let is_class = |class: ClassId| {
            self.name.as_ref().is_none_or(|name| name.matches_class(symbols.class_name(class)))
        };
        let metric = match &self.limited {
            Limited::Metric(metric) => metric,
            Limited::SharedObjects => {
                let rows = diff.accessed.as_ref()?.iter().filter(|row| is_class(row.key));
                let (before, after, is_found) = sum(rows, |it| it.shared_count);
                return Some((before, after, is_found || self.name.is_none()));
            }
            heap => {
                let rows = diff.heap.as_ref()?.iter().filter(|row| is_class(row.key));
                let (before, after, is_found) = sum(rows, |objects| match heap {
                    Limited::HeapBytes => objects.shallow_bytes,
                    _ => objects.instance_count,
                });
                return Some((before, after, is_found || self.name.is_none()));
            }
        };
        let place = |of: &[Metric]| of.iter().position(|it| it == metric);
        if let Some(place) = place(&Metric::OF_LOCKS) {
            let rows = diff.locks.as_ref()?.iter().filter(|row| is_class(row.key));
            let (before, after, is_found) = sum(rows, |waits| waits.numbers()[place]);
            return Some((before, after, is_found || self.name.is_none()));
        }
        if let Some(place) = place(&Metric::OF_OBJECTS) {
            let rows = diff.sites.as_ref()?.iter().filter(|row| {
                let (class, node) = row.key;
                let is_class = |name: &NamePattern| name.matches_class(symbols.class_name(class));
                let inner = diff.tree.frame(node).map(|frame| symbols.get_frame(frame).method);
                self.name.as_ref().is_none_or(is_class) || inner.is_some_and(is_meant)
            });
            let (before, after, is_found) = sum(rows, |objects| objects.numbers()[place]);
            return Some((before, after, is_found || self.name.is_none()));
        }
        if let Some(fields) = diff.fields.as_ref().filter(|_| metric.is_of_fields()) {
            let is_field = |(class, field): FieldKey| {
                self.name.as_ref().is_none_or(|name| field.is_meant(name, class, symbols))
            };
            let rows = fields.iter().filter(|row| is_field(row.key));
            let (before, after, is_found) = sum(rows, |it| match metric {
                Metric::FieldAccesses => it.access_count,
                _ => it.other_access_count,
            });
            return Some((before, after, is_found || self.name.is_none()));
        }
        match metric {
            Metric::Calls | Metric::SelfTime => {
                let is_time = *metric == Metric::SelfTime;
                let rows = diff.methods.as_ref()?.iter().filter(|row| is_meant(row.key));
                Some(sum(rows, |calls| if is_time { calls.self_ns } else { calls.count }))
            }
            _ => {
                let found = Self::found(diff, metric)?;
                if is_exact(&found.metric) && self.name.is_some() {
                    let rows = found.methods.iter().filter(|row| is_meant(row.key));
                    return Some(sum(rows, |numbers| numbers.own));
                }
                Some(self.shares(&found.methods, found.total, is_meant))
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use perk_analysis::diff::{Calls, HeapObjects};
    use perk_profile::{Allocations, Method, Symbols, Waits};

    use super::*;

    fn method(symbols: &mut Symbols, class: &str, name: &str) -> MethodId {
        let class = symbols.class(class);
        let name = symbols.strings.intern(name);
        symbols.method(Method { class, name, signature: None, source: None })
    }

    /// 100 calls before, 105 after; of `Foo.bar` 10 and 10.
    fn sample() -> Diff {
        let mut diff = Diff::default();
        let bar = method(&mut diff.symbols, "com.acme.Foo", "bar");
        let main = method(&mut diff.symbols, "com.acme.Main", "main");
        let calls = |count, self_ns| Calls { count, self_ns, total_ns: self_ns };
        diff.methods = Some(vec![
            Change { key: bar, before: calls(10, 1_000), after: calls(10, 2_000) },
            Change { key: main, before: calls(90, 0), after: calls(95, 0) },
        ]);
        let count = |own| MethodNumbers { own, total: own };
        let samples = MetricDiff {
            metric: Metric::Samples,
            total: Change { key: (), before: 100, after: 200 },
            methods: vec![Change { key: bar, before: count(10), after: count(40) }],
        };
        let node = diff.tree.root();
        let class = diff.symbols.class("byte[]");
        let bytes = |allocated_bytes| Allocations { allocated_bytes, ..Allocations::default() };
        diff.sites =
            Some(vec![Change { key: (class, node), before: bytes(1_000), after: bytes(990) }]);
        let misses = MetricDiff {
            metric: Metric::other("cache-misses", Unit::Count),
            total: Change { key: (), before: 1_000, after: 500 },
            methods: vec![Change { key: main, before: count(100), after: count(100) }],
        };
        diff.metrics = vec![samples, misses];
        let blocked = |blocked_ns| Waits { blocked_ns, blocked_count: 1, ..Waits::default() };
        diff.locks =
            Some(vec![Change { key: class, before: blocked(5), after: blocked(9_000_000) }]);
        let objects = |instance_count, shallow_bytes| HeapObjects { instance_count, shallow_bytes };
        diff.heap =
            Some(vec![Change { key: class, before: objects(4, 64), after: objects(3, 128) }]);
        diff
    }

    #[track_caller]
    fn check(text: &str, numbers: (u64, u64), is_exceeded: bool) {
        let verdict = limit(text).unwrap().check(&sample()).unwrap();
        assert_eq!(((verdict.before, verdict.after), verdict.is_exceeded), (numbers, is_exceeded));
    }

    #[test]
    fn growth_past_a_limit() {
        check("calls>+5%", (100, 105), false);
        check("calls>+4.9%", (100, 105), true);
        check("calls>+4", (100, 105), true);
        check("calls>+5", (100, 105), false);
        check("calls(com.acme.Foo.bar)>+0", (10, 10), false);
        check("calls(main) >+ 0%", (90, 95), true);
        check("time>+1us", (1_000, 2_000), false);
        check("self_ns(Foo.*)>+999", (1_000, 2_000), true);
        check("allocated_bytes<-0", (1_000, 990), true);
        check("allocated_bytes(byte[])<-1%", (1_000, 990), false);
        check("allocated_bytes>+0", (1_000, 990), false);
    }

    #[test]
    fn samples_are_compared_by_share() {
        check("samples>+50%", (100, 200), true);
        check("samples(bar)>+99%", (10, 20), true);
        check("samples(bar)>+100%", (10, 20), false);
    }

    #[test]
    fn other_metrics_and_locks_have_limits() {
        check("cache-misses>+0", (1_000, 500), false);
        check("cache-misses<-40%", (1_000, 500), true);
        check("cache-misses(main)>+50%", (100, 200), true);
        check("lock_time>+8ms", (5, 9_000_000), true);
        check("lock_time(byte[])>+9ms", (5, 9_000_000), false);
        check("lock_count>+0", (1, 1), false);
        check("heap_bytes(byte[])>+50%", (64, 128), true);
        check("heap_count<-0", (4, 3), true);
    }

    #[test]
    fn limits_on_nothing_are_errors() {
        let error =
            |text: &str, diff: &Diff| limit(text).unwrap().check(diff).unwrap_err().to_string();
        assert!(
            error("calls(gone)>+1", &sample())
                .contains("no class or method has that name; use bar")
        );
        assert!(error("live_bytes(gone)>+1", &sample()).contains("no class or method"));
        assert!(error("calls>+1", &Diff::default()).contains("not in both profiles"));
        assert!(error("x>+1", &sample()).contains("heap_count, shared_objects, cache-misses"));
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in
            ["", "calls", "calls>5", "calls>=5", "calls>+", "calls>+-1", "calls()>+1", ">+1"]
        {
            assert!(limit(text).is_err(), "{text}");
        }
        for text in ["calls>+5ms", "calls(a>+1", "calls>+nan%", "calls>+-5%", "time>+5min"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
