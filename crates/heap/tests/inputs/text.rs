//! HPROF text: what it has comes through its translation, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use perk_heap::{Input, NoWatch, Options};
use perk_hprof::heap::{Elements, FieldType, Record, Stream};
use perk_profile::mutf8;

use super::{content, open_bytes};

pub(super) const ARRAYS: &str = "dump-a-arrays.txt.gz";

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name)
}

/// A heap, as lists of facts.
#[derive(Debug, Default, PartialEq, Eq)]
struct DumpFacts {
    /// The id, class, trace and size of each instance.
    instances: BTreeSet<(u64, String, u32, u64)>,
    /// The id, class and trace of each array.
    arrays: BTreeSet<(u64, String, u32)>,
    /// The names of classes by their ids.
    classes: BTreeMap<u64, String>,
    /// The fields of objects and what they refer to.
    references: BTreeSet<(u64, String, u64)>,
    roots: BTreeMap<String, u64>,
    traces: BTreeMap<u32, Vec<String>>,
}

/// Reads the lines of a text's last dump, in the plainest way.
fn facts_of_text(text: &str) -> DumpFacts {
    let mut facts = DumpFacts::default();
    let mut trace = 0;
    for line in text.lines() {
        let serial = line.strip_prefix("TRACE ").and_then(|rest| rest.split(':').next());
        if let Some(serial) = serial.and_then(|serial| serial.parse().ok()) {
            trace = serial;
            facts.traces.insert(trace, vec![]);
        } else if let Some(frame) = line.strip_prefix('\t').filter(|_| trace != 0) {
            if frame != "<empty>" {
                facts.traces.get_mut(&trace).unwrap().push(frame.to_owned());
            }
        } else {
            trace = 0;
        }
    }
    let dump = &text[text.rfind("HEAP DUMP BEGIN").unwrap()..];
    let mut from = 0;
    for line in dump.lines().skip(1).take_while(|line| *line != "HEAP DUMP END") {
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        if let Some(member) = line.strip_prefix('\t') {
            let (name, to) = member.rsplit_once('\t').unwrap();
            facts.references.insert((from, name.trim_end().to_owned(), hex(to)));
            continue;
        }
        let (kind, rest) = line.split_once(' ').unwrap();
        let (id, rest) = rest.split_once(" (").unwrap();
        from = hex(id);
        let rest = rest.strip_suffix(')').unwrap();
        let value = |key: &str| {
            let value = rest.split(", ").find_map(|part| part.strip_prefix(key));
            value.unwrap_or_else(|| panic!("{key} in {line}"))
        };
        let class = |text: &str| {
            let (name, id) = text.rsplit_once('@').unwrap_or((text, "0"));
            (name.to_owned(), hex(id))
        };
        match kind {
            "ROOT" => {
                if from != 0 {
                    let kind = rest[6..].split('>').next().unwrap();
                    *facts.roots.entry(kind.to_owned()).or_default() += 1;
                }
            }
            "OBJ" => {
                let (name, id) = class(value("class="));
                facts.classes.insert(id, name.clone());
                let bytes = value("sz=").parse().unwrap();
                facts.instances.insert((from, name, value("trace=").parse().unwrap(), bytes));
            }
            "ARR" => {
                let (name, id) = class(value("elem type="));
                if id != 0 {
                    facts.classes.insert(id, name.clone());
                }
                facts.arrays.insert((from, name, value("trace=").parse().unwrap()));
            }
            "CLS" => drop(facts.classes.insert(from, value("name=").to_owned())),
            _ => panic!("{line}"),
        }
    }
    facts
}

