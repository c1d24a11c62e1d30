//! The events of a recording as they are, of any type: [`types`] has their fields, [`read`] the values of one type.

mod plan;
mod row;
mod schema;

use std::io::Read;
use std::ops::ControlFlow;
use std::rc::Rc;

use perk_profile::KeyedMap;

use self::plan::Plan;
use self::row::{Row, Stacks};
use super::cursor::Fault;
use super::source::{JfrChunk, Source};
use super::types::{LastTypes, Types};
use super::view::{Contents, Events, View};
use crate::{Error, memory};

pub use self::row::{EventSink, Value};
pub use self::schema::{EventField, EventType, EventTypes, FieldKind};
pub use super::annotations::Unit;

/// Returns the types of a recording's events, also of those that did not happen.
///
/// # Errors
/// As [`jfr::read`](super::read).
pub fn types(input: impl Read) -> Result<EventTypes, Error> {
    let mut found = EventTypes::default();
    let mut last: Option<Rc<Types>> = None;
    each_chunk(input, |chunk, _, view| {
        let mut counts: KeyedMap<i64, u64> = KeyedMap::default();
        for event in Events::new(chunk).filter(|it| !it.is_inner()) {
            *counts.entry(event.type_id).or_default() += 1;
        }
        let is_same = last.as_ref().is_some_and(|last| Rc::ptr_eq(last, &view.types));
        for (place, kind) in view.types.all().iter().enumerate() {
            let count = counts.get(&kind.id).copied();
            match count {
                Some(count) if is_same && kind.is_event => found.count(&kind.name, count),
                Some(count) => found.add(&view.types, place, count),
                None if is_same || !kind.is_event => {}
                None => found.add(&view.types, place, 0),
            }
        }
        last = Some(view.types);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Reads the events of a type, and gives the values of the wanted fields to `sink`. Returns the number of events that
/// are not as their type says, and are skipped.
///
/// # Errors
/// As [`jfr::read`](super::read).
pub fn read(
    input: impl Read,
    type_name: &str,
    wanted: &[EventField],
    sink: &mut dyn EventSink,
) -> Result<u64, Error> {
    let mut stacks = Stacks::default();
    let mut bad_count = 0;
    each_chunk(input, |chunk, contents, mut view| {
        let types = view.types.all().iter().enumerate().filter(|(_, it)| it.name == type_name);
        let plans: Vec<_> =
            types.map(|(place, it)| (it.id, Plan::new(&view.types, place, wanted, 0))).collect();
        let plan_of = |type_id| plans.iter().find(|&&(id, _)| id == type_id).map(|(_, plan)| plan);
        let mut events = Events::new(chunk)
            .take_while(|_| !memory::is_full(1))
            .filter_map(|event| Some((event, plan_of(event.type_id)?)))
            .peekable();
        // Constants take longer to find than most types take to read.
        if events.peek().is_some() && plans.iter().any(|(_, plan)| plan.needs_constants()) {
            view.read_constants(contents);
        }
        let mut row = Row::new(&view, &mut stacks, sink);
        for (event, plan) in events {
            match view.event(event) {
                Some(at) => row.event(plan, at)?,
                None => bad_count += 1,
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(bad_count)
}

/// Visits the chunks that can be read, until `visit` breaks. The view has no constants yet.
fn each_chunk(
    input: impl Read,
    mut visit: impl FnMut(&JfrChunk, &Contents, View<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut source = Source::new(input);
    let mut chunk = JfrChunk::default();
    let mut types = LastTypes::default();
    let (mut is_read, mut fault) = (false, None);
    while source.next(&mut chunk)? {
        let contents = Contents::of(&chunk);
        match View::without_constants(&chunk, &contents, &mut types) {
            Ok(Some(view)) => {
                is_read = true;
                if visit(&chunk, &contents, view).is_break() {
                    break;
                }
            }
            Ok(None) => {}
            Err(Fault { at, expected }) => fault = fault.or(Some(chunk.error(at, expected))),
        }
    }
    match fault {
        Some(fault) if !is_read => Err(fault),
        _ => Ok(()),
    }
}
