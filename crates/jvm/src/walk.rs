//! Walks stacks for many threads at once, with buffers that are reused.

use std::sync::Mutex;

use perk_jvmti_sys::jvmtiFrameInfo;

use crate::sync::lock;
use crate::{Jvmti, Reference, StackFrame};

/// A walker of stacks; see the module.
#[derive(Debug, Default)]
pub struct Walker {
    free: Mutex<Vec<Buffers>>,
}

/// The data that a walk needs.
#[derive(Debug, Default)]
struct Buffers {
    frames: Vec<jvmtiFrameInfo>,
    stack: Vec<StackFrame>,
}

// SAFETY: the frames hold method ids, which only the JVM looks into.
unsafe impl Send for Buffers {}

impl Walker {
    /// Gives up the buffers: 32 KiB each for the deepest stacks.
    pub fn release(&self) {
        *lock(&self.free) = Vec::new();
    }

    /// Walks a thread's stack, and runs `body` with at most `depth` frames, the innermost first. It
    /// gets no frames if the JVM gives no answer.
    pub fn walk<T>(
        &self,
        jvmti: Jvmti,
        thread: &(impl Reference + ?Sized),
        depth: u32,
        body: impl FnOnce(Option<&[StackFrame]>) -> T,
    ) -> T {
        let reused = lock(&self.free).pop();
        let mut buffers = reused.unwrap_or_default();
        let Buffers { frames, stack } = &mut buffers;
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        frames.resize(depth as usize, unsafe { std::mem::zeroed() });
        let is_walked = jvmti.stack(thread, frames, stack).is_ok();
        let result = body(is_walked.then_some(stack));
        lock(&self.free).push(buffers);
        result
    }
}
