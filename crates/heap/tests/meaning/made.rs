//! Shapes of JDK 8 and Android, and contents that make no sense.

use perk_heap::{Label, Limits};
use perk_hprof::heap::FieldType;

use crate::dump::DumpField::{Boolean, Byte, Int, Long, Object};
use crate::dump::{Dump, DumpField};

const OBJECT: &str = "java.lang.Object";

/// Checks the meaning of one object of a dump.
#[track_caller]
fn check(expected: Option<&str>, make: impl FnOnce(&mut Dump) -> u64) {
    let mut dump = Dump::new();
    let address = make(&mut dump);
    assert_eq!(dump.open().meaning(address).as_deref(), expected);
}

#[test]
fn strings_of_jdk_8_are_arrays_of_char() {
    check(Some("\"text \u{3b1}\""), |dump| dump.string("text \u{3b1}"));
    check(Some("\"buffer\""), |dump| {
        let chars = dump.chars("buffer and more");
        let fields = [("value", Object(chars)), ("count", Int(6))];
        dump.class("java.lang.AbstractStringBuilder", OBJECT, &[], &fields);
        dump.class("java.lang.StringBuilder", "java.lang.AbstractStringBuilder", &[], &[]);
        dump.instance("java.lang.StringBuilder", &fields)
    });
}

#[test]
fn strings_before_jdk_7_are_parts_of_arrays() {
    check(Some("\"part\""), |dump| {
        let chars = dump.chars("a part of it");
        let fields = [("value", Object(chars)), ("offset", Int(2)), ("count", Int(4))];
        dump.instance("java.lang.String", &fields)
    });
}

#[test]
fn strings_of_android_have_bytes_or_nothing() {
    // The lowest bit of the count says whether there is one byte per character.
    check(Some("\"abc\""), |dump| {
        let bytes = dump.array(FieldType::Byte, b"abc");
        dump.instance("java.lang.String", &[("count", Int(6)), ("value", Object(bytes))])
    });
    check(Some("a string whose characters the dump does not have"), |dump| {
        dump.instance("java.lang.String", &[("count", Int(6)), ("hash", Int(0))])
    });
    check(Some("\"\""), |dump| {
        dump.instance("java.lang.String", &[("count", Int(0)), ("hash", Int(0))])
    });
}

#[test]
fn wide_strings_have_the_order_of_the_machine() {
    for (shift, bytes, expected) in [(0, [0xB1, 3], "\"\u{3b1}\""), (8, [3, 0xB1], "\"\u{3b1}\"")] {
        check(Some(expected), |dump| {
            let statics = [("HI_BYTE_SHIFT", Int(shift))];
            dump.class("java.lang.StringUTF16", OBJECT, &statics, &[]);
            let bytes = dump.array(FieldType::Byte, &bytes);
            dump.instance("java.lang.String", &[("value", Object(bytes)), ("coder", Byte(1))])
        });
    }
}

#[test]
fn threads_of_jdk_8_have_their_state_themselves() {
    check(Some("name \"worker\", state BLOCKED, kind daemon"), |dump| {
        let name = dump.string("worker");
        let status = 0x1 | 0x400;
        let fields =
            [("name", Object(name)), ("daemon", Boolean(true)), ("threadStatus", Int(status))];
        dump.instance("java.lang.Thread", &fields)
    });
    check(Some("name \"old\", state RUNNABLE"), |dump| {
        let name = dump.chars("old");
        let fields = [("name", Object(name)), ("daemon", Boolean(false)), ("threadStatus", Int(5))];
        dump.instance("java.lang.Thread", &fields)
    });
}

#[test]
fn maps_of_android_are_arrays() {
    let mut dump = Dump::new();
    let (key, value) = (dump.string("key"), dump.string("value"));
    let array = dump.objects(&[key, value, 0, 0]);
    let hashes = dump.ints(&[5, 0]);
    let fields = [("mHashes", Object(hashes)), ("mArray", Object(array)), ("mSize", Int(1))];
    let map = dump.instance("android.util.ArrayMap", &fields);
    let set = dump.instance("android.util.ArraySet", &fields);
    let keys = dump.ints(&[7, 9, 0]);
    let deleted = dump.reserve();
    dump.class("android.util.SparseArray", OBJECT, &[("DELETED", Object(deleted))], &sparse(0, 0));
    dump.put(deleted, OBJECT, &[]);
    let values = dump.objects(&[value, deleted, 0]);
    let sparse_array = dump.instance("android.util.SparseArray", &sparse(keys, values));
    let flags = dump.array(FieldType::Boolean, &[1, 0, 0]);
    let booleans = dump.instance("android.util.SparseBooleanArray", &sparse(keys, flags));
    let opened = dump.open();
    assert_eq!(opened.meaning(map).unwrap(), "1 entry: \"key\" = \"value\"");
    assert_eq!(opened.meaning(set).unwrap(), "1 element: \"key\"");
    assert_eq!(opened.meaning(sparse_array).unwrap(), "2 entries: 7 = \"value\", ...");
    assert_eq!(opened.meaning(booleans).unwrap(), "2 entries: 7 = true, 9 = false");
}

