//! `xtask bench store`: the CPU time, the memory and the room on disk of a store of a day, beside its bars and beside
//! DuckDB on the same files.

mod recordings;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::child::{self, Usage};
use super::report::{head, machine, row};
use super::statistics::Spread;
use crate::{arguments, workspace};
use recordings::{MINUTE_TICKS, Service};

/// The date of the store.
const DATE: &str = "2026-11-20";
/// The minutes of a day.
const DAY_MINUTES: u64 = 24 * 60;
/// The small recordings that are added to a store of their own.
const PIECES: u64 = 100;
const MIB: f64 = (1 << 20) as f64;
/// The most of DuckDB's time.
const RATIO: f64 = 1.5;

/// The arguments of `xtask bench store`.
#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    /// The program [default: that of make build]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder that keeps the store for the next run
    #[arg(long, default_value = "target/bench-store", value_name = "FOLDER")]
    folder: PathBuf,
    /// The services
    #[arg(long, default_value = "4", value_name = "N", value_parser = arguments::positive())]
    services: usize,
    /// The instances of a service
    #[arg(long, default_value = "10", value_name = "N", value_parser = arguments::positive())]
    instances: usize,
    /// The number of runs
    #[arg(long, default_value = "5", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
}

/// A question that perk and DuckDB are asked.
struct Question {
    what: &'static str,
    perk: &'static str,
    /// That of DuckDB, where `SAMPLES` and `STACKS` are the files.
    duckdb: &'static str,
    bar_s: f64,
}

const QUESTIONS: [Question; 3] = [
    Question {
        what: "sums by stack, one service, 24 h",
        perk: "SELECT stack, sum(value) AS value FROM samples WHERE service = 's0' AND \
               date = DATE '2026-11-20' GROUP BY stack ORDER BY value DESC LIMIT 50",
        duckdb: "SELECT stack, sum(value) AS value FROM SAMPLES WHERE service = 's0' AND \
                 date = DATE '2026-11-20' GROUP BY stack ORDER BY value DESC LIMIT 50",
        bar_s: 0.5,
    },
    Question {
        what: "sums by stack, one service, 1 h",
        perk: "SELECT stack, sum(value) AS value FROM samples WHERE service = 's0' AND \
               date = DATE '2026-11-20' AND hour = 12 GROUP BY stack ORDER BY value DESC LIMIT 50",
        duckdb: "SELECT stack, sum(value) AS value FROM SAMPLES WHERE service = 's0' AND \
                 date = DATE '2026-11-20' AND hour = 12 GROUP BY stack ORDER BY value DESC LIMIT 50",
        bar_s: 0.1,
    },
    Question {
        what: "top methods, all services, 24 h",
        perk: "SELECT leaf(stack) AS method, sum(value) AS value FROM \
               (SELECT stack, sum(value) AS value FROM samples GROUP BY stack) \
               GROUP BY 1 ORDER BY value DESC LIMIT 50",
        duckdb: "SELECT method, sum(value) AS value FROM (SELECT stack, sum(value) AS value FROM \
                 SAMPLES GROUP BY stack) JOIN (SELECT DISTINCT stack, \
                 frames[-1]['class'] || '.' || frames[-1]['method'] AS method FROM STACKS) \
                 USING (stack) GROUP BY 1 ORDER BY value DESC LIMIT 50",
        bar_s: 2.0,
    },
];

/// DuckDB's process does this, so that its start is in no time but its own.
const DUCKDB: &str = "import sys, duckdb\nfor query in sys.argv[1:]:\n    duckdb.connect().execute(query).fetchall()";

/// Runs `xtask bench store`.
pub(super) fn run(arguments: &StoreArguments) -> Result<()> {
    let usual = workspace::root().join("target/release/perk-fleet");
    let program = arguments.program.as_ref().unwrap_or(&usual);
    ensure!(program.is_file(), "no {}: run make build", program.display());
    let bench = Bench {
        program: &fs::canonicalize(program)?,
        folder: &workspace::root().join(&arguments.folder),
        arguments,
    };
    fs::create_dir_all(bench.folder)
        .with_context(|| format!("cannot make {}", bench.folder.display()))?;
    bench.make()?;
    let mut text = machine() + &head(&["what", "median (min to max)", "bar"]);
    text += &bench.size()?;
    text += &bench.questions()?;
    text += &bench.commands()?;
    text += &bench.adding()?;
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

struct Bench<'b> {
    program: &'b Path,
    folder: &'b Path,
    arguments: &'b StoreArguments,
}

