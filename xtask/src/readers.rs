//! `xtask readers`: heap dumps of perk's agent, read by other tools. Each must find as many objects
//! of each class as perk does.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, fs::File};

use anyhow::{Context, Result, bail, ensure};
use perk_hprof::heap::{Elements, Record, Stream};
use perk_testkit::{JavaRun, jdk};

const USAGE: &str = "readers [--visualvm JAR] [--slurp PROGRAM]";
const FILE: &str = "o.hprof";
/// Files of `format=p` have tags that VisualVM does not accept.
const OPTIONS: [&str; 2] = ["heap=dump,format=b", "heap=all,format=b,depth=8,cpu=samples"];
const COUNTS_SOURCE: &str = include_str!("readers/VisualVmCounts.java");

/// The number of objects by class.
type Counts = BTreeMap<String, u64>;

/// The other tools.
#[derive(Debug)]
enum Reader {
    /// VisualVM's library, `org-graalvm-visualvm-lib-jfluid-heap.jar` of Debian's package
    /// `visualvm`.
    VisualVm(PathBuf),
    /// The program of the crate `hprof-slurp`.
    Slurp(PathBuf),
}

impl Reader {
    fn name(&self) -> &'static str {
        match self {
            Reader::VisualVm(_) => "VisualVM",
            Reader::Slurp(_) => "hprof-slurp",
        }
    }

    fn counts(&self, file: &Path, folder: &Path) -> Result<Counts> {
        match self {
            Reader::VisualVm(jar) => visualvm(jar, file, folder),
            Reader::Slurp(program) => slurp(program, file, folder),
        }
    }
}

/// Runs the check.
///
/// # Errors
/// The first difference, or a message that there is no reader.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let mut readers = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(&name) = arguments.next() {
        let value = *arguments.next().with_context(|| format!("{name} needs a value"))?;
        let path = fs::canonicalize(value).with_context(|| value.to_owned())?;
        readers.push(match name {
            "--visualvm" => Reader::VisualVm(path),
            "--slurp" => Reader::Slurp(path),
            _ => bail!("unknown option {name}: {USAGE}"),
        });
    }
    ensure!(!readers.is_empty(), "no reader is named: {USAGE}");
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
            for reader in &readers {
                let what = format!("{} of JDK {}, {options}", reader.name(), jdk.version);
                let found = reader.counts(&file, folder.path()).with_context(|| what.clone())?;
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
    let told = folder.join("slurp.json");
    let mut slurp = Command::new(program);
    slurp.args(["--json", "--top", "1000000", "--output"]).arg(&told).arg(file);
    output(&mut slurp)?;
    let told: serde_json::Value = serde_json::from_slice(&fs::read(told)?)?;
    let rows = told["heap"]["top_allocated_classes"].as_array().context("no list of classes")?;
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
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {told}", output.status);
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
