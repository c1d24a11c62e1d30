//! The forms in which perk keeps profiles.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use perk_formats::{Value, collapsed, flamegraph};
use perk_hprof::{Format, aprof};
use perk_profile::{Allocations, Event, Line, Profile, Site, Sites};

use crate::talk;

/// A form of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// HPROF text, as `java.hprof.txt`
    #[value(name = "txt")]
    Text,
    /// HPROF binary, as `format=b` gives it; call times in records of perk's own
    #[value(name = "hprof")]
    Binary,
    /// Callees, callers, calls and times, as `cpu=old` gives them
    #[value(name = "prof")]
    Old,
    /// Allocations by class, as `-Xaprof` printed them
    Aprof,
    /// One line a call path: `main;a;b 12`
    Collapsed,
    /// Flame graph, one HTML file that needs no network
    Html,
}

/// How the table of `-Xaprof` begins.
const APROF_HEAD: &[u8] = b"Allocation profile (sizes in bytes";

/// How much of a file is looked at to tell its form.
const HEAD_BYTES: u64 = 64 * 1024;

impl Form {
    pub(crate) const ALL: [Form; 6] =
        [Form::Text, Form::Binary, Form::Old, Form::Aprof, Form::Collapsed, Form::Html];

    /// The ending of its files, without the dot; also its name for `--to`.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Form::Text => "txt",
            Form::Binary => "hprof",
            Form::Old => "prof",
            Form::Aprof => "aprof",
            Form::Collapsed => "collapsed",
            Form::Html => "html",
        }
    }

    /// What people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Form::Text => "HPROF text",
            Form::Binary => "HPROF binary",
            Form::Old => "cpu=old text",
            Form::Aprof => "-Xaprof table",
            Form::Collapsed => "collapsed stacks",
            Form::Html => "flame graph",
        }
    }

    /// The form that a file name's ending stands for.
    pub(crate) fn of_path(path: &Path) -> anyhow::Result<Form> {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let form = Form::ALL.into_iter().find(|form| ending.eq_ignore_ascii_case(form.ending()));
        form.with_context(|| {
            let endings = Form::ALL.map(Form::ending);
            format!(
                "{}: the ending says no form perk can write: use .{} or .{}",
                path.display(),
                endings[..endings.len() - 1].join(", ."),
                endings[endings.len() - 1]
            )
        })
    }

    /// The form of a file that begins with `head`.
    fn of_content(head: &[u8]) -> Option<Form> {
        match perk_hprof::recognise(head) {
            Some(Format::Ascii) => Some(Form::Text),
            Some(Format::Binary | Format::Extended) => Some(Form::Binary),
            Some(Format::Old) => Some(Form::Old),
            None if head.trim_ascii_start().starts_with(APROF_HEAD) => Some(Form::Aprof),
            None if is_html(head) => Some(Form::Html),
            None => is_collapsed(head).then_some(Form::Collapsed),
        }
    }

    /// Whether a file of this form shows one value of each call path.
    pub(crate) fn has_one_value(self) -> bool {
        matches!(self, Form::Collapsed | Form::Html)
    }

    /// Writes `profile` in this form; where it shows one value, that one, or the first there is.
    pub(crate) fn write(
        self,
        profile: &Profile,
        value: Option<Value>,
        title: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Form::Text | Form::Binary | Form::Old => {
                perk_hprof::write(profile, self.format_of(profile), out)
            }
            Form::Aprof => {
                let sites = profile.sites().ok_or_else(|| {
                    refusal("the -Xaprof table holds allocations; the profile has none")
                })?;
                aprof::write(out, &aprof::Table::of(profile, sites))
            }
            Form::Collapsed => collapsed::write(profile, shown(profile, value)?, out),
            Form::Html => flamegraph::write(profile, shown(profile, value)?, title, out),
        }
    }

    /// Which of its formats this form has `profile` in: the plain one, where that holds it.
    fn format_of(self, profile: &Profile) -> Format {
        let (plain, other) = match self {
            Form::Old => return Format::Old,
            Form::Text => (Format::Ascii, Format::Old),
            _ => (Format::Binary, Format::Extended),
        };
        if plain.holds(profile).is_err() && other.holds(profile).is_ok() { other } else { plain }
    }

    /// What of `profile` this form has no place for, where it shows `value`.
    pub(crate) fn losses(self, profile: &Profile, value: Option<Value>) -> Vec<&'static str> {
        let mut times = profile.monitor_times().flat_map(|section| &section.rows);
        match self {
            Form::Text if times.any(|row| row.waits.is_waiting()) => {
                return vec!["how long threads waited to be notified"];
            }
            Form::Text | Form::Binary => return Vec::new(),
            _ => {}
        }
        let has_monitors =
            profile.monitor_times().next().is_some() || profile.monitor_dumps().next().is_some();
        let symbols = &profile.symbols;
        let has_lines = profile.traces().iter().any(|trace| {
            let mut frames = profile.tree.frames(trace.node);
            frames.any(|frame| matches!(symbols.get_frame(frame).line, Line::Number(_)))
        });
        let value = match self {
            Form::Aprof => Some(Value::Allocated),
            Form::Old => None,
            _ => value.or_else(|| Value::first_of(profile)),
        };
        let is_other = |other| self != Form::Old && value != Some(other) && other.is_in(profile);
        [
            (self == Form::Aprof, "call paths"),
            (self != Form::Aprof && self != Form::Old && has_lines, "source lines"),
            (is_other(Value::Samples), "samples"),
            (is_other(Value::Time), "call times"),
            (is_other(Value::Calls), "numbers of calls"),
            (is_other(Value::Allocated), "allocations"),
            (is_other(Value::Live) && value == Some(Value::Allocated), "live objects"),
            (has_monitors, "monitors"),
            (self != Form::Html && profile.accounting.is_some(), "the accounting"),
        ]
        .into_iter()
        .filter_map(|(lost, what)| lost.then_some(what))
        .collect()
    }
}

