//! `heap=dump`: the heap of real programs, compared with the JVM's own dump of the same moment, and
//! the traces of its objects' allocations.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use perk_hprof::heap::{Elements, FieldType, Record, Stream};
use perk_testkit::hprof::{Recording, Section};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk};

const N: u64 = 1000;
const FILE: &str = "o.hprof";
const GO: &str = "go";
/// The trace that means no trace, and the one without frames.
const NO_TRACES: [u32; 2] = [0, 300_000];

/// The contents of a file, by address.
#[derive(Debug, Default)]
struct Heap {
    names: HashMap<u64, String>,
    /// The names of classes.
    classes: HashMap<u64, String>,
    /// The class and values of instances.
    instances: HashMap<u64, (u64, Vec<u8>)>,
    arrays: HashMap<u64, (Elements, u32, Vec<u8>)>,
    /// The fields that each class declares, in the order of their values.
    fields: HashMap<u64, Vec<(u64, FieldType)>>,
    /// The traces of instances and arrays.
    traces: HashMap<u64, u32>,
    statics: BTreeMap<(String, String), u64>,
    /// The names of the methods on each trace.
    stacks: HashMap<u32, Vec<String>>,
    roots: usize,
    ends: usize,
}

impl Heap {
    #[track_caller]
    fn read(bytes: &[u8]) -> Self {
        let (_, mut stream) = Stream::new(bytes).unwrap();
        let mut heap = Heap::default();
        let (mut frames, mut unnamed, mut statics) = (HashMap::new(), Vec::new(), Vec::new());
        let mut array = 0;
        while let Some(record) = stream.next().unwrap() {
            match record {
                Record::Utf8 { id, bytes } => {
                    heap.names.insert(id, String::from_utf8_lossy(bytes).into_owned());
                }
                Record::LoadClass { class, name, .. } => unnamed.push((class, name)),
                Record::Frame { id, method, .. } => drop(frames.insert(id, method)),
                Record::Trace { serial, frames: its, .. } => {
                    let names = its.iter().map(|it| heap.names[&frames[&it]].clone());
                    heap.stacks.insert(serial, names.collect());
                }
                Record::Class(class) => {
                    let its = class.statics().map(|it| (class.id, it.name, it.value.bits()));
                    statics.extend(its);
                    heap.fields.insert(class.id, class.fields().collect());
                }
                Record::Instance { id, trace, class, values } => {
                    heap.instances.insert(id, (class, values.to_vec()));
                    heap.traces.insert(id, trace);
                }
                Record::Array { id, trace, elements, length, bytes } => {
                    heap.arrays.insert(id, (elements, length, bytes.to_vec()));
                    heap.traces.insert(id, trace);
                    array = id;
                }
                Record::MoreElements(bytes) => {
                    heap.arrays.get_mut(&array).unwrap().2.extend_from_slice(bytes);
                }
                Record::Root(_) => heap.roots += 1,
                Record::DumpEnd => heap.ends += 1,
                Record::Segment { .. } | Record::Body { .. } | Record::Other { .. } => {}
                Record::Header(_) | Record::Heap { .. } => panic!("not in files of an agent"),
            }
        }
        for (class, name) in unnamed {
            heap.classes.insert(class, heap.names[&name].replace(['/', '+'], "."));
        }
        for (class, name, value) in statics {
            heap.statics.insert((heap.classes[&class].clone(), heap.names[&name].clone()), value);
        }
        heap
    }

    fn of_class(&self, name: &str) -> Vec<u64> {
        let is_it = |class: &u64| self.classes.get(class).is_some_and(|it| it == name);
        let found = self.instances.iter().filter(|(_, (class, _))| is_it(class));
        found.map(|(&id, _)| id).collect()
    }

    fn field(&self, name: &str) -> u64 {
        self.statics[&("HeapObjects".to_owned(), name.to_owned())]
    }

    /// Returns the bits of a field that an object's own class declares.
    fn value(&self, object: u64, name: &str) -> u64 {
        let (class, values) = &self.instances[&object];
        let mut at = 0;
        for (field, its_type) in &self.fields[class] {
            let end = at + its_type.bytes(8);
            if self.names[field] == name {
                return number(&values[at..end]);
            }
            at = end;
        }
        panic!("{} has no field {name}", self.classes[class]);
    }

