//! `xtask bench attach`: the time that `perk attach` takes beyond the recording, and what a program costs after it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_testkit::{JavaRun, Jdk, RunningJava, fixture};

use crate::arguments::{self, JdkList};

use super::report::{head, machine, row};
use super::statistics::Spread;
use crate::workspace;

const RECORDING: Duration = Duration::from_secs(1);
/// The blocks of the program that are compared, and those before them, in which its code is compiled.
const BLOCKS: usize = 20;
const WARMING: usize = 200;
/// The time limit of a round.
const LONGEST: Duration = Duration::from_secs(120);
/// The most that an output may come late.
const MOST_S: f64 = 0.3;

/// The recordings of a round, by their titles.
const KINDS: [(&str, &[&str]); 3] = [
    ("--cpu samples (first)", &["--cpu", "samples"]),
    ("--cpu samples --wall --alloc --lock", &["--cpu", "samples", "--wall", "--alloc", "--lock"]),
    ("--cpu times --include", &["--cpu", "times", "--include", "AttachSpeed"]),
];

/// The arguments of `xtask bench attach`.
#[derive(Args, Debug)]
pub(crate) struct AttachArguments {
    /// The number of JVMs that are recorded in each way
    #[arg(long, default_value = "5", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
    #[command(flatten)]
    jdks: JdkList,
}

/// Runs `xtask bench attach`.
pub(super) fn run(AttachArguments { rounds, jdks }: &AttachArguments) -> Result<()> {
    let jdks = jdks.or_all()?;
    let perk = workspace::root().join("target/release/perk");
    ensure!(perk.is_file(), "no {}: run make build", perk.display());
    let classes = fixture::compile_files(&[&workspace::root().join("java/bench/AttachSpeed.java")]);
    let mut columns = Vec::new();
    for jdk in jdks {
        let mut values = [const { (Vec::new(), Vec::new()) }; KINDS.len()];
        for _ in 0..*rounds {
            round(jdk, &perk, &classes, &mut values)?;
        }
        columns.push(values);
    }
    let versions = jdks.iter().map(|jdk| format!("JDK {}", jdk.version));
    let titles = ["", "bar"].map(str::to_owned).into_iter().chain(versions);
    let mut text = machine() + "\n" + &head(&titles.collect::<Vec<_>>());
    for (index, (kind, _)) in KINDS.iter().enumerate() {
        let late = columns.iter().map(|column| Spread::of(column[index].0.iter().copied()));
        let cells = late.map(|spread| spread.text(3));
        let title = [format!("{kind}: first output, s beyond the duration"), MOST_S.to_string()];
        text += &row(&title.into_iter().chain(cells).collect::<Vec<_>>());
        let after = columns.iter().map(|column| Spread::of(column[index].1.iter().copied()));
        let cells = after.map(|spread| spread.text(3));
        let title =
            [format!("{kind}: CPU time of a block after it, by that before"), "1.00".to_owned()];
        text += &row(&title.into_iter().chain(cells).collect::<Vec<_>>());
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// Records one JVM in each way. Adds the times and ratios to `values`.
fn round(
    jdk: &Jdk,
    perk: &Path,
    classes: &Path,
    values: &mut [(Vec<f64>, Vec<f64>); KINDS.len()],
) -> Result<()> {
    let run = JavaRun::new(jdk).classes(classes.to_owned()).main("AttachSpeed").timeout(LONGEST);
    let java = run.spawn();
    let begin = Instant::now();
    let mut before = blocks(&java, WARMING + BLOCKS, begin)?;
    for ((_, options), (late, after)) in KINDS.iter().zip(values) {
        late.push(record(perk, &java, options)?);
        let seen = count(&java);
        // The code is compiled again.
        let now = blocks(&java, seen + WARMING + BLOCKS, begin)?;
        after.push(now / before);
        before = now;
    }
    std::fs::write(java.dir().join("stop"), "").context("cannot stop the program")?;
    java.wait().assert_success();
    Ok(())
}

/// Records a JVM. Returns the seconds beyond the duration until the first line of the result.
fn record(perk: &Path, java: &RunningJava, options: &[&str]) -> Result<f64> {
    let begin = Instant::now();
    let mut command = Command::new(perk);
    command.args(["attach", &java.pid().to_string(), "--duration"]);
    command.arg(format!("{}s", RECORDING.as_secs())).args(options);
    command.current_dir(java.dir()).stderr(Stdio::piped());
    let mut child = command.spawn().context("perk does not start")?;
    let stderr = child.stderr.take().context("no stderr")?;
    let mut first = None;
    let mut lines = Vec::new();
    for line in BufReader::new(stderr).lines() {
        let line = line.context("cannot read what perk shows")?;
        if !line.is_empty() && !line.starts_with("perk: ") && first.is_none() {
            first = Some(begin.elapsed());
        }
        lines.push(line);
    }
    let status = child.wait().context("perk does not end")?;
    ensure!(status.success(), "perk attach: {status}\n{}", lines.join("\n"));
    let first = first.context("perk attach shows nothing")?;
    Ok(first.as_secs_f64() - RECORDING.as_secs_f64())
}

/// Returns the number of blocks that the program has done.
fn count(java: &RunningJava) -> usize {
    java.stdout().lines().filter(|line| line.starts_with("block=")).count()
}

/// Waits until the program has done this number of blocks. Returns the median of the CPU time of the last ones, in nanoseconds.
fn blocks(java: &RunningJava, wanted: usize, begin: Instant) -> Result<f64> {
    while count(java) < wanted {
        ensure!(begin.elapsed() < LONGEST, "the program is too slow");
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = java.stdout();
    let all = text.lines().filter_map(|line| line.strip_prefix("block=")?.parse().ok());
    let all: Vec<f64> = all.take(wanted).collect();
    Ok(Spread::of(all[wanted - BLOCKS..].iter().copied()).median)
}
