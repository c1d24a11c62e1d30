//! What records of a class's instances and of the class itself look like.
//!
//! JVMTI numbers the fields of a class: first come those of all its interfaces, then those of its
//! superclasses, the topmost first, then its own, each in the order of `GetClassFields`. Records have
//! the values of the class first, then those of its superclass, and so on up.

use std::sync::{Arc, Mutex, OnceLock};

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::JVMPI_NORMAL_OBJECT;
use rustc_hash::FxHashMap;

use super::records::{Level, code};
use crate::id::Id;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jvmti, TypedField, ValueType};

/// A class, an array class or a primitive one.
#[derive(Debug)]
pub(crate) struct ClassShape {
    pub(crate) id: Id,
    pub(crate) kind: ObjectKind,
    /// The class's fields, if it is prepared and no array, or an array with a CLASS_LOAD: then the agent
    /// knows it.
    pub(crate) fields: Option<Fields>,
}

/// The kind of a class's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Instance,
    /// An array of objects of a class.
    Objects(Option<Id>),
    /// An array of primitives.
    Primitives(ValueType),
}

impl ObjectKind {
    /// Returns JVMPI's number of it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Instance => JVMPI_NORMAL_OBJECT as u8,
            Self::Objects(_) => code(ValueType::Reference),
            Self::Primitives(of) => code(of),
        }
    }
}

/// A class's fields and relations.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) superclass: Option<Arc<ClassShape>>,
    /// The interfaces that the class names.
    pub(crate) interfaces: Vec<Id>,
    /// All interfaces of the class, ascending, and itself if it is one.
    pub(super) all_interfaces: Vec<Id>,
    /// The fields that the class declares, in JVMTI's order.
    pub(crate) declared: Vec<TypedField>,
    /// JVMTI's number of the first field of the topmost superclass.
    pub(super) first_number: usize,
    /// The number of the superclasses' fields.
    pub(super) inherited_count: usize,
    /// The place of each instance field in an instance's values, from that number on.
    instance: Vec<ValueOffset>,
    /// The place of each static field in the class's values, from its own first field on.
    statics: Vec<ValueOffset>,
    instance_bytes: [u32; 2],
    statics_bytes: [u32; 2],
    /// The first byte after the last field in an object of the JVM's; 0 if there is no field.
    end_bytes: usize,
}

/// The offset of a value among the values, on both levels; `None` if it is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ValueOffset([Option<u32>; 2]);

impl ValueOffset {
    /// Returns the place of a value after `bytes` bytes, which then include it.
    fn after(bytes: &mut [u32; 2], of: ValueType) -> Self {
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

    /// Returns the place in a subclass's values, after `bytes` bytes.
    fn moved(self, bytes: [u32; 2]) -> Self {
        Self([self.0[0].map(|it| it + bytes[0]), self.0[1].map(|it| it + bytes[1])])
    }
}

impl Fields {
    /// Places the fields of a class with this superclass. `are_hidden` says whether walks neither number
    /// nor report them.
    pub(super) fn new(
        superclass: Option<Arc<ClassShape>>,
        declared: Vec<TypedField>,
        are_hidden: bool,
    ) -> Self {
        let (mut own_bytes, mut statics_bytes) = ([0; 2], [0; 2]);
        let mut place = |field: &TypedField, is_static: bool| match is_static == field.is_static {
            true if is_static => ValueOffset::after(&mut statics_bytes, field.of),
            true => ValueOffset::after(&mut own_bytes, field.of),
            false => ValueOffset::default(),
        };
        let statics: Vec<_> = declared.iter().map(|it| place(it, true)).collect();
        let own: Vec<_> = declared.iter().map(|it| place(it, false)).collect();
        let above = superclass.as_ref().and_then(|it| it.fields.as_ref());
        let inherited = above.map_or(&[][..], |it| &it.instance);
        let inherited = inherited.iter().map(|it| it.moved(own_bytes));
        let above_bytes = above.map_or([0; 2], |it| it.instance_bytes);
        let ends = declared.iter().filter(|it| !it.is_static).map(|it| {
            // The JVM's references have four or eight bytes; what comes after is aligned to eight.
            it.offset()
                + it.of.primitive_bytes().max(if it.of == ValueType::Reference { 4 } else { 1 })
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

/// The shapes that are known.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    pub(super) by_id: Mutex<FxHashMap<Id, Arc<ClassShape>>>,
    /// The classes of primitive types, once they were looked up.
    pub(super) primitives: OnceLock<Vec<Global>>,
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

    pub(super) fn known(&self, id: Id) -> Option<Arc<ClassShape>> {
        lock(&self.by_id).get(&id).cloned()
    }
}
