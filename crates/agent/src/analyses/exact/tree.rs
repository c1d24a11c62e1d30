//! The calling contexts that probes walk: native memory that Java code reads and writes through
//! `jdk.internal.misc.Unsafe`. `java/helper/java/lang/PerkProbes.java` has the same layouts.
//!
//! A tree belongs to one platform thread at a time, or to the virtual threads that a platform thread
//! carries, each for as long as it is carried. Only the running thread writes to it, without locks,
//! except for the times, which the clock may book; the growing parts (nodes, the hash table) grow
//! in this module, called by that thread, under the tree's lock. A dump reads the counts of running
//! threads as they are.
//!
//! A virtual thread that has changed its platform thread still holds nodes of the earlier tree in
//! its methods. The key of a node has the number of its tree, so that a probe notices this, and
//! continues with the node of the same path in its own tree.
//!
//! Not every call path gets a node of its own, as their number is not bounded: see [`Contexts`]. A
//! node's *context* is the node whose children are the calls from it: itself, or an earlier node
//! that represents the same context.

mod memory;
mod nodes;
mod over_budget;
mod parked;
mod sites;
mod suffixes;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perk_jvm::memory::Table;
use perk_jvm::sync::lock;
use rustc_hash::FxHashMap;

pub(super) use self::memory::TREE_SHIFT;
use self::memory::{Arena, NO_METHOD, Node, address, first_slot, key, node_at};
use self::nodes::LastCounts;
pub(super) use self::nodes::{TreeCalls, TreeNodes};
pub(super) use self::over_budget::MethodCalls;
pub(super) use self::parked::{OpenCalls, ParkedThreads};
pub(super) use self::sites::NUMBERED_SITES;
use self::sites::SiteTable;
use self::suffixes::Suffixes;
use super::budget::{Budget, NODE_BYTES};
use crate::recorder::{Calls, PathNodes};

const LARGEST_CHUNK: usize = 4096;
/// The initial capacity of a tree, in nodes and table entries.
const FIRST_CHUNK: usize = 8;
const FIRST_TABLE: usize = 32;
/// The number of nodes for which address space is reserved beyond those that trees can have.
const SPARE_NODES: u64 = 1 << 20;

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
    arena: Arena,
    /// The node that is nobody's child.
    nil: &'static Node,
    max_nodes: u64,
    budget: Arc<Budget>,
    /// Whether sites have numbers, by which a tree's records are found.
    has_numbered_sites: bool,
    /// Whether there is a budget for paths: a node's [`site`](Node::site) is then the index of its mark.
    has_marks: bool,
    node_count: AtomicU64,
    trees: Mutex<Trees>,
}

#[derive(Debug, Default)]
struct Trees {
    all: Vec<&'static Tree>,
    /// The trees of ended threads, ready for reuse: those of platform threads, and those of virtual
    /// threads.
    free: [Vec<&'static Tree>; 2],
    /// The number of trees of virtual threads.
    guest_count: u64,
    /// The trees that belong to no thread.
    scratch: Vec<&'static Tree>,
}

/// The threads that use a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// One thread, until it ends.
    One = 0,
    /// The virtual threads that a platform thread carries. Their trees have numbers.
    Guests = 1,
}

/// One thread's tree, or that of a platform thread's virtual threads. Java code knows the layout of
/// the fields before `number`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Tree {
    table: AtomicU64,
    /// The size of the table in bytes, less one entry.
    mask: AtomicU64,
    sites: AtomicU64,
    /// The size of that table in bytes, less one entry.
    sites_mask: AtomicU64,
    /// The address of the node above the methods whose path is not known, once there is one.
    lost: AtomicU64,
    /// The address of the records by site, if sites have numbers; or 0.
    by_site: AtomicU64,
    /// The tree's part of the keys of its nodes; 0 if threads do not leave it.
    number: u64,
    users: Users,
    root: &'static Node,
    inner: Mutex<Inner>,
    /// The counts as of the last dump. They are locked before the recorder.
    last: Mutex<LastCounts>,
    site_table: Mutex<SiteTable>,
}

#[derive(Debug)]
struct Inner {
    chunks: Vec<&'static [Node]>,
    /// The number of nodes used in the last chunk.
    used: usize,
    count: usize,
    /// The indexes of the nodes, found by parent, line and method; 0 in a free entry.
    table: Table<AtomicU32>,
    /// The nodes of this tree with the paths of other trees' nodes.
    translated: FxHashMap<u64, u64>,
    /// The node above the methods whose path is not known because there was no room for it.
    lost: Option<&'static Node>,
    /// The node that represents a context, by its innermost frames' methods and lines.
    suffixes: Suffixes,
}

