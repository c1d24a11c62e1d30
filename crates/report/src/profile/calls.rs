//! Exact calls.

mod sampled;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use perk_analysis::MethodTree;
use perk_analysis::calls::{CallColumns, CallTable, ChattyMethod, Edge, MethodCalls};
use perk_profile::units::{duration, percent, plural, printable};
use perk_profile::{KeyedMap, MethodId, Metric, NamePattern, Profile, ThreadId};
use perk_render::{Cell, Column, Json, LazyTable, Part, Section};

use self::sampled::SampledTime;
use super::blocks::{NO_CALLER, blocks, no_threads};

/// Callers shown under a chatty method.
const CALLERS: usize = 4;
/// Bytecode positions shown beside a caller and a callee.
const POSITIONS: usize = 3;
/// Represents a method that is not known.
const UNKNOWN: &str = "[unknown]";

/// The calls of a profile.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    profile: &'a Profile,
    /// By node of the profile's [`MethodTree`]; `None` where the file has no call paths.
    pub(super) columns: Option<CallColumns>,
    pub(super) table: CallTable,
    /// The bytecode positions of the calls, and the calls at each, by caller and callee; for those
    /// pairs whose file has them.
    positions: KeyedMap<(MethodId, MethodId), BTreeMap<i32, u64>>,
    tree: &'a MethodTree,
    sampled: OnceCell<Option<SampledTime>>,
}

