//! Dumps of all versions and writers, from their formats: no dump of Android's runtime and none of a
//! native image could be had.

use perk_heap::{Content, Heap, NoWatch, Options, Reach, RootKind, Value};
use perk_hprof::heap::FieldType;

use super::{NODE, OBJECT, begin, list};
use crate::dump::{self, ClassRecord, Dump, SEGMENT};

const COUNT: i32 = 20;

fn open(bytes: &[u8]) -> Heap {
    let (_folder, path) = dump::file(bytes);
    Heap::open(&path, &Options::default(), &mut NoWatch).unwrap()
}

/// Checks a dump of a list of nodes.
#[track_caller]
fn check_list(heap: &Heap, name: &str) {
    // With `java.lang.Object` and `Node`.
    assert_eq!(heap.object_count(), COUNT as u64 + 2, "{name}");
    let node = heap.classes_named("Node")[0];
    let node_bytes = heap.class(node).instance_bytes;
    assert_eq!(heap.class(node).instance_count, COUNT as u64, "{name}");
    for index in 0..COUNT as u64 {
        let object = heap.find(0x40 + index).unwrap();
        let left = COUNT as u64 - index;
        assert_eq!(heap.retained_bytes(object), left * node_bytes, "{name}");
        let number = heap.field(object, "number").unwrap().unwrap().value;
        assert_eq!(number, Value::Int(7 + index as i32), "{name}");
        let next = heap.field(object, "next").unwrap().unwrap().value;
        let expected = if left > 1 { 0x41 + index } else { 0 };
        assert_eq!(next, Value::Reference(expected), "{name}");
    }
}

#[test]
fn dumps_of_all_versions_and_id_sizes_are_read() {
    for title in
        ["JAVA PROFILE 1.0", "JAVA PROFILE 1.0.1", "JAVA PROFILE 1.0.2", "JAVA PROFILE 1.0.3"]
    {
        for id_bytes in 1..=8 {
            for has_segments in [true, false] {
                let mut dump = begin(title, id_bytes);
                dump.has_segments = has_segments;
                list(&mut dump, 7..7 + COUNT);
                let heap = open(&dump.finish());
                assert_eq!(heap.title(), title);
                check_list(&heap, &format!("{title}, ids of {id_bytes} bytes"));
                assert_eq!(heap.notes(), &[] as &[String]);
            }
        }
    }
}

