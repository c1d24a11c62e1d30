//! `xtask bench jvmpi`: the cost of the bridge to profilers of JVMPI, beside its bars.

mod bars;
mod runs;

use std::io::{self, Write as _};

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use perk_testkit::Jdk;

use crate::arguments::{self, JdkList};

use super::agent_copy;
use super::report::{head, machine, row};
use super::statistics::Spread;
use bars::{Bar, GROUPS, Group};
use runs::{Runs, Values};

/// The arguments of `xtask bench jvmpi`.
#[derive(Args, Debug)]
pub(crate) struct BridgeArguments {
    /// The rounds, in each of which each program runs once in each way
    #[arg(long, default_value = "7", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
    #[command(flatten)]
    jdks: JdkList,
    /// The groups of values [default: all]
    #[arg(long, value_delimiter = ',', value_name = "GROUP,...", value_parser = groups())]
    only: Vec<String>,
}

fn groups() -> PossibleValuesParser {
    GROUPS.map(|group| group.name).into()
}

/// Runs `xtask bench jvmpi`.
pub(super) fn run(options: &BridgeArguments) -> Result<()> {
    let is_chosen =
        |name: &str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    let groups: Vec<&Group> = GROUPS.iter().filter(|group| is_chosen(group.name)).collect();
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let so = agent_copy(work.path())?;
    let mut text = machine() + "\n";
    let mut columns = Vec::new();
    for jdk in options.jdks.or_all()? {
        let runs = Runs { jdk, so: &so, work: work.path(), rounds: options.rounds };
        columns.push((jdk, measure(&runs, &groups)?));
    }
    text += &table(&groups, &columns);
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// Returns the values of the groups that the JDK can run.
fn measure(runs: &Runs<'_>, groups: &[&Group]) -> Result<Values> {
    let mut values = Values::default();
    for Group { name, bars } in groups {
        match *name {
            "javac" if !runs.jdk.has_javac => {
                eprintln!("JDK {}: no javac", runs.jdk.version);
                continue;
            }
            "speed" => runs.speed(&mut values)?,
            "dumps" => runs.dumps(&mut values),
            "size" => runs.size(&mut values)?,
            _ => runs.starts(name, &mut values)?,
        }
        for bar in *bars {
            ensure!(values.get(bar.name).is_some(), "no run has measured {}", bar.what);
        }
    }
    Ok(values)
}

/// Returns the table of the groups. Medians above their bar are bold.
fn table(groups: &[&Group], columns: &[(&Jdk, Values)]) -> String {
    let versions = columns.iter().map(|(jdk, _)| format!("JDK {}", jdk.version));
    let titles = ["", "bar"].map(str::to_owned).into_iter().chain(versions);
    let mut text = head(&titles.collect::<Vec<_>>());
    for bar in groups.iter().flat_map(|group| group.bars) {
        let most = bar.most.map_or_else(String::new, |most| most.to_string());
        let cells = columns.iter().map(|(_, values)| values.get(bar.name));
        let cells = cells.map(|values| values.map_or_else(String::new, |it| cell(bar, it)));
        text += &row(&[bar.what.to_owned(), most].into_iter().chain(cells).collect::<Vec<_>>());
    }
    text
}

fn cell(bar: &Bar, values: &[f64]) -> String {
    let spread = Spread::of(values.iter().map(|value| value / bar.unit));
    let text = match values {
        [value] => format!("{:.*}", bar.decimals, value / bar.unit),
        _ => spread.text(bar.decimals),
    };
    match bar.most {
        Some(most) if spread.median > most => format!("**{text}**"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_that_the_bar_is_passed() {
        let bar = Bar { what: "", name: "", unit: 1e3, most: Some(1.5), decimals: 2 };
        assert_eq!(cell(&bar, &[1000.0, 1500.0, 2000.0]), "1.50 (1.00 to 2.00)");
        assert_eq!(cell(&bar, &[1501.0]), "**1.50**");
        assert_eq!(cell(&Bar { most: None, ..bar }, &[2000.0]), "2.00");
    }
}
