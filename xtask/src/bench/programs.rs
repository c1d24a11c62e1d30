//! The programs whose cost under perk is measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use perk_testkit::{Jdk, fixture};

use crate::workspace;

/// The groups of programs that `--only` names.
pub(super) const GROUPS: [&str; 4] = ["javac", "hello", "idle", "micro"];

/// The number of threads that do nothing.
const IDLE_THREADS: &str = "200";
/// The number of steps of `java/bench/Idle.java` for about three seconds of CPU time.
const STEPS: &str = "3000";
const SLEEP_MS: &str = "3000";

/// A program to measure.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// The program's work, for the report.
    pub(super) about: String,
    /// The arguments of `java`.
    pub(super) arguments: Vec<String>,
    /// The number of rounds. A short program takes more.
    pub(super) rounds: usize,
    /// The file to which the program writes its measurements of itself.
    pub(super) timings: Option<PathBuf>,
}

/// Returns the programs of a group, run by `jdk`, with files in `work`.
pub(super) fn of(group: &str, jdk: &Jdk, work: &Path, rounds: usize) -> Result<Vec<Program>> {
    match group {
        "javac" => {
            let usual = javac(jdk, work, rounds)?;
            // The methods that the optimizing compiler compiles, and the times at which it does,
            // differ from run to run. This is most of the spread. Without it a cost of one percent
            // is visible.
            let mut steady = usual.clone();
            steady.name = "javac, C1 only";
            steady.about += ", without the JVM's optimizing compiler (-XX:TieredStopAtLevel=1)";
            steady.arguments.insert(0, "-XX:TieredStopAtLevel=1".to_owned());
            Ok(vec![usual, steady])
        }
        "hello" => Ok(vec![Program {
            name: "hello",
            about: "hello world: the fixed cost".to_owned(),
            arguments: java_bench(&["Hello"]),
            rounds: 2 * rounds + 1,
            timings: None,
        }]),
        "idle" => Ok(vec![
            Program {
                name: "idle, busy main",
                about: format!("{IDLE_THREADS} idle threads, a fixed amount of work in main"),
                arguments: java_bench(&["Idle", IDLE_THREADS, STEPS, "0"]),
                rounds,
                timings: None,
            },
            Program {
                name: "idle",
                about: format!("{IDLE_THREADS} idle threads, {SLEEP_MS} ms of sleep in main"),
                arguments: java_bench(&["Idle", IDLE_THREADS, "0", SLEEP_MS]),
                rounds,
                timings: None,
            },
        ]),
        "micro" => {
            let timings = work.join("timings");
            let mut arguments = ["-Xmx256m", "-XX:+UseSerialGC"].map(str::to_owned).to_vec();
            arguments.extend(java_bench(&["Micro", &timings.display().to_string()]));
            Ok(vec![Program {
                name: "micro",
                about: "calls and allocations in loops, after warm-up, in a heap of 256 MiB with \
                        the serial GC"
                    .to_owned(),
                arguments,
                rounds,
                timings: Some(timings),
            }])
        }
        _ => bail!("unknown program {group}: {}", GROUPS.join(", ")),
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
        name: "javac",
        about: format!("the JDK's compiler compiles its own {} files", files.len()),
        arguments: arguments.map(str::to_owned).to_vec(),
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

/// Returns the arguments that start a program of `java/bench`.
fn java_bench(arguments: &[&str]) -> Vec<String> {
    let folder = workspace::root().join("java");
    let bench = ["Hello", "Idle", "Micro"].map(|name| format!("bench/{name}.java"));
    let fixtures = ["IdleThreads", "Work"].map(|name| format!("fixtures/{name}.java"));
    let files: Vec<PathBuf> = bench.iter().chain(&fixtures).map(|it| folder.join(it)).collect();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let classes = fixture::compile_files(&files).display().to_string();
    let arguments = arguments.iter().map(|&it| it.to_owned());
    ["-cp".to_owned(), classes].into_iter().chain(arguments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_program_is_an_error() {
        let jdk = perk_testkit::jdk::compiler();
        let error = of("tomcat", jdk, Path::new("/tmp"), 1).unwrap_err();
        assert_eq!(error.to_string(), "unknown program tomcat: javac, hello, idle, micro");
    }
}
