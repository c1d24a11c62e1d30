//! `perk run --xprof`.

use std::fs;

use perk_testkit::jdk;

use super::{assert_hot, perk_run, report, work};
use crate::util::{Folder, stderr, stdout};

#[test]
fn tables_are_on_the_programs_stdout() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let output = perk_run(&folder, &["--xprof"], &work(jdk, &["400", "exit", "3"]));
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        let (before, after) = text.split_once("pid=").unwrap();
        // The worker has ended, or is about to be printed.
        assert!(before.is_empty() || before.contains(" total ticks): worker"), "{text}");
        assert!(after.contains(" total ticks): main"), "{text}");
        assert!(text.contains("Work.hot") && after.contains("\nGlobal summary of "), "{text}");
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    });
}

#[test]
fn tables_in_a_file_are_a_profile() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options = ["--xprof=tiers,all", "--interval", "1ms", "-o", "a.xprof", "-o", "a.txt"];
        let output = perk_run(&folder, &options, &work(jdk, &["600"]));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 1);
        assert_hot(&stderr(&output));
        let text = fs::read_to_string(folder.join("a.xprof")).unwrap();
        assert!(text.contains("C2 compiled + native"), "{text}");
        for file in ["a.xprof", "a.txt"] {
            assert_hot(&report(&folder, file, &[]));
        }
        let again = folder.run(&["convert", "a.xprof", "-o", "b.xprof"]);
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        // Read and written again, the tables are the same, but for the order of threads' labels.
        let written = fs::read_to_string(folder.join("b.xprof")).unwrap();
        let rows = |text: &str| {
            let mut rows: Vec<_> = text.lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(&written), rows(&text));
        let same = folder.run(&["diff", "a.xprof", "b.xprof"]);
        assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    });
}

#[test]
fn other_measurements_have_their_file_beside_the_tables() {
    let jdk = jdk::compiler();
    let folder = Folder::new();
    let options = ["--xprof", "--cpu", "samples", "-o", "a.hprof"];
    let output = perk_run(&folder, &options, &work(jdk, &["400"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("\nGlobal summary of "), "{}", stdout(&output));
    assert_hot(&report(&folder, "a.hprof", &[]));
    assert_eq!(folder.names(), ["a.hprof"]);
}
