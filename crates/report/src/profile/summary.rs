//! The first screen: where the time of the whole process went, where to begin, and what else there is.

use perk_profile::{Metric, metric};
use perk_render::{Part, Section};

use super::content::Content;
use super::head::{Extent, Head, TITLE};
use super::jamaica::Counts;
use super::limits::LimitsView;
use super::metric::{MetricView, NumberKind, totals};
use super::process::WholeProcess;
use super::request::ProfileRequest;
use super::views::{sections, top_samples};
use super::{heap, wall};

/// Lines of a summary with those above and below it, and of the names of other views.
pub(super) const LINES: usize = 25;
const FOOTER: usize = 3;
/// Lines of advice in it.
const ADVICE: usize = 14;
/// Lines of the table of advice above its rows, and the empty one before it.
const TITLES: usize = 4;
/// Columns by which the names of other views continue further in.
const MORE_INDENT: usize = 6;
/// Rows of other tables: as many as fit.
const ROWS: [usize; 3] = [5, 3, 1];
/// Rows of the table of functions of a program that is not of Java: as many as fit.
const FUNCTIONS: [usize; 5] = [14, 10, 5, 3, 1];

/// A summary as it grows.
#[derive(Debug)]
struct Page<'r> {
    request: &'r ProfileRequest,
    /// The lines that are left.
    left: usize,
    sections: Vec<Section>,
}

impl Page<'_> {
    /// Adds sections with as many rows as fit; at least one row where nothing is there yet.
    fn add(&mut self, sections: impl Fn(usize) -> Vec<Section>) {
        self.add_rows(&ROWS, sections);
    }

    /// The same with the first of these numbers of rows that fits.
    fn add_rows(&mut self, rows: &[usize], sections: impl Fn(usize) -> Vec<Section>) {
        let rows = self.request.top.map_or_else(|| rows.to_vec(), |top| vec![top]);
        for rows in rows {
            let part = sections(rows);
            let lines = self.lines(&part);
            let is_needed = self.request.top.is_some() || self.sections.is_empty() && rows == 1;
            if lines == 0 {
                return;
            }
            if lines < self.left || is_needed {
                return self.push(part);
            }
        }
    }

    fn push(&mut self, part: Vec<Section>) {
        let lines = self.lines(&part);
        if lines > 0 {
            self.sections.extend(part);
            self.left = self.left.saturating_sub(lines + 1);
        }
    }

    fn lines(&self, part: &[Section]) -> usize {
        perk_render::text(part, &self.request.screen).lines().count()
    }
}

/// The summary of a report below `used` lines, with the names of the other views.
pub(super) fn of_report(
    content: &Content<'_>,
    head: Option<&Head<'_>>,
    request: &ProfileRequest,
    used: usize,
) -> Vec<Section> {
    let lines = LINES.saturating_sub(used + FOOTER + 1);
    let mut sections = of_run(content, head, request, lines);
    if !sections.is_empty() {
        let (file, views) = (request.words(), views(content).join(", "));
        sections.push(vec![Part::Line(format!("More: perk report {file} {views}"), MORE_INDENT)]);
    }
    sections
}

/// What matters of everything, on this number of lines where that is possible.
pub(super) fn of_run(
    content: &Content<'_>,
    head: Option<&Head<'_>>,
    request: &ProfileRequest,
    lines: usize,
) -> Vec<Section> {
    let screen = &request.screen;
    let mut page = Page { request, left: lines, sections: Vec::new() };
    let process = WholeProcess::of(content);
    page.push(process.map(|it| it.section(screen)).into_iter().collect());
    if let Some(contention) = &content.contention {
        page.push(vec![contention.deadlock_lines()]);
    }
    let limits = content.limits();
    if let Some(limits) = limits.filter(|it| it.is_list()) {
        let file = request.words();
        page.push(vec![limits.section(head, (request.top, page.left), &file, screen)]);
    } else if let Some(view) =
        content.main_view().filter(|it| it.has_paths() && !content.is_of_java())
    {
        page.add_rows(&FUNCTIONS, |rows| {
            sections([view.top_methods("Top functions by self", NumberKind::Own, None).top(rows)])
        });
    } else if let Some(head) = head {
        let room = page.left.saturating_sub(TITLES).min(ADVICE);
        let extent = Extent::short(request.top, room);
        page.push(vec![match content.asked {
            Some(_) => head.section(extent, screen),
            None => head.list(TITLE, extent, screen),
        }]);
    }
    let repeated = limits.map(|it| it.repeated()).unwrap_or_default();
    if !repeated.is_empty() {
        let heading = Part::Heading("Repeated calls".to_owned());
        page.push(vec![
            [heading].into_iter().chain(repeated.into_iter().map(Part::Sentence)).collect(),
        ]);
    }
    others(content, head, &mut page);
    page.sections
}

