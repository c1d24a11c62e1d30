//! Writes answers: the data to stdout, what there is to know about it to stderr.

use std::io::{self, BufWriter, Write};

use perk_render::Screen;
use perk_report::{Answer, Want};

use crate::talk;

/// The form that the options `--json` and `--csv` ask for.
pub(crate) fn wanted(json: bool, csv: bool) -> Want {
    match (json, csv) {
        (true, _) => Want::DOCUMENT,
        (_, true) => Want::TABLE,
        _ => Want::TEXT,
    }
}

/// Writes what the answer has, its notes before and what it lacks after.
pub(crate) fn write(answer: &Answer, screen: &Screen) -> anyhow::Result<()> {
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
    out.write_all(answer.text(screen).as_bytes())?;
    out.flush()?;
    for line in &answer.missing {
        talk::say(format_args!("{line}"));
    }
    Ok(())
}
