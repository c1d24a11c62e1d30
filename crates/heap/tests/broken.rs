//! Files that are cut off, broken, or odd. Nothing panics, and what is there is reported.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use perk_heap::{Content, Error, Heap, Holder, NoWatch, ObjectId, Options, Reach, Refs, Value};
use perk_hprof::heap::FieldType;

use crate::dump::{self, ClassRecord, Dump, HEAP_DUMP, RootRecord, SEGMENT};
use crate::graph::{Dice, Graph};

const OBJECT: u64 = 0x1000;
const NODE: u64 = 0x1080;
const ARRAY: u64 = 0x1100;
const FIRST: u64 = 0x2000;
const NODE_BYTES: u64 = 24;

/// Begins a dump with `java.lang.Object`, `Node` (a reference and an `int`) and `Object[]`.
fn begin(id_bytes: usize, has_segments: bool) -> Dump {
    let mut dump = Dump::new(id_bytes);
    dump.has_segments = has_segments;
    dump.load_class(OBJECT, "java/lang/Object");
    dump.load_class(NODE, "Node");
    dump.load_class(ARRAY, "[Ljava/lang/Object;");
    let fields = ["next", "number"].map(str::to_owned);
    for field in &fields {
        dump.name(field);
    }
    for class in [OBJECT, NODE, ARRAY] {
        dump.root(RootRecord::StickyClass, class);
    }
    dump.class(&ClassRecord { id: OBJECT, ..ClassRecord::default() });
    let [next, number] = fields;
    let fields = vec![(next, FieldType::Object), (number, FieldType::Int)];
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, fields, ..ClassRecord::default() });
    dump.class(&ClassRecord { id: ARRAY, superclass: OBJECT, ..ClassRecord::default() });
    dump
}

fn node(dump: &mut Dump, index: u64, next: u64) {
    let values = [Value::Reference(next), Value::Int(index as i32)];
    dump.instance(FIRST + index * NODE_BYTES, 1, NODE, &values);
}

/// Writes a list of nodes that a root holds, and an array of them all.
fn list(dump: &mut Dump, count: u64) {
    dump.root(RootRecord::JniGlobal, FIRST);
    for index in 0..count {
        let next = if index + 1 < count { FIRST + (index + 1) * NODE_BYTES } else { 0 };
        node(dump, index, next);
    }
    let elements: Vec<u64> = (0..count).map(|it| FIRST + it * NODE_BYTES).collect();
    dump.objects(FIRST + count * NODE_BYTES, 1, ARRAY, &elements);
}

fn open(bytes: &[u8]) -> Result<Heap, Error> {
    open_with(bytes, &Options::default())
}

/// Opens a file and asks for everything.
fn open_with(bytes: &[u8], options: &Options) -> Result<Heap, Error> {
    let (_folder, path) = dump::file(bytes);
    let heap = Heap::open(&path, options, &mut NoWatch)?;
    ask(&heap);
    Ok(heap)
}

