//! The records of objects: native memory that never moves, in units of 16 bytes, so that an index of
//! 31 bits leads to 32 GiB. `java/helper/java/lang/PerkFields.java` has the same layout.
//!
//! A record has a unit with its owner, its class, its site and its size, and a unit with four
//! counters for each field. A thread takes records from a *slab* of its own. What is left of a slab
//! when the thread gets the next one is free, and says how long it is, as a record does: so all
//! memory but the slabs in use can be read from its beginning to its end.
//!
//! The records of dead objects are free after a sweep: *holes*, which become slabs again.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use perk_jvm::memory::{Numbers, Pages, Region};
use perk_jvm::sync::lock;

/// The first unit of a record, or the counters of a field.
#[repr(C, align(16))]
#[derive(Debug)]
pub(super) struct Unit([AtomicU32; 4]);

const _: () = assert!(size_of::<Unit>() == 16);

impl Numbers for Unit {}

/// The tags of objects whose header cannot lead to their record have this bit, and the index.
pub(super) const TAGGED: i64 = 1 << 62;

/// The limit of units: one for each identity hash. Some of these are the JVM's own, and lead anywhere:
/// so the first unit says how many units there are.
const MOST_UNITS: usize = 1 << 31;
/// The units of a thread's first slab, and of its later ones.
const FIRST_SLAB: u32 = 64;
const LARGEST_SLAB: u32 = 4096;
/// The least number of free units that become a slab again.
const LEAST_HOLE: u32 = 64;
/// The number of holes that are looked at for a slab.
const LOOKED_AT: usize = 8;
/// The units in use at which the first sweep begins: 64 MB.
const FIRST_SWEEP: u64 = 4 << 20;

/// The least units in use at which threads wait for a sweep to end: 1 GB.
const LEAST_WAIT: u64 = 64 << 20;

/// The time for which no thread waits for memory after sweeps that have freed hardly any.
const FULL_FOR: Duration = Duration::from_secs(1);

/// The flag of a class whose objects are found by their header.
const BY_HEADER: u32 = 1 << 31;

/// The records; see the module.
#[derive(Debug)]
pub(super) struct Records {
    units: Region<Unit>,
    inner: Mutex<Inner>,
    /// The upper halves of counters that have passed 2^32, by address.
    carried: Mutex<BTreeMap<u64, u64>>,
    /// The accesses to objects without a record.
    lost_count: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    /// The first unit that was never in a slab.
    next: u32,
    /// The limit of units.
    limit: u32,
    /// The ends of the slabs in use, by their beginnings.
    slabs: BTreeMap<u32, u32>,
    holes: Vec<Range<u32>>,
    /// The units of slabs, without the holes.
    used: u64,
    next_sweep: u64,
    /// The units in use at which threads wait for the sweep to end: they make records faster than it
    /// frees them.
    wait_at: u64,
    is_sweeping: bool,
    /// The time since which there is no memory left that a sweep could free.
    full_since: Option<Instant>,
}

/// The memory from which a thread takes records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slab {
    pub(super) begin: u32,
    pub(super) free: u32,
    pub(super) end: u32,
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    records: &'a Records,
    index: u32,
}

impl Records {
    /// Makes the memory, of which at most `limit_bytes` are used.
    ///
    /// # Errors
    /// The system's error if there is no space.
    pub(super) fn new(limit_bytes: u64) -> io::Result<Self> {
        let most = u64::min(limit_bytes / size_of::<Unit>() as u64, MOST_UNITS as u64 - 1);
        let units = Region::<Unit>::new(most as usize, Pages::Huge)?;
        // The first unit is the record of no object.
        units.all()[0].0[3].store(1, Relaxed);
        let inner = Inner {
            next: 1,
            limit: most as u32,
            slabs: BTreeMap::new(),
            holes: Vec::new(),
            used: 0,
            next_sweep: FIRST_SWEEP.min(most / 2),
            wait_at: LEAST_WAIT,
            is_sweeping: false,
            full_since: None,
        };
        let records = Self {
            units,
            inner: Mutex::new(inner),
            carried: Mutex::default(),
            lost_count: AtomicU64::new(0),
        };
        records.note_size();
        Ok(records)
    }

    /// Notes for the probes how many units there are.
    fn note_size(&self) {
        let units = self.units.all();
        units[0].0[2].store(units.len().min(MOST_UNITS - 1) as u32, Relaxed);
    }

