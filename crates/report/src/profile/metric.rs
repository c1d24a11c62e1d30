//! The numbers of one metric: CPU samples, times, bytes, measurements of other tools.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use perk_analysis::columns::{self, Columns, Edge, MethodRow};
use perk_analysis::lines::{self, LineRow};
use perk_analysis::{InferredCallers, MethodTree, top};
use perk_profile::units::{amount, duration, percent, plural, printable};
use perk_profile::{
    CpuSamples, FrameId, Line, MethodId, Metric, NamePattern, Profile, ThreadId, TraceId, Unit,
};
use perk_render::{Cell, Column, LazyTable, Part, Rows, Section};

use super::blocks::{NO_CALLER, blocks, no_threads};
use super::column_store::ColumnStore;
use super::source;

/// Methods shown below the value of a label.
const METHODS: usize = 3;
/// Represents the method where the stack is not known.
pub(super) const NO_STACK: &str = "[no stack]";

/// The order of a table of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberKind {
    /// The number with the method on top of the stack; methods without any are left out.
    Own,
    /// The number with the method anywhere on the stack.
    Total,
}

/// A profile's numbers of one metric, all or of one thread.
#[derive(Debug)]
pub(super) struct MetricView<'a> {
    pub(super) profile: &'a Profile,
    tree: &'a MethodTree,
    joined: &'a InferredCallers,
    pub(super) metric: Metric,
    /// The thread whose numbers these are; `None` for all.
    thread: Option<ThreadId>,
    /// The total, with what the file left out.
    pub(super) all: u64,
    /// The numbers by trace.
    numbers: OnceCell<CpuSamples>,
    /// The CPU time a sample represents, where it is known.
    interval_ns: Option<u64>,
    store: Option<&'a ColumnStore>,
    columns: OnceCell<Arc<Columns>>,
    methods: OnceCell<Vec<MethodRow>>,
}

