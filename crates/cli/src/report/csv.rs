//! One view as CSV: a line of titles, which end in the unit of their numbers, and a line a row.

use std::collections::HashMap;
use std::io::Write;

use perk_analysis::allocations;
use perk_analysis::columns::{Edge, MethodRow};
use perk_analysis::locks as lock_times;
use perk_analysis::objects::{self, ObjectsRow};
use perk_analysis::{calls, top};
use perk_profile::{
    Allocations, ClassId, Field, FrameId, Line, LockKind, MethodId, Profile, Unit, Waits,
};

use super::allocations::{Known, Objects};
use super::callers::Callers;
use super::numbers::View;
use super::{Content, tree};
use crate::args::{ReportArgs, TreeOrder};
use crate::{show, talk};

/// Titles and rows.
struct Sheet {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Writes the view that `args` name, or the methods. Returns what there is nothing of.
pub(super) fn write(
    content: &Content<'_>,
    args: &ReportArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Option<String>> {
    let view = content.main_view();
    let (sheet, what) = if args.lines {
        (view.map(lines), "call traces")
    } else if let Some(order) = args.tree {
        let tree = view.map(|view| match order {
            TreeOrder::TopDown => top_down(content, view, args.min),
            TreeOrder::BottomUp => bottom_up(content, view, args.min),
        });
        (tree, "call tree")
    } else if args.edges || args.method.is_some() {
        (edges(content, args), "calls of that name")
    } else if args.sites {
        (sites(content), "allocation sites")
    } else if args.classes {
        (classes(content).or_else(|| heap_classes(content)), "allocation sites")
    } else if args.monitors {
        (locks(content), "monitors")
    } else if args.threads {
        (view.map(threads), "call traces")
    } else {
        let methods = methods(content);
        let sheet = methods.or_else(|| heap_classes(content)).or_else(|| fields(content));
        (sheet, "methods")
    };
    let Some(sheet) = sheet.filter(|sheet| !sheet.rows.is_empty()) else {
        return Ok(Some(format!("no {what}")));
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(&sheet.titles)?;
    for row in sheet.rows.iter().take(args.top.unwrap_or(usize::MAX)) {
        writer.write_record(row.iter().map(|it| show::cell(it)))?;
    }
    writer.flush()?;
    Ok(None)
}

fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
    }
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// Titles of a method; its name is told apart from others of the same name.
const METHOD: [&str; 5] = ["name", "class", "method", "signature", "source"];

/// Cells of a method.
fn method(profile: &Profile, id: MethodId, name: &str) -> Vec<String> {
    let symbols = &profile.symbols;
    let method = symbols.get_method(id);
    let text = |id: Option<_>| id.map_or("", |id| symbols.strings.get(id));
    let class = symbols.class_name(method.class);
    let simple = symbols.strings.get(method.name);
    texts([name, class, simple, text(method.signature), text(method.source)])
}

/// Titles of numbers in a view's unit, and of what each stands for.
fn number_titles<const N: usize>(view: &View<'_>, names: [&str; N]) -> Vec<String> {
    let unit = suffix(view.unit());
    let mut titles = Vec::new();
    for name in names {
        titles.extend([format!("{name}_{unit}"), format!("{name}_percent")]);
        titles.extend(view.interval_ns.map(|_| format!("{name}_cpu_ns")));
    }
    titles
}

/// Cells of numbers.
fn numbers<const N: usize>(view: &View<'_>, numbers: [u64; N]) -> Vec<String> {
    let mut cells = Vec::new();
    for number in numbers {
        cells.extend([number.to_string(), view.percent(number)]);
        cells.extend(view.cpu_ns(number).map(|ns| ns.to_string()));
    }
    cells
}

fn methods(content: &Content<'_>) -> Option<Sheet> {
    let Some(view) = content.main_view() else { return called_methods(content) };
    let counts = content.calls.as_ref().and_then(|calls| calls.columns.as_ref().map(|_| calls));
    let rows = view.methods();
    let labels = view.labels(rows.iter().map(|row| row.method));
    let titles = [
        texts(["metric"]),
        texts(METHOD),
        number_titles(view, ["self", "total"]),
        counts.map(|_| "call_count".to_owned()).into_iter().collect(),
    ];
    let calls: HashMap<_, _> = counts
        .map(|calls| calls.table.methods.iter().map(|row| (row.method, row.count)).collect())
        .unwrap_or_default();
    let row = |row: &MethodRow| {
        let mut cells = texts([view.name()]);
        cells.extend(method(view.profile, row.method, &labels[&row.method]));
        let count = calls.get(&row.method).copied().unwrap_or(0);
        // What the file leaves out is not 0.
        let is_listed = counts.is_none() || count > 0 || row.own > 0;
        let shown = |cell: String| if is_listed { cell } else { String::new() };
        cells.extend(numbers(view, [row.own]).into_iter().map(shown));
        cells.extend(numbers(view, [row.total]));
        cells.extend(counts.map(|_| shown(count.to_string())));
        cells
    };
    Some(Sheet { titles: titles.concat(), rows: rows.iter().map(row).collect() })
}

/// The methods of a file that has callers and callees and no paths.
fn called_methods(content: &Content<'_>) -> Option<Sheet> {
    let table = &content.calls.as_ref()?.table;
    let rows = &table.methods;
    let labels = show::labels(&content.profile.symbols, rows.iter().map(|row| row.method));
    let row = |row: &calls::MethodCalls| {
        let numbers = [row.count, row.self_ns, row.total_ns].map(|it| it.to_string());
        [&method(content.profile, row.method, &labels[&row.method])[..], &numbers[..]].concat()
    };
    let titles = [&texts(METHOD)[..], &texts(["call_count", "self_ns", "total_ns"])[..]].concat();
    Some(Sheet { titles, rows: rows.iter().map(row).collect() })
}

fn line(line: Line) -> String {
    match line {
        Line::Number(line) => line.to_string(),
        _ => String::new(),
    }
}

fn lines(view: &View<'_>) -> Sheet {
    let rows = view.lines();
    let labels = view.labels(rows.iter().map(|row| row.method));
    let titles =
        [texts(["metric"]), texts(METHOD), texts(["line"]), number_titles(view, ["self", "total"])];
    let row = |row: &perk_analysis::lines::LineRow| {
        let method = method(view.profile, row.method, &labels[&row.method]);
        let line = vec![line(row.line)];
        [texts([view.name()]), method, line, numbers(view, [row.own, row.total])].concat()
    };
    Sheet { titles: titles.concat(), rows: rows.iter().map(row).collect() }
}

fn top_down(content: &Content<'_>, view: &View<'_>, min: f64) -> Sheet {
    let lines = tree::lines(content, &tree::Weights::new(content, view), min);
    let left_out: usize = lines.iter().map(|line| line.left_out).sum();
    if left_out > 0 {
        talk::say(format_args!("{left_out} levels with one callee each are left out of the tree"));
    }
    let labels = view.labels(lines.iter().map(|line| line.method));
    let titles = [
        texts(["metric", "depth", "is_recursive"]),
        texts(METHOD),
        number_titles(view, ["self", "total", "inferred"]),
        texts(["call_count", "allocated_bytes", "allocated_count"]),
    ];
    let optional = |number: Option<u64>| number.map_or(String::new(), |it| it.to_string());
    let row = |line: &tree::Line| {
        [
            vec![view.name().to_owned(), line.depth.to_string(), line.is_recursive.to_string()],
            method(view.profile, line.method, &labels[&line.method]),
            numbers(view, [line.own, line.total, line.inferred]),
            vec![
                optional(line.call_count),
                optional(line.allocated.map(|it| it.allocated_bytes)),
                optional(line.allocated.map(|it| it.allocated_count)),
            ],
        ]
        .concat()
    };
    Sheet { titles: titles.concat(), rows: lines.iter().map(row).collect() }
}

fn bottom_up(content: &Content<'_>, view: &View<'_>, min: f64) -> Sheet {
    let lines = tree::bottom_up(content, view, min);
    let labels = view.labels(lines.iter().map(|line| line.method));
    let titles =
        [texts(["metric", "depth", "is_recursive"]), texts(METHOD), number_titles(view, ["self"])];
    let row = |line: &perk_analysis::bottom_up::Line| {
        [
            vec![view.name().to_owned(), line.depth.to_string(), line.is_recursive.to_string()],
            method(view.profile, line.method, &labels[&line.method]),
            numbers(view, [line.number]),
        ]
        .concat()
    };
    Sheet { titles: titles.concat(), rows: lines.iter().map(row).collect() }
}

/// Callers and callees, all of them or those with a method of the name asked for.
fn edges(content: &Content<'_>, args: &ReportArgs) -> Option<Sheet> {
    let symbols = &content.profile.symbols;
    let is_meant = |methods: [Option<MethodId>; 2]| {
        let Some(name) = &args.method else { return true };
        methods.into_iter().flatten().any(|method| name.matches_method(symbols, method))
    };
    let calls = content.calls.as_ref().filter(|_| content.asked.is_none());
    if let Some(calls) = calls {
        let mut edges = calls.table.edges.clone();
        edges.retain(|edge| is_meant([edge.caller, edge.callee]));
        let known = edges.iter().flat_map(|edge| [edge.caller, edge.callee]).flatten();
        let labels = show::labels(symbols, known);
        let name = |method: Option<MethodId>| method.map_or("", |method| &labels[&method]);
        let row = |edge: &calls::Edge| {
            let count = if edge.count > 0 { edge.count.to_string() } else { String::new() };
            let ns = edge.total_ns.to_string();
            texts([name(edge.caller), name(edge.callee), &count, &ns])
        };
        let titles = texts(["caller", "callee", "call_count", "total_ns"]);
        return Some(Sheet { titles, rows: edges.iter().map(row).collect() });
    }
    let view = content.main_view()?;
    let mut edges = Callers::new(content, view).edges;
    edges.retain(|edge| is_meant([edge.caller, Some(edge.callee)]));
    let known = edges.iter().flat_map(|edge| [edge.caller, Some(edge.callee)]).flatten();
    let labels = view.labels(known);
    let row = |edge: &Edge| {
        let caller = edge.caller.map_or("", |method| &labels[&method]);
        let names = texts([view.name(), caller, &labels[&edge.callee]]);
        [names, numbers(view, [edge.own, edge.total])].concat()
    };
    let titles = [texts(["metric", "caller", "callee"]), number_titles(view, ["self", "total"])];
    Some(Sheet { titles: titles.concat(), rows: edges.iter().map(row).collect() })
}

fn threads(view: &View<'_>) -> Sheet {
    let titles =
        [texts(["metric", "thread_serial", "thread", "group"]), number_titles(view, ["self"])];
    let rows = top::threads(view.profile, &view.numbers);
    let row = |&(id, number): &(_, u64)| {
        let thread = view.profile.get_thread(id);
        let group = thread.group.map_or("", |id| view.profile.symbols.strings.get(id));
        let serial = thread.serial.to_string();
        let thread = texts([view.name(), &serial, view.profile.thread_name(id), group]);
        [thread, numbers(view, [number])].concat()
    };
    Sheet { titles: titles.concat(), rows: rows.iter().map(row).collect() }
}

const OBJECTS: [&str; 4] = ["allocated_bytes", "allocated_count", "live_bytes", "live_count"];

/// Cells of objects; those that are not known are empty.
fn objects(objects: &Allocations, known: Known) -> Vec<String> {
    let Allocations { live_bytes, live_count, allocated_bytes, allocated_count } = *objects;
    let cell = |number: u64, is_known: bool| is_known.then(|| number.to_string());
    let cells = [
        cell(allocated_bytes, known.allocated),
        cell(allocated_count, known.allocated),
        cell(live_bytes, known.live),
        cell(live_count, known.live),
    ];
    cells.map(Option::unwrap_or_default).to_vec()
}

/// A path in one cell, innermost frame first: `a.B.c (B.java:12); a.B.main (B.java:3)`.
fn path(profile: &Profile, frames: impl Iterator<Item = FrameId>) -> String {
    let frames: Vec<_> = frames.map(|id| show::frame(&profile.symbols, id)).collect();
    frames.join("; ")
}

fn sites(content: &Content<'_>) -> Option<Sheet> {
    let Objects { section, known, .. } = content.objects.as_ref()?;
    let profile = content.profile;
    let row = |row: &allocations::SiteRow| {
        let class = vec![show::class_name(&profile.symbols, row.class).into_owned()];
        let path = vec![path(profile, profile.tree.frames(row.node))];
        [class, objects(&row.objects, *known), path].concat()
    };
    let titles = [texts(["class"]), texts(OBJECTS), texts(["frames"])].concat();
    Some(Sheet { titles, rows: allocations::sites(profile, section).iter().map(row).collect() })
}

fn classes(content: &Content<'_>) -> Option<Sheet> {
    let Objects { section, known, .. } = content.objects.as_ref()?;
    let profile = content.profile;
    let row = |row: &allocations::ClassRow| {
        let class = vec![show::class_name(&profile.symbols, row.class).into_owned()];
        [class, objects(&row.objects, *known)].concat()
    };
    let titles = [texts(["class"]), texts(OBJECTS)].concat();
    Some(Sheet { titles, rows: allocations::classes(profile, section).iter().map(row).collect() })
}

/// The classes of all heap dumps, which are numbered from 1.
fn heap_classes(content: &Content<'_>) -> Option<Sheet> {
    let symbols = &content.profile.symbols;
    content.profile.heaps().next()?;
    let dumps = content.profile.heaps().enumerate();
    let rows = dumps.flat_map(|(index, heap)| {
        heap.rows.iter().map(move |row| {
            let class = show::class_name(symbols, row.class).into_owned();
            let numbers = [row.instance_count, row.shallow_bytes].map(|it| it.to_string());
            [vec![(index + 1).to_string(), class], numbers.to_vec()].concat()
        })
    });
    let titles = texts(["dump", "class", "instance_count", "shallow_bytes"]);
    Some(Sheet { titles, rows: rows.collect() })
}

/// The fields of objects of each class, with the accesses to all objects together.
fn fields(content: &Content<'_>) -> Option<Sheet> {
    let symbols = &content.profile.symbols;
    let accesses = content.profile.field_accesses()?;
    let text = |id| symbols.strings.get(id).to_owned();
    let row = |row: &ObjectsRow<(ClassId, Field)>| {
        let (class, field) = row.key;
        let names = [field.class, field.name, field.descriptor].map(text);
        let objects = [row.object_count, row.accessed_count, row.shared_count];
        let numbers = objects.into_iter().chain(row.counts.numbers());
        let class = show::class_name(symbols, class).into_owned();
        [vec![class], names.to_vec(), numbers.map(|it| it.to_string()).collect()].concat()
    };
    let titles = texts([
        "class",
        "field_class",
        "field",
        "descriptor",
        "object_count",
        "accessed_count",
        "shared_count",
        "owner_read_count",
        "other_read_count",
        "owner_write_count",
        "other_write_count",
    ]);
    Some(Sheet { titles, rows: objects::by_field(accesses).iter().map(row).collect() })
}

fn locks(content: &Content<'_>) -> Option<Sheet> {
    content.contention.as_ref()?;
    let profile = content.profile;
    let row = |row: &lock_times::ContentionRow| {
        let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = row.waits;
        let kind = match row.kind {
            LockKind::Monitor => "monitor",
            LockKind::Parking => "parking",
        };
        let numbers = [blocked_count, blocked_ns, wait_count, waited_ns].map(|it| it.to_string());
        let lock =
            vec![show::class_name(&profile.symbols, row.class).into_owned(), kind.to_owned()];
        [lock, numbers.to_vec(), vec![path(profile, profile.tree.frames(row.node))]].concat()
    };
    let titles = texts([
        "class",
        "kind",
        "blocked_count",
        "blocked_ns",
        "wait_count",
        "waited_ns",
        "frames",
    ]);
    Some(Sheet { titles, rows: lock_times::contention(profile).iter().map(row).collect() })
}
