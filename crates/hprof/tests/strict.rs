//! Another reader of the text form, which knows only the format's description and accepts nothing
//! else. perk must write what readers of HPROF expect. The reader itself is checked on the
//! original's files.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::Format;
use perk_profile::{Event, LockKind, Metric, MonitorRow, MonitorTimes, Profile, Sites, Waits};
use perk_testkit::hprof::Recording;

/// Returns the number of sections of a file, if the file follows its description.
fn check(text: &str) -> Result<usize, String> {
    Recording::read(text.as_bytes()).map(|recording| recording.sections.len())
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name);
    fs::read_to_string(&path).unwrap()
}

fn written(profile: &Profile) -> String {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, Format::Ascii, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

const FILES: [&str; 5] = [
    "times-cpu.txt",
    "times-cpu-thread.txt",
    "sites-alloc-depth1.txt",
    "monitor-threads.txt",
    "monitor-cpu-nocontention.txt",
];

#[test]
fn the_originals_files_are_taken() {
    for name in FILES {
        assert_eq!(check(&golden(name)), Ok(1), "{name}");
    }
}

#[test]
fn what_differs_is_refused() {
    let text = golden("sites-alloc-depth1.txt");
    for (from, to) in [
        ("SITES END\n", ""),
        ("trace name\n", "trace name (estimated)\n"),
        ("SITES BEGIN (ordered by live bytes) ", "SITES BEGIN (estimates) "),
        ("  863  0.01%", "  863 0.01%"),
        ("SITES BEGIN", "a line\nSITES BEGIN"),
        (" 300012 char[]", " 399999 char[]"),
    ] {
        let changed = text.replacen(from, to, 1);
        // The header's prose has some of these words as well.
        let changed = if check(&changed).is_ok() { text.replace(from, to) } else { changed };
        assert_ne!(changed, text, "{from}");
        assert!(check(&changed).is_err(), "{from}");
    }
}

#[test]
fn perks_files_are_taken() {
    for name in FILES {
        let profile = perk_hprof::read(golden(name).as_bytes()).unwrap();
        assert_eq!(check(&written(&profile)), Ok(1), "{name}");
    }
}

/// MONITOR TIME, which the original agent has in its manual and never wrote.
#[test]
fn monitor_times_are_taken() {
    let mut profile = perk_hprof::read(golden("monitor-threads.txt").as_bytes()).unwrap();
    let trace = profile.trace_by_serial(300_077).unwrap();
    let class = profile.symbols.class("ThreadsMonitors$Lock");
    let waits = Waits { blocked_count: 8, blocked_ns: 345_000_000, ..Waits::default() };
    let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }; 2];
    let times = MonitorTimes { total_ns: 700_000_000, rows, written: None };
    profile.events.push(Event::from(times));
    let text = written(&profile);
    assert_eq!(check(&text), Ok(2));
    assert!(text.contains("   1 49.29% 49.29%       8 300077 ThreadsMonitors$Lock (Java)\n"));
}

#[test]
fn estimated_sites_are_taken_and_known_again() {
    let mut profile = perk_hprof::read(golden(FILES[2]).as_bytes()).unwrap();
    for event in &mut profile.events {
        let Event::Section(section) = event else { continue };
        // Records of the plain form have the totals of all sites.
        section.head.columns.iter_mut().for_each(|column| column.is_partial = false);
    }
    let has_sites = |event: &Event| match event {
        Event::Section(section) => section.head.has(&Metric::OF_OBJECTS),
        _ => false,
    };
    let exact: Vec<_> = profile.events.iter().filter(|it| has_sites(it)).cloned().collect();
    for event in profile.events.iter_mut().filter(|it| has_sites(it)) {
        let Event::Section(section) = event else { continue };
        section.head.columns.iter_mut().for_each(|column| column.period = Some(524_288));
    }
    // Exact sites after estimated ones are distinguished from these.
    profile.events.extend(exact);
    let text = written(&profile);
    assert!(text.contains(
        "TRACE 299999:\n\tperk.estimate(one sample in 524288 bytes:Unknown line)\nSITES BEGIN"
    ));
    assert_eq!(check(&text), Ok(2));
    let mut binary = Vec::new();
    perk_hprof::write(&profile, Format::Binary, &mut binary).unwrap();
    for bytes in [text.as_bytes(), &binary] {
        let again = perk_hprof::read(bytes).unwrap();
        let sites = again.sections().filter_map(Sites::of);
        let intervals: Vec<_> = sites.map(|sites| sites.sample_interval_bytes).collect();
        assert_eq!(intervals, [Some(524_288), None]);
        assert_eq!(again.trace_by_serial(299_999), None);
    }
}