    /// Returns the methods on the trace of an object.
    fn made_by(&self, id: u64) -> &[String] {
        &self.stacks[&self.traces[&id]]
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn run(jdk: &Jdk, options: &str) -> JavaRun {
    let run = JavaRun::new(jdk).agent(&format!("file={FILE},{options}"));
    run.main("HeapObjects").args([N.to_string()]).jvm_arg("-Xmx256m")
}

fn go(running: RunningJava) -> Outcome {
    std::fs::write(running.dir().join(GO), "").unwrap();
    let outcome = running.wait();
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    assert_eq!(outcome.number("sum"), (0..N).sum::<u64>() + 7 * N);
    outcome
}

/// Checks one list of Nodes with all their values, and arrays with all their elements.
#[track_caller]
fn check_own_objects(heap: &Heap) {
    assert_eq!(heap.field("answer"), 42);
    let nodes = heap.of_class("HeapObjects$Node");
    assert_eq!(nodes.len() as u64, N);
    let mut node = heap.field("head");
    for id in (0..N).rev() {
        let (class, values) = &heap.instances[&node];
        assert_eq!(heap.classes[class], "HeapObjects$Node");
        // The class's own fields, without perk's.
        assert_eq!(values.len(), 4 + 8 + 8 + 8);
        assert_eq!((heap.value(node, "id"), heap.value(node, "twice")), (id, 2 * id));
        let array = &heap.arrays[&heap.value(node, "bytes")];
        assert_eq!(*array, (Elements::Primitives(FieldType::Byte), 7, vec![0; 7]));
        node = heap.value(node, "next");
    }
    assert_eq!(node, 0);
    let (_, length, elements) = &heap.arrays[&heap.field("holes")];
    assert_eq!((*length, elements.len()), (5, 40));
    assert_eq!(number(&elements[..8]), heap.field("head"));
    assert_eq!(&elements[24..], [0; 16]);
    let (_, length, elements) = &heap.arrays[&heap.field("numbers")];
    assert_eq!(u64::from(*length), N);
    assert!(elements.chunks(4).map(number).eq(0..N));
}

#[test]
fn every_collector_s_heap_is_dumped_at_exit() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            let flag = format!("-XX:+Use{collector}GC");
            let known = Command::new(jdk.java()).args([&flag, "-version"]).output().unwrap();
            if !known.status.success() {
                continue;
            }
            let running = run(jdk, "heap=dump,format=b").jvm_arg(flag).spawn();
            let outcome = go(running);
            let heap = Heap::read(outcome.bytes(FILE));
            check_own_objects(&heap);
            assert_eq!(heap.ends, 1, "{collector}");
            assert!(heap.roots > 100 && heap.traces.values().all(|trace| *trace == 0));
        }
    });
}

/// As long as no garbage is collected, addresses stay: each object of one dump is in the other.
#[test]
fn it_is_what_the_jvm_s_own_dump_of_the_same_moment_has() {
    jdk::each(|jdk| {
        let mut running = run(jdk, "heap=dump,format=b,doe=n").spawn();
        running.wait_for_stdout("ready");
        // The first attach makes objects of its own.
        let other = running.dir().join("other.hprof");
        let jcmd = |arguments: &[&str]| {
            let pid = running.pid().to_string();
            let output = Command::new(jdk.jcmd()).arg(pid).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        };
        jcmd(&["VM.version"]);
        let dump = |running: &mut RunningJava| {
            running.signal(Signal::QUIT);
            running.wait_until("a dump", |it| {
                std::fs::read(it.dir().join(FILE)).is_ok_and(|bytes| binary_ends(&bytes) == 1)
            });
        };
        jcmd(&["GC.heap_dump", "-all", other.to_str().unwrap()]);
        dump(&mut running);
        let (ours, theirs) = (std::fs::read(running.dir().join(FILE)), std::fs::read(&other));
        go(running);
        let (ours, theirs) = (Heap::read(&ours.unwrap()), Heap::read(&theirs.unwrap()));
        check_own_objects(&ours);
        assert_eq!(ours.roots.abs_diff(theirs.roots) * 20 / theirs.roots, 0);
        // The fillers that threads leave in gaps of the heap when the JVM stops them.
        let mut fillers = Vec::new();
        let mut changed = Vec::new();
        for (id, (class, values)) in &theirs.instances {
            let Some((its_class, its_values)) = ours.instances.get(id) else {
                fillers.push(theirs.classes[class].as_str());
                continue;
            };
            assert_eq!(ours.classes[its_class], theirs.classes[class]);
            if values != its_values {
                changed.push(theirs.classes[class].as_str());
            }
        }
        for (id, (elements, length, _)) in &theirs.arrays {
            match ours.arrays.get(id) {
                Some(its) => assert_eq!((&its.0, &its.1), (elements, length)),
                // Nothing refers to this array.
                None if *elements == Elements::Primitives(FieldType::Int) => {}
                None => fillers.push("array"),
            }
        }
        assert!(fillers.len() < 50, "{fillers:?}");
        // Threads, references and the like change in between.
        assert!(changed.len() * 100 < theirs.instances.len(), "{changed:?}");
        assert!(!changed.iter().any(|class| class.starts_with("HeapObjects")), "{changed:?}");
    });
}

