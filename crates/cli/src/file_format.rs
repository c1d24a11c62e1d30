//! The choice of a file format on the command line: by its name or by a path's ending.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use perk_formats::FORMATS;
use perk_open::Format;

use crate::packing;

/// The parser of `--input-format`.
pub(crate) fn read_format() -> impl TypedValueParser<Value = Format> {
    parser(|format| format.is_read())
}

/// The parser of `--output-format`.
pub(crate) fn written_format() -> impl TypedValueParser<Value = Format> {
    parser(|format| format.is_written())
}

fn parser(is_accepted: fn(Format) -> bool) -> impl TypedValueParser<Value = Format> {
    let accepted = FORMATS.into_iter().filter(move |&format| is_accepted(format));
    let values = accepted.map(|it| PossibleValue::new(it.name()).help(it.facts().about));
    PossibleValuesParser::new(values)
        .try_map(|name| perk_formats::by_name(&name).context("the name of a format"))
}

/// The format of a file name's ending, which the ending of a packing may follow. If several
/// formats share an ending, it is the first.
pub(crate) fn of_path(path: &Path) -> anyhow::Result<Format> {
    let written = FORMATS.into_iter().filter(|format| format.is_written());
    let found = written.filter_map(|format| Some((ending_of(format, path)?, format)));
    // The first of those with the longest ending: `.xprof.txt` is longer than `.txt`.
    let found = found.reduce(|best, it| if it.0.len() > best.0.len() { it } else { best });
    if let Some((_, format)) = found {
        return Ok(format);
    }
    let shown = path.display();
    if path.is_dir() || path.as_os_str().as_bytes().ends_with(b"/") {
        let file = path.join("app.hprof");
        bail!("{shown} is a folder: name a file in it, such as {}", file.display());
    }
    bail!("{shown}: perk writes no format with this ending: use {}", endings())
}

/// The endings of the files that are written, as a list, and those of their packings.
pub(crate) fn endings() -> String {
    let mut endings: Vec<String> = Vec::new();
    for ending in FORMATS.into_iter().filter(|it| it.is_written()).map(|it| it.ending()) {
        let ending = format!(".{ending}");
        if !endings.contains(&ending) {
            endings.push(ending);
        }
    }
    let last = endings.pop().unwrap_or_default();
    format!("{} or {last}; .gz or .zst may follow, as in .pb.gz", endings.join(", "))
}

/// Whether a file name has an ending of the format, which the ending of a packing may follow.
pub(crate) fn has_ending(format: Format, path: &Path) -> bool {
    ending_of(format, path).is_some()
}

/// The ending of the format that a file name has, the longest.
fn ending_of(format: Format, path: &Path) -> Option<&'static str> {
    let name = packing::split(path).0;
    let name = name.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let has = |ending: &&str| {
        name.strip_suffix(*ending).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    };
    format.facts().endings.iter().filter(|it| has(it)).max_by_key(|it| it.len()).copied()
}

/// The formats that are taken, each with the name that `name` gives it: `a, b or c`.
pub(crate) fn list(
    is_taken: fn(Format) -> bool,
    name: fn(Format) -> String,
    conjunction: &str,
) -> String {
    let taken = FORMATS.into_iter().filter(|&format| is_taken(format));
    let mut names: Vec<_> = taken.map(name).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} {conjunction} {last}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_decides() {
        for (path, name) in [
            ("a.txt", "txt"),
            ("java.hprof", "hprof"),
            ("java.prof", "prof"),
            ("java.aprof", "aprof"),
            ("/x/a.b.collapsed", "collapsed"),
            ("a.HTML", "html"),
            ("a.speedscope.json", "speedscope"),
            ("a.pb.gz", "pprof"),
            ("a.jfr", "jfr"),
            ("a.TXT.zst", "txt"),
            ("a.xprof.txt", "xprof"),
            ("a.xprof.txt.gz", "xprof"),
        ] {
            assert_eq!(of_path(Path::new(path)).unwrap().name(), name, "{path}");
        }
        for path in ["a", "a.class", ".txt", "txt", "a.gz", "a.txt.gz.gz"] {
            assert!(of_path(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_refusal_says_what_would_do() {
        let reason = |path: &str| of_path(Path::new(path)).unwrap_err().to_string();
        let endings = reason("a.class");
        for format in FORMATS.into_iter().filter(|it| it.is_written()) {
            assert!(endings.contains(&format!(".{}", format.ending())), "{endings}");
        }
        assert!(endings.ends_with(".gz or .zst may follow, as in .pb.gz"), "{endings}");
        let folder = "/proc is a folder: name a file in it, such as /proc/app.hprof";
        assert_eq!(reason("/proc"), folder);
        assert_eq!(reason("no/x/"), "no/x/ is a folder: name a file in it, such as no/x/app.hprof");
    }
}
