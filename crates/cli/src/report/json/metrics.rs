//! Each metric's numbers by method, line, caller and thread, and the methods to begin with, as JSON.

use perk_analysis::advice::Advice;
use perk_analysis::lines::LineRow;
use perk_analysis::{columns, top};
use perk_profile::{Line, MethodId, Profile};
use serde::Serialize;

use crate::report::callers::Callers;
use crate::report::head::Head;
use crate::report::{Content, View};
use crate::show;

/// The traces that were cut.
#[derive(Serialize)]
pub(super) struct Inferred {
    /// So many were joined to the longer traces that they are most likely the end of.
    trace_count: usize,
    /// So many were not: longer traces differ about their callers.
    ambiguous_trace_count: usize,
}

/// The methods to begin with.
#[derive(Serialize)]
pub(super) struct Begin<'a> {
    /// The metric they are judged by, and what its numbers count.
    metric: String,
    unit: &'static str,
    total: u64,
    methods: Vec<Method<'a>>,
}

#[derive(Serialize)]
struct Method<'a> {
    /// `class.method` and signature, as all names of methods below.
    name: &'a str,
    /// With the types as in Java source, and only where several methods have the same name.
    label: String,
    /// The most that making it faster can save.
    #[serde(rename = "self")]
    own: u64,
    self_percent: f64,
    /// What making it twice as fast saves.
    halved: u64,
    halved_percent: f64,
    /// The most that not calling it can save.
    total: u64,
    total_percent: f64,
    is_leaf: bool,
    /// Its calls are so many and so small that only fewer of them can help.
    is_chatty: bool,
    call_count: Option<u64>,
    average_self_ns: Option<u64>,
    callers: Vec<Caller<'a>>,
    allocated: Vec<Class>,
    lines: Vec<LineNumber>,
}

#[derive(Serialize)]
struct Caller<'a> {
    name: Option<&'a str>,
    number: u64,
    /// As much of it is from traces that were cut.
    inferred: u64,
}

#[derive(Serialize)]
struct Class {
    class: String,
    allocated_bytes: u64,
}

#[derive(Serialize)]
struct LineNumber {
    line: u32,
    number: u64,
}

/// The numbers of one metric.
#[derive(Serialize)]
pub(super) struct Table<'a> {
    metric: &'a str,
    unit: &'static str,
    total: u64,
    methods: Vec<Numbers<'a>>,
    lines: Vec<LineNumbers<'a>>,
    edges: Vec<Edge<'a>>,
    threads: Vec<Thread>,
}

#[derive(Serialize)]
struct Numbers<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: u64,
    total: u64,
}

#[derive(Serialize)]
struct LineNumbers<'a> {
    #[serde(flatten)]
    numbers: Numbers<'a>,
    /// `None` where it is not known.
    line: Option<u32>,
}

#[derive(Serialize)]
struct Edge<'a> {
    caller: Option<&'a str>,
    callee: &'a str,
    #[serde(rename = "self")]
    own: u64,
    total: u64,
}

#[derive(Serialize)]
struct Thread {
    serial: u32,
    #[serde(rename = "self")]
    own: u64,
}

pub(super) fn inferred(content: &Content<'_>) -> Option<Inferred> {
    let joined = content.joined;
    let inferred =
        Inferred { trace_count: joined.len(), ambiguous_trace_count: joined.ambiguous_count };
    (!joined.is_empty() || joined.ambiguous_count > 0).then_some(inferred)
}

pub(super) fn begin<'a>(profile: &Profile, head: &Head<'_>, names: &'a [String]) -> Begin<'a> {
    let labels = show::labels(&profile.symbols, head.advice.iter().map(|it| it.method));
    let name = |method: MethodId| names[method.index()].as_str();
    let share = |number: u64| match head.total {
        0 => 0.0,
        total => number as f64 * 100.0 / total as f64,
    };
    let method = |advice: &Advice| Method {
        name: name(advice.method),
        label: labels[&advice.method].clone(),
        own: advice.own,
        self_percent: share(advice.own),
        halved: advice.half(),
        halved_percent: share(advice.own) / 2.0,
        total: advice.total,
        total_percent: share(advice.total),
        is_leaf: advice.is_leaf(),
        is_chatty: advice.is_chatty,
        call_count: advice.calls.map(|calls| calls.count),
        average_self_ns: advice.calls.filter(|it| it.self_ns > 0).map(|it| it.average_ns()),
        callers: advice
            .callers
            .iter()
            .map(|it| Caller {
                name: it.method.map(name),
                number: it.number,
                inferred: it.inferred,
            })
            .collect(),
        allocated: advice
            .allocated_bytes
            .iter()
            .map(|&(class, allocated_bytes)| Class {
                class: show::class_name(&profile.symbols, class).into_owned(),
                allocated_bytes,
            })
            .collect(),
        lines: advice.lines.iter().map(|&(line, number)| LineNumber { line, number }).collect(),
    };
    Begin {
        metric: head.metric().to_owned(),
        unit: head.unit.name(),
        total: head.total,
        methods: head.advice.iter().map(method).collect(),
    }
}

/// The numbers of `view`'s metric; of each list the first `count` rows.
pub(super) fn table<'a>(
    content: &Content<'_>,
    view: &'a View<'_>,
    names: &'a [String],
    count: usize,
) -> Table<'a> {
    let callers = Callers::new(content, view);
    let name = |method: MethodId| names[method.index()].as_str();
    let method = |row: &columns::MethodRow| Numbers {
        name: name(row.method),
        own: row.own,
        total: row.total,
    };
    let line = |row: &LineRow| LineNumbers {
        numbers: Numbers { name: name(row.method), own: row.own, total: row.total },
        line: match row.line {
            Line::Number(line) => Some(line),
            _ => None,
        },
    };
    let edge = |edge: &columns::Edge| Edge {
        caller: edge.caller.map(name),
        callee: name(edge.callee),
        own: edge.own,
        total: edge.total,
    };
    let thread = |(id, own)| Thread { serial: view.profile.get_thread(id).serial, own };
    Table {
        metric: view.name(),
        unit: view.unit().name(),
        total: view.numbers.total,
        methods: callers.methods.iter().take(count).map(method).collect(),
        lines: view.lines().iter().take(count).map(line).collect(),
        edges: callers.edges.iter().take(count).map(edge).collect(),
        threads: top::threads(view.profile, &view.numbers).into_iter().map(thread).collect(),
    }
}
