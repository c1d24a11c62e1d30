//! The threads and their counters.

use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perk_instrument::fields::THREAD_COUNTS;
use perk_instrument::{Blocks, COUNTS_HELPER, Probes};

use crate::guard::uncounted;
use crate::jvm::{Global, Jni, LongField, ObjectField, Reference};
use crate::memory::{Pages, reserve};
use crate::sync::lock;

/// The maximum number of counters: address space of 64 MiB a thread.
pub(super) const MOST_COUNTERS: usize = 1 << 23;
/// The maximum number of threads that count by themselves at once, if others can share counters.
const MOST_ALONE: usize = 4096;

pub(super) type Counters = &'static [AtomicU64];

/// The access to the states of threads, and all counters.
#[derive(Debug)]
pub(super) struct States {
    helper: &'static Global,
    of_thread: ObjectField,
    counters: LongField,
    /// The counters of virtual threads and of those beyond the maximum, if threads may share any.
    shared: Option<Counters>,
    /// The counters of perk's own threads, of ended threads, and of methods that were entered before
    /// the start.
    unread: Counters,
    /// The state of threads that have ended.
    ended: Global,
    alone: Mutex<Alone>,
    /// The number of threads for which there was no memory.
    uncounted: AtomicU64,
}

/// The counters of threads. Those of an ended thread are the next one's, which adds to them.
#[derive(Debug, Default)]
struct Alone {
    all: Vec<Counters>,
    free: Vec<Counters>,
}

impl States {
    /// Finds the fields.
    pub(super) fn new(
        jni: Jni<'_>,
        helper: &'static Global,
        probes: Probes,
        unread: Counters,
    ) -> Result<Self, String> {
        let names = probes.names;
        let shared = match probes.blocks {
            Blocks::Shared => Some(counters()?),
            Blocks::Own | Blocks::None => None,
        };
        let find = || {
            let thread = jni.find_class(c"java/lang/Thread")?;
            let signature = CString::new(format!("L{};", names.of(COUNTS_HELPER))).ok()?;
            let field = CString::new(names.of(THREAD_COUNTS)).ok()?;
            let of_thread = jni.object_field(&thread, &field, &signature)?;
            let counters = jni.long_field(helper, c"counters")?;
            let ended = uncounted(|| jni.allocate(helper))?;
            // SAFETY: the field is the helper's, and this is a state.
            unsafe { jni.set_long(&ended, counters, address(unread)) };
            let ended = jni.global(&ended)?;
            let alone = Mutex::default();
            Some(Self {
                helper,
                of_thread,
                counters,
                shared,
                unread,
                ended,
                alone,
                uncounted: AtomicU64::new(0),
            })
        };
        find().ok_or_else(|| "no fields for the state of threads".to_owned())
    }

    /// Gives a thread its state, and returns its counters, as PerkCounts has them. A thread of perk's
    /// own does not count.
    pub(super) fn begin(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        is_own: bool,
    ) -> i64 {
        let Some(state) = uncounted(|| jni.allocate(self.helper)) else {
            return address(self.unread);
        };
        let counters = match () {
            () if is_own => address(self.unread),
            () if jni.is_virtual(thread) => self.of_others(),
            () => self.of_own().map_or_else(|| self.of_others(), address),
        };
        // SAFETY: the fields are the helper's and java.lang.Thread's, and these are a state and a
        // thread.
        unsafe {
            jni.set_long(&state, self.counters, counters);
            jni.set_object(thread, self.of_thread, Some(&state));
        }
        counters
    }

    /// Returns the counters that threads share.
    fn of_others(&self) -> i64 {
        self.shared.map_or_else(
            || {
                self.uncounted.fetch_add(1, Relaxed);
                address(self.unread)
            },
            |shared| -address(shared),
        )
    }

    /// Returns the number of threads for which there was no memory.
    pub(super) fn uncounted(&self) -> u64 {
        self.uncounted.load(Relaxed)
    }

    fn of_own(&self) -> Option<Counters> {
        let mut alone = lock(&self.alone);
        if let Some(free) = alone.free.pop() {
            return Some(free);
        }
        let is_possible = self.shared.is_none() || alone.all.len() < MOST_ALONE;
        let counters = is_possible.then(|| reserve(MOST_COUNTERS, Pages::Small).ok()).flatten()?;
        alone.all.push(counters);
        Some(counters)
    }

    /// Ends a thread, whose counters become another one's.
    pub(super) fn end(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) {
        // SAFETY: as in `begin`.
        let counters = unsafe {
            let Some(state) = jni.get_object(thread, self.of_thread) else { return };
            jni.set_object(thread, self.of_thread, Some(&self.ended));
            jni.get_long(&state, self.counters)
        };
        let mut alone = lock(&self.alone);
        let known = alone.all.iter().find(|known| address(known) == counters).copied();
        alone.free.extend(known);
    }

    /// Returns the sum over all threads of each of the first counters.
    pub(super) fn sums(&self, count: usize) -> Vec<u64> {
        let alone = lock(&self.alone);
        let mut sums = vec![0; count];
        for counters in alone.all.iter().chain(&self.shared) {
            for (sum, counter) in sums.iter_mut().zip(*counters) {
                *sum += counter.load(Relaxed);
            }
        }
        sums
    }
}

/// Returns new counters.
///
/// # Errors
/// The reason why there is no memory for them, in one line.
pub(super) fn counters() -> Result<Counters, String> {
    let counters = reserve(MOST_COUNTERS, Pages::Small);
    counters.map_err(|error| format!("perk has no memory for counters: {error}"))
}

/// Returns the address by which probes know counters that only one thread uses.
pub(super) fn address(counters: Counters) -> i64 {
    counters.as_ptr() as i64
}
