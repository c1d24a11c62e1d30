//! `xtask bench`: the cost of profiling, measured from outside and next to the agent's own account.
//! `overhead` measures sampling, beside the JVM's flight recorder; `exact` the counting and timing of
//! every call and allocation.
//! `readers` measures the speed of reading files, `jvmpi` the bridge to profilers of JVMPI, `attach` recordings of
//! running programs, `heap` the analysis of heap dumps, `serve` the server for
//! browsers, `store` a store of recordings.

mod attach;
mod child;
mod heap;
mod jvmpi;
mod programs;
mod readers;
mod report;
mod runs;
mod serve;
mod statistics;
mod store;
mod variants;

use runs::{ProfileSize, Round, Run, Timing, agent_copy};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use perk_testkit::Jdk;

use crate::arguments::{self, JdkChoice};
pub(crate) use programs::find_java;
use programs::{Program, Surroundings};
use variants::{Comparison, Profiler, Variant};

/// The commands of `xtask bench`.
#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// Measure what sampling costs, beside the JVM's flight recorder
    ///
    /// Prints tables for docs/measurements.
    Overhead(Measurement),
    /// Measure what the exact modes cost, and what they add to a call and an allocation
    Exact {
        #[command(flatten)]
        measurement: Measurement,
        /// The modes [default: all]
        #[arg(long, value_delimiter = ',', value_name = "MODE,...", value_parser = modes())]
        modes: Vec<String>,
    },
    /// Measure how fast perk reads generated files
    Readers(readers::ReadersArguments),
    /// Measure what the bridge to profilers of JVMPI costs, beside its bars
    Jvmpi(jvmpi::BridgeArguments),
    /// Measure how late the result of perk attach is, and what a program costs after it
    Attach(attach::AttachArguments),
    /// Measure what perk heap costs on a dump, beside hprof-slurp
    Heap(heap::HeapArguments),
    /// Measure what perk serve takes for a profile of many stacks, beside its bars
    Serve(serve::ServeArguments),
    /// Measure what a store of a day takes, beside its bars and DuckDB
    Store(store::StoreArguments),
    /// Run a command, and print the resources that it used
    #[command(hide = true)]
    Child(child::ChildArguments),
    /// Read one generated file
    #[command(hide = true)]
    ReadFile(readers::GeneratedFile),
}

fn modes() -> PossibleValuesParser {
    variants::MODES.iter().chain(&variants::OTHERS).map(|mode| mode.name).collect::<Vec<_>>().into()
}

/// A measurement of programs under perk.
#[derive(Args, Debug)]
pub(crate) struct Measurement {
    /// The rounds, in each of which each program runs once in each way
    #[arg(long, default_value = "7", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
    /// The programs: javac, hello, idle, threads, micro, or kit-NAME for the script run-NAME.sh of --workloads
    #[arg(long, value_delimiter = ',', value_name = "PROGRAM,...", value_parser = programs::group)]
    only: Vec<String>,
    #[command(flatten)]
    jdk: JdkChoice,
    /// The folder of the scripts
    #[arg(long, value_name = "FOLDER")]
    workloads: Option<PathBuf>,
}

/// Runs `xtask bench`.
pub(crate) fn run(benchmark: &Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Overhead(measurement) => {
            let usual = ["javac", "hello", "idle", "threads"];
            measurement.run(&usual, &Comparison::sampling())
        }
        Benchmark::Exact { measurement, modes } => {
            measurement.run(&["javac", "hello", "micro"], &Comparison::exact(modes))
        }
        Benchmark::Readers(arguments) => readers::run(arguments),
        Benchmark::Jvmpi(arguments) => jvmpi::run(arguments),
        Benchmark::Attach(arguments) => attach::run(arguments),
        Benchmark::Heap(arguments) => heap::run(arguments),
        Benchmark::Serve(arguments) => serve::run(arguments),
        Benchmark::Store(arguments) => store::run(arguments),
        Benchmark::Child(arguments) => child::run(arguments),
        Benchmark::ReadFile(file) => file.read(),
    }
}

