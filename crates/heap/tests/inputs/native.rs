//! Dumps of GraalVM's native images, made from the description of their writer: classes are objects
//! with instances of their own, and CLASS DUMP has their addresses plus one; it has the size of
//! instances in the heap; what the image was built with is held by global JNI references.

use perk_heap::{Heap, Holder, Label, NoWatch, Options, Reach, RootKind, Value};
use perk_hprof::heap::FieldType;

use crate::dump::{self, ClassRecord, Dump, RootRecord};

/// Class objects ("hubs") have fields, and a table behind them that the file does not give.
const HUB_FIELD_BYTES: u64 = 24;
const HUB_BYTES: u64 = 64;

/// The layout of objects: references of `reference_bytes`, and arrays that begin with `array_bytes`.
#[derive(Clone, Copy)]
struct Layout {
    header_bytes: u64,
    array_bytes: u64,
    reference_bytes: u64,
}

impl Layout {
    fn string_bytes(self) -> u64 {
        // A reference, an `int` and a `byte`.
        (self.header_bytes + self.reference_bytes + 5).next_multiple_of(8)
    }

    fn node_bytes(self) -> u64 {
        (self.header_bytes + self.reference_bytes + 4).next_multiple_of(8)
    }

    fn bytes_bytes(self, length: u64) -> u64 {
        (self.array_bytes + length).next_multiple_of(8)
    }

    fn references_bytes(self, length: u64) -> u64 {
        let first = self.array_bytes.next_multiple_of(self.reference_bytes);
        (first + length * self.reference_bytes).next_multiple_of(8)
    }
}

/// A dump, and the address after its last object.
struct Image {
    dump: Dump,
    next: u64,
}

impl Image {
    /// Returns the address of an object of this size, which follows the one before.
    fn place(&mut self, bytes: u64) -> u64 {
        let address = self.next;
        self.next += bytes;
        address
    }
}

/// The addresses of a made dump.
struct NativeImage {
    bytes: Vec<u8>,
    hubs: Vec<u64>,
    nodes: Vec<u64>,
    array: u64,
    text: u64,
    garbage: u64,
    thread: u64,
    object_bytes: u64,
}

const NAMES: [&str; 6] = [
    "java.lang.Object",
    "java.lang.Class",
    "java.lang.String",
    "Node",
    "java.lang.Thread",
    "[LNode;",
];

/// Makes a dump of a program with a static list of five nodes, an array of two nodes in a local
/// variable, and a node that is garbage.
fn make(layout: Layout) -> NativeImage {
    let mut image = Image { dump: Dump::new(8), next: 0x7f00_0000_1000 };
    let first = image.next;
    let hubs: Vec<u64> = NAMES.iter().map(|_| image.place(HUB_BYTES)).collect();
    let class = |index: usize| hubs[index] + 1;
    for (index, name) in NAMES.iter().enumerate() {
        image.dump.load_class(class(index), name);
    }
    let text = image.place(layout.string_bytes());
    let text_value = image.place(layout.bytes_bytes(4));
    // The collected heap begins elsewhere.
    let image_end = image.next;
    image.next += 1 << 20;
    let second = image.next;
    let nodes: Vec<u64> = (0..5).map(|_| image.place(layout.node_bytes())).collect();
    let kept: Vec<u64> = (0..2).map(|_| image.place(layout.node_bytes())).collect();
    let array = image.place(layout.references_bytes(2));
    let garbage = image.place(layout.node_bytes());
    // An array of bytes with the next object right after its elements gives the size of the header.
    let more_length = 32 - layout.array_bytes;
    let more = image.place(32);
    let thread = image.place(layout.header_bytes.next_multiple_of(8));
    let object_bytes = image_end - first + (image.next - second);

    let Image { mut dump, .. } = image;
    dump.frame(1, 4, "main", 7);
    dump.trace(1, 0, &[]);
    dump.trace(2, 1, &[1]);
    let fields = |list: &[(&str, FieldType)]| {
        list.iter().map(|&(name, field)| (name.to_owned(), field)).collect::<Vec<_>>()
    };
    let sizes = [
        layout.header_bytes.next_multiple_of(8),
        HUB_FIELD_BYTES,
        layout.string_bytes(),
        layout.node_bytes(),
        layout.header_bytes.next_multiple_of(8),
        0,
    ];
    for (index, bytes) in sizes.into_iter().enumerate() {
        let record = ClassRecord {
            id: class(index),
            superclass: if index == 0 { 0 } else { class(0) },
            trace: 1,
            instance_bytes: Some(bytes as u32),
            ..ClassRecord::default()
        };
        dump.class(&match NAMES[index] {
            "java.lang.Class" => {
                ClassRecord { fields: fields(&[("name", FieldType::Object)]), ..record }
            }
            "java.lang.String" => ClassRecord {
                fields: fields(&[
                    ("value", FieldType::Object),
                    ("hash", FieldType::Int),
                    ("coder", FieldType::Byte),
                ]),
                ..record
            },
            "Node" => ClassRecord {
                statics: vec![("list".to_owned(), Value::Reference(nodes[0]))],
                fields: fields(&[("number", FieldType::Int), ("next", FieldType::Object)]),
                ..record
            },
            _ => record,
        });
    }
    dump.root(RootRecord::Thread { serial: 1, trace: 2 }, thread);
    dump.root(RootRecord::JavaFrame(1, 0), array);
    // A thread that is not started yet has no object.
    dump.root(RootRecord::Thread { serial: 2, trace: 1 }, 0);
    (0..NAMES.len()).for_each(|index| dump.root(RootRecord::StickyClass, class(index)));
    for &hub in &hubs {
        dump.instance(hub, 1, class(1), &[Value::Reference(if hub == hubs[3] { text } else { 0 })]);
        dump.root(RootRecord::JniGlobal, hub);
    }
    let values = [Value::Reference(text_value), Value::Int(0), Value::Byte(0)];
    dump.instance(text, 1, class(2), &values);
    dump.root(RootRecord::JniGlobal, text);
    dump.primitives(text_value, 1, FieldType::Byte, b"Node");
    dump.root(RootRecord::JniGlobal, text_value);
    let next = |list: &[u64], index: usize| {
        Value::Reference(list.get(index + 1).copied().unwrap_or_default())
    };
    for (index, &node) in nodes.iter().enumerate() {
        dump.instance(node, 1, class(3), &[Value::Int(index as i32), next(&nodes, index)]);
    }
    for &node in &kept {
        dump.instance(node, 1, class(3), &[Value::Int(9), Value::Reference(0)]);
    }
    dump.objects(array, 1, class(5), &kept);
    dump.instance(garbage, 1, class(3), &[Value::Int(9), Value::Reference(more)]);
    dump.primitives(more, 1, FieldType::Byte, &vec![b' '; more_length as usize]);
    dump.instance(thread, 1, class(4), &[]);
    NativeImage { bytes: dump.finish(), hubs, nodes, array, text, garbage, thread, object_bytes }
}

