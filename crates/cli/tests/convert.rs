//! `perk convert`: the parts that a form cannot hold are refused or named, texts of all encodings
//! are read, and deep stacks do not grow.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use perk_profile::{
    CallEdge, CallEdges, Event, HeapClassRow, HeapHistogram, LockKind, MonitorRow, MonitorTimes,
    Profile, Waits,
};

use crate::exact::{path, push_sites, write};
use crate::foreign::testdata;
use crate::util::{Folder, assert_refused, stderr, stdout};

const FORMS: [&str; 13] = [
    "txt",
    "hprof",
    "prof",
    "aprof",
    "xprof",
    "jamaica",
    "fields",
    "collapsed",
    "html",
    "svg",
    "pb",
    "speedscope.json",
    "jfr",
];

/// Makes a profile that contains only the additions of `fill`.
fn only(folder: &Folder, name: &str, fill: impl FnOnce(&mut Profile)) {
    let mut profile = Profile::default();
    fill(&mut profile);
    write(folder, name, &profile);
}

#[test]
fn what_a_form_cannot_hold_is_refused() {
    let folder = Folder::new();
    only(&folder, "heap", |profile| {
        let class = profile.symbols.class("java.lang.String");
        let row = HeapClassRow { class, instance_count: 2, shallow_bytes: 48 };
        let heap = HeapHistogram { rows: vec![row], ..HeapHistogram::default() };
        profile.events.push(Event::Heap(heap));
    });
    only(&folder, "monitors", |profile| {
        let node = path(profile, "T.main");
        let (trace, class) = (profile.trace(node, None), profile.symbols.class("T"));
        let waits = Waits { blocked_count: 1, blocked_ns: 5_000_000, ..Waits::default() };
        let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }];
        let times = MonitorTimes { total_ns: 5_000_000, rows, written: None };
        profile.events.push(Event::from(times));
    });
    only(&folder, "edges", |profile| {
        let node = path(profile, "T.main");
        let frame = profile.tree.frame(node).unwrap();
        let callee = Some(profile.symbols.get_frame(frame).method);
        let edge = CallEdge { callee, caller: None, thread: None, count: 3, total_ns: 4_000_000 };
        let edges = CallEdges { rows: vec![edge], written: None }.section(profile);
        profile.events.push(edges.into());
    });
    only(&folder, "sites", |profile| push_sites(profile, &[("T", "T.main;T.f", [64, 4, 16, 1])]));
    folder.file("samples", "T.main;T.f 3\n");
    folder.run(&["convert", &testdata("shared-fields/seed.tsv"), "-o", "clean.fields"]);
    fs::rename(folder.join("clean.fields"), folder.join("fields")).unwrap();
    let by_path = ["txt", "hprof", "collapsed", "html", "svg", "pb", "speedscope.json"];
    for (profile, held_by) in [
        ("heap", Vec::new()),
        ("monitors", [&by_path[..], &["jfr"]].concat()),
        ("edges", [&by_path[..], &["prof"]].concat()),
        ("sites", [&by_path[..], &["aprof", "jamaica", "jfr"]].concat()),
        ("samples", [&by_path[..], &["xprof", "jfr"]].concat()),
        ("fields", [&by_path[1..], &["fields"]].concat()),
    ] {
        for form in FORMS {
            let name = format!("{profile}.{form}");
            let output = folder.run(&["convert", profile, "-o", &name]);
            if held_by.contains(&form) {
                assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
                assert!(fs::metadata(folder.join(&name)).unwrap().len() > 0, "{name}");
                continue;
            }
            assert_refused(&output, &[&name]);
            assert!(!folder.join(&name).exists(), "{name}");
        }
    }
    let output = folder.run(&["convert", "fields", "-o", "x.pb.gz"]);
    let expected = "perk: left out, as pprof cannot hold it: field accesses by object\n";
    assert_eq!(stderr(&output), expected);
    // No output is written to stdout either.
    assert_refused(
        &folder.run(&["convert", "heap", "--output-format", "html", "-o", "-"]),
        &["heap dumps"],
    );
}

