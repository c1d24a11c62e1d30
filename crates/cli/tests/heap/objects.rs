//! `perk heap --object`, `--refs-of`, `--refs-to`, `--threads` and `--sites`, on objects that are known.

use perk_testkit::{Jdk, jdk};
use serde_json::Value;

use super::measured;
use crate::util::{Folder, assert_refused, stderr, stdout};

const ORDERS: u64 = 12;
const BYTES: u64 = 16 + 10_000;
/// A string of up to 8 characters of one byte, and its array.
const NAME: u64 = 24 + 24;
const LOCAL_BYTES: u64 = 16 + 8 * 50_000;

/// A folder with `it.hprof`.
fn dumped(jdk: &Jdk) -> Folder {
    super::dumped(jdk, &["KnownObjects", "it.hprof"])
}

#[track_caller]
fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(&[&["heap", "--json"], arguments, &["it.hprof"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn text(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["heap"], arguments, &["it.hprof"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

/// The rows in which `key` has this text.
fn rows<'v>(rows: &'v Value, key: &str, text: &str) -> Vec<&'v Value> {
    rows.as_array().unwrap().iter().filter(|row| row[key] == text).collect()
}

#[track_caller]
fn row<'v>(of: &'v Value, key: &str, text: &str) -> &'v Value {
    match rows(of, key, text)[..] {
        [row] => row,
        ref rows => panic!("{} rows with {text}: {of}", rows.len()),
    }
}

/// The address of the object in a static field of the program.
fn address(folder: &Folder, field: &str) -> String {
    let value = json(folder, &["--refs-to", "KnownObjects$Special"]);
    assert_eq!(value["referrers"][0]["place"], "static special", "{value}");
    let class = json(folder, &["--refs-to", "KnownObjects$Order[]"]);
    assert_eq!(class["referrers"][0]["class"], "class KnownObjects", "{class}");
    let instances = match field {
        "special" => json(folder, &["--instances", "KnownObjects$Special"]),
        _ => json(folder, &["--instances", "KnownObjects$Order[]"]),
    };
    instances["instances"][0]["address"].as_str().unwrap().to_owned()
}

#[test]
fn an_object_has_its_fields_sizes_and_holders() {
    let folder = dumped(jdk::compiler());
    let special = address(&folder, "special");
    let value = json(&folder, &["--object", &special]);
    let object = &value["object"];
    assert_eq!(object["class"], "KnownObjects$Special");
    assert_eq!((&object["address"], &object["reach"]), (&Value::from(&*special), &"held".into()));
    assert!(object["meaning"].is_null() && object["allocated_at"].is_null(), "{object}");
    let shallow = object["shallow_bytes"].as_u64().unwrap();
    // An ArrayList, and its array of two.
    let list = 24 + 24;
    assert_eq!(object["retained_bytes"], shallow + NAME + BYTES + list, "{object}");
    let members = &object["members"];
    let numbers = rows(members, "name", "number");
    let declared: Vec<_> = numbers.iter().map(|it| (&it["declared_by"], &it["value"])).collect();
    let expected = [("KnownObjects$Special", "9"), ("KnownObjects$Order", "7")];
    let expected = expected.map(|it| (Value::from(it.0), Value::from(it.1)));
    assert_eq!(declared, expected.each_ref().map(|it| (&it.0, &it.1)));
    for (name, field_type, value) in [
        ("price", "double", "2.5"),
        ("isPaid", "boolean", "true"),
        ("kind", "char", "'k'"),
        ("nothing", "reference", "null"),
        ("name", "reference", "\"ordered\""),
        ("list", "reference", "ArrayList of 2"),
    ] {
        let row = row(members, "name", name);
        assert_eq!((&row["type"], &row["value"]), (&field_type.into(), &value.into()), "{row}");
    }
    let list = row(members, "name", "list");
    assert_eq!((&list["is_held"], &list["retained_bytes"]), (&true.into(), &48.into()), "{list}");
    // Others refer to it, too.
    assert_eq!(row(members, "name", "before")["is_held"], false);
    assert_eq!(object["holders"][0]["class"], "class KnownObjects");
    assert_eq!(row(&object["held"], "class", "byte[]")["retained_bytes"], BYTES);

    let shown = text(&folder, &["--object", &special]);
    for line in
        ["price = 2.5", "number = 9\n", "number = 7  (KnownObjects$Order)", "class KnownObjects"]
    {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let list = list["address"].as_str().unwrap();
    let shown = text(&folder, &["--object", list]);
    assert!(shown.contains(&format!("java.util.ArrayList {list}: 2 elements: 1, 2\n")), "{shown}");
    let csv = text_csv(&folder, &["--object", list]);
    assert!(csv.starts_with("name,declared_by,type,address,class,value,"), "{csv}");
    assert!(csv.contains("\nsize,java.util.ArrayList,int,,,2,"), "{csv}");
}

/// The rows of a view as CSV.
#[track_caller]
fn text_csv(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["heap", "--csv"], arguments, &["it.hprof"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn arrays_show_their_first_elements() {
    let folder = dumped(jdk::compiler());
    let orders = address(&folder, "orders");
    let object = &json(&folder, &["--object", &orders, "--top", "3"])["object"];
    assert_eq!(object["member_count"], 10);
    assert_eq!(object["members"].as_array().unwrap().len(), 3, "{object}");
    assert_eq!(object["members"][2]["name"], "[2]");
    let shown = text(&folder, &["--object", &orders, "--top", "3"]);
    assert!(shown.contains("7 more elements"), "{shown}");
}

#[test]
fn addresses_without_an_object_are_refused() {
    let folder = dumped(jdk::compiler());
    for (arguments, parts) in [
        (["--object", "0x8"], &["no object at 0x8"][..]),
        (["--object", "String"], &["--object", "0x7f2a5b1e8"]),
        (["--refs-to", "0x8"], &["no object at 0x8"]),
        (["--refs-of", "NoSuchClass"], &["NoSuchClass"]),
    ] {
        assert_refused(&folder.run(&[&["heap"], &arguments[..], &["it.hprof"]].concat()), parts);
    }
}

#[test]
fn references_are_shown_from_both_ends() {
    let folder = dumped(jdk::compiler());
    let special = address(&folder, "special");
    let value = json(&folder, &["--refs-to", &special]);
    let to = row(&value["referrers"], "place", "static special");
    assert_eq!((&to["class"], &to["is_held"]), (&"class KnownObjects".into(), &true.into()));
    let value = json(&folder, &["--refs-of", &special]);
    let bytes = row(&value["references"], "place", ".bytes");
    assert_eq!((&bytes["retained_bytes"], &bytes["holds"]), (&BYTES.into(), &true.into()));

    // Of classes: equal fields are one.
    let value = json(&folder, &["--refs-of", "KnownObjects$Order"]);
    let bytes = row(&value["references"], "place", ".bytes");
    let orders = ORDERS - 1;
    assert_eq!(bytes["reference_count"], orders, "{value}");
    assert_eq!(bytes["held_count"], orders);
    assert_eq!(bytes["held_bytes"], orders * BYTES);
    // A list: what the second link holds is counted once.
    let value = json(&folder, &["--refs-of", "KnownObjects$Link"]);
    let next = row(&value["references"], "place", ".next");
    assert_eq!((&next["reference_count"], &next["held_count"]), (&99.into(), &99.into()));
    assert_eq!(next["held_bytes"], 99 * 16);
    let value = json(&folder, &["--refs-to", "KnownObjects$Order"]);
    let before: Vec<_> = rows(&value["referrers"], "place", ".before");
    let counts: Vec<_> =
        before.iter().map(|it| (it["class"].as_str(), it["reference_count"].as_u64())).collect();
    assert_eq!(
        counts,
        [(Some("KnownObjects$Order"), Some(10)), (Some("KnownObjects$Special"), Some(1))]
    );
    let elements = row(&value["referrers"], "place", "[]");
    assert_eq!(
        (&elements["class"], &elements["reference_count"]),
        (&"KnownObjects$Order[]".into(), &10.into())
    );
    let shown = text(&folder, &["--refs-to", "KnownObjects$Order"]);
    assert!(shown.contains("KnownObjects$Order[] []\n"), "{shown}");
}

#[test]
fn threads_have_their_stacks_and_locals() {
    jdk::each(|jdk| {
        let folder = dumped(jdk);
        let value = json(&folder, &["--threads"]);
        let worker = row(&value["threads"], "name", "worker");
        assert_eq!((&worker["state"], &worker["is_daemon"]), (&"WAITING".into(), &true.into()));
        check_local(worker);
        let main = row(&value["threads"], "name", "main");
        assert_eq!(main["state"], "RUNNABLE");
        if jdk.version >= 21 {
            let light = row(&value["threads"], "name", "light");
            assert_eq!((&light["state"], &light["is_virtual"]), (&"WAITING".into(), &true.into()));
            if jdk.version >= 22 {
                check_local(light);
            }
        }
        let shown = text(&folder, &["--threads"]);
        for line in
            ["\"worker\" (daemon)", "KnownObjects.hold (KnownObjects.java:", "long[50000] @ 0x"]
        {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
        let csv = text_csv(&folder, &["--threads"]);
        let line = format!("long[],long[50000],{LOCAL_BYTES},true\n");
        assert!(csv.contains(&line), "{csv}");
    });
}

/// Checks that a thread holds an array in the frame of `KnownObjects.hold`.
#[track_caller]
fn check_local(thread: &Value) {
    let frames = thread["frames"].as_array().unwrap();
    let is_it = |it: &&Value| it["frame"].as_str().unwrap().starts_with("KnownObjects.hold (");
    let frame = frames.iter().find(is_it).unwrap_or_else(|| panic!("{thread}"));
    let local = row(&frame["locals"], "class", "long[]");
    assert_eq!((&local["retained_bytes"], &local["is_held"]), (&LOCAL_BYTES.into(), &true.into()));
    assert!(thread["retained_bytes"].as_u64().unwrap() > LOCAL_BYTES, "{thread}");
}

/// A folder with `it.hprof`, whose objects have traces: a list of this number of nodes.
fn traced(node_count: u64) -> Folder {
    let folder = Folder::new();
    folder.file("go", "");
    measured(&folder, &[], "it.hprof", &["HeapObjects", &node_count.to_string()]);
    folder
}

#[test]
fn sites_have_what_their_objects_retain() {
    const NODES: u64 = 3000;
    let folder = traced(NODES);
    let value = json(&folder, &["--sites"]);
    let sites = value["sites"].as_array().unwrap();
    let frame = |site: &Value, index: usize| site["frames"][index].to_string();
    // The trace ends in the constructor.
    let is_it = |site: &&Value| {
        site["class"] == "HeapObjects$Node" && frame(site, 1).contains("HeapObjects.chain")
    };
    let nodes = sites.iter().find(is_it).unwrap();
    assert_eq!(nodes["instance_count"], NODES);
    // The list holds the arrays, which were allocated elsewhere.
    let shallow = nodes["shallow_bytes"].as_u64().unwrap();
    assert_eq!(nodes["least_retained_bytes"], shallow + NODES * 24, "{nodes}");
    let is_array = |site: &&Value| {
        site["class"] == "byte[]" && frame(site, 0).contains("HeapObjects$Node.<init>")
    };
    let arrays = sites.iter().find(is_array).unwrap();
    assert_eq!(
        (&arrays["instance_count"], &arrays["least_retained_bytes"]),
        (&NODES.into(), &(NODES * 24).into())
    );
    let shown = text(&folder, &["--sites"]);
    assert!(shown.contains("HeapObjects.chain (HeapObjects.java:"), "{shown}");

    let instances = json(&folder, &["--instances", "HeapObjects$Node"]);
    let address = instances["instances"][0]["address"].as_str().unwrap();
    let object = &json(&folder, &["--object", address])["object"];
    assert!(
        object["allocated_at"][1].as_str().unwrap().starts_with("HeapObjects.chain ("),
        "{object}"
    );
    let shown = text(&folder, &["--object", address]);
    assert!(shown.contains("Allocated at\n") && shown.contains("HeapObjects.main ("), "{shown}");
}

#[test]
fn a_dump_without_sites_says_how_to_get_them() {
    let folder = dumped(jdk::compiler());
    let output = folder.run(&["heap", "--sites", "it.hprof"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    let said = stderr(&output);
    assert!(said.contains("perk run --heap all") && said.lines().count() == 1, "{said}");
}

#[test]
fn the_documents_are_what_the_page_says() {
    let folder = dumped(jdk::compiler());
    let special = address(&folder, "special");
    let traced = traced(10);
    let parts = |folder: &Folder, view: &[&str], keys: &[&str]| {
        let value = json(folder, view);
        let parts = keys.iter().map(|&key| (key.to_owned(), value[key].clone())).collect();
        (view.join(" "), Value::Object(parts))
    };
    let documents = [
        parts(&folder, &["--object", &special], &["object"]),
        parts(&folder, &["--refs-of", &special], &["references"]),
        parts(&folder, &["--refs-to", &special], &["referrers"]),
        parts(&folder, &["--refs-of", "KnownObjects$Order"], &["references"]),
        parts(&folder, &["--refs-to", "KnownObjects$Order"], &["referrers"]),
        parts(&folder, &["--threads"], &["threads"]),
        parts(
            &traced,
            &["--sites"],
            &["sites", "objects_without_site_count", "objects_without_site_bytes"],
        ),
    ];
    crate::json::check("Objects of heap dumps", &documents);
}
