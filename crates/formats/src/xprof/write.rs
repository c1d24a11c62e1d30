use std::collections::BTreeMap;
use std::io::{self, Write};

use perk_profile::{FrameId, FrameKind, KeyedMap, Line, Profile, ThreadId, TraceId};

use super::{
    BLOCKED_METRIC, ELAPSED_METRIC, LOST, NATIVE_METRIC, OF_KIND, PROGRAM_METRIC, RECEIVED_METRIC,
    RUNTIME_STUB, Table, ThreadTables, WAITING_METRIC, XprofRow, write_summary,
};

/// The name of the only section of a profile that does not distinguish threads.
const ALL_THREADS: &str = "all threads";

/// Writes the samples of `profile` as ticks, each attributed to its innermost frame. Data that
/// HotSpot does not print is left out. All rows are listed.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let interval_ns = profile.sample_interval_ns().unwrap_or(0);
    let threads: Vec<_> = sections(profile)
        .into_iter()
        .map(|(thread, section)| {
            let name = thread.map_or(ALL_THREADS, |thread| profile.thread_name(thread));
            section.tables(name, interval_ns)
        })
        .collect();
    threads.iter().try_for_each(|thread| thread.write(usize::MAX, out))?;
    let of_program = profile.other_columns(PROGRAM_METRIC).map(|metric| metric.total).max();
    let longest = threads.iter().map(|thread| thread.elapsed_ns).max();
    let ticks = threads.iter().map(ThreadTables::total_count).fold(0, u64::saturating_add);
    let received = profile.other_columns(RECEIVED_METRIC).map(|it| it.total);
    let received = received.reduce(u64::saturating_add).unwrap_or(ticks);
    let columns = profile.sections().flat_map(|section| &section.head.columns);
    let labels = columns.filter_map(|column| {
        let kind = column.metric.name().strip_prefix(RECEIVED_METRIC)?;
        Some((kind.strip_prefix(OF_KIND)?.to_owned(), column.total))
    });
    let labels: Vec<_> = labels.collect();
    write_summary(of_program.or(longest).unwrap_or(0), received, &labels, out)
}

/// The ticks of a thread.
#[derive(Default)]
struct ThreadTicks {
    /// The ticks in code and in native code, by table and method.
    methods: BTreeMap<(Table, String), (u64, u64)>,
    /// The ticks outside methods.
    labels: BTreeMap<String, u64>,
    /// The ticks without a stack.
    unknown: u64,
    blocked: u64,
    waiting: u64,
    /// The time that the thread ran, if the profile gives it.
    elapsed_ns: Option<u64>,
}

/// Returns the numbers of another tool's metric, by trace.
fn rows(profile: &Profile, name: &str) -> Vec<(TraceId, u64)> {
    let metric = profile.other_columns(name).next().map(|column| &column.metric);
    metric.map_or_else(Vec::new, |metric| metric.rows(profile).by_trace())
}

fn sections(profile: &Profile) -> BTreeMap<Option<ThreadId>, ThreadTicks> {
    let mut sections: BTreeMap<_, ThreadTicks> = BTreeMap::new();
    let mut natives: Option<KeyedMap<TraceId, u64>> = None;
    for (trace, count) in rows(profile, NATIVE_METRIC) {
        let ticks = natives.get_or_insert_default().entry(trace).or_default();
        *ticks = ticks.saturating_add(count);
    }
    for (trace, count) in profile.total_cpu_samples().rows {
        let section = sections.entry(profile.get_trace(trace).thread).or_default();
        let native = natives.as_ref().map(|it| it.get(&trace).copied().unwrap_or(0).min(count));
        section.add(profile, trace, count, native);
    }
    let mut add_idle = |metric: &str, counter: fn(&mut ThreadTicks) -> &mut u64| {
        for (trace, count) in rows(profile, metric) {
            let thread = profile.get_trace(trace).thread;
            let counter = counter(sections.entry(thread).or_default());
            *counter = counter.saturating_add(count);
        }
    };
    add_idle(BLOCKED_METRIC, |section| &mut section.blocked);
    add_idle(WAITING_METRIC, |section| &mut section.waiting);
    for (trace, ns) in rows(profile, ELAPSED_METRIC) {
        if let Some(section) = sections.get_mut(&profile.get_trace(trace).thread) {
            section.elapsed_ns = Some(section.elapsed_ns.unwrap_or(0).saturating_add(ns));
        }
    }
    sections
}

