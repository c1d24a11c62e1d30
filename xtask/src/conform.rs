//! `xtask conform`: programs generated at random, under the original agent of JDK 8 and under perk,
//! side by side. Calls and allocated objects of both must equal the computed ones.

mod combinations;
mod heap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io, io::Write as _};

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::hprof::Recording;
use perk_testkit::random_program::{CALLS_OPTIONS, OBJECTS_OPTIONS};
use perk_testkit::{Jdk, RandomProgram, agent, fixture, jdk};

const DEFAULT_SEEDS: u64 = 20;
const FILE: &str = "o.txt";
const USAGE: &str = "conform [--seeds N] [--from SEED] [--java8 COMMAND] [--jdk HOME], or conform \
                     combinations [--java8 COMMAND], or conform heap DUMP ANALYZER";

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

#[derive(Debug)]
struct Options {
    seeds: std::ops::Range<u64>,
    /// The words of a command that runs JDK 8's `java`.
    java8: Option<Vec<String>>,
    jdk: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let (mut count, mut first) = (DEFAULT_SEEDS, 1);
        let (mut java8, mut jdk) = (None, None);
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let value = *arguments.next().with_context(|| format!("{name} needs a value"))?;
            match name {
                "--seeds" => count = value.parse().context("--seeds takes a number")?,
                "--from" => first = value.parse().context("--from takes a number")?,
                "--java8" => java8 = Some(value.split_whitespace().map(str::to_owned).collect()),
                "--jdk" => jdk = Some(value.into()),
                _ => bail!("unknown option {name}: {USAGE}"),
            }
        }
        ensure!(count > 0, "--seeds must be at least 1");
        Ok(Options { seeds: first..first.saturating_add(count), java8, jdk })
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

/// Runs `xtask conform` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    if let ["combinations", rest @ ..] = arguments {
        return combinations::write(&java8(&Options::parse(rest)?)?);
    }
    if let ["heap", rest @ ..] = arguments {
        return heap::run(rest);
    }
    let options = Options::parse(arguments)?;
    let jdk = match &options.jdk {
        Some(home) => Jdk::at(home).with_context(|| format!("no JDK in {}", home.display()))?,
        None => jdk::compiler().clone(),
    };
    let java8 = java8(&options)?;
    let sides = [
        Side { name: "original".to_owned(), java: java8, agent: "-agentlib:hprof=".to_owned() },
        Side {
            name: format!("perk on {}", jdk.version),
            java: vec![jdk.java().display().to_string()],
            agent: format!("-agentpath:{}=", agent::agent_so().display()),
        },
    ];
    let mut faults = 0;
    for seed in options.seeds {
        faults += compare(&RandomProgram::new(seed), &sides)?;
    }
    ensure!(faults == 0, "{faults} counts differ");
    Ok(())
}

/// Returns the words of a command that runs JDK 8's `java`.
fn java8(options: &Options) -> Result<Vec<String>> {
    let installed = || jdk::version(8).map(|jdk| vec![jdk.java().display().to_string()]);
    options
        .java8
        .clone()
        .or_else(installed)
        .context("no JDK 8: name a command that runs its java in the current folder with --java8")
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
        let told = found.get(key).copied().unwrap_or(0);
        if told != *count {
            lines.push(format!("{} by {}: {told}, not {count}", key.0, key.1));
        }
    }
    for (key, told) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        lines.push(format!("{} by {}: {told}, not 0", key.0, key.1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options =
            Options::parse(&["--seeds", "3", "--from", "9", "--java8", "sh x java"]).unwrap();
        assert_eq!((options.seeds, options.jdk), (9..12, None));
        assert_eq!(options.java8.unwrap(), ["sh", "x", "java"]);
        assert!(Options::parse(&["--seeds", "0"]).is_err());
        assert!(Options::parse(&["--speed"]).is_err());
    }

    #[test]
    fn what_is_wrong_is_told() {
        let counts = |list: &[(&str, u64)]| -> Counts {
            list.iter().map(|(key, count)| (((*key).to_owned(), "m".to_owned()), *count)).collect()
        };
        let lines = wrong(&counts(&[("a", 1), ("c", 3)]), &counts(&[("a", 1), ("b", 2)]));
        assert_eq!(lines, ["b by m: 0, not 2", "c by m: 3, not 0"]);
    }
}
