//! Two profiles as one flame graph.

use anyhow::{Context, bail};
use perk_formats::View;
use perk_profile::{Metric, Profile};
use perk_report::selection::metric;

use crate::args::{DiffArgs, Side};
use crate::file_format;
use crate::output::Target;
use crate::talk;

/// Writes the graphs that `args` ask for.
pub(super) fn write(
    args: &DiffArgs,
    mut profiles: [&Profile; 2],
    mut names: [&str; 2],
) -> anyhow::Result<()> {
    let mut metrics = match &args.metric {
        Some(name) => [metric::find(profiles[0], name)?, metric::find(profiles[1], name)?],
        None => common(profiles).with_context(|| {
            let instead = match profiles.map(perk_open::has_only_heaps) {
                [true, true] => ": heap dumps are compared by class, without -o",
                _ => "",
            };
            format!("{} and {} have no common metric by call path{instead}", names[0], names[1])
        })?,
    };
    if !are_alike(profiles, &metrics) {
        bail!("{} and {}: only one has {} by call path", names[0], names[1], metrics[0].name());
    }
    if args.by == Side::Before {
        profiles.reverse();
        names.reverse();
        metrics.reverse();
    }
    let merged = profiles.map(Profile::without_threads);
    let view = |side: usize| View::new(&merged[side], names[side]).with_metric(&metrics[side]);
    let before = view(0);
    let view = View { before: Some(&before), ..view(1) };
    for path in &args.output {
        let target = Target::of_path(path)?;
        let format = target.format;
        if !format.has_one_metric() {
            let endings = file_format::list(
                |format| format.has_one_metric(),
                |format| format!(".{}", format.ending()),
                "or",
            );
            bail!("{}: perk writes a comparison as {endings}", path.display());
        }
        target.write(&view)?;
        if let Some(note) = format.depth_note(&profiles) {
            talk::say(format_args!("{note}"));
        }
    }
    Ok(())
}

/// The first metric that both have.
fn common(profiles: [&Profile; 2]) -> Option<[Metric; 2]> {
    let other = |metric: &Metric| Metric::find(profiles[1], metric.name());
    let all = Metric::all_of(profiles[0]).into_iter();
    let mut pairs = all.filter_map(|metric| other(&metric).map(|other| [metric, other]));
    pairs.find(|metrics| are_alike(profiles, metrics))
}

/// Whether both profiles have the metric by call path, or both by callee and caller.
fn are_alike(profiles: [&Profile; 2], metrics: &[Metric; 2]) -> bool {
    metrics[0].is_by_pair(profiles[0]) == metrics[1].is_by_pair(profiles[1])
}
