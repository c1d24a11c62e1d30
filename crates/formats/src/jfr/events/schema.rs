//! The types of events: their fields, as all chunks and files have them.

use std::collections::BTreeMap;

use crate::jfr::annotations::{Time, Unit};
use crate::jfr::stacks::STACK_TRACE;
use crate::jfr::types::{Type, TypeField, Types, ValueKind};
use crate::memory;

/// The type of classes, whose value is their name.
pub(super) const CLASS: &str = "java.lang.Class";
/// The most fields of a type of events, with those of structs: metadata can repeat a few types many times.
const MOST_FIELDS: usize = 4096;

/// A type of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventType {
    /// Its label, for people; empty if it has none.
    pub label: String,
    /// What its events are, in a sentence; empty if the recording does not say.
    pub description: String,
    /// Its fields, in order.
    pub fields: Vec<EventField>,
    /// The number of events.
    pub count: u64,
}

/// A field of events or of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventField {
    /// Its name.
    pub name: String,
    /// Its label, for people; empty if it has none.
    pub label: String,
    /// What it means; empty if the recording does not say.
    pub description: String,
    /// Its values.
    pub kind: FieldKind,
    /// The unit of numbers.
    pub unit: Option<Unit>,
}

/// What the values of a field are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// True or false.
    Flag,
    /// A whole number.
    Number,
    /// A number with decimals.
    Decimal,
    /// A text. Names of classes are texts, and names of methods.
    Text,
    /// Nanoseconds since 1970.
    Time,
    /// Nanoseconds.
    Timespan,
    /// The stack of a thread.
    Stack,
    /// Several fields.
    Struct(Vec<EventField>),
    /// Any number of values.
    List(Box<FieldKind>),
    /// Values that are not alike: the field is a struct in one chunk and none in another. They are left out.
    Mixed,
}

impl FieldKind {
    /// The number of its nodes: itself, and those of the fields of a struct or of the elements of a list.
    pub fn node_count(&self) -> usize {
        1 + match self {
            FieldKind::Struct(fields) => fields.iter().map(|it| it.kind.node_count()).sum(),
            FieldKind::List(kind) => kind.node_count(),
            _ => 0,
        }
    }

    /// Whether its values can be texts.
    fn has_text(&self) -> bool {
        matches!(
            self,
            FieldKind::Flag
                | FieldKind::Number
                | FieldKind::Decimal
                | FieldKind::Text
                | FieldKind::Time
                | FieldKind::Timespan
        )
    }

    /// Makes this the kind of values of both kinds.
    fn unite(&mut self, other: FieldKind) {
        match (&mut *self, other) {
            (FieldKind::Struct(fields), FieldKind::Struct(others)) => unite(fields, others),
            (FieldKind::List(kind), FieldKind::List(other)) => kind.unite(*other),
            (kind, other) if *kind == other => {}
            (FieldKind::Number, FieldKind::Decimal) | (FieldKind::Decimal, FieldKind::Number) => {
                *self = FieldKind::Decimal;
            }
            (kind, other) if kind.has_text() && other.has_text() => *self = FieldKind::Text,
            _ => *self = FieldKind::Mixed,
        }
    }
}

impl EventType {
    fn unite(&mut self, other: EventType) {
        self.count = self.count.saturating_add(other.count);
        unite(&mut self.fields, other.fields);
        for (own, others) in
            [(&mut self.label, other.label), (&mut self.description, other.description)]
        {
            if own.is_empty() {
                *own = others;
            }
        }
    }
}

/// Adds the fields that are not there yet, and makes those that are hold both.
fn unite(fields: &mut Vec<EventField>, others: Vec<EventField>) {
    for other in others {
        match fields.iter_mut().find(|it| it.name == other.name) {
            Some(field) => {
                field.unit = field.unit.filter(|_| field.unit == other.unit);
                field.kind.unite(other.kind);
            }
            None => fields.push(other),
        }
    }
}

