//! `perk report`: a profile as tables, as CSV or as JSON.

mod allocations;
mod brief;
mod calls;
mod fields;
mod head;
mod heap;
mod jamaica;
mod json;
mod metric;
mod monitors;
mod process;
mod source;
mod summary;
mod tree;
mod views;
mod wall;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use perk_analysis::window::Shown;
use perk_analysis::{InferredCallers, MethodTree, Owners, inferred};
use perk_profile::units::{percent, plural, printable};
use perk_profile::{MethodId, Metric, NamePattern, Profile};
use perk_render::{Part, Screen, Section, Table};

use crate::args::ReportArgs;
use crate::filter::quoted;
use crate::input::{self, display_name};
use crate::{accounting, talk, window};
use allocations::Objects;
use calls::Calls;
use fields::Fields;
use head::Head;
use metric::MetricView;
use monitors::Contention;
use source::Sources;
use views::Ask;

/// Rows of a table without `--top`.
const ROWS: usize = 15;
/// Rows with lines below them without `--top`.
const BLOCKS: usize = 5;
/// Columns by which the first lines go on further in, and those of the accounting.
const INDENT: usize = 4;
const ACCOUNTS: usize = 10;
/// Stands for the caller of a thread's first method.
const NO_CALLER: &str = "[thread start, or not known]";
/// Samples without a stack of less than this share are in the accounting alone.
const LOSS: f64 = 0.01;
/// The exit code where there is nothing to report.
const NOTHING: u8 = 1;

/// Reads a file and reports on stdout.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let ask = Ask::new(args);
    if args.csv && ask.views.len() > 1 {
        bail!("--csv shows one view: ask for one of them");
    }
    let page = args.output.as_deref().map(source::page_target).transpose()?;
    let window = args.read.window(args.window.to)?;
    let mut input = input::read(&args.file, &args.read)?;
    input.profile.merge_unnamed_threads();
    let name = display_name(&args.file);
    let window = window::apply(window, &mut input.profile, &name)?;
    let metric =
        args.metric.as_deref().map(|it| crate::metric::find(&input.profile, it)).transpose()?;
    let mut joined = match args.no_infer || jamaica::is_in(&input.profile) {
        true => InferredCallers::default(),
        false => inferred::infer(&mut input.profile),
    };
    let filtered = args.filter.apply(&mut input.profile, &mut joined, &name);
    let tree = MethodTree::new(&input.profile);
    let mut content =
        Content { filtered, window, ..Content::of_metric(&input.profile, &tree, &joined, metric) };
    if !args.source.is_empty()
        && !content.is_empty()
        && let Some(nothing) = content.find_sources(&args.source, args.whole)?
    {
        talk::say(format_args!("{name} has {nothing}"));
        return Ok(ExitCode::from(NOTHING));
    }
    if let Some((target, (sources, view))) = page.zip(content.sources()) {
        target.write_with(&|out| sources.write_page(view, &name, out))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut missing = Vec::new();
    if args.json {
        content.add_metrics_of_fields();
        let head = Head::new(&content, args.top.unwrap_or(head::MOST));
        let top = args.top.unwrap_or(usize::MAX);
        let file = (&*name, input.form.ending());
        json::report(&content, file, head.as_ref(), top, ask.min).write(&mut out)?;
    } else if args.csv {
        for line in content.conditions() {
            talk::say(format_args!("{name}: {line}"));
        }
        missing.extend(write_csv(&content, &ask, &mut out)?);
    } else {
        // The first screen has the other numbers further down.
        let is_short = ask.views.is_empty() && !ask.is_long && !ask.is_brief;
        let total = if is_short { content.totals().swap_remove(0) } else { content.total() };
        let mut lines = vec![format!("{name}: {}, {total}", input.form.title())];
        lines.extend(content.conditions());
        missing = write_text(&content, &ask, lines, &mut out)?;
    }
    out.flush()?;
    if content.is_empty() {
        let what = if content.window.is_some() {
            "no samples in the window"
        } else if content.filtered.is_none() {
            "nothing to report: no samples, calls, allocation sites, monitors, heap dumps or field accesses"
        } else {
            "no numbers that pass the filter"
        };
        missing = vec![what.to_owned()];
    }
    for what in &missing {
        talk::say(format_args!("{name} has {what}"));
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOTHING) })
}

