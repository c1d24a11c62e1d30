//! Writes answers: the data to stdout, what there is to know about it to stderr.

use std::io::{self, BufWriter, Write};

use perk_render::Screen;
use perk_report::{Answer, Want};

use crate::talk;

/// The most lines of a comment.
const COMMENT_LINES: usize = 20;

/// The format that the options `--json`, `--csv` and `--markdown` select.
pub(crate) fn wanted(json: bool, csv: bool, markdown: bool) -> Want {
    match (json, csv, markdown) {
        (true, ..) => Want::DOCUMENT,
        (_, true, _) => Want::TABLE,
        (.., true) => Want::COMMENT,
        _ => Want::TEXT,
    }
}

/// Writes the answer, with its notes before it and its warnings after it: for a screen, or as a comment, which
/// has 20 lines unless the number of rows is given.
pub(crate) fn write(
    answer: &Answer,
    (want, top): (Want, Option<usize>),
    screen: &Screen,
) -> anyhow::Result<()> {
    for note in &answer.notes {
        talk::say(format_args!("{note}"));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if let Some(document) = &answer.document {
        document.write(&mut out)?;
    }
    if let Some(table) = &answer.table {
        table.csv(&mut out)?;
    }
    let text = match want.comment {
        true => perk_render::markdown(&answer.sections, top.is_none().then_some(COMMENT_LINES)),
        false => answer.text(screen),
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    for line in &answer.missing {
        talk::say(format_args!("{line}"));
    }
    Ok(())
}
