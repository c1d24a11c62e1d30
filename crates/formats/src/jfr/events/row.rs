//! The values of events, one after the other.

use std::borrow::Cow;
use std::ops::ControlFlow;

use perk_profile::{KeyedMap, NodeId, Profile, names};

use super::plan::{Form, Plan, Shape, Take};
use crate::jfr::annotations::Epoch;
use crate::jfr::stacks::{ChunkIds, Paths, StackAt, source_name};
use crate::jfr::view::{Slot, StructAt, View};

/// A value of an event.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// None: of a struct also none for its fields, of a list no element.
    Null,
    /// True or false.
    Flag(bool),
    /// A whole number. One without sign above 2^63 - 1 is 2^63 - 1.
    Number(i64),
    /// A number with decimals.
    Decimal(f64),
    /// A text.
    Text(&'a str),
    /// Nanoseconds since 1970.
    Time(i64),
    /// Nanoseconds.
    Timespan(i64),
    /// A stack in the tree of a profile that has stacks only. Its nodes stay what they are for the whole reading.
    Stack(&'a Profile, NodeId),
    /// A struct: the values of its fields follow.
    Struct,
    /// A list: this number of elements follows.
    List(usize),
}

/// Takes the values of events.
///
/// The nodes of the wanted fields are numbered in order: a field, then the fields of its struct or the elements of its
/// list, then the next field. An event has one value for each node, but none for those below a null, and as many for
/// those below a list as this has elements. Values of fields that a chunk does not have are null.
pub trait EventSink {
    /// Takes the value of a node.
    fn value(&mut self, node: usize, value: Value<'_>);

    /// Ends an event. `Break` ends the reading.
    fn end_event(&mut self) -> ControlFlow<()>;
}

/// The stacks of events, of all chunks.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    profile: Profile,
    paths: Paths,
}

/// The values of the events of a chunk.
pub(super) struct Row<'a> {
    view: &'a View<'a>,
    stacks: &'a mut Stacks,
    ids: ChunkIds,
    /// The names of classes, by the keys of the constants.
    classes: KeyedMap<i64, Option<String>>,
    sink: &'a mut dyn EventSink,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        view: &'a View<'a>,
        stacks: &'a mut Stacks,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        Self { view, stacks, ids: ChunkIds::default(), classes: KeyedMap::default(), sink }
    }

    /// Gives the values of an event to the sink.
    pub(super) fn event(&mut self, plan: &Plan, at: StructAt) -> ControlFlow<()> {
        self.fields(plan, at);
        self.sink.end_event()
    }

    fn fields(&mut self, plan: &Plan, at: StructAt) {
        let view = self.view;
        for (take, slot) in plan.takes.iter().zip(view.slots(at)) {
            if let Some(take) = take {
                self.take(take, slot);
            }
        }
        for &node in &plan.missing {
            self.sink.value(node, Value::Null);
        }
    }

    fn take(&mut self, take: &Take, slot: Slot<'_>) {
        let view = self.view;
        let number = || view.number_in(slot);
        let value = match &take.shape {
            Shape::Flag => number().map(|it| Value::Flag(it != 0)),
            Shape::Number { mask: None } => number().map(Value::Number),
            Shape::Number { mask: Some(mask) } => number()
                .map(|it| Value::Number(i64::try_from(it as u64 & mask).unwrap_or(i64::MAX))),
            Shape::Decimal => view.float_in(slot).map(Value::Decimal),
            Shape::Time(epoch) => number().and_then(|it| time(view, it, *epoch)).map(Value::Time),
            Shape::Timespan(unit) => {
                let of = |it: i64| {
                    let ns = view.span_ns(it.unsigned_abs(), *unit)?;
                    Some(i64::try_from(ns).unwrap_or(i64::MAX) * it.signum())
                };
                number().filter(|&it| it != i64::MIN).and_then(of).map(Value::Timespan)
            }
            Shape::Text => return self.text(take, view.text_in(slot).as_deref()),
            Shape::Char => {
                let letter = number().and_then(|it| char::from_u32(it.try_into().ok()?));
                return self.text(take, letter.map(String::from).as_deref());
            }
            Shape::Class => return self.class(take, slot),
            Shape::Stack => {
                let Stacks { profile, paths } = &mut *self.stacks;
                match self.ids.stack_in(view, profile, paths, slot) {
                    StackAt::Found(stack) => Some(Value::Stack(profile, stack.node)),
                    StackAt::None | StackAt::Lost => None,
                }
            }
            Shape::Simple(only) => {
                let part = view.part_in(slot);
                match part.and_then(|part| view.slots(part).next()) {
                    Some(slot) => return self.take(only, slot),
                    None => None,
                }
            }
            Shape::Struct(plan) => match view.part_in(slot) {
                Some(part) => {
                    self.sink.value(take.node, Value::Struct);
                    return self.fields(plan, part);
                }
                None => None,
            },
            Shape::List(element, each) => {
                let (count, items) = view.items(slot, element);
                self.sink.value(take.node, Value::List(count));
                items.for_each(|item| self.take(each, item));
                return;
            }
        };
        let value = value.unwrap_or(Value::Null);
        match (take.form, value) {
            (Form::Decimal, Value::Number(number)) => {
                self.sink.value(take.node, Value::Decimal(number as f64));
            }
            (Form::Text, value) => {
                let text: Option<Cow<'_, str>> = match value {
                    Value::Flag(flag) => Some(flag.to_string().into()),
                    Value::Number(number) | Value::Time(number) | Value::Timespan(number) => {
                        Some(number.to_string().into())
                    }
                    Value::Decimal(number) => Some(number.to_string().into()),
                    _ => None,
                };
                self.text(take, text.as_deref());
            }
            (_, value) => self.sink.value(take.node, value),
        }
    }

    fn text(&mut self, take: &Take, text: Option<&str>) {
        self.sink.value(take.node, text.map_or(Value::Null, Value::Text));
    }

    fn class(&mut self, take: &Take, slot: Slot<'_>) {
        let view = self.view;
        let find = || {
            let name = view.part_in(slot).and_then(|class| view.text(class, "name"))?;
            Some(names::stable(&source_name(&name)).into_owned())
        };
        let found;
        let name = match view.key_in(slot) {
            Some(key) => &*self.classes.entry(key).or_insert_with(find),
            None => {
                found = find();
                &found
            }
        };
        self.sink.value(take.node, name.as_deref().map_or(Value::Null, Value::Text));
    }
}

/// Returns a time in nanoseconds since 1970. The smallest number means none.
fn time(view: &View<'_>, number: i64, epoch: Epoch) -> Option<i64> {
    match epoch {
        _ if number == i64::MIN => None,
        Epoch::Ticks => view.ticks_ns(number).map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)),
        Epoch::Milliseconds => Some(number.saturating_mul(1_000_000)),
    }
}
