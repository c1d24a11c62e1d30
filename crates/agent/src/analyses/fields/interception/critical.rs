//! The JNI functions that begin and end a *critical region*, in which a thread has pointers into the
//! Java heap: it must not call any other JNI function there, as garbage collection may wait for the
//! end. So accesses are counted before the first region of a thread begins, or after the last ends.

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::replace;

use perk_jvm::Functions;
use perk_jvmti_sys::jni_sys::{JNIEnv, jarray, jboolean, jchar, jint, jstring};

use super::{Access, READ, interception, released, report};

/// The number of accesses that wait for the end of the regions. No program has as many regions.
const MOST_WAITING: usize = 16;

thread_local! {
    // It is dropped by nobody, so it is there until the thread has ended.
    static REGIONS: RefCell<Regions> = const { RefCell::new(Regions::NONE) };
}

/// The regions of a thread.
#[derive(Clone, Copy, Debug)]
struct Regions {
    count: usize,
    /// The arrays, whose references are valid as long as the native method runs.
    waiting: [Option<(jarray, Access)>; MOST_WAITING],
}

impl Regions {
    const NONE: Self = Self { count: 0, waiting: [None; MOST_WAITING] };
}

/// The functions that were there before.
#[derive(Debug)]
pub(super) struct OriginalFunctions {
    get_array: GetArray,
    release_array: ReleaseArray,
    get_string: GetString,
    release_string: ReleaseString,
}

type GetArray = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut jboolean) -> *mut c_void;
type ReleaseArray = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut c_void, jint);
type GetString = unsafe extern "system" fn(*mut JNIEnv, jstring, *mut jboolean) -> *const jchar;
type ReleaseString = unsafe extern "system" fn(*mut JNIEnv, jstring, *const jchar);

/// Installs the functions of this module. Returns the previous ones.
pub(super) fn exchange(functions: &mut Functions) -> OriginalFunctions {
    OriginalFunctions {
        get_array: replace(&mut functions.GetPrimitiveArrayCritical, get_array),
        release_array: replace(&mut functions.ReleasePrimitiveArrayCritical, release_array),
        get_string: replace(&mut functions.GetStringCritical, get_string),
        release_string: replace(&mut functions.ReleaseStringCritical, release_string),
    }
}

/// Reports an access, or keeps it until the thread is in no region.
fn report_or_keep(env: *mut JNIEnv, array: jarray, access: Access) {
    let is_kept = REGIONS.with_borrow_mut(|regions| {
        let free = regions.waiting.iter_mut().find(|it| it.is_none());
        if let Some(free) = free.filter(|_| regions.count > 0) {
            *free = Some((array, access));
        }
        regions.count > 0
    });
    if !is_kept {
        report(env, array, access);
    }
}

fn begin_region(is_begun: bool) {
    REGIONS.with_borrow_mut(|regions| regions.count += usize::from(is_begun));
}

/// Ends a region. After the last one the accesses that were kept are reported.
fn end_region(env: *mut JNIEnv) {
    let waiting = REGIONS.with_borrow_mut(|regions| {
        regions.count = regions.count.saturating_sub(1);
        if regions.count == 0 {
            replace(regions, Regions::NONE).waiting
        } else {
            Regions::NONE.waiting
        }
    });
    waiting.into_iter().flatten().for_each(|(array, access)| report(env, array, access));
}

unsafe extern "system" fn get_array(
    env: *mut JNIEnv,
    array: jarray,
    is_copy: *mut jboolean,
) -> *mut c_void {
    report_or_keep(env, array, Access::AllComponents(READ));
    // SAFETY: the caller's arguments are for this function, which is in the table.
    let components = unsafe { (interception().critical.get_array)(env, array, is_copy) };
    begin_region(!components.is_null());
    components
}

unsafe extern "system" fn release_array(
    env: *mut JNIEnv,
    array: jarray,
    components: *mut c_void,
    mode: jint,
) {
    // SAFETY: the caller's arguments are for this function, which is in the table.
    unsafe { (interception().critical.release_array)(env, array, components, mode) };
    report_or_keep(env, array, released(mode));
    end_region(env);
}

unsafe extern "system" fn get_string(
    env: *mut JNIEnv,
    string: jstring,
    is_copy: *mut jboolean,
) -> *const jchar {
    // SAFETY: the caller's arguments are for this function, which is in the table.
    let chars = unsafe { (interception().critical.get_string)(env, string, is_copy) };
    begin_region(!chars.is_null());
    chars
}

unsafe extern "system" fn release_string(env: *mut JNIEnv, string: jstring, chars: *const jchar) {
    // SAFETY: the caller's arguments are for this function, which is in the table.
    unsafe { (interception().critical.release_string)(env, string, chars) };
    end_region(env);
}
