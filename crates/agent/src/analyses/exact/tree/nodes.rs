//! The nodes of a tree as a dump reads them: where they are, while the program may go on.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering::Relaxed;

use super::memory::{Node, address};
use super::{Contexts, Inner, Reading, Running, TreePool};
use crate::recorder::{CallNodes, Calls, PathNode, PathNodes};

/// The nodes that a tree had at one moment, by their rows: the root does not have one.
#[derive(Debug)]
pub(in crate::analyses::exact) struct TreeNodes {
    chunks: Vec<&'static [Node]>,
    /// The index of the first node of each chunk.
    firsts: Vec<usize>,
    /// The first address of each chunk and the index of its node, in order of address.
    bases: Vec<(u64, usize)>,
    /// The number of nodes, with the root.
    count: usize,
}

/// The counts of a node at a dump.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    count: u64,
    self_ns: u64,
}

/// The nodes with their counts since the last dump, and the times of calls that have not ended.
#[derive(Debug)]
pub(in crate::analyses::exact) struct TreeCalls<'a> {
    nodes: TreeNodes,
    running: &'a Running,
    reading: Reading,
    /// By index.
    seen: MutexGuard<'a, Vec<Seen>>,
    /// By row.
    entered_counts: Vec<u64>,
    /// By row; empty if paths are cut, as then there are no totals.
    totals_ns: Vec<u64>,
}

impl TreeNodes {
    pub(super) fn of(inner: &Inner) -> Self {
        let chunks = inner.chunks.clone();
        let mut first = 0;
        let firsts: Vec<_> = chunks
            .iter()
            .map(|chunk| {
                let this = first;
                first += chunk.len();
                this
            })
            .collect();
        let mut bases: Vec<_> =
            chunks.iter().zip(&firsts).map(|(chunk, first)| (address(&chunk[0]), *first)).collect();
        bases.sort_unstable();
        Self { chunks, firsts, bases, count: inner.count }
    }

    /// Returns the row of the node at an address.
    pub(super) fn row(&self, address: u64) -> u32 {
        let after = self.bases.partition_point(|&(base, _)| base <= address);
        let (base, first) = self.bases[after - 1];
        let index = first + (address - base) as usize / size_of::<Node>();
        index.checked_sub(1).map_or(Calls::NO_PARENT, |row| row as u32)
    }

    fn node(&self, row: usize) -> &'static Node {
        let index = row + 1;
        let chunk = self.firsts.partition_point(|first| *first <= index) - 1;
        &self.chunks[chunk][index - self.firsts[chunk]]
    }
}

impl PathNodes for TreeNodes {
    fn count(&self) -> usize {
        self.count.saturating_sub(1)
    }

    fn get(&self, row: u32) -> Option<PathNode> {
        let row = Some(row as usize).filter(|row| *row < self.count())?;
        let node = self.node(row);
        Some(PathNode { method: node.method(), parent: self.row(node.parent()), line: node.line() })
    }
}

impl<'a> TreeCalls<'a> {
    pub(super) fn new(
        nodes: TreeNodes,
        pool: &TreePool,
        running: &'a Running,
        reading: Reading,
        mut seen: MutexGuard<'a, Vec<Seen>>,
    ) -> Self {
        if reading == Reading::Dump {
            seen.resize(nodes.count, Seen::default());
        }
        let count = nodes.count();
        let (entered_counts, totals_ns) = (vec![0; count], Vec::new());
        let mut calls = Self { nodes, running, reading, seen, entered_counts, totals_ns };
        for row in 0..count {
            let node = calls.nodes.node(row);
            let parent = calls.nodes.row(node.parent());
            if parent != Calls::NO_PARENT && pool.is_entered(node) {
                calls.entered_counts[parent as usize] += calls.since(row).count;
            }
        }
        if pool.contexts == Contexts::Folded {
            calls.totals_ns = vec![0; count];
            // Children come after their parents.
            for row in (0..count).rev() {
                calls.totals_ns[row] += calls.since(row).self_ns;
                let parent = calls.nodes.row(calls.nodes.node(row).parent());
                if parent != Calls::NO_PARENT {
                    calls.totals_ns[parent as usize] += calls.totals_ns[row];
                }
            }
        }
        calls
    }

    fn now(&self, row: usize) -> Seen {
        let node = self.nodes.node(row);
        let running_ns = self.running.get(&address(node)).copied().unwrap_or_default();
        Seen {
            count: node.count.load(Relaxed),
            self_ns: node.self_ns.load(Relaxed).wrapping_add(running_ns),
        }
    }

    fn since(&self, row: usize) -> Seen {
        let (now, before) = (self.now(row), self.seen.get(row + 1).copied().unwrap_or_default());
        Seen {
            count: now.count.saturating_sub(before.count),
            self_ns: now.self_ns.saturating_sub(before.self_ns),
        }
    }
}

impl PathNodes for TreeCalls<'_> {
    fn count(&self) -> usize {
        self.nodes.count()
    }

    fn get(&self, row: u32) -> Option<PathNode> {
        self.nodes.get(row)
    }
}

impl CallNodes for TreeCalls<'_> {
    fn take(&mut self, row: usize) -> Calls {
        let now = self.now(row);
        let before = self.seen.get(row + 1).copied().unwrap_or_default();
        if self.reading != Reading::Flush
            && let Some(seen) = self.seen.get_mut(row + 1)
        {
            *seen = now;
        }
        let self_ns = now.self_ns.saturating_sub(before.self_ns);
        let node = self.nodes.node(row);
        Calls {
            count: now.count.saturating_sub(before.count),
            self_ns,
            // The program may have gone on since the totals were summed up.
            total_ns: self.totals_ns.get(row).map_or(0, |total_ns| self_ns.max(*total_ns)),
            entered_count: self.entered_counts[row],
            method: node.method(),
            parent: self.nodes.row(node.parent()),
            line: node.line(),
        }
    }
}
