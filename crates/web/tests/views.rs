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
