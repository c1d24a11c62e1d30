//! Heap dumps: every view has the document and the table of `perk heap`.

use std::fs;

use perk_heap::{NoWatch, Options};
use perk_report::{HeapRequest, HeapView, NamedItem, View, Want, parse};

use crate::client::{Served, encoded, testdata};

#[test]
fn views_of_heaps_are_those_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.hprof.gz");
    fs::copy(testdata().join("hprof/all-b-alloc.hprof.gz"), &file).unwrap();
    let served = Served::new(&[&file]);
    assert_eq!(served.json("/api/sources")["sources"][0]["kind"], "heap");
    let heap = perk_open::heap(&file, &Options::default(), &mut NoWatch).unwrap();
    let name = perk_open::display_name(&file);
    let what = |text: &str| parse::what(text).unwrap();
    let mut compared = 0;
    for (query, view) in [
        ("overview?", HeapView::Overview),
        ("classes?", HeapView::Classes),
        ("packages?", HeapView::Packages),
        ("loaders?", HeapView::Loaders),
        ("threads?", HeapView::Threads),
        ("sites?", HeapView::Sites),
        ("roots?", HeapView::Roots),
        ("biggest?", HeapView::Biggest),
        ("unreachable?", HeapView::Unreachable { are_kept: false }),
        (
            "instances?class=java.lang.String",
            HeapView::Instances(parse::class("java.lang.String").unwrap()),
        ),
        ("tree?", HeapView::Tree(None)),
        ("paths?what=java.lang.String", HeapView::Paths(what("java.lang.String"))),
        ("refs-of?what=java.lang.String", HeapView::ReferencesOf(what("java.lang.String"))),
        ("refs-to?what=java.lang.String", HeapView::ReferencesTo(what("java.lang.String"))),
    ] {
        let path = format!("/api/s1/heap/{query}");
        let request = HeapRequest {
            view: view.clone(),
            top: Some(1000),
            want: Want::DOCUMENT,
            ..HeapRequest::default()
        };
        let answer = request.answer(NamedItem::new(&*name, &heap));
        let Ok(answer) = answer else {
            assert_eq!(served.error(&path).0, 400, "{path}");
            continue;
        };
        let Some(document) = answer.document else {
            assert_eq!(served.json(&path)["missing"].as_array().unwrap().len(), 1, "{path}");
            continue;
        };
        let mut expected = Vec::new();
        document.write(&mut expected).unwrap();
        assert!(served.get(&path).body == expected, "{path}");
        let request = HeapRequest { view, want: Want::TABLE, ..HeapRequest::default() };
        let mut csv = Vec::new();
        request
            .answer(NamedItem::new(&*name, &heap))
            .unwrap()
            .table
            .unwrap()
            .csv(&mut csv)
            .unwrap();
        let table = served.json(&format!("{path}&as=table&limit=10000"));
        crate::equal::assert_same(&csv, &table, &path);
        compared += 1;
    }
    assert!(compared > 9, "{compared}");
    // Of many instances those that retain most are a table, which says how many there are.
    let instances = "/api/s1/heap/instances?class=java.lang.String&as=table";
    let all = served.json(instances);
    let some = served.json(&format!("{instances}&top=3"));
    let rows = |table: &serde_json::Value| table["rows"].as_array().unwrap().clone();
    assert_eq!(rows(&some), rows(&all)[..3]);
    let note = format!("the first 3 of {} instances, by what each retains", all["total_rows"]);
    assert!(some["notes"].to_string().contains(&note), "{some}");
    assert!(!all["notes"].to_string().contains("the first"), "{all}");
    // From an object to another: the inspector follows addresses.
    let biggest = served.json("/api/s1/heap/biggest?top=1");
    let text = biggest.to_string();
    let at = text.find("0x").expect("an address");
    let address: String = text[at..].chars().take_while(char::is_ascii_alphanumeric).collect();
    let object = served.json(&format!("/api/s1/heap/object?id={}", encoded(&address)));
    assert!(object.to_string().contains(&address));
    for path in ["object", "object?id=x", "paths", "instances", "object?id=0x1", "classes?as=x"] {
        assert_eq!(served.error(&format!("/api/s1/heap/{path}")).0, 400, "{path}");
    }
    assert_eq!(served.error("/api/s1/heap/none").0, 404);
    // A profile has no objects.
    let profile = Served::new(&[&testdata().join("pprof/cpu.pb.gz")]);
    assert_eq!(profile.error("/api/s1/heap/overview").0, 409);
}
