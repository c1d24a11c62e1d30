//! The views that the options ask for, and the sections of each.

use perk_profile::units::printable;
use perk_profile::{Metric, NamePattern};
use perk_render::{Part, Screen, Section, Table};

use super::content::Content;
use super::head::{self, Extent, Head};
use super::jamaica::Counts;
use super::metric::{By, MetricView, totals};
use super::process::WholeProcess;
use super::{BLOCKS, ROWS, heap, tree, wall};
use crate::args::{ReportArgs, TreeOrder};
use crate::filter::{no_such_method, quoted};
use crate::metric::is_of_jamaica;
use crate::talk;

/// The content of a report, as the options ask for it.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    /// The views that the options name; everything where they name none.
    pub(super) views: Vec<View<'a>>,
    /// The rows that `--top` asks for.
    pub(super) top: Option<usize>,
    /// Branches below this share are left out of trees, in percent.
    pub(super) min: f64,
    /// Whether everything is shown, and not only what matters most.
    pub(super) is_long: bool,
    /// Whether plain facts are shown.
    pub(super) is_brief: bool,
    threads: bool,
    traces: bool,
    /// The file and the filters, as words of a command line.
    pub(super) file: String,
}

/// A view that an option names.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    Advice,
    Methods,
    Threads,
    Lines,
    Source,
    Tree(TreeOrder),
    Edges,
    Callers(&'a NamePattern),
    Field(&'a NamePattern),
    Sites,
    Classes,
    Monitors,
}

impl<'a> Ask<'a> {
    pub(super) fn new(args: &'a ReportArgs) -> Self {
        let views = [
            args.advice.then_some(View::Advice),
            args.lines.then_some(View::Lines),
            (!args.source.is_empty()).then_some(View::Source),
            args.tree.map(View::Tree),
            args.edges.then_some(View::Edges),
            args.method.as_ref().map(View::Callers),
            args.field.as_ref().map(View::Field),
            args.sites.then_some(View::Sites),
            args.classes.then_some(View::Classes),
            args.monitors.then_some(View::Monitors),
        ];
        Self {
            views: views.into_iter().flatten().collect(),
            top: args.top,
            min: args.min,
            is_long: args.all || args.threads || args.traces,
            is_brief: args.brief,
            threads: args.threads,
            traces: args.traces,
            file: words(args),
        }
    }

    fn rows(&self) -> usize {
        self.top.unwrap_or(ROWS)
    }

    /// Rows of tables with lines below each.
    fn blocks(&self) -> usize {
        self.top.unwrap_or(BLOCKS)
    }

    /// Methods of each kind of numbers that advice is on.
    pub(super) fn methods(&self) -> usize {
        self.top.unwrap_or(head::MOST)
    }

    /// Whether there is more than the one view that CSV has.
    pub(super) fn is_of_many(&self) -> bool {
        self.views.len() + usize::from(self.threads) > 1
    }

    /// The view that CSV has.
    pub(super) fn csv_view(&self) -> View<'a> {
        let whole = if self.threads { View::Threads } else { View::Methods };
        self.views.first().copied().unwrap_or(whole)
    }
}

impl View<'_> {
    /// Its name in a message about a profile that does not have it.
    fn title(self) -> String {
        match self {
            View::Advice => "methods to begin with",
            View::Methods => "methods",
            View::Lines | View::Threads => "call traces",
            View::Tree(_) => "call tree",
            View::Source => "source files",
            View::Edges => "calls",
            View::Callers(name) => return format!("calls of {}", name.as_str()),
            View::Field(name) => return format!("accesses to the field {}", name.as_str()),
            View::Sites | View::Classes => "allocation sites",
            View::Monitors => "monitors",
        }
        .to_owned()
    }

    /// What a profile without it does not have, and where no name is the one asked for, those near to
    /// it.
    pub(super) fn missing(self, content: &Content<'_>) -> String {
        let why = match self {
            View::Callers(name) => no_such_method(name, &content.profile.symbols),
            View::Field(name) => content.fields.as_ref().and_then(|it| it.no_such_field(name)),
            _ => None,
        };
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        format!("no {}{why}", self.title())
    }

    /// The view as one table with all rows; `None` where there is nothing of it.
    pub(super) fn table<'t>(self, content: &'t Content<'_>, ask: &Ask<'_>) -> Option<Table<'t>> {
        let (view, objects) = (content.main_view(), content.objects.as_ref());
        let fields = content.fields.as_ref();
        let heaps = || content.profile.heaps().next().map(|_| heap::all_classes(content.profile));
        match self {
            View::Advice => content.head(ask.methods()).map(Head::report),
            View::Methods => {
                let calls = content.calls.as_ref();
                let methods = match view {
                    Some(view) => Some(view.all_methods(content.call_counts())),
                    None => calls.map(|calls| calls.by_self()),
                };
                methods.or_else(heaps).or_else(|| Some(fields?.fields()))
            }
            View::Threads => {
                let counts = Counts::of(content).filter(|_| content.asked.is_none());
                let threads = counts.and_then(|counts| counts.threads());
                threads.or_else(|| view.map(MetricView::threads))
            }
            View::Lines => content.line_view().or(view).map(MetricView::lines),
            View::Source => content.sources().map(|(sources, view)| sources.table(view)),
            View::Tree(TreeOrder::TopDown) => view.map(|view| {
                let (table, left_out) = tree::top_down(content, view, ask.min);
                if left_out > 0 {
                    let levels = "levels with one callee each are left out of the tree";
                    talk::say(format_args!("{left_out} {levels}"));
                }
                table
            }),
            View::Tree(TreeOrder::BottomUp) => {
                view.map(|view| tree::bottom_up(content, view, ask.min))
            }
            View::Edges => content.edges(None),
            View::Callers(name) => content.edges(Some(name)),
            View::Field(name) => fields.map(|fields| fields.fields_by_site(name)),
            View::Sites => objects.map(|objects| objects.sites()).or_else(|| Some(fields?.sites())),
            View::Classes => {
                let classes = objects.map(|objects| objects.classes()).or_else(heaps);
                classes.or_else(|| Some(fields?.classes()))
            }
            View::Monitors => content.contention.as_ref().map(|it| it.all_paths()),
        }
    }

    /// The view for people.
    pub(super) fn sections<'t>(
        self,
        content: &'t Content<'_>,
        ask: &Ask<'_>,
        screen: &Screen,
    ) -> Vec<Section<'t>> {
        let top = ask.rows();
        let view = content.main_view();
        match self {
            View::Advice => {
                let head = content.head(ask.methods());
                sections(head.map(|head| head.section(Extent::long(ask.top), screen)))
            }
            View::Tree(TreeOrder::TopDown) => {
                sections(view.map(|view| tree::top_down(content, view, ask.min).0))
            }
            View::Tree(_) => sections(self.table(content, ask)),
            View::Callers(name) => match (content.edge_calls(), view) {
                (Some(calls), _) => calls.butterflies(name, top, |method| {
                    Counts::of(content).map_or_else(String::new, |counts| counts.of_method(method))
                }),
                (None, Some(view)) => view.butterflies(name, top),
                (None, None) => Vec::new(),
            },
            View::Source => content
                .sources()
                .map(|(sources, view)| sources.sections(view, top, ask.blocks()))
                .unwrap_or_default(),
            View::Sites => {
                let fields = || Some(content.fields.as_ref()?.sites());
                sections(content.sites().or_else(fields).map(|it| it.top(top)))
            }
            View::Classes => {
                let classes = content.objects.as_ref().map(|objects| objects.classes());
                let heaps = heap::tables(content.profile);
                let fields = content.fields.as_ref().map(|fields| fields.classes());
                sections(classes.into_iter().chain(heaps).chain(fields).map(|it| it.top(top)))
            }
            View::Monitors => monitors(content, ask, top, true),
            View::Methods | View::Threads | View::Lines | View::Edges | View::Field(_) => {
                sections(self.table(content, ask).map(|it| it.top(top)))
            }
        }
    }
}