/// Calls all queries of a heap, and checks that the sums agree.
fn ask(heap: &Heap) {
    let objects: Vec<ObjectId> = heap.objects().collect();
    assert_eq!(objects.len() as u64, heap.object_count());
    let mut held_bytes = 0;
    for &object in &objects {
        assert_eq!(heap.find(heap.address(object)), Some(object));
        let class = heap.class(heap.class_of(object));
        assert!(heap.is_subclass(heap.class_of(object), heap.class_of(object)), "{class:?}");
        let retained = heap.retained_bytes(object);
        match heap.holder(object) {
            Holder::Roots => held_bytes += retained,
            Holder::Object(holder) => {
                assert!(heap.retained_bytes(holder) >= retained + heap.shallow_bytes(holder));
            }
            Holder::Nothing => {
                assert_eq!(retained, 0);
                assert_ne!(heap.reach(object), Reach::Held);
            }
        }
        for edge in heap.references(object).unwrap() {
            assert!(edge.to.0 < objects.len() as u32);
        }
        if let Content::Instance(values) = heap.content(object, 100).unwrap() {
            for value in values {
                assert!(value.index < heap.class(value.class).fields.len());
            }
        }
        heap.length(object).unwrap();
        heap.allocation_trace(object).unwrap();
        heap.field(object, "next").unwrap();
    }
    let totals = heap.totals();
    assert_eq!(held_bytes, totals.reachable.bytes);
    let amounts = [totals.reachable, totals.softly, totals.weakly, totals.finalizable];
    let count: u64 = amounts.iter().map(|it| it.count).sum();
    assert_eq!(count + totals.unreachable.count, heap.object_count());
    let of_classes: u64 = heap.classes().iter().map(|it| it.instance_count).sum();
    assert_eq!(of_classes, heap.object_count());
    let all = heap.retained_by_all(&|_| true).unwrap();
    assert_eq!((all.count, all.bytes), (totals.reachable.count, totals.reachable.bytes));
    assert_eq!(heap.sets(1, &|_| Some(0))[0].least_bytes, totals.reachable.bytes);
    let paths = heap.shortest_paths().unwrap();
    objects.iter().for_each(|&object| assert!(paths.has(object) != paths.to(object).is_empty()));
    heap.referrers(&objects).unwrap();
    heap.each_trace(&mut |_, _| {}).unwrap();
    heap.held_by(None);
}

#[test]
fn what_is_before_a_cut_is_reported() {
    for has_segments in [false, true] {
        let mut dump = begin(8, has_segments);
        // The ends of objects in the file, those of classes first. In the file's head are 30 bytes.
        let mut ends = Vec::new();
        dump.root(RootRecord::JniGlobal, FIRST);
        let classes_end = dump.len();
        for index in 0..6 {
            node(&mut dump, index, FIRST + 8 * NODE_BYTES);
            ends.push(dump.len());
        }
        dump.objects(FIRST + 6 * NODE_BYTES, 1, ARRAY, &[FIRST, FIRST + 100 * NODE_BYTES]);
        ends.push(dump.len());
        dump.primitives(FIRST + 8 * NODE_BYTES, 1, FieldType::Int, &[0; 40]);
        ends.push(dump.len());
        let bytes = dump.finish();
        for length in 0..bytes.len() {
            let opened = open(&bytes[..length]);
            if length < classes_end {
                // An error, or what is there.
                if let Err(error) = opened {
                    assert!(error.to_string().len() > 10, "{length}: {error}");
                }
                continue;
            }
            let heap = opened.unwrap_or_else(|error| panic!("cut at {length}: {error}"));
            let whole = ends.iter().filter(|&&end| end <= length).count() as u64 + 3;
            let count = heap.object_count();
            assert!((whole..=whole + 1).contains(&count), "{count} for {whole}, cut at {length}");
            // After the last object, only the end is missing.
            if length < *ends.last().unwrap() {
                assert!(!heap.notes().is_empty(), "cut at {length}");
                assert!(whole == 3 || heap.totals().dangling_count > 0, "cut at {length}");
            }
        }
    }
}

#[test]
fn cut_graphs_are_reported() {
    for seed in 0..40 {
        let bytes = Graph::random(seed, 10).write();
        let mut dice = Dice(seed);
        for _ in 0..40 {
            let options = Options {
                refs: [Refs::Strong, Refs::Soft, Refs::All][dice.below(3)],
                keep_unreachable: dice.chance(50),
                ..Options::default()
            };
            drop(open_with(&bytes[..dice.below(bytes.len())], &options));
        }
    }
}

#[test]
fn flipped_bytes_are_an_error_or_less() {
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let mut bytes = Graph::random(seed / 10, 12).write();
        for _ in 0..1 + dice.below(5) {
            let at = dice.below(bytes.len());
            bytes[at] = [0, 0xFF, 0x7F, 0x80, 1, bytes[at] ^ 1 << dice.below(8)][dice.below(6)];
        }
        let keep_unreachable = dice.chance(50);
        if let Err(error) = open_with(&bytes, &Options { keep_unreachable, ..Options::default() }) {
            assert!(error.to_string().len() > 10, "{seed}: {error}");
        }
    }
}

