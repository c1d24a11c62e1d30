//! The index beside a dump: it gives the same answers, and is made again if anything is off.

use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perk_heap::{Heap, NoWatch, ObjectId, Options, Refs, Value};
use perk_hprof::heap::FieldType;

use crate::dump::{ClassRecord, Dump, RootRecord};

const OBJECT: u64 = 0x10;
const NODE: u64 = 0x20;
const FIRST: u64 = 0x1000;

/// Writes a list of this many nodes.
fn write(path: &Path, count: u64) {
    let mut dump = Dump::new(8);
    dump.load_class(OBJECT, "java/lang/Object");
    dump.load_class(NODE, "Node");
    dump.class(&ClassRecord { id: OBJECT, ..ClassRecord::default() });
    let fields = vec![("next".to_owned(), FieldType::Object)];
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, fields, ..ClassRecord::default() });
    dump.root(RootRecord::JniGlobal, FIRST);
    for index in 0..count {
        let id = FIRST + 16 * index;
        let next = if index + 1 < count { id + 16 } else { 0 };
        dump.instance(id, 1, NODE, &[Value::Reference(next)]);
    }
    fs::write(path, dump.finish()).unwrap();
}

/// All that is known of each object, and the sums.
fn answers(heap: &Heap) -> (String, Vec<String>) {
    let of = |object: ObjectId| {
        let (class, reach) = (heap.class(heap.class_of(object)).name.clone(), heap.reach(object));
        let sizes = (heap.shallow_bytes(object), heap.retained_bytes(object));
        let edges = heap.references(object).unwrap();
        let address = heap.address(object);
        format!("{address:#x} {class} {sizes:?} {reach:?} {:?} {edges:?}", heap.holder(object))
    };
    let sums = format!("{:?} {:?} {:?}", heap.totals(), heap.layout(), heap.classes());
    (sums, heap.objects().map(of).collect())
}

fn open(path: &Path, refs: Refs) -> Heap {
    let options = Options { refs, index_from_bytes: Some(1), ..Options::default() };
    Heap::open(path, &options, &mut NoWatch).unwrap()
}

#[test]
fn an_index_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    let index = folder.path().join("list.hprof.perkidx");
    write(&path, 1000);
    let without = Options { index_from_bytes: None, ..Options::default() };
    let expected = answers(&Heap::open(&path, &without, &mut NoWatch).unwrap());
    assert!(!index.exists());
    assert_eq!(answers(&open(&path, Refs::Soft)), expected);
    let written = fs::read(&index).unwrap();
    // The file is not written again when it is used.
    let modified = fs::metadata(&index).unwrap().modified().unwrap();
    assert_eq!(answers(&open(&path, Refs::Soft)), expected);
    assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), modified);
    assert_eq!(fs::metadata(&index).unwrap().permissions().mode() & 0o077, 0);
    // Any byte that is wrong or missing, and anything else in its place.
    let step = written.len() / 97;
    for at in (0..written.len()).step_by(step.max(1)) {
        let mut wrong = written.clone();
        wrong[at] ^= 0x10;
        for bad in [wrong, written[..at].to_vec()] {
            fs::write(&index, bad).unwrap();
            assert_eq!(answers(&open(&path, Refs::Soft)), expected, "byte {at}");
            assert_eq!(fs::read(&index).unwrap(), written, "byte {at}");
        }
    }
    // Other options, and another dump of the same name and size.
    let strong = open(&path, Refs::Strong);
    assert_eq!(strong.refs(), Refs::Strong);
    assert_ne!(fs::read(&index).unwrap(), written);
    write(&path, 1001);
    assert_eq!(open(&path, Refs::Strong).totals().reachable.count, 1003);
    let (before, other) = (fs::metadata(&path).unwrap(), folder.path().join("other.hprof"));
    write(&other, 1001);
    let mut bytes = fs::read(&other).unwrap();
    // The number of the last node's class becomes unknown.
    let last = bytes.len() - 40;
    bytes[last..].iter_mut().for_each(|byte| *byte = if *byte == 0x20 { 0x10 } else { *byte });
    fs::write(&path, &bytes).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let changed = Heap::open(&path, &without, &mut NoWatch).unwrap();
    let options = Options { refs: Refs::Soft, ..without };
    assert_eq!(
        answers(&open(&path, Refs::Soft)),
        answers(&Heap::open(&path, &options, &mut NoWatch).unwrap())
    );
    assert_eq!(changed.object_count(), 1003);
}

