//! Files of JDK 8's HPROF agent: what they hold follows from the programs, and from the agent's own
//! table of allocation sites.

use std::collections::HashMap;

use flate2::read::GzDecoder;
use perk_heap::{
    Content, Heap, Holder, Label, NoWatch, ObjectId, Options, Reach, RootKind, SuspectKind, Value,
};
use perk_hprof::heap::FieldType;
use perk_profile::{Profile, names};

use super::testdata;
use super::text::ARRAYS;

/// `AllocSites` with `heap=all,format=b`.
const ALLOCATIONS: &str = "all-b-alloc.hprof.gz";
/// `ArraysAll` with `heap=dump,format=b`; [`ARRAYS`] is its text.
const BINARY_ARRAYS: &str = "recorded/dump-b-arrays/o.hprof.gz";
/// Classes with fields that the JVM adds and the agent does not have. JDK 8 puts no field of the last
/// one into the padding of the class above, as later JDKs do.
const OF_OTHER_SIZES: [&str; 7] = [
    "java.lang.Thread",
    "java.lang.ref.Finalizer$FinalizerThread",
    "java.lang.ref.Reference$ReferenceHandler",
    "java.lang.invoke.MemberName",
    "sun.misc.Launcher$AppClassLoader",
    "sun.misc.Launcher$ExtClassLoader",
    "java.lang.invoke.LambdaFormEditor$Transform",
];

fn open(name: &str) -> Heap {
    Heap::open(&testdata(name), &Options::default(), &mut NoWatch).unwrap()
}

fn profile(name: &str) -> Profile {
    let file = std::fs::File::open(testdata(name)).unwrap();
    perk_hprof::read(GzDecoder::new(file)).unwrap()
}

fn class_of(heap: &Heap, object: ObjectId) -> &str {
    &heap.class(heap.class_of(object)).name
}

/// Returns what an object refers to, without its class.
fn references(heap: &Heap, object: ObjectId) -> Vec<(Label, ObjectId)> {
    let edges = heap.references(object).unwrap().into_iter();
    edges.filter(|edge| edge.label != Label::Class).map(|edge| (edge.label, edge.to)).collect()
}

/// Returns the class object of a class, and what its static fields refer to.
fn statics(heap: &Heap, class: &str) -> (ObjectId, HashMap<String, ObjectId>) {
    let class = heap.class(heap.classes_named(class)[0]).object.unwrap();
    let statics = references(heap, class).into_iter().filter_map(|(label, object)| match label {
        Label::Static(name) => Some((name, object)),
        _ => None,
    });
    (class, statics.collect())
}

/// Returns the frames of the allocation of an object: `Class.method:line`.
fn allocated_at(heap: &Heap, object: ObjectId) -> Vec<String> {
    let trace = heap.trace(heap.allocation_trace(object).unwrap()).unwrap();
    let frames = trace.frames.iter();
    frames.map(|it| format!("{}.{}:{}", it.class, it.method, it.line)).collect()
}

#[test]
fn allocation_traces_have_the_objects_of_the_agent_s_table() {
    let heap = open(ALLOCATIONS);
    assert_eq!((heap.title(), heap.is_cut()), ("JAVA PROFILE 1.0.1", false));
    let mut sites = HashMap::<_, Vec<ObjectId>>::new();
    heap.each_trace(&mut |object, trace| {
        assert_eq!(heap.allocation_trace(object).unwrap(), trace);
        // The table counts a class object as one of its class. Profiles leave out the numbers of
        // generated classes.
        let class = heap.as_class(object).unwrap_or(heap.class_of(object));
        let name = names::stable(&heap.class(class).name);
        sites.entry((trace, name)).or_default().push(object);
    })
    .unwrap();
    let profile = profile(ALLOCATIONS);
    let table = profile.sites().unwrap();
    assert_eq!(table.total.live_count, heap.object_count());
    let mut rows = HashMap::<_, (u64, u64)>::new();
    for row in &table.rows {
        let class = names::stable(profile.symbols.class_name(row.class));
        let sum = rows.entry((profile.get_trace(row.trace).serial, class)).or_default();
        sum.0 += row.objects.live_count;
        sum.1 += row.objects.live_bytes;
    }
    let (mut equal_count, mut shorter_count) = (0, 0);
    for (site @ (_, class), &(count, table_bytes)) in &rows {
        let objects = &sites[site];
        assert_eq!(objects.len() as u64, count, "{site:?}");
        // The table has the JVM's sizes. The agent has no content of what is not held.
        let has_size =
            |&it: &ObjectId| heap.as_class(it).is_none() && heap.reach(it) != Reach::Unreachable;
        if !objects.iter().all(has_size) || OF_OTHER_SIZES.contains(&&**class) {
            continue;
        }
        let bytes: u64 = objects.iter().map(|&it| heap.shallow_bytes(it)).sum();
        if bytes == table_bytes {
            equal_count += count;
        } else {
            // The agent leaves out nulls at the end of arrays.
            assert!(class.ends_with("[]") && bytes < table_bytes, "{site:?}: {bytes}");
            shorter_count += count;
        }
    }
    assert!(equal_count > 4000 && shorter_count < 120, "{equal_count}, {shorter_count}");
}