impl<'a> Calls<'a> {
    /// The calls of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile, tree: &'a MethodTree) -> Option<Self> {
        if profile.has(&Metric::OF_CALLS) {
            let columns = CallColumns::new(profile, tree, None);
            let table = CallTable::of_tree(profile, tree, &columns);
            let positions = positions(profile, tree);
            let (columns, sampled) = (Some(columns), OnceCell::new());
            return Some(Self { profile, columns, table, positions, tree, sampled });
        }
        profile.has_pairs().then(|| Self {
            profile,
            columns: None,
            table: CallTable::of_edges(profile),
            positions: KeyedMap::default(),
            tree,
            sampled: OnceCell::new(),
        })
    }

    /// The time of calls that were only counted, where CPU samples show it.
    fn sampled(&self) -> Option<&SampledTime> {
        let is_counted_alone = self.columns.is_some() && !self.is_timed();
        let sampled =
            || is_counted_alone.then(|| SampledTime::new(self.profile, self.tree)).flatten();
        self.sampled.get_or_init(sampled).as_ref()
    }

    /// Whether the calls have times.
    pub(super) fn is_timed(&self) -> bool {
        self.table.self_ns > 0
    }

    /// The time of all calls, and of the calls of each method, without the calls that they make.
    pub(super) fn self_times(&self) -> (u64, Vec<(MethodId, u64)>) {
        let rows = self.table.methods.iter();
        (self.all_ns(), rows.map(|row| (row.method, row.self_ns)).collect())
    }

    /// The clock of the times, in words.
    fn time(&self) -> &'static str {
        match self.profile.accounting.as_ref().map_or("", |accounting| &accounting.clock) {
            "cpu" => "CPU time",
            "wall" => "wall time",
            _ => "time",
        }
    }

    /// The time of all calls, those that the file does not list among them, in nanoseconds.
    fn all_ns(&self) -> u64 {
        let totals = self.profile.columns(&Metric::SelfTime).map(|column| column.total);
        totals.fold(0, u64::saturating_add).max(self.table.self_ns)
    }

    /// `12 calls, 340 ms of CPU time`
    pub(super) fn total(&self) -> String {
        let mut text = plural(self.table.count, "call");
        if self.is_timed() {
            text += &format!(", {} of {}", duration(self.all_ns()), self.time());
        }
        let estimated_count = self.estimated_count();
        if estimated_count > 0 {
            let share = percent(estimated_count, self.table.count);
            text += &format!(" (counted; the callers of {share} % of them are estimated)");
        }
        let hidden = self.all_ns() - self.table.self_ns;
        if self.is_timed() && hidden > 0 {
            text += &format!(", {} of it in rows the file leaves out", duration(hidden));
        }
        text
    }

    /// The calls by estimated callers.
    fn estimated_count(&self) -> u64 {
        self.table.edges.iter().map(|edge| edge.estimated_count).fold(0, u64::saturating_add)
    }

    /// The methods with most time of their own, or with most calls where nothing was timed.
    pub(super) fn by_self(&self) -> LazyTable<'_> {
        if let Some(sampled) = self.sampled() {
            return self.with_sampled_time(sampled);
        }
        let heading = if self.is_timed() { "Top methods by self" } else { "Top methods by calls" };
        let table = self.methods(heading.to_owned(), &self.table, self.table.methods.clone());
        match self.table.is_recursion_counted_again && self.is_timed() {
            true => table.note(
                "The file has no call paths: self is computed from the totals, and a total counts \
                 recursive calls again.",
            ),
            false => table,
        }
    }

    /// The methods with most time in all; `None` where nothing was timed. Where not all traces are
    /// shown, their paths have gaps that say nothing of the file.
    pub(super) fn by_total(&self, are_all_shown: bool) -> Option<LazyTable<'_>> {
        let mut rows = self.table.methods.clone();
        rows.sort_by_key(|row| Reverse(row.total_ns));
        let table = self.methods("Top methods by total".to_owned(), &self.table, rows);
        let table = match self.table.are_paths_cut && are_all_shown {
            true => table
                .note("The file's call paths are cut: a total has only the part that they show."),
            false => table,
        };
        self.is_timed().then_some(table)
    }

    /// Methods of all calls, or of those of one thread.
    fn methods<'t>(
        &self,
        heading: String,
        table: &CallTable,
        rows: Vec<MethodCalls>,
    ) -> LazyTable<'t>
    where
        'a: 't,
    {
        let (is_timed, is_all_timed) = (table.self_ns > 0, self.is_timed());
        let all_ns = if std::ptr::eq(table, &self.table) { self.all_ns() } else { table.self_ns };
        let own = Column::ns("self_ns").of(all_ns).share_at(0, "self %").at(1, "self");
        let total = Column::ns("total_ns").of(all_ns).share_at(2, "total %").at(3, "total");
        let count = Column::count("call_count").of(table.count);
        let timed = move |ns| is_all_timed.then_some(ns);
        // What was cut off is not 0.
        LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::method().name("method"), |row| row.method)
            .column(count.share_at(5, "calls %").at(6, "calls"), |row| listed(row, row.count))
            .column(own.text_if(is_timed), move |row| listed(row, timed(row.self_ns)))
            .column(total.text_if(is_timed), move |row| timed(row.total_ns))
            .column(Column::words().at(4, "average").text_if(is_timed), |row| {
                listed(row, average_text(row))
            })
            .table()
            .ranked()
    }

    /// A table for each thread, most time first.
    pub(super) fn by_thread(&self, tree: &MethodTree, top: usize) -> Vec<Section> {
        let mut has_calls = vec![false; self.profile.threads.len()];
        let has_metrics = |it: &&perk_profile::Section| it.head.has(&Metric::OF_CALLS);
        for (key, _) in self.profile.sections().filter(has_metrics).flat_map(|it| it.rows()) {
            if let Some(thread) = self.profile.get_trace(key.trace).thread {
                has_calls[thread.index()] = true;
            }
        }
        let mut threads: Vec<_> = (0..has_calls.len())
            .filter(|&index| has_calls[index])
            .map(|index| {
                let thread = ThreadId::new(index);
                let columns = CallColumns::new(self.profile, tree, Some(thread));
                (thread, CallTable::of_tree(self.profile, tree, &columns))
            })
            .filter(|(_, table)| table.count > 0)
            .collect();
        if threads.is_empty() {
            return vec![vec![no_threads()]];
        }
        threads.sort_by_key(|(thread, table)| Reverse((table.self_ns, table.count, *thread)));
        let section = |(thread, table): &(ThreadId, CallTable)| {
            let name = printable(self.profile.thread_name(*thread));
            let mut heading = format!("Thread {name}: {}", plural(table.count, "call"));
            if table.self_ns > 0 {
                let share = percent(table.self_ns, self.all_ns());
                heading += &format!(", {} ({share} %)", duration(table.self_ns));
            }
            vec![Part::table(self.methods(heading, table, table.methods.clone()).top(top))]
        };
        threads.iter().map(section).collect()
    }

    /// The first `top` methods whose calls are many and small, with their callers.
    pub(super) fn chatty(&self, top: usize) -> LazyTable<'_> {
        let mut rows = self.table.chatty();
        rows.truncate(top);
        let shown = rows.iter().flat_map(|row| {
            let callers = row.callers.iter().take(CALLERS).filter_map(|edge| edge.caller);
            callers.chain([row.row.method])
        });
        let labels = Rc::new(perk_render::labels(&self.profile.symbols, shown));
        let below = Rc::clone(&labels);
        let is_timed = self.is_timed();
        let count = Column::count("call_count").of(self.table.count);
        let average = Column::ns("average_self_ns").at(2, "average").text_if(is_timed);
        let callers = |it: &ChattyMethod| {
            LazyTable::of(&self.profile.symbols, "", it.callers.clone())
                .column(Column::method_name("name"), |edge| edge.caller)
                .column(Column::count("call_count"), |edge| edge.count)
                .table()
        };
        let heading = "Chatty methods: many small calls, to be reduced in their callers";
        LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::method().name("method"), |it| it.row.method)
            .column(count.share_at(0, "calls %").at(1, "calls"), |it| it.row.count)
            .column(average, move |it| {
                is_timed.then(|| Cell::Worded(it.row.average_ns(), average_text(&it.row)))
            })
            .column(Column::words().at(3, "self").text_if(is_timed), |it| duration(it.row.self_ns))
            .column(Column::other("callers").no_csv(), callers)
            .each(move |it, row| row.below = caller_lines(it, &below))
            .table()
            .labelled(&labels)
            .ranked()
    }

    /// The first `top` pairs by calls, each with the caller and its positions below the callee.
    pub(super) fn places(&self, top: usize) -> LazyTable<'_> {
        let edges: Vec<_> = self.table.edges.iter().take(top).copied().collect();
        let shown = edges.iter().flat_map(|edge| edge.caller.into_iter().chain(edge.callee));
        let labels = Rc::new(perk_render::labels(&self.profile.symbols, shown));
        let below = Rc::clone(&labels);
        let count = Column::count("call_count").of(self.table.count);
        LazyTable::of(&self.profile.symbols, "Most frequent calls", edges)
            .column(Column::method().name("method"), |edge| Cell::method_or(edge.callee, UNKNOWN))
            .column(count.share_at(0, "calls %").at(1, "calls"), |edge| edge.count)
            .each(move |edge, row| {
                let caller = edge.caller.map_or(NO_CALLER, |method| &below[&method]);
                let places = self.positions(edge).map_or_else(String::new, places);
                row.below = vec![format!("by {caller}{places}")];
            })
            .table()
            .labelled(&labels)
            .ranked()
    }

    /// Callers and callees, most calls first: all, or those with a method of `pattern`.
    pub(super) fn edges(&self, pattern: Option<&NamePattern>) -> LazyTable<'_> {
        let symbols = &self.profile.symbols;
        let mut edges = self.table.edges.clone();
        edges.retain(|edge| {
            let mut methods = edge.caller.into_iter().chain(edge.callee);
            pattern.is_none_or(|it| methods.any(|method| it.matches_method(symbols, method)))
        });
        self.table_of("Top call edges by calls", edges, self.table.count, [true; 2])
    }

    /// Callers and callees of `count` calls. Text shows the callers, the callees or both.
    fn table_of(
        &self,
        heading: &str,
        edges: Vec<Edge>,
        count: u64,
        sides: [bool; 2],
    ) -> LazyTable<'_> {
        let is_timed = self.is_timed();
        let calls = Column::count("call_count").of(count);
        let total = Column::ns("total_ns").of(self.all_ns());
        let total = total.share_at(2, "total %").at(3, "total").text_if(is_timed);
        let caller = Column::method_name("caller").name("caller").text_if(sides[0]);
        let callee = Column::method_name("callee").name("callee").text_if(sides[1]);
        let rows = LazyTable::of(&self.profile.symbols, heading, edges)
            .column(caller, |edge| Cell::method_or(edge.caller, NO_CALLER))
            .column(callee, |edge| Cell::method_or(edge.callee, UNKNOWN))
            .column(calls.share_at(0, "calls %").at(1, "calls"), |edge| {
                (edge.count > 0).then_some(edge.count)
            })
            .column(total, move |edge| is_timed.then_some(edge.total_ns));
        let estimated = Column::count("estimated_call_count").at(4, "estimated");
        let rows = match self.estimated_count() {
            0 => rows,
            _ => rows.column(estimated, |edge| edge.estimated_count),
        };
        if self.positions.is_empty() {
            return rows.table();
        }
        // `12:1000 19:5`
        let positions = |edge: &Edge| {
            let positions = self.positions(edge)?.iter();
            let positions = positions.map(|(position, count)| format!("{position}:{count}"));
            Some(positions.collect::<Vec<_>>().join(" "))
        };
        rows.column(Column::other("positions"), positions)
            .each(|edge, row| row.suffix = self.positions(edge).map_or_else(String::new, places))
            .table()
    }

    /// The bytecode positions of the calls of a pair.
    fn positions(&self, edge: &Edge) -> Option<&BTreeMap<i32, u64>> {
        self.positions.get(&edge.caller.zip(edge.callee)?)
    }

    /// For each method that `pattern` means, at most `top` of them: its numbers, `more` about it, its
    /// callers and its callees.
    pub(super) fn butterflies(
        &self,
        pattern: &NamePattern,
        top: usize,
        more: impl Fn(MethodId) -> String,
    ) -> Vec<Section> {
        let rows = self.table.matching(self.profile, pattern);
        blocks(&rows, top, |row| self.butterfly(row, &more(row.method), top))
    }

    fn butterfly(&self, row: &MethodCalls, more: &str, top: usize) -> Section {
        let callers = self.table.callers(row.method);
        let callees = self.table.callees(row.method);
        let (called, calls) = (sum(&callers), sum(&callees));
        let known = callers.iter().chain(&callees).flat_map(|edge| [edge.caller, edge.callee]);
        let known = known.flatten().chain([row.method]);
        let labels = Rc::new(perk_render::labels(&self.profile.symbols, known));
        let table = |edges, count, sides| {
            Part::table(self.table_of("", edges, count, sides).labelled(&labels).top(top))
        };
        vec![
            Part::Heading(format!("{}: {}{more}", labels[&row.method], self.amount(row))),
            table(callers, called, [true, false]),
            table(callees, calls, [false, true]),
        ]
    }

    /// The numbers of a method in words.
    fn amount(&self, row: &MethodCalls) -> String {
        let (own, total) = (duration(row.self_ns), duration(row.total_ns));
        let [own_share, total_share] =
            [row.self_ns, row.total_ns].map(|ns| percent(ns, self.all_ns()));
        match (row.is_listed(), self.is_timed()) {
            (false, false) => "no calls in the file".to_owned(),
            (false, true) => format!("not in the file's rows, total {total} ({total_share} %)"),
            (true, false) => {
                let time = self.sampled().and_then(|it| it.of(row.method));
                plural(row.count, "call") + &time.map_or_else(String::new, |it| format!(", {it}"))
            }
            (true, true) => format!(
                "{}, self {own} ({own_share} %), {} per call, total {total} ({total_share} %)",
                plural(row.count, "call"),
                average_text(row)
            ),
        }
    }

    /// All calls; of each list the first `top` rows.
    pub(super) fn report(&self, top: usize) -> Json {
        Json::object([
            ("count", self.table.count.into()),
            ("self_ns", self.is_timed().then(|| self.all_ns()).into()),
            ("sampled_self_ns", self.sampled().map(SampledTime::total_ns).into()),
            ("estimated_call_count", self.estimated_count().into()),
            ("is_recursion_counted_again", self.table.is_recursion_counted_again.into()),
            ("methods", self.by_self().top(top).into()),
            ("edges", self.edges(None).top(top).into()),
            ("chatty", self.chatty(top).into()),
        ])
    }
}

