//! CLASS_LOAD: a class with its methods and fields.

use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::jni_sys::{jclass, jfieldID, jint, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_Event_class_load, JVMPI_Event_u,
    JVMPI_Field, JVMPI_Method,
};
use perk_jvmti_sys::{
    JVMTI_CLASS_STATUS_ARRAY, JVMTI_CLASS_STATUS_INITIALIZED, JVMTI_CLASS_STATUS_PREPARED,
    JVMTI_CLASS_STATUS_PRIMITIVE, JVMTI_EVENT_CLASS_PREPARE, call,
};

use super::own;
use super::signature::{class_name, signature};
use super::threads::critical;
use super::{Bridge, Id, bridge, jvm_events, notify};
use crate::state::classes::{ClassEntry, Classes};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Jvmti, Local, MethodRef, Reference};

/// The bit of a field's modifiers.
const STATIC: jint = 0x0008;

thread_local! {
    /// The classes that the calling thread has prepared for the bridge, until they are announced.
    static NOTED: Cell<Vec<Id>> = const { Cell::new(Vec::new()) };
}

impl Classes {
    /// Returns a class by its id; `None` if it is not the id of a class, or the class is unloaded.
    pub(super) fn find<'a>(&self, jni: Jni<'a>, id: Id) -> Option<Local<'a>> {
        critical(|| {
            let by_id = lock(&self.by_id);
            let known = by_id.get(&id)?;
            notify::quiet(|| jni.revived(&known.reference))
        })
    }

    /// Whether the id is that of a class.
    pub(super) fn is_one(&self, id: Id) -> bool {
        lock(&self.by_id).contains_key(&id)
    }

    /// Whether CLASS_LOAD of a class was sent without a request.
    pub(super) fn is_announced(&self, id: Id) -> bool {
        lock(&self.by_id).get(&id).is_some_and(|known| known.is_announced)
    }

    /// Forgets a class that was unloaded. Returns whether CLASS_UNLOAD must be sent.
    pub(super) fn forget(&self, jni: Jni<'_>, id: Id) -> bool {
        let Some(known) = lock(&self.by_id).remove(&id) else { return false };
        notify::quiet(|| jni.delete_weak(known.reference));
        known.has_end
    }

    /// Forgets a class, if it is one, on any thread.
    pub(super) fn bury(&self, id: Id) {
        if let Some(known) = lock(&self.by_id).remove(&id) {
            lock(&self.buried).push(known.reference);
        }
    }

    /// Notes that CLASS_UNLOAD of a class will be sent.
    fn expect_end(&self, id: Id) {
        if let Some(known) = lock(&self.by_id).get_mut(&id) {
            known.has_end = true;
        }
    }
}

/// Makes the JVM report prepared classes if the agent has enabled the beginnings or ends of classes.
pub(super) fn switch(bridge: &'static Bridge, _: bool) {
    let has_ends = notify::is_enabled(JVMPI_EVENT_CLASS_UNLOAD);
    let is_wanted = has_ends || notify::is_enabled(JVMPI_EVENT_CLASS_LOAD);
    jvm_events::set(bridge, JVMTI_EVENT_CLASS_PREPARE, is_wanted);
    if bridge.classes.are_known.swap(has_ends, Relaxed) || !has_ends {
        return;
    }
    let Some(jni) = bridge.current_jni() else { return };
    jni.without_exception(|| {
        notify::quiet(|| {
            for class in bridge.jvmti.loaded_classes(jni).unwrap_or_default() {
                if is_prepared(bridge.jvmti, &class) {
                    let id = bridge.class_id(jni, &class);
                    bridge.classes.expect_end(id);
                }
            }
        });
    });
}

