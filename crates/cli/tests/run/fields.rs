//! Accesses to fields of a program that makes them as computed.

use std::collections::BTreeMap;
use std::fs;

use perk_formats::shared_fields;
use perk_profile::{FieldCounts, Profile};
use perk_testkit::{Jdk, fixture, jdk};

use crate::util::{Folder, assert_refused, stderr, stdout};

/// Runs `SharedAdvice` under perk. Returns perk's messages.
#[track_caller]
fn run(folder: &Folder, jdk: &Jdk, options: &[&str]) -> String {
    let java = jdk.java().to_str().unwrap().to_owned();
    let classes = fixture::fixtures().to_str().unwrap().to_owned();
    let mut perk = folder.perk();
    perk.args(["run", "--fields", "shared"]).args(options);
    let output = perk.args(["--", &java, "-cp", &classes, "SharedAdvice"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stderr(&output)
}

/// Returns the accesses to the fields of the program's own classes.
fn accesses(profile: &Profile) -> BTreeMap<String, (u64, [u64; 4])> {
    let symbols = &profile.symbols;
    let mut sums: BTreeMap<String, (u64, FieldCounts)> = BTreeMap::new();
    for objects in profile.field_accesses().unwrap().rows() {
        let class = symbols.class_name(objects.class);
        let Some(class) = class.strip_prefix("SharedAdvice$") else { continue };
        for (field, counts) in objects.fields.iter().zip(objects.counts) {
            let name = format!("{class}.{}", symbols.strings.get(field.name));
            let (object_count, sum) = sums.entry(name).or_default();
            *object_count += objects.object_count;
            sum.add(counts, objects.object_count);
        }
    }
    sums.into_iter().map(|(name, (count, sum))| (name, (count, sum.numbers()))).collect()
}

#[test]
fn the_files_of_a_run_hold_the_same_accesses() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let names = ["a.tsv.gz", "a.fields", "a.tsv", "a.fields.zst", "a.hprof"];
        let options = ["a.html"].iter().chain(&names).flat_map(|name| ["-o", name]);
        let shown = run(&folder, jdk, &options.collect::<Vec<_>>());
        assert!(shown.contains("SharedAdvice (pid "), "{shown}");
        assert!(
            shown.contains("perk report a.tsv.gz --field 'SharedAdvice$Counter.value'"),
            "{shown}"
        );
        let page = fs::read_to_string(folder.join("a.html")).unwrap();
        assert!(page.contains("SharedAdvice$Counter"), "{page:.200}");
        let texts = names.map(|name| {
            let plain = format!("{name}.plain.tsv");
            assert!(folder.run(&["convert", name, "-o", &plain]).status.success());
            fs::read(folder.join(&plain)).unwrap()
        });
        let all = texts.map(|text| accesses(&shared_fields::read(&text[..]).unwrap()));
        assert_eq!(all[0]["Counter.value"], (1, [1000; 4]));
        assert_eq!(all[0]["Task.input"], (1000, [0, 1000, 1000, 0]));
        assert!(all.iter().all(|it| *it == all[0]));
        for arguments in [&["--csv"][..], &["--csv", "--sites"], &["--field", "Counter", "--csv"]] {
            let shown = |name| stdout(&folder.run(&[&["report", name], arguments].concat()));
            assert_eq!(shown("a.hprof"), shown("a.fields"), "{arguments:?}");
        }
        assert!(folder.run(&["convert", "a.hprof", "-o", "b.fields"]).status.success());
        assert!(
            fs::read(folder.join("b.fields")).unwrap()
                == fs::read(folder.join("a.fields")).unwrap()
        );
        assert_eq!(folder.run(&["diff", "a.hprof", "a.fields"]).status.code(), Some(0));
        // Each object has a record in the one form, and all alike objects have one in the other.
        let count = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            text.lines().filter(|line| line.contains("\tSharedAdvice$Task")).count()
        };
        assert_eq!(count("a.tsv"), 1000);
        assert!((1..10).contains(&count("a.fields")), "{}", count("a.fields"));
    });
}

#[test]
fn without_a_name_the_file_has_alike_objects_once() {
    let folder = Folder::new();
    let shown = run(&folder, &jdk::all()[0], &["--include", "SharedAdvice*"]);
    let (_, name) = shown.split_once("written   ").unwrap_or_else(|| panic!("{shown}"));
    let name = name.trim();
    assert!(name.starts_with("perk-java-") && name.ends_with(".fields.gz"), "{name}");
    let output = folder.run(&["report", name, "--csv"]);
    assert!(
        shown.contains(&format!("perk report {name} --field 'SharedAdvice$Ring'\n")),
        "{shown}"
    );
    let rows = stdout(&output);
    assert!(rows.lines().any(|row| row.contains("SharedAdvice$Counter")), "{rows}");
    // No access in the JDK is counted.
    assert!(!rows.lines().any(|row| row.starts_with("java.util.HashMap,")), "{rows}");
}

#[test]
fn accesses_by_other_means_are_counted_when_asked_for() {
    let folder = Folder::new();
    let shown = run(
        &folder,
        &jdk::all()[0],
        &["--accesses", "extended", "-o", "a.hprof", "-o", "a.fields"],
    );
    assert!(!shown.contains("perk: "), "{shown}");
    let csv = ["a.hprof", "a.fields"].map(|name| stdout(&folder.run(&["report", "--csv", name])));
    assert!(csv[0] == csv[1]);
    assert!(
        csv[0].lines().next().unwrap().contains(",extended_other_write_count,"),
        "{:.400}",
        csv[0]
    );
    let text = stdout(&folder.run(&["report", "a.hprof"]));
    assert!(text.contains("accesses by other means (arraycopy,"), "{text:.600}");
}

#[test]
fn what_it_cannot_be_combined_with_is_refused() {
    let folder = Folder::new();
    for others in [["--cpu", "times"], ["--heap", "sites"]] {
        let mut arguments = vec!["run", "--fields", "shared"];
        arguments.extend(others);
        arguments.extend(["--", "java", "-version"]);
        assert_refused(&folder.run(&arguments), &["--fields shared measures alone"]);
    }
    let output = folder.run(&["run", "--fields", "shared", "-o", "a.txt", "--", "java"]);
    assert_refused(&output, &["cannot write a.txt", "no place for"]);
    assert!(!folder.join("a.txt").exists());
}

#[test]
fn a_program_without_counted_accesses_has_nothing_to_show() {
    let folder = Folder::new();
    let shown = run(&folder, &jdk::all()[0], &["--include", "no.such.Class"]);
    assert!(shown.contains("nothing was measured: no access to a field was counted"), "{shown}");
}
