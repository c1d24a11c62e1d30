//! The numbers by method, line, and pair of caller and callee.

use perk_analysis::{Columns, columns, lines};
use perk_profile::{Line, MethodId, Metric};

use super::names::{class, name, signature, source, unit};
use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// The numbers of a metric at a place.
pub(super) struct Numbers<P> {
    metric: Metric,
    place: P,
    own: u64,
    total: u64,
}

const METRIC: &str = "the metric, as in `samples`";
const UNIT: &str = "its unit: count, nanoseconds or bytes";
const SELF: &str = "the number with it on top of the stack";
const TOTAL: &str = "the number with it anywhere on the stack, each stack once";

fn metric<P>() -> Column<Numbers<P>> {
    Column::new("metric", Values::Text(|_, row| Some(row.metric.name())), METRIC)
}

fn unit_of<P>() -> Column<Numbers<P>> {
    Column::new("unit", Values::Text(|_, row| Some(unit(&row.metric))), UNIT)
}

fn own<P>() -> Column<Numbers<P>> {
    Column::new("self", Values::Number(|_, row| Some(row.own)), SELF)
}

fn total<P>() -> Column<Numbers<P>> {
    Column::new("total", Values::Number(|_, row| Some(row.total)), TOTAL)
}

/// The numbers of each metric, with the metric.
fn of_all<P>(
    recording: &Recording,
    rows: impl Fn(&Metric) -> Vec<(P, u64, u64)>,
) -> Vec<Numbers<P>> {
    let metrics = Metric::all_of(&recording.profile);
    let paths = metrics.into_iter().filter(|it| !it.is_by_pair(&recording.profile));
    let of_metric = |metric: Metric| {
        let rows = rows(&metric).into_iter();
        rows.map(move |(place, own, total)| Numbers { metric: metric.clone(), place, own, total })
    };
    paths.flat_map(of_metric).collect()
}

pub(super) fn methods() -> TableOf<Numbers<MethodId>> {
    TableOf {
        name: "methods",
        about: "the numbers of each metric by method; copies of a class in several loaders are one",
        rows: Box::new(|it| {
            of_all(it, |metric| {
                let columns = Columns::new(&it.profile, it.tree(), metric, None);
                let rows = columns.methods(it.tree()).into_iter();
                rows.map(|row| (row.method, row.own, row.total)).collect()
            })
        }),
        columns: vec![
            Column::recording(),
            metric(),
            unit_of(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(class(&it.profile.symbols, row.place))),
                "its class",
            ),
            Column::new(
                "method",
                Values::Text(|it, row| Some(name(&it.profile.symbols, row.place))),
                "its name",
            ),
            Column::new(
                "signature",
                Values::Text(|it, row| signature(&it.profile.symbols, row.place)),
                "its parameters and result, as the JVM writes them",
            ),
            Column::new(
                "owner",
                Values::Text(|it, row| Some(it.owners().of(row.place).label())),
                "whose code it is: your code, libraries, JDK, JVM and native",
            ),
            own(),
            total(),
        ],
    }
}

pub(super) fn lines() -> TableOf<Numbers<(MethodId, Line)>> {
    TableOf {
        name: "lines",
        about: "the numbers of each metric by line of a method",
        rows: Box::new(|it| {
            of_all(it, |metric| {
                let numbers = columns::numbers(&it.profile, metric);
                let rows = lines::lines(&it.profile, &numbers.rows, None).into_iter();
                rows.map(|row| ((row.method, row.line), row.own, row.total)).collect()
            })
        }),
        columns: vec![
            Column::recording(),
            metric(),
            unit_of(),
            Column::new(
                "class",
                Values::Text(|it, row| Some(class(&it.profile.symbols, row.place.0))),
                "the class",
            ),
            Column::new(
                "method",
                Values::Text(|it, row| Some(name(&it.profile.symbols, row.place.0))),
                "the method",
            ),
            Column::new(
                "signature",
                Values::Text(|it, row| signature(&it.profile.symbols, row.place.0)),
                "its parameters and result, as the JVM writes them",
            ),
            Column::new(
                "source",
                Values::Text(|it, row| source(&it.profile.symbols, row.place.0)),
                "the source file",
            ),
            Column::new(
                "line",
                Values::Number(|_, row| match row.place.1 {
                    Line::Number(line) => Some(line.into()),
                    Line::Unknown | Line::Compiled | Line::Native => None,
                }),
                "the line; null if it is not known",
            ),
            own(),
            total(),
        ],
    }
}

pub(super) fn edges() -> TableOf<Numbers<(Option<MethodId>, MethodId)>> {
    TableOf {
        name: "edges",
        about: "the numbers of each metric by pair of methods, one that calls and one that is called",
        rows: Box::new(|it| {
            of_all(it, |metric| {
                let columns = Columns::new(&it.profile, it.tree(), metric, None);
                let rows = columns.edges(it.tree(), |_| true).into_iter();
                rows.map(|row| ((row.caller, row.callee), row.own, row.total)).collect()
            })
        }),
        columns: vec![
            Column::recording(),
            metric(),
            unit_of(),
            Column::new(
                "caller_class",
                Values::Text(|it, row| Some(class(&it.profile.symbols, row.place.0?))),
                "the class of the caller; null for the first method of a thread",
            ),
            Column::new(
                "caller_method",
                Values::Text(|it, row| Some(name(&it.profile.symbols, row.place.0?))),
                "its name",
            ),
            Column::new(
                "caller_signature",
                Values::Text(|it, row| signature(&it.profile.symbols, row.place.0?)),
                "its parameters and result, as the JVM writes them",
            ),
            Column::new(
                "class",
                Values::Text(|it, row| Some(class(&it.profile.symbols, row.place.1))),
                "the class of the method that is called",
            ),
            Column::new(
                "method",
                Values::Text(|it, row| Some(name(&it.profile.symbols, row.place.1))),
                "its name",
            ),
            Column::new(
                "signature",
                Values::Text(|it, row| signature(&it.profile.symbols, row.place.1)),
                "its parameters and result, as the JVM writes them",
            ),
            own(),
            total(),
        ],
    }
}
