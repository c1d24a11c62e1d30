//! The references of many objects, and those to many objects, equal places as one.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::column::Column;
use crate::{ClassIndex, Edge, Error, Heap, Holder, Label, ObjectId};

/// References with the same place and the same class at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedRef {
    /// The class of the objects at the other end; of a class object, the class that it represents.
    pub class: ClassIndex,
    /// Whether the other end is the class object of `class`.
    pub is_class_object: bool,
    /// The place. Elements of arrays all have index 0, and local variables no frame.
    pub label: Label,
    /// Whether such references hold objects.
    pub holds: bool,
    /// The number of references.
    pub reference_count: u64,
    /// The number of objects that are referred to and immediately held by the object that refers to
    /// them.
    pub held_count: u64,
    /// The least that these retain together: what an object below another of them retains is counted
    /// with that one.
    pub held_bytes: u64,
}

/// Merges references.
struct Merger<'h> {
    heap: &'h Heap,
    rows: Vec<(RefKey, MergedRef)>,
    by_key: FxHashMap<RefKey, u32>,
    /// The row of each object that is held by one with a reference to it, or [`NONE`].
    row_of: Column<u32>,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, PartialEq, Eq, Hash)]
struct RefKey {
    class: ClassIndex,
    is_class_object: bool,
    place: (u8, String),
    holds: bool,
}

impl Heap {
    /// Returns the references that the objects have, those of equal fields to objects of a class as
    /// one, those with most references first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn merged_references(&self, objects: &[ObjectId]) -> Result<Vec<MergedRef>, Error> {
        let mut merger = Merger::new(self);
        for &object in objects {
            let edges = self.references(object)?;
            merger.add(&edges, |edge| edge.to);
        }
        Ok(merger.finish())
    }

    /// Returns the references to the objects, those from equal fields of a class as one, those with
    /// most references first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn merged_referrers(&self, objects: &[ObjectId]) -> Result<Vec<MergedRef>, Error> {
        let mut merger = Merger::new(self);
        self.each_referrer(objects, &mut |edges| merger.add(edges, |edge| edge.from))?;
        Ok(merger.finish())
    }
}

impl<'h> Merger<'h> {
    fn new(heap: &'h Heap) -> Self {
        let row_of = heap.room.column(heap.object_count() as usize, NONE);
        Self { heap, rows: Vec::new(), by_key: FxHashMap::default(), row_of }
    }

    /// Adds the references of one object.
    fn add(&mut self, edges: &[Edge], end: impl Fn(&Edge) -> ObjectId) {
        let heap = self.heap;
        for edge in edges {
            let end = end(edge);
            let stands_for = heap.as_class(end);
            let class = stands_for.unwrap_or_else(|| heap.class_of(end));
            let is_class_object = stands_for.is_some();
            let (label, place) = merged(&edge.label);
            let key = RefKey { class, is_class_object, place, holds: edge.holds };
            let index = *self.by_key.entry(key.clone()).or_insert(self.rows.len() as u32);
            if index as usize == self.rows.len() {
                let row = MergedRef {
                    class,
                    is_class_object,
                    label,
                    holds: edge.holds,
                    reference_count: 0,
                    held_count: 0,
                    held_bytes: 0,
                };
                self.rows.push((key, row));
            }
            let row = &mut self.rows[index as usize].1;
            row.reference_count += 1;
            let is_held = edge.holds && heap.holder(edge.to) == Holder::Object(edge.from);
            // Two references of one object to another hold it once.
            if is_held && self.row_of.get(edge.to.0 as usize) == NONE {
                self.row_of.set(edge.to.0 as usize, index);
                row.held_count += 1;
            }
        }
    }

    fn finish(self) -> Vec<MergedRef> {
        let mut rows = self.rows;
        let row_of = |it: ObjectId| Some(self.row_of.get(it.0 as usize)).filter(|&row| row != NONE);
        let sizes = self.heap.sets(rows.len(), &row_of);
        for (row, size) in rows.iter_mut().zip(sizes) {
            row.1.held_bytes = size.least_bytes;
        }
        rows.sort_by(|(a, a_row), (b, b_row)| {
            let order = |key: &RefKey, row: &MergedRef| {
                let counts = (Reverse(row.reference_count), Reverse(row.held_bytes));
                (counts, row.class, key.is_class_object, key.holds)
            };
            order(a, a_row).cmp(&order(b, b_row)).then_with(|| a.place.cmp(&b.place))
        });
        rows.into_iter().map(|it| it.1).collect()
    }
}

/// The label of merged references, and its key.
fn merged(label: &Label) -> (Label, (u8, String)) {
    let label = match label {
        Label::Element(_) => Label::Element(0),
        Label::Local(_) => Label::Local(None),
        label => label.clone(),
    };
    let place = match &label {
        Label::Field(name) => (0, name.clone()),
        Label::Static(name) => (1, name.clone()),
        Label::Element(_) => (2, String::new()),
        Label::Class => (3, String::new()),
        Label::Superclass => (4, String::new()),
        Label::Loader => (5, String::new()),
        Label::Signers => (6, String::new()),
        Label::ProtectionDomain => (7, String::new()),
        Label::Constant(index) => (8, index.to_string()),
        Label::Local(_) => (9, String::new()),
    };
    (label, place)
}
