//! The words of nodes, frames and tables.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::recorder::Calls;

/// A method in its calling context.
#[repr(C, align(64))]
#[derive(Debug)]
pub(in crate::analyses::exact) struct Node {
    /// The number of the method.
    pub(in crate::analyses::exact) method: AtomicU32,
    /// The allocation record used last.
    pub(in crate::analyses::exact) site: AtomicU32,
    /// The address of the parent; the bits above [`LINE_SHIFT`] are the line of the call.
    pub(super) caller: AtomicU64,
    /// The node whose children are the calls from this one.
    pub(super) context: AtomicU64,
    /// The number of entries.
    pub(super) count: AtomicU64,
    /// The child that was entered first the last time.
    pub(super) first: AtomicU64,
    /// The sibling that was entered after this one the last time.
    pub(super) next: AtomicU64,
    /// The time of its calls that have ended, without what they called.
    pub(super) self_ns: AtomicU64,
    /// The time of its calls that have ended, with what they called.
    pub(super) total_ns: AtomicU64,
}

const _: () = assert!(size_of::<Node>() == 64);

/// The method of the root, which does not have a probe.
pub(super) const NO_METHOD: u32 = Calls::LOST;

/// The number of bits of user space addresses; the other bits hold lines.
pub(super) const LINE_SHIFT: u32 = 48;

impl Node {
    pub(super) fn parent(&self) -> u64 {
        self.caller.load(Relaxed) & ((1 << LINE_SHIFT) - 1)
    }

    pub(super) fn line(&self) -> u16 {
        (self.caller.load(Relaxed) >> LINE_SHIFT) as u16
    }

    /// Counts a call.
    pub(super) fn call(&self) {
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
    }
}

/// A frame of the stack: node (0 for none), expected and last callee, start, time of callees, line
/// and limit.
pub(super) const FRAME_WORDS: usize = 6;
pub(super) const FRAME_BYTES: usize = FRAME_WORDS * 8;
/// The bit above the line in a frame's last word: this is the last frame that the stack has room
/// for.
const LIMIT: u64 = 1 << 32;

/// A frame of the stack. Time counts only where probes write the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    node: &'a AtomicU64,
    next: &'a AtomicU64,
    last: &'a AtomicU64,
    start_ns: &'a AtomicU64,
    callees_ns: &'a AtomicU64,
    /// The line and the limit.
    last_word: &'a AtomicU64,
}

impl<'a> Frame<'a> {
    pub(super) fn new(words: &'a [AtomicU64]) -> Self {
        let [node, next, last, start_ns, callees_ns, last_word] = words else {
            unreachable!("a frame has {FRAME_WORDS} words")
        };
        Self { node, next, last, start_ns, callees_ns, last_word }
    }

    /// Makes it the bottom of a stack.
    pub(super) fn begin(self, root: u64, nil: u64) {
        self.node.store(root, Relaxed);
        self.next.store(nil, Relaxed);
        self.last.store(nil, Relaxed);
    }

    /// Makes it the frame of a call of a node, which is at a line.
    pub(super) fn enter(self, node: &Node, line: u16, nil: u64, now_ns: u64) {
        self.node.store(address(node), Relaxed);
        self.next.store(node.first.load(Relaxed), Relaxed);
        self.last.store(nil, Relaxed);
        self.start_ns.store(now_ns, Relaxed);
        self.callees_ns.store(0, Relaxed);
        let last_word = self.last_word.load(Relaxed);
        self.last_word.store(last_word & LIMIT | u64::from(line), Relaxed);
    }

    /// Notes that it has called a node.
    pub(super) fn called(self, node: &Node) {
        self.next.store(node.next.load(Relaxed), Relaxed);
        self.last.store(address(node), Relaxed);
    }

    pub(super) fn node(self) -> u64 {
        self.node.load(Relaxed)
    }

    /// Returns the node; the bits above [`LINE_SHIFT`] are the line.
    pub(super) fn position(self) -> u64 {
        self.node() | self.last_word.load(Relaxed) << LINE_SHIFT
    }

    /// Whether a method runs in it.
    pub(super) fn is_used(&self) -> bool {
        self.node.load(Relaxed) != 0
    }

    pub(super) fn clear(self) {
        self.node.store(0, Relaxed);
    }

    /// Returns the time since its start, and the time of the callees that have ended.
    pub(super) fn so_far(self, now_ns: u64) -> (u64, u64) {
        match self.start_ns.load(Relaxed) {
            0 => (0, 0),
            start_ns => (now_ns.saturating_sub(start_ns), self.callees_ns.load(Relaxed)),
        }
    }

    /// Books its time on its node. Returns the time.
    pub(super) fn end(self, now_ns: u64) -> u64 {
        let (took_ns, callees_ns) = self.so_far(now_ns);
        // SAFETY: a used frame holds the address of a node.
        let node = unsafe { node_at(self.node()) };
        let own_ns = node.self_ns.load(Relaxed).wrapping_add(took_ns).wrapping_sub(callees_ns);
        node.self_ns.store(own_ns, Relaxed);
        node.total_ns.store(node.total_ns.load(Relaxed).wrapping_add(took_ns), Relaxed);
        took_ns
    }

    pub(super) fn add_callee(self, took_ns: u64) {
        self.callees_ns.store(self.callees_ns.load(Relaxed).wrapping_add(took_ns), Relaxed);
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

/// Makes a stack with room for `frames` frames, the bottom among them.
pub(super) fn new_stack(frames: usize) -> Box<[AtomicU64]> {
    let stack = new_table(frames * FRAME_WORDS);
    stack[frames * FRAME_WORDS - 1].store(LIMIT, Relaxed);
    stack
}

/// Makes zeroed nodes, which live as long as the process.
pub(super) fn new_chunk(len: usize) -> &'static [Node] {
    let layout = Layout::array::<Node>(len).expect("a chunk is small");
    // SAFETY: the layout has a size; all fields of a node are numbers, for which zeroes are valid.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<Node>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        std::slice::from_raw_parts(memory, len)
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
