//! `xtask soak`: programs that strain the JVM under perk, for as long as asked. They must run as they
//! do without. Samples by signals are the default; `soak exact` has the probes.
//!
//! Each run has the next of the flags of the JVM ([`flags`]), so that each program meets each
//! collector and compiler. A run that does not end as without perk is told at once, and its folder is
//! kept; the table at the end has the counts.

mod exact;
mod flags;
mod programs;
mod run;
mod tally;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::{Jdk, jdk};

use crate::workspace;
use flags::Flags;
use programs::Program;
use run::{Ending, Plain};
use tally::{Row, Tally};

const USAGE: &str = "soak [--minutes N] [--jdk 17|21|25|all|HOME] [--interval 1ms] [--only NAME,...] \
                     [--workloads FOLDER], or soak exact …";
const DEFAULT_MINUTES: f64 = 10.0;

/// Runs `xtask soak` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["exact", rest @ ..] => exact::run(rest),
        _ => soak(&Options::parse(arguments)?),
    }
}

struct Options {
    /// The time for each JDK.
    time: Duration,
    jdks: Vec<Jdk>,
    /// The interval of samples, as the agent's option has it.
    interval: String,
    /// The programs; empty means all.
    only: Vec<String>,
    /// The folder of real programs' scripts.
    workloads: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut minutes, mut jdks) = (DEFAULT_MINUTES, jdk::all().to_vec());
        let (mut interval, mut only, mut workloads) = ("1ms".to_owned(), Vec::new(), None);
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let value = *arguments.next().with_context(|| format!("{name} needs a value"))?;
            match name {
                "--minutes" => minutes = value.parse().context("--minutes takes a number")?,
                "--jdk" => jdks = jdks_of(value)?,
                "--interval" => interval = value.to_owned(),
                "--only" => only = value.split(',').map(str::to_owned).collect(),
                "--workloads" => workloads = Some(PathBuf::from(value)),
                _ => bail!("unknown option {name}: {USAGE}"),
            }
        }
        ensure!(!jdks.is_empty(), "no JDK: set PERK_JDKS");
        ensure!(minutes > 0.0 && minutes < 1e6, "--minutes takes a number above 0");
        Ok(Self { time: Duration::from_secs_f64(60.0 * minutes), jdks, interval, only, workloads })
    }
}

fn jdks_of(value: &str) -> Result<Vec<Jdk>> {
    if value == "all" {
        return Ok(jdk::all().to_vec());
    }
    let found = match value.parse() {
        Ok(version) => jdk::version(version).cloned(),
        Err(_) => Jdk::at(&PathBuf::from(value)),
    };
    Ok(vec![found.with_context(|| format!("no JDK {value}: set PERK_JDKS"))?])
}

fn soak(options: &Options) -> Result<()> {
    let kept = workspace::root().join("target/soak");
    let mut out = io::stdout();
    let mut tallies = Vec::new();
    for jdk in &options.jdks {
        let programs = programs::of(jdk, &options.only, options.workloads.as_deref())?;
        ensure!(!programs.is_empty(), "no such program: {}", options.only.join(","));
        let flags = flags::of(jdk)?;
        let mut plain = Vec::new();
        for program in &programs {
            let what = || format!("{} on JDK {} without perk", program.name, jdk.version);
            plain.push(Plain::of(program).with_context(what)?);
        }
        let rows = programs.iter().map(|program| Row::new(&program.name, jdk.version));
        let mut tally = Tally::new(rows.collect());
        let begin = Instant::now();
        'time: for round in 0.. {
            for (index, (program, plain)) in programs.iter().zip(&plain).enumerate() {
                if begin.elapsed() >= options.time {
                    break 'time;
                }
                let Some(plain) = plain else { continue };
                // Memory is compared in the runs without flags.
                let turn = if round == 0 { 0 } else { round + index };
                let flags = &program.flags(&flags, turn);
                let ended = run::sampled(program, plain, flags, &options.interval, &kept)?;
                if let Ending::Wrong { what, folder } = &ended.ending {
                    let folder = folder.display();
                    writeln!(out, "\rJDK {} {program} {flags}: {what}, see {folder}", jdk.version)?;
                }
                tally.add(index, &ended, flags.is_empty().then_some(plain.peak_bytes));
                let elapsed = begin.elapsed().as_secs();
                write!(out, "\rJDK {}: {}, {elapsed} s ", jdk.version, tally.summary())?;
                out.flush()?;
            }
        }
        writeln!(out)?;
        tallies.push(tally);
    }
    let all = Tally::together(tallies);
    write!(out, "\n{}\n{}\n", all.table(), all.summary())?;
    let bad_count = all.bad_count();
    ensure!(bad_count == 0, "{bad_count} runs were not as without perk");
    Ok(())
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl std::fmt::Display for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}]", self.all.join(" "))
    }
}
