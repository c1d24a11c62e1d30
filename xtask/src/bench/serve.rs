//! `xtask bench serve`: the CPU time and the memory of `perk serve` on a profile of many distinct stacks, on a table
//! of many rows, on a large JFR file and on a heap dump, which this makes, or on other files; and how long its page
//! cannot react.

mod frames;
mod inputs;
mod server;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use procfs::process::Process;

use super::heap::Dumps;
use super::report::{head, machine, row};
use super::statistics::Spread;
use crate::{arguments, workspace};
use inputs::{write_methods, write_stacks};
use server::Server;

/// The questions on stacks after the first one: each has a filter, a zoom or an order that is new.
const OF_STACKS: [(&str, &str); 15] = [
    ("zoom", "flame?root={root}"),
    ("bottom up", "flame?tree=bottom-up"),
    ("filter", "flame?focus=com.acme.p1.*"),
    ("hidden frames", "flame?hide=com.acme.p3.*"),
    ("search", "search?q=m17"),
    ("filter, bottom up", "flame?ignore=com.acme.p2.*&tree=bottom-up"),
    ("around a method", "flame?tree=around&method=m17"),
    ("by package", "flame?group=package"),
    ("from your code on", "flame?fold=start&focus=com.acme.p4.*"),
    ("sorted table", "report?view=methods&sort=name"),
    ("scrolled table", "report?view=methods&sort=name&offset=500"),
    ("searched table", "report?view=methods&search=m17"),
    ("table with a filter", "report?view=methods&focus=com.acme.p1.*"),
    ("table with another filter", "report?view=methods&ignore=com.acme.p5.*"),
    ("callers and callees", "report?view=method&method=m17"),
];
/// The questions on a table of many rows after the first one.
const OF_ROWS: [(&str, &str); 4] = [
    ("100,000 rows by name", "report?view=methods&sort=name"),
    ("100,000 rows by a number", "report?view=methods&sort=total_count&order=asc"),
    ("the middle of 100,000 rows", "report?view=methods&sort=name&offset=50000"),
    ("a search of 100,000 rows", "report?view=methods&search=m17"),
];
/// The questions on a heap dump after the first one.
const OF_HEAP: [(&str, &str); 8] = [
    ("heap: classes", "heap/classes?as=table"),
    ("heap: packages", "heap/packages?as=table"),
    ("heap: biggest objects", "heap/biggest?top=100"),
    ("heap: tree", "heap/tree?top=100"),
    ("heap: roots", "heap/roots?as=table"),
    ("heap: threads", "heap/threads?as=table"),
    ("heap: instances", "heap/instances?class=java.lang.String&as=table"),
    ("heap: tree again", "heap/tree?top=100"),
];
/// The most CPU time of a question, in ms.
const QUESTION_MS: f64 = 100.0;
/// The most time until the first graph, by that of `perk convert` to a page.
const READY: f64 = 1.2;
/// The most memory after all questions, by that of the profile.
const MEMORY: f64 = 1.5;
/// The most time until the first page of a JFR file beyond that of `perk report`, in s.
const PAINT_S: f64 = 0.3;
/// The most time until the first view of a heap dump that has an index, in s.
const HEAP_S: f64 = 1.0;
/// The longest between two frames, in ms: a browser draws 60 in a second, and the next one is late if one takes longer.
const FRAME_MS: f64 = 17.0;
/// The rows of the table.
const ROWS: u64 = 100_000;
/// The stacks of a JFR file of 60 MB.
const JFR_STACKS: u64 = 130_000;

/// The arguments of `xtask bench serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    /// The distinct stacks of the profile
    #[arg(long, default_value = "1000000", value_name = "N")]
    stacks: u64,
    /// The profile, instead of a new one
    #[arg(long, value_name = "FILE", conflicts_with = "stacks")]
    file: Option<PathBuf>,
    /// The JFR file, instead of a new one of about 60 MB
    #[arg(long, value_name = "FILE")]
    jfr: Option<PathBuf>,
    /// The heap dump, instead of a new one of 24 million objects
    #[arg(long, value_name = "FILE")]
    heap: Option<PathBuf>,
    /// Only these parts: stacks, frames, rows, jfr, heap
    #[arg(long, value_name = "PART", value_delimiter = ',', default_values = ["stacks", "frames", "rows", "jfr", "heap"])]
    only: Vec<String>,
    /// The number of runs
    #[arg(long, default_value = "5", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
}

/// A number that was measured: what it is, how it is written, and its bar.
type Number = (String, usize, f64);

