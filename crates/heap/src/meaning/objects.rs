//! Objects with a few fields that matter: threads, exceptions, references, buffers.

use crate::{Class, Heap, Item, Meaning, ObjectId, Value};

use super::model::Limits;
use super::reader::{Instance, MeaningReader, above};
use super::values;

/// A field around the value that matters.
pub(super) fn wrapper(it: &Instance<'_, '_>, field: &str) -> Option<Meaning> {
    let item = it.item(field)?;
    Some(Meaning::Facts { brief: item.text.clone(), facts: vec![("value", item)] })
}

/// An `Optional`.
pub(super) fn optional(it: &Instance<'_, '_>) -> Option<Meaning> {
    match it.address("value")? {
        0 => Some(Meaning::Plain("empty".to_owned())),
        _ => wrapper(it, "value"),
    }
}

/// An entry of a map.
pub(super) fn entry(it: &Instance<'_, '_>, value: &str) -> Option<Meaning> {
    let (key, value) = (it.item("key")?, it.item(value)?);
    let brief = format!("{} = {}", key.text, value.text);
    Some(Meaning::Facts { brief, facts: vec![("key", key), ("value", value)] })
}

/// A `java.lang.ref.Reference`.
pub(super) fn reference(it: &Instance<'_, '_>) -> Option<Meaning> {
    let mut referent = it.item("referent")?;
    if it.address("referent")? == 0 {
        referent.text = "cleared".to_owned();
    }
    let brief = format!("{} to {}", simple_name(it), referent.text);
    Some(Meaning::Facts { brief, facts: vec![("referent", referent)] })
}

/// A `Throwable`.
pub(super) fn throwable(it: &Instance<'_, '_>) -> Option<Meaning> {
    let mut facts = Vec::new();
    let mut brief = simple_name(it).to_owned();
    if it.address("detailMessage")? != 0 {
        let message = it.item("detailMessage")?;
        brief += &format!(": {}", message.text);
        facts.push(("message", message));
    }
    // One without a cause has itself.
    let cause = it.address("cause").filter(|&it| it != 0);
    if cause.is_some_and(|cause| cause != it.reader.heap.address(it.id)) {
        facts.extend(it.item("cause").map(|cause| ("cause", cause)));
    }
    Some(match facts.is_empty() {
        true => Meaning::Plain("without message and cause".to_owned()),
        false => Meaning::Facts { brief, facts },
    })
}

/// A `java.nio.Buffer`.
pub(super) fn buffer(it: &Instance<'_, '_>) -> Option<Meaning> {
    let capacity = it.int("capacity")?;
    let name = simple_name(it);
    let is_direct = name.starts_with("Direct") || name.starts_with("Mapped");
    let brief = format!("{name} of {capacity}");
    let mut facts = vec![("capacity", Item::plain(capacity.to_string()))];
    for field in ["position", "limit"] {
        facts.extend(it.item(field).map(|item| (field, item)));
    }
    if is_direct {
        facts.push(("address", Item::plain(format!("0x{:x}", it.int("address")?))));
        let viewed = it.address("att").filter(|&it| it != 0);
        facts.extend(viewed.map(|viewed| ("view of", it.reader.item(Value::Reference(viewed)))));
    }
    Some(Meaning::Facts { brief, facts })
}

/// A class loader. Those before JDK 9 have no names.
pub(super) fn class_loader(it: &Instance<'_, '_>) -> Option<Meaning> {
    Some(Meaning::Plain(format!("{:?}", it.text("name")?)))
}

/// A method or a field: `java.lang.String.length`.
pub(super) fn member(it: &Instance<'_, '_>) -> Option<Meaning> {
    let heap = it.reader.heap;
    let class = heap.class_at(it.address("clazz")?)?;
    Some(Meaning::Plain(format!("{}.{}", heap.class(class).name, it.text("name")?)))
}

/// A `StackTraceElement`.
pub(super) fn frame(it: &Instance<'_, '_>) -> Option<Meaning> {
    let mut text = format!("{}.{}", it.text("declaringClass")?, it.text("methodName")?);
    match (it.text("fileName"), it.int("lineNumber")?) {
        (_, -2) => text += " (native)",
        (Some(file), line @ 0..) => text += &format!(" ({file}:{line})"),
        (Some(file), _) => text += &format!(" ({file})"),
        (None, _) => {}
    }
    Some(Meaning::Plain(text))
}