#[test]
fn wrong_sizes_of_ids_are_an_error() {
    for id_bytes in [0_u32, 9, 16, u32::MAX] {
        let mut bytes = begin(8, true).finish();
        bytes[19..23].copy_from_slice(&id_bytes.to_be_bytes());
        let error = open(&bytes).unwrap_err().to_string();
        assert!(error.contains("ids of"), "{error}");
    }
    // The names and classes make no sense then.
    for id_bytes in [1_u32, 2, 4, 5] {
        let mut dump = begin(8, true);
        list(&mut dump, 5);
        let mut bytes = dump.finish();
        bytes[19..23].copy_from_slice(&id_bytes.to_be_bytes());
        drop(open(&bytes));
    }
}

#[test]
fn wrong_lengths_of_records_are_noted() {
    let mut dump = begin(8, true);
    list(&mut dump, 5);
    let whole = dump.finish();
    let begin = begin_of(SEGMENT, &whole);
    // The record that ends the dump has 9 bytes.
    let length = (whole.len() - 9 - begin) as u32;
    for wrong in [0, 1, length - 1, length + 1, length + 9, u32::MAX] {
        let mut bytes = whole.clone();
        bytes[begin - 4..begin].copy_from_slice(&wrong.to_be_bytes());
        match open(&bytes) {
            Ok(heap) => assert!(!heap.notes().is_empty() || heap.object_count() == 9, "{wrong}"),
            Err(error) => assert!(error.to_string().len() > 10, "{wrong}: {error}"),
        }
    }
}

/// Returns the offset of the first sub-record, in the first record with the tag.
fn begin_of(tag: u8, bytes: &[u8]) -> usize {
    let mut at = 19 + 12;
    while bytes[at] != tag {
        at += 9 + u32::from_be_bytes(bytes[at + 5..at + 9].try_into().unwrap()) as usize;
    }
    at + 9
}

#[test]
fn objects_of_unknown_classes_are_there() {
    let mut dump = begin(8, true);
    list(&mut dump, 3);
    dump.instance(0x9000, 1, 0x7777, &[Value::Reference(FIRST), Value::Int(1)]);
    dump.objects(0x9100, 1, 0x7778, &[0x9000, FIRST]);
    dump.root(RootRecord::Unknown, 0x9100);
    let heap = open(&dump.finish()).unwrap();
    assert_eq!(heap.object_count(), 3 + 4 + 2);
    let (object, array) = (heap.find(0x9000).unwrap(), heap.find(0x9100).unwrap());
    assert_eq!(heap.holder(object), Holder::Object(array));
    assert!(!heap.class(heap.class_of(object)).name.is_empty());
    assert_ne!(heap.class_of(object), heap.class_of(array));
}

#[test]
fn instances_shorter_and_longer_than_their_class() {
    let mut dump = begin(8, true);
    list(&mut dump, 3);
    dump.instance(0x9000, 1, NODE, &[]);
    dump.instance(0x9020, 1, NODE, &[Value::Int(7)]);
    let long = [Value::Reference(0x9000), Value::Int(1), Value::Reference(0x9020)];
    dump.instance(0x9040, 1, NODE, &long);
    dump.root(RootRecord::Unknown, 0x9040);
    let heap = open(&dump.finish()).unwrap();
    assert_eq!(heap.object_count(), 3 + 4 + 3);
    let long = heap.find(0x9040).unwrap();
    assert_eq!(heap.holder(heap.find(0x9000).unwrap()), Holder::Object(long));
    assert_eq!(heap.reach(heap.find(0x9020).unwrap()), Reach::Unreachable);
    let bytes = heap.shallow_bytes(long);
    assert!(
        heap.objects()
            .filter(|it| heap.class_of(*it) == heap.class_of(long))
            .all(|it| { heap.shallow_bytes(it) == bytes })
    );
}

