//! Probes in a program that runs already. Classes get them by retransformation, and lose them at the end.
//!
//! A method that began with probes keeps them until it returns, whatever becomes of its class. So what probes use
//! is freed once no thread is inside of the helper class.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use perk_instrument::{ClassFile, VIRTUAL_THREAD};
use perk_jvm::hook;
use perk_jvm::probes;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Local, ObjectRef, Reference};
use perk_jvmti_sys::jni_sys::jclass;
use perk_jvmti_sys::{Capability, jvmtiError};
use perk_profile::mutf8;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Event, Needs};
use crate::common::{Common, MOST_HELPER_FRAMES};
use crate::selection::Selection;

/// The number of classes that the JVM changes at once: the JVM stands still meanwhile.
const BATCH: usize = 64;
/// The number of times that the list of classes is looked through for those that are being loaded.
const MOST_ROUNDS: usize = 10;
/// The time in which all threads should leave the helper class, and between two looks at them.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);
/// The age from which what a recording used is freed if its threads could not all be looked at.
const RETIREMENT: Duration = Duration::from_secs(10);

/// The recordings that have ended, and whose memory is still there.
static RETIRED: Mutex<Vec<(Instant, &'static dyn LateAnalysis)>> = Mutex::new(Vec::new());

/// An analysis that puts probes into the classes of a program that runs already.
pub(crate) trait LateAnalysis: Sync {
    /// Returns what all analyses share.
    fn common(&self) -> &'static Common;

    /// Returns the helper class once it is defined.
    fn helper(&self) -> Option<&'static Global>;

    /// Returns the methods that get probes.
    fn selection(&self) -> &Selection;

    /// Whether the class that reports which threads are virtual gets probes, too.
    fn follows_virtual_threads(&self) -> bool {
        false
    }

    /// Whether a thread that no list of the JVM has may be inside of the helper class.
    fn may_have_unlisted_threads(&self, jni: Jni<'_>) -> bool;

    /// Notes a class without probes, and why.
    fn skip(&self, class: String);

    /// Frees what probes use: no thread has any.
    fn free(&self, jni: Jni<'_>);
}

/// The classes that get probes; see the module.
#[derive(Debug, Default)]
pub(crate) struct LateProbes {
    gives_probes: AtomicBool,
    /// The internal names of the classes that were loaded too early for probes.
    missed: Mutex<FxHashSet<String>>,
}

impl LateProbes {
    /// Returns what they need of the JVM.
    pub(crate) fn needs() -> Needs {
        Needs {
            events: vec![Event::ClassFile, Event::VirtualThreadEnd],
            capabilities: vec![Capability::CanRetransformClasses],
            ..Needs::default()
        }
    }

    /// Whether classes get probes now. If not, a new one is noted.
    pub(crate) fn gives_probes(&self, bytes: &[u8]) -> bool {
        let gives_probes = self.gives_probes.load(SeqCst);
        if !gives_probes
            && let Ok(class) = ClassFile::parse(bytes)
            && let Ok(name) = class.name()
        {
            lock(&self.missed).insert(mutf8::decode(name).into_owned());
        }
        gives_probes
    }

    /// Gives the classes probes.
    pub(crate) fn give(&self, analysis: &dyn LateAnalysis, jni: Jni<'_>) {
        // Classes that passed the hook before this may not be in the JVM's list yet.
        self.gives_probes.store(true, SeqCst);
        let mut missed = std::mem::take(&mut *lock(&self.missed));
        give_to_loaded(analysis, jni, &mut |name| {
            missed.remove(name);
            true
        });
        for _ in 0..MOST_ROUNDS {
            if missed.is_empty() {
                break;
            }
            std::thread::sleep(LOOK);
            let mut found = Vec::new();
            give_to_loaded(analysis, jni, &mut |name| {
                found.extend(missed.get(name).cloned());
                missed.contains(name)
            });
            found.iter().for_each(|name| _ = missed.remove(name));
        }
    }

    /// Takes the probes away.
    pub(crate) fn take(&self, analysis: &dyn LateAnalysis, jni: Jni<'_>) {
        self.gives_probes.store(false, SeqCst);
        let before = take_from_loaded(analysis, jni, &FxHashMap::default());
        // A class that passed the hook before this may not have been in the JVM's list yet.
        std::thread::sleep(LOOK);
        take_from_loaded(analysis, jni, &before);
        hook::end();
        *lock(&self.missed) = FxHashSet::default();
    }
}

/// Frees what the probes of an analysis used, as soon as that is safe.
pub(crate) fn free_when_left(analysis: &'static dyn LateAnalysis, jni: Jni<'_>) {
    if is_left(analysis, jni) {
        analysis.free(jni);
    } else {
        lock(&RETIRED).push((Instant::now(), analysis));
    }
}

/// Frees what is left of earlier recordings.
pub(crate) fn free_retired(jni: Jni<'_>) {
    let is_old = |(at, _): &mut (Instant, _)| at.elapsed() >= RETIREMENT;
    let old: Vec<_> = lock(&RETIRED).extract_if(.., is_old).collect();
    old.iter().for_each(|(_, analysis)| analysis.free(jni));
}

/// Gives probes to the loaded classes that `is_new` accepts by their internal names.
fn give_to_loaded(analysis: &dyn LateAnalysis, jni: Jni<'_>, is_new: &mut dyn FnMut(&str) -> bool) {
    let common = analysis.common();
    let mut refused = |class: &ObjectRef<'_>, error| {
        let name = common.jvmti.class_signature(class).unwrap_or_default();
        let name = name.strip_prefix('L').and_then(|it| it.strip_suffix(';')).unwrap_or(&name);
        let name = name.replace('/', ".");
        analysis.skip(format!("{name}: the JVM refuses the class with probes: {error}"));
    };
    with_loaded(analysis, jni, |classes| {
        let new = classes.iter().filter(|(name, _)| is_new(name));
        let new: Vec<_> = new.map(|(_, class)| class.raw()).collect();
        retransform(common, &new, &mut refused);
    });
}

/// Takes the probes from the loaded classes, but for those of names of which there were as many `before`.
/// Returns the number of classes by their names.
fn take_from_loaded(
    analysis: &dyn LateAnalysis,
    jni: Jni<'_>,
    before: &FxHashMap<String, usize>,
) -> FxHashMap<String, usize> {
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    with_loaded(analysis, jni, |classes| {
        for (name, _) in classes {
            *counts.entry(name.clone()).or_default() += 1;
        }
        let is_new = |name: &String| counts.get(name) > before.get(name);
        let classes = classes.iter().filter(|(name, _)| is_new(name));
        let classes: Vec<_> = classes.map(|(_, class)| class.raw()).collect();
        // A class without probes is the one that the program has loaded: the JVM takes it.
        retransform(analysis.common(), &classes, &mut |_, _| {});
    });
    counts
}

/// Runs `body` with the loaded classes that get probes, and their internal names.
fn with_loaded(
    analysis: &dyn LateAnalysis,
    jni: Jni<'_>,
    body: impl FnOnce(&[(String, Local<'_>)]),
) {
    jni.with_room(u16::MAX, || {
        let classes = analysis.common().jvmti.loaded_classes(jni).unwrap_or_default().into_iter();
        let named = classes.filter_map(|class| Some((wanted_name(analysis, jni, &class)?, class)));
        body(&named.collect::<Vec<_>>());
    });
}

fn retransform(
    common: &Common,
    classes: &[jclass],
    refused: &mut dyn FnMut(&ObjectRef<'_>, jvmtiError),
) {
    for batch in classes.chunks(BATCH) {
        // SAFETY: they are references to classes that the caller holds.
        unsafe { probes::retransform(common.jvmti, batch, refused) };
    }
}

/// Returns the internal name of a class that gets probes: some of its methods are counted, or it reports
/// the threads.
fn wanted_name(analysis: &dyn LateAnalysis, jni: Jni<'_>, class: &Local<'_>) -> Option<String> {
    let jvmti = analysis.common().jvmti;
    let signature = jvmti.class_signature(class).ok()?;
    let name = signature.strip_prefix('L')?.strip_suffix(';')?;
    let methods = || {
        let methods = jvmti.class_methods(class).unwrap_or_default();
        methods.into_iter().filter_map(|it| Some(jvmti.method_name(it).ok()?.0)).collect()
    };
    let is_of_threads = || {
        analysis.follows_virtual_threads()
            && name.as_bytes() == VIRTUAL_THREAD
            && jni.has_virtual_threads()
    };
    let is_selected = || analysis.selection().selects_any(&name.replace('/', "."), methods);
    let is_helper = || analysis.helper().is_some_and(|helper| jni.same(helper, class));
    let is_wanted =
        (is_of_threads() || is_selected()) && !is_helper() && jvmti.is_modifiable(class);
    is_wanted.then(|| name.to_owned())
}

/// Waits until no thread is inside of the helper class. Returns whether all have left.
fn is_left(analysis: &dyn LateAnalysis, jni: Jni<'_>) -> bool {
    // The JVM has no list of the virtual threads.
    if analysis.may_have_unlisted_threads(jni) {
        return false;
    }
    let common = analysis.common();
    let (jvmti, helper) = (common.jvmti, common.helper_methods());
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