/// The error of a form that cannot hold a profile.
fn refusal(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// The value to show: the one asked for, or the first there is.
fn shown(profile: &Profile, value: Option<Value>) -> io::Result<Value> {
    match value.or_else(|| Value::first_of(profile)) {
        Some(value) if !value.is_in(profile) => {
            Err(refusal(format!("the profile has no {} by call path", value.name())))
        }
        Some(value) => Ok(value),
        // A profile without any sample is shown as empty; what has no paths cannot be.
        None if profile.call_edges().next().is_some() => {
            Err(refusal("the profile has callers and callees, and no call paths"))
        }
        None => Ok(Value::Samples),
    }
}

/// The profile of a table of classes.
fn of_table(table: &aprof::Table) -> Profile {
    let mut profile = Profile::default();
    let objects = |row: &aprof::Row| Allocations {
        allocated_bytes: row.bytes,
        allocated_count: row.count,
        ..Allocations::default()
    };
    let trace = profile.system_trace();
    let site = |row: &aprof::Row| {
        let class = profile.symbols.class(&row.class);
        Site { class, trace, objects: objects(row) }
    };
    let rows = table.rows.iter().map(site).collect();
    let sites = Sites { total: objects(&table.total), rows, ..Sites::default() };
    profile.events.push(Event::Sites(sites));
    profile
}

fn is_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype html"))
}

/// Whether the first line is a stack and a count, as far as it can be seen.
fn is_collapsed(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let Some(end) = text.iter().position(|&byte| byte == b'\n') else {
        // The line is cut off, or the file has no other.
        return !text.contains(&0) && (head.len() as u64 == HEAD_BYTES || ends_in_count(text));
    };
    ends_in_count(&text[..end])
}

fn ends_in_count(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line[..line.len() - digits].ends_with(b" ") && std::str::from_utf8(line).is_ok()
}

/// A profile and the form it came in.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) form: Form,
    pub(crate) profile: Profile,
}

/// Reads the profile in `path`, or on stdin where it is `-`. The content tells the form.
pub(crate) fn read(path: &Path) -> anyhow::Result<Input> {
    let name = display_name(path);
    let cannot_read = || format!("cannot read {name}");
    let mut source: Box<dyn Read> = if is_stream(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(cannot_read)?)
    };
    // The head first: what is no profile may be endless.
    let mut bytes = Vec::new();
    source.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes).with_context(cannot_read)?;
    if bytes.is_empty() {
        bail!("{name} is empty");
    }
    let Some(form) = Form::of_content(&bytes) else {
        bail!("{name} is in no form perk can read (`perk formats` lists them)");
    };
    source.read_to_end(&mut bytes).with_context(cannot_read)?;
    let profile = match form {
        Form::Text | Form::Binary | Form::Old => {
            perk_hprof::read(&bytes).map_err(anyhow::Error::new)
        }
        Form::Aprof => {
            aprof::read(&bytes).map(|table| of_table(&table)).map_err(anyhow::Error::new)
        }
        Form::Collapsed => collapsed::read(&bytes).map_err(anyhow::Error::new),
        Form::Html => flamegraph::read(&bytes).map_err(anyhow::Error::new),
    };
    let profile = profile.with_context(|| format!("{name}: bad {} file", form.title()))?;
    for note in &profile.notes {
        talk::say(format_args!("{name}: {note}"));
    }
    Ok(Input { form, profile })
}

/// Whether `path` means stdin or stdout.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages call the input `path`.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stream(path) { "stdin".to_owned() } else { path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let check = |head: &[u8], form| assert_eq!(Form::of_content(head), form, "{head:?}");
        check(b"JAVA PROFILE 1.0.1, created Fri", Some(Form::Text));
        check(b"JAVA PROFILE 1.0.1\0\0\0\0\x08", Some(Form::Binary));
        check(b"count callee caller time\n", Some(Form::Old));
        check(b"\nAllocation profile (sizes in bytes, cutoff = 0 bytes):\n", Some(Form::Aprof));
        check(b"main;a;b 12\n", Some(Form::Collapsed));
        check(b"a 1", Some(Form::Collapsed));
        check(b"\n<!DOCTYPE html><title>", Some(Form::Html));
        for head in [&b""[..], b"JAVA PROF", b"# README\n", b"a;b\nc 1\n", b"\xff\xfe 12\n"] {
            check(head, None);
        }
    }

    #[test]
    fn an_ending_decides() {
        for (path, form) in [
            ("a.txt", Form::Text),
            ("java.hprof", Form::Binary),
            ("java.prof", Form::Old),
            ("java.aprof", Form::Aprof),
            ("/x/a.b.collapsed", Form::Collapsed),
            ("a.HTML", Form::Html),
        ] {
            assert_eq!(Form::of_path(Path::new(path)).unwrap(), form, "{path}");
        }
        for path in ["a", "a.svg", ".txt", "txt", "a.txt.gz"] {
            assert!(Form::of_path(Path::new(path)).is_err(), "{path}");
        }
    }
}
