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
fn equal_counts_and_another_time_say_where_the_time_is() {
    let output = check(&folder(), &["before", "same"], 0);
    assert_eq!(
        stdout(&output),
        "\
same takes 1.39 times the time of before (+200 ms); most of it in T.f (+200 ms)
no difference in calls and allocations
time       510 ms → 710 ms (+39.22 %)
Times differ from run to run; counts do not.

Time by method, its own
before   after   change  change %    total  before %  after %  method
500 ms  700 ms  +200 ms    +40.00  +200 ms     98.04    98.59  T.f

Time by method, with all that it called
before   after   change  change %     self  before %  after %  method
500 ms  700 ms  +200 ms    +40.00  +200 ms     98.04    98.59  T.f
510 ms  710 ms  +200 ms    +39.22      0 s    100.00   100.00  T.main
"
    );
}

#[test]
fn what_differs_is_listed() {
    let folder = folder();
    assert_eq!(
        stdout(&check(&folder, &["before", "after"], 1)),
        "\
after allocates 1.50 times the bytes of before (+500 B); most of it in T.f (+500 B)
calls      100 → 101 (+1.00 %)
time       510 ms → 510 ms (+0.00 %)
allocated  1 kB → 1.5 kB (+50.00 %)

Allocated bytes by method, its own
before   after  change  change %   total  before %  after %  method
  1 kB  1.5 kB  +500 B    +50.00  +500 B    100.00   100.00  T.f

Allocated bytes by method, with all that it called
before   after  change  change %    self  before %  after %  method
  1 kB  1.5 kB  +500 B    +50.00  +500 B    100.00   100.00  T.f
  1 kB  1.5 kB  +500 B    +50.00     0 B    100.00   100.00  T.main

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
    assert_eq!(json["calls"][0]["change"]["call_count"], 1);
    assert_eq!(json["calls"][0]["before_percent"]["call_count"], 99.0);
    assert_eq!(json["edges"][0]["change"], 1);
    assert_eq!(json["sites"][0]["frames"][1]["line"], 3);
    let metrics = json["metrics"].as_array().unwrap();
    let names: Vec<_> = metrics.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["time", "allocated", "objects"]);
    assert_eq!(metrics[1]["total"]["change"], 500);
    let row = &metrics[1]["methods"][0];
    assert_eq!((&row["name"], &row["state"]), (&"T.f()V".into(), &"changed".into()));
    assert_eq!(row["change"]["total"], 500);
    assert_eq!(row["after_percent"]["self"], 100.0);
    assert!(row["margin"]["self"].is_null(), "{row}");
}

#[test]
fn time_of_the_jdk_is_below_a_method_of_the_program() {
    let folder = Folder::new();
    for (name, ms) in [("a", 10), ("b", 90)] {
        let mut profile = Profile::default();
        let get = "T.main;T.f;java.util.HashMap.get";
        push_times(&mut profile, &[("T.main", 1, 10), ("T.main;T.f", 3, 5), (get, 7, ms)]);
        write(&folder, name, &profile);
    }
    let text = stdout(&check(&folder, &["a", "b"], 0));
    assert_eq!(
        text.lines().next().unwrap(),
        "b takes 4.20 times the time of a (+80 ms); most of it in java.util.HashMap.get (+80 ms), \
         below T.f (total +80 ms)"
    );
}

#[test]
fn methods_that_are_new_or_gone_are_marked() {
    let folder = Folder::new();
    for (name, rows) in [
        ("a", [("T.main", 1, 10), ("T.main;T.old", 1, 200), ("T.main;T.f", 1, 300)]),
        ("b", [("T.main", 1, 10), ("T.main;T.young", 1, 40), ("T.main;T.f", 1, 600)]),
    ] {
        let mut profile = Profile::default();
        push_times(&mut profile, &rows);
        write(&folder, name, &profile);
    }
    let text = stdout(&check(&folder, &["a", "b"], 1));
    for line in [
        "b takes 1.27 times the time of a (+140 ms); most of it in T.f (+300 ms)",
        "200 ms     0 s  -200 ms      gone  -200 ms     39.22     0.00  T.old",
        "   0 s   40 ms   +40 ms       new   +40 ms      0.00     6.15  T.young",
        "     1      0      -1      gone       200 ms         0 s  T.old",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
    }
    let json = check(&folder, &["a", "b", "--json"], 1).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let rows = json["metrics"][0]["methods"].as_array().unwrap();
    let state = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["state"].clone();
    assert_eq!([state("T.old()V"), state("T.young()V")], ["gone", "new"]);
}

