//! `perk report`: what a profile says, as tables or as JSON.

mod allocations;
mod callers;
mod calls;
mod csv;
mod fields;
mod head;
mod heap;
mod json;
mod monitors;
mod numbers;
pub(crate) mod paths;
mod summaries;
pub(crate) mod table;
mod totals;
mod tree;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::bail;
use perk_analysis::{InferredCallers, MethodTree, inferred, top};
use perk_profile::{Metric, NamePattern, Profile};

use crate::args::{ReportArgs, TreeOrder};
use crate::input::{self, Input, display_name};
use crate::show::{self, Screen, percent, plural, printable};
use crate::{accounting, metric, talk};
use allocations::Objects;
use callers::Callers;
use calls::Calls;
use fields::Fields;
use head::Head;
use monitors::Contention;
use numbers::{By, View};

/// Rows of a table, where `--top` does not say it.
const ROWS: usize = 15;
/// Rows with lines below them, where `--top` does not say it.
const BLOCKS: usize = 5;
/// Columns by which the first lines go on further in, and those of the accounting.
const INDENT: usize = 4;
const ACCOUNTS: usize = 10;
/// The exit code where there is nothing to report.
const NOTHING: u8 = 1;

/// Reads a file and reports on stdout.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if args.csv && args.view_count() > 1 {
        bail!("--csv shows one view: ask for one of them");
    }
    let mut input = input::read(&args.file, &args.read)?;
    let name = display_name(&args.file);
    let metric = args.metric.as_deref().map(|it| metric::find(&input.profile, it)).transpose()?;
    let mut joined = match args.no_infer {
        true => InferredCallers::default(),
        false => inferred::infer(&mut input.profile),
    };
    let filtered = filter(args, &mut input, &mut joined, &name);
    let tree = MethodTree::new(&input.profile);
    let content =
        Content { filtered, ..Content::of_metric(&input.profile, &tree, &joined, metric) };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut missing = Vec::new();
    if args.json {
        json::write(&input, &name, &content, args, &mut out)?;
    } else if args.csv {
        for line in content.conditions() {
            talk::say(format_args!("{name}: {line}"));
        }
        missing.extend(csv::write(&content, args, &mut out)?);
    } else {
        let mut lines = vec![format!("{name}: {}, {}", input.form.title(), content.total())];
        lines.extend(content.conditions());
        if args.view_count() > 0 {
            write_lines(&lines, &Screen::of_stdout(), &mut out)?;
            missing = write_views(args, &content, &mut out)?;
        } else {
            write_all(args, &content, lines, &mut out)?;
        }
    }
    out.flush()?;
    if content.is_empty() {
        let what = if content.filtered.is_empty() {
            "nothing to report: no samples, calls, allocation sites, monitors or heap dumps"
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

/// Leaves in `input` what the options let through. Returns how much of each metric that is, in a few
/// words; nothing where there is no filter.
fn filter(
    args: &ReportArgs,
    input: &mut Input,
    joined: &mut InferredCallers,
    name: &str,
) -> Vec<String> {
    let filter = args.filter.filter();
    if filter.is_empty() {
        return Vec::new();
    }
    let before: Vec<_> = Metric::all_of(&input.profile)
        .into_iter()
        .filter(Metric::is_leading)
        .map(|metric| (metric.rows(&input.profile).total, metric))
        .collect();
    joined.without(&input.profile, &filter.hidden(&input.profile.symbols));
    input.profile = args.filter.apply(std::mem::take(&mut input.profile), name);
    if filter.focus.is_empty() && filter.ignore.is_empty() {
        let names: Vec<_> = filter.hide.iter().map(|name| name.as_str()).collect();
        return vec![format!("the frames of {} are hidden", printable(&names.join(", ")))];
    }
    let after = |(before, metric): (u64, Metric)| {
        let total = metric.rows(&input.profile).total;
        format!("{} % of {}", percent(total, before), show::metric(&metric))
    };
    before.into_iter().map(after).collect()
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

/// The first tables of everything a profile has, for the end of a run; `None` where it has nothing.
pub(crate) fn summary(profile: &Profile, top: usize, screen: &Screen) -> Option<String> {
    let joined = InferredCallers::default();
    let tree = MethodTree::new(profile);
    let content = Content::of_metric(profile, &tree, &joined, None);
    let mut text = String::new();
    if let Some(samples) = content.samples() {
        text += &samples.table(&samples.methods(), By::Own, top, false, screen);
    }
    if let Some(calls) = &content.calls {
        section(&mut text, &calls.by_self(top, screen));
        section(&mut text, &calls.chatty(top.min(BLOCKS), screen));
    }
    if let Some(objects) = &content.objects {
        section(&mut text, &objects.sites(top.min(BLOCKS), screen));
        section(&mut text, &objects.classes(top, screen));
    }
    section(&mut text, &heap::tables(profile, top, screen));
    if let Some(contention) = &content.contention {
        section(&mut text, &contention.deadlock_lines(screen));
        section(&mut text, &contention.locks(top, screen));
        section(&mut text, &contention.paths(top.min(BLOCKS), screen));
    }
    (!content.is_empty()).then_some(text)
}

/// Adds a section, behind an empty line where it is not the first.
fn section(text: &mut String, section: &str) {
    if !text.is_empty() && !section.is_empty() {
        text.push('\n');
    }
    text.push_str(section);
}

/// The blocks of the first rows, and how many more there are.
fn blocks<T>(rows: &[T], top: usize, block: impl Fn(&T) -> String) -> String {
    let mut text = String::new();
    for row in rows.iter().take(top) {
        section(&mut text, &block(row));
    }
    if rows.len() > top {
        let more = plural((rows.len() - top) as u64, "more method");
        text += &format!("\nand {more} (--top)\n");
    }
    text
}

/// Everything a profile has.
#[derive(Debug)]
struct Content<'a> {
    profile: &'a Profile,
    joined: &'a InferredCallers,
    /// How much of each metric a filter let through; empty where there is none.
    filtered: Vec<String>,
    /// The numbers of each leading metric and of the one that was asked for, in order of interest.
    metrics: Vec<View<'a>>,
    /// The metric that was asked for.
    asked: Option<Metric>,
    calls: Option<Calls<'a>>,
    objects: Option<Objects<'a>>,
    contention: Option<Contention<'a>>,
    fields: Option<Fields<'a>>,
    tree: &'a MethodTree,
}

impl<'a> Content<'a> {
    /// What `profile` has; trees and the methods to begin with are by `asked`, or by the first
    /// metric there is.
    fn of_metric(
        profile: &'a Profile,
        tree: &'a MethodTree,
        joined: &'a InferredCallers,
        asked: Option<Metric>,
    ) -> Self {
        let metrics = Metric::all_of(profile).into_iter();
        let metrics = metrics.filter(|it| it.is_leading() || asked.as_ref() == Some(it));
        Self {
            profile,
            joined,
            filtered: Vec::new(),
            metrics: metrics.map(|metric| View::new(profile, tree, joined, metric)).collect(),
            asked,
            calls: Calls::new(profile, tree),
            objects: Objects::new(profile, tree),
            contention: Contention::new(profile),
            fields: Fields::new(profile),
            tree,
        }
    }

    /// The numbers of a metric.
    fn view(&self, metric: &Metric) -> Option<&View<'a>> {
        self.metrics.iter().find(|view| view.metric == *metric)
    }

    fn samples(&self) -> Option<&View<'a>> {
        self.view(&Metric::Samples)
    }

    /// What trees and the methods to begin with are by.
    fn main_view(&self) -> Option<&View<'a>> {
        match &self.asked {
            Some(metric) => self.view(metric),
            None => self.metrics.first(),
        }
    }

    /// What other tools measured.
    fn other_metrics(&self) -> impl Iterator<Item = &View<'a>> {
        self.metrics.iter().filter(|view| view.metric.is_other())
    }

    /// Those of them that are of no call path.
    fn pathless(&self) -> impl Iterator<Item = &View<'a>> {
        self.other_metrics().filter(|view| !view.has_paths())
    }

    fn is_empty(&self) -> bool {
        self.metrics.is_empty()
            && self.calls.is_none()
            && self.objects.is_none()
            && self.contention.is_none()
            && self.fields.is_none()
            && self.profile.heaps().next().is_none()
    }

    /// What there is, in a line: `12 samples of 10 ms = 120 ms of CPU time`.
    fn total(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.samples().map(View::total));
        parts.extend(self.calls.as_ref().map(Calls::total));
        parts.extend(self.objects.as_ref().map(Objects::total));
        parts.extend(self.other_metrics().filter(|view| view.has_paths()).map(View::total));
        parts.extend(self.contention.as_ref().map(Contention::total));
        parts.extend(self.fields.as_ref().map(Fields::total));
        parts.extend(heap::total(self.profile));
        match parts.is_empty() {
            true => plural(0, "sample"),
            false => parts.join("; "),
        }
    }

    /// What a reader must know of the numbers: what they are a part of, and what is inferred.
    fn conditions(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.filtered.is_empty() {
            lines.push(format!("filtered: {}", self.filtered.join(", ")));
        }
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
                let share = view.percent(number);
                let metric = show::metric(&view.metric);
                lines.push(format!(
                    "inferred: the callers of {traces}, {share} % of {metric} (see --no-infer)"
                ));
            }
        }
        lines
    }
}

