//! Queries and inputs with faults, and borders.

use std::fs;
use std::io::{Read, Write};
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
        (" ; ", "there is no query"),
        ("SELECT * FROM samples WHERE value = 'abc'", "abc"),
        ("SELECT class FROM methods WHERE method ~ '('", "regex"),
        ("SELECT cast('2026-99-99' as timestamp)", "2026-99-99"),
        ("SELECT * FROM methods WHERE metric = \"samples\"", "single quotes"),
        ("SELECT 'a", "Unterminated string literal"),
        ("SELECT * FROM flame('nothing')", "no recording has the metric nothing"),
        ("SELECT * FROM flame()", "flame takes a metric"),
        ("SELECT * FROM diff(1, 9)", "there is no recording 9"),
        ("SELECT * FROM diff(1)", "diff takes two recordings"),
    ] {
        let said = said(&[query]);
        assert!(said.contains(part), "{query}: {said}");
    }
}

/// Terms of a chain are inside each other.
#[test]
fn long_queries_are_answered_or_refused() {
    let of = |count: usize, term: &str| vec![term; count].join(" ");
    for (query, code) in [
        (
            format!(
                "SELECT count(*) FROM samples WHERE value <> -1 {}",
                of(1200, "AND value <> -1")
            ),
            0,
        ),
        (format!("SELECT 1 {}", of(2000, "+1")), 0),
        (format!("SELECT 'a' {}", of(1000, "|| 'a'")), 0),
        (format!("SELECT 1 {}", of(300, "UNION ALL SELECT 1")), 0),
        (format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)), 2),
        (format!("SELECT 1 {}", of(50_000, "+ 1")), 2),
    ] {
        let mut command = command(&[sample().to_str().unwrap(), "--csv"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(query.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{}: {said}", &query[..60]);
        assert_eq!(said.lines().count(), usize::from(code == 2), "{said}");
    }
}

#[test]
fn who_reads_may_end_first() {
    let query = "SELECT a.value AS a, b.value AS b FROM generate_series(1, 1000) a, generate_series(1, 1000) b";
    for form in ["--csv", "--json", "--write"] {
        let mut command = command(&[sample().to_str().unwrap(), query, form]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{form}");
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
    assert!(said(&["--write", &copy]).contains("exists"));
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