impl Bridge {
    /// Returns the id of a class.
    pub(super) fn class_id(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> Id {
        notify::quiet(|| {
            let id = self.objects.id(self.jvmti, class);
            if !lock(&self.classes.by_id).contains_key(&id)
                && let Some(reference) = jni.weak(class)
            {
                let known = ClassEntry { reference, is_announced: false, has_end: false };
                let spare = match lock(&self.classes.by_id).entry(id) {
                    Entry::Vacant(place) => {
                        place.insert(known);
                        None
                    }
                    Entry::Occupied(_) => Some(known),
                };
                if let Some(spare) = spare {
                    jni.delete_weak(spare.reference);
                }
                let buried = std::mem::take(&mut *lock(&self.classes.buried));
                buried.into_iter().for_each(|reference| jni.delete_weak(reference));
            }
            id
        })
    }

    /// Handles the preparation of a class.
    pub(super) fn class_prepared(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) {
        let is_load = notify::is_wanted(JVMPI_EVENT_CLASS_LOAD);
        let is_wanted = is_load || notify::is_enabled(JVMPI_EVENT_CLASS_UNLOAD);
        if !is_wanted || own::is_own(self, jni, class) {
            return;
        }
        let id = self.class_id(jni, class);
        self.classes.expect_end(id);
        let is_new = is_load
            && lock(&self.classes.by_id)
                .get_mut(&id)
                .is_some_and(|known| !std::mem::replace(&mut known.is_announced, true));
        if is_new {
            self.with_class(jni, class, id, |load| {
                notify::send(JVMPI_EVENT_CLASS_LOAD, jni.raw(), || load);
            });
        }
    }

    /// Handles the preparation of a class by the bridge's own work: it is announced after that.
    pub(super) fn class_noted(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) {
        let id = self.class_id(jni, class);
        let mut noted = NOTED.take();
        noted.push(id);
        NOTED.set(noted);
        notify::expect_classes();
    }

    /// Sends CLASS_LOAD of the classes that are prepared at VMInit, superclasses and interfaces first.
    pub(super) fn announce_classes(&self, jni: Jni<'_>) {
        if !notify::is_wanted(JVMPI_EVENT_CLASS_LOAD) {
            return;
        }
        let classes = notify::quiet(|| self.jvmti.loaded_classes(jni)).unwrap_or_default();
        classes.iter().for_each(|class| self.announce_class(jni, class));
    }

    /// Sends CLASS_LOAD of a class, and before it of those above, unless it was sent or is not wanted.
    pub(super) fn announce_class(&self, jni: Jni<'_>, class: &Local<'_>) {
        if !notify::is_wanted(JVMPI_EVENT_CLASS_LOAD) || self.is_announced(jni, class) {
            return;
        }
        if !notify::quiet(|| is_prepared(self.jvmti, class)) {
            return;
        }
        let above = notify::quiet(|| {
            let mut above = interfaces(self.jvmti, jni, class);
            above.extend(jni.superclass(class));
            above
        });
        above.iter().for_each(|it| self.announce_class(jni, it));
        self.class_prepared(jni, class);
    }

    fn is_announced(&self, jni: Jni<'_>, class: &Local<'_>) -> bool {
        self.classes.is_announced(self.class_id(jni, class))
    }

    /// Has the agent know the class of an id that an event is about to name: CLASS_LOAD is sent if it was
    /// not. That of an array has its name alone. Returns false if it is loaded and not prepared, so that
    /// its methods and fields have no ids yet: its CLASS_LOAD comes later.
    pub(super) fn announce_id(&self, jni: Jni<'_>, id: Id) -> bool {
        if !notify::is_enabled(JVMPI_EVENT_CLASS_LOAD) || is_remembered(id) {
            return true;
        }
        if self.classes.is_announced(id) {
            remember(id);
            return true;
        }
        let Some(class) = self.classes.find(jni, id) else { return true };
        match notify::quiet(|| signature(self.jvmti, &class)).to_bytes() {
            [b'[', ..] => {
                self.class_prepared(jni, &class);
                // Dumps have it as a class from now on.
                self.shapes.forget(id);
            }
            _ => self.announce_class(jni, &class),
        }
        self.classes.is_announced(id)
    }

    /// Does so for the class of a method. Returns false if the agent is not to know it, as it is one of
    /// perk's own, or is unloaded.
    pub(super) fn announce_method(&self, jni: Jni<'_>, method: MethodRef) -> bool {
        let class = notify::quiet(|| self.jvmti.declaring_class(jni, method));
        let Ok(class) = class else { return false };
        let is_own = own::is_own(self, jni, &class);
        if !is_own {
            self.announce_class(jni, &class);
        }
        !is_own
    }

    /// Whether a method is one of perk's own.
    pub(super) fn is_own_method(&self, jni: Jni<'_>, method: MethodRef) -> bool {
        let class = notify::quiet(|| self.jvmti.declaring_class(jni, method));
        class.is_ok_and(|class| own::is_own(self, jni, &class))
    }

    /// Runs `body` with the contents of a class's CLASS_LOAD, which live as long.
    pub(super) fn with_class(
        &self,
        jni: Jni<'_>,
        class: &(impl Reference + ?Sized),
        id: Id,
        body: impl FnOnce(JVMPI_Event_u),
    ) {
        let mut described = notify::quiet(|| {
            let mut described = ClassDescription::of(self.jvmti, jni, class);
            described.name = class_name(&described.signature, self.options.has_slashes);
            described
        });
        self.classes.expect_end(id);
        body(described.contents(id));
        notify::quiet(|| described.free(self.jvmti));
    }
}

/// The classes that a thread was last asked for, and that are announced.
const REMEMBERED: usize = 64;

thread_local! {
    /// By the last digits of their ids, which are never used again.
    static ANNOUNCED: [Cell<i64>; REMEMBERED] = const { [const { Cell::new(0) }; REMEMBERED] };
}

fn place(id: Id) -> usize {
    (id.0 >> 4) as usize % REMEMBERED
}

/// Whether the thread knows a class to be announced.
fn is_remembered(id: Id) -> bool {
    ANNOUNCED.with(|known| known[place(id)].get() == id.0)
}

fn remember(id: Id) {
    ANNOUNCED.with(|known| known[place(id)].set(id.0));
}

/// Announces the classes that the calling thread has prepared for the bridge, those above others first.
pub(super) fn announce_noted() {
    let Some((bridge, jni)) = bridge().and_then(|it| Some((it, it.current_jni()?))) else { return };
    jni.without_exception(|| {
        for id in NOTED.take() {
            // The class may be unloaded.
            if let Some(class) = bridge.classes.find(jni, id) {
                bridge.class_prepared(jni, &class);
            }
        }
    });
}

/// Whether a class is prepared and neither an array nor primitive.
fn is_prepared(jvmti: Jvmti, class: &(impl Reference + ?Sized)) -> bool {
    const OTHER: jint = (JVMTI_CLASS_STATUS_ARRAY | JVMTI_CLASS_STATUS_PRIMITIVE) as jint;
    let status = status(jvmti, class);
    status & JVMTI_CLASS_STATUS_PREPARED as jint != 0 && status & OTHER == 0
}

/// Whether a class is initialised.
pub(super) fn is_initialised(jvmti: Jvmti, class: &(impl Reference + ?Sized)) -> bool {
    status(jvmti, class) & JVMTI_CLASS_STATUS_INITIALIZED as jint != 0
}

/// Returns the JVM's bits of a class's state; 0 if it has none.
fn status(jvmti: Jvmti, class: &(impl Reference + ?Sized)) -> jint {
    let mut status = 0;
    // SAFETY: the environment and reference are valid, `status` lives until the call returns.
    let result = unsafe { call!(jvmti.raw(), GetClassStatus, class.raw(), &mut status) };
    if result.ok().is_ok() { status } else { 0 }
}

/// Returns the direct superinterfaces of a class.
fn interfaces<'a>(jvmti: Jvmti, jni: Jni<'a>, class: &(impl Reference + ?Sized)) -> Vec<Local<'a>> {
    let (mut count, mut found) = (0, null_mut());
    // SAFETY: the environment and reference are valid; the array and its references are ours to free.
    unsafe {
        let result =
            call!(jvmti.raw(), GetImplementedInterfaces, class.raw(), &mut count, &mut found);
        if result.ok().is_err() {
            return Vec::new();
        }
        jvmti.take_references(jni, count, found)
    }
}

