//! HEAP DUMP: the program's own classes, the values of their static fields, and the numbers of
//! their instances.

use std::collections::BTreeMap;

use perk_testkit::hprof::{Contents, Heap, Object, Recording, Value};

use super::stacks::{self, Detail};
use crate::case::Case;
use crate::differences::Findings;

/// The limit of references that are followed.
const DEPTH: usize = 4;
/// The kinds of roots that every JVM has.
const USUAL_ROOTS: [&str; 4] = ["thread", "thread block", "JNI global ref", "system class"];

/// Compares two heap dumps.
pub(super) fn compare(
    case: &Case,
    (perk, perk_heap): (&Recording, &Heap),
    (original, original_heap): (&Recording, &Heap),
    found: &mut Findings<'_>,
) {
    for kind in USUAL_ROOTS {
        let has = |heap: &Heap| heap.roots.iter().any(|root| root.kind == kind);
        if kind == "thread block" && !has(perk_heap) && has(original_heap) {
            found.differs("dump-thread-block", || format!("no root of kind {kind}"));
        } else if has(original_heap) && !has(perk_heap) {
            found.fault(format!("no root of kind {kind}"));
        }
    }
    if let Some((count, bytes)) = perk_heap.stated {
        found.equal("objects stated", count, perk_heap.objects.len() as u64);
        let sum: u64 = perk_heap.objects.values().filter_map(|object| object.bytes).sum();
        if sum > bytes {
            found.fault(format!("objects of {sum} bytes, {bytes} are stated"));
        }
    }
    let loose = loose_references(perk_heap);
    if !loose.is_empty() {
        found.differs("dump-unlinked", || format!("references to nothing: {loose:x?}"));
    }
    if array_bytes_whole(perk_heap) && !array_bytes_whole(original_heap) {
        found.differs("dump-size", || "sizes of arrays".to_owned());
    }
    let classes = [perk_heap, original_heap].map(|heap| {
        let own = heap.classes.values().filter(|class| case.is_own(&class.name));
        let own = own.filter(|class| !class.name.contains("$$Lambda"));
        let own = own.filter(|class| !class.name.ends_with("[]"));
        own.map(|class| {
            // The JVM's own dumper has some more fields, whose names no Java field can have.
            let fields = class.statics.iter().filter(|(name, _)| !name.starts_with('<'));
            let statics = fields
                .map(|(name, value)| format!("{name}={}", describe(case, heap, *value, DEPTH)));
            let is_there = class.links.map(|link| link != 0);
            (class.name.clone(), (is_there, statics.collect::<Vec<_>>()))
        })
        .collect::<BTreeMap<_, _>>()
    });
    let [mine, theirs] = &classes;
    found.equal("classes", mine.keys().collect::<Vec<_>>(), theirs.keys().collect());
    for (name, (links, statics)) in theirs {
        let Some((my_links, my_statics)) = mine.get(name) else { continue };
        if my_links[1..] == links[1..] && my_links[0] {
            if !links[0] {
                found.differs("dump-interfaces", || name.clone());
            }
        } else {
            found.equal(&format!("links of {name}"), my_links, links);
        }
        if my_statics != statics && sorted(my_statics) == sorted(statics) {
            found.differs("dump-field-order", || format!("static fields of {name}"));
        } else {
            found.equal(&format!("static fields of {name}"), my_statics, statics);
        }
    }
    let mut statics = perk_heap.classes.values().flat_map(|class| &class.statics);
    if statics.any(|(name, _)| name.starts_with('<')) {
        found.differs("dump-constants", || "fields that are none".to_owned());
    }
    if has_trailing_nulls(perk_heap) && !has_trailing_nulls(original_heap) {
        found.differs("dump-nulls", || "arrays that end in null".to_owned());
    }
    let with_arrays = case.options().is_some_and(|options| options.prim_arrays);
    if with_arrays && has_garbage(perk_heap) {
        found.fault("arrays without their elements".to_owned());
    } else if with_arrays && has_garbage(original_heap) {
        found.differs("dump-unreachable", || "dead arrays".to_owned());
    }
    if !case.is_timed() {
        instances(case, (perk, perk_heap), (original, original_heap), found);
    }
}

fn sorted(fields: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = fields.iter().collect();
    sorted.sort();
    sorted
}

