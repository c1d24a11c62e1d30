//! The runs that are measured. Each notes values by the names of the [bars](super::bars).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use perk_testkit::{JavaRun, Jdk, fixture, jvmpi};

use crate::bench::child;
use crate::bench::programs::{self, Surroundings};
use crate::workspace;

/// The profiler that enables nothing, without `lib`.
const NOTHING: &str = "nothing";
const OBJECTS: u32 = 1_000_000;
/// The time limit of the runs that measure themselves.
const LONGEST: Duration = Duration::from_secs(300);

/// A value of each round, by name.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, Vec<f64>>);

impl Values {
    pub(super) fn get(&self, name: &str) -> Option<&[f64]> {
        self.0.get(name).map(Vec::as_slice)
    }

    fn note(&mut self, name: &str, value: f64) {
        self.0.entry(name.to_owned()).or_default().push(value);
    }
}

/// The surroundings of the runs.
pub(super) struct Runs<'a> {
    pub(super) jdk: &'a Jdk,
    /// The measured agent.
    pub(super) so: &'a Path,
    /// The folder for files.
    pub(super) work: &'a Path,
    pub(super) rounds: usize,
}

impl Runs<'_> {
    /// Measures the programs of a group with a profiler that enables nothing.
    pub(super) fn starts(&self, group: &str, values: &mut Values) -> Result<()> {
        const WAYS: [&str; 4] = ["", "LIB", "-Xrun", "bare"];
        let Self { jdk, work, rounds, .. } = *self;
        let so = self.so.display();
        let library = own_library(NOTHING);
        let folder = library.parent().context("a library is in a folder")?.display();
        let flags = |way| match way {
            "LIB" => vec![format!("-agentpath:{so}=jvmpi={}", library.display())],
            "-Xrun" => vec![format!("-agentpath:{so}=jvmpi"), format!("-Xrun{NOTHING}")],
            _ => Vec::new(),
        };
        for program in programs::of(group, &Surroundings { jdk, work, workloads: None }, rounds)? {
            let name = &program.name;
            let once = |way| {
                // The JVM looks for a library of -Xrun in this variable's folders.
                let mut command = vec!["env".to_owned(), format!("LD_LIBRARY_PATH={folder}")];
                command.extend(program.start.command(jdk, &flags(way)));
                child::measure(&command).with_context(|| format!("{name} {way}"))
            };
            // These runs fill the system's caches, and are not counted.
            for way in &WAYS[..3] {
                once(way)?;
            }
            for round in 0..program.rounds {
                let mut cpu_s = [0.0; WAYS.len()];
                for step in 0..WAYS.len() {
                    let index = (round + step) % WAYS.len();
                    cpu_s[index] = once(WAYS[index])?.cpu_s;
                }
                eprintln!("JDK {}, {name}: CPU s {cpu_s:.3?}", jdk.version);
                let bare = f64::midpoint(cpu_s[0], cpu_s[3]);
                values.note(&format!("{name} bare"), bare);
                for (index, base) in [(1, bare), (2, bare), (3, cpu_s[0])] {
                    let way = WAYS[index];
                    values.note(&format!("{name} {way} ratio"), cpu_s[index] / base);
                    values.note(&format!("{name} {way} more"), cpu_s[index] - base);
                }
            }
        }
        Ok(())
    }

    /// Measures events with an empty handler, and functions of the table.
    pub(super) fn speed(&self, values: &mut Values) -> Result<()> {
        let library = own_library("speed");
        let classes =
            fixture::compile_files(&[&workspace::root().join("java/bench/JvmpiSpeed.java")]);
        // Code is compiled before the program continues.
        let run = self.profiled(&library, "").jvm_arg("-Xbatch").classes(classes);
        let run = run.main("JvmpiSpeed").args([library]);
        for _ in 0..self.rounds {
            let outcome = run.run();
            outcome.assert_success();
            for (name, value) in outcome.stdout.lines().filter_map(|line| line.split_once('=')) {
                let value = value.parse().with_context(|| format!("{name}={value}"))?;
                values.note(name, value);
            }
        }
        Ok(())
    }

    /// Measures dumps of a heap with a known number of objects.
    pub(super) fn dumps(&self, values: &mut Values) {
        let library = jvmpi::library("crates/agent/tests/jvmpi/agents/dumps.c");
        let run = self.profiled(&library, "").jvm_arg("-Xmx1g").main("Dumps");
        // Each level is the first: objects have no ids before.
        for level in ["0", "2"] {
            let run = run.clone().args([&library]).args(["time", &OBJECTS.to_string(), level]);
            for _ in 0..self.rounds {
                let outcome = run.run();
                outcome.assert_success();
                let number = |of: &str| outcome.number(&format!("{of}{level}")) as f64;
                let bytes = number("bytes");
                let mut note = |what: &str, value: f64| {
                    values.note(&format!("dump {level} {what}"), value / f64::from(OBJECTS));
                };
                note("ns", number("ns"));
                note("bytes", bytes);
                note("memory", number("grown.kib") * 1024.0 - bytes);
            }
        }
    }

    /// Notes the size of the agent.
    pub(super) fn size(&self, values: &mut Values) -> Result<()> {
        values.note("size", fs::metadata(self.so).context("cannot read the agent")?.len() as f64);
        Ok(())
    }

    fn profiled(&self, library: &Path, options: &str) -> JavaRun {
        let (so, library) = (self.so.display(), library.display());
        JavaRun::new(self.jdk)
            .jvm_arg(format!("-agentpath:{so}=jvmpi={library}={options}"))
            .jvm_arg("--enable-native-access=ALL-UNNAMED")
            .timeout(LONGEST)
    }
}

/// Compiles a profiler of this folder. Returns the library's path.
fn own_library(name: &str) -> PathBuf {
    jvmpi::library(&format!("xtask/src/bench/jvmpi/{name}.c"))
}
