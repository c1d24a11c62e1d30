//! Programs with probes, run by real JVMs: what the probes tell, step by step.
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::path::Path;

use perk_instrument::{Probes, instrument, leaves};
use perk_testkit::{JavaRun, Jdk, jdk};
use support::Numbers;

/// What `Scenario.java` is to tell.
const EXPECTED: &str = include_str!("java/Scenario.txt");

const PROBES: Probes = Probes { unwinding: true, lines: true, heap: true, object_record: false };

/// The program with all probes, and the classes of java.base that it cannot do without.
struct Scenario {
    folder: tempfile::TempDir,
    names: Vec<String>,
}

impl Scenario {
    fn new(jdk: &Jdk) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Numbers { selected: vec!["Scenario"], ..Numbers::default() };
        support::helper(folder.path());
        let classes = support::program(folder.path(), "Scenario.java");
        let used = ["java/lang/Object", "java/lang/Math", "java/lang/System"];
        for (name, bytes) in support::base_classes(jdk, folder.path(), &used) {
            if name == "java/lang/Object" {
                let bytes = instrument(&bytes, PROBES, &mut numbers).unwrap().bytes.unwrap();
                support::patch(folder.path(), &name, &bytes);
            } else {
                numbers.leaves.insert(name.into_bytes(), leaves(&bytes).unwrap());
            }
        }
        for entry in fs::read_dir(classes).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let instrumented = instrument(&bytes, PROBES, &mut numbers).unwrap();
            assert_eq!(instrumented.skipped, []);
            if let Some(bytes) = instrumented.bytes {
                fs::write(&path, bytes).unwrap();
            }
        }
        Self { folder, names: numbers.names }
    }

    /// What the probes of the program tell, with names for numbers.
    fn run(&self, jdk: &Jdk) -> String {
        let folder: &Path = self.folder.path();
        let patch = format!("--patch-module=java.base={}", folder.join("base").display());
        let run = JavaRun::new(jdk).jvm_arg("-Xverify:all").jvm_arg("-Xshare:off").jvm_arg(patch);
        let outcome = run.classes(folder.join("classes")).main("Scenario").run();
        outcome.assert_success();
        let named = outcome.stdout.lines().map(|line| match line.split_once('#') {
            Some((before, rest)) => {
                let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let name = &self.names[number.parse::<usize>().unwrap() - 1];
                format!("{before}{name} {rest}\n")
            }
            None => format!("{line}\n"),
        });
        named.collect()
    }
}

#[test]
fn probes_tell_each_step() {
    jdk::each(|jdk| {
        let told = Scenario::new(jdk).run(jdk);
        assert_eq!(told, EXPECTED, "JDK {}:\n{told}", jdk.version);
    });
}
