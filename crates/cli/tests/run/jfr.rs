//! `perk run -o x.jfr`: the JDK's own tools find in the file what perk's own files have.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::Command;

use perk_profile::{Metric, Profile};
use perk_testkit::{Jdk, fixture, jdk, workspace};
use serde_json::Value;

use super::perk_run;
use crate::util::{Folder, stderr};

/// The metrics that a recording holds.
const HELD: [Metric; 8] = [
    Metric::Samples,
    Metric::WallTime,
    Metric::AllocatedBytes,
    Metric::AllocatedObjects,
    Metric::BlockedCount,
    Metric::BlockedTime,
    Metric::WaitCount,
    Metric::WaitedTime,
];

fn read(folder: &Folder, name: &str, form: &str) -> Profile {
    let mut file = File::open(folder.join(name)).unwrap();
    perk_formats::by_name(form).unwrap().read(&mut file).unwrap()
}

fn totals(profile: &Profile) -> [u64; 8] {
    HELD.map(|metric| metric.rows(profile).total)
}

/// Returns the output of the JDK's tool for a recording.
fn jfr_tool(jdk: &Jdk, folder: &Folder, arguments: &[&str]) -> String {
    let mut tool = Command::new(jdk.home.join("bin/jfr"));
    let output = tool.args(arguments).arg(folder.join("all.jfr")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the number of events of each type by `jfr summary`.
fn summary(jdk: &Jdk, folder: &Folder) -> BTreeMap<String, u64> {
    let text = jfr_tool(jdk, folder, &["summary"]);
    let rows = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, count, _] = words[..] else { return None };
        Some((name.to_owned(), count.parse().ok()?))
    });
    rows.collect()
}

#[test]
fn recordings_have_all_kinds_of_numbers() {
    let source = workspace().join("testdata/jfr/Recorded.java");
    let classes = fixture::compile_files(&[&source]);
    jdk::each(|jdk| {
        let folder = Folder::new();
        let [java, classes] = [&jdk.java(), &classes].map(|it| it.to_str().unwrap().to_owned());
        let command = [&*java, "-cp", &classes, "Recorded", "700"].map(str::to_owned);
        let options = [
            "--cpu",
            "samples",
            "--wall",
            "--alloc",
            "--locks",
            "-o",
            "all.jfr",
            "-o",
            "all.hprof",
        ]
        .as_slice();
        let output = perk_run(&folder, options, &command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let [recording, own] = [("all.jfr", "jfr"), ("all.hprof", "hprof")]
            .map(|(name, form)| read(&folder, name, form));
        let totals = totals(&own);
        assert!(totals.iter().all(|&total| total > 0), "{totals:?}");
        assert_eq!(self::totals(&recording), totals);
        assert_eq!(recording.accounting, own.accounting);
        assert_eq!(recording.created, own.created);
        assert_eq!(recording.sample_interval_ns(), own.sample_interval_ns());
        let timed = |profile: &Profile| -> u64 {
            let of_samples = profile.timelines().filter(|it| it.head.metric == Metric::Samples);
            of_samples.map(perk_profile::Timeline::total).sum()
        };
        assert_eq!(timed(&recording), totals[0]);

        // A runtime without the tool has that of another.
        for tools in jdk::all().iter().filter(|it| it.home.join("bin/jfr").is_file()) {
            let counts = summary(tools, &folder);
            let count = |name: &str| counts.get(name).copied().unwrap_or(0);
            assert_eq!(count("jdk.ExecutionSample"), totals[0], "{counts:?}");
            let waits = ["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark"];
            let waits: u64 = waits.iter().map(|name| count(name)).sum();
            assert_eq!(waits, totals[4] + totals[6], "{counts:?}");
            let arguments =
                ["print", "--json", "--events", "jdk.ObjectAllocationSample,JVMInformation"];
            let json: Value = serde_json::from_str(&jfr_tool(tools, &folder, &arguments)).unwrap();
            let events = json["recording"]["events"].as_array().unwrap();
            let (jvms, allocations): (Vec<_>, Vec<_>) =
                events.iter().partition(|event| event["type"] == "jdk.JVMInformation");
            let weight = |event: &&Value| event["values"]["weight"].as_u64().unwrap();
            assert_eq!(allocations.iter().map(weight).sum::<u64>(), totals[2]);
            assert_eq!(jvms.len(), 1);
            let program = jvms[0]["values"]["javaArguments"].as_str().unwrap();
            assert!(program.starts_with("Recorded"), "{program}");
        }
        // The report of the recording is that of perk's own file.
        let table = |file: &str| -> Vec<Value> {
            let output = folder.run(&["report", "--json", file]);
            let json: Value = serde_json::from_slice(&output.stdout).unwrap();
            ["sample_count", "interval_ns"].map(|name| json[name].clone()).to_vec()
        };
        assert_eq!(table("all.jfr"), table("all.hprof"));
    });
}

#[test]
fn recordings_without_numbers_are_refused_before_the_start() {
    let folder = Folder::new();
    let command = ["touch", "started"].map(str::to_owned);
    let output = perk_run(&folder, &["--cpu", "times", "-o", "x.jfr"], &command);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("x.jfr") && text.contains("JFR recording: no place for"), "{text}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
