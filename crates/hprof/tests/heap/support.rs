//! A heap as a file gives it, and a context that knows little.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::process::Command;

use perk_hprof::heap::{
    ClassFields, Context, Elements, FieldType, HeapCounts, HeapOptions, InjectedFields, Record,
    Root, RootKind, Stream,
};
use perk_hprof::{BinaryForm, Format, Writer};
use perk_profile::{Profile, StrId, Thread, ThreadId, TraceId, mutf8};
use perk_testkit::Jdk;

/// The contents of a file of heap dumps. If several dumps have the same ids, the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    pub(crate) title: String,
    pub(crate) id_bytes: usize,
    pub(crate) names: BTreeMap<u64, String>,
    /// LOAD CLASS: names by the ids of class objects, and by serial numbers.
    pub(crate) class_names: BTreeMap<u64, String>,
    pub(crate) serial_names: BTreeMap<u32, String>,
    pub(crate) classes: BTreeMap<u64, DumpClass>,
    /// Trace, class and values.
    pub(crate) instances: BTreeMap<u64, (u32, u64, Vec<u8>)>,
    pub(crate) arrays: BTreeMap<u64, (u32, Elements, Vec<u8>)>,
    pub(crate) roots: Vec<Root>,
    /// Frames of traces, as text.
    pub(crate) frames: BTreeMap<u64, String>,
    /// Thread and frames, by serial number.
    pub(crate) traces: BTreeMap<u32, (u32, Vec<String>)>,
    pub(crate) segments: Vec<u64>,
    pub(crate) dump_count: usize,
    pub(crate) other_tags: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DumpClass {
    pub(crate) superclass: u64,
    pub(crate) loader: u64,
    pub(crate) signers: u64,
    pub(crate) domain: u64,
    pub(crate) instance_bytes: u32,
    pub(crate) statics: Vec<(String, FieldType, u64)>,
    pub(crate) fields: Vec<(String, FieldType)>,
}

impl Heap {
    pub(crate) fn read(input: impl Read) -> Self {
        let (header, mut stream) = Stream::new(input).unwrap();
        let mut heap = Self { title: header.title, id_bytes: header.id_bytes, ..Self::default() };
        let mut open = 0;
        while let Some(record) = stream.next().unwrap() {
            match record {
                Record::Utf8 { id, bytes } => {
                    assert_ne!(id, 0);
                    let text = mutf8::decode(bytes).into_owned();
                    assert_eq!(heap.names.insert(id, text), None, "a name's id is used twice");
                }
                Record::LoadClass { serial, class, name } => {
                    let name = heap.names[&name].clone();
                    heap.class_names.insert(class, name.clone());
                    assert_eq!(heap.serial_names.insert(serial, name), None);
                }
                Record::Frame { id, method, source, class_serial, line, .. } => {
                    let class = heap.serial_names[&class_serial].replace(['/', '+'], ".");
                    let (method, source) = (&heap.names[&method], heap.names.get(&source));
                    heap.frames.insert(id, format!("{class}.{method}({source:?}:{line})"));
                }
                Record::Trace { serial, thread_serial, frames } => {
                    let frames = frames.iter().map(|id| heap.frames[&id].clone()).collect();
                    heap.traces.insert(serial, (thread_serial, frames));
                }
                Record::Segment { bytes } => heap.segments.push(bytes),
                Record::DumpEnd => heap.dump_count += 1,
                Record::Root(root) => heap.roots.push(root),
                Record::Class(class) => {
                    let name = |id| heap.names[&id].clone();
                    let statics =
                        class.statics().map(|it| (name(it.name), it.value.field, it.value.bits()));
                    let dumped = DumpClass {
                        superclass: class.superclass,
                        loader: class.loader,
                        signers: class.signers,
                        domain: class.domain,
                        instance_bytes: class.instance_bytes,
                        statics: statics.collect(),
                        fields: class.fields().map(|(id, field)| (name(id), field)).collect(),
                    };
                    assert_eq!(class.constants().count(), 0);
                    heap.classes.insert(class.id, dumped);
                }
                Record::Instance { id, trace, class, values } => {
                    heap.instances.insert(id, (trace, class, values.to_vec()));
                }
                Record::Array { id, trace, elements, length, bytes } => {
                    let total = length as usize * elements.field_type().bytes(heap.id_bytes);
                    assert!(bytes.len() == total || bytes.is_empty());
                    heap.arrays.insert(id, (trace, elements, bytes.to_vec()));
                    open = id;
                }
                Record::MoreElements(bytes) => {
                    heap.arrays.get_mut(&open).unwrap().2.extend_from_slice(bytes);
                }
                Record::Body { tag, .. } | Record::Other { tag, .. } => heap.other_tags.push(tag),
                Record::Header(_) | Record::Heap { .. } => panic!("{record:?}"),
            }
        }
        heap
    }

