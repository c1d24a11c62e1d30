//! The records of allocation sites: a region of native memory that never moves, so that the index
//! of a record never changes. `java/helper/java/lang/PerkProbes.java` has the same layout.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use perk_jvm::memory::{Numbers, Pages, Region, reserve};

use crate::analyses::exact::budget::{Budget, RECORD_BYTES};
use crate::analyses::exact::tree::TREE_SHIFT;

/// The counts of a site. Only the thread whose tree has the node writes to them.
#[repr(C)]
#[derive(Debug)]
struct Record {
    class: AtomicU32,
    line: AtomicU16,
    /// The number of the node's tree.
    tree: AtomicU16,
    /// The address of the node.
    node: AtomicU64,
    count: AtomicU64,
    /// The size of arrays; that of objects follows from their number.
    bytes: AtomicU64,
}

const _: () = assert!(size_of::<Record>() == 32);

/// The node and class that a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analyses::exact) struct Key {
    /// The address of the node.
    pub(in crate::analyses::exact) node: u64,
    /// The number of the class.
    pub(in crate::analyses::exact) class: u32,
    pub(in crate::analyses::exact) line: u16,
}

/// The class number of the record that belongs to no site; no class has it.
const NO_CLASS: u32 = u32::MAX;

/// The limit of records.
const MOST_RECORDS: usize = 1 << 25;
/// The number of records that are kept for sites of a class whose place is not known, should the
/// region not grow.
const RESERVE: usize = 1 << 13;

/// The number of classes whose inheritance of `clone` is stored; it is looked up each time for
/// others.
const CLONES: usize = 1 << 20;

/// The records; see the module.
#[derive(Debug)]
pub(in crate::analyses::exact) struct Records {
    region: Region<Record>,
    used: AtomicU32,
    budget: Arc<Budget>,
    /// The first seed of the block of identity hashes that each record uses; 0 if it does not have one.
    /// Only the thread that the record belongs to writes to it. It has as many as there are records.
    seeds: Region<AtomicU32>,
    /// Whether a class inherits `clone`, by the number of the class; only probes use it.
    clones: &'static [AtomicU8],
}

impl Records {
    /// Makes the region.
    ///
    /// # Errors
    /// The system's error if there is no space.
    pub(super) fn new(budget: Arc<Budget>) -> io::Result<Self> {
        let region = Region::<Record>::new(MOST_RECORDS, Pages::Huge)?;
        region.all()[0].class.store(NO_CLASS, Relaxed);
        let seeds = Region::new(MOST_RECORDS, Pages::Huge)?;
        let (used, clones) = (AtomicU32::new(1), reserve(CLONES)?);
        Ok(Self { region, used, budget, seeds, clones })
    }

    pub(super) fn address(&self) -> u64 {
        self.region.address()
    }

    /// Returns the address of the seeds by the index of the record.
    pub(super) fn seeds_address(&self) -> u64 {
        self.seeds.address()
    }

    /// Returns the first seed of the block that a record uses, which can be changed.
    pub(super) fn seed(&self, index: u32) -> &AtomicU32 {
        &self.seeds.all()[index as usize]
    }

    /// Returns the address and the length of the probes' data on classes and `clone`.
    pub(super) fn clones(&self) -> (u64, i32) {
        (self.clones.as_ptr() as u64, self.clones.len() as i32)
    }

    /// Returns the number of records, including the one that belongs to no site.
    pub(super) fn len(&self) -> usize {
        self.used.load(Relaxed) as usize
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn used_bytes(&self) -> u64 {
        (self.len() * size_of::<Record>()) as u64
    }

    /// Adds a record and returns its index; `None` if there is no room. Only a `spare`
    /// record can be one of the last. `tree` is the tree's part of the node's key.
    pub(in crate::analyses::exact) fn add(&self, key: Key, spare: bool, tree: u64) -> Option<u32> {
        if !spare && !self.budget.take(RECORD_BYTES) {
            return None;
        }
        let kept = if spare { 0 } else { RESERVE };
        let one_more = |used: u32| {
            let wanted = used as usize + 1 + kept;
            (self.region.grow(wanted) && self.seeds.grow(wanted)).then_some(used + 1)
        };
        let index = self.used.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        let record = self.get(index);
        record.line.store(key.line, Relaxed);
        record.tree.store((tree >> TREE_SHIFT) as u16, Relaxed);
        record.node.store(key.node, Relaxed);
        record.class.store(key.class, Relaxed);
        Some(index)
    }

    fn get(&self, index: u32) -> &'static Record {
        &self.region.all()[index as usize]
    }

    pub(in crate::analyses::exact) fn key(&self, index: u32) -> Key {
        let record = self.get(index);
        Key {
            node: record.node.load(Relaxed),
            class: record.class.load(Relaxed),
            line: record.line.load(Relaxed),
        }
    }

    /// Whether a record with this index exists and is for objects of a class.
    pub(super) fn is_of_class(&self, index: u32, class: u32) -> bool {
        index != 0 && (index as usize) < self.len() && self.key(index).class == class
    }

    /// Returns the objects and bytes counted so far.
    pub(super) fn counts(&self, index: u32) -> (u64, u64) {
        let record = self.get(index);
        (record.count.load(Relaxed), record.bytes.load(Relaxed))
    }

    /// Counts one more object or array; called by the thread whose record it is.
    pub(super) fn count(&self, index: u32, bytes: u64) {
        let record = self.get(index);
        record.count.store(record.count.load(Relaxed) + 1, Relaxed);
        record.bytes.store(record.bytes.load(Relaxed) + bytes, Relaxed);
    }
}

impl Numbers for Record {}
