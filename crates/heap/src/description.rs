//! All that a dump says of one object.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use perk_hprof::heap::FieldType;

use crate::{
    ClassIndex, ClassKind, Content, Error, Heap, Holder, Item, Label, Limits, Meaning, ObjectId,
    Reach, Root, Value,
};

/// The holders above an object that are listed at each end of the path: paths along lists are long.
const HOLDERS: usize = 20;

/// An object, and all that the dump says of it.
#[derive(Clone, Debug)]
pub struct Description {
    /// The object.
    pub object: ObjectId,
    /// The value that it represents.
    pub meaning: Option<Meaning>,
    /// The way in which it is reachable.
    pub reach: Reach,
    /// The roots that it is.
    pub roots: Vec<Root>,
    /// Its dominators, the immediate one first; of a long path both ends.
    pub holders: Vec<ObjectId>,
    /// The number of dominators left out after the first half of `holders`.
    pub left_out_count: u64,
    /// The objects that it holds immediately, by class, those that retain most first.
    pub held: Vec<HeldClass>,
    /// Its fields, static fields of the class that it represents, or elements.
    pub members: Vec<Member>,
    /// The number of all elements; that of `members` for objects that are not arrays.
    pub member_count: u64,
    /// The serial number of its allocation trace, if the dump has that trace.
    pub trace: Option<u32>,
}

/// Objects of one class that an object holds immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldClass {
    /// The class.
    pub class: ClassIndex,
    /// Their number.
    pub count: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
}

/// A field or an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The place in the object.
    pub label: Label,
    /// The class that declares it.
    pub class: Option<ClassIndex>,
    /// The type.
    pub field_type: FieldType,
    /// The value.
    pub value: Value,
    /// The value in a few words.
    pub item: Item,
    /// The object that it refers to.
    pub to: Option<ObjectId>,
    /// Whether the object is the immediate dominator of `to`.
    pub is_held: bool,
}

impl Heap {
    /// Describes an object, with at most the first `element_count` elements of an array.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn describe(&self, object: ObjectId, element_count: u64) -> Result<Description, Error> {
        let (holders, left_out_count) = self.dominators(object);
        let members = self.members(object, element_count)?;
        let is_array = !matches!(self.class(self.class_of(object)).kind, ClassKind::Instance);
        let member_count = if is_array { self.length(object)? } else { members.len() as u64 };
        Ok(Description {
            object,
            meaning: self.meaning(object, Limits::default())?,
            reach: self.reach(object),
            roots: self.roots().iter().filter(|root| root.object == object).copied().collect(),
            holders,
            left_out_count,
            held: self.held_classes(object),
            members,
            member_count,
            trace: self.allocation_site(object)?,
        })
    }

    /// Returns the serial number of the trace at which an object was allocated, if the dump has that
    /// trace and its frames.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn allocation_site(&self, object: ObjectId) -> Result<Option<u32>, Error> {
        let trace = self.allocation_trace(object)?;
        Ok(Some(trace).filter(|&trace| self.is_site(trace)))
    }

    /// Whether the trace of an object says where it was allocated.
    pub(crate) fn is_site(&self, trace: u32) -> bool {
        self.trace(trace).is_some_and(|trace| !trace.frames.is_empty())
    }

    /// Returns the first and the last dominators of an object, and the number of those between.
    fn dominators(&self, object: ObjectId) -> (Vec<ObjectId>, u64) {
        let above = |of: ObjectId| match self.holder(of) {
            Holder::Object(holder) => Some(holder),
            Holder::Roots | Holder::Nothing => None,
        };
        let mut first = Vec::new();
        let mut last = VecDeque::new();
        let mut left_out_count = 0;
        for holder in std::iter::successors(above(object), |&it| above(it)) {
            if first.len() < HOLDERS {
                first.push(holder);
                continue;
            }
            last.push_back(holder);
            if last.len() > HOLDERS {
                last.pop_front();
                left_out_count += 1;
            }
        }
        first.extend(last);
        (first, left_out_count)
    }

    /// Returns the objects that an object holds immediately, by class.
    fn held_classes(&self, object: ObjectId) -> Vec<HeldClass> {
        let mut classes = BTreeMap::new();
        for held in self.children().of(object.0).map(ObjectId) {
            let class = self.class_of(held);
            let row =
                classes.entry(class).or_insert(HeldClass { class, count: 0, retained_bytes: 0 });
            row.count += 1;
            row.retained_bytes += self.retained_bytes(held);
        }
        let mut rows: Vec<_> = classes.into_values().collect();
        rows.sort_by_key(|row| (Reverse(row.retained_bytes), row.class));
        rows
    }

    fn members(&self, object: ObjectId, element_count: u64) -> Result<Vec<Member>, Error> {
        let member = |label, class, field_type, value| {
            let to = match value {
                Value::Reference(address) => self.find(address),
                _ => None,
            };
            let is_held = to.is_some_and(|to| self.holder(to) == Holder::Object(object));
            let item = self.brief(value, Limits::default())?;
            Ok(Member { label, class, field_type, value, item, to, is_held })
        };
        match self.content(object, element_count)? {
            Content::Instance(fields) => fields
                .into_iter()
                .filter_map(|it| Some((self.class(it.class).fields.get(it.index)?, it)))
                .map(|(field, it)| {
                    let label = Label::Field(field.name.clone());
                    member(label, Some(it.class), field.field_type, it.value)
                })
                .collect(),
            Content::Objects(addresses) => (0..)
                .zip(addresses)
                .map(|(index, address)| {
                    let value = Value::Reference(address);
                    member(Label::Element(index), None, FieldType::Object, value)
                })
                .collect(),
            Content::Primitives(element, bytes) => (0..)
                .zip(Value::of_elements(element, &bytes))
                .map(|(index, value)| member(Label::Element(index), None, element, value))
                .collect(),
            Content::Class(class) => {
                let statics = self.class(class).statics.iter();
                statics
                    .map(|it| {
                        let label = Label::Static(it.name.clone());
                        member(label, Some(class), it.value.field_type(), it.value)
                    })
                    .collect()
            }
        }
    }
}

impl Value {
    /// Returns the type of the value.
    pub fn field_type(self) -> FieldType {
        match self {
            Self::Reference(_) => FieldType::Object,
            Self::Boolean(_) => FieldType::Boolean,
            Self::Char(_) => FieldType::Char,
            Self::Float(_) => FieldType::Float,
            Self::Double(_) => FieldType::Double,
            Self::Byte(_) => FieldType::Byte,
            Self::Short(_) => FieldType::Short,
            Self::Int(_) => FieldType::Int,
            Self::Long(_) => FieldType::Long,
        }
    }

    /// Returns the elements of an array of primitive values, from their bytes.
    pub(crate) fn of_elements(element: FieldType, bytes: &[u8]) -> Vec<Self> {
        if element == FieldType::Object {
            return Vec::new();
        }
        let value = |bytes: &[u8]| {
            let bits = bytes.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            Self::of_bits(element, bits)
        };
        bytes.chunks_exact(element.bytes(0)).map(value).collect()
    }
}
