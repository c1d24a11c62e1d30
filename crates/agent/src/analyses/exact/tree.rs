//! The calling contexts that probes walk: native memory that Java code reads and writes through
//! `jdk.internal.misc.Unsafe`. `java/helper/java/lang/PerkProbes.java` has the same layouts.
//!
//! A tree belongs to one thread at a time. Only that thread writes to it, without locks; the
//! growing parts (nodes, the hash table, the stack) grow in this module, called by that thread,
//! under the tree's lock. A dump reads the counts of running threads as they are. The virtual
//! threads that one platform thread carries share a tree, each for as long as it is carried: see
//! [`parked`].
//!
//! Not every call path gets a node of its own, as their number is not bounded: see [`Contexts`]. A
//! node's *context* is the node whose children are the calls from it: itself, or an earlier node
//! that stands for the same context.

mod memory;
mod parked;
mod sites;
mod stack;
mod suffixes;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(super) use self::memory::Node;
use self::memory::{
    Frame, LINE_SHIFT, NO_METHOD, address, first_slot, new_chunk, new_stack, new_table, node_at,
};
pub(super) use self::parked::Parked;
pub(super) use self::sites::Position;
use self::sites::SiteTable;
use self::suffixes::Suffixes;
use crate::recorder::Calls;
use crate::sync::lock;

const LARGEST_CHUNK: usize = 4096;
/// The initial capacity of a tree, in nodes, table entries and frames.
const FIRST_CHUNK: usize = 8;
const FIRST_TABLE: usize = 32;
const FIRST_STACK: usize = 24;

/// The call paths that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contexts {
    /// All paths. A method that is called while it already runs continues in the context of its
    /// outer call.
    Folded,
    /// The paths that differ in this number of innermost frames, exactly.
    Suffix(usize),
}

/// The trees of all threads.
#[derive(Debug)]
pub(super) struct TreePool {
    contexts: Contexts,
    /// The node that is nobody's child.
    nil: &'static Node,
    /// The frame of threads that do not have a stack.
    unborn: Box<[AtomicU64]>,
    max_nodes: u64,
    /// Whether the time of threads goes on while they wait.
    time_goes_on: bool,
    node_count: AtomicU64,
    trees: Mutex<Trees>,
}

#[derive(Debug, Default)]
struct Trees {
    all: Vec<&'static Tree>,
    /// The trees of ended threads, ready for reuse.
    free: Vec<&'static Tree>,
}

/// One thread's tree, or that of a platform thread's virtual threads. Java code knows the layout of
/// the fields before `inner`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Tree {
    /// The thread's CPU time as of the last tick.
    pub(super) cpu_ns: AtomicU64,
    table: AtomicU64,
    /// The size of the table in bytes, less one entry.
    mask: AtomicU64,
    /// The bottom of the stack.
    stack: AtomicU64,
    sites: AtomicU64,
    /// The size of that table in bytes, less one entry.
    sites_mask: AtomicU64,
    /// A field that only probes use.
    withheld: AtomicU64,
    inner: Mutex<Inner>,
    site_table: Mutex<SiteTable>,
}

#[derive(Debug)]
struct Inner {
    chunks: Vec<&'static [Node]>,
    /// The number of nodes used in the last chunk.
    used: usize,
    count: usize,
    table: Box<[AtomicU64]>,
    stack: Box<[AtomicU64]>,
    /// The smaller stacks that it had before. If a thread's own stack overflows after it got a
    /// larger one here, and before it could store its address, the thread continues with the
    /// previous one.
    outgrown: Vec<Box<[AtomicU64]>>,
    /// The addresses of the virtual threads that are parked with nodes of this tree, if their time
    /// goes on.
    parked: Vec<u64>,
    /// The node above the methods whose path is not known because there was no room for it.
    lost: Option<&'static Node>,
    /// The node that stands for a context, by its innermost frames' methods and lines.
    suffixes: Suffixes,
    /// The counts of each node as of the last dump.
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u64,
    self_ns: u64,
    total_ns: u64,
}