impl<'a> MetricView<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        tree: &'a MethodTree,
        joined: &'a InferredCallers,
        metric: Metric,
    ) -> Self {
        let interval_ns = profile.sample_interval_ns().filter(|_| metric == Metric::Samples);
        let all = metric.total(profile);
        let (numbers, columns, methods) = Default::default();
        Self {
            profile,
            tree,
            joined,
            metric,
            thread: None,
            all,
            numbers,
            interval_ns,
            store: None,
            columns,
            methods,
        }
    }

    /// The same with the numbers by path that `store` keeps.
    pub(super) fn kept_in(self, store: &'a ColumnStore) -> Self {
        Self { store: Some(store), ..self }
    }

    pub(super) fn of_thread(&self, thread: ThreadId) -> Self {
        let numbers = top::of_thread(self.profile, self.numbers(), Some(thread));
        let (metric, all) = (self.metric.clone(), numbers.total);
        let (columns, methods) = Default::default();
        Self {
            metric,
            thread: Some(thread),
            all,
            numbers: numbers.into(),
            store: None,
            columns,
            methods,
            ..*self
        }
    }

    /// The numbers by trace.
    pub(super) fn numbers(&self) -> &CpuSamples {
        self.numbers.get_or_init(|| columns::numbers(self.profile, &self.metric))
    }

    pub(super) fn name(&self) -> &str {
        self.metric.name()
    }

    pub(super) fn unit(&self) -> Unit {
        self.metric.unit()
    }

    /// Whether any of the numbers is of a call path.
    pub(super) fn has_paths(&self) -> bool {
        self.numbers().rows.iter().any(|row| self.profile.frames(row.0).next().is_some())
    }

    /// Whether any of the numbers is of a line.
    pub(super) fn has_lines(&self) -> bool {
        let symbols = &self.profile.symbols;
        let frames = (0..symbols.frame_count()).map(FrameId::new);
        let has_line = |frame| matches!(symbols.get_frame(frame).line, Line::Number(_));
        let has_line: Vec<bool> = frames.map(has_line).collect();
        let is_of_line = |frame: FrameId| has_line[frame.index()];
        // Of many stacks without any line none is looked at.
        has_line.contains(&true)
            && self.numbers().rows.iter().any(|row| self.profile.frames(row.0).any(is_of_line))
    }

    /// The numbers by path.
    pub(super) fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| match self.store {
            Some(store) => store.get(self.profile, self.tree, &self.metric),
            None => Columns::new(self.profile, self.tree, &self.metric, self.thread).into(),
        })
    }

    /// The numbers of traces that were joined to others, by path.
    pub(super) fn inferred(&self) -> Option<Columns> {
        (!self.joined.is_empty()).then(|| {
            let rows = self.joined.rows(&self.numbers().rows);
            Columns::of_rows(self.profile, self.tree, &rows, self.all)
        })
    }

    /// The methods, by self.
    pub(super) fn methods(&self) -> &[MethodRow] {
        self.methods.get_or_init(|| self.columns().methods(self.tree))
    }

    /// The CPU time that a sample represents, where it is known.
    pub(super) fn interval_ns(&self) -> Option<u64> {
        self.interval_ns
    }

    pub(super) fn cpu_ns(&self, count: u64) -> Option<u64> {
        self.interval_ns.map(|interval| count.saturating_mul(interval))
    }

    /// A number for people: its time where a sample represents one.
    pub(super) fn number(&self, number: u64) -> String {
        match self.cpu_ns(number) {
            Some(ns) => duration(ns),
            None => amount(number, self.unit()),
        }
    }

    /// `Top methods by self`, and the metric where that is not samples.
    pub(super) fn title(&self, title: &str) -> String {
        match &self.metric {
            Metric::Samples => title.to_owned(),
            metric => format!("{title}: {}", metric.title()),
        }
    }

    /// `12 samples of 10 ms = 120 ms of CPU time`
    pub(super) fn total(&self) -> String {
        let total = self.all;
        let mut text = quantity(&self.metric, total);
        if let Some((interval, cpu)) = self.interval_ns.zip(self.cpu_ns(total)) {
            text += &format!(" of {} = {} of CPU time", duration(interval), duration(cpu));
        }
        let listed = self.listed();
        if listed < total {
            let hidden = amount(total - listed, self.unit());
            text += &format!(", {hidden} of them below the file's cutoff");
        }
        text
    }

    /// The sum of the rows: less than all where the file has a cutoff.
    pub(super) fn listed(&self) -> u64 {
        self.numbers().rows.iter().map(|row| row.1).fold(0, u64::saturating_add)
    }

    /// `12 samples (3.40 %), 120 ms`
    fn amount(&self, number: u64) -> String {
        let share = percent(number, self.all);
        let mut text = format!("{} ({share} %)", quantity(&self.metric, number));
        if let Some(cpu) = self.cpu_ns(number) {
            text += &format!(", {}", duration(cpu));
        }
        text
    }

    /// The column of the metric's name, which CSV has first.
    pub(super) fn metric_column() -> Column {
        Column::other("metric").no_json()
    }

    /// A column of the metric's numbers.
    pub(super) fn measure(&self, id: &'static str) -> Column {
        Column::measure(id, self.unit(), self.all, self.interval_ns)
    }

    /// The columns `self` and `total`, with the time of `by` where a sample represents one.
    fn own_and_total(&self, by: NumberKind) -> [Column; 2] {
        let mut own = self.measure("self").share_at(0, "self %").at(1, "self");
        let mut total = self.measure("total").share_at(2, "total %").at(3, "total");
        match by {
            NumberKind::Own => own = own.bar_at(1),
            NumberKind::Total => total = total.bar_at(3),
        }
        if self.interval_ns.is_some() {
            match by {
                NumberKind::Own => own = own.time_at(4, "self time"),
                NumberKind::Total => total = total.time_at(4, "total time"),
            }
        }
        [own, total]
    }

    /// The methods by self, `calls` among their numbers, and of bytecodes the instructions that ran; what the file leaves
    /// out is missing.
    pub(super) fn all_methods(&self, calls: Option<HashMap<MethodId, u64>>) -> LazyTable<'_> {
        let [own, total] = self.own_and_total(NumberKind::Own);
        let has_calls = calls.is_some();
        let rows = self.methods().iter().map(move |row| {
            let count = calls.as_ref().map(|it| it.get(&row.method).copied().unwrap_or(0));
            let is_listed = count.is_none_or(|count| count > 0) || row.own > 0;
            (row, count.filter(|_| is_listed), is_listed)
        });
        let rows = LazyTable::of(&self.profile.symbols, "", rows)
            .column(Self::metric_column(), |_| self.name())
            .column(Column::method().name("method"), |it| it.0.method)
            .column(own, |it| it.2.then_some(it.0.own))
            .column(total, |it| it.0.total);
        let rows = match has_calls {
            true => rows.column(Column::count("call_count").no_json(), |it| it.1),
            false => rows,
        };
        let coverage = source::coverage_metrics(self.profile)
            .filter(|_| self.metric == source::bytecodes())
            .map(|it| lines::method_counts(self.profile, &it));
        let Some(coverage) = coverage else { return rows.table() };
        let coverage = Rc::new(coverage);
        let counts = move |method| coverage.get(&method).filter(|it| it.instructions > 0).copied();
        let run = counts.clone();
        rows.column(Column::count("instruction_count").no_json(), move |it| {
            Some(counts(it.0.method)?.instructions)
        })
        .column(Column::count("instruction_run_count").no_json(), move |it| {
            Some(run(it.0.method)?.run)
        })
        .table()
    }

    /// The methods by self or by total, and the number without a stack; with `traces`, the first
    /// `traces` call traces that each method has on top.
    pub(super) fn top_methods<'t>(
        &self,
        heading: &str,
        by: NumberKind,
        traces: Option<usize>,
    ) -> LazyTable<'t>
    where
        'a: 't,
    {
        let mut rows = self.methods().to_vec();
        match by {
            NumberKind::Own => rows.retain(|row| row.own > 0),
            // A stable sort: where totals are equal, more of its own comes first.
            NumberKind::Total => rows.sort_by_key(|row| Reverse(row.total)),
        }
        let mut rows: Vec<_> =
            rows.into_iter().map(|row| (Some(row.method), row.own, row.total)).collect();
        let stackless = self.columns().own(self.tree.root());
        if stackless > 0 {
            let number = |row: &(_, u64, u64)| if by == NumberKind::Own { row.1 } else { row.2 };
            let before = rows.iter().take_while(|row| number(row) >= stackless).count();
            rows.insert(before, (None, stackless, stackless));
        }
        let methods = rows.iter().filter_map(|row| row.0);
        let labels = Rc::new(perk_render::labels(&self.profile.symbols, methods));
        let of_methods = traces.map(|top| {
            let rows = top::methods(self.profile, self.numbers()).into_iter();
            let traces: HashMap<_, _> = rows.map(|row| (row.method, row.traces)).collect();
            (top, traces)
        });
        let (profile, joined, metric) = (self.profile, self.joined, self.metric.clone());
        let trace_lines = move |method: Option<MethodId>| {
            let (top, of_methods) = of_methods.as_ref()?;
            Some(trace_lines(profile, joined, &metric, of_methods.get(&method?)?, *top))
        };
        let [own, total] = self.own_and_total(by);
        LazyTable::of(&self.profile.symbols, self.title(heading), rows)
            .column(Column::method().name("method"), |row| Cell::method_or(row.0, NO_STACK))
            .column(own, |row| row.1)
            .column(total, |row| row.2)
            .each(move |row, shown| shown.below = trace_lines(row.0).unwrap_or_default())
            .table()
            .labelled(&labels)
            .ranked()
    }

    /// The lines with most of their own, and the others after them.
    pub(super) fn lines(&self) -> LazyTable<'_> {
        let symbols = &self.profile.symbols;
        let [own, total] = self.own_and_total(NumberKind::Own);
        let line = Column::other("line");
        let number = |row: &LineRow| match row.line {
            Line::Number(line) => Some(u64::from(line)),
            _ => None,
        };
        let coverage = source::coverage_metrics(self.profile);
        let rows = lines::lines(self.profile, &self.numbers().rows, coverage.as_ref());
        let rows = LazyTable::of(symbols, self.title("Top lines by self"), rows)
            .column(Self::metric_column(), |_| self.name())
            .column(Column::method().name("line"), |row| row.method)
            .column(line.clone().no_json(), number)
            .column(own, |row| row.own)
            .column(total, |row| row.total);
        let rows = match coverage {
            Some(_) => source::coverage_columns(rows, |row| Some(row.counts), 4),
            None => rows,
        };
        rows.column(line.no_csv(), number)
            .each(|row, shown| shown.suffix = perk_render::place(symbols, row.method, row.line))
            .table()
            .ranked()
    }

    /// Callers and callees, by total: all, or those with a method of `pattern`.
    fn edges(&self, pattern: Option<&NamePattern>) -> Vec<Edge> {
        let symbols = &self.profile.symbols;
        let methods = (0..symbols.method_count()).map(MethodId::new);
        let is_meant = |it| pattern.is_none_or(|pattern| pattern.matches_method(symbols, it));
        let is_meant: Vec<bool> = methods.map(is_meant).collect();
        self.columns().edges(self.tree, |method| is_meant[method.index()])
    }

    /// Callers and callees as a table: all, or those with a method of `pattern`.
    pub(super) fn edge_table(&self, pattern: Option<&NamePattern>) -> LazyTable<'_> {
        self.table_of(&self.title("Top call edges by total"), self.edges(pattern), [true; 2])
    }

    /// Text shows the callers, the callees or both.
    fn table_of(&self, heading: &str, edges: Vec<Edge>, sides: [bool; 2]) -> LazyTable<'_> {
        let caller = Column::method_name("caller").name("caller").text_if(sides[0]);
        let callee = Column::method_name("callee").name("callee").text_if(sides[1]);
        let total = self.measure("total").share_at(0, "total %").time_at(1, "total");
        LazyTable::of(&self.profile.symbols, heading, edges)
            .column(Self::metric_column(), |_| self.name())
            .column(caller, |edge| Cell::method_or(edge.caller, NO_CALLER))
            .column(callee, |edge| edge.callee)
            .column(self.measure("self").time_at(2, "self"), |edge| edge.own)
            .column(total, |edge| edge.total)
            .table()
    }

    /// For each method that `pattern` means, at most `top` of them: its numbers, its callers and
    /// its callees.
    pub(super) fn butterflies(&self, pattern: &NamePattern, top: usize) -> Vec<Section> {
        let symbols = &self.profile.symbols;
        let edges = self.edges(Some(pattern));
        let mut methods = self.methods().to_vec();
        methods.retain(|row| pattern.matches_method(symbols, row.method));
        blocks(&methods, top, |row| {
            let mut callers: Vec<_> = edges.clone();
            callers.retain(|edge| edge.callee == row.method);
            let mut callees: Vec<_> = edges.clone();
            callees.retain(|edge| edge.caller == Some(row.method));
            let (own, total) = (self.amount(row.own), self.amount(row.total));
            let shown = callers.iter().take(top).filter_map(|edge| edge.caller);
            let shown = shown.chain(callees.iter().take(top).map(|edge| edge.callee));
            let labels = Rc::new(perk_render::labels(symbols, shown.chain([row.method])));
            let label = &labels[&row.method];
            let table = |edges, sides| {
                Part::table(self.table_of("", edges, sides).labelled(&labels).top(top))
            };
            vec![
                Part::Heading(format!("{label}: self {own}, total {total}")),
                table(callers, [true, false]),
                table(callees, [false, true]),
            ]
        })
    }

    /// The outermost frames of stacks, which are the values of the label `key`, with the first methods of
    /// each.
    pub(super) fn by_root(&self, key: &str) -> LazyTable<'_> {
        let (profile, symbols) = (self.profile, &self.profile.symbols);
        let mut values: HashMap<_, (u64, HashMap<MethodId, u64>)> = HashMap::new();
        for &(trace, number) in &self.numbers().rows {
            let mut frames = profile.frames(trace);
            let Some(innermost) = frames.next() else { continue };
            let outermost = frames.last().unwrap_or(innermost);
            let [method, value] = [innermost, outermost].map(|it| symbols.get_frame(it).method);
            let (sum, methods) = values.entry(value).or_default();
            *sum = sum.saturating_add(number);
            if innermost != outermost {
                let own = methods.entry(method).or_default();
                *own = own.saturating_add(number);
            }
        }
        let mut rows: Vec<_> = values.into_iter().collect();
        rows.sort_by_key(|(value, (sum, _))| (Reverse(*sum), *value));
        let below = move |sum: u64, methods: &HashMap<MethodId, u64>| {
            let mut methods: Vec<_> = methods.iter().map(|(&method, &own)| (own, method)).collect();
            methods.sort_by_key(|&(own, method)| (Reverse(own), method));
            let line = |&(own, method): &(u64, MethodId)| {
                let name = printable(&symbols.method_name(method));
                format!("{} % {} in {name}", percent(own, sum), quantity(&self.metric, own))
            };
            methods.iter().take(METHODS).map(line).collect::<Vec<_>>()
        };
        LazyTable::of(symbols, self.title(&format!("By {}", printable(key))), rows)
            .column(Self::metric_column(), |_| self.name())
            .column(Column::other("value").name("value"), |row| symbols.method_name(row.0))
            .column(self.measure("self").share_at(0, "%").at(1, "number").bar_at(2), |row| row.1.0)
            .each(move |row, shown| shown.below = below(row.1.0, &row.1.1))
            .table()
            .ranked()
    }

    /// The threads, most first.
    pub(super) fn threads(&self) -> LazyTable<'_> {
        self.thread_rows().table()
    }

    /// The same, and below them the threads that have numbers of other metrics alone: those that only wait, or allocate.
    pub(super) fn all_threads(&self) -> LazyTable<'_> {
        let mut rows = top::threads(self.profile, self.numbers());
        let others = top::other_threads(self.profile, &rows);
        rows.extend(others.into_iter().map(|thread| (thread, 0)));
        self.rows_of_threads(rows).table()
    }

    /// The rows of the table of threads.
    pub(super) fn thread_rows(&self) -> Rows<'_, (ThreadId, u64)> {
        self.rows_of_threads(top::threads(self.profile, self.numbers()))
    }

    fn rows_of_threads(&self, rows: Vec<(ThreadId, u64)>) -> Rows<'_, (ThreadId, u64)> {
        let (profile, symbols) = (self.profile, &self.profile.symbols);
        let group = |id| profile.get_thread(id).group.map_or("", |id| symbols.strings.get(id));
        let serial = |id| u64::from(profile.get_thread(id).serial);
        LazyTable::of(symbols, "", rows)
            .column(Self::metric_column(), |_| self.name())
            .column(Column::other("thread_serial"), move |row| serial(row.0))
            .column(Column::other("thread"), |row| profile.thread_name(row.0))
            .column(Column::other("group").no_json(), move |row| group(row.0))
            .column(self.measure("self"), |row| row.1)
    }

    /// A table of methods for each thread.
    pub(super) fn by_thread(&self, top: usize) -> Vec<Section> {
        let section = |(thread, number)| {
            let name = printable(self.profile.thread_name(thread));
            let of_thread = self.of_thread(thread);
            let heading = format!("Thread {name}: {}", self.amount(number));
            vec![Part::table(
                of_thread.top_methods("", NumberKind::Own, None).top(top).headed(heading),
            )]
        };
        let threads = top::threads(self.profile, self.numbers());
        match threads.is_empty() {
            true => vec![vec![no_threads()]],
            false => threads.into_iter().map(section).collect(),
        }
    }

    /// The paths with most of their own, each with its number.
    pub(super) fn paths(&self, top: usize) -> Section {
        let paths = self.columns().paths().into_iter().take(top);
        let paths: Vec<(Vec<MethodId>, u64)> =
            paths.map(|(path, number)| (self.tree.methods(path).collect(), number)).collect();
        let methods = paths.iter().flat_map(|(methods, _)| methods.iter().copied());
        let labels = perk_render::labels(&self.profile.symbols, methods);
        let heading = self.title("Top call paths, innermost frame first");
        let mut parts = vec![Part::Heading(heading)];
        for (index, (methods, number)) in paths.iter().enumerate() {
            parts.push(Part::Sentence(format!("{:>3}.  {}", index + 1, self.amount(*number))));
            let mut frames = perk_render::middle_cut(methods, |method| labels[method].clone());
            if frames.is_empty() {
                frames.push(NO_STACK.to_owned());
            }
            parts.push(Part::Names(frames));
        }
        parts
    }
}

