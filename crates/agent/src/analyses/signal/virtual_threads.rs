//! The virtual threads that samples are of.
//!
//! The handler reads the id of the virtual thread that its carrier runs. The JVM tells which thread
//! that is if the carrier still runs it when the record is read; else the thread has no name.

use rustc_hash::FxHashMap;

use super::handler::Own;
use crate::common::Common;
use crate::jvm::{Jni, Reference, ThreadInfo, VirtualThreadFunction, bool_flag};
use crate::os::checked;
use crate::roster::Slot;
use crate::sync::lock;
use perk_hotspot::vm::Memory;

/// The limit of the threads that are remembered.
const MOST_KNOWN: usize = 1 << 16;
/// The bits of a field's id below the offset, and those of a reference that tell its kind.
const FIELD_BITS: u32 = 2;
const REFERENCE_BITS: usize = 3;

/// The virtual threads; see the module.
#[derive(Debug, Default)]
pub(super) struct VirtualThreads {
    known: FxHashMap<u64, Slot>,
    /// Those that the JVM did not tell, until the records so far are read.
    passing: Vec<(u64, Slot)>,
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
            let group = Some("VirtualThreads".to_owned());
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

    /// Forgets the threads that the JVM did not tell.
    pub(super) fn forget_passing(&mut self, common: &Common) {
        for (id, slot) in self.passing.drain(..) {
            self.known.remove(&id);
            lock(common.recorder).thread_ended(slot);
        }
    }
}

/// Whether the ids of virtual threads can be read: the references of ZGC are not addresses.
pub(crate) fn are_readable() -> bool {
    bool_flag(c"UseZGC") != Some(true)
}

/// Returns the place of the id in thread objects, if a known thread has its own there.
pub(super) fn id_offset(common: &Common, jni: Jni<'_>) -> Option<usize> {
    let thread = common.threads.all().into_iter().next().filter(|_| are_readable())?;
    let field = jni.long_field(&jni.find_class(c"java/lang/Thread")?, c"tid")?;
    let offset = field.number() >> FIELD_BITS;
    // SAFETY: the field is java.lang.Thread's, and this is a thread.
    let id = unsafe { jni.get_long(&*thread, field) };
    let object = Own.word(thread.raw() as usize & !REFERENCE_BITS)?;
    let is_small = offset.is_multiple_of(size_of::<u64>()) && offset < 4096;
    (is_small && checked::word(object.wrapping_add(offset))? == id as usize).then_some(offset)
}
