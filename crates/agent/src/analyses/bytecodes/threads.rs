//! The threads and their counters.

use std::ffi::CString;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perk_instrument::fields::THREAD_COUNTS;
use perk_instrument::{COUNTS_HELPER, Names};
use perk_jvm::guard::uncounted;
use perk_jvm::memory::{Pages, Region};
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Local, LongField, ObjectField, Reference};

/// The maximum number of counters.
pub(super) const MOST_COUNTERS: usize = 1 << 23;
type Counters = &'static Region<AtomicU64>;

/// The counters of all threads.
#[derive(Debug)]
pub(super) struct Tables {
    /// The counters of perk's own threads, of ended threads, and of methods that were entered before
    /// the start.
    unread: Counters,
    read: Mutex<CounterTable>,
}

/// The access to the states of threads, and all counters.
#[derive(Debug)]
pub(super) struct States {
    helper: &'static Global,
    of_thread: ObjectField,
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

    /// Returns the address of the counters that are not read.
    pub(super) fn unread(&self) -> i64 {
        address(self.unread)
    }
}

impl States {
    /// Finds the fields.
    pub(super) fn new(
        jni: Jni<'_>,
        helper: &'static Global,
        names: Names,
        tables: &'static Tables,
    ) -> Result<Self, String> {
        let find = || {
            let thread = jni.find_class(c"java/lang/Thread")?;
            let signature = CString::new(format!("L{};", names.of(COUNTS_HELPER))).ok()?;
            let field = CString::new(names.of(THREAD_COUNTS)).ok()?;
            let of_thread = jni.object_field(&thread, &field, &signature)?;
            let counters = jni.long_field(helper, c"counters")?;
            Some(Self { helper, of_thread, counters, tables, uncounted: AtomicU64::new(0) })
        };
        find().ok_or_else(|| "no fields for the state of threads".to_owned())
    }

    /// Gives a thread its state, unless it has one, and returns it. A thread of perk's own does not count, a virtual one
    /// counts in the counters of its carrier. `None` if the Java heap is full.
    pub(super) fn begin<'j>(
        &self,
        jni: Jni<'j>,
        thread: &(impl Reference + ?Sized),
        is_own: bool,
        of_carrier: i64,
    ) -> Option<Local<'j>> {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        if let Some(known) = unsafe { jni.get_object(thread, self.of_thread) } {
            return Some(known);
        }
        let state = uncounted(|| jni.allocate(self.helper))?;
        let counters = match () {
            () if is_own => self.tables.unread(),
            () if of_carrier != 0 => of_carrier,
            () => self.counters(jni, thread).map_or_else(|| self.no_counters(), address),
        };
        // SAFETY: the fields are the helper's and java.lang.Thread's, and these are a state and a
        // thread.
        unsafe {
            jni.set_long(&state, self.counters, counters);
            jni.set_object(thread, self.of_thread, Some(&state));
        }
        Some(state)
    }

    /// Returns counters for a thread, unless it is a virtual one of which no carrier is known.
    fn counters(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Counters> {
        let mut read = lock(&self.tables.read);
        if jni.is_virtual(thread) {
            return None;
        }
        if let Some(free) = read.free.pop() {
            return Some(free);
        }
        let counters = counters().ok().filter(|it| it.grow(read.len))?;
        read.all.push(counters);
        Some(counters)
    }

    fn no_counters(&self) -> i64 {
        self.uncounted.fetch_add(1, Relaxed);
        self.tables.unread()
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
            let Some(state) = jni.get_object(thread, self.of_thread) else { return };
            let counters = jni.get_long(&state, self.counters);
            jni.set_long(&state, self.counters, self.tables.unread());
            counters
        };
        let mut read = lock(&self.tables.read);
        let known = read.all.iter().find(|known| address(known) == counters).copied();
        read.free.extend(known);
    }

    /// Returns the sum over all threads of each of the first counters.
    pub(super) fn sums(&self, count: usize) -> Vec<u64> {
        let read = lock(&self.tables.read);
        let mut sums = vec![0; count];
        for counters in &read.all {
            for (sum, counter) in sums.iter_mut().zip(counters.all()) {
                *sum += counter.load(Relaxed);
            }
        }
        sums
    }
}

fn counters() -> io::Result<Counters> {
    Ok(Box::leak(Box::new(Region::new(MOST_COUNTERS, Pages::Small)?)))
}

/// Returns the address by which probes know counters that only one thread uses.
fn address(counters: Counters) -> i64 {
    counters.address() as i64
}
