//! `xtask bench heap`: what `perk heap` costs on a dump of `java/bench/HeapMix.java`, or on another, beside
//! the crate hprof-slurp, which counts the objects of each class.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_testkit::{JavaRun, fixture, jdk};

use crate::arguments;

use super::child::{self, Usage};
use super::report::{head, machine, row};
use super::statistics::Spread;
use crate::workspace;

/// The time limit for making the objects.
const LONGEST: Duration = Duration::from_secs(600);

/// The bars of the overview: CPU time by that of hprof-slurp, wall time by CPU time, memory by the size of
/// the dump; the CPU time of a compressed dump by that of the plain one; the time of a question after
/// the first one; and in little memory the CPU time by that in plenty, and the memory.
const BARS: [(&str, f64); 7] = [
    ("CPU / CPU of hprof-slurp", 2.8),
    ("wall / CPU", 0.7),
    ("RSS / dump", 0.55),
    ("CPU with gzip / CPU", 2.0),
    ("seconds on the clock with the index", 0.5),
    ("CPU in little memory / CPU", 3.0),
    ("MB in little memory", 500.0),
];

/// A question after the first one.
const AGAIN: &str = "perk heap --roots, with the index";

/// The analysis in memory that does not have room for it: 32 % of the size of the large dump.
const LITTLE: &str = "perk heap --memory 450m";

/// The arguments of `xtask bench heap`.
#[derive(Args, Debug)]
pub(crate) struct HeapArguments {
    /// The size of the objects in MB: with 900 the dump has about 1.4 GB and 24 million objects
    #[arg(long, default_value = "900", value_name = "N")]
    mb: u64,
    /// The dump, instead of a new one
    #[arg(long, value_name = "DUMP", conflicts_with = "mb")]
    file: Option<PathBuf>,
    /// The program of the crate hprof-slurp
    #[arg(long, value_name = "PROGRAM")]
    slurp: Option<String>,
    /// The number of runs of each command
    #[arg(long, default_value = "5", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
}

