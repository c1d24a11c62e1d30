//! Reads objects for a meaning, within its budget.

use std::cell::{Cell, RefCell};

use perk_hprof::heap::FieldType;

use crate::{ClassIndex, Content, Error, FieldValue, Heap, ObjectId, Value};

use super::model::{Item, Limits};
use super::values;

/// The fields and elements that are read for one meaning.
const BUDGET: u64 = 1 << 20;
/// The elements of one array that are read.
const ARRAY: u64 = 1 << 17;
/// Values within values that are shown by their meaning.
pub(super) const NESTED: u32 = 3;
/// Wrappers of wrappers that are looked into.
const WRAPPED: u32 = 16;
/// The characters of a text within another value.
const BRIEF_CHARS: usize = 60;

/// Classes above a class that are looked at.
const SUPERCLASSES: usize = 100;

/// Reads objects of a heap.
#[derive(Debug)]
pub(super) struct MeaningReader<'h> {
    pub(super) heap: &'h Heap,
    limits: Limits,
    budget: Cell<u64>,
    pub(super) nested: Cell<u32>,
    wrapped: Cell<u32>,
    failure: RefCell<Option<Error>>,
}

impl<'h> MeaningReader<'h> {
    pub(super) fn new(heap: &'h Heap, limits: Limits) -> Self {
        Self {
            heap,
            limits,
            budget: Cell::new(BUDGET),
            nested: Cell::new(0),
            wrapped: Cell::new(0),
            failure: RefCell::new(None),
        }
    }

