//! The threads of the program, their states and their trees, from their first probe to their end.
//!
//! Virtual threads share the tree of the platform thread that carries them, unless threads are
//! distinguished.

use std::sync::atomic::Ordering::Relaxed;

use perk_jvm::os;
use perk_jvm::{Jni, Local, ObjectRef, Reference};
use perk_jvmti_sys::jni_sys::jobject;

use super::ExactEngine;
use super::clock::Carrier;
use super::clock::Timing;
use super::state::{Position, States};
use super::tree::{Reading, Tree, Users};
use crate::roster::Slot;

impl ExactEngine {
    /// Begins the calling thread, which has reached a probe and does not have a state. Returns its
    /// state.
    pub(super) fn begin<'a>(&self, jni: Jni<'a>, thread: &ObjectRef<'_>) -> Option<Local<'a>> {
        let states = self.states.get()?;
        if let Some(state) = states.of(jni, thread) {
            return Some(state);
        }
        if self.stopped.load(Relaxed) {
            return jni.local(states.ended());
        }
        let carrier = self.clock.carrier(jni)?;
        let is_virtual = jni.is_virtual(thread);
        let (state, tree) = match is_virtual {
            true => {
                let tree = match self.per_thread {
                    true => self.pool.acquire(Users::One),
                    false => carrier.guests(|| self.pool.acquire(Users::Guests)),
                };
                (states.make(jni)?, tree)
            }
            false => {
                let tree = *carrier.own.get_or_init(|| self.pool.acquire(Users::One));
                (jni.local(&carrier.state)?, tree)
            }
        };
        states.set_tree(jni, &state, tree);
        states.set_position(jni, &state, Position(tree.root()));
        states.set_since_ns(jni, &state, self.now_ns());
        states.give(jni, thread, &state);
        if is_virtual {
            carrier.carry(states, jni, &state);
        }
        Some(state)
    }

    /// Lets the calling virtual thread continue on a platform thread.
    pub(super) fn mount(&self, jni: Jni<'_>, state: &ObjectRef<'_>) {
        let (Some(states), Some(carrier)) = (self.states.get(), self.clock.carrier(jni)) else {
            return;
        };
        if !self.per_thread {
            let tree = carrier.guests(|| self.pool.acquire(Users::Guests));
            states.set_tree(jni, state, tree);
        }
        let parked = states.parked(jni, state);
        if parked != 0 {
            states.set_parked(jni, state, 0);
            // SAFETY: `unmount` has stored the address, which is not used any more.
            let parked = unsafe { self.parked.remove(parked) };
            let now_ns = os::nano_time();
            // SAFETY: it was the node of a position.
            unsafe { Tree::book(parked.node, now_ns.saturating_sub(parked.since_ns)) };
            states.set_since_ns(jni, state, now_ns);
        }
        carrier.carry(states, jni, state);
    }

    /// Detaches the calling virtual thread, which is about to leave its platform thread.
    pub(super) fn unmount(&self, jni: Jni<'_>, state: &ObjectRef<'_>) {
        let (Some(states), Some(carrier)) = (self.states.get(), self.clock.known_carrier()) else {
            return;
        };
        carrier.put_down(states, jni);
        let since_ns = match self.timing {
            Timing::WallTick => os::nano_time(),
            Timing::WallExact => states.since_ns(jni, state),
            Timing::None | Timing::CpuTick => return,
        };
        let node = states.position(jni, state).node();
        states.set_parked(jni, state, self.parked.add(node, since_ns));
    }

    /// Ends the calling platform thread. If threads are distinguished, its calls are booked now,
    /// under its `slot`.
    pub(super) fn leave_platform(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        slot: impl FnOnce() -> Option<Slot>,
    ) {
        let (own, guests) = self.clock.thread_ended(jni);
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
        let Some(states) = self.states.get() else { return };
        let Some(state) = states.of(jni, thread).filter(|it| !states.is_ended(jni, it)) else {
            return;
        };
        let Some(tree) = states.tree(jni, &state) else { return };
        self.end(jni, thread, tree, slot);
        if self.per_thread {
            self.pool.release(tree);
        }
        let Some(carrier) = self.clock.known_carrier() else { return };
        carrier.put_down(states, jni);
        // If virtual threads have platform threads of their own, the JVM reports no other end.
        if carrier.own.get().is_none()
            && let (_, Some(guests)) = self.clock.thread_ended(jni)
        {
            self.pool.release(guests);
        }
    }

