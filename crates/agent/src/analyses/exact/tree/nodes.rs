//! The nodes of a tree as a dump reads them: where they are, while the program may continue.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::FxHashMap;

use super::memory::{Node, address};
use super::{Contexts, Inner, OpenCalls, Reading, TreePool};
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
    /// The address of the first node of all trees, if nodes have marks.
    first_of_all: Option<u64>,
}

/// The counts of a node at a moment, or since then.
#[derive(Clone, Copy, Debug, Default)]
struct NodeCounts {
    count: u64,
    self_ns: u64,
}

/// The counts of all nodes as of the last dump, by index.
#[derive(Debug, Default)]
pub(super) struct LastCounts {
    counts: Counts,
    self_ns: Counts,
}

impl LastCounts {
    /// Makes room for the counts of a number of nodes.
    fn resize(&mut self, count: usize) {
        self.counts.low.resize(count, 0);
        self.self_ns.low.resize(count, 0);
    }

    fn get(&self, index: usize) -> NodeCounts {
        NodeCounts { count: self.counts.get(index), self_ns: self.self_ns.get(index) }
    }

    fn set(&mut self, index: usize, now: NodeCounts) {
        self.counts.set(index, now.count);
        self.self_ns.set(index, now.self_ns);
    }
}

/// The nodes with their counts since the last dump, and the times of calls that have not ended.
#[derive(Debug)]
pub(in crate::analyses::exact) struct TreeCalls<'a> {
    nodes: TreeNodes,
    running: &'a OpenCalls,
    reading: Reading,
    last: MutexGuard<'a, LastCounts>,
    /// By row.
    entered_counts: Counts,
    /// By row; empty if paths are cut, as then there are no totals.
    totals_ns: Vec<u64>,
}

/// Numbers of which few have more than 32 bits.
#[derive(Debug, Default)]
struct Counts {
    low: Vec<u32>,
    /// The upper halves that are not 0, by index.
    high: FxHashMap<usize, u32>,
}

impl Counts {
    fn new(count: usize) -> Self {
        Self { low: vec![0; count], high: FxHashMap::default() }
    }

    /// Returns the number at an index; 0 if there is none.
    fn get(&self, index: usize) -> u64 {
        let high = match self.high.is_empty() {
            true => 0,
            false => self.high.get(&index).copied().unwrap_or(0),
        };
        u64::from(high) << 32 | u64::from(self.low.get(index).copied().unwrap_or(0))
    }

    /// Sets the number at an index, if there is one.
    fn set(&mut self, index: usize, number: u64) {
        let Some(low) = self.low.get_mut(index) else { return };
        *low = number as u32;
        match number >> 32 {
            0 if self.high.is_empty() => {}
            0 => drop(self.high.remove(&index)),
            high => drop(self.high.insert(index, high as u32)),
        }
    }

    fn add(&mut self, index: usize, count: u64) {
        self.set(index, self.get(index).saturating_add(count));
    }
}

impl TreeNodes {
    pub(super) fn of(inner: &Inner, first_of_all: Option<u64>) -> Self {
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
        Self { chunks, firsts, bases, count: inner.count, first_of_all }
    }

    /// Returns the row of the node at an address.
    pub(in crate::analyses::exact) fn row(&self, address: u64) -> u32 {
        let after = self.bases.partition_point(|&(base, _)| base <= address);
        let (base, first) = self.bases[after - 1];
        let index = first + (address - base) as usize / size_of::<Node>();
        index.checked_sub(1).map_or(Calls::NO_PARENT, |row| row as u32)
    }

    /// Returns the row of a node's parent; of a node that was called through methods over budget, that of the node that
    /// represents these.
    fn parent_row(&self, node: &Node) -> u32 {
        let mark = node.site.load(Relaxed);
        match self.first_of_all.filter(|_| mark != 0) {
            Some(first) => self.row(first + u64::from(mark) * size_of::<Node>() as u64),
            None => self.row(node.parent()),
        }
    }

    /// Returns the most frames of a path, or a number above 65,000.
    pub(super) fn depth(&self) -> usize {
        let mut depths: Vec<u16> = Vec::with_capacity(self.count());
        for row in 0..self.count() {
            let outer = depths.get(self.parent_row(self.node(row)) as usize);
            depths.push(outer.copied().unwrap_or(0).saturating_add(1));
        }
        depths.into_iter().max().unwrap_or(0).into()
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
        Some(PathNode { method: node.method(), parent: self.parent_row(node), line: node.line() })
    }
}

impl<'a> TreeCalls<'a> {
    pub(super) fn new(
        nodes: TreeNodes,
        pool: &TreePool,
        running: &'a OpenCalls,
        reading: Reading,
        mut last: MutexGuard<'a, LastCounts>,
    ) -> Self {
        if reading == Reading::Dump {
            last.resize(nodes.count);
        }
        let count = nodes.count();
        let (entered_counts, totals_ns) = (Counts::new(count), Vec::new());
        let mut calls = Self { nodes, running, reading, last, entered_counts, totals_ns };
        for row in 0..count {
            let node = calls.nodes.node(row);
            let parent = calls.nodes.parent_row(node);
            if parent != Calls::NO_PARENT && pool.is_entered(node) {
                let count = calls.since(row).count;
                calls.entered_counts.add(parent as usize, count);
            }
        }
        if pool.contexts == Contexts::Folded {
            calls.totals_ns = vec![0; count];
            // Children come after their parents.
            for row in (0..count).rev() {
                calls.totals_ns[row] += calls.since(row).self_ns;
                let parent = calls.nodes.parent_row(calls.nodes.node(row));
                if parent != Calls::NO_PARENT {
                    calls.totals_ns[parent as usize] += calls.totals_ns[row];
                }
            }
        }
        calls
    }

    fn now(&self, row: usize) -> NodeCounts {
        let node = self.nodes.node(row);
        let running_ns = self.running.get(&address(node)).copied().unwrap_or_default();
        NodeCounts {
            count: node.count.load(Relaxed),
            self_ns: node.self_ns.load(Relaxed).wrapping_add(running_ns),
        }
    }

    fn since(&self, row: usize) -> NodeCounts {
        let (now, last) = (self.now(row), self.last.get(row + 1));
        NodeCounts {
            count: now.count.saturating_sub(last.count),
            self_ns: now.self_ns.saturating_sub(last.self_ns),
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
        let last = self.last.get(row + 1);
        if self.reading == Reading::Dump {
            self.last.set(row + 1, now);
        }
        let self_ns = now.self_ns.saturating_sub(last.self_ns);
        let node = self.nodes.node(row);
        Calls {
            count: now.count.saturating_sub(last.count),
            self_ns,
            // The program may have continued since the totals were summed up.
            total_ns: self.totals_ns.get(row).map_or(0, |total_ns| self_ns.max(*total_ns)),
            entered_count: self.entered_counts.get(row),
            method: node.method(),
            parent: self.nodes.parent_row(node),
            line: node.line(),
        }
    }
}