/// The objects that `AllocSites` keeps: the class, what each retains, and the line of the program
/// that allocated it.
#[test]
fn what_a_program_keeps_has_its_size_and_its_site() {
    const KEPT: [(&str, Option<u64>, &str); 16] = [
        ("AllocSites$Node", Some(1000 * 24), "AllocSites.makeList:16"),
        ("AllocSites$Node", Some(500 * 24), "AllocSites.makeList:16"),
        ("byte[][]", Some(16 + 10 * 4 + 10 * (16 + 1000)), "AllocSites.bytes:19"),
        ("int[][]", Some(32 + 3 * (16 + 4 * 4)), "AllocSites.multi:20"),
        // 0 to 49 are 90 characters.
        ("java.lang.String", Some(24 + 16 + 2 * 90 + 4), "AllocSites.concat:21"),
        // 12 bytes of header, 34 of fields.
        ("AllocSites$Pair", Some(48), "AllocSites$Pair.<init>:9"),
        // All of its elements are null. Native code has no trace.
        ("AllocSites$Pair[]", Some(16), ""),
        ("AllocSites$Pair", Some(48), "AllocSites.main:42"),
        ("AllocSites$Pair", Some(48), ""),
        ("int[]", Some(16 + 3 * 4 + 4), ""),
        ("java.lang.Integer", Some(16), "AllocSites.boxed:26"),
        ("java.lang.IllegalStateException", None, "java.lang.IllegalStateException.<init>:55"),
        ("java.lang.Integer", Some(16), "AllocSites.lambda$lambda$0:29"),
        ("AllocSites$1", Some(16), "AllocSites.anon:30"),
        ("java.lang.Object[]", Some(16 + 3 * 4 + 4), "AllocSites.main:50"),
        ("java.lang.Object", Some(16), "AllocSites.main:51"),
    ];
    let heap = open(ALLOCATIONS);
    let (class, statics) = statics(&heap, "AllocSites");
    let list = statics["KEEP"];
    assert_eq!(heap.holder(list), Holder::Object(class));
    let kinds: Vec<_> = heap.roots_of(class).iter().map(|root| root.kind).collect();
    assert_eq!(kinds, [RootKind::JniGlobal]);
    let size = heap.field(list, "size").unwrap().unwrap().value;
    assert_eq!(size, Value::Int(KEPT.len() as i32));
    let [(Label::Field(_), array)] = references(&heap, list)[..] else { panic!("one field") };
    let kept = references(&heap, array);
    assert_eq!(kept.len(), KEPT.len());
    for (index, ((label, object), (class, retained, site))) in
        kept.into_iter().zip(KEPT).enumerate()
    {
        assert_eq!(label, Label::Element(index as u64));
        assert_eq!(class_of(&heap, object), class);
        if let Some(retained) = retained {
            assert_eq!(heap.retained_bytes(object), retained, "{class}, {index}");
        }
        let frames = allocated_at(&heap, object);
        let is_there = frames.iter().any(|it| it == site);
        assert!(is_there || frames.is_empty() && site.is_empty(), "{class}, {index}: {frames:?}");
        let referrers = heap.referrers(&[object]).unwrap();
        assert!(referrers.iter().any(|it| it.from == array && it.label == label), "{referrers:?}");
        assert_eq!(heap.holder(object), Holder::Object(array));
    }
    let suspects = heap.suspects(0.1).unwrap();
    let suspect = suspects.iter().find(|it| it.suspected == SuspectKind::Object(class)).unwrap();
    assert_eq!((suspect.point, suspect.retained_bytes), (Some(array), heap.retained_bytes(class)));
    let elements = heap.length(array).unwrap();
    let sites = heap.sites().unwrap().sites;
    let of_array = heap.allocation_trace(array).unwrap();
    // The other objects of the site are the arrays that the list outgrew, and of other lists.
    let site = sites.iter().find(|it| heap.trace(it.trace) == heap.trace(of_array)).unwrap();
    assert!(site.size.least_bytes >= heap.retained_bytes(array));
    assert_eq!((elements, class_of(&heap, array)), (16, "java.lang.Object[]"));
    // The nodes of the first list are the only ones of their trace; those of `garbage` are gone.
    let nodes = |count| {
        let is_wanted = |it: &&perk_heap::Site| {
            heap.class(it.class).name == "AllocSites$Node" && it.size.count == count
        };
        sites.iter().find(is_wanted).map(|it| (it.size.shallow_bytes, it.size.least_bytes))
    };
    assert_eq!(nodes(1000), Some((24_000, 24_000)));
    assert_eq!(nodes(500), Some((12_000, 12_000)));
    assert_eq!(nodes(2000), None);
}

