//! Whether the JVM was started with the intrinsics off whose accesses no probe sees.

use std::collections::BTreeSet;
use std::ffi::CString;

use perk_control::intrinsics::{CRC32C_FLAG, NAMES_FLAG, names};

use crate::jvm::{Jvmti, bool_flag, text_flag};

/// Whether the JIT compilers use the Java code of all methods that access fields or components, as
/// far as the version is known.
pub(crate) fn are_off(jvmti: Jvmti) -> bool {
    let [Ok(names_flag), Ok(crc32c_flag)] = [NAMES_FLAG, CRC32C_FLAG].map(CString::new) else {
        return false;
    };
    let off = text_flag(&names_flag).unwrap_or_default();
    let off: BTreeSet<&str> = off.split([',', '\n', ' ']).collect();
    let mut wanted = names(jvmti.feature_version()).peekable();
    wanted.peek().is_some()
        && wanted.all(|name| off.contains(name))
        && bool_flag(&crc32c_flag) == Some(false)
}
