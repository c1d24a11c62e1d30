//! The kinds of objects, by their classes: what the JVM says of them.

use perk_jvmti_sys::jvmpi::{
    JVMPI_BOOLEAN, JVMPI_BYTE, JVMPI_CHAR, JVMPI_CLASS, JVMPI_DOUBLE, JVMPI_FLOAT, JVMPI_INT,
    JVMPI_LONG, JVMPI_NORMAL_OBJECT, JVMPI_SHORT,
};

use super::super::{Bridge, Id, notify};
use super::kinds::InstanceKind;
use super::records::ObjectRecord;
use crate::signature;
use crate::state::STATE;
use perk_jvm::{Jni, Local, Reference};

impl Bridge {
    /// Returns the kind of the objects of a class, which gets an id.
    pub(crate) fn instances(
        &self,
        jni: Jni<'_>,
        class: &(impl Reference + ?Sized),
    ) -> InstanceKind {
        let known = Id::from_tag(self.jvmti.tag(class)).and_then(|id| self.objects.kinds.get(id));
        known.unwrap_or_else(|| {
            let id = self.class_id(jni, class);
            let instances = notify::quiet(|| self.described(jni, class, id));
            self.objects.kinds.add(id, instances);
            instances
        })
    }

    fn described(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized), id: Id) -> InstanceKind {
        let signature = signature::signature(self.jvmti, class);
        let kind = kind_of(signature.to_bytes());
        let class = match i32::from(kind) {
            JVMPI_NORMAL_OBJECT => Some(id),
            JVMPI_CLASS => self.element(jni, class).map(|element| self.class_id(jni, &element)),
            _ => None,
        };
        InstanceKind { class, kind }
    }

    /// Returns the class of an array's elements.
    pub(crate) fn element<'a>(
        &self,
        jni: Jni<'a>,
        array: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        let field = *STATE.objects.field.get_or_init(|| {
            jni.object_field(&jni.class_of(array)?, c"componentType", c"Ljava/lang/Class;")
        });
        // SAFETY: the field is one of java.lang.Class, and this is a class.
        unsafe { jni.get_object(array, field?) }
    }

    /// Returns the contents of OBJECT_ALLOC for an object.
    pub(crate) fn record_of(
        &self,
        jni: Jni<'_>,
        object: &(impl Reference + ?Sized),
    ) -> Option<ObjectRecord> {
        notify::quiet(|| {
            let class = jni.class_of(object)?;
            let InstanceKind { class: id, kind } = self.instances(jni, &class);
            // The class of java.lang.Class is itself: an agent that asks for each object's class would
            // never end.
            let id = id.filter(|_| !jni.same(&class, object));
            Some(ObjectRecord { class: id, kind, size_bytes: self.jvmti.object_bytes(object)? })
        })
    }
}

/// Returns the kind of a class's objects by its signature.
fn kind_of(signature: &[u8]) -> u8 {
    let kind = match signature {
        [b'[', b'L' | b'[', ..] => JVMPI_CLASS,
        b"[Z" => JVMPI_BOOLEAN,
        b"[B" => JVMPI_BYTE,
        b"[C" => JVMPI_CHAR,
        b"[S" => JVMPI_SHORT,
        b"[I" => JVMPI_INT,
        b"[J" => JVMPI_LONG,
        b"[F" => JVMPI_FLOAT,
        b"[D" => JVMPI_DOUBLE,
        _ => JVMPI_NORMAL_OBJECT,
    };
    kind as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_the_types_of_elements() {
        let kinds = |signatures: &[&str]| -> Vec<_> {
            signatures.iter().map(|it| kind_of(it.as_bytes())).collect()
        };
        assert_eq!(kinds(&["Ljava/lang/String;", "[Ljava/lang/String;", "[[I"]), [0, 2, 2]);
        assert_eq!(kinds(&["[Z", "[C", "[F", "[D"]), [4, 5, 6, 7]);
        assert_eq!(kinds(&["[B", "[S", "[I", "[J"]), [8, 9, 10, 11]);
    }
}
