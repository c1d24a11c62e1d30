//! Profiles of exact counts: the output of `perk report` and `perk convert` for numbers known by
//! arithmetic.

use perk_hprof::Format;
use perk_profile::{
    Accounting, Allocations, CallEdge, CallEdges, CallRow, CallTimes, Event, Frame, LIVE_COLLECTED,
    LIVE_UNCOLLECTED, Line, Method, MethodId, Metric, NodeId, Profile, Site, Sites,
};

use crate::util::{Folder, assert_refused, stderr, stdout};

fn method(profile: &mut Profile, name: &str) -> MethodId {
    let (class, name) = name.rsplit_once('.').unwrap();
    let class = profile.symbols.class(class);
    let name = profile.symbols.strings.intern(name);
    let signature = Some(profile.symbols.strings.intern("()V"));
    let source = Some(profile.symbols.strings.intern("T.java"));
    profile.symbols.method(Method { class, name, signature, source })
}

/// Returns the node of a path, outermost frame first, as `T.main;T.f:12`.
pub(crate) fn path(profile: &mut Profile, path: &str) -> NodeId {
    let frames: Vec<_> = path
        .split(';')
        .filter(|frame| !frame.is_empty())
        .map(|frame| {
            let (name, line) = match frame.split_once(':') {
                Some((name, line)) => (name, Line::Number(line.parse().unwrap())),
                None => (frame, Line::Unknown),
            };
            let method = method(profile, name);
            profile.symbols.frame(Frame::new(method, line))
        })
        .collect();
    profile.tree.insert(frames)
}

/// Adds calls: a path, the number of calls, self time in milliseconds.
pub(crate) fn push_times(profile: &mut Profile, rows: &[(&str, u64, u64)]) {
    let row = |&(frames, count, self_ms): &(&str, u64, u64)| {
        let node = path(profile, frames);
        CallRow {
            trace: profile.trace(node, None),
            count,
            self_ns: self_ms * 1_000_000,
            total_ns: 0,
        }
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    let total_ns = rows.iter().map(|row| row.self_ns).sum();
    profile.events.push(Event::from(CallTimes { total_ns, rows, written: None }));
}

/// Adds sites: a class, a path, and bytes and number of all objects and of the live ones.
pub(crate) fn push_sites(profile: &mut Profile, rows: &[(&str, &str, [u64; 4])]) {
    let mut sites = Sites::default();
    for &(class, frames, [allocated_bytes, allocated_count, live_bytes, live_count]) in rows {
        let node = path(profile, frames);
        let trace = profile.trace(node, None);
        let class = profile.symbols.class(class);
        let objects = Allocations { live_bytes, live_count, allocated_bytes, allocated_count };
        sites.total.add(objects);
        sites.rows.push(Site { class, trace, objects });
    }
    profile.events.push(Event::from(sites));
}

/// Writes a profile, as the agent does, in the form that holds everything.
pub(crate) fn write(folder: &Folder, name: &str, profile: &Profile) {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, Format::Extended, &mut bytes).unwrap();
    folder.file(name, bytes);
}

/// 1,000 ms: 100 in main itself, 860 in fib (4 calls, 13 with its own recursive ones), 40 in 1,000
/// small calls.
const CALLS: [(&str, u64, u64); 6] = [
    ("T.main", 1, 100),
    ("T.main;T.fib", 4, 300),
    ("T.main;T.fib;T.fib", 6, 260),
    ("T.main;T.fib;T.fib;T.fib", 3, 300),
    ("T.main;T.get", 600, 0),
    ("T.main;T.fib;T.get", 400, 40),
];
const SITES: [(&str, &str, [u64; 4]); 3] = [
    ("byte[]", "T.main:3;T.fib:7", [6_000, 60, 600, 6]),
    ("byte[]", "T.main:3;T.fib:7;T.fib:8", [2_000, 20, 0, 0]),
    ("T", "T.main:4", [2_000, 100, 2_000, 100]),
];

pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_times(&mut profile, &CALLS);
    push_sites(&mut profile, &SITES);
    profile.accounting = Some(Accounting { clock: "cpu".into(), ..Accounting::default() });
    write(&folder, "p.hprof", &profile);
    folder
}

#[track_caller]
fn report(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["report"], arguments].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

