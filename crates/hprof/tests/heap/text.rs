//! Reads the HEAP DUMP section of a text file as HPROF's manual describes it, without knowledge of
//! its writer, and compares it with the JVM's dump.

use std::collections::{BTreeMap, BTreeSet};

use perk_hprof::heap::{Elements, FieldType, HeapCounts, RootKind};

use crate::support::Heap;

/// The contents of indented lines: names, and the ids that they hold.
type References = Vec<(String, u64)>;

#[derive(Debug, Default)]
struct DumpText {
    object_count: u64,
    object_bytes: u64,
    /// The kind, id and the text in brackets of each root.
    roots: Vec<(String, u64, BTreeMap<String, String>)>,
    /// The class and the references by field of each object.
    objects: BTreeMap<u64, (String, u64, References)>,
    /// The type of the elements with the id of the class, the number of elements, and references by
    /// position.
    arrays: BTreeMap<u64, (String, u64, BTreeMap<u64, u64>)>,
    /// The name and the lines that follow, in the order of the file.
    classes: Vec<(u64, String, References)>,
    bytes: u64,
    traces: BTreeSet<u64>,
}

/// Returns the `name=value` pairs between brackets and commas.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let text = text.strip_suffix(')').unwrap();
    let pairs = text.split(", ").map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{text:?}"))
}

