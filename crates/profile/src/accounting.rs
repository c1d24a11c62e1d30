//! The accounting of a run: what it recorded, lost and cost. It is printed with every result and
//! kept in perk's own files.

use std::fmt::Write;
use std::str::FromStr;

macro_rules! accounting {
    ($($(#[$doc:meta])* $field:ident: $type:ty),* $(,)?) => {
        /// The accounting of one profiled JVM. Every number is measured, none is assumed.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Accounting {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Accounting {
            /// Formats the fields as `name=value` lines, as files keep them.
            pub fn to_text(&self) -> String {
                let mut text = String::new();
                $(line(&mut text, stringify!($field), &self.$field.to_string());)*
                text
            }

            /// Reads what [`Accounting::to_text`] wrote. Unknown lines (of a later version) and
            /// values that are not numbers are skipped.
            pub fn from_text(text: &str) -> Self {
                let mut accounting = Self::default();
                for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
                    match name {
                        $(stringify!($field) => set(&mut accounting.$field, value),)*
                        _ => {}
                    }
                }
                accounting
            }
        }
    };
}

accounting! {
    /// The program: main class or jar, as the JVM reports it.
    program: String,
    /// The patterns of the program's own classes that `--app` gave, with [`NAME_SEPARATOR`] between.
    app: String,
    /// The packages of the class path's folders, as patterns such as `com.acme.*` (`*` is the unnamed
    /// package), with [`NAME_SEPARATOR`] between.
    packages: String,
    /// The JVM's name and version.
    jvm: String,
    /// The JVM's process id.
    pid: u32,
    /// Local time minus UTC where the JVM ran, in seconds.
    utc_offset_s: i32,
    /// The names of the engines that ran, with ", " between them.
    engine: String,
    /// The CPU time that one sample represents.
    interval_ns: u64,
    /// The wall-clock time from the start of the program to the dump.
    wall_ns: u64,
    /// Samples recorded with a stack. (Files of earlier versions include those without one.)
    sample_count: u64,
    /// Stacks walked; fewer than samples, as one walk can represent several intervals.
    walk_count: u64,
    /// Walks that gave no stack (the thread had ended or had no Java frame).
    failed_walk_count: u64,
    /// Samples whose CPU time is known but not their stack: they are in no section.
    unattributed_count: u64,
    /// Samples whose inner frames are cut off because call traces have taken the memory of `memlimit`.
    folded_count: u64,
    /// Java threads seen, perk's own not counted.
    thread_count: u64,
    /// Samples that landed on virtual threads' own frames.
    virtual_sample_count: u64,
    /// Visits to threads by the wall-clock sampler.
    wall_sample_count: u64,
    /// Stacks walked by it: a thread that has not moved is not walked again.
    wall_walk_count: u64,
    /// The time of threads that its samples represent.
    wall_thread_ns: u64,
    /// The clock of call times: `cpu` or `wall`; empty if calls were not timed.
    clock: String,
    /// The way in which calls were timed: `tick`, `exact` or `none`.
    timing: String,
    /// Calls counted.
    call_count: u64,
    /// Calls counted by method alone, without their path, because the call tree was full.
    folded_call_count: u64,
    /// The methods over budget (`path-budget`): what they call is below their callers.
    over_budget_method_count: u64,
    /// The calls since then of these methods, and of the natives that they call: their callers are not known.
    over_budget_call_count: u64,
    /// The first of the methods over budget, with [`NAME_SEPARATOR`] between.
    over_budget_methods: String,
    /// Nodes of the engine's call trees.
    call_node_count: u64,
    /// Classes that probes were placed in.
    instrumented_class_count: u64,
    /// Methods that probes were placed in.
    instrumented_method_count: u64,
    /// Methods in which no probe could be placed (larger than 64 KB, or the bytes are not a class
    /// file).
    skipped_method_count: u64,
    /// The first of the skipped methods, each with the reason after a colon, with
    /// [`NAME_SEPARATOR`] between.
    skipped_methods: String,
    /// Classes without probes because of `include` and `exclude`.
    excluded_class_count: u64,
    /// Classes whose probes came from the cache of an earlier run.
    cached_class_count: u64,
    /// The patterns of `include` and `exclude` that matched no class or method, as options, with
    /// [`NAME_SEPARATOR`] between.
    unmatched_patterns: String,
    /// Classes that the JVM does not show to agents: the hidden classes of lambdas and method
    /// handles.
    unseen_class_count: u64,
    /// CPU time of reading and writing class files.
    instrument_cpu_ns: u64,
    /// The cost of a call's probes within the time of the call itself, in picoseconds, as measured
    /// at the end of this run.
    probe_self_ps: u64,
    /// The cost of a call's probes within the time of its caller, in picoseconds.
    probe_caller_ps: u64,
    /// The cost of the probes that was subtracted from the times.
    probe_removed_ns: u64,
    /// The calls that probes have counted, for all measurements; 0 if their cost is not known.
    probe_call_count: u64,
    /// The CPU time of the probes of these calls, estimated from the cost of a call that was measured
    /// in a loop at the end of this run.
    probe_call_ns: u64,
    /// The objects that probes have counted.
    probe_object_count: u64,
    /// The CPU time of the probes of these objects, estimated in the same way.
    probe_object_ns: u64,
    /// The objects that count as live: [`LIVE_COLLECTED`], those that a garbage collection has left;
    /// [`LIVE_UNCOLLECTED`], those that none has removed yet, dead ones among them; empty if live
    /// objects are not known.
    live: String,
    /// Allocations sampled.
    allocation_sample_count: u64,
    /// The waits for locks and to be notified of which samples were taken; 0 if all waits were measured.
    sampled_wait_count: u64,
    /// Objects without a known allocation site: allocated by the JVM or native code before the
    /// first probe, or counted by class alone, as there was no room for their path.
    unsited_object_count: u64,
    /// CPU time of all Java threads seen, from the program's start on, perk's own not counted.
    java_cpu_ns: u64,
    /// CPU time of the whole process, with the JVM's start, its own threads (GC, JIT) and perk.
    process_cpu_ns: u64,
    /// CPU time of perk's thread and callbacks in the process.
    perk_cpu_ns: u64,
    /// The processors that the process may use; 0 if the CPU time is not known by group of threads.
    cpu_count: u64,
    /// CPU time of the process before the program began, perk's own left out.
    start_cpu_ns: u64,
    /// CPU time of collecting garbage.
    gc_cpu_ns: u64,
    /// Pauses of the program for the collection of garbage.
    gc_count: u64,
    /// The wall-clock time of these pauses, in which no Java code ran.
    gc_pause_ns: u64,
    /// The longest of them.
    gc_longest_pause_ns: u64,
    /// The CPU time that the process's cgroup may use, in thousandths of a CPU; 0 if there is no quota, or
    /// none that the process can see.
    cpu_quota_millis: u64,
    /// Periods in which the quota was in force.
    cpu_period_count: u64,
    /// Periods in which the quota was used up and the kernel stopped the process.
    throttled_count: u64,
    /// The time for which it was stopped, added up over the CPUs on which it had work.
    throttled_ns: u64,
    /// CPU time of the JIT compiler C1.
    jit_c1_cpu_ns: u64,
    /// CPU time of the JIT compiler C2, or of Graal in its place.
    jit_c2_cpu_ns: u64,
    /// CPU time of the JVM's other threads.
    jvm_cpu_ns: u64,
    /// CPU time of threads that are neither Java's nor the JVM's: those of native libraries.
    native_cpu_ns: u64,
    /// CPU time of perk's own threads; the rest of perk's is spent on the program's threads.
    perk_thread_cpu_ns: u64,
    /// The peak memory of perk's agent; of JVMs that ran at the same time the sum of their peaks, which
    /// they reached together or not.
    perk_peak_bytes: u64,
    /// The most JVMs that ran at the same time, if the accounting is of several.
    overlapping_jvm_count: u64,
    /// Features that perk switched off after an internal fault.
    fault_count: u64,
}

