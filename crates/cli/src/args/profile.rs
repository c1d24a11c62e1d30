//! Arguments that name a profile, and the part of it to read.

use std::time::Duration;

use clap::Args;
use perk_analysis::{Filter, LabelPattern, Window};
use perk_open::{Format, Options};
use perk_profile::{NamePattern, WholePattern};

use super::store::PartArgs;
use super::values::{name_pattern, size, time, whole_pattern};
use crate::file_format::read_format;

/// How a file is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadArgs {
    /// Show samples from this time of the recording on: 2s, 500ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// The format of the file, if its content does not identify it
    #[arg(long, value_name = "FORMAT", value_parser = read_format())]
    pub(crate) input_format: Option<Format>,
    /// Read at most this unpacked size: 500m, 8g [default: 64g]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64g",
          hide_default_value = true)]
    pub(crate) max_bytes: u64,
    /// Use at most this memory to read: 512m, 4g [default: 20 times the file, at least 256m]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// The program's own classes: 'com.acme.*' (repeatable, or with commas) [default: those that the file
    /// names, or the packages of the main class]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = name_pattern)]
    pub(crate) app: Vec<NamePattern>,
    /// Show passwords, tokens and keys of the command line; without it, *** replaces them
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Also show samples without a known stack, as [no stack], if the accounting has them
    #[arg(long)]
    pub(crate) unattributed: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
}

impl ReadArgs {
    /// The options of the reader.
    pub(crate) fn options(&self) -> Options {
        Options {
            format: self.input_format,
            max_bytes: self.max_bytes,
            max_memory_bytes: self.max_memory,
            app: self.app.clone(),
            keep_secrets: self.keep_secrets,
            unattributed: self.unattributed,
            all_stacks: false,
        }
    }

    /// The window from `--from` to `to`.
    pub(crate) fn window(&self, to: Option<Duration>) -> Window {
        // A time on the command line is below 2^64 ns.
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Window { from_ns: self.from.map(ns), to_ns: to.map(ns) }
    }
}

/// The end of the window; [`ReadArgs`] has its begin.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WindowArgs {
    /// Show samples up to this time of the recording: 5s, 800ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<Duration>,
}

/// The traces of a profile that count.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Keep only traces through this method or class: bar, Foo.bar, Foo, com.acme.Foo, 'com.acme.*',
    /// '*.get*' (repeatable: through any of them)
    #[arg(long, value_name = "NAME", value_parser = name_pattern)]
    pub(crate) focus: Vec<NamePattern>,
    /// Drop traces through this method or class (repeatable)
    #[arg(long, value_name = "NAME", value_parser = name_pattern)]
    pub(crate) ignore: Vec<NamePattern>,
    /// Remove the frames of this method or class from traces; their numbers go to the caller (repeatable)
    #[arg(long, value_name = "NAME", value_parser = name_pattern)]
    pub(crate) hide: Vec<NamePattern>,
    /// Keep only numbers with this label, as in pprof and speedscope: 'request=GET *' (repeatable: each key
    /// must match once)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) label: Vec<LabelPattern>,
    /// Keep only numbers of the threads with this name: main, 'http-*' (repeatable: of any of them)
    #[arg(long, value_name = "NAME", value_parser = whole_pattern)]
    pub(crate) thread: Vec<WholePattern>,
}

impl FilterArgs {
    /// The filter that the options describe.
    pub(crate) fn filter(&self) -> Filter {
        let Self { focus, ignore, hide, label: labels, thread: threads } = self.clone();
        Filter { focus, ignore, hide, labels, threads }
    }
}
