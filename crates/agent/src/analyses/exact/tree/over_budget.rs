//! The nodes that represent methods over budget, and the calls that the budget is compared with.

use std::sync::atomic::Ordering::Relaxed;

use perk_jvm::sync::lock;
use rustc_hash::FxHashSet;

use super::memory::node_at;
use super::{Inner, Tree, TreePool};
use crate::recorder::Calls;

/// The contexts in which a search looks for methods over budget, at most.
const MOST_CONTEXTS: usize = 16;

/// The calls of a method.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analyses::exact) struct MethodCalls {
    /// Those that were entered, as far as that shows.
    pub(in crate::analyses::exact) entered_count: u64,
    /// Those that were only counted, as trivial methods are.
    pub(in crate::analyses::exact) touched_count: u64,
}

impl Tree {
    /// Adds the child of a context. If a method over budget has called it, the node that represents these is between.
    pub(super) fn add_through(
        &self,
        inner: &mut Inner,
        pool: &TreePool,
        key: (u64, u16),
        method: u32,
        is_through: bool,
    ) -> u64 {
        if !is_through {
            return self.add(inner, pool, key, method);
        }
        // Parents precede their children.
        let mark = self.child(inner, pool, (key.0, 0), Calls::OVER_BUDGET);
        let node = self.add(inner, pool, key, method);
        // SAFETY: `add` returns the address of a node.
        unsafe { node_at(node) }.site.store(pool.arena.index_of(mark), Relaxed);
        node
    }

    /// Returns the number of a node's method.
    ///
    /// # Safety
    /// The address must be a node's.
    pub(in crate::analyses::exact) unsafe fn method_of(node: u64) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { node_at(node) }.method()
    }

    /// Whether a method was called from a context by some of these methods, one of them by another or alone.
    pub(in crate::analyses::exact) fn has_called(
        &self,
        pool: &TreePool,
        context: u64,
        method: u32,
        by: &FxHashSet<u32>,
    ) -> bool {
        let inner = &*lock(&self.inner);
        let mut contexts = vec![context];
        let mut at = 0;
        while let Some(&context) = contexts.get(at).filter(|_| at < MOST_CONTEXTS) {
            at += 1;
            if at > 1 && inner.find(pool, (context, 0), method).is_some() {
                return true;
            }
            for node in by.iter().filter_map(|by| inner.find(pool, (context, 0), *by)) {
                // SAFETY: it is the address of a node.
                let context = pool.context_of(unsafe { node_at(node) });
                if !contexts.contains(&context) {
                    contexts.push(context);
                }
            }
        }
        false
    }

    /// Counts calls of a method whose callers are not known: it is over budget, or called by methods over budget.
    pub(in crate::analyses::exact) fn count(&self, pool: &TreePool, method: u32, count: u64) {
        let inner = &mut *lock(&self.inner);
        let mark = self.child(inner, pool, (self.root(), 0), Calls::OVER_BUDGET);
        let node = self.child(inner, pool, (mark, 0), method);
        // SAFETY: it is the address of a node.
        unsafe { node_at(node) }.count.fetch_add(count, Relaxed);
    }

    /// Adds the calls of each method to its sums, by its number.
    pub(in crate::analyses::exact) fn add_calls(
        &self,
        pool: &TreePool,
        sums: &mut Vec<MethodCalls>,
    ) {
        for node in lock(&self.inner).nodes() {
            let (method, count) = (node.method() as usize, node.count.load(Relaxed));
            if count > 0 && method < Calls::OVER_BUDGET as usize {
                if sums.len() <= method {
                    sums.resize(method + 1, MethodCalls::default());
                }
                let MethodCalls { entered_count, touched_count } = &mut sums[method];
                *if pool.is_entered(node) { entered_count } else { touched_count } += count;
            }
        }
    }
}
