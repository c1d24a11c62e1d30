//! `perk report`: a profile as tables, as CSV or as JSON.

mod allocations;
mod brief;
mod calls;
mod content;
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

#[cfg(test)]
mod fixture;

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use perk_analysis::{InferredCallers, MethodTree, inferred};
use perk_open::display_name;
use perk_profile::Profile;
use perk_profile::units::{plural, printable};
use perk_render::{Part, Screen, Section};

use crate::args::ReportArgs;
use crate::filter::quoted;
use crate::input;
use crate::{accounting, talk, window};
use content::Content;
use fields::Fields;
pub(crate) use heap::classes as heap_classes;
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
/// The exit code where there is nothing to report.
const NOTHING: u8 = 1;

/// Reads a file and reports on stdout.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let ask = Ask::new(args);
    if args.csv && ask.is_of_many() {
        bail!("--csv shows one view: ask for one of them");
    }
    let page = args.output.as_deref().map(source::page_target).transpose()?;
    let window = args.read.window(args.window.to);
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
    let mut content = Content::of_metric(&input.profile, &tree, &joined, metric);
    (content.filtered, content.window) = (filtered, window);
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
        let head = content.head(ask.methods());
        let top = args.top.unwrap_or(usize::MAX);
        let file = (&*name, input.format.ending());
        json::report(&content, file, head, top, ask.min).write(&mut out)?;
    } else if args.csv {
        for line in content.conditions() {
            talk::say(format_args!("{name}: {line}"));
        }
        missing.extend(write_csv(&content, &ask, &mut out)?);
    } else {
        // The first screen has the other numbers further down.
        let is_short = ask.views.is_empty() && !ask.is_long && !ask.is_brief;
        let total = if is_short { content.totals().swap_remove(0) } else { content.total() };
        let mut lines = vec![format!("{name}: {}, {total}", input.format.title())];
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
        let head = content.head(head::MOST);
        let title = lines.swap_remove(0);
        for line in brief::lines(content, head, title, &ask.file) {
            writeln!(out, "{line}")?;
        }
        return Ok(Vec::new());
    }
    if !ask.views.is_empty() {
        write_lines(&lines, &screen, out)?;
        let mut missing = Vec::new();
        for view in &ask.views {
            match perk_render::text(view.sections(content, ask, &screen), &screen) {
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
    let head = content.head(ask.methods());
    if !ask.is_long {
        lines.extend(content.losses().map(|losses| format!("lost: {losses}")));
        let used = write_lines(&lines, &screen, out)? + 1;
        let text = summary::of_report(content, head, &ask.file, ask.top, used, &screen);
        if !text.is_empty() {
            write!(out, "\n{text}")?;
        }
        return Ok(Vec::new());
    }
    write_lines(&lines, &screen, out)?;
    let sections = views::everything(content, head, ask, &screen);
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
    let head = content.head(top.unwrap_or(head::MOST));
    let facts = content.fields.iter().flat_map(Fields::facts).map(Part::Sentence).collect();
    let facts = perk_render::text([facts], screen);
    let lines = summary::LINES;
    let text = summary::of_run(&content, head, &file, top, lines, screen);
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
    use perk_profile::{Frame, Line, Method, Metric, Section, Unit};

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