    fn end(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        tree: &'static Tree,
        slot: impl FnOnce() -> Option<Slot>,
    ) {
        if let Some(states) = self.states.get() {
            states.take(jni, thread);
        }
        if self.per_thread {
            let slot = slot();
            self.book_calls(slot, tree, &self.running(None), Reading::Dump);
            self.book_paths(slot, tree);
            tree.leave_sites();
        }
    }

    /// Returns the calling thread, which begins here at the latest; `None` if it is not counted.
    pub(super) fn current<'a>(&'a self, jni: Jni<'a>) -> Option<Current<'a>> {
        let states = self.states.get()?;
        if let Some(carrier) = self.clock.known_carrier() {
            if let Some(guest) = carrier.guest(states, jni) {
                let tree = states.tree(jni, &guest)?;
                return Some(Current { states, state: StateReference::Local(guest), tree });
            }
            if let Some(tree) = carrier.own.get() {
                return Some(Current { states, state: StateReference::Carrier(carrier), tree });
            }
        }
        let thread = self.common.jvmti.current_thread(jni)?;
        let state = self.begin(jni, &thread.borrowed())?;
        let tree = states.tree(jni, &state)?;
        Some(Current { states, state: StateReference::Local(state), tree })
    }

    /// Returns the time now, if each probe reads it.
    fn now_ns(&self) -> u64 {
        if self.timing == Timing::WallExact { os::nano_time() } else { 0 }
    }
}

/// The calling thread.
pub(super) struct Current<'a> {
    states: &'a States,
    state: StateReference<'a>,
    pub(super) tree: &'static Tree,
}

/// A reference to the state of the calling thread.
enum StateReference<'a> {
    Carrier(&'static Carrier),
    Local(Local<'a>),
}

impl Reference for StateReference<'_> {
    fn raw(&self) -> jobject {
        match self {
            Self::Carrier(carrier) => carrier.state.raw(),
            Self::Local(state) => state.raw(),
        }
    }
}

impl Current<'_> {
    /// Returns the position that the thread holds.
    pub(super) fn position(&self, jni: Jni<'_>) -> Position {
        self.states.position(jni, &self.state)
    }

    /// Returns the address of the node of a position in the thread's tree.
    pub(super) fn node(&self, engine: &ExactEngine, position: Position) -> u64 {
        // SAFETY: a position has the address of a node.
        unsafe { self.tree.owned(&engine.pool, position.node()) }
    }

    /// Enters a method. Returns the position of the caller.
    pub(super) fn enter(&self, jni: Jni<'_>, engine: &ExactEngine, method: u32) -> Position {
        self.book(jni, engine);
        let caller = self.position(jni);
        let from = self.node(engine, caller);
        // SAFETY: the node is of this tree, and the thread is the calling one.
        let node = unsafe {
            let is_through =
                |context| engine.is_called_over_budget(jni, self.tree, context, method);
            self.tree.enter(&engine.pool, (from, caller.line()), method, is_through)
        };
        self.states.set_position(jni, &self.state, Position(node));
        caller
    }

    /// Returns to a position.
    pub(super) fn leave(&self, jni: Jni<'_>, engine: &ExactEngine, position: Position) {
        self.book(jni, engine);
        self.states.set_position(jni, &self.state, position);
    }

    /// Books the time since the last probe, if each of them reads it.
    fn book(&self, jni: Jni<'_>, engine: &ExactEngine) {
        if engine.timing == Timing::WallExact {
            let now_ns = os::nano_time();
            let took_ns = now_ns.saturating_sub(self.states.since_ns(jni, &self.state));
            self.states.set_since_ns(jni, &self.state, now_ns);
            // SAFETY: a position has the address of a node.
            unsafe { Tree::book(self.position(jni).node(), took_ns) };
        }
    }
}
