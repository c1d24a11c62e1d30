//! The definition of a helper class in a program that runs already.

use std::sync::{Mutex, OnceLock};

use perk_instrument::{HELPER_BASE, Names};

use super::binding::{BASE, BoundClass, HelperClass, define};
use crate::guard::unheard;
use crate::jvm::{Global, Jni};
use crate::sync::lock;

/// The class of the boot loader whose static method `bind` calls [`bind_all`].
static BINDER: OnceLock<Global> = OnceLock::new();

/// The classes whose native methods [`bind_all`] binds, and whether that went well.
static TO_BIND: Mutex<(Vec<BoundClass>, bool)> = Mutex::new((Vec::new(), false));

/// Defines a helper class in java.base and binds its native methods. Returns the class.
///
/// # Errors
/// The reason why that cannot be, in one line.
pub(crate) fn define_late(
    jni: Jni<'_>,
    names: Names,
    helper: HelperClass,
) -> Result<&'static Global, String> {
    // The program's hooks of class files do not concern the class.
    unheard(|| {
        let base = define(jni, names, HELPER_BASE, BASE)?;
        jni.delete(base);
        let class = BoundClass::define(jni, names, helper)?;
        // SAFETY: the class is not freed before the process ends: see below.
        let again = jni.global(&class.class).ok_or("no global reference")?;
        *lock(&TO_BIND) = (vec![class], false);
        let is_called = BINDER.get().is_some_and(|class| jni.call_static(class, c"bind"));
        let (classes, is_bound) = std::mem::take(&mut *lock(&TO_BIND));
        classes.into_iter().for_each(|class| jni.delete(class.class));
        match is_called && is_bound {
            true => Ok(&*Box::leak(Box::new(again))),
            false => Err("its native methods could not be bound".to_owned()),
        }
    })
}

/// Notes the class that binds native methods: its static method `bind` calls [`bind_all`].
pub(crate) fn set_binder(class: Global) {
    let _ = BINDER.set(class);
}

/// Binds the native methods of the class that is being defined.
pub(crate) fn bind_all(jni: Jni<'_>) {
    let mut to_bind = lock(&TO_BIND);
    to_bind.1 = to_bind.0.iter().all(|class| class.bind(jni));
}
