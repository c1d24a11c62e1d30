//! The variants that are compared: the ways in which each program is run.

use perk_profile::Accounting;

/// A way to run a program, with its name in the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) profiler: Profiler,
}

/// A profiler of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profiler {
    /// The program runs alone.
    None,
    /// perk's agent, with these options.
    Perk(&'static str),
    /// The JVM's flight recorder, with the settings of this name.
    FlightRecorder(&'static str),
    /// Another tool, by the JVM's option that starts it, which ends with the name of a file to write.
    Other(&'static str),
}

/// A number of the agent's own account.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: fn(&Accounting) -> u64,
    /// The amount of the number that the table shows as 1.
    pub(super) unit: f64,
    pub(super) decimals: usize,
}

/// The runs and numbers that a report compares.
pub(super) struct Comparison {
    /// The variants in their order in the tables. The first and the last are without a profiler.
    pub(super) variants: Vec<Variant>,
    /// The columns of the table of the agent's own account.
    pub(super) columns: Vec<Column>,
}

const MIB: f64 = 1024.0 * 1024.0;

/// The numbers that every engine reports.
const COMMON: [Column; 5] = [
    column("perk_cpu_ns, ms", |it| it.perk_cpu_ns, 1e6, 1),
    column("process_cpu_ns, s", |it| it.process_cpu_ns, 1e9, 3),
    column("java_cpu_ns, s", |it| it.java_cpu_ns, 1e9, 3),
    column("threads", |it| it.thread_count, 1.0, 0),
    column("perk_peak_bytes, MiB", |it| it.perk_peak_bytes, MIB, 1),
];

const SAMPLING: [Column; 2] = [
    column("walks", |it| it.walk_count, 1.0, 0),
    column("failed walks", |it| it.failed_walk_count, 1.0, 0),
];

const EXACT: [Column; 5] = [
    column("million calls", |it| it.call_count, 1e6, 3),
    column("million folded", |it| it.folded_call_count, 1e6, 3),
    column("nodes", |it| it.call_node_count, 1.0, 0),
    column("instrumented methods", |it| it.instrumented_method_count, 1.0, 0),
    column("instrument_cpu_ns, ms", |it| it.instrument_cpu_ns, 1e6, 1),
];

/// The exact engine's modes, together with sampling.
pub(super) const MODES: [Variant; 15] = [
    with("samples", "cpu=samples,format=p"),
    with("counts", "cpu=counts,format=p"),
    with("times-none", "cpu=times,timing=none,format=p"),
    with("times-tick", "cpu=times,timing=tick,format=p"),
    with("times-budget", "cpu=times,path-budget=1.3,format=p"),
    with("times-exact", "cpu=times,timing=exact,format=p"),
    with("times-none-text", "cpu=times,timing=none,depth=4"),
    with("times-tick-text", "cpu=times,timing=tick,depth=4"),
    with("times-exact-text", "cpu=times,timing=exact,depth=4"),
    with("old", "cpu=old"),
    with("sites", "heap=sites"),
    with("sites-lines", "heap=sites,paths=n,format=p"),
    with("counts-sites-lines", "cpu=counts,heap=sites,paths=n,format=p"),
    with("sites-512k", "heap=sites,sample=512k"),
    with("aprof", "aprof=y"),
];

/// Another tool that counts, which runs if it is named: the recorder of JDK 25 times the methods of the classes that are
/// named.
pub(super) const OTHERS: [Variant; 1] = [Variant {
    name: "method-timing",
    profiler: Profiler::Other(
        "-XX:StartFlightRecording:method-timing=com.sun.tools.javac.code.Type;com.sun.tools.javac.code.Symbol;\
         com.sun.tools.javac.code.Types;java.util.HashMap;java.lang.String,filename=",
    ),
}];

impl Comparison {
    /// Returns the comparison of both engines that sample, at the usual interval and at a short one,
    /// with each other and with the flight recorder.
    pub(super) fn sampling() -> Self {
        let profilers = [
            with("polling 10 ms", "cpu=samples,engine=polling,interval=10ms,format=p"),
            with("signal 10 ms", "cpu=samples,engine=signal,interval=10ms,format=p"),
            with("polling 1 ms", "cpu=samples,engine=polling,interval=1ms,format=p"),
            with("signal 1 ms", "cpu=samples,engine=signal,interval=1ms,format=p"),
            recorder("JFR default", "default"),
            recorder("JFR profile", "profile"),
        ];
        Self::new(&profilers, &SAMPLING)
    }

    /// Returns the comparison of the modes and other tools with these names, or of all modes if there are no names.
    pub(super) fn exact(names: &[String]) -> Self {
        let is_named = |mode: &Variant| names.iter().any(|it| it == mode.name);
        let modes = MODES.into_iter().filter(|it| names.is_empty() || is_named(it));
        let chosen: Vec<Variant> = modes.chain(OTHERS.into_iter().filter(is_named)).collect();
        Self::new(&chosen, &EXACT)
    }

    fn new(profilers: &[Variant], columns: &[Column]) -> Self {
        let without = |name| Variant { name, profiler: Profiler::None };
        let variants = [&[without("none")], profilers, &[without("none again")]].concat();
        Self { variants, columns: [&COMMON, columns].concat() }
    }
}

const fn with(name: &'static str, options: &'static str) -> Variant {
    Variant { name, profiler: Profiler::Perk(options) }
}

const fn recorder(name: &'static str, settings: &'static str) -> Variant {
    Variant { name, profiler: Profiler::FlightRecorder(settings) }
}

const fn column(
    name: &'static str,
    of: fn(&Accounting) -> u64,
    unit: f64,
    decimals: usize,
) -> Column {
    Column { name, of, unit, decimals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_chosen_by_name() {
        let names = ["sites", "old"].map(str::to_owned);
        let comparison = Comparison::exact(&names);
        let names: Vec<_> = comparison.variants.iter().map(|it| it.name).collect();
        assert_eq!(names, ["none", "old", "sites", "none again"]);
        assert_eq!(Comparison::exact(&[]).variants.len(), MODES.len() + 2);
    }
}
