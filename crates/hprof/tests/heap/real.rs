//! Dumps of a real program, on each JDK.

use std::collections::BTreeMap;
use std::fs::{self, File};

use perk_hprof::heap::{Elements, FieldType, JavaStack, Root, RootKind};
use perk_hprof::{BinaryForm, IdSize, Version};
use perk_testkit::{JavaRun, Jdk, fixture, jdk};

use crate::support::{Heap, MAIN_TIDS, class_histogram, jcmd, options, rewritten};
use crate::text;

pub(crate) const PROGRAM: &str = include_str!("../java/HeapShape.java");

/// The file of a dump of the program, written by the JVM, and class histograms from before and
/// after it.
struct ProgramDump {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    before: BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
}

fn dumped(jdk: &Jdk) -> ProgramDump {
    let classes = fixture::compile_text("HeapShape", PROGRAM);
    let run = JavaRun::new(jdk).classes(classes).jvm_arg("-Xmx128m").main("HeapShape");
    let mut java = run.spawn();
    java.wait_for_stdout("ready");
    let jcmd = |command: &[&str]| jcmd(jdk, java.pid(), command);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jvm.hprof");
    // The first command makes the JVM start the threads that answer it.
    jcmd(&["VM.version"]);
    let before = histogram(&jcmd(&["GC.class_histogram", "-all"]));
    jcmd(&["GC.heap_dump", "-all", path.to_str().unwrap()]);
    let after = histogram(&jcmd(&["GC.class_histogram", "-all"]));
    ProgramDump { _folder: folder, path, before, after }
}

/// Returns the number of objects per class in the text of a histogram.
fn histogram(text: &str) -> BTreeMap<String, u64> {
    class_histogram(text).into_iter().map(|(name, (count, _))| (name, count)).collect()
}

fn main_tid(jdk: &Jdk) -> u64 {
    MAIN_TIDS[usize::from(jdk.version >= 22)]
}

#[test]
fn nothing_of_the_heap_is_lost() {
    jdk::each(|jdk| {
        let dumped = dumped(jdk);
        let jvm = Heap::read(File::open(&dumped.path).unwrap()).without_fillers();
        let (bytes, counts, known) = rewritten(
            &mut File::open(&dumped.path).unwrap(),
            main_tid(jdk),
            &jvm.stack_tids(),
            Some(BinaryForm::default()),
            &options(),
        );
        let perk = Heap::read(&bytes[..]);
        assert_eq!((&*perk.title, perk.id_bytes, perk.dump_count), ("JAVA PROFILE 1.0.2", 8, 1));
        assert!(perk.segments.iter().all(|&bytes| bytes < 1 << 23), "{:?}", perk.segments);

        assert_eq!(perk.classes, jvm.classes);
        assert_eq!(counts.class_count, jvm.classes.len() as u64);
        let objects = jvm.instances.len() + jvm.arrays.len();
        assert_eq!(counts.object_count, objects as u64);
        assert!(perk.instances.keys().eq(jvm.instances.keys()));
        for (id, (trace, class, values)) in &perk.instances {
            assert_eq!(*trace, 0);
            assert_eq!((class, values), (&jvm.instances[id].1, &jvm.instances[id].2));
        }
        assert!(perk.arrays.keys().eq(jvm.arrays.keys()));
        for (id, (trace, elements, bytes)) in &perk.arrays {
            assert_eq!(*trace, 0);
            assert!((elements, bytes) == (&jvm.arrays[id].1, &jvm.arrays[id].2));
        }
        check_names(&jvm, &perk);
        check_roots(&jvm, &perk);
        check_program(&perk);
        check_histogram(&dumped, &perk);
        let asked = &known.asked["HeapShape$Child"];
        assert_eq!(asked[0], ("java.lang.Object".to_owned(), true, vec![]));
        assert_eq!((&*asked[1].0, asked[1].1, asked[1].2.len()), ("HeapShape$Point", false, 10));
        assert_eq!((&*asked[2].0, asked[2].2.len()), ("HeapShape$Child", 2));
        assert_eq!(perk_hprof::read(&bytes[..]).unwrap().threads[0].serial, 200_001);
    });
}

fn check_names(jvm: &Heap, perk: &Heap) {
    for (id, name) in &jvm.class_names {
        let source = match name.starts_with('[') {
            true => perk_profile::names::from_signature(name),
            false => name.replace('/', "."),
        };
        assert_eq!(perk.class_names[id], source.replace("+0x", ".0x"));
    }
    assert_eq!(perk.class_names[&perk.static_type("HeapShape", "ii")], "int[][]");
    assert!(perk.names.len() < jvm.names.len() / 2, "names that nothing uses are written");
    assert!(perk.class_names.values().any(|name| name.starts_with("HeapShape$$Lambda")));
}

