//! The tables of `docs/formats/README.md`, which are made from the registry of formats.

use std::fs;

use anyhow::{Context, Result};
use perk_formats::{FORMATS, table};

use crate::workspace::{Metadata, root};

const FOLDER: &str = "docs/formats";
const BEGIN: &str = "<!-- The tables are those of `cargo run -p xtask -- formats`. -->\n";
const END: &str = "<!-- End of the tables. -->\n";

/// Compares the tables of the page with the registry, and checks that each format has a page.
pub(super) fn check(_metadata: &Metadata) -> Result<Vec<String>> {
    let mut pages = FORMATS.map(|format| format.facts().page).to_vec();
    pages.dedup();
    pages.retain(|page| !root().join(FOLDER).join(page).is_file());
    let mut found: Vec<_> = pages.iter().map(|page| format!("write {FOLDER}/{page}")).collect();
    let page = read()?;
    if with_tables(&page)? != page {
        found.push(format!("run xtask formats: {FOLDER}/README.md is not what the formats are"));
    }
    Ok(found)
}

/// Writes the tables of the page.
pub(crate) fn write() -> Result<()> {
    let path = root().join(FOLDER).join("README.md");
    fs::write(&path, with_tables(&read()?)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn read() -> Result<String> {
    let path = root().join(FOLDER).join("README.md");
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the text of a page with the tables in their place.
fn with_tables(page: &str) -> Result<String> {
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(_, after)| (before, after)));
    let (before, after) = parts.with_context(|| format!("{FOLDER}/README.md has no {BEGIN}"))?;
    let mut pages: Vec<(&str, Vec<&str>)> = Vec::new();
    for format in FORMATS {
        let page = format.facts().page;
        match pages.iter_mut().find(|(of, _)| *of == page) {
            Some((_, titles)) => titles.push(format.title()),
            None => pages.push((page, vec![format.title()])),
        }
    }
    let rows: String = pages
        .iter()
        .map(|(page, titles)| format!("| {} | [{page}]({page}) |\n", titles.join(", ")))
        .collect();
    let table = table();
    let tables = format!("```\n{table}```\n\n| format | page |\n|---|---|\n{rows}");
    Ok(format!("{before}{BEGIN}{tables}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_table_is_replaced() {
        let page = format!("# Formats\n\n{BEGIN}old\n{END}\nMore.\n");
        let made = with_tables(&page).unwrap();
        assert!(made.starts_with("# Formats\n") && made.ends_with("\nMore.\n"), "{made}");
        assert!(made.contains("| HPROF text, HPROF binary | [hprof.md](hprof.md) |\n"), "{made}");
        assert!(!made.contains("old\n<!--"), "{made}");
        assert_eq!(with_tables(&made).unwrap(), made);
        assert!(with_tables("# Formats\n").is_err());
    }
}
