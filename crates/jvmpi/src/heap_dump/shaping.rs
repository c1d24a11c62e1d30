//! Finds out the shapes of classes.

use std::ffi::CStr;
use std::sync::Arc;

use perk_jvmti_sys::jni_sys::jlong;

use super::super::objects::ObjectRecord;
use super::super::{Bridge, Id, classes};
use super::shapes::{ClassShape, Fields, ObjectKind};
use crate::signature;
use crate::state::objects::Objects;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Local, Reference, ValueType};

/// The arrays of primitive types. The JVM has them from its beginning.
const ARRAYS: [&CStr; 8] = [c"[Z", c"[B", c"[C", c"[S", c"[I", c"[F", c"[J", c"[D"];
/// The class whose field `TYPE` has the class of `void`.
const VOID: &CStr = c"Ljava/lang/Void;";

/// The classes whose only field HotSpot keeps out of walks of the heap (`FilteredFieldsMap`), though not
/// out of `GetClassFields`. They are older JDKs' own.
const HIDDEN: [&str; 2] =
    ["Ljdk/internal/reflect/ConstantPool;", "Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;"];

impl Objects {
    /// Gives an object that a walk of the heap has found an id, and notes what is known of it.
    pub(super) fn found(&self, class: &ClassShape, size_bytes: jlong) -> Id {
        let id = self.next();
        let record = ObjectRecord {
            class: match class.kind {
                ObjectKind::Instance => Some(class.id),
                ObjectKind::Objects(element) => element,
                ObjectKind::Primitives(_) => None,
            },
            kind: class.kind.code(),
            size_bytes: size_bytes.unsigned_abs(),
        };
        self.note(id, record);
        id
    }
}

impl Bridge {
    /// Returns the classes of primitive types. No list of classes has them, but their arrays have. Their
    /// wrappers have them, too, but would be initialised, which loads classes. `Void` is asked only if the
    /// program has initialised it.
    pub(super) fn primitive_classes<'a>(
        &self,
        jni: Jni<'a>,
        loaded: &[Local<'_>],
    ) -> Vec<Local<'a>> {
        let known = self.shapes.primitives.get_or_init(|| {
            let element = |array| jni.global(&self.element(jni, &jni.find_class(array)?)?);
            ARRAYS.into_iter().filter_map(element).collect()
        });
        let is_void = |class: &&Local<'_>| {
            *signature::signature(self.jvmti, *class) == *VOID
                && classes::is_initialised(self.jvmti, *class)
        };
        let void = loaded.iter().find(is_void);
        let void = void.and_then(|it| jni.static_object(it, c"TYPE", c"Ljava/lang/Class;"));
        known.iter().filter_map(|it| jni.local(it)).chain(void).collect()
    }

    /// Returns the shape of a class.
    pub(crate) fn shape(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> Arc<ClassShape> {
        let id = self.class_id(jni, class);
        if let Some(known) = self.shapes.known(id) {
            return known;
        }
        let signature = self.jvmti.class_signature(class).unwrap_or_default();
        let kind = match signature.as_bytes() {
            [b'[', element, ..] => match ValueType::of_descriptor(*element) {
                Some(ValueType::Reference) | None => {
                    ObjectKind::Objects(self.instances(jni, class).class)
                }
                Some(of) => ObjectKind::Primitives(of),
            },
            _ => ObjectKind::Instance,
        };
        let has_fields = matches!(signature.as_bytes(), [b'L', ..]);
        let is_known_array = kind != ObjectKind::Instance && self.classes.is_announced(id);
        let fields = if is_known_array {
            let superclass = jni.superclass(class).map(|it| self.shape(jni, &it));
            Some(Fields::new(superclass, Vec::new(), false))
        } else {
            has_fields.then(|| self.fields(jni, class, id, &signature)).flatten()
        };
        let is_lasting = fields.is_some() || !has_fields;
        let shape = Arc::new(ClassShape { id, kind, fields });
        if is_lasting {
            lock(&self.shapes.by_id).insert(id, Arc::clone(&shape));
        }
        shape
    }

    /// Returns the fields of a class; `None` if it is not prepared.
    fn fields(
        &self,
        jni: Jni<'_>,
        class: &(impl Reference + ?Sized),
        id: Id,
        signature: &str,
    ) -> Option<Fields> {
        let declared = self.jvmti.typed_fields(class).ok()?;
        let superclass = jni.superclass(class).map(|it| self.shape(jni, &it));
        let interfaces = self.jvmti.interfaces(jni, class).unwrap_or_default();
        let interfaces: Vec<_> = interfaces.iter().map(|it| self.shape(jni, it)).collect();
        let is_interface = superclass.is_none() && signature != "Ljava/lang/Object;";
        let mut fields = Fields::new(superclass, declared, HIDDEN.contains(&signature));
        let above = fields.superclass.iter().chain(&interfaces);
        let mut all: Vec<_> = above.filter_map(|it| it.fields.as_ref()).collect();
        let numbers = |it: &Fields| it.all_interfaces.clone();
        let mut every: Vec<Id> = all.drain(..).flat_map(numbers).collect();
        every.sort_unstable();
        every.dedup();
        let count = |it: &Id| {
            let shape = self.shapes.known(*it)?;
            Some(shape.fields.as_ref()?.declared.len())
        };
        fields.first_number = every.iter().filter_map(count).sum();
        if is_interface {
            let at = every.partition_point(|it| *it < id);
            every.insert(at, id);
        }
        fields.interfaces = interfaces.iter().map(|it| it.id).collect();
        fields.all_interfaces = every;
        Some(fields)
    }
}