impl TreePool {
    /// Makes a pool of at most `max_nodes` nodes in all trees together, plus one node for each
    /// method whose path is not known.
    ///
    /// # Errors
    /// The system's error if there is no memory for nodes.
    pub(super) fn new(
        contexts: Contexts,
        max_nodes: u64,
        budget: Arc<Budget>,
        has_numbered_sites: bool,
        has_marks: bool,
    ) -> std::io::Result<Self> {
        // Trees grow by chunks, and have nodes for methods whose path is not known.
        let nodes = max_nodes.saturating_mul(5) / 4;
        let arena = Arena::new(nodes.saturating_add(SPARE_NODES))?;
        let _ = arena.make(1, false);
        let nil = arena.first();
        nil.key.store(key(NO_METHOD, 0, 0), Relaxed);
        nil.expected.store(address(nil), Relaxed);
        nil.next.store(address(nil), Relaxed);
        nil.last.store(address(nil) as u32, Relaxed);
        let (node_count, trees) = (AtomicU64::new(0), Mutex::default());
        Ok(Self {
            contexts,
            arena,
            nil,
            max_nodes,
            budget,
            has_numbered_sites,
            has_marks,
            node_count,
            trees,
        })
    }

    /// Returns the address of the node that is nobody's child.
    pub(super) fn nil(&self) -> u64 {
        address(self.nil)
    }

    /// Whether the node's method was entered, and not only counted, as trivial ones are: it has called
    /// another one, or was met by the clock.
    fn is_entered(&self, node: &Node) -> bool {
        node.last.load(Relaxed) != self.nil() as u32 || node.self_ns.load(Relaxed) > 0
    }

    /// Returns the memory of the nodes, in bytes.
    pub(super) fn used_bytes(&self) -> u64 {
        self.node_count() * size_of::<Node>() as u64
    }

    /// Returns the number of nodes.
    pub(super) fn node_count(&self) -> u64 {
        self.node_count.load(Relaxed)
    }

    /// Returns a tree for a thread that begins, or for virtual threads.
    pub(super) fn acquire(&self, users: Users) -> &'static Tree {
        let mut trees = lock(&self.trees);
        if let Some(free) = trees.free[users as usize].pop() {
            return free;
        }
        // There are not as many platform threads at a time as numbers.
        trees.guest_count += u64::from(users == Users::Guests);
        let number = if users == Users::Guests { trees.guest_count << TREE_SHIFT } else { 0 };
        let tree = Box::leak(Box::new(Tree::new(self, number, users)));
        trees.all.push(tree);
        tree
    }

    /// Returns a tree that belongs to no thread and appears in no dump.
    pub(super) fn scratch(&self) -> &'static Tree {
        let tree = Box::leak(Box::new(Tree::new(self, 0, Users::One)));
        lock(&self.trees).scratch.push(tree);
        tree
    }

    /// Gives up the memory of all trees and nodes.
    ///
    /// # Safety
    /// Nobody may use them any more.
    pub(super) unsafe fn free(&self) {
        let trees = std::mem::take(&mut *lock(&self.trees));
        for tree in trees.all.into_iter().chain(trees.scratch) {
            // SAFETY: `acquire` and `scratch` made it from a box; the caller's promise.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(tree).cast_mut()) });
        }
        // SAFETY: the caller's promise.
        unsafe { self.arena.give_back() };
    }

    /// Takes back a tree that no thread uses any more, with its counts.
    pub(super) fn release(&self, tree: &'static Tree) {
        lock(&self.trees).free[tree.users as usize].push(tree);
    }

    /// Returns all trees.
    pub(super) fn trees(&self) -> Vec<&'static Tree> {
        lock(&self.trees).all.clone()
    }

    /// Returns the address of the node whose children are the calls from a node.
    fn context_of(&self, node: &Node) -> u64 {
        address(self.arena.get(node.context.load(Relaxed)))
    }

    /// Returns the limit of the memory.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether there may be one more node.
    fn may_grow(&self) -> bool {
        self.node_count.load(Relaxed) < self.max_nodes
            && !self.arena.is_short()
            && self.budget.take(NODE_BYTES)
    }
}

