//! The contents of single objects, read from the file.

use std::sync::Arc;

use perk_hprof::heap::{FieldType, number};

use crate::batch::{self, ObjectHead, Objects};
use crate::class::ClassIndex;
use crate::column::Column;
use crate::heap::{Edge, Heap, Label, ObjectId};
use crate::links::Links;
use crate::model::RefKind;
use crate::model::{DISCOVERED, REFERENCE, REFERENT};
use crate::{Content, Error, FieldValue, NoWatch, Value};

/// The number of batches of which the places of objects are kept.
const KEPT: usize = 64;
/// The number of batches that may have an object by its address, from which on a table of the batch
/// of each object is made.
const OVERLAP: usize = 4;

/// An object's place in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectPlace {
    id: u64,
    trace: u32,
    /// The offset of the fields' values or of the elements.
    content: u64,
    kind: PlaceKind,
}

#[derive(Clone, Copy, Debug)]
enum PlaceKind {
    /// The class and the size of the values.
    Instance(u64, u32),
    References(u32),
    /// The number of elements, and whether the file has them.
    Primitives(FieldType, u32, bool),
}

impl Heap {
    /// Reads the content of an object from the file, at most the first `limit` elements of an array.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn content(&self, object: ObjectId, limit: u64) -> Result<Content, Error> {
        if let Some(class) = self.as_class(object) {
            return Ok(Content::Class(class));
        }
        let Some(place) = self.place(object)? else { return Ok(Content::Instance(Vec::new())) };
        let read = |bytes: u64| -> Result<Vec<u8>, Error> {
            let bytes = bytes.min(self.input.len().saturating_sub(place.content));
            let mut buffer = vec![0; bytes as usize];
            let count = self.input.read_at(&mut buffer, place.content)?;
            buffer.truncate(count);
            Ok(buffer)
        };
        Ok(match place.kind {
            PlaceKind::Instance(class, bytes) => {
                let class = self.model.by_address.get(&class);
                let values = read(bytes.into())?;
                Content::Instance(class.map_or(Vec::new(), |&class| self.fields(class, &values)))
            }
            PlaceKind::References(length) => {
                let ids = read(u64::from(length).min(limit) * self.id_bytes as u64)?;
                Content::Objects(ids.chunks_exact(self.id_bytes).map(number).collect())
            }
            PlaceKind::Primitives(element, length, has_content) => {
                let bytes = u64::from(length).min(limit) * element.bytes(self.id_bytes) as u64;
                let bytes = if has_content { read(bytes)? } else { Vec::new() };
                Content::Primitives(element, bytes)
            }
        })
    }

    /// Reads the fields from the values of an instance.
    fn fields(&self, class: u32, values: &[u8]) -> Vec<FieldValue> {
        let mut rest = values;
        let mut fields = Vec::new();
        for class in self.model.above(class) {
            for (index, field) in self.model.classes[class as usize].fields.iter().enumerate() {
                let bytes = field.field_type.bytes(self.id_bytes);
                let Some((value, tail)) = rest.split_at_checked(bytes) else { return fields };
                let value = Value::of_bits(field.field_type, number(value));
                fields.push(FieldValue { class: ClassIndex(class), index, value });
                rest = tail;
            }
        }
        fields
    }

    /// Returns the number of elements of an array, from the file; 0 for others.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn length(&self, object: ObjectId) -> Result<u64, Error> {
        Ok(match self.place(object)?.map(|place| place.kind) {
            Some(PlaceKind::References(length) | PlaceKind::Primitives(_, length, _)) => {
                length.into()
            }
            _ => 0,
        })
    }

    /// Returns the serial number of the trace at which an object was allocated; 0 and the JDK's 1
    /// mean that it is not known.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn allocation_trace(&self, object: ObjectId) -> Result<u32, Error> {
        if let Some(class) = self.as_class(object) {
            return Ok(self.class(class).trace);
        }
        Ok(self.place(object)?.map_or(0, |place| place.trace))
    }

    /// Returns the value of an instance field, by the name of the field: the first one from the
    /// class upwards.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn field(&self, object: ObjectId, name: &str) -> Result<Option<FieldValue>, Error> {
        let Content::Instance(fields) = self.content(object, 0)? else { return Ok(None) };
        let is_it = |field: &FieldValue| self.class(field.class).fields[field.index].name == name;
        Ok(fields.into_iter().find(is_it))
    }

    /// Returns the references that an object has.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn references(&self, object: ObjectId) -> Result<Vec<Edge>, Error> {
        let mut edges = Vec::new();
        let mut add = |address: u64, label: Label, holds: bool| {
            if let Some(to) = self.find(address).filter(|_| address != 0) {
                edges.push(Edge { from: object, to, label, holds });
            }
        };
        let content = self.content(object, u64::MAX)?;
        let has_class = matches!(content, Content::Instance(_) | Content::Objects(_));
        match content {
            Content::Instance(fields) => {
                for field in fields {
                    let Value::Reference(to) = field.value else { continue };
                    let class = self.class(field.class);
                    let name = class.fields[field.index].name.clone();
                    if class.name == REFERENCE && name == DISCOVERED {
                        continue;
                    }
                    let holds = self.holds(object, &class.name, &name);
                    add(to, Label::Field(name), holds);
                }
            }
            Content::Objects(ids) => {
                for (index, id) in (0..).zip(ids) {
                    add(id, Label::Element(index), true);
                }
            }
            Content::Primitives(..) => {}
            Content::Class(class) => {
                let refs = &self.model.refs[class.0 as usize];
                add(refs.superclass, Label::Superclass, true);
                add(refs.loader, Label::Loader, true);
                add(refs.signers, Label::Signers, true);
                add(refs.domain, Label::ProtectionDomain, true);
                for &(index, id) in &refs.constants {
                    add(id, Label::Constant(index), true);
                }
                for field in &self.class(class).statics {
                    if let Value::Reference(id) = field.value {
                        add(id, Label::Static(field.name.clone()), true);
                    }
                }
            }
        }
        if has_class
            && let Some(to) = self.model.shapes[self.class_of(object).0 as usize].class_object
        {
            edges.push(Edge { from: object, to: ObjectId(to), label: Label::Class, holds: true });
        }
        for thread in self.threads().iter().filter(|thread| thread.object == Some(object)) {
            edges.extend(thread.locals.iter().map(|local| Edge {
                from: object,
                to: local.object,
                label: Label::Local(local.frame),
                holds: true,
            }));
        }
        Ok(edges)
    }

    /// Whether the field of an object holds what it refers to.
    fn holds(&self, object: ObjectId, declared_in: &str, field: &str) -> bool {
        let shape = &self.model.shapes[self.class_of(object).0 as usize];
        declared_in != REFERENCE || field != REFERENT || shape.referent.is_none()
    }

    /// Returns the references to any of these objects. The whole file is read, once.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn referrers(&self, objects: &[ObjectId]) -> Result<Vec<Edge>, Error> {
        let mut edges = Vec::new();
        self.each_referrer(objects, &mut |of| edges.extend_from_slice(of))?;
        Ok(edges)
    }

    /// Calls `each` with the references that an object has to any of these objects, for each object
    /// that has some. The whole file is read, once.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn each_referrer(
        &self,
        objects: &[ObjectId],
        each: &mut dyn FnMut(&[Edge]),
    ) -> Result<(), Error> {
        let mut wanted = crate::bits::BitSet::new(self.ids.count());
        objects.iter().for_each(|object| {
            wanted.put(object.0);
        });
        let found = self.source().each("references", &mut NoWatch, || ObjectFinder {
            wanted: &wanted,
            from: Vec::new(),
        })?;
        let mut from: Vec<u32> = found.into_iter().flat_map(|finder| finder.from).collect();
        from.sort_unstable();
        from.dedup();
        for object in from {
            let mut edges = self.references(ObjectId(object))?;
            edges.retain(|edge| wanted.has(edge.to.0));
            each(&edges);
        }
        Ok(())
    }

    /// Calls `each` with each object and the serial number of its trace. The whole file is read,
    /// once.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn each_trace(&self, each: &mut dyn FnMut(ObjectId, u32)) -> Result<(), Error> {
        for &(object, class) in &self.model.class_objects {
            each(ObjectId(object), self.model.classes[class as usize].trace);
        }
        let mut visitor = EachObject(|place: ObjectPlace| {
            if let Some(object) = self.ids.find(place.id) {
                each(ObjectId(object), place.trace);
            }
        });
        let mut buffer = Vec::new();
        for part in &self.batches {
            batch::walk(&self.input, self.id_bytes, part, &mut buffer, &mut visitor)?;
        }
        Ok(())
    }

    /// Returns the place of an object in the file.
    fn place(&self, object: ObjectId) -> Result<Option<ObjectPlace>, Error> {
        let id = self.address(object);
        let is_possible = |index: &usize| {
            (self.batches[*index].lowest..=self.batches[*index].highest).contains(&id)
        };
        let possible: Vec<usize> = (0..self.batches.len()).filter(is_possible).collect();
        let possible = match possible.len() {
            0..=OVERLAP => possible,
            _ => vec![self.batch_of()?.get(object.0 as usize) as usize],
        };
        for index in possible {
            let places = self.places(index)?;
            let at = places.partition_point(|place| place.id < id);
            if let Some(place) = places.get(at).filter(|place| place.id == id) {
                return Ok(Some(*place));
            }
        }
        Ok(None)
    }

    /// Returns the batch of each object.
    fn batch_of(&self) -> Result<&Column<u32>, Error> {
        if let Some(table) = self.batch_of.get() {
            return Ok(table);
        }
        let mut table = self.room.column(self.ids.count() as usize, 0);
        let mut buffer = Vec::new();
        for (index, part) in (0..).zip(&self.batches) {
            let mut visitor = EachObject(|place: ObjectPlace| {
                if let Some(object) = self.ids.find(place.id) {
                    table.set(object as usize, index);
                }
            });
            batch::walk(&self.input, self.id_bytes, part, &mut buffer, &mut visitor)?;
        }
        Ok(self.batch_of.get_or_init(|| table))
    }

    /// Returns the places of the objects of a batch, by their addresses.
    fn places(&self, index: usize) -> Result<Arc<Vec<ObjectPlace>>, Error> {
        let kept = || self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        {
            let mut kept = kept();
            if let Some(at) = kept.iter().position(|(batch, _)| *batch == index) {
                let found = kept.remove(at);
                let places = Arc::clone(&found.1);
                kept.push(found);
                return Ok(places);
            }
        }
        let mut places = Vec::new();
        let mut visitor = EachObject(|place| places.push(place));
        let part = &self.batches[index];
        batch::walk(&self.input, self.id_bytes, part, &mut Vec::new(), &mut visitor)?;
        places.sort_by_key(|place: &ObjectPlace| place.id);
        let places = Arc::new(places);
        let mut kept = kept();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((index, Arc::clone(&places)));
        Ok(places)
    }
}

