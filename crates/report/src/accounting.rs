//! The accounting of a run, as people read it.

use perk_profile::units::{bytes, duration, percent, plural, printable};
use perk_profile::{Accounting, CpuGroup, NAME_SEPARATOR};

/// What was taken, lost and spent, in aligned lines.
pub fn lines(accounting: &Accounting) -> Vec<String> {
    let a = accounting;
    let mut lines = Vec::new();
    if has_samples(a) {
        lines.extend(samples(a));
    }
    if let Some(interval_ns) = a.wall_thread_ns.checked_div(a.wall_sample_count) {
        let samples = plural(a.wall_sample_count, "sample");
        let walks = plural(a.wall_walk_count, "stack walk");
        let (time, interval) = (duration(a.wall_thread_ns), duration(interval_ns));
        let of = format!("{time} of threads, one per {interval} of each");
        lines.push(line("wall", &format!("{samples} of {of}; {walks}")));
    }
    if a.folded_count > 0 {
        let samples = plural(a.folded_count, "sample");
        let text = format!("{samples} on call traces cut short: they took the memory of memlimit");
        lines.push(line("limit", &text));
    }
    if a.allocation_sample_count > 0 {
        let samples = plural(a.allocation_sample_count, "allocation");
        let what = if a.probe_object_count > 0 { "counted, their callers " } else { "" };
        lines.push(line("sites", &format!("{what}estimated from {samples} sampled")));
    }
    if a.sampled_wait_count > 0 {
        let waits = plural(a.sampled_wait_count, "wait");
        lines.push(line("locks", &format!("estimated from {waits} sampled")));
    }
    if a.counts_uncollected() {
        let text = "dead objects that no garbage collection has removed yet count, too (--gc)";
        lines.push(line("live", text));
    }
    if has_probes(a) {
        lines.extend(calls(a));
        lines.extend(probes(a));
    }
    lines.extend([
        line("threads", &threads(a)),
        line("CPU time", &java_cpu(a)),
        line("", &other_time(a)),
    ]);
    lines.extend(collections(a));
    lines.extend(quota(a));
    lines.push(line("perk", &own_cost(a)));
    lines.extend(probe_cost(a).iter().map(|text| line("", text)));
    if a.fault_count > 0 {
        let faults = plural(a.fault_count, "fault");
        lines.push(line("faults", &format!("{faults} of perk's own: the profile has gaps")));
    }
    lines
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<9} {}", printable(text))
}

/// Whether threads were sampled. An idle program has no samples: what ran tells.
fn has_samples(a: &Accounting) -> bool {
    const OTHERS: [&str; 5] =
        ["", "exact", "allocation sampling", "monitors", "wall-clock sampling"];
    let samples_threads = |engine: &str| !OTHERS.contains(&engine);
    a.sample_count > 0 || a.walk_count > 0 || a.engine.split(", ").any(samples_threads)
}

/// Whether classes were instrumented.
fn has_probes(a: &Accounting) -> bool {
    a.instrumented_class_count > 0 || a.call_count > 0 || !a.timing.is_empty()
}

fn samples(a: &Accounting) -> [String; 2] {
    let walks = plural(a.walk_count, "stack walk");
    let taken = format!("{} taken by {walks}, {} failed", a.sample_count, a.failed_walk_count);
    let unattributed = plural(a.unattributed_count, "sample");
    [line("samples", &taken), line("lost", &format!("{unattributed} without a known stack"))]
}

/// What was counted, by which clock, and what of it is not as it should be.
fn calls(a: &Accounting) -> Vec<String> {
    let mut lines = Vec::new();
    if a.call_count > 0 {
        let place = match a.call_node_count {
            0 => "by method and call site".to_owned(),
            nodes => format!("in {} of call trees", plural(nodes, "node")),
        };
        lines.push(line("calls", &format!("{} counted {place}", a.call_count)));
    }
    if a.folded_call_count > 0 {
        let folded = a.folded_call_count;
        let text = format!(
            "{folded} of them without their path: the trees were full (memlimit, max-nodes)"
        );
        lines.push(line("", &text));
    }
    if a.over_budget_method_count > 0 {
        let (calls, methods) =
            (a.over_budget_call_count, plural(a.over_budget_method_count, "method"));
        let text = format!(
            "{calls} of them without their callers: of {methods} over budget, and of natives below"
        );
        lines.push(line("", &text));
        let text = "their time is that of their callers; what they call is below <over budget>";
        lines.push(line("", text));
        for name in a.over_budget_methods.split(NAME_SEPARATOR).take(MOST_NAMED) {
            lines.push(line("", &format!("  {name}")));
        }
    }
    if a.unsited_object_count > 0 {
        let objects = plural(a.unsited_object_count, "object");
        lines.push(line("objects", &format!("{objects} allocated at no known site")));
    }
    match a.timing.as_str() {
        "" => {}
        "none" => lines.push(line("clock", "none: calls were counted and not timed")),
        timing => lines.push(line("clock", &format!("{}, timing {timing}", a.clock))),
    }
    lines
}