/// Everything there is; of the metric alone that was asked for, if one was.
fn write_all(
    args: &ReportArgs,
    content: &Content<'_>,
    mut lines: Vec<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let screen = Screen::of_stdout();
    let top = args.top.unwrap_or(ROWS);
    let blocks = args.top.unwrap_or(BLOCKS);
    if let Some(accounting) = &content.profile.accounting {
        let jvm = format!(" (pid {}, {})", accounting.pid, printable(&accounting.jvm));
        let program = screen.cut_end(&printable(&accounting.program), jvm.chars().count());
        lines.insert(1, format!("{program}{jvm}"));
    }
    let line_count = write_lines(&lines, &screen, out)?;
    let mut sections = Vec::new();
    if let Some(head) = Head::new(content, head::MOST) {
        let rows = args.top.map(|top| top.min(head::MOST));
        sections.push(head.section(rows, line_count + 1, &screen));
    }
    let is_asked = |metric: &Metric| content.asked.as_ref().is_none_or(|asked| asked == metric);
    if let Some(view) = content.samples().filter(|_| is_asked(&Metric::Samples)) {
        sections.extend(view_sections(args, view, &screen));
    }
    if let Some(calls) = content.calls.as_ref().filter(|_| is_asked(&Metric::SelfTime)) {
        sections.push(calls.by_self(top, &screen));
        sections.push(calls.by_total(top, content.filtered.is_empty(), &screen));
        sections.push(calls.chatty(blocks, &screen));
        if args.threads {
            sections.extend(calls.threads(content.tree, blocks, &screen));
        }
    }
    if content.asked.is_none() {
        if let Some(objects) = &content.objects {
            sections.push(objects.sites(blocks, &screen));
            sections.push(objects.classes(top, &screen));
            sections.push(objects.methods(content.tree, top, &screen));
        }
        sections.push(summaries::table(content.profile, &screen));
    }
    for view in &content.metrics {
        let is_its = match view.metric {
            Metric::Samples | Metric::SelfTime => false,
            Metric::Other(..) => is_asked(&view.metric),
            // Their own tables say more, unless one is asked for.
            _ => content.asked.as_ref() == Some(&view.metric),
        };
        if is_its && view.has_paths() {
            sections.extend(view_sections(args, view, &screen));
        }
    }
    let pathless: Vec<_> = content.pathless().filter(|view| is_asked(&view.metric)).collect();
    sections.push(totals::table(&pathless, top, &screen));
    sections.push(heap::tables(content.profile, top, &screen));
    if let Some(contention) = content.contention.as_ref().filter(|_| content.asked.is_none()) {
        sections.push(contention.deadlock_lines(&screen));
        sections.push(contention.locks(top, &screen));
        sections.push(contention.paths(blocks, &screen));
        if args.threads {
            sections.push(contention.threads(top, &screen));
        }
        sections.push(contention.last_dump(blocks, &screen));
    }
    if let Some(fields) = content.fields.as_ref().filter(|_| content.asked.is_none()) {
        sections.push(fields.shared_fields(top, &screen));
        sections.push(fields.classes(top, &screen));
        sections.push(fields.fields(top, &screen));
        sections.push(fields.sites(top, &screen));
    }
    for section in sections.iter().filter(|section| !section.is_empty()) {
        write!(out, "\n{section}")?;
    }
    if let Some(accounting) = &content.profile.accounting {
        writeln!(out, "\n{}", screen.heading("Accounting"))?;
        for line in accounting::lines(accounting) {
            writeln!(out, "{}", screen.wrap(&line, ACCOUNTS))?;
        }
    }
    Ok(())
}