fn sparse(keys: u64, values: u64) -> [(&'static str, DumpField); 3] {
    [("mKeys", Object(keys)), ("mValues", Object(values)), ("mSize", Int(2))]
}

#[test]
fn numbers_of_android_are_small_ones() {
    check(Some("1.50"), |dump| {
        let fields = [("smallValue", Long(150)), ("bitLength", Int(8)), ("scale", Int(2))];
        dump.instance("java.math.BigDecimal", &fields)
    });
}

#[test]
fn lists_with_a_header_have_null_elements() {
    check(Some("2 elements: \"a\", null"), |dump| {
        let a = dump.string("a");
        let header = dump.reserve();
        let node = |element, next| [("element", Object(element)), ("next", Object(next))];
        let second = dump.instance("java.util.LinkedList$Entry", &node(0, header));
        let first = dump.instance("java.util.LinkedList$Entry", &node(a, second));
        dump.put(header, "java.util.LinkedList$Entry", &node(0, first));
        dump.instance("java.util.LinkedList", &[("header", Object(header)), ("size", Int(2))])
    });
}

#[test]
fn maps_of_jdk_8_without_a_counter_are_counted() {
    check(Some("2 entries: \"a\" = \"a\", \"b\" = \"a\""), |dump| {
        let (a, b) = (dump.string("a"), dump.string("b"));
        let node = |key, value, next| {
            [("key", Object(key)), ("value", Object(value)), ("next", Object(next))]
        };
        let class = "java.util.concurrent.ConcurrentSkipListMap$Node";
        let second = dump.instance(class, &node(b, a, 0));
        let marker = dump.reserve();
        dump.put(marker, class, &node(0, marker, second));
        let first = dump.instance(class, &node(a, a, marker));
        let base = dump.instance(class, &node(0, a, first));
        let index = "java.util.concurrent.ConcurrentSkipListMap$HeadIndex";
        let head = dump.instance(index, &[("node", Object(base))]);
        dump.instance("java.util.concurrent.ConcurrentSkipListMap", &[("head", Object(head))])
    });
}

#[test]
fn cycles_end() {
    check(
        Some(
            "2000000000 elements: \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", ...",
        ),
        |dump| {
            let a = dump.string("a");
            let (first, second) = (dump.reserve(), dump.reserve());
            let node = |next| [("item", Object(a)), ("next", Object(next))];
            dump.put(first, "java.util.LinkedList$Node", &node(second));
            dump.put(second, "java.util.LinkedList$Node", &node(first));
            let fields = [("first", Object(first)), ("size", Int(2_000_000_000))];
            dump.instance("java.util.LinkedList", &fields)
        },
    );
    // No size anywhere, and no end.
    check(
        Some(
            "at least 10000 elements: \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", ...",
        ),
        |dump| {
            let a = dump.string("a");
            let (first, second) = (dump.reserve(), dump.reserve());
            let node = |next| [("item", Object(a)), ("next", Object(next))];
            dump.put(first, "java.util.concurrent.ConcurrentLinkedQueue$Node", &node(second));
            dump.put(second, "java.util.concurrent.ConcurrentLinkedQueue$Node", &node(first));
            dump.instance("java.util.concurrent.ConcurrentLinkedQueue", &[("head", Object(first))])
        },
    );
    // Nodes without values.
    check(Some("at least 0 elements"), |dump| {
        let (first, second) = (dump.reserve(), dump.reserve());
        let node = |next| [("item", Object(0)), ("next", Object(next))];
        dump.put(first, "java.util.concurrent.ConcurrentLinkedQueue$Node", &node(second));
        dump.put(second, "java.util.concurrent.ConcurrentLinkedQueue$Node", &node(first));
        dump.instance("java.util.concurrent.ConcurrentLinkedQueue", &[("head", Object(first))])
    });
    // A tree that goes down to the left for ever.
    check(Some(&format!("5 entries: {}", ["\"a\" = \"a\""; 5].join(", "))), |dump| {
        let root = dump.reserve();
        let a = dump.string("a");
        let fields = [
            ("key", Object(a)),
            ("value", Object(a)),
            ("left", Object(root)),
            ("right", Object(root)),
        ];
        dump.put(root, "java.util.TreeMap$Entry", &fields);
        dump.instance("java.util.TreeMap", &[("root", Object(root)), ("size", Int(5))])
    });
    // Wrappers around themselves.
    check(None, |dump| {
        let list = dump.reserve();
        dump.put(list, "java.util.Collections$UnmodifiableCollection", &[("c", Object(list))])
    });
    check(None, |dump| {
        let time = dump.reserve();
        let fields = [("date", Object(time)), ("time", Object(time))];
        dump.put(time, "java.time.LocalDateTime", &fields)
    });
    check(Some("value java.util.Optional @ 0x100200"), |dump| {
        let optional = dump.reserve();
        dump.put(optional, "java.util.Optional", &[("value", Object(optional))])
    });
}

#[test]
fn sizes_that_lie_are_no_meaning() {
    for size in [-1, 4, i32::MAX] {
        check(None, |dump| {
            let array = dump.objects(&[0, 0, 0]);
            let fields = [("elementData", Object(array)), ("size", Int(size))];
            dump.instance("java.util.ArrayList", &fields)
        });
    }
    check(None, |dump| {
        let array = dump.objects(&[0, 0, 0]);
        let fields = [("elements", Object(array)), ("head", Int(-1)), ("tail", Int(9))];
        dump.instance("java.util.ArrayDeque", &fields)
    });
    check(Some("7 entries"), |dump| {
        let table = dump.objects(&[0, 0, 0]);
        dump.instance("java.util.HashMap", &[("table", Object(table)), ("size", Int(7))])
    });
    // A part of a string that is not in the array.
    check(Some("a string whose characters the dump does not have"), |dump| {
        let chars = dump.chars("abc");
        let fields = [("value", Object(chars)), ("offset", Int(2)), ("count", Int(i32::MAX))];
        dump.instance("java.lang.String", &fields)
    });
    check(None, |dump| {
        dump.instance("java.time.Instant", &[("seconds", Long(i64::MAX)), ("nanos", Int(0))])
    });
}

#[test]
fn references_to_nothing_are_shown() {
    check(Some("2 elements: 0xdead (not in the dump), null"), |dump| {
        let array = dump.objects(&[0xdead, 0]);
        dump.instance("java.util.Arrays$ArrayList", &[("a", Object(array))])
    });
    // A field of another type than the class has in any JDK.
    check(None, |dump| dump.instance("java.util.UUID", &[("mostSigBits", Object(0))]));
    check(None, |dump| dump.instance("java.util.HashMap", &[("size", Int(1))]));
}

#[test]
fn an_object_is_described() {
    let mut dump = Dump::new();
    let text = dump.string("text");
    let fields = [("name", Object(text)), ("size", Int(3))];
    let node = dump.instance("my.Node", &fields);
    let opened = dump.open();
    let description = opened.heap.describe(opened.at(node), 10).unwrap();
    let shown: Vec<_> = description.members.iter().map(|it| it.item.text.as_str()).collect();
    assert_eq!(shown, ["\"text\"", "3"]);
    assert_eq!(description.member_count, 2);
    assert_eq!((description.meaning, description.trace), (None, None));
    let item = opened.heap.brief(perk_heap::Value::Reference(node), Limits::default()).unwrap();
    assert_eq!(item.text, format!("my.Node @ 0x{node:x}"));
}

#[test]
fn references_are_merged() {
    let mut dump = Dump::new();
    let (shared, own) = (dump.string("shared"), dump.string("own"));
    let pair = |a, b| [("a", Object(a)), ("b", Object(b))];
    let first = dump.instance("my.Pair", &pair(shared, own));
    let second = dump.instance("my.Pair", &pair(shared, 0));
    dump.instance("my.Array", &[("first", Object(first)), ("second", Object(second))]);
    let opened = dump.open();
    let heap = &opened.heap;
    let rows = heap.merged_references(&[opened.at(first), opened.at(second)]).unwrap();
    let field = |name: &str| Label::Field(name.to_owned());
    let a = rows.iter().find(|row| row.label == field("a")).unwrap();
    assert_eq!((a.reference_count, a.holds), (2, true));
    assert_eq!(heap.class(a.class).name, "java.lang.String");
    let rows = heap.merged_referrers(&[opened.at(shared), opened.at(own)]).unwrap();
    let counts: Vec<_> = rows.iter().map(|row| (row.label.clone(), row.reference_count)).collect();
    assert_eq!(counts, [(field("a"), 2), (field("b"), 1)]);
    assert!(rows.iter().all(|row| heap.class(row.class).name == "my.Pair"));
    // Each object of these dumps is a root of its own.
    assert!(rows.iter().all(|row| row.held_count == 0));
}
