//! Exact calls, allocations and the call tree as JSON.

use std::borrow::Cow;

use perk_analysis::allocations::{self, MethodRow};
use perk_analysis::calls::{Edge, MethodCalls};
use perk_profile::{FrameId, Line, MethodId, Metric, Profile, Unit};
use serde::Serialize;

use crate::report::Content;
use crate::report::allocations::{Known, Objects};
use crate::report::calls::Calls;
use crate::report::tree::{self, Weights};
use crate::show;

#[derive(Serialize)]
pub(super) struct CallReport<'a> {
    count: u64,
    /// `None` where calls were counted and not timed.
    self_ns: Option<u64>,
    /// Whether totals count recursive calls again: the file has no call paths.
    is_recursion_counted_again: bool,
    methods: Vec<Method<'a>>,
    edges: Vec<EdgeRow<'a>>,
    chatty: Vec<Chatty<'a>>,
}

#[derive(Serialize)]
struct Method<'a> {
    /// `class.method` and signature, as all names of methods below.
    name: &'a str,
    /// Absent where the file leaves the method's own numbers out, as is the self time.
    call_count: Option<u64>,
    self_ns: Option<u64>,
    total_ns: Option<u64>,
}

#[derive(Serialize)]
struct EdgeRow<'a> {
    caller: Option<&'a str>,
    callee: Option<&'a str>,
    call_count: Option<u64>,
    total_ns: Option<u64>,
}

#[derive(Serialize)]
struct Chatty<'a> {
    name: &'a str,
    call_count: u64,
    average_self_ns: Option<u64>,
    callers: Vec<Caller<'a>>,
}

#[derive(Serialize)]
struct Caller<'a> {
    name: Option<&'a str>,
    call_count: u64,
}

#[derive(Serialize)]
pub(super) struct AllocationReport<'a> {
    /// Of the sites that the file lists.
    #[serde(flatten)]
    objects: Numbers,
    /// The file leaves out sites and tells of them, by the shares of the others, their live bytes
    /// alone.
    is_partial: bool,
    /// Of all sites.
    all_live_bytes: Option<u64>,
    is_estimated: bool,
    sample_interval_bytes: Option<u64>,
    classes: Vec<Class<'a>>,
    sites: Vec<Site<'a>>,
    methods: Vec<Allocator<'a>>,
}

#[derive(Serialize)]
struct Numbers {
    /// `None` where it is not known.
    allocated_bytes: Option<u64>,
    allocated_count: Option<u64>,
    live_bytes: Option<u64>,
    live_count: Option<u64>,
}

#[derive(Serialize)]
struct Class<'a> {
    name: Cow<'a, str>,
    #[serde(flatten)]
    objects: Numbers,
}

#[derive(Serialize)]
struct Site<'a> {
    class: Cow<'a, str>,
    #[serde(flatten)]
    objects: Numbers,
    /// Innermost first.
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
pub(super) struct Frame<'a> {
    method: &'a str,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Allocator<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: Numbers,
    total: Numbers,
}

#[derive(Serialize)]
pub(super) struct Tree<'a> {
    /// The value that the tree is weighed by.
    value: &'a str,
    /// What `self` and `total` are: `ns`, `calls`, `samples`, `bytes` or `count`.
    unit: &'static str,
    /// Branches below this share of all are left out.
    min_percent: f64,
    total: u64,
    /// Each line after the one it is below; of two on the same level the heavier first.
    lines: Vec<TreeLine<'a>>,
}

#[derive(Serialize)]
struct TreeLine<'a> {
    depth: usize,
    method: &'a str,
    is_recursive: bool,
    #[serde(rename = "self")]
    own: u64,
    total: u64,
    /// As much of the total is here by inference: from traces that were cut.
    inferred_total: u64,
    call_count: Option<u64>,
    /// With all that the line's calls called.
    allocated: Option<Numbers>,
}