/// The purpose for which counts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A dump: the next one begins from here.
    Dump,
    /// A dump that no other one follows.
    LastDump,
    /// A flush, after which the counts are what they were.
    Flush,
}

impl Tree {
    fn new(pool: &TreePool, number: u64, users: Users) -> Self {
        let table = Table::small(FIRST_TABLE);
        let site_table = SiteTable::new(pool.has_numbered_sites);
        let (sites, sites_mask) = site_table.words();
        let (words, mask) = (table.as_ptr() as u64, size_of_val(&*table) as u64 - 4);
        let mut inner = Inner {
            chunks: Vec::new(),
            used: 0,
            count: 0,
            table,
            translated: FxHashMap::default(),
            lost: None,
            suffixes: Suffixes::default(),
        };
        // Without room, nothing is counted.
        let root = inner.new_node(pool, key(NO_METHOD, 0, number), 0, true).unwrap_or(pool.nil);
        Self {
            table: AtomicU64::new(words),
            mask: AtomicU64::new(mask),
            sites: AtomicU64::new(sites),
            sites_mask: AtomicU64::new(sites_mask),
            lost: AtomicU64::new(0),
            by_site: AtomicU64::new(site_table.by_site_address()),
            number,
            users,
            root,
            last: Mutex::default(),
            site_table: Mutex::new(site_table),
            inner: Mutex::new(inner),
        }
    }

    /// Returns the address by which Java code knows the tree.
    pub(super) fn address(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Returns the tree's part of the keys of its nodes.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the node in which a thread begins.
    pub(super) fn root(&self) -> u64 {
        address(self.root)
    }

    /// Returns the tree at an address.
    ///
    /// # Safety
    /// The address must come from [`Tree::address`].
    pub(super) unsafe fn at(address: u64) -> &'static Self {
        // SAFETY: the caller's promise; trees are never freed.
        unsafe { &*(address as *const Self) }
    }

    /// Adds the child of a context for `method`, called from `line`, which the table does not have. If a method over
    /// budget has called it, it is marked so.
    pub(super) fn grow(
        &self,
        pool: &TreePool,
        (context, line): (u64, u16),
        method: u32,
        is_through: bool,
    ) -> u64 {
        self.add_through(&mut lock(&self.inner), pool, (context, line), method, is_through)
    }

    fn add(&self, inner: &mut Inner, pool: &TreePool, key: (u64, u16), method: u32) -> u64 {
        let mut key = key;
        let mut has_room = self.has_room(inner, pool);
        let new = |inner: &mut Inner, (context, line), spare| {
            inner.new_node(pool, memory::key(method, line, self.number), context, spare)
        };
        let mut node = (has_room && pool.may_grow()).then(|| new(inner, key, false)).flatten();
        if node.is_none() {
            key.0 = inner.lost(pool, self.number);
            self.lost.store(inner.lost.map_or(0, address), Relaxed);
            if let Some(known) = inner.find(pool, key, method) {
                return known;
            }
            has_room = has_room || inner.count + 1 < inner.table.len();
            node = has_room.then(|| new(inner, key, true)).flatten();
        }
        let Some(node) = node else { return key.0 };
        let context = key.0;
        let its_context = match method {
            _ if Some(context) == inner.lost.map(address) => context,
            Calls::OVER_BUDGET => address(node),
            _ => inner.context_of(pool, node),
        };
        node.context.store(pool.arena.index_of(its_context), Relaxed);
        inner.put(pool, node);
        address(node)
    }

    /// Makes room for one more node in the table. Returns whether it has.
    fn has_room(&self, inner: &mut Inner, pool: &TreePool) -> bool {
        if (inner.count + 1) * 4 <= inner.table.len() * 3 {
            return true;
        }
        let has_grown = !pool.arena.is_short() && inner.rehash(pool);
        if has_grown {
            self.table.store(inner.table.as_ptr() as u64, Relaxed);
            self.mask.store(size_of_val(&*inner.table) as u64 - 4, Relaxed);
        } else {
            pool.arena.set_short();
        }
        has_grown
    }

    /// Returns the node of a method that no caller is known of.
    pub(super) fn method(&self, pool: &TreePool, method: u32) -> u64 {
        let inner = &mut lock(&self.inner);
        let key = (self.root(), 0);
        inner.find(pool, key, method).unwrap_or_else(|| self.add(inner, pool, key, method))
    }

