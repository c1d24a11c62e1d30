//! The definition of a helper class in a program that runs already.

use perk_instrument::{HELPER_BASE, Names};

use super::binding::{BASE, BoundClass, HelperClass, define};
use crate::binder;
use crate::guard::unheard;
use crate::{Global, Jni};

/// Defines a helper class in java.base and binds its native methods. Returns the class.
///
/// # Errors
/// The reason why that cannot be, in one line.
pub fn define_late(
    jni: Jni<'_>,
    names: Names,
    helper: HelperClass,
) -> Result<&'static Global, String> {
    // The program's hooks of class files do not concern the class.
    unheard(|| {
        let base = define(jni, names, HELPER_BASE, BASE)?;
        jni.delete(base);
        let class = BoundClass::define(jni, names, helper)?;
        let mut is_bound = false;
        binder::call(jni, &mut |jni| is_bound = class.bind(jni));
        match is_bound {
            true => Ok(&Box::leak(Box::new(class)).class),
            false => Err("its native methods could not be bound".to_owned()),
        }
    })
}
