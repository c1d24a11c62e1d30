//! The stacks of the threads, which a dump's roots are in.

use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jmethodID};
use perk_jvmti_sys::jvmpi::{JVMPI_CallFrame, JVMPI_CallTrace};
use perk_jvmti_sys::{jvmtiError, jvmtiFrameInfo};
use rustc_hash::FxHashMap;

use super::super::Bridge;
use crate::own;
use crate::state::threads::Thread;
use perk_jvm::{Jni, Jvmti, LineTable, MethodRef, StackFrame};

/// The line number of a frame whose line is not known.
const UNKNOWN_LINE: jint = -1;
/// The line number of a frame of a native method.
const NATIVE_LINE: jint = -3;

/// A trace for each thread that the agent knows.
#[derive(Debug)]
pub(crate) struct Traces {
    all: Vec<Trace>,
    by_tag: FxHashMap<i64, usize>,
    /// The traces as the agent has them.
    raw: Vec<JVMPI_CallTrace>,
}

/// A thread's stack, the innermost frame first.
#[derive(Debug)]
pub(crate) struct Trace {
    env: *mut JNIEnv,
    frames: Vec<JVMPI_CallFrame>,
    /// The JVM's number of each frame: it counts perk's own.
    depths: Vec<jint>,
}

/// A method on a stack.
#[derive(Debug)]
struct StackMethod {
    /// Whether it is perk's own.
    is_own: bool,
    lines: LineTable,
}

impl StackMethod {
    fn of(bridge: &Bridge, jni: Jni<'_>, method: MethodRef) -> Self {
        let class = bridge.jvmti.declaring_class(jni, method);
        Self {
            is_own: class.is_ok_and(|it| own::is_own(bridge, jni, &it)),
            lines: bridge.jvmti.line_table(method).unwrap_or_default(),
        }
    }

    /// Returns the line of an instruction, or the number that represents an unknown one.
    fn line(&self, bci: i64) -> jint {
        let following = self.lines.partition_point(|(start, _)| *start <= bci);
        let line = following.checked_sub(1).map(|at| self.lines[at].1 as jint);
        match bci {
            ..0 => NATIVE_LINE,
            _ => line.unwrap_or(UNKNOWN_LINE),
        }
    }
}

impl Trace {
    pub(super) fn env(&self) -> *mut JNIEnv {
        self.env
    }

    /// Returns the index of a frame that the walk saw at this depth, -1 if it is not there: the
    /// thread may have continued since its trace was taken.
    pub(super) fn index_of(&self, depth: jint, method: jmethodID) -> jint {
        let is_it = |index: &usize| self.frames[*index].method_id == method;
        let index = self.depths.binary_search(&depth).ok().filter(is_it);
        let index = index.or_else(|| self.frames.iter().position(|it| it.method_id == method));
        index.map_or(-1, |it| it as jint)
    }
}

impl Traces {
    /// Takes the traces.
    pub(super) fn take(bridge: &Bridge, jni: Jni<'_>) -> Self {
        let (mut all, mut by_tag) = (Vec::new(), FxHashMap::default());
        let (mut buffer, mut stack, mut methods) = (Vec::new(), Vec::new(), FxHashMap::default());
        for thread in bridge.threads.all() {
            // A thread that has ended meanwhile has none.
            if whole_stack(bridge.jvmti, &thread, &mut buffer, &mut stack).is_err() {
                continue;
            }
            let (mut frames, mut depths) = (Vec::new(), Vec::new());
            for (frame, depth) in stack.iter().zip(0..) {
                let method = methods.entry(frame.method);
                let method = method.or_insert_with(|| StackMethod::of(bridge, jni, frame.method));
                if !method.is_own {
                    let lineno = method.line(frame.bci);
                    frames.push(JVMPI_CallFrame { lineno, method_id: frame.method.raw() });
                    depths.push(depth);
                }
            }
            by_tag.insert(bridge.objects.id(bridge.jvmti, &*thread).0, all.len());
            all.push(Trace { env: thread.env(), frames, depths });
        }
        let raw = all.iter_mut().map(|trace| JVMPI_CallTrace {
            env_id: trace.env,
            num_frames: trace.frames.len() as jint,
            frames: trace.frames.as_mut_ptr(),
        });
        let raw = raw.collect();
        Self { all, by_tag, raw }
    }

    /// Returns the trace of the thread whose object has a tag.
    pub(super) fn of_thread(&self, tag: i64) -> Option<&Trace> {
        self.all.get(*self.by_tag.get(&tag)?)
    }

    /// Returns the traces as the agent has them, which live as long as these.
    pub(super) fn raw(&mut self) -> &mut [JVMPI_CallTrace] {
        &mut self.raw
    }
}

/// Walks a thread's stack however deep it is; the buffer grows with it.
fn whole_stack(
    jvmti: Jvmti,
    thread: &Thread,
    buffer: &mut Vec<jvmtiFrameInfo>,
    stack: &mut Vec<StackFrame>,
) -> Result<(), jvmtiError> {
    const LEAST: usize = 256;
    let empty = || jvmtiFrameInfo { method: null_mut(), location: 0 };
    if buffer.is_empty() {
        buffer.resize_with(LEAST, empty);
    }
    loop {
        jvmti.stack(thread, buffer, stack)?;
        if stack.len() < buffer.len() {
            return Ok(());
        }
        buffer.resize_with(buffer.len() * 2, empty);
    }
}
