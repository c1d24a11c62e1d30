//! The arrays with which the JVM fills gaps of the heap are not the program's.

use perk_hprof::heap::{FieldType, HeapOptions};
use perk_hprof::{BinaryForm, Format, IdSize, Version, Writer};
use perk_profile::{Frame, Line, Method, Profile};

use crate::made::{Dump, OBJECT, OBJECT_ARRAY, id, instance, u4};
use crate::support::{FixedContext, Heap, options};

const HOLDER: u64 = 0x1040;
const STRING_ARRAY: u64 = 0x1048;
const FILLER: u64 = 0x1050;
const CHUNK: u64 = 0x1058;

/// The arrays, named by the references to them. The others are fillers.
const BY_FIELD_BEFORE: u64 = 0x3000;
const BY_FIELD_LATER: u64 = 0x3100;
const BY_ELEMENT: u64 = 0x3200;
const BY_STATIC: u64 = 0x3300;
const BY_ROOT: u64 = 0x3400;
const LARGE: u64 = 0x10_0000;
const OF_PROGRAM: [u64; 6] =
    [BY_FIELD_BEFORE, BY_FIELD_LATER, BY_ELEMENT, BY_STATIC, BY_ROOT, LARGE];
const SMALL_FILLER: u64 = 0x3500;
const LARGE_FILLER: u64 = 0x90_0000;
/// A length beyond what is read at once.
const LARGE_LENGTH: u32 = (5 << 20) / 4 + 3;

fn ints(address: u64, length: u32) -> Vec<u8> {
    let elements: Vec<u8> = (0..length).flat_map(u4).collect();
    [&[0x23][..], &id(address), &u4(1), &u4(length), &[10], &elements].concat()
}

fn references(address: u64, class: u64, elements: &[u64]) -> Vec<u8> {
    let length = u4(elements.len() as u32);
    let elements: Vec<u8> = elements.iter().flat_map(|it| id(*it)).collect();
    [&[0x22][..], &id(address), &u4(1), &length, &id(class), &elements].concat()
}

fn dump(has_chunk: bool) -> Vec<u8> {
    let mut dump = Dump::new();
    let classes = [
        (OBJECT, "java/lang/Object"),
        (OBJECT_ARRAY, "[Ljava/lang/Object;"),
        (HOLDER, "my/Holder"),
        (STRING_ARRAY, "[Ljava/lang/String;"),
        (FILLER, "jdk/internal/vm/FillerObject"),
        (CHUNK, "jdk/internal/vm/StackChunk"),
    ];
    for ((class, name), serial) in classes.into_iter().zip(1..) {
        dump.load(serial, class, name);
    }
    let mut all = dump.class(OBJECT, 0, 0, &[]);
    for class in [OBJECT_ARRAY, STRING_ARRAY, FILLER, CHUNK] {
        all.extend(dump.class(class, OBJECT, 0, &[]));
    }
    let mut holder = dump.class(HOLDER, OBJECT, 8, &[("ints", 2)]);
    // The class gets one static field.
    let statics = holder.len() - (2 + 9) - 2;
    let field = [&[0, 1][..], &id(dump.name("shared")), &[2], &id(BY_STATIC)].concat();
    holder.splice(statics..statics + 2, field);
    all.extend(holder);
    all.extend(instance(0x2000, HOLDER, &id(BY_FIELD_BEFORE)));
    for array in [BY_FIELD_BEFORE, BY_FIELD_LATER, BY_ELEMENT, BY_STATIC, SMALL_FILLER, BY_ROOT] {
        all.extend(ints(array, 4));
    }
    all.extend(instance(0x2010, FILLER, &[]));
    if has_chunk {
        all.extend(instance(0x2020, CHUNK, &[]));
    }
    dump.record(0x1C, &all);
    dump.record(0x1C, &[ints(LARGE, LARGE_LENGTH), ints(LARGE_FILLER, LARGE_LENGTH)].concat());
    // This does not count as a reference, as an `int[]` cannot be in an array of strings.
    let strings = references(0x2030, STRING_ARRAY, &[SMALL_FILLER]);
    let objects = references(0x2040, OBJECT_ARRAY, &[0, BY_ELEMENT, LARGE]);
    let late = instance(0x2050, HOLDER, &id(BY_FIELD_LATER));
    dump.record(0x1C, &[strings, objects, late, ints(SMALL_FILLER + 0x100, 0)].concat());
    dump.record(0x1C, &[&[0x07][..], &id(BY_ROOT)].concat());
    dump.record(0x2C, &[]);
    dump.bytes
}

