//! Recordings made here, by each JDK: perk finds in them the data that `jfr summary` and `jfr
//! print` find.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use perk_formats::jfr;
use perk_profile::{LockKind, Metric, Profile, TICK_NS, Timeline};
use perk_testkit::{JavaRun, Jdk, Signal, fixture, jdk, workspace};
use serde_json::Value as Json;

use super::{has_note, waits, weights};

/// Returns the output of the JDK's own tool for a recording. A runtime without it uses that of
/// another.
pub(super) fn jfr_tool(jdk: &Jdk, args: &[&str], file: &Path) -> String {
    let tool = |jdk: &Jdk| jdk.home.join("bin/jfr");
    let newest = jdk::all().iter().rev().map(tool).find(|it| it.is_file());
    let tool = Some(tool(jdk)).filter(|it| it.is_file()).or(newest).expect("a jfr tool");
    let output = Command::new(tool).args(args).arg(file).output().expect("jfr runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn recorded(jdk: &Jdk) -> JavaRun {
    // JDK 25 samples by CPU time if this event is enabled.
    let cpu_time = if jdk.version >= 25 { ",jdk.CPUTimeSample#enabled=true" } else { "" };
    // Without these events, and from the JVM's start on, each sample has its weight.
    let weights = ",jdk.ThreadAllocationStatistics#enabled=false";
    let options = format!("filename=x.jfr,settings=profile{cpu_time}{weights}");
    JavaRun::new(jdk).jvm_arg(format!("-XX:StartFlightRecording={options}"))
}

/// Returns a run of `testdata/jfr/Recorded.java`.
pub(super) fn program(jdk: &Jdk, millis: &str) -> JavaRun {
    let source = workspace().join("testdata/jfr/Recorded.java");
    recorded(jdk).classes(fixture::compile_files(&[&source])).main("Recorded").args([millis])
}

/// Returns the counts of `jfr summary`: lines of a name, a count and a size.
pub(super) fn summary(jdk: &Jdk, file: &Path) -> BTreeMap<String, u64> {
    let text = jfr_tool(jdk, &["summary"], file);
    let rows = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, count, size] = words[..] else { return None };
        size.parse::<u64>().ok()?;
        // JDK 17 and 21 spell the name differently.
        let name = if name == "jdk.CheckPoint" { "jdk.Checkpoint" } else { name };
        Some((name.to_owned(), count.parse().ok()?))
    });
    rows.filter(|&(_, count)| count > 0).collect()
}

/// The name that represents all virtual threads without a name.
const UNNAMED_VIRTUAL: &str = "virtual threads";

/// The events that are compared one by one.
const COMPARED: [&str; 5] = [
    "jdk.ExecutionSample",
    "jdk.NativeMethodSample",
    "jdk.CPUTimeSample",
    "jdk.ObjectAllocationSample",
    "jdk.JavaMonitorEnter",
];

/// Returns the fields of the events that are [`COMPARED`], by type.
fn printed(jdk: &Jdk, file: &Path) -> BTreeMap<String, Vec<Json>> {
    let types = COMPARED.join(",");
    let args = ["print", "--json", "--stack-depth", "2048", "--events", &types];
    let mut json: Json = serde_json::from_str(&jfr_tool(jdk, &args, file)).expect("JSON");
    let mut events: BTreeMap<String, Vec<Json>> =
        COMPARED.iter().map(|&name| (name.to_owned(), Vec::new())).collect();
    for event in json["recording"]["events"].as_array_mut().expect("an array") {
        let name = event["type"].as_str().expect("a type").to_owned();
        events.get_mut(&name).expect("one of them").push(event["values"].take());
    }
    events
}

/// Returns a class name that is comparable on both sides: without the address and the number of a
/// hidden class.
pub(super) fn class_name(name: &str) -> String {
    let name = match name.find("0x") {
        Some(at) => &name[..at - 1],
        None => name,
    };
    let name = perk_profile::names::from_signature(name).replace('/', ".");
    perk_profile::names::stable(&name).into_owned()
}

