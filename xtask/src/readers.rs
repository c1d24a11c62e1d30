//! `xtask readers`: heap dumps of perk's agent, read by other tools. Each must find as many objects
//! of each class as perk does.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, fs::File, io};

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_hprof::heap::{Elements, Record, Stream};
use perk_testkit::{JavaRun, jdk};

const FILE: &str = "o.hprof";
/// Files of `format=p` have tags that VisualVM does not accept.
const OPTIONS: [&str; 2] = ["heap=dump,format=b", "heap=all,format=b,depth=8,cpu=samples"];
const COUNTS_SOURCE: &str = include_str!("readers/VisualVmCounts.java");

/// The number of objects by class.
type Counts = BTreeMap<String, u64>;

/// The other tools, of which at least one is compared.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct Tools {
    /// VisualVM's library, org-graalvm-visualvm-lib-jfluid-heap.jar of Debian's package visualvm
    #[arg(long, value_name = "JAR", value_parser = file)]
    visualvm: Option<PathBuf>,
    /// The program of the crate hprof-slurp
    #[arg(long, value_name = "PROGRAM", value_parser = file)]
    slurp: Option<PathBuf>,
}

/// Returns the path of a file for commands that run in other folders.
fn file(path: &str) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Returns the counts of a tool, from a file and a folder for its own files.
type Count = fn(tool: &Path, file: &Path, folder: &Path) -> Result<Counts>;

impl Tools {
    /// Returns the tools by name, each with its place.
    fn all(&self) -> impl Iterator<Item = (&'static str, Count, &Path)> {
        let visualvm = self.visualvm.iter().map(|jar| ("VisualVM", visualvm as Count, &**jar));
        visualvm.chain(self.slurp.iter().map(|program| ("hprof-slurp", slurp as Count, &**program)))
    }
}

/// Runs the check.
///
/// # Errors
/// The first difference.
pub(crate) fn run(tools: &Tools) -> Result<()> {
    for jdk in jdk::all().iter().filter(|jdk| jdk.version >= 17) {
        for options in OPTIONS {
            let folder = tempfile::tempdir()?;
            let run = JavaRun::new(jdk).agent(&format!("{options},file={FILE}"));
            let run = run.main("HeapObjects").args(["5000"]).file("go", "");
            let outcome = run.dir(folder.path()).run();
            outcome.assert_success();
            let file = folder.path().join(FILE);
            let expected = perk(&file)?;
            let object_count: u64 = expected.values().sum();
            for (name, count, tool) in tools.all() {
                let what = format!("{name} of JDK {}, {options}", jdk.version);
                let found = count(tool, &file, folder.path()).with_context(|| what.clone())?;
                ensure!(found == expected, "{what}: {}", difference(&expected, &found));
                eprintln!("{what}: {object_count} objects of {} classes", expected.len());
            }
        }
    }
    Ok(())
}

/// Returns the counts of perk's own reader.
fn perk(file: &Path) -> Result<Counts> {
    let (_, mut stream) = Stream::new(BufReader::new(File::open(file)?))?;
    let (mut names, mut classes, mut counts) = (BTreeMap::new(), BTreeMap::new(), Counts::new());
    while let Some(record) = stream.next()? {
        match record {
            Record::Utf8 { id, bytes } => {
                names.insert(id, String::from_utf8_lossy(bytes).into_owned());
            }
            Record::LoadClass { class, name, .. } => {
                classes.insert(class, names[&name].clone());
            }
            Record::Instance { class, .. } => {
                *counts.entry(classes[&class].clone()).or_default() += 1;
            }
            Record::Array { elements, .. } => {
                let class = match elements {
                    Elements::Objects(class) => classes[&class].clone(),
                    Elements::Primitives(element) => {
                        format!("{}[]", element.name().unwrap_or_default())
                    }
                };
                *counts.entry(class).or_default() += 1;
            }
            _ => {}
        }
    }
    Ok(counts)
}

fn visualvm(jar: &Path, file: &Path, folder: &Path) -> Result<Counts> {
    let source = folder.join("VisualVmCounts.java");
    fs::write(&source, COUNTS_SOURCE)?;
    let mut java = Command::new(jdk::compiler().java());
    java.arg("-cp").arg(jar).arg(source).arg(file);
    let mut counts = Counts::new();
    for line in output(&mut java)?.lines() {
        let (count, class) = line.split_once('\t').with_context(|| format!("line {line:?}"))?;
        *counts.entry(class.to_owned()).or_default() += count.parse::<u64>()?;
    }
    Ok(counts)
}

fn slurp(program: &Path, file: &Path, folder: &Path) -> Result<Counts> {
    let report = folder.join("slurp.json");
    let mut slurp = Command::new(program);
    slurp.args(["--json", "--top", "1000000", "--output"]).arg(&report).arg(file);
    output(&mut slurp)?;
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report)?)?;
    let rows = report["heap"]["top_allocated_classes"].as_array().context("no list of classes")?;
    let mut counts = Counts::new();
    for row in rows {
        let (class, count) = (row["class_name"].as_str(), row["instance_count"].as_u64());
        let (class, count) = class.zip(count).with_context(|| format!("row {row}"))?;
        *counts.entry(class.to_owned()).or_default() += count;
    }
    Ok(counts)
}

/// Returns the output of a command, if it succeeds.
fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {stderr}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the first class whose counts differ.
fn difference(expected: &Counts, found: &Counts) -> String {
    let classes = expected.keys().chain(found.keys());
    let of = |counts: &Counts, class: &str| counts.get(class).copied().unwrap_or(0);
    let mut different = classes.filter(|class| of(expected, class) != of(found, class));
    different.next().map_or_else(String::new, |class| {
        let (expected, found) = (of(expected, class), of(found, class));
        format!("{found} objects of {class}, expected {expected}")
    })
}