#[test]
fn what_is_lost_beside_what_is_held_is_named() {
    let folder = Folder::new();
    only(&folder, "both", |profile| {
        push_sites(profile, &[("T", "T.main;T.f", [64, 4, 16, 1])]);
        profile.events.push(Event::Heap(HeapHistogram::default()));
    });
    for form in ["txt", "collapsed", "html", "svg", "pb", "speedscope.json", "aprof", "jamaica"] {
        let output = folder.run(&["convert", "both", "-o", &format!("x.{form}")]);
        assert_eq!(output.status.code(), Some(0), "{form}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(text.contains("left out, as ") && text.contains("heap dumps by class"), "{text}");
        assert_eq!(text.lines().count(), 1, "{form}: {text}");
    }
    let output = folder.run(&["convert", "both", "-o", "x.hprof"]);
    let said = "perk: heap dumps keep only the sums by class, without the objects (perk heap \
                shows what holds them)\n";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), said));
}

#[test]
fn texts_of_windows_programs_are_read() {
    let folder = Folder::new();
    let stacks = "[main];T.größe;T.f 3\r\n[main];T.größe 4\r\n";
    folder.file("utf8", stacks);
    let report = |name: &str| {
        let output = folder.run(&["report", "--all", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        stdout(&output).split_once('\n').unwrap().1.to_owned()
    };
    let expected = report("utf8");
    assert!(expected.contains("T.größe"), "{expected}");
    folder.run(&["convert", "utf8", "-o", "utf8.txt"]);
    folder.run(&["convert", "utf8", "-o", "utf8.speedscope.json"]);
    for name in ["utf8", "utf8.txt", "utf8.speedscope.json"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let units: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            folder.file("x", units.iter().copied().flat_map(bytes).collect::<Vec<u8>>());
            assert_eq!(report("x"), report(name), "{name}");
        }
        folder.file("x", format!("\u{FEFF}{text}"));
        assert_eq!(report("x"), report(name), "{name}");
    }
}

#[test]
fn long_chains_of_calls_are_left_out_of_the_tree() {
    let folder = Folder::new();
    let stack = |first: usize| -> String {
        let frames: Vec<_> = (0..500).map(|level| format!("T.f{first}_{level}")).collect();
        format!("{};T.end{first} 10\n", frames.join(";"))
    };
    folder.file("a", [stack(1), stack(2)].concat());
    let output = folder.run(&["report", "--tree", "a"]);
    let text = stdout(&output);
    assert!(
        text.contains("500: T.end1 [436 levels above with one callee each left out]"),
        "{text}"
    );
    assert!(text.contains("63: T.f1_63\n") && !text.contains("T.f1_64\n"), "{text}");
    let csv = folder.run(&["report", "--csv", "--tree", "a"]);
    assert_eq!(stderr(&csv), "perk: 872 levels with one callee each are left out of the tree\n");
    assert_eq!(stdout(&csv).lines().count(), 1 + 2 * (501 - 436));
}

#[test]
fn flame_graphs_of_deep_stacks_are_folded() {
    let folder = Folder::new();
    let stack = |first: usize| -> String {
        let frames: Vec<_> = (0..4000).map(|level| format!("T.f{first}_{level}")).collect();
        format!("{};T.end 10\n", frames.join(";"))
    };
    // Calls that nest 4000 deep, with a sample at each level.
    let mut levels: Vec<String> = Vec::new();
    let lines = (0..4000).map(|level| {
        levels.push(format!("T.g{level}"));
        format!("{} 1\n", levels.join(";"))
    });
    folder.file("levels", lines.collect::<String>());
    folder.file("chains", [stack(1), stack(2)].concat());
    for (profile, text, absent, row) in [
        ("chains", "[3937 frames left out]", "T.f1_2000", "T.end"),
        ("levels", "[1500 deeper frames]", "T.g2500", "[1500 deeper frames]"),
    ] {
        let pair = ["diff", profile, profile];
        for (command, name) in [
            (&["convert", profile][..], "o.svg"),
            (&["convert", profile], "o.html"),
            (&pair, "d.svg"),
            (&pair, "d.html"),
        ] {
            let output = folder.run(&[command, &["-o", name]].concat());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{name}: {said}");
            assert!(said.contains("stacks are more than 2500 frames deep"), "{name}: {said}");
            let graph = fs::read_to_string(folder.join(name)).unwrap();
            assert!(graph.contains(text) && !graph.contains(absent), "{name}");
            assert!(graph.len() < 2_000_000, "{name}: {} bytes", graph.len());
        }
        let report = stdout(&folder.run(&["report", "--all", "--value", "samples", "o.html"]));
        assert!(report.contains(row), "{report}");
    }
}

#[test]
fn one_deep_stack_is_written_whole() {
    let folder = Folder::new();
    let names: Vec<_> = (0..20_000).map(|level| format!("T.f{level}")).collect();
    let stack = format!("{} 1\n", names.join(";"));
    folder.file("a", &stack);
    folder.run(&["convert", "a", "-o", "a.speedscope.json"]);
    let output = folder.run(&["convert", "a.speedscope.json", "-o", "b.collapsed"]);
    assert_eq!(stderr(&output), "");
    assert_eq!(fs::read_to_string(folder.join("b.collapsed")).unwrap(), stack);
}

/// Times of the JVM and of the process are not those of the program's methods.
#[test]
fn what_no_method_used_is_not_written_as_the_programs() {
    let folder = Folder::new();
    let text = "\nFlat profile of 0.14 secs (0 total ticks): main\n\n\nGlobal summary of 0.14 \
                seconds:\n100.0%    14             Received ticks\n";
    folder.file("a.txt", text);
    let names = ["a.collapsed", "a.html", "a.svg"];
    for name in names {
        let output = folder.run(&["convert", "--threads", "a.txt", "-o", name]);
        assert_refused(&output, &[name, "no numbers of the program's methods", "thread-elapsed"]);
    }
    let metric = ["convert", "--threads", "a.txt", "-o", names[0], "--metric", "thread-elapsed"];
    assert_eq!(folder.run(&metric).status.code(), Some(0));
    assert_eq!(fs::read_to_string(folder.join(names[0])).unwrap(), "[main];[no stack] 140000000\n");
    let report = stdout(&folder.run(&["report", "a.txt"]));
    assert!(report.contains("Metrics without call paths\n"), "{report}");
    assert!(!report.contains("[no stack]"), "{report}");
}

/// A form that needs a date has that of the file, where the profile has none.
#[test]
fn texts_are_as_old_as_what_they_are_of() {
    let folder = Folder::new();
    folder.file("a", "T.main;T.f 3\n");
    let date = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(folder.join("a")).unwrap().set_modified(date).unwrap();
    for name in ["a.txt", "a.hprof", "a.jfr"] {
        assert_eq!(folder.run(&["convert", "a", "-o", name]).status.code(), Some(0));
        let json = stdout(&folder.run(&["report", "--json", name]));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["created_unix_ms"], 1_700_000_000_000_u64, "{name}");
    }
}

#[test]
fn rounded_times_are_named() {
    let folder = Folder::new();
    let edges = |folder: &Folder, name: &str, total_ns| {
        only(folder, name, |profile| {
            let node = path(profile, "T.main");
            let frame = profile.tree.frame(node).unwrap();
            let callee = Some(profile.symbols.get_frame(frame).method);
            let edge = CallEdge { callee, caller: None, thread: None, count: 3, total_ns };
            let edges = CallEdges { rows: vec![edge], written: None }.section(profile);
            profile.events.push(edges.into());
        });
    };
    edges(&folder, "whole", 4_000_000);
    edges(&folder, "parts", 4_600_000);
    let said = |name: &str| stderr(&folder.run(&["convert", name, "-o", "x.prof"]));
    assert_eq!(said("whole"), "");
    fs::remove_file(folder.join("x.prof")).unwrap();
    let parts = said("parts");
    assert!(parts.contains("digits of the metric ") && parts.contains(" (rows in ms)"), "{parts}");
}