/// `12 samples`, `12 ms of delay`
fn quantity(metric: &Metric, number: u64) -> String {
    let name = metric.title();
    match (metric, metric.unit()) {
        (Metric::Samples, _) => plural(number, "sample"),
        (_, Unit::Count) => format!("{number} {name}"),
        (_, unit) => format!("{} of {name}", amount(number, unit)),
    }
}

/// The first `top` traces of a method, each with its number and its frames.
fn trace_lines(
    profile: &Profile,
    joined: &InferredCallers,
    metric: &Metric,
    traces: &[(TraceId, u64)],
    top: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let (shown, hidden) = traces.split_at(traces.len().min(top));
    for &(id, count) in shown {
        let trace = profile.get_trace(id);
        let mut line = format!("{} in trace {}", quantity(metric, count), trace.serial);
        if let Some(thread) = trace.thread {
            line += &format!(" of thread {}", printable(profile.thread_name(thread)));
        }
        lines.push(line);
        let frames: Vec<_> = profile.frames(id).collect();
        let known = frames.len().saturating_sub(joined.inferred_frame_count(id));
        let frames: Vec<_> =
            frames.into_iter().enumerate().map(|(at, frame)| (frame, at >= known)).collect();
        let shown = |&(frame, is_inferred): &(FrameId, bool)| {
            let inferred = if is_inferred { " [inferred]" } else { "" };
            perk_render::frame(&profile.symbols, frame) + inferred
        };
        let frames = perk_render::middle_cut(&frames, shown).into_iter();
        lines.extend(frames.map(|line| format!("  {line}")));
    }
    if !hidden.is_empty() {
        let count = hidden.iter().map(|&(_, count)| count).fold(0, u64::saturating_add);
        let traces = plural(hidden.len() as u64, "more trace");
        lines.push(format!("{} in {traces}", quantity(metric, count)));
    }
    lines
}

/// The metrics without call paths, with the numbers of the first `top` threads where they have some.
pub(super) fn totals<'t>(views: Vec<&'t MetricView<'_>>, top: usize) -> Option<LazyTable<'t>> {
    let symbols = &views.first()?.profile.symbols;
    let threads = move |view: &MetricView<'_>| {
        let threads = top::threads(view.profile, view.numbers()).into_iter().take(top);
        let line = |(thread, count)| {
            let name = printable(view.profile.thread_name(thread));
            format!("{} of thread {name}", amount(count, view.unit()))
        };
        threads.map(line).collect()
    };
    let rows = LazyTable::of(symbols, "Metrics without call paths", views)
        .column(Column::words().at(0, "total"), |it| amount(it.all, it.unit()))
        .column(Column::words().name("metric"), |it| it.name())
        .each(move |view, row| row.below = threads(view));
    Some(rows.table())
}
