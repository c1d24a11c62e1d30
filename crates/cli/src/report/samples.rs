//! CPU samples as tables.

use std::cmp::Reverse;
use std::collections::HashMap;

use perk_profile::top::{self, MethodRow};
use perk_profile::{CpuSamples, FrameId, MethodId, Profile, ThreadId, TraceId};

use super::paths;
use super::table::{Row, Table};
use crate::show::{self, Screen, duration, percent, plural, printable};

/// Stands for the method where the stack is not known.
const NO_STACK: &str = "[no stack]";

/// What a table of methods is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Samples with the method on top of the stack; methods without any are left out.
    Own,
    /// Samples with the method anywhere on the stack.
    Total,
}

impl By {
    /// The rows, in order. `methods` are in the order of [`By::Own`].
    fn rows(self, methods: &[MethodRow]) -> Vec<&MethodRow> {
        let mut rows: Vec<_> = methods.iter().collect();
        match self {
            By::Own => rows.retain(|row| row.self_count > 0),
            // A stable sort: where totals are equal, more of its own comes first.
            By::Total => rows.sort_by_key(|row| Reverse(row.total_count)),
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
    /// Samples without a stack.
    NoStack(u64),
}

impl Shown<'_> {
    fn count(self, by: By) -> u64 {
        match (self, by) {
            (Shown::Method(row), By::Own) => row.self_count,
            (Shown::Method(row), By::Total) => row.total_count,
            (Shown::NoStack(count), _) => count,
        }
    }
}

/// A profile's samples, all or of one thread.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) profile: &'a Profile,
    pub(super) samples: CpuSamples,
    /// The CPU time a sample stands for, where it is known.
    pub(super) interval_ns: Option<u64>,
}

impl<'a> View<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            samples: profile.total_cpu_samples(),
            interval_ns: profile.sample_interval_ns(),
        }
    }

    pub(super) fn of_thread(&self, thread: ThreadId) -> Self {
        Self { samples: top::of_thread(self.profile, &self.samples, Some(thread)), ..*self }
    }

    pub(super) fn methods(&self) -> Vec<MethodRow> {
        top::methods(self.profile, &self.samples)
    }

    pub(super) fn cpu_ns(&self, count: u64) -> Option<u64> {
        self.interval_ns.map(|interval| count.saturating_mul(interval))
    }

    /// `12 samples of 10 ms = 120 ms of CPU time`
    pub(super) fn total(&self) -> String {
        let total = self.samples.total;
        let mut text = plural(total, "sample");
        if let Some((interval, cpu)) = self.interval_ns.zip(self.cpu_ns(total)) {
            text += &format!(" of {} = {} of CPU time", duration(interval), duration(cpu));
        }
        let listed: u64 = self.samples.rows.iter().map(|&(_, count)| count).sum();
        if listed < total {
            text += &format!(", {} of them below the file's cutoff", total - listed);
        }
        text
    }

    /// `12 samples (3.40 %), 120 ms`
    pub(super) fn amount(&self, count: u64) -> String {
        let mut text =
            format!("{} ({} %)", plural(count, "sample"), percent(count, self.samples.total));
        if let Some(cpu) = self.cpu_ns(count) {
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
        let total = self.samples.total;
        let mut titles = vec!["#", "self %", "self", "total %", "total"];
        titles.extend(self.interval_ns.map(|_| by.time_title()));
        titles.push("method");
        let rows = rows.iter().enumerate().map(|(index, row)| {
            let (own, sum) = (row.count(By::Own), row.count(By::Total));
            let mut cells = vec![
                (index + 1).to_string(),
                percent(own, total),
                own.to_string(),
                percent(sum, total),
                sum.to_string(),
            ];
            cells.extend(self.cpu_ns(row.count(by)).map(duration));
            let mut below = Vec::new();
            match row {
                Shown::Method(row) => {
                    cells.push(labels[&row.method].clone());
                    if traces {
                        below = self.trace_lines(&row.traces, top);
                    }
                }
                Shown::NoStack(_) => cells.push(NO_STACK.to_owned()),
            }
            Row { cells, below }
        });
        Table { titles, rows: rows.collect() }.render(screen)
    }

    /// Samples whose stack is not known.
    fn without_stack(&self) -> u64 {
        let is_empty = |trace| self.profile.frames(trace).next().is_none();
        let rows = self.samples.rows.iter().filter(|&&(trace, _)| is_empty(trace));
        rows.map(|&(_, count)| count).sum()
    }

    /// The first `top` traces of a method, each with its samples and its frames.
    fn trace_lines(&self, traces: &[(TraceId, u64)], top: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let (shown, hidden) = traces.split_at(traces.len().min(top));
        for &(id, count) in shown {
            let trace = self.profile.get_trace(id);
            let mut line = format!("{} in trace {}", plural(count, "sample"), trace.serial);
            if let Some(thread) = trace.thread {
                line += &format!(" of thread {}", printable(self.profile.thread_name(thread)));
            }
            lines.push(line);
            let frames: Vec<_> = self.profile.frames(id).collect();
            let shown = |&frame: &FrameId| show::frame(&self.profile.symbols, frame);
            let frames = paths::middle_cut(&frames, shown).into_iter();
            lines.extend(frames.map(|line| format!("  {line}")));
        }
        if !hidden.is_empty() {
            let count = hidden.iter().map(|&(_, count)| count).sum();
            let traces = plural(hidden.len() as u64, "more trace");
            lines.push(format!("{} in {traces}", plural(count, "sample")));
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
