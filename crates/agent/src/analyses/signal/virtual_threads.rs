//! The virtual threads that samples are of.
//!
//! The handler reads the id of the virtual thread that its carrier runs. The JVM reports which
//! thread that is if the carrier still runs it when the record is read. Otherwise the thread has no
//! name.

use perk_jvm::os::{self, checked};
use perk_jvm::sync::lock;
use perk_jvm::{
    Jni, ProcessMemory, Reference, ThreadInfo, VIRTUAL_THREAD_GROUP, VirtualThreadFunction,
};
use rustc_hash::FxHashMap;

use crate::common::Common;
use crate::roster::Slot;
use perk_hotspot::vm::{VirtualThreadFields, Vm};

/// The limit of the threads that are remembered.
const MOST_KNOWN: usize = 1 << 16;
/// How often the id of a thread is looked for.
const READ_TRIES: usize = 8;
/// The bits of a reference that give its kind.
const REFERENCE_BITS: usize = 3;

/// The virtual threads; see the module.
#[derive(Debug, Default)]
pub(super) struct VirtualThreads {
    known: FxHashMap<u64, Slot>,
    /// Those that the JVM did not report, until the records so far are read.
    passing: Vec<(u64, Slot)>,
    /// Whether walks know about virtual threads, as far as they can.
    is_described: bool,
}

impl VirtualThreads {
    /// Returns the slot of a virtual thread, of which a carrier had a sample.
    pub(super) fn slot(
        &mut self,
        common: &Common,
        jni: Option<Jni<'_>>,
        function: Option<VirtualThreadFunction>,
        carrier: Slot,
        id: u64,
    ) -> Slot {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        // The carrier is about to leave or to begin to run a virtual thread.
        if lock(common.recorder).thread_info(carrier).java_id == id {
            return carrier;
        }
        let found = jni.zip(function).and_then(|(jni, function)| {
            let carrier = common.threads.find(carrier)?;
            let thread = common.jvmti.virtual_thread(jni, function, &*carrier)?;
            let is_it = common.jvmti.java_id(jni, &thread) == id;
            is_it.then(|| common.threads.slot_of_virtual(jni, &thread)).flatten()
        });
        let slot = found.unwrap_or_else(|| {
            let group = Some(VIRTUAL_THREAD_GROUP.to_owned());
            let info = ThreadInfo { java_id: id, priority: 5, group, ..ThreadInfo::default() };
            let slot = lock(common.recorder).thread_started(info, false);
            self.passing.push((id, slot));
            slot
        });
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(id, slot);
        slot
    }

    /// Makes walks continue in the heap, where virtual threads have older frames. There is such a
    /// thread, so the JVM has its classes.
    pub(super) fn describe(&mut self, vm: &Vm, jni: Option<Jni<'_>>) {
        let Some(jni) = jni.filter(|_| !self.is_described) else { return };
        self.is_described = true;
        let fields = VirtualThreadFields::new(|class, name, descriptor| {
            jni.field_offset(&jni.find_class(class)?, name, descriptor)
        });
        if !fields.is_some_and(|fields| vm.describe_virtual_threads(fields)) {
            os::say(
                "HPROF WARNING: samples of virtual threads lack the frames in the heap, as this JVM does not \
                 describe it\n",
            );
        }
    }

    /// Forgets the threads that the JVM did not report.
    pub(super) fn forget_passing(&mut self, common: &Common) {
        for (id, slot) in self.passing.drain(..) {
            self.known.remove(&id);
            lock(common.recorder).thread_ended(slot);
        }
    }
}

/// Returns the place of the id in thread objects, if a known thread has its own there.
pub(super) fn id_offset(common: &Common, vm: &Vm, jni: Jni<'_>) -> Option<usize> {
    let thread = common.threads.all().into_iter().next()?;
    let field = jni.long_field(&jni.find_class(c"java/lang/Thread")?, c"tid")?;
    let offset = field.offset();
    let is_there = || {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let id = unsafe { jni.get_long(&*thread, field) };
        let object = vm.object_at(&ProcessMemory, thread.raw() as usize & !REFERENCE_BITS)?;
        Some(checked::word(object.wrapping_add(offset))? == id as usize)
    };
    let is_small = offset.is_multiple_of(size_of::<u64>()) && offset < 4096;
    // A collector may move the thread meanwhile.
    (is_small && (0..READ_TRIES).any(|_| is_there() == Some(true))).then_some(offset)
}