    fn unit(&self, index: u32) -> &'static Unit {
        &self.units.all()[index as usize]
    }

    /// Returns the address by which Java code finds the records.
    pub(super) fn address(&self) -> u64 {
        self.units.address()
    }

    /// Returns a new slab with room for a record, in place of a thread's last one; `None` if there
    /// is no room. The second result is whether a sweep should begin, or is to be waited for.
    pub(super) fn refill(&self, last: Slab, units: u32) -> (Option<Slab>, bool) {
        let mut locked = lock(&self.inner);
        let inner = &mut *locked;
        self.leave_locked(inner, last);
        let wanted = (2 * (last.end - last.begin)).clamp(FIRST_SLAB, LARGEST_SLAB).max(units);
        let len = |hole: &Range<u32>| hole.end - hole.start;
        let found =
            (0..inner.holes.len()).rev().take(LOOKED_AT).find(|&at| len(&inner.holes[at]) >= units);
        let range = match found {
            Some(at) => {
                let hole = &mut inner.holes[at];
                let end = hole.start + len(hole).min(wanted);
                let taken = hole.start..end;
                hole.start = end;
                match len(hole) {
                    0 => drop(inner.holes.swap_remove(at)),
                    rest => self.unit(end).set_free(rest),
                }
                // Whoever reads the records meanwhile stops here.
                self.unit(taken.start).set_free(0);
                Some(taken)
            }
            None => {
                let end = inner.next.saturating_add(wanted);
                if end <= inner.limit && !self.units.grow(end as usize) {
                    // There is no more: as at the limit, the records of dead objects are used again.
                    inner.limit = inner.next;
                }
                self.note_size();
                (end <= inner.limit).then(|| std::mem::replace(&mut inner.next, end)..end)
            }
        };
        let Some(Range { start: begin, end }) = range else {
            let is_full = inner.full_since.is_some_and(|since| since.elapsed() < FULL_FOR);
            return (None, !is_full);
        };
        inner.slabs.insert(begin, end);
        inner.used += u64::from(end - begin);
        let should_sweep = inner.used >= inner.next_sweep;
        drop(locked);
        if found.is_some() {
            // The thread writes to this memory next, so this is what brings it into the cache.
            for unit in &self.units.all()[begin as usize..end as usize] {
                unit.0.iter().for_each(|word| word.store(0, Relaxed));
            }
        }
        (Some(Slab { begin, free: begin, end }), should_sweep)
    }

    /// Whether threads make records faster than a sweep frees them.
    pub(super) fn is_overtaken(&self) -> bool {
        let inner = lock(&self.inner);
        inner.used >= inner.wait_at
    }

    /// Takes back what is left of a thread's slab.
    pub(super) fn leave(&self, slab: Slab) {
        self.leave_locked(&mut lock(&self.inner), slab);
    }

    fn leave_locked(&self, inner: &mut Inner, slab: Slab) {
        if inner.slabs.remove(&slab.begin).is_some() && slab.free < slab.end {
            self.unit(slab.free).0[3].store(slab.end - slab.free, Relaxed);
        }
    }

    /// Begins a sweep. Returns the memory with records that is neither in slabs in use nor in holes:
    /// no record of it is made or taken until the sweep ends. `None` if there is a sweep.
    pub(super) fn begin_sweep(&self) -> Option<Vec<Range<u32>>> {
        let inner = &mut *lock(&self.inner);
        if std::mem::replace(&mut inner.is_sweeping, true) {
            return None;
        }
        Some(inner.without_slabs_and(&inner.holes))
    }

    /// Ends a sweep that has freed these ranges; see [`free`](Self::free).
    pub(super) fn end_sweep(&self, mut freed: Vec<Range<u32>>) {
        let inner = &mut *lock(&self.inner);
        freed.append(&mut inner.holes);
        freed.sort_unstable_by_key(|hole| hole.start);
        let mut holes: Vec<Range<u32>> = Vec::new();
        for hole in freed {
            match holes.last_mut() {
                Some(last) if last.end == hole.start => last.end = hole.end,
                _ => holes.push(hole),
            }
        }
        holes.retain(|hole| {
            let len = hole.end - hole.start;
            self.unit(hole.start).set_free(len);
            len >= LEAST_HOLE
        });
        let free: u64 = holes.iter().map(|hole| u64::from(hole.end - hole.start)).sum();
        inner.used = u64::from(inner.next) - free;
        inner.next_sweep = (inner.used + inner.used / 2).max(FIRST_SWEEP);
        // The largest limit below which a sweep can help.
        inner.next_sweep = inner.next_sweep.min((inner.used + u64::from(inner.limit)).div_ceil(2));
        inner.holes = holes;
        inner.is_sweeping = false;
    }

    /// Notes how much memory is in use after a garbage collection and a sweep, and whether hardly any
    /// is left.
    pub(super) fn collected(&self) {
        let inner = &mut *lock(&self.inner);
        inner.wait_at = (inner.used * 3).max(LEAST_WAIT);
        let free = u64::from(inner.limit) - inner.used;
        inner.full_since = (free < u64::from(inner.limit) / 8).then(Instant::now);
    }

    /// Notes that sweeps do not free what is needed.
    pub(super) fn set_full(&self) {
        lock(&self.inner).full_since = Some(Instant::now());
    }

    /// Returns all memory in which there are records.
    pub(super) fn all(&self) -> (Vec<Range<u32>>, Vec<Range<u32>>) {
        let inner = lock(&self.inner);
        (
            inner.without_slabs_and(&[]),
            inner.slabs.iter().map(|(&begin, &end)| begin..end).collect(),
        )
    }

    /// Returns the records of a range.
    pub(super) fn of(&self, range: Range<u32>) -> impl Iterator<Item = Record<'_>> {
        let mut next = range.start;
        let parts = std::iter::from_fn(move || {
            let index = next;
            // A slab in use ends with units that were never written.
            let size = if index < range.end { self.unit(index).size() } else { 0 };
            next = index + size;
            (size > 0).then_some(Record { records: self, index })
        });
        parts.filter(|record| record.class() != 0)
    }

    /// Ends the record of a dead object, to which no identity hash must lead any more.
    pub(super) fn end(&self, index: u32) {
        self.unit(index).0[1].store(0, Relaxed);
    }

    /// Frees the units of a part of a swept range. All records in it have ended. Returns whether it
    /// can be a hole: alone, or together with one beside the range.
    pub(super) fn free(&self, part: &Range<u32>, range: &Range<u32>) -> bool {
        let carried = &mut *lock(&self.carried);
        if !carried.is_empty() {
            let address = |index: u32| self.address() + u64::from(index) * size_of::<Unit>() as u64;
            let freed = address(part.start)..address(part.end);
            carried.retain(|counter, _| !freed.contains(counter));
        }
        let len = part.end - part.start;
        self.unit(part.start).set_free(len);
        len >= LEAST_HOLE || part.start == range.start || part.end == range.end
    }

    /// Returns the class and the length of what begins at a unit.
    pub(super) fn part(&self, index: u32) -> (u32, u32) {
        let unit = &self.unit(index);
        (unit.0[1].load(Relaxed) & !BY_HEADER, unit.size())
    }

    /// Notes that a counter has passed its largest value.
    pub(super) fn carry(&self, counter: u64) {
        *lock(&self.carried).entry(counter).or_default() += 1 << 32;
    }

    /// Counts an access to an object without a record.
    pub(super) fn lose(&self) {
        self.lost_count.fetch_add(1, Relaxed);
    }

    /// Returns the number of accesses to objects without a record.
    pub(super) fn lost_count(&self) -> u64 {
        self.lost_count.load(Relaxed)
    }
}