/// Reads a translated dump, in the plainest way.
fn facts_of_records(bytes: &[u8]) -> DumpFacts {
    type Fields = Vec<(u64, FieldType)>;
    let (header, mut stream) = Stream::new(bytes).unwrap();
    assert_eq!(header.title, perk_hprof::heap::TEXT_TITLE);
    let mut facts = DumpFacts::default();
    let mut names = BTreeMap::new();
    let mut serials = BTreeMap::new();
    let mut frames = BTreeMap::new();
    // Superclass, size and fields.
    let mut classes: BTreeMap<u64, (u64, u32, Fields)> = BTreeMap::new();
    let mut open = (0, 0);
    let add_elements = |facts: &mut DumpFacts, (id, at): &mut (u64, u64), bytes: &[u8]| {
        for element in bytes.chunks_exact(8) {
            let to = u64::from_be_bytes(element.try_into().unwrap());
            if to != 0 {
                facts.references.insert((*id, format!("[{at}]"), to));
            }
            *at += 1;
        }
    };
    while let Some(record) = stream.next().unwrap() {
        match record {
            Record::Utf8 { id, bytes } => {
                names.insert(id, mutf8::decode(bytes).into_owned());
            }
            Record::LoadClass { serial, class, name } => {
                let name = perk_hprof::heap::source_form(&names[&name]);
                serials.insert(serial, name.clone());
                facts.classes.insert(class, name);
            }
            Record::Frame { id, method, source, class_serial, line, .. } => {
                let source = match (names.get(&source), line) {
                    (None, _) => "Unknown Source".to_owned(),
                    (Some(source), 1..) => format!("{source}:{line}"),
                    (Some(source), -3) => format!("{source}:Native method"),
                    (Some(source), _) => format!("{source}:Unknown line"),
                };
                let frame = format!("{}.{}({source})", serials[&class_serial], names[&method]);
                frames.insert(id, frame);
            }
            Record::Trace { serial, frames: ids, .. } => {
                let frames = ids.iter().map(|id| frames[&id].clone()).collect();
                facts.traces.insert(serial, frames);
            }
            Record::Root(root) => {
                *facts.roots.entry(root.kind.name().to_owned()).or_default() += 1;
            }
            Record::Class(class) => {
                let fields = class.fields().collect();
                classes.insert(class.id, (class.superclass, class.instance_bytes, fields));
                let mut add = |name: &str, to: u64| {
                    if to != 0 {
                        facts.references.insert((class.id, name.to_owned(), to));
                    }
                };
                add("super", class.superclass);
                add("loader", class.loader);
                add("signers", class.signers);
                add("domain", class.domain);
                for field in class.statics() {
                    add(&format!("static {}", names[&field.name]), field.value.bits());
                }
                for (index, value) in class.constants() {
                    add(&format!("constant pool entry {index}"), value.bits());
                }
            }
            Record::Instance { id, trace, class, values } => {
                let bytes = classes[&class].1.into();
                facts.instances.insert((id, facts.classes[&class].clone(), trace, bytes));
                let mut values = values.chunks_exact(8);
                let mut next = class;
                while let Some((above, _, fields)) = classes.get(&next) {
                    for (name, field) in fields {
                        assert_eq!(*field, FieldType::Object);
                        let to = values.next().unwrap().try_into().unwrap();
                        match u64::from_be_bytes(to) {
                            0 => {}
                            to => drop(facts.references.insert((id, names[name].clone(), to))),
                        }
                    }
                    next = *above;
                }
                assert_eq!(values.len(), 0);
            }
            Record::Array { id, trace, elements, bytes, .. } => {
                let class = match elements {
                    Elements::Objects(class) => facts.classes[&class].clone(),
                    Elements::Primitives(element) => {
                        assert!(bytes.is_empty());
                        format!("{}[]", element.name().unwrap())
                    }
                };
                facts.arrays.insert((id, class, trace));
                open = (id, 0);
                add_elements(&mut facts, &mut open, bytes);
            }
            Record::MoreElements(bytes) => add_elements(&mut facts, &mut open, bytes),
            Record::Segment { .. } | Record::DumpEnd | Record::Body { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    facts
}

/// Frames of classes without instances have classes of their own.
fn without_classes_of_frames(mut facts: DumpFacts) -> DumpFacts {
    facts.classes.retain(|&id, _| id < 1 << 63);
    facts
}

#[test]
fn the_original_agent_s_text_is_translated() {
    let path = testdata(ARRAYS);
    let input = Input::open(&path, &Options::default(), &mut NoWatch).unwrap();
    assert!(input.is_text() && !input.is_in_place());
    let text =
        std::io::read_to_string(flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()));
    let expected = facts_of_text(&text.unwrap());
    let facts = without_classes_of_frames(facts_of_records(&content(&input)));
    assert_eq!(expected.instances.len(), 2495);
    assert_eq!(facts.instances, expected.instances);
    assert_eq!(facts.arrays, expected.arrays);
    assert_eq!(facts.classes, expected.classes);
    assert_eq!(facts.references, expected.references);
    assert_eq!(facts.roots, expected.roots);
    assert_eq!(facts.traces, expected.traces);
    let [values, lengths] = input.notes() else { panic!("{:?}", input.notes()) };
    assert!(values.starts_with("HPROF text has no values of primitive types"));
    assert!(lengths.starts_with("the text leaves out the end of "), "{lengths}");
}

const SMALL: &str = "\
HEAP DUMP BEGIN (4 objects, 100 bytes) Fri Nov 20 19:00:13 2026
ROOT 1 (kind=<system class>, name=A)
OBJ 10 (sz=24, trace=1, class=B@2)
\tsame\t\t11
\tsame\t\t12
OBJ 11 (sz=16, trace=1, class=A@1)
\tsame\t\t12
OBJ 12 (sz=48, trace=1, class=java.lang.ref.WeakReference@4)
\treferent\t10
\town\t\t11
ARR 13 (sz=24, trace=1, nelems=2, elem type=A@1)
\t[1]\t\t11
ARR 14 (sz=560016, trace=1, nelems=140000, elem type=A[]@5)
\t[7]\t\t13
\t[139999]\t\t13
CLS 1 (name=A, trace=1)
\tstatic it\t10
CLS 2 (name=B, trace=1)
\tsuper\t\t1
CLS 3 (name=java.lang.ref.Reference, trace=1)
CLS 4 (name=java.lang.ref.WeakReference, trace=1)
\tsuper\t\t3
CLS 5 (name=A[], trace=1)
HEAP DUMP END
";

#[test]
fn fields_belong_to_the_topmost_class_that_has_them() {
    let input = open_bytes(SMALL.as_bytes(), &Options::default()).unwrap();
    let bytes = content(&input);
    let (_, mut stream) = Stream::new(&bytes[..]).unwrap();
    let mut names = BTreeMap::new();
    let mut fields = BTreeMap::new();
    while let Some(record) = stream.next().unwrap() {
        match record {
            Record::Utf8 { id, bytes } => {
                names.insert(id, mutf8::decode(bytes).into_owned());
            }
            Record::Class(class) => {
                let declared: Vec<_> = class.fields().map(|(id, _)| names[&id].clone()).collect();
                fields.insert(class.id, declared.join(" "));
            }
            _ => {}
        }
    }
    let field = |id: u64| fields[&id].as_str();
    assert_eq!([field(1), field(2), field(3), field(4)], ["same", "same", "referent", "own"]);
    let mut facts = facts_of_records(&bytes);
    let mut expected = facts_of_text(SMALL);
    // The text names the class of the elements of one array.
    assert!(expected.arrays.remove(&(0x13, "A".to_owned(), 1)));
    assert!(facts.arrays.remove(&(0x13, "A[]".to_owned(), 1)));
    facts = without_classes_of_frames(facts);
    assert_eq!(facts.references, expected.references);
    assert_eq!(
        (facts.arrays, facts.instances),
        (BTreeSet::from([(0x14, "A[]".to_owned(), 1)]), expected.instances)
    );
}

#[test]
fn texts_with_faults_are_read_as_far_as_they_go() {
    let options = Options::default();
    let end = SMALL.find("HEAP DUMP END").unwrap();
    for cut in (SMALL.find("OBJ 11").unwrap()..end).step_by(7) {
        let input = open_bytes(&SMALL.as_bytes()[..cut], &options).unwrap();
        let note = input.notes().last().unwrap();
        assert!(note.ends_with("the text ends inside the heap dump"), "{cut}: {note}");
        assert!(facts_of_records(&content(&input)).instances.len() <= 3);
    }
    let odd = SMALL
        .replace("CLS 3", "OBJ 7 (sz=16, class=NoId)\nCLS 3")
        .replace("super\t\t3", "super\t\t4");
    let input = open_bytes(odd.as_bytes(), &options).unwrap();
    assert!(
        input.notes().iter().any(|note| note.contains("line 20: 1 line of the heap dump")),
        "{:?}",
        input.notes()
    );
    let huge = SMALL.replace("nelems=140000", "nelems=4294967295");
    let error = open_bytes(huge.as_bytes(), &options).unwrap_err().to_string();
    assert_eq!(error, "array 0x14 has 4294967295 elements");
    let both = [SMALL, &SMALL.replace("sz=48", "sz=40")].concat();
    for (dump_number, bytes) in [(Some(1), 48), (Some(2), 40), (None, 40)] {
        let input =
            open_bytes(both.as_bytes(), &Options { dump_number, ..Options::default() }).unwrap();
        assert_eq!(input.dump_count(), 2);
        let facts = facts_of_records(&content(&input));
        assert!(facts.instances.iter().any(|it| it.0 == 0x12 && it.3 == bytes));
    }
    let error =
        open_bytes(both.as_bytes(), &Options { dump_number: Some(3), ..Options::default() });
    assert_eq!(error.unwrap_err().to_string(), "it has 2 heap dumps, so --dump 3 names none");
}
