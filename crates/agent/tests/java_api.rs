//! `perk.Profiler`, by which a program makes requests of the control socket itself.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};

use perk_profile::{Profile, TraceId};
use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk, workspace};

const FILE: &str = "o.perk";
const NONE: &str = "error:nothing is measured here: start a recording first";

fn program(jdk: &Jdk, part: &str) -> JavaRun {
    JavaRun::new(jdk).main("ProfilerApi").args([part])
}

/// Runs a program that loads the agent late.
fn loaded_late(run: &JavaRun) -> Outcome {
    let mut running = run.spawn();
    running.wait_for_stdout("ready");
    let answer = running.load_agent("control");
    assert!(answer.contains("return code: 0"), "{answer}{}", running.stderr());
    let outcome = running.wait();
    outcome.assert_success();
    // What the JVM itself prints about agents that are loaded late.
    let is_own = |line: &&str| !line.starts_with("WARNING: ");
    let others: Vec<_> = outcome.stderr.lines().filter(is_own).collect();
    assert!(others.is_empty(), "{}", outcome.report());
    outcome
}

fn profile(outcome: &Outcome, file: &str) -> Profile {
    perk_hprof::read(outcome.bytes(file))
        .unwrap_or_else(|error| panic!("{file}: {error}\n{}", outcome.report()))
}

/// Returns the names of the methods of a trace, from the innermost outward.
fn names(profile: &Profile, trace: TraceId) -> impl Iterator<Item = String> {
    let methods = profile.frames(trace).map(|id| profile.symbols.get_frame(id).method);
    methods.map(|method| profile.symbols.method_name(method))
}

/// Returns the methods of the program that have samples in or below them.
fn sampled(profile: &Profile) -> BTreeSet<String> {
    let traces = profile.cpu_samples().flat_map(|samples| samples.rows).map(|(trace, _)| trace);
    let own = traces
        .flat_map(|trace| names(profile, trace))
        .filter_map(|name| name.strip_prefix("ProfilerApi.").map(str::to_owned));
    let phases = ["first", "second", "third", "fourth", "fails"];
    own.filter(|name| phases.contains(&name.as_str())).collect()
}

#[track_caller]
fn assert_sampled(outcome: &Outcome, file: &str, methods: &[&str]) {
    let found = sampled(&profile(outcome, file));
    let found: Vec<_> = found.iter().map(String::as_str).collect();
    assert_eq!(found, methods, "{file}\n{}", outcome.report());
}

/// Checks the lines of the program, in which `DIR` is its working folder.
#[track_caller]
fn assert_lines(outcome: &Outcome, dir: &str, expected: &[&str]) {
    let lines: Vec<_> = outcome.stdout.lines().map(|line| line.replace(dir, "DIR")).collect();
    assert_eq!(lines, expected, "{}", outcome.report());
}

#[test]
fn recordings_are_made_in_a_program_that_ran_already() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let outcome = loaded_late(&program(jdk, "late").dir(folder.path()));
        let none = |request: &str| format!("{request}={NONE}");
        let under_way = "start=error:a recording is under way (cpu=samples,interval=1,depth=20,\
                         format=p,file=one.perk): stop it first";
        assert_lines(
            &outcome,
            folder.path().to_str().unwrap(),
            &[
                "found=false",
                "ready",
                "loader=null",
                "state=idle",
                "start=error:nothing is paused: give the options of a recording",
                &none("stop"),
                &none("dump"),
                &none("reset"),
                "profile=error:nothing is paused: give the options of a recording",
                "start=error:hprof option error: cpu option value must be y|samples|times|old \
                 (cpu=nonsense) [hprof_init.c:495]",
                "start=error:calls of all methods (cpu=times and cpu=old without include=) can only be \
                 measured from the program's start: start the program with it, by perk run or -agentpath",
                "start=DIR/one.perk",
                "state=recording",
                under_way,
                "reset=null",
                "dump=DIR/one.perk",
                "stop=DIR/one.perk",
                "state=idle",
                "profile=DIR/two.perk",
                "profile=thrown:as asked",
                "state=idle",
                "start=DIR/four.perk",
                "state=paused",
                "profile=null",
                "state=paused",
                "stop=DIR/four.perk",
                "state=idle",
            ],
        );
        assert_sampled(&outcome, "one.perk", &["second", "third"]);
        assert_sampled(&outcome, "two.perk", &["fourth"]);
        assert_sampled(&outcome, "three.perk", &["fails"]);
        assert_sampled(&outcome, "four.perk", &["fourth"]);
        assert!(
            !outcome.files.contains_key("none.perk") && !outcome.files.contains_key("times.perk")
        );
    });
}