/// The same program in both formats: two runs with other ids.
#[test]
fn binary_and_text_have_the_same_arrays() {
    let [binary, text] = [BINARY_ARRAYS, ARRAYS].map(open);
    let of_both = [&binary, &text].map(|heap| statics(heap, "ArraysAll").1);
    // `mixed` and `threads` refer to what others hold, too.
    let names = "z b c s i j f d emptyInt emptyObj strs nullHead ss";
    for name in names.split(' ') {
        let [of_binary, of_text] = [&of_both[0], &of_both[1]].map(|it| it[name]);
        assert_eq!(class_of(&binary, of_binary), class_of(&text, of_text), "{name}");
        assert_eq!(binary.length(of_binary).unwrap(), text.length(of_text).unwrap(), "{name}");
        let sizes = [binary.retained_bytes(of_binary), text.retained_bytes(of_text)];
        assert_eq!(sizes[0], sizes[1], "{name}");
    }
    // Text gives the size of the whole array, and binary files end it at the last object.
    let lengths = |name: &str| {
        let length = |heap: &Heap, of: &HashMap<String, ObjectId>| heap.length(of[name]).unwrap();
        (length(&binary, &of_both[0]), length(&text, &of_both[1]))
    };
    assert_eq!(lengths("nullTail"), (1, 4));
    // Three elements have the size of four, and five that of six.
    assert_eq!(lengths("ii"), (2, 4));
    assert_eq!(lengths("allNull"), (0, 6));
    let longs = [1_i64, -2, 0x1234_5678_9abc_def0].map(i64::to_be_bytes).concat();
    let content = binary.content(of_both[0]["j"], 3).unwrap();
    assert_eq!(content, Content::Primitives(FieldType::Long, longs));
}

#[test]
fn traces_of_texts_have_their_objects() {
    let heap = open(ARRAYS);
    let file = std::fs::File::open(testdata(ARRAYS)).unwrap();
    let text = std::io::read_to_string(GzDecoder::new(file)).unwrap();
    let dump = &text[text.rfind("HEAP DUMP BEGIN").unwrap()..];
    let mut expected = HashMap::<u32, u64>::new();
    for line in dump.lines().filter(|it| ["OBJ", "ARR", "CLS"].contains(&&it[..it.len().min(3)])) {
        let serial = line.split("trace=").nth(1).unwrap();
        let digits = serial.split(|it: char| !it.is_ascii_digit()).next().unwrap();
        *expected.entry(digits.parse().unwrap()).or_default() += 1;
    }
    let mut found = HashMap::new();
    heap.each_trace(&mut |_, trace| *found.entry(trace).or_default() += 1).unwrap();
    assert!(expected.len() > 50, "{}", expected.len());
    assert_eq!(found, expected);
}