/// The number of methods without probes, and of those over budget, that are named.
const MOST_NAMED: usize = 5;

/// Where the probes are, and what they cost.
fn probes(a: &Accounting) -> Vec<String> {
    let methods = plural(a.instrumented_method_count, "method");
    let classes = class_count(a.instrumented_class_count);
    let mut lines = vec![line("probes", &format!("in {methods} of {classes}"))];
    let left_out = [
        (a.skipped_method_count, plural(a.skipped_method_count, "method") + " that can take none"),
        (a.excluded_class_count, class_count(a.excluded_class_count) + " left out as asked"),
        (a.unseen_class_count, class_count(a.unseen_class_count) + " that the JVM hides"),
    ];
    let left_out: Vec<_> =
        left_out.into_iter().filter_map(|(count, text)| (count > 0).then_some(text)).collect();
    if !left_out.is_empty() {
        lines.push(line("", &format!("not in {}", left_out.join(", "))));
    }
    if !a.unmatched_patterns.is_empty() {
        let text = format!("no class or method has the name: {}", a.unmatched_patterns);
        lines.push(line("", &text));
    }
    let named = a.skipped_methods.split(NAME_SEPARATOR).filter(|it| !it.is_empty());
    lines.extend(named.take(MOST_NAMED).map(|method| line("", &format!("  {method}"))));
    let cost = |ps: u64| format!("{:.1} ns", ps as f64 / 1e3);
    if a.probe_self_ps > 0 || a.probe_caller_ps > 0 {
        let (own, caller) = (cost(a.probe_self_ps), cost(a.probe_caller_ps));
        let removed = duration(a.probe_removed_ns);
        let text =
            format!("{own} per call, {caller} in its caller: {removed} subtracted from the times");
        lines.push(line("", &text));
    }
    lines
}

fn class_count(count: u64) -> String {
    format!("{count} class{}", if count == 1 { "" } else { "es" })
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
    if a.java_cpu_ns > 0 && has_samples(a) {
        let sampled = a.sample_count.saturating_mul(a.interval_ns);
        let share = percent(sampled, a.java_cpu_ns);
        text += &format!("; the samples represent {} ({share} %)", duration(sampled));
    }
    text
}

fn other_time(a: &Accounting) -> String {
    if let Some(groups) = a.cpu_groups() {
        let others = groups.iter().filter(|(group, ns)| *ns > 0 && *group != CpuGroup::Java);
        let others: Vec<_> =
            others.map(|(group, ns)| format!("{} {}", group.title(), duration(*ns))).collect();
        return format!("{}; {} passed on the clock", others.join(", "), duration(a.wall_ns));
    }
    let jvm = a.process_cpu_ns.saturating_sub(a.java_cpu_ns).saturating_sub(a.perk_cpu_ns);
    let (jvm, wall) = (duration(jvm), duration(a.wall_ns));
    format!("{jvm} in the JVM itself (start, GC, JIT); {wall} passed on the clock")
}

/// The pauses for the collection of garbage, if there were any.
fn collections(a: &Accounting) -> Option<String> {
    let longest = duration(a.gc_longest_pause_ns);
    let share = match a.wall_ns {
        0 => String::new(),
        all => format!(" ({} % of the time)", percent(a.gc_pause_ns, all)),
    };
    let (pauses, time) = (plural(a.gc_count, "pause"), duration(a.gc_pause_ns));
    let text = format!("{pauses} to collect garbage, {time}{share}, the longest {longest}");
    (a.gc_count > 0).then(|| line("GC", &text))
}

/// The quota of the process's cgroup, if it has one.
fn quota(a: &Accounting) -> Option<String> {
    let cpus = a.cpu_quota_millis as f64 / 1e3;
    let mut text = format!("{cpus} CPUs for the process's cgroup");
    if a.throttled_count > 0 {
        let (of, time) = (plural(a.cpu_period_count, "period"), duration(a.throttled_ns));
        let count = a.throttled_count;
        text +=
            &format!("; it was used up in {count} of {of}, and threads were stopped for {time}");
    }
    (a.cpu_quota_millis > 0 || a.throttled_count > 0).then(|| line("quota", &text))
}