/// Hands the place of each object to a function.
struct EachObject<F>(F);

impl<F: FnMut(ObjectPlace)> Objects for EachObject<F> {
    fn instance(&mut self, head: ObjectHead, class: u64, values: &[u8]) {
        let kind = PlaceKind::Instance(class, values.len() as u32);
        (self.0)(ObjectPlace { id: head.id, trace: head.trace, content: head.content, kind });
    }

    fn references(&mut self, head: ObjectHead, _class: u64, length: u32) {
        let kind = PlaceKind::References(length);
        (self.0)(ObjectPlace { id: head.id, trace: head.trace, content: head.content, kind });
    }

    fn elements(&mut self, _first: u64, _ids: &[u8]) {}

    fn primitives(&mut self, head: ObjectHead, element: FieldType, length: u32, has_content: bool) {
        let kind = PlaceKind::Primitives(element, length, has_content);
        (self.0)(ObjectPlace { id: head.id, trace: head.trace, content: head.content, kind });
    }
}

/// Finds the objects that refer to others.
struct ObjectFinder<'a> {
    wanted: &'a crate::bits::BitSet,
    from: Vec<u32>,
}

impl Links for ObjectFinder<'_> {
    fn object(&mut self, _object: u32, _class: u32, _length: u32, _head: ObjectHead) {}

    fn link(&mut self, from: u32, to: u32) {
        if self.wanted.has(to) && self.from.last() != Some(&from) {
            self.from.push(from);
        }
    }

    fn left_out(&mut self, from: u32, to: u32, _kind: RefKind) {
        self.link(from, to);
    }
}
