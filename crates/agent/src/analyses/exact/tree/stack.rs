//! The stack of a tree: a frame for each call that has not ended. Probes push and pop frames; this
//! module does the rest.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use super::memory::{FRAME_BYTES, FRAME_WORDS, Frame, new_stack, node_at};
use super::{Inner, Tree, TreePool};
use crate::sync::lock;

/// The self and total times of calls, by node.
pub(super) type Times = FxHashMap<u64, (u64, u64)>;

/// A stack, and the depth of a frame in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackOf<'a> {
    words: &'a [AtomicU64],
    pub(super) depth: usize,
}

impl<'a> StackOf<'a> {
    pub(super) fn frame(self, depth: usize) -> Frame<'a> {
        Frame::new(&self.words[depth * FRAME_WORDS..][..FRAME_WORDS])
    }

    fn address(self, depth: usize) -> u64 {
        self.words.as_ptr() as u64 + (depth * FRAME_BYTES) as u64
    }

    fn is_full(self) -> bool {
        (self.depth + 1) * FRAME_WORDS == self.words.len()
    }

    /// Books the time of the calls above a depth. Returns the top of the stack without them.
    pub(super) fn leave(self, keep: usize, now_ns: u64) -> u64 {
        for depth in (keep + 1..=self.depth).rev() {
            let took_ns = self.frame(depth).end(now_ns);
            self.frame(depth - 1).add_callee(took_ns);
        }
        self.address(keep)
    }
}

impl Tree {
    /// Enters a method that the one at `top` calls from `line`. Returns the new top of the stack.
    /// PerkProbes.enter does the same, but first checks the expected node.
    pub(in crate::analyses::exact) fn enter(
        &self,
        pool: &TreePool,
        top: u64,
        method: u32,
        line: u16,
        now_ns: u64,
    ) -> u64 {
        let inner = &mut *lock(&self.inner);
        let stack = inner.stack_of(top);
        let caller = stack.frame(stack.depth).node();
        let is_full = stack.is_full();
        let node = self.child(inner, pool, caller, method, line);
        let top = if is_full { self.double(inner, top) } else { top };
        // SAFETY: it is the address of a node.
        let node = unsafe { node_at(node) };
        node.call();
        let stack = inner.stack_of(top);
        stack.frame(stack.depth).called(node);
        stack.frame(stack.depth + 1).enter(node, 0, pool.nil(), now_ns);
        stack.address(stack.depth + 1)
    }

    /// Returns the node for a method that the method of `caller` calls from `line`.
    pub(super) fn child(
        &self,
        inner: &mut Inner,
        pool: &TreePool,
        caller: u64,
        method: u32,
        line: u16,
    ) -> u64 {
        // SAFETY: a frame in use holds the address of a node.
        let key = (unsafe { node_at(caller) }.context.load(Relaxed), line);
        inner.find(key, method).unwrap_or_else(|| self.add(inner, pool, key, method))
    }

    /// Doubles the stack, which is full up to the frame at `top`. Returns the new address of that
    /// frame.
    pub(in crate::analyses::exact) fn extend(&self, top: u64) -> u64 {
        self.double(&mut lock(&self.inner), top)
    }

    fn double(&self, inner: &mut Inner, top: u64) -> u64 {
        let StackOf { depth, words } = inner.stack_of(top);
        let larger = (words.len() == inner.stack.len()).then(|| new_stack(2 * (depth + 1)));
        // All but the last word, which holds the limit.
        let used = &words[..(depth + 1) * FRAME_WORDS - 1];
        for (new, old) in larger.as_deref().unwrap_or(&inner.stack).iter().zip(used) {
            new.store(old.load(Relaxed), Relaxed);
        }
        if let Some(larger) = larger {
            let outgrown = std::mem::replace(&mut inner.stack, larger);
            inner.outgrown.push(outgrown);
        }
        self.stack.store(inner.stack.as_ptr() as u64, Relaxed);
        inner.address(depth)
    }