    /// Returns a node if it is one of this tree, or else the one that has its path.
    ///
    /// # Safety
    /// The address must be a node's.
    pub(super) unsafe fn owned(&self, pool: &TreePool, node: u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match node_at(node).tree() == self.number {
                true => node,
                false => self.translate(pool, node),
            }
        }
    }

    /// Returns the node of this tree that has the path of another tree's node.
    ///
    /// # Safety
    /// The address must be a node's.
    unsafe fn translate(&self, pool: &TreePool, foreign: u64) -> u64 {
        let inner = &mut *lock(&self.inner);
        if let Some(&known) = inner.translated.get(&foreign) {
            return known;
        }
        // SAFETY: the caller's promise.
        let foreign_node = unsafe { node_at(foreign) };
        let path: Vec<_> = outward(foreign_node).collect();
        let mut node = self.root();
        // The last one is the other root.
        for step in path.iter().rev().skip(1) {
            if step.method() == Calls::LOST {
                node = inner.lost(pool, self.number);
                continue;
            }
            // SAFETY: it is the address of a node.
            let context = pool.context_of(unsafe { node_at(node) });
            let (key, method) = ((context, step.line()), step.method());
            let is_through = pool.has_marks && step.site.load(Relaxed) != 0;
            let known = inner.find(pool, key, method);
            node = known.unwrap_or_else(|| self.add_through(inner, pool, key, method, is_through));
        }
        inner.translated.insert(foreign, node);
        node
    }

    /// Enters a method that the one at a node calls from a line; `is_through` returns whether the context of that node does
    /// so through a method over budget. Returns the node of the callee. PerkProbes.enter does the same.
    ///
    /// # Safety
    /// The address must be that of a node of this tree, which the calling thread uses.
    pub(super) unsafe fn enter(
        &self,
        pool: &TreePool,
        (from, line): (u64, u16),
        method: u32,
        is_through: impl FnOnce(u64) -> bool,
    ) -> u64 {
        // SAFETY: the caller's promise; a node expects a node.
        let (caller, expected) = unsafe {
            let caller = node_at(from);
            (caller, node_at(caller.expected.load(Relaxed)))
        };
        let wanted = memory::key(method, line, self.number);
        let last = pool.arena.with_lower_half(caller.last.load(Relaxed));
        let other = pool.arena.get(last.other.load(Relaxed));
        let found = [expected, other].into_iter().find(|it| it.key.load(Relaxed) == wanted);
        let node = found.unwrap_or_else(|| {
            let context = pool.context_of(caller);
            let known = lock(&self.inner).find(pool, (context, line), method);
            let grow = || self.grow(pool, (context, line), method, is_through(context));
            let node = known.unwrap_or_else(grow);
            let _inner = lock(&self.inner);
            // SAFETY: it is the address of a node.
            let node = unsafe { node_at(node) };
            // Callers share the nodes of unknown paths, and must not find each other's children by them.
            let is_own = last.parent() == context || node.parent() != context;
            if address(last) != pool.nil() && is_own {
                last.expect(&pool.arena, address(node));
            }
            node
        });
        node.call_from(caller);
        address(node)
    }

    /// Returns the child of a context for a method, which is added if it is new.
    fn child(&self, inner: &mut Inner, pool: &TreePool, key: (u64, u16), method: u32) -> u64 {
        inner.find(pool, key, method).unwrap_or_else(|| self.add(inner, pool, key, method))
    }

    /// Books time on a node.
    ///
    /// # Safety
    /// The address must be a node's.
    pub(super) unsafe fn book(node: u64, ns: u64) {
        // SAFETY: the caller's promise.
        unsafe { node_at(node) }.self_ns.fetch_add(ns, Relaxed);
    }

    /// Returns the time booked on the root, and on all other nodes.
    pub(super) fn booked_ns(&self) -> (u64, u64) {
        let inner = lock(&self.inner);
        let mut times = inner.nodes().map(|node| node.self_ns.load(Relaxed));
        (times.next().unwrap_or(0), times.sum())
    }

    /// Returns the number of the calls that it has counted: of methods that were entered, as far as
    /// that shows, and of all others.
    pub(super) fn call_counts(&self, pool: &TreePool) -> (u64, u64) {
        let inner = lock(&self.inner);
        inner.nodes().fold((0, 0), |(entered, others), node| {
            let count = node.count.load(Relaxed);
            if pool.is_entered(node) {
                (entered + count, others)
            } else {
                (entered, others + count)
            }
        })
    }

    /// Whether it has paths of more frames than a number of them.
    pub(super) fn is_deeper(&self, depth: usize) -> bool {
        let nodes = TreeNodes::of(&lock(&self.inner), None);
        nodes.count() > depth && nodes.depth() > depth
    }

    /// Returns the counts since the last dump, with the times of calls that have not ended.
    pub(super) fn calls<'a>(
        &'a self,
        pool: &TreePool,
        running: &'a OpenCalls,
        reading: Reading,
    ) -> TreeCalls<'a> {
        let last = lock(&self.last);
        let nodes = TreeNodes::of(&lock(&self.inner), pool.has_marks.then(|| pool.nil()));
        TreeCalls::new(nodes, pool, running, reading, last)
    }
}