/// Writes the view asked for, or the methods. Returns what is missing.
fn write_csv(
    content: &Content<'_>,
    ask: &Ask<'_>,
    out: &mut dyn Write,
) -> io::Result<Option<String>> {
    let view = ask.csv_view();
    match view.table(content, ask).filter(|table| !table.is_empty()) {
        Some(table) => table.csv(ask.top.unwrap_or(usize::MAX), out).map(|()| None),
        None => Ok(Some(view.missing(content))),
    }
}

/// Writes the views asked for, or everything. Returns what is missing.
fn write_text(
    content: &Content<'_>,
    ask: &Ask<'_>,
    mut lines: Vec<String>,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let screen = Screen::of_stdout();
    if ask.is_brief {
        let head = Head::new(content, head::MOST);
        let title = lines.swap_remove(0);
        for line in brief::lines(content, head.as_ref(), title, &ask.file) {
            writeln!(out, "{line}")?;
        }
        return Ok(Vec::new());
    }
    if !ask.views.is_empty() {
        write_lines(&lines, &screen, out)?;
        let mut missing = Vec::new();
        for view in &ask.views {
            match perk_render::text(view.sections(content, ask), &screen) {
                text if text.is_empty() => missing.push(view.missing(content)),
                text => write!(out, "\n{text}")?,
            }
        }
        return Ok(missing);
    }
    let accounting = content.profile.accounting.as_ref();
    if let Some(accounting) = accounting {
        let jvm = format!(" (pid {}, {})", accounting.pid, printable(&accounting.jvm));
        let program = screen.cut_end(&printable(&accounting.program), jvm.chars().count());
        lines.insert(1, format!("{program}{jvm}"));
    }
    let head = Head::new(content, ask.top.unwrap_or(head::MOST));
    if !ask.is_long {
        lines.extend(content.losses().map(|losses| format!("lost: {losses}")));
        let used = write_lines(&lines, &screen, out)? + 1;
        let text = summary::of_report(content, head.as_ref(), &ask.file, ask.top, used, &screen);
        if !text.is_empty() {
            write!(out, "\n{text}")?;
        }
        return Ok(Vec::new());
    }
    write_lines(&lines, &screen, out)?;
    let sections = views::everything(content, head.as_ref(), ask, &screen);
    let text = perk_render::text(sections, &screen);
    if !text.is_empty() {
        write!(out, "\n{text}")?;
    }
    if let Some(accounting) = accounting {
        let of_run = if content.window.is_some() { " of the whole run" } else { "" };
        writeln!(out, "\n{}", screen.heading(&format!("Accounting{of_run}")))?;
        for line in accounting::lines(accounting) {
            writeln!(out, "{}", screen.wrap(&line, ACCOUNTS))?;
        }
    }
    Ok(Vec::new())
}

/// Writes the lines above the tables. Returns how many lines of the screen they took.
fn write_lines(lines: &[String], screen: &Screen, out: &mut dyn Write) -> io::Result<usize> {
    let mut count = 0;
    for line in lines {
        let line = screen.wrap(line, INDENT);
        writeln!(out, "{line}")?;
        count += line.lines().count();
    }
    Ok(count)
}

/// What matters of a profile, for the end of a run, with `top` rows of each table if that is given;
/// `None` where it has nothing.
/// `file` is the one that holds the profile, if one does.
pub(crate) fn summary(
    profile: &Profile,
    file: Option<&Path>,
    top: Option<usize>,
    screen: &Screen,
) -> Option<String> {
    let file = file.map_or_else(|| "FILE".to_owned(), |it| quoted(&it.display().to_string()));
    let joined = InferredCallers::default();
    let tree = MethodTree::new(profile);
    let content = Content::of_metric(profile, &tree, &joined, None);
    if content.is_empty() {
        return None;
    }
    let head = Head::new(&content, top.unwrap_or(head::MOST));
    let facts = content.fields.iter().flat_map(Fields::facts).map(Part::Sentence).collect();
    let facts = perk_render::text([facts], screen);
    let lines = summary::LINES;
    let text = summary::of_run(&content, head.as_ref(), &file, top, lines, screen);
    let gap = if facts.is_empty() || text.is_empty() { "" } else { "\n" };
    Some(facts + gap + &text)
}

/// The blocks of the first rows, and how many more there are.
fn blocks<'t, T>(rows: &[T], top: usize, block: impl Fn(&T) -> Section<'t>) -> Vec<Section<'t>> {
    let mut blocks: Vec<_> = rows.iter().take(top).map(block).collect();
    if rows.len() > top {
        let more = plural((rows.len() - top) as u64, "more method");
        blocks.push(vec![Part::Sentence(format!("and {more} (--top)"))]);
    }
    blocks
}