impl TreePool {
    /// Makes a pool of at most `max_nodes` nodes in all trees together, plus one node for each
    /// method whose path is not known.
    pub(super) fn new(contexts: Contexts, max_nodes: u64, time_goes_on: bool) -> Self {
        let nil = &new_chunk(1)[0];
        nil.method.store(NO_METHOD, Relaxed);
        nil.first.store(address(nil), Relaxed);
        nil.next.store(address(nil), Relaxed);
        let (node_count, trees) = (AtomicU64::new(0), Mutex::default());
        let unborn = new_stack(1);
        Frame::new(&unborn).begin(address(nil), address(nil));
        Self { contexts, nil, unborn, max_nodes, time_goes_on, node_count, trees }
    }

    /// Returns the address of the node that is nobody's child.
    pub(super) fn nil(&self) -> u64 {
        address(self.nil)
    }

    /// Returns the address of the frame of threads that do not have a stack.
    pub(super) fn unborn(&self) -> u64 {
        self.unborn.as_ptr() as u64
    }

    /// Returns the number of nodes.
    pub(super) fn node_count(&self) -> u64 {
        self.node_count.load(Relaxed)
    }

    /// Returns a tree for a thread that begins.
    pub(super) fn acquire(&self) -> &'static Tree {
        let free = lock(&self.trees).free.pop();
        free.unwrap_or_else(|| {
            let tree = self.scratch();
            lock(&self.trees).all.push(tree);
            tree
        })
    }

    /// Returns a tree that belongs to no thread and appears in no dump.
    pub(super) fn scratch(&self) -> &'static Tree {
        Box::leak(Box::new(Tree::new(self)))
    }

    /// Takes back a tree that no thread uses any more, with its counts.
    pub(super) fn release(&self, tree: &'static Tree) {
        lock(&self.trees).free.push(tree);
    }

    /// Returns all trees.
    pub(super) fn trees(&self) -> Vec<&'static Tree> {
        lock(&self.trees).all.clone()
    }

    fn may_grow(&self) -> bool {
        self.node_count.load(Relaxed) < self.max_nodes
    }
}

impl Tree {
    fn new(pool: &TreePool) -> Self {
        let (table, stack) = (new_table(FIRST_TABLE), new_stack(FIRST_STACK));
        let site_table = SiteTable::new();
        let (sites, sites_mask) = site_table.words();
        let tree = Self {
            // 0 would mean that a call has not begun.
            cpu_ns: AtomicU64::new(1),
            table: AtomicU64::new(table.as_ptr() as u64),
            mask: AtomicU64::new(size_of_val(&*table) as u64 - 8),
            stack: AtomicU64::new(stack.as_ptr() as u64),
            sites: AtomicU64::new(sites),
            sites_mask: AtomicU64::new(sites_mask),
            withheld: AtomicU64::new(0),
            site_table: Mutex::new(site_table),
            inner: Mutex::new(Inner {
                chunks: Vec::new(),
                used: 0,
                count: 0,
                table,
                stack,
                outgrown: Vec::new(),
                parked: Vec::new(),
                lost: None,
                suffixes: Suffixes::default(),
                seen: Vec::new(),
            }),
        };
        let mut inner = lock(&tree.inner);
        let root = inner.new_node(pool, NO_METHOD, 0, 0);
        inner.frame(0).begin(address(root), pool.nil());
        drop(inner);
        tree
    }

    /// Returns the address by which Java code knows the tree.
    pub(super) fn address(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Returns the bottom of its stack.
    pub(super) fn bottom(&self) -> u64 {
        self.stack.load(Relaxed)
    }

    /// Returns the tree at an address.
    ///
    /// # Safety
    /// The address must come from [`Tree::address`].
    pub(super) unsafe fn at(address: u64) -> &'static Self {
        // SAFETY: the caller's promise; trees are never freed.
        unsafe { &*(address as *const Self) }
    }

