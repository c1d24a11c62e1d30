//! `perk convert`: the same profile in another format.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use perk_open::{Input, has_only_heaps, is_stream};
use perk_profile::Timestamp;
use perk_report::{Conversion, NamedItem};

use crate::args::ConvertArgs;
use crate::file_format;
use crate::input;
use crate::output::{self, Target};
use crate::store::{Detail, Part};
use crate::talk;

/// Reads one file and writes another.
pub(crate) fn convert(args: &ConvertArgs) -> anyhow::Result<()> {
    let to_stdout = is_stream(&args.output);
    let format = match args.output_format {
        Some(format) => format,
        None if to_stdout => bail!("-o - has no ending: name the format with --output-format"),
        None => file_format::of_path(&args.output)?,
    };
    if let Some(name) = args.metric.as_ref().filter(|_| !format.has_one_metric()) {
        let title = format.title();
        let others = file_format::list(|it| it.has_one_metric(), |it| it.name().to_owned(), "and");
        bail!("{title} holds whole profiles: --metric {name} applies to {others}");
    }
    let mut target = Target { path: args.output.clone(), format };
    if !to_stdout {
        if output::is_same_file(&args.file, &args.output) {
            let path = args.output.display();
            bail!("{path} is both input and output: name another file with -o");
        }
        target.check()?;
    }
    let window = args.read.window(args.window.to);
    let part = Part::new(&args.read.part, &args.filter, None, Detail::ALL);
    let NamedItem { name, it } = input::read(&args.file, &args.read, &part)?;
    let Input { profile, format: input_form } = it;
    // `.prof` is the ending of several formats.
    if args.output_format.is_none()
        && input_form.is_written()
        && file_format::has_ending(input_form, &target.path)
    {
        target.format = input_form;
    }
    let format = target.format;
    let has_heaps = profile.heaps().next().is_some();
    if has_only_heaps(&profile) {
        let target = if to_stdout { "stdout".into() } else { args.output.display().to_string() };
        bail!(
            "cannot write {target}: {name} has only heap dumps, and no format can hold their \
             objects: perk heap shows what holds them, perk report their classes"
        );
    }
    let conversion = Conversion {
        format,
        window,
        filter: &args.filter.filter(),
        app: &args.read.app,
        by: args.by.as_deref(),
        metric: args.metric.as_deref(),
        threads: args.threads,
        date: input_date(&args.file),
    };
    let mut notes = Vec::new();
    let converted = conversion.apply(profile, &name, &mut notes)?;
    notes.iter().for_each(|note| talk::say(format_args!("{note}")));
    if converted.has_merged_threads {
        talk::say(format_args!(
            "all threads are one in {} (--threads distinguishes them)",
            format.title()
        ));
    }
    let view = converted.view();
    if to_stdout {
        let mut out = BufWriter::new(io::stdout().lock());
        format
            .write_view(&view, &mut out)
            .and_then(|()| out.flush())
            .context("cannot write to stdout")?;
    } else {
        target.write(&view)?;
    }
    if let Some(note) = format.depth_note(&[&converted.profile]) {
        talk::say(format_args!("{note}"));
    }
    if has_heaps && format.ending() == "hprof" {
        talk::say(format_args!(
            "heap dumps keep only the sums by class, without the objects (perk heap shows what \
             holds them)"
        ));
    }
    let losses = format.losses(&view);
    if !losses.is_empty() {
        let title = format.title();
        talk::say(format_args!("left out, as {title} cannot hold it: {}", losses.join(", ")));
    }
    Ok(())
}

/// Returns the date of a file, for a profile without one: that of the last change, or now.
fn input_date(path: &Path) -> Option<Timestamp> {
    let changed = if is_stream(path) { None } else { fs::metadata(path).ok()?.modified().ok() };
    let date = changed.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp { unix_ms: u64::try_from(date.as_millis()).ok()?, utc_offset_s: 0 })
}