/// The views that the options name. Returns what there is nothing of.
fn write_views(
    args: &ReportArgs,
    content: &Content<'_>,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let screen = Screen::of_stdout();
    let top = args.top.unwrap_or(ROWS);
    let mut missing = Vec::new();
    let mut sections = Vec::new();
    let mut add = |wanted: bool, section: Option<String>, what: &str| match section
        .filter(|section| !section.is_empty())
    {
        _ if !wanted => {}
        Some(section) => sections.push(section),
        None => missing.push(format!("no {what}")),
    };
    let view = content.main_view();
    // Counted calls say more of callers and callees than the numbers of any one metric.
    let calls = content.calls.as_ref().filter(|_| content.asked.is_none());
    let callers = view
        .filter(|_| calls.is_none() && (args.edges || args.method.is_some()))
        .map(|view| Callers::new(content, view));
    let objects = content.objects.as_ref();
    if args.lines {
        add(true, view.map(|view| view.line_table(top, &screen)), "call traces");
    }
    if let Some(order) = args.tree {
        let tree = view.map(|view| match order {
            TreeOrder::TopDown => tree::section(content, view, args.min, &screen),
            TreeOrder::BottomUp => tree::bottom_up_section(content, view, args.min, &screen),
        });
        add(true, tree, "call tree");
    }
    if args.edges {
        let edges = calls.map(|calls| calls.edges(top, &screen));
        add(true, edges.or_else(|| Some(callers.as_ref()?.all(top, &screen))), "calls");
    }
    if let Some(name) = &args.method {
        let found = calls.map(|calls| calls.butterflies(name, top, &screen));
        let found = found.or_else(|| Some(callers.as_ref()?.butterflies(name, top, &screen)));
        add(true, found, &format!("calls of {}", name.as_str()));
    }
    add(args.sites, objects.map(|objects| objects.sites(top, &screen)), "allocation sites");
    let heaps = heap::tables(content.profile, top, &screen);
    if objects.is_some() || heaps.is_empty() {
        let classes = objects.map(|objects| objects.classes(top, &screen));
        add(args.classes, classes, "allocation sites");
    }
    add(args.classes && !heaps.is_empty(), Some(heaps), "heap dumps");
    if args.monitors {
        let contention = content.contention.as_ref();
        add(true, contention.map(|it| it.views(top, &screen)), "monitors");
    }
    for section in sections {
        write!(out, "\n{section}")?;
    }
    Ok(missing)
}

