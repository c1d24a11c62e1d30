//! The threads and their counters.

use std::ffi::CString;
use std::io;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Mutex, OnceLock};

use perk_instrument::Names;
use perk_instrument::fields::THREAD_COUNTERS;
use perk_jvm::memory::{Pages, Region};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, LongField, Reference};

/// The maximum number of counters.
pub(crate) const MOST_COUNTERS: usize = 1 << 23;
type Counters = &'static Region<AtomicU64>;

/// The counters of all threads.
#[derive(Debug)]
pub(super) struct Tables {
    /// The counters of perk's own threads, of ended threads, and of methods that were entered before
    /// the start.
    unread: Counters,
    read: Mutex<CounterTable>,
}

/// The number of sets of counters that the threads of a program share that runs already: as in `PerkCounts.java`.
const SHARED_SETS: usize = 16;

/// The counters of probes that are left when a recording is over.
static ENDED: OnceLock<Option<Counters>> = OnceLock::new();

/// The sets of counters that threads share, by the last bits of their numbers.
#[derive(Debug)]
pub(super) struct SharedSets {
    /// The addresses of the sets. A probe that is left reads them for ever.
    addresses: &'static [AtomicU64; SHARED_SETS],
}

/// The access to the counters of threads.
#[derive(Debug)]
pub(super) struct States {
    /// The field of a thread with the address of its counters, less that of those that are not read.
    counters: LongField,
    tables: &'static Tables,
    /// The number of threads without counters.
    uncounted: AtomicU64,
}

/// The counters of platform threads. Those of an ended thread are the next one's, which adds to them.
#[derive(Debug, Default)]
struct CounterTable {
    all: Vec<Counters>,
    free: Vec<Counters>,
    /// The number of counters that each has.
    len: usize,
}

impl Tables {
    /// Makes them.
    ///
    /// # Errors
    /// The reason why there is no memory for them, in one line.
    pub(super) fn new() -> Result<Self, String> {
        let no_memory = |error| format!("perk has no memory for counters: {error}");
        Ok(Self { unread: counters().map_err(no_memory)?, read: Mutex::default() })
    }

    /// Gives all threads this number of counters. Returns whether there is memory for them.
    pub(super) fn grow(&self, len: usize) -> bool {
        let mut read = lock(&self.read);
        let has_grown = self.unread.grow(len) && read.all.iter().all(|it| it.grow(len));
        if has_grown {
            read.len = read.len.max(len);
        }
        has_grown
    }

    /// Returns counters for one more thread; `None` if there is no memory for them.
    fn take(&self) -> Option<Counters> {
        let mut read = lock(&self.read);
        if let Some(free) = read.free.pop() {
            return Some(free);
        }
        let counters = counters().ok().filter(|it| it.grow(read.len))?;
        read.all.push(counters);
        Some(counters)
    }

    /// Returns the sum over all threads of each of the first counters.
    pub(super) fn sums(&self, count: usize) -> Vec<u64> {
        let read = lock(&self.read);
        let mut sums = vec![0; count];
        for counters in &read.all {
            for (sum, counter) in sums.iter_mut().zip(counters.all()) {
                *sum += counter.load(Relaxed);
            }
        }
        sums
    }

    /// Gives the memory back to the system.
    ///
    /// # Safety
    /// No probe counts in them any more.
    pub(super) unsafe fn free(&self) {
        let all = std::mem::take(&mut *lock(&self.read)).all;
        // SAFETY: the caller's promise; nobody else has them.
        all.iter().chain([&self.unread]).for_each(|it| unsafe { it.give_back() });
    }

    /// Returns the address of the counters that are not read.
    pub(super) fn unread(&self) -> i64 {
        address(self.unread)
    }
}

impl SharedSets {
    /// Makes the sets, the first ones of these tables.
    ///
    /// # Errors
    /// The reason why there is no memory for them, in one line.
    pub(super) fn new(tables: &Tables) -> Result<Self, String> {
        let addresses: &'static [AtomicU64; SHARED_SETS] = Box::leak(Box::default());
        for set in addresses {
            let counters = tables.take().ok_or("perk has no memory for counters")?;
            set.store(counters.address(), SeqCst);
        }
        Ok(Self { addresses })
    }

    /// Returns the address of the sets' addresses.
    pub(super) fn address(&self) -> i64 {
        self.addresses.as_ptr() as i64
    }

    /// Has probes that are left count in counters that nobody reads. Returns whether there is memory for this
    /// number of them.
    pub(super) fn redirect(&self, len: usize) -> bool {
        let unread = ENDED.get_or_init(|| counters().ok());
        let Some(unread) = unread.filter(|it| it.grow(len)) else { return false };
        self.addresses.iter().for_each(|it| it.store(unread.address(), SeqCst));
        true
    }
}

impl States {
    /// Finds the field.
    pub(super) fn new(jni: Jni<'_>, names: Names, tables: &'static Tables) -> Result<Self, String> {
        let find = || {
            let thread = jni.find_class(c"java/lang/Thread")?;
            let field = CString::new(names.of(THREAD_COUNTERS)).ok()?;
            let counters = jni.long_field(&thread, &field)?;
            Some(Self { counters, tables, uncounted: AtomicU64::new(0) })
        };
        find().ok_or_else(|| "no field for the counters of threads".to_owned())
    }

    /// Gives a platform thread its counters, unless it has some. A virtual thread gets those of its
    /// carrier when it is mounted.
    pub(super) fn begin(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let has_any = unsafe { jni.get_long(thread, self.counters) } != 0;
        if has_any || jni.is_virtual(thread) {
            return;
        }
        match self.tables.take() {
            // SAFETY: as above.
            Some(counters) => unsafe {
                jni.set_long(thread, self.counters, address(counters) - self.tables.unread());
            },
            None => {
                self.uncounted.fetch_add(1, Relaxed);
            }
        }
    }

    /// Returns the number of threads without counters.
    pub(super) fn uncounted(&self) -> u64 {
        self.uncounted.load(Relaxed)
    }

    /// Ends a platform thread, whose counters become another one's.
    pub(super) fn end(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) {
        if jni.is_virtual(thread) {
            return;
        }
        // SAFETY: as in `begin`.
        let counters = unsafe {
            let counters = jni.get_long(thread, self.counters);
            jni.set_long(thread, self.counters, 0);
            counters + self.tables.unread()
        };
        let mut read = lock(&self.tables.read);
        let known = read.all.iter().find(|known| address(known) == counters).copied();
        read.free.extend(known);
    }
}

fn counters() -> io::Result<Counters> {
    Ok(Box::leak(Box::new(Region::new(MOST_COUNTERS, Pages::Small)?)))
}

/// Returns the address by which probes know counters that only one thread uses.
fn address(counters: Counters) -> i64 {
    counters.address() as i64
}
