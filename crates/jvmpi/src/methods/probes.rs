//! Probes: instructions in the methods of the program that call a helper class. Those for events of
//! methods (`methods=probes`) are at the entry and at each exit of a method; those for instructions and
//! for releases of monitors are made here, too.
//!
//! Classes get the probes once the agent has enabled such an event: when they are loaded, and those that
//! are there already by retransformation. The probes do nothing while a field of the helper class is off.

use std::ffi::{CStr, c_void};
use std::hash::Hasher;
use std::ptr::null_mut;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use perk_instrument::{EVENTS_HELPER, Events, MethodName, Methods, Probes, SitePlace, instrument};
use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use perk_jvmti_sys::jvmpi::{JVMPI_EVENT_CLASS_LOAD_HOOK, jobjectID};
use perk_profile::mutf8;
use rustc_hash::FxHasher;

use super::super::notify::{self, Phase};
use super::super::{
    Bridge, Id, bridge, contended_exit, cpu, instructions, jvm_events, lines, own, signature,
};
use super::{calls, numbers};
use crate::account::lines::AccountText;
use crate::state::STATE;
use crate::state::probes::Probes as State;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os;
use perk_jvm::probes::{self, HelperClass, HelperNative};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Local, ObjectRef, Reference};

/// `java/helper/java/lang/PerkEvents.java`, compiled; a test compares the two.
const HELPER_CLASS: &[u8] = include_bytes!("PerkEvents.class");

/// The native methods of the helper class.
static NATIVES: [HelperNative; 7] = [
    HelperNative(c"entered", "(I)J", entered as *const c_void),
    HelperNative(c"entered", "(ILjava/lang/Object;)J", entered_object as *const c_void),
    HelperNative(c"left", "(J)V", left as *const c_void),
    HelperNative(c"kept", "(J)V", kept as *const c_void),
    HelperNative(c"passed", "()V", passed as *const c_void),
    HelperNative(c"stepped", "(IIIIII)V", instructions::stepped as *const c_void),
    HelperNative(c"released", "(Ljava/lang/Object;)V", contended_exit::released as *const c_void),
];

/// The number of frames above the method's own while [`entered`] runs: it, and the two methods of the helper
/// that call it.
const HELPER_FRAMES: i32 = 3;

/// The type of the threads that carry virtual threads.
const CARRIER: &str = "Ljdk/internal/misc/CarrierThread;";
/// The type of the helper's fields for classes.
const OF_CLASS: &CStr = c"Ljava/lang/Class;";

/// The bits of the kinds of probes: for entries and exits, for instructions, for releases of monitors.
pub(super) const BRACKETS: u8 = 1;
pub(crate) const STEPS: u8 = 2;
pub(crate) const MONITORS: u8 = 4;

impl State {
    /// Defines the helper class, before any Java code runs.
    pub(super) fn begin(&self, bridge: &Bridge, jni: Jni<'_>) {
        STATE.probes.has_begun.store(true, SeqCst);
        let class = HelperClass {
            plain: EVENTS_HELPER,
            bytes: HELPER_CLASS.into(),
            natives: &NATIVES,
            exchanges: Vec::new(),
        };
        match probes::define_helpers(bridge.jvmti, jni, self.names, vec![class]) {
            Ok(defined) => {
                if let Some(helper) = defined.first() {
                    let _ = self.helper.set(helper);
                }
            }
            Err(reason) => {
                os::say(&format!("HPROF ERROR: {reason}\n"));
                if jvm_events::needs_class_files() {
                    // Classes have probes, which need the helper.
                    std::process::exit(1);
                }
            }
        }
    }

    /// Returns a class with probes, if it is to have any.
    pub(super) fn class_file(&self, name: &CStr, bytes: &[u8]) -> Option<Vec<u8>> {
        if !jvm_events::needs_class_files() {
            return None;
        }
        let wanted = STATE.probes.wanted.load(Relaxed);
        let events = Events {
            brackets: wanted & BRACKETS != 0,
            steps: wanted & STEPS != 0,
            monitors: wanted & MONITORS != 0,
        };
        let probes = Probes { calls: false, events, ..Probes::least(self.names) };
        match instrument(bytes, probes, &mut MethodNumbers) {
            Ok(done) => {
                let [skipped, exempt] = [
                    probes::skipped_methods(bytes, &done.skipped),
                    probes::skipped_methods(bytes, &done.exempt),
                ];
                let mut found = lock(&self.found);
                let counts = (done.method_count, done.native_count);
                found.classes.insert(hash_of(name), counts);
                found.skipped.extend(skipped);
                found.exempt.extend(exempt);
                done.bytes
            }
            // The JVM will say what is wrong with it.
            Err(error) => {
                let name = mutf8::decode(name.to_bytes()).replace('/', ".");
                lock(&self.found).refused.insert(format!("{name}: {error}"));
                None
            }
        }
    }