#[test]
fn objects_are_on_the_traces_of_their_allocation() {
    jdk::each(|jdk| {
        let running = run(jdk, "heap=all,format=b,depth=8").jvm_arg("-XX:+UseG1GC").spawn();
        let outcome = go(running);
        let heap = Heap::read(outcome.bytes(FILE));
        check_own_objects(&heap);
        for node in heap.of_class("HeapObjects$Node") {
            assert_eq!(heap.made_by(node), ["<init>", "chain", "main"]);
            let bytes = heap.value(node, "bytes");
            assert_eq!(heap.made_by(bytes), ["<init>", "chain", "main"]);
        }
        assert_eq!(heap.made_by(heap.field("numbers")), ["main"]);
        let unknown = heap.traces.values().filter(|trace| NO_TRACES.contains(trace)).count();
        // The objects that existed before the first probe.
        assert!(unknown < heap.traces.len(), "{unknown} of {}", heap.traces.len());
    });
}

/// Most of the heap were fillers in its gaps: a thread's allocation buffer has megabytes that it
/// never uses.
#[test]
fn fillers_are_no_objects() {
    const THREADS: u64 = 100;
    const ARRAYS: u64 = 1000 * THREADS;
    // Header and four elements.
    const BYTES: u64 = 32;
    // The JDK's own objects.
    const OTHERS: u64 = 100_000;
    jdk::each(|jdk| {
        for (collector, options) in [
            ("G1", "heap=dump,format=b"),
            ("Parallel", "heap=dump,format=b"),
            ("Serial", "heap=dump,format=b"),
            ("G1", "heap=all,format=b"),
            ("Serial", "heap=dump"),
        ] {
            let what = format!("JDK {} {collector} {options}", jdk.version);
            let run = JavaRun::new(jdk).agent(&format!("{options},file={FILE}"));
            let run = run.jvm_arg("-Xms2g").jvm_arg(format!("-XX:+Use{collector}GC"));
            let outcome = run.main("KeptByThreads").args([THREADS.to_string()]).run();
            outcome.assert_success();
            let arrays: Vec<(u64, u64)> = if options.ends_with('b') {
                let heap = Heap::read(outcome.bytes(FILE));
                let ints = Elements::Primitives(FieldType::Int);
                let arrays = heap.arrays.into_values().filter(|it| it.0 == ints);
                arrays.map(|(_, length, _)| (length.into(), 16 + 4 * u64::from(length))).collect()
            } else {
                let text = String::from_utf8_lossy(outcome.bytes(FILE));
                let lines = text.lines().filter(|it| it.ends_with("elem type=int[])"));
                let number = |line: &str, name: &str| -> u64 {
                    let rest = line.split_once(name).unwrap().1;
                    rest.split(',').next().unwrap().parse().unwrap()
                };
                lines.map(|it| (number(it, "nelems="), number(it, "sz="))).collect()
            };
            let kept = arrays.iter().filter(|(length, _)| *length == 4).count() as u64;
            assert!((ARRAYS..ARRAYS + 500).contains(&kept), "{what}: {kept}");
            let bytes: u64 = arrays.iter().map(|(_, bytes)| bytes).sum();
            assert!((ARRAYS * BYTES..ARRAYS * BYTES + OTHERS).contains(&bytes), "{what}: {bytes}");
        }
    });
}

/// The original died at the second dump.
#[test]
fn a_file_holds_many_dumps() {
    jdk::each(|jdk| {
        for options in ["heap=dump,format=b", "heap=all,format=b,gc=y", "heap=all,cpu=samples"] {
            let mut running = run(jdk, options).spawn();
            running.wait_for_stdout("ready");
            for dump_count in 1..=2 {
                running.signal(Signal::QUIT);
                running.wait_until("a dump", |it| dump_count == ends(it.dir(), options));
            }
            let outcome = go(running);
            assert_eq!(ends_in(outcome.bytes(FILE), options), 3, "{options}");
        }
    });
}

fn ends(folder: &Path, options: &str) -> usize {
    std::fs::read(folder.join(FILE)).map_or(0, |bytes| ends_in(&bytes, options))
}

/// The dumps of a file that may still be written, and then ends anywhere.
fn binary_ends(bytes: &[u8]) -> usize {
    let Ok((_, mut stream)) = Stream::new(bytes) else { return 0 };
    let mut ends = 0;
    while let Ok(Some(record)) = stream.next() {
        ends += usize::from(matches!(record, Record::DumpEnd));
    }
    ends
}

fn ends_in(bytes: &[u8], options: &str) -> usize {
    if options.contains("format=b") {
        binary_ends(bytes)
    } else {
        bytes.split(|byte| *byte == b'\n').filter(|line| line == b"HEAP DUMP END").count()
    }
}