/// Checks that roots are the same, except for the serial numbers of threads and traces. These agree
/// with each other as they did before.
fn check_roots(jvm: &Heap, perk: &Heap) {
    assert_eq!(perk.roots.len(), jvm.roots.len());
    let mut serials = BTreeMap::new();
    for (there, here) in jvm.roots.iter().zip(&perk.roots) {
        assert_eq!(there.id, here.id);
        let pair = match (there.kind, here.kind) {
            (RootKind::Thread { serial, trace }, RootKind::Thread { serial: s, trace: t }) => {
                assert_eq!(perk.traces[&t].0, s, "the trace is another thread's");
                let frames = jvm.traces[&trace].1.iter().map(|frame| stable(frame));
                assert_eq!(perk.traces[&t].1, frames.collect::<Vec<_>>());
                Some((serial, s))
            }
            (RootKind::JavaFrame(a), RootKind::JavaFrame(b))
            | (RootKind::JniLocal(a), RootKind::JniLocal(b)) => {
                assert_eq!(a.depth, b.depth);
                Some((a.thread_serial, b.thread_serial))
            }
            (a, b) => {
                assert_eq!(a, b);
                None
            }
        };
        if let Some((there, here)) = pair {
            assert_eq!(*serials.entry(there).or_insert(here), here);
        }
    }
    let distinct: std::collections::BTreeSet<_> = serials.values().collect();
    assert_eq!(distinct.len(), serials.len());
    let main = serials.values().filter(|&&serial| serial == 200_001).count();
    assert_eq!(main, 1, "the thread that the context knows: {serials:?}");
    let sleeps = |(thread, frames): &(u32, Vec<String>)| {
        *thread == 200_001 && frames.iter().any(|it| it.starts_with("HeapShape.main("))
    };
    assert!(perk.traces.values().any(sleeps));
    assert!(jvm.roots.iter().any(|root| matches!(root.kind, RootKind::StickyClass)));
    assert!(jvm.roots.iter().any(|root| matches!(root.kind, RootKind::JniGlobal(_))));
}

/// Returns a frame with the stable name of its class.
fn stable(frame: &str) -> String {
    let (name, place) = frame.split_once('(').unwrap();
    let (class, method) = name.rsplit_once('.').unwrap();
    format!("{}.{method}({place}", perk_profile::names::stable(class))
}

/// Checks the facts that the program's source gives of its heap.
fn check_program(heap: &Heap) {
    let field = |name| heap.static_field("HeapShape", name);
    assert_eq!((field("yes"), field("b"), field("c")), (1, 0xf9, 0x4e2d));
    assert_eq!((field("s"), field("i"), field("j")), (0xfffd, 42, 1 << 40));
    assert_eq!(field("f"), u64::from(1.5_f32.to_bits()));
    assert_eq!(field("d"), 3.25_f64.to_bits());
    let points = heap.references(field("points"));
    assert_eq!(points.len(), 1000);
    let (_, class, _) = heap.instances[&points[10]];
    assert_eq!(heap.class_names[&class], "HeapShape$Child");
    let mut values = heap.fields(points[10]);
    assert_eq!(values.len(), 12);
    // JDK 17 lists the fields of a class from the last to the first.
    values[..2].sort_by_key(|(name, ..)| name.clone());
    assert_eq!(heap.string(values[0].2), "child 10");
    assert_eq!(values[1], ("x".to_owned(), FieldType::Int, u64::from((-10_i32).cast_unsigned())));
    values[2..].sort_by_key(|(name, ..)| name.clone());
    let expected = [
        ("b", FieldType::Byte, 10),
        ("c", FieldType::Char, u64::from('k')),
        ("d", FieldType::Double, 2.5_f64.to_bits()),
        ("f", FieldType::Float, u64::from(5_f32.to_bits())),
        ("none", FieldType::Object, 0),
        ("s", FieldType::Short, 0xfff6),
        ("self", FieldType::Object, points[10]),
        ("x", FieldType::Int, 10),
        ("y", FieldType::Long, 30),
        ("z", FieldType::Boolean, 1),
    ];
    assert_eq!(values[2..], expected.map(|(name, field, bits)| (name.to_owned(), field, bits)));
    let tail = heap.references(field("nullTail"));
    assert_eq!((heap.string(tail[0]), &tail[1..]), ("head".to_owned(), &[0, 0, 0][..]));
    assert_eq!(heap.references(field("allNull")), [0; 5]);
    assert_eq!(heap.references(field("empty")), [0; 0]);
    let (_, elements, bytes) = &heap.arrays[&field("big")];
    assert_eq!(*elements, Elements::Primitives(FieldType::Int));
    assert!(bytes.chunks(4).enumerate().all(|(k, bytes)| bytes == (k as u32).to_be_bytes()));
    assert_eq!(bytes.len(), 4_000_000);
    let objects = heap.references(field("bigObjects"));
    assert_eq!((objects.len(), objects[1000], objects[1]), (300_000, points[0], 0));
}

