//! The threads of the program and their trees, from their first probe to their end. The fields that
//! perk adds to Thread hold the tree and the top of its stack.
//!
//! Virtual threads share the tree of the platform thread that carries them: see [`Parked`].

use std::sync::atomic::Ordering::Relaxed;

use super::tree::{Parked, Tree};
use super::{ENDED, ExactEngine, ThreadFields};
use crate::jvm::{Borrowed, Jni, Reference};
use crate::roster::Slot;

/// The value that a thread holds in place of a tree.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// The thread has not reached a probe yet.
    Nothing,
    Tree(&'static Tree),
    /// The address of a [`Parked`].
    Parked(u64),
    /// The thread has ended: its further actions are not counted.
    Ended,
}

impl ExactEngine {
    /// Begins the calling thread, which has reached a probe and does not have a stack. Returns the
    /// top of its new stack.
    pub(super) fn begin(&self, jni: Jni<'_>, thread: &Borrowed<'_>) -> Option<u64> {
        match self.holds(jni, thread) {
            Holds::Nothing if !self.stopped.load(Relaxed) => {}
            // The probe that mounts the thread did not run: the program's stack had no room for it.
            Holds::Parked(_) => return self.mount(jni, thread),
            _ => return None,
        }
        let is_virtual = jni.is_virtual(thread);
        let tree = match is_virtual && !self.per_thread {
            true => self.guests(),
            false => self.pool.acquire(),
        };
        if is_virtual {
            self.clock.carry(tree);
        } else {
            self.clock.thread_began(tree);
        }
        self.hold(jni, thread, tree.address() as i64, tree.bottom());
        Some(tree.bottom())
    }

    /// Returns the tree of the virtual threads that the calling platform thread carries.
    fn guests(&self) -> &'static Tree {
        self.clock.guests(|| self.pool.acquire())
    }

    /// Mounts the calling virtual thread on a platform thread. Returns the top of its stack.
    pub(super) fn mount(&self, jni: Jni<'_>, thread: &Borrowed<'_>) -> Option<u64> {
        let Holds::Parked(address) = self.holds(jni, thread) else { return None };
        // SAFETY: `unmount` has stored it, and it is overwritten right after this.
        let parked = unsafe { Parked::from_address(address) };
        let tree = if self.per_thread { parked.home() } else { self.guests() };
        let top = tree.resume(&self.pool, &parked, self.now_ns(tree));
        self.hold(jni, thread, tree.address() as i64, top);
        self.clock.carry(tree);
        Some(top)
    }

    /// Unmounts the calling virtual thread, which is about to leave its platform thread.
    pub(super) fn unmount(&self, jni: Jni<'_>, thread: &Borrowed<'_>) {
        let Holds::Tree(tree) = self.holds(jni, thread) else { return };
        self.clock.put_down();
        let parked = tree.park(&self.pool, self.top(jni, thread), self.now_ns(tree));
        self.hold(jni, thread, parked as i64, self.pool.unborn());
    }

    /// Ends the calling platform thread. If threads are distinguished, its calls are booked now,
    /// under its `slot`.
    pub(super) fn leave_platform(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        slot: impl FnOnce() -> Option<Slot>,
    ) {
        let (own, guests) = self.clock.thread_ended();
        if let Some(own) = own {
            self.end(jni, thread, own, slot);
        }
        [own, guests].into_iter().flatten().for_each(|tree| self.pool.release(tree));
    }

    /// Ends the calling virtual thread.
    pub(super) fn leave_virtual(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        slot: impl FnOnce() -> Option<Slot>,
    ) {
        if let Holds::Tree(tree) = self.holds(jni, thread) {
            self.end(jni, thread, tree, slot);
            if self.per_thread {
                self.pool.release(tree);
            }
            // If virtual threads have platform threads of their own, the JVM reports no other end.
            if !self.clock.put_down()
                && let (_, Some(guests)) = self.clock.thread_ended()
            {
                self.pool.release(guests);
            }
        }
    }

    fn end(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        tree: &'static Tree,
        slot: impl FnOnce() -> Option<Slot>,
    ) {
        tree.leave_all(self.top(jni, thread), self.now_ns(tree));
        self.hold(jni, thread, ENDED, self.pool.unborn());
        if self.per_thread {
            let slot = slot();
            self.book_calls(slot, tree, false);
            self.book_paths(slot, tree);
            tree.leave_sites();
        }
    }

    /// Returns the tree of the calling thread and the top of its stack, which begin here at the
    /// latest; `None` if the thread is not counted. PerkProbes.born does the same.
    pub(super) fn own_tree(
        &self,
        jni: Jni<'_>,
        thread: &Borrowed<'_>,
    ) -> Option<(&'static Tree, u64)> {
        let mut holds = self.holds(jni, thread);
        if let Holds::Nothing = holds {
            self.begin(jni, thread)?;
            holds = self.holds(jni, thread);
        }
        match holds {
            Holds::Tree(tree) => Some((tree, self.top(jni, thread))),
            // The thread is on its way to or from a platform thread.
            _ => None,
        }
    }

    fn holds(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Holds {
        let Some(fields) = self.fields.get() else { return Holds::Ended };
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        match unsafe { jni.get_long(thread, fields.tree) } {
            0 => Holds::Nothing,
            ENDED => Holds::Ended,
            parked if Parked::is_one(parked) => Holds::Parked(parked as u64),
            // SAFETY: there is no other kind of value.
            tree => Holds::Tree(unsafe { Tree::at(tree as u64) }),
        }
    }

    /// Returns the top of a thread's stack.
    fn top(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> u64 {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let top = |fields: &ThreadFields| unsafe { jni.get_long(thread, fields.stack) };
        self.fields.get().map_or(0, top) as u64 ^ self.pool.unborn()
    }

    /// Sets the tree and the top of the stack of a thread.
    fn hold(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized), tree: i64, top: u64) {
        if let Some(fields) = self.fields.get() {
            // SAFETY: the field is java.lang.Thread's, and this is a thread.
            unsafe { jni.set_long(thread, fields.tree, tree) };
            self.set_top(jni, thread, top);
        }
    }

    /// Sets the top of a thread's stack.
    pub(super) fn set_top(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized), top: u64) {
        if let Some(fields) = self.fields.get() {
            let value = (top ^ self.pool.unborn()) as i64;
            // SAFETY: the field is java.lang.Thread's, and this is a thread.
            unsafe { jni.set_long(thread, fields.stack, value) };
        }
    }
}
