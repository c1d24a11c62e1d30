//! The words of nodes and tables.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::memory::{Numbers, reserve};

/// A method in its calling context.
#[repr(C, align(64))]
#[derive(Debug)]
pub(in crate::analyses::exact) struct Node {
    /// The number of the method; above [`LINE_SHIFT`] the line of the call, above [`TREE_SHIFT`]
    /// the number of the tree.
    pub(super) key: AtomicU64,
    /// The allocation record used last.
    pub(super) site: AtomicU32,
    /// The index of the sibling that [`next`](Self::next) was before.
    pub(super) other: AtomicU32,
    /// The address of the parent.
    pub(super) parent: AtomicU64,
    /// The node whose children are the calls from this one.
    pub(super) context: AtomicU64,
    /// The number of entries.
    pub(super) count: AtomicU64,
    /// The child that was entered last.
    pub(super) last: AtomicU64,
    /// The sibling that was entered after this one the last time.
    pub(super) next: AtomicU64,
    /// The time of its calls, without what they called.
    pub(super) self_ns: AtomicU64,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Numbers for Node {}

/// The method of the root, which does not have a probe.
pub(super) const NO_METHOD: u32 = u32::MAX;

const LINE_SHIFT: u32 = 32;
pub(in crate::analyses::exact) const TREE_SHIFT: u32 = 48;

/// Returns the key of a node of a tree, given the tree's part of it.
pub(super) fn key(method: u32, line: u16, tree: u64) -> u64 {
    u64::from(method) | u64::from(line) << LINE_SHIFT | tree
}

impl Node {
    pub(super) fn method(&self) -> u32 {
        self.key.load(Relaxed) as u32
    }

    pub(super) fn line(&self) -> u16 {
        (self.key.load(Relaxed) >> LINE_SHIFT) as u16
    }

    /// Returns the tree's part of the key.
    pub(super) fn tree(&self) -> u64 {
        self.key.load(Relaxed) >> TREE_SHIFT << TREE_SHIFT
    }

    pub(super) fn parent(&self) -> u64 {
        self.parent.load(Relaxed)
    }

    /// Expects another node after this one from now on.
    pub(super) fn expect(&self, arena: &Arena, next: u64) {
        let before = self.next.swap(next, Relaxed);
        self.other.store(arena.index_of(before), Relaxed);
    }

    /// Counts a call from a node.
    pub(super) fn call_from(&self, caller: &Self) {
        caller.last.store(address(self), Relaxed);
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
    }
}

/// Returns the start of the search for a node, by its parent and method, or for a record, by its
/// node and class. PerkProbes.find and findSite compute the same, as an offset in bytes.
pub(super) fn first_slot(address: u64, number: u32, line: u16) -> usize {
    let key = (address >> 4).wrapping_mul(31).wrapping_add(number.into());
    let key = key.wrapping_mul(31).wrapping_add(line.into());
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

pub(super) fn new_table(len: usize) -> Box<[AtomicU64]> {
    std::iter::repeat_with(AtomicU64::default).take(len).collect()
}

/// The memory of nodes: a region that never moves, so that a node has an index.
#[derive(Debug)]
pub(super) struct Arena {
    all: &'static [Node],
    used: AtomicUsize,
}

impl Arena {
    /// Reserves room for a number of nodes, if there is some. The first node has index 0.
    pub(super) fn new(most_nodes: u64) -> Self {
        let all = usize::try_from(most_nodes).ok().and_then(|len| reserve(len).ok());
        Self { all: all.unwrap_or_default(), used: AtomicUsize::new(0) }
    }

    /// Returns the address of the node with index 0.
    pub(super) fn first(&self) -> u64 {
        self.all.as_ptr() as u64
    }

    /// Returns the index of the node at an address; 0 if it has none.
    fn index_of(&self, address: u64) -> u32 {
        let index = address.wrapping_sub(self.first()) / size_of::<Node>() as u64;
        if index < self.all.len() as u64 { index as u32 } else { 0 }
    }

    /// Returns the node with an index.
    pub(super) fn get(&self, index: u32) -> Option<&'static Node> {
        self.all.get(index as usize)
    }

    /// Makes zeroed nodes, which live as long as the process.
    pub(super) fn make(&self, len: usize) -> &'static [Node] {
        let all = self.all;
        let place = |used: usize| (used + len <= all.len()).then_some(used + len);
        if let Ok(start) = self.used.fetch_update(Relaxed, Relaxed, place) {
            return &all[start..start + len];
        }
        let layout = Layout::array::<Node>(len).expect("a chunk is small");
        // SAFETY: the layout has a size; all fields of a node are numbers, for which zeroes are
        // valid.
        unsafe {
            let memory = alloc_zeroed(layout).cast::<Node>();
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            std::slice::from_raw_parts(memory, len)
        }
    }
}

pub(super) fn address(node: &Node) -> u64 {
    std::ptr::from_ref(node) as u64
}

/// # Safety
/// The address must be a node's.
pub(super) unsafe fn node_at(address: u64) -> &'static Node {
    // SAFETY: the caller's promise; nodes are never freed.
    unsafe { &*(address as *const Node) }
}