/// Stands in the place of the threads' tables where there are none.
fn no_threads<'t>() -> Part<'t> {
    Part::Remark("Threads", "the profile does not distinguish threads (perk run --threads does)")
}

/// Everything a profile has.
#[derive(Debug)]
struct Content<'a> {
    profile: &'a Profile,
    joined: &'a InferredCallers,
    /// The window of the recording that is shown; `None` for all of it.
    window: Option<Shown>,
    /// How much passed a filter, in a sentence; `None` where there is none.
    filtered: Option<String>,
    /// The numbers of each leading metric and of the one that was asked for, in order of interest.
    metrics: Vec<MetricView<'a>>,
    /// The metrics of field accesses, for other programs.
    of_fields: Vec<MetricView<'a>>,
    /// The metric that was asked for.
    asked: Option<Metric>,
    calls: Option<Calls<'a>>,
    objects: Option<Objects<'a>>,
    contention: Option<Contention<'a>>,
    fields: Option<Fields<'a>>,
    sources: Option<Sources>,
    tree: &'a MethodTree,
    owners: OnceCell<Owners>,
}

impl<'a> Content<'a> {
    /// The content of `profile`; trees and the methods to begin with are by `asked`, or by the
    /// first metric there is.
    fn of_metric(
        profile: &'a Profile,
        tree: &'a MethodTree,
        joined: &'a InferredCallers,
        asked: Option<Metric>,
    ) -> Self {
        let mut metrics: Vec<_> = Metric::leading_of(profile).collect();
        metrics.extend(asked.clone().filter(|it| !metrics.contains(it)));
        let metrics = metrics.into_iter();
        Self {
            profile,
            joined,
            window: None,
            filtered: None,
            metrics: metrics.map(|metric| MetricView::new(profile, tree, joined, metric)).collect(),
            objects: Objects::new(profile, tree, asked.as_ref()),
            of_fields: Vec::new(),
            asked,
            calls: Calls::new(profile, tree),
            contention: Contention::new(profile),
            fields: Fields::new(profile),
            sources: None,
            tree,
            owners: OnceCell::new(),
        }
    }

