//! The classes that a dump has to do with, and the data that it collects of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::{Bridge, Id};
use super::records::{ClassParts, DumpRecords, Level};
use super::shapes::{ClassShape, Fields};
use crate::own;
use perk_jvm::{Jni, Local};

/// The classes that are loaded, each with an id, except for perk's own.
#[derive(Debug)]
pub(crate) struct DumpClasses {
    pub(super) all: Vec<DumpClass>,
    by_tag: FxHashMap<i64, usize>,
    /// The class that was found last: most questions repeat the previous one.
    last: (i64, Option<usize>),
    /// The id of `java.lang.Class`.
    pub(super) of_classes: i64,
}

/// A class in a dump.
#[derive(Debug)]
pub(crate) struct DumpClass {
    pub(super) shape: Arc<ClassShape>,
    /// Whether the walk has come to it.
    pub(super) is_reached: bool,
    /// The size of an instance; 0 if none was seen.
    pub(crate) instance_bytes: u32,
    pub(super) loader: Option<Id>,
    pub(crate) signers: Option<Id>,
    pub(crate) protection_domain: Option<Id>,
    pub(crate) constants: Vec<(u16, Id)>,
    pub(super) statics: Vec<u8>,
}

impl DumpClasses {
    /// Returns the classes, with their objects in the same order.
    pub(super) fn of<'a>(bridge: &Bridge, jni: Jni<'a>, level: Level) -> (Self, Vec<Local<'a>>) {
        let mut objects = bridge.jvmti.loaded_classes(jni).unwrap_or_default();
        objects.extend(bridge.primitive_classes(jni, &objects));
        objects.retain(|it| !own::is_own(bridge, jni, it));
        let all: Vec<_> =
            objects.iter().map(|it| DumpClass::new(bridge.shape(jni, it), level)).collect();
        let tags = all.iter().map(|it| it.shape.id.0);
        let of_classes = objects.first().and_then(|it| jni.class_of(it));
        let of_classes = of_classes.map(|it| bridge.class_id(jni, &it));
        let classes = Self {
            by_tag: tags.zip(0..).collect(),
            all,
            last: (0, None),
            of_classes: of_classes.map_or(0, |id| id.0),
        };
        (classes, objects)
    }

    /// Returns the class with a tag.
    pub(super) fn find(&mut self, tag: i64) -> Option<&mut DumpClass> {
        let index = self.index(tag)?;
        self.all.get_mut(index)
    }

    /// Returns the class with an id, from any thread.
    pub(crate) fn get(&self, id: Id) -> Option<&DumpClass> {
        self.all.get(*self.by_tag.get(&id.0)?)
    }

    /// Returns the index of the class with a tag.
    pub(super) fn index(&mut self, tag: i64) -> Option<usize> {
        if self.last.0 != tag {
            self.last = (tag, self.by_tag.get(&tag).copied());
        }
        self.last.1
    }

    /// Writes the records of the classes that were reached, superclasses first.
    pub(super) fn write(
        &self,
        records: &mut DumpRecords,
        header_bytes: u32,
        round: impl Fn(u64) -> u64,
    ) {
        let reached = self.all.iter().filter(|it| it.is_reached);
        let mut known: Vec<_> =
            reached.filter_map(|it| Some((it, it.shape.fields.as_ref()?))).collect();
        known.sort_by_cached_key(|(_, fields)| fields.depth());
        for (class, fields) in known {
            let measured = (class.instance_bytes > 0).then_some(class.instance_bytes);
            let computed = || round(fields.end_bytes(header_bytes)) as u32;
            let parts = class.parts(fields, measured.unwrap_or_else(computed));
            let at = records.begin_class(&parts, class.statics.len());
            records.0[at..].copy_from_slice(&class.statics);
        }
    }
}

impl DumpClass {
    fn new(shape: Arc<ClassShape>, level: Level) -> Self {
        let statics_bytes = shape.fields.as_ref().map_or(0, |it| it.statics_bytes(level));
        Self {
            shape,
            is_reached: false,
            instance_bytes: 0,
            loader: None,
            signers: None,
            protection_domain: None,
            constants: Vec::new(),
            statics: vec![0; statics_bytes],
        }
    }

    /// Whether the agent has no CLASS_LOAD of it, so that it is an instance in dumps.
    pub(super) fn is_instance(&self) -> bool {
        self.shape.fields.is_none()
    }

    fn parts<'a>(&'a self, fields: &'a Fields, instance_bytes: u32) -> ClassParts<'a> {
        ClassParts {
            class: self.shape.id,
            superclass: fields.superclass.as_ref().map(|it| it.id),
            loader: self.loader,
            signers: self.signers,
            protection_domain: self.protection_domain,
            instance_bytes,
            interfaces: &fields.interfaces,
            constants: &self.constants,
        }
    }
}
