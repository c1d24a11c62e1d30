//! Reads profiles that the command line names, with a progress bar, and prints the notes of the reader.

use std::path::Path;

use perk_open::{Input, Options, Source};
use perk_profile::units::printable;

use crate::args::ReadArgs;
use crate::progress::ProgressStream;
use crate::talk;

/// Reads the profile in `path`, or on stdin where it is `-`, as `args` say.
pub(crate) fn read(path: &Path, args: &ReadArgs) -> anyhow::Result<Input> {
    open(path, &args.options())
}

/// Reads a profile; shows how far it is on a terminal, and says on stderr what was skipped.
pub(crate) fn open(path: &Path, options: &Options) -> anyhow::Result<Input> {
    let name = perk_open::display_name(path);
    let source = Source::at(path)?.watched(ProgressStream::new);
    let input = source.profile(options)?;
    for note in &input.profile.notes {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    Ok(input)
}
