//! The answers.

use serde_json::{Value, json};

use crate::client::{Served, testdata};

#[test]
fn tables_are_sorted_searched_and_cut_on_the_server() {
    let served = Served::new(&[&testdata().join("pprof/cpu.pb.gz")]);
    let table = |query: &str| served.json(&format!("/api/s1/report?view=methods&{query}"));
    let all = table("limit=10000");
    let rows = all["rows"].as_array().unwrap();
    assert_eq!(all["total_rows"], rows.len());
    let place = |id: &str| {
        let columns = all["columns"].as_array().unwrap();
        columns.iter().position(|column| column["id"] == id).unwrap()
    };
    // The first number with all that is below: its unit depends on the file.
    let mut columns = all["columns"].as_array().unwrap().iter();
    let id =
        columns.find_map(|it| it["id"].as_str().filter(|id| id.starts_with("total_"))).unwrap();
    let total = place(id);
    let sorted = table(&format!("sort={id}&order=asc&limit=10000"));
    let mut numbers: Vec<u64> = rows.iter().map(|row| row[total].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    let column: Vec<u64> =
        sorted["rows"].as_array().unwrap().iter().map(|row| row[total].as_u64().unwrap()).collect();
    assert_eq!(column, numbers);
    let part = table(&format!("sort={id}&order=asc&offset=3&limit=2"));
    assert_eq!(part["rows"], json!([sorted["rows"][3], sorted["rows"][4]]));
    assert_eq!(part["total_rows"], all["total_rows"]);
    let name = place("name");
    let searched = table("search=RUNTIME.&limit=10000");
    let with = |row: &&Value| row.to_string().to_lowercase().contains("runtime.");
    assert_eq!(searched["rows"].as_array().unwrap().len(), rows.iter().filter(with).count());
    assert!(rows[0][name].is_string());
    assert_eq!(served.error("/api/s1/report?view=methods&sort=none").0, 400);
    assert_eq!(served.error("/api/s1/report?view=none").0, 404);
    assert_eq!(served.error("/api/s1/report?metric=none").0, 400);
    assert_eq!(served.error("/api/s1/report?top=x").1, "top x: use a number");
    assert_eq!(served.error("/api/s1/report?version=7").0, 409);
}

#[test]
fn long_answers_are_packed_for_those_who_unpack() {
    let served = Served::new(&[&testdata().join("pprof/cpu.pb.gz")]);
    let path = "/api/s1/report";
    let plain = served.get(path);
    assert_eq!(plain.header("content-encoding"), None);
    let packed = served.get_with(path, "accept-encoding: br, gzip\r\n");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 3 < plain.body.len());
    let mut text = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&*packed.body), &mut text).unwrap();
    assert_eq!(text, plain.body);
}

#[test]
fn source_files_have_the_numbers_of_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("src/com/acme");
    std::fs::create_dir_all(&sources).unwrap();
    std::fs::write(
        sources.join("Shop.java"),
        "package com.acme;\nclass Shop {\n  void list() {\n  }\n}\n",
    )
    .unwrap();
    let file = folder.path().join("a.txt");
    let text = "JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024\n\nTHREAD START (obj=1, id = 200001, \
                name=\"main\", group=\"main\")\nTRACE 300001:\n\tcom.acme.Shop.list(Shop.java:3)\nCPU SAMPLES BEGIN \
                (total = 7) Mon Jan  1 00:00:01 2024\nrank   self  accum   count trace method\n   1 100.00% 100.00%       7 \
                300001 com.acme.Shop.list\nCPU SAMPLES END\n";
    std::fs::write(&file, text).unwrap();
    let options = perk_web::Options {
        inputs: vec![file.clone()],
        source_folders: vec![folder.path().join("src")],
        ..perk_web::Options::default()
    };
    let served = Served::with(options);
    let all = served.json("/api/s1/source");
    let place = |id: &str| {
        all["columns"].as_array().unwrap().iter().position(|column| column["id"] == id).unwrap()
    };
    let (path, line, source) = (place("path"), place("line"), place("source"));
    let name = all["rows"][0][path].as_str().unwrap().to_owned();
    let whole = served.json(&format!("/api/s1/source?file={}", crate::client::encoded(&name)));
    let rows = whole["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row[line] == 3 && row[source] == "  void list() {"), "{whole}");
    assert_eq!(served.json("/api/s1/source?file=..%2F..%2Fetc%2Fpasswd")["total_rows"], 0);
    let without = Served::new(&[&file]);
    assert!(without.error("/api/s1/source").1.contains("--source"));
}

#[test]
fn the_strip_has_what_was_recorded_over_time_and_the_pauses() {
    let files =
        ["jfr/jdk17.jfr.gz", "collapsed/allocations.collapsed"].map(|file| testdata().join(file));
    let served = Served::new(&[&files[0], &files[1]]);
    let strip = served.json("/api/s1/strip");
    let sum = |numbers: &Value| -> u64 {
        numbers.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum()
    };
    let series = &strip["series"][0];
    assert_eq!(
        (series["metric"].as_str(), series["sample_ns"].as_u64()),
        (Some("samples"), Some(10_000_000))
    );
    let bucket = strip["interval_ns"].as_u64().unwrap() / 1_000_000;
    let timeline = served.json(&format!("/api/s1/timeline?bucket-ms={bucket}"));
    assert_eq!(series["numbers"], timeline["all"]);
    assert_eq!(sum(&series["numbers"]), 44);
    // An interval is so long that a sample more or less changes little.
    assert!(bucket >= 20 * 10, "{bucket}");
    let pauses = &strip["pauses"][0];
    assert_eq!((pauses["kind"].as_str(), pauses["count"].as_u64()), (Some("collection"), Some(2)));
    // What the JDK's own tool says of the two.
    assert_eq!(pauses["total_ns"].as_u64().unwrap() / 1000, 7307);
    assert_eq!(pauses["total_ns"], sum(&pauses["numbers"]));
    // Allocations and waits over time add up to what the report has of them.
    let metrics = served.json("/api/s1/report?view=summary")["metrics"].clone();
    for metric in ["allocated", "blocked", "waited"] {
        let of = |list: &Value| {
            let all = list.as_array().unwrap();
            all.iter()
                .find(|it| it["metric"] == metric)
                .unwrap_or_else(|| panic!("{metric}"))
                .clone()
        };
        let series = of(&strip["series"]);
        assert_eq!(sum(&series["numbers"]), of(&metrics)["total"], "{metric}");
        assert!(series["numbers"].as_array().unwrap().iter().filter(|it| **it != 0).count() > 1);
    }
    let part = served.json("/api/s1/strip?focus=Recorded.compute");
    assert_eq!(part["series"].as_array().unwrap().len(), 1, "these have no paths to filter by");
    assert!(sum(&part["series"][0]["numbers"]) < 44 && part["pauses"] == strip["pauses"]);
    // A file without times has no lanes.
    assert_eq!(served.json("/api/s2/strip")["series"], json!([]));
    assert_eq!(served.error("/api/s1/strip?from=1s").0, 400);
}