/// The sizes of objects in the text and those that the JVM reports, by class name.
#[test]
fn sizes_are_those_of_the_jvm() {
    jdk::each(|jdk| {
        let mut running = run(jdk, "heap=dump,doe=n").spawn();
        running.wait_for_stdout("ready");
        let histogram = || {
            let mut jcmd = Command::new(jdk.jcmd());
            let jcmd = jcmd.arg(running.pid().to_string()).args(["GC.class_histogram", "-all"]);
            String::from_utf8(jcmd.output().unwrap().stdout).unwrap()
        };
        histogram();
        let histogram = histogram();
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |it| ends(it.dir(), "format=a") == 1);
        let text = std::fs::read_to_string(running.dir().join(FILE)).unwrap();
        go(running);
        let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for line in text.lines().filter(|line| line.starts_with("OBJ ")) {
            let (_, rest) = line.split_once("(sz=").unwrap();
            let (bytes, rest) = rest.split_once(',').unwrap();
            let (_, class) = rest.split_once("class=").unwrap();
            let (class, _) = class.rsplit_once('@').unwrap();
            let sum = found.entry(class.to_owned()).or_default();
            *sum = (sum.0 + 1, sum.1 + bytes.parse::<u64>().unwrap());
        }
        let mut compared = 0;
        // `  12:    345    6789  java.lang.String (java.base@17)`
        for line in histogram.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let [_, count, bytes, class, ..] = words[..] else { continue };
            let (Ok(count), Ok(bytes)) = (count.parse::<u64>(), bytes.parse::<u64>()) else {
                continue;
            };
            let Some(&(its_count, its_bytes)) = found.get(class) else { continue };
            // The instances also contain the static fields of the classes that they represent.
            if class == "java.lang.Class" {
                continue;
            }
            // The objects that come and go between the two have the same size.
            assert_eq!(its_bytes * count, bytes * its_count, "{class}");
            compared += 1;
        }
        assert!(compared > 100, "{compared} classes");
        assert_eq!(found["HeapObjects$Node"].0, N);
    });
}

/// The JVM cannot finish its dump, and throws. It loads classes for that, while perk's thread holds
/// the recorder, which the events of classes need.
#[test]
fn a_dump_that_fails_is_reported_in_a_line_and_hurts_nobody() {
    jdk::each(|jdk| {
        let classes = perk_testkit::fixture::fixtures();
        let agent =
            format!("-agentpath:{}=heap=all,format=b", perk_testkit::agent::agent_so().display());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(GO), "").unwrap();
        // The limit of a file of this process is one megabyte.
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -f 1024; exec \"$@\"", "bash"]).arg(jdk.java());
        command.args(["-Xshare:auto", "-cp"]).arg(classes).args([&agent, "HeapObjects", "1000"]);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("HPROF ERROR: the heap cannot be dumped: "), "{stderr}");
        let sum = (0..N).sum::<u64>() + 7 * N;
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("ready\nsum={sum}\n"));
    });
}

/// Readers such as jhat look for the stack of a thread when they meet its root.
#[test]
fn threads_and_stacks_stand_before_what_refers_to_them() {
    jdk::each(|jdk| {
        for options in [
            "heap=dump,format=b",
            "heap=dump,format=b,version=1.0.1",
            "heap=all,format=b,thread=y",
            "heap=dump",
            "heap=all,cpu=samples",
        ] {
            let agent = format!("{options},file={FILE}");
            let run = JavaRun::new(jdk).agent(&agent).jvm_arg("-Xmx128m");
            let outcome = run.main("IdleThreads").args(["10", "20"]).run();
            outcome.assert_success();
            let recording = Recording::read(outcome.bytes(FILE));
            let recording = recording.unwrap_or_else(|what| panic!("{options}: {what}"));
            let heaps = recording.sections.iter().filter_map(|section| match section {
                Section::Heap(heap) => Some(heap),
                _ => None,
            });
            let mut count = 0;
            for heap in heaps {
                let late = &heap.late;
                assert!(late.is_empty(), "JDK {} {options}: {late:?}", jdk.version);
                let name = |serial: &u32| recording.threads[serial].name.as_str();
                let stacks = heap.roots.iter().filter_map(|root| Some((root.thread?, root.trace?)));
                let stacks = stacks.filter(|it| it.0 != 200_000);
                for (thread, trace) in stacks {
                    assert_eq!(recording.traces[&trace].thread, Some(thread), "{options}");
                    let frames = recording.frames(trace);
                    let is_there = frames.iter().any(|it| it.method == "IdleThreads.idle");
                    assert!(!name(&thread).starts_with("idle-") || is_there, "{frames:?}");
                    count += usize::from(is_there);
                }
            }
            assert_eq!(count, 10, "{options}");
        }
    });
}