/// Runs `xtask bench heap`.
pub(super) fn run(HeapArguments { mb, file, slurp, rounds }: &HeapArguments) -> Result<()> {
    let perk = workspace::root().join("target/release/perk");
    ensure!(perk.is_file(), "no {}: run make build", perk.display());
    let perk = perk.display().to_string();
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let dumps = match file {
        Some(file) => Dumps { plain: file.clone(), gzip: None },
        None => Dumps::make(work.path(), *mb, true)?,
    };
    let plain = dumps.plain.display().to_string();
    let mut commands = vec![
        ("perk heap", vec![perk.as_str(), "heap", "--no-index", &plain]),
        (AGAIN, vec![perk.as_str(), "heap", "--roots", &plain]),
        (LITTLE, vec![perk.as_str(), "heap", "--no-index", "--memory", "450m", &plain]),
    ];
    if let Some(slurp) = slurp {
        commands.push(("hprof-slurp", vec![slurp, &plain]));
    }
    let gzip = dumps.gzip.map(|path| path.display().to_string());
    if let Some(gzip) = &gzip {
        commands.push(("perk heap, gzip members", vec![perk.as_str(), "heap", gzip]));
    }
    // From then on the files are in the page cache.
    for path in [Some(&plain), gzip.as_ref()].into_iter().flatten() {
        io::copy(&mut File::open(path)?, &mut io::sink())?;
    }
    // The first question writes the index.
    child::measure(&commands[1].1)?;
    let mut usages = vec![Vec::new(); commands.len()];
    for round in 0..*rounds {
        for step in 0..commands.len() {
            let index = (round + step) % commands.len();
            let (name, command) = &commands[index];
            usages[index].push(child::measure(command).with_context(|| (*name).to_owned())?);
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    let names: Vec<&str> = commands.iter().map(|it| it.0).collect();
    let bytes = fs::metadata(&plain)?.len();
    let text = machine() + "\n" + &table(&names, &usages, bytes);
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// The dump of a program, plain and in gzip members.
pub(super) struct Dumps {
    pub(super) plain: PathBuf,
    gzip: Option<PathBuf>,
}

impl Dumps {
    /// Makes the dumps; that in gzip members if `is_packed`.
    pub(super) fn make(folder: &Path, mb: u64, is_packed: bool) -> Result<Self> {
        let source = workspace::root().join("java/bench/HeapMix.java");
        let jdk = jdk::compiler();
        let run = JavaRun::new(jdk).classes(fixture::compile_files(&[&source])).timeout(LONGEST);
        let run = run.jvm_arg("-Xmx4g").jvm_arg("-Xms4g").jvm_arg("-XX:+UseParallelGC");
        let mut java = run.main("HeapMix").args([&mb.to_string()]).spawn();
        java.wait_for_stdout("READY");
        let dump = |name: &str, options: &[&str]| -> Result<PathBuf> {
            let path = folder.join(name);
            let mut jcmd = Command::new(jdk.jcmd());
            jcmd.arg(java.pid().to_string()).arg("GC.heap_dump").args(options).arg(&path);
            let output = jcmd.output().context("jcmd does not start")?;
            ensure!(output.status.success() && path.is_file(), "jcmd: {output:?}");
            Ok(path)
        };
        Ok(Self {
            plain: dump("plain.hprof", &[])?,
            gzip: is_packed.then(|| dump("gzip.hprof.gz", &["-gz=1"])).transpose()?,
        })
    }
}

/// Returns the table of all commands, and the ratios that have bars.
fn table(names: &[&str], usages: &[Vec<Usage>], dump_bytes: u64) -> String {
    let of = |index: usize, value: fn(&Usage) -> f64| Spread::of(usages[index].iter().map(value));
    let mut text = format!("The dump has {:.2} GB.\n\n", dump_bytes as f64 / 1e9);
    text += &head(&["command", "CPU s", "wall s", "peak RSS MB", "RSS / dump"]);
    for (index, name) in names.iter().enumerate() {
        let rss = of(index, |it| it.peak_rss_bytes);
        text += &row(&[
            (*name).to_owned(),
            of(index, |it| it.cpu_s).text(2),
            of(index, |it| it.wall_s).text(2),
            format!("{:.0}", rss.median / 1e6),
            format!("{:.2}", rss.median / dump_bytes as f64),
        ]);
    }
    text += "\n";
    text += &head(&["perk heap", "median", "bar"]);
    let index = |wanted: &str| names.iter().position(|it| *it == wanted);
    let cpu_by = |of_index: usize, by_index: usize| {
        // Runs of one round, as the load of the machine changes.
        let pairs = usages[of_index].iter().zip(&usages[by_index]);
        Spread::of(pairs.map(|(it, by)| it.cpu_s / by.cpu_s))
    };
    let ratios = [
        index("hprof-slurp").map(|slurp| cpu_by(0, slurp)),
        Some(of(0, |it| it.wall_s / it.cpu_s)),
        Some(Spread::of(usages[0].iter().map(|it| it.peak_rss_bytes / dump_bytes as f64))),
        index("perk heap, gzip members").map(|gzip| cpu_by(gzip, 0)),
        index(AGAIN).map(|again| of(again, |it| it.wall_s)),
        index(LITTLE).map(|little| cpu_by(little, 0)),
        index(LITTLE).map(|little| of(little, |it| it.peak_rss_bytes / 1e6)),
    ];
    for ((title, bar), ratio) in BARS.into_iter().zip(ratios) {
        if let Some(ratio) = ratio {
            text += &row(&[title.to_owned(), ratio.text(2), bar.to_string()]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_ratios() {
        let usage = |cpu_s, wall_s| Usage { cpu_s, wall_s, peak_rss_bytes: 5e8 };
        let usages =
            [vec![usage(4.0, 2.0), usage(6.0, 3.0)], vec![usage(2.0, 1.0), usage(2.0, 1.0)]];
        let text = table(&["perk heap", "hprof-slurp"], &usages, 1_000_000_000);
        assert!(
            text.contains("| CPU / CPU of hprof-slurp | 2.50 (2.00 to 3.00) | 2.8 |"),
            "{text}"
        );
        assert!(text.contains("| wall / CPU | 0.50 (0.50 to 0.50) | 0.7 |"), "{text}");
        assert!(text.contains("| RSS / dump | 0.50 (0.50 to 0.50) | 0.55 |"), "{text}");
        assert!(!text.contains("gzip"), "{text}");
    }
}
