//! Small dumps made here: perk's own fields, traces of allocation, and bytes that make no sense.

use std::io::{self, Read};

use perk_hprof::heap::{Elements, FieldType, Record, RootKind, Stream};
use perk_hprof::{BinaryForm, Format, IdSize, ThreadStart, Version, Writer};
use perk_profile::{Frame, Line, Method, Profile};
use proptest::prelude::*;

use crate::support::{FixedContext, Heap, options, profile_with_main, rewritten};

pub(crate) const OBJECT: u64 = 0x1000;
const THREAD: u64 = 0x1010;
const POINT: u64 = 0x1020;
const CHILD: u64 = 0x1028;
pub(crate) const OBJECT_ARRAY: u64 = 0x1030;
const MAIN: u64 = 0x2000;
const CHILD_OBJECT: u64 = 0x2010;
const ARRAY: u64 = 0x2020;
const BYTES: u64 = 0x2030;
const LARGE_BYTES: usize = (3 << 20) + 5;

/// An HPROF file that is being built.
pub(crate) struct Dump {
    pub(crate) bytes: Vec<u8>,
    names: Vec<&'static str>,
}

pub(crate) fn id(id: u64) -> [u8; 8] {
    id.to_be_bytes()
}

pub(crate) fn u4(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

impl Dump {
    pub(crate) fn new() -> Self {
        let mut bytes = b"JAVA PROFILE 1.0.2\0".to_vec();
        bytes.extend([0, 0, 0, 8]);
        bytes.extend(id(1_700_000_000_000));
        Self { bytes, names: Vec::new() }
    }

    pub(crate) fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend(u4(0));
        self.bytes.extend(u4(body.len() as u32));
        self.bytes.extend(body);
    }

    pub(crate) fn name(&mut self, name: &'static str) -> u64 {
        if let Some(index) = self.names.iter().position(|it| *it == name) {
            return 0x7000 + index as u64;
        }
        self.names.push(name);
        let name_id = 0x7000 + self.names.len() as u64 - 1;
        self.record(0x01, &[&id(name_id), name.as_bytes()].concat());
        name_id
    }

    pub(crate) fn load(&mut self, serial: u32, class: u64, name: &'static str) {
        let name = self.name(name);
        self.record(0x02, &[&u4(serial)[..], &id(class), &u4(1), &id(name)].concat());
    }

    /// Adds CLASS DUMP with fields of the given types.
    pub(crate) fn class(
        &mut self,
        class: u64,
        superclass: u64,
        bytes: u32,
        fields: &[(&'static str, u8)],
    ) -> Vec<u8> {
        let mut body = [&[0x20][..], &id(class), &u4(1), &id(superclass)].concat();
        body.extend([0; 5 * 8]);
        body.extend(u4(bytes));
        body.extend([0, 0]);
        let statics = if class == POINT { self.name("$perkStatic") } else { 0 };
        match statics {
            0 => body.extend([0, 0]),
            name => {
                body.extend([0, 2]);
                body.extend([&id(name)[..], &[10], &u4(9)].concat());
                body.extend([&id(self.name("origin"))[..], &[2], &id(CHILD_OBJECT)].concat());
            }
        }
        body.extend((fields.len() as u16).to_be_bytes());
        for (name, field) in fields {
            body.extend(id(self.name(name)));
            body.push(*field);
        }
        body
    }
}

pub(crate) fn instance(object: u64, class: u64, values: &[u8]) -> Vec<u8> {
    let length = u4(values.len() as u32);
    [&[0x21][..], &id(object), &u4(1), &id(class), &length, values].concat()
}

/// Returns a dump with perk's own fields, and with an array of `large_bytes` bytes. Objects have a
/// record field in the class below that of all objects, and threads have two fields more.
pub(crate) fn dump_of(large_bytes: usize) -> Vec<u8> {
    let mut dump = Dump::new();
    dump.load(1, OBJECT, "java/lang/Object");
    dump.load(2, THREAD, "java/lang/Thread");
    dump.load(3, POINT, "my/Point");
    dump.load(4, CHILD, "my/Point$Child");
    dump.load(5, OBJECT_ARRAY, "[Ljava/lang/Object;");
    let (method, signature) = (dump.name("run"), dump.name("()V"));
    let frame = [&id(1)[..], &id(method), &id(signature), &id(0), &u4(3), &u4(12)].concat();
    dump.record(0x04, &frame);
    dump.record(0x05, &[u4(1), u4(0), u4(0)].concat());
    dump.record(0x05, &[&u4(2)[..], &u4(1), &u4(1), &id(1)].concat());
    // The classes below come before those above.
    let point = [("$perkRecord1f", 10), ("x", 10), ("y", 11), ("last", 2)];
    let mut first = dump.class(CHILD, POINT, 33, &[("z", 4), ("name", 2)]);
    first.extend(dump.class(POINT, OBJECT, 24, &point));
    let thread = [
        ("$perkRecord1f", 10),
        ("$perkStack1f", 11),
        ("$perkTree1f", 11),
        ("tid", 11),
        ("daemon", 4),
    ];
    first.extend(dump.class(THREAD, OBJECT, 29, &thread));
    first.extend(dump.class(OBJECT, 0, 0, &[]));
    first.extend(dump.class(OBJECT_ARRAY, OBJECT, 0, &[]));
    dump.record(0x1C, &first);
    let main = [&u4(0)[..], &id(0xdead), &id(0xbeef), &id(1), &[1]].concat();
    let child = [&[1][..], &id(MAIN), &u4(7), &u4(5), &id(6), &id(ARRAY)].concat();
    let array = [&[0x22][..], &id(ARRAY), &u4(1), &u4(3), &id(OBJECT_ARRAY)].concat();
    let array = [&array[..], &id(MAIN), &id(0), &id(0)].concat();
    let second = [instance(MAIN, THREAD, &main), instance(CHILD_OBJECT, CHILD, &child), array];
    dump.record(0x1C, &second.concat());
    let large: Vec<u8> = (0..large_bytes).map(|at| at as u8).collect();
    let large = [&[0x23][..], &id(BYTES), &u4(1), &u4(large_bytes as u32), &[8], &large].concat();
    dump.record(0x1C, &large);
    let roots = [
        &[0x08][..],
        &id(MAIN),
        &u4(1),
        &u4(2),
        &[0x03],
        &id(CHILD_OBJECT),
        &u4(1),
        &u4(0),
        &[0x02],
        &id(ARRAY),
        &u4(1),
        &u4(u32::MAX),
        &[0x03],
        &id(ARRAY),
        &u4(77),
        &u4(0),
        &[0x01],
        &id(ARRAY),
        &id(0x7f00_0000_1238),
        &[0x04],
        &id(ARRAY),
        &u4(1),
        &[0x06],
        &id(MAIN),
        &u4(1),
        &[0x05],
        &id(OBJECT),
        &[0x07],
        &id(ARRAY),
        &[0xFF],
        &id(BYTES),
    ];
    dump.record(0x1C, &roots.concat());
    dump.record(0x2C, &[]);
    dump.bytes
}

fn dump() -> Vec<u8> {
    dump_of(LARGE_BYTES)
}

#[test]
fn perks_own_fields_are_left_out() {
    let (bytes, counts, known) =
        rewritten(&mut &dump()[..], 1, &[1], Some(BinaryForm::default()), &options());
    let heap = Heap::read(&bytes[..]);
    assert_eq!((counts.class_count, counts.object_count, counts.root_count), (5, 4, 10));
    assert!(heap.names.values().all(|name| !name.starts_with("$perk")), "{:?}", heap.names);
    let bytes_of = |class| heap.classes[&class].instance_bytes;
    assert_eq!([OBJECT, POINT, CHILD, THREAD, OBJECT_ARRAY].map(bytes_of), [0, 20, 29, 9, 0]);
    assert_eq!(
        heap.classes[&POINT].statics,
        [("origin".to_owned(), FieldType::Object, CHILD_OBJECT)]
    );
    let fields = |id| -> Vec<_> {
        heap.fields(id).into_iter().map(|(name, _, bits)| (name, bits)).collect()
    };
    let named = |fields: &[(&str, u64)]| -> Vec<_> {
        fields.iter().map(|&(name, bits)| (name.to_owned(), bits)).collect()
    };
    assert_eq!(fields(MAIN), named(&[("tid", 1), ("daemon", 1)]));
    let child = [("z", 1), ("name", MAIN), ("x", 5), ("y", 6), ("last", ARRAY)];
    assert_eq!(fields(CHILD_OBJECT), named(&child));
    assert_eq!(heap.references(ARRAY), [MAIN, 0, 0]);
    assert!(heap.arrays[&BYTES].2.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    assert_eq!(heap.arrays[&BYTES].2.len(), LARGE_BYTES);
    let asked = &known.asked["my.Point$Child"];
    let point = vec![FieldType::Int, FieldType::Long, FieldType::Object];
    assert_eq!(asked[0], ("java.lang.Object".to_owned(), true, vec![]));
    assert_eq!(asked[1], ("my.Point".to_owned(), true, point));
    // The child (header, child and point), the thread, and two arrays.
    assert_eq!(counts.object_bytes, 40 + 24 + 32 + (16 + LARGE_BYTES as u64).next_multiple_of(8));
}

/// The JVM lists a class that another thread is about to define, and that has no object yet.
#[test]
fn a_class_without_an_object_is_left_out() {
    const HEADER_BYTES: usize = 31;
    let mut coming = Dump::new();
    let name = id(0x6000);
    coming.record(0x01, &[&name[..], b"my/Coming"].concat());
    coming.record(0x02, &[&u4(9)[..], &id(0), &u4(1), &name].concat());
    let bytes = [&coming.bytes, &dump()[HEADER_BYTES..]].concat();
    let (bytes, ..) = rewritten(&mut &bytes[..], 1, &[1], Some(BinaryForm::default()), &options());
    assert!(!Heap::read(&bytes[..]).class_names.contains_key(&0));
}

#[test]
fn roots_of_every_kind_come_with_perks_threads() {
    let (bytes, ..) = rewritten(&mut &dump()[..], 1, &[1], Some(BinaryForm::default()), &options());
    let heap = Heap::read(&bytes[..]);
    let RootKind::Thread { serial: 200_001, trace } = heap.roots[0].kind else {
        panic!("{:?}", heap.roots[0])
    };
    assert_eq!(heap.traces[&trace], (200_001, vec!["my.Point.run(None:12)".to_owned()]));
    let stack = |thread_serial, depth| perk_hprof::heap::JavaStack { thread_serial, depth };
    let kinds: Vec<_> = heap.roots[1..].iter().map(|root| (root.id, root.kind)).collect();
    let expected = [
        (CHILD_OBJECT, RootKind::JavaFrame(stack(200_001, 0))),
        (ARRAY, RootKind::JniLocal(stack(200_001, u32::MAX))),
        // The root of a thread that the dump does not have.
        (ARRAY, RootKind::Unknown),
        (ARRAY, RootKind::JniGlobal(0x7f00_0000_1238)),
        (ARRAY, RootKind::NativeStack(200_001)),
        (MAIN, RootKind::ThreadBlock(200_001)),
        (OBJECT, RootKind::StickyClass),
        (ARRAY, RootKind::Monitor),
        (BYTES, RootKind::Unknown),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn threads_that_nobody_knows_are_distinguished() {
    for format in [Format::Binary, Format::Extended, Format::Ascii] {
        let mut profile = Profile::default();
        let mut writer = Writer::begin(Vec::new(), format, &profile).unwrap();
        for _ in 0..2 {
            let input = &mut &dump()[..];
            let mut known = FixedContext::default();
            writer.heap_dump(&mut profile, input, &options(), &mut known).unwrap();
        }
        let file = perk_hprof::read(&writer.out()[..]).unwrap();
        let threads = (0..file.threads.len()).map(perk_profile::ThreadId::new);
        let threads = threads.map(|thread| ThreadStart::of(&file, thread));
        let threads: Vec<_> = threads.map(|it| (it.serial, it.object_id, it.name)).collect();
        match format {
            // Both dumps have the same thread, which is known before any of it is written.
            Format::Ascii => assert_eq!(threads, [(1_000_000_001, MAIN, "<tid 1>")]),
            _ => {
                let unknown = [2_000_000_001, 2_000_000_002].map(|it| (it, 0, "<unknown>"));
                assert_eq!(threads, unknown);
            }
        }
        let heaps: Vec<_> = file.heaps().map(|heap| heap.object_count()).collect();
        match format {
            Format::Ascii => assert!(file.notes.iter().any(|it| it.contains("HEAP DUMP"))),
            _ => assert_eq!((heaps.len(), heaps[0] > 0, heaps[0]), (2, true, heaps[1])),
        }
    }
}

#[test]
fn a_format_without_heap_dumps_says_which_have_them() {
    let mut profile = Profile::default();
    let mut writer = Writer::begin(io::sink(), Format::Old, &profile).unwrap();
    let known = &mut FixedContext::default();
    let error = writer.heap_dump(&mut profile, &mut &dump()[..], &options(), known).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("no place for heap dumps; HPROF text and HPROF binary"));
}

#[test]
fn objects_have_the_traces_of_their_allocation() {
    for format in [Format::Binary, Format::Ascii] {
        let (mut profile, main) = profile_with_main();
        let symbols = &mut profile.symbols;
        let (class, name) = (symbols.class("my.Maker"), symbols.strings.intern("make"));
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let mut trace = |line| {
            let line = Line::Number(line);
            let frame = profile.symbols.frame(Frame::new(method, line));
            let node = profile.tree.insert([frame]);
            profile.trace(node, None)
        };
        let (record_trace, array_trace) = (trace(1), trace(2));
        let mut known = FixedContext {
            main: Some((1, main)),
            record_trace: Some(record_trace),
            array_trace: Some((ARRAY, array_trace)),
            ..FixedContext::default()
        };
        let mut writer = Writer::begin(Vec::new(), format, &profile).unwrap();
        let mut options = options();
        options.with_traces = true;
        writer.heap_dump(&mut profile, &mut &dump()[..], &options, &mut known).unwrap();
        let serials = [record_trace, array_trace].map(|trace| profile.get_trace(trace).serial);
        if format == Format::Ascii {
            let text = String::from_utf8(writer.out().clone()).unwrap();
            let at = |line: String| text.find(&line).unwrap_or_else(|| panic!("no {line}"));
            let section = at("HEAP DUMP BEGIN".to_owned());
            let line = format!("OBJ {CHILD_OBJECT:x} (sz=40, trace={},", serials[0]);
            assert!(section < at(line));
            assert!(section < at(format!("ARR {ARRAY:x} (sz=32, trace={},", serials[1])));
            for serial in serials {
                assert!(at(format!("TRACE {serial}:\n\tmy.Maker.make(")) < section);
            }
            continue;
        }
        let heap = Heap::read(&writer.out()[..]);
        assert_eq!(heap.instances[&CHILD_OBJECT].0, serials[0]);
        assert_eq!(heap.instances[&MAIN].0, 0, "its record is 0");
        assert_eq!((heap.arrays[&ARRAY].0, heap.arrays[&BYTES].0), (serials[1], 0));
        for (serial, line) in serials.into_iter().zip(1..) {
            let frame = format!("my.Maker.make(None:{line})");
            assert_eq!(heap.traces[&serial], (0, vec![frame]));
        }
        assert_eq!(heap.traces[&0], (0, vec![]));
    }
}

#[test]
fn what_has_no_place_in_an_old_form_is_refused() {
    let form = BinaryForm { id_size: IdSize::Four, version: Version::V1_0_2 };
    let refusal = |dump: Vec<u8>| {
        let mut profile = Profile::default();
        let mut writer = Writer::begin_binary(io::sink(), form, &profile).unwrap();
        let known = &mut FixedContext::default();
        writer.heap_dump(&mut profile, &mut &dump[..], &options(), known).unwrap_err()
    };
    let mut far = dump();
    let child = id(CHILD_OBJECT);
    let at = far.windows(9).position(|it| it[0] == 0x21 && it[1..] == child).unwrap();
    far[at + 1..at + 9].copy_from_slice(&id(1 << 35));
    let error = refusal(far.clone());
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("0x800000000") && error.to_string().contains("idsize=4"));
    far[at + 1..at + 9].copy_from_slice(&id(CHILD_OBJECT + 4));
    assert!(refusal(far).to_string().contains("0x2014"));
}

/// The records after half a dump are found.
#[test]
fn an_array_that_is_cut_off_has_its_length() {
    let mut dump = dump();
    let at = dump.windows(9).position(|it| it[0] == 0x23 && it[1..] == id(BYTES)).unwrap();
    dump.truncate(at + 14 + (2 << 20));
    let mut profile = Profile::default();
    let mut out = Vec::new();
    let mut writer = Writer::begin(&mut out, Format::Binary, &profile).unwrap();
    let known = &mut FixedContext::default();
    let error = writer.heap_dump(&mut profile, &mut &dump[..], &options(), known).unwrap_err();
    assert!(error.to_string().contains("the file is cut off in an array"), "{error}");
    writer.thread_end(7).unwrap();
    let heap = Heap::read(&out[..]);
    let (_, _, bytes) = &heap.arrays[&BYTES];
    assert_eq!(bytes.len(), LARGE_BYTES);
    assert_eq!((bytes[1000], bytes[LARGE_BYTES - 1]), ((1000 % 256) as u8, 0));
    assert_eq!(heap.other_tags.last(), Some(&0x0B));
}

/// A reader that returns a few bytes at a time.
pub(crate) struct Trickle<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn short_reads_change_nothing() {
    let dump = dump();
    for form in [Some(BinaryForm::default()), None] {
        let (whole, counts, _) = rewritten(&mut &dump[..], 1, &[1], form, &options());
        let (trickled, same, _) = rewritten(&mut Trickle(&dump, 0), 1, &[1], form, &options());
        assert_eq!(counts, same);
        assert!(whole == trickled);
    }
}

/// Reads and rewrites a dump. Returns the text of the error, if there is one.
fn fault(bytes: &[u8]) -> Option<String> {
    let mut faults = [Some(BinaryForm::default()), None].map(|form| {
        let mut profile = Profile::default();
        let mut writer = match form {
            Some(form) => Writer::begin_binary(io::sink(), form, &profile),
            None => Writer::begin(io::sink(), Format::Ascii, &profile),
        }
        .unwrap();
        let known = &mut FixedContext { is_broken: true, ..FixedContext::default() };
        let dumped = writer.heap_dump(&mut profile, &mut &bytes[..], &options(), known);
        dumped.err().map(|error| error.to_string())
    });
    // The binary writer declares every stack before the roots. Text writes only those that a root
    // refers to.
    assert!(faults[0].is_some() || faults[1].is_none(), "{faults:?}");
    if let Ok((_, mut stream)) = Stream::new(bytes) {
        while let Ok(Some(_)) = stream.next() {}
    }
    faults[0].take()
}

#[test]
fn a_dump_that_is_cut_off_is_one_clear_error() {
    let dump = dump_of(100);
    assert_eq!(fault(&dump), None);
    for length in 0..dump.len() {
        let error = fault(&dump[..length]).unwrap_or_else(|| panic!("{length} bytes are enough"));
        assert!(error.starts_with("offset "), "{length}: {error}");
    }
    assert_eq!(
        fault(&dump[..40]).unwrap(),
        "offset 31: the file is cut off in UTF8: 33 bytes expected, 9 left"
    );
    assert!(fault(b"JAVA PROFILE 2").unwrap().contains("cut off in the header"));
    assert!(fault(b"no profile, but long enough").unwrap().contains("not an HPROF file"));
}

proptest! {
    #[test]
    fn flipped_bits_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 1..6)) {
        let mut dump = dump_of(100);
        for (at, bit) in flips {
            let at = at.index(dump.len());
            dump[at] ^= 1_u8 << bit;
        }
        fault(&dump);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = Dump::new().bytes;
        file.extend(bytes);
        fault(&file);
    }
}

/// Ids of any size are read.
#[test]
fn ids_have_one_to_eight_bytes() {
    for id_bytes in 1..=8_usize {
        let id = |id: u64| id.to_be_bytes()[8 - id_bytes..].to_vec();
        let mut bytes = b"JAVA PROFILE 1.0.1\0".to_vec();
        bytes.extend(u4(id_bytes as u32));
        bytes.extend([0; 8]);
        let instance = [&[0x21][..], &id(9), &u4(3), &id(8), &u4(2), &[1, 2]].concat();
        let array = [&[0x22][..], &id(10), &u4(3), &u4(2), &id(7), &id(9), &id(0)].concat();
        let body = [instance, array, [&[0x01][..], &id(9), &id(4)].concat()].concat();
        bytes.extend([&[0x0C][..], &u4(0), &u4(body.len() as u32), &body].concat());
        let (header, mut stream) = Stream::new(&bytes[..]).unwrap();
        assert_eq!(header.id_bytes, id_bytes);
        let mut next = || format!("{:?}", stream.next().unwrap());
        assert!(next().contains(&format!("bytes: {}", body.len())));
        assert_eq!(next(), "Some(Instance { id: 9, trace: 3, class: 8, values: [1, 2] })");
        let elements = [id(9), id(0)].concat();
        let array = Record::Array {
            id: 10,
            trace: 3,
            elements: Elements::Objects(7),
            length: 2,
            bytes: &elements,
        };
        assert_eq!(next(), format!("{:?}", Some(array)));
        assert_eq!(next(), "Some(Root(Root { id: 9, kind: JniGlobal(4) }))");
        assert_eq!(next(), "Some(DumpEnd)");
        assert_eq!(next(), "None");
    }
}
