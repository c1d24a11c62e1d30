//! The numbers of one metric (CPU samples, times, bytes, what else was measured) as tables.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use perk_analysis::columns::MethodRow;
use perk_analysis::lines::{self, LineRow};
use perk_analysis::{Columns, InferredCallers, MethodTree, columns, top};
use perk_profile::{CpuSamples, FrameId, MethodId, Metric, Profile, ThreadId, TraceId, Unit};

use super::paths;
use super::table::{Row, Table};
use crate::show::{self, Screen, duration, percent, plural, printable};

/// Stands for the method where the stack is not known.
const NO_STACK: &str = "[no stack]";

/// What a table of methods is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// What was measured with the method on top of the stack; methods without any are left out.
    Own,
    /// What was measured with the method anywhere on the stack.
    Total,
}

impl By {
    /// The rows, in order. `methods` are in the order of [`By::Own`].
    fn rows(self, methods: &[MethodRow]) -> Vec<&MethodRow> {
        let mut rows: Vec<_> = methods.iter().collect();
        match self {
            By::Own => rows.retain(|row| row.own > 0),
            // A stable sort: where totals are equal, more of its own comes first.
            By::Total => rows.sort_by_key(|row| Reverse(row.total)),
        }
        rows
    }

    fn time_title(self) -> &'static str {
        match self {
            By::Own => "self time",
            By::Total => "total time",
        }
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
enum Shown<'a> {
    Method(&'a MethodRow),
    /// What was measured without a stack.
    NoStack(u64),
}

impl Shown<'_> {
    fn count(self, by: By) -> u64 {
        match (self, by) {
            (Shown::Method(row), By::Own) => row.own,
            (Shown::Method(row), By::Total) => row.total,
            (Shown::NoStack(count), _) => count,
        }
    }
}

