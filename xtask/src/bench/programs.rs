//! The programs whose cost under perk is measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::{Jdk, fixture};

use crate::workspace;

/// The groups of programs that `--only` names.
const GROUPS: [&str; 5] = ["javac", "hello", "idle", "threads", "micro"];
/// The beginning of the names of programs that a script runs.
const KIT: &str = "kit-";

/// The number of threads that do nothing.
const IDLE_THREADS: &str = "200";
/// The number of steps of `java/bench/Idle.java` for about three seconds of CPU time.
const STEPS: &str = "3000";
const SLEEP_MS: &str = "3000";
/// The number of threads that are started one after another.
const SHORT_THREADS: &str = "5000";

/// A program to measure.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    /// The program's work, for the report.
    pub(super) about: String,
    pub(super) start: Start,
    /// The number of rounds. A short program takes more.
    pub(super) rounds: usize,
    /// The file to which the program writes its measurements of itself.
    pub(super) timings: Option<PathBuf>,
}

/// The way to start a program.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// By `java`, with these arguments.
    Java(Vec<String>),
    /// By a script that takes `JAVA` and `JAVA_OPTS`.
    Script(PathBuf),
}

impl Start {
    /// Returns the command that starts the program with these options of the JVM.
    pub(super) fn command(&self, jdk: &Jdk, flags: &[String]) -> Vec<String> {
        let java = jdk.java().display().to_string();
        match self {
            Self::Java(arguments) => {
                [java].into_iter().chain(flags.iter().chain(arguments).cloned()).collect()
            }
            Self::Script(script) => vec![
                "env".to_owned(),
                format!("JAVA={java}"),
                format!("JAVA_OPTS={}", flags.join(" ")),
                "bash".to_owned(),
                script.display().to_string(),
            ],
        }
    }
}

/// The surroundings of programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) jdk: &'a Jdk,
    /// The folder for files.
    pub(super) work: &'a Path,
    /// The folder of scripts.
    pub(super) workloads: Option<&'a Path>,
}

/// Accepts the name of a group.
pub(super) fn group(name: &str) -> Result<String> {
    let is_group = GROUPS.contains(&name) || name.starts_with(KIT);
    ensure!(is_group, "not one of {}, {KIT}NAME", GROUPS.join(", "));
    Ok(name.to_owned())
}

/// Returns the programs of a group.
pub(super) fn of(group: &str, place: &Surroundings<'_>, rounds: usize) -> Result<Vec<Program>> {
    let Surroundings { jdk, work, workloads } = *place;
    if let Some(name) = group.strip_prefix(KIT) {
        let folder = workloads.with_context(|| format!("{group} needs --workloads"))?;
        let script = folder.join(format!("run-{name}.sh"));
        ensure!(script.is_file(), "no {}", script.display());
        return Ok(vec![Program {
            name: group.to_owned(),
            about: format!("the program of {}", script.display()),
            start: Start::Script(script),
            rounds,
            timings: None,
        }]);
    }
    match group {
        "javac" => {
            let usual = javac(jdk, work, rounds)?;
            // The methods that the optimizing compiler compiles, and the times at which it does,
            // differ from run to run. This is most of the spread. Without it a cost of one percent
            // is visible.
            let mut steady = usual.clone();
            steady.name = "javac, C1 only".to_owned();
            steady.about += ", without the JVM's optimizing compiler (-XX:TieredStopAtLevel=1)";
            if let Start::Java(arguments) = &mut steady.start {
                arguments.insert(0, "-XX:TieredStopAtLevel=1".to_owned());
            }
            Ok(vec![usual, steady])
        }
        "hello" => Ok(vec![Program {
            name: "hello".to_owned(),
            about: "hello world: the fixed cost".to_owned(),
            start: java_bench(&["Hello"]),
            rounds: 2 * rounds + 1,
            timings: None,
        }]),
        "idle" => Ok(vec![
            Program {
                name: "idle, busy main".to_owned(),
                about: format!("{IDLE_THREADS} idle threads, a fixed amount of work in main"),
                start: java_bench(&["Idle", IDLE_THREADS, STEPS, "0"]),
                rounds,
                timings: None,
            },
            Program {
                name: "idle".to_owned(),
                about: format!("{IDLE_THREADS} idle threads, {SLEEP_MS} ms of sleep in main"),
                start: java_bench(&["Idle", IDLE_THREADS, "0", SLEEP_MS]),
                rounds,
                timings: None,
            },
        ]),
        "threads" => Ok(["0", "200"]
            .map(|steps| Program {
                name: format!("threads, {steps} µs"),
                about: format!("{SHORT_THREADS} threads of about {steps} µs, one after another"),
                start: java_bench(&["ShortThreads", SHORT_THREADS, steps]),
                rounds,
                timings: None,
            })
            .to_vec()),
        "micro" => {
            let timings = work.join("timings");
            let flags = ["-Xmx256m", "-XX:+UseSerialGC"];
            let start = java_with(&flags, &["Micro", &timings.display().to_string()]);
            Ok(vec![Program {
                name: "micro".to_owned(),
                about: "calls and allocations in loops, after warm-up, in a heap of 256 MiB with \
                        the serial GC"
                    .to_owned(),
                start,
                rounds,
                timings: Some(timings),
            }])
        }
        _ => bail!("unknown program {group}"),
    }
}