/// A `Thread`.
pub(super) fn thread(it: &Instance<'_, '_>) -> Option<Meaning> {
    let facts = ThreadFacts::of(it)?;
    let mut shown = vec![("name", Item::plain(format!("{:?}", facts.name)))];
    shown.extend(facts.state.map(|state| ("state", Item::plain(state))));
    let kind = match (facts.is_virtual, facts.is_daemon) {
        (true, _) => Some("virtual"),
        (false, true) => Some("daemon"),
        (false, false) => None,
    };
    shown.extend(kind.map(|kind| ("kind", Item::plain(kind))));
    let brief = format!("{} {:?}", simple_name(it), facts.name);
    Some(Meaning::Facts { brief, facts: shown })
}

/// The facts that a `java.lang.Thread` has in the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// The name; empty for most virtual threads.
    pub name: String,
    /// The `Thread.State`, if it is known.
    pub state: Option<&'static str>,
    /// Whether it is a daemon.
    pub is_daemon: bool,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
}

impl Heap {
    /// Returns the facts that an object has as a `java.lang.Thread`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn thread_facts(&self, thread: ObjectId) -> Result<Option<ThreadFacts>, crate::Error> {
        let reader = MeaningReader::new(self, Limits::default());
        let facts = reader.instance(thread).and_then(|it| ThreadFacts::of(&it.known()?.0));
        reader.finish(facts)
    }
}

impl ThreadFacts {
    fn of(it: &Instance<'_, '_>) -> Option<Self> {
        let name = it.address("name")?;
        let name = match name {
            0 => String::new(),
            // It was an array of `char` once.
            _ => it.reader.text(name).or_else(|| it.reader.chars(name)).unwrap_or_default(),
        };
        let heap = it.reader.heap;
        let mut classes = above(heap, it.class).map(|above| heap.class(above));
        let class = classes.find(|above| {
            matches!(&*above.name, "java.lang.VirtualThread" | "java.lang.BaseVirtualThread")
        });
        let is_virtual = class.is_some();
        let state = match (class, it.int("state")) {
            (Some(class), Some(state)) => virtual_state(class, state),
            _ => platform_state(it),
        };
        // From JDK 19 on.
        let holder = it.object("holder");
        let is_daemon = holder.as_ref().map_or_else(|| it.flag("daemon"), |it| it.flag("daemon"));
        Some(Self { name, state, is_daemon: is_virtual || is_daemon == Some(true), is_virtual })
    }
}

/// The state from the bits that JVMTI has for it.
fn platform_state(it: &Instance<'_, '_>) -> Option<&'static str> {
    let holder = it.object("holder");
    let bits = holder.map_or_else(|| it.int("threadStatus"), |it| it.int("threadStatus"))?;
    Some(match bits {
        _ if bits & 0x4 != 0 => "RUNNABLE",
        _ if bits & 0x400 != 0 => "BLOCKED",
        _ if bits & 0x10 != 0 => "WAITING",
        _ if bits & 0x20 != 0 => "TIMED_WAITING",
        _ if bits & 0x2 != 0 => "TERMINATED",
        _ if bits & 0x1 == 0 => "NEW",
        _ => "RUNNABLE",
    })
}

/// The state by the names of `VirtualThread`'s constants: their numbers differ between JDKs.
fn virtual_state(class: &Class, state: i64) -> Option<&'static str> {
    let constant = |name: &str| {
        class.statics.iter().find(|it| it.name == name).and_then(|it| values::integer(it.value))
    };
    let state = state & !constant("SUSPENDED").unwrap_or(0);
    let states = [
        ("NEW", "NEW"),
        ("TERMINATED", "TERMINATED"),
        ("PARKED", "WAITING"),
        ("PINNED", "WAITING"),
        ("WAIT", "WAITING"),
        ("TIMED_PARKED", "TIMED_WAITING"),
        ("TIMED_PINNED", "TIMED_WAITING"),
        ("TIMED_WAIT", "TIMED_WAITING"),
        ("BLOCKED", "BLOCKED"),
    ];
    constant("NEW")?;
    let known = states.into_iter().find(|it| constant(it.0) == Some(state));
    Some(known.map_or("RUNNABLE", |it| it.1))
}

fn simple_name<'h>(it: &Instance<'_, 'h>) -> &'h str {
    let name = it.class_name();
    name.rsplit(['.', '$']).next().unwrap_or(name)
}