#[test]
fn limits_decide_the_exit_code() {
    let folder = folder();
    check(&folder, &["before", "after", "--fail-on", "calls>+5%"], 0);
    check(&folder, &["before", "after", "--fail-on", "calls(T.f)>+0"], 1);
    check(&folder, &["after", "before", "--fail-on", "calls(T.f)>+0"], 0);
    check(&folder, &["before", "same", "--fail-on", "time>+20%"], 1);
    for (limit, code) in [
        ("time(T.main)>+199ms", 1),
        ("time(T.main)>+200ms", 0),
        ("total(T.main)>+39%", 1),
        ("self(T.main)>+0", 0),
        ("self_ns(T.main)>+0", 0),
        ("self(T.f)>+0.1s", 1),
        ("allocated_bytes>+1B", 0),
    ] {
        check(&folder, &["before", "same", "--fail-on", limit], code);
    }
    let chosen = ["before", "after", "--metric", "allocated", "--fail-on"];
    check(&folder, &[&chosen[..], &["total(T.main)>+0.4kB"]].concat(), 1);
    check(&folder, &[&chosen[..], &["total(T.main)>+0.5kB"]].concat(), 0);
    check(&folder, &[&chosen[..], &["self(T.main)>+0"]].concat(), 0);
    let limits = ["--fail-on", "calls>+5%", "--fail-on", "allocated_bytes(byte[])>+49%"];
    let output = check(&folder, &[&["before", "after"], &limits[..]].concat(), 1);
    let text = stdout(&output);
    assert!(text.contains("kept      calls>+5%: 100 → 101 (+1.00 %)"), "{text}");
    assert!(
        text.contains("EXCEEDED  allocated_bytes(byte[])>+49%: 1 kB → 1.5 kB (+50.00 %)"),
        "{text}"
    );
}

