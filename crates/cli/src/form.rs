//! The four forms in which perk keeps profiles.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use perk_formats::{collapsed, flamegraph};
use perk_profile::{Line, Profile};

use crate::talk;

/// A form of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// HPROF text, as `java.hprof.txt`
    #[value(name = "txt")]
    Text,
    /// HPROF binary, as `format=b` gives it
    #[value(name = "hprof")]
    Binary,
    /// One line a call path: `main;a;b 12`
    Collapsed,
    /// Flame graph, one HTML file that needs no network
    Html,
}

/// How much of a file is looked at to tell its form.
const HEAD_BYTES: u64 = 64 * 1024;

impl Form {
    pub(crate) const ALL: [Form; 4] = [Form::Text, Form::Binary, Form::Collapsed, Form::Html];

    /// The ending of its files, without the dot; also its name for `--to`.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Form::Text => "txt",
            Form::Binary => "hprof",
            Form::Collapsed => "collapsed",
            Form::Html => "html",
        }
    }

    /// What people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Form::Text => "HPROF text",
            Form::Binary => "HPROF binary",
            Form::Collapsed => "collapsed stacks",
            Form::Html => "flame graph",
        }
    }

    /// The form that a file name's ending stands for.
    pub(crate) fn of_path(path: &Path) -> anyhow::Result<Form> {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let form = Form::ALL.into_iter().find(|form| ending.eq_ignore_ascii_case(form.ending()));
        form.with_context(|| {
            format!(
                "{}: the ending says no form perk can write: use .txt, .hprof, .collapsed or .html",
                path.display()
            )
        })
    }

    /// The form of a file that begins with `head`.
    fn of_content(head: &[u8]) -> Option<Form> {
        match perk_hprof::recognise(head) {
            Some(perk_hprof::Format::Ascii) => Some(Form::Text),
            Some(perk_hprof::Format::Binary) => Some(Form::Binary),
            None if is_html(head) => Some(Form::Html),
            None => is_collapsed(head).then_some(Form::Collapsed),
        }
    }

    /// Writes `profile` in this form.
    pub(crate) fn write(
        self,
        profile: &Profile,
        title: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Form::Text => perk_hprof::write(profile, perk_hprof::Format::Ascii, out),
            Form::Binary => perk_hprof::write(profile, perk_hprof::Format::Binary, out),
            Form::Collapsed => collapsed::write(profile, out),
            Form::Html => flamegraph::write(profile, title, out),
        }
    }

    /// What of `profile` this form has no place for.
    pub(crate) fn losses(self, profile: &Profile) -> Vec<&'static str> {
        if matches!(self, Form::Text | Form::Binary) {
            return Vec::new();
        }
        let symbols = &profile.symbols;
        let has_lines = profile.traces().iter().any(|trace| {
            let mut frames = profile.tree.frames(trace.node);
            frames.any(|frame| matches!(symbols.get_frame(frame).line, Line::Number(_)))
        });
        [
            (has_lines, "source lines"),
            (self == Form::Collapsed && profile.accounting.is_some(), "the accounting"),
        ]
        .into_iter()
        .filter_map(|(lost, what)| lost.then_some(what))
        .collect()
    }
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
        Form::Text | Form::Binary => perk_hprof::read(&bytes).map_err(anyhow::Error::new),
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