/// The file and the filters of objects, as words of a command line.
fn words(args: &ReportArgs) -> String {
    let mut words = printable(&quoted(&args.file.display().to_string()));
    for (option, names) in [("focus", &args.filter.focus), ("ignore", &args.filter.ignore)] {
        for name in names {
            words += &printable(&format!(" --{option} {}", quoted(name.as_str())));
        }
    }
    words
}

/// A section for each table.
pub(super) fn sections<'t>(tables: impl IntoIterator<Item = Table<'t>>) -> Vec<Section<'t>> {
    tables.into_iter().map(|table| vec![Part::Table(table)]).collect()
}

/// Everything there is; of the metric alone that was asked for, if one was.
pub(super) fn everything<'t>(
    content: &'t Content<'_>,
    head: Option<&'t Head<'_>>,
    ask: &Ask<'_>,
    screen: &Screen,
) -> Vec<Section<'t>> {
    let (top, blocks) = (ask.rows(), ask.blocks());
    let process = WholeProcess::of(content).map(|it| it.section(screen));
    let mut all: Vec<_> = process.into_iter().collect();
    all.extend(sections(head.map(|head| head.section(Extent::long(ask.top), screen))));
    let is_asked = |metric: &Metric| content.asked.as_ref().is_none_or(|asked| asked == metric);
    let wall = content.view(&Metric::WallTime).filter(|_| is_asked(&Metric::WallTime));
    all.extend(sections(wall.and_then(|view| wall::states(view, content.owners(), ask.top))));
    let counts = Counts::of(content).filter(|_| content.asked.is_none());
    all.extend(sections(counts.into_iter().flat_map(|it| it.code(top))));
    if content.asked.is_none() {
        let fields = content.fields.as_ref();
        all.extend(fields.into_iter().flat_map(|it| it.advice_sections(&ask.file, blocks)));
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
pub(super) fn top_samples<'t>(view: &'t MetricView<'_>) -> Table<'t> {
    let mut table = view.top_methods("", By::Own, None);
    table.heading.clear();
    table
}

/// The tables of one metric.
fn of_metric<'t>(view: &'t MetricView<'_>, ask: &Ask<'_>) -> Vec<Section<'t>> {
    let (top, blocks) = (ask.rows(), ask.blocks());
    let traces = ask.traces.then_some(top);
    let mut all = sections([view.top_methods("Top methods by self", By::Own, traces).top(top)]);
    if !is_of_jamaica(&view.metric) {
        all.extend(sections([view.top_methods("Top methods by total", By::Total, None).top(top)]));
        all.push(view.paths(blocks));
    }
    if ask.threads {
        all.extend(view.by_thread(blocks));
    }
    all
}

/// The locks that threads waited for.
fn monitors<'t>(
    content: &'t Content<'_>,
    ask: &Ask<'_>,
    blocks: usize,
    threads: bool,
) -> Vec<Section<'t>> {
    let Some(contention) = &content.contention else { return Vec::new() };
    let top = ask.rows();
    let mut all = vec![contention.deadlock_lines()];
    let (locks, paths) = match ask.is_long {
        true => (contention.all_locks(), contention.all_paths()),
        false => (contention.locks(), contention.paths()),
    };
    all.extend(sections([locks.top(top), paths.top(blocks)]));
    all.extend(sections([contention.holding_paths().top(blocks)]));
    all.extend(sections(threads.then(|| contention.threads().top(top))));
    all.extend(sections(contention.last_dump().map(|it| it.top(blocks))));
    all
}
