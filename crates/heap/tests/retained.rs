//! A program whose retained sizes are arithmetic, with each layout of objects.

use perk_heap::{ClassIndex, Heap, Label, NoWatch, ObjectId, Options, Refs};
use perk_testkit::{JavaRun, Jdk, jdk};

use crate::real::ProgramDump;

/// The entries of each collection. Tables for twice as many have 32,768 places.
const COUNT: u64 = 10_000;
const PLACES: u64 = 32_768;

/// The sizes of objects in a JVM.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    header: u64,
    array_header: u64,
    reference: u64,
}

impl Sizes {
    /// Compressed references and class pointers.
    const USUAL: Self = Self { header: 12, array_header: 16, reference: 4 };
    /// Compressed class pointers only: references are aligned to 8 bytes.
    const WIDE: Self = Self { header: 12, array_header: 16, reference: 8 };
    const COMPACT: Self = Self { header: 8, array_header: 12, reference: 4 };

    /// Returns the size of an object with these numbers of references and of bytes of other fields.
    fn object(self, reference_count: u64, other_bytes: u64) -> u64 {
        (self.header + reference_count * self.reference + other_bytes).next_multiple_of(8)
    }

    /// Returns the size of an array with elements of these bytes.
    fn array(self, element_bytes: u64, length: u64) -> u64 {
        (self.array_header.next_multiple_of(element_bytes) + element_bytes * length)
            .next_multiple_of(8)
    }

    /// A table of nodes, and in it nodes with hash, key, value and next.
    fn table(self) -> u64 {
        let integer = self.object(0, 4);
        self.array(self.reference, PLACES) + COUNT * (self.node() + integer)
    }

    fn node(self) -> u64 {
        self.object(3, 4)
    }

    fn boxes(self) -> u64 {
        // HashMap: keySet, values, table, entrySet; size, modCount, threshold, loadFactor.
        self.object(4, 16) + self.table() + COUNT * self.box_of_long()
    }

    fn box_of_long(self) -> u64 {
        // The field is aligned to 8 bytes.
        self.header.next_multiple_of(8) + 8
    }

    fn arrays(self) -> u64 {
        // ConcurrentHashMap: keySet, values of its superclass; table, nextTable, counterCells,
        // keySet, values, entrySet; baseCount; sizeCtl, transferIndex, cellsBusy.
        self.object(8, 20) + self.table() + COUNT * self.array(1, 100)
    }

    fn list(self) -> u64 {
        // LinkedList: first, last; modCount, size. Node: item, next, prev.
        self.object(2, 8) + COUNT * (self.object(3, 0) + self.object(0, 0))
    }

    fn soft(self, holds: bool) -> u64 {
        // ArrayList: elementData; modCount, size. SoftReference: referent, queue, next, discovered;
        // timestamp, which is aligned to 8 bytes.
        let reference = (self.header + 4 * self.reference).next_multiple_of(8) + 8;
        let content = if holds { self.array(1, 64) } else { 0 };
        self.object(1, 8) + self.array(self.reference, COUNT) + COUNT * (reference + content)
    }

    fn nodes(self) -> u64 {
        COUNT * self.object(2, 8)
    }
}

/// Returns the object that a static field refers to.
fn static_field(heap: &Heap, class: ClassIndex, name: &str) -> ObjectId {
    let object = heap.class(class).object.unwrap();
    let references = heap.references(object).unwrap();
    references.into_iter().find(|it| it.label == Label::Static(name.to_owned())).unwrap().to
}

fn check(jdk: &Jdk, flags: &[&str], sizes: Sizes) {
    let run = JavaRun::new(jdk).jvm_arg("-Xmx256m");
    let run = flags.iter().fold(run, |run, flag| run.jvm_arg(*flag));
    let dumped = ProgramDump::new(run.main("RetainedSizes").args([COUNT.to_string()]), "ready");
    for refs in [Refs::Strong, Refs::Soft, Refs::All] {
        let options = Options { refs, ..Options::default() };
        let heap = Heap::open(&dumped.path, &options, &mut NoWatch).unwrap();
        let [class] = heap.classes_named("RetainedSizes")[..] else { panic!("no class") };
        let retained = |name| heap.retained_bytes(static_field(&heap, class, name));
        let what = format!("JDK {}, {flags:?}, {refs:?}", jdk.version);
        let soft = sizes.soft(refs != Refs::Strong);
        assert_eq!(retained("boxes"), sizes.boxes(), "boxes, {what}");
        assert_eq!(retained("list"), sizes.list(), "list, {what}");
        assert_eq!(retained("arrays"), sizes.arrays(), "arrays, {what}");
        assert_eq!(retained("soft"), soft, "soft, {what}");
        assert_eq!(retained("first"), sizes.nodes(), "nodes, {what}");
        let object = heap.class(class).object.unwrap();
        let of_class = heap.retained_bytes(object) - heap.shallow_bytes(object);
        let sum = sizes.boxes() + sizes.list() + sizes.arrays() + soft + sizes.nodes();
        // The class holds its constants and the call site of its lambda, too.
        assert!((sum..sum + 6000).contains(&of_class), "{of_class} for {sum}, {what}");

        let [node] = heap.classes_named("RetainedSizes$Node")[..] else { panic!("no class") };
        let of_nodes = heap.retained_by_all(&|it| heap.class_of(it) == node).unwrap();
        assert_eq!((of_nodes.count, of_nodes.bytes), (COUNT, sizes.nodes()), "{what}");
        let rows = heap.sets(1, &|it| (heap.class_of(it) == node).then_some(0));
        assert_eq!((rows[0].count, rows[0].least_bytes), (COUNT, sizes.nodes()), "{what}");

        let array = sizes.array(8, COUNT);
        let holds_array = heap.threads().iter().filter(|thread| {
            let is_array = |it: &perk_heap::Local| heap.shallow_bytes(it.object) == array;
            thread.locals.iter().any(is_array)
        });
        let holders: Vec<ObjectId> = holds_array.filter_map(|it| it.object).collect();
        let [holder] = holders[..] else { panic!("{holders:?}, {what}") };
        let retained = heap.retained_bytes(holder);
        // The thread has a name and other small objects.
        assert!((array..array + 4000).contains(&retained), "{retained} for {array}, {what}");
    }
}

#[test]
fn retained_sizes_are_arithmetic() {
    jdk::each(|jdk| check(jdk, &[], Sizes::USUAL));
}

#[test]
fn retained_sizes_with_wide_references() {
    jdk::each(|jdk| {
        check(jdk, &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"], Sizes::WIDE);
        check(jdk, &["-XX:+UseZGC"], Sizes::WIDE);
    });
}

#[test]
fn retained_sizes_with_compact_headers() {
    jdk::on(25, |jdk| check(jdk, &["-XX:+UseCompactObjectHeaders"], Sizes::COMPACT));
}