/// Returns the path of an event as [`weights`] shows it.
fn path(event: &Json, thread: &str) -> String {
    let mut parts = Vec::new();
    let name = |field: &str| event[thread][field].as_str().filter(|name| !name.is_empty());
    let unnamed = (event[thread]["virtual"] == true).then_some(UNNAMED_VIRTUAL);
    parts.extend(name("javaName").or(unnamed).or(name("osName")).map(str::to_owned));
    let frames = event["stackTrace"]["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
    for frame in frames.iter().rev() {
        let method = &frame["method"];
        let class = class_name(method["type"]["name"].as_str().expect("a class"));
        let name = method["name"].as_str().expect("a name");
        let line = frame["lineNumber"].as_i64().filter(|&line| line > 0);
        parts.push(match (frame["type"].as_str(), line) {
            (Some("Native"), _) => format!("{class}.{name}*"),
            (_, Some(line)) => format!("{class}.{name}:{line}"),
            _ => format!("{class}.{name}"),
        });
    }
    parts.join(";")
}

fn sums(rows: impl Iterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    rows.for_each(|(path, count)| *sums.entry(path).or_default() += count);
    sums
}

/// Returns the numbers of perk, by the names that [`path`] gives.
fn read(profile: &Profile, metric: &Metric) -> BTreeMap<String, u64> {
    sums(weights(profile, metric).into_iter())
}

fn nanoseconds(duration: &Json) -> u64 {
    let seconds = duration.as_str().and_then(|text| text.strip_prefix("PT")?.strip_suffix('S'));
    let seconds: f64 = seconds.and_then(|text| text.parse().ok()).expect("a time in seconds");
    (seconds * 1e9).round() as u64
}

/// Compares the times of a metric with those of the events that the JDK prints, to the tick.
fn check_times(profile: &Profile, metric: &Metric, events: &[Json], bytes: &[u8]) {
    const DAY_NS: i64 = 86_400_000_000_000;
    let start_ns = i64::from_be_bytes(*bytes[32..].first_chunk().unwrap());
    let expected = events.iter().map(|event| {
        let time = event["startTime"].as_str().unwrap().split_once('T').unwrap().1;
        let time = &time[..time.find(['+', '-', 'Z']).unwrap_or(time.len())];
        let parts: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
        let seconds = parts.iter().fold(0.0, |sum, part| sum * 60.0 + part);
        // The JDK prints local time, and zones differ by quarters of an hour.
        let ns = (seconds * 1e9) as i64 - start_ns % DAY_NS;
        (ns.rem_euclid(900_000_000_000) / TICK_NS as i64) as u64
    });
    let mut expected: Vec<u64> = expected.collect();
    expected.sort_unstable();
    let rows = profile.timelines().filter(|it| it.head.metric == *metric);
    let rows = rows.flat_map(|it| &it.rows);
    let mut ticks: Vec<u64> =
        rows.flat_map(|row| std::iter::repeat_n(row.tick, row.count as usize)).collect();
    ticks.sort_unstable();
    assert_eq!(ticks.len(), expected.len());
    let most = ticks.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(most <= Some(1), "{ticks:?} {expected:?}");
    assert!(profile.recorded_ns() >= ticks.last().map_or(0, |tick| tick * TICK_NS));
}

/// Compares all comparable data of a recording.
fn check(jdk: &Jdk, bytes: &[u8]) -> (Profile, BTreeMap<String, Vec<Json>>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.jfr");
    std::fs::write(&file, bytes).unwrap();

    let counts = jfr::event_counts(bytes).unwrap();
    let expected = summary(jdk, &file);
    assert_eq!(counts, expected, "JDK {}", jdk.version);
    assert!(counts["jdk.ExecutionSample"] > 5, "{counts:?}");

    let profile = jfr::read(bytes).unwrap();
    let events = printed(jdk, &file);
    let counted =
        |name: &str| sums(events[name].iter().map(|event| (path(event, "sampledThread"), 1)));
    let measured =
        |name| Metric::find(&profile, name).map(|it| read(&profile, &it)).unwrap_or_default();
    let execution = counted("jdk.ExecutionSample");
    let cpu_time = &events["jdk.CPUTimeSample"];
    if cpu_time.is_empty() {
        assert_eq!(read(&profile, &Metric::Samples), execution);
        check_times(&profile, &Metric::Samples, &events["jdk.ExecutionSample"], bytes);
        assert_eq!(profile.sample_interval_ns(), Some(10_000_000));
    } else {
        assert_eq!(measured("execution samples"), execution);
        let metric = Metric::find(&profile, "execution samples").unwrap();
        check_times(&profile, &metric, &events["jdk.ExecutionSample"], bytes);
        let timed: u64 = profile
            .timelines()
            .filter(|it| it.head.metric == Metric::Samples)
            .map(Timeline::total)
            .sum();
        assert_eq!(timed, Metric::Samples.rows(&profile).total);
        let interval_ns = profile.sample_interval_ns().expect("periods are multiples of one");
        let weighted = sums(cpu_time.iter().map(|event| {
            let times = nanoseconds(&event["samplingPeriod"]) as f64 / interval_ns as f64;
            (path(event, "eventThread"), times.round() as u64)
        }));
        assert_eq!(read(&profile, &Metric::Samples), weighted);
    }
    assert_eq!(measured("native samples"), counted("jdk.NativeMethodSample"));

    let allocations = &events["jdk.ObjectAllocationSample"];
    let weighted = sums(allocations.iter().map(|event| {
        let class = class_name(event["objectClass"]["name"].as_str().expect("a class"));
        let path = format!("{};{class}", path(event, "eventThread"));
        (path, event["weight"].as_u64().expect("a weight"))
    }));
    assert_eq!(read(&profile, &Metric::AllocatedBytes), weighted);
    for note in ["stack that is not in the file", "not as", "missing", "never finished"] {
        assert!(!has_note(&profile, note), "{:?}", profile.notes);
    }
    (profile, events)
}

#[test]
fn recordings_are_read_as_the_jdk_reads_them() {
    jdk::each(|jdk| {
        let outcome = program(jdk, "1500").run();
        outcome.assert_success();
        let (profile, events) = check(jdk, outcome.bytes("x.jfr"));
        let contended = &events["jdk.JavaMonitorEnter"];
        let on_monitor = |event: &&Json| event["monitorClass"]["name"] == "java/lang/Object";
        let contended: Vec<_> = contended.iter().filter(on_monitor).collect();
        let blocked = waits(&profile, "java.lang.Object", LockKind::Monitor);
        assert_eq!(blocked.blocked_count, contended.len() as u64);
        let sum_ns: u64 = contended.iter().map(|event| nanoseconds(&event["duration"])).sum();
        assert!(blocked.blocked_ns.abs_diff(sum_ns) <= contended.len() as u64, "{blocked:?}");
        assert_eq!(blocked.blocked_count, 3);
    });
}

/// Returns the lines of `testdata/jfr/ReadRecording.java` on a JDK: for each type of event the number
/// of events, their weights, their durations in nanoseconds, those with a thread, their frames, the
/// lines of these, and the frames of `Recorded.compute`.
fn read_by_java(jdk: &Jdk, bytes: &[u8]) -> BTreeMap<String, [u64; 7]> {
    let source = workspace().join("testdata/jfr/ReadRecording.java");
    let run = JavaRun::new(jdk).classes(fixture::compile_files(&[&source])).main("ReadRecording");
    let outcome = run.file("x.jfr", bytes).args(["x.jfr"]).run();
    outcome.assert_success();
    let line = |line: &str| {
        let (name, numbers) = line.split_once(' ').expect("a name");
        let numbers: Vec<u64> = numbers.split(' ').map(|it| it.parse().unwrap()).collect();
        (name.to_owned(), numbers.try_into().expect("seven numbers"))
    };
    outcome.stdout.lines().map(line).collect()
}

#[test]
fn recordings_that_perk_writes_are_read_by_the_jdk() {
    jdk::each(|jdk| {
        let outcome = program(jdk, "1000").run();
        outcome.assert_success();
        let profile = jfr::read(outcome.bytes("x.jfr")).unwrap();
        let mut bytes = Vec::new();
        jfr::write(&profile, &mut bytes).unwrap();
        let (again, events) = check(jdk, &bytes);
        let metrics = [
            Metric::Samples,
            Metric::AllocatedBytes,
            Metric::BlockedCount,
            Metric::BlockedTime,
            Metric::WaitCount,
            Metric::WaitedTime,
        ];
        for metric in metrics {
            assert_eq!(weights(&again, &metric), weights(&profile, &metric), "{metric:?}");
        }
        let by_java = read_by_java(jdk, &bytes);
        let total = |metric: Metric| metric.rows(&profile).total;
        let samples = by_java["jdk.ExecutionSample"];
        assert_eq!([samples[0], samples[3]], [total(Metric::Samples); 2]);
        let (mut frame_count, mut line_sum, mut compute_count) = (0, 0, 0);
        for event in &events["jdk.ExecutionSample"] {
            for frame in event["stackTrace"]["frames"].as_array().expect("frames") {
                frame_count += 1;
                line_sum += frame["lineNumber"].as_i64().unwrap().max(0).unsigned_abs();
                compute_count += u64::from(frame["method"]["name"] == "compute");
            }
        }
        assert!(compute_count > 0);
        assert_eq!(samples[4..], [frame_count, line_sum, compute_count]);
        let allocations = by_java["jdk.ObjectAllocationSample"];
        assert_eq!(allocations[1], total(Metric::AllocatedBytes));
        let sum = |names: &[&str], place: usize| -> u64 {
            names.iter().filter_map(|name| by_java.get(*name)).map(|it| it[place]).sum()
        };
        let waits = ["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark"];
        let counts = total(Metric::BlockedCount) + total(Metric::WaitCount);
        let times = total(Metric::BlockedTime) + total(Metric::WaitedTime);
        assert_eq!((sum(&waits, 0), sum(&waits, 2)), (counts, times));
        assert!(counts > 8, "{by_java:?}");
    });
}

#[test]
fn virtual_threads_are_read_as_the_jdk_reads_them() {
    jdk::each_of(&[21, 25], |jdk| {
        let outcome = recorded(jdk).main("VirtualChurn").args(["60"]).run();
        outcome.assert_success();
        let (profile, _) = check(jdk, outcome.bytes("x.jfr"));
        let threads: Vec<_> =
            profile.threads.iter().map(|it| profile.symbols.strings.get(it.name)).collect();
        let unnamed = threads.iter().filter(|&&name| name == UNNAMED_VIRTUAL).count();
        assert_eq!(unnamed, 1, "{threads:?}");
    });
}

/// Checks that perk has about the megabytes that a thread has allocated: those after its last sample
/// are not in the file, and those before the recording would be 200 and more.
#[track_caller]
fn check_allocated(profile: &Profile, thread: &str, mb: u64) {
    let rows = weights(profile, &Metric::AllocatedBytes);
    let of_thread = rows.iter().filter(|row| row.0.starts_with(&format!("{thread};")));
    let bytes: u64 = of_thread.map(|row| row.1).sum();
    let range = mb * 700_000..=mb * 1_150_000;
    assert!(range.contains(&bytes), "{thread}: {bytes} of {mb} MB, {:?}", profile.notes);
}

#[test]
fn what_threads_allocated_before_a_recording_is_left_out() {
    let source = workspace().join("testdata/jfr/LateRecording.java");
    let classes = fixture::compile_files(&[&source]);
    jdk::each(|jdk| {
        let run = |settings: &str| {
            let run = JavaRun::new(jdk).jvm_arg("-XX:+UseSerialGC").classes(classes.clone());
            let outcome = run.main("LateRecording").args(["a.jfr", settings, "b.jfr"]).run();
            outcome.assert_success();
            [outcome.bytes("a.jfr").to_owned(), outcome.bytes("b.jfr").to_owned()]
        };
        let [first, second] = run("all");
        let profile = jfr::read(&first[..]).unwrap();
        let of_first = [("worker 0", 40), ("worker 1", 40), ("worker 2", 20), ("young", 30)];
        for (thread, mb) in of_first {
            check_allocated(&profile, thread, mb);
        }
        assert!(has_note(&profile, "had allocated before the recording are left out"));
        let profile = jfr::read(&[&first[..], &second].concat()[..]).unwrap();
        check_allocated(&profile, "worker 0", 60);
        check_allocated(&profile, "worker 2", 20);
        let profile = jfr::read(&second[..]).unwrap();
        check_allocated(&profile, "worker 0", 20);
        // Each chunk has its own kind of events.
        let [first, second] = run("tlab");
        let profile = jfr::read(&[&first[..], &second].concat()[..]).unwrap();
        check_allocated(&profile, "worker 0", 60);
    });
}

#[test]
fn the_recording_of_a_killed_jvm_is_read() {
    jdk::each(|jdk| {
        let run = program(jdk, "60000").jvm_arg("-XX:FlightRecorderOptions=repository=repository");
        let mut run = run.spawn();
        let chunk = |folder: &Path| -> Option<Vec<u8>> {
            let mut folders = std::fs::read_dir(folder.join("repository")).ok()?.flatten();
            let files = std::fs::read_dir(folders.next()?.path()).ok()?.flatten();
            let paths = files.map(|file| file.path());
            let path =
                paths.into_iter().find(|path| path.extension().is_some_and(|it| it == "jfr"))?;
            std::fs::read(path).ok()
        };
        // The JVM writes the samples of a chunk before their stacks.
        let has_paths = |bytes: &[u8]| {
            jfr::read(bytes).is_ok_and(|profile| {
                let weights = weights(&profile, &Metric::Samples);
                weights.iter().any(|(path, _)| path.contains("Recorded.compute"))
            })
        };
        run.wait_until("samples in the chunk on disk", |run| {
            chunk(run.dir()).is_some_and(|bytes| has_paths(&bytes))
        });
        run.signal(Signal::KILL);
        let dir = run.dir().to_owned();
        let bytes = chunk(&dir).unwrap();
        let profile = jfr::read(&*bytes).unwrap();
        assert!(has_paths(&bytes), "JDK {}", jdk.version);
        assert!(has_note(&profile, "1 chunk was never finished"), "{:?}", profile.notes);
        run.wait();
    });
}