#[test]
fn classes_above_each_other() {
    for (first, second) in [(0x3080, 0x3000), (0x3000, 0x3000), (0x3080, 0x3080)] {
        let mut dump = begin(8, true);
        let fields = vec![("next".to_owned(), FieldType::Object)];
        for (id, superclass) in [(0x3000, first), (0x3080, second)] {
            dump.load_class(id, "Circle");
            let fields = fields.clone();
            dump.class(&ClassRecord { id, superclass, fields, ..ClassRecord::default() });
        }
        dump.instance(0x9000, 1, 0x3000, &[Value::Reference(0x9040), Value::Reference(0)]);
        dump.instance(0x9040, 1, 0x3080, &[Value::Reference(0)]);
        dump.root(RootRecord::Unknown, 0x9000);
        let heap = open(&dump.finish()).unwrap();
        assert_eq!(heap.object_count(), 3 + 4);
        let held = heap.find(0x9040).unwrap();
        assert_eq!(heap.holder(held), Holder::Object(heap.find(0x9000).unwrap()));
    }
}

#[test]
fn a_deep_hierarchy_of_classes() {
    const DEPTH: u64 = 5000;
    let mut dump = begin(8, true);
    let class = |number: u64| 0x10_0000 + number * 128;
    for number in 0..DEPTH {
        dump.load_class(class(number), "Deep");
        let superclass = if number == 0 { OBJECT } else { class(number - 1) };
        let fields = vec![("next".to_owned(), FieldType::Byte)];
        let fields = if number % 1000 == 0 { fields } else { Vec::new() };
        dump.class(&ClassRecord {
            id: class(number),
            superclass,
            fields,
            ..ClassRecord::default()
        });
    }
    let values = [Value::Byte(1); DEPTH as usize / 1000];
    dump.instance(0x9000, 1, class(DEPTH - 1), &values);
    dump.root(RootRecord::Unknown, 0x9000);
    let (_folder, path) = dump::file(&dump.finish());
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let object = heap.find(0x9000).unwrap();
    assert_eq!(heap.reach(object), Reach::Held);
    let Content::Instance(found) = heap.content(object, 100).unwrap() else { panic!() };
    assert_eq!(found.len(), values.len());
    let [deep, object] = [class(DEPTH - 1), OBJECT].map(|it| heap.class_at(it).unwrap());
    assert!(heap.is_subclass(deep, object) && !heap.is_subclass(object, deep));
}

#[test]
fn many_fields() {
    const COUNT: usize = 65_535;
    let mut dump = begin(8, true);
    for (id, superclass) in [(0x3000, OBJECT), (0x3080, 0x3000)] {
        dump.load_class(id, if id == 0x3000 { "Wide" } else { "Wider" });
        let fields = vec![("next".to_owned(), FieldType::Object); COUNT];
        let statics = vec![("next".to_owned(), Value::Reference(FIRST)); COUNT];
        let constants = vec![(1, Value::Reference(FIRST)); COUNT];
        let record =
            ClassRecord { id, superclass, fields, statics, constants, ..ClassRecord::default() };
        dump.class(&record);
    }
    let mut values = vec![Value::Reference(0); 2 * COUNT];
    values[2 * COUNT - 1] = Value::Reference(FIRST);
    values[0] = Value::Reference(FIRST + NODE_BYTES);
    dump.instance(0x10_0000, 1, 0x3080, &values);
    list(&mut dump, 2);
    dump.root(RootRecord::Unknown, 0x10_0000);
    let (_folder, path) = dump::file(&dump.finish());
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let wide = heap.find(0x10_0000).unwrap();
    let to: Vec<u64> =
        heap.references(wide).unwrap().iter().map(|it| heap.address(it.to)).collect();
    assert!(to.contains(&FIRST) && to.contains(&(FIRST + NODE_BYTES)) && to.contains(&0x3080));
    let Content::Instance(found) = heap.content(wide, u64::MAX).unwrap() else { panic!() };
    assert_eq!(found.len(), 2 * COUNT);
    assert_eq!((found[0].value, found[2 * COUNT - 1].value), (values[0], values[2 * COUNT - 1]));
    let class = heap.find(0x3000).unwrap();
    let to_first = heap.references(class).unwrap().into_iter();
    assert_eq!(to_first.filter(|it| heap.address(it.to) == FIRST).count(), 2 * COUNT);
}

