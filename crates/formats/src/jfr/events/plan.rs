//! How the wanted fields of an event are found in the values of a chunk.

use super::schema::{EventField, FieldKind, Struct, struct_value};
use crate::jfr::annotations::{Epoch, Time, TimeUnit};
use crate::jfr::types::{TypeField, Types, ValueKind};

/// The limit of structs inside structs.
const MOST_DEPTH: usize = 32;

/// The wanted fields of a struct or an event.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is made of each field of the chunk's type, up to the last one that is wanted.
    pub(super) takes: Vec<Option<Take>>,
    /// The nodes of wanted fields that the type does not have.
    pub(super) missing: Vec<usize>,
}

/// What is made of a value: the node that it goes to, and how it is read.
#[derive(Debug)]
pub(super) struct Take {
    pub(super) node: usize,
    pub(super) shape: Shape,
    pub(super) form: Form,
}

/// The form that a value gets, where chunks do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Own,
    Decimal,
    Text,
}

/// How a value is read.
#[derive(Debug)]
pub(super) enum Shape {
    Flag,
    Number {
        /// The bits of the number, if it has no sign.
        mask: Option<u64>,
    },
    Decimal,
    Text,
    Char,
    Time(Epoch),
    Timespan(TimeUnit),
    Class,
    Stack,
    /// The only field of a struct.
    Simple(Box<Take>),
    Struct(Plan),
    /// The field of each element.
    List(TypeField, Box<Take>),
}

impl Shape {
    /// The kind of its values, if it is a single one.
    fn kind(&self) -> Option<FieldKind> {
        Some(match self {
            Shape::Flag => FieldKind::Flag,
            Shape::Number { .. } => FieldKind::Number,
            Shape::Decimal => FieldKind::Decimal,
            Shape::Text | Shape::Char | Shape::Class => FieldKind::Text,
            Shape::Time(_) => FieldKind::Time,
            Shape::Timespan(_) => FieldKind::Timespan,
            Shape::Stack => FieldKind::Stack,
            Shape::Simple(_) | Shape::Struct(_) | Shape::List(..) => return None,
        })
    }

    /// Whether a value may be a constant, or have one in it.
    fn needs_constants(&self) -> bool {
        match self {
            Shape::Flag | Shape::Number { .. } | Shape::Decimal | Shape::Char => false,
            Shape::Time(_) | Shape::Timespan(_) => false,
            Shape::List(_, take) => take.shape.needs_constants(),
            // Strings can be constants.
            Shape::Text | Shape::Class | Shape::Stack | Shape::Simple(_) | Shape::Struct(_) => true,
        }
    }
}

impl Plan {
    /// How the wanted fields of the type at `place` are read. Their nodes are numbered from `node` on.
    pub(super) fn new(types: &Types, place: usize, wanted: &[EventField], node: usize) -> Self {
        Self::at_depth(types, place, wanted, node, 0)
    }

    fn at_depth(
        types: &Types,
        place: usize,
        wanted: &[EventField],
        mut node: usize,
        depth: usize,
    ) -> Self {
        let fields = &types.get(place).fields;
        let mut takes: Vec<Option<Take>> = fields.iter().map(|_| None).collect();
        let mut missing = Vec::new();
        for EventField { name, kind, .. } in wanted {
            let at = fields.iter().position(|it| it.name == *name);
            let take = at.and_then(|at| Take::of_field(types, &fields[at], kind, node, depth));
            match at.zip(take) {
                Some((at, take)) => takes[at] = Some(take),
                None => missing.push(node),
            }
            node += kind.node_count();
        }
        let count = takes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        takes.truncate(count);
        Self { takes, missing }
    }

    /// Whether a wanted value may be a constant.
    pub(super) fn needs_constants(&self) -> bool {
        self.takes.iter().flatten().any(|take| take.shape.needs_constants())
    }
}

impl Take {
    fn of_field(
        types: &Types,
        field: &TypeField,
        kind: &FieldKind,
        node: usize,
        depth: usize,
    ) -> Option<Self> {
        if !field.is_array {
            return Self::of_value(types, field, kind, node, depth);
        }
        let FieldKind::List(kind) = kind else { return None };
        let element = TypeField { is_array: false, ..field.clone() };
        let take = Self::of_value(types, &element, kind, node + 1, depth)?;
        Some(Self { node, shape: Shape::List(element, Box::new(take)), form: Form::Own })
    }

    /// How a single value is read; `None` if it is of another kind.
    fn of_value(
        types: &Types,
        field: &TypeField,
        kind: &FieldKind,
        node: usize,
        depth: usize,
    ) -> Option<Self> {
        if depth > MOST_DEPTH {
            return None;
        }
        let number = |bits: u32| match field.facts.time {
            Some(Time::Span(unit)) => Shape::Timespan(unit),
            Some(Time::Stamp(epoch)) => Shape::Time(epoch),
            None => {
                Shape::Number { mask: field.facts.is_unsigned.then(|| u64::MAX >> (64 - bits)) }
            }
        };
        let shape = match field.kind {
            ValueKind::Boolean => Shape::Flag,
            ValueKind::Byte => number(8),
            ValueKind::Short => number(16),
            ValueKind::Int => number(32),
            ValueKind::Long => number(64),
            ValueKind::Char => Shape::Char,
            ValueKind::Float | ValueKind::Double => Shape::Decimal,
            ValueKind::String => Shape::Text,
            ValueKind::Unknown => return None,
            ValueKind::Struct(place) => match struct_value(types.get(place)) {
                Struct::Class => Shape::Class,
                Struct::Stack => Shape::Stack,
                Struct::Simple(only) => {
                    let take = Self::of_value(types, only, kind, node, depth + 1)?;
                    return Some(Self {
                        node,
                        shape: Shape::Simple(Box::new(take)),
                        form: Form::Own,
                    });
                }
                Struct::Other => {
                    let FieldKind::Struct(wanted) = kind else { return None };
                    let plan = Plan::at_depth(types, place, wanted, node + 1, depth + 1);
                    return Some(Self { node, shape: Shape::Struct(plan), form: Form::Own });
                }
            },
        };
        let form = match (shape.kind()?, kind) {
            (own, kind) if own == *kind => Form::Own,
            (FieldKind::Number, FieldKind::Decimal) => Form::Decimal,
            (_, FieldKind::Text) => Form::Text,
            _ => return None,
        };
        Some(Self { node, shape, form })
    }
}