/// The types of the events of recordings, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTypes(pub BTreeMap<String, EventType>);

impl EventTypes {
    /// Adds those of another recording. Fields that are not alike become ones that hold both.
    pub fn unite(&mut self, other: EventTypes) {
        for (name, kind) in other.0 {
            self.0.entry(name).or_default().unite(kind);
        }
    }

    /// Adds to the number of events of a type.
    pub(super) fn count(&mut self, name: &str, count: u64) {
        if let Some(kind) = self.0.get_mut(name) {
            kind.count = kind.count.saturating_add(count);
        }
    }

    /// Adds the type at a place of a chunk's table, and the number of its events.
    pub(super) fn add(&mut self, types: &Types, place: usize, count: u64) {
        let kind = types.get(place);
        let event_type = EventType {
            label: kind.facts.label.clone(),
            description: kind.facts.description.clone(),
            fields: Fields::new(types).of(place),
            count,
        };
        self.0.entry(kind.name.clone()).or_default().unite(event_type);
    }
}

/// The fields of a chunk's types.
struct Fields<'a> {
    types: &'a Types,
    /// The structs around the current field.
    around: Vec<usize>,
    /// The number of fields that may follow.
    left: usize,
}

impl<'a> Fields<'a> {
    fn new(types: &'a Types) -> Self {
        Self { types, around: Vec::new(), left: MOST_FIELDS }
    }

    fn of(&mut self, place: usize) -> Vec<EventField> {
        self.around.push(place);
        let types = self.types;
        let fields = types.get(place).fields.iter().filter_map(|field| {
            self.left = self.left.checked_sub(1).filter(|_| !memory::is_full(1))?;
            let kind = self.kind(field)?;
            Some(EventField {
                name: field.name.clone(),
                label: field.facts.label.clone(),
                description: field.facts.description.clone(),
                kind: if field.is_array { FieldKind::List(Box::new(kind)) } else { kind },
                unit: field.facts.unit,
            })
        });
        let fields = fields.collect();
        self.around.pop();
        fields
    }

    /// The kind of a single value; `None` of a struct inside itself, and of types that are not described.
    fn kind(&mut self, field: &TypeField) -> Option<FieldKind> {
        Some(match field.kind {
            ValueKind::Boolean => FieldKind::Flag,
            ValueKind::Byte | ValueKind::Short | ValueKind::Int | ValueKind::Long => {
                match field.facts.time {
                    Some(Time::Span(_)) => FieldKind::Timespan,
                    Some(Time::Stamp(_)) => FieldKind::Time,
                    None => FieldKind::Number,
                }
            }
            ValueKind::Float | ValueKind::Double => FieldKind::Decimal,
            ValueKind::Char | ValueKind::String => FieldKind::Text,
            ValueKind::Unknown => return None,
            ValueKind::Struct(place) => match struct_value(self.types.get(place)) {
                _ if self.around.contains(&place) => return None,
                Struct::Class => FieldKind::Text,
                Struct::Stack => FieldKind::Stack,
                Struct::Simple(field) => {
                    self.around.push(place);
                    let kind = self.kind(field);
                    self.around.pop();
                    kind?
                }
                Struct::Other => FieldKind::Struct(self.of(place)),
            },
        })
    }
}

/// What the value of a struct is.
pub(super) enum Struct<'a> {
    /// The name of a class.
    Class,
    Stack,
    /// The value of its only field.
    Simple(&'a TypeField),
    /// Its fields.
    Other,
}

/// What the value of a struct is.
pub(super) fn struct_value(kind: &Type) -> Struct<'_> {
    match (kind.name.as_str(), &kind.fields[..]) {
        (CLASS, _) => Struct::Class,
        (STACK_TRACE, _) => Struct::Stack,
        (_, [field]) if !field.is_array && (kind.is_simple || field.kind == ValueKind::String) => {
            Struct::Simple(field)
        }
        _ => Struct::Other,
    }
}
