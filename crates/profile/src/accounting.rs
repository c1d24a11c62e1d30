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
            /// Formats the fields as `name=value` lines, the form in which files keep them.
            pub fn to_text(&self) -> String {
                let mut text = String::new();
                $(line(&mut text, stringify!($field), &self.$field.to_string());)*
                text
            }

            /// Reads what [`Accounting::to_text`] wrote. Unknown lines (of a later version) and
            /// values that are not numbers are passed over.
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
    /// The CPU time that one sample stands for.
    interval_ns: u64,
    /// The wall-clock time from the start of the program to the dump.
    wall_ns: u64,
    /// Samples recorded on a stack. (Files of earlier versions include those without one.)
    sample_count: u64,
    /// Stacks walked; fewer than samples, as one walk can stand for several intervals.
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
    /// The time of threads for which its samples stand.
    wall_thread_ns: u64,
    /// The clock of call times: `cpu` or `wall`; empty if calls were not timed.
    clock: String,
    /// The way in which calls were timed: `tick`, `exact` or `none`.
    timing: String,
    /// Calls counted.
    call_count: u64,
    /// Calls counted by method alone, without their path, because the call tree was full.
    folded_call_count: u64,
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
    /// Allocations sampled.
    allocation_sample_count: u64,
    /// Objects without a known allocation site: allocated by the JVM or native code before the
    /// first probe.
    unsited_object_count: u64,
    /// CPU time of all Java threads seen, from the program's start on, perk's own not counted.
    java_cpu_ns: u64,
    /// CPU time of the whole process, with the JVM's start, its own threads (GC, JIT) and perk.
    process_cpu_ns: u64,
    /// CPU time of perk's thread and callbacks in the process.
    perk_cpu_ns: u64,
    /// The peak memory of perk's agent.
    perk_peak_bytes: u64,
    /// Features that perk switched off after an internal fault.
    fault_count: u64,
}

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
    fn passes_over_what_it_does_not_know() {
        let read = Accounting::from_text("pid=12\nlater=1\nsample_count=many\nno line\n");
        assert_eq!(read, Accounting { pid: 12, ..Accounting::default() });
    }
}
