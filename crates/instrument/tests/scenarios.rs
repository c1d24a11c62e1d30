//! Tests of programs with probes in real JVMs: the reports of the probes, step by step.
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::path::Path;

use perk_instrument::{Events, FIELDS_HELPER, HELPER, Names, Places, Probes, instrument};
use perk_testkit::{JavaRun, Jdk, jdk};
use support::{CounterNumbers, image, round_trip};

const PROBES: Probes = Probes {
    unwinding: true,
    timed: true,
    leaving: false,
    places: Places::Lines,
    heap: true,
    sites: false,
    object_record: false,
    accesses: false,
    extended: false,
    calls: true,
    blocks: false,
    entries: false,
    path_budget: false,
    events: Events::NONE,
    late: false,
    names: Names::PLAIN,
};

/// A program with probes, and the classes of java.base that it needs.
struct Scenario {
    name: &'static str,
    folder: tempfile::TempDir,
    /// The reasons why methods lack probes.
    skipped: Vec<(Vec<u8>, String)>,
    names: Vec<String>,
}

impl Scenario {
    /// Places probes in the classes of a program, after `prepare`, and in some classes of the JDK.
    /// The leaves of others are known.
    fn new(
        jdk: &Jdk,
        probes: Probes,
        name: &'static str,
        (changed, leaves): (&[&str], &[&str]),
        prepare: impl Fn(&mut [u8]),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let selected = vec![name, "java/lang/reflect/"];
        let mut numbers = CounterNumbers { selected, ..CounterNumbers::default() };
        let (patched, classes) = (folder.path().join("patched"), folder.path().join("classes"));
        support::helper(&patched, if probes.accesses { FIELDS_HELPER } else { HELPER });
        support::program(&patched, &classes, &format!("{name}.java"));
        let read = |names: &[&str]| {
            let paths = names.iter().map(|it| format!("java.base/java/lang/{it}.class"));
            image::read(jdk, &paths.collect::<Vec<_>>())
        };
        for mut class in read(changed) {
            class.bytes = instrument(&class.bytes, probes, &mut numbers).unwrap().bytes.unwrap();
            class.write(&patched);
        }
        numbers.leaves = round_trip::leaf_table(&read(leaves));
        let mut skipped = Vec::new();
        for entry in fs::read_dir(classes).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            prepare(&mut bytes);
            let instrumented = instrument(&bytes, probes, &mut numbers).unwrap();
            skipped.extend(instrumented.skipped);
            if let Some(bytes) = instrumented.bytes {
                fs::write(&path, bytes).unwrap();
            }
        }
        Self { name, folder, skipped, names: numbers.names }
    }

    /// Returns the reports of the program's probes, with names in place of numbers.
    fn run(&self, jdk: &Jdk) -> String {
        let folder: &Path = self.folder.path();
        let patch =
            format!("--patch-module=java.base={}", folder.join("patched/java.base").display());
        let run = JavaRun::new(jdk).jvm_arg("-Xverify:all").jvm_arg("-Xshare:off").jvm_arg(patch);
        let outcome = run.classes(folder.join("classes")).main(self.name).run();
        outcome.assert_success();
        CounterNumbers::name_all(&self.names, &outcome.stdout)
    }
}

#[test]
fn probes_report_each_step() {
    const EXPECTED: &str = include_str!("java/Scenario.txt");
    jdk::each(|jdk| {
        // Without unwinding, a method that an exception ends is left when another one stores its
        // position.
        for (unwinding, leaving) in [(true, false), (true, true), (false, false)] {
            let probes = Probes { unwinding, leaving, ..PROBES };
            let base: (&[&str], &[&str]) = (&["Object"], &["Math", "System"]);
            let scenario = Scenario::new(jdk, probes, "Scenario", base, |_| {});
            assert_eq!(scenario.skipped, []);
            let reported = scenario.run(jdk);
            assert_eq!(reported, EXPECTED, "JDK {}, {probes:?}:\n{reported}", jdk.version);
        }
    });
}

#[test]
fn probes_report_each_access() {
    const EXPECTED: &str = include_str!("java/Accesses.txt");
    let probes = Probes { heap: false, object_record: true, accesses: true, ..PROBES };
    jdk::each(|jdk| {
        let base: (&[&str], &[&str]) = (&["Object", "reflect/Constructor", "reflect/Array"], &[]);
        let scenario = Scenario::new(jdk, probes, "Accesses", base, support::drop_objects);
        assert_eq!(scenario.skipped, []);
        let reported = scenario.run(jdk);
        assert_eq!(reported, EXPECTED, "JDK {}:\n{reported}", jdk.version);
    });
}