impl Inner {
    /// Returns the memory that is not in slabs in use, nor in these holes.
    fn without_slabs_and(&self, holes: &[Range<u32>]) -> Vec<Range<u32>> {
        let slabs = self.slabs.iter().map(|(&begin, &end)| begin..end);
        let mut others: Vec<_> = slabs.chain(holes.iter().cloned()).collect();
        others.sort_unstable_by_key(|other| other.start);
        let mut rest = Vec::new();
        let mut from = 1;
        for other in others {
            if from < other.start {
                rest.push(from..other.start);
            }
            from = other.end;
        }
        if from < self.next {
            rest.push(from..self.next);
        }
        rest
    }
}

impl Unit {
    /// Returns the number of units of the record that begins here.
    fn size(&self) -> u32 {
        self.0[3].load(Relaxed)
    }

    /// Notes that this number of units is free from here on.
    fn set_free(&self, len: u32) {
        self.0[1].store(0, Relaxed);
        self.0[3].store(len, Relaxed);
    }
}

impl<'a> Record<'a> {
    /// Returns the record with an index.
    pub(super) fn at(records: &'a Records, index: u32) -> Self {
        Self { records, index }
    }

    fn head(self) -> &'static Unit {
        self.records.unit(self.index)
    }

    /// Returns the number of the class; 0 for free units.
    pub(super) fn class(self) -> u32 {
        self.head().0[1].load(Relaxed) & !BY_HEADER
    }

    /// Whether the thread that allocated the object is known.
    pub(super) fn has_owner(self) -> bool {
        self.head().0[0].load(Relaxed) != 0
    }

    /// Returns the number of the site; 0 if it is not known.
    pub(super) fn site(self) -> u32 {
        self.head().0[2].load(Relaxed)
    }

    /// Returns the counters of each field: reads by the owner and by others, writes by the owner and
    /// by others.
    pub(super) fn counts(self) -> impl Iterator<Item = [u64; 4]> {
        let first = self.index as usize + 1;
        let units =
            &self.records.units.all()[first..self.index as usize + self.head().size() as usize];
        let carried = lock(&self.records.carried);
        let carried = (!carried.is_empty()).then(|| carried.clone());
        units.iter().map(move |unit| {
            std::array::from_fn(|at| {
                let word = &unit.0[at];
                let address = std::ptr::from_ref(word) as u64;
                let upper = carried.as_ref().and_then(|carried| carried.get(&address));
                u64::from(word.load(Relaxed)) + upper.copied().unwrap_or(0)
            })
        })
    }
}
