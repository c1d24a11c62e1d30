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

use crate::args::{DiffArgs, SidePattern};
use crate::store::{self, Detail, Part};
use crate::{answer, input, talk};

/// The exit code where the profiles differ, or differ past a limit.
const DIFFERS: u8 = 1;

/// Compares two files.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let after = args.after.as_ref().unwrap_or(&args.before);
    if is_stream(&args.before) && is_stream(after) {
        bail!("only one of the profiles can come from stdin");
    }
    if args.after.is_none() && !store::is_store(&args.before) {
        bail!("{} is no store: --base and --new select parts of one", display_name(&args.before));
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
    let has_times = !request.window.is_whole();
    let part = Part::new(&args.read.part, &args.filter, None, Detail { has_times, ..Detail::SUMS });
    let read = |path: &Path, side: &[SidePattern]| {
        let NamedItem { name, it } = input::read(path, &args.read, &part.side(side))?;
        anyhow::Ok(NamedItem::new(name, it.profile))
    };
    let sides = [read(&args.before, &args.base)?, read(after, &args.new)?];
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
