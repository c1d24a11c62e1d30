//! `perk report`: what a profile says, as tables or as JSON.

mod allocations;
mod calls;
mod fields;
mod heap;
mod json;
mod monitors;
pub(crate) mod paths;
mod samples;
mod summaries;
pub(crate) mod table;
mod tree;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use perk_profile::{MethodTree, NamePattern, Profile, top};

use crate::args::ReportArgs;
use crate::input::{self, display_name};
use crate::show::{Screen, printable};
use crate::{accounting, talk};
use allocations::Objects;
use calls::Calls;
use fields::Fields;
use monitors::Contention;
use samples::{By, View};

/// Rows of a table, where `--top` does not say it.
const ROWS: usize = 15;
/// Rows with lines below them, where `--top` does not say it.
const BLOCKS: usize = 5;
/// The exit code where there is nothing to report.
const NOTHING: u8 = 1;

/// Reads a file and reports on stdout.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let input = input::read(&args.file, &args.read)?;
    let name = display_name(&args.file);
    let content = Content::new(&input.profile);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut missing = Vec::new();
    if args.json {
        json::write(&input, &name, &content, args, &mut out)?;
    } else {
        writeln!(out, "{name}: {}, {}", input.form.title(), content.total())?;
        if args.has_views() {
            missing = write_views(args, &content, &mut out)?;
        } else {
            write_all(args, &content, &mut out)?;
        }
    }
    out.flush()?;
    if content.is_empty() {
        missing = vec![
            "nothing to report: no samples, calls, allocation sites, monitors or heap dumps"
                .to_owned(),
        ];
    }
    for what in &missing {
        talk::say(format_args!("{name} has {what}"));
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOTHING) })
}

