//! The JSON of `perk report` and `perk diff` is what docs/json.md says, the examples of `jq` work on every kind
//! of file, and names join tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use perk_profile::{
    Accounting, Allocations, Column, Event, HeapSummary, HolderRow, Key, LockKind, Metric,
    MonitorRow, MonitorTimes, Profile, Section, SectionHead, Subject, Thread, TraceId, Waits,
    WallState,
};
use serde_json::Value;

use crate::exact::{path, push_sites, push_times, write};
use crate::foreign::testdata;
use crate::util::{Folder, PERK, stderr, stdout};
use crate::{exact, heap, jamaica, monitors, shared_fields, source};

/// Files of other tools and of HPROF, and the options that they are shown with.
const FILES: [(&str, &[&str]); 13] = [
    ("async-profiler/cpu.txt", &[]),
    ("hprof/monitor-threads.txt", &[]),
    ("hprof/old-cpu.txt", &[]),
    ("hprof/samples-cpu.txt", &["--focus", "java.*"]),
    ("hprof/samples-cpu-thread-lineno-n.txt", &[]),
    ("hprof/sites-alloc-depth1.txt", &[]),
    ("hprof/times-cpu-thread.txt", &[]),
    ("jfr/jdk17.jfr.gz", &["--from", "0s", "--to", "90m"]),
    ("perf-script/jdk17.txt", &[]),
    ("pprof/cpu.pb.gz", &[]),
    ("pprof/heap.pb.gz", &[]),
    ("pprof/mutex.pb.gz", &[]),
    ("xprof/cpu.txt", &[]),
];

/// Files of classes, or of threads at locks: no method has a number.
const WITHOUT_METHODS: [&str; 3] = ["hprof/monitor-threads.txt", "two.hprof", "x.aprof"];

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn parsed(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(arguments);
    assert!(output.status.code() < Some(2), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Adds waits for a lock of `blocked_ns`.
fn push_waits(profile: &mut Profile, trace: TraceId, blocked_ns: u64) {
    let class = profile.symbols.class("T$Fork");
    let waits = Waits { blocked_count: 3, blocked_ns, wait_count: 0, waited_ns: 0 };
    let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }];
    let times = MonitorTimes { total_ns: blocked_ns, rows, written: None };
    profile.events.push(Event::from(times));
}

/// CPU and wall-clock samples of a thread, a lock and its holder, the account of the run, and a summary of
/// the heap.
fn own() -> Folder {
    let mut profile = Profile::default();
    let name = profile.symbols.strings.intern("main");
    let thread =
        Thread { serial: 200_001, object_id: 1, name, group: Some(name), parent_group: None };
    let thread = profile.push_thread(thread);
    profile.events.push(Event::ThreadStart(thread));
    let node = path(&mut profile, "com.acme.Main.main:3;java.lang.Thread.sleep");
    let trace = profile.trace(node, Some(thread));
    profile.events.push(Section::of(Metric::Samples, 40, [(trace, 40)]).into());
    let mut wall = Section::new(SectionHead::new([Column::new(Metric::WallTime, 90)]));
    wall.push(Key::new(trace, Subject::State(WallState::Sleeping)), &[90]);
    wall.push(Key::new(trace, Subject::State(WallState::Running)), &[90]);
    let worker =
        Thread { serial: 200_002, object_id: 2, name, group: Some(name), parent_group: None };
    let worker = profile.push_thread(worker);
    let node =
        path(&mut profile, "java.lang.Thread.run;java.util.concurrent.LinkedBlockingQueue.take");
    let idle = profile.trace(node, Some(worker));
    wall.push(Key::new(idle, Subject::State(WallState::Parked)), &[90]);
    profile.events.push(wall.into());
    let load = "com.acme.Main.page;com.acme.Db.load";
    let execute = &*format!("{load};java.sql.Statement.execute");
    push_times(&mut profile, &[("com.acme.Main.page", 2, 1), (load, 100, 1), (execute, 100, 9)]);
    push_waits(&mut profile, trace, 70);
    let class = profile.symbols.class("T$Fork");
    let holder =
        HolderRow { trace, class, kind: LockKind::Monitor, blocking_ns: 70, sample_count: 7 };
    profile.events.push(HolderRow::section(&[holder], None).into());
    let objects =
        Allocations { live_bytes: 8, live_count: 1, allocated_bytes: 16, allocated_count: 2 };
    profile.events.push(Event::HeapSummary(HeapSummary { objects, written: None }));
    profile.accounting = Some(Accounting {
        program: "com.acme.Main".into(),
        process_cpu_ns: 500_000_000,
        java_cpu_ns: 400_000_000,
        wall_ns: 900_000_000,
        ..Accounting::default()
    });
    let folder = Folder::new();
    write(&folder, "own.hprof", &profile);
    folder
}