    /// Adds the child of a context for `method`, called from `line`, which the table does not have.
    pub(super) fn grow(&self, pool: &TreePool, context: u64, method: u32, line: u16) -> u64 {
        self.add(&mut lock(&self.inner), pool, (context, line), method)
    }

    fn add(&self, inner: &mut Inner, pool: &TreePool, key: (u64, u16), method: u32) -> u64 {
        let mut key = key;
        if !pool.may_grow() {
            key = (inner.lost(pool), 0);
            if let Some(known) = inner.find(key, method) {
                return known;
            }
        }
        let (context, line) = key;
        let node = inner.new_node(pool, method, line, context);
        let its_context = if Some(context) == inner.lost.map(address) {
            context
        } else {
            inner.context_of(pool.contexts, node)
        };
        node.context.store(its_context, Relaxed);
        if inner.count * 4 > inner.table.len() * 3 {
            inner.rehash();
            self.table.store(inner.table.as_ptr() as u64, Relaxed);
            self.mask.store(size_of_val(&*inner.table) as u64 - 8, Relaxed);
        } else {
            inner.put(node);
        }
        address(node)
    }

    /// Returns the counts since the last dump; `now_ns` is the time for calls that have not ended.
    /// Unless this is the `last` dump, the next one begins from here.
    pub(super) fn calls(&self, now_ns: u64, last: bool) -> Vec<Calls> {
        let mut inner = lock(&self.inner);
        let inner = &mut *inner;
        let running = inner.running(now_ns);
        let waited = inner.waited(now_ns);
        let places = NodeIndexes::of(&inner.chunks);
        if !last {
            inner.seen.resize(inner.count, Seen::default());
        }
        let nodes = inner.chunks.iter().flat_map(|chunk| chunk.iter()).take(inner.count);
        let mut calls: Vec<Calls> = Vec::with_capacity(inner.count);
        for (place, node) in nodes.enumerate().skip(1) {
            let (running_self, running_total) =
                running.get(&address(node)).copied().unwrap_or_default();
            let mut now = Seen {
                count: node.count.load(Relaxed),
                self_ns: node.self_ns.load(Relaxed).wrapping_add(running_self),
                total_ns: node.total_ns.load(Relaxed).wrapping_add(running_total),
            };
            if let Some(seen) = inner.seen.get_mut(place) {
                let before = std::mem::replace(seen, now);
                now.count = now.count.saturating_sub(before.count);
                now.self_ns = now.self_ns.saturating_sub(before.self_ns);
                now.total_ns = now.total_ns.saturating_sub(before.total_ns);
            }
            // The time is booked now, and not again when they continue.
            let (waited_self, waited_total) =
                waited.get(&address(node)).copied().unwrap_or_default();
            now.self_ns += waited_self;
            now.total_ns += waited_total;
            // The root does not have a row.
            let parent = places.get(node.parent()).checked_sub(1).map(|it| it as u32);
            if let Some(parent) = parent {
                calls[parent as usize].callee_count += now.count;
            }
            calls.push(Calls {
                count: now.count,
                self_ns: now.self_ns,
                total_ns: now.total_ns,
                callee_count: 0,
                method: node.method.load(Relaxed),
                parent: parent.unwrap_or(Calls::NO_PARENT),
                line: node.line(),
            });
        }
        calls
    }
}

