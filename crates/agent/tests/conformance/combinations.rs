//! All combinations of HPROF's analyses, in text and binary: perk ends as the original does, with
//! the same sections, exit code and lines on stderr. `testdata/hprof/combinations` has the endings
//! of the original.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::{fs, panic, thread};

use perk_control::{AgentAction, Options, TimesForm};
use perk_hprof::Format;
use perk_profile::{Event, Profile};
use perk_testkit::combinations::{self, CLASS, Ending, FILE, SOURCE};
use perk_testkit::hprof::Recording;
use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk, workspace};

use crate::WORKERS;

const TABLE: &str = "testdata/hprof/combinations/original.tsv";
/// On all JDKs but one, only one combination in this many runs. The number shares no divisor with
/// the numbers of values, so that all values occur.
const STEP: usize = 11;
/// The analyses that perk has and the original does not, together with those that both have.
const PERKS_OWN: [&str; 15] = [
    "cpu=old,aprof=y",
    "cpu=old,heap=sites,aprof=between",
    "cpu=old,heap=sites,sample=64k",
    "cpu=old,heap=all,sample=64k,gc=y",
    "cpu=old,cpu=samples,timing=none",
    "cpu=old,heap=sites,timing=exact,clock=wall",
    "cpu=old,monitor=y,locks=y,cutoff=0",
    "cpu=times,heap=all,monitor=y,locks=y,aprof=y",
    "cpu=samples,cpu=times,heap=sites,aprof=y,format=p",
    "cpu=samples,cpu=old,heap=all,monitor=y,thread=y,format=p",
    "cpu=old,format=p",
    "cpu=samples,cpu=times,path-budget=1,monitor=y,locks=y,thread=y",
    "cpu=counts,monitor=y,locks=y,heap=dump",
    "cpu=counts,heap=sites,sample=64k,thread=y,format=p",
    "cpu=samples,aprof=y,heap=dump,format=b",
];

/// Runs the program with these options.
fn run(jdk: &Jdk, options: &str) -> Outcome {
    let classes = fixture::compile_text_for(8, CLASS, SOURCE);
    let run = JavaRun::new(jdk).agent(&format!("{options},file={FILE}")).jvm_arg("-Xmx64m");
    run.classes(classes).main(CLASS).run()
}

fn ending(outcome: &Outcome) -> Ending {
    let file = outcome.files.get(FILE).map(Vec::as_slice);
    let code = outcome.code().unwrap_or_else(|| panic!("{}", outcome.report()));
    let ending = Ending::of(code, file, &outcome.stderr);
    ending.unwrap_or_else(|what| panic!("{what:#}\n{}", outcome.report()))
}

