//! The roots of a dump: what keeps objects alive, with the threads that it belongs to.

use perk_jvmti_sys::jni_sys::{jint, jlong, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_GC_ROOT_JAVA_FRAME, JVMPI_GC_ROOT_JNI_GLOBAL, JVMPI_GC_ROOT_JNI_LOCAL,
    JVMPI_GC_ROOT_MONITOR_USED, JVMPI_GC_ROOT_STICKY_CLASS, JVMPI_GC_ROOT_THREAD_BLOCK,
    JVMPI_GC_ROOT_UNKNOWN,
};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_JNI_GLOBAL, JVMTI_HEAP_REFERENCE_JNI_LOCAL, JVMTI_HEAP_REFERENCE_MONITOR,
    JVMTI_HEAP_REFERENCE_STACK_LOCAL, JVMTI_HEAP_REFERENCE_SYSTEM_CLASS,
    JVMTI_HEAP_REFERENCE_THREAD, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
};

use rustc_hash::FxHashSet;

use super::super::{Bridge, Id};
use super::records::DumpRecords;
use super::traces::Traces;

/// The records of roots.
pub(super) struct Roots<'a> {
    traces: &'a Traces,
    /// The objects that the bridge has a global reference to: one of each is left out.
    own: FxHashSet<i64>,
    pub(super) records: DumpRecords,
}

impl<'a> Roots<'a> {
    pub(super) fn new(traces: &'a Traces, own: FxHashSet<i64>) -> Self {
        Self { traces, own, records: DumpRecords::default() }
    }

    /// Adds a root. `is_class` says whether it is a class that the agent knows.
    ///
    /// # Safety
    /// The information must be that of a reference of the kind.
    pub(super) unsafe fn add(
        &mut self,
        kind: jvmtiHeapReferenceKind,
        info: *const jvmtiHeapReferenceInfo,
        id: Id,
        is_class: bool,
    ) {
        match kind {
            JVMTI_HEAP_REFERENCE_JNI_GLOBAL if self.own.remove(&id.0) => {}
            JVMTI_HEAP_REFERENCE_JNI_GLOBAL => {
                self.begin(JVMPI_GC_ROOT_JNI_GLOBAL, id);
                // JVMTI does not give the reference.
                self.records.word(0);
            }
            JVMTI_HEAP_REFERENCE_SYSTEM_CLASS if is_class => {
                self.begin(JVMPI_GC_ROOT_STICKY_CLASS, id);
            }
            JVMTI_HEAP_REFERENCE_MONITOR => self.begin(JVMPI_GC_ROOT_MONITOR_USED, id),
            JVMTI_HEAP_REFERENCE_THREAD => match self.traces.of_thread(id.0) {
                Some(trace) => {
                    self.begin(JVMPI_GC_ROOT_THREAD_BLOCK, id);
                    self.records.word(trace.env() as usize);
                }
                None => self.begin(JVMPI_GC_ROOT_UNKNOWN, id),
            },
            JVMTI_HEAP_REFERENCE_STACK_LOCAL => {
                // SAFETY: the caller's promise.
                let local = unsafe { (*info).stack_local };
                let place = (local.thread_tag, local.depth, local.method);
                self.add_local(JVMPI_GC_ROOT_JAVA_FRAME, id, place);
            }
            JVMTI_HEAP_REFERENCE_JNI_LOCAL => {
                // SAFETY: the caller's promise.
                let local = unsafe { (*info).jni_local };
                let place = (local.thread_tag, local.depth, local.method);
                self.add_local(JVMPI_GC_ROOT_JNI_LOCAL, id, place);
            }
            _ => self.begin(JVMPI_GC_ROOT_UNKNOWN, id),
        }
    }

    /// Adds a root of a thread's stack. A virtual thread has no environment.
    fn add_local(&mut self, kind: jint, id: Id, place: (jlong, jint, jmethodID)) {
        let (thread, depth, method) = place;
        let Some(trace) = self.traces.of_thread(thread) else {
            return self.begin(JVMPI_GC_ROOT_UNKNOWN, id);
        };
        self.begin(kind, id);
        self.records.word(trace.env() as usize);
        self.records.u4(trace.index_of(depth, method) as u32);
    }

    fn begin(&mut self, kind: jint, id: Id) {
        self.records.u1(kind as u8);
        self.records.id(Some(id));
    }
}

impl Bridge {
    /// Returns the tags of the objects that the bridge has a global reference to.
    pub(super) fn own_references(&self) -> FxHashSet<i64> {
        let threads = self.threads.all();
        let threads = threads.iter().map(|it| self.jvmti.tag(&**it));
        threads.chain(self.shapes.primitive_tags(self.jvmti)).collect()
    }
}