/// The first tables of everything a profile has, for the end of a run; `None` where it has nothing.
pub(crate) fn summary(profile: &Profile, top: usize, screen: &Screen) -> Option<String> {
    let content = Content::new(profile);
    let mut text = String::new();
    if content.has_samples() {
        text += &content.samples.table(&content.samples.methods(), By::Own, top, false, screen);
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

/// Everything a profile has.
#[derive(Debug)]
struct Content<'a> {
    profile: &'a Profile,
    samples: View<'a>,
    calls: Option<Calls<'a>>,
    objects: Option<Objects<'a>>,
    contention: Option<Contention<'a>>,
    fields: Option<Fields<'a>>,
    tree: MethodTree,
}

impl<'a> Content<'a> {
    fn new(profile: &'a Profile) -> Self {
        let tree = MethodTree::new(profile);
        Self {
            profile,
            samples: View::new(profile),
            calls: Calls::new(profile, &tree),
            objects: Objects::new(profile, &tree),
            contention: Contention::new(profile),
            fields: Fields::new(profile),
            tree,
        }
    }

    fn has_samples(&self) -> bool {
        self.samples.samples.total > 0
    }

    fn is_empty(&self) -> bool {
        !self.has_samples()
            && self.calls.is_none()
            && self.objects.is_none()
            && self.contention.is_none()
            && self.fields.is_none()
            && self.profile.heaps().next().is_none()
    }

    /// What there is, in a line: `12 samples of 10 ms = 120 ms of CPU time`.
    fn total(&self) -> String {
        let mut parts = Vec::new();
        if self.has_samples() || self.is_empty() {
            parts.push(self.samples.total());
        }
        parts.extend(self.calls.as_ref().map(Calls::total));
        parts.extend(self.objects.as_ref().map(Objects::total));
        parts.extend(self.contention.as_ref().map(Contention::total));
        parts.extend(self.fields.as_ref().map(Fields::total));
        parts.extend(heap::total(self.profile));
        parts.join("; ")
    }
}

fn write_all(args: &ReportArgs, content: &Content<'_>, out: &mut dyn Write) -> io::Result<()> {
    let screen = Screen::of_stdout();
    let top = args.top.unwrap_or(ROWS);
    let blocks = args.top.unwrap_or(BLOCKS);
    if let Some(accounting) = &content.profile.accounting {
        let jvm = format!(" (pid {}, {})", accounting.pid, printable(&accounting.jvm));
        let program = screen.cut_end(&printable(&accounting.program), jvm.chars().count());
        writeln!(out, "{program}{jvm}")?;
    }
    if content.has_samples() {
        write_samples(args, &content.samples, &screen, out)?;
    }
    let mut sections = Vec::new();
    if let Some(calls) = &content.calls {
        sections.push(calls.by_self(top, &screen));
        sections.push(calls.by_total(top, &screen));
        sections.push(calls.chatty(blocks, &screen));
        if args.threads {
            sections.extend(calls.threads(&content.tree, blocks, &screen));
        }
    }
    if let Some(objects) = &content.objects {
        sections.push(objects.sites(blocks, &screen));
        sections.push(objects.classes(top, &screen));
        sections.push(objects.methods(&content.tree, top, &screen));
    }
    sections.push(summaries::table(content.profile, &screen));
    sections.push(heap::tables(content.profile, top, &screen));
    if let Some(contention) = &content.contention {
        sections.push(contention.deadlock_lines(&screen));
        sections.push(contention.locks(top, &screen));
        sections.push(contention.paths(blocks, &screen));
        if args.threads {
            sections.push(contention.threads(top, &screen));
        }
        sections.push(contention.last_dump(blocks, &screen));
    }
    if let Some(fields) = &content.fields {
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
            writeln!(out, "{line}")?;
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
    let calls = content.calls.as_ref();
    let objects = content.objects.as_ref();
    if args.tree {
        add(true, tree::section(content, args.min, &screen), "call tree");
    }
    add(args.edges, calls.map(|calls| calls.edges(top, &screen)), "calls");
    if let Some(name) = &args.method {
        let found = calls.map(|calls| calls.butterflies(name, top, &screen));
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

fn write_samples(
    args: &ReportArgs,
    view: &View<'_>,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = args.top.unwrap_or(ROWS);
    let methods = view.methods();
    writeln!(out, "\n{}", screen.heading("Top methods by self"))?;
    out.write_all(view.table(&methods, By::Own, top, args.traces, screen).as_bytes())?;
    writeln!(out, "\n{}", screen.heading("Top methods by total"))?;
    out.write_all(view.table(&methods, By::Total, top, false, screen).as_bytes())?;
    writeln!(out, "\n{}", screen.heading("Top call paths, innermost frame first"))?;
    out.write_all(paths::blocks(view, args.top.unwrap_or(BLOCKS), screen).as_bytes())?;
    if args.threads {
        write_threads(view, args.top.unwrap_or(BLOCKS), screen, out)?;
    }
    Ok(())
}

fn write_threads(
    view: &View<'_>,
    top: usize,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let threads = top::threads(view.profile, &view.samples);
    if threads.is_empty() {
        return writeln!(out, "\n{}", no_threads(screen));
    }
    for (thread, count) in threads {
        let name = printable(view.profile.thread_name(thread));
        let heading = format!("Thread {name}: {}", view.amount(count));
        writeln!(out, "\n{}", screen.heading(&heading))?;
        let of_thread = view.of_thread(thread);
        let methods = of_thread.methods();
        out.write_all(of_thread.table(&methods, By::Own, top, false, screen).as_bytes())?;
    }
    Ok(())
}

/// What stands in the place of the threads' tables where there are none.
fn no_threads(screen: &Screen) -> String {
    let hint = "the profile does not tell threads apart (perk run --threads does)";
    format!("{}: {hint}", screen.heading("Threads"))
}

/// A pattern on the command line.
pub(crate) fn name_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::new(text).ok_or_else(|| "name a method: bar, Foo.bar, 'com.acme.*'".to_owned())
}

/// A share on the command line, as `0.5%` or `0.5`, in percent.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("use a share from 0% to 100%, such as 0.5%".to_owned()),
    }
}