#[track_caller]
fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|it| it.trim_start() == *line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn the_report_shows_calls_and_allocations() {
    let text = report(&folder(), &["--all", "p.hprof"]);
    assert_has(
        &text,
        &[
            "p.hprof: HPROF binary, 1014 calls, 1.00 s of CPU time; \
             10 kB allocated in 180 objects, 2.6 kB live in 106 objects",
            "1   86.00  860 ms    90.00  900 ms  66.2 ms     1.28     13  T.fib",
            "3    4.00   40 ms     4.00   40 ms    40 us    98.62   1000  T.get",
            "60.00 % 600 calls by T.main",
            "40.00 % 400 calls by T.fib",
            "1    60.00       6 kB       60  600 B             6  byte[]",
            "T.fib (T.java:7)",
            "1    80.00       8 kB       80  600 B             6  byte[]",
            "1   80.00  8 kB       80    80.00   8 kB  T.fib",
            "2   20.00  2 kB      100   100.00  10 kB  T.main",
        ],
    );
}

/// With `cutoff` the file has the paths of callers, but not their numbers.
#[test]
fn numbers_that_were_cut_are_absent() {
    let mut profile = Profile::default();
    push_times(&mut profile, &[("T.main;T.mid;T.leaf", 3, 97)]);
    let Some(Event::Section(section)) = profile.events.first_mut() else { panic!() };
    let place = section.head.place(&Metric::SelfTime).unwrap();
    section.head.columns[place].total = 100_000_000;
    let folder = Folder::new();
    write(&folder, "cut.perk", &profile);
    let shown = |arguments: &[&str]| report(&folder, &[&["cut.perk"], arguments].concat());
    let text = shown(&["--all", "--top", "3"]);
    assert!(!text.contains("0 calls") && !text.contains(" 0 s"), "{text}");
    let tree = shown(&["--tree"]);
    assert!(!tree.lines().any(|line| line.contains("  0  ")), "{tree}");
    assert!(shown(&["--method", "T.mid"]).contains("T.mid: not in the file's rows, total 97 ms"));
    let csv = shown(&["--csv"]);
    assert!(
        csv.lines().any(|line| line.contains("T.mid") && line.ends_with(",97000000,97.00,")),
        "{csv}"
    );
    let json: serde_json::Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    let methods = json["calls"]["methods"].as_array().unwrap();
    let mid = methods.iter().find(|it| it["name"].as_str().unwrap().contains("mid")).unwrap();
    assert!(mid["call_count"].is_null() && mid["self_ns"].is_null(), "{mid}");
}

#[test]
fn views_are_shown_alone() {
    let folder = folder();
    assert_eq!(
        report(&folder, &["p.hprof", "--tree", "--min", "0"]).split_once("\n\n").unwrap().1,
        "\
Call tree by time, branches below 0 % left out
total %   total    self  calls  allocated  method
 100.00  1.00 s  100 ms      1      10 kB  T.main
  90.00  900 ms  860 ms     13       8 kB   T.fib (recursive)
   4.00   40 ms   40 ms    400        0 B    T.get
   0.00     0 s     0 s    600        0 B   T.get
"
    );
    let edges = report(&folder, &["p.hprof", "--edges", "--top", "2"]);
    assert_has(
        &edges,
        &[
            "59.17    600     0.00    0 s  T.main → T.get",
            "39.45    400     4.00  40 ms  T.fib → T.get",
        ],
    );
    assert_eq!(edges.lines().count(), 6, "{edges}");
    let method = report(&folder, &["p.hprof", "--method", "T.fib"]);
    assert_has(
        &method,
        &[
            "T.fib: 13 calls, self 860 ms (86.00 %), 66.2 ms per call, total 900 ms (90.00 %)",
            "69.23      9    56.00  560 ms  T.fib",
            "30.77      4    90.00  900 ms  T.main",
            "97.80    400     4.00   40 ms  T.get",
        ],
    );
    assert!(report(&folder, &["p.hprof", "--sites"]).contains("T.fib (T.java:8)"));
    assert!(!report(&folder, &["p.hprof", "--classes"]).contains("T.java"));
}