fn rewritten(dump: &[u8], form: Option<BinaryForm>, known: &mut FixedContext) -> (Vec<u8>, u64) {
    let (profile, options) = (&mut Profile::default(), options());
    let mut writer = match form {
        Some(form) => Writer::begin_binary(Vec::new(), form, profile).unwrap(),
        None => Writer::begin(Vec::new(), Format::Ascii, profile).unwrap(),
    };
    let counts = writer.heap_dump(profile, &mut &dump[..], &options, known).unwrap();
    (writer.out().clone(), counts.object_count)
}

/// Returns the ids of the arrays of `int`, after a check of their elements.
fn int_arrays(heap: &Heap, id_factor: u64) -> Vec<u64> {
    let elements: Vec<u8> = (0..LARGE_LENGTH).flat_map(u4).collect();
    let ints = heap.arrays.iter().filter(|(_, it)| it.1.field_type() == FieldType::Int);
    let checked = ints.map(|(id, (_, _, bytes))| {
        assert!(elements.starts_with(bytes), "{id:#x}");
        let is_large = [LARGE, LARGE_FILLER].contains(&(id * id_factor));
        assert_eq!(bytes.len() == elements.len(), is_large);
        id * id_factor
    });
    checked.collect()
}

#[test]
fn arrays_that_nothing_refers_to_are_left_out() {
    let dump = dump(false);
    let short = BinaryForm { id_size: IdSize::Four, version: Version::V1_0_1 };
    for (form, id_factor) in [(BinaryForm::default(), 1), (short, 8)] {
        let (bytes, object_count) = rewritten(&dump, Some(form), &mut FixedContext::default());
        let heap = Heap::read(&bytes[..]);
        assert_eq!(int_arrays(&heap, id_factor), OF_PROGRAM);
        assert_eq!(heap.instances.len(), 2, "and the objects that fill gaps");
        assert_eq!(object_count, 2 + 2 + OF_PROGRAM.len() as u64);
    }
    let (text, _) = rewritten(&dump, None, &mut FixedContext::default());
    let text = String::from_utf8(text).unwrap();
    let arrays = text.lines().filter(|line| line.contains("elem type=int[]"));
    assert_eq!(arrays.count(), OF_PROGRAM.len());
    assert!(!text.contains("FillerObject)"), "{text}");
}

/// JDK 19 to 21 do not give the references in frames of parked virtual threads.
#[test]
fn nothing_is_left_out_where_references_are_hidden() {
    let mut all = OF_PROGRAM.to_vec();
    all.extend([SMALL_FILLER, SMALL_FILLER + 0x100, LARGE_FILLER]);
    all.sort_unstable();
    for (has_chunk, hides_parked_frames, expected) in
        [(true, true, &all[..]), (true, false, &OF_PROGRAM), (false, true, &OF_PROGRAM)]
    {
        let mut known = FixedContext { hides_parked_frames, ..FixedContext::default() };
        let (bytes, _) = rewritten(&dump(has_chunk), Some(BinaryForm::default()), &mut known);
        assert_eq!(int_arrays(&Heap::read(&bytes[..]), 1), expected);
    }
}

#[test]
fn arrays_whose_allocation_is_known_are_the_program_s() {
    let mut profile = Profile::default();
    let symbols = &mut profile.symbols;
    let (class, name) = (symbols.class("my.Maker"), symbols.strings.intern("make"));
    let method = symbols.method(Method { class, name, signature: None, source: None });
    let frame = symbols.frame(Frame::new(method, Line::Number(1)));
    let node = profile.tree.insert([frame]);
    let trace = profile.trace(node, None);
    let mut known =
        FixedContext { array_trace: Some((SMALL_FILLER, trace)), ..FixedContext::default() };
    let options = HeapOptions { with_traces: true, ..options() };
    let mut writer = Writer::begin(Vec::new(), Format::Binary, &profile).unwrap();
    writer.heap_dump(&mut profile, &mut &dump(false)[..], &options, &mut known).unwrap();
    let heap = Heap::read(&writer.out()[..]);
    assert!(int_arrays(&heap, 1).contains(&SMALL_FILLER));
    assert!(!heap.arrays.contains_key(&LARGE_FILLER));
}
