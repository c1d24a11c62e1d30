//! The JVM's side of JVMPI: perk answers the functions of a profiler library of JDK 1.2 to 5, and sends
//! it its events.
//!
//! 1. [`load`] takes the options, exchanges `GetEnv`, asks the JVM for what events need, and loads the
//!    library if it is named;
//! 2. [`callbacks`] receives the JVM's events and passes them to the part that each concerns;
//! 3. the parts fill JVMPI's events, and [`notify`] delivers those that the agent has enabled;
//! 4. [`interface`] is the table of functions that the agent calls.
//!
//! The id of an object is its tag, so ids do not move. Events come from the agent's own doing, too: it
//! may call every function in a handler. Work of the bridge itself is [`quiet`](notify::quiet).
//!
//! Locks: none is held while the agent is called. Where one is held while the JVM is called, the thread
//! is in [`threads::critical`]: `SuspendThread` does not leave a thread suspended there.

mod account;
mod call_trace;
mod callbacks;
mod class_files;
mod classes;
mod compiled;
mod contended_exit;
mod cpu;
mod events;
mod gc;
mod heap_dump;
mod instructions;
mod interface;
mod library;
mod lines;
mod load;
mod methods;
mod monitor_dump;
mod monitors;
mod natives;
mod notify;
mod object_dump;
mod objects;
mod raw_monitors;
mod refs;
mod requests;
mod suspension;
mod system_threads;
mod threads;

pub use self::load::start;

use std::sync::OnceLock;

use perk_control::jvmpi::Jvmpi;
use perk_jvmti_sys::jni_sys::JavaVM;
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_DATA_DUMP_REQUEST, JVMPI_EVENT_DATA_RESET_REQUEST, jobjectID,
};

use perk_jvm::{Jni, Jvmti, Vm};

/// The state of the bridge. It is made at load and lives as long as the process.
#[derive(Debug)]
pub(crate) struct Bridge {
    jvmti: Jvmti,
    vm: Vm,
    options: Jvmpi,
    threads: threads::Threads,
    objects: objects::Objects,
    classes: classes::Classes,
    methods: methods::Methods,
    shapes: heap_dump::Shapes,
}

impl Bridge {
    /// # Safety
    /// `vm` must be the running JVM.
    unsafe fn new(vm: *mut JavaVM, jvmti: Jvmti, options: Jvmpi) -> Self {
        Self {
            jvmti,
            // SAFETY: the caller's promise.
            vm: unsafe { Vm::from_raw(vm) },
            options,
            threads: threads::Threads::default(),
            objects: objects::Objects::default(),
            classes: classes::Classes::default(),
            methods: methods::Methods::default(),
            shapes: heap_dump::Shapes::default(),
        }
    }

    /// Returns the environment of the calling thread; `None` if it is not one of the JVM's.
    fn current_jni(&self) -> Option<Jni<'_>> {
        self.vm.jni()
    }
}

static BRIDGE: OnceLock<Bridge> = OnceLock::new();

/// Returns the bridge, once the agent is loaded.
fn bridge() -> Option<&'static Bridge> {
    BRIDGE.get()
}

/// The id of an object: its tag. It is a multiple of 16 and never 0; ids of ended objects are not used
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Id(i64);

impl Id {
    /// Wraps a tag; `None` if the object has none.
    fn from_tag(tag: i64) -> Option<Self> {
        (tag > 0).then_some(Self(tag))
    }

    /// Wraps an argument of the agent's, which may be anything.
    fn from_raw(id: jobjectID) -> Option<Self> {
        Self::from_tag(id as i64)
    }

    /// Returns the id as the agent has it.
    fn raw(self) -> jobjectID {
        self.0 as jobjectID
    }
}

/// Handles the end of the JVM, after its last event: the account is printed, if it is wanted.
pub fn ended() {
    if let Some(bridge) = bridge().filter(|_| notify::phase() == notify::Phase::Over) {
        account::print(bridge);
    }
}

/// Whether this JVM has a profiler of JVMPI.
pub fn is_loaded() -> bool {
    bridge().is_some()
}

/// Obeys a command from outside: `reset` and `dump` are the events of that name. Returns whether it is
/// one, and a profiler is there.
pub fn request(command: &[u8]) -> bool {
    let kind = match command {
        b"reset" => JVMPI_EVENT_DATA_RESET_REQUEST,
        b"dump" => JVMPI_EVENT_DATA_DUMP_REQUEST,
        _ => return false,
    };
    let Some(jni) = bridge().and_then(Bridge::current_jni) else { return false };
    notify::send_plain(kind, jni.raw());
    true
}