    /// Returns the id of the class with the name.
    pub(crate) fn class(&self, name: &str) -> u64 {
        let mut ids = self.classes.keys().filter(|id| self.class_names[id] == name);
        *ids.next().unwrap_or_else(|| panic!("no class {name}"))
    }

    pub(crate) fn static_field(&self, class: &str, field: &str) -> u64 {
        let statics = &self.classes[&self.class(class)].statics;
        statics.iter().find(|(name, ..)| name == field).unwrap().2
    }

    /// Returns the fields of an instance: those of the class itself first, as declared, with their
    /// bits.
    pub(crate) fn fields(&self, id: u64) -> Vec<(String, FieldType, u64)> {
        let (_, class, values) = &self.instances[&id];
        let (mut fields, mut rest, mut class) = (Vec::new(), &values[..], *class);
        while class != 0 {
            for (name, field) in &self.classes[&class].fields {
                let (value, left) = rest.split_at(field.bytes(self.id_bytes));
                let bits = value.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
                fields.push((name.clone(), *field, bits));
                rest = left;
            }
            class = self.classes[&class].superclass;
        }
        assert!(rest.is_empty());
        fields
    }

    pub(crate) fn references(&self, array: u64) -> Vec<u64> {
        let (_, elements, bytes) = &self.arrays[&array];
        assert!(matches!(elements, Elements::Objects(_)));
        let ids = bytes.chunks_exact(self.id_bytes);
        ids.map(|id| id.iter().fold(0, |id, &byte| id << 8 | u64::from(byte))).collect()
    }

    /// Returns the `tid`s of the threads in the order of their stacks.
    pub(crate) fn stack_tids(&self) -> Vec<u64> {
        let thread = |root: &Root| match root.kind {
            RootKind::Thread { trace, .. } => Some((trace, root.id)),
            _ => None,
        };
        let by_trace: BTreeMap<_, _> = self.roots.iter().filter_map(thread).collect();
        let tid = |thread: u64| self.fields(thread).into_iter().find(|it| it.0 == "tid").unwrap();
        by_trace.into_values().map(|thread| tid(thread).2).collect()
    }

    /// Leaves out the arrays of `int` that nothing refers to.
    pub(crate) fn without_fillers(mut self) -> Self {
        let mut referenced: BTreeSet<u64> = self.roots.iter().map(|root| root.id).collect();
        let statics = self.classes.values().flat_map(|class| &class.statics);
        referenced.extend(statics.filter(|it| it.1 == FieldType::Object).map(|it| it.2));
        for (id, (_, elements, _)) in &self.arrays {
            if matches!(elements, Elements::Objects(_)) {
                referenced.extend(self.references(*id));
            }
        }
        for id in self.instances.keys() {
            let fields = self.fields(*id).into_iter();
            referenced.extend(fields.filter(|it| it.1 == FieldType::Object).map(|it| it.2));
        }
        let ints = Elements::Primitives(FieldType::Int);
        self.arrays.retain(|id, (_, elements, _)| *elements != ints || referenced.contains(id));
        self
    }

    /// Returns the number of instances and arrays by the name of their class, which is in the JVM's
    /// form or in source form.
    pub(crate) fn histogram(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        let classes = self.instances.values().map(|(_, class, _)| self.class_names[class].clone());
        let arrays = self.arrays.values().map(|(_, elements, _)| match elements {
            Elements::Objects(class) => self.class_names[class].clone(),
            Elements::Primitives(element) => format!("{}[]", element.name().unwrap()),
        });
        for name in classes.chain(arrays) {
            *counts.entry(name).or_default() += 1;
        }
        counts
    }
}

/// The `tid` of the main thread before JDK 22, and from JDK 22 on.
pub(crate) const MAIN_TIDS: [u64; 2] = [1, 3];

/// A context that knows one thread, the trace of record 7, and sizes without gaps.
#[derive(Debug, Default)]
pub(crate) struct FixedContext {
    /// The main thread by its `tid`.
    pub(crate) main: Option<(u64, ThreadId)>,
    /// The `tid`s of all threads in the order of their stacks.
    pub(crate) stack_tids: Option<Vec<u64>>,
    pub(crate) hides_parked_frames: bool,
    pub(crate) record_trace: Option<TraceId>,
    pub(crate) array_trace: Option<(u64, TraceId)>,
    /// The fields of the classes that were asked for, by the name of the lowest.
    pub(crate) asked: BTreeMap<String, Vec<(String, bool, Vec<FieldType>)>>,
    /// Whether the dump is broken: two classes may have one name, and any class may have records.
    pub(crate) is_broken: bool,
}

