//! Very many sets of labels, and very long values.

use std::fs;

use perk_testkit::protobuf::{bytes, number, varint};
use serde_json::json;

use super::StoreFolder;
use crate::sql;

const SETS: usize = 100_000;
const LONG: usize = 1 << 20;

/// A profile in the form of pprof, as others write it: a sample of each set of labels, the first of which has a long one.
fn pprof() -> Vec<u8> {
    let mut strings: Vec<String> =
        ["", "samples", "count", "run", "id", "long"].map(Into::into).into();
    strings.push("x".repeat(LONG));
    let mut file = bytes(1, &[number(1, 1), number(2, 2)].concat());
    for set in 0..SETS {
        strings.push(format!("id-{set}"));
        let label = [number(1, 4), number(2, strings.len() as u64 - 1)].concat();
        let mut sample = [bytes(1, &varint(1)), bytes(2, &varint(3)), bytes(3, &label)].concat();
        if set == 0 {
            sample.extend(bytes(3, &[number(1, 5), number(2, 6)].concat()));
        }
        file.extend(bytes(2, &sample));
    }
    file.extend(bytes(4, &[number(1, 1), bytes(4, &number(1, 1))].concat()));
    file.extend(bytes(5, &[number(1, 1), number(2, 3)].concat()));
    file.extend(strings.iter().flat_map(|it| bytes(6, it.as_bytes())));
    file.extend(number(9, 1_795_900_000_000_000_000));
    file
}

#[test]
fn many_sets_of_labels_and_long_values_are_kept() {
    let store = StoreFolder::new();
    let file = store.folder.path().join("labels.pb");
    fs::write(&file, pprof()).unwrap();
    store.print("add", &["--label", "service=shop", file.to_str().unwrap()]);
    let all = "SELECT count(DISTINCT labels['id']) AS ids, max(length(labels['long'])) AS longest, sum(value) AS value FROM samples";
    let expected = json!({"ids": SETS, "longest": LONG, "value": 3 * SETS});
    assert_eq!(store.rows(all), [expected]);
    let methods = "SELECT sum(self) AS self FROM methods";
    assert_eq!(store.rows(methods), [json!({"self": 3 * SETS})]);
    assert_eq!(store.rows(&format!("{methods} WHERE labels['id'] = 'id-7'")), [json!({"self": 3})]);
    let output = sql::run(&[&store.path()], &["SELECT DISTINCT labels['id'] FROM methods"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("more than 1000 sets of labels"), "{said}");
    // More in the same hour, and one file of both.
    store.print("add", &["--label", "service=shop", "--label", "host=b", file.to_str().unwrap()]);
    store.print("compact", &[]);
    let twice = json!({"ids": SETS, "longest": LONG, "value": 6 * SETS});
    assert_eq!(store.rows(all), [twice]);
}