#[test]
fn samples_have_the_confidence_of_their_number() {
    let folder = Folder::new();
    folder.file("a", "Main.main;Main.f 50\nMain.main 50\n");
    folder.file("b", "Main.main;Main.f 150\nMain.main 62\n");
    assert_eq!(
        stdout(&check(&folder, &["a", "b"], 0)),
        "\
b has 2.12 times the samples of a (+112); most of it in Main.f (+100)
samples    100 → 212 (+112.00 %), ± 36
± is the error of a change that is due to the number of samples, at 95 % confidence. \
For runs of different length, --normalize compares shares.

Samples by method, its own
before  after  change   ±  change %  total  before %  after %  method
    50    150    +100  29   +200.00   +100     50.00    70.75  Main.f
and 1 smaller change within the error (--top)

Samples by method, with all that it called
before  after  change   ±  change %  self  before %  after %  method
   100    212    +112  36   +112.00   +12    100.00   100.00  Main.main
    50    150    +100  29   +200.00  +100     50.00    70.75  Main.f
"
    );
    let text = stdout(&check(&folder, &["a", "b", "--top", "5"], 0));
    let line = "    50     62     +12  22    +24.00   +112     50.00    29.25  Main.main\n";
    assert!(text.contains(line), "{text}");
    let text = stdout(&check(&folder, &["a", "b", "--normalize"], 0));
    let line = "    50     70     +20  19    +40.00    +20     50.00    70.00  Main.f\n";
    assert!(
        text.contains("Samples by method, its own, in proportion to the total before\n"),
        "{text}"
    );
    assert!(text.contains(line), "{text}");
    // The old limit is on shares, the new ones are on the numbers.
    check(&folder, &["a", "b", "--fail-on", "samples(Main.f)>+39%"], 1);
    check(&folder, &["a", "b", "--fail-on", "samples(Main.f)>+41%"], 0);
    check(&folder, &["a", "b", "--fail-on", "self(Main.f)>+199%"], 1);
    check(&folder, &["a", "b", "--fail-on", "total(Main.main)>+111"], 1);
    check(&folder, &["a", "b", "--fail-on", "total(Main.main)>+0", "--normalize"], 0);
    let text = stdout(&check(&folder, &["a", "b", "--fail-on", "self(Main.main)>+10%"], 1));
    let line = "EXCEEDED  self(Main.main)>+10%: 50 → 62 (+24.00 %); \
                too few samples to say: ± 22 at 95 %\n";
    assert!(text.ends_with(line), "{text}");
    let json = check(&folder, &["a", "b", "--json"], 0).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let samples = &json["metrics"][0];
    assert_eq!(samples["methods"][1]["is_significant"]["self"], false);
    assert_eq!(samples["methods"][1]["margin"]["self"], 22);
    assert_eq!(samples["total"]["is_significant"], true);
    folder.file("c", "Main.main;Main.f 57\nMain.main 51\n");
    let text = stdout(&check(&folder, &["a", "c"], 0));
    assert_eq!(
        text.lines().next().unwrap(),
        "c has about as many samples as a (+8; not significant at 95 %)"
    );
    let line = "\nSamples by method: the change of no method is significant at 95 %, as samples are too \
                few; the largest is +7 ± 21 in Main.f (--top)\n";
    assert!(text.ends_with(line), "{text}");
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
        ("time>+5MB", "a limit on time is a time, not a size in bytes"),
        ("total(T.f)>+5min", "\"min\" is not a unit"),
        ("total(T.f)>+5MB", "a limit on total(T.f) is a time, not a size in bytes"),
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
    let answer =
        "b.jamaica has 1.80 times the bytecodes of a.jamaica (+800); most of it in A.g (+800)\n";
    assert!(text.starts_with(answer), "{text}");
    assert!(text.contains("   100    900    +800   +800.00     10.00    50.00  A.g\n"), "{text}");
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
kind,name,caller,number,before,after,change,change_percent,before_percent,after_percent,margin
calls,T.f()V,,call_count,99,100,+1,+1.01,99.00,99.01,
edges,T.f()V,T.main()V,call_count,99,100,+1,+1.01,99.00,99.01,
allocations,byte[],,allocated_bytes,1000,1500,+500,+50.00,100.00,100.00,
allocated,T.f()V,,self_bytes,1000,1500,+500,+50.00,100.00,100.00,
allocated,T.f()V,,total_bytes,1000,1500,+500,+50.00,100.00,100.00,
allocated,T.main()V,,total_bytes,1000,1500,+500,+50.00,100.00,100.00,
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
    assert!(text.starts_with("b.collapsed has as many samples as a.collapsed\n"), "{text}");
}

/// The JVM makes threads and names for itself, more or fewer of them in each run.
#[test]
fn live_objects_without_a_site_do_not_differ() {
    let folder = Folder::new();
    for (name, own, others) in [
        ("before", 10, [96, 3, 96, 3]),
        ("after", 10, [128, 4, 128, 4]),
        ("more", 11, [96, 3, 96, 3]),
    ] {
        let mut profile = Profile::default();
        let rows = [("T", "T.main:3", [160, own, 0, 0]), ("java.lang.String", "", others)];
        push_sites(&mut profile, &rows);
        write(&folder, name, &profile);
    }
    let text = stdout(&check(&folder, &["before", "after"], 0));
    assert!(text.contains("java.lang.String"), "{text}");
    check(&folder, &["before", "more"], 1);
    // Without any path all objects have been counted.
    for (name, count) in [("some", 3), ("others", 4)] {
        let mut profile = Profile::default();
        push_sites(&mut profile, &[("java.lang.String", "", [96, count, 0, 0])]);
        write(&folder, name, &profile);
    }
    check(&folder, &["some", "others"], 1);
}
