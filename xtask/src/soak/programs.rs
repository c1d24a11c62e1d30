//! The programs of `xtask soak`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use perk_testkit::{Jdk, fixture};

use super::flags::Flags;
use crate::bench::find_java;
use crate::workspace;

/// How a program is started.
#[derive(Debug)]
pub(super) enum Start {
    /// By `java`, with these arguments after those of the JVM.
    Java(Vec<String>),
    /// By a script that takes the variables `JAVA` and `JAVA_OPTS`.
    Script(PathBuf),
}

/// A program on a JDK.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) java: PathBuf,
    pub(super) start: Start,
    /// Whether it takes too long for a JVM without its compilers.
    is_long: bool,
}

impl Program {
    /// Returns the flags of a turn.
    pub(super) fn flags(&self, all: &[Flags], turn: usize) -> Flags {
        let from = |turn: usize| all[turn % all.len()];
        let mut turns = (turn..turn + all.len()).map(from);
        turns.find(|flags| !(self.is_long && flags.is_slow)).unwrap_or(from(0))
    }
}

/// The programs of `java/fixtures`, with arguments for about a second.
const FIXTURES: [(&str, &[&str]); 13] = [
    ("StormClasses", &["150", "2"]),
    ("StormDeopt", &["100"]),
    ("StormOverflow", &["60"]),
    ("StormVirtual", &["20"]),
    ("StormGarbage", &["300"]),
    ("StormSignals", &["100"]),
    ("StormChildren", &["10"]),
    ("StormRedefine", &["60"]),
    ("ManyThreads", &["3000", "0"]),
    ("VirtualChurn", &["10"]),
    ("DeepRecursion", &["20000", "300"]),
    ("CallCounts", &["3000"]),
    ("CompileInProcess", &["100"]),
];
/// The program that needs its agent.
const REDEFINING: &str = "StormRedefine";
/// The program that needs a compiler.
const COMPILING: &str = "CompileInProcess";

/// Returns the programs for a JDK: those that `only` names, or all.
pub(super) fn of(jdk: &Jdk, only: &[String], workloads: Option<&Path>) -> Result<Vec<Program>> {
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|it| it == name);
    let classes = fixture::fixtures();
    let mut programs = Vec::new();
    let mut add = |name: &str, start: Start, is_long: bool| {
        if is_wanted(name) {
            programs.push(Program { name: name.to_owned(), java: jdk.java(), start, is_long });
        }
    };
    for (name, arguments) in FIXTURES {
        if name == COMPILING && !jdk.has_javac {
            continue;
        }
        let mut all = Vec::new();
        if name == REDEFINING {
            let folder = workspace::root().join("target/soak-agent");
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            let folder_of_classes = PathBuf::from(format!("{}/", classes.display()));
            all.push(format!(
                "-javaagent:{}",
                fixture::agent_jar(&folder, name, &[folder_of_classes])
            ));
        }
        all.extend(["-cp".to_owned(), classes.display().to_string(), name.to_owned()]);
        all.extend(arguments.iter().map(|&it| it.to_owned()));
        add(name, Start::Java(all), false);
    }
    if let Some(arguments) = javac(jdk)? {
        add("javac", Start::Java(arguments), true);
    }
    if let Some(folder) = workloads {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut scripts: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        scripts.sort();
        for script in scripts {
            let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if let (Some(name), true) = (name.strip_prefix("run-"), script.extension().is_some()) {
                let name = format!("kit-{name}");
                add(&name, Start::Script(script), true);
            }
        }
    }
    Ok(programs)
}

/// The JDK's compiler, which compiles a package of its own, if its source is there.
fn javac(jdk: &Jdk) -> Result<Option<Vec<String>>> {
    let source = perk_testkit::tools().join(format!("source-{}/jdk.compiler", jdk.version));
    let package = source.join("com/sun/tools/javac/util");
    if !jdk.has_javac || !package.is_dir() {
        return Ok(None);
    }
    let mut files = Vec::new();
    find_java(&package, &mut files)?;
    files.sort();
    let patch = format!("jdk.compiler={}", source.display());
    let options = ["-implicit:none", "-proc:none", "-nowarn", "-XDignore.symbol.file"];
    let mut arguments = vec!["-m", "jdk.compiler/com.sun.tools.javac.Main"];
    arguments.extend(options);
    arguments.extend(["--patch-module", &patch, "-d", "classes"]);
    arguments.extend(files.iter().map(String::as_str));
    Ok(Some(arguments.into_iter().map(str::to_owned).collect()))
}
