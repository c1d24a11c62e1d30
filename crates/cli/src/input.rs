//! How the command line names inputs, and the progress of long reads.

use std::path::Path;

use clap::Args;
use perk_analysis::Window;
use perk_open::{Format, Input, Options, Source};
use perk_profile::NamePattern;
use perk_profile::units::printable;

use crate::file_format::read_format;
use crate::progress::Watched;
use crate::{talk, time};

/// How a file is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadArgs {
    /// Show samples from this time of the recording on: 2s, 500ms
    #[arg(long, value_name = "TIME", value_parser = time::time)]
    pub(crate) from: Option<u64>,
    /// The format of the file, where its content does not identify it
    #[arg(long, value_name = "FORMAT", value_parser = read_format())]
    pub(crate) input_format: Option<Format>,
    /// Read at most this unpacked size: 500m, 8g [default: 64g]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64g",
          hide_default_value = true)]
    pub(crate) max_bytes: u64,
    /// Take at most this memory to read: 512m, 4g [default: 20 times the file, 256m at least]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// The classes that are the program's own: 'com.acme.*' (repeatable, or with commas) [default: those that
    /// the file names, or the packages of the main class]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = crate::selection::name_pattern)]
    pub(crate) app: Vec<NamePattern>,
    /// Show passwords, tokens and keys of the command line; without this, *** stands there
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Show also samples whose stack is not known, as [no stack], where the accounting has them
    #[arg(long)]
    pub(crate) unattributed: bool,
}

impl ReadArgs {
    fn options(&self) -> Options {
        Options {
            format: self.input_format,
            max_bytes: self.max_bytes,
            max_memory_bytes: self.max_memory,
            app: self.app.clone(),
            keep_secrets: self.keep_secrets,
            unattributed: self.unattributed,
        }
    }

    /// The window from `--from` to `to_ns`.
    pub(crate) fn window(&self, to_ns: Option<u64>) -> Window {
        Window { from_ns: self.from, to_ns }
    }
}

/// Reads the profile in `path`, or on stdin where it is `-`, as `args` say.
pub(crate) fn read(path: &Path, args: &ReadArgs) -> anyhow::Result<Input> {
    open(path, &args.options())
}

/// Reads a profile; shows how far it is on a terminal, and says on stderr what was skipped.
pub(crate) fn open(path: &Path, options: &Options) -> anyhow::Result<Input> {
    let name = perk_open::display_name(path);
    let source = Source::at(path)?.watched(Watched::new);
    let input = source.profile(options)?;
    for note in &input.profile.notes {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    Ok(input)
}

/// A size on the command line.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    perk_control::options::scaled(text).ok_or_else(|| "use a size such as 500m or 8g".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("1", 1), ("500m", 500 << 20), ("8G", 8 << 30), ("2k", 2048)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "k", "-1", "+1", "1.5g", "1kk", "1t", "99999999999999g"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
