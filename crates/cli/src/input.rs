//! Reads profiles that the command line names, with a progress bar, and prints the notes of the reader.

use std::path::Path;

use anyhow::bail;
use perk_open::{Input, Options, Source, display_name};
use perk_profile::units::printable;
use perk_report::NamedItem;

use crate::args::ReadArgs;
use crate::progress::ProgressStream;
use crate::store::{self, Part};
use crate::talk;

/// Reads the profile in `path`, or on stdin where it is `-`, as `args` say; of a store this part.
pub(crate) fn read(path: &Path, args: &ReadArgs, part: &Part) -> anyhow::Result<NamedItem<Input>> {
    if store::is_store(path) {
        let input = part.read(path, &args.options())?;
        return Ok(NamedItem::new(part.name(path), input));
    }
    let name = display_name(path);
    if let Some((option, _)) = args.part.given().next() {
        bail!("{name} is no store: {option} selects a part of a store");
    }
    Ok(NamedItem::new(name, open(path, &args.options())?))
}

/// Reads a profile; shows how far it is on a terminal, and says on stderr what was skipped.
pub(crate) fn open(path: &Path, options: &Options) -> anyhow::Result<Input> {
    let name = display_name(path);
    let source = Source::at(path)?.watched(ProgressStream::new);
    let input = source.profile(options)?;
    for note in &input.profile.notes {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    Ok(input)
}