impl Accounting {
    /// Returns the accounting of several JVMs, each with the time at which its accounting begins,
    /// if that is known. Counts and times add up. The wall-clock time is the time in which at least
    /// one of the JVMs ran. The peak memory is that of the JVMs that ran at the same time.
    pub fn of_jvms<'a>(jvms: impl Iterator<Item = (Option<u64>, &'a Self)>) -> Option<Self> {
        let jvms: Vec<_> = jvms.collect();
        let mut sum = jvms.first()?.1.clone();
        jvms[1..].iter().for_each(|(_, more)| sum.add(more));
        if jvms.len() > 1 {
            sum.overlap(&jvms);
        }
        Some(sum)
    }

    /// The accounting with samples counted as those of another interval, as numbers of different intervals are where they
    /// are added up.
    #[must_use]
    pub fn with_interval(&self, interval_ns: u64) -> Self {
        let mut other = self.clone();
        if [interval_ns, self.interval_ns].contains(&0) || interval_ns == self.interval_ns {
            return other;
        }
        let scaled = |count: u64| {
            let whole = u128::from(count) * u128::from(self.interval_ns);
            let half = u128::from(interval_ns / 2);
            u64::try_from((whole + half) / u128::from(interval_ns)).unwrap_or(u64::MAX)
        };
        macro_rules! scale {
            ($($field:ident)*) => { $(other.$field = scaled(self.$field);)* };
        }
        scale!(sample_count unattributed_count folded_count virtual_sample_count);
        other.interval_ns = interval_ns;
        other
    }

    /// Sets the numbers that depend on which of the JVMs ran at the same time. If the start of one
    /// is not known, all may have run together.
    fn overlap(&mut self, jvms: &[(Option<u64>, &Self)]) {
        let begins: Option<Vec<u64>> = jvms.iter().map(|it| it.0).collect();
        let Some(begins) = begins else {
            self.overlapping_jvm_count = jvms.len() as u64;
            let peaks = jvms.iter().map(|it| it.1.perk_peak_bytes);
            self.perk_peak_bytes = peaks.fold(0, u64::saturating_add);
            return;
        };
        let mut ends = Vec::new();
        for (begin_ns, (_, jvm)) in begins.into_iter().zip(jvms) {
            ends.push((begin_ns, true, jvm.perk_peak_bytes));
            ends.push((begin_ns.saturating_add(jvm.wall_ns.max(1)), false, jvm.perk_peak_bytes));
        }
        // At the same time, an end comes before a start.
        ends.sort_unstable();
        let (mut count, mut peak_bytes, mut begin_ns) = (0_u64, 0_u64, 0);
        (self.perk_peak_bytes, self.overlapping_jvm_count, self.wall_ns) = (0, 0, 0);
        for (time_ns, is_begin, bytes) in ends {
            if is_begin {
                begin_ns = if count == 0 { time_ns } else { begin_ns };
                count += 1;
                peak_bytes = peak_bytes.saturating_add(bytes);
                self.perk_peak_bytes = self.perk_peak_bytes.max(peak_bytes);
                self.overlapping_jvm_count = self.overlapping_jvm_count.max(count);
            } else {
                count = count.saturating_sub(1);
                peak_bytes = peak_bytes.saturating_sub(bytes);
                let ran_ns = if count == 0 { time_ns - begin_ns } else { 0 };
                self.wall_ns = self.wall_ns.saturating_add(ran_ns);
            }
        }
    }

    /// The accounting of the time since an earlier one of the same recording: counts and times are those that
    /// are new. The rest is as it is now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut new = self.clone();
        macro_rules! subtract {
            ($($field:ident)*) => { $(new.$field = self.$field.saturating_sub(earlier.$field);)* };
        }
        subtract!(
            wall_ns sample_count walk_count failed_walk_count unattributed_count folded_count
            virtual_sample_count wall_sample_count wall_walk_count wall_thread_ns
            allocation_sample_count sampled_wait_count java_cpu_ns process_cpu_ns perk_cpu_ns
            start_cpu_ns gc_cpu_ns gc_count gc_pause_ns cpu_period_count throttled_count throttled_ns
            jit_c1_cpu_ns jit_c2_cpu_ns jvm_cpu_ns native_cpu_ns perk_thread_cpu_ns
        );
        new
    }

    /// Adds the accounting of another process. Counts and times add up. Of the wall-clock times, the
    /// peaks of memory and the numbers of a cgroup, which processes share, the larger one stays.
    /// Texts that differ are joined.
    fn add(&mut self, more: &Self) {
        macro_rules! sum {
            ($($field:ident)*) => { $(self.$field = self.$field.saturating_add(more.$field);)* };
        }
        sum!(
            sample_count walk_count failed_walk_count unattributed_count folded_count thread_count
            virtual_sample_count wall_sample_count wall_walk_count wall_thread_ns call_count
            folded_call_count over_budget_method_count over_budget_call_count call_node_count
            instrumented_class_count instrumented_method_count skipped_method_count excluded_class_count cached_class_count unseen_class_count
            instrument_cpu_ns probe_removed_ns probe_call_count probe_call_ns probe_object_count
            probe_object_ns allocation_sample_count sampled_wait_count unsited_object_count java_cpu_ns process_cpu_ns
            perk_cpu_ns start_cpu_ns gc_cpu_ns gc_count gc_pause_ns jit_c1_cpu_ns jit_c2_cpu_ns jvm_cpu_ns native_cpu_ns
            perk_thread_cpu_ns fault_count
        );
        macro_rules! largest {
            ($($field:ident)*) => { $(self.$field = self.$field.max(more.$field);)* };
        }
        largest!(
            interval_ns wall_ns cpu_count probe_self_ps probe_caller_ps perk_peak_bytes
            overlapping_jvm_count gc_longest_pause_ns cpu_quota_millis cpu_period_count
            throttled_count throttled_ns
        );
        for (text, more, separator) in [
            (&mut self.program, &more.program, NAME_SEPARATOR),
            (&mut self.jvm, &more.jvm, NAME_SEPARATOR),
            (&mut self.engine, &more.engine, ", "),
            (&mut self.clock, &more.clock, ", "),
            (&mut self.timing, &more.timing, ", "),
            (&mut self.live, &more.live, ", "),
            (&mut self.skipped_methods, &more.skipped_methods, NAME_SEPARATOR),
            (&mut self.over_budget_methods, &more.over_budget_methods, NAME_SEPARATOR),
        ] {
            if text.is_empty() {
                text.clone_from(more);
            } else if !more.is_empty() && !text.split(separator).any(|it| it == more) {
                *text = format!("{text}{separator}{more}");
            }
        }
        // A pattern matches if it does so in one of the processes.
        let others: Vec<_> = more.unmatched_patterns.split(NAME_SEPARATOR).collect();
        let unmatched = self.unmatched_patterns.split(NAME_SEPARATOR);
        let unmatched: Vec<_> = unmatched.filter(|it| others.contains(it)).collect();
        self.unmatched_patterns = unmatched.join(NAME_SEPARATOR);
    }

    /// Whether dead objects that no garbage collection has removed yet count as live.
    pub fn counts_uncollected(&self) -> bool {
        self.live.split(", ").any(|live| live == LIVE_UNCOLLECTED)
    }
}

