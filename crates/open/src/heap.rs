//! Heap dumps of any format.

use std::path::Path;

use anyhow::{Context, anyhow};
use perk_heap::{Heap, Options, Watch};

use crate::display_name;

/// Analyses the heap dump in the file `path`, or on stdin where it is `-`. What the analysis skipped is in
/// the heap's notes.
///
/// # Errors
/// The file cannot be read, is no heap dump, or is damaged beyond use; the text names it.
pub fn heap(path: &Path, options: &Options, watch: &mut dyn Watch) -> anyhow::Result<Heap> {
    Heap::open(path, options, watch)
        .map_err(named)
        .with_context(|| format!("cannot analyse {}", display_name(path)))
}

/// Returns the error; that of a profile names its format, and what shows it.
fn named(error: perk_heap::Error) -> anyhow::Error {
    let perk_heap::Error::NotDump { head } = &error else { return error.into() };
    if let Some(format) = perk_formats::recognise(head) {
        let title = format.title();
        let shows = if format.is_read() { "; `perk report` shows it" } else { "" };
        return anyhow!("it is not a heap dump but of the form {title}{shows}");
    }
    match perk_formats::foreign(head) {
        Some(kind) => anyhow!("it is {kind}"),
        None => error.into(),
    }
}