    /// Returns `result`, or the failure to read the file.
    pub(super) fn finish<T>(self, result: T) -> Result<T, Error> {
        match self.failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(result),
        }
    }

    /// Returns the number of elements to show.
    pub(super) fn element_count(&self) -> usize {
        if self.nested.get() > 0 { 0 } else { self.limits.element_count }
    }

    /// Returns the number of characters to show.
    pub(super) fn char_count(&self) -> usize {
        match self.nested.get() {
            0 => self.limits.char_count,
            _ => self.limits.char_count.min(BRIEF_CHARS),
        }
    }

    /// Returns the result of `read` for an object inside a wrapper, unless there are too many
    /// wrappers.
    pub(super) fn unwrap<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        deeper(&self.wrapped, WRAPPED, read)?
    }

    /// Returns an object's content.
    fn content(&self, object: ObjectId, limit: u64) -> Option<Content> {
        let left = self.budget.get().checked_sub(1)?;
        let content = match self.heap.content(object, limit.min(left)) {
            Ok(content) => content,
            Err(error @ Error::Io(_)) => {
                self.failure.borrow_mut().get_or_insert(error);
                return None;
            }
            Err(_) => return None,
        };
        let cost = match &content {
            Content::Instance(fields) => fields.len(),
            Content::Objects(elements) => elements.len(),
            Content::Primitives(_, bytes) => bytes.len(),
            Content::Class(_) => 0,
        };
        self.budget.set(left.saturating_sub(cost as u64));
        Some(content)
    }

    /// Returns the instance at an address.
    pub(super) fn object(&self, address: u64) -> Option<Instance<'_, 'h>> {
        self.instance(self.heap.find(address)?)
    }

    /// Returns an instance.
    pub(super) fn instance(&self, id: ObjectId) -> Option<Instance<'_, 'h>> {
        let class = self.heap.class_of(id);
        let Content::Instance(fields) = self.content(id, 0)? else { return None };
        Some(Instance { reader: self, id, class, fields })
    }

    /// Returns the length of the array at an address.
    pub(super) fn length(&self, address: u64) -> Option<u64> {
        match self.heap.length(self.heap.find(address)?) {
            Ok(length) => Some(length),
            Err(error @ Error::Io(_)) => {
                self.failure.borrow_mut().get_or_insert(error);
                None
            }
            Err(_) => None,
        }
    }

    /// Returns the first elements of the array of references at an address, at most `limit`.
    pub(super) fn references(&self, address: u64, limit: u64) -> Option<Vec<u64>> {
        match self.content(self.heap.find(address)?, limit.min(ARRAY))? {
            Content::Objects(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the first elements of the array of primitive values at an address, at most `limit`:
    /// their type, and their bytes.
    pub(super) fn primitives(&self, address: u64, limit: u64) -> Option<(FieldType, Vec<u8>)> {
        match self.content(self.heap.find(address)?, limit.min(ARRAY))? {
            Content::Primitives(element, bytes) => Some((element, bytes)),
            _ => None,
        }
    }

    /// Returns the first elements of the array at an address, at most `limit`.
    pub(super) fn elements(&self, address: u64, limit: u64) -> Option<Vec<Value>> {
        Some(match self.content(self.heap.find(address)?, limit.min(ARRAY))? {
            Content::Objects(elements) => elements.into_iter().map(Value::Reference).collect(),
            Content::Primitives(element, bytes) => Value::of_elements(element, &bytes),
            _ => return None,
        })
    }

    /// Returns a static field of a class.
    pub(super) fn static_value(&self, class: &str, name: &str) -> Option<Value> {
        let classes = self.heap.classes_named(class);
        let statics = classes.iter().flat_map(|&index| &self.heap.class(index).statics);
        statics.into_iter().find(|it| it.name == name).map(|it| it.value)
    }

    /// Whether `address` is that of the object in a static field: a mark in place of a value.
    pub(super) fn is_static(&self, address: u64, class: &str, name: &str) -> bool {
        address != 0 && self.static_value(class, name) == Some(Value::Reference(address))
    }
}

/// Returns a class and those above it.
pub(super) fn above(heap: &Heap, class: ClassIndex) -> impl Iterator<Item = ClassIndex> {
    let above = std::iter::successors(Some(class), |&it| heap.class(it).superclass);
    above.take(SUPERCLASSES)
}

/// Returns what `read` returns, with the depth one deeper meanwhile; `None` below `limit`.
pub(super) fn deeper<T>(depth: &Cell<u32>, limit: u32, read: impl FnOnce() -> T) -> Option<T> {
    if depth.get() >= limit {
        return None;
    }
    depth.set(depth.get() + 1);
    let result = read();
    depth.set(depth.get() - 1);
    Some(result)
}

/// An instance and its fields.
#[derive(Debug)]
pub(super) struct Instance<'r, 'h> {
    pub(super) reader: &'r MeaningReader<'h>,
    pub(super) id: ObjectId,
    pub(super) class: ClassIndex,
    pub(super) fields: Vec<FieldValue>,
}

impl<'r, 'h> Instance<'r, 'h> {
    /// Returns the name of its class.
    pub(super) fn class_name(&self) -> &'h str {
        &self.reader.heap.class(self.class).name
    }

    /// Returns the value of the first field of this name from the class upwards.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        let heap = self.reader.heap;
        let is_it = |field: &&FieldValue| {
            heap.class(field.class).fields.get(field.index).is_some_and(|it| it.name == name)
        };
        self.fields.iter().find(is_it).map(|field| field.value)
    }

    /// Returns the address in a field; 0 is null.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Reference(address) => Some(address),
            _ => None,
        }
    }

    /// Returns the integer in a field.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        values::integer(self.value(name)?)
    }

    /// Returns the size in a field.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        u64::try_from(self.int(name)?).ok()
    }

    /// Returns the boolean in a field.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Boolean(flag) => Some(flag),
            _ => None,
        }
    }

    /// Returns the object that a field refers to.
    pub(super) fn object(&self, name: &str) -> Option<Instance<'r, 'h>> {
        self.reader.object(self.address(name)?)
    }

    /// Returns the text that a field refers to.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.reader.text(self.address(name)?)
    }

    /// Returns the value of a field in a few words.
    pub(super) fn item(&self, name: &str) -> Option<Item> {
        Some(self.reader.item(self.value(name)?))
    }
}
