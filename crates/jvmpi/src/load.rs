//! The start of the bridge, in `Agent_OnLoad`.

use perk_control::jvmpi::Jvmpi;
use perk_jvmti_sys::jni_sys::JavaVM;
use perk_jvmti_sys::{Capability, jvmtiEventCallbacks};

use super::{Bridge, callbacks, classes, cpu, interface, library, methods};
use crate::state::STATE;
use perk_jvm::Jvmti;
use perk_jvm::archive;

/// The capabilities that the bridge needs; without events they cost nothing. That for local variables is
/// not among them: with it C2's code keeps them all, which takes 5 % more CPU time. JVMs that give it late
/// give it to a MONITOR_DUMP.
const NEEDED: [Capability; 20] = [
    Capability::CanTagObjects,
    Capability::CanGetSourceFileName,
    Capability::CanGetLineNumbers,
    Capability::CanGetThreadCpuTime,
    Capability::CanGetOwnedMonitorInfo,
    Capability::CanGetOwnedMonitorStackDepthInfo,
    Capability::CanGetCurrentContendedMonitor,
    Capability::CanGetMonitorInfo,
    Capability::CanGetConstantPool,
    Capability::CanGetBytecodes,
    Capability::CanRetransformClasses,
    Capability::CanRetransformAnyClass,
    Capability::CanGenerateAllClassHookEvents,
    Capability::CanGenerateEarlyVmstart,
    Capability::CanGenerateCompiledMethodLoadEvents,
    Capability::CanGenerateMonitorEvents,
    Capability::CanGenerateNativeMethodBindEvents,
    Capability::CanGenerateObjectFreeEvents,
    Capability::CanGenerateGarbageCollectionEvents,
    Capability::CanGenerateSampledObjectAllocEvents,
];

/// The capability that a library needs to get the files of all classes, if it is loaded here. One of
/// `-Xrun` comes later, and gets the files from then on without it. There the hook is on from the
/// beginning, and with this capability the JVM would not use its archive of classes.
const OF_LIBRARY: [Capability; 1] = [Capability::CanGenerateEarlyClassHookEvents];

/// The last long-term version that gives the capability for local variables to a program that runs.
const LAST_WITH_LATE_LOCALS: u32 = 21;

/// Starts the bridge, and the library if it is named.
///
/// # Safety
/// `vm` must be the running JVM, in `Agent_OnLoad`.
///
/// # Errors
/// The reason why the program must not start, in one line.
pub unsafe fn start(vm: *mut JavaVM, jvmti: Jvmti, options: Jvmpi) -> Result<(), String> {
    let refused = |error| format!("the JVM refused what JVMPI needs: {error}");
    if options.library.is_some() || archive::is_recorded() {
        archive::leave()?;
    }
    let of_library = options.library.iter().flat_map(|_| OF_LIBRARY);
    let of_dumps = (jvmti.feature_version() > LAST_WITH_LATE_LOCALS)
        .then_some(Capability::CanAccessLocalVariables);
    let more = methods::needed(options.methods).iter().copied().chain(of_library).chain(of_dumps);
    let needed = NEEDED.into_iter().chain(more).collect();
    // What this JVM does not have is missing where it is asked for.
    let given = jvmti.potential(needed).map_err(refused)?;
    jvmti.add_capabilities(given).map_err(refused)?;
    // A thread's first sample of its objects is at a distance that is chosen when the thread is made.
    if given.has(Capability::CanGenerateSampledObjectAllocEvents) {
        jvmti.set_heap_sampling_interval(0).map_err(refused)?;
    }
    let mut table = jvmtiEventCallbacks::default();
    callbacks::fill(&mut table);
    jvmti.set_callbacks(&table).map_err(refused)?;
    let library = options.library.clone();
    let has_library = library.is_some();
    // SAFETY: the caller's promise.
    let bridge = unsafe { Bridge::new(vm, jvmti, options) };
    if bridge.options.verbose {
        cpu::begin();
    }
    let _ = STATE.delivery.announce_noted.set(classes::announce_noted);
    if STATE.bridge.set(bridge).is_err() {
        return Err("perk is loaded already".to_owned());
    }
    callbacks::enable_always(jvmti, has_library).map_err(refused)?;
    // SAFETY: the caller's promise.
    unsafe {
        interface::exchange_get_env(vm);
        match library {
            Some(library) => library::start(vm, jvmti, &library),
            None => Ok(()),
        }
    }
}