/// The purpose of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuGroup {
    /// Java threads, perk's callbacks left out.
    Java,
    /// Garbage collection.
    Gc,
    /// The JIT compiler C1.
    JitC1,
    /// The JIT compiler C2, or Graal in its place.
    JitC2,
    /// The JVM before the program began.
    Start,
    /// The JVM's other threads.
    Jvm,
    /// Threads of native libraries.
    Native,
    /// perk.
    Perk,
    /// CPU time that no clock shows: the last moments of threads that ended.
    Ended,
}

impl CpuGroup {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            CpuGroup::Java => "java",
            CpuGroup::Gc => "gc",
            CpuGroup::JitC1 => "jit_c1",
            CpuGroup::JitC2 => "jit_c2",
            CpuGroup::Start => "start",
            CpuGroup::Jvm => "jvm",
            CpuGroup::Native => "native",
            CpuGroup::Perk => "perk",
            CpuGroup::Ended => "ended",
        }
    }

    /// Its name in reports.
    pub fn title(self) -> &'static str {
        match self {
            CpuGroup::Java => "Java threads",
            CpuGroup::Gc => "GC",
            CpuGroup::JitC1 => "JIT C1",
            CpuGroup::JitC2 => "JIT C2",
            CpuGroup::Start => "JVM start",
            CpuGroup::Jvm => "other JVM threads",
            CpuGroup::Native => "native threads",
            CpuGroup::Perk => "perk",
            CpuGroup::Ended => "not known",
        }
    }
}

