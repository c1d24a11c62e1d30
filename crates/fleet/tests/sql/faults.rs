//! Queries and inputs with faults, and borders.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{command, run, sample};

/// What a query that fails says: one line, and the exit code 2.
#[track_caller]
fn said(arguments: &[&str]) -> String {
    let output = run(&[&sample()], arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("perk: ") && said.lines().count() == 1, "{said}");
    said
}

#[test]
fn faults_of_queries_have_a_place() {
    for (query, part) in [
        ("SELECT clas FROM methods", "column 8"),
        ("SELECT class\nFROM methods WHERE nothing = 1", "line 2, column 20"),
        ("SELECT class FROM method", "method"),
        ("SELECT class FROM methods WHERE", "ends too soon"),
        ("SELECT class FROM methods WHERE )", "Line: 1, Column: 33"),
        ("SELECT stack_contains(stack, '') FROM stacks", "no pattern"),
        ("SELECT leaf(class) FROM methods", "leaf"),
        ("SELECT 1; SELECT 2", "several statements"),
    ] {
        let said = said(&[query]);
        assert!(said.contains(part), "{query}: {said}");
    }
}

#[test]
fn nothing_but_the_inputs_is_read_or_written() {
    let folder = tempfile::tempdir().unwrap();
    let (target, other) = (folder.path().join("out.csv"), folder.path().join("in.csv"));
    fs::write(&other, "a\n1\n").unwrap();
    let copy = format!("COPY (SELECT 1 AS a) TO '{}'", target.display());
    let said_of_copy = said(&[&copy]);
    assert!(said_of_copy.contains("--write"), "{said_of_copy}");
    said(&[&format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'", other.display())]);
    said(&[&format!("SELECT * FROM '{}'", other.display())]);
    said(&["SET datafusion.execution.batch_size = 1"]);
    assert!(!target.exists());
    let output = run(&[&sample()], &[&copy, "--write"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "a\n1\n");
    // Not even then.
    said(&[
        "--write",
        &format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'", other.display()),
    ]);
}

#[test]
fn a_query_that_needs_too_much_ends_with_a_line() {
    let query = "SELECT a.value, b.value FROM generate_series(1, 3000) a, generate_series(1, 3000) b \
                 ORDER BY 2, 1 LIMIT 2000000";
    let said = said(&[query, "--memory", "8m"]);
    assert!(said.contains("--memory allows more"), "{said}");
}

#[test]
fn queries_come_from_stdin_and_inputs_from_folders() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("service=a");
    fs::create_dir(&below).unwrap();
    for name in ["1.txt", "2.txt", ".hidden", "3.part"] {
        fs::copy(sample(), below.join(name)).unwrap();
    }
    fs::write(folder.path().join("noise.bin"), [7; 100]).unwrap();
    let mut child = command(&[folder.path().to_str().unwrap(), "--csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT count(*) AS n FROM recordings;\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "n\n2\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("files skipped: 1; the first: ") && said.contains("noise.bin"), "{said}");
}

#[test]
fn inputs_with_faults_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.hprof");
    let noise = folder.path().join("noise.bin");
    fs::write(&noise, [7; 100]).unwrap();
    for (input, part) in [(&missing, "missing.hprof"), (&noise, "noise.bin")] {
        let output = run(&[input], &["SELECT 1 AS a"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
    let output = run(&[folder.path()], &["SELECT 1 AS a"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("no profile is in this folder"));
}