/// The tables of one metric.
fn view_sections(args: &ReportArgs, view: &View<'_>, screen: &Screen) -> Vec<String> {
    let top = args.top.unwrap_or(ROWS);
    let blocks = args.top.unwrap_or(BLOCKS);
    let methods = view.methods();
    let section =
        |title: &str, table: String| format!("{}\n{table}", screen.heading(&view.title(title)));
    let by_self = view.table(&methods, By::Own, top, args.traces, screen);
    let by_total = view.table(&methods, By::Total, top, false, screen);
    let mut sections = vec![
        section("Top methods by self", by_self),
        section("Top methods by total", by_total),
        section("Top call paths, innermost frame first", paths::blocks(view, blocks, screen)),
    ];
    if args.threads {
        sections.extend(thread_sections(view, blocks, screen));
    }
    sections
}

fn thread_sections(view: &View<'_>, top: usize, screen: &Screen) -> Vec<String> {
    let threads = top::threads(view.profile, &view.numbers);
    if threads.is_empty() {
        return vec![no_threads(screen) + "\n"];
    }
    let section = |(thread, number)| {
        let name = printable(view.profile.thread_name(thread));
        let heading = format!("Thread {name}: {}", view.amount(number));
        let of_thread = view.of_thread(thread);
        let table = of_thread.table(&of_thread.methods(), By::Own, top, false, screen);
        format!("{}\n{table}", screen.heading(&heading))
    };
    threads.into_iter().map(section).collect()
}

/// What stands in the place of the threads' tables where there are none.
fn no_threads(screen: &Screen) -> String {
    let hint = "the profile does not distinguish threads (perk run --threads does)";
    screen.wrap(&format!("{}: {hint}", screen.heading("Threads")), INDENT)
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
    use perk_profile::{Event, Frame, Line, Method, OtherMetric, Unit};

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
        let frame = profile.symbols.frame(Frame { method, bci: None, line: Line::Number(3) });
        let node = profile.tree.insert([frame]).node;
        let trace = profile.trace(node, None);
        for (name, unit, number) in
            [("delay", Unit::Nanoseconds, 5_000_000), ("misses", Unit::Count, 7)]
        {
            profile.events.push(Event::Other(OtherMetric {
                name: name.to_owned(),
                unit,
                total: 2 * number,
                rows: vec![(trace, number)],
            }));
        }
        profile
    }

    fn shown(profile: &Profile, options: &[&str]) -> String {
        let joined = InferredCallers::default();
        let args = args(options);
        let metric = args.metric.as_ref().and_then(|name| Metric::find(profile, name));
        let tree = MethodTree::new(profile);
        let content = Content::of_metric(profile, &tree, &joined, metric);
        let mut text = Vec::new();
        if args.csv {
            assert_eq!(csv::write(&content, &args, &mut text).unwrap(), None);
        } else {
            write_all(&args, &content, vec![content.total()], &mut text).unwrap();
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_other_tools_measured_is_shown() {
        let profile = measured();
        let text = shown(&profile, &[]);
        let first = "10 ms of delay, 5 ms of them below the file's cutoff; \
                     14 misses, 7 of them below the file's cutoff\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("1   50.00  5 ms     25.00  2.5 ms    50.00  T.f\n"), "{text}");
        assert!(text.contains("\nTop methods by self: delay\n"), "{text}");
        assert!(text.contains("\nTop methods by total: misses\n"), "{text}");
        let text = shown(&profile, &["--metric", "misses"]);
        assert!(text.contains("1   50.00     7     25.00     3.5    50.00  T.f\n"), "{text}");
        assert!(!text.contains("by self: delay"), "{text}");
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
