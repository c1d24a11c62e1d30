//! The views of a profile that a request names, and the sections of each.

use perk_profile::{Metric, NamePattern};
use perk_render::{LazyTable, Part, Section};

use super::content::Content;
use super::head::{Extent, Head};
use super::jamaica::Counts;
use super::metric::{MetricView, NumberKind, totals};
use super::process::WholeProcess;
use super::request::ProfileRequest;
use super::{heap, tree, wall};
use crate::selection::metric::is_of_jamaica;
use crate::words::no_such_method;

/// A view of a profile.
#[derive(Clone, Debug)]
pub enum ProfileView {
    /// Where to begin: methods with the largest numbers, and what is done for them.
    Advice,
    /// The methods.
    Methods,
    /// The threads.
    Threads,
    /// The values of the label that stacks begin with: its key.
    Label(String),
    /// The methods by line.
    Lines,
    /// Source files with the numbers of each line.
    Source,
    /// The call tree.
    Tree(TreeOrder),
    /// The pairs of caller and callee.
    Edges,
    /// Methods of this name, their callers and callees.
    Callers(NamePattern),
    /// The accesses to fields of this name, by allocation site.
    Field(NamePattern),
    /// The allocation sites.
    Sites,
    /// The classes of objects.
    Classes,
    /// The locks that threads waited for.
    Monitors,
    /// The classes of locks.
    Locks,
    /// The paths that had locks while others waited for them.
    Holders,
    /// The time of each thread in each state.
    States,
}

/// The beginning of a call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOrder {
    /// From the threads' first methods to their callees.
    TopDown,
    /// From the methods on top of the stacks to their callers.
    BottomUp,
}

impl ProfileRequest {
    /// The view of its one table.
    pub(super) fn table_view(&self) -> ProfileView {
        let whole = if self.threads { ProfileView::Threads } else { ProfileView::Methods };
        self.views().first().cloned().unwrap_or(whole)
    }
}

impl ProfileView {
    /// Its name in a message about a profile that does not have it.
    fn title(&self) -> String {
        match self {
            ProfileView::Advice => "methods to begin with",
            ProfileView::Methods => "methods",
            ProfileView::Label(key) => return format!("numbers by {key}"),
            ProfileView::Lines | ProfileView::Threads => "call traces",
            ProfileView::Tree(_) => "call tree",
            ProfileView::Source => "source files",
            ProfileView::Edges => "calls",
            ProfileView::Callers(name) => return format!("calls of {}", name.as_str()),
            ProfileView::Field(name) => return format!("accesses to the field {}", name.as_str()),
            ProfileView::Sites | ProfileView::Classes => "allocation sites",
            ProfileView::Monitors | ProfileView::Locks => "monitors",
            ProfileView::Holders => "holders of locks",
            ProfileView::States => "states of threads",
        }
        .to_owned()
    }

    /// What a profile without it does not have, and where no name is the one asked for, those near to
    /// it.
    pub(super) fn missing(&self, content: &Content<'_>) -> String {
        let why = match self {
            ProfileView::Callers(name) => no_such_method(name, &content.profile.symbols),
            ProfileView::Field(name) => {
                content.fields.as_ref().and_then(|it| it.no_such_field(name))
            }
            _ => None,
        };
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        format!("no {}{why}", self.title())
    }

