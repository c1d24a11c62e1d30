//! A comparison as CSV: a line for each number of each thing that differs.

use std::io::Write;

use perk_analysis::diff::{Calls, Change, HeapObjects, MethodNumbers};
use perk_profile::{Allocations, MethodId, Waits};

use super::Comparison;
use super::json::full_name;
use crate::show;

/// Writes all that differs, of each kind of thing at most `top`.
pub(super) fn write(
    comparison: &Comparison<'_>,
    top: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut sheet = Sheet { writer: csv::Writer::from_writer(out), top };
    sheet.writer.write_record(["kind", "name", "caller", "number", "before", "after"])?;
    let diff = &comparison.diff;
    let name = |id: MethodId| (full_name(diff, id), String::new());
    let class = |id| (show::class_name(&diff.symbols, id).into_owned(), String::new());
    let calls = |it: &Calls| {
        vec![("call_count", it.count), ("self_ns", it.self_ns), ("total_ns", it.total_ns)]
    };
    let numbers = |it: &MethodNumbers| vec![("self_count", it.own), ("total_count", it.total)];
    let objects = |it: &Allocations| {
        vec![
            ("allocated_bytes", it.allocated_bytes),
            ("allocated_count", it.allocated_count),
            ("live_bytes", it.live_bytes),
            ("live_count", it.live_count),
        ]
    };
    sheet.rows("calls", diff.methods.as_deref(), |&key| name(key), calls)?;
    let optional = |id: Option<MethodId>| id.map_or(String::new(), |id| full_name(diff, id));
    let edge = |key: &(Option<MethodId>, Option<MethodId>)| (optional(key.1), optional(key.0));
    sheet.rows("edges", diff.edges.as_deref(), edge, |&count| vec![("call_count", count)])?;
    sheet.rows("allocations", diff.classes.as_deref(), |&key| class(key), objects)?;
    for shown in comparison.shown_metrics() {
        sheet.rows(shown.metric.name(), Some(&shown.methods), |&key| name(key), numbers)?;
    }
    let waits = |it: &Waits| {
        vec![
            ("blocked_count", it.blocked_count),
            ("blocked_ns", it.blocked_ns),
            ("wait_count", it.wait_count),
            ("waited_ns", it.waited_ns),
        ]
    };
    sheet.rows("locks", diff.locks.as_deref(), |&key| class(key), waits)?;
    let heap = |it: &HeapObjects| {
        vec![("instance_count", it.instance_count), ("shallow_bytes", it.shallow_bytes)]
    };
    sheet.rows("heap", diff.heap.as_deref(), |&key| class(key), heap)?;
    sheet.writer.flush()?;
    Ok(())
}

struct Sheet<W: Write> {
    writer: csv::Writer<W>,
    top: usize,
}

impl<W: Write> Sheet<W> {
    /// The numbers that differ. `name` gives a thing's name and its caller's.
    fn rows<K, V: PartialEq>(
        &mut self,
        kind: &str,
        rows: Option<&[Change<K, V>]>,
        name: impl Fn(&K) -> (String, String),
        numbers: impl Fn(&V) -> Vec<(&'static str, u64)>,
    ) -> csv::Result<()> {
        let differ = rows.unwrap_or_default().iter().filter(|row| row.before != row.after);
        for row in differ.take(self.top) {
            let (name, caller) = name(&row.key);
            let both = numbers(&row.before).into_iter().zip(numbers(&row.after));
            for ((number, before), (_, after)) in both.filter(|(before, after)| before != after) {
                let (before, after) = (before.to_string(), after.to_string());
                let cells = [kind, &name, &caller, number, &before, &after];
                self.writer.write_record(cells.map(show::cell))?;
            }
        }
        Ok(())
    }
}