fn u4(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn id(id: u64) -> [u8; 4] {
    u4(id as u32)
}

/// Objects that are roots of Android's own kinds: the address and the tag.
const OWN_ROOTS: [(u64, u8); 6] = [
    (0x2000, 0x89),
    (0x2010, 0x8A),
    (0x2020, 0x8B),
    (0x2030, 0x8C),
    (0x2040, 0x8D),
    (0x2050, 0x90),
];

/// A dump as Android's runtime writes it: heaps with names, roots of its own kinds, classes after
/// instances, and arrays without content.
fn android() -> Vec<u8> {
    const BYTES: u64 = 0x1000;
    let mut dump = Dump::with_title("JAVA PROFILE 1.0.3", 4);
    dump.load_class(OBJECT, "java.lang.Object");
    dump.load_class(NODE, "Node");
    let names = ["app", "image", "zygote"].map(|name| dump.name(name));
    let (number, next) = (dump.name("number"), dump.name("next"));
    let heap = |kind: u32, name: u64| [&[0xFE][..], &u4(kind), &id(name)].concat();
    let mut body = heap(0x41, names[0]);
    let node = |index: u64, next: u64| {
        let head = [&[0x21][..], &id(0x40 + index), &u4(1), &id(NODE), &u4(8)].concat();
        [head, u4(7 + index as u32).to_vec(), id(next).to_vec()].concat()
    };
    for index in 0..COUNT as u64 {
        if index == 10 {
            body.extend(heap(0x5A, names[2]));
        }
        body.extend(node(index, if index + 1 < COUNT as u64 { 0x41 + index } else { 0 }));
    }
    body.extend(heap(0x49, names[1]));
    // A byte array of 100 elements that are not in the file, and one whose elements are.
    body.extend([&[0xC3][..], &id(BYTES), &u4(1), &u4(100), &[8]].concat());
    body.extend([&[0x23][..], &id(BYTES + 8), &u4(1), &u4(3), &[8], b"abc"].concat());
    let class = |class: u64, above: u64, bytes: u32, fields: &[(u64, u8)]| {
        let mut body = [&[0x20][..], &id(class), &u4(1), &id(above)].concat();
        body.extend([0; 5 * 4]);
        body.extend(u4(bytes));
        body.extend([0, 0, 0, 0, 0, fields.len() as u8]);
        fields.iter().for_each(|&(name, kind)| body.extend([&id(name)[..], &[kind]].concat()));
        body
    };
    body.extend(class(OBJECT, 0, 8, &[]));
    body.extend(class(NODE, OBJECT, 16, &[(number, 10), (next, 2)]));
    // An object for each kind of root, and one that the runtime found unreachable.
    for (tag, object) in [(0x8A, 0x40), (0x89, BYTES + 8), (0x8A, BYTES + 8)] {
        body.extend([&[tag][..], &id(object)].concat());
    }
    for (object, tag) in OWN_ROOTS {
        body.extend([&[0x21][..], &id(object), &u4(1), &id(OBJECT), &u4(0)].concat());
        body.extend([&[tag][..], &id(object)].concat());
    }
    body.extend([&[0x8E][..], &id(BYTES), &u4(1), &u4(0)].concat());
    body.extend([&[0x05][..], &id(OBJECT), &[0x05], &id(NODE)].concat());
    dump.record(SEGMENT, &body);
    dump.finish()
}

#[test]
fn dumps_of_android_are_read() {
    let heap = open(&android());
    assert_eq!(heap.object_count(), COUNT as u64 + 4 + OWN_ROOTS.len() as u64);
    let node = heap.classes_named("Node")[0];
    // The file says so.
    assert_eq!(heap.class(node).instance_bytes, 16);
    let first = heap.find(0x40).unwrap();
    assert_eq!(heap.retained_bytes(first), 16 * COUNT as u64);
    assert_eq!(heap.field(first, "number").unwrap().unwrap().value, Value::Int(7));
    let bare = heap.find(0x1000).unwrap();
    assert_eq!((heap.length(bare).unwrap(), heap.reach(bare)), (100, Reach::Held));
    assert_eq!(heap.shallow_bytes(bare), 112);
    assert_eq!(heap.content(bare, 100).unwrap(), Content::Primitives(FieldType::Byte, vec![]));
    let full = heap.find(0x1008).unwrap();
    let content = Content::Primitives(FieldType::Byte, b"abc".to_vec());
    assert_eq!(heap.content(full, 100).unwrap(), content);
    let roots = heap.roots().iter().map(|root| (heap.address(root.object), root.kind));
    let expected = [
        (OBJECT, RootKind::StickyClass),
        (NODE, RootKind::StickyClass),
        (0x40, RootKind::Finalizing),
        (0x1000, RootKind::JniMonitor),
        (0x1008, RootKind::Finalizing),
        (0x1008, RootKind::InternedString),
        (0x2000, RootKind::InternedString),
        (0x2010, RootKind::Finalizing),
        (0x2020, RootKind::Debugger),
        (0x2030, RootKind::ReferenceCleanup),
        (0x2040, RootKind::VmInternal),
    ];
    assert_eq!(roots.collect::<Vec<_>>(), expected);
    // Of several kinds the most telling one counts.
    let kind = |address| heap.root_kind(heap.find(address).unwrap());
    assert_eq!(kind(0x1008), Some(RootKind::Finalizing));
    assert_eq!(kind(0x41), Some(RootKind::Finalizing));
    let unreachable = heap.find(0x2050).unwrap();
    assert_eq!((heap.reach(unreachable), kind(0x2050)), (Reach::Unreachable, None));
    assert_eq!(heap.totals().unreachable.count, 1);
    assert_eq!(heap.notes(), &[] as &[String]);
}

/// The original agent's ids are serial numbers.
#[test]
fn the_original_agent_s_text_is_a_heap() {
    let path = super::testdata(super::text::ARRAYS);
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let mut text = flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap());
    let profile = perk_hprof::ascii::read(&mut text).unwrap();
    let histogram = profile.heaps().next().unwrap();
    let mut counts = 0;
    for row in &histogram.rows {
        let name = profile.symbols.class_name(row.class);
        // Classes have other lines, and the text's sizes of arrays lack their heads.
        if name == "java.lang.Class" || name.ends_with(']') {
            continue;
        }
        let classes = heap.classes_named(name);
        let count: u64 = classes.iter().map(|&it| heap.class(it).instance_count).sum();
        let bytes: u64 = classes.iter().map(|&it| heap.class(it).shallow_bytes).sum();
        assert_eq!((count, bytes), (row.instance_count, row.shallow_bytes), "{name}");
        counts += count;
    }
    assert!(counts > 2000, "{counts}");
    let program = heap.classes_named("ArraysAll")[0];
    let class = heap.class(program).object.unwrap();
    assert!(heap.retained_bytes(class) > heap.shallow_bytes(class));
    let statics = heap.class(program).statics.len();
    let edges = heap.references(class).unwrap();
    let held = edges.iter().filter(|it| matches!(it.label, perk_heap::Label::Static(_))).count();
    assert!(statics > 10 && held == statics, "{held} of {statics}");
    let reachable = heap.totals().reachable;
    assert!(reachable.count > 3000 && heap.totals().dangling_count < 20, "{:?}", heap.totals());
}

#[test]
fn class_dumps_are_those_of_the_dump_that_is_chosen() {
    let mut dump = begin("JAVA PROFILE 1.0.2", 8);
    list(&mut dump, 7..7 + COUNT);
    dump.end_segment();
    dump.record(0x2C, &[]);
    // In the second dump nodes have no number.
    let fields = vec![("next".to_owned(), FieldType::Object)];
    dump.class(&ClassRecord { id: OBJECT, ..ClassRecord::default() });
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, fields, ..ClassRecord::default() });
    dump.instance(0x40, 1, NODE, &[Value::Reference(0)]);
    let (_folder, path) = dump::file(&dump.finish());
    let open = |dump_number| {
        let options = Options { dump_number, ..Options::default() };
        Heap::open(&path, &options, &mut NoWatch).unwrap()
    };
    check_list(&open(Some(1)), "the first");
    for heap in [open(Some(2)), open(None)] {
        assert_eq!(heap.object_count(), 3);
        assert_eq!(heap.field(heap.find(0x40).unwrap(), "number").unwrap(), None);
        assert!(heap.notes()[0].contains("--dump N"), "{:?}", heap.notes());
    }
}
