//! MONITOR_DUMP: the threads, and the monitors that they own and wait for.
//!
//! The threads continue meanwhile, so the record has what each did when it was looked at. The JVM's list of the
//! threads that wait for a monitor is not used: it differs between JDK 17, 21 and 25, and has bad
//! references if virtual threads wait on JDK 21. The states of the threads say the same.

use std::ffi::c_char;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_MONITOR_DUMP, JVMPI_Event_monitor_dump, JVMPI_Event_u, JVMPI_MONITOR_JAVA,
    JVMPI_MONITOR_RAW,
};
use perk_jvmti_sys::{
    Capability, JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_IN_OBJECT_WAIT,
    jvmtiFrameInfo,
};

use super::call_trace::Traces;
use super::suspension::status_of;
use super::threads;
use super::{Bridge, Id, notify, raw_monitors};
use crate::state::threads::Thread;
use perk_jvm::{Jni, Local, MethodRef, Reference};

/// Sends MONITOR_DUMP. `None` if it cannot.
pub(super) fn request(bridge: &Bridge, jni: Jni<'_>) -> Option<()> {
    let (mut traces, mut bytes) = (Traces::default(), Vec::new());
    notify::quiet(|| {
        traces = bridge.all_traces();
        // References that the JVM hands out besides are deleted here.
        jni.with_room(64, || bytes = records(bridge, jni, &traces));
    });
    if traces.threads.is_empty() {
        return None;
    }
    let threads = traces.threads.iter().zip(&traces.states);
    let mut statuses: Vec<jint> = threads.map(|(it, state)| status_of(it, *state)).collect();
    let range = bytes.as_mut_ptr_range();
    let monitor_dump = JVMPI_Event_monitor_dump {
        begin: range.start.cast::<c_char>(),
        end: range.end.cast::<c_char>(),
        num_traces: traces.traces.len() as jint,
        traces: traces.traces.as_mut_ptr(),
        threads_status: statuses.as_mut_ptr(),
    };
    notify::answer(JVMPI_EVENT_MONITOR_DUMP, jni.raw(), JVMPI_Event_u { monitor_dump });
    Some(())
}

/// A monitor of Java's.
struct DumpMonitor<'a> {
    id: Id,
    object: Local<'a>,
    entering: Vec<*mut JNIEnv>,
    waiting: Vec<*mut JNIEnv>,
}

/// The monitors that were found, in the order of their threads.
struct DumpMonitors<'a>(Vec<DumpMonitor<'a>>);

impl<'a> DumpMonitors<'a> {
    /// Returns the entry of a monitor.
    fn entry(&mut self, bridge: &Bridge, object: Local<'a>) -> &mut DumpMonitor<'a> {
        let id = bridge.objects.id(bridge.jvmti, &object);
        let index = self.0.iter().position(|it| it.id == id).unwrap_or(self.0.len());
        if index == self.0.len() {
            self.0.push(DumpMonitor { id, object, entering: Vec::new(), waiting: Vec::new() });
        }
        &mut self.0[index]
    }
}

/// Returns the records.
fn records(bridge: &Bridge, jni: Jni<'_>, traces: &Traces) -> Vec<u8> {
    let mut monitors = DumpMonitors(Vec::new());
    for (thread, &state) in traces.threads.iter().zip(&traces.states) {
        let (jvmti, env) = (bridge.jvmti, thread.env());
        for object in jvmti.owned_monitors(jni, &**thread).unwrap_or_default() {
            monitors.entry(bridge, object);
        }
        if state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER != 0 {
            if let Some(object) = jvmti.contended_monitor(jni, &**thread) {
                monitors.entry(bridge, object).entering.push(env);
            }
        } else if state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT != 0
            // In the handler of MONITOR_WAIT or MONITOR_WAITED the thread does not wait.
            && !threads::is_current(thread)
            && let Some(object) = waited_monitor(bridge, jni, thread)
        {
            monitors.entry(bridge, object).waiting.push(env);
        }
    }
    // The agent knows the threads of the traces.
    let is_known = |env: &*mut JNIEnv| traces.traces.iter().any(|it| it.env_id == *env);
    let known = |env: *mut JNIEnv| if is_known(&env) { env } else { null_mut() };
    let threads: Vec<_> = traces.threads.iter().map(|it| &**it as &dyn Reference).collect();
    let mut writer = Writer(Vec::new());
    for DumpMonitor { id, object, entering, waiting } in &monitors.0 {
        let owner = bridge.jvmti.monitor_entries(jni, object, &threads, &|_| None);
        let (owner, entry_count) = owner.map_or((null_mut(), 0), |(thread, entry_count)| {
            (known(bridge.threads.env_of(jni, &thread)), entry_count)
        });
        writer.0.push(JVMPI_MONITOR_JAVA as u8);
        writer.pointer(id.raw());
        writer.monitor(owner, entry_count, entering, waiting);
    }
    for monitor in raw_monitors::all() {
        let known = |envs: &[*mut JNIEnv]| envs.iter().copied().map(known).collect::<Vec<_>>();
        writer.0.push(JVMPI_MONITOR_RAW as u8);
        writer.pointer(monitor.name);
        writer.pointer(monitor.handle);
        let (entering, waiting) = (known(&monitor.entering), known(&monitor.waiting));
        let owner = if is_known(&monitor.owner) { monitor.owner } else { null_mut() };
        writer.monitor(owner, monitor.entry_count, &entering, &waiting);
    }
    writer.0
}

/// Returns the object that a thread waits on, in `Object.wait`. JDK 17 reports it as one that the
/// thread contends for, later ones do not: there it is the object whose native method the thread is in.
/// That takes a capability which has a cost, so it is asked for here, and kept.
fn waited_monitor<'a>(bridge: &Bridge, jni: Jni<'a>, thread: &Thread) -> Option<Local<'a>> {
    let jvmti = bridge.jvmti;
    jvmti.contended_monitor(jni, thread).or_else(|| {
        jvmti.add_capabilities([Capability::CanAccessLocalVariables].into_iter().collect()).ok()?;
        bridge.suspended(thread, || {
            let mut frame = jvmtiFrameInfo { method: null_mut(), location: 0 };
            // SAFETY: there is room for one frame.
            let count = unsafe { jvmti.frames(Some(thread), 0, 1, &mut frame) }.ok()?;
            // SAFETY: the JVM's own, if it has written one.
            let method = (count == 1).then(|| unsafe { MethodRef::from_raw(frame.method) })?;
            let (name, _) = jvmti.method_name(method).ok()?;
            ["wait", "wait0"].contains(&name.as_str()).then(|| jvmti.receiver_of(jni, thread))?
        })
    })
}

/// The bytes of a dump: numbers are big-endian, ids and addresses as the machine has them.
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: usize) {
        self.0.extend((number as u32).to_be_bytes());
    }

    fn pointer<T>(&mut self, pointer: *mut T) {
        self.0.extend((pointer as usize).to_ne_bytes());
    }

    /// Writes what records of both kinds end with.
    fn monitor(
        &mut self,
        owner: *mut JNIEnv,
        entry_count: u32,
        entering: &[*mut JNIEnv],
        waiting: &[*mut JNIEnv],
    ) {
        self.pointer(owner);
        self.number(entry_count as usize);
        for threads in [entering, waiting] {
            self.number(threads.len());
            threads.iter().for_each(|env| self.pointer(*env));
        }
    }
}
