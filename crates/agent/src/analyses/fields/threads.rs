//! The threads and their states, objects of the helper class to which a field of `java.lang.Thread`
//! refers. A virtual thread has a state of its own.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use perk_instrument::fields::THREAD_STATE;
use perk_instrument::{FIELDS_HELPER, Names};
use perk_jvm::guard::uncounted;
use perk_jvm::{Global, IntField, Jni, Local, ObjectField, Reference};

use super::records::Slab;

/// The class of the thread that hands over the references that the collector has cleared. The
/// original leaves this thread out, too.
const LEFT_OUT: &CStr = c"java/lang/ref/Reference$ReferenceHandler";

/// The access to the states of threads.
#[derive(Debug)]
pub(super) struct States {
    helper: &'static Global,
    /// The state of threads that are not counted.
    ended: Global,
    left_out: Global,
    of_thread: ObjectField,
    owner: IntField,
    begin: IntField,
    free: IntField,
    end: IntField,
    /// The number of the last thread.
    last: AtomicU32,
}

impl States {
    /// Finds the fields.
    pub(super) fn new(jni: Jni<'_>, helper: &'static Global, names: Names) -> Option<Self> {
        let thread = jni.find_class(c"java/lang/Thread")?;
        let signature = CString::new(format!("L{};", names.of(FIELDS_HELPER))).ok()?;
        let field = CString::new(names.of(THREAD_STATE)).ok()?;
        let ended = jni.static_object(helper, c"ENDED", &signature)?;
        Some(Self {
            helper,
            ended: jni.global(&ended)?,
            left_out: jni.global(&jni.find_class(LEFT_OUT)?)?,
            of_thread: jni.object_field(&thread, &field, &signature)?,
            owner: jni.int_field(helper, c"owner")?,
            begin: jni.int_field(helper, c"begin")?,
            free: jni.int_field(helper, c"free")?,
            end: jni.int_field(helper, c"end")?,
            last: AtomicU32::new(0),
        })
    }

    /// Gives a thread its state and returns it. JVMTI must not be asked for the thread: it waits
    /// until a virtual thread is mounted, and a thread begins on the way to that.
    pub(super) fn begin<'a>(
        &self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        if let Some(known) = self.of(jni, thread) {
            return Some(known);
        }
        let state = match jni.is_instance(thread, &self.left_out) {
            true => jni.local(&self.ended)?,
            false => {
                let state = uncounted(|| jni.allocate(self.helper))?;
                let number = self.last.fetch_add(1, Relaxed) + 1;
                // SAFETY: the field is the helper's, and this is a state.
                unsafe { jni.set_int(&state, self.owner, number as i32) };
                state
            }
        };
        // SAFETY: the field is java.lang.Thread's, and this is a thread; a state is of its type.
        unsafe { jni.set_object(thread, self.of_thread, Some(&state)) };
        Some(state)
    }

    fn of<'a>(&self, jni: Jni<'a>, thread: &(impl Reference + ?Sized)) -> Option<Local<'a>> {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        unsafe { jni.get_object(thread, self.of_thread) }
    }

    /// Ends a thread. Returns its slab.
    pub(super) fn end(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slab> {
        let state = self.of(jni, thread).filter(|state| !jni.same(state, &self.ended))?;
        // SAFETY: as in `begin`.
        unsafe { jni.set_object(thread, self.of_thread, Some(&self.ended)) };
        Some(self.slab(jni, &state))
    }

    /// Returns the slab of a state.
    pub(super) fn slab(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized)) -> Slab {
        // SAFETY: the fields are the helper's, and this is a state.
        let get = |field| unsafe { jni.get_int(state, field) } as u32;
        Slab { begin: get(self.begin), free: get(self.free), end: get(self.end) }
    }

    /// Gives a state a slab.
    pub(super) fn set_slab(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized), slab: Slab) {
        let Slab { begin, free, end } = slab;
        for (field, value) in [(self.begin, begin), (self.free, free), (self.end, end)] {
            // SAFETY: the fields are the helper's, and this is a state.
            unsafe { jni.set_int(state, field, value as i32) };
        }
    }
}