#[test]
fn two_objects_with_one_address() {
    let mut dump = begin(8, true);
    list(&mut dump, 3);
    node(&mut dump, 1, FIRST);
    dump.primitives(FIRST + 2 * NODE_BYTES, 1, FieldType::Int, &[0; 8]);
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, ..ClassRecord::default() });
    let heap = open(&dump.finish()).unwrap();
    // A place in the heap has one object.
    assert_eq!(heap.object_count(), 3 + 4);
    assert!(!heap.notes().is_empty());
}

#[test]
fn addresses_at_the_limits() {
    for address in [1, 7, u64::MAX, u64::MAX - 7, 1 << 63, (1 << 63) - 1] {
        let mut dump = begin(8, true);
        list(&mut dump, 3);
        dump.objects(address, 1, ARRAY, &[FIRST, address, u64::MAX - 1]);
        dump.root(RootRecord::Unknown, address);
        let heap = open(&dump.finish()).unwrap();
        assert_eq!(heap.object_count(), 3 + 4 + 1);
        let object = heap.find(address).unwrap();
        assert_eq!(heap.holder(object), Holder::Roots);
        assert_eq!(heap.totals().dangling_count, 1);
    }
    // Zero is null.
    let mut dump = begin(8, true);
    list(&mut dump, 3);
    dump.objects(0, 1, ARRAY, &[FIRST]);
    dump.root(RootRecord::Unknown, 0);
    drop(open(&dump.finish()));
}

#[test]
fn every_id_of_a_byte() {
    let mut dump = Dump::new(1);
    dump.load_class(1, "java/lang/Object");
    dump.load_class(2, "[Ljava/lang/Object;");
    dump.class(&ClassRecord { id: 1, ..ClassRecord::default() });
    dump.class(&ClassRecord { id: 2, superclass: 1, ..ClassRecord::default() });
    for id in 3..=255 {
        dump.objects(id, 1, 2, &[id + 1].map(|it| if it == 256 { 0 } else { it }));
    }
    dump.root(RootRecord::Unknown, 3);
    let heap = open(&dump.finish()).unwrap();
    assert_eq!(heap.object_count(), 255);
    let last = heap.find(255).unwrap();
    assert_eq!(heap.holder(last), Holder::Object(heap.find(254).unwrap()));
    assert_eq!(heap.retained_bytes(heap.find(3).unwrap()), 253 * heap.shallow_bytes(last));
}

#[test]
fn a_heap_without_objects() {
    let heap = open(&Dump::new(8).finish());
    match heap {
        Ok(heap) => assert_eq!(heap.object_count(), 0),
        Err(error) => assert!(error.to_string().len() > 10, "{error}"),
    }
    let mut dump = begin(4, false);
    dump.root(RootRecord::JavaFrame(1, 0), 0x5555);
    let heap = open(&dump.finish()).unwrap();
    assert_eq!(heap.object_count(), 3);
}

/// The file has holes where the elements are: it takes no room on the disk.
#[test]
fn the_longest_arrays() {
    const LONGEST: u32 = i32::MAX as u32;
    for (element, element_bytes) in [(FieldType::Byte, 1), (FieldType::Long, 8)] {
        let mut dump = begin(8, false);
        list(&mut dump, 3);
        dump.root(RootRecord::Unknown, 0x10_0000);
        let mut bytes = dump.finish();
        bytes.push(0x23);
        bytes.extend(0x10_0000_u64.to_be_bytes());
        bytes.extend(1_u32.to_be_bytes());
        bytes.extend(LONGEST.to_be_bytes());
        bytes.push(element.to_hprof());
        let end = bytes.len() as u64 + u64::from(LONGEST) * element_bytes;
        // Lengths of records have 32 bits.
        let at = begin_of(HEAP_DUMP, &bytes);
        let length = (end - at as u64) as u32;
        bytes[at - 4..at].copy_from_slice(&length.to_be_bytes());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.hprof");
        let mut file = File::create(&path).unwrap();
        file.write_all(&bytes).unwrap();
        file.seek(SeekFrom::Start(end - 1)).unwrap();
        file.write_all(&[0]).unwrap();
        let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
        assert_eq!(heap.object_count(), 3 + 4 + 1, "{:?}", heap.notes());
        let array = heap.find(0x10_0000).unwrap();
        assert_eq!(heap.length(array).unwrap(), u64::from(LONGEST));
        let bytes = (16 + u64::from(LONGEST) * element_bytes).next_multiple_of(8);
        assert_eq!(heap.shallow_bytes(array), bytes);
        assert_eq!(heap.retained_bytes(array), bytes);
        let content = heap.content(array, 2).unwrap();
        assert_eq!(content, Content::Primitives(element, vec![0; 2 * element_bytes as usize]));
    }
}