/// Returns the JDK's compiler as it compiles itself, started in the same way as by `tools/demo.sh`.
fn javac(jdk: &Jdk, work: &Path, rounds: usize) -> Result<Program> {
    let version = jdk.version;
    ensure!(jdk.has_javac, "no javac in {}: use --only hello,idle", jdk.home.display());
    let source = workspace::root().join(format!(".tools/source-{version}/jdk.compiler"));
    ensure!(
        source.is_dir(),
        "no {}: run tools/setup.sh source with JAVA_HOME={}",
        source.display(),
        jdk.home.display()
    );
    let mut files = Vec::new();
    find_java(&source, &mut files)?;
    files.sort();
    let list = work.join("sources");
    fs::write(&list, files.join("\n")).with_context(|| format!("{}", list.display()))?;
    let home = jdk.home.display().to_string();
    let patch = format!("jdk.compiler={}", source.display());
    let classes = work.join("classes").display().to_string();
    let files_argument = format!("@{}", list.display());
    let arguments = [
        "-Xmx1g",
        "-m",
        "jdk.compiler/com.sun.tools.javac.Main",
        "-proc:none",
        "-nowarn",
        "-XDignore.symbol.file",
        "--system",
        &home,
        "--patch-module",
        &patch,
        "-d",
        &classes,
        &files_argument,
    ];
    Ok(Program {
        name: "javac".to_owned(),
        about: format!("the JDK's compiler compiles its own {} files", files.len()),
        start: Start::Java(arguments.map(str::to_owned).to_vec()),
        rounds,
        timings: None,
    })
}

pub(crate) fn find_java(folder: &Path, files: &mut Vec<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find_java(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "java") {
            files.push(path.display().to_string());
        }
    }
    Ok(())
}

/// Returns the start of a program of `java/bench`.
fn java_bench(arguments: &[&str]) -> Start {
    java_with(&[], arguments)
}

/// Returns the start of a program of `java/bench` with options of the JVM.
fn java_with(flags: &[&str], arguments: &[&str]) -> Start {
    let folder = workspace::root().join("java");
    let bench = ["Hello", "Idle", "Micro", "ShortThreads"].map(|name| format!("bench/{name}.java"));
    let fixtures = ["IdleThreads", "Work"].map(|name| format!("fixtures/{name}.java"));
    let files: Vec<PathBuf> = bench.iter().chain(&fixtures).map(|it| folder.join(it)).collect();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let classes = fixture::compile_files(&files).display().to_string();
    let path = ["-cp", &classes];
    let all = flags.iter().chain(&path).chain(arguments);
    Start::Java(all.map(|&it| it.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_in_the_list_or_of_the_kit() {
        let jdk = perk_testkit::jdk::compiler();
        let place = Surroundings { jdk, work: Path::new("/tmp"), workloads: None };
        let refusal = group("tomcat").unwrap_err().to_string();
        assert_eq!(refusal, "not one of javac, hello, idle, threads, micro, kit-NAME");
        assert_eq!(
            (group("hello").unwrap(), group("kit-h2").unwrap()),
            ("hello".to_owned(), "kit-h2".to_owned())
        );
        let error = of("kit-h2", &place, 1).unwrap_err();
        assert_eq!(error.to_string(), "kit-h2 needs --workloads");
    }
}
