//! `perk report`: a profile as tables, as CSV or as JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use perk_open::{Input, is_stream};
use perk_render::Screen;
use perk_report::selection::names;
use perk_report::{Extent, NamedItem, ProfileRequest, ProfileView, View, Want};

use crate::args::ReportArgs;
use crate::output::Target;
use crate::store::{Detail, Part};
use crate::{answer, input, talk};

/// The exit code where there is nothing to report.
const NOTHING: u8 = 1;

/// Reads a file and reports on stdout.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let request = request(args);
    request.check()?;
    let page = args.output.as_deref().map(page_target).transpose()?;
    let input = input(args)?;
    names::check(&args.read.app, &request.filter, &[(&input.name, &input.it.profile)])?;
    let answer = request.answer(input)?;
    if let Some((target, page)) = page.zip(answer.page.as_ref()) {
        target.write_with(&|out| out.write_all(page))?;
    }
    answer::write(&answer, (request.want, args.top), &request.screen)?;
    Ok(if answer.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOTHING) })
}

/// The file, or several as one.
fn input(args: &ReportArgs) -> anyhow::Result<NamedItem<Input>> {
    let detail = Detail {
        has_times: !args.read.window(args.window.to).is_whole(),
        has_threads: args.threads || args.all || args.json,
        has_labels: args.all || args.json,
    };
    let part = Part::new(&args.read.part, &args.filter, args.by.as_deref(), detail);
    if let [file] = &args.files[..] {
        return input::read(file, &args.read, &part);
    }
    if args.files.iter().filter(|file| is_stream(file)).count() > 1 {
        bail!("only one of the profiles can come from stdin");
    }
    let read = |file: &PathBuf| {
        let NamedItem { name, it } = input::read(file, &args.read, &part)?;
        Ok((name, it))
    };
    let inputs = args.files.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let name = format!("{} files", inputs.len());
    let sum = perk_open::sum(inputs)?;
    sum.profile.notes.iter().for_each(|note| talk::say(format_args!("{note}")));
    Ok(NamedItem::new(name, sum))
}

fn request(args: &ReportArgs) -> ProfileRequest {
    let views = [
        args.advice.then_some(ProfileView::Advice),
        args.lines.then_some(ProfileView::Lines),
        (!args.source.is_empty()).then_some(ProfileView::Source),
        args.tree.map(|order| ProfileView::Tree(order.into())),
        args.edges.then_some(ProfileView::Edges),
        args.method.clone().map(ProfileView::Callers),
        args.field.clone().map(ProfileView::Field),
        args.sites.then_some(ProfileView::Sites),
        args.classes.then_some(ProfileView::Classes),
        args.monitors.then_some(ProfileView::Monitors),
    ];
    ProfileRequest {
        window: args.read.window(args.window.to),
        filter: args.filter.filter(),
        by: args.by.clone(),
        metric: args.metric.clone(),
        infers_callers: !args.no_infer,
        views: views.into_iter().flatten().collect(),
        extent: match () {
            () if args.brief => Extent::Facts,
            () if args.all => Extent::Everything,
            () => Extent::Summary,
        },
        threads: args.threads,
        traces: args.traces,
        top: args.top,
        most_rows: usize::MAX,
        min_percent: args.min,
        sources: args.source.clone(),
        whole_sources: args.whole,
        source_part: None,
        paths: args.files.clone(),
        part: args.read.part.given().map(|(option, value)| (option, value.to_owned())).collect(),
        screen: if args.markdown { Screen::default() } else { Screen::of_stdout() },
        want: match args.output {
            Some(_) => Want::PAGE,
            None => answer::wanted(args.json, args.csv, args.markdown),
        },
    }
}

/// The HTML page to write.
///
/// # Errors
/// It could not be written as things are now, or its name does not end in `.html`.
fn page_target(path: &Path) -> anyhow::Result<Target> {
    let target = Target::of_path(path)?;
    if target.format.name() != "html" {
        bail!("{}: perk writes source files as .html", path.display());
    }
    target.check()?;
    Ok(target)
}