/// Checks that the dump has as many objects per class as the JVM counts, for classes whose
/// instances the commands themselves did not make.
fn check_histogram(dumped: &ProgramDump, perk: &Heap) {
    let counts = perk.histogram();
    let still = dumped.before.iter().filter(|(name, count)| dumped.after.get(*name) == Some(count));
    let mut checked = 0;
    for (name, &count) in still {
        // Class objects are CLASS DUMPs. Fillers are arrays of int, or of a class of their own.
        if name != "java.lang.Class" && name != "int[]" && !name.contains("Filler") {
            assert_eq!(counts.get(name), Some(&count), "{name}");
            checked += 1;
        }
    }
    assert!(checked * 10 > counts.len() * 8, "{checked} of {} classes", counts.len());
    assert_eq!((counts["HeapShape$Point"], counts["HeapShape$Child"]), (900, 100));
}

#[test]
fn text_has_the_same_heap() {
    jdk::each(|jdk| {
        let dumped = dumped(jdk);
        let jvm = Heap::read(File::open(&dumped.path).unwrap()).without_fillers();
        let mut input = File::open(&dumped.path).unwrap();
        let (bytes, counts, _) = rewritten(&mut input, main_tid(jdk), &[], None, &options());
        let file = String::from_utf8(bytes).unwrap();
        text::check(&file, &jvm, &counts);
        let profile = perk_hprof::read(file.as_bytes()).unwrap();
        assert!(profile.notes.iter().any(|note| note.contains("HEAP DUMP")), "{:?}", profile.notes);
    });
}

#[test]
fn old_readers_get_short_ids_and_one_record() {
    let dumped = dumped(jdk::version(17).unwrap());
    let jvm = Heap::read(File::open(&dumped.path).unwrap()).without_fillers();
    let form = BinaryForm { id_size: IdSize::Four, version: Version::V1_0_1 };
    let mut input = File::open(&dumped.path).unwrap();
    let (bytes, ..) = rewritten(&mut input, MAIN_TIDS[0], &[], Some(form), &options());
    let perk = Heap::read(&bytes[..]);
    assert_eq!((&*perk.title, perk.id_bytes, perk.dump_count), ("JAVA PROFILE 1.0.1", 4, 1));
    assert_eq!(perk.segments.len(), 1);
    assert!(perk.instances.keys().copied().eq(jvm.instances.keys().map(|id| id / 8)));
    for (&id, class) in &jvm.classes {
        let short = &perk.classes[&(id / 8)];
        assert_eq!((short.superclass, short.loader), (class.superclass / 8, class.loader / 8));
        assert_eq!(short.fields, class.fields);
        for (there, here) in class.statics.iter().zip(&short.statics) {
            let is_id = there.1 == FieldType::Object;
            let bits = if is_id { there.2 / 8 } else { there.2 };
            assert_eq!((&there.0, there.1, bits), (&here.0, here.1, here.2));
        }
    }
    for (&id, (_, elements, _)) in &jvm.arrays {
        if matches!(elements, Elements::Objects(_)) {
            let there = jvm.references(id).into_iter().map(|id| id / 8);
            assert!(there.eq(perk.references(id / 8)));
        }
    }
    for (&id, (_, class, _)) in &jvm.instances {
        let (_, short_class, values) = &perk.instances[&(id / 8)];
        assert_eq!(class / 8, *short_class);
        let dumped_bytes = perk.classes[short_class].instance_bytes as usize;
        assert_eq!(values.len(), dumped_bytes);
        for (there, here) in jvm.fields(id).into_iter().zip(perk.fields(id / 8)) {
            let is_id = there.1 == FieldType::Object;
            let bits = if is_id { there.2 / 8 } else { there.2 };
            assert_eq!((there.0, there.1, bits), here);
        }
    }
    assert!(perk.roots.iter().map(|root| root.id).eq(jvm.roots.iter().map(|root| root.id / 8)));
}