impl ThreadTicks {
    /// Adds `count` ticks, of which `native` were in native code. Other profiles do not give that
    /// number; in them, it is all ticks of native frames.
    fn add(&mut self, profile: &Profile, trace: TraceId, count: u64, native: Option<u64>) {
        let mut frames = profile.frames(trace);
        let Some(leaf) = frames.next() else {
            self.unknown = self.unknown.saturating_add(count);
            return;
        };
        let leaf_frame = profile.symbols.get_frame(leaf);
        let caller = frames.next();
        if caller.is_none()
            && let Some(label) = label(profile, leaf)
        {
            let ticks = self.labels.entry(label.to_owned()).or_default();
            *ticks = ticks.saturating_add(count);
            return;
        }
        let is_native = matches!(leaf_frame.kind, FrameKind::Native | FrameKind::Kernel);
        let table = match leaf_frame.kind {
            _ if caller.is_some_and(|it| is_runtime_stub(profile, it)) => Table::RuntimeStub,
            _ if is_native => Table::Stub,
            FrameKind::Unknown | FrameKind::Interpreted => Table::Interpreted,
            // Read from such a table: perk's own samples have lines.
            FrameKind::CompiledC1 if leaf_frame.line == Line::Compiled => Table::CompiledC1,
            FrameKind::CompiledC2 if leaf_frame.line == Line::Compiled => Table::CompiledC2,
            _ => Table::Compiled,
        };
        let native = native.unwrap_or(if is_native { count } else { 0 });
        let name = profile.symbols.method_name(leaf_frame.method);
        let (in_code, in_native) = self.methods.entry((table, name)).or_default();
        *in_code = in_code.saturating_add(count - native);
        *in_native = in_native.saturating_add(native);
    }

    /// Returns the tables, for which a sample represents `interval_ns`.
    fn tables(self, name: &str, interval_ns: u64) -> ThreadTables {
        let rows = self.methods.into_iter().map(|((table, name), (code_count, native_count))| {
            XprofRow { table, name, code_count, native_count }
        });
        let mut labels = self.labels;
        let mut tables = ThreadTables {
            name: name.to_owned(),
            elapsed_ns: 0,
            rows: rows.collect(),
            lost_count: labels.remove(LOST).unwrap_or(0),
            labels: labels.into_iter().collect(),
            unlisted_count: self.unknown,
            blocked_count: self.blocked,
            waiting_count: self.waiting,
        };
        // Without the time that the thread ran, the time that its samples represent.
        let sampled_ns = || tables.running_count().saturating_mul(interval_ns);
        tables.elapsed_ns = self.elapsed_ns.unwrap_or_else(sampled_ns);
        tables
    }
}

/// Returns the text of a frame `[text]` without a class.
fn label(profile: &Profile, frame: FrameId) -> Option<&str> {
    let method = profile.symbols.get_method(profile.symbols.get_frame(frame).method);
    let name = profile.symbols.strings.get(method.name);
    let label = name.strip_prefix('[')?.strip_suffix(']')?;
    (profile.symbols.class_name(method.class).is_empty() && !label.is_empty()).then_some(label)
}

fn is_runtime_stub(profile: &Profile, frame: FrameId) -> bool {
    let method = profile.symbols.get_frame(frame).method;
    profile.symbols.method_name(method) == RUNTIME_STUB
}
