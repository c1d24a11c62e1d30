//! Limits on what may change: `calls>+5%`, `total(com.acme.Cache.get)>+5ms`.

mod bound;
mod check;

use std::fmt;
use std::str::FromStr;

use perk_profile::{Metric, NamePattern, Unit};

use bound::Bound;
pub(super) use check::{LimitInput, Verdict};

const USAGE: &str = "use NUMBER>+LIMIT or NUMBER<-LIMIT, such as calls>+5%, \
                     calls(com.acme.Foo.bar)>+0, total(com.acme.Foo.bar)>+5ms or allocated_bytes>+10MB";

/// A number, and the most by which it may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    limited: LimitSubject,
    name: Option<NamePattern>,
    direction: Direction,
    bound: Bound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LimitSubject {
    Metric(Metric),
    /// The time of calls, or CPU time by samples.
    Time(NumberKind),
    /// The metric of `--metric`; time without.
    Chosen(NumberKind),
    /// The bytes of the objects in the heap.
    HeapBytes,
    /// The objects in the heap.
    HeapCount,
    /// The objects that another thread than their owner accessed.
    SharedObjects,
}

/// The part of a method's numbers that a limit is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    /// Its own.
    Own,
    /// With all that it called.
    Total,
}

/// The names of the limits on objects, which are no metrics.
const OF_OBJECTS: [&str; 3] = ["heap_bytes", "heap_count", "shared_objects"];
/// The names of those on the chosen metric.
const CHOSEN: [&str; 2] = ["total", "self"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Growth,
    Shrinking,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        limit(text)
    }
}

/// Reads a limit.
fn limit(text: &str) -> Result<Limit, String> {
    let error = || USAGE.to_owned();
    let at = text.find(['>', '<']).ok_or_else(error)?;
    let (number, bound) = text.split_at(at);
    let (direction, bound) = if let Some(bound) = bound.strip_prefix(">+") {
        (Direction::Growth, bound)
    } else if let Some(bound) = bound.strip_prefix('>').filter(|it| it.ends_with('%')) {
        // A share can only be one of the change.
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
        "heap_bytes" => LimitSubject::HeapBytes,
        "heap_count" => LimitSubject::HeapCount,
        "shared_objects" => LimitSubject::SharedObjects,
        "self_ns" => LimitSubject::Time(NumberKind::Own),
        "time" | "total_time" | "total_ns" => LimitSubject::Time(NumberKind::Total),
        "self" => LimitSubject::Chosen(NumberKind::Own),
        "total" => LimitSubject::Chosen(NumberKind::Total),
        // The unit of a metric of another tool is known when the profiles are.
        name => LimitSubject::Metric(
            Metric::own(name).unwrap_or_else(|| Metric::other(name, Unit::default())),
        ),
    };
    let bound = Bound::read(bound.trim())?;
    if let Some(unit) = limited.unit() {
        bound.fits(number, unit)?;
    }
    Ok(Limit { text: text.to_owned(), limited, name, direction, bound })
}

impl LimitSubject {
    /// The unit of its numbers, where the profiles do not decide it.
    fn unit(&self) -> Option<Unit> {
        match self {
            LimitSubject::Metric(metric) if metric.is_other() => None,
            LimitSubject::Metric(metric) => Some(metric.unit()),
            LimitSubject::Time(_) => Some(Unit::Nanoseconds),
            LimitSubject::Chosen(_) => None,
            LimitSubject::HeapBytes => Some(Unit::Bytes),
            LimitSubject::HeapCount | LimitSubject::SharedObjects => Some(Unit::Count),
        }
    }
}

#[cfg(test)]
mod tests;