impl Measurement {
    /// Prints the comparison of the chosen groups of programs, or of the usual ones.
    fn run(&self, usual: &[&str], comparison: &Comparison) -> Result<()> {
        let jdk = self.jdk.or_compiler();
        let chosen: Vec<&str> = self.only.iter().map(String::as_str).collect();
        let groups = if chosen.is_empty() { usual } else { &chosen };
        let work = tempfile::tempdir().context("cannot make a temporary folder")?;
        let so = agent_copy(work.path())?;
        let mut programs = Vec::new();
        for group in groups {
            let place =
                Surroundings { jdk, work: work.path(), workloads: self.workloads.as_deref() };
            programs.extend(programs::of(group, &place, self.rounds)?);
        }
        let mut text = report::heading(jdk, comparison);
        for program in &programs {
            let file = work.path().join("profile");
            let rounds = Bench { jdk, so: &so, program, file }.rounds(&comparison.variants)?;
            text += "\n";
            text += &report::program(program, comparison, &rounds);
        }
        io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
    }
}

/// A program that is to be measured.
struct Bench<'a> {
    jdk: &'a Jdk,
    so: &'a Path,
    program: &'a Program,
    file: PathBuf,
}

impl Bench<'_> {
    fn rounds(&self, variants: &[Variant]) -> Result<Vec<Round>> {
        let name = &self.program.name;
        // These runs fill the system's caches, and are not counted.
        for variant in &variants[..2] {
            self.once(variant)?;
        }
        let mut rounds = Vec::new();
        for round in 0..self.program.rounds {
            let mut runs = vec![Run::default(); variants.len()];
            for step in 0..variants.len() {
                let index = (round + step) % variants.len();
                runs[index] = self.once(&variants[index])?;
            }
            let cpu: Vec<_> = runs.iter().map(|run| format!("{:.3}", run.usage.cpu_s)).collect();
            let count = self.program.rounds;
            eprintln!("{name}: round {} of {count}, CPU s: {}", round + 1, cpu.join(" "));
            rounds.push(runs);
        }
        Ok(rounds)
    }

    fn once(&self, variant: &Variant) -> Result<Run> {
        let Self { jdk, program, file, .. } = self;
        let flags = self.flags(variant.profiler);
        let failed = || format!("{}, {}", program.name, variant.name);
        let usage = child::measure(&program.start.command(jdk, &flags)).with_context(failed)?;
        let timings = match &program.timings {
            Some(file) => timings(&fs::read_to_string(file).with_context(failed)?)?,
            None => Vec::new(),
        };
        let run = Run { usage, timings, ..Run::default() };
        if variant.profiler == Profiler::None {
            return Ok(run);
        }
        let bytes = fs::read(file).context("the profiler wrote no file").with_context(failed)?;
        fs::remove_file(file).context("cannot remove the profile")?;
        if let Profiler::Other(_) = variant.profiler {
            return Ok(run);
        }
        let is_recording = matches!(variant.profiler, Profiler::FlightRecorder(_));
        let profile = if is_recording {
            perk_formats::jfr::read(&bytes[..]).map_err(anyhow::Error::from)
        } else {
            perk_hprof::read(&bytes[..]).map_err(anyhow::Error::from)
        };
        let profile = profile.context("cannot read the profile").with_context(failed)?;
        let recorded = Some(ProfileSize::of(&profile, bytes.len() as u64));
        Ok(Run { accounting: profile.accounting, recorded, ..run })
    }

    /// Returns the JVM's options for a run with a profiler.
    fn flags(&self, profiler: Profiler) -> Vec<String> {
        let (so, file) = (self.so.display(), self.file.display());
        match profiler {
            Profiler::None => Vec::new(),
            Profiler::Perk(options) => {
                vec![format!("-agentpath:{so}={options},file={file},verbose=n")]
            }
            Profiler::FlightRecorder(settings) => {
                vec![format!("-XX:StartFlightRecording:filename={file},settings={settings}")]
            }
            Profiler::Other(option) => vec![format!("{option}{file}")],
        }
    }
}

/// Reads the lines that `java/bench/Micro.java` writes: an operation, a tab, and its ns.
fn timings(text: &str) -> Result<Vec<Timing>> {
    let timing = |line: &str| {
        let (operation, ns) = line.split_once('\t')?;
        Some(Timing { operation: operation.to_owned(), ns: ns.parse().ok()? })
    };
    let read = |line| timing(line).with_context(|| format!("no operation and ns: {line}"));
    text.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_read() {
        let read = timings("call, getter\t0.5\nnew\t12\n").unwrap();
        let timing = |operation: &str, ns| Timing { operation: operation.to_owned(), ns };
        assert_eq!(read, [timing("call, getter", 0.5), timing("new", 12.0)]);
        assert_eq!(timings("new 12").unwrap_err().to_string(), "no operation and ns: new 12");
    }
}
