//! The files as a whole: header, threads, classes, and the order of sections.

use std::collections::BTreeMap;

use perk_testkit::hprof::{HprofFormat, Recording, SYSTEM_TRACE, Section, Thread};

use super::{costs, heap, monitors, sites};
use crate::case::Case;
use crate::differences::Findings;

/// The groups of the JVM's own threads.
const JVM_GROUPS: [&str; 2] = ["system", "InnocuousThreadGroup"];

/// Whether a thread is the JVM's own.
pub(super) fn is_jvms(thread: &Thread) -> bool {
    JVM_GROUPS.contains(&thread.group.as_str())
}

/// Compares two files; `whole` is perk's without a cutoff, if there is one.
pub(crate) fn compare(
    case: &Case,
    perk: &Recording,
    original: &Recording,
    whole: Option<&Recording>,
    found: &mut Findings<'_>,
) {
    if perk.format != original.format {
        return found
            .fault(format!("perk writes {:?}, the original {:?}", perk.format, original.format));
    }
    header(perk, original, found);
    threads(perk, original, found);
    traces(case, perk, original, found);
    if perk.format == HprofFormat::Binary {
        binary(case, perk, original, found);
    }
    sections(case, perk, original, whole.unwrap_or(perk), found);
    if let Some(whole) = whole {
        costs::compare_counts(case, perk, original, whole, found);
    }
    monitors::compare_events(case, perk, original, found);
}

fn header(perk: &Recording, original: &Recording, found: &mut Findings<'_>) {
    if perk.version != original.version {
        let names = (perk.version.as_str(), perk.format);
        if names == ("1.0.2", HprofFormat::Binary) {
            found.differs("version", || original.version.clone());
        } else {
            found.equal("version", perk.version.as_str(), original.version.as_str());
        }
    }
    if perk.id_bytes != original.id_bytes {
        found.equal("size of ids", (perk.id_bytes, original.id_bytes), (8, 4));
        found.differs("id-size", || perk.id_bytes.to_string());
    }
    if perk.prelude != original.prelude {
        found.differs("prelude", || "the prose".to_owned());
    }
}

/// Compares name, group and end of the program's threads, and of the thread that waits for them.
fn threads(perk: &Recording, original: &Recording, found: &mut Findings<'_>) {
    let own = |recording: &Recording| {
        let mut threads: BTreeMap<(String, String, bool), u64> = BTreeMap::new();
        for (serial, thread) in &recording.threads {
            if !is_jvms(thread) {
                let is_ended = recording.ended.contains(serial);
                let key = (thread.name.clone(), thread.group.clone(), is_ended);
                *threads.entry(key).or_default() += 1;
            }
        }
        threads
    };
    found.equal("threads", own(perk), own(original));
    let main = perk.threads.get(&200_001).map(|thread| thread.name.as_str());
    if perk.format != HprofFormat::Table {
        found.equal("thread 200001", main, Some("main"));
    }
    let is_agents = |recording: &Recording| {
        let mut threads = recording.threads.values();
        threads.any(|it| it.name.starts_with("HPROF ") || it.name.contains("perk"))
    };
    let unknown = |recording: &Recording| {
        recording.ended.iter().any(|serial| !recording.threads.contains_key(serial))
    };
    if is_agents(perk) || unknown(perk) {
        found.fault(format!(
            "threads of the agent's own, or ends without start: {:?}",
            perk.threads
        ));
    }
    if is_agents(original) || unknown(original) {
        found.differs("own-threads", || "threads of the agent's own".to_owned());
    }
    let count = |recording: &Recording, name: &str| {
        recording.threads.values().filter(|thread| thread.name == name).count()
    };
    for thread in perk.threads.values() {
        if is_jvms(thread) && count(original, &thread.name) == 0 {
            found.differs("early-threads", || thread.name.clone());
        }
    }
}

/// Compares the traces, their depths, and whether they have their thread.
fn traces(case: &Case, perk: &Recording, original: &Recording, found: &mut Findings<'_>) {
    let Some(options) = case.options() else { return };
    let stacks = perk.heap_stacks();
    let own = || perk.traces.iter().filter(|(serial, _)| !stacks.contains(serial));
    if !stacks.is_empty() {
        found.differs("dump-stacks", || format!("traces {stacks:?} of threads"));
    }
    let deepest = own().map(|(_, trace)| trace.frames.len()).max().unwrap_or(0);
    if deepest > options.depth as usize {
        found.fault(format!("a trace of {deepest} frames, with depth={}", options.depth));
    }
    if !options.lineno {
        let mut frames = own().flat_map(|(_, trace)| &trace.frames);
        found.equal("a line with lineno=n", frames.any(|frame| frame.line.is_some()), false);
    }
    let tells = own().any(|(_, trace)| !trace.frames.is_empty() && trace.thread.is_some());
    if !perk.traces.is_empty() {
        found.equal("traces have their thread", tells, options.thread && own().count() > 0);
    }
    let mut native = perk.traces.values().flat_map(|trace| &trace.frames);
    if native.any(|frame| frame.is_native) && perk.format == HprofFormat::Text {
        found.fault("a frame says Native method, not Unknown line".to_owned());
    } else if perk.traces.values().flat_map(|trace| &trace.frames).any(|frame| frame.is_native) {
        found.differs("native-line", || "a frame says that it is native".to_owned());
    }
    let mut loose = perk.loose_traces();
    let marks = loose.extract_if(.., |serial| *serial < SYSTEM_TRACE).count();
    if marks > 0 {
        found.differs("net-interim", || format!("{marks} traces that mark a section"));
    }
    if !loose.is_empty() && !asks_for_traces(case) {
        found.fault(format!("traces that nothing refers to: {loose:?}"));
    }
    if !original.loose_traces().is_empty() {
        found.differs("sites-traces", || "traces that nothing refers to".to_owned());
    }
    for recording in [perk, original] {
        let written = recording.traces.contains_key(&SYSTEM_TRACE);
        if written
            && recording.format == HprofFormat::Binary
            && !original.traces.contains_key(&SYSTEM_TRACE)
        {
            found.differs("system-trace", || "the trace 300000 is written".to_owned());
        }
    }
}

