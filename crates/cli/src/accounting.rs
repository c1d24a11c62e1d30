//! The accounting of a run, as people read it.

use perk_profile::Accounting;

use crate::show::{bytes, duration, percent, plural};

/// What was taken, lost and spent, in aligned lines.
pub(crate) fn lines(accounting: &Accounting) -> Vec<String> {
    let a = accounting;
    let walks = plural(a.walk_count, "stack walk");
    let samples = format!("{} taken by {walks}, {} failed", a.sample_count, a.failed_walk_count);
    let unattributed = plural(a.unattributed_count, "sample");
    let lost =
        format!("{unattributed} without a known stack, {} with a shortened one", a.folded_count);
    let mut lines = vec![
        line("samples", &samples),
        line("lost", &lost),
        line("threads", &threads(a)),
        line("CPU time", &java_cpu(a)),
        line("", &other_time(a)),
        line("perk", &own_cost(a)),
    ];
    if a.fault_count > 0 {
        let faults = plural(a.fault_count, "fault");
        lines.push(line("faults", &format!("{faults} of perk's own: the profile has gaps")));
    }
    lines
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<9} {text}")
}

fn threads(a: &Accounting) -> String {
    let mut text = plural(a.thread_count, "Java thread");
    if a.virtual_sample_count > 0 {
        text += &format!("; {} on virtual threads", plural(a.virtual_sample_count, "sample"));
    }
    text
}

fn java_cpu(a: &Accounting) -> String {
    let mut text = format!("{} in Java threads", duration(a.java_cpu_ns));
    if a.java_cpu_ns > 0 {
        let sampled = a.sample_count.saturating_mul(a.interval_ns);
        let share = percent(sampled, a.java_cpu_ns);
        text += &format!("; the samples stand for {} ({share} %)", duration(sampled));
    }
    text
}

fn other_time(a: &Accounting) -> String {
    let jvm = a.process_cpu_ns.saturating_sub(a.java_cpu_ns).saturating_sub(a.perk_cpu_ns);
    let (jvm, wall) = (duration(jvm), duration(a.wall_ns));
    format!("{jvm} in the JVM itself (start, GC, JIT); {wall} passed on the clock")
}

fn own_cost(a: &Accounting) -> String {
    let mut text = format!("{} of CPU time", duration(a.perk_cpu_ns));
    if a.process_cpu_ns > 0 {
        text += &format!(" ({} %)", percent(a.perk_cpu_ns, a.process_cpu_ns));
    }
    text + &format!(", {} of memory at its peak", bytes(a.perk_peak_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_place() {
        let accounting = Accounting {
            interval_ns: 10_000_000,
            wall_ns: 5_000_000_000,
            sample_count: 198,
            walk_count: 190,
            failed_walk_count: 1,
            unattributed_count: 2,
            folded_count: 3,
            thread_count: 4,
            virtual_sample_count: 5,
            java_cpu_ns: 2_000_000_000,
            process_cpu_ns: 3_010_000_000,
            perk_cpu_ns: 10_000_000,
            perk_peak_bytes: 2_500_000,
            fault_count: 1,
            ..Accounting::default()
        };
        assert_eq!(
            lines(&accounting),
            [
                "samples   198 taken by 190 stack walks, 1 failed",
                "lost      2 samples without a known stack, 3 with a shortened one",
                "threads   4 Java threads; 5 samples on virtual threads",
                "CPU time  2.00 s in Java threads; the samples stand for 1.98 s (99.00 %)",
                "          1.00 s in the JVM itself (start, GC, JIT); 5.00 s passed on the clock",
                "perk      10 ms of CPU time (0.33 %), 2.5 MB of memory at its peak",
                "faults    1 fault of perk's own: the profile has gaps",
            ]
        );
    }

    #[test]
    fn nothing_measured_divides_by_nothing() {
        let lines = lines(&Accounting::default());
        assert_eq!(lines[3], "CPU time  0 s in Java threads");
        assert_eq!(lines[5], "perk      0 s of CPU time, 0 B of memory at its peak");
    }
}