impl Bench<'_> {
    fn store(&self) -> PathBuf {
        self.folder.join(format!("{}x{}", self.arguments.services, self.arguments.instances))
    }

    /// Makes the store, unless an earlier run has.
    fn make(&self) -> Result<()> {
        let store = self.store();
        if store.is_dir() {
            return Ok(());
        }
        // Under another name until it is whole.
        let part = self.folder.join("part");
        if part.exists() {
            fs::remove_dir_all(&part)?;
        }
        let file = self.folder.join("day.hprof");
        for number in 0..self.arguments.services {
            let mut service = Service::new(number as u64);
            for instance in 0..self.arguments.instances {
                service.write(&file, &format!("{DATE}T00:00:00Z"), DAY_MINUTES * MINUTE_TICKS)?;
                eprintln!("service {number}, instance {instance}");
                let labels = [format!("service=s{number}"), format!("host=h{instance}")];
                let mut add = Command::new(self.program);
                add.args(["store", "add"]).arg(&part).arg(&file);
                for label in &labels {
                    add.args(["--label", label]);
                }
                succeed(&mut add)?;
            }
        }
        fs::remove_file(&file)?;
        let compact = self.measure(&["store".as_ref(), "compact".as_ref(), part.as_os_str()])?;
        eprintln!(
            "compaction: {:.1} s of CPU time, {:.0} MiB",
            compact.cpu_s,
            compact.peak_rss_bytes / MIB
        );
        fs::rename(part, store).context("cannot keep the store")
    }

    fn measure(&self, arguments: &[&std::ffi::OsStr]) -> Result<Usage> {
        let mut command: Vec<OsString> = vec![self.program.into()];
        command.extend(arguments.iter().map(|&it| it.to_owned()));
        child::measure(&command)
    }

    /// The runs of a command, after one that fills the system's caches.
    fn runs(&self, mut once: impl FnMut() -> Result<Usage>) -> Result<Vec<Usage>> {
        once()?;
        (0..self.arguments.rounds).map(|_| once()).collect()
    }

    /// The bytes of all data, by rows.
    fn size(&self) -> Result<String> {
        let minutes = DAY_MINUTES as usize * self.arguments.services * self.arguments.instances;
        let rows = (minutes * 800) as f64;
        let bytes = |table: &str| bytes_below(&self.store().join(table));
        let samples = bytes("samples")?;
        let all = samples + bytes("stacks")? + bytes("recordings")?;
        Ok(row(&[
            format!("bytes per row, of {:.1} million rows", rows / 1e6),
            format!("{:.2}, of which samples {:.2}", all as f64 / rows, samples as f64 / rows),
            "4".to_owned(),
        ]))
    }

    fn questions(&self) -> Result<String> {
        let duckdb = workspace::root().join(".tools/counterparts/duckdb");
        let store = self.store();
        let mut text = String::new();
        for Question { what, perk, duckdb: other, bar_s } in QUESTIONS {
            let ask = || self.measure(&["sql".as_ref(), store.as_os_str(), perk.as_ref()]);
            let files = |table: &str, depth| {
                let pattern = store.join(table).join(depth);
                format!("read_parquet('{}', hive_partitioning = true)", pattern.display())
            };
            let query = other
                .replace("SAMPLES", &files("samples", "*/*/*/*.parquet"))
                .replace("STACKS", &files("stacks", "*/*/*.parquet"));
            let start = |query: &[&str]| {
                let path = format!("PYTHONPATH={}", duckdb.display());
                let python = ["env", &path, "python3", "-c", DUCKDB];
                child::measure(&[&python, query].concat())
            };
            let ours = self.runs(ask)?;
            text += &usage(what, &ours, bar_s);
            if !duckdb.is_dir() {
                continue;
            }
            let theirs = self.runs(|| start(&[&query]))?;
            text += &usage(&format!("the same, DuckDB {what}"), &theirs, f64::NAN);
            let empty = self.runs(|| start(&[]))?;
            let query_s = |wall: fn(&Usage) -> f64| {
                let of = |runs: &[Usage]| Spread::of(runs.iter().map(wall)).median;
                of(&ours) / (of(&theirs) - of(&empty))
            };
            text += &row(&[
                format!("{what}: perk / DuckDB without its start"),
                format!("wall {:.2}, CPU {:.2}", query_s(|it| it.wall_s), query_s(|it| it.cpu_s)),
                RATIO.to_string(),
            ]);
        }
        Ok(text)
    }

    fn commands(&self) -> Result<String> {
        let store = self.store();
        let file = self.folder.join("out.hprof");
        let mut text = String::new();
        for (what, from, to, bar_s) in [
            ("sums, names and tree of one service, 24 h", "00:00:00", "23:59:59", 0.5),
            ("sums, names and tree of one service, 1 h", "12:00:00", "12:59:59", 0.1),
        ] {
            let (from, to) = (format!("{DATE}T{from}Z"), format!("{DATE}T{to}Z"));
            let runs = self.runs(|| {
                let mut command: Vec<OsString> = ["store", "export"].map(OsString::from).into();
                command.push(store.clone().into());
                let options = ["--service", "s0", "--since", &from, "--until", &to, "-o"];
                command.extend(options.map(OsString::from));
                command.push(file.clone().into());
                command.extend(["--without", "times,threads,labels"].map(OsString::from));
                self.measure(&command.iter().map(|it| &**it).collect::<Vec<_>>())
            })?;
            text += &usage(what, &runs, bar_s);
        }
        if file.is_file() {
            fs::remove_file(file)?;
        }
        let help = self.runs(|| self.measure(&["sql".as_ref(), "--help".as_ref()]))?;
        Ok(text + &usage("perk sql --help", &help, 0.05))
    }

    /// The CPU time of adding a recording of a minute: of many in a process, without its start.
    fn adding(&self) -> Result<String> {
        let work = tempfile::tempdir_in(self.folder).context("cannot make a temporary folder")?;
        let mut service = Service::new(0);
        let mut files = Vec::new();
        for minute in 0..PIECES {
            let path = work.path().join(format!("{minute}.hprof"));
            let created = format!("{DATE}T{:02}:{:02}:00Z", minute / 60, minute % 60);
            service.write(&path, &created, MINUTE_TICKS)?;
            files.push(path);
        }
        let add = |count: usize| {
            let store = tempfile::tempdir_in(work.path())?;
            let mut command = vec!["store".as_ref(), "add".as_ref(), store.path().as_os_str()];
            command.extend(["--label".as_ref(), std::ffi::OsStr::new("service=s")]);
            command.extend(files[..count].iter().map(|it| it.as_os_str()));
            self.measure(&command)
        };
        let one = self.runs(|| add(1))?;
        let all = self.runs(|| add(files.len()))?;
        let count = (files.len() - 1) as f64;
        let each = one.iter().zip(&all).map(|(one, all)| (all.cpu_s - one.cpu_s) / count * 1e3);
        Ok(row(&[
            "adding a piece of 800 rows: ms of CPU time".to_owned(),
            Spread::of(each).text(1),
            "10".to_owned(),
        ]))
    }
}

/// The line of a command: its time, CPU time and memory.
fn usage(what: &str, runs: &[Usage], bar_s: f64) -> String {
    let spread = |of: fn(&Usage) -> f64| Spread::of(runs.iter().map(of));
    let bar = if bar_s.is_nan() { String::new() } else { format!("{bar_s} s, 400 MB") };
    let numbers = format!(
        "{} s, CPU {} s, {:.0} MB",
        spread(|it| it.wall_s).text(2),
        spread(|it| it.cpu_s).text(2),
        spread(|it| it.peak_rss_bytes / 1e6).median
    );
    // A run takes minutes: what is known is said.
    eprintln!("{what}: {numbers}");
    row(&[what.to_owned(), numbers, bar])
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).status().context("cannot start perk-fleet")?;
    ensure!(status.success(), "perk-fleet failed: {status}");
    Ok(())
}

/// The bytes of all files below a folder.
fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        bytes += if kind.is_dir() { bytes_below(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
