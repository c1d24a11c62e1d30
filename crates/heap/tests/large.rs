//! Shapes that are deep, wide or far apart.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use perk_heap::{Heap, Holder, NoWatch, ObjectId, Options, SuspectKind};
use perk_hprof::heap::FieldType;

use crate::dump::{self, ClassRecord, Dump, RootRecord};

const OBJECT: u64 = 0x1000;
const NODE: u64 = 0x1080;
const ARRAY: u64 = 0x1100;
const FIRST: u64 = 0x10_0000;
const NODE_BYTES: u64 = 24;

/// Begins a dump with `java.lang.Object`, `Node` of two references, and `Object[]`.
fn begin() -> Dump {
    let mut dump = Dump::new(8);
    dump.load_class(OBJECT, "java/lang/Object");
    dump.load_class(NODE, "Node");
    dump.load_class(ARRAY, "[Ljava/lang/Object;");
    for class in [OBJECT, NODE, ARRAY] {
        dump.root(RootRecord::StickyClass, class);
    }
    let fields = ["left", "right"].map(|it| (it.to_owned(), FieldType::Object)).to_vec();
    dump.class(&ClassRecord { id: OBJECT, ..ClassRecord::default() });
    dump.class(&ClassRecord { id: NODE, superclass: OBJECT, fields, ..ClassRecord::default() });
    dump.class(&ClassRecord { id: ARRAY, superclass: OBJECT, ..ClassRecord::default() });
    dump.root(RootRecord::JniGlobal, FIRST);
    dump.end_segment();
    dump
}

fn address(index: u64) -> u64 {
    FIRST + index * NODE_BYTES
}

/// Writes nodes in segments of 30,000. `of` gives the nodes that each one refers to.
fn write(path: &Path, count: u64, of: impl Fn(u64) -> [Option<u64>; 2]) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let head = begin().finish();
    // Without the record that ends the dump.
    file.write_all(&head[..head.len() - 9]).unwrap();
    for first in (0..count).step_by(30_000) {
        let nodes = first..count.min(first + 30_000);
        file.write_all(&[0x1C, 0, 0, 0, 0]).unwrap();
        file.write_all(&((nodes.end - first) as u32 * 41).to_be_bytes()).unwrap();
        for index in nodes {
            file.write_all(&[0x21]).unwrap();
            file.write_all(&address(index).to_be_bytes()).unwrap();
            file.write_all(&1_u32.to_be_bytes()).unwrap();
            file.write_all(&NODE.to_be_bytes()).unwrap();
            file.write_all(&16_u32.to_be_bytes()).unwrap();
            for to in of(index) {
                file.write_all(&to.map_or(0, address).to_be_bytes()).unwrap();
            }
        }
    }
    file.write_all(&head[head.len() - 9..]).unwrap();
    file.flush().unwrap();
}