impl Inner {
    /// Makes a node; `None` if there is no room.
    fn new_node(
        &mut self,
        pool: &TreePool,
        key: u64,
        parent: u64,
        spare: bool,
    ) -> Option<&'static Node> {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == self.used) {
            // Grows by a quarter: most trees are small, and there are as many as threads.
            let size = (self.count / 4).next_multiple_of(FIRST_CHUNK);
            let size = size.clamp(FIRST_CHUNK, if spare { FIRST_CHUNK } else { LARGEST_CHUNK });
            self.chunks.push(pool.arena.make(size, spare)?);
            self.used = 0;
        }
        let chunk = self.chunks[self.chunks.len() - 1];
        let node = &chunk[self.used];
        self.used += 1;
        self.count += 1;
        pool.node_count.fetch_add(1, Relaxed);
        node.key.store(key, Relaxed);
        node.parent.store(parent, Relaxed);
        node.context.store(pool.arena.index_of(address(node)), Relaxed);
        node.expected.store(pool.nil(), Relaxed);
        node.next.store(pool.nil(), Relaxed);
        node.last.store(pool.nil() as u32, Relaxed);
        Some(node)
    }

    /// Returns all nodes; parents precede their children, the root is the first.
    fn nodes(&self) -> impl Iterator<Item = &'static Node> + use<> {
        let chunks = self.chunks.clone();
        chunks.into_iter().flatten().take(self.count)
    }

    /// Returns the node of unknown paths; the root if there is no room for it.
    fn lost(&mut self, pool: &TreePool, number: u64) -> u64 {
        let Some(root) = self.nodes().next() else { return pool.nil() };
        if self.lost.is_none() {
            self.lost = self.new_node(pool, key(Calls::LOST, 0, number), address(root), true);
        }
        address(self.lost.unwrap_or(root))
    }

    /// Returns the node whose children are the calls from `node`.
    fn context_of(&mut self, pool: &TreePool, node: &'static Node) -> u64 {
        let TreePool { contexts, arena, .. } = pool;
        let method = node.method();
        match *contexts {
            Contexts::Folded => {
                let outer = outward(node).skip(1);
                let same = outer.take_while(|it| it.method() != NO_METHOD);
                let mut same = same.filter(|it| it.method() == method);
                address(same.next().unwrap_or(node))
            }
            Contexts::Suffix(0) => address(&self.chunks[0][0]),
            Contexts::Suffix(depth) => self.suffixes.get_or_add(arena, node, depth),
        }
    }

    fn find(&self, pool: &TreePool, key: (u64, u16), method: u32) -> Option<u64> {
        let (context, line) = key;
        let mask = self.table.len() - 1;
        let mut slot = first_slot(context, method, line);
        loop {
            let known = self.table[slot & mask].load(Relaxed);
            if known == 0 {
                return None;
            }
            let node = pool.arena.get(known);
            let (parent, its) = (node.parent(), node.method());
            if (parent, node.line(), its) == (context, line, method) {
                return Some(address(node));
            }
            slot += 1;
        }
    }

    fn put(&self, pool: &TreePool, node: &Node) {
        let mask = self.table.len() - 1;
        let mut slot = first_slot(node.parent(), node.method(), node.line());
        while self.table[slot & mask].load(Relaxed) != 0 {
            slot += 1;
        }
        self.table[slot & mask].store(pool.arena.index_of(address(node)), Relaxed);
    }

    /// Doubles the table and inserts all nodes again. Returns whether there is memory for that. No other
    /// thread reads it meanwhile: its only reader has called this.
    fn rehash(&mut self, pool: &TreePool) -> bool {
        let Some(table) = Table::new(self.table.len() * 2) else { return false };
        self.table = table;
        for node in self.nodes().skip(1) {
            self.put(pool, node);
        }
        true
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
