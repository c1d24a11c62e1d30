//! Questions to a store without SQL: `perk report`, `perk diff` and `perk convert` of parts of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::{StoreFolder, of_tools};
use crate::sql;

/// Runs `perk`, which lies beside `perk-fleet`.
fn perk(arguments: &[&str]) -> Output {
    let perk = Path::new(env!("CARGO_BIN_EXE_perk-fleet")).with_file_name("perk");
    assert!(perk.is_file(), "{} is not built: cargo build -p perk-cli", perk.display());
    Command::new(perk).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = perk(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of what it prints, sorted: rows of equal numbers have no order of their own.
#[track_caller]
fn lines(arguments: &[&str]) -> Vec<String> {
    let mut lines: Vec<_> = printed(arguments).lines().map(ToOwned::to_owned).collect();
    lines.sort();
    lines
}

/// What a comparison says of each metric, with its methods by name.
pub(crate) fn changes(arguments: &[&str]) -> Value {
    // The exit code says whether exact counts differ.
    let output = perk(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    let parsed: Result<Value, _> = serde_json::from_slice(&output.stdout);
    let mut metrics = parsed.unwrap_or_else(|_| panic!("{arguments:?}: {said}"))["metrics"].take();
    for metric in metrics.as_array_mut().unwrap() {
        let methods = metric["methods"].as_array_mut().unwrap();
        methods.sort_by_key(|it| it["name"].to_string());
    }
    metrics
}

/// A store with two real recordings, each with a label of its own, and their files.
pub(crate) fn of_two_versions() -> (StoreFolder, [String; 2]) {
    let store = StoreFolder::new();
    let recorded = sql::recordings();
    let files: Vec<_> = recorded.iter().map(|it| it.to_str().unwrap().to_owned()).collect();
    let files: [String; 2] = files.try_into().unwrap();
    for (file, version) in files.iter().zip(["1.4.1", "1.4.2"]) {
        store.print("add", &["--label", &format!("version={version}"), file]);
    }
    (store, files)
}

#[test]
fn a_report_has_the_numbers_of_the_files() {
    let (store, [first, second]) = of_two_versions();
    let path = store.path();
    let path = path.to_str().unwrap();
    let both = ["report", "--csv", "--metric"];
    for metric in ["samples", "wall", "allocated"] {
        let of_files = lines(&[&both[..], &[metric, &first, &second]].concat());
        assert!(of_files.len() > 2, "{metric}: {of_files:?}");
        let of_store = lines(&[&both[..], &[metric, path, "--service", "Shop"]].concat());
        assert_eq!(of_store, of_files, "{metric}");
        let of_one = lines(&[&both[..], &[metric, &second]].concat());
        let label = lines(&[&both[..], &[metric, path, "--label", "version=1.4.2"]].concat());
        assert_eq!(label, of_one, "{metric}");
    }
    let first_line = |arguments: &[&str]| {
        let text = printed(arguments);
        let line = text.lines().next().unwrap().split_once(": ").unwrap().1.to_owned();
        (line, text)
    };
    let (of_store, text) = first_line(&["report", path]);
    assert_eq!(of_store, first_line(&["report", &first, &second]).0);
    // What it says to try keeps the part.
    assert!(text.contains(&format!("perk report {path} --")), "{text}");
    // A compaction changes nothing.
    store.print("compact", &[]);
    assert_eq!(first_line(&["report", path]).0, of_store);
    let by = printed(&["report", path, "--by", "version", "--tree"]);
    assert!(by.contains("1.4.1") && by.contains("1.4.2"), "{by}");
    let threads = printed(&["report", path, "--threads"]);
    assert!(threads.contains("main"), "{threads}");
}

#[test]
fn a_comparison_of_labels_is_that_of_their_files() {
    let (store, [first, second]) = of_two_versions();
    let path = store.path();
    let path = path.to_str().unwrap();
    let of_files = changes(&["diff", "--json", &first, &second]);
    assert!(of_files.as_array().is_some_and(|it| !it.is_empty()), "{of_files}");
    let sides = ["--base", "version=1.4.1", "--new", "version=1.4.2"];
    let of_store = changes(&[&["diff", "--json", path, "--service", "Shop"], &sides[..]].concat());
    assert_eq!(of_store, of_files);
}

#[test]
fn a_time_selects_a_part() {
    let store = StoreFolder::of_tools();
    let path = store.path();
    let path = path.to_str().unwrap();
    let csv = |more: &[&str]| lines(&[&["report", "--csv", path], more].concat());
    let [first, second, ..] = of_tools().map(|it| it.0.to_str().unwrap().to_owned());
    let of_first = lines(&["report", "--csv", &first]);
    let of_second = lines(&["report", "--csv", &second]);
    let shop = ["--service", "shop"];
    let until = [&shop[..], &["--until", "2026-11-28T10:20:00Z"]].concat();
    assert_eq!(csv(&until), of_first);
    let since = [&shop[..], &["--since", "2026-11-28T10:20:00Z"]].concat();
    assert_eq!(csv(&since), of_second);
    let out: PathBuf = store.folder.path().join("part.hprof");
    printed(&[&["convert", path, "-o", out.to_str().unwrap()], &since[..]].concat());
    assert_eq!(lines(&["report", "--csv", out.to_str().unwrap()]), of_second);
}

#[test]
fn faults_are_one_line() {
    let store = StoreFolder::of_tools();
    let path = store.path();
    let path = path.to_str().unwrap();
    let file = of_tools()[0].0.to_str().unwrap().to_owned();
    for (arguments, words) in [
        (vec!["report", path, "--service", "none"], "nothing was recorded of this"),
        (vec!["report", path, "--since", "soon"], "use an age such as 24h"),
        (vec!["report", &file, "--since", "1h"], "is no store: --since"),
        (vec!["diff", &file, "--base", "a=1", "--new", "a=2"], "is no store: --base"),
        (vec!["diff", path, "--base", "a=1"], "--new"),
        (vec!["diff", path], "<AFTER>"),
        (vec!["report", "http://127.0.0.1/x"], "http://127.0.0.1/x"),
    ] {
        let output = perk(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(words), "{arguments:?}: {said}");
    }
}
