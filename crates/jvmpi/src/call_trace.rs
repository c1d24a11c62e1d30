//! The stacks of threads, as `GetCallTrace` and the dumps have them.

use std::sync::Arc;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};
use perk_jvmti_sys::jvmpi::{JVMPI_CallFrame, JVMPI_CallTrace};
use perk_jvmti_sys::{JVMTI_THREAD_STATE_ALIVE, jvmtiFrameInfo};

use super::threads;
use super::{Bridge, bridge, lines};
use crate::state::STATE;
use crate::state::threads::Thread;
use perk_jvm::{MethodRef, Reference};

// Frames of the JVM are written where the agent's will be.
const _: () = assert!(size_of::<JVMPI_CallFrame>() == size_of::<jvmtiFrameInfo>());
const _: () = assert!(align_of::<JVMPI_CallFrame>() == align_of::<jvmtiFrameInfo>());

/// The number of frames that most stacks do not have.
const USUAL_DEPTH: u32 = 1 << 10;

impl Bridge {
    /// Writes the frames of a thread. `None` means the calling one. Returns their number.
    ///
    /// # Safety
    /// `frames` must have room for `room` of them.
    unsafe fn trace(
        &self,
        thread: Option<&dyn Reference>,
        frames: *mut JVMPI_CallFrame,
        room: jint,
    ) -> jint {
        let (mut written, mut walked) = (0, 0);
        while written < room {
            let wanted = room - written;
            // SAFETY: the caller's promise; `written` is less than `room`.
            let place = unsafe { frames.add(written as usize) };
            // SAFETY: the caller's promise: there is room for `wanted` frames at `place`; both
            // kinds of frames have the same size.
            let found = unsafe { self.jvmti.frames(thread, walked, wanted, place.cast()) };
            let Ok(count) = found else { break };
            // SAFETY: the JVM has written `count` frames.
            written += unsafe { self.convert(place, count) };
            walked += count;
            if count < wanted {
                break;
            }
        }
        written
    }

    /// Makes frames of the agent's from those of the JVM, in the same place, without those of perk's
    /// own. Returns their number.
    ///
    /// # Safety
    /// There must be `count` frames of the JVM's.
    unsafe fn convert(&self, frames: *mut JVMPI_CallFrame, count: jint) -> jint {
        let infos = frames.cast::<jvmtiFrameInfo>();
        let mut written = 0;
        lines::with(self.jvmti, |lines| {
            for index in 0..count as usize {
                // SAFETY: the caller's promise. No frame is written before it is read.
                let info = unsafe { infos.add(index).read() };
                // SAFETY: the JVM's own.
                let method = unsafe { MethodRef::from_raw(info.method) };
                if STATE.own.hidden.get().is_some_and(|hidden| hidden.contains(&method)) {
                    continue;
                }
                let (method, lineno) = lines.frame(method, info.location);
                let frame = JVMPI_CallFrame { lineno, method_id: method.raw() };
                // SAFETY: the caller's promise: as many frames as were read are there, and
                // `written` is less.
                unsafe { frames.add(written).write(frame) };
                written += 1;
            }
        });
        written as jint
    }

    /// Returns the stacks of all threads that live, of one moment.
    pub(super) fn all_traces(&self) -> Traces {
        let mut threads = self.threads.all();
        let references: Vec<&dyn Reference> = threads.iter().map(|it| &**it as _).collect();
        let moments = self.jvmti.moments(&references, USUAL_DEPTH).unwrap_or_default();
        let mut moments: Vec<_> = moments.into_iter().map(Some).collect();
        moments.resize(threads.len(), None);
        let is_alive = |state: jint| state & JVMTI_THREAD_STATE_ALIVE != 0;
        let mut kept = moments.iter().map(|it| it.as_ref().is_some_and(|it| is_alive(it.state)));
        threads.retain(|_| kept.next().unwrap_or(false));
        let moments = moments.into_iter().flatten().filter(|it| is_alive(it.state));
        let mut traces = Traces { threads, ..Traces::default() };
        for (thread, moment) in traces.threads.iter().zip(moments) {
            let frames = match moment.stack.len() < USUAL_DEPTH as usize {
                true => moment
                    .stack
                    .iter()
                    .map(|it| jvmtiFrameInfo { method: it.method.raw(), location: it.bci }),
                false => {
                    traces.frames.push(self.deep_trace(thread));
                    traces.states.push(moment.state);
                    continue;
                }
            };
            let mut frames: Vec<jvmtiFrameInfo> = frames.collect();
            let place = frames.as_mut_ptr().cast::<JVMPI_CallFrame>();
            // SAFETY: these are frames of the JVM's.
            let count = unsafe { self.convert(place, frames.len() as jint) };
            // SAFETY: as many were written.
            let converted = unsafe { std::slice::from_raw_parts(place, count as usize) };
            traces.frames.push(converted.to_vec());
            traces.states.push(moment.state);
        }
        for (thread, frames) in traces.threads.iter().zip(&mut traces.frames) {
            traces.traces.push(JVMPI_CallTrace {
                env_id: thread.env(),
                num_frames: frames.len() as jint,
                frames: frames.as_mut_ptr(),
            });
        }
        traces
    }

    /// Returns the whole stack of a thread, which has many frames.
    fn deep_trace(&self, thread: &Thread) -> Vec<JVMPI_CallFrame> {
        let mut room = USUAL_DEPTH as usize;
        loop {
            room *= 8;
            let mut frames: Vec<JVMPI_CallFrame> = Vec::with_capacity(room);
            // SAFETY: there is room for as many; as many are set as were written.
            let count = unsafe {
                let count = self.trace(Some(thread), frames.as_mut_ptr(), room as jint) as usize;
                frames.set_len(count);
                count
            };
            if count < room {
                return frames;
            }
        }
    }
}

/// The stacks of all threads. The vectors have an entry for each thread, in the same order.
#[derive(Debug, Default)]
pub(super) struct Traces {
    pub(super) threads: Vec<Arc<Thread>>,
    /// The states as the JVM has them.
    pub(super) states: Vec<jint>,
    /// The stacks as the agent has them. They are good as long as this lives.
    pub(super) traces: Vec<JVMPI_CallTrace>,
    frames: Vec<Vec<JVMPI_CallFrame>>,
}

/// `GetCallTrace`
pub(super) unsafe extern "C" fn get_call_trace(trace: *mut JVMPI_CallTrace, depth: jint) {
    // SAFETY: the agent passes a trace with room for the frames, or null.
    let Some(trace) = (unsafe { trace.as_mut() }) else { return };
    trace.num_frames = 0;
    let Some(bridge) = bridge() else { return };
    let env: *mut JNIEnv = trace.env_id;
    if depth <= 0 || trace.frames.is_null() || env.is_null() {
        return;
    }
    let other = match threads::identity().1 == env as usize {
        true => None,
        false => match bridge.threads.find(env) {
            None => return,
            other => other,
        },
    };
    let thread = other.as_ref().map(|thread| &**thread as &dyn Reference);
    // SAFETY: the agent passes a trace with room for `depth` frames, which are not null.
    trace.num_frames = unsafe { bridge.trace(thread, trace.frames, depth) };
}