impl Context for FixedContext {
    fn object_trace(
        &mut self,
        profile: &mut Profile,
        class: StrId,
        record: u32,
    ) -> Option<TraceId> {
        assert_ne!(record, 0);
        let name = profile.symbols.strings.get(class);
        assert!(self.is_broken || name == "my.Point$Child", "{name}");
        self.record_trace.filter(|_| record == 7)
    }

    fn kept_trace(&mut self, _: &mut Profile, address: u64) -> Option<TraceId> {
        self.array_trace.filter(|(id, _)| *id == address).map(|(_, trace)| trace)
    }

    fn thread(&mut self, _: &mut Profile, tid: u64) -> Option<ThreadId> {
        self.main.filter(|main| main.0 == tid).map(|main| main.1)
    }

    fn stack_tids(&mut self) -> Option<Vec<u64>> {
        self.stack_tids.clone()
    }

    fn roots_parked_frames(&self) -> bool {
        !self.hides_parked_frames
    }

    fn instance_bytes(&mut self, classes: &[ClassFields<'_>]) -> u64 {
        let name = classes.last().unwrap().name.to_owned();
        let layouts = classes.iter();
        let layouts =
            layouts.map(|it| (it.name.to_owned(), it.is_of_boot_loader, it.fields.clone()));
        let before = self.asked.insert(name, layouts.collect());
        assert!(self.is_broken || before.is_none(), "asked twice: {before:?}");
        let fields = classes.iter().flat_map(|class| &class.fields);
        (12 + fields.map(|field| field.bytes(4) as u64).sum::<u64>()).next_multiple_of(8)
    }

    fn array_bytes(&mut self, element: FieldType, length: u32) -> u64 {
        (16 + u64::from(length) * element.bytes(4) as u64).next_multiple_of(8)
    }
}

pub(crate) fn options() -> HeapOptions {
    HeapOptions {
        with_traces: false,
        primitive_fields: true,
        primitive_arrays: true,
        lines: true,
        native_lines: true,
        folder: std::env::temp_dir(),
        own_fields: InjectedFields { prefix: "$perk", record: "$perkRecord" },
    }
}

/// Returns a profile that knows the main thread.
pub(crate) fn profile_with_main() -> (Profile, ThreadId) {
    let mut profile = Profile::default();
    let name = profile.symbols.strings.intern("main");
    let object_id = 0x5_0000_0001;
    let thread = Thread { serial: 200_001, object_id, name, group: None, parent_group: None };
    let main = profile.push_thread(thread);
    (profile, main)
}

/// Returns the dump as perk writes it in text, or in a form of the binary format.
pub(crate) fn rewritten(
    input: &mut impl Read,
    main_tid: u64,
    stack_tids: &[u64],
    form: Option<BinaryForm>,
    options: &HeapOptions,
) -> (Vec<u8>, HeapCounts, FixedContext) {
    let (mut profile, main) = profile_with_main();
    let stack_tids = Some(stack_tids.to_vec());
    let mut known =
        FixedContext { main: Some((main_tid, main)), stack_tids, ..FixedContext::default() };
    let mut writer = match form {
        Some(form) => Writer::begin_binary(Vec::new(), form, &profile),
        None => Writer::begin(Vec::new(), Format::Ascii, &profile),
    }
    .unwrap();
    writer.thread_start(&perk_hprof::ThreadStart::of(&profile, main)).unwrap();
    let counts = writer.heap_dump(&mut profile, input, options, &mut known).unwrap();
    writer.out().flush().unwrap();
    (std::mem::take(writer.out()), counts, known)
}

/// Returns the answer of a running JVM to a command of `jcmd`.
pub(crate) fn jcmd(jdk: &Jdk, pid: u32, command: &[&str]) -> String {
    let output = Command::new(jdk.jcmd()).arg(pid.to_string()).args(command).output().unwrap();
    assert!(output.status.success(), "jcmd {command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the number and bytes of objects per class in the text of `jcmd GC.class_histogram`.
pub(crate) fn class_histogram(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut classes = BTreeMap::<_, (u64, u64)>::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [rank, count, bytes, name, ..] = words[..] else { continue };
        if rank.ends_with(':') && rank != "num" {
            let name = perk_profile::names::from_signature(name).replace("/0x", ".0x");
            let class = classes.entry(name).or_default();
            class.0 += count.parse::<u64>().unwrap();
            class.1 += bytes.parse::<u64>().unwrap();
        }
    }
    classes
}