/// Counted calls, some of an estimated caller, beside samples.
fn counted() -> Folder {
    let mut profile = Profile::default();
    let called = "T.main;T.f";
    push_times(&mut profile, &[("T.main", 1, 0), (called, 40, 0)]);
    let node = path(&mut profile, called);
    let trace = profile.trace(node, None);
    profile.events.push(Section::of(Metric::EstimatedCalls, 10, [(trace, 10)]).into());
    profile.events.push(Section::of(Metric::Samples, 4, [(trace, 4)]).into());
    profile.accounting =
        Some(Accounting { interval_ns: 10_000_000, call_count: 41, ..Accounting::default() });
    let folder = Folder::new();
    write(&folder, "counted.hprof", &profile);
    folder
}

/// The JSON of a file of each kind, by the name of the file.
fn reports() -> Vec<(String, Value)> {
    let mut reports = Vec::new();
    let folder = Folder::new();
    for (name, options) in FILES {
        let file = testdata(name);
        let value = parsed(&folder, &[&["report", "--json", &*file], options].concat());
        reports.push((name.to_owned(), value));
    }
    folder.file("two.hprof", heap::dump());
    folder.file("means.tsv", shared_fields::by_means(true, 64));
    folder.file("fields.tsv", shared_fields::file(5));
    let calls = exact::folder();
    let output = calls.run(&["convert", "p.hprof", "-o", "x.aprof"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (folder, name, options) in [
        (&folder, "two.hprof", &[][..]),
        (&folder, "means.tsv", &[]),
        (&folder, "fields.tsv", &[]),
        (&calls, "p.hprof", &["--min", "0"]),
        (&calls, "x.aprof", &[]),
        (&own(), "own.hprof", &[]),
        (&counted(), "counted.hprof", &[]),
        (&monitors::deadlock(), "d.hprof", &[]),
        (&jamaica::folder(), "a.prof", &[]),
        (&source::acme(), "Main.prof", &["--source", "src"]),
    ] {
        let value = parsed(folder, &[&["report", "--json", name], options].concat());
        reports.push((name.to_owned(), value));
    }
    reports
}

/// The JSON of two files of each kind that can be compared.
fn diffs() -> Vec<(String, Value)> {
    let folder = Folder::new();
    folder.file("s1", "T.main;T.f 100\nT.main 50\n");
    folder.file("s2", "T.main;T.f 300\nT.main 60\n");
    folder.file("f1.tsv", shared_fields::by_means(true, 64));
    folder.file("f2.tsv", shared_fields::by_means(true, 65));
    folder.file("h1.hprof", heap::dump());
    folder.file("h2.hprof", heap::dumps(1));
    for (name, number) in [("e1", 99), ("e2", 100)] {
        let mut profile = Profile::default();
        push_times(&mut profile, &[("T.main", 1, 10), ("T.main;T.f", number, number * 5)]);
        push_sites(&mut profile, &[("byte[]", "T.main:3;T.f:7", [number * 10, 10, 0, 0])]);
        let node = path(&mut profile, "T.main;T.f");
        let trace = profile.trace(node, None);
        push_waits(&mut profile, trace, number);
        write(&folder, name, &profile);
    }
    let [jfr17, jfr25] = ["jfr/jdk17.jfr.gz", "jfr/jdk25.jfr.gz"].map(testdata);
    [
        ([&*jfr17, &*jfr25], "samples>+0"),
        (["s1", "s2"], "samples(T.f)>+0"),
        (["f1.tsv", "f2.tsv"], "accesses>+0"),
        (["h1.hprof", "h2.hprof"], "heap_bytes>+0"),
        (["e1", "e2"], "total(T.f)>+0"),
    ]
    .map(|([before, after], limit)| {
        let value = parsed(&folder, &["diff", "--json", before, after, "--fail-on", limit]);
        (format!("{before} {after}"), value)
    })
    .into()
}

/// The paths of all fields: `metrics[].methods[].name`.
fn add_fields(value: &Value, place: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let dot = if place.is_empty() { "" } else { "." };
                let field = format!("{place}{dot}{key}");
                // Its fields are those of the file.
                if field != "accounting" {
                    add_fields(value, &field, fields);
                }
                fields.insert(field);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| add_fields(item, &format!("{place}[]"), fields));
        }
        _ => {}
    }
}

