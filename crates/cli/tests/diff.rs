//! `perk diff`: the differences that it finds, and the exit codes for build servers.

use std::process::Output;

use perk_profile::Profile;

use crate::exact::{push_sites, push_times, write};
use crate::util::{Folder, assert_refused, stderr, stdout};

/// Makes the profiles `before` and `after`: a call more in a hundred, another line of the same
/// site.
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
    assert_refused(&check(&folder, &["before", "samples"], 2), &["no common metric"]);
    assert_refused(&check(&folder, &["-", "-"], 2), &["stdin"]);
    assert_refused(&check(&folder, &["before", "none"], 2), &["cannot read none"]);
    for (limit, part) in [
        ("calls", "calls>+5%"),
        ("call>+5%", "limits are on samples, time, calls, total_time, wall, allocated, live"),
        ("calls(gone)>+0", "no class or method has that name"),
        ("samples>+0", "not in both profiles"),
    ] {
        assert_refused(&check(&folder, &["before", "same", "--fail-on", limit], 2), &[part]);
    }
}

#[test]
fn two_profiles_are_one_flame_graph() {
    let folder = Folder::new();
    folder.file("a.collapsed", "T.main;T.f 30\nT.main;T.g 70\n");
    folder.file("b.collapsed", "T.main;T.f 60\nT.main;T.h 40\n");
    let both = ["a.collapsed", "b.collapsed"];
    let written = |options: &[&str]| {
        let output = check(&folder, &[&both[..], options].concat(), 0);
        assert_eq!(stderr(&output), "");
        stdout(&output)
    };
    written(&["-o", "d.html", "-o", "d.svg", "-o", "d.collapsed"]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("d.collapsed"), "T.main;T.f 30 60\nT.main;T.g 70 0\nT.main;T.h 0 40\n");
    assert!(read("d.svg").contains("T.f — samples 60 (60.00 %)"), "{}", read("d.svg"));
    assert!(read("d.html").contains("\"before\":[0,30,70,0]"), "{}", read("d.html"));
    written(&["-o", "d.collapsed", "--by", "before"]);
    assert!(read("d.collapsed").contains("T.main;T.f 60 30\n"));
    assert_refused(&folder.run(&[&["diff"], &both[..], &["-o", "x.txt"]].concat()), &[".svg"]);
    assert_refused(
        &folder.run(&[&["diff"], &both[..], &["-o", "x.svg", "--metric", "calls"]].concat()),
        &["no calls", "it has samples"],
    );
    // A page with two profiles is not a profile.
    assert_refused(&folder.run(&["report", "d.html"]), &["not a comparison"]);
}

#[test]
fn what_other_tools_measured_is_compared() {
    let folder = Folder::new();
    folder.file("a.jamaica", "PROFILE: 900 (90%) A.f()V\nPROFILE: 100 (10%) A.g()V\n");
    folder.file("b.jamaica", "PROFILE: 900 (50%) A.f()V\nPROFILE: 900 (50%) A.g()V\n");
    let text = stdout(&check(&folder, &["a.jamaica", "b.jamaica"], 1));
    assert!(text.contains("bytecodes  1000 → 1800 (+80.00 %)\n"), "{text}");
    assert!(text.contains("   100    900    +800   +800.00  A.g\n"), "{text}");
    assert!(!text.contains("A.f"), "its share changed, its number did not: {text}");
    let text = stdout(&check(&folder, &["a.jamaica", "a.jamaica"], 0));
    assert_eq!(text, "no difference in bytecodes\n");
    let limit = ["--fail-on", "bytecodes>+50%"];
    let text = stdout(&check(&folder, &[&limit[..], &["a.jamaica", "b.jamaica"]].concat(), 1));
    let line =
        "EXCEEDED  bytecodes>+50%: 1000 → 1800 (+80.00 %); most in A.g()V: 100 → 900 (+800.00 %)\n";
    assert!(text.ends_with(line), "{text}");
    check(&folder, &["--fail-on", "bytecodes(A.g)>+800%", "a.jamaica", "b.jamaica"], 0);
    check(&folder, &["--fail-on", "bytecodes(A.g)>+799%", "a.jamaica", "b.jamaica"], 1);
    check(&folder, &["--fail-on", "bytecodes(A.f)>+0", "a.jamaica", "b.jamaica"], 0);
    let json = check(&folder, &["--json", "a.jamaica", "b.jamaica"], 1).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["metrics"][0]["total"]["after"], 1800);
    folder.file("c.collapsed", "T.main 5\n");
    assert_refused(
        &folder.run(&["diff", "a.jamaica", "c.collapsed"]),
        &["a.jamaica has bytecodes", "c.collapsed has samples"],
    );
}

#[test]
fn differences_are_lines_of_csv() {
    let folder = folder();
    let text = stdout(&check(&folder, &["--csv", "before", "after"], 1));
    assert_eq!(
        text,
        "\
kind,name,caller,number,before,after
calls,T.f()V,,call_count,99,100
edges,T.f()V,T.main()V,call_count,99,100
allocations,byte[],,allocated_bytes,1000,1500
"
    );
}

#[test]
fn parts_of_profiles_are_compared() {
    let folder = Folder::new();
    folder.file("a.collapsed", "T.main;T.f 30\nT.main;T.g 70\n");
    folder.file("b.collapsed", "T.main;T.f 30\nT.main;T.g 170\n");
    let output = check(&folder, &["--focus", "T.f", "a.collapsed", "b.collapsed"], 0);
    let kept = "perk: a.collapsed: 30.00 % of samples kept by --focus T.f, 70.00 % left out\n\
                perk: b.collapsed: 15.00 % of samples kept by --focus T.f, 85.00 % left out\n";
    assert_eq!(stderr(&output), kept);
    let text = stdout(&output);
    assert!(text.contains("samples    30 → 30"), "{text}");
}