/// The bytecode positions of the calls by pair of methods, as far as the file has them.
fn positions(
    profile: &Profile,
    tree: &MethodTree,
) -> KeyedMap<(MethodId, MethodId), BTreeMap<i32, u64>> {
    let mut all: KeyedMap<_, BTreeMap<i32, u64>> = KeyedMap::default();
    let sections = profile.sections().filter(|section| !section.head.is_by_pair);
    for (key, [count]) in sections.flat_map(|section| section.of_metrics([Metric::Calls])) {
        let node = profile.get_trace(key.trace).node;
        let Some(caller) = profile.frames(key.trace).nth(1).filter(|_| count > 0) else { continue };
        let Some(position) = profile.symbols.get_frame(caller).bci else { continue };
        let path = tree.path(node);
        let pair = tree.method(tree.parent(path)).zip(tree.method(path));
        if let Some(pair) = pair {
            let sum = all.entry(pair).or_default().entry(position).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    all
}

/// ` @ 12`, or ` @ 12 (1000), 19 (5)` with the calls at each position, most first.
fn places(positions: &BTreeMap<i32, u64>) -> String {
    let mut rows: Vec<_> = positions.iter().collect();
    if let [(position, _)] = rows[..] {
        return format!(" @ {position}");
    }
    rows.sort_by_key(|&(position, count)| (Reverse(count), position));
    let shown =
        rows.iter().take(POSITIONS).map(|(position, count)| format!("{position} ({count})"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if rows.len() > POSITIONS { ", …" } else { "" };
    format!(" @ {shown}{more}")
}

/// A value of the file's rows; missing where a method is not among them.
fn listed(row: &MethodCalls, value: impl Into<Cell>) -> Cell {
    if row.is_listed() { value.into() } else { Cell::Missing("") }
}

/// The first callers of a chatty method.
fn caller_lines(chatty: &ChattyMethod, labels: &HashMap<MethodId, String>) -> Vec<String> {
    let callers = &chatty.callers;
    let by = |edge: &Edge| {
        let caller = edge.caller.map_or(NO_CALLER, |method| &labels[&method]);
        let share = percent(edge.count, chatty.row.count);
        format!("{share} % {} by {caller}", plural(edge.count, "call"))
    };
    let mut below: Vec<_> = callers.iter().take(CALLERS).map(by).collect();
    let hidden = callers.len().saturating_sub(CALLERS) as u64;
    if hidden > 0 {
        below.push(format!("and {}", plural(hidden, "more caller")));
    }
    below
}

fn sum(edges: &[Edge]) -> u64 {
    edges.iter().map(|edge| edge.count).fold(0, u64::saturating_add)
}

/// The self time of a call on average; where it is less than a nanosecond, with a decimal.
pub(super) fn average_text(row: &MethodCalls) -> String {
    average(row.self_ns, row.timed_count)
}

fn average(self_ns: u64, count: u64) -> String {
    match self_ns.checked_div(count).unwrap_or(0) {
        0 if self_ns > 0 && count > 0 => format!("{:.1} ns", self_ns as f64 / count as f64),
        average_ns => duration(average_ns),
    }
}