fn parse(file: &str) -> DumpText {
    let mut section = DumpText::default();
    let (before, rest) = file.split_once("HEAP DUMP BEGIN (").unwrap();
    let traces = before.lines().filter_map(|line| line.strip_prefix("TRACE ")?.split(':').next());
    section.traces = traces.filter_map(|serial| serial.parse().ok()).collect();
    let (head, rest) = rest.split_once('\n').unwrap();
    let (objects, head) = head.split_once(" objects, ").unwrap();
    section.object_count = objects.parse().unwrap();
    section.object_bytes = head.split_once(" bytes) ").unwrap().0.parse().unwrap();
    let (body, after) = rest.split_once("HEAP DUMP END\n").unwrap();
    assert_eq!(after, "");
    let mut kind = "";
    let mut id = 0;
    for line in body.lines() {
        if let Some(line) = line.strip_prefix('\t') {
            let (name, value) = line.rsplit_once('\t').unwrap();
            let (name, value) = (name.trim_end_matches('\t'), hex(value));
            assert_ne!(value, 0, "{line}");
            match kind {
                "OBJ" => {
                    section.objects.get_mut(&id).unwrap().2.push((name.to_owned(), value));
                }
                "ARR" => {
                    let position = name.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
                    let elements = &mut section.arrays.get_mut(&id).unwrap().2;
                    elements.insert(position.parse().unwrap(), value);
                }
                "CLS" => section.classes.last_mut().unwrap().2.push((name.to_owned(), value)),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (head, tail) = line.split_once(" (").unwrap();
        let place;
        (kind, place) = head.split_once(' ').unwrap();
        id = hex(place);
        let fields = pairs(tail);
        match kind {
            "ROOT" => {
                let kind = fields["kind"].strip_prefix('<').unwrap().strip_suffix('>').unwrap();
                section.roots.push((kind.to_owned(), id, fields.clone()));
            }
            "OBJ" => {
                let (class, class_id) = fields["class"].rsplit_once('@').unwrap();
                assert_eq!(fields["trace"], "0");
                section.bytes += fields["sz"].parse::<u64>().unwrap();
                let object = (class.to_owned(), hex(class_id), Vec::new());
                assert!(section.objects.insert(id, object).is_none());
                assert!(section.classes.is_empty(), "objects come before classes");
            }
            "ARR" => {
                section.bytes += fields["sz"].parse::<u64>().unwrap();
                let length = fields["nelems"].parse().unwrap();
                let array = (fields["elem type"].clone(), length, BTreeMap::new());
                assert!(section.arrays.insert(id, array).is_none());
            }
            "CLS" => section.classes.push((id, fields["name"].clone(), Vec::new())),
            _ => panic!("{line}"),
        }
    }
    section
}

/// Returns a name as it is printed.
fn source_form(name: &str) -> String {
    let name = match name.starts_with('[') {
        true => perk_profile::names::from_signature(name),
        false => name.replace('/', "."),
    };
    name.replace("+0x", ".0x")
}

/// Compares a file with the JVM's dump that it was made of.
pub(crate) fn check(file: &str, jvm: &Heap, counts: &HeapCounts) {
    let section = parse(file);
    assert_eq!(section.object_count, (section.objects.len() + section.arrays.len()) as u64);
    assert_eq!(section.object_bytes, section.bytes);
    assert_eq!(
        (section.object_count, section.object_bytes),
        (counts.object_count, counts.object_bytes)
    );

    assert!(section.objects.keys().eq(jvm.instances.keys()));
    for (id, (class, class_id, references)) in &section.objects {
        assert_eq!(*class_id, jvm.instances[id].1);
        assert_eq!(*class, source_form(&jvm.class_names[class_id]));
        let mut fields = jvm.fields(*id);
        fields.retain(|&(_, field, bits)| field == FieldType::Object && bits != 0);
        let fields: BTreeSet<_> = fields.into_iter().map(|(name, _, bits)| (name, bits)).collect();
        assert_eq!(references.iter().cloned().collect::<BTreeSet<_>>(), fields);
    }
    let points = jvm.references(jvm.static_field("HeapShape", "points"));
    let (_, _, child) = &section.objects[&points[20]];
    assert_eq!(child.iter().map(|it| &*it.0).collect::<Vec<_>>(), ["self", "name"], "from the top");

    assert!(section.arrays.keys().eq(jvm.arrays.keys()));
    for (id, (element, length, references)) in &section.arrays {
        let (_, elements, bytes) = &jvm.arrays[id];
        assert_eq!(*length, (bytes.len() / elements.field_type().bytes(8)) as u64);
        match elements {
            Elements::Objects(class) => {
                let name = source_form(&jvm.class_names[class]);
                assert_eq!(*element, format!("{name}@{class:x}"));
                let there = jvm.references(*id).into_iter().enumerate();
                let there = there.filter(|&(_, id)| id != 0).map(|(at, id)| (at as u64, id));
                assert!(there.eq(references.iter().map(|(&at, &id)| (at, id))));
            }
            Elements::Primitives(field) => {
                assert_eq!(*element, format!("{}[]", field.name().unwrap()));
            }
        }
    }
    check_classes(&section, jvm);
    check_roots(&section, jvm);
}

fn check_classes(section: &DumpText, jvm: &Heap) {
    assert_eq!(section.classes.len(), jvm.classes.len());
    let mut seen = BTreeSet::from([0]);
    for (id, name, fields) in &section.classes {
        let class = &jvm.classes[id];
        assert_eq!(*name, source_form(&jvm.class_names[id]));
        assert!(seen.contains(&class.superclass), "{name} comes before its superclass");
        assert!(seen.insert(*id));
        let field = |name| fields.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
        assert_eq!(field("super"), class.superclass);
        assert_eq!((field("loader"), field("domain")), (class.loader, class.domain));
        let mut statics =
            fields.iter().filter_map(|it| Some((it.0.strip_prefix("static ")?, it.1)));
        for (name, field, id) in &class.statics {
            if *field == FieldType::Object && *id != 0 {
                assert_eq!(statics.next(), Some((&**name, *id)));
            }
        }
        assert_eq!(statics.next(), None);
        let constants = fields.iter().filter(|it| it.0.starts_with("constant pool entry "));
        let constants: Vec<_> = constants.map(|it| it.1).collect();
        let array = class.statics.iter().find(|it| it.0 == "<resolved_references>");
        let expected = array.map_or(Vec::new(), |it| jvm.references(it.2));
        assert!(expected.into_iter().filter(|&id| id != 0).eq(constants));
    }
    let shape = section.classes.iter().find(|it| it.1 == "HeapShape").unwrap();
    // A literal that the program has used.
    let constant = jvm.references(jvm.static_field("HeapShape", "nullTail"))[0];
    let is_constant = |it: &&(String, u64)| it.0.starts_with("constant pool") && it.1 == constant;
    assert_eq!(shape.2.iter().filter(is_constant).count(), 1);
}

fn check_roots(section: &DumpText, jvm: &Heap) {
    let (first, roots) = section.roots.split_first().unwrap();
    assert_eq!((&*first.0, first.1, &*first.2["id"]), ("thread", 0, "200000"));
    assert_eq!(roots.len(), jvm.roots.len());
    let mut frames = 0;
    for ((kind, id, fields), there) in roots.iter().zip(&jvm.roots) {
        assert_eq!(*id, there.id);
        match there.kind {
            RootKind::Thread { .. } => {
                assert_eq!(kind, "thread");
                assert!(section.traces.contains(&fields["trace"].parse().unwrap()));
            }
            RootKind::JavaFrame(stack) => {
                assert_eq!((&**kind, &fields["frame"]), ("Java stack", &stack.depth.to_string()));
                frames += 1;
            }
            RootKind::JniLocal(stack) => {
                assert_eq!(kind, "JNI local ref");
                assert_eq!(fields["frame"], stack.depth.cast_signed().to_string());
            }
            RootKind::JniGlobal(reference) => {
                assert_eq!(
                    (&**kind, &*fields["id"]),
                    ("JNI global ref", &*format!("{reference:x}"))
                );
            }
            RootKind::StickyClass => {
                assert_eq!(kind, "system class");
                assert_eq!(fields["name"], source_form(&jvm.class_names[id]));
            }
            RootKind::Monitor => assert_eq!(kind, "busy monitor"),
            other => panic!("{other:?}"),
        }
    }
    assert!(frames > 5);
}
