//! The variants that are compared: the ways in which each program is run.

use anyhow::{Result, ensure};
use perk_profile::Accounting;

/// A way to run a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    /// The agent's options. Without them, the program runs without perk.
    pub(super) options: Option<&'static str>,
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
    /// The variants in their order in the tables. The first and the last are without perk.
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

const SAMPLING: [Column; 4] = [
    column("walks", |it| it.walk_count, 1.0, 0),
    column("samples", |it| it.sample_count, 1.0, 0),
    column("failed walks", |it| it.failed_walk_count, 1.0, 0),
    column("without stack", |it| it.unattributed_count, 1.0, 0),
];

const EXACT: [Column; 5] = [
    column("million calls", |it| it.call_count, 1e6, 3),
    column("million folded", |it| it.folded_call_count, 1e6, 3),
    column("nodes", |it| it.call_node_count, 1.0, 0),
    column("instrumented methods", |it| it.instrumented_method_count, 1.0, 0),
    column("instrument_cpu_ns, ms", |it| it.instrument_cpu_ns, 1e6, 1),
];

/// The exact engine's modes, together with sampling.
const MODES: [Variant; 11] = [
    with("samples", "cpu=samples,format=p"),
    with("times-none", "cpu=times,timing=none,format=p"),
    with("times-tick", "cpu=times,timing=tick,format=p"),
    with("times-exact", "cpu=times,timing=exact,format=p"),
    with("times-none-text", "cpu=times,timing=none,depth=4"),
    with("times-tick-text", "cpu=times,timing=tick,depth=4"),
    with("times-exact-text", "cpu=times,timing=exact,depth=4"),
    with("old", "cpu=old"),
    with("sites", "heap=sites"),
    with("sites-512k", "heap=sites,sample=512k"),
    with("aprof", "aprof=y"),
];

impl Comparison {
    /// Returns the comparison of sampling at its usual interval and at a short one.
    pub(super) fn sampling() -> Self {
        let perk = [
            with(
                "perk 10 ms",
                "cpu=samples,interval=10ms,depth=2048,cutoff=0,format=b,classes=used",
            ),
            with("perk 1 ms", "cpu=samples,interval=1ms,depth=2048,cutoff=0,format=b,classes=used"),
        ];
        Self::new(&perk, &SAMPLING)
    }

    /// Returns the comparison of the modes with these names, or of all if there are no names.
    pub(super) fn exact(names: &[String]) -> Result<Self> {
        for name in names {
            let known = MODES.iter().any(|mode| mode.name == name);
            ensure!(known, "unknown mode {name}: {}", MODES.map(|mode| mode.name).join(", "));
        }
        let chosen = |mode: &Variant| names.is_empty() || names.iter().any(|it| it == mode.name);
        let modes: Vec<Variant> = MODES.into_iter().filter(chosen).collect();
        Ok(Self::new(&modes, &EXACT))
    }

    fn new(perk: &[Variant], columns: &[Column]) -> Self {
        let without = |name| Variant { name, options: None };
        let variants = [&[without("none")], perk, &[without("none again")]].concat();
        Self { variants, columns: [&COMMON, columns].concat() }
    }
}

const fn with(name: &'static str, options: &'static str) -> Variant {
    Variant { name, options: Some(options) }
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
        let comparison = Comparison::exact(&names).unwrap();
        let names: Vec<_> = comparison.variants.iter().map(|it| it.name).collect();
        assert_eq!(names, ["none", "old", "sites", "none again"]);
        assert_eq!(Comparison::exact(&[]).unwrap().variants.len(), MODES.len() + 2);
    }

    #[test]
    fn an_unknown_mode_is_an_error() {
        let error = Comparison::exact(&["slow".to_owned()]).err().unwrap().to_string();
        assert!(error.starts_with("unknown mode slow: samples, times-none, "), "{error}");
    }
}