#[test]
fn what_is_not_there_is_said() {
    let folder = folder();
    for (arguments, what) in [
        (
            &["--method", "nothing"][..],
            "no calls of nothing: no class or method has that name; use bar, Foo.bar, Foo or \
             com.acme.Foo, with * for any part",
        ),
        (&["--sites", "--edges"], "no allocation sites"),
    ] {
        let mut profile = Profile::default();
        push_times(&mut profile, &CALLS);
        write(&folder, "calls.hprof", &profile);
        let output = folder.run(&[&["report", "calls.hprof"], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(stderr(&output), format!("perk: calls.hprof has {what}\n"));
    }
    assert_refused(&folder.run(&["report", "p.hprof", "--min", "x"]), &["--min", "0.5%"]);
    assert_refused(&folder.run(&["report", "p.hprof", "--tree", "--json"]), &["--json"]);
}

#[test]
fn json_has_everything() {
    let json: serde_json::Value =
        serde_json::from_str(&report(&folder(), &["p.hprof", "--json", "--min", "0"])).unwrap();
    let calls = &json["calls"];
    assert_eq!((&calls["count"], &calls["self_ns"]), (&1014.into(), &1_000_000_000_u64.into()));
    assert_eq!(calls["methods"][0]["name"], "T.fib()V");
    assert_eq!(calls["methods"][0]["total_ns"], 900_000_000);
    assert_eq!(calls["edges"].as_array().unwrap().len(), 5);
    assert_eq!(calls["chatty"][0]["callers"][1]["call_count"], 400);
    let allocations = &json["allocations"];
    assert_eq!(allocations["allocated_bytes"], 10_000);
    assert_eq!(allocations["is_estimated"], false);
    assert_eq!(allocations["sites"][0]["frames"][0]["line"], 7);
    assert_eq!(allocations["methods"][0]["total"]["allocated_count"], 80);
    let lines = json["tree"]["lines"].as_array().unwrap();
    assert_eq!(json["tree"]["unit"], "nanoseconds");
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1]["is_recursive"], true);
    assert_eq!(lines[1]["allocated"]["allocated_bytes"], 8_000);
}

#[test]
fn sites_and_classes_follow_the_metric() {
    let folder = folder();
    let head = |value: &str, view: &str, rows: &[&str]| {
        let text = report(&folder, &["p.hprof", view, "--value", value]);
        let lines: Vec<_> = text.lines().map(str::trim_start).collect();
        for pair in rows.windows(2) {
            let place = |row: &str| lines.iter().position(|line| *line == row);
            let places = (place(pair[0]), place(pair[1]));
            assert!(places.0.is_some() && places.0 < places.1, "{pair:?} {places:?}\n{text}");
        }
    };
    head(
        "live",
        "--classes",
        &[
            "Top classes by live bytes",
            "#  live %   live  live objects  allocated  objects  class",
            "1   76.92   2 kB           100       2 kB      100  T",
            "2   23.08  600 B             6       8 kB       80  byte[]",
        ],
    );
    head(
        "live",
        "--sites",
        &["Top allocation sites by live bytes, innermost frame first", "T.main (T.java:4)"],
    );
    head("objects", "--classes", &["Top classes by allocated objects"]);
    head("live_objects", "--classes", &["Top classes by live objects"]);
    head("allocated", "--sites", &["Top allocation sites, innermost frame first"]);
}

