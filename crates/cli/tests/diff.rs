//! `perk diff`: what it tells apart, and the exit codes that a build server acts on.

use std::process::Output;

use perk_profile::Profile;

use crate::exact::{push_sites, push_times, write};
use crate::util::{Folder, assert_refused, stderr, stdout};

/// Profiles `before` and `after`: a call more in a hundred, another line of the same site.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, calls, self_ms, bytes) in
        [("before", 99, 500, 1_000), ("same", 99, 700, 1_000), ("after", 100, 500, 1_500)]
    {
        let mut profile = Profile::default();
        push_times(&mut profile, &[("T.main", 1, 10), ("T.main;T.f", calls, self_ms)]);
        push_sites(&mut profile, &[("byte[]", "T.main:3;T.f:7", [bytes, 10, 0, 0])]);
        write(&folder, name, &profile);
    }
    folder
}

#[track_caller]
fn check(folder: &Folder, arguments: &[&str], code: i32) -> Output {
    let output = folder.run(&[&["diff"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    output
}

#[test]
fn equal_counts_are_one_line() {
    let output = check(&folder(), &["before", "same"], 0);
    assert_eq!(
        stdout(&output),
        "no difference in calls and allocations; time 510 ms → 710 ms (+39.22 %)\n"
    );
}

#[test]
fn what_differs_is_listed() {
    let folder = folder();
    assert_eq!(
        stdout(&check(&folder, &["before", "after"], 1)),
        "\
before → after
calls      100 → 101 (+1.00 %)
allocated  1 kB → 1.5 kB (+50.00 %)
objects    10 → 10 (+0.00 %)
time       510 ms → 510 ms (+0.00 %)

Calls by method
before  after  change  change %  self before  self after  method
    99    100      +1     +1.01       500 ms      500 ms  T.f

Calls by caller and callee
before  after  change  change %  caller → callee
    99    100      +1     +1.01  T.main → T.f

Allocations by class
before   after  change %  objects before  objects after  change  class
  1 kB  1.5 kB    +50.00              10             10       0  byte[]

Allocations by site
before   after  change %  objects before  objects after  change  class
  1 kB  1.5 kB    +50.00              10             10       0  byte[]
        T.f (line 7)
        T.main (line 3)
"
    );
    let output = check(&folder, &["before", "after", "--json"], 1);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["differs"], true);
    assert_eq!(json["calls"].as_array().unwrap().len(), 1);
    assert_eq!(json["calls"][0]["after"]["call_count"], 100);
    assert_eq!(json["sites"][0]["frames"][1]["line"], 3);
}

#[test]
fn limits_decide_the_exit_code() {
    let folder = folder();
    check(&folder, &["before", "after", "--fail-on", "calls>+5%"], 0);
    check(&folder, &["before", "after", "--fail-on", "calls(T.f)>+0"], 1);
    check(&folder, &["after", "before", "--fail-on", "calls(T.f)>+0"], 0);
    check(&folder, &["before", "same", "--fail-on", "time>+20%"], 1);
    let limits = ["--fail-on", "calls>+5%", "--fail-on", "allocated_bytes(byte[])>+49%"];
    let output = check(&folder, &[&["before", "after"], &limits[..]].concat(), 1);
    let text = stdout(&output);
    assert!(text.contains("kept      calls>+5%: 100 → 101 (+1.00 %)"), "{text}");
    assert!(text.contains("EXCEEDED  allocated_bytes(byte[])>+49%: 1000 → 1500"), "{text}");
}

#[test]
fn samples_compare_by_share() {
    let folder = Folder::new();
    folder.file("a", "Main.main;Main.f 50\nMain.main 50\n");
    folder.file("b", "Main.main;Main.f 150\nMain.main 50\n");
    let text = stdout(&check(&folder, &["a", "b"], 0));
    assert!(text.contains("samples    100 → 200 (+100.00 %)"), "{text}");
    assert!(text.contains("50.00    75.00  +25.00      50    150  Main.f"), "{text}");
    check(&folder, &["a", "b", "--fail-on", "samples(Main.f)>+49%"], 1);
    check(&folder, &["a", "b", "--fail-on", "samples(Main.f)>+51%"], 0);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let folder = folder();
    folder.file("samples", "Main.main 50\n");
    assert_refused(&check(&folder, &["before", "samples"], 2), &["nothing of one kind"]);
    assert_refused(&check(&folder, &["-", "-"], 2), &["stdin"]);
    assert_refused(&check(&folder, &["before", "none"], 2), &["cannot read none"]);
    for (limit, part) in [
        ("calls", "calls>+5%"),
        ("call>+5%", "allocated_bytes"),
        ("calls(gone)>+0", "neither profile has that name"),
        ("samples>+0", "not in both profiles"),
    ] {
        assert_refused(&check(&folder, &["before", "same", "--fail-on", limit], 2), &[part]);
    }
}
