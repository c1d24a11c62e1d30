//! The whole profile as JSON. Names of numbers end in their unit.

mod exact;
mod metrics;
mod monitors;

use std::collections::HashMap;
use std::io::Write;

use perk_analysis::top::{self, MethodRow};
use perk_analysis::{MethodTree, columns};
use perk_profile::{Accounting, MethodId, PathId, Profile, ThreadId, deep};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Content, Head, View, fields, head, heap, summaries};
use crate::args::ReportArgs;
use crate::input::Input;

/// Stands for the outer frames of very deep paths.
const LEFT_OUT: &str = "[frames left out]";
/// The fields of the accounting that are text, whatever they look like.
const TEXTS: [&str; 5] = ["program", "jvm", "engine", "clock", "timing"];

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    form: &'static str,
    /// What of each metric goes through the filter, in words.
    filtered: &'a [String],
    /// `None` where no trace was joined to another, or left as it is for more than one would fit.
    inferred: Option<metrics::Inferred>,
    created_unix_ms: Option<u64>,
    depth: Option<u32>,
    sample_count: u64,
    /// Less than all where the file has a cutoff.
    listed_sample_count: u64,
    interval_ns: Option<u64>,
    /// `None` where nothing was measured by method.
    where_to_begin: Option<metrics::Begin<'a>>,
    methods: Vec<Method<'a>>,
    paths: Vec<Path<'a>>,
    threads: Vec<Thread<'a>>,
    /// All that the profile has by call path, samples among it.
    metrics: Vec<metrics::Table<'a>>,
    /// `None` where the profile has counted no calls.
    calls: Option<exact::CallReport<'a>>,
    /// `None` where the profile has counted no allocations.
    allocations: Option<exact::AllocationReport<'a>>,
    /// The heap's totals, as they were asked for.
    heap_summaries: Vec<summaries::Summary>,
    heap_dumps: Vec<heap::Dump<'a>>,
    /// `None` where the profile has nothing of monitors.
    monitors: Option<monitors::MonitorReport<'a>>,
    /// `None` where the profile has no accesses to fields.
    field_accesses: Option<fields::FieldReport<'a>>,
    /// `None` where the profile has no call paths.
    tree: Option<exact::Tree<'a>>,
    accounting: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct Method<'a> {
    name: String,
    class: &'a str,
    method: &'a str,
    signature: Option<&'a str>,
    source: Option<&'a str>,
    self_count: u64,
    total_count: u64,
    self_cpu_ns: Option<u64>,
    total_cpu_ns: Option<u64>,
    traces: Vec<Trace>,
}

#[derive(Serialize)]
struct Trace {
    serial: u32,
    thread_serial: Option<u32>,
    self_count: u64,
    /// So many of its outer frames are no part of the file.
    inferred_frame_count: usize,
}

#[derive(Serialize)]
struct Path<'a> {
    self_count: u64,
    self_cpu_ns: Option<u64>,
    /// Innermost first, `class.method` and signature.
    frames: Frames<'a>,
}

struct Frames<'a> {
    tree: &'a MethodTree,
    path: PathId,
    names: &'a [String],
    /// As many are written.
    limit: usize,
    is_cut: bool,
}

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let methods = self.tree.methods(self.path).take(self.limit);
        let names = methods.map(|method| self.names[method.index()].as_str());
        serializer.collect_seq(names.chain(self.is_cut.then_some(LEFT_OUT)))
    }
}

#[derive(Serialize)]
struct Thread<'a> {
    serial: u32,
    name: &'a str,
    group: Option<&'a str>,
    /// `None` where the profile does not distinguish threads.
    sample_count: Option<u64>,
    cpu_ns: Option<u64>,
    methods: Vec<ThreadMethod<'a>>,
}

#[derive(Serialize)]
struct ThreadMethod<'a> {
    /// `class.method` and signature.
    name: &'a str,
    self_count: u64,
    total_count: u64,
}