    /// Whose code the methods are.
    fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::new(self.profile))
    }

    /// Adds the metrics of field accesses that nobody asked for.
    fn add_metrics_of_fields(&mut self) {
        for metric in [Metric::FieldAccesses, Metric::SharedFieldAccesses] {
            let is_known = self.profile.has(std::slice::from_ref(&metric));
            if is_known && self.view(&metric).is_none() {
                let view = MetricView::new(self.profile, self.tree, self.joined, metric);
                self.of_fields.push(view);
            }
        }
    }

    /// The numbers of a metric.
    fn view(&self, metric: &Metric) -> Option<&MetricView<'a>> {
        self.metrics.iter().find(|view| view.metric == *metric)
    }

    fn samples(&self) -> Option<&MetricView<'a>> {
        self.view(&Metric::Samples)
    }

    /// The metric of trees and of the methods to begin with.
    fn main_view(&self) -> Option<&MetricView<'a>> {
        match &self.asked {
            Some(metric) => self.view(metric),
            None => self.metrics.first(),
        }
    }

    /// The metric that was asked for, or the first one that is by line; `None` where none is.
    fn line_view(&self) -> Option<&MetricView<'a>> {
        let is_meant = |view: &&MetricView<'a>| match &self.asked {
            Some(asked) => *asked == view.metric,
            None => !source::is_of_coverage(&view.metric),
        };
        self.metrics.iter().filter(is_meant).find(|view| view.has_lines())
    }

    /// Looks for the source files below `folders`. Returns what is missing.
    fn find_sources(
        &mut self,
        folders: &[PathBuf],
        is_whole: bool,
    ) -> anyhow::Result<Option<String>> {
        let metric = match self.line_view() {
            Some(view) => view.metric.clone(),
            None if self.asked.is_none() && source::coverage_metrics(self.profile).is_some() => {
                // Nothing of all that passes the filter ran.
                let metric = source::bytecodes();
                let view = MetricView::new(self.profile, self.tree, self.joined, metric.clone());
                self.metrics.push(view);
                metric
            }
            None => {
                let of = if self.asked.is_some() { " for this metric" } else { "" };
                return Ok(Some(format!("no line numbers{of}")));
            }
        };
        let view = self.view(&metric);
        self.sources = view.map(|view| Sources::find(view, folders, is_whole)).transpose()?;
        Ok(self.sources.as_ref().and_then(Sources::nothing))
    }

    /// The source files that were asked for, and the metric of their numbers.
    fn sources(&self) -> Option<(&Sources, &MetricView<'a>)> {
        let sources = self.sources.as_ref()?;
        Some((sources, self.view(sources.metric())?))
    }

    /// Measurements of other tools.
    fn other_metrics(&self) -> impl Iterator<Item = &MetricView<'a>> {
        self.metrics.iter().filter(|view| view.metric.is_other())
    }

    /// The calls of each method, where they were counted by call path.
    fn call_counts(&self) -> Option<HashMap<MethodId, u64>> {
        let calls = self.calls.as_ref().filter(|calls| calls.columns.is_some())?;
        Some(calls.table.methods.iter().map(|row| (row.method, row.count)).collect())
    }

    /// Counted calls, unless a metric is asked for: they say more of callers and callees than the
    /// numbers of any one metric.
    fn edge_calls(&self) -> Option<&Calls<'a>> {
        self.calls.as_ref().filter(|_| self.asked.is_none())
    }

    /// Callers and callees: all, or those with a method of `pattern`.
    fn edges(&self, pattern: Option<&NamePattern>) -> Option<Table<'_>> {
        match self.edge_calls() {
            Some(calls) => Some(calls.edges(pattern)),
            None => self.main_view().map(|view| view.edge_table(pattern)),
        }
    }

    /// The allocation sites, where any is known.
    fn sites(&self) -> Option<Table<'_>> {
        self.objects.as_ref().filter(|objects| objects.has_sites).map(|objects| objects.sites())
    }

    fn is_empty(&self) -> bool {
        self.metrics.is_empty()
            && self.calls.is_none()
            && self.objects.is_none()
            && self.contention.is_none()
            && self.fields.is_none()
            && self.profile.heaps().next().is_none()
    }

    /// Everything in a line: `12 samples of 10 ms = 120 ms of CPU time; 12 MB allocated`.
    fn total(&self) -> String {
        self.totals().join("; ")
    }

    /// Everything, the first kind of numbers first.
    fn totals(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.samples().map(MetricView::total));
        let others = self.other_metrics();
        let others = others.filter(|view| view.has_paths() && crate::metric::adds_up(&view.metric));
        parts.extend(others.map(MetricView::total));
        parts.extend(self.view(&Metric::WallTime).map(MetricView::total));
        parts.extend(self.calls.as_ref().map(Calls::total));
        parts.extend(self.objects.as_ref().map(Objects::total));
        parts.extend(self.contention.as_ref().map(Contention::total));
        parts.extend(self.fields.as_ref().map(Fields::total));
        parts.extend(heap::total(self.profile));
        if parts.is_empty() {
            parts.push(plural(0, "sample"));
        }
        parts
    }

    /// What the numbers lack: samples without a stack, if they are many, and faults.
    fn losses(&self) -> Option<String> {
        let accounting = self.profile.accounting.as_ref()?;
        let (count, taken) = (accounting.unattributed_count, accounting.sample_count);
        let mut losses = Vec::new();
        if count as f64 >= taken.saturating_add(count) as f64 * LOSS && count > 0 {
            let share = percent(count, taken.saturating_add(count));
            let samples = plural(count, "sample");
            losses.push(format!("{samples} ({share} %) without a known stack (--unattributed)"));
        }
        if accounting.fault_count > 0 {
            let faults = plural(accounting.fault_count, "fault");
            losses.push(format!("{faults} of perk's own: the profile has gaps"));
        }
        (!losses.is_empty()).then(|| losses.join("; "))
    }

    /// Lines that a reader of the numbers must know: the part of all that they are, and inferred
    /// callers.
    fn conditions(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.window.iter().flat_map(window::lines).collect();
        lines.extend(self.filtered.iter().map(|what| format!("filter: {what}")));
        lines.extend(self.fields.as_ref().and_then(Fields::extended));
        lines.extend(self.fields.as_ref().and_then(Fields::unknown));
        lines.extend(self.objects.as_ref().and_then(Objects::uncollected));
        let part = self.objects.as_ref().and_then(Objects::part);
        let is_main = self.main_view().is_some_and(|view| view.metric == Metric::AllocatedBytes);
        if let Some(part) = part.filter(|_| is_main) {
            lines.push(format!("shares of allocated bytes are of the {part} that the file lists"));
        }
        if let Some(view) = self.main_view().filter(|_| !self.joined.is_empty()) {
            let rows = self.joined.rows(&view.numbers.rows);
            let number = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
            if number > 0 {
                let traces = plural(rows.len() as u64, "cut trace");
                let share = percent(number, view.numbers.total);
                let metric = perk_render::metric(&view.metric);
                lines.push(format!(
                    "inferred: the callers of {traces}, {share} % of {metric} (see --no-infer)"
                ));
            }
        }
        lines
    }
}

