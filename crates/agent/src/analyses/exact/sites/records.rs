//! The records of allocation sites: a region of native memory that never moves, so that an index
//! names a record for good. `java/helper/java/lang/PerkProbes.java` has the same layout.

use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What the counts of a site are kept in. Only the thread whose tree has the node writes to them.
#[repr(C)]
#[derive(Debug)]
struct Record {
    class: AtomicU32,
    line: AtomicU16,
    /// The address of the node.
    node: AtomicU64,
    count: AtomicU64,
    /// The size of arrays; that of objects follows from their number.
    bytes: AtomicU64,
}

const _: () = assert!(size_of::<Record>() == 32);

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analyses::exact) struct Key {
    /// The address of the node.
    pub(in crate::analyses::exact) node: u64,
    /// The number of the class.
    pub(in crate::analyses::exact) class: u32,
    pub(in crate::analyses::exact) line: u16,
}

/// No class has this number: it is that of the record that is no site's.
const NO_CLASS: u32 = u32::MAX;

/// Address space for so many records is reserved; what is not written to takes no memory.
const MOST_RECORDS: usize = 1 << 25;
/// Where there is no space for so many, less do, down to this.
const LEAST_RECORDS: usize = 1 << 17;
/// The last ones are for sites of a class whose place is not known.
const RESERVE: usize = 1 << 16;

/// Of so many classes it is kept whether they inherit `clone`; of others it is asked each time.
const CLONES: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(in crate::analyses::exact) struct Records {
    all: &'static [Record],
    used: AtomicU32,
    /// By the number of a class, whether it inherits `clone`: only probes use it.
    clones: &'static [AtomicU8],
}

impl Records {
    /// Reserves the region.
    ///
    /// # Errors
    /// The system's, if there is no space.
    pub(super) fn reserve() -> io::Result<Self> {
        let mut len = MOST_RECORDS;
        let all: &'static [Record] = loop {
            match reserve(len) {
                Ok(all) => break all,
                Err(error) if len <= LEAST_RECORDS => return Err(error),
                Err(_) => len /= 2,
            }
        };
        all[0].class.store(NO_CLASS, Relaxed);
        Ok(Self { all, used: AtomicU32::new(1), clones: reserve(CLONES)? })
    }

    pub(super) fn address(&self) -> u64 {
        self.all.as_ptr() as u64
    }

    /// The address and the length of what probes know of classes and `clone`.
    pub(super) fn clones(&self) -> (u64, i32) {
        (self.clones.as_ptr() as u64, self.clones.len() as i32)
    }

    /// How many there are, with that which is no site's.
    pub(super) fn len(&self) -> usize {
        self.used.load(Relaxed) as usize
    }

    /// The memory in use.
    pub(super) fn used_bytes(&self) -> u64 {
        (self.len() * size_of::<Record>()) as u64
    }

    /// The index of a new record; `None` if there is no room. The last records are `spare`.
    pub(in crate::analyses::exact) fn add(&self, key: Key, spare: bool) -> Option<u32> {
        let room = if spare { self.all.len() } else { self.all.len() - RESERVE };
        let one_more = |used| (used < room as u32).then_some(used + 1);
        let index = self.used.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        let record = &self.all[index as usize];
        record.line.store(key.line, Relaxed);
        record.node.store(key.node, Relaxed);
        record.class.store(key.class, Relaxed);
        Some(index)
    }

    pub(in crate::analyses::exact) fn key(&self, index: u32) -> Key {
        let record = &self.all[index as usize];
        Key {
            node: record.node.load(Relaxed),
            class: record.class.load(Relaxed),
            line: record.line.load(Relaxed),
        }
    }

    /// Whether there is a record with this index, and it is for objects of a class.
    pub(super) fn is_of_class(&self, index: u32, class: u32) -> bool {
        index != 0 && (index as usize) < self.len() && self.key(index).class == class
    }

    /// The objects and bytes counted so far.
    pub(super) fn counts(&self, index: u32) -> (u64, u64) {
        let record = &self.all[index as usize];
        (record.count.load(Relaxed), record.bytes.load(Relaxed))
    }

    /// Counts one more; called by the thread whose record it is.
    pub(super) fn count(&self, index: u32, bytes: u64) {
        let record = &self.all[index as usize];
        record.count.store(record.count.load(Relaxed) + 1, Relaxed);
        record.bytes.store(record.bytes.load(Relaxed) + bytes, Relaxed);
    }
}

/// What is all zeroes when it is numbers, as records are.
trait Numbers {}
impl Numbers for Record {}
impl Numbers for AtomicU8 {}

/// Zeroes that take memory when they are written to.
fn reserve<T: Numbers>(len: usize) -> io::Result<&'static [T]> {
    let (read_write, private) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    // SAFETY: a new mapping, which nobody else has and which is never unmapped; all fields are
    // numbers, for which zeroes are valid.
    unsafe {
        let bytes = len * size_of::<T>();
        let memory = libc::mmap(null_mut(), bytes, read_write, private, -1, 0);
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(std::slice::from_raw_parts(memory.cast(), len))
    }
}
