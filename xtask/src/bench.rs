//! `xtask bench overhead`: what profiling costs, measured from outside and next to what the agent
//! says of itself.

mod child;
mod programs;
mod report;
mod statistics;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};
use perk_profile::Accounting;
use perk_testkit::{Jdk, agent, jdk};

use child::{CHILD, Usage};
use programs::{GROUPS, Program};

const DEFAULT_ROUNDS: usize = 7;

/// What is compared, and the interval where perk is on.
const VARIANTS: [(&str, Option<&str>); 4] = [
    ("none", None),
    ("perk 10 ms", Some("10ms")),
    ("perk 1 ms", Some("1ms")),
    ("none again", None),
];

/// One run of each of [`VARIANTS`], in their order.
type Round = [Run; VARIANTS.len()];

/// One run of a program.
#[derive(Clone, Debug, Default)]
struct Run {
    usage: Usage,
    /// What the agent told, if it was there.
    accounting: Option<Accounting>,
    file_bytes: u64,
}

/// Runs `xtask bench` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["overhead", options @ ..] => overhead(&Options::parse(options)?),
        [CHILD, command @ ..] => child::run(command),
        _ => bail!("bench overhead [--rounds N] [--only {}] [--jdk HOME]", GROUPS.join(",")),
    }
}

#[derive(Debug)]
struct Options {
    rounds: usize,
    groups: Vec<String>,
    jdk: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let groups = GROUPS.map(str::to_owned).to_vec();
        let mut options = Self { rounds: DEFAULT_ROUNDS, groups, jdk: None };
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
                        let known = GROUPS.contains(&group.as_str());
                        ensure!(known, "unknown program {group}: {}", GROUPS.join(", "));
                    }
                }
                "--jdk" => options.jdk = Some(value.into()),
                _ => bail!("unknown option {name}: --rounds, --only, --jdk"),
            }
        }
        Ok(options)
    }
}

fn overhead(options: &Options) -> Result<()> {
    let jdk = match &options.jdk {
        Some(home) => Jdk::at(home).with_context(|| format!("no JDK in {}", home.display()))?,
        None => jdk::compiler().clone(),
    };
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    // A copy, so that a build meanwhile does not change what is measured.
    let so = work.path().join("libperk.so");
    fs::copy(agent::agent_so(), &so).context("cannot copy the agent")?;
    let mut programs = Vec::new();
    for group in &options.groups {
        programs.extend(programs::of(group, &jdk, work.path(), options.rounds)?);
    }
    let mut text = report::heading(&jdk);
    for program in &programs {
        let bench = Bench { jdk: &jdk, so: &so, program, file: work.path().join("run.hprof") };
        text += "\n";
        text += &report::program(program, &bench.rounds()?);
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// A program about to be measured.
struct Bench<'a> {
    jdk: &'a Jdk,
    so: &'a Path,
    program: &'a Program,
    file: PathBuf,
}

impl Bench<'_> {
    fn rounds(&self) -> Result<Vec<Round>> {
        let name = self.program.name;
        // Fills the caches of the system; not counted.
        for (_, interval) in &VARIANTS[..2] {
            self.once(*interval)?;
        }
        let mut rounds = Vec::new();
        for round in 0..self.program.rounds {
            let mut runs = Round::default();
            for step in 0..VARIANTS.len() {
                let variant = (round + step) % VARIANTS.len();
                runs[variant] = self.once(VARIANTS[variant].1)?;
            }
            let cpu: Vec<_> = runs.iter().map(|run| format!("{:.3}", run.usage.cpu_s)).collect();
            let count = self.program.rounds;
            eprintln!("{name}: round {} of {count}, CPU s: {}", round + 1, cpu.join(" "));
            rounds.push(runs);
        }
        Ok(rounds)
    }

    /// One run, with perk if an interval is given.
    fn once(&self, interval: Option<&str>) -> Result<Run> {
        let mut command = vec![self.jdk.java().display().to_string()];
        command.extend(interval.map(|interval| self.agent_option(interval)));
        command.extend(self.program.arguments.iter().cloned());
        let usage = child::measure(&command)?;
        if interval.is_none() {
            return Ok(Run { usage, ..Run::default() });
        }
        let bytes = fs::read(&self.file).context("the agent wrote no file")?;
        fs::remove_file(&self.file).context("cannot remove the agent's file")?;
        let profile = perk_hprof::read(&bytes).context("cannot read the agent's file")?;
        let accounting = profile.accounting.context("no accounting in the agent's file")?;
        Ok(Run { usage, accounting: Some(accounting), file_bytes: bytes.len() as u64 })
    }

    fn agent_option(&self, interval: &str) -> String {
        format!(
            "-agentpath:{}=cpu=samples,interval={interval},depth=2048,cutoff=0,format=b,\
             classes=used,file={},verbose=n",
            self.so.display(),
            self.file.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--rounds", "3", "--only", "hello,idle"]).unwrap();
        assert_eq!((options.rounds, options.groups.join(" ").as_str()), (3, "hello idle"));
        assert_eq!(options.jdk, None);
    }

    #[test]
    fn wrong_options_are_told() {
        let refusal = |arguments: &[&str]| Options::parse(arguments).unwrap_err().to_string();
        assert_eq!(refusal(&["--rounds"]), "--rounds needs a value");
        assert_eq!(refusal(&["--rounds", "0"]), "--rounds must be at least 1");
        assert_eq!(refusal(&["--only", "javac,x"]), "unknown program x: javac, hello, idle");
        assert_eq!(refusal(&["--fast", "1"]), "unknown option --fast: --rounds, --only, --jdk");
    }
}