impl Accounting {
    /// The CPU time of the process by group of threads, which adds up to the whole; `None` if it is not
    /// known.
    pub fn cpu_groups(&self) -> Option<[(CpuGroup, u64); 9]> {
        if self.cpu_count == 0 {
            return None;
        }
        let perk_ns = self.perk_cpu_ns.saturating_add(self.instrument_cpu_ns);
        let perk_ns = perk_ns.max(self.perk_thread_cpu_ns);
        let on_java_threads_ns = perk_ns - self.perk_thread_cpu_ns;
        let mut groups = [
            (CpuGroup::Java, self.java_cpu_ns.saturating_sub(on_java_threads_ns)),
            (CpuGroup::Gc, self.gc_cpu_ns),
            (CpuGroup::JitC1, self.jit_c1_cpu_ns),
            (CpuGroup::JitC2, self.jit_c2_cpu_ns),
            (CpuGroup::Start, self.start_cpu_ns),
            (CpuGroup::Jvm, self.jvm_cpu_ns),
            (CpuGroup::Native, self.native_cpu_ns),
            (CpuGroup::Perk, perk_ns),
            (CpuGroup::Ended, 0),
        ];
        let known = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.1));
        groups[8].1 = self.process_cpu_ns.saturating_sub(known);
        Some(groups)
    }

    /// The time for which the processors that the process may use did nothing for it while the program
    /// ran; `None` if it is not known.
    pub fn idle_ns(&self) -> Option<u64> {
        let burned_ns = self.process_cpu_ns.saturating_sub(self.start_cpu_ns);
        let all_ns = self.wall_ns.saturating_mul(self.cpu_count);
        (self.cpu_count > 0).then(|| all_ns.saturating_sub(burned_ns))
    }
}

