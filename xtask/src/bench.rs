//! `xtask bench`: the cost of profiling, measured from outside and next to the agent's own account.
//! `overhead` measures sampling, beside the JVM's flight recorder; `exact` the counting and timing of
//! every call and allocation.
//! `readers` measures the speed of reading files, `jvmpi` the bridge to profilers of JVMPI, `attach` recordings of
//! running programs, `heap` the analysis of heap dumps.

mod attach;
mod child;
mod heap;
mod jvmpi;
mod programs;
mod readers;
mod report;
mod runs;
mod statistics;
mod variants;

use runs::{Recorded, Round, Run, Timing, agent_copy};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::{Jdk, jdk};

use child::CHILD;
pub(crate) use programs::find_java;
use programs::{GROUPS, KIT, Place, Program, unknown};
use variants::{Comparison, Profiler, Variant};

const DEFAULT_ROUNDS: usize = 7;

const USAGE: &str = "bench overhead|exact [--rounds N] [--only PROGRAM,...] [--jdk HOME] \
                     [--workloads FOLDER], and of exact [--modes MODE,...]; bench readers [--mb N] [--rounds N] [--only FORM,...]; \
                     bench jvmpi [--jdk HOME]... [--rounds N] [--only GROUP,...]; \
                     bench attach [--jdk HOME]... [--rounds N]; \
                     bench heap [--mb N] [--file DUMP] [--slurp PROGRAM] [--rounds N]";

/// Runs `xtask bench` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["overhead", options @ ..] => {
            let options = Options::parse(options, &["javac", "hello", "idle", "threads"])?;
            ensure!(options.modes.is_empty(), "--modes goes with bench exact");
            compare(&options, &Comparison::sampling())
        }
        ["exact", options @ ..] => {
            let options = Options::parse(options, &["javac", "hello", "micro"])?;
            compare(&options, &Comparison::exact(&options.modes)?)
        }
        ["readers", options @ ..] => readers::run(options),
        ["jvmpi", options @ ..] => jvmpi::run(options),
        ["attach", options @ ..] => attach::run(options),
        ["heap", options @ ..] => heap::run(options),
        [CHILD, command @ ..] => child::run(command),
        _ => bail!(USAGE),
    }
}

#[derive(Debug)]
struct Options {
    rounds: usize,
    groups: Vec<String>,
    /// The names of the exact engine's modes; empty means all.
    modes: Vec<String>,
    jdk: Option<PathBuf>,
    /// The folder of the scripts `run-NAME.sh` that the programs `kit-NAME` are run by.
    workloads: Option<PathBuf>,
}

impl Options {
    /// Reads the options. Without `--only`, `usual_groups` are measured.
    fn parse(arguments: &[&str], usual_groups: &[&str]) -> Result<Self> {
        let groups = usual_groups.iter().map(|&it| it.to_owned()).collect();
        let mut options =
            Self { rounds: DEFAULT_ROUNDS, groups, modes: Vec::new(), jdk: None, workloads: None };
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let value = *arguments.next().with_context(|| format!("{name} needs a value"))?;
            match name {
                "--rounds" => {
                    options.rounds = value.parse().context("--rounds takes a number")?;
                    ensure!(options.rounds > 0, "--rounds must be at least 1");
                }
                "--only" => {
                    options.groups = value.split(',').map(str::to_owned).collect();
                    for group in &options.groups {
                        let known = GROUPS.contains(&group.as_str()) || group.starts_with(KIT);
                        ensure!(known, "{}", unknown(group));
                    }
                }
                "--modes" => options.modes = value.split(',').map(str::to_owned).collect(),
                "--jdk" => options.jdk = Some(value.into()),
                "--workloads" => options.workloads = Some(value.into()),
                _ => bail!("unknown option {name}: {USAGE}"),
            }
        }
        Ok(options)
    }
}

fn compare(options: &Options, comparison: &Comparison) -> Result<()> {
    let jdk = match &options.jdk {
        Some(home) => Jdk::at(home).with_context(|| format!("no JDK in {}", home.display()))?,
        None => jdk::compiler().clone(),
    };
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let so = agent_copy(work.path())?;
    let mut programs = Vec::new();
    for group in &options.groups {
        let place = Place { jdk: &jdk, work: work.path(), workloads: options.workloads.as_deref() };
        programs.extend(programs::of(group, &place, options.rounds)?);
    }
    let mut text = report::heading(&jdk, comparison);
    for program in &programs {
        let file = work.path().join("profile");
        let rounds = Bench { jdk: &jdk, so: &so, program, file }.rounds(&comparison.variants)?;
        text += "\n";
        text += &report::program(program, comparison, &rounds);
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
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
        let is_recording = matches!(variant.profiler, Profiler::FlightRecorder(_));
        let profile = if is_recording {
            perk_formats::jfr::read(&bytes[..]).map_err(anyhow::Error::from)
        } else {
            perk_hprof::read(&bytes[..]).map_err(anyhow::Error::from)
        };
        let profile = profile.context("cannot read the profile").with_context(failed)?;
        let recorded = Some(Recorded::of(&profile, bytes.len() as u64));
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
    fn options_are_read() {
        let arguments = ["--rounds", "3", "--only", "hello,idle", "--modes", "old,sites"];
        let options = Options::parse(&arguments, &["javac"]).unwrap();
        assert_eq!((options.rounds, options.groups.join(" ").as_str()), (3, "hello idle"));
        assert_eq!((options.modes.join(" ").as_str(), options.jdk), ("old sites", None));
        assert_eq!(Options::parse(&[], &["javac"]).unwrap().groups, ["javac"]);
    }

    #[test]
    fn wrong_options_are_told() {
        let refusal =
            |arguments: &[&str]| Options::parse(arguments, &GROUPS).unwrap_err().to_string();
        assert_eq!(refusal(&["--rounds"]), "--rounds needs a value");
        assert_eq!(refusal(&["--rounds", "0"]), "--rounds must be at least 1");
        let programs = "javac, hello, idle, threads, micro, kit-NAME";
        assert_eq!(refusal(&["--only", "javac,x"]), format!("unknown program x: {programs}"));
        assert_eq!(refusal(&["--fast", "1"]), format!("unknown option --fast: {USAGE}"));
    }

    #[test]
    fn timings_are_read() {
        let read = timings("call, getter\t0.5\nnew\t12\n").unwrap();
        let timing = |operation: &str, ns| Timing { operation: operation.to_owned(), ns };
        assert_eq!(read, [timing("call, getter", 0.5), timing("new", 12.0)]);
        assert_eq!(timings("new 12").unwrap_err().to_string(), "no operation and ns: new 12");
    }
}