/// HotSpot's array of its class archive has class objects of classes that are not loaded.
#[test]
fn references_of_the_class_archive_are_counted_without_a_note() {
    const MISSING: u64 = 0x9000;
    let note_of = |write: &dyn Fn(&mut Dump), cut: usize| {
        let mut dump = begin(8, true);
        dump.objects(FIRST, 1, ARRAY, &[MISSING, OBJECT, MISSING + 8]);
        dump.root(RootRecord::JniGlobal, FIRST);
        write(&mut dump);
        let bytes = dump.finish();
        let heap = open(&bytes[..bytes.len() - cut]).unwrap();
        assert!(heap.totals().dangling_count >= 2);
        let is_meant =
            |note: &&String| note.contains("references to objects that the dump does not have");
        heap.notes().iter().find(is_meant).cloned()
    };
    assert_eq!(note_of(&|_| {}, 0), None);
    assert_eq!(note_of(&|dump| node(dump, 10, 0), 0), None);
    // The file ends before the end of the dump.
    assert!(note_of(&|_| {}, 9).is_some());
    let others: [&dyn Fn(&mut Dump); 4] = [
        &|dump| node(dump, 10, MISSING),
        &|dump| dump.objects(FIRST + 0x100, 1, ARRAY, &[MISSING]),
        &|dump| dump.root(RootRecord::JavaFrame(1, 0), FIRST),
        &|dump| dump.root(RootRecord::Unknown, FIRST),
    ];
    for (index, write) in others.iter().enumerate() {
        let note = note_of(write, 0).unwrap_or_else(|| panic!("{index}"));
        assert!(note.contains("from java.lang.Object[]"), "{note}");
    }
}

/// JVMPI's agents write ids as they lie in memory. The objects of their dumps are in no order.
#[test]
fn sizes_do_not_depend_on_the_byte_order_of_ids() {
    const PAIRS: u64 = 500;
    let rows = [false, true].map(|is_little| {
        let mut dump = Dump::new(8);
        dump.is_little = is_little;
        let (object, node) = (0x7f00_1234_0010, 0x7f00_1234_0058);
        dump.load_class(object, "java/lang/Object");
        dump.load_class(node, "Node");
        dump.class(&ClassRecord { id: object, ..ClassRecord::default() });
        let fields = vec![("x".to_owned(), FieldType::Int)];
        dump.class(&ClassRecord { id: node, superclass: object, fields, ..ClassRecord::default() });
        for number in (0..PAIRS).map(|it| it * 333 % PAIRS) {
            let id = 0x7f00_1235_0000 + 40 * number;
            dump.root(RootRecord::Unknown, id);
            dump.root(RootRecord::Unknown, id + 16);
            dump.instance(id, 0, node, &[Value::Int(1)]);
            dump.primitives(id + 16, 0, FieldType::Byte, &[7; 8][..1 + number as usize % 8]);
        }
        let heap = open(&dump.finish()).unwrap();
        assert!(heap.layout().is_inferred, "{:?}", heap.layout());
        let mut rows: Vec<_> = heap
            .classes()
            .iter()
            .filter(|it| it.instance_count == PAIRS)
            .map(|it| (it.name.clone(), it.shallow_bytes))
            .collect();
        rows.sort();
        rows
    });
    let expected = [("Node", 16 * PAIRS), ("byte[]", 24 * PAIRS)];
    let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes));
    assert_eq!(rows, [&expected, &expected]);
}