    /// Has the classes get probes of a kind. They send events once [`set`](Self::set) switches them on.
    pub(super) fn prepare(&self, bridge: &'static Bridge, kind: u8) {
        if STATE.probes.given.load(SeqCst) & kind != 0 {
            return;
        }
        STATE.probes.wanted.fetch_or(kind, SeqCst);
        if !STATE.probes.has_begun.load(SeqCst) {
            // No class is loaded yet.
            STATE.probes.given.fetch_or(kind, SeqCst);
            return jvm_events::apply(bridge, JVMPI_EVENT_CLASS_LOAD_HOOK);
        }
        // Before VMInit, where this is called again, the JVM does not change classes.
        let Some(jni) = bridge.current_jni().filter(|_| notify::phase() == Phase::Live) else {
            return;
        };
        // Another thread, or a handler of the class file hook, may come here meanwhile.
        while !STATE.probes.is_preparing.swap(true, SeqCst) {
            jvm_events::apply(bridge, JVMPI_EVENT_CLASS_LOAD_HOOK);
            let wanted = STATE.probes.wanted.load(SeqCst);
            cpu::own(|| notify::quiet(|| self.give_to_loaded(bridge, jni)));
            STATE.probes.given.fetch_or(wanted, SeqCst);
            STATE.probes.is_preparing.store(false, SeqCst);
            if STATE.probes.wanted.load(SeqCst) == wanted {
                break;
            }
        }
    }

    fn give_to_loaded(&self, bridge: &Bridge, jni: Jni<'_>) {
        let classes = bridge.jvmti.loaded_classes(jni).unwrap_or_default();
        let is_wanted =
            |it: &&Local<'_>| bridge.jvmti.is_modifiable(*it) && !own::is_own(bridge, jni, *it);
        let classes: Vec<jclass> = classes.iter().filter(is_wanted).map(Reference::raw).collect();
        let mut refused = |class: &ObjectRef<'_>, error| {
            let name = signature::class_name(&signature::signature(bridge.jvmti, class), false);
            let name = name.to_string_lossy();
            lock(&self.found).refused.insert(format!("{name}: {error}"));
        };
        // SAFETY: the references are good until this returns.
        unsafe { probes::retransform(bridge.jvmti, &classes, &mut refused) };
        // The lines begin at other instructions now.
        lines::forget();
    }

    /// Looks whether the thread that starts is the first one that carries virtual threads.
    pub(super) fn thread_started(
        &self,
        bridge: &Bridge,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) {
        if STATE.probes.is_known.load(SeqCst) || !jni.has_virtual_threads() {
            return;
        }
        let (Some(helper), Some(class)) = (self.helper.get(), jni.class_of(thread)) else { return };
        if bridge.jvmti.class_signature(&class).is_ok_and(|it| it == CARRIER) {
            // SAFETY: the field of the helper has this type.
            unsafe { jni.set_static_object(*helper, c"carrierThread", OF_CLASS, &class) };
            STATE.probes.is_known.store(true, SeqCst);
        }
    }

    /// Sets fields of the helper that switch the events of probes on or off.
    pub(super) fn set(&self, bridge: &Bridge, fields: &[(&CStr, bool)]) {
        let (Some(helper), Some(jni)) = (self.helper.get(), bridge.current_jni()) else { return };
        if notify::phase() != Phase::Live {
            return;
        }
        // The first look at virtual threads loads hundreds of classes, and fields are off at first.
        if !STATE.probes.is_used.load(SeqCst) && fields.iter().all(|(_, on)| !on) {
            return;
        }
        notify::quiet(|| {
            if !STATE.probes.is_used.swap(true, SeqCst)
                && jni.has_virtual_threads()
                && let Some(class) = jni.find_class(c"java/lang/VirtualThread")
            {
                // SAFETY: the field of the helper has this type.
                unsafe { jni.set_static_object(*helper, c"virtualThread", OF_CLASS, &class) };
            }
            self.know_own(bridge, jni);
            for (field, on) in fields {
                jni.set_static_boolean(*helper, field, *on);
            }
        });
    }

    /// Looks the helper's methods up, before any method runs whose events are sent.
    pub(super) fn know_own(&self, bridge: &Bridge, jni: Jni<'_>) {
        let Some(helper) = self.helper.get().filter(|_| STATE.own.hidden.get().is_none()) else {
            return;
        };
        // The JVM gives the methods of an initialised class, and the use of a field initialises it.
        jni.set_static_boolean(*helper, c"isOn", false);
        if let Ok(methods) = bridge.jvmti.class_methods(*helper) {
            let _ = STATE.own.hidden.set(methods);
        }
    }

    /// Appends the account of the probes.
    pub(super) fn account(&self, hidden_classes: u64, account: &mut AccountText) {
        if !jvm_events::needs_class_files() {
            return;
        }
        let found = lock(&self.found);
        let counts = || found.classes.values();
        let with_probes = counts().filter(|it| it.0 > 0).count();
        let methods: usize = counts().map(|it| it.0).sum();
        let natives: usize = counts().map(|it| it.1).sum();
        account.title("probes in the program's methods");
        account.number(methods as u64, &format!("methods of {with_probes} classes have probes"));
        account.number(natives as u64, "native methods have none");
        account.number(hidden_classes, "hidden classes have none, as those of lambda expressions");
        for (names, what) in [
            (&found.exempt, "methods, or all of a class, have none, as probes would break them"),
            (&found.skipped, "methods have none, or not all, for lack of room"),
            (&found.refused, "classes have none, as perk or the JVM refused them"),
        ] {
            account.number(names.len() as u64, what);
            account.names(names.iter());
        }
    }
}

