//! The state of a JVM in a few lines, from a moment of its recording.

use perk_live::{Moment, Vitals};
use perk_profile::units::{amount, duration, short_percent};
use perk_profile::{CpuGroup, Unit};

/// Between two parts of a line.
const GAP: &str = " · ";
/// Fewer threads than this in a state, on average, are not listed.
const FEWEST: f64 = 0.05;

/// The lines of a screen of `width` columns: where CPU time goes, what the threads do, the heap, locks and
/// allocations. `facts` has what the recording does not have.
pub(super) fn lines(moment: &Moment, facts: &str, width: usize) -> Vec<String> {
    let mut groups = groups(moment);
    if let Some(last) = groups.last_mut().filter(|_| !facts.is_empty()) {
        last.push(facts.to_owned());
    }
    groups.into_iter().flat_map(|parts| wrapped(parts, width)).collect()
}

/// The parts in lines of `width` columns.
fn wrapped(parts: Vec<String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let room =
            |line: &&mut String| line.chars().count() + GAP.len() + part.chars().count() <= width;
        match lines.last_mut().filter(room) {
            Some(line) => *line += &format!("{GAP}{part}"),
            None => lines.push(part),
        }
    }
    lines
}

/// What there is to say, each group from a line of its own on.
fn groups(moment: &Moment) -> Vec<Vec<String>> {
    let Some(vitals) = Vitals::of(&moment.profile) else {
        return vec![vec!["waiting for the first second".to_owned()]];
    };
    let (process_ns, recorded_ns) = (vitals.process_cpu_ns, vitals.recorded_ns);
    let cpus = process_ns as f64 / recorded_ns as f64;
    let mut cpu = vec![format!("CPU {cpus:.2} of {}", vitals.cpu_count)];
    for &(group, ns) in &vitals.cpu_groups {
        let is_small = ns.saturating_mul(100) < process_ns && group != CpuGroup::Perk;
        if !is_small && group != CpuGroup::Ended {
            cpu.push(format!("{} {} %", group.title(), short_percent(ns, process_ns)));
        }
    }
    let states = vitals.states.iter().map(|&(state, ns)| (state, ns as f64 / recorded_ns as f64));
    let mut states: Vec<_> = states
        .filter(|(_, count)| *count >= FEWEST)
        .map(|(state, count)| format!("{count:.1} {}", state.title()))
        .collect();
    if let Some(first) = states.first_mut() {
        first.insert_str(0, "threads: ");
    }
    let allocated = amount(vitals.rate(vitals.allocated_bytes), Unit::Bytes);
    let mut parts = vec![format!("allocates {allocated}/s")];
    let blocked = duration(vitals.rate(vitals.blocked_ns));
    parts.push(format!("waits for locks {blocked} each second"));
    parts.push(match vitals.gc_count {
        0 => "no collection".to_owned(),
        1 => "1 collection".to_owned(),
        count => format!("{count} collections"),
    });
    let pauses = short_percent(vitals.gc_pause_ns, recorded_ns);
    parts.extend((vitals.gc_count > 0).then(|| format!("pauses {pauses} % of the time")));
    vec![cpu, states, parts]
}
