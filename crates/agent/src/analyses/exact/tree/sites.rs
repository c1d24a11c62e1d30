//! The allocation sites of a tree: the records of its nodes.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use perk_jvm::memory::{self, Table};
use perk_jvm::sync::lock;

use super::Tree;
use super::memory::first_slot as first_slot_of;
use super::nodes::TreeNodes;
use crate::analyses::exact::counts::PathSite;
use crate::analyses::exact::sites::{Keeper, Key, Records};

/// The initial capacity of a tree's table, in records.
const FIRST_TABLE: usize = 4;

/// The places of the records that are found by the number of their site. Probes read them by each number below.
pub(in crate::analyses::exact) const NUMBERED_SITES: usize = 1 << 20;

/// The records of a tree, found by their keys.
#[derive(Debug)]
pub(in crate::analyses::exact) struct SiteTable {
    table: Table<AtomicU32>,
    count: usize,
    /// The record that was used last at each site, by the site's number; and the sites that have one.
    by_site: Option<&'static [AtomicU32]>,
    used_sites: Vec<u32>,
    /// The references that show which of them live.
    pub(in crate::analyses::exact) keeper: Keeper,
}

impl SiteTable {
    pub(super) fn new(has_numbers: bool) -> Self {
        let by_site = has_numbers.then(|| memory::reserve(NUMBERED_SITES).ok()).flatten();
        Self {
            table: Table::small(FIRST_TABLE),
            count: 0,
            by_site,
            used_sites: Vec::new(),
            keeper: Keeper::default(),
        }
    }

    /// Returns the address of the records by site; 0 if there are none.
    pub(super) fn by_site_address(&self) -> u64 {
        self.by_site.map_or(0, |it| it.as_ptr() as u64)
    }

    /// Notes the record that a site has used. Many sites share the number 0, and have none.
    fn note(&mut self, site: u32, record: u32) {
        if site == 0 {
            return;
        }
        let Some(place) = self.by_site.and_then(|it| it.get(site as usize)) else { return };
        if place.swap(record, Relaxed) == 0 {
            self.used_sites.push(site);
        }
    }

    /// Returns the table's address, and its size in bytes less one entry.
    pub(super) fn words(&self) -> (u64, u64) {
        (self.table.as_ptr() as u64, size_of_val(&*self.table) as u64 - 4)
    }

    /// Returns the index of the record for a key; 0 if there is no room for a new one.
    fn get_or_add(&mut self, records: &Records, key: Key, number: u64, spare: bool) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mut slot = first_slot(key);
        loop {
            match self.table[slot & mask].load(Relaxed) {
                0 => break,
                known if records.key(known) == key => return Some(known),
                _ => slot += 1,
            }
        }
        if self.count + 2 > self.table.len() {
            return None;
        }
        let index = records.add(key, spare, number)?;
        self.table[slot & mask].store(index, Relaxed);
        self.count += 1;
        if self.count * 2 > self.table.len() {
            self.rehash(records);
        }
        Some(index)
    }

    /// Doubles the table, if there is memory for that. No other thread reads it meanwhile: its only
    /// reader has called this.
    fn rehash(&mut self, records: &Records) {
        let Some(larger) = Table::<AtomicU32>::new(self.table.len() * 2) else { return };
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
    /// Locks the records of the tree.
    pub(in crate::analyses::exact) fn sites(&self) -> MutexGuard<'_, SiteTable> {
        lock(&self.site_table)
    }

    /// Returns the index of the record for a key, which is added if it is new. If there is no room,
    /// it is the record of the class alone, and 0 if there is no room for that either.
    pub(in crate::analyses::exact) fn site(&self, records: &Records, key: Key) -> u32 {
        let mut sites = lock(&self.site_table);
        let index = sites.get_or_add(records, key, self.number, false).or_else(|| {
            let key = Key { node: self.root(), line: 0, ..key };
            sites.get_or_add(records, key, self.number, true)
        });
        let (address, mask) = sites.words();
        self.sites.store(address, Relaxed);
        self.sites_mask.store(mask, Relaxed);
        index.unwrap_or(0)
    }

    /// Returns the index of the record of a site with a number, as [`site`](Self::site) does.
    pub(in crate::analyses::exact) fn numbered_site(
        &self,
        records: &Records,
        site: u32,
        key: Key,
    ) -> u32 {
        let record = self.site(records, key);
        lock(&self.site_table).note(site, record);
        record
    }

    /// Returns the tree's nodes, and the indexes of its records.
    pub(in crate::analyses::exact) fn site_records(&self) -> (TreeNodes, Vec<u32>) {
        let sites = lock(&self.site_table);
        let mut indexes = Vec::with_capacity(sites.count);
        indexes.extend(sites.indexes());
        drop(sites);
        // The nodes of the records are there before them.
        (TreeNodes::of(&lock(&self.inner), None), indexes)
    }

    /// Returns the tree's nodes and records.
    pub(in crate::analyses::exact) fn site_paths(
        &self,
        records: &Records,
    ) -> (TreeNodes, Vec<PathSite>) {
        let (nodes, indexes) = self.site_records();
        let sites = indexes.into_iter().map(|record| {
            let Key { node, class, line } = records.key(record);
            PathSite { node: nodes.row(node), line, class, record }
        });
        let sites = sites.collect();
        (nodes, sites)
    }

    /// Removes the records, as the tree goes to another thread, which gets records of its own.
    pub(in crate::analyses::exact) fn leave_sites(&self) {
        let mut sites = lock(&self.site_table);
        sites.table.iter().for_each(|index| index.store(0, Relaxed));
        sites.count = 0;
        let by_site = sites.by_site.unwrap_or_default();
        for site in std::mem::take(&mut sites.used_sites) {
            by_site[site as usize].store(0, Relaxed);
        }
        let inner = lock(&self.inner);
        inner.nodes().for_each(|node| node.site.store(0, Relaxed));
    }
}

/// Returns the index at which the search for a record begins; PerkProbes.findSite computes the
/// same.
fn first_slot(key: Key) -> usize {
    first_slot_of(key.node, key.class, key.line)
}
