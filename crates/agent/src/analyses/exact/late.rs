//! The engine in a program that runs already. Classes get their probes by retransformation, and
//! lose them at the end. Calls that began before are not counted, and their callers continue
//! without probes.
//!
//! What the JVM only allows before it has loaded its first class is done in other ways:
//!
//! * `java.lang.Thread` cannot get a field: the states of threads are in a table of the helper class.
//! * The helper class cannot wait for a class of java.base that binds its native methods:
//!   `perk.Profiler` binds them.
//! * Native methods of the program are bound already, and have no trampolines: they are not counted, and named
//!   among the methods without probes.
//!
//! A method that began with probes keeps them until it returns, whatever becomes of its class. At the end
//! the helper class forgets the threads' states: such probes find none, and nothing to count in. The memory of
//! the trees is freed once no thread is inside of the helper.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use perk_instrument::{ClassFile, VIRTUAL_THREAD};
use perk_jvm::hook;
use perk_jvm::probes;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Local, ObjectRef, Reference};
use perk_jvmti_sys::jni_sys::jclass;
use perk_jvmti_sys::{Capability, jvmtiError};
use perk_profile::mutf8;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{ExactEngine, natives};
use crate::analyses::{Event, Needs};
use crate::common::MOST_HELPER_FRAMES;

/// The number of classes that the JVM changes at once: the JVM stands still meanwhile.
const BATCH: usize = 64;
/// The number of times that the list of classes is looked through for those that are being loaded.
const MOST_ROUNDS: usize = 10;
/// The time in which all threads should leave the helper class, and between two looks at them.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);
/// The age from which the trees of a recording are freed whose threads could not all be looked at.
const RETIREMENT: Duration = Duration::from_secs(10);