/// What advice does not have: the tables of numbers without call paths, of heaps, of fields.
fn others(content: &Content<'_>, head: Option<&Head<'_>>, page: &mut Page<'_>) {
    let file = &page.request.words();
    let is_asked = |metric: &Metric| content.asked.as_ref().is_none_or(|asked| asked == metric);
    // What the list of limits or advice has needs no table.
    let has_list = content.limits().is_some_and(LimitsView::is_list);
    let is_counted = |metric: &Metric| matches!(metric, Metric::Calls | Metric::SelfTime);
    let has = |metrics: &[Metric]| {
        has_list && !metrics.iter().any(is_counted)
            || head.is_some_and(|head| metrics.iter().any(|it| head.has(it)))
            || !metrics.iter().any(is_asked)
    };
    let counts = Counts::of(content).filter(|_| content.asked.is_none());
    page.add(|rows| sections(counts.iter().flat_map(|it| it.code(rows))));
    if content.asked.is_none() {
        let fields = content.fields.as_ref();
        page.add(|rows| fields.iter().flat_map(|it| it.advice_sections(file, rows)).collect());
    }
    let samples = content.samples().filter(|_| !has(&[Metric::Samples]));
    page.add(|rows| sections(samples.map(|view| top_samples(view).top(rows))));
    let wall = content.view(&Metric::WallTime).filter(|_| !has(&[Metric::WallTime]));
    page.add(|_| sections(wall.and_then(|view| wall::states(view, content.owners(), None))));
    let calls = content.calls.as_ref().filter(|it| counts.is_none() || it.is_timed());
    let calls = calls.filter(|_| !has(&[Metric::Calls, Metric::SelfTime]));
    page.add(|rows| sections(calls.map(|calls| calls.by_self().top(rows))));
    let objects = content.objects.as_ref().filter(|_| !has(&Metric::OF_OBJECTS));
    page.add(|rows| sections(objects.map(|objects| objects.classes().top(rows))));
    if content.asked.is_none() {
        page.add(|rows| sections(heap::tables(content.profile).map(|it| it.top(rows))));
    }
    let contention = content.contention.as_ref().filter(|_| !has(&Metric::OF_LOCKS));
    page.add(|rows| sections(contention.map(|it| it.locks().top(rows))));
    let others = content.other_metrics().filter(|view| {
        let is_asked = match view.metric.name() {
            metric::JVM => content.asked.is_some() && is_asked(&view.metric),
            _ => is_asked(&view.metric),
        };
        counts.is_none() && is_asked && !has(std::slice::from_ref(&view.metric))
    });
    let (others, sums): (Vec<_>, Vec<_>) = others.partition(|view| view.has_paths());
    for view in others {
        page.add(|rows| sections([by_total(view).top(rows)]));
    }
    page.add(|rows| sections(totals(sums.clone(), rows).map(|table| table.top(rows))));
}

fn by_total<'t>(view: &'t MetricView<'_>) -> perk_render::LazyTable<'t> {
    view.top_methods("Top methods by total", NumberKind::Total, None)
}

/// The options of the other views that there are.
fn views(content: &Content<'_>) -> Vec<&'static str> {
    let view = content.main_view();
    let has_paths = view.is_some_and(MetricView::has_paths);
    let has_calls = has_paths || content.calls.is_some();
    let has_threads = view.is_some_and(|view| !view.threads().is_empty());
    let views = [
        ("--all", true),
        ("--tree", has_paths),
        ("--tree=bottom-up", has_paths),
        ("--method NAME", has_calls),
        ("--edges", has_calls),
        ("--lines", content.line_view().is_some()),
        ("--source DIR", content.line_view().is_some()),
        ("--threads", has_threads),
        ("--sites", content.sites().is_some()),
        ("--classes", content.objects.is_some() || content.fields.is_some()),
        ("--field NAME", content.fields.is_some()),
        ("--monitors", content.contention.is_some()),
        ("--brief", true),
        ("--json", true),
    ];
    views.into_iter().filter(|view| view.1).map(|view| view.0).collect()
}