/// A profile's numbers of one metric, all or of one thread.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) profile: &'a Profile,
    tree: &'a MethodTree,
    joined: &'a InferredCallers,
    pub(super) metric: Metric,
    /// The numbers by trace.
    pub(super) numbers: CpuSamples,
    /// The CPU time a sample stands for, where it is known.
    pub(super) interval_ns: Option<u64>,
    columns: OnceCell<Columns>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        tree: &'a MethodTree,
        joined: &'a InferredCallers,
        metric: Metric,
    ) -> Self {
        let interval_ns = profile.sample_interval_ns().filter(|_| metric == Metric::Samples);
        let numbers = columns::numbers(profile, &metric);
        let columns = OnceCell::new();
        Self { profile, tree, joined, metric, numbers, interval_ns, columns }
    }

    pub(super) fn of_thread(&self, thread: ThreadId) -> Self {
        let numbers = top::of_thread(self.profile, &self.numbers, Some(thread));
        let metric = self.metric.clone();
        Self { numbers, metric, columns: OnceCell::new(), ..*self }
    }

    pub(super) fn name(&self) -> &str {
        self.metric.name()
    }

    pub(super) fn unit(&self) -> Unit {
        self.metric.unit()
    }

    /// Whether any of the numbers is of a call path.
    pub(super) fn has_paths(&self) -> bool {
        self.numbers.rows.iter().any(|row| self.profile.frames(row.0).next().is_some())
    }

    /// The numbers by path.
    pub(super) fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| {
            let CpuSamples { total, rows, .. } = &self.numbers;
            Columns::of_rows(self.profile, self.tree, rows, *total)
        })
    }

    /// The methods, by self.
    pub(super) fn methods(&self) -> Vec<MethodRow> {
        self.columns().methods(self.tree)
    }

    /// The paths with most of their own: the methods, innermost first, and the number.
    pub(super) fn paths(&self, top: usize) -> Vec<(Vec<MethodId>, u64)> {
        let paths = self.columns().paths().into_iter().take(top);
        paths.map(|(path, number)| (self.tree.methods(path).collect(), number)).collect()
    }

    pub(super) fn lines(&self) -> Vec<LineRow> {
        lines::lines(self.profile, &self.numbers.rows)
    }

    pub(super) fn cpu_ns(&self, count: u64) -> Option<u64> {
        self.interval_ns.map(|interval| count.saturating_mul(interval))
    }

    /// A number for people: with its time where a sample stands for one.
    pub(super) fn number(&self, number: u64) -> String {
        match self.cpu_ns(number) {
            Some(ns) => duration(ns),
            None => show::number(number, self.unit()),
        }
    }

    /// The share of all, what has no row among it, in percent.
    pub(super) fn percent(&self, number: u64) -> String {
        percent(number, self.numbers.total)
    }

    /// `Top methods by self`, and what it is of where that is not samples.
    pub(super) fn title(&self, title: &str) -> String {
        match &self.metric {
            Metric::Samples => title.to_owned(),
            metric => format!("{title}: {}", show::metric(metric)),
        }
    }

    /// `12 samples of 10 ms = 120 ms of CPU time`
    pub(super) fn total(&self) -> String {
        let total = self.numbers.total;
        let mut text = self.quantity(total);
        if let Some((interval, cpu)) = self.interval_ns.zip(self.cpu_ns(total)) {
            text += &format!(" of {} = {} of CPU time", duration(interval), duration(cpu));
        }
        let listed = self.numbers.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        if listed < total {
            let hidden = show::number(total - listed, self.unit());
            text += &format!(", {hidden} of them below the file's cutoff");
        }
        text
    }

    /// `12 samples`, `12 ms of delay`
    fn quantity(&self, number: u64) -> String {
        let name = show::metric(&self.metric);
        match (&self.metric, self.unit()) {
            (Metric::Samples, _) => plural(number, "sample"),
            (_, Unit::Count) => format!("{number} {name}"),
            (_, unit) => format!("{} of {name}", show::number(number, unit)),
        }
    }

    /// `12 samples (3.40 %), 120 ms`
    pub(super) fn amount(&self, number: u64) -> String {
        let mut text = format!("{} ({} %)", self.quantity(number), self.percent(number));
        if let Some(cpu) = self.cpu_ns(number) {
            text += &format!(", {}", duration(cpu));
        }
        text
    }

    pub(super) fn table(
        &self,
        methods: &[MethodRow],
        by: By,
        top: usize,
        traces: bool,
        screen: &Screen,
    ) -> String {
        let rows = by.rows(methods);
        let labels = show::labels(&self.profile.symbols, rows.iter().map(|row| row.method));
        let mut rows: Vec<Shown<'_>> = rows.into_iter().map(Shown::Method).collect();
        let without_stack = self.without_stack();
        if without_stack > 0 {
            let before = rows.iter().take_while(|row| row.count(by) >= without_stack).count();
            rows.insert(before, Shown::NoStack(without_stack));
        }
        rows.truncate(top);
        let traces = if traces { self.traces() } else { HashMap::new() };
        let mut titles = vec!["#", "self %", "self", "total %", "total"];
        titles.extend(self.interval_ns.map(|_| by.time_title()));
        titles.push("method");
        let rows = rows.iter().enumerate().map(|(index, row)| {
            let mut cells = self.cells(index, row.count(By::Own), row.count(By::Total));
            cells.extend(self.cpu_ns(row.count(by)).map(duration));
            let mut below = Vec::new();
            match row {
                Shown::Method(row) => {
                    cells.push(labels[&row.method].clone());
                    if let Some(traces) = traces.get(&row.method) {
                        below = self.trace_lines(traces, top);
                    }
                }
                Shown::NoStack(_) => cells.push(NO_STACK.to_owned()),
            }
            Row { cells, below }
        });
        Table { titles, rows: rows.collect() }.render(screen)
    }

    fn cells(&self, index: usize, own: u64, total: u64) -> Vec<String> {
        vec![
            (index + 1).to_string(),
            self.percent(own),
            show::number(own, self.unit()),
            self.percent(total),
            show::number(total, self.unit()),
        ]
    }

    /// The lines with most of their own, and the others behind them; empty where there is none.
    pub(super) fn line_table(&self, top: usize, screen: &Screen) -> String {
        let mut rows = self.lines();
        rows.truncate(top);
        if rows.is_empty() {
            return String::new();
        }
        let symbols = &self.profile.symbols;
        let labels = show::labels(symbols, rows.iter().map(|row| row.method));
        let rows = rows.iter().enumerate().map(|(index, row)| {
            let mut cells = self.cells(index, row.own, row.total);
            cells.extend(self.cpu_ns(row.own).map(duration));
            let place = show::place(symbols, row.method, row.line);
            cells.push(format!("{}{place}", labels[&row.method]));
            Row { cells, below: Vec::new() }
        });
        let mut titles = vec!["#", "self %", "self", "total %", "total"];
        titles.extend(self.interval_ns.map(|_| By::Own.time_title()));
        titles.push("line");
        let table = Table { titles, rows: rows.collect() };
        let heading = screen.heading(&self.title("Top lines by self"));
        format!("{heading}\n{}", table.render(screen))
    }

    /// What was measured without a known stack.
    fn without_stack(&self) -> u64 {
        self.columns().own[self.tree.root().index()]
    }

    /// The traces that have each method on top, most first.
    fn traces(&self) -> HashMap<MethodId, Vec<(TraceId, u64)>> {
        let rows = top::methods(self.profile, &self.numbers).into_iter();
        rows.filter(|row| !row.traces.is_empty()).map(|row| (row.method, row.traces)).collect()
    }

    /// The first `top` traces of a method, each with its number and its frames.
    fn trace_lines(&self, traces: &[(TraceId, u64)], top: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let (shown, hidden) = traces.split_at(traces.len().min(top));
        for &(id, count) in shown {
            let trace = self.profile.get_trace(id);
            let mut line = format!("{} in trace {}", self.quantity(count), trace.serial);
            if let Some(thread) = trace.thread {
                line += &format!(" of thread {}", printable(self.profile.thread_name(thread)));
            }
            lines.push(line);
            let frames: Vec<_> = self.profile.frames(id).collect();
            let known = frames.len().saturating_sub(self.joined.inferred_frame_count(id));
            let frames: Vec<_> =
                frames.into_iter().enumerate().map(|(at, frame)| (frame, at >= known)).collect();
            let shown = |&(frame, is_inferred): &(FrameId, bool)| {
                let inferred = if is_inferred { " [inferred]" } else { "" };
                show::frame(&self.profile.symbols, frame) + inferred
            };
            let frames = paths::middle_cut(&frames, shown).into_iter();
            lines.extend(frames.map(|line| format!("  {line}")));
        }
        if !hidden.is_empty() {
            let count = hidden.iter().map(|&(_, count)| count).fold(0, u64::saturating_add);
            let traces = plural(hidden.len() as u64, "more trace");
            lines.push(format!("{} in {traces}", self.quantity(count)));
        }
        lines
    }

    /// The names of methods, told apart.
    pub(super) fn labels(
        &self,
        methods: impl IntoIterator<Item = MethodId>,
    ) -> HashMap<MethodId, String> {
        show::labels(&self.profile.symbols, methods)
    }
}
