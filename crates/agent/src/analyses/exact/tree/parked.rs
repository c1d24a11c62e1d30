//! Virtual threads that no platform thread carries. There may be very many, so only a little data
//! is kept of each: the nodes and lines of its open calls. While a virtual thread is carried, it
//! uses the tree for the guests of its platform thread; if threads are distinguished, it has a tree
//! of its own.
//!
//! When it leaves its carrier, its open calls end; when it continues, they begin anew. They are
//! counted once, and their time is the sum of the parts.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::memory::{LINE_SHIFT, node_at};
use super::stack::Times;
use super::{Inner, Tree, TreePool};
use crate::sync::lock;

/// The bit that distinguishes the address of a parked thread from that of a tree, which is even.
const MARK: u64 = 1;

/// A parked virtual thread; see the module.
#[derive(Debug)]
pub(in crate::analyses::exact) struct Parked {
    /// The tree that has the nodes.
    home: &'static Tree,
    /// The addresses of the nodes, the outermost first; the bits above [`LINE_SHIFT`] are the
    /// lines.
    frames: Box<[u64]>,
    withheld: u64,
    /// The moment up to which its time is booked.
    until_ns: AtomicU64,
    /// Its index in the list of its home.
    place: AtomicUsize,
}

impl Parked {
    /// Whether the value that a thread holds in place of a tree is the address of a parked thread.
    pub(in crate::analyses::exact) fn is_one(address: i64) -> bool {
        address > 0 && address as u64 & MARK != 0
    }

    /// Returns the address by which Java code knows it.
    fn into_address(self: Box<Self>) -> u64 {
        Box::into_raw(self) as u64 | MARK
    }

    /// Returns the parked thread with an address.
    ///
    /// # Safety
    /// The address must come from [`Tree::park`], and must not be used any more.
    pub(in crate::analyses::exact) unsafe fn from_address(address: u64) -> Box<Self> {
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw((address & !MARK) as *mut Self) }
    }

    /// Returns the tree that it comes from.
    pub(in crate::analyses::exact) fn home(&self) -> &'static Tree {
        self.home
    }
}

impl Tree {
    /// Parks the virtual thread at `top`, which leaves its platform thread. Returns the address of
    /// the parked state.
    pub(in crate::analyses::exact) fn park(
        &'static self,
        pool: &TreePool,
        top: u64,
        now_ns: u64,
    ) -> u64 {
        let inner = &mut *lock(&self.inner);
        let stack = inner.stack_of(top);
        let frames = (1..=stack.depth).map(|depth| stack.frame(depth).position()).collect();
        // If the outermost call has taken no time, the others have not either.
        if stack.depth > 0 && stack.frame(1).so_far(now_ns) != (0, 0) {
            stack.leave(0, now_ns);
        }
        inner.forget_stacks();
        let parked = Box::new(Parked {
            home: self,
            frames,
            withheld: self.withheld.swap(0, Relaxed),
            until_ns: AtomicU64::new(now_ns),
            place: AtomicUsize::new(inner.parked.len()),
        });
        let address = parked.into_address();
        if pool.time_goes_on {
            inner.parked.push(address);
        }
        address
    }

    /// Resumes a virtual thread on this tree. Returns the top of its stack.
    pub(in crate::analyses::exact) fn resume(
        &self,
        pool: &TreePool,
        parked: &Parked,
        now_ns: u64,
    ) -> u64 {
        let mut start_ns = now_ns;
        if pool.time_goes_on {
            lock(&parked.home.inner).forget_parked(parked);
            start_ns = parked.until_ns.load(Relaxed);
        }
        let is_home = std::ptr::eq(self, parked.home);
        let inner = &mut *lock(&self.inner);
        self.make_room(inner, parked.frames.len());
        let mut line = 0;
        for (depth, frame) in parked.frames.iter().enumerate() {
            // SAFETY: it was the node of a frame.
            let mut node = unsafe { node_at(frame & ((1 << LINE_SHIFT) - 1)) };
            if !is_home {
                let caller = inner.frame(depth).node();
                let method = node.method.load(Relaxed);
                let own = self.child(inner, pool, caller, method, line);
                // SAFETY: it is that of a node.
                node = unsafe { node_at(own) };
            }
            line = (frame >> LINE_SHIFT) as u16;
            inner.frame(depth).called(node);
            inner.frame(depth + 1).enter(node, line, pool.nil(), start_ns);
        }
        self.withheld.store(parked.withheld, Relaxed);
        inner.address(parked.frames.len())
    }
}

impl Inner {
    /// Removes a parked thread from the list.
    fn forget_parked(&mut self, parked: &Parked) {
        let place = parked.place.load(Relaxed);
        self.parked.swap_remove(place);
        if let Some(&moved) = self.parked.get(place) {
            // SAFETY: the parked threads of the list exist until they are removed from it, under
            // its lock.
            unsafe { at(moved) }.place.store(place, Relaxed);
        }
    }

    /// Returns the time of the parked threads in the list that has passed since it was booked last.
    pub(super) fn waited(&self, now_ns: u64) -> Times {
        let mut waited = Times::default();
        for &address in &self.parked {
            // SAFETY: as above.
            let parked = unsafe { at(address) };
            let took_ns = now_ns.saturating_sub(parked.until_ns.swap(now_ns, Relaxed));
            for (place, frame) in parked.frames.iter().rev().enumerate() {
                let times = waited.entry(frame & ((1 << LINE_SHIFT) - 1)).or_default();
                times.0 += if place == 0 { took_ns } else { 0 };
                times.1 += took_ns;
            }
        }
        waited
    }
}

/// # Safety
/// It must be the address of a parked thread in the list of a tree whose lock is held.
unsafe fn at<'a>(address: u64) -> &'a Parked {
    // SAFETY: the caller's promise.
    unsafe { &*((address & !MARK) as *const Parked) }
}