/// Objects that are dead and not collected are not called live.
#[test]
fn uncollected_objects_have_their_own_name() {
    let folder = Folder::new();
    for (live, name) in [("", "live"), (LIVE_COLLECTED, "live"), (LIVE_UNCOLLECTED, "uncollected")]
    {
        let mut profile = Profile::default();
        push_sites(&mut profile, &SITES);
        let live = live.to_owned();
        profile.accounting = Some(Accounting { live: live.clone(), ..Accounting::default() });
        write(&folder, "p.hprof", &profile);
        let text = report(&folder, &["p.hprof"]);
        assert!(text.contains(&format!(", 2.6 kB {name} in 106 objects\n")), "{text}");
        let is_uncollected = live == LIVE_UNCOLLECTED;
        assert_eq!(text.contains("(--gc collects first)\n"), is_uncollected, "{text}");
        let text = report(&folder, &["p.hprof", "--classes", "--value", "live"]);
        assert!(text.contains(&format!("Top classes by {name} bytes\n")), "{text}");
        assert_eq!(text.contains("  live"), !is_uncollected, "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&report(&folder, &["p.hprof", "--json"])).unwrap();
        let expected = (!live.is_empty()).then_some(!is_uncollected);
        assert_eq!(json["allocations"]["is_live_collected"], serde_json::json!(expected));
    }
}

#[test]
fn estimates_are_marked() {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_sites(&mut profile, &SITES);
    let Some(Event::Section(section)) = profile.events.last_mut() else { panic!("no sites") };
    section.head.columns.iter_mut().for_each(|column| column.period = Some(512_000));
    write(&folder, "p.hprof", &profile);
    let text = report(&folder, &["--all", "p.hprof"]);
    assert!(text.contains("about 10 kB allocated"), "{text}");
    assert!(text.contains("(estimates: one sample every 512 kB)"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&report(&folder, &["p.hprof", "--json"])).unwrap();
    assert_eq!(json["allocations"]["is_estimated"], true);
    assert_eq!(json["tree"]["unit"], "bytes");
}

#[test]
fn one_value_of_each_path_is_written() {
    let folder = folder();
    let collapsed = |value: &str| {
        let output = folder.run(&[
            "convert",
            "p.hprof",
            "--output-format",
            "collapsed",
            "--metric",
            value,
            "-o",
            "-",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (stdout(&output), stderr(&output))
    };
    let (time, losses) = collapsed("time");
    assert!(time.contains("T.main;T.fib;T.get 40000000\n"), "{time}");
    assert!(
        losses.contains("the metrics calls, allocated, live, objects, live_objects, source lines"),
        "{losses}"
    );
    assert!(collapsed("calls").0.contains("T.main;T.fib;T.fib 6\n"));
    assert!(collapsed("allocated").0.contains("T.main;T.fib;T.fib;byte[] 2000\n"));
    assert_eq!(collapsed("live").0, "T.main;T 2000\nT.main;T.fib;byte[] 600\n");
    assert!(collapsed("objects").0.contains("T.main;T.fib;T.fib;byte[] "));
    // The names of limits and of pprof mean the same.
    for name in ["alloc_objects", "allocated_count"] {
        assert_eq!(collapsed(name), collapsed("objects"), "{name}");
    }
    let refused = |arguments: &[&str], parts: &[&str]| {
        assert_refused(&folder.run(&[&["convert", "p.hprof"], arguments].concat()), parts);
    };
    refused(
        &["-o", "x.html", "--metric", "samples"],
        &["no samples", "time, calls, allocated, live"],
    );
    refused(&["-o", "x.html", "--metric", "bytes"], &["no bytes", "time, calls, allocated, live"]);
    refused(&["-o", "x.txt", "--metric", "time"], &["HPROF text holds whole profiles"]);
    refused(&["-o", "x.prof"], &["cannot write x.prof", "cpu=old text"]);
    assert_eq!(folder.names(), ["p.hprof"]);
    let output = folder.run(&["convert", "p.hprof", "-o", "x.html", "--metric", "allocated"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_refused(&folder.run(&["report", "x.html"]), &["x.html: bad flame graph", "samples"]);
}

#[test]
fn tables_of_classes_and_of_callers() {
    let folder = folder();
    let output = folder.run(&["convert", "p.hprof", "-o", "p.aprof"]);
    assert!(stderr(&output).contains("the metrics time, calls, live, live_objects, call paths"));
    let text = report(&folder, &["--all", "p.aprof"]);
    assert!(text.starts_with("p.aprof: -Xaprof table, 10 kB allocated in 180 objects"), "{text}");
    // The file only has allocations by class, and no live objects.
    assert!(text.contains("Top classes by allocated bytes"), "{text}");
    for absent in ["Top allocation sites", "Top methods", "live"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }

    let mut profile = Profile::default();
    let main = method(&mut profile, "T.main");
    let f = method(&mut profile, "T.f");
    let edge = |callee, caller, count, total_ns| CallEdge {
        callee: Some(callee),
        caller,
        thread: None,
        count,
        total_ns,
    };
    let rows = vec![edge(f, Some(main), 30, 60_000_000), edge(main, None, 1, 100_000_000)];
    let section = CallEdges { rows, written: None }.section(&mut profile);
    profile.events.push(section.into());
    write(&folder, "old.hprof", &profile);
    for name in ["old.prof", "old.txt"] {
        assert!(folder.run(&["convert", "old.hprof", "-o", name]).status.success());
        let text = report(&folder, &["--all", name]);
        assert_has(
            &text,
            &[
                &format!("{name}: cpu=old text, 31 calls, 100 ms of time"),
                "1   60.00  60 ms    60.00   60 ms     2 ms    96.77     30  T.f",
                "2   40.00  40 ms   100.00  100 ms    40 ms     3.23      1  T.main",
            ],
        );
    }
    // As stacks of a callee and its caller.
    let output = folder.run(&["convert", "old.hprof", "-o", "x.collapsed"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let lines = std::fs::read_to_string(folder.join("x.collapsed")).unwrap();
    assert_eq!(lines, "T.main 1\nT.main;T.f 30\n");
}