/// Compares the parts that only binary files have.
fn binary(case: &Case, perk: &Recording, original: &Recording, found: &mut Findings<'_>) {
    found.equal("CONTROL SETTINGS", perk.settings, original.settings);
    let own = |recording: &Recording| {
        let names = recording.classes.values().filter(|name| case.is_own(name));
        // Classes of lambdas have other names; arrays may come late.
        let names = names.filter(|name| !name.contains("$$Lambda") && !name.ends_with("[]"));
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names.dedup();
        names
    };
    found.equal("classes", own(perk), own(original));
    if !perk.unknown_classes.is_empty() {
        found
            .fault(format!("classes not written before they are used: {:?}", perk.unknown_classes));
    }
    if !original.unknown_classes.is_empty() {
        found.differs("sites-arrays", || "classes without LOAD CLASS".to_owned());
    }
    let is_system =
        |recording: &Recording| recording.load_traces.iter().all(|it| *it == SYSTEM_TRACE);
    if is_system(perk) && !is_system(original) {
        found.differs("load-trace", || "classes are loaded at no trace".to_owned());
    }
    for name in &perk.loose_names {
        if name.starts_with("perk accounting\n") {
            found.differs("accounting", || name.clone());
        } else if name == "perk interim\n" {
            found.differs("net-interim", || name.clone());
        } else {
            found.fault(format!("a name that nothing refers to: {name:?}"));
        }
    }
}

/// Whether a peer sends DUMP TRACES.
fn asks_for_traces(case: &Case) -> bool {
    let session = case.session.as_deref().unwrap_or_default();
    session.iter().any(|exchange| exchange.command.first() == Some(&6))
}

/// Compares each section with its counterpart.
fn sections(
    case: &Case,
    perk: &Recording,
    original: &Recording,
    whole: &Recording,
    found: &mut Findings<'_>,
) {
    let titles = |recording: &Recording| -> Vec<&'static str> {
        recording.sections.iter().map(Section::title).collect()
    };
    let both = case.options().is_some_and(|it| it.cpu.samples && it.cpu.times.is_some());
    let mut original_titles = titles(original);
    if both && original_titles == ["CPU SAMPLES"; 2] {
        found.differs("times-and-samples", || "two sections CPU SAMPLES".to_owned());
        original_titles[1] = "CPU TIME";
    }
    let mut perk_titles = titles(perk);
    if !original_titles.contains(&"MONITOR TIME") && perk_titles.contains(&"MONITOR TIME") {
        found.differs("monitor-time", || "a section MONITOR TIME".to_owned());
        perk_titles.retain(|title| *title != "MONITOR TIME");
    }
    found.equal("sections", perk_titles, original_titles);
    let without_times = |recording: &'_ Recording| -> Vec<Section> {
        let sections = recording.sections.iter();
        sections.filter(|it| !matches!(it, Section::MonitorTimes(_))).cloned().collect()
    };
    let (mine, uncut) = (without_times(perk), without_times(whole));
    for ((mine, uncut), theirs) in mine.iter().zip(&uncut).zip(&original.sections) {
        match (mine, theirs) {
            (Section::CpuSamples(mine), Section::CpuSamples(theirs)) if !both => {
                costs::compare_samples(case, (perk, mine), (original, theirs), found);
            }
            (Section::Sites(mine), Section::Sites(theirs)) => {
                let Section::Sites(uncut) = uncut else { continue };
                sites::compare(case, (perk, mine), (original, theirs), (whole, uncut), found);
                cutoff((mine.cutoff_bits, theirs.cutoff_bits), perk.format, found);
            }
            (Section::Calls(mine), Section::Calls(theirs)) => {
                costs::compare_calls(case, mine, theirs, found);
            }
            (Section::Heap(mine), Section::Heap(theirs)) => {
                heap::compare(case, (perk, mine), (original, theirs), found);
            }
            (Section::MonitorDump(mine), Section::MonitorDump(theirs)) => {
                monitors::compare(case, (perk, mine), (original, theirs), found);
            }
            // Their counts are compared in a run without a cutoff.
            _ => {}
        }
    }
}

/// Compares the cutoff in ALLOC SITES.
fn cutoff((perk, original): (u32, u32), format: HprofFormat, found: &mut Findings<'_>) {
    let cutoff = f32::from_bits(perk);
    if format == HprofFormat::Binary && !(0.0..=1.0).contains(&cutoff) {
        found.fault(format!("ALLOC SITES has the cutoff {cutoff}"));
    }
    if perk != original {
        found.differs("sites-cutoff", || format!("{perk:#x}, {original:#x}"));
    }
}