/// A pattern on the command line.
pub(crate) fn name_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::new(text)
        .ok_or_else(|| "name a method or a class: bar, Foo.bar, Foo, 'com.acme.*'".to_owned())
}

/// A share on the command line, as `0.5%` or `0.5`, in percent.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("use a share from 0% to 100%, such as 0.5%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use perk_profile::{Frame, Line, Method, Section, Unit};

    use super::*;
    use crate::args::{Cli, Command};

    fn args(options: &[&str]) -> ReportArgs {
        let arguments = ["perk", "report", "file"].iter().chain(options);
        match Cli::parse_from(arguments).command {
            Command::Report(args) => args,
            _ => panic!("not report"),
        }
    }

    /// A profile of what another tool measured, on one frame.
    fn measured() -> Profile {
        let mut profile = Profile::default();
        let class = profile.symbols.class("T");
        let name = profile.symbols.strings.intern("f");
        let method = profile.symbols.method(Method { class, name, signature: None, source: None });
        let frame = profile.symbols.frame(Frame::new(method, Line::Number(3)));
        let node = profile.tree.insert([frame]);
        let trace = profile.trace(node, None);
        for (name, unit, number) in
            [("delay", Unit::Nanoseconds, 5_000_000), ("misses", Unit::Count, 7)]
        {
            let metric = Metric::other(name, unit);
            profile.events.push(Section::of(metric, 2 * number, [(trace, number)]).into());
        }
        profile
    }

    fn shown(profile: &Profile, options: &[&str]) -> String {
        let joined = InferredCallers::default();
        let args = args(options);
        let metric = args.metric.as_ref().and_then(|name| Metric::find(profile, name));
        let tree = MethodTree::new(profile);
        let content = Content::of_metric(profile, &tree, &joined, metric);
        let ask = Ask::new(&args);
        let mut text = Vec::new();
        if args.csv {
            assert_eq!(write_csv(&content, &ask, &mut text).unwrap(), None);
        } else {
            write_text(&content, &ask, vec![content.total()], &mut text).unwrap();
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_other_tools_measured_is_shown() {
        let profile = measured();
        let text = shown(&profile, &["--all"]);
        let first = "10 ms of delay, 5 ms of them below the file's cutoff; \
                     14 misses, 7 of them below the file's cutoff\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("1   delay  50.00    5 ms  T.f\n"), "{text}");
        assert!(text.contains("\nTop methods by self: delay\n"), "{text}");
        assert!(text.contains("\nTop methods by total: misses\n"), "{text}");
        let text = shown(&profile, &["--all", "--metric", "misses"]);
        assert!(text.contains("1  misses  50.00       7  T.f\n"), "{text}");
        assert!(!text.contains("by self: delay"), "{text}");
    }

    #[test]
    fn the_end_of_a_run_says_what_to_do_about_fields() {
        let file = "A\x1cb\x1c()V\x1c1\tp.T\np.T\x1cx\x1cI\t1\t2\t1\t0\n\n";
        let profile = perk_formats::shared_fields::read(file.as_bytes()).unwrap();
        let shown = |file| summary(&profile, file, None, &Screen::default()).unwrap();
        let text = shown(None);
        assert!(
            text.starts_with("1 object, 1 of them shared between threads (100.00 %);"),
            "{text}"
        );
        assert!(text.contains("\nWhat to do\n1 to make final (1 of them shared).\n"), "{text}");
        assert!(text.ends_with("        perk report FILE --field p.T.x\n"), "{text}");
        let text = shown(Some(Path::new("a b.tsv")));
        assert!(text.ends_with("        perk report 'a b.tsv' --field p.T.x\n"), "{text}");
    }

    #[test]
    fn titles_of_csv_have_units() {
        let profile = measured();
        for (value, row) in [
            ("delay", "self_ns,self_percent,total_ns,total_percent\ndelay,T.f,T,f,,,5000000,50.00"),
            ("misses", "self_count,self_percent,total_count,total_percent\nmisses,T.f,T,f,,,7"),
        ] {
            let text = shown(&profile, &["--csv", "--metric", value]);
            assert!(text.contains(row), "{text}");
        }
    }
}
