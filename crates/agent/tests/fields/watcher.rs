//! An agent that counts the accesses to the fields of a program's objects by the field watches of
//! JVMTI, in a library of its own, which the tests compile with rustc. Its option is the prefix of
//! the classes' names, a comma, and the file that it writes: a line for each object with its class
//! and the fields that were accessed, each with its counts. JVMTI's functions are called by their
//! indexes in its table.
//!
//! The owner of an object is the thread that accesses it first: the program's constructors do.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write;
use std::mem::transmute_copy;
use std::ptr::null_mut;
use std::sync::Mutex;

/// A reference or a field's id.
type Id = *const c_void;
/// The functions of JVMTI or JNI, which an environment points to.
type Env = *const *const Id;
type Text = *const c_char;

// JNI
const GET_OBJECT_CLASS: usize = 31;
const GET_ENV: usize = 6;
// JVMTI, one less than in its documentation.
const SET_EVENT_NOTIFICATION_MODE: usize = 1;
const SET_FIELD_ACCESS_WATCH: usize = 40;
const SET_FIELD_MODIFICATION_WATCH: usize = 42;
const GET_CLASS_SIGNATURE: usize = 47;
const GET_CLASS_FIELDS: usize = 52;
const GET_FIELD_NAME: usize = 59;
const GET_FIELD_DECLARING_CLASS: usize = 60;
const GET_FIELD_MODIFIERS: usize = 61;
const GET_TAG: usize = 105;
const SET_TAG: usize = 106;
const SET_EVENT_CALLBACKS: usize = 121;
const ADD_CAPABILITIES: usize = 141;

const JVMTI_VERSION: i32 = 0x3001_0000;
const FIRST_EVENT: usize = 50;
const VM_DEATH: usize = 51;
const CLASS_PREPARE: usize = 56;
const FIELD_ACCESS: usize = 63;
const FIELD_MODIFICATION: usize = 64;
/// Tags of objects, modifications and accesses of fields.
const CAPABILITIES: u64 = 0b111;
const STATIC: i32 = 8;

struct State {
    prefix: String,
    file: String,
    thread_count: i64,
    objects: Vec<Object>,
}

