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
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::workspace::Metadata;

/// A rule of the workspace.
struct Check {
    name: &'static str,
    /// The rule, for the help.
    rule: &'static str,
    /// Returns a line for each place that breaks the rule.
    faults: fn(&Metadata) -> Result<Vec<String>>,
}

/// The checks, in the order in which they run.
const CHECKS: [Check; 8] = [
    Check {
        name: "layers",
        rule: "crates use only what lies below them; unsafe code stays in its crates",
        faults: layers::check,
    },
    Check {
        name: "formats",
        rule: "docs/formats has the tables and the page of each format",
        faults: formats::check,
    },
    Check {
        name: "rooms",
        rule: "modules of the agent do not use each other in cycles",
        faults: rooms::check,
    },
    Check {
        name: "borders",
        rule: "system calls and code for one processor are in their folders",
        faults: borders::check,
    },
    Check {
        name: "cycles",
        rule: "cycles between the files of a crate are small",
        faults: cycles::check,
    },
    Check {
        name: "docs",
        rule: "links lead somewhere; docs/architecture.md is short and names the unsafe crates",
        faults: docs::check,
    },
    Check {
        name: "agent-deps",
        rule: "the agent links what xtask/agent-deps.txt lists, and nothing heavy",
        faults: agent::check_deps,
    },
    Check {
        name: "agent-size",
        rule: "libperk.so has at most 4 MiB and exports only the JVM's entry points",
        faults: agent::check_size,
    },
];

/// The names of the checks, with their rules.
pub(crate) fn names() -> PossibleValuesParser {
    CHECKS.map(|check| PossibleValue::new(check.name).help(check.rule)).into()
}

/// Runs the check of this name, or all of them.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let metadata = Metadata::load()?;
    let mut fault_count = 0;
    for Check { name, faults, .. } in
        CHECKS.iter().filter(|it| only.is_none_or(|only| only == it.name))
    {
        let faults = faults(&metadata)?;
        for line in &faults {
            eprintln!("check {name}: {line}");
        }
        if faults.is_empty() {
            eprintln!("check {name}: ok");
        }
        fault_count += faults.len();
    }
    match fault_count {
        0 => Ok(()),
        count => bail!("places that break the rules: {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_its_rules() {
        run(None).unwrap();
    }
}
