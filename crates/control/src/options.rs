//! HPROF's options, as `-agentlib:hprof=<options>` takes them.
//!
//! One table (`table.rs`) has a row for each option, and another one (`measurements.rs`) for each
//! measurement. The parser, the printed text, the `help` text, `docs/options.md`, the arguments of the
//! command line and all refusals (`rules.rs`) follow from them.
//!
//! # Grammar
//!
//! The string is a sequence of names, each up to `=`, and values, each up to `,`. Nothing is
//! trimmed, and case matters. A name without `=` takes the rest of the string, so `heap=sites,help`
//! is an unknown option. A name that is empty or longer than 15 bytes is a general syntax error.
//! The first error is reported. If an option is given twice, its last value counts, with two
//! exceptions: `file` and `net` may appear only once between them, and `heap` and `cpu` add up
//! (`cpu=times` and `cpu=old` replace each other). `help` counts only as the whole string. The
//! environment variable `_JAVA_HPROF_OPTIONS` is appended after a comma.
//!
//! # Differences from the original
//!
//! - Numbers that do not fit into 32 bits are refused, with the original's text; the original
//!   wrapped them.
//! - Switches for debugging the original itself (`logflags`, `coredump`, ...) have no effect,
//!   except for `pause`.
//! - `force=n` never overwrites: if `<prefix>.<pid><suffix>` exists too, a counter is added.
//! - Additions: `format=p`, a unit in `interval`, `%p` in `file`, and the options of the section
//!   `Perk`. `include` and `exclude` add up.
//! - The help text has a title and warnings of its own, and a section on the additions; its usage
//!   lines, option tables, examples and notes are the original's.

mod command_line;
mod file_name;
mod markdown;
mod measurements;
mod numbers;
mod print;
mod row;
mod rules;
mod table;
mod types;
mod usage;
mod value;

pub use command_line::{CommandLine, arguments};
pub use file_name::resolve_file_name;
pub use markdown::options_markdown;
pub use measurements::{Measurement, MeasurementRow};
pub use numbers::{scaled, time_ns};
pub use row::{Argument, Needs, Word};
use rules::OptionText;
pub use rules::Refusal;
use table::OPTIONS;
pub use table::Options;
pub use types::{
    Classes, Clock, Cpu, Jamaica, Output, OutputFormat, SampleEngine, SiteIndex, TimesForm,
    TimingMethod, Xprof,
};
pub use usage::{usage, written_usage};
use value::Value;

/// The environment variable whose value is appended to the agent's options.
pub const OPTIONS_VARIABLE: &str = "_JAVA_HPROF_OPTIONS";

/// Longest option name and port number, in bytes.
const MAX_NAME_LEN: usize = 15;
/// Longest value, in bytes (the original's `FILENAME_MAX`).
const MAX_VALUE_LEN: usize = 4096;

/// The action that an option string asks for.
#[expect(clippy::large_enum_variant, reason = "there is one, for a moment")]
#[derive(Debug, Clone, PartialEq)]
pub enum AgentAction {
    /// Print [`usage`] on stdout and exit with code 0.
    Help,
    /// Profile.
    Run(Options),
}

/// An error for an option string that cannot be parsed. Its text is the line for stderr.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HPROF ERROR: hprof option error: {message} ({options}) [hprof_init.c:495]")]
pub struct OptionError {
    /// The description of the error.
    pub message: String,
    /// The whole option string.
    pub options: String,
}

impl OptionError {
    /// The exit code that goes with the message.
    pub const EXIT_CODE: i32 = 1;
}

impl Options {
    /// Whether a peer gets the output, and may send commands.
    pub fn has_peer(&self) -> bool {
        matches!(self.output, Output::Net { .. })
    }

    /// Whether the recording can be cut into files: it has samples alone, in a file with a number.
    fn has_parts(&self) -> bool {
        let has_number = matches!(&self.output, Output::File(name) if name.contains("%n"));
        let is_sampled = !self.changes_classes() && !self.heap_dump && self.xprof.is_none();
        has_number && is_sampled && self.format == OutputFormat::Extended
    }

    /// Parses the agent's options, with the value of [`OPTIONS_VARIABLE`] if it is set.
    pub fn parse(agent_options: &str, env: Option<&str>) -> Result<AgentAction, OptionError> {
        if agent_options == "help" {
            return Ok(AgentAction::Help);
        }
        let raw = match env {
            Some(env) if agent_options.is_empty() => env.to_owned(),
            Some(env) if !env.is_empty() => format!("{agent_options},{env}"),
            _ => agent_options.to_owned(),
        };
        let mut options = Options::default();
        match options.read(&raw) {
            Ok(()) => {
                options.raw = raw;
                Ok(AgentAction::Run(options))
            }
            Err(message) => Err(OptionError { message, options: raw }),
        }
    }

    /// Returns the clock of call times. Without `clock` it is wall time with `timing=exact`,
    /// otherwise CPU time.
    pub fn clock(&self) -> Clock {
        let default = match self.timing {
            TimingMethod::Exact => Clock::Wall,
            TimingMethod::Tick | TimingMethod::None => Clock::Cpu,
        };
        self.clock.unwrap_or(default)
    }