    /// The view as one table with all rows; `None` where there is nothing of it.
    pub(super) fn table<'t>(
        &self,
        content: &'t Content<'_>,
        ask: &ProfileRequest,
        notes: &mut Vec<String>,
    ) -> Option<LazyTable<'t>> {
        let (view, objects) = (content.main_view(), content.objects.as_ref());
        let fields = content.fields.as_ref();
        let heaps = || content.profile.heaps().next().map(|_| heap::all_classes(content.profile));
        match self {
            ProfileView::Advice => content.head(ask.methods()).map(Head::report),
            ProfileView::Methods => {
                let calls = content.calls.as_ref();
                let methods = match view {
                    Some(view) => Some(view.all_methods(content.call_counts())),
                    None => calls.map(|calls| calls.by_self()),
                };
                methods.or_else(heaps).or_else(|| Some(fields?.fields()))
            }
            ProfileView::Threads => {
                let counts = Counts::of(content).filter(|_| content.asked.is_none());
                let threads = counts.and_then(|counts| counts.threads());
                let of_metric = |view| match content.asked {
                    Some(_) => MetricView::threads(view),
                    None => MetricView::all_threads(view),
                };
                threads.or_else(|| view.map(of_metric))
            }
            ProfileView::Label(key) => view.map(|view| view.by_root(key)),
            ProfileView::Lines => content.line_view().or(view).map(MetricView::lines),
            ProfileView::Source => content.sources().map(|(sources, view)| sources.table(view)),
            ProfileView::Tree(TreeOrder::TopDown) => view.map(|view| {
                let (table, left_out) = tree::top_down(content, view, ask.min_percent);
                if left_out > 0 {
                    let levels = "levels with one callee each are left out of the tree";
                    notes.push(format!("{left_out} {levels}"));
                }
                table
            }),
            ProfileView::Tree(TreeOrder::BottomUp) => {
                view.map(|view| tree::bottom_up(content, view, ask.min_percent))
            }
            ProfileView::Edges => content.edges(None),
            ProfileView::Callers(name) => content.edges(Some(name)),
            ProfileView::Field(name) => fields.map(|fields| fields.fields_by_site(name)),
            ProfileView::Sites => {
                objects.map(|objects| objects.sites()).or_else(|| Some(fields?.sites()))
            }
            ProfileView::Classes => {
                let classes = objects.map(|objects| objects.classes()).or_else(heaps);
                classes.or_else(|| Some(fields?.classes()))
            }
            ProfileView::Monitors => content.contention.as_ref().map(|it| it.all_paths()),
            ProfileView::Locks => content.contention.as_ref().map(|it| it.all_locks()),
            ProfileView::Holders => content.contention.as_ref().map(|it| it.holding_paths()),
            ProfileView::States => wall::thread_states(content.profile),
        }
    }

    /// The view for people.
    pub(super) fn sections(&self, content: &Content<'_>, ask: &ProfileRequest) -> Vec<Section> {
        let top = ask.rows();
        let view = content.main_view();
        match self {
            ProfileView::Advice => {
                let head = content.head(ask.methods());
                head.map(|head| head.section(Extent::long(ask.top), &ask.screen))
                    .into_iter()
                    .collect()
            }
            ProfileView::Tree(TreeOrder::TopDown) => {
                sections(view.map(|view| tree::top_down(content, view, ask.min_percent).0))
            }
            ProfileView::Tree(_) => sections(self.table(content, ask, &mut Vec::new())),
            ProfileView::Callers(name) => match (content.edge_calls(), view) {
                (Some(calls), _) => calls.butterflies(name, top, |method| {
                    Counts::of(content).map_or_else(String::new, |counts| counts.of_method(method))
                }),
                (None, Some(view)) => view.butterflies(name, top),
                (None, None) => Vec::new(),
            },
            ProfileView::Source => content
                .sources()
                .map(|(sources, view)| sources.sections(view, top, ask.blocks()))
                .unwrap_or_default(),
            ProfileView::Sites => {
                let fields = || Some(content.fields.as_ref()?.sites());
                sections(content.sites().or_else(fields).map(|it| it.top(top)))
            }
            ProfileView::Classes => {
                let classes = content.objects.as_ref().map(|objects| objects.classes());
                let heaps = heap::tables(content.profile);
                let fields = content.fields.as_ref().map(|fields| fields.classes());
                sections(classes.into_iter().chain(heaps).chain(fields).map(|it| it.top(top)))
            }
            ProfileView::Monitors => monitors(content, ask, top, true),
            ProfileView::Methods
            | ProfileView::Label(_)
            | ProfileView::Threads
            | ProfileView::Lines
            | ProfileView::Edges
            | ProfileView::Field(_)
            | ProfileView::Locks
            | ProfileView::Holders
            | ProfileView::States => {
                sections(self.table(content, ask, &mut Vec::new()).map(|it| it.top(top)))
            }
        }
    }
}

/// A section for each table.
pub(super) fn sections<'t>(tables: impl IntoIterator<Item = LazyTable<'t>>) -> Vec<Section> {
    tables.into_iter().map(|table| vec![Part::table(table)]).collect()
}