fn own_cost(a: &Accounting) -> String {
    let cpu_ns = a.perk_cpu_ns.saturating_add(a.instrument_cpu_ns);
    let mut text = format!("{} of CPU time", duration(cpu_ns));
    if a.process_cpu_ns > 0 {
        text += &format!(" ({} %)", percent(cpu_ns, a.process_cpu_ns));
    }
    if a.instrument_cpu_ns > 0 {
        text += &format!(", {} of it on class files", duration(a.instrument_cpu_ns));
    }
    let peak = bytes(a.perk_peak_bytes);
    // The JVMs need not have reached their peaks together.
    text + &match a.overlapping_jvm_count {
        0 | 1 => format!(", {peak} of memory at its peak"),
        count => format!(", at most {peak} of memory in the {count} JVMs that ran at a time"),
    }
}

/// The cost of the probes in the program's own threads, as far as it can be estimated.
fn probe_cost(a: &Accounting) -> Vec<String> {
    let cost = |ns: u64, count: u64, what: &str| {
        let each = ns as f64 / count as f64;
        (count > 0).then(|| format!("{} of {each:.1} ns", plural(count, what)))
    };
    let parts = [
        cost(a.probe_call_ns, a.probe_call_count, "call"),
        cost(a.probe_object_ns, a.probe_object_count, "object"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        let text = "the probes' time in the program is not in this, and was not estimated";
        return (a.instrumented_class_count > 0).then(|| text.to_owned()).into_iter().collect();
    }
    let ns = a.probe_call_ns.saturating_add(a.probe_object_ns);
    let (time, parts) = (duration(ns), parts.join(", "));
    let share = match a.process_cpu_ns {
        0 => String::new(),
        all => format!(" ({} %)", percent(ns, all)),
    };
    vec![
        format!("probes: at least {time}{share} more in the program's threads, estimated:"),
        format!("  {parts}; caches and the JIT's work come on top"),
    ]
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
            gc_count: 12,
            gc_pause_ns: 300_000_000,
            gc_longest_pause_ns: 40_000_000,
            cpu_quota_millis: 1_500,
            cpu_period_count: 50,
            throttled_count: 7,
            throttled_ns: 200_000_000,
            perk_cpu_ns: 10_000_000,
            perk_peak_bytes: 2_500_000,
            fault_count: 1,
            ..Accounting::default()
        };
        assert_eq!(
            lines(&accounting),
            [
                "samples   198 taken by 190 stack walks, 1 failed",
                "lost      2 samples without a known stack",
                "limit     3 samples on call traces cut short: they took the memory of memlimit",
                "threads   4 Java threads; 5 samples on virtual threads",
                "CPU time  2.00 s in Java threads; the samples represent 1.98 s (99.00 %)",
                "          1.00 s in the JVM itself (start, GC, JIT); 5.00 s passed on the clock",
                "GC        12 pauses to collect garbage, 300 ms (6.00 % of the time), the longest 40 ms",
                "quota     1.5 CPUs for the process's cgroup; it was used up in 7 of 50 periods, and \
                 threads were stopped for 200 ms",
                "perk      10 ms of CPU time (0.33 %), 2.5 MB of memory at its peak",
                "faults    1 fault of perk's own: the profile has gaps",
            ]
        );
    }

    #[test]
    fn probes_have_an_account_of_their_own() {
        let accounting = Accounting {
            clock: "cpu".into(),
            timing: "tick".into(),
            interval_ns: 10_000_000,
            call_count: 123_456,
            folded_call_count: 7,
            over_budget_call_count: 99,
            over_budget_method_count: 1,
            over_budget_methods: "a.B.hot".into(),
            call_node_count: 890,
            unsited_object_count: 1,
            instrumented_class_count: 500,
            instrumented_method_count: 4_000,
            skipped_method_count: 1,
            skipped_methods: "a.B.c()V: it is long".into(),
            excluded_class_count: 1,
            unseen_class_count: 12,
            instrument_cpu_ns: 8_000_000,
            probe_self_ps: 1_240,
            probe_caller_ps: 2_500,
            probe_removed_ns: 462_000,
            java_cpu_ns: 2_000_000_000,
            process_cpu_ns: 3_010_000_000,
            perk_cpu_ns: 10_000_000,
            ..Accounting::default()
        };
        assert_eq!(
            lines(&accounting)[..13],
            [
                "calls     123456 counted in 890 nodes of call trees",
                "          7 of them without their path: the trees were full (memlimit, max-nodes)",
                "          99 of them without their callers: of 1 method over budget, and of natives below",
                "          their time is that of their callers; what they call is below <over budget>",
                "            a.B.hot",
                "objects   1 object allocated at no known site",
                "clock     cpu, timing tick",
                "probes    in 4000 methods of 500 classes",
                "          not in 1 method that can take none, 1 class left out as asked, \
                 12 classes that the JVM hides",
                "            a.B.c()V: it is long",
                "          1.2 ns per call, 2.5 ns in its caller: 462 us subtracted from the times",
                "threads   0 Java threads",
                "CPU time  2.00 s in Java threads",
            ]
        );
        let perk = "perk      18 ms of CPU time (0.60 %), 8 ms of it on class files, \
                    0 B of memory at its peak";
        assert_eq!(lines(&accounting)[14], perk);
        let unknown =
            "          the probes' time in the program is not in this, and was not estimated";
        assert_eq!(lines(&accounting)[15..], [unknown]);
        let sampled = Accounting { sample_count: 1, walk_count: 1, ..accounting.clone() };
        assert_eq!(lines(&sampled)[0], "samples   1 taken by 1 stack walk, 0 failed");
        assert_eq!(lines(&sampled).len(), 18);
        let estimated = Accounting {
            probe_call_count: 123_456_789,
            probe_call_ns: 400_000_000,
            probe_object_count: 2_000_000,
            probe_object_ns: 11_000_000,
            ..accounting
        };
        assert_eq!(
            lines(&estimated)[15..],
            [
                "          probes: at least 411 ms (13.65 %) more in the program's threads, estimated:",
                "            123456789 calls of 3.2 ns, 2000000 objects of 5.5 ns; caches and the JIT's \
                 work come on top",
            ]
        );
    }

    #[test]
    fn the_peak_of_several_jvms_is_a_bound() {
        let perk = |overlapping_jvm_count| {
            let accounting = Accounting {
                perk_peak_bytes: 2_500_000,
                overlapping_jvm_count,
                ..Accounting::default()
            };
            lines(&accounting).pop().unwrap()
        };
        let one = "perk      0 s of CPU time, 2.5 MB of memory at its peak";
        assert_eq!([perk(0), perk(1)], [one, one]);
        let several =
            "perk      0 s of CPU time, at most 2.5 MB of memory in the 2 JVMs that ran at a time";
        assert_eq!(perk(2), several);
    }

    #[test]
    fn only_what_matters_has_a_line() {
        let accounting = Accounting {
            timing: "none".into(),
            call_count: 1,
            call_node_count: 1,
            instrumented_class_count: 1,
            instrumented_method_count: 1,
            ..Accounting::default()
        };
        assert_eq!(
            lines(&accounting)[..3],
            [
                "calls     1 counted in 1 node of call trees",
                "clock     none: calls were counted and not timed",
                "probes    in 1 method of 1 class",
            ]
        );
    }

    #[test]
    fn groups_of_threads_have_their_times() {
        let accounting = Accounting {
            cpu_count: 2,
            wall_ns: 2_000_000_000,
            process_cpu_ns: 3_000_000_000,
            java_cpu_ns: 1_500_000_000,
            gc_cpu_ns: 500_000_000,
            jit_c2_cpu_ns: 750_000_000,
            perk_cpu_ns: 20_000_000,
            perk_thread_cpu_ns: 20_000_000,
            ..Accounting::default()
        };
        let text = "          GC 500 ms, JIT C2 750 ms, perk 20 ms, not known 230 ms; \
                    2.00 s passed on the clock";
        assert_eq!(lines(&accounting)[2], text);
    }

    #[test]
    fn nothing_measured_divides_by_nothing() {
        for engine in ["polling", "polling, exact"] {
            let lines = lines(&idle(engine));
            assert_eq!(lines[0], "samples   0 taken by 0 stack walks, 0 failed");
            assert_eq!(lines[3], "CPU time  0 s in Java threads");
            assert_eq!(lines[5], "perk      0 s of CPU time, 0 B of memory at its peak");
        }
        for engine in ["", "exact", "allocation sampling", "exact, allocation sampling"] {
            assert_eq!(lines(&idle(engine))[0], "threads   0 Java threads", "{engine}");
        }
    }

    fn idle(engine: &str) -> Accounting {
        Accounting { engine: engine.into(), interval_ns: 10_000_000, ..Accounting::default() }
    }
}