    /// The limit of the memory for the records of objects of `fields=shared`, in bytes.
    pub fn record_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or(4 << 30)
    }

    /// The limit of the memory for the call traces of samples, in bytes.
    pub fn trace_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or(256 << 20)
    }

    /// The limit of the memory for call trees and their allocation sites, in bytes. A limit of nodes
    /// takes the place of the default.
    pub fn tree_limit_bytes(&self) -> u64 {
        let default = match self.max_nodes == Self::default().max_nodes {
            true => 256 << 20,
            false => u64::MAX,
        };
        self.memory_limit_bytes.unwrap_or(default)
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        let mut rest = Tokens(text);
        let mut given = Vec::new();
        while !rest.0.is_empty() {
            let name =
                rest.next('=', MAX_NAME_LEN).ok_or("general syntax error parsing options")?;
            let option = OPTIONS
                .iter()
                .find(|option| option.name == name)
                .ok_or_else(|| format!("Unknown option: {name}"))?;
            let must_be = || format!("{name} option value must be {}", option.rule);
            let misses = || match option.form {
                Some(form) => format!("syntax error parsing {name}={form}"),
                None => must_be(),
            };
            match option.value {
                Value::File => {
                    self.check_no_output()?;
                    let name = rest.next(',', MAX_VALUE_LEN).ok_or_else(misses)?;
                    self.output = Output::File(name.to_owned());
                }
                Value::Net => {
                    self.check_no_output()?;
                    let host = rest.host().ok_or("net option missing ':'")?;
                    let port = rest.next(',', MAX_NAME_LEN).ok_or("net option missing port")?;
                    let port = numbers::leading_decimal(port);
                    self.output = Output::Net { host: host.to_owned(), port };
                }
                Value::Removed(message) => return Err(message.to_owned()),
                value => {
                    let text = rest.next(',', MAX_VALUE_LEN).ok_or_else(misses)?;
                    value.set(self, text).ok_or_else(must_be)?;
                    given.push((option, text));
                }
            }
        }
        self.check(&given)?;
        self.apply_defaults();
        // What is measured by default can be too much, as well.
        self.check(&given)
    }

    fn check(&self, given: &[OptionText<'_>]) -> Result<(), String> {
        self.refusal(given).map_or(Ok(()), |refusal| Err(refusal.for_agent(self)))
    }

    fn check_no_output(&self) -> Result<(), &'static str> {
        match self.output {
            Output::Default => Ok(()),
            _ => Err("file or net options should only appear once"),
        }
    }

    /// Whether the profile distinguishes each thread, also virtual ones and those of exact counts.
    pub fn distinguishes_all_threads(&self) -> bool {
        self.thread && !self.platform_threads
    }

    /// Returns the time between CPU samples, in nanoseconds; never 0.
    pub fn sample_interval_ns(&self) -> u64 {
        let default_ns = if self.budget { 20_000_000 } else { 10_000_000 };
        self.interval_ns.unwrap_or(default_ns)
    }

    /// Whether the tables of `-Xprof` are all that is wanted.
    pub fn has_only_xprof(&self) -> bool {
        self.measure_only(Measurement::Xprof)
    }

    /// Whether the allocations of sites are counted exactly, and not sampled.
    pub fn counts_sites(&self) -> bool {
        Measurement::Sites.is_on(self)
    }

    /// Whether the allocations of sites are counted exactly, without a heap dump.
    fn counts_sites_alone(&self) -> bool {
        self.counts_sites() && !self.heap_dump
    }

    /// Whether sites can be counted without call paths: nothing else needs these, and no choice of methods hides
    /// lines from the objects' counts.
    pub fn can_count_by_line(&self) -> bool {
        let has_paths = self.cpu.times.is_some() || self.jamaica.is_some() || self.aprof;
        // With counted calls, the choice is one of calls.
        let is_of_all = self.cpu.counts || self.include.is_empty() && self.exclude.is_empty();
        self.counts_sites_alone() && is_of_all && !has_paths
    }

    /// The options without one of the measurements of `budget`, for each of these: its name, and the others. A JVM
    /// may refuse what one of them needs.
    pub fn each_left_out(&self) -> impl Iterator<Item = (&'static str, Self)> {
        type LeaveOut = fn(&mut Options);
        let leave_out: [(&str, LeaveOut); 4] = [
            ("allocations", |o| {
                let Options { heap_sites, heap_sample_bytes, live, .. } = Options::default();
                (o.heap_sites, o.heap_sample_bytes, o.live) = (heap_sites, heap_sample_bytes, live);
            }),
            ("locks", |o| (o.monitor, o.locks) = (false, false)),
            ("waits", |o| o.wall_ns = None),
            ("CPU samples", |o| o.cpu.samples = false),
        ];
        let leave_out = leave_out.into_iter().filter(|_| self.budget);
        leave_out.filter_map(|(name, leave_out)| {
            let mut options = self.clone();
            leave_out(&mut options);
            let is_there = options != *self && !options.are_idle();
            is_there.then_some((name, options))
        })
    }

    fn apply_defaults(&mut self) {
        self.timing_depth = if self.cpu.times == Some(TimesForm::Old) { 2 } else { self.depth };
        if self.are_idle() {
            self.heap_dump = true;
            self.heap_sites = true;
        }
        if self.every_ns.is_some() {
            self.live = false;
        }
    }
}

/// The part of an option string that is not read yet.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    /// Returns the text up to `separator` or the end; `None` if it is empty or too long.
    fn next(&mut self, separator: char, max_len: usize) -> Option<&'a str> {
        let (token, rest) = self.0.split_once(separator).unwrap_or((self.0, ""));
        self.0 = rest;
        (!token.is_empty() && token.len() <= max_len).then_some(token)
    }

    /// Returns the host before a colon. A host in brackets may contain colons itself.
    fn host(&mut self) -> Option<&'a str> {
        match self.0.strip_prefix('[').and_then(|it| it.split_once("]:")) {
            Some((host, rest)) if !host.contains(',') => {
                self.0 = rest;
                (!host.is_empty() && host.len() <= MAX_VALUE_LEN).then_some(host)
            }
            _ => self.next(':', MAX_VALUE_LEN),
        }
    }
}
