//! `xtask bench jvmpi`: the cost of the bridge to profilers of JVMPI, beside its bars.

mod bars;
mod runs;

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::{Jdk, jdk};

use super::agent_copy;
use super::report::{head, machine, row};
use super::statistics::Spread;
use bars::{Bar, GROUPS, Group};
use runs::{Runs, Values};

const DEFAULT_ROUNDS: usize = 7;

const USAGE: &str = "bench jvmpi [--rounds N] [--jdk HOME]... [--only GROUP,...]";

/// Runs `xtask bench jvmpi` with these arguments.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let so = agent_copy(work.path())?;
    let mut text = machine() + "\n";
    let mut columns = Vec::new();
    for jdk in &options.jdks {
        let runs = Runs { jdk, so: &so, work: work.path(), rounds: options.rounds };
        columns.push((jdk, measure(&runs, &options.groups)?));
    }
    text += &table(&options.groups, &columns);
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

struct Options {
    rounds: usize,
    jdks: Vec<Jdk>,
    groups: Vec<&'static Group>,
}

impl Options {
    /// Reads the options. Without `--jdk` all JDKs of this machine are measured, without `--only` all
    /// groups.
    fn parse(arguments: &[&str]) -> Result<Self> {
        let groups = GROUPS.iter().collect();
        let mut options = Self { rounds: DEFAULT_ROUNDS, jdks: Vec::new(), groups };
        for pair in arguments.chunks(2) {
            let &[name, value] = pair else { bail!("{} needs a value", pair[0]) };
            match name {
                "--rounds" => options.rounds = value.parse().context("--rounds takes a number")?,
                "--jdk" => {
                    let jdk = Jdk::at(Path::new(value));
                    options.jdks.push(jdk.with_context(|| format!("no JDK in {value}"))?);
                }
                "--only" => {
                    options.groups = value.split(',').map(group).collect::<Result<_>>()?;
                }
                _ => bail!("unknown option {name}: {USAGE}"),
            }
        }
        ensure!(options.rounds > 0, "--rounds must be at least 1");
        if options.jdks.is_empty() {
            options.jdks = jdk::all().to_vec();
        }
        Ok(options)
    }
}

fn group(name: &str) -> Result<&'static Group> {
    let unknown = || format!("unknown group {name}: {}", GROUPS.map(|it| it.name).join(", "));
    GROUPS.iter().find(|group| group.name == name).with_context(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let home = jdk::compiler().home.display().to_string();
        let arguments = ["--jdk", &home, "--rounds", "3", "--only", "hello,size", "--jdk", &home];
        let options = Options::parse(&arguments).unwrap();
        let names: Vec<_> = options.groups.iter().map(|group| group.name).collect();
        assert_eq!((options.rounds, names), (3, vec!["hello", "size"]));
        assert_eq!(options.jdks, [jdk::compiler().clone(), jdk::compiler().clone()]);
        for wrong in [&["--rounds", "0"][..], &["--jdk"], &["--only", "x"], &["--fast", "1"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_cell_shows_that_the_bar_is_passed() {
        let bar = Bar { what: "", name: "", unit: 1e3, most: Some(1.5), decimals: 2 };
        assert_eq!(cell(&bar, &[1000.0, 1500.0, 2000.0]), "1.50 (1.00 to 2.00)");
        assert_eq!(cell(&bar, &[1501.0]), "**1.50**");
        assert_eq!(cell(&Bar { most: None, ..bar }, &[2000.0]), "2.00");
    }
}
