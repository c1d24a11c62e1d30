//! What records of a class's instances and of the class itself look like.
//!
//! JVMTI numbers the fields of a class: first come those of all its interfaces, then those of its
//! superclasses, the topmost first, then its own, each in the order of `GetClassFields`. Records have
//! the values of the class first, then those of its superclass, and so on up.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, OnceLock};

use perk_jvmti_sys::jni_sys::{jint, jlong};
use perk_jvmti_sys::jvmpi::JVMPI_NORMAL_OBJECT;
use rustc_hash::FxHashMap;

use super::super::objects::{Objects, Record};
use super::super::{Bridge, Id, classes};
use super::records::{Level, code};
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Jvmti, Local, Reference, Type, TypedField};

/// A class, an array class or a primitive one.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    /// The class's fields, if it is prepared and no array, or an array with a CLASS_LOAD: then the agent
    /// knows it.
    pub(crate) fields: Option<Fields>,
}

/// The kind of a class's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Instance,
    /// An array of objects of a class.
    Objects(Option<Id>),
    /// An array of primitives.
    Primitives(Type),
}

impl Kind {
    /// Returns JVMPI's number of it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Instance => JVMPI_NORMAL_OBJECT as u8,
            Self::Objects(_) => code(Type::Reference),
            Self::Primitives(of) => code(of),
        }
    }
}

/// A class's fields and relations.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) superclass: Option<Arc<Shape>>,
    /// The interfaces that the class names.
    pub(crate) interfaces: Vec<Id>,
    /// All interfaces of the class, ascending, and itself if it is one.
    all_interfaces: Vec<Id>,
    /// The fields that the class declares, in JVMTI's order.
    pub(crate) declared: Vec<TypedField>,
    /// JVMTI's number of the first field of the topmost superclass.
    first_number: usize,
    /// The number of the superclasses' fields.
    inherited_count: usize,
    /// The place of each instance field in an instance's values, from that number on.
    instance: Vec<Place>,
    /// The place of each static field in the class's values, from its own first field on.
    statics: Vec<Place>,
    instance_bytes: [u32; 2],
    statics_bytes: [u32; 2],
    /// The first byte after the last field in an object of the JVM's; 0 if there is no field.
    end_bytes: usize,
}

/// The offset of a value among the values, on both levels; `None` if it is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place([Option<u32>; 2]);

impl Place {
    /// Returns the place of a value that follows so many bytes, which then include it.
    fn after(bytes: &mut [u32; 2], of: Type) -> Self {
        let mut place = Self::default();
        for level in [Level::References, Level::Whole] {
            let (at, size) = (&mut bytes[level as usize], level.value_bytes(of) as u32);
            if size > 0 {
                place.0[level as usize] = Some(*at);
                *at += size;
            }
        }
        place
    }

    /// Returns the place in a subclass's values, where so many bytes come before.
    fn moved(self, bytes: [u32; 2]) -> Self {
        Self([self.0[0].map(|it| it + bytes[0]), self.0[1].map(|it| it + bytes[1])])
    }
}

impl Fields {
    /// Places the fields of a class with this superclass. `are_hidden` says whether walks neither number
    /// nor report them.
    fn new(superclass: Option<Arc<Shape>>, declared: Vec<TypedField>, are_hidden: bool) -> Self {
        let (mut own_bytes, mut statics_bytes) = ([0; 2], [0; 2]);
        let mut place = |field: &TypedField, is_static: bool| match is_static == field.is_static {
            true if is_static => Place::after(&mut statics_bytes, field.of),
            true => Place::after(&mut own_bytes, field.of),
            false => Place::default(),
        };
        let statics: Vec<_> = declared.iter().map(|it| place(it, true)).collect();
        let own: Vec<_> = declared.iter().map(|it| place(it, false)).collect();
        let above = superclass.as_ref().and_then(|it| it.fields.as_ref());
        let inherited = above.map_or(&[][..], |it| &it.instance);
        let inherited = inherited.iter().map(|it| it.moved(own_bytes));
        let above_bytes = above.map_or([0; 2], |it| it.instance_bytes);
        let ends = declared.iter().filter(|it| !it.is_static).map(|it| {
            // The JVM's references have four or eight bytes; what comes after is aligned to eight.
            it.offset() + it.of.primitive_bytes().max(if it.of == Type::Reference { 4 } else { 1 })
        });
        Self {
            inherited_count: inherited.len(),
            instance: inherited.chain(own.into_iter().filter(|_| !are_hidden)).collect(),
            statics,
            instance_bytes: [own_bytes[0] + above_bytes[0], own_bytes[1] + above_bytes[1]],
            statics_bytes,
            end_bytes: ends.chain(above.map(|it| it.end_bytes)).max().unwrap_or(0),
            superclass,
            interfaces: Vec::new(),
            all_interfaces: Vec::new(),
            declared,
            first_number: 0,
        }
    }

