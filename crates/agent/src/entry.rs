//! The functions that the JVM calls: Agent_OnLoad before the program starts, Agent_OnAttach in a
//! program that runs already.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use perk_control::jvmpi::Jvmpi;
use perk_control::remote::attach_socket;
use perk_jvm::guard::{Feature, guard, install_panic_line};
use perk_jvm::os;
use perk_jvm::{Jni, Jvmti, Vm};
use perk_jvmpi as jvmpi;
use perk_jvmti_sys::jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};

use crate::load::{decode, load, load_jvmpi};
use crate::obey::{obey, tick};
use crate::{api, remote};

/// The time that the JVM has to start, if perk is loaded while it does, and between two looks.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const START_LOOK: Duration = Duration::from_millis(2);

/// An environment that stays, beside those that end with a recording. As long as the JVM has none, it
/// forgets to take an ended thread from its list of those with events, and writes to the freed memory of
/// that thread when the next recording begins.
static KEPT: OnceLock<Jvmti> = OnceLock::new();

/// The function that the JVM calls if `-agentpath`, `-agentlib` or `-Xrun` names this library.
///
/// # Safety
/// Only the JVM calls this, with itself and the options as a string that ends in NUL, or null.
#[expect(unreachable_pub, reason = "the JVM finds it by its symbol")]
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    install_panic_line();
    remote::set_duties(obey, tick);
    let options = if options.is_null() {
        String::new()
    } else {
        // SAFETY: the JVM passes a string that ends in NUL.
        decode(unsafe { CStr::from_ptr(options) }.to_bytes())
    };
    // SAFETY: `vm` is the JVM that calls.
    let jvmti = || unsafe { Jvmti::new(vm) };
    let mut loaded = Ok(());
    guard(Feature::Starting, || {
        loaded = match Jvmpi::parse(&options) {
            Some(asked) => load_jvmpi(vm, jvmti, asked),
            None => load(jvmti, &options),
        };
    });
    match loaded {
        // After a fault the program runs without a profile, and the line is on stderr.
        Ok(()) => JNI_OK,
        Err(stop) => stop.exit(),
    }
}

/// The function that the JVM calls after its last event.
///
/// # Safety
/// Only the JVM calls this, with itself.
#[expect(unreachable_pub, reason = "the JVM finds it by its symbol")]
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {
    jvmpi::ended();
}

/// Waits until the JVM is about to run the program. It takes libraries a little earlier, and ends if a class
/// with a package of its own is defined before it knows of modules.
fn await_program(vm: &Vm) -> Result<Jni<'_>, String> {
    let jni = vm.jni().ok_or("no JNI")?;
    let jvmti = KEPT.get().copied().or_else(|| jni.new_jvmti()).ok_or("no JVMTI")?;
    let _ = KEPT.set(jvmti);
    let deadline = Instant::now() + START_TIMEOUT;
    while !jvmti.is_live() && Instant::now() < deadline {
        std::thread::sleep(START_LOOK);
    }
    jvmti.is_live().then_some(jni).ok_or_else(|| "the JVM does not start its program".to_owned())
}

/// The function that the JVM calls if `perk attach` or `jcmd PID JVMTI.agent_load` names this library in
/// a running program. It opens the control socket and measures nothing. A profiler of JVMPI gets the
/// events that only a user can cause.
///
/// # Safety
/// Only the JVM calls this, with itself and the options as a string that ends in NUL, or null.
#[expect(unreachable_pub, reason = "the JVM finds it by its symbol")]
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    install_panic_line();
    remote::set_duties(obey, tick);
    let options = match options.is_null() {
        true => b"",
        // SAFETY: the JVM passes a string that ends in NUL.
        false => unsafe { CStr::from_ptr(options) }.to_bytes(),
    };
    // SAFETY: it is the JVM that calls.
    let vm = unsafe { Vm::from_raw(vm) };
    let mut done = Err("a fault of perk's own".to_owned());
    guard(Feature::Commands, || {
        done = match attach_socket(options) {
            Some(socket) => await_program(&vm).and_then(|jni| {
                // A profiler of JVMPI would take it for one of the program's.
                if !jvmpi::is_loaded() {
                    api::define(jni);
                }
                remote::open(vm, socket)
            }),
            None if jvmpi::request(options) => Ok(()),
            None => {
                Err("perk is loaded into a running program by perk attach; to one that runs a \
                         profiler of JVMPI in, it takes reset and dump"
                    .to_owned())
            }
        };
    });
    match done {
        Ok(()) => JNI_OK,
        Err(reason) => {
            os::say(&format!("HPROF ERROR: {reason}\n"));
            JNI_ERR
        }
    }
}
