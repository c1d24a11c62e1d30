//! Virtual threads that no platform thread carries, if their time counts while they wait. There may
//! be very many: of each, only the node of the innermost call is kept.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perk_jvm::sync::lock;
use rustc_hash::FxHashMap;

/// The times of calls that have not ended, by the address of their node.
pub(in crate::analyses::exact) type OpenCalls = FxHashMap<u64, u64>;

/// The parked threads; see the module.
#[derive(Debug, Default)]
pub(in crate::analyses::exact) struct ParkedThreads(Mutex<Vec<&'static ParkedThread>>);

/// A parked thread.
#[derive(Debug)]
pub(in crate::analyses::exact) struct ParkedThread {
    /// The address of the node that waits.
    pub(in crate::analyses::exact) node: u64,
    /// The moment up to which its time is booked.
    pub(in crate::analyses::exact) since_ns: u64,
    /// Its index in the list.
    place: AtomicUsize,
}

impl ParkedThreads {
    /// Adds a thread. Returns the address by which it is removed.
    pub(in crate::analyses::exact) fn add(&self, node: u64, since_ns: u64) -> u64 {
        let mut all = lock(&self.0);
        let place = AtomicUsize::new(all.len());
        let parked: &'static ParkedThread =
            Box::leak(Box::new(ParkedThread { node, since_ns, place }));
        all.push(parked);
        std::ptr::from_ref(parked) as u64
    }

    /// Removes a thread.
    ///
    /// # Safety
    /// The address must come from [`add`](Self::add), and not have been removed.
    pub(in crate::analyses::exact) unsafe fn remove(&self, address: u64) -> Box<ParkedThread> {
        let mut all = lock(&self.0);
        // SAFETY: the caller's promise.
        let parked = unsafe { &*(address as *const ParkedThread) };
        let place = parked.place.load(Relaxed);
        all.swap_remove(place);
        if let Some(moved) = all.get(place) {
            moved.place.store(place, Relaxed);
        }
        // SAFETY: `add` made it from a box; the list that had it does not have it any more.
        unsafe { Box::from_raw(address as *mut ParkedThread) }
    }

    /// Forgets all threads: none of them is removed from now on.
    pub(in crate::analyses::exact) fn release(&self) {
        for parked in std::mem::take(&mut *lock(&self.0)) {
            // SAFETY: `add` made it from a box; the caller's promise.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(parked).cast_mut()) });
        }
    }

    /// Adds the times up to now.
    pub(in crate::analyses::exact) fn add_to(&self, running: &mut OpenCalls, now_ns: u64) {
        for parked in lock(&self.0).iter() {
            *running.entry(parked.node).or_default() += now_ns.saturating_sub(parked.since_ns);
        }
    }
}
