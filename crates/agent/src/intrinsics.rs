//! Whether the JVM was started with the intrinsics off in whose Java code probes count.

use std::collections::BTreeSet;
use std::ffi::CString;

use perk_control::intrinsics::{CRC32C_FLAG, CodeMetric, NAMES_FLAG, names};
use perk_jvm::os;
use perk_jvm::{Jvmti, bool_flag, text_flag};

/// Prints a line if the JIT compilers replace methods in which something is to be counted.
pub(crate) fn warn(jvmti: Jvmti, counted: CodeMetric) {
    if !are_off(jvmti, counted) {
        let what = match counted {
            CodeMetric::Accesses => "accesses",
            CodeMetric::Bytecodes => "bytecodes",
        };
        os::say(&format!(
            "HPROF WARNING: {what} in methods that the JIT replaces (of String, Arrays, BigInteger \
             and others) are not all in the file: give the JVM the options in docs/intrinsics.md, \
             as perk run -- java does\n"
        ));
    }
}

/// Whether the JIT compilers use the Java code of all methods that do something that is counted, as
/// far as the version is known.
fn are_off(jvmti: Jvmti, counted: CodeMetric) -> bool {
    let [Ok(names_flag), Ok(crc32c_flag)] = [NAMES_FLAG, CRC32C_FLAG].map(CString::new) else {
        return false;
    };
    let off = text_flag(&names_flag).unwrap_or_default();
    let off: BTreeSet<&str> = off.split([',', '\n', ' ']).collect();
    let mut wanted = names(jvmti.feature_version(), counted).peekable();
    wanted.peek().is_some()
        && wanted.all(|name| off.contains(name))
        && bool_flag(&crc32c_flag) == Some(false)
}
