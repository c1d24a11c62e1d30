//! The meaning of the values of a profile's samples: names and units in pprof's conventions.

use perk_profile::{Key, KeyedMap, Metric, Unit};

use crate::columns::{self, Column, Intervals};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueType {
    pub(super) name: String,
    pub(super) unit: String,
}

/// A column of numbers in the file's units. Numbers that belong to no listed trace have no key.
pub(super) type Rows = Vec<(Option<Key>, u64)>;

pub(super) use crate::columns::CPU;
/// The period of sampled allocations.
pub(super) const SPACE: &str = "space";

/// Returns the unit that a text names, and the number of perk's units in one of them. A unit that
/// is neither time nor memory counts things.
pub(super) fn unit(text: &str) -> (Unit, u64) {
    match text.to_ascii_lowercase().as_str() {
        "nanoseconds" | "nanosecond" | "ns" => (Unit::Nanoseconds, 1),
        "microseconds" | "microsecond" | "us" | "µs" => (Unit::Nanoseconds, 1_000),
        "milliseconds" | "millisecond" | "ms" => (Unit::Nanoseconds, 1_000_000),
        "seconds" | "second" | "s" => (Unit::Nanoseconds, 1_000_000_000),
        "bytes" | "byte" | "b" => (Unit::Bytes, 1),
        "kilobytes" | "kilobyte" | "kb" | "kib" => (Unit::Bytes, 1 << 10),
        "megabytes" | "megabyte" | "mb" | "mib" => (Unit::Bytes, 1 << 20),
        "gigabytes" | "gigabyte" | "gb" | "gib" => (Unit::Bytes, 1 << 30),
        _ => (Unit::Count, 1),
    }
}

/// Returns the columns of a profile, in perk's units, and the intervals that samples represent.
pub(super) fn to_columns(
    types: &[ValueType],
    rows: Vec<Rows>,
    period_type: &ValueType,
    period: u64,
) -> (Vec<Column>, Intervals) {
    let (period_unit, factor) = unit(&period_type.unit);
    let period = period.saturating_mul(factor);
    let is_period =
        |name: &str, unit| period_type.name == name && period_unit == unit && period > 0;
    let cpu_period_ns = is_period(CPU, Unit::Nanoseconds).then_some(period);
    let mut intervals = Intervals {
        sample_ns: cpu_period_ns,
        cpu_ns: cpu_period_ns,
        sites_bytes: is_period(SPACE, Unit::Bytes).then_some(period).filter(|&bytes| bytes > 1),
    };

    let names: Vec<&str> = types.iter().map(|it| it.name.as_str()).collect();
    let mut columns: Vec<Column> = Vec::new();
    for (index, (value_type, rows)) in types.iter().zip(rows).enumerate() {
        let (unit, factor) = unit(&value_type.unit);
        let own = columns::metric(&value_type.name, unit, &names);
        let metric = own.unwrap_or_else(|| {
            // Types that differ in the unit alone remain separate.
            let is_same = |other: &ValueType| other.name == value_type.name;
            let has_before = types[..index].iter().any(is_same);
            let name = match (has_before, value_type.name.as_str()) {
                (false, name) if !name.is_empty() => name.to_owned(),
                (_, name) => format!("{name}_{}", value_type.unit),
            };
            Metric::other(&name, unit)
        });
        let mut column = Column::new(metric);
        for (place, number) in rows {
            column.add(place, number.saturating_mul(factor));
        }
        column.merge();
        columns.push(column);
    }
    join_cpu(&mut columns, &mut intervals);
    columns.retain(|column| column.total > 0);
    (columns, intervals)
}

/// Removes CPU time that equals the samples times their interval. If there are no samples, CPU time
/// represents them.
fn join_cpu(columns: &mut Vec<Column>, intervals: &mut Intervals) {
    let cpu_time = Metric::other(CPU, Unit::Nanoseconds);
    let is_cpu = |column: &Column| column.metric == cpu_time && column.total > 0;
    let Some(cpu) = columns.iter().position(is_cpu) else { return };
    let samples = columns.iter().position(|column| column.metric == Metric::Samples);
    match samples {
        Some(samples) => {
            let interval = ratio(&columns[cpu], &columns[samples]);
            intervals.sample_ns = interval;
            if interval.is_some() {
                columns.remove(cpu);
            }
        }
        None => {
            let column = &mut columns[cpu];
            let Some(ns) = intervals.sample_ns else { return };
            let is_whole = |number: u64| number.is_multiple_of(ns);
            if is_whole(column.total) && column.rows.iter().all(|row| is_whole(row.1)) {
                column.metric = Metric::Samples;
                column.total /= ns;
                column.rows.iter_mut().for_each(|row| row.1 /= ns);
            }
        }
    }
}

/// Returns the factor between the numbers of `b` and those of `a`, if it is the same everywhere.
fn ratio(a: &Column, b: &Column) -> Option<u64> {
    let ratio = a.total.checked_div(b.total).filter(|&ratio| ratio > 0)?;
    let of: KeyedMap<Key, u64> = b.rows.iter().copied().collect();
    let fits = |a: u64, b: u64| b.checked_mul(ratio) == Some(a);
    let is_same = a.rows.len() == b.rows.len()
        && fits(a.total, b.total)
        && a.rows.iter().all(|(key, number)| of.get(key).is_some_and(|&b| fits(*number, b)));
    is_same.then_some(ratio)
}
