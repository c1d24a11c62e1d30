//! Two profiles as one flame graph.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, bail};
use perk_formats::{collapsed, flamegraph, svg};
use perk_profile::{Profile, Value};

use crate::args::{DiffArgs, Side};
use crate::form::Form;
use crate::input::is_stream;
use crate::output::Target;
use crate::{talk, value};

/// Writes the graphs that `args` ask for.
pub(super) fn write(
    args: &DiffArgs,
    mut profiles: [&Profile; 2],
    mut names: [&str; 2],
) -> anyhow::Result<()> {
    let mut values = match &args.value {
        Some(name) => [value::find(profiles[0], name)?, value::find(profiles[1], name)?],
        None => common(profiles).with_context(|| {
            format!("{} and {} have no numbers of one kind by call path", names[0], names[1])
        })?,
    };
    if args.by == Side::Before {
        profiles.reverse();
        names.reverse();
        values.reverse();
    }
    for path in &args.output {
        let form = Form::of_path(path)?;
        let write = |out: &mut dyn Write| -> io::Result<()> {
            match form {
                Form::Html => flamegraph::write_pair(profiles, values, names, out),
                Form::Svg => svg::write_pair(profiles, values, names, out),
                _ => collapsed::write_pair(profiles, values, out),
            }
        };
        if !matches!(form, Form::Html | Form::Svg | Form::Collapsed) {
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

/// The first value that both have.
fn common(profiles: [&Profile; 2]) -> Option<[Value; 2]> {
    let of = |value: Value| Value::find(profiles[1], value.name(profiles[0]));
    Value::all_of(profiles[0]).into_iter().find_map(|value| Some([value, of(value)?]))
}
