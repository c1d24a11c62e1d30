//! Names of objects, places, roots and class loaders in text, CSV and JSON.

use std::collections::HashMap;

use perk_heap::{ClassIndex, Frame, Heap, Label, ObjectId, PathNode, Place, RootKind};
use perk_profile::units::plural;

/// `java.util.HashMap 0x7f2a5b1e8`, `java.lang.Thread 0x7f2a5b1e8 "main"`, `class com.acme.Main`.
pub(super) fn object(heap: &Heap, object: ObjectId) -> String {
    if heap.as_class(object).is_some() {
        return class(heap, object);
    }
    let is_thread = heap.roots_of(object).iter().any(|root| root.kind == RootKind::Thread);
    let facts = is_thread.then(|| heap.thread_facts(object).ok().flatten()).flatten();
    let name = match facts.map(|facts| facts.name) {
        Some(name) if !name.is_empty() => format!(" \"{name}\""),
        _ => String::new(),
    };
    format!("{} {}{name}", class(heap, object), address(heap, object))
}

/// The name of an object's class; of a class object, that of the class which it represents.
pub(super) fn class(heap: &Heap, object: ObjectId) -> String {
    match heap.as_class(object) {
        Some(class) => format!("class {}", heap.class(class).name),
        None => heap.class(heap.class_of(object)).name.clone(),
    }
}

/// The name of a class, or of the class objects of a class.
pub(super) fn class_or_its_object(
    heap: &Heap,
    class: ClassIndex,
    stands_for: Option<ClassIndex>,
) -> String {
    match stands_for {
        Some(class) => format!("class {}", heap.class(class).name),
        None => heap.class(class).name.clone(),
    }
}

/// `0x7f2a5b1e8`
pub(super) fn address(heap: &Heap, object: ObjectId) -> String {
    format!("0x{:x}", heap.address(object))
}

/// The place of a reference in the object `from`: `.table`, `static CACHE`, `[3]`, `local of Main.run
/// (Main.java:12)`.
pub(super) fn place(heap: &Heap, from: Option<ObjectId>, place: &Place) -> String {
    match place {
        Place::Element(Some(index)) => format!("[{index}]"),
        Place::Element(None) => "[]".to_owned(),
        Place::Local => "local variable".to_owned(),
        Place::Several => "over several other objects:".to_owned(),
        Place::Named(label) => match label {
            Label::Field(name) => format!(".{name}"),
            Label::Static(name) => format!("static {name}"),
            Label::Element(index) => format!("[{index}]"),
            Label::Class => "its class".to_owned(),
            Label::Superclass => "superclass".to_owned(),
            Label::Loader => "class loader".to_owned(),
            Label::Signers => "signers".to_owned(),
            Label::ProtectionDomain => "protection domain".to_owned(),
            Label::Constant(index) => format!("constant {index}"),
            Label::Local(None) => "native code".to_owned(),
            Label::Local(Some(index)) => match local_frame(heap, from, *index) {
                Some(frame) => format!("local of {}", self::frame(frame)),
                None => "local variable".to_owned(),
            },
        },
    }
}

/// The frame `index` of the thread that `object` is.
fn local_frame(heap: &Heap, object: Option<ObjectId>, index: u32) -> Option<&Frame> {
    let thread = heap.threads().iter().find(|thread| thread.object == object)?;
    heap.trace(thread.trace)?.frames.get(index as usize)
}

/// `Main.run (Main.java:12)`
pub(super) fn frame(frame: &Frame) -> String {
    let method = match &*frame.class {
        "" => frame.method.clone(),
        class => format!("{class}.{}", frame.method),
    };
    match (&*frame.source, frame.line) {
        (_, -3) => format!("{method} (native)"),
        ("", line) if line > 0 => format!("{method} (line {line})"),
        ("", _) => method,
        (source, line) if line > 0 => format!("{method} ({source}:{line})"),
        (source, _) => format!("{method} ({source})"),
    }
}

/// The nodes of a path as lines, the root first.
pub(super) fn path(heap: &Heap, path: &[PathNode]) -> Vec<String> {
    let above = [None].into_iter().chain(path.iter().map(|node| node.object));
    path.iter().zip(above).map(|(node, above)| step(heap, node, above)).collect()
}

/// A node of a path, below the object `above` if that is one.
pub(super) fn step(heap: &Heap, node: &PathNode, above: Option<ObjectId>) -> String {
    let what = match node.object {
        Some(object) => self::object(heap, object),
        None => class_or_its_object(heap, node.class, node.stands_for),
    };
    let place = match (&node.label, node.root) {
        (Some(place), _) => format!("{} ", self::place(heap, above, place)),
        (None, Some(kind)) => format!("{}: ", kind.name()),
        (None, None) => String::new(),
    };
    let levels = match node.level_count {
        1 => String::new(),
        count => format!(" (up to {} after each other)", plural(count, "object")),
    };
    format!("{place}{what}{levels}")
}

/// `soft references hold objects, weak, phantom and finalizer references do not`
pub(super) fn refs(refs: perk_heap::Refs) -> &'static str {
    match refs {
        perk_heap::Refs::Strong => "--refs strong: only strong references hold objects",
        perk_heap::Refs::Soft => "--refs soft: strong and soft references hold objects",
        perk_heap::Refs::All => "--refs all: references of all kinds hold objects",
    }
}

/// A class loader by its address: `boot loader`, or the object.
pub(super) fn loader(heap: &Heap, address: u64) -> String {
    match (address, heap.find(address)) {
        (0, _) => "boot loader".to_owned(),
        (_, Some(object)) => self::object(heap, object),
        (_, None) => format!("0x{address:x}"),
    }
}

/// The names of classes, distinguished by their loader where several have the same.
pub(super) fn class_names(heap: &Heap) -> Vec<String> {
    let mut uses: HashMap<&str, u32> = HashMap::new();
    for class in heap.classes() {
        *uses.entry(&class.name).or_default() += 1;
    }
    let name = |class: &perk_heap::Class| match uses[&*class.name] {
        1 => class.name.clone(),
        _ => format!("{} ({})", class.name, loader(heap, class.loader)),
    };
    heap.classes().iter().map(name).collect()
}

/// The kinds of the roots that an object is: `thread, Java stack`; empty where it is none.
pub(super) fn root_kinds(heap: &Heap, object: ObjectId) -> String {
    let mut kinds: Vec<_> = heap.roots_of(object).iter().map(|root| root.kind.name()).collect();
    kinds.dedup();
    kinds.join(", ")
}
