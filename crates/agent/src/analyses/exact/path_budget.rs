//! The budget for paths (`path-budget`): while calls take more than that, the methods with the most calls give up their
//! positions. Their classes are changed once more: such a method has a counter and nothing else, and what it
//! calls is below its caller, and marked.
//!
//! [`looks`](super::looks) chooses them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use perk_jvm::MethodRef;
use perk_jvm::sync::lock;
use perk_profile::{Accounting, NAME_SEPARATOR};
use rustc_hash::FxHashSet;

use super::tree::{Tree, TreePool, Users};
use crate::analyses::counters::{Counters, MOST_COUNTERS};
use crate::worker::Worker;

/// The budget; see the module.
#[derive(Debug)]
pub(super) struct PathBudget {
    /// The CPU time that the program may take, by that without perk.
    pub(super) ratio: f64,
    pub(super) counters: Counters,
    pub(super) methods: Mutex<Methods>,
    /// Whether any method is to give up its position.
    pub(super) has_any: AtomicBool,
    /// The tree that has the calls of the counters.
    pub(super) tree: OnceLock<&'static Tree>,
    pub(super) worker: Worker,
}

/// The methods that give up their positions.
#[derive(Debug, Default)]
pub(super) struct Methods {
    /// Those that are to give up their positions, by their numbers.
    pub(super) chosen: FxHashSet<u32>,
    /// Those of them that have.
    pub(super) over: FxHashSet<u32>,
    /// Those over budget, as the JVM knows them.
    pub(super) over_refs: Vec<MethodRef>,
    /// The methods of counters, and how many of their calls the tree has.
    pub(super) counted: Vec<(u32, u64)>,
    /// How many it had in all when the numbers began anew.
    count_at_reset: u64,
    /// The names of the first ones over budget.
    pub(super) names: Vec<String>,
}

impl Methods {
    /// Returns the number of all calls that the tree has.
    fn counted_count(&self) -> u64 {
        self.counted.iter().map(|it| it.1).sum()
    }
}

impl PathBudget {
    /// Makes the budget of a ratio; none if it is 0.
    ///
    /// # Errors
    /// The reason why there is no memory for counters, in one line.
    pub(super) fn new(ratio: f64) -> Result<Option<&'static Self>, String> {
        if ratio <= 0.0 {
            return Ok(None);
        }
        Ok(Some(Box::leak(Box::new(Self {
            ratio,
            counters: Counters::new()?,
            methods: Mutex::default(),
            has_any: AtomicBool::new(false),
            tree: OnceLock::new(),
            worker: Worker::default(),
        }))))
    }

    /// Returns the counters of threads.
    pub(super) fn counters(&'static self) -> &'static Counters {
        &self.counters
    }

    pub(super) fn stop(&self) {
        self.worker.stop();
    }

    /// Whether a method is to give up its position.
    pub(super) fn is_over(&self, method: u32) -> bool {
        self.has_any.load(Relaxed) && lock(&self.methods).chosen.contains(&method)
    }

    /// Notes that a method has given up its position.
    pub(super) fn gave_up(&self, method: u32) {
        lock(&self.methods).over.insert(method);
    }

    /// Returns the counter of a method; `None` if there are no more.
    pub(super) fn counter(&self, method: u32) -> Option<u32> {
        let counted = &mut lock(&self.methods).counted;
        if let Some(known) = counted.iter().position(|it| it.0 == method) {
            return Some(known as u32);
        }
        let counter = counted.len();
        if counter >= MOST_COUNTERS || !self.counters.grow(counter + 1) {
            return None;
        }
        counted.push((method, 0));
        Some(counter as u32)
    }

    /// Moves what the counters have counted to their tree.
    pub(super) fn settle(&self, pool: &TreePool) {
        if !self.has_any.load(Relaxed) {
            return;
        }
        let methods = &mut *lock(&self.methods);
        let sums = self.counters.sums(methods.counted.len());
        for ((method, seen), sum) in methods.counted.iter_mut().zip(sums) {
            if sum > *seen {
                let tree = self.tree.get_or_init(|| pool.acquire(Users::One));
                tree.count(pool, *method, sum - *seen);
                *seen = sum;
            }
        }
    }

    pub(super) fn account(&self, accounting: &mut Accounting) {
        let methods = lock(&self.methods);
        accounting.over_budget_method_count = methods.over.len() as u64;
        accounting.over_budget_methods = methods.names.join(NAME_SEPARATOR);
        accounting.over_budget_call_count = methods.counted_count() - methods.count_at_reset;
    }

    /// Begins anew with the numbers of the accounting.
    pub(super) fn reset(&self) {
        let methods = &mut *lock(&self.methods);
        methods.count_at_reset = methods.counted_count();
    }
}