/// Runs `xtask bench serve`.
pub(super) fn run(arguments: &ServeArguments) -> Result<()> {
    let perk = workspace::root().join("target/release/perk");
    ensure!(perk.is_file(), "no {}: run make build", perk.display());
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut text = machine() + &head(&["what", "median (min to max)", "bar"]);
    for part in &arguments.only {
        let bench = Bench::new(&perk, work.path(), part, arguments)?;
        let mut runs = Vec::new();
        for _ in 0..arguments.rounds {
            runs.push(bench.round()?);
        }
        for (index, (what, decimals, bar)) in bench.numbers().into_iter().enumerate() {
            let spread = Spread::of(runs.iter().map(|run| run[index]));
            text += &row(&[what, spread.text(decimals), bar.to_string()]);
        }
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// A part of the benchmark, with its file.
struct Bench<'b> {
    perk: &'b Path,
    work: &'b Path,
    part: &'b str,
    file: PathBuf,
}

impl<'b> Bench<'b> {
    fn new(
        perk: &'b Path,
        work: &'b Path,
        part: &'b str,
        arguments: &ServeArguments,
    ) -> Result<Self> {
        let new = |name: &str| work.join(name);
        let made = |path: PathBuf, write: fn(&Path, u64) -> io::Result<()>, count| {
            write(&path, count).context("cannot write the profile").map(|()| path)
        };
        let file = match part {
            "stacks" | "frames" => match &arguments.file {
                Some(file) => file.clone(),
                None => made(new("stacks.collapsed"), write_stacks, arguments.stacks)?,
            },
            "rows" => made(new("rows.collapsed"), write_methods, ROWS)?,
            "jfr" => match &arguments.jfr {
                Some(file) => file.clone(),
                None => {
                    let stacks = made(new("jfr.collapsed"), write_stacks, JFR_STACKS)?;
                    let mut convert = Command::new(perk);
                    convert.arg("convert").arg(&stacks).arg("-o").arg(new("app.jfr"));
                    cpu_of(convert.stderr(Stdio::null()))?;
                    fs::remove_file(&stacks)?;
                    new("app.jfr")
                }
            },
            "heap" => {
                let file = match &arguments.heap {
                    Some(file) => file.clone(),
                    None => Dumps::make(work, OBJECTS_MB, false)?.plain,
                };
                // The first question writes the index.
                cpu_of(Command::new(perk).arg("heap").arg(&file).stdout(Stdio::null()))?;
                file
            }
            other => anyhow::bail!("no part {other}: there are stacks, frames, rows, jfr and heap"),
        };
        Ok(Self { perk, work, part, file })
    }

    /// What a round measures.
    fn numbers(&self) -> Vec<Number> {
        let number = |what: &str, decimals, bar| (what.to_owned(), decimals, bar);
        let questions: (Vec<Number>, &[(&str, &str)]) = match self.part {
            "stacks" => (
                vec![
                    number("CPU until the first graph / CPU of perk convert", 2, READY),
                    number("memory after the questions / memory of the profile", 2, MEMORY),
                ],
                &OF_STACKS,
            ),
            "frames" => {
                let of_action = |action| {
                    number(&format!("page, {action}: longest ms between two frames"), 1, FRAME_MS)
                };
                (frames::ACTIONS.map(of_action).into(), &[])
            }
            "rows" => (Vec::new(), &OF_ROWS),
            "jfr" => (
                vec![number("JFR: CPU s of the first page beyond that of perk report", 2, PAINT_S)],
                &[],
            ),
            _ => {
                (vec![number("heap: CPU s of the first view with the index", 2, HEAP_S)], &OF_HEAP)
            }
        };
        let (mut all, of_part) = questions;
        let ms = |what: &str| number(&format!("{what}: ms of CPU time"), 0, QUESTION_MS);
        all.extend(of_part.iter().map(|(what, _)| ms(what)));
        all
    }

    fn round(&self) -> Result<Vec<f64>> {
        match self.part {
            "stacks" => self.stacks(),
            "frames" => frames::longest_ms(&Server::start(self.perk, &self.file)?),
            "rows" => {
                let server = Server::start(self.perk, &self.file)?;
                server.ask("report?view=methods")?;
                ask_all(&server, &OF_ROWS)
            }
            "jfr" => {
                let report = cpu_of(
                    Command::new(self.perk).arg("report").arg(&self.file).stdout(Stdio::null()),
                )?;
                let server = Server::start(self.perk, &self.file)?;
                server.ask("report?view=summary")?;
                Ok(vec![server.cpu_s()? - report])
            }
            _ => {
                let server = Server::start(self.perk, &self.file)?;
                server.ask("heap/overview")?;
                let mut numbers = vec![server.cpu_s()?];
                numbers.extend(ask_all(&server, &OF_HEAP)?);
                Ok(numbers)
            }
        }
    }

    fn stacks(&self) -> Result<Vec<f64>> {
        let page = self.work.join("page.html");
        let mut convert = Command::new(self.perk);
        convert.arg("convert").arg(&self.file).arg("-o").arg(page).stderr(Stdio::null());
        let convert_s = cpu_of(&mut convert)?;
        let server = Server::start(self.perk, &self.file)?;
        server.ask("collections")?;
        let profile_bytes = server.resident_bytes()?;
        let graph = server.ask("flame")?;
        let ready_s = server.cpu_s()?;
        let graph: serde_json::Value = serde_json::from_slice(&graph).context("no graph")?;
        let root = graph["ids"][0].to_string();
        server.ask("report?view=methods")?;
        let mut most_bytes = 0.0_f64;
        let mut questions_ms = Vec::new();
        for (_, question) in OF_STACKS {
            questions_ms.push(server.cpu_ms(&question.replace("{root}", &root))?);
            most_bytes = most_bytes.max(server.resident_bytes()?);
        }
        let mut numbers = vec![ready_s / convert_s, most_bytes / profile_bytes];
        numbers.extend(questions_ms);
        Ok(numbers)
    }
}

/// The size of the objects of a new heap dump: 24 million of them.
const OBJECTS_MB: u64 = 900;

/// The CPU time of each question, in ms.
fn ask_all(server: &Server, questions: &[(&str, &str)]) -> Result<Vec<f64>> {
    questions.iter().map(|(_, question)| server.cpu_ms(question)).collect()
}

/// The CPU time of a command.
fn cpu_of(command: &mut Command) -> Result<f64> {
    let children = || -> Result<f64> {
        let stat = Process::myself()?.stat()?;
        Ok((stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64)
    };
    let before = children()?;
    let status = command.status().context("cannot start perk")?;
    ensure!(status.success(), "perk failed: {status}");
    Ok(children()? - before)
}