impl Inner {
    fn new_node(&mut self, pool: &TreePool, method: u32, line: u16, parent: u64) -> &'static Node {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == self.used) {
            // Grows by a quarter: most trees are small, and there are as many as threads.
            let size = (self.count / 4).next_multiple_of(FIRST_CHUNK);
            self.chunks.push(new_chunk(size.clamp(FIRST_CHUNK, LARGEST_CHUNK)));
            self.used = 0;
        }
        let chunk = self.chunks[self.chunks.len() - 1];
        let node = &chunk[self.used];
        self.used += 1;
        self.count += 1;
        pool.node_count.fetch_add(1, Relaxed);
        node.method.store(method, Relaxed);
        node.caller.store(parent | u64::from(line) << LINE_SHIFT, Relaxed);
        node.context.store(address(node), Relaxed);
        node.first.store(pool.nil(), Relaxed);
        node.next.store(pool.nil(), Relaxed);
        node
    }

    /// Returns the node of unknown paths.
    fn lost(&mut self, pool: &TreePool) -> u64 {
        let root = address(&self.chunks[0][0]);
        let lost = match self.lost {
            Some(node) => node,
            None => self.new_node(pool, Calls::LOST, 0, root),
        };
        self.lost = Some(lost);
        address(lost)
    }

    /// Returns the node whose children are the calls from `node`.
    fn context_of(&mut self, contexts: Contexts, node: &'static Node) -> u64 {
        let method = node.method.load(Relaxed);
        match contexts {
            Contexts::Folded => {
                let outer = outward(node).skip(1);
                let same = outer.take_while(|it| it.method.load(Relaxed) != NO_METHOD);
                let mut same = same.filter(|it| it.method.load(Relaxed) == method);
                address(same.next().unwrap_or(node))
            }
            Contexts::Suffix(0) => address(&self.chunks[0][0]),
            Contexts::Suffix(depth) => self.suffixes.get_or_add(node, depth),
        }
    }

    fn find(&self, (context, line): (u64, u16), method: u32) -> Option<u64> {
        let mask = self.table.len() - 1;
        let mut slot = first_slot(context, method, line);
        loop {
            let known = self.table[slot & mask].load(Relaxed);
            if known == 0 {
                return None;
            }
            // SAFETY: the table has addresses of nodes.
            let node = unsafe { node_at(known) };
            let (parent, its) = (node.parent(), node.method.load(Relaxed));
            if (parent, node.line(), its) == (context, line, method) {
                return Some(known);
            }
            slot += 1;
        }
    }

    fn put(&self, node: &Node) {
        let mask = self.table.len() - 1;
        let mut slot = first_slot(node.parent(), node.method.load(Relaxed), node.line());
        while self.table[slot & mask].load(Relaxed) != 0 {
            slot += 1;
        }
        self.table[slot & mask].store(address(node), Relaxed);
    }

    /// Doubles the table and inserts all nodes again. No other thread reads it meanwhile: its only
    /// reader has called this.
    fn rehash(&mut self) {
        self.table = new_table(self.table.len() * 2);
        for node in self.chunks.iter().flat_map(|chunk| chunk.iter()).take(self.count).skip(1) {
            self.put(node);
        }
    }
}

/// Returns a node and its callers, up to the root.
fn outward(node: &'static Node) -> impl Iterator<Item = &'static Node> {
    std::iter::successors(Some(node), |node| {
        let parent = node.parent();
        // SAFETY: a node's parent is a node; the root has none.
        (parent != 0).then(|| unsafe { node_at(parent) })
    })
}

/// The indexes of a tree's nodes, found by their addresses.
struct NodeIndexes(Vec<(u64, usize)>);

impl NodeIndexes {
    fn of(chunks: &[&'static [Node]]) -> Self {
        let mut first = 0;
        let bases = chunks.iter().map(|chunk| {
            let base = (address(&chunk[0]), first);
            first += chunk.len();
            base
        });
        let mut bases: Vec<_> = bases.collect();
        bases.sort_unstable();
        Self(bases)
    }

    fn get(&self, address: u64) -> usize {
        let after = self.0.partition_point(|&(base, _)| base <= address);
        let (base, first) = self.0[after - 1];
        first + (address - base) as usize / size_of::<Node>()
    }
}