    /// Returns the place of an instance's field among the values, by JVMTI's number.
    pub(crate) fn instance_place(&self, number: jint, level: Level) -> Option<usize> {
        let index = usize::try_from(number).ok()?.checked_sub(self.first_number)?;
        Some(self.instance.get(index)?.0[level as usize]? as usize)
    }

    /// Returns the place of a static field among the values, by JVMTI's number.
    pub(crate) fn static_place(&self, number: jint, level: Level) -> Option<usize> {
        let first_number = self.first_number + self.inherited_count;
        let index = usize::try_from(number).ok()?.checked_sub(first_number)?;
        Some(self.statics.get(index)?.0[level as usize]? as usize)
    }

    /// Returns the size of the values of an instance's record.
    pub(crate) fn instance_bytes(&self, level: Level) -> u32 {
        self.instance_bytes[level as usize]
    }

    /// Returns the size of the static values.
    pub(crate) fn statics_bytes(&self, level: Level) -> usize {
        self.statics_bytes[level as usize] as usize
    }

    /// Returns the end of the last field in an object of the JVM's, or of its header.
    pub(crate) fn end_bytes(&self, header_bytes: u32) -> u64 {
        (self.end_bytes as u64).max(header_bytes.into())
    }

    /// Returns the number of superclasses.
    pub(crate) fn depth(&self) -> usize {
        self.with_inherited().count() - 1
    }

    /// Returns these fields, those of the superclass, and so on up.
    pub(crate) fn with_inherited(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |it| it.superclass.as_ref()?.fields.as_ref())
    }
}

/// The arrays of primitive types. The JVM has them from its beginning.
const ARRAYS: [&CStr; 8] = [c"[Z", c"[B", c"[C", c"[S", c"[I", c"[F", c"[J", c"[D"];
/// The class whose field `TYPE` has the class of `void`.
const VOID: &CStr = c"Ljava/lang/Void;";

/// The classes whose only field HotSpot keeps out of walks of the heap (`FilteredFieldsMap`), though not
/// out of `GetClassFields`. They are older JDKs' own.
const HIDDEN: [&str; 2] =
    ["Ljdk/internal/reflect/ConstantPool;", "Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;"];

/// The shapes that are known.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    by_id: Mutex<FxHashMap<Id, Arc<Shape>>>,
    /// The classes of primitive types, once they were looked up.
    primitives: OnceLock<Vec<Global>>,
}

impl Shapes {
    /// Forgets a class that was unloaded.
    pub(crate) fn forget(&self, id: Id) {
        lock(&self.by_id).remove(&id);
    }

    /// Returns the tags of the classes of primitive types that there are global references to.
    pub(super) fn primitive_tags(&self, jvmti: Jvmti) -> impl Iterator<Item = i64> {
        self.primitives.get().into_iter().flatten().map(move |it| jvmti.tag(it))
    }

    fn known(&self, id: Id) -> Option<Arc<Shape>> {
        lock(&self.by_id).get(&id).cloned()
    }
}

impl Objects {
    /// Gives an object that a walk of the heap has found an id, and notes what is known of it.
    pub(super) fn found(&self, class: &Shape, size_bytes: jlong) -> Id {
        let id = self.next();
        let record = Record {
            class: match class.kind {
                Kind::Instance => Some(class.id),
                Kind::Objects(element) => element,
                Kind::Primitives(_) => None,
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
            *classes::signature(self.jvmti, *class) == *VOID
                && classes::is_initialised(self.jvmti, *class)
        };
        let void = loaded.iter().find(is_void);
        let void = void.and_then(|it| jni.static_object(it, c"TYPE", c"Ljava/lang/Class;"));
        known.iter().filter_map(|it| jni.local(it)).chain(void).collect()
    }

    /// Returns the shape of a class.
    pub(crate) fn shape(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> Arc<Shape> {
        let id = self.class_id(jni, class);
        if let Some(known) = self.shapes.known(id) {
            return known;
        }
        let signature = self.jvmti.class_signature(class).unwrap_or_default();
        let kind = match signature.as_bytes() {
            [b'[', element, ..] => match Type::of_descriptor(*element) {
                Some(Type::Reference) | None => Kind::Objects(self.instances(jni, class).class),
                Some(of) => Kind::Primitives(of),
            },
            _ => Kind::Instance,
        };
        let has_fields = matches!(signature.as_bytes(), [b'L', ..]);
        let is_known_array = kind != Kind::Instance && self.classes.is_announced(id);
        let fields = if is_known_array {
            let superclass = jni.superclass(class).map(|it| self.shape(jni, &it));
            Some(Fields::new(superclass, Vec::new(), false))
        } else {
            has_fields.then(|| self.fields(jni, class, id, &signature)).flatten()
        };
        let is_lasting = fields.is_some() || !has_fields;
        let shape = Arc::new(Shape { id, kind, fields });
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