/// Everything there is; of the metric alone that was asked for, if one was.
pub(super) fn everything<'t>(
    content: &'t Content<'_>,
    head: Option<&'t Head<'_>>,
    ask: &ProfileRequest,
) -> Vec<Section> {
    let (top, blocks) = (ask.rows(), ask.blocks());
    let process = WholeProcess::of(content).map(|it| it.section(&ask.screen));
    let mut all: Vec<_> = process.into_iter().collect();
    all.extend(head.map(|head| head.section(Extent::long(ask.top), &ask.screen)));
    let is_asked = |metric: &Metric| content.asked.as_ref().is_none_or(|asked| asked == metric);
    let wall = content.view(&Metric::WallTime).filter(|_| is_asked(&Metric::WallTime));
    all.extend(sections(wall.and_then(|view| wall::states(view, content.owners(), ask.top))));
    let counts = Counts::of(content).filter(|_| content.asked.is_none());
    all.extend(sections(counts.into_iter().flat_map(|it| it.code(top))));
    if content.asked.is_none() {
        let fields = content.fields.as_ref();
        all.extend(fields.into_iter().flat_map(|it| it.advice_sections(&ask.words(), blocks)));
    }
    if let Some(view) = content.samples().filter(|_| is_asked(&Metric::Samples)) {
        all.extend(of_metric(view, ask));
    }
    let calls = content.calls.as_ref().filter(|_| is_asked(&Metric::SelfTime));
    // The table of bytecodes has the calls of each method.
    let untimed = calls.filter(|calls| counts.is_some() && !calls.is_timed());
    all.extend(sections(untimed.map(|calls| calls.places(top))));
    if let Some(calls) = calls.filter(|_| untimed.is_none()) {
        all.extend(sections([calls.by_self().top(top)]));
        all.extend(sections(calls.by_total(content.filtered.is_none()).map(|it| it.top(top))));
        all.extend(sections([calls.chatty(blocks)]));
        if ask.threads {
            all.extend(calls.by_thread(content.tree, blocks));
        }
    }
    all.extend(sections(counts.into_iter().flat_map(|it| it.calls(top))));
    if content.asked.is_none() {
        all.extend(sections(content.sites().map(|it| it.top(blocks))));
        let objects = content.objects.as_ref();
        all.extend(sections(objects.map(|objects| objects.classes().top(top))));
        let methods = objects.filter(|it| it.has_sites).map(|it| it.methods(content.tree));
        all.extend(sections(methods.map(|it| it.top(top))));
        all.extend(sections([heap::summaries(content.profile)]));
    }
    let is_shown = |view: &MetricView<'_>| counts.is_some() && is_of_jamaica(&view.metric);
    for view in &content.metrics {
        let is_its = match view.metric {
            Metric::Samples | Metric::SelfTime => false,
            Metric::Other(..) => is_asked(&view.metric) && !is_shown(view),
            Metric::WallTime => {
                content.main_view().is_some_and(|main| main.metric == Metric::WallTime)
            }
            // Their own tables say more, unless one is asked for.
            _ => content.asked.as_ref() == Some(&view.metric),
        };
        if is_its && view.has_paths() {
            all.extend(of_metric(view, ask));
        }
    }
    let pathless = content.other_metrics().filter(|view| !view.has_paths() && !is_shown(view));
    all.extend(sections(totals(pathless.filter(|it| is_asked(&it.metric)).collect(), top)));
    all.extend(sections(heap::tables(content.profile).map(|it| it.top(top))));
    all.extend(counts.into_iter().flat_map(|it| it.rest(top)));
    if content.asked.is_none() {
        all.extend(monitors(content, ask, blocks, ask.threads));
        if let Some(fields) = &content.fields {
            all.extend(sections(fields.tables().map(|it| it.top(top))));
            all.extend(sections([fields.sites().top(blocks)]));
        }
    }
    all
}

/// The methods by CPU samples, without a heading.
pub(super) fn top_samples<'t>(view: &'t MetricView<'_>) -> LazyTable<'t> {
    view.top_methods("", NumberKind::Own, None).headed("")
}

/// The tables of one metric.
fn of_metric(view: &MetricView<'_>, ask: &ProfileRequest) -> Vec<Section> {
    let (top, blocks) = (ask.rows(), ask.blocks());
    let traces = ask.traces.then_some(top);
    let mut all =
        sections([view.top_methods("Top methods by self", NumberKind::Own, traces).top(top)]);
    if !is_of_jamaica(&view.metric) {
        all.extend(sections([view
            .top_methods("Top methods by total", NumberKind::Total, None)
            .top(top)]));
        all.push(view.paths(blocks));
    }
    if ask.threads {
        all.extend(view.by_thread(blocks));
    }
    all
}

/// The locks that threads waited for.
fn monitors(
    content: &Content<'_>,
    ask: &ProfileRequest,
    blocks: usize,
    threads: bool,
) -> Vec<Section> {
    let Some(contention) = &content.contention else { return Vec::new() };
    let top = ask.rows();
    let mut all = vec![contention.deadlock_lines()];
    let (locks, paths) = match ask.is_long() {
        true => (contention.all_locks(), contention.all_paths()),
        false => (contention.locks(), contention.paths()),
    };
    all.extend(sections([locks.top(top), paths.top(blocks)]));
    all.extend(sections([contention.holding_paths().top(blocks)]));
    all.extend(sections(threads.then(|| contention.threads().top(top))));
    all.extend(sections(contention.last_dump().map(|it| it.top(blocks))));
    all
}
