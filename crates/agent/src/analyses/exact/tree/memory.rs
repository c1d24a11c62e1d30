//! The words of nodes and tables.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use perk_jvm::memory::{Numbers, Pages, Region};

/// A method in its calling context.
#[repr(C, align(64))]
#[derive(Debug)]
pub(in crate::analyses::exact) struct Node {
    /// The number of the method; above [`LINE_SHIFT`] the line of the call, above [`TREE_SHIFT`]
    /// the number of the tree.
    pub(super) key: AtomicU64,
    /// The child that is expected to be entered next.
    pub(super) expected: AtomicU64,
    /// The number of entries.
    pub(super) count: AtomicU64,
    /// The sibling that was entered after this one the last time.
    pub(super) next: AtomicU64,
    /// The time of its calls, without what they called.
    pub(super) self_ns: AtomicU64,
    /// The address of the parent.
    pub(super) parent: AtomicU64,
    /// The index of the node whose children are the calls from this one.
    pub(super) context: AtomicU32,
    /// The allocation record used last.
    pub(super) site: AtomicU32,
    /// The lower half of the address of the child that was entered last.
    pub(super) last: AtomicU32,
    /// The index of the sibling that [`next`](Self::next) was before.
    pub(super) other: AtomicU32,
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
        caller.expected.store(self.next.load(Relaxed), Relaxed);
        caller.last.store(address(self) as u32, Relaxed);
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

/// The memory of nodes: a region that never moves, so that each node has an index.
#[derive(Debug)]
pub(super) struct Arena {
    region: Region<Node>,
    used: AtomicUsize,
    /// Whether the region could not grow: what is left is for nodes of unknown paths.
    is_short: AtomicBool,
}

/// The limit of nodes: the lower halves of their addresses differ.
const MOST_NODES: u64 = 1 << 26;
/// The nodes that are kept for unknown paths, should the region not grow.
const SPARE_NODES: usize = 1 << 13;

impl Arena {
    /// Makes room for a number of nodes.
    ///
    /// # Errors
    /// The system's error if there is no room.
    pub(super) fn new(nodes: u64) -> io::Result<Self> {
        let region = Region::new(nodes.min(MOST_NODES) as usize, Pages::Huge)?;
        Ok(Self { region, used: AtomicUsize::new(0), is_short: AtomicBool::new(false) })
    }

    /// Gives up the memory.
    ///
    /// # Safety
    /// Nobody may use nodes any more.
    pub(super) unsafe fn give_back(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.region.give_back() };
    }

    /// Returns the first node.
    pub(super) fn first(&self) -> &'static Node {
        self.get(0)
    }

    /// Returns the index of a node.
    pub(super) fn index_of(&self, address: u64) -> u32 {
        ((address - self.region.address()) / size_of::<Node>() as u64) as u32
    }

    /// Returns the node with an index.
    pub(super) fn get(&self, index: u32) -> &'static Node {
        &self.region.all()[index as usize]
    }

    /// Returns the node whose address has this lower half.
    pub(super) fn with_lower_half(&self, half: u32) -> &'static Node {
        let offset = half.wrapping_sub(self.region.address() as u32);
        self.get(offset / size_of::<Node>() as u32)
    }

    /// Whether there is no memory for more paths.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// Notes that there is no memory for more paths.
    pub(super) fn set_short(&self) {
        self.is_short.store(true, Relaxed);
    }

    /// Returns zeroed nodes; `None` if there is no room. Only those of unknown paths are `spare`.
    pub(super) fn make(&self, len: usize, spare: bool) -> Option<&'static [Node]> {
        let kept = if spare { 0 } else { SPARE_NODES };
        let more = |used: usize| self.region.grow(used + len + kept).then_some(used + len);
        match self.used.fetch_update(Relaxed, Relaxed, more) {
            Ok(start) => Some(&self.region.all()[start..start + len]),
            Err(_) => {
                self.set_short();
                None
            }
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
