//! `perk view`: a profile in the terminal.

use anyhow::bail;
use perk_open::has_only_heaps;
use perk_profile::units::duration;
use perk_report::NamedItem;
use perk_report::selection::{labels, metric, names, window};

use crate::args::ViewArgs;
use crate::input;
use crate::selection;
use crate::store::{Detail, Part};

/// Reads a file and shows it until the user leaves.
pub(crate) fn view(args: &ViewArgs) -> anyhow::Result<()> {
    let window = args.read.window(args.window.to);
    let detail = Detail { has_times: !window.is_whole(), ..Detail::SUMS };
    let part = Part::new(&args.read.part, &args.filter, args.by.as_deref(), detail);
    let NamedItem { mut name, it: mut input } = input::read(&args.file, &args.read, &part)?;
    let filter = args.filter.filter();
    names::check(&args.read.app, &filter, &[(&name, &input.profile)])?;
    if has_only_heaps(&input.profile) {
        bail!(
            "{name} has only heap dumps: perk heap shows what holds their objects, perk report their classes"
        );
    }
    if let Some(shown) = window::apply(window, &mut input.profile, &name)? {
        input.profile.notes.extend(window::lines(&shown));
        name += &format!(", {} to {}", duration(shown.from_ns), duration(shown.to_ns));
    }
    if let Some(line) = selection::apply_filter(&filter, &mut input.profile, &name) {
        name += &format!(", {line}");
        input.profile.notes.push(line);
    }
    if let Some(key) = &args.by {
        labels::root(&mut input.profile, key)?;
    }
    let profile = &input.profile;
    let metric = args.metric.as_deref().map(|name| metric::find(profile, name)).transpose()?;
    perk_ui::run(profile, &name, metric.as_ref())
}
