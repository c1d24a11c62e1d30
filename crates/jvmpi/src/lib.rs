//! The JVM's side of JVMPI: perk answers the functions of a profiler library of JDK 1.2 to 5, and sends
//! it its events.
//!
//! 1. `load` takes the options, exchanges `GetEnv`, asks the JVM for what events need, and loads the
//!    library if it is named;
//! 2. `callbacks` receives the JVM's events and passes them to the part that each concerns;
//! 3. the parts fill JVMPI's events, and `notify` delivers those that the agent has enabled;
//! 4. `interface` is the table of functions that the agent calls.
//!
//! What the parts know is in one `state`. Arrows between modules point down: `state` and the parts that
//! deliver (`notify`, `gc::hold`, `cpu`, `threads::current`) call nothing above them.
//!
//! The id of an object is its tag, so ids do not move. Events come from the agent's own doing, too: it
//! may call every function in a handler. Work of the bridge itself is `notify::quiet`.
//!
//! Locks: none is held while the agent is called. Where one is held while the JVM is called, the thread
//! is in `threads::critical`: `SuspendThread` does not leave a thread suspended there.

mod account;
mod agent;
mod arrival;
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
mod id;
mod instructions;
mod interface;
mod jvm_events;
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
mod own;
mod raw_monitors;
mod refs;
mod requests;
mod signature;
mod state;
mod suspension;
mod switches;
mod system_threads;
mod threads;

pub use self::load::start;

use perk_jvmti_sys::jvmpi::{JVMPI_EVENT_DATA_DUMP_REQUEST, JVMPI_EVENT_DATA_RESET_REQUEST};

use self::id::Id;
use self::state::bridge;
use self::state::bridge::Bridge;

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