/// Returns the hash of a class's name.
fn hash_of(name: &CStr) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.to_bytes());
    hasher.finish()
}

/// Gives numbers to the methods of a class.
struct MethodNumbers;

impl Methods for MethodNumbers {
    fn number(&mut self, _: &MethodName<'_>) -> u32 {
        // A method without a number has probes that do nothing.
        numbers::next().unwrap_or(i32::MAX as u32)
    }

    fn leaf(&mut self, _: &[u8], _: &[u8], _: &[u8], _: bool) -> bool {
        false
    }

    fn selected(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn field(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> u32 {
        0
    }

    fn keys(&mut self, keys: Vec<i32>) -> u32 {
        instructions::add_keys(keys)
    }

    fn site(&mut self, _: &MethodName<'_>, _: Option<SitePlace>) -> u32 {
        0
    }
}

fn enter(env: *mut JNIEnv, number: jint, object: impl FnOnce() -> jobjectID) -> jlong {
    let mut entry = 0;
    contain(Feature::Jvmpi, || {
        entry = calls::enter(env, numbers::of_number(number, HELPER_FRAMES), object);
    });
    entry
}

extern "system" fn entered(env: *mut JNIEnv, _: jclass, number: jint) -> jlong {
    enter(env, number, null_mut)
}

extern "system" fn entered_object(
    env: *mut JNIEnv,
    _: jclass,
    number: jint,
    object: jobject,
) -> jlong {
    enter(env, number, || {
        // SAFETY: the JVM passes a reference.
        let object = unsafe { ObjectRef::from_raw(object) };
        let id = bridge()
            .zip(object)
            .map(|(bridge, object)| notify::quiet(|| bridge.objects.id(bridge.jvmti, &object)));
        id.map_or(null_mut(), Id::raw)
    })
}

extern "system" fn left(env: *mut JNIEnv, _: jclass, entry: jlong) {
    contain(Feature::Jvmpi, || calls::leave(env, entry));
}

extern "system" fn kept(env: *mut JNIEnv, _: jclass, entry: jlong) {
    contain(Feature::Jvmpi, || calls::keep(env, entry));
}

extern "system" fn passed(_: *mut JNIEnv, _: jclass) {
    contain(Feature::Jvmpi, calls::pass);
}