/// Returns the instances of the program's own classes, by their allocation stacks.
fn instances(
    case: &Case,
    (perk, perk_heap): (&Recording, &Heap),
    (original, original_heap): (&Recording, &Heap),
    found: &mut Findings<'_>,
) {
    let count = |recording: &Recording, heap: &Heap, by_stack: bool| {
        let own = heap.objects.values().filter(|object| case.is_own(&object.class));
        let rows = own.map(|object| {
            let class = stacks::class_name(&object.class);
            let stack = stacks::own(case, recording, object.trace, Detail::Lines);
            (if by_stack { format!("{class} at {stack}") } else { class }, [1])
        });
        stacks::sums(rows.collect::<Vec<_>>().into_iter())
    };
    let (mine, theirs) = (count(perk, perk_heap, false), count(original, original_heap, false));
    if theirs.iter().any(|(class, count)| mine.get(class).is_none_or(|mine| mine < count)) {
        found.differs("dump-unreachable", || format!("instances: {mine:?}, {theirs:?}"));
    } else {
        found.equal("instances", mine, theirs);
    }
    let with_sites = case.options().is_some_and(|options| options.heap_sites);
    if !with_sites {
        return found.differs("dump-trace", || "no traces of objects without sites".to_owned());
    }
    let (mine, theirs) = (count(perk, perk_heap, true), count(original, original_heap, true));
    for (key, count) in &theirs {
        let is_less = mine.get(key).is_none_or(|mine| mine < count);
        // Objects that the original first met in a dump do not have a stack.
        if is_less && !key.ends_with(" at ") {
            found.differs("dump-unreachable", || format!("{key}: {:?}, {count:?}", mine.get(key)));
        }
    }
}

/// Whether the sizes of arrays of primitives are those of whole objects.
fn array_bytes_whole(heap: &Heap) -> bool {
    heap.objects.values().any(|object| match object.contents {
        Contents::Primitives(length, _) if length > 0 => {
            object.bytes.is_some_and(|bytes| bytes > 8 * u64::from(length))
        }
        _ => false,
    })
}

/// Whether there are arrays with a size and no elements: the remains of dead ones.
fn has_garbage(heap: &Heap) -> bool {
    heap.objects.values().any(|object| match object.contents {
        Contents::Primitives(0, _) => object.bytes.is_some_and(|bytes| bytes > 16),
        _ => false,
    })
}

/// Returns the references from objects and classes to objects that the dump does not have.
fn loose_references(heap: &Heap) -> Vec<u64> {
    let is_there =
        |id: &u64| *id == 0 || heap.objects.contains_key(id) || heap.classes.contains_key(id);
    let values = |values: &[(String, Value)]| -> Vec<u64> {
        let references = values.iter().filter_map(|(_, value)| match value {
            Value::Reference(id) => Some(*id),
            Value::Bits(_) => None,
        });
        references.collect()
    };
    let objects = heap.objects.values().flat_map(|object| match &object.contents {
        Contents::Fields(fields) => values(fields),
        Contents::References(_, elements) => elements.iter().map(|(_, id)| *id).collect(),
        Contents::Primitives(..) => Vec::new(),
    });
    let statics = heap.classes.values().flat_map(|class| values(&class.statics));
    let mut loose: Vec<u64> = objects.chain(statics).filter(|id| !is_there(id)).collect();
    loose.truncate(10);
    loose
}

/// Whether some array of references has a null at its end.
fn has_trailing_nulls(heap: &Heap) -> bool {
    heap.objects.values().any(|object| match &object.contents {
        Contents::References(length, elements) => trimmed(elements) < *length,
        _ => false,
    })
}

/// Returns the length of an array without the nulls at its end, as the original has it.
fn trimmed(elements: &[(u32, u64)]) -> u32 {
    elements.iter().map(|(index, _)| index + 1).max().unwrap_or(0)
}

/// Describes a value, and the objects that it refers to if they are the program's own.
fn describe(case: &Case, heap: &Heap, value: Value, depth: usize) -> String {
    let id = match value {
        Value::Bits(bits) => return format!("{bits:#x}"),
        Value::Reference(0) => return "null".to_owned(),
        Value::Reference(id) => id,
    };
    if let Some(class) = heap.classes.get(&id) {
        return format!("class {}", class.name);
    }
    let Some(object) = heap.objects.get(&id) else { return "nothing".to_owned() };
    let inner = |value: Value| describe(case, heap, value, depth - 1);
    let contents = match &object.contents {
        _ if depth == 0 => return object.class.clone(),
        Contents::Fields(fields) if case.is_own(&object.class) => {
            let mut fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={}", inner(*value))).collect();
            // Text begins with the superclass's fields, binary ends with them.
            fields.sort();
            fields.join(", ")
        }
        Contents::Fields(_) => return object.class.clone(),
        Contents::References(_, elements) => {
            let elements = elements
                .iter()
                .map(|(index, id)| format!("{index}: {}", inner(Value::Reference(*id))));
            format!("{}; {}", trimmed(elements_of(object)), elements.collect::<Vec<_>>().join(", "))
        }
        Contents::Primitives(length, bytes) => format!("{length}; {bytes:?}"),
    };
    format!("{} {{{contents}}}", object.class)
}

fn elements_of(object: &Object) -> &[(u32, u64)] {
    match &object.contents {
        Contents::References(_, elements) => elements,
        _ => &[],
    }
}
