//! `perk diff`: what changed from one profile to another, and where. A flame graph shows both at once.

mod graph;
mod junit;

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use perk_open::{display_name, is_stream};
use perk_render::Screen;
use perk_report::selection::names;
use perk_report::{DiffRequest, NamedItem, View};

use crate::args::DiffArgs;
use crate::{answer, input, talk};

/// The exit code where the profiles differ, or differ past a limit.
const DIFFERS: u8 = 1;

/// Compares two files.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if is_stream(&args.before) && is_stream(&args.after) {
        bail!("only one of the profiles can come from stdin");
    }
    let want = answer::wanted(args.json, args.csv, args.markdown);
    let request = DiffRequest {
        window: args.read.window(args.window.to),
        filter: args.filter.filter(),
        metric: args.metric.clone(),
        top: args.top,
        normalizes: args.normalize,
        limits: args.fail_on.clone(),
        want,
    };
    let read = |path: &Path| {
        let profile = input::read(path, &args.read)?.profile;
        anyhow::Ok(NamedItem::new(display_name(path), profile))
    };
    let sides = [read(&args.before)?, read(&args.after)?];
    let both = sides.each_ref().map(|side| (&*side.name, &side.it));
    names::check(&args.read.app, &request.filter, &both)?;
    let select = |side| {
        let mut notes = Vec::new();
        let side = request.select(side, &mut notes)?;
        notes.iter().for_each(|note| talk::say(format_args!("{note}")));
        anyhow::Ok(side)
    };
    let [before, after] = sides;
    let (mut before, mut after) = (select(before)?, select(after)?);
    let answer = request.answer([&mut before, &mut after])?;
    if !args.output.is_empty() {
        graph::write(args, [&before.it, &after.it], [&before.name, &after.name])?;
    }
    if let Some(path) = &args.junit {
        junit::write(path, &answer, [&before.name, &after.name])?;
    }
    answer::write(&answer, (want, args.top), &Screen::of_stdout())?;
    Ok(if answer.differs { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS })
}
