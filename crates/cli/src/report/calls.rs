//! Exact calls as tables.

use perk_analysis::MethodTree;
use perk_analysis::calls::{CallColumns, CallTable, Edge, MethodCalls};
use perk_profile::{MethodId, NamePattern, Profile, ThreadId};

use super::no_threads;
use super::table::{Row, Table};
use crate::show::{self, Screen, duration, percent, plural, printable};

/// Callers shown under a chatty method.
const CALLERS: usize = 4;
/// Stands for the caller of a thread's first method.
const NO_CALLER: &str = "[thread start, or not known]";
/// Stands for a method that is not known.
const UNKNOWN: &str = "[unknown]";

/// The calls of a profile.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    profile: &'a Profile,
    /// By node of the profile's [`MethodTree`]; `None` where the file has no call paths.
    pub(super) columns: Option<CallColumns>,
    pub(super) table: CallTable,
}

impl<'a> Calls<'a> {
    /// The calls of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile, tree: &MethodTree) -> Option<Self> {
        if profile.call_times().next().is_some() {
            let columns = CallColumns::new(profile, tree, None);
            let table = CallTable::of_tree(profile, tree, &columns);
            return Some(Self { profile, columns: Some(columns), table });
        }
        profile.call_edges().next()?;
        Some(Self { profile, columns: None, table: CallTable::of_edges(profile) })
    }

    /// Whether the calls have times.
    pub(super) fn is_timed(&self) -> bool {
        self.table.self_ns > 0
    }

    /// What the times are of.
    fn time(&self) -> &'static str {
        match self.profile.accounting.as_ref().map_or("", |accounting| &accounting.clock) {
            "cpu" => "CPU time",
            "wall" => "wall time",
            _ => "time",
        }
    }

    /// The time of all calls, those that the file does not list among them, in nanoseconds.
    pub(super) fn all_ns(&self) -> u64 {
        let sections = self.profile.call_times().map(|times| times.total_ns);
        sections.fold(0, u64::saturating_add).max(self.table.self_ns)
    }

    /// `12 calls, 340 ms of CPU time`
    pub(super) fn total(&self) -> String {
        let mut text = plural(self.table.count, "call");
        if self.is_timed() {
            text += &format!(", {} of {}", duration(self.all_ns()), self.time());
        }
        let hidden = self.all_ns() - self.table.self_ns;
        if self.is_timed() && hidden > 0 {
            text += &format!(", {} of it in rows the file leaves out", duration(hidden));
        }
        text
    }

    /// The methods with most time of their own.
    pub(super) fn by_self(&self, top: usize, screen: &Screen) -> String {
        let title = if self.is_timed() { "Top methods by self" } else { "Top methods by calls" };
        let mut text = format!("{}\n", screen.heading(title));
        text += &self.methods(&self.table, &self.table.methods, top, screen);
        if self.table.is_recursion_counted_again && self.is_timed() {
            let note = "The file has no call paths: self is computed from the totals, and a \
                        total counts recursive calls again.";
            text += &(screen.wrap(note, 0) + "\n");
        }
        text
    }

    /// The methods with most time in all; empty where nothing was timed. Where not all traces are
    /// shown, their paths have gaps that say nothing of the file.
    pub(super) fn by_total(&self, top: usize, are_all_shown: bool, screen: &Screen) -> String {
        if !self.is_timed() {
            return String::new();
        }
        let mut rows = self.table.methods.clone();
        rows.sort_by_key(|row| std::cmp::Reverse(row.total_ns));
        let mut text = format!("{}\n", screen.heading("Top methods by total"));
        text += &self.methods(&self.table, &rows, top, screen);
        if self.table.are_paths_cut && are_all_shown {
            text += "The file's call paths are cut: a total has only the part that they show.\n";
        }
        text
    }

    fn methods(
        &self,
        table: &CallTable,
        rows: &[MethodCalls],
        top: usize,
        screen: &Screen,
    ) -> String {
        let rows = &rows[..rows.len().min(top)];
        let labels = show::labels(&self.profile.symbols, rows.iter().map(|row| row.method));
        let is_timed = table.self_ns > 0;
        let mut titles = vec!["#"];
        if is_timed {
            titles.extend(["self %", "self", "total %", "total", "average"]);
        }
        titles.extend(["calls %", "calls", "method"]);
        let all_ns = self.all_ns_of(table);
        let rows = rows.iter().enumerate().map(|(index, row)| {
            // What was cut off is not 0.
            let own = |cell: String| if row.is_listed() { cell } else { String::new() };
            let mut cells = vec![(index + 1).to_string()];
            if is_timed {
                cells.extend([
                    own(percent(row.self_ns, all_ns)),
                    own(duration(row.self_ns)),
                    percent(row.total_ns, all_ns),
                    duration(row.total_ns),
                    own(average(row)),
                ]);
            }
            cells.extend([
                own(percent(row.count, table.count)),
                own(row.count.to_string()),
                labels[&row.method].clone(),
            ]);
            Row { cells, below: Vec::new() }
        });
        Table { titles, rows: rows.collect() }.render(screen)
    }

    /// What the shares of a table are of: of all calls, or of those of one thread.
    fn all_ns_of(&self, table: &CallTable) -> u64 {
        if std::ptr::eq(table, &self.table) { self.all_ns() } else { table.self_ns }
    }

    /// A table for each thread, most time first.
    pub(super) fn threads(&self, tree: &MethodTree, top: usize, screen: &Screen) -> Vec<String> {
        let of_thread = |index| {
            let thread = ThreadId::new(index);
            let columns = CallColumns::new(self.profile, tree, Some(thread));
            (thread, CallTable::of_tree(self.profile, tree, &columns))
        };
        let mut has_calls = vec![false; self.profile.threads.len()];
        for row in self.profile.call_times().flat_map(|times| &times.rows) {
            if let Some(thread) = self.profile.get_trace(row.trace).thread {
                has_calls[thread.index()] = true;
            }
        }
        let mut threads: Vec<_> = (0..has_calls.len())
            .filter(|&index| has_calls[index])
            .map(of_thread)
            .filter(|(_, table)| table.count > 0)
            .collect();
        if threads.is_empty() {
            return vec![no_threads(screen) + "\n"];
        }
        threads.sort_by_key(|(thread, table)| {
            std::cmp::Reverse((table.self_ns, table.count, *thread))
        });
        let section = |(thread, table): &(ThreadId, CallTable)| {
            let name = printable(self.profile.thread_name(*thread));
            let mut heading = format!("Thread {name}: {}", plural(table.count, "call"));
            if table.self_ns > 0 {
                let share = percent(table.self_ns, self.all_ns());
                heading += &format!(", {} ({share} %)", duration(table.self_ns));
            }
            let rows = self.methods(table, &table.methods, top, screen);
            format!("{}\n{rows}", screen.heading(&heading))
        };
        threads.iter().map(section).collect()
    }

    /// The methods whose calls are many and small, with their callers; empty where there is none.
    pub(super) fn chatty(&self, top: usize, screen: &Screen) -> String {
        let mut rows = self.table.chatty();
        rows.truncate(top);
        if rows.is_empty() {
            return String::new();
        }
        let shown = rows.iter().flat_map(|row| {
            let callers = row.callers.iter().take(CALLERS).filter_map(|edge| edge.caller);
            callers.chain([row.row.method])
        });
        let labels = show::labels(&self.profile.symbols, shown);
        let mut titles = vec!["#", "calls %", "calls"];
        if self.is_timed() {
            titles.extend(["average", "self"]);
        }
        titles.push("method");
        let table_rows = rows.iter().enumerate().map(|(index, chatty)| {
            let row = chatty.row;
            let mut cells = vec![
                (index + 1).to_string(),
                percent(row.count, self.table.count),
                row.count.to_string(),
            ];
            if self.is_timed() {
                cells.extend([average(&row), duration(row.self_ns)]);
            }
            cells.push(labels[&row.method].clone());
            let by = |edge: &Edge| {
                let caller = edge.caller.map_or(NO_CALLER, |method| &labels[&method]);
                let share = percent(edge.count, row.count);
                format!("{share} % {} by {caller}", plural(edge.count, "call"))
            };
            let mut below: Vec<_> = chatty.callers.iter().take(CALLERS).map(by).collect();
            let hidden = chatty.callers.len().saturating_sub(CALLERS) as u64;
            if hidden > 0 {
                below.push(format!("and {}", plural(hidden, "more caller")));
            }
            Row { cells, below }
        });
        let title = "Chatty methods: many small calls, to be reduced in their callers";
        let table = Table { titles, rows: table_rows.collect() };
        format!("{}\n{}", screen.heading(title), table.render(screen))
    }

    /// Who calls whom, most calls first.
    pub(super) fn edges(&self, top: usize, screen: &Screen) -> String {
        let edges: Vec<_> = self.table.edges.iter().take(top).copied().collect();
        let known = edges.iter().flat_map(|edge| [edge.caller, edge.callee]).flatten();
        let labels = show::labels(&self.profile.symbols, known);
        let name = |edge: &Edge| {
            let caller = edge.caller.map_or(NO_CALLER, |method| &labels[&method]);
            let callee = edge.callee.map_or(UNKNOWN, |method| &labels[&method]);
            format!("{caller} → {callee}")
        };
        let table = self.edge_table(&edges, self.table.count, "caller → callee", name, screen);
        format!("{}\n{table}", screen.heading("Top call edges by calls"))
    }

    /// For each method that `pattern` means, at most `top` of them: its numbers, its callers and
    /// its callees. Empty where there is none.
    pub(super) fn butterflies(&self, pattern: &NamePattern, top: usize, screen: &Screen) -> String {
        let rows = self.table.matching(self.profile, pattern);
        super::blocks(&rows, top, |row| self.butterfly(row, top, screen))
    }

    fn butterfly(&self, row: &MethodCalls, top: usize, screen: &Screen) -> String {
        let symbols = &self.profile.symbols;
        let callers = self.table.callers(row.method);
        let callees = self.table.callees(row.method);
        let known = callers.iter().chain(&callees).flat_map(|edge| [edge.caller, edge.callee]);
        let labels = show::labels(symbols, known.flatten().chain([row.method]));
        let mut heading = format!("{}: {}", labels[&row.method], plural(row.count, "call"));
        if !row.is_listed() {
            let (total, share) = (duration(row.total_ns), percent(row.total_ns, self.all_ns()));
            heading = format!("{}: not in the file's rows", labels[&row.method]);
            if self.is_timed() {
                heading += &format!(", total {total} ({share} %)");
            }
        } else if self.is_timed() {
            let all_ns = self.all_ns();
            heading += &format!(
                ", self {} ({} %), {} per call, total {} ({} %)",
                duration(row.self_ns),
                percent(row.self_ns, all_ns),
                average(row),
                duration(row.total_ns),
                percent(row.total_ns, all_ns)
            );
        }
        let mut text = screen.heading(&heading) + "\n";
        let name = |method: Option<MethodId>, unknown: &str| {
            method.map_or(unknown.to_owned(), |method| labels[&method].clone())
        };
        let caller = |edge: &Edge| name(edge.caller, NO_CALLER);
        let called = sum(&callers);
        let callers = &callers[..callers.len().min(top)];
        text += &self.edge_table(callers, called, "caller", caller, screen);
        if !callees.is_empty() {
            let callee = |edge: &Edge| name(edge.callee, UNKNOWN);
            let calls = sum(&callees);
            let callees = &callees[..callees.len().min(top)];
            text += &self.edge_table(callees, calls, "callee", callee, screen);
        }
        text
    }

    fn edge_table(
        &self,
        edges: &[Edge],
        count: u64,
        title: &'static str,
        name: impl Fn(&Edge) -> String,
        screen: &Screen,
    ) -> String {
        let is_timed = self.is_timed();
        let mut titles = vec!["calls %", "calls"];
        if is_timed {
            titles.extend(["total %", "total"]);
        }
        titles.push(title);
        let rows = edges.iter().map(|edge| {
            let mut cells = match edge.count {
                0 => vec![String::new(); 2],
                calls => vec![percent(calls, count), calls.to_string()],
            };
            if is_timed {
                let share = percent(edge.total_ns, self.all_ns());
                cells.extend([share, duration(edge.total_ns)]);
            }
            cells.push(name(edge));
            Row { cells, below: Vec::new() }
        });
        Table { titles, rows: rows.collect() }.render(screen)
    }
}

fn sum(edges: &[Edge]) -> u64 {
    edges.iter().map(|edge| edge.count).fold(0, u64::saturating_add)
}

/// The self time of a call on average; where it is less than a nanosecond, with a decimal.
pub(super) fn average(row: &MethodCalls) -> String {
    match row.average_ns() {
        0 if row.self_ns > 0 && row.count > 0 => {
            format!("{:.1} ns", row.self_ns as f64 / row.count as f64)
        }
        average_ns => duration(average_ns),
    }
}