struct Object {
    class: String,
    owner: i64,
    fields: BTreeMap<String, [u64; 4]>,
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

fn tag(env: Env, object: Id) -> i64 {
    let mut tag = 0;
    // SAFETY: GetTag is of this type.
    unsafe { function::<extern "C" fn(Env, Id, *mut i64) -> i32>(env, GET_TAG)(env, object, &mut tag) };
    tag
}

fn set_tag(env: Env, object: Id, tag: i64) {
    // SAFETY: SetTag is of this type.
    unsafe { function::<extern "C" fn(Env, Id, i64) -> i32>(env, SET_TAG)(env, object, tag) };
}

/// Returns the name of a class after the prefix of its package, as in `Class.getName()`.
fn class_name(env: Env, class: Id) -> String {
    let mut signature: Text = null_mut();
    // SAFETY: GetClassSignature is of this type, and writes a text.
    let signature = unsafe {
        function::<extern "C" fn(Env, Id, *mut Text, *mut Text) -> i32>(env, GET_CLASS_SIGNATURE)(
            env,
            class,
            &mut signature,
            null_mut(),
        );
        CStr::from_ptr(signature)
    };
    let signature = signature.to_string_lossy().replace('/', ".");
    signature.trim_start_matches('L').trim_end_matches(';').to_owned()
}

fn field_name(env: Env, class: Id, field: Id) -> String {
    let mut name: Text = null_mut();
    type GetFieldName =
        extern "C" fn(Env, Id, Id, *mut Text, *mut Text, *mut Text) -> i32;
    // SAFETY: GetFieldName is of this type, and writes a text.
    unsafe {
        function::<GetFieldName>(env, GET_FIELD_NAME)(
            env,
            class,
            field,
            &mut name,
            null_mut(),
            null_mut(),
        );
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

extern "C" fn class_prepared(env: Env, _: Env, _: Id, class: Id) {
    let mut state = STATE.lock().unwrap();
    let state = state.as_mut().unwrap();
    if !class_name(env, class).starts_with(&state.prefix) {
        return;
    }
    let (mut count, mut fields): (i32, *const Id) = (0, null_mut());
    // SAFETY: the functions are of these types; the first writes an array of that length.
    unsafe {
        function::<extern "C" fn(Env, Id, *mut i32, *mut *const Id) -> i32>(env, GET_CLASS_FIELDS)(
            env,
            class,
            &mut count,
            &mut fields,
        );
        for at in 0..count as usize {
            let (field, mut modifiers) = (*fields.add(at), 0);
            function::<extern "C" fn(Env, Id, Id, *mut i32) -> i32>(env, GET_FIELD_MODIFIERS)(
                env,
                class,
                field,
                &mut modifiers,
            );
            if modifiers & STATIC == 0 {
                for watch in [SET_FIELD_ACCESS_WATCH, SET_FIELD_MODIFICATION_WATCH] {
                    let watch = function::<extern "C" fn(Env, Id, Id) -> i32>(env, watch);
                    assert_eq!(watch(env, class, field), 0);
                }
            }
        }
    }
}

fn count(env: Env, jni: Env, thread: Id, class: Id, object: Id, field: Id, kind: usize) {
    let mut state = STATE.lock().unwrap();
    let state = state.as_mut().unwrap();
    let mut thread_tag = tag(env, thread);
    if thread_tag == 0 {
        state.thread_count += 1;
        thread_tag = -state.thread_count;
        set_tag(env, thread, thread_tag);
    }
    let mut number = tag(env, object);
    if number == 0 {
        // SAFETY: GetObjectClass is of this type.
        let of = unsafe { function::<extern "C" fn(Env, Id) -> Id>(jni, GET_OBJECT_CLASS)(jni, object) };
        let class = class_name(env, of);
        state.objects.push(Object { class, owner: thread_tag, fields: BTreeMap::new() });
        number = state.objects.len() as i64;
        set_tag(env, object, number);
    }
    let mut declaring: Id = null_mut();
    // SAFETY: GetFieldDeclaringClass is of this type.
    unsafe {
        function::<extern "C" fn(Env, Id, Id, *mut Id) -> i32>(env, GET_FIELD_DECLARING_CLASS)(
            env,
            class,
            field,
            &mut declaring,
        );
    }
    let name = format!("{}.{}", class_name(env, declaring), field_name(env, class, field));
    let object = &mut state.objects[number as usize - 1];
    let is_other = object.owner != thread_tag;
    object.fields.entry(name).or_default()[kind + usize::from(is_other)] += 1;
}

extern "C" fn accessed(
    env: Env,
    jni: Env,
    thread: Id,
    _: Id,
    _: i64,
    class: Id,
    object: Id,
    field: Id,
) {
    count(env, jni, thread, class, object, field, 0);
}

extern "C" fn modified(
    env: Env,
    jni: Env,
    thread: Id,
    _: Id,
    _: i64,
    class: Id,
    object: Id,
    field: Id,
    _: c_char,
    _: i64,
) {
    count(env, jni, thread, class, object, field, 2);
}

extern "C" fn ended(_: Env, _: Env) {
    let state = STATE.lock().unwrap();
    let state = state.as_ref().unwrap();
    let mut text = String::new();
    for object in &state.objects {
        text += &object.class;
        for (field, [own_reads, other_reads, own_writes, other_writes]) in &object.fields {
            let _ = write!(text, ", {field} {own_reads} {other_reads} {own_writes} {other_writes}");
        }
        text += "\n";
    }
    std::fs::write(&state.file, text).unwrap();
}

/// The entry that the JVM calls.
#[unsafe(no_mangle)]
pub extern "C" fn Agent_OnLoad(vm: Env, options: Text, _: Id) -> i32 {
    // SAFETY: the JVM passes a text.
    let options = unsafe { CStr::from_ptr(options) }.to_str().unwrap();
    let (prefix, file) = options.split_once(',').unwrap();
    let (prefix, file) = (prefix.to_owned(), file.to_owned());
    *STATE.lock().unwrap() = Some(State { prefix, file, thread_count: 0, objects: Vec::new() });
    let mut env: Env = null_mut();
    let capabilities = [CAPABILITIES, 0];
    let mut callbacks: [Id; 35] = [null_mut(); 35];
    callbacks[VM_DEATH - FIRST_EVENT] = ended as Id;
    callbacks[CLASS_PREPARE - FIRST_EVENT] = class_prepared as Id;
    callbacks[FIELD_ACCESS - FIRST_EVENT] = accessed as Id;
    callbacks[FIELD_MODIFICATION - FIRST_EVENT] = modified as Id;
    // SAFETY: the functions are of these types.
    unsafe {
        function::<extern "C" fn(Env, *mut Env, i32) -> i32>(vm, GET_ENV)(vm, &mut env, JVMTI_VERSION);
        function::<extern "C" fn(Env, *const u64) -> i32>(env, ADD_CAPABILITIES)(
            env,
            capabilities.as_ptr(),
        );
        let bytes = size_of_val(&callbacks) as i32;
        function::<extern "C" fn(Env, *const Id, i32) -> i32>(env, SET_EVENT_CALLBACKS)(
            env,
            callbacks.as_ptr(),
            bytes,
        );
        for event in [VM_DEATH, CLASS_PREPARE, FIELD_ACCESS, FIELD_MODIFICATION] {
            let set = function::<extern "C" fn(Env, i32, i32, Id) -> i32>(
                env,
                SET_EVENT_NOTIFICATION_MODE,
            );
            assert_eq!(set(env, 1, event as i32, null_mut()), 0);
        }
    }
    0
}
