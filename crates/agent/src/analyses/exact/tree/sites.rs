//! The allocation sites of a tree: which of its nodes have which records.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::memory::{self, FRAME_WORDS, address};
use super::{NodeIndexes, Tree};
use crate::analyses::exact::sites::{Keeper, Key, Records};
use crate::recorder::{Calls, PathNode, PathSite, SitePaths};
use crate::sync::lock;

/// A tree's table begins with room for so many records.
const FIRST_TABLE: usize = 4;

/// The records of a tree, found by their keys.
#[derive(Debug)]
pub(in crate::analyses::exact) struct SiteTable {
    table: Box<[AtomicU32]>,
    count: usize,
    /// What of them is live.
    pub(in crate::analyses::exact) keeper: Keeper,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyses::exact) struct Position {
    /// The address of the node.
    pub(in crate::analyses::exact) node: u64,
    /// That of the node that it has called last; that of nobody's child if it has called none.
    pub(in crate::analyses::exact) last: u64,
    /// The line that it is at; 0 where it is not known.
    pub(in crate::analyses::exact) line: u16,
}

impl SiteTable {
    pub(super) fn new() -> Self {
        Self { table: new_table(FIRST_TABLE), count: 0, keeper: Keeper::default() }
    }

    /// Its address, and its size in bytes, less one entry.
    pub(super) fn words(&self) -> (u64, u64) {
        (self.table.as_ptr() as u64, size_of_val(&*self.table) as u64 - 4)
    }

    /// The index of the record for a key; 0 if there is no room for a new one.
    fn get_or_add(&mut self, records: &Records, key: Key, spare: bool) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mut slot = first_slot(key);
        loop {
            match self.table[slot & mask].load(Relaxed) {
                0 => break,
                known if records.key(known) == key => return Some(known),
                _ => slot += 1,
            }
        }
        let index = records.add(key, spare)?;
        self.table[slot & mask].store(index, Relaxed);
        self.count += 1;
        if self.count * 2 > self.table.len() {
            self.rehash(records);
        }
        Some(index)
    }

    /// Doubles the table. Nobody else reads it meanwhile: its one reader has called us.
    fn rehash(&mut self, records: &Records) {
        let larger = new_table(self.table.len() * 2);
        let mask = larger.len() - 1;
        for index in self.indexes() {
            let mut slot = first_slot(records.key(index));
            while larger[slot & mask].load(Relaxed) != 0 {
                slot += 1;
            }
            larger[slot & mask].store(index, Relaxed);
        }
        self.table = larger;
    }

    fn indexes(&self) -> impl Iterator<Item = u32> {
        self.table.iter().map(|index| index.load(Relaxed)).filter(|&index| index != 0)
    }
}

impl Tree {
    /// Its records.
    pub(in crate::analyses::exact) fn sites(&self) -> MutexGuard<'_, SiteTable> {
        lock(&self.site_table)
    }

    /// As [`Tree::sites`], where no other thread is at them.
    pub(in crate::analyses::exact) fn try_sites(&self) -> Option<MutexGuard<'_, SiteTable>> {
        self.site_table.try_lock().ok()
    }

    /// The index of the record for a key, which is added if it is new. Where there is no room any
    /// more it is that of the class alone; 0 if even that is too much.
    pub(in crate::analyses::exact) fn site(&self, records: &Records, key: Key) -> u32 {
        let mut sites = lock(&self.site_table);
        let index = sites.get_or_add(records, key, false).or_else(|| {
            let key = Key { node: address(&lock(&self.inner).chunks[0][0]), line: 0, ..key };
            sites.get_or_add(records, key, true)
        });
        let (address, mask) = sites.words();
        self.sites.store(address, Relaxed);
        self.sites_mask.store(mask, Relaxed);
        index.unwrap_or(0)
    }

    /// Where a thread is, by the top of its stack.
    ///
    /// # Safety
    /// The address must be that of a frame, and the thread must be the calling one.
    pub(in crate::analyses::exact) unsafe fn place_at(top: u64) -> Position {
        // SAFETY: the caller's promise.
        let frame = unsafe { std::slice::from_raw_parts(top as *const AtomicU64, FRAME_WORDS) };
        let word = |index: usize| frame[index].load(Relaxed);
        Position { node: word(0), last: word(2), line: word(FRAME_WORDS - 1) as u16 }
    }

    /// Its records, and the paths to them.
    pub(in crate::analyses::exact) fn site_paths(&self, records: &Records) -> SitePaths {
        let sites = lock(&self.site_table);
        if sites.count == 0 {
            return SitePaths::default();
        }
        let indexes: Vec<_> = sites.indexes().collect();
        drop(sites);
        let inner = lock(&self.inner);
        let places = NodeIndexes::of(&inner.chunks);
        // The root has no row.
        let row =
            |node: u64| places.get(node).checked_sub(1).map_or(Calls::NO_PARENT, |it| it as u32);
        let nodes = inner.chunks.iter().flat_map(|chunk| chunk.iter()).take(inner.count).skip(1);
        let nodes = nodes.map(|node| PathNode {
            method: node.method.load(Relaxed),
            parent: row(node.parent()),
            line: node.line(),
        });
        let sites = indexes.into_iter().map(|record| {
            let Key { node, class, line } = records.key(record);
            PathSite { node: row(node), line, class, record }
        });
        SitePaths { nodes: nodes.collect(), sites: sites.collect() }
    }

    /// The tree goes to another thread, which gets records of its own.
    pub(in crate::analyses::exact) fn leave_sites(&self) {
        let mut sites = lock(&self.site_table);
        sites.table.iter().for_each(|index| index.store(0, Relaxed));
        sites.count = 0;
        let inner = lock(&self.inner);
        let nodes = inner.chunks.iter().flat_map(|chunk| chunk.iter()).take(inner.count);
        nodes.for_each(|node| node.site.store(0, Relaxed));
    }
}

/// Where the search for a record begins; PerkProbes.findSite computes the same.
fn first_slot(key: Key) -> usize {
    memory::first_slot(key.node, key.class, key.line)
}

fn new_table(len: usize) -> Box<[AtomicU32]> {
    std::iter::repeat_with(AtomicU32::default).take(len).collect()
}