#[test]
fn dumps_of_native_images_have_their_sizes_and_holders() {
    let layouts = [
        // With and without the identity hash in the header.
        Layout { header_bytes: 8, array_bytes: 12, reference_bytes: 8 },
        Layout { header_bytes: 16, array_bytes: 16, reference_bytes: 8 },
        // With compressed references.
        Layout { header_bytes: 12, array_bytes: 16, reference_bytes: 4 },
        Layout { header_bytes: 8, array_bytes: 12, reference_bytes: 4 },
    ];
    for layout in layouts {
        check(layout);
    }
}

fn check(layout: Layout) {
    let made = make(layout);
    let (_folder, path) = dump::file(&made.bytes);
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let object = |address: u64| heap.find(address).unwrap();
    let sizes = |address: u64| {
        let object = object(address);
        (heap.shallow_bytes(object), heap.retained_bytes(object))
    };
    let node_bytes = layout.node_bytes();
    for (index, &node) in made.nodes.iter().enumerate() {
        assert_eq!(sizes(node), (node_bytes, (5 - index as u64) * node_bytes));
    }
    let array_bytes = layout.references_bytes(2);
    assert_eq!(sizes(made.array), (array_bytes, array_bytes + 2 * node_bytes));
    assert_eq!(heap.holder(object(made.array)), Holder::Object(object(made.thread)));
    assert_eq!(sizes(made.text), (layout.string_bytes(), layout.string_bytes()));
    let meaning = heap.meaning(object(made.text), Default::default()).unwrap().unwrap();
    assert_eq!(meaning.text(), "\"Node\"");

    // The class holds its static field, and has no size of its own: its object is another one.
    let node = heap.classes_named("Node")[0];
    let class = heap.class(node).object.unwrap();
    assert_eq!(heap.address(class), made.hubs[3] + 1);
    assert_eq!((heap.shallow_bytes(class), heap.retained_bytes(class)), (0, 5 * node_bytes));
    assert_eq!(heap.holder(object(made.nodes[0])), Holder::Object(class));
    let edges = heap.referrers(&[object(made.nodes[0])]).unwrap();
    assert_eq!(edges[0].label, Label::Static("list".to_owned()));
    let hub = object(made.hubs[3]);
    assert_eq!(heap.as_class(hub), None);
    assert_eq!(heap.class(heap.class_of(hub)).name, "java.lang.Class");
    assert_eq!(sizes(made.hubs[3]).0, HUB_FIELD_BYTES);
    assert_eq!(heap.root_kind(hub), Some(RootKind::JniGlobal));
    assert_eq!(heap.root_kind(class), Some(RootKind::StickyClass));

    let garbage = object(made.garbage);
    assert_eq!((heap.reach(garbage), heap.retained_bytes(garbage)), (Reach::Unreachable, 0));
    let totals = heap.totals();
    let unreachable_bytes = node_bytes + 32;
    assert_eq!((totals.unreachable.count, totals.unreachable.bytes), (2, unreachable_bytes));
    // All but the tables behind the fields of classes.
    let tables_bytes = NAMES.len() as u64 * (HUB_BYTES - HUB_FIELD_BYTES);
    assert_eq!(totals.reachable.bytes + unreachable_bytes, made.object_bytes - tables_bytes);
    let thread = &heap.threads()[0];
    assert_eq!(heap.trace(thread.trace).unwrap().frames[0].method, "main");
    assert_eq!(heap.notes(), &[] as &[String]);
}