/// What stands in backticks.
fn quoted(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The fields of a part of docs/json.md: those of the first column of a table belong to each of the paths in
/// the line above it.
fn documented(part: &str) -> BTreeSet<String> {
    let text = text("docs/json.md");
    let part = text.split("\n## ").find(|it| it.starts_with(part)).unwrap();
    let mut places = Vec::new();
    let mut fields = BTreeSet::new();
    for line in part.lines() {
        if line.ends_with(':') && (line.starts_with('`') || line == "The document:") {
            places = if line.starts_with('`') { quoted(line) } else { vec![String::new()] };
        } else if let Some((cell, _)) = line.strip_prefix("| `").and_then(|it| it.split_once('|')) {
            for field in quoted(&format!("`{cell}")) {
                let dotted = |place: &String| match &**place {
                    "" => field.clone(),
                    place => format!("{place}.{field}"),
                };
                fields.extend(places.iter().map(dotted));
            }
        }
    }
    fields
}

#[track_caller]
pub(crate) fn check(part: &str, documents: &[(String, Value)]) {
    let mut written = BTreeSet::new();
    documents.iter().for_each(|(_, value)| add_fields(value, "", &mut written));
    let documented = documented(part);
    let missing: Vec<_> = written.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&written).collect();
    assert!(missing.is_empty(), "docs/json.md lacks fields of {part}: {missing:#?}");
    assert!(unknown.is_empty(), "docs/json.md has fields that {part} never writes: {unknown:#?}");
}

#[test]
fn all_fields_of_reports_are_documented() {
    let reports = reports();
    check("perk report", &reports);
    for (name, report) in &reports {
        assert_eq!(report["schema"], "perk.report/1");
        for metric in report["metrics"].as_array().unwrap() {
            let fields: Vec<_> = metric.as_object().unwrap().keys().collect();
            let first: Vec<_> = reports[0].1["metrics"][0].as_object().unwrap().keys().collect();
            assert_eq!(fields, first, "{name}");
        }
    }
}

#[test]
fn all_fields_of_diffs_are_documented() {
    let diffs = diffs();
    check("perk diff", &diffs);
    assert!(diffs.iter().all(|(_, diff)| diff["schema"] == "perk.diff/1"));
}

/// Every text under one of `keys`, at any depth.
fn add_texts(value: &Value, keys: &[&str], texts: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if keys.contains(&&**key) => {
                        texts.insert(text.clone());
                    }
                    value => add_texts(value, keys, texts),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, keys, texts)),
        _ => {}
    }
}

