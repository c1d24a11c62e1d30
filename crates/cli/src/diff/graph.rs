//! Two profiles as one flame graph.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, bail};
use perk_formats::{collapsed, flamegraph, svg};
use perk_profile::{Metric, Profile};

use crate::args::{DiffArgs, Side};
use crate::file_format::FileFormat;
use crate::input::is_stream;
use crate::metric;
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
            format!("{} and {} have no common metric by call path", names[0], names[1])
        })?,
    };
    if args.by == Side::Before {
        profiles.reverse();
        names.reverse();
        metrics.reverse();
    }
    let metrics = [&metrics[0], &metrics[1]];
    for path in &args.output {
        let form = FileFormat::of_path(path)?;
        let write = |out: &mut dyn Write| -> io::Result<()> {
            match form {
                FileFormat::Html => flamegraph::write_pair(profiles, metrics, names, out),
                FileFormat::Svg => svg::write_pair(profiles, metrics, names, out),
                _ => collapsed::write_pair(profiles, metrics, out),
            }
        };
        if !matches!(form, FileFormat::Html | FileFormat::Svg | FileFormat::Collapsed) {
            bail!("{}: a comparison is written as .html, .svg or .collapsed", path.display());
        }
        if is_stream(path) {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush()).context("cannot write to stdout")?;
        } else {
            Target::of_path(path)?.write_with(&write)?;
        }
        if let Some(note) = form.depth_note(&profiles) {
            talk::say(format_args!("{note}"));
        }
    }
    Ok(())
}

/// The first metric that both have.
fn common(profiles: [&Profile; 2]) -> Option<[Metric; 2]> {
    let other = |metric: &Metric| Metric::find(profiles[1], metric.name());
    let mut all = Metric::all_of(profiles[0]).into_iter();
    all.find_map(|metric| other(&metric).map(|other| [metric, other]))
}