/// The description of a class. The strings are JVMTI's.
#[derive(Debug, Default)]
struct ClassDescription {
    signature: CString,
    name: CString,
    source: CString,
    interface_count: usize,
    methods: Vec<JVMPI_Method>,
    statics: Vec<JVMPI_Field>,
    instances: Vec<JVMPI_Field>,
}

impl ClassDescription {
    fn of(jvmti: Jvmti, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> Self {
        let mut described = Self {
            signature: signature(jvmti, class),
            interface_count: interfaces(jvmti, jni, class).len(),
            ..Self::default()
        };
        // SAFETY: the environment and reference are valid; what is handed out is ours to free.
        unsafe {
            let mut source: *mut c_char = null_mut();
            if call!(jvmti.raw(), GetSourceFileName, class.raw(), &mut source).ok().is_ok() {
                described.source = CStr::from_ptr(source).to_owned();
                jvmti.free(source);
            }
            let (mut count, mut methods): (jint, *mut jmethodID) = (0, null_mut());
            if call!(jvmti.raw(), GetClassMethods, class.raw(), &mut count, &mut methods)
                .ok()
                .is_ok()
            {
                let found = jvmti.slice(count, methods).iter();
                described.methods = found.map(|it| method(jvmti, *it)).collect();
                jvmti.free(methods);
            }
            let (mut count, mut fields): (jint, *mut jfieldID) = (0, null_mut());
            if call!(jvmti.raw(), GetClassFields, class.raw(), &mut count, &mut fields).ok().is_ok()
            {
                for id in jvmti.slice(count, fields) {
                    let (field, is_static) = field(jvmti, class.raw(), *id);
                    match is_static {
                        true => described.statics.push(field),
                        false => described.instances.push(field),
                    }
                }
                jvmti.free(fields);
            }
        }
        described
    }

    fn contents(&mut self, id: Id) -> JVMPI_Event_u {
        JVMPI_Event_u {
            class_load: JVMPI_Event_class_load {
                class_name: self.name.as_ptr().cast_mut(),
                source_name: self.source.as_ptr().cast_mut(),
                num_interfaces: self.interface_count as jint,
                num_methods: self.methods.len() as jint,
                methods: self.methods.as_mut_ptr(),
                num_static_fields: self.statics.len() as jint,
                statics: self.statics.as_mut_ptr(),
                num_instance_fields: self.instances.len() as jint,
                instances: self.instances.as_mut_ptr(),
                class_id: id.raw(),
            },
        }
    }

    /// Gives the strings back.
    fn free(self, jvmti: Jvmti) {
        // SAFETY: the strings are JVMTI's, or null, and nobody uses them any more.
        unsafe {
            for method in self.methods {
                jvmti.free(method.method_name);
                jvmti.free(method.method_signature);
            }
            for field in self.statics.into_iter().chain(self.instances) {
                jvmti.free(field.field_name);
                jvmti.free(field.field_signature);
            }
        }
    }
}

/// # Safety
/// The method must be one of the JVM's.
unsafe fn method(jvmti: Jvmti, id: jmethodID) -> JVMPI_Method {
    let (mut name, mut signature) = (null_mut(), null_mut());
    // SAFETY: the caller's promise; the strings are ours to free.
    let lines = unsafe {
        let result = call!(jvmti.raw(), GetMethodName, id, &mut name, &mut signature, null_mut());
        let _ = result.ok();
        jvmti.line_table(MethodRef::from_raw(id)).unwrap_or_default()
    };
    let lines = lines.iter().map(|(_, line)| *line as jint);
    JVMPI_Method {
        method_name: name,
        method_signature: signature,
        start_lineno: lines.clone().min().unwrap_or(-1),
        end_lineno: lines.max().unwrap_or(-1),
        method_id: id,
    }
}

/// Returns a field, and whether it is static.
///
/// # Safety
/// The field must be one of the class.
unsafe fn field(jvmti: Jvmti, class: jclass, id: jfieldID) -> (JVMPI_Field, bool) {
    let (mut name, mut signature, mut modifiers) = (null_mut(), null_mut(), 0);
    // SAFETY: the caller's promise; the strings are ours to free.
    unsafe {
        let names = (&mut name, &mut signature);
        let result = call!(jvmti.raw(), GetFieldName, class, id, names.0, names.1, null_mut());
        let _ = result.ok();
        let _ = call!(jvmti.raw(), GetFieldModifiers, class, id, &mut modifiers).ok();
    }
    (JVMPI_Field { field_name: name, field_signature: signature }, modifiers & STATIC != 0)
}