#[test]
fn the_recording_of_the_command_line_is_resumed_and_paused() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let options =
            format!("cpu=samples,interval=1,depth=20,format=p,start=n,verbose=n,file={FILE}");
        let run = program(jdk, "paused").agent(&options).jvm_arg("-Xcheck:jni");
        let outcome = run.dir(folder.path()).run();
        outcome.assert_success();
        assert_eq!(outcome.stderr, "");
        assert_lines(
            &outcome,
            folder.path().to_str().unwrap(),
            &[
                "state=paused",
                "profile=null",
                "state=recording",
                "profile=null",
                "state=paused",
                "profile=thrown:as asked",
                "stop=error:it is paused already",
                "start=DIR/o.perk",
                "stop=DIR/o.perk",
                "dump=DIR/o.perk",
            ],
        );
        assert_sampled(&outcome, FILE, &["fails", "fourth", "second", "third"]);
    });
}

#[test]
fn calls_are_counted_and_those_of_perk_are_not() {
    jdk::each(|jdk| {
        let options = format!("cpu=times,cutoff=0,format=p,verbose=n,file={FILE}");
        let outcome = program(jdk, "exact").agent(&options).run();
        outcome.assert_success();
        let lines: Vec<_> = outcome.stdout.lines().collect();
        let [state, dump, stop, start, profiled, last] = lines.as_slice() else {
            panic!("{}", outcome.report())
        };
        assert_eq!((*state, *profiled), ("state=recording", "profile=null"));
        assert!(dump.ends_with(FILE) && last.ends_with(FILE), "{}", outcome.report());
        assert!(stop.starts_with("stop=error:perk cannot pause exact counts"), "{stop}");
        assert_eq!(*start, "start=error:it is measured already: nothing is paused");
        let profile = profile(&outcome, FILE);
        let mut counts = BTreeMap::new();
        for row in profile.call_times().flat_map(|times| times.rows) {
            let callee = names(&profile, row.trace).next().unwrap_or_default();
            *counts.entry(callee).or_insert(0) += row.count;
        }
        assert_eq!(counts.get("ProfilerApi.called"), Some(&1000), "500, 300 and 200");
        let of_perk: Vec<_> = counts.keys().filter(|name| name.starts_with("perk.")).collect();
        assert!(of_perk.is_empty(), "{of_perk:?}");
    });
}

#[test]
fn threads_that_ask_at_once_wait_for_each_other() {
    jdk::each(|jdk| {
        let outcome = loaded_late(&program(jdk, "crowd").jvm_arg("-Xcheck:jni"));
        assert!(outcome.stdout.ends_with("state=idle\n"), "{}", outcome.report());
        let tail = outcome.value("started");
        let [started, refused, other] =
            ["", "refused=", "other="].map(|name| number_after(tail, name));
        assert_eq!((started + refused, other), (60, 0), "{}", outcome.report());
        // As many recordings as began have their file.
        let files: Vec<_> =
            outcome.files.keys().filter(|name| name.starts_with("crowd-")).collect();
        assert!(files.len() as u64 == started && started > 0, "{files:?} {}", outcome.report());
        for file in files {
            let profile = profile(&outcome, file);
            assert_eq!(profile.accounting.as_ref().map(|it| it.fault_count), Some(0), "{file}");
        }
    });
}

/// Returns the number that follows a name.
fn number_after(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(name).unwrap_or_default();
    rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn a_program_in_a_named_module_finds_it() {
    let sources = ["module-info", "InModule"]
        .map(|name| workspace().join("java/fixtures/module").join(name).with_extension("java"));
    let classes = fixture::compile_files(&[&sources[0], &sources[1]]);
    jdk::each(|jdk| {
        let options = format!("cpu=samples,format=p,verbose=n,file={FILE}");
        let run = JavaRun::new(jdk).agent(&options).jvm_arg("-p").jvm_arg(&classes);
        let outcome = run.args(["-m", "app/app.InModule"]).run();
        outcome.assert_success();
        assert_eq!(outcome.stderr, "");
        for (name, value) in [("module", "app"), ("same", "true"), ("state", "recording")] {
            assert_eq!(outcome.value(name), value, "{}", outcome.report());
        }
        assert!(outcome.value("its").starts_with("unnamed module"), "{}", outcome.report());
        assert!(outcome.stdout.contains("\nwork\n"), "{}", outcome.report());
        assert!(outcome.value("file").ends_with(FILE), "{}", outcome.report());
    });
}
