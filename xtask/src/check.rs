//! `xtask check`: rules of the workspace that the compiler does not enforce.
//!
//! A check returns one line for each broken rule, with the way to repair it.

mod agent;
mod borders;
mod cycles;
mod docs;
pub(crate) mod formats;
mod layers;
mod rooms;

use anyhow::{Result, bail};

use crate::workspace::Metadata;

/// The checks by name, in the order in which they run.
const CHECKS: [(&str, Check); 8] = [
    ("layers", layers::check),
    ("formats", formats::check),
    ("rooms", rooms::check),
    ("borders", borders::check),
    ("cycles", cycles::check),
    ("docs", docs::check),
    ("agent-deps", agent::check_deps),
    ("agent-size", agent::check_size),
];

type Check = fn(&Metadata) -> Result<Vec<String>>;

/// Runs the check of this name, or all of them.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let metadata = Metadata::load()?;
    let mut failures = 0;
    let mut runs = 0;
    for (name, check) in CHECKS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let found = check(&metadata)?;
        for line in &found {
            eprintln!("check {name}: {line}");
        }
        if found.is_empty() {
            eprintln!("check {name}: ok");
        }
        failures += found.len();
        runs += 1;
    }
    match (runs, failures) {
        (0, _) => bail!("unknown check {}", only.unwrap_or_default()),
        (_, 0) => Ok(()),
        (_, count) => bail!("checks failed: {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheap_checks_pass() {
        let metadata = Metadata::load().unwrap();
        assert_eq!(layers::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(formats::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(rooms::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(borders::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(cycles::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(docs::check(&metadata).unwrap(), [""; 0]);
        assert_eq!(agent::check_deps(&metadata).unwrap(), [""; 0]);
    }

    #[test]
    fn an_unknown_check_is_an_error() {
        assert_eq!(run(Some("wings")).unwrap_err().to_string(), "unknown check wings");
    }
}
