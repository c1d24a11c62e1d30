//! An agent that counts the bytecodes of each method by the single steps of JVMTI, in a library of its
//! own, which the tests compile with rustc. Its option is the prefix of the classes' names, a comma,
//! and the file that it writes: a line for each method with its count and its name. JVMTI's functions
//! are called by their indexes in its table.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute_copy;
use std::ptr::null_mut;
use std::sync::Mutex;

/// A reference or a method's id.
type Id = *const c_void;
/// The functions of JVMTI or JNI, which an environment points to.
type Env = *const *const Id;
type Text = *const c_char;

const GET_ENV: usize = 6;
// JVMTI, one less than in its documentation.
const SET_EVENT_NOTIFICATION_MODE: usize = 1;
const GET_CLASS_SIGNATURE: usize = 47;
const GET_METHOD_NAME: usize = 63;
const GET_METHOD_DECLARING_CLASS: usize = 64;
const SET_EVENT_CALLBACKS: usize = 121;
const ADD_CAPABILITIES: usize = 141;

const JVMTI_VERSION: i32 = 0x3001_0000;
const FIRST_EVENT: usize = 50;
const VM_INIT: usize = 50;
const VM_DEATH: usize = 51;
const SINGLE_STEP: usize = 60;
/// Single steps.
const CAPABILITIES: u64 = 1 << 16;

struct State {
    prefix: String,
    file: String,
    steps: HashMap<usize, u64>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Returns the function at an index of the table.
///
/// # Safety
/// It must be of the type.
unsafe fn function<F>(env: Env, place: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { transmute_copy(&*(*env).add(place)) }
}

fn enable(env: Env, event: usize) {
    type Enable = extern "C" fn(Env, i32, i32, Id, ...) -> i32;
    // SAFETY: SetEventNotificationMode is of this type.
    unsafe {
        function::<Enable>(env, SET_EVENT_NOTIFICATION_MODE)(env, 1, event as i32, null_mut())
    };
}

extern "C" fn vm_started(env: Env, _: Env, _: Id) {
    enable(env, SINGLE_STEP);
}

extern "C" fn stepped(_: Env, _: Env, _: Id, method: Id, _: i64) {
    if let Some(state) = STATE.lock().unwrap().as_mut() {
        *state.steps.entry(method as usize).or_default() += 1;
    }
}

/// Returns the name of a method: `com/acme/Main.run(I)V`.
fn name(env: Env, method: Id) -> String {
    let (mut class, mut signature): (Id, Text) = (null_mut(), null_mut());
    let (mut name, mut descriptor): (Text, Text) = (null_mut(), null_mut());
    type GetName = extern "C" fn(Env, Id, *mut Text, *mut Text, *mut Text) -> i32;
    // SAFETY: the functions are of these types, and write a class and texts.
    unsafe {
        function::<extern "C" fn(Env, Id, *mut Id) -> i32>(env, GET_METHOD_DECLARING_CLASS)(
            env, method, &mut class,
        );
        function::<extern "C" fn(Env, Id, *mut Text, *mut Text) -> i32>(env, GET_CLASS_SIGNATURE)(
            env,
            class,
            &mut signature,
            null_mut(),
        );
        function::<GetName>(env, GET_METHOD_NAME)(
            env,
            method,
            &mut name,
            &mut descriptor,
            null_mut(),
        );
        let text = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
        let class = text(signature).trim_start_matches('L').trim_end_matches(';').to_owned();
        format!("{class}.{}{}", text(name), text(descriptor))
    }
}

extern "C" fn vm_died(env: Env, _: Env) {
    let Some(state) = STATE.lock().unwrap().take() else { return };
    let mut sums = BTreeMap::<String, u64>::new();
    for (method, count) in &state.steps {
        let name = name(env, *method as Id);
        if name.starts_with(&state.prefix) {
            *sums.entry(name).or_default() += count;
        }
    }
    let lines: String = sums.iter().map(|(name, count)| format!("{count} {name}\n")).collect();
    std::fs::write(&state.file, lines).unwrap();
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(vm: Env, options: Text, _: Id) -> i32 {
    // SAFETY: the functions are of these types; the tables live until the calls return.
    unsafe {
        let options = CStr::from_ptr(options).to_str().unwrap();
        let (prefix, file) = options.split_once(',').unwrap();
        let (prefix, file) = (prefix.to_owned(), file.to_owned());
        *STATE.lock().unwrap() = Some(State { prefix, file, steps: HashMap::new() });
        let mut env: Env = null_mut();
        function::<extern "C" fn(Env, *mut Env, i32) -> i32>(vm, GET_ENV)(
            vm,
            &mut env,
            JVMTI_VERSION,
        );
        let capabilities = [CAPABILITIES, 0];
        function::<extern "C" fn(Env, *const u64) -> i32>(env, ADD_CAPABILITIES)(
            env,
            capabilities.as_ptr(),
        );
        let mut callbacks: [Id; 40] = [null_mut(); 40];
        callbacks[VM_INIT - FIRST_EVENT] = vm_started as Id;
        callbacks[VM_DEATH - FIRST_EVENT] = vm_died as Id;
        callbacks[SINGLE_STEP - FIRST_EVENT] = stepped as Id;
        function::<extern "C" fn(Env, *const Id, i32) -> i32>(env, SET_EVENT_CALLBACKS)(
            env,
            callbacks.as_ptr(),
            (callbacks.len() * 8) as i32,
        );
        enable(env, VM_INIT);
        enable(env, VM_DEATH);
    }
    0
}
