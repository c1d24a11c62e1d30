//! The names of classes.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

use perk_jvmti_sys::call;

use perk_jvm::{Jvmti, Reference};

/// Returns the name of a class as the agent has it, by its signature as JVMTI gives it. A hidden
/// class's signature has a dot before its number, where the name has a slash.
pub(crate) fn class_name(signature: &CStr, has_slashes: bool) -> CString {
    let bytes = signature.to_bytes();
    let named = match bytes {
        [b'L', name @ .., b';'] => name,
        _ => bytes,
    };
    let exchanged = named.iter().map(|byte| match byte {
        b'/' if !has_slashes => b'.',
        b'.' => b'/',
        other => *other,
    });
    // The JVM's string has no NUL within.
    CString::new(exchanged.collect::<Vec<_>>()).unwrap_or_default()
}

/// Returns the signature of a class in the JVM's own bytes.
pub(crate) fn signature(jvmti: Jvmti, class: &(impl Reference + ?Sized)) -> CString {
    let mut text: *mut c_char = null_mut();
    // SAFETY: the environment and reference are valid; the string is ours to free.
    unsafe {
        let result = call!(jvmti.raw(), GetClassSignature, class.raw(), &mut text, null_mut());
        if result.ok().is_err() || text.is_null() {
            return CString::default();
        }
        let copy = CStr::from_ptr(text).to_owned();
        jvmti.free(text);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_java() {
        let dots = |signature| class_name(signature, false).into_string().unwrap();
        assert_eq!(dots(c"Ljava/util/Map$Entry;"), "java.util.Map$Entry");
        assert_eq!(dots(c"LMain$$Lambda.0x0001;"), "Main$$Lambda/0x0001");
        assert_eq!(dots(c"[[Ljava/lang/String;"), "[[Ljava.lang.String;");
        assert_eq!(dots(c"[I"), "[I");
        assert_eq!(class_name(c"Ljava/util/Map;", true).as_c_str(), c"java/util/Map");
    }
}
