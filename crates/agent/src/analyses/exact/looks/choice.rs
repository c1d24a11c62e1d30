//! The methods that give up their positions, chosen by an estimate of what calls cost.

use rustc_hash::FxHashSet;

use crate::analyses::exact::tree::MethodCalls;

/// The CPU time that is taken for a call with a position. It is twice what a call takes in a program that is not warm: with
/// less, too few methods give up to be worth their compilation. See `docs/measurements/exact.md`.
const CALL_NS: f64 = 40.0;
/// The part of this that a call takes of a method that is not entered, and one that a counter counts.
const TOUCHED: f64 = 0.4;
const COUNTED: f64 = 0.1;
/// The least part of the CPU time that is the program's own: where calls are nearly all, less is known of their cost.
const LEAST_OWN: f64 = 0.05;
/// The share of all calls below which a method keeps its position.
const LEAST_SHARE: f64 = 0.0001;

/// What the program did between two looks.
#[derive(Debug)]
pub(super) struct Look<'a> {
    /// The calls in trees, by the number of the method.
    pub(super) calls: &'a [MethodCalls],
    /// The calls of counters.
    pub(super) counted_count: u64,
    /// The CPU time of all threads.
    pub(super) cpu_ns: u64,
}

impl Look<'_> {
    /// Returns the number of calls.
    pub(super) fn call_count(&self) -> u64 {
        let in_trees: u64 = self.calls.iter().map(|it| it.entered_count + it.touched_count).sum();
        in_trees + self.counted_count
    }

    /// Chooses the methods with the most cost until what is left is within the budget: a ratio of the CPU time to that
    /// without calls. Those that are `kept` are none of them.
    pub(super) fn chosen(&self, ratio: f64, kept: &FxHashSet<u32>) -> Vec<u32> {
        let all_count = self.call_count() as f64;
        let in_trees: f64 = self.calls.iter().map(|it| cost(it) * CALL_NS).sum();
        let calls_ns = in_trees + self.counted_count as f64 * COUNTED * CALL_NS;
        let cpu_ns = self.cpu_ns as f64;
        let own_ns = (cpu_ns - calls_ns).max(cpu_ns * LEAST_OWN);
        let mut excess_ns = calls_ns - (ratio - 1.0) * own_ns;
        let candidates = self.calls.iter().enumerate().filter_map(|(method, it)| {
            let count = (it.entered_count + it.touched_count) as f64;
            let saved_ns = (cost(it) - count * COUNTED) * CALL_NS;
            let is_candidate = count > all_count * LEAST_SHARE && !kept.contains(&(method as u32));
            is_candidate.then_some((saved_ns as u64, method as u32))
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_unstable();
        let chosen = candidates.into_iter().rev().take_while(|(saved_ns, _)| {
            let is_over = excess_ns > 0.0;
            excess_ns -= *saved_ns as f64;
            is_over
        });
        chosen.map(|it| it.1).collect()
    }
}

/// Returns the cost of calls in trees, by that of one that is entered.
fn cost(calls: &MethodCalls) -> f64 {
    calls.entered_count as f64 + calls.touched_count as f64 * TOUCHED
}
