//! `xtask soak`: programs that strain the JVM under perk, for as long as asked. They must run as they
//! do without. Samples by signals are the default; `soak exact` has the probes.
//!
//! Each run has the next of the flags of the JVM ([`flags`]), so that each program meets each
//! collector and compiler. A run that does not end as without perk is reported at once, and its folder is
//! kept; the table at the end has the counts.

mod exact;
mod flags;
mod programs;
mod run;
mod tally;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use crate::arguments::JdkList;
use crate::workspace;
use flags::Flags;
use programs::Program;
use run::{Ending, PlainRun};
use tally::{ProgramTally, Tally};

/// The arguments of `xtask soak`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SoakArguments {
    #[command(subcommand)]
    engine: Option<Engine>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum Engine {
    /// Run programs with perk's probes, Flight Recorder and the Vector API, whose output must not change
    Exact(exact::ExactArguments),
}

#[derive(Args, Debug)]
struct Options {
    /// The time for each JDK
    #[arg(long, value_name = "N", default_value = "10", value_parser = minutes)]
    minutes: Duration,
    #[command(flatten)]
    jdks: JdkList,
    /// The interval of samples, as in the agent's option
    #[arg(long, default_value = "1ms")]
    interval: String,
    /// The programs [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    only: Vec<String>,
    /// The folder with scripts of real programs
    #[arg(long, value_name = "FOLDER")]
    workloads: Option<PathBuf>,
}

fn minutes(text: &str) -> Result<Duration> {
    let minutes: f64 = text.parse()?;
    ensure!(minutes > 0.0 && minutes < 1e6, "not above 0");
    Ok(Duration::from_secs_f64(60.0 * minutes))
}

/// Runs `xtask soak`.
pub(crate) fn run(arguments: &SoakArguments) -> Result<()> {
    match &arguments.engine {
        Some(Engine::Exact(arguments)) => exact::run(arguments),
        None => soak(&arguments.options),
    }
}

fn soak(options: &Options) -> Result<()> {
    let kept = workspace::root().join("target/soak");
    let mut out = io::stdout();
    let mut tallies = Vec::new();
    for jdk in options.jdks.or_all()? {
        let programs = programs::of(jdk, &options.only, options.workloads.as_deref())?;
        ensure!(!programs.is_empty(), "no such program: {}", options.only.join(","));
        let flags = flags::of(jdk)?;
        let mut plain = Vec::new();
        for program in &programs {
            let what = || format!("{} on JDK {} without perk", program.name, jdk.version);
            plain.push(PlainRun::of(program).with_context(what)?);
        }
        let rows = programs.iter().map(|program| ProgramTally::new(&program.name, jdk.version));
        let mut tally = Tally::new(rows.collect());
        let begin = Instant::now();
        'time: for round in 0.. {
            for (index, (program, plain)) in programs.iter().zip(&plain).enumerate() {
                if begin.elapsed() >= options.minutes {
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
