//! Tests of programs with probes in real JVMs: the reports of the probes, step by step.
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::path::Path;

use perk_instrument::{Names, Probes, instrument};
use perk_testkit::{JavaRun, Jdk, jdk};
use support::{Numbers, image, round_trip};

/// The expected reports of `Scenario.java`.
const EXPECTED: &str = include_str!("java/Scenario.txt");

const PROBES: Probes = Probes {
    unwinding: true,
    timed: true,
    leaving: false,
    lines: true,
    heap: true,
    object_record: false,
    names: Names::PLAIN,
};

/// The program with all probes, and the classes of java.base that it needs.
struct Scenario {
    folder: tempfile::TempDir,
    names: Vec<String>,
}

impl Scenario {
    fn new(jdk: &Jdk, probes: Probes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Numbers { selected: vec!["Scenario"], ..Numbers::default() };
        let (patched, classes) = (folder.path().join("patched"), folder.path().join("classes"));
        support::helper(&patched);
        support::program(&patched, &classes, "Scenario.java");
        let used = ["Object", "Math", "System"];
        let mut base = image::read(jdk, &used.map(|it| format!("java.base/java/lang/{it}.class")));
        let at = base.iter().position(|class| class.name == "java/lang/Object").unwrap();
        let mut object = base.swap_remove(at);
        object.bytes = instrument(&object.bytes, probes, &mut numbers).unwrap().bytes.unwrap();
        object.write(&patched);
        numbers.leaves = round_trip::leaf_table(&base);
        for entry in fs::read_dir(classes).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let instrumented = instrument(&bytes, probes, &mut numbers).unwrap();
            assert_eq!(instrumented.skipped, []);
            if let Some(bytes) = instrumented.bytes {
                fs::write(&path, bytes).unwrap();
            }
        }
        Self { folder, names: numbers.names }
    }

    /// Returns the reports of the program's probes, with names in place of numbers.
    fn run(&self, jdk: &Jdk) -> String {
        let folder: &Path = self.folder.path();
        let patch =
            format!("--patch-module=java.base={}", folder.join("patched/java.base").display());
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
        // Without unwinding, a method that an exception ends is left when another one stores its
        // position.
        for (unwinding, leaving) in [(true, false), (true, true), (false, false)] {
            let probes = Probes { unwinding, leaving, ..PROBES };
            let told = Scenario::new(jdk, probes).run(jdk);
            assert_eq!(told, EXPECTED, "JDK {}, {probes:?}:\n{told}", jdk.version);
        }
    });
}