/// Runs `body` for all of `items`, several at a time, and reports the failures.
fn each<T: Sync>(items: &[T], body: impl Fn(&T) + Sync) {
    let (next, faults) = (Mutex::new(items.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(item) = next.lock().expect("no panic").next() else { break };
                    let checked = panic::catch_unwind(panic::AssertUnwindSafe(|| body(item)));
                    if let Err(what) = checked {
                        let text = what.downcast_ref::<String>().map_or("it panics", |it| it);
                        faults.lock().expect("no panic").push(text.to_owned());
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), items.len(), faults.join("\n"));
}

/// Returns the original's ending with perk's differences, each of which has a name.
fn adapted(mut original: Ending, perk: &mut Ending, options: &str) -> Ending {
    let parsed = parsed(options);
    if let (Some(titles), Some(options)) = (&mut original.sections, &parsed) {
        // times-and-samples
        if options.cpu.samples && options.cpu.times == Some(TimesForm::Times) {
            let last = titles.last_mut().expect("a section");
            assert_eq!(last, "CPU SAMPLES");
            *last = "CPU TIME".to_owned();
        }
    }
    if let Some(titles) = &mut perk.sections {
        // monitor-time
        titles.retain(|title| title != "MONITOR TIME");
    }
    original
}

fn parsed(options: &str) -> Option<Options> {
    match Options::parse(options, None) {
        Ok(AgentAction::Run(options)) => Some(options),
        _ => None,
    }
}

fn as_the_original(jdk: &Jdk, step: usize) {
    let text = fs::read_to_string(workspace().join(TABLE)).unwrap();
    let rows: Vec<_> = text.lines().map(|line| Ending::parse(line).unwrap()).collect();
    let names: Vec<_> = rows.iter().map(|(options, _)| options.clone()).collect();
    assert_eq!(names, combinations::all());
    let rows: Vec<_> = rows.into_iter().step_by(step).collect();
    each(&rows, |(options, original)| {
        let outcome = run(jdk, options);
        let mut perk = ending(&outcome);
        let original = adapted(original.clone(), &mut perk, options);
        assert_eq!(perk, original, "{}", outcome.report());
        if perk.sections.is_some() {
            has_all(&outcome, options);
        }
        let others: Vec<_> = outcome.files.keys().filter(|name| *name != FILE).collect();
        assert!(others.is_empty(), "{}", outcome.report());
    });
}

/// Checks the file against the options: each analysis has a section, which perk reads.
fn has_all(outcome: &Outcome, options: &str) {
    let asked = parsed(options).expect("options that are taken");
    let bytes = outcome.bytes(FILE);
    let profile = perk_hprof::read(bytes).unwrap_or_else(|e| panic!("{e}\n{}", outcome.report()));
    let report = || format!("{:?}\n{}", profile.notes, outcome.report());
    // A heap dump has its own notes.
    let is_wrong = |note: &String| note.contains("skipped") || note.contains("cut off");
    assert!(!profile.notes.iter().any(is_wrong), "{}", report());
    let has = |is_it: fn(&Event) -> bool| profile.events.iter().any(is_it);
    let sections = [
        (asked.monitor, has(|it| matches!(it, Event::MonitorDump(_)))),
        (asked.heap_dump, has(|it| matches!(it, Event::Heap(_)))),
        (asked.heap_sites || asked.aprof, profile.sites().is_some()),
        (asked.cpu.samples, profile.cpu_samples().next().is_some()),
        (
            asked.cpu.counts || asked.cpu.times == Some(TimesForm::Times),
            profile.call_times().next().is_some(),
        ),
        (asked.cpu.times == Some(TimesForm::Old), profile.call_edges().next().is_some()),
    ];
    for (index, (is_asked_for, is_there)) in sections.into_iter().enumerate() {
        assert_eq!(is_there, is_asked_for, "section {index}: {}", report());
    }
    if asked.cpu.times == Some(TimesForm::Old) {
        assert!(calls_of_work(&profile) > 0, "{}", report());
    }
}

/// Returns the calls of `Combined.work` by `Combined.main`.
fn calls_of_work(profile: &Profile) -> u64 {
    let name = |id| profile.symbols.method_name(id);
    let rows = profile.call_edges().flat_map(|edges| edges.rows);
    let rows = rows.filter(|row| {
        row.callee.is_some_and(|id| name(id) == "Combined.work")
            && row.caller.is_some_and(|id| name(id) == "Combined.main")
    });
    rows.map(|row| row.count).sum()
}

#[test]
fn all_combinations_on_jdk_17() {
    jdk::on(17, |jdk| as_the_original(jdk, 1));
}

#[test]
fn some_combinations_on_other_jdks() {
    jdk::on(21, |jdk| as_the_original(jdk, STEP));
    jdk::on(25, |jdk| as_the_original(jdk, STEP));
}

#[test]
fn perks_own_analyses_go_with_all_others() {
    jdk::each(|jdk| {
        each(&PERKS_OWN, |options| {
            let outcome = run(jdk, options);
            outcome.assert_success();
            assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
            has_all(&outcome, options);
        });
    });
}

/// The original has neither a header nor threads if `cpu=old` is among the analyses.
#[test]
fn a_table_beside_other_sections_has_a_header_and_threads() {
    jdk::on(17, |jdk| {
        let outcome = run(jdk, "heap=sites,cpu=old,thread=y");
        let recording = Recording::read(outcome.bytes(FILE)).unwrap();
        assert_eq!(recording.version, "1.0.1");
        let threads: BTreeSet<_> = recording.traces.values().filter_map(|it| it.thread).collect();
        assert!(!threads.is_empty());
        assert!(threads.iter().all(|serial| recording.threads.contains_key(serial)));
        let alone = run(jdk, "cpu=old");
        assert_eq!(perk_hprof::recognise(alone.bytes(FILE)), Some(Format::Old));
    });
}
