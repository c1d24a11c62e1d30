//! The `java` launcher, which runs in the JVM until it calls the program.

use perk_jvm::{Jni, Jvmti, MethodRef};

/// The most frames above the launcher's method as it ends the JVM: those of `System.exit`.
const EXIT_FRAMES: i32 = 8;

/// Whether the calling thread ends the JVM because the launcher found no program to run.
pub(crate) fn has_failed(jvmti: Jvmti, jni: Jni<'_>) -> bool {
    let is_abort = |method: MethodRef| {
        jvmti.method_name(method).is_ok_and(|it| it.0 == "abort")
            && jvmti
                .declaring_class(jni, method)
                .and_then(|class| jvmti.class_signature(&class))
                .is_ok_and(|signature| signature == "Lsun/launcher/LauncherHelper;")
    };
    let methods = (0..EXIT_FRAMES).map_while(|depth| jvmti.frame_method(depth));
    // SAFETY: the JVM has just given the id of a frame's method.
    methods.map(|method| unsafe { MethodRef::from_raw(method) }).any(is_abort)
}
