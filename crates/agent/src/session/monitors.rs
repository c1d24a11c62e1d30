//! What the session does for `monitor=y`.

use std::cell::Cell;
use std::sync::Arc;

use perk_profile::{ClassId, TraceId};

use super::{Session, VIRTUAL_THREAD_TAG, lock};
use crate::engine::Monitors;
use crate::jvm::{Borrowed, Global, Jni, Reference, StackFrame};
use crate::os::Tid;
use crate::resolve::class_id;
use crate::roster::Slot;

thread_local! {
    /// The slot of this platform thread, once it is known.
    static SLOT: Cell<Option<Slot>> = const { Cell::new(None) };
}

impl Session {
    /// Runs `body` with what keeps track of monitors, if that is wanted.
    pub(crate) fn with_monitors(&self, body: impl FnOnce(&Monitors)) {
        if let Some(monitors) = &self.monitors {
            body(monitors);
        }
    }

    /// The slot of the calling thread, be it a virtual one; `None` for a thread of perk's own.
    pub(crate) fn slot(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        if jni.is_virtual(thread) {
            return self.slot_of_virtual(jni, thread);
        }
        self.slot_of_platform(jni, thread)
    }

    /// The same, but for a virtual thread that has none.
    pub(crate) fn known_slot(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        if jni.is_virtual(thread) {
            let slot = usize::try_from(self.jvmti.tag(thread) - VIRTUAL_THREAD_TAG);
            return slot.ok().map(Slot::from_index);
        }
        self.slot_of_platform(jni, thread)
    }

    fn slot_of_platform(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        if let Some(slot) = SLOT.get() {
            return Some(slot);
        }
        // SAFETY: the reference is valid as long as it is borrowed.
        let thread = unsafe { Borrowed::from_raw(thread.raw()) }?;
        if !self.engine.knows_current(jni, &thread) {
            return None;
        }
        let slot = self.engine.slot(Tid::current());
        SLOT.set(slot);
        slot
    }

    /// The slot of a virtual thread, which gets one if it has none.
    pub(crate) fn slot_of_virtual(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        match self.jvmti.tag(thread) {
            0 => {
                let info = self.jvmti.thread_info(jni, thread).ok()?;
                let slot = lock(&self.recorder).thread_started(info, false);
                self.jvmti.set_tag(thread, VIRTUAL_THREAD_TAG + slot.index() as i64);
                Some(slot)
            }
            tag => usize::try_from(tag - VIRTUAL_THREAD_TAG).ok().map(Slot::from_index),
        }
    }

    /// The profile's class for a class of the JVM.
    pub(crate) fn class(&self, class: &(impl Reference + ?Sized)) -> ClassId {
        class_id(self.jvmti, &self.recorder, class).0
    }

    /// The trace of a stack of a thread.
    pub(crate) fn trace(&self, jni: Jni<'_>, thread: Slot, stack: &[StackFrame]) -> TraceId {
        let frames = self.resolver.frames(jni, &self.recorder, stack);
        lock(&self.recorder).trace(Some(thread), &frames)
    }

    /// All platform threads but perk's own.
    pub(crate) fn platform_threads(&self) -> Vec<(Slot, Arc<Global>)> {
        self.engine.threads()
    }

    /// The calling platform thread ends.
    pub(super) fn forget_platform(&self, jni: Jni<'_>, slot: Slot) {
        SLOT.set(None);
        if let Some(monitors) = &self.monitors {
            monitors.thread_ended(jni, slot, &mut lock(&self.recorder));
        }
    }

    /// The calling virtual thread ends. Its slot is given to another, unless traces are of it.
    pub(super) fn forget_virtual(&self, jni: Jni<'_>, thread: &Borrowed<'_>) {
        let Some(monitors) = self.monitors.as_ref().filter(|_| !self.options.thread) else {
            return;
        };
        if let Some(slot) = self.known_slot(jni, thread) {
            let mut recorder = lock(&self.recorder);
            monitors.thread_ended(jni, slot, &mut recorder);
            recorder.thread_ended(slot);
        }
    }

    /// Writes MONITOR DUMP, if the JVM can be asked, and MONITOR TIME.
    pub(super) fn write_monitors(&self, jni: Option<Jni<'_>>) {
        let Some(monitors) = &self.monitors else { return };
        let mut moment = None;
        if let Some(jni) = jni {
            jni.with_room(u8::MAX, || moment = Some(monitors.moment(self, jni)));
        }
        let rows = monitors.take_rows();
        let mut recorder = lock(&self.recorder);
        monitors.write_lines(&mut recorder);
        if let Some((dump, slots)) = moment {
            recorder.write_monitor_dump(dump, &slots);
        }
        recorder.write_monitor_times(rows);
    }
}
