//! Dumps in all forms in which they come: packed, through pipes, several in a file, text, and files
//! that are none.

mod kinds;
mod native;
mod original;
mod packed;
mod refused;
mod several;
mod text;

use std::io::Read;
use std::path::Path;

use perk_heap::{Error, Input, NoWatch, Options, Value};
use perk_hprof::heap::FieldType;

use crate::dump::{self, ClassRecord, Dump, RootRecord};

pub(crate) use text::testdata;

const OBJECT: u64 = 0x10;
const NODE: u64 = 0x20;

/// Begins a dump with `java.lang.Object` and `Node`, which has an `int` and a reference.
fn begin(title: &str, id_bytes: usize) -> Dump {
    let mut dump = Dump::with_title(title, id_bytes);
    dump.load_class(OBJECT, "java/lang/Object");
    dump.load_class(NODE, "Node");
    classes(&mut dump);
    dump
}

fn classes(dump: &mut Dump) {
    dump.class(&ClassRecord { id: OBJECT, ..ClassRecord::default() });
    let fields =
        vec![("number".to_owned(), FieldType::Int), ("next".to_owned(), FieldType::Object)];
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, fields, ..ClassRecord::default() });
    dump.root(RootRecord::StickyClass, OBJECT);
    dump.root(RootRecord::StickyClass, NODE);
}

/// Writes a list of nodes with these numbers, which a root holds.
fn list(dump: &mut Dump, numbers: std::ops::Range<i32>) {
    let id = |number: i32| 0x40 + (number - numbers.start) as u64;
    dump.root(RootRecord::JniGlobal, id(numbers.start));
    for number in numbers.clone() {
        let next = if number + 1 < numbers.end { id(number + 1) } else { 0 };
        dump.instance(id(number), 1, NODE, &[Value::Int(number), Value::Reference(next)]);
    }
}

/// Returns a dump of some 9 MB, of which a part cannot be packed.
fn large() -> Vec<u8> {
    let mut dump = begin("JAVA PROFILE 1.0.2", 8);
    for segment in 0..4_u64 {
        let mut state = segment;
        let noise = (0..500_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.collect();
        dump.primitives(0x1000 + segment, 1, FieldType::Byte, &noise);
        // Data of gzip in the heap, whose beginning is that of a member.
        let packed = packed::gzip(&noise[..100_000]);
        dump.primitives(0x2000 + segment, 1, FieldType::Byte, &packed);
        dump.primitives(0x3000 + segment, 1, FieldType::Int, &vec![0; 400_000]);
        dump.end_segment();
    }
    list(&mut dump, 0..1000);
    dump.finish()
}

fn open(path: &Path) -> Result<Input, Error> {
    Input::open(path, &Options::default(), &mut NoWatch)
}

/// Writes a file and opens it.
fn open_bytes(bytes: &[u8], options: &Options) -> Result<Input, Error> {
    let (_folder, path) = dump::file(bytes);
    Input::open(&path, options, &mut NoWatch)
}

/// Returns all bytes, after checking that reading anywhere gives the same.
#[track_caller]
fn content(input: &Input) -> Vec<u8> {
    let mut bytes = Vec::new();
    input.reader().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, input.len());
    for (offset, count) in [(0, 1), (3, 100), (bytes.len() / 2, 70_000), (bytes.len(), 9)] {
        let mut part = vec![0; count];
        let read = input.read_at(&mut part, offset as u64).unwrap();
        assert_eq!(read, count.min(bytes.len().saturating_sub(offset)));
        assert_eq!(part[..read], bytes[offset.min(bytes.len())..][..read]);
    }
    bytes
}