/// All calls; of each list the first `top` rows.
pub(super) fn calls<'a>(calls: &Calls<'_>, names: &'a [String], top: usize) -> CallReport<'a> {
    let table = &calls.table;
    let name = |method: MethodId| names[method.index()].as_str();
    let timed = |ns| calls.is_timed().then_some(ns);
    let method = |row: &MethodCalls| Method {
        name: name(row.method),
        call_count: row.is_listed().then_some(row.count),
        self_ns: timed(row.self_ns).filter(|_| row.is_listed()),
        total_ns: timed(row.total_ns),
    };
    let edge = |edge: &Edge| EdgeRow {
        caller: edge.caller.map(name),
        callee: edge.callee.map(name),
        call_count: (edge.count > 0).then_some(edge.count),
        total_ns: timed(edge.total_ns),
    };
    let caller = |edge: &Edge| Caller { name: edge.caller.map(name), call_count: edge.count };
    let chatty = table.chatty();
    let chatty = chatty.iter().take(top).map(|row| Chatty {
        name: name(row.row.method),
        call_count: row.row.count,
        average_self_ns: timed(row.row.average_ns()),
        callers: row.callers.iter().map(caller).collect(),
    });
    CallReport {
        count: table.count,
        self_ns: timed(calls.all_ns()),
        is_recursion_counted_again: table.is_recursion_counted_again,
        methods: table.methods.iter().take(top).map(method).collect(),
        edges: table.edges.iter().take(top).map(edge).collect(),
        chatty: chatty.collect(),
    }
}

/// All allocations; of each list the first `top` rows.
pub(super) fn objects<'a>(
    content: &'a Content<'_>,
    objects: &Objects<'_>,
    names: &'a [String],
    top: usize,
) -> AllocationReport<'a> {
    let profile = content.profile;
    let class = |id| show::class_name(&profile.symbols, id);
    let numbers = |it| numbers(it, objects.known);
    let classes = allocations::classes(profile, objects.section);
    let sites = allocations::sites(profile, objects.section);
    let methods = objects.columns.methods(content.tree);
    let method = |row: &MethodRow| Allocator {
        name: &names[row.method.index()],
        own: numbers(row.own),
        total: numbers(row.total),
    };
    let is_partial = objects.part().is_some();
    AllocationReport {
        objects: numbers(if is_partial { objects.listed() } else { objects.all() }),
        is_partial,
        all_live_bytes: objects.known.live.then_some(objects.all().live_bytes),
        is_estimated: objects.section.sample_interval_bytes.is_some(),
        sample_interval_bytes: objects.section.sample_interval_bytes,
        classes: classes
            .iter()
            .take(top)
            .map(|row| Class { name: class(row.class), objects: numbers(row.objects) })
            .collect(),
        sites: sites
            .iter()
            .take(top)
            .map(|row| Site {
                class: class(row.class),
                objects: numbers(row.objects),
                frames: profile.tree.frames(row.node).map(|id| frame(profile, id, names)).collect(),
            })
            .collect(),
        methods: methods.iter().take(top).map(method).collect(),
    }
}

/// The call tree without the branches below `min` percent; `None` where there is none.
pub(super) fn tree<'a>(
    content: &'a Content<'_>,
    names: &'a [String],
    min: f64,
) -> Option<Tree<'a>> {
    let view = content.main_view()?;
    let lines = tree::lines(content, &Weights::new(content, view), min);
    let line = |line: &tree::Line| TreeLine {
        depth: line.depth,
        method: &names[line.method.index()],
        is_recursive: line.is_recursive,
        own: line.own,
        total: line.total,
        inferred_total: line.inferred,
        call_count: line.call_count,
        allocated: content
            .objects
            .as_ref()
            .and_then(|objects| Some(numbers(line.allocated?, objects.known))),
    };
    let unit = match (&view.metric, view.unit()) {
        (Metric::Samples, _) => "samples",
        (Metric::Calls, _) => "calls",
        (_, Unit::Nanoseconds) => "ns",
        (_, Unit::Bytes) => "bytes",
        (_, Unit::Count) => "count",
    };
    let lines = lines.iter().map(line).collect();
    Some(Tree { value: view.name(), unit, min_percent: min, total: view.numbers.total, lines })
}

pub(super) fn frame<'a>(profile: &Profile, id: FrameId, names: &'a [String]) -> Frame<'a> {
    let frame = profile.symbols.get_frame(id);
    let line = match frame.line {
        Line::Number(line) => Some(line),
        _ => None,
    };
    Frame { method: &names[frame.method.index()], line }
}

fn numbers(objects: perk_profile::Allocations, known: Known) -> Numbers {
    Numbers {
        allocated_bytes: known.allocated.then_some(objects.allocated_bytes),
        allocated_count: known.allocated.then_some(objects.allocated_count),
        live_bytes: known.live.then_some(objects.live_bytes),
        live_count: known.live.then_some(objects.live_count),
    }
}