/// The recordings that have ended, and whose trees are still there.
static RETIRED: Mutex<Vec<(Instant, &'static ExactEngine)>> = Mutex::new(Vec::new());

/// The state of an engine in a program that runs already.
#[derive(Debug, Default)]
pub(super) struct LateStart {
    gives_probes: AtomicBool,
    /// The internal names of the classes that were loaded too early for probes.
    missed: Mutex<FxHashSet<String>>,
}

impl LateStart {
    /// Returns what the engine needs of the JVM.
    pub(super) fn needs() -> Needs {
        Needs {
            events: vec![Event::ClassFile, Event::VirtualThreadEnd],
            capabilities: vec![Capability::CanRetransformClasses],
            ..Needs::default()
        }
    }

    /// Whether classes get probes now. If not, a new one is noted.
    pub(super) fn gives_probes(&self, bytes: &[u8]) -> bool {
        let gives_probes = self.gives_probes.load(SeqCst);
        if !gives_probes
            && let Ok(class) = ClassFile::parse(bytes)
            && let Ok(name) = class.name()
        {
            lock(&self.missed).insert(mutf8::decode(name).into_owned());
        }
        gives_probes
    }
}

impl ExactEngine {
    /// Gives the classes probes.
    ///
    /// # Errors
    /// The reason why that cannot be, in one line.
    pub(super) fn begin_late(&'static self, late: &LateStart, jni: Jni<'_>) -> Result<(), String> {
        free_retired(jni);
        let helper = probes::define_late(jni, self.names(), natives::helper(self))?;
        let _ = self.helper.set(helper);
        self.start(jni)?;
        // The class is initialised by now, so that the JVM has its methods.
        self.common.set_helpers([helper]);
        if self.common.helper_methods().is_empty() {
            return Err("the helper class has no methods".to_owned());
        }
        // Classes that passed the hook before this may not be in the JVM's list yet.
        late.gives_probes.store(true, SeqCst);
        let mut missed = std::mem::take(&mut *lock(&late.missed));
        self.give_to_loaded(jni, &mut |name| {
            missed.remove(name);
            true
        });
        for _ in 0..MOST_ROUNDS {
            if missed.is_empty() {
                break;
            }
            std::thread::sleep(LOOK);
            let mut found = Vec::new();
            self.give_to_loaded(jni, &mut |name| {
                found.extend(missed.get(name).cloned());
                missed.contains(name)
            });
            found.iter().for_each(|name| _ = missed.remove(name));
        }
        Ok(())
    }

    /// Gives probes to the loaded classes that `is_new` accepts by their internal names.
    fn give_to_loaded(&self, jni: Jni<'_>, is_new: &mut dyn FnMut(&str) -> bool) {
        let jvmti = self.common.jvmti;
        let mut refused = |class: &ObjectRef<'_>, error| {
            let name = jvmti.class_signature(class).unwrap_or_default();
            let name = name.strip_prefix('L').and_then(|it| it.strip_suffix(';')).unwrap_or(&name);
            let name = name.replace('/', ".");
            self.classes.skip(format!("{name}: the JVM refuses the class with probes: {error}"));
        };
        self.with_loaded(jni, |classes| {
            let new = classes.iter().filter(|(name, _)| is_new(name));
            let new: Vec<_> = new.map(|(_, class)| class.raw()).collect();
            self.retransform(&new, &mut refused);
        });
    }

    /// Runs `body` with the loaded classes that get probes, and their internal names.
    fn with_loaded(&self, jni: Jni<'_>, body: impl FnOnce(&[(String, Local<'_>)])) {
        jni.with_room(u16::MAX, || {
            let classes = self.common.jvmti.loaded_classes(jni).unwrap_or_default().into_iter();
            let named = classes.filter_map(|class| Some((self.wanted_name(jni, &class)?, class)));
            body(&named.collect::<Vec<_>>());
        });
    }

    /// Takes the probes away, and counts nothing any more.
    pub(super) fn withdraw_late(&self, late: &LateStart, jni: Jni<'_>) {
        self.end_counting(jni);
        late.gives_probes.store(false, SeqCst);
        let before = self.take_from_loaded(jni, &FxHashMap::default());
        // A class that passed the hook before this may not have been in the JVM's list yet.
        std::thread::sleep(LOOK);
        self.take_from_loaded(jni, &before);
        hook::end();
        *lock(&late.missed) = FxHashSet::default();
        if let Some(states) = self.states.get() {
            states.take_all(jni);
        }
    }

    /// Takes the probes from the loaded classes, but for those of names of which there were as many `before`.
    /// Returns the number of classes by their names.
    fn take_from_loaded(
        &self,
        jni: Jni<'_>,
        before: &FxHashMap<String, usize>,
    ) -> FxHashMap<String, usize> {
        let mut counts: FxHashMap<String, usize> = FxHashMap::default();
        self.with_loaded(jni, |classes| {
            for (name, _) in classes {
                *counts.entry(name.clone()).or_default() += 1;
            }
            let is_new = |name: &String| counts.get(name) > before.get(name);
            let classes = classes.iter().filter(|(name, _)| is_new(name));
            let classes: Vec<_> = classes.map(|(_, class)| class.raw()).collect();
            // A class without probes is the one that the program has loaded: the JVM takes it.
            self.retransform(&classes, &mut |_, _| {});
        });
        counts
    }

    /// Frees what is large, as soon as that is safe. The thread has no state any more.
    pub(super) fn release_late(&'static self, jni: Jni<'_>) {
        natives::leave(self);
        if self.is_left(jni) {
            self.free(jni);
        } else {
            lock(&RETIRED).push((Instant::now(), self));
        }
    }

    fn retransform(&self, classes: &[jclass], refused: &mut dyn FnMut(&ObjectRef<'_>, jvmtiError)) {
        for batch in classes.chunks(BATCH) {
            // SAFETY: they are references to classes that the caller holds.
            unsafe { probes::retransform(self.common.jvmti, batch, refused) };
        }
    }

    /// Returns the internal name of a class that gets probes: some of its methods are counted, or it reports
    /// the threads.
    fn wanted_name(&self, jni: Jni<'_>, class: &Local<'_>) -> Option<String> {
        let jvmti = self.common.jvmti;
        let signature = jvmti.class_signature(class).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        let methods = || {
            let methods = jvmti.class_methods(class).unwrap_or_default();
            methods.into_iter().filter_map(|it| Some(jvmti.method_name(it).ok()?.0)).collect()
        };
        let is_of_threads = || name.as_bytes() == VIRTUAL_THREAD && jni.has_virtual_threads();
        let is_wanted = (is_of_threads() || self.classes.selects_any(name, methods))
            && !self.is_helper(jni, class)
            && jvmti.is_modifiable(class);
        is_wanted.then(|| name.to_owned())
    }

    /// Waits until no thread is inside of the helper class. Returns whether all have left.
    fn is_left(&self, jni: Jni<'_>) -> bool {
        // The JVM has no list of the virtual threads.
        if self.clock.has_guests() {
            return false;
        }
        let (jvmti, helper) = (self.common.jvmti, self.common.helper_methods());
        let deadline = Instant::now() + LEAVE_TIMEOUT;
        while Instant::now() < deadline {
            let threads = jvmti.all_threads(jni).unwrap_or_default();
            let references: Vec<&dyn Reference> = threads.iter().map(|it| it as _).collect();
            let Ok(moments) = jvmti.moments(&references, MOST_HELPER_FRAMES as u32) else { break };
            let mut frames = moments.iter().flat_map(|moment| &moment.stack);
            if !frames.any(|frame| helper.contains(&frame.method)) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }

    fn free(&self, jni: Jni<'_>) {
        self.clock.release(jni);
        if let Some(states) = self.states.get() {
            states.release(jni);
        }
        self.classes.release();
        self.parked.release();
        // SAFETY: no probe counts in them, as no thread has a state or is inside of the helper, and the
        // engine's own threads have ended.
        unsafe { self.pool.free() };
    }
}

/// Frees what is left of earlier recordings.
fn free_retired(jni: Jni<'_>) {
    let is_old = |(at, _): &mut (Instant, _)| at.elapsed() >= RETIREMENT;
    let old: Vec<_> = lock(&RETIRED).extract_if(.., is_old).collect();
    old.iter().for_each(|(_, engine)| engine.free(jni));
}