/// The mean time between two ticks, in nanoseconds: the agent's clock of calls whose timing is `tick`.
pub const CALL_TICK_NS: u64 = 250_000;

/// The live objects are those that a garbage collection has left.
pub const LIVE_COLLECTED: &str = "collected";

/// The live objects are those that no garbage collection has removed yet.
pub const LIVE_UNCOLLECTED: &str = "uncollected";

/// The separator of names in these texts.
pub const NAME_SEPARATOR: &str = "; ";

fn line(text: &mut String, name: &str, value: &str) {
    let value = value.replace(['\n', '\r'], " ");
    writeln!(text, "{name}={value}").expect("a String takes any text");
}

fn set<T: FromStr>(field: &mut T, value: &str) {
    if let Ok(value) = value.parse() {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_its_text_form() {
        let accounting = Accounting {
            program: "org.example.Main --a=b\nc".into(),
            interval_ns: 10_000_000,
            sample_count: u64::MAX,
            ..Accounting::default()
        };
        let read = Accounting::from_text(&accounting.to_text());
        assert_eq!(read.program, "org.example.Main --a=b c");
        assert_eq!(read.interval_ns, 10_000_000);
        assert_eq!(read.sample_count, u64::MAX);
        assert_eq!(read.to_text(), accounting.to_text());
    }

    #[test]
    fn accounts_of_processes_add_up() {
        let account = |program: &str, pid, wall_ns, unmatched_patterns: &str| Accounting {
            program: program.to_owned(),
            pid,
            wall_ns,
            sample_count: 3,
            engine: "polling".to_owned(),
            live: if pid == 7 { LIVE_COLLECTED } else { LIVE_UNCOLLECTED }.to_owned(),
            unmatched_patterns: unmatched_patterns.to_owned(),
            ..Accounting::default()
        };
        let (one, other) =
            (account("Main", 7, 10, "include=a; include=b"), account("Other", 8, 30, "include=b"));
        let sum = Accounting::of_jvms([(None, &one), (None, &other)].into_iter()).unwrap();
        let expected = Accounting {
            sample_count: 6,
            live: "collected, uncollected".to_owned(),
            overlapping_jvm_count: 2,
            ..account("Main; Other", 7, 30, "include=b")
        };
        assert_eq!(sum, expected);
        assert!(sum.counts_uncollected());
    }

    #[test]
    fn samples_are_counted_as_those_of_another_interval() {
        let of = |interval_ns, sample_count| Accounting {
            interval_ns,
            sample_count,
            unattributed_count: sample_count / 10,
            folded_count: 1,
            virtual_sample_count: 2,
            gc_count: 7,
            wall_ns: 9,
            ..Accounting::default()
        };
        let counts = |it: &Accounting| {
            [it.sample_count, it.unattributed_count, it.folded_count, it.virtual_sample_count]
        };
        let account = of(10, 100);
        let other = account.with_interval(4);
        // Halves are rounded up.
        assert_eq!((other.interval_ns, counts(&other)), (4, [250, 25, 3, 5]));
        assert_eq!((other.gc_count, other.wall_ns), (7, 9));
        let longer = account.with_interval(30);
        assert_eq!((longer.interval_ns, counts(&longer)), (30, [33, 3, 0, 1]));
        // Nothing is known of an interval of 0.
        assert_eq!(account.with_interval(0), account);
        assert_eq!(of(0, 100).with_interval(4), of(0, 100));
        assert_eq!(account.with_interval(10), account);
        assert_eq!(of(10, u64::MAX).with_interval(1).sample_count, u64::MAX);
    }

    #[test]
    fn peaks_add_up_only_where_jvms_ran_at_the_same_time() {
        let check = |jvms: &[(Option<u64>, u64, u64)], expected: (u64, u64, u64)| {
            let accounts = jvms.iter().map(|&(_, wall_ns, perk_peak_bytes)| Accounting {
                wall_ns,
                perk_peak_bytes,
                ..Accounting::default()
            });
            let accounts: Vec<_> = accounts.collect();
            let begins = jvms.iter().map(|it| it.0);
            let sum = Accounting::of_jvms(begins.zip(&accounts)).unwrap();
            let sum = (sum.perk_peak_bytes, sum.overlapping_jvm_count, sum.wall_ns);
            assert_eq!(sum, expected, "{jvms:?}");
        };
        // One after the other, in any order, with and without a pause between them.
        check(&[(Some(20), 10, 5), (Some(0), 10, 7), (Some(10), 10, 6)], (7, 1, 30));
        check(&[(Some(0), 10, 7), (Some(50), 10, 9)], (9, 1, 20));
        // The second and the third at the same time.
        check(&[(Some(0), 10, 7), (Some(20), 10, 5), (Some(25), 10, 4)], (9, 2, 25));
        // One that runs beside all others.
        check(&[(Some(0), 100, 1), (Some(10), 5, 4), (Some(20), 5, 3)], (5, 2, 100));
        check(&[(Some(7), 0, 1), (Some(7), 0, 2)], (3, 2, 1));
        check(&[(None, 10, 7), (Some(50), 20, 9)], (16, 2, 20));
        check(&[(Some(0), 10, 7)], (7, 0, 10));
        assert_eq!(Accounting::of_jvms(std::iter::empty()), None);
    }

    #[test]
    fn groups_of_threads_add_up_to_the_process() {
        let accounting = Accounting {
            cpu_count: 2,
            wall_ns: 800,
            process_cpu_ns: 1000,
            java_cpu_ns: 500,
            perk_cpu_ns: 30,
            perk_thread_cpu_ns: 10,
            instrument_cpu_ns: 40,
            start_cpu_ns: 100,
            gc_cpu_ns: 70,
            jit_c1_cpu_ns: 20,
            jit_c2_cpu_ns: 80,
            jvm_cpu_ns: 50,
            native_cpu_ns: 60,
            ..Accounting::default()
        };
        let groups = accounting.cpu_groups().unwrap();
        let time = |group| groups.iter().find(|it| it.0 == group).map(|it| it.1);
        assert_eq!(time(CpuGroup::Java), Some(440));
        assert_eq!(time(CpuGroup::Perk), Some(70));
        assert_eq!(time(CpuGroup::Ended), Some(110));
        assert_eq!(groups.iter().map(|it| it.1).sum::<u64>(), 1000);
        assert_eq!(accounting.idle_ns(), Some(700));
        let old = Accounting { cpu_count: 0, ..accounting.clone() };
        assert_eq!((old.cpu_groups(), old.idle_ns()), (None, None));
        let both = [(Some(0), &accounting), (Some(0), &accounting)];
        let both = Accounting::of_jvms(both.into_iter()).unwrap();
        let sum = both.cpu_groups().unwrap().iter().map(|it| it.1).sum::<u64>();
        assert_eq!(sum, 2000);
        assert_eq!(Accounting::from_text(&both.to_text()), both);
    }

    #[test]
    fn passes_over_what_it_does_not_know() {
        let read = Accounting::from_text("pid=12\nlater=1\nsample_count=many\nno line\n");
        assert_eq!(read, Accounting { pid: 12, ..Accounting::default() });
    }
}