#[test]
fn values_can_be_left_out() {
    let dumped = dumped(jdk::version(17).unwrap());
    let jvm = Heap::read(File::open(&dumped.path).unwrap()).without_fillers();
    let mut options = options();
    (options.primitive_fields, options.primitive_arrays) = (false, false);
    let mut input = File::open(&dumped.path).unwrap();
    let form = Some(BinaryForm::default());
    let (bytes, ..) = rewritten(&mut input, MAIN_TIDS[0], &[], form, &options);
    let perk = Heap::read(&bytes[..]);
    for &id in jvm.instances.keys() {
        for (there, here) in jvm.fields(id).into_iter().zip(perk.fields(id)) {
            let bits = if there.1 == FieldType::Object { there.2 } else { 0 };
            assert_eq!((there.0, there.1, bits), here);
        }
    }
    for (id, (_, elements, bytes)) in &perk.arrays {
        assert_eq!(*elements, jvm.arrays[id].1);
        match elements {
            Elements::Objects(_) => assert!(*bytes == jvm.arrays[id].2),
            Elements::Primitives(_) => assert!(bytes.is_empty()),
        }
    }
    assert_eq!(perk.static_field("HeapShape", "i"), 0);
    assert_ne!(perk.static_field("HeapShape", "points"), 0);
}

/// A file keeps its names, threads and traces from dump to dump.
#[test]
fn a_file_has_several_dumps() {
    use perk_hprof::{Format, Writer};
    let dumped = dumped(jdk::version(17).unwrap());
    let jvm = Heap::read(File::open(&dumped.path).unwrap());
    let (mut profile, main) = crate::support::profile_with_main();
    let mut known = crate::support::FixedContext {
        main: Some((MAIN_TIDS[0], main)),
        stack_tids: Some(jvm.stack_tids()),
        ..Default::default()
    };
    let mut writer = Writer::begin(Vec::new(), Format::Binary, &profile).unwrap();
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let mut input = File::open(&dumped.path).unwrap();
        known.asked.clear();
        writer.heap_dump(&mut profile, &mut input, &options(), &mut known).unwrap();
        sizes.push(writer.out().len());
    }
    let perk = Heap::read(&writer.out()[..]);
    assert_eq!(perk.dump_count, 3);
    assert_eq!(perk.roots.len(), 3 * jvm.roots.len());
    assert_eq!(perk.classes, jvm.classes);
    assert_eq!(sizes[2] - sizes[1], sizes[1] - sizes[0], "each fact is reported again");
    assert!(sizes[1] - sizes[0] < sizes[0]);
    assert_eq!(profile.traces().len(), 1 + thread_count(&jvm.roots));
}

fn thread_count(roots: &[Root]) -> usize {
    roots.iter().filter(|root| matches!(root.kind, RootKind::Thread { .. })).count()
}

/// The roots of a stack name its thread.
#[test]
fn frames_belong_to_threads_with_a_root() {
    let dumped = dumped(jdk::version(17).unwrap());
    let mut input = fs::File::open(&dumped.path).unwrap();
    let form = Some(BinaryForm::default());
    let (bytes, ..) = rewritten(&mut input, MAIN_TIDS[0], &[], form, &options());
    let perk = Heap::read(&bytes[..]);
    let mut depths = BTreeMap::new();
    for root in &perk.roots {
        match root.kind {
            RootKind::Thread { serial, trace } => {
                depths.insert(serial, perk.traces[&trace].1.len());
            }
            RootKind::JavaFrame(JavaStack { thread_serial, depth }) => {
                assert!((depth as usize) < depths[&thread_serial]);
            }
            _ => {}
        }
    }
    assert!(depths.len() > 5);
}

impl Heap {
    fn string(&self, id: u64) -> String {
        let fields = self.fields(id);
        let value = fields.iter().find(|(name, ..)| name == "value").unwrap().2;
        String::from_utf8(self.arrays[&value].2.clone()).unwrap()
    }

    /// Returns the class of the array that a static field holds.
    fn static_type(&self, class: &str, field: &str) -> u64 {
        match self.arrays[&self.static_field(class, field)].1 {
            Elements::Objects(class) => class,
            Elements::Primitives(_) => panic!("{field} holds no objects"),
        }
    }
}