/// Writes the report; of each list the first `--top` rows alone, where it is given.
pub(super) fn write(
    input: &Input,
    file: &str,
    content: &Content<'_>,
    args: &ReportArgs,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let profile = content.profile;
    let view = content.samples();
    let samples = view.map(|view| &view.numbers);
    let methods = samples.map(|samples| top::methods(profile, samples)).unwrap_or_default();
    let names = full_names(profile);
    let top = args.top.unwrap_or(usize::MAX);
    let head = Head::new(content, args.top.unwrap_or(head::MOST));
    let report = Report {
        file,
        form: input.form.ending(),
        filtered: &content.filtered,
        inferred: metrics::inferred(content),
        created_unix_ms: profile.created.map(|created| created.unix_ms),
        depth: profile.depth,
        sample_count: samples.map_or(0, |samples| samples.total),
        listed_sample_count: samples
            .map_or(0, |it| it.rows.iter().map(|row| row.1).fold(0, u64::saturating_add)),
        interval_ns: profile.sample_interval_ns(),
        where_to_begin: head.as_ref().map(|head| metrics::begin(profile, head, &names)),
        methods: view.map_or_else(Vec::new, |view| {
            methods.iter().take(top).map(|row| method(content, view, row)).collect()
        }),
        paths: view.map_or_else(Vec::new, |view| paths(view, content.tree, &names, top)),
        threads: threads(profile, view, &names),
        metrics: content
            .metrics
            .iter()
            .map(|it| metrics::table(content, it, &names, top))
            .collect(),
        calls: content.calls.as_ref().map(|calls| exact::calls(calls, &names, top)),
        allocations: content
            .objects
            .as_ref()
            .map(|objects| exact::objects(content, objects, &names, top)),
        heap_summaries: summaries::of(profile),
        heap_dumps: heap::of(profile, top),
        monitors: content
            .contention
            .as_ref()
            .map(|contention| monitors::report(profile, contention, &names, top)),
        field_accesses: content.fields.as_ref().map(fields::Fields::report),
        tree: exact::tree(content, &names, args.min),
        accounting: profile.accounting.as_ref().map(accounting),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// The name and signature of each method, by its index.
fn full_names(profile: &Profile) -> Vec<String> {
    let symbols = &profile.symbols;
    let name = |index| {
        let id = MethodId::new(index);
        let signature = symbols.get_method(id).signature;
        symbols.method_name(id) + signature.map_or("", |signature| symbols.strings.get(signature))
    };
    (0..symbols.method_count()).map(name).collect()
}

fn method<'a>(content: &Content<'a>, view: &View<'a>, row: &MethodRow) -> Method<'a> {
    let symbols = &view.profile.symbols;
    let method = symbols.get_method(row.method);
    let text = |id| symbols.strings.get(id);
    let trace = |&(id, self_count)| {
        let trace = view.profile.get_trace(id);
        let thread = trace.thread.map(|thread| view.profile.get_thread(thread).serial);
        let inferred_frame_count = content.joined.inferred_frame_count(id);
        Trace { serial: trace.serial, thread_serial: thread, self_count, inferred_frame_count }
    };
    Method {
        name: symbols.method_name(row.method),
        class: symbols.class_name(method.class),
        method: text(method.name),
        signature: method.signature.map(text),
        source: method.source.map(text),
        self_count: row.self_count,
        total_count: row.total_count,
        self_cpu_ns: view.cpu_ns(row.self_count),
        total_cpu_ns: view.cpu_ns(row.total_count),
        traces: row.traces.iter().map(trace).collect(),
    }
}

/// The paths with samples, most first. Of very deep ones, where all together are more than anybody
/// can use, the outer frames are left out.
fn paths<'a>(
    view: &View<'_>,
    tree: &'a MethodTree,
    names: &'a [String],
    top: usize,
) -> Vec<Path<'a>> {
    let depths = tree.depths();
    let mut paths = view.columns().paths();
    paths.truncate(top);
    let limit = deep::limit_of_stacks(paths.iter().map(|path| depths[path.0.index()]));
    let limit = limit.unwrap_or(usize::MAX);
    let path = |(path, count): (PathId, u64)| {
        let is_cut = depths[path.index()] as usize > limit;
        Path {
            self_count: count,
            self_cpu_ns: view.cpu_ns(count),
            frames: Frames { tree, path, names, limit, is_cut },
        }
    };
    paths.into_iter().map(path).collect()
}

fn threads<'a>(
    profile: &'a Profile,
    view: Option<&View<'a>>,
    names: &'a [String],
) -> Vec<Thread<'a>> {
    let counts = view.map(|view| top::threads(profile, &view.numbers)).unwrap_or_default();
    let counts: HashMap<_, _> = counts.into_iter().collect();
    let text = |id| profile.symbols.strings.get(id);
    let describe = |(index, thread): (usize, &perk_profile::Thread)| {
        let id = ThreadId::new(index);
        let count = (!counts.is_empty()).then(|| counts.get(&id).copied().unwrap_or(0));
        let of_thread = count.filter(|&count| count > 0).and(view);
        let methods = of_thread.map(|view| view.of_thread(id).methods()).unwrap_or_default();
        Thread {
            serial: thread.serial,
            name: text(thread.name),
            group: thread.group.map(text),
            sample_count: count,
            cpu_ns: count.zip(view).and_then(|(count, view)| view.cpu_ns(count)),
            methods: methods.iter().map(|row| thread_method(row, names)).collect(),
        }
    };
    profile.threads.iter().enumerate().map(describe).collect()
}

fn thread_method<'a>(row: &columns::MethodRow, names: &'a [String]) -> ThreadMethod<'a> {
    let name = &names[row.method.index()];
    ThreadMethod { name, self_count: row.own, total_count: row.total }
}

fn accounting(accounting: &Accounting) -> Map<String, Value> {
    let text = accounting.to_text();
    let fields = text.lines().filter_map(|line| line.split_once('='));
    let value = |name, value: &str| match value.parse::<i128>() {
        Ok(number) if !TEXTS.contains(&name) => match u64::try_from(number) {
            Ok(number) => number.into(),
            Err(_) => i64::try_from(number).map_or_else(|_| value.into(), Value::from),
        },
        _ => value.into(),
    };
    fields.map(|(name, text)| (name.to_owned(), value(name, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounting_keeps_its_types() {
        let accounting = Accounting {
            program: "42".into(),
            utc_offset_s: -3600,
            process_cpu_ns: u64::MAX,
            ..Accounting::default()
        };
        let map = super::accounting(&accounting);
        assert_eq!(map["program"], "42");
        assert_eq!(map["utc_offset_s"], -3600);
        assert_eq!(map["process_cpu_ns"], u64::MAX);
    }
}