    /// Makes room for `frames` frames above the bottom of the stack, which is empty.
    pub(super) fn make_room(&self, inner: &mut Inner, frames: usize) {
        while inner.stack.len() <= frames * FRAME_WORDS {
            let last = inner.stack.len() / FRAME_WORDS - 1;
            self.double(inner, inner.address(last));
        }
    }

    /// Returns the top of the stack after returning to `method`, which runs somewhere outward from
    /// `top`, and with `leave` also from it. If the method does not run, nothing changes. The
    /// frames above are cleared when the thread has that top ([`clear`](Self::clear)): in Java code
    /// an exception may come first.
    pub(in crate::analyses::exact) fn unwind(
        &self,
        top: u64,
        method: u32,
        leave: bool,
        now_ns: u64,
    ) -> u64 {
        let inner = lock(&self.inner);
        let stack = inner.stack_of(top);
        let runs = |depth: &usize| {
            // SAFETY: frames above the bottom hold addresses of nodes.
            unsafe { node_at(stack.frame(*depth).node()) }.method.load(Relaxed) == method
        };
        let Some(found) = (1..=stack.depth).rev().find(runs) else { return top };
        stack.leave(if leave { found - 1 } else { found }, now_ns)
    }

    /// Clears the frames that were left, down to the one above `kept`.
    pub(in crate::analyses::exact) fn clear(&self, top: u64, kept: u64) {
        let inner = lock(&self.inner);
        let stack = inner.stack_of(top);
        let depth = stack.depth - (top - kept) as usize / FRAME_BYTES;
        (depth + 1..=stack.depth).for_each(|depth| stack.frame(depth).clear());
    }

    /// Leaves all calls of the thread at `top`, which has ended.
    pub(in crate::analyses::exact) fn leave_all(&self, top: u64, now_ns: u64) {
        let inner = &mut *lock(&self.inner);
        inner.stack_of(top).leave(0, now_ns);
        inner.forget_stacks();
    }
}

impl Inner {
    pub(super) fn frame(&self, depth: usize) -> Frame<'_> {
        Frame::new(&self.stack[depth * FRAME_WORDS..][..FRAME_WORDS])
    }

    pub(super) fn address(&self, depth: usize) -> u64 {
        self.stack.as_ptr() as u64 + (depth * FRAME_BYTES) as u64
    }

    /// Returns the stack of a frame. It is the newest one, except for a thread that could not
    /// continue on it.
    pub(super) fn stack_of(&self, top: u64) -> StackOf<'_> {
        let holds = |stack: &[AtomicU64]| {
            let begin = stack.as_ptr() as u64;
            (begin..begin + size_of_val(stack) as u64).contains(&top)
        };
        let words = self.outgrown.iter().find(|stack| holds(stack)).unwrap_or(&self.stack);
        let depth = (top - words.as_ptr() as u64) as usize / FRAME_BYTES;
        StackOf { words, depth }
    }

    /// Returns the times so far of the calls that have not ended.
    pub(super) fn running(&self, now_ns: u64) -> Times {
        let mut running = Times::default();
        let mut callee_ns = 0;
        for frame in self.used_frames().collect::<Vec<_>>().iter().rev() {
            let (took_ns, callees_ns) = frame.so_far(now_ns);
            let times = running.entry(frame.node()).or_default();
            times.0 += took_ns.saturating_sub(callees_ns + callee_ns);
            times.1 += took_ns;
            callee_ns = took_ns;
        }
        running
    }

    /// Clears all stacks: they have no open calls left.
    pub(super) fn forget_stacks(&mut self) {
        self.outgrown.clear();
        self.used_frames().for_each(|frame| frame.clear());
    }

    fn used_frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let frames = (1..self.stack.len() / FRAME_WORDS).map(|depth| self.frame(depth));
        frames.take_while(Frame::is_used)
    }
}