#[test]
fn a_method_has_one_name_in_all_tables() {
    let folder = exact::folder();
    let json = parsed(&folder, &["report", "--json", "--min", "0", "p.hprof"]);
    let mut methods = BTreeSet::new();
    add_texts(&json["metrics"][0]["methods"], &["name"], &mut methods);
    assert!(methods.len() == 3 && methods.iter().all(|name| name.ends_with("()V")), "{methods:?}");
    let mut names = BTreeSet::new();
    for table in ["metrics", "calls", "allocations", "tree", "where_to_begin"] {
        add_texts(&json[table], &["name", "caller", "callee"], &mut names);
    }
    for (view, columns) in [
        (&[][..], &["name"][..]),
        (&["--edges"], &["caller", "callee"]),
        (&["--tree"], &["name"]),
        (&["--lines"], &["name"]),
    ] {
        let output = folder.run(&[&["report", "--csv", "p.hprof"], view].concat());
        let mut reader = csv::Reader::from_reader(&output.stdout[..]);
        let titles = reader.headers().unwrap().clone();
        for row in reader.records().map(Result::unwrap) {
            let cells = titles.iter().zip(&row).filter(|it| columns.contains(&it.0));
            names.extend(cells.map(|it| it.1.to_owned()).filter(|it| !it.is_empty()));
        }
    }
    assert_eq!(names.difference(&methods).collect::<Vec<_>>(), [""; 0]);
}

/// Fails unless this machine has jq, which `make test` installs.
#[track_caller]
fn assert_has_jq() {
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    assert!(has_jq, "no jq: install it, as tools/setup.sh jq does");
}

/// The programs of jq in a text that stand after the command.
fn programs(text: &str, command: &str) -> Vec<String> {
    let places = text.match_indices("jq -r '");
    let of_command = places.filter(|&(place, _)| {
        let last = |command| text[..place].rfind(command);
        let others = ["perk report", "perk diff"].into_iter().filter(|it| *it != command);
        last(command) > others.filter_map(last).max()
    });
    of_command
        .map(|(place, mark)| text[place + mark.len()..].split('\'').next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_examples_of_jq_work_on_every_kind_of_file() {
    assert_has_jq();
    let folder = Folder::new();
    for (command, documents) in [("perk report", reports()), ("perk diff", diffs())] {
        let help = stdout(&folder.run(&[command.split_once(' ').unwrap().1, "--help"]));
        let of_help = programs(&help, command);
        assert!(!of_help.is_empty(), "{help}");
        let docs = ["json", "diff", "report"].map(|it| text(&format!("docs/{it}.md")));
        let of_docs = docs.iter().flat_map(|text| programs(text, command));
        for program in of_help.iter().cloned().chain(of_docs) {
            let mut answers = 0;
            for (name, document) in &documents {
                let file = folder.file("in.json", document.to_string());
                let output = Command::new("jq").args(["-r", &program]).arg(file).output().unwrap();
                assert!(output.status.success(), "{program} on {name}: {}", stderr(&output));
                let is_empty = output.stdout.is_empty();
                answers += u32::from(!is_empty);
                let is_for_all = of_help.contains(&program) && command == "perk report";
                let has_methods = !WITHOUT_METHODS.contains(&&**name);
                assert!(!is_for_all || !is_empty || !has_methods, "{program} on {name}");
            }
            assert!(answers > 0, "{program} never answers");
        }
    }
}

/// The commands of docs/json.md print what stands below them.
#[test]
fn the_examples_of_the_documentation_are_real() {
    assert_has_jq();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(PERK).parent().unwrap().display();
    let paths = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let text = text("docs/json.md");
    let blocks = text.split("```console\n").skip(1).map(|it| it.split("```").next().unwrap());
    let examples = blocks.flat_map(|block| block.split("$ ").skip(1));
    let mut count = 0;
    for example in examples {
        let (command, expected) = example.split_once("'\n").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command}'")]).current_dir(&root).env("PATH", &paths);
        let output = shell.output().unwrap();
        assert_eq!(stdout(&output), expected, "{command}: {}", stderr(&output));
        count += 1;
    }
    assert!(count > 3);
}
