//! CPU SAMPLES, CPU TIME and the table of `cpu=old`.

use std::collections::BTreeMap;

use perk_testkit::hprof::{Call, Costs, Recording, Section};

use super::stacks::{self, Detail};
use crate::case::Case;
use crate::differences::Findings;

/// The least number of samples that is compared.
const ENOUGH_SAMPLES: u64 = 50;
/// A stack with this share of the program's samples appears in every run.
const SURE_PERCENT: u64 = 20;

/// Returns the samples by stacks of the program's own methods.
fn samples(case: &Case, recording: &Recording, costs: &Costs) -> BTreeMap<String, u64> {
    let rows = costs
        .rows
        .iter()
        .map(|row| (stacks::own(case, recording, row.trace, Detail::Methods), [row.count]));
    let mut sums = stacks::sums(rows);
    sums.retain(|key, _| !key.ends_with("..."));
    sums.into_iter().map(|(key, [count])| (key, count)).collect()
}

/// Compares the stacks that have many samples; their numbers are chance.
pub(super) fn compare_samples(
    case: &Case,
    (perk, perk_costs): (&Recording, &Costs),
    (original, original_costs): (&Recording, &Costs),
    found: &mut Findings<'_>,
) {
    let sum: u64 = perk_costs.rows.iter().map(|row| row.count).sum();
    if sum > perk_costs.total {
        found.fault(format!("{sum} samples in rows of {}", perk_costs.total));
    }
    if case.options().is_some_and(|options| options.depth == 0) {
        found.equal("samples with depth=0", perk_costs.total, original_costs.total);
    }
    let samples_of = (samples(case, perk, perk_costs), samples(case, original, original_costs));
    let totals: (u64, u64) = (samples_of.0.values().sum(), samples_of.1.values().sum());
    if totals.0.min(totals.1) < ENOUGH_SAMPLES {
        return;
    }
    for (stack, count) in &samples_of.1 {
        if count * 100 >= totals.1 * SURE_PERCENT && !samples_of.0.contains_key(stack) {
            found.fault(format!("no samples of {stack}, the original has {count}: {samples_of:?}"));
        }
    }
}

/// Returns the calls and shares of the program's own methods, by stack.
fn calls(case: &Case, recording: &Recording) -> BTreeMap<String, (u64, f64)> {
    let mut calls: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for section in &recording.sections {
        let Section::CallTimes(costs) = section else { continue };
        for row in &costs.rows {
            if stacks::begins_own(case, recording, row.trace) {
                let key = stacks::own(case, recording, row.trace, Detail::Lines);
                let sum = calls.entry(key).or_default();
                *sum = (sum.0 + row.count, sum.1 + row.percent);
            }
        }
    }
    calls
}

/// Compares the numbers of calls of every stack that either lists; `whole` is perk's file without a
/// cutoff.
pub(super) fn compare_counts(
    case: &Case,
    perk: &Recording,
    original: &Recording,
    whole: &Recording,
    found: &mut Findings<'_>,
) {
    let (perk, original, whole) = (calls(case, perk), calls(case, original), calls(case, whole));
    for (stack, (count, percent)) in &original {
        found.equal(stack, whole.get(stack).map(|it| it.0), Some(*count));
        if !perk.contains_key(stack) {
            // One of the original's milliseconds may be any time.
            let name = if *percent > 1.0 { "times-clock" } else { "times-share" };
            found.differs(name, || format!("{stack}: {percent} % in the original"));
        }
    }
    for (stack, (count, _)) in &perk {
        found.equal(stack, whole.get(stack).map(|it| it.0), Some(*count));
        if !original.contains_key(stack) {
            found.differs("times-share", || format!("{stack} is listed"));
        }
    }
}

/// Compares the calls of the program's own methods, by caller.
pub(super) fn compare_calls(
    case: &Case,
    perk: &[Call],
    original: &[Call],
    found: &mut Findings<'_>,
) {
    let rows = |calls: &[Call]| {
        let own = |method: &str| {
            let name = method.split('(').next().unwrap_or_default();
            name.rsplit_once('.').is_some_and(|(class, _)| case.is_own(class))
        };
        let rows = calls.iter().filter(|row| own(&row.callee)).map(|row| {
            let caller = if own(&row.caller) { row.caller.as_str() } else { "..." };
            (format!("{} <- {caller}", stacks::class_name(&row.callee)), [row.count])
        });
        stacks::sums(rows.collect::<Vec<_>>().into_iter())
    };
    found.equal("calls", rows(perk), rows(original));
}