#[test]
fn sizes_alone_are_taken_from_an_index_and_make_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    write(&path, 100);
    let options = Options { holders: false, index_from_bytes: Some(1), ..Options::default() };
    let heap = Heap::open(&path, &options, &mut NoWatch).unwrap();
    assert!(!heap.has_holders());
    assert!(!folder.path().join("list.hprof.perkidx").exists());
    let expected = answers(&open(&path, Refs::Soft));
    let heap = Heap::open(&path, &options, &mut NoWatch).unwrap();
    assert!(heap.has_holders());
    assert_eq!(answers(&heap), expected);
}

#[test]
fn a_folder_that_cannot_be_written_to_costs_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    write(&path, 10);
    // Root may write anywhere, but not put a file in the place of a folder.
    fs::create_dir(folder.path().join("list.hprof.perkidx")).unwrap();
    let heap = open(&path, Refs::Soft);
    assert_eq!(heap.totals().reachable.count, 12);
    let notes = heap.notes().join("\n");
    assert!(notes.contains("no index was written"), "{notes}");
}

/// Each of the two kinds of questions takes the place of the other's index.
#[test]
fn several_at_one_index_have_their_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    write(&path, 500);
    let kinds = [Refs::Soft, Refs::Strong];
    let expected = kinds.map(|refs| answers(&open(&path, refs)));
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (path, expected) = (&path, &expected);
            scope.spawn(move || {
                for round in first..first + 20 {
                    let heap = open(path, kinds[round % 2]);
                    let is_of_index = |note: &String| note.contains("no index was written");
                    assert!(!heap.notes().iter().any(is_of_index), "{:?}", heap.notes());
                    assert_eq!(answers(&heap), expected[round % 2]);
                }
            });
        }
    });
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// The index is written from scratch files and read into them.
#[test]
fn little_memory_keeps_and_takes_the_same_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    let index = folder.path().join("list.hprof.perkidx");
    let count = 2_000_000;
    write(&path, count);
    let open = |is_little: bool| {
        // Two thirds of the least that vectors would take.
        let little = is_little.then(|| taken_bytes() + count * 20);
        let memory_bytes = little.or(Some(u64::MAX));
        let index_from_bytes = Some(1);
        let options =
            Options { memory_bytes, index_from_bytes, thread_count: 1, ..Options::default() };
        Heap::open(&path, &options, &mut NoWatch).unwrap()
    };
    let sum = |heap: &Heap| {
        let mut hash = std::hash::DefaultHasher::new();
        for object in heap.objects() {
            let sizes = (heap.shallow_bytes(object), heap.retained_bytes(object));
            let holder = format!("{:?}", heap.holder(object));
            (heap.class_of(object), sizes, heap.reach(object), holder).hash(&mut hash);
        }
        assert!(heap.fault().is_none());
        let sets = heap.sets(1, &|_| Some(0));
        assert_eq!(heap.held_by(Some(ObjectId(7))), [ObjectId(8)]);
        (hash.finish(), sets[0])
    };
    let expected = sum(&open(false));
    assert_eq!(expected.1.count, count + 2);
    let written = fs::read(&index).unwrap();
    assert_eq!(sum(&open(true)), expected, "taken from the index");
    fs::remove_file(&index).unwrap();
    assert_eq!(sum(&open(true)), expected, "analysed");
    let little = fs::read(&index).unwrap();
    // What walks over all objects find is left out: a section of five values that are not there.
    let (columns, findings) = little.split_at(little.len() - 5);
    assert_eq!(findings, [0; 5]);
    let sections = columns.len() - SECTION_HEAD;
    assert!(written.starts_with(&columns[..sections]));
    assert_eq!(sum(&open(false)), expected, "taken from an index made in little memory");
}

/// The size and the check sum of a section.
const SECTION_HEAD: usize = 12;

/// Returns the memory that this process has.
fn taken_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}