/// `PERK_HEAP_LIST` is the number of nodes, by default a million.
#[test]
fn a_long_list() {
    let count = std::env::var("PERK_HEAP_LIST").map_or(1_000_000, |it| it.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    write(&path, count, |index| [(index + 1 < count).then_some(index + 1), None]);
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    assert_eq!(heap.object_count(), count + 3);
    let node = |index| heap.find(address(index)).unwrap();
    assert_eq!(heap.holder(node(0)), Holder::Roots);
    for index in (1..count).step_by(997).chain([count - 1]) {
        assert_eq!(heap.holder(node(index)), Holder::Object(node(index - 1)));
        assert_eq!(heap.retained_bytes(node(index)), (count - index) * NODE_BYTES);
    }
    assert_eq!(heap.shortest_paths().unwrap().to(node(count - 1)).len() as u64, count);
    let all = heap.retained_by_all(&|it| it == node(0)).unwrap();
    assert_eq!(all.count, count);
}

/// Both directions: nothing has one referrer only.
#[test]
fn a_long_list_in_both_directions() {
    let count = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hprof");
    write(&path, count, |index| [(index + 1 < count).then_some(index + 1), index.checked_sub(1)]);
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let node = |index| heap.find(address(index)).unwrap();
    for index in (1..count).step_by(97) {
        assert_eq!(heap.holder(node(index)), Holder::Object(node(index - 1)));
        assert_eq!(heap.retained_bytes(node(index)), (count - index) * NODE_BYTES);
    }
}

/// A list of diamonds, and a list of diamonds whose sides are lists: the tops hold all below.
#[test]
fn diamonds() {
    for side in [1, 50] {
        let (count, length) = (300_000 / side, 2 * side + 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diamonds.hprof");
        // Top, one side, the other side.
        write(&path, count * length + 1, |index| match (index / length, index % length) {
            (diamond, _) if diamond == count => [None, None],
            (_, 0) => [Some(index + 1), Some(index + 1 + side)],
            (diamond, place) if place % side == 0 => [Some((diamond + 1) * length), None],
            _ => [Some(index + 1), None],
        });
        let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
        let node = |index| heap.find(address(index)).unwrap();
        for diamond in (1..=count).step_by(if side == 1 { 97 } else { 7 }) {
            let (top, above) = (diamond * length, (diamond - 1) * length);
            assert_eq!(heap.holder(node(top)), Holder::Object(node(above)));
            let held = (count - diamond) * length + 1;
            assert_eq!(heap.retained_bytes(node(top)), held * NODE_BYTES);
            assert_eq!(heap.retained_bytes(node(above + 1)), side * NODE_BYTES);
            assert_eq!(heap.retained_bytes(node(above + 2 * side)), NODE_BYTES);
        }
    }
}

/// Long cycles, of which a root holds one. The other is garbage that has no first object.
#[test]
fn long_cycles() {
    let count = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cycles.hprof");
    let next = |index| index / count * count + (index + 1) % count;
    write(&path, 2 * count, |index| [Some(next(index)), None]);
    for keep_unreachable in [false, true] {
        let options = Options { keep_unreachable, ..Options::default() };
        let heap = Heap::open(&path, &options, &mut NoWatch).unwrap();
        assert_eq!(heap.object_count(), 2 * count + 3);
        let kept = heap.roots().iter().filter(|it| it.kind == perk_heap::RootKind::Unreachable);
        assert_eq!(kept.count(), usize::from(keep_unreachable));
        let bytes = heap.totals().reachable.bytes;
        let classes: u64 = heap.objects().take(3).map(|it| heap.shallow_bytes(it)).sum();
        let cycles = if keep_unreachable { 2 } else { 1 };
        assert_eq!(bytes, classes + cycles * count * NODE_BYTES);
        let first = heap.find(address(0)).unwrap();
        assert_eq!(heap.retained_bytes(first), count * NODE_BYTES);
    }
}

/// A bitmap over all addresses would be of 800 GB.
#[test]
fn objects_far_apart() {
    let count = 100_000_u64;
    let mut dump = begin();
    let address = |index: u64| FIRST + (index << 26);
    for index in 0..count {
        let next = if index + 1 < count { address(index + 1) } else { 0 };
        dump.objects(address(index), 1, ARRAY, &[next, FIRST, 0x77]);
        if index % 10_000 == 0 {
            dump.end_segment();
        }
    }
    let (_folder, path) = dump::file(&dump.finish());
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    assert_eq!(heap.object_count(), count + 3);
    assert_eq!(heap.totals().dangling_count, count);
    for index in (0..count).step_by(101) {
        let object = heap.find(address(index)).unwrap();
        assert_eq!(object, ObjectId(index as u32 + 3));
        assert_eq!(heap.find(address(index) + 8), None);
        let held = (count - index) * heap.shallow_bytes(object);
        assert_eq!(heap.retained_bytes(object), held);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // Tests that run in the same process have some of it.
    assert!(peak_kb < 2_000_000, "{peak}");
}

/// Weak references to weak references, the first of which has the highest address.
#[test]
fn a_chain_of_weak_references() {
    const COUNT: u64 = 100_000;
    const REFERENCE: u64 = 0x1200;
    const WEAK: u64 = 0x1280;
    let mut dump = begin();
    dump.load_class(REFERENCE, "java/lang/ref/Reference");
    dump.load_class(WEAK, "java/lang/ref/WeakReference");
    let fields = vec![("referent".to_owned(), FieldType::Object)];
    let class = ClassRecord { id: REFERENCE, superclass: OBJECT, fields, ..Default::default() };
    dump.class(&class);
    dump.class(&ClassRecord { id: WEAK, superclass: REFERENCE, ..Default::default() });
    dump.root(RootRecord::Monitor, address(COUNT));
    for index in 0..=COUNT {
        let to = if index == 0 { 0 } else { address(index - 1) };
        dump.instance(address(index), 1, WEAK, &[perk_heap::Value::Reference(to)]);
    }
    let (_folder, path) = dump::file(&dump.finish());
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    // A root holds the first in the order of addresses, too.
    assert_eq!(heap.totals().weakly.count, COUNT - 1);
    assert_eq!(heap.reach(heap.find(address(1)).unwrap()), perk_heap::Reach::Weakly);
}

#[test]
fn a_wide_array() {
    let count = 500_000;
    let mut dump = begin();
    // Each element is there twice, which is one referrer, and half are held by others, too.
    let all: Vec<u64> = (1..=count).flat_map(|it| [address(it), address(it)]).collect();
    let folder = tempfile::tempdir().unwrap();
    dump.objects(FIRST, 1, ARRAY, &all);
    dump.end_segment();
    dump.root(RootRecord::Monitor, address(count + 1));
    for index in 1..=count + 1 {
        let to = [if index > count / 2 && index < count { address(index + 1) } else { 0 }, 0];
        dump.instance(address(index), 1, NODE, &to.map(perk_heap::Value::Reference));
    }
    let path = folder.path().join("wide.hprof");
    fs::write(&path, dump.finish()).unwrap();
    let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
    let array = heap.find(FIRST).unwrap();
    assert_eq!(heap.held_by(Some(array)).len() as u64, count);
    assert_eq!(heap.retained_bytes(array), heap.shallow_bytes(array) + count * NODE_BYTES);
}

/// The references of all objects are read once more for the shortest paths: not of as many as these.
#[test]
fn paths_of_suspects_say_what_they_are() {
    for (count, is_shortest) in [(1000, true), (2_100_000, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.hprof");
        // A node, from which two others lead to the list.
        write(&path, count, |index| match index {
            0 => [Some(1), Some(2)],
            1 | 2 => [Some(3), None],
            _ => [(index + 1 < count).then_some(index + 1), None],
        });
        let heap = Heap::open(&path, &Options::default(), &mut NoWatch).unwrap();
        let node = |index| heap.find(address(index)).unwrap();
        let suspects = heap.suspects(0.5).unwrap();
        let [suspect] = &suspects[..] else { panic!("{suspects:?}") };
        assert_eq!(suspect.suspected, SuspectKind::Object(node(0)));
        assert_eq!((suspect.is_shortest, suspect.point), (is_shortest, Some(node(0))));
        let objects: Vec<_> = suspect.path.iter().map(|it| it.object).collect();
        assert_eq!(objects, [Some(node(0))]);
    }
}
