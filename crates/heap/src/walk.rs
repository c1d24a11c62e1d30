//! Walks over the arrays and the references of all objects, a part of the file after the other.

use perk_hprof::heap::{FieldType, number};

use crate::batch::{self, ObjectHead, Objects};
use crate::heap::{Edge, Heap, Label, ObjectId};
use crate::model::{DISCOVERED, REFERENCE, REFERENT};
use crate::{ClassIndex, Error};

/// What has no number yet.
const NOTHING: ObjectId = ObjectId(u32::MAX);

impl Heap {
    /// Returns the number of parts of a walk. The first one has the classes and the threads, the others the
    /// objects of about 1 MiB each.
    pub fn part_count(&self) -> usize {
        self.batches.len() + 1
    }

    /// Calls `each` with each array of a part, and the number of its elements.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn each_array(
        &self,
        part: usize,
        each: &mut dyn FnMut(ObjectId, u64),
    ) -> Result<(), Error> {
        self.walk(part, &mut ArrayWalk { heap: self, each })
    }

    /// Calls `each` with each reference of a part. They are those of [`Heap::references`].
    ///
    /// # Errors
    /// The errors of the file.
    pub fn each_reference(&self, part: usize, each: &mut dyn FnMut(&Edge)) -> Result<(), Error> {
        if part == 0 {
            for &(object, _) in &self.model.class_objects {
                self.references(ObjectId(object))?.iter().for_each(&mut *each);
            }
            let threads = self.threads().iter().filter(|it| !self.is_class(it.object));
            for (from, thread) in threads.filter_map(|it| Some((it.object?, it))) {
                for local in &thread.locals {
                    let label = Label::Local(local.frame);
                    each(&Edge { from, to: local.object, label, holds: true });
                }
            }
            return Ok(());
        }
        let fields = self.classes().iter().map(|_| None).collect();
        let element = edge(Label::Element(0), true);
        self.walk(part, &mut ReferenceWalk { heap: self, each, fields, element })
    }

    /// Whether an object is that of a class.
    fn is_class(&self, object: Option<ObjectId>) -> bool {
        object.is_some_and(|object| self.as_class(object).is_some())
    }

    fn walk(&self, part: usize, objects: &mut impl Objects) -> Result<(), Error> {
        let batch = part.checked_sub(1).and_then(|index| self.batches.get(index));
        let Some(batch) = batch else { return Ok(()) };
        Ok(batch::walk(&self.input, self.id_bytes, batch, &mut Vec::new(), objects)?)
    }
}

struct ArrayWalk<'a> {
    heap: &'a Heap,
    each: &'a mut dyn FnMut(ObjectId, u64),
}

impl ArrayWalk<'_> {
    fn array(&mut self, head: ObjectHead, length: u32) {
        if let Some(object) = self.heap.find(head.id) {
            (self.each)(object, length.into());
        }
    }
}

impl Objects for ArrayWalk<'_> {
    fn instance(&mut self, _head: ObjectHead, _class: u64, _values: &[u8]) {}

    fn references(&mut self, head: ObjectHead, _class: u64, length: u32) {
        self.array(head, length);
    }

    fn elements(&mut self, _first: u64, _ids: &[u8]) {}

    fn primitives(
        &mut self,
        head: ObjectHead,
        _element: FieldType,
        length: u32,
        _has_content: bool,
    ) {
        self.array(head, length);
    }
}

/// The fields of a class that are references: the offset of each, and the reference without its ends.
type ReferenceFields = Box<[(usize, Edge)]>;

struct ReferenceWalk<'a> {
    heap: &'a Heap,
    each: &'a mut dyn FnMut(&Edge),
    /// By class; `None` before its first instance.
    fields: Vec<Option<ReferenceFields>>,
    /// An element of the array at hand.
    element: Edge,
}

fn edge(label: Label, holds: bool) -> Edge {
    Edge { from: NOTHING, to: NOTHING, label, holds }
}

impl ReferenceWalk<'_> {
    /// Calls with a reference of `from` if its address is that of an object.
    fn reference(&mut self, edge: &mut Edge, from: ObjectId, id: &[u8]) {
        let address = number(id);
        if let Some(to) = self.heap.find(address).filter(|_| address != 0) {
            (edge.from, edge.to) = (from, to);
            (self.each)(edge);
        }
    }

    /// Calls with the reference to its class, if the object keeps that.
    fn class(&mut self, from: ObjectId) {
        let class = self.heap.class_of(from).0 as usize;
        if let Some(to) = self.heap.model.shapes[class].class_object {
            (self.each)(&Edge { from, to: ObjectId(to), label: Label::Class, holds: true });
        }
    }
}

impl Objects for ReferenceWalk<'_> {
    fn instance(&mut self, head: ObjectHead, class: u64, values: &[u8]) {
        let heap = self.heap;
        let Some(from) = heap.find(head.id).filter(|&it| !heap.is_class(Some(it))) else { return };
        if let Some(ClassIndex(class)) = heap.class_at(class) {
            let known = self.fields[class as usize].take();
            let mut fields = known.unwrap_or_else(|| heap.reference_fields(class));
            for (at, edge) in &mut fields {
                let Some(id) = values.get(*at..*at + heap.id_bytes) else { break };
                self.reference(edge, from, id);
            }
            self.fields[class as usize] = Some(fields);
        }
        self.class(from);
    }

    fn references(&mut self, head: ObjectHead, _class: u64, _length: u32) {
        self.element.from = self.heap.find(head.id).unwrap_or(NOTHING);
        if self.element.from != NOTHING {
            self.class(self.element.from);
        }
    }

    fn elements(&mut self, first: u64, ids: &[u8]) {
        let mut element = std::mem::replace(&mut self.element, edge(Label::Class, true));
        let from = element.from;
        if from != NOTHING {
            for (index, id) in (first..).zip(ids.chunks_exact(self.heap.id_bytes)) {
                element.label = Label::Element(index);
                self.reference(&mut element, from, id);
            }
        }
        self.element = element;
    }

    fn primitives(
        &mut self,
        _head: ObjectHead,
        _element: FieldType,
        _length: u32,
        _has_content: bool,
    ) {
    }
}

impl Heap {
    /// Returns the references that instances of a class have in their fields.
    fn reference_fields(&self, class: u32) -> ReferenceFields {
        let holds_referent = self.model.shapes[class as usize].referent.is_none();
        let mut fields = Vec::new();
        let mut at = 0;
        for class in self.model.above(class) {
            let class = &self.model.classes[class as usize];
            let is_reference = class.name == REFERENCE;
            for field in &class.fields {
                let is_left_out = is_reference && field.name == DISCOVERED;
                if field.field_type == FieldType::Object && !is_left_out {
                    let holds = holds_referent || !is_reference || field.name != REFERENT;
                    fields.push((at, edge(Label::Field(field.name.clone()), holds)));
                }
                at += field.field_type.bytes(self.id_bytes);
            }
        }
        fields.into()
    }
}
