//! The state of a JVM in a few lines, from a moment of its recording.

use std::cmp::Reverse;

use perk_live::Moment;
use perk_profile::units::{amount, duration, short_percent};
use perk_profile::{CpuGroup, Metric, Profile, Subject, Unit, WallState};

/// Between two parts of a line.
const GAP: &str = " · ";
/// Fewer threads than this in a state, on average, are not listed.
const FEWEST: f64 = 0.05;

/// The lines of a screen of `width` columns: where CPU time goes, what the threads do, the heap, locks and
/// allocations. `facts` has what the recording does not have.
pub(super) fn lines(moment: &Moment, facts: &str, width: usize) -> Vec<String> {
    let mut parts = parts(moment);
    parts.extend((!facts.is_empty()).then(|| facts.to_owned()));
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

fn parts(moment: &Moment) -> Vec<String> {
    let Some(of_range) = moment.profile.accounting.as_ref().filter(|it| it.wall_ns > 0) else {
        return vec!["waiting for the first second".to_owned()];
    };
    let seconds = moment.recorded.as_secs_f64();
    let process_ns = of_range.process_cpu_ns;
    let cpus = process_ns as f64 / of_range.wall_ns as f64;
    let mut cpu = vec![format!("CPU {cpus:.2} of {}", of_range.cpu_count)];
    for (group, ns) in of_range.cpu_groups().into_iter().flatten() {
        let is_small = ns.saturating_mul(100) < process_ns && group != CpuGroup::Perk;
        if !is_small && group != CpuGroup::Ended {
            cpu.push(format!("{} {} %", group.title(), short_percent(ns, process_ns)));
        }
    }
    let states: Vec<_> = states(&moment.profile)
        .into_iter()
        .map(|(state, ns)| (state, ns as f64 / 1e9 / seconds))
        .filter(|(_, count)| *count >= FEWEST)
        .map(|(state, count)| format!("{count:.1} {}", state.title()))
        .collect();
    let mut parts = vec![cpu.join(", ")];
    parts.extend((!states.is_empty()).then(|| format!("threads: {}", states.join(", "))));
    let rate = |metric: Metric| (metric.rows(&moment.profile).total as f64 / seconds) as u64;
    parts.push(format!("allocates {}/s", amount(rate(Metric::AllocatedBytes), Unit::Bytes)));
    parts.push(format!("waits for locks {} each second", duration(rate(Metric::BlockedTime))));
    parts.push(match of_range.gc_count {
        0 => "no collection".to_owned(),
        1 => "1 collection".to_owned(),
        count => format!("{count} collections"),
    });
    let pauses = short_percent(of_range.gc_pause_ns, of_range.wall_ns);
    parts.extend((of_range.gc_count > 0).then(|| format!("pauses {pauses} % of the time")));
    parts
}

/// The time of threads in each state, most first.
fn states(profile: &Profile) -> Vec<(WallState, u64)> {
    let mut sums: Vec<(WallState, u64)> = Vec::new();
    for section in profile.sections() {
        for (key, [ns]) in section.of_metrics([Metric::WallTime]) {
            let Subject::State(state) = key.subject else { continue };
            match sums.iter_mut().find(|(other, _)| *other == state) {
                Some((_, sum)) => *sum = sum.saturating_add(ns),
                None => sums.push((state, ns)),
            }
        }
    }
    sums.sort_by_key(|&(state, ns)| (Reverse(ns), state));
    sums
}
