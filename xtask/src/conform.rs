//! `xtask conform`: programs generated at random, under the original agent of JDK 8 and under perk,
//! side by side. Calls and allocated objects of both must equal the computed ones.

mod combinations;
mod heap;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, io, io::Write as _};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, value_parser};
use perk_testkit::hprof::Recording;
use perk_testkit::random_program::{CALLS_OPTIONS, OBJECTS_OPTIONS};
use perk_testkit::{RandomProgram, agent, fixture, jdk};

use crate::arguments::JdkChoice;

const FILE: &str = "o.txt";

/// The counts by kind and place.
type Counts = BTreeMap<(String, String), u64>;

/// A question to the agents: the options, and the functions that read and compute the answer.
type Question = (
    &'static str,
    &'static str,
    fn(&RandomProgram, &Recording) -> Counts,
    fn(&RandomProgram) -> &Counts,
);

const QUESTIONS: [Question; 2] = [
    ("calls", CALLS_OPTIONS, RandomProgram::recorded_calls, |program| &program.calls),
    ("objects", OBJECTS_OPTIONS, RandomProgram::recorded_objects, |program| &program.objects),
];

/// The arguments of `xtask conform`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConformArguments {
    #[command(subcommand)]
    comparison: Option<Comparison>,
    /// The number of programs
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    seeds: u64,
    /// The seed of the first program
    #[arg(long, default_value = "1", value_name = "SEED")]
    from: u64,
    #[command(flatten)]
    java8: Java8,
    #[command(flatten)]
    jdk: JdkChoice,
}

#[derive(Debug, Subcommand)]
enum Comparison {
    /// Write testdata/hprof/combinations/original.tsv: how JDK 8's HPROF agent ends with each combination
    /// of its analyses
    Combinations(Java8),
    /// Compare the retained sizes of a heap dump by perk and by the crate hprof-analyzer, object by object
    Heap(heap::DumpArguments),
}

/// The JDK that has the original agent.
#[derive(Args, Debug)]
struct Java8 {
    /// A command that runs JDK 8's java in the current folder [default: the JDK 8 of this machine]
    #[arg(long = "java8", value_name = "COMMAND")]
    command: Option<String>,
}

impl Java8 {
    /// Returns the words of the command.
    fn words(&self) -> Result<Vec<String>> {
        if let Some(command) = &self.command {
            return Ok(command.split_whitespace().map(str::to_owned).collect());
        }
        let jdk = jdk::version(8).context(
            "no JDK 8: name a command that runs its java in the current folder with --java8",
        )?;
        Ok(vec![jdk.java().display().to_string()])
    }
}

/// One of the compared agents.
struct Side {
    name: String,
    /// The words of the command that runs `java`, without the agent.
    java: Vec<String>,
    /// The agent's option, up to the agent's own options.
    agent: String,
}

/// Runs `xtask conform`.
pub(crate) fn run(arguments: &ConformArguments) -> Result<()> {
    match &arguments.comparison {
        Some(Comparison::Combinations(java8)) => combinations::write(&java8.words()?),
        Some(Comparison::Heap(arguments)) => heap::run(arguments),
        None => compare_all(arguments),
    }
}

fn compare_all(ConformArguments { seeds, from, java8, jdk, .. }: &ConformArguments) -> Result<()> {
    let (java8, jdk) = (java8.words()?, jdk.or_compiler());
    let sides = [
        Side { name: "original".to_owned(), java: java8, agent: "-agentlib:hprof=".to_owned() },
        Side {
            name: format!("perk on {}", jdk.version),
            java: vec![jdk.java().display().to_string()],
            agent: format!("-agentpath:{}=", agent::agent_so().display()),
        },
    ];
    let mut faults = 0;
    for seed in *from..from.saturating_add(*seeds) {
        faults += compare(&RandomProgram::new(seed), &sides)?;
    }
    ensure!(faults == 0, "{faults} counts differ");
    Ok(())
}

/// Runs one program on both sides, and prints one line per question. Returns the number of wrong
/// counts.
fn compare(program: &RandomProgram, sides: &[Side]) -> Result<usize> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let classes = fixture::compile_text_for(8, &program.class, &program.source);
    // The command of JDK 8 may have access to this folder only.
    for class in fs::read_dir(classes)? {
        let class = class?;
        fs::copy(class.path(), work.path().join(class.file_name()))?;
    }
    let mut faults = 0;
    for (what, agent_options, recorded, computed) in QUESTIONS {
        let expected = computed(program);
        for side in sides {
            let recording = record(side, agent_options, program, work.path())
                .with_context(|| format!("{}, {}", program.class, side.name))?;
            let wrong = wrong(&recorded(program, &recording), expected);
            let mut out = io::stdout().lock();
            let (class, name) = (&program.class, &side.name);
            let total: u64 = expected.values().sum();
            let places = expected.len();
            writeln!(
                out,
                "{class}: {total} {what} at {places} places, {name}: {} wrong",
                wrong.len()
            )?;
            for line in &wrong {
                writeln!(out, "  {line}")?;
            }
            faults += wrong.len();
        }
    }
    Ok(faults)
}

/// Runs a program to its end, and reads its file.
fn record(side: &Side, options: &str, program: &RandomProgram, work: &Path) -> Result<Recording> {
    let [java, words @ ..] = &side.java[..] else { bail!("no command") };
    let output = Command::new(java)
        .args(words)
        .arg(format!("{}{options},verbose=n,file={FILE}", side.agent))
        .args(["-Xmx256m", "-cp", ".", &program.class])
        .current_dir(work)
        .output()
        .with_context(|| format!("cannot start {java}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {stderr}", output.status);
    let file = work.join(FILE);
    let bytes = fs::read(&file).context("the agent wrote no file")?;
    fs::remove_file(&file)?;
    Recording::read(&bytes).map_err(anyhow::Error::msg)
}

/// Returns the differences from the expected counts, one line each.
fn wrong(found: &Counts, expected: &Counts) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, count) in expected {
        let count_found = found.get(key).copied().unwrap_or(0);
        if count_found != *count {
            lines.push(format!("{} by {}: {count_found}, not {count}", key.0, key.1));
        }
    }
    for (key, count_found) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        lines.push(format!("{} by {}: {count_found}, not 0", key.0, key.1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_words() {
        let java8 = Java8 { command: Some("sh x java".to_owned()) };
        assert_eq!(java8.words().unwrap(), ["sh", "x", "java"]);
    }

    #[test]
    fn wrong_counts_are_listed() {
        let counts = |list: &[(&str, u64)]| -> Counts {
            list.iter().map(|(key, count)| (((*key).to_owned(), "m".to_owned()), *count)).collect()
        };
        let lines = wrong(&counts(&[("a", 1), ("c", 3)]), &counts(&[("a", 1), ("b", 2)]));
        assert_eq!(lines, ["b by m: 0, not 2", "c by m: 3, not 0"]);
    }
}
