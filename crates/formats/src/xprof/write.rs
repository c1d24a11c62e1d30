use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use perk_profile::{FrameId, FrameKind, KeyedMap, Profile, ThreadId, TraceId};

use super::{
    BLOCKED, BLOCKED_METRIC, ELAPSED_METRIC, GLOBAL_HEAD, LOCAL_HEAD, NATIVE_METRIC, OF_KIND,
    PROGRAM_METRIC, RECEIVED, RECEIVED_METRIC, RUNTIME_STUB, THREAD_HEAD, Table,
};

/// The name of the only section of a profile that does not distinguish threads.
const ALL_THREADS: &str = "all threads";

/// Writes the samples of `profile` as ticks, each attributed to its innermost frame. Data that
/// HotSpot does not print is left out. All rows are listed.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let sections = sections(profile);
    let interval_ns = profile.sample_interval_ns().unwrap_or(0);
    for (&thread, section) in &sections {
        section.write(profile, thread, interval_ns, out)?;
    }
    let of_program = profile.other_columns(PROGRAM_METRIC).map(|metric| metric.total).max();
    let longest = sections.values().map(|section| section.elapsed_ns(interval_ns)).max();
    let seconds = of_program.or(longest).unwrap_or(0) as f64 / 1e9;
    writeln!(out, "\n{GLOBAL_HEAD}{seconds:.2} seconds:")?;
    let ticks = sections.values().map(Section::ticks).fold(0, u64::saturating_add);
    let received = profile.other_columns(RECEIVED_METRIC).map(|it| it.total);
    let received = received.reduce(u64::saturating_add).unwrap_or(ticks);
    writeln!(out, "{}{RECEIVED}", plain_columns(received, received))?;
    for column in profile.sections().flat_map(|section| &section.head.columns) {
        let kind = column.metric.name().strip_prefix(RECEIVED_METRIC);
        if let Some(kind) = kind.and_then(|rest| rest.strip_prefix(OF_KIND)) {
            writeln!(out, "{}{}", plain_columns(column.total, received), one_line(kind))?;
        }
    }
    Ok(())
}

/// The ticks of a thread.
#[derive(Default)]
struct Section {
    /// The ticks in code and in native code, by table and method.
    methods: BTreeMap<(Table, String), (u64, u64)>,
    /// The ticks outside methods.
    labels: BTreeMap<String, u64>,
    /// The ticks without a stack.
    unknown: u64,
    blocked: u64,
    /// The time that the thread ran, if the profile gives it.
    elapsed_ns: Option<u64>,
}

/// Returns the numbers of another tool's metric, by trace.
fn rows(profile: &Profile, name: &str) -> Vec<(TraceId, u64)> {
    let metric = profile.other_columns(name).next().map(|column| &column.metric);
    metric.map_or_else(Vec::new, |metric| metric.rows(profile).by_trace())
}

fn sections(profile: &Profile) -> BTreeMap<Option<ThreadId>, Section> {
    let mut sections: BTreeMap<_, Section> = BTreeMap::new();
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
    for (trace, count) in rows(profile, BLOCKED_METRIC) {
        let section = sections.entry(profile.get_trace(trace).thread).or_default();
        section.blocked = section.blocked.saturating_add(count);
    }
    for (trace, ns) in rows(profile, ELAPSED_METRIC) {
        if let Some(section) = sections.get_mut(&profile.get_trace(trace).thread) {
            section.elapsed_ns = Some(section.elapsed_ns.unwrap_or(0).saturating_add(ns));
        }
    }
    sections
}

impl Section {
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
            _ => Table::Compiled,
        };
        let native = native.unwrap_or(if is_native { count } else { 0 });
        let name = profile.symbols.method_name(leaf_frame.method);
        let (in_code, in_native) = self.methods.entry((table, name)).or_default();
        *in_code = in_code.saturating_add(count - native);
        *in_native = in_native.saturating_add(native);
    }

    fn running(&self) -> u64 {
        let of_methods = self.methods.values().flat_map(|&(code, native)| [code, native]);
        of_methods.chain(self.labels.values().copied()).fold(self.unknown, u64::saturating_add)
    }

    fn ticks(&self) -> u64 {
        self.running().saturating_add(self.blocked)
    }

    /// Returns the time that the thread ran, or the time for which its samples stand.
    fn elapsed_ns(&self, interval_ns: u64) -> u64 {
        self.elapsed_ns.unwrap_or_else(|| self.running().saturating_mul(interval_ns))
    }

    fn write(
        &self,
        profile: &Profile,
        thread: Option<ThreadId>,
        interval_ns: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let name = thread.map_or(ALL_THREADS, |thread| profile.thread_name(thread));
        let seconds = self.elapsed_ns(interval_ns) as f64 / 1e9;
        let (ticks, name) = (self.ticks(), one_line(name));
        writeln!(out, "\n{THREAD_HEAD}{seconds:.2} secs ({ticks} total ticks): {name}\n")?;
        let running = self.running();
        for table in Table::ALL {
            self.write_table(table, running, out)?;
        }
        if self.labels.is_empty() && self.blocked == 0 {
            return Ok(());
        }
        writeln!(out, "  {LOCAL_HEAD}")?;
        if self.blocked > 0 {
            writeln!(out, "{}{BLOCKED}", plain_columns(self.blocked, ticks))?;
        }
        for (label, &count) in &self.labels {
            writeln!(out, "{}{}", plain_columns(count, running), one_line(label))?;
        }
        writeln!(out)
    }

    fn write_table(&self, table: Table, running: u64, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.methods.iter().filter(|((of, _), _)| *of == table);
        let mut rows: Vec<_> =
            rows.map(|((_, name), &(code, native))| (name, code, native)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|&(name, code, native)| (Reverse(code.saturating_add(native)), name));
        let title = format!("  {:>11} + native", table.title());
        writeln!(out, "{title:25}{:30}", "Method")?;
        let (mut all_code, mut all_native) = (0_u64, 0_u64);
        for (name, code, native) in rows {
            writeln!(out, "{}{}", columns(code, native, running), one_line(name))?;
            all_code = all_code.saturating_add(code);
            all_native = all_native.saturating_add(native);
        }
        writeln!(out, "{}{}\n", columns(all_code, all_native, running), table.total())
    }
}

/// Returns the columns of a method, up to its name.
fn columns(code: u64, native: u64, of: u64) -> String {
    let percent = percent(code.saturating_add(native), of);
    format!("{:21}    ", format!("{percent:5.1}% {code:5}  + {native:5}"))
}

/// Returns the columns of a label, which has no native part, up to its text.
fn plain_columns(ticks: u64, of: u64) -> String {
    let percent = percent(ticks, of);
    format!("{:24} ", format!("{percent:5.1}% {ticks:5}"))
}

fn percent(ticks: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * ticks as f64 / of as f64 }
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

/// Returns a name that does not break its line.
fn one_line(name: &str) -> Cow<'_, str> {
    if name.contains(['\n', '\r']) {
        Cow::Owned(name.replace('\n', "\\n").replace('\r', "\\r"))
    } else {
        Cow::Borrowed(name)
    }
}
