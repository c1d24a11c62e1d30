//! Every number of the server is the one of the command line, for all views of all sample files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use perk_open::{Input, Options};
use perk_report::{
    DiffRequest, NamedItem, ProfileRequest, ProfileView, TreeOrder, View, Want, parse,
};
use serde_json::Value;

use crate::client::{Served, testdata};

/// The sample files that perk reads, with what is in them.
fn samples() -> Vec<(PathBuf, NamedItem<Input>)> {
    let mut files = Vec::new();
    let mut folders = vec![testdata()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.extend(read(&path).map(|input| (path, input))),
            }
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// The answer of the command line on a profile that was read.
fn answer(input: &NamedItem<Input>, request: &ProfileRequest) -> Option<perk_report::Answer> {
    let NamedItem { name, it: Input { format, profile } } = input;
    let input = Input { format: *format, profile: profile.clone() };
    request.answer(NamedItem::new(name.clone(), input)).ok()
}

/// The profile of a file; `None` where it has none.
fn read(path: &Path) -> Option<NamedItem<Input>> {
    perk_open::content(path).ok()?;
    let input = perk_open::profile(path, &Options::default()).ok()?;
    Some(NamedItem::new(perk_open::display_name(path), input))
}

/// The rows of CSV and those of the server have the same numbers and the same plain texts.
pub(crate) fn assert_same(csv: &[u8], served: &Value, what: &str) {
    let mut reader = csv::Reader::from_reader(csv);
    let titles: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let columns = served["columns"].as_array().unwrap().iter();
    let ids: Vec<_> = columns.map(|column| column["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, titles, "{what}");
    let rows = served["rows"].as_array().unwrap();
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.len(), "{what}");
    assert_eq!(served["total_rows"], records.len(), "{what}");
    for (record, row) in records.iter().zip(rows) {
        for ((cell, value), id) in record.iter().zip(row.as_array().unwrap()).zip(&ids) {
            let is_same = match value {
                Value::Null => cell.is_empty(),
                Value::Bool(is_so) => cell == is_so.to_string(),
                Value::Number(number) if number.is_u64() => cell == number.to_string(),
                // CSV has two digits.
                Value::Number(number) => {
                    let (number, cell) = (number.as_f64().unwrap(), cell.parse::<f64>().unwrap());
                    (number - cell).abs() < 0.005_000_1
                }
                Value::String(text) => {
                    let shown = perk_profile::units::printable(text);
                    cell == shown || cell.strip_prefix('\'') == Some(&shown)
                }
                _ => false,
            };
            assert!(is_same, "{what}: {id}: {cell} and {value}");
        }
    }
}

/// The overview has the rows of what limits the program once each: those that the terminal shows, and those that it
/// counts, of fewer than 20 samples each.
fn assert_limits(served: &Served, id: &str, document: &Value) {
    let overview = served.json(&format!("/api/{id}/report?view=summary"));
    let rows = |list: &Value| -> Vec<String> {
        let row = |row: &Value| format!("{} {} {}", row["ns"], row["kind"], row["method"]);
        list.as_array().unwrap().iter().map(row).collect()
    };
    let more = rows(&overview["more_limits"]);
    let mut all = [rows(&overview["limits"]), more.clone()].concat();
    let mut expected = rows(&document["limits"]);
    all.sort();
    expected.sort();
    assert_eq!(all, expected, "{id}");
    let is_few = |row: &Value| row["sample_count"].as_u64().is_some_and(|count| count < 20);
    assert!(overview["more_limits"].as_array().unwrap().iter().all(is_few), "{overview}");
    let title = match more.len() {
        0 => Value::Null,
        1 => "1 more row of fewer than 20 samples".into(),
        count => format!("{count} more rows of fewer than 20 samples each").into(),
    };
    assert_eq!(overview["more_limits_title"], title);
}

/// The views, and the parameters that ask for them.
fn views() -> Vec<(&'static str, ProfileView)> {
    let name = |text| parse::name_pattern(text).unwrap();
    vec![
        ("advice", ProfileView::Advice),
        ("methods", ProfileView::Methods),
        ("threads", ProfileView::Threads),
        ("lines", ProfileView::Lines),
        ("tree", ProfileView::Tree(TreeOrder::TopDown)),
        ("tree&tree=bottom-up", ProfileView::Tree(TreeOrder::BottomUp)),
        ("edges", ProfileView::Edges),
        ("method&method=main", ProfileView::Callers(name("main"))),
        ("field&field=*.value", ProfileView::Field(name("*.value"))),
        ("sites", ProfileView::Sites),
        ("classes", ProfileView::Classes),
        ("monitors", ProfileView::Monitors),
        ("locks", ProfileView::Locks),
        ("holders", ProfileView::Holders),
        ("states", ProfileView::States),
    ]
}

#[test]
fn all_views_of_all_sample_files() {
    let files = samples();
    assert!(files.len() > 50, "{}", files.len());
    let inputs: Vec<_> = files.iter().map(|it| it.0.as_path()).collect();
    let served = Served::new(&inputs);
    let mut tables = 0;
    for (index, (path, input)) in files.into_iter().enumerate() {
        let id = format!("s{}", index + 1);
        // As each command selects it for each of its views.
        let selection = ProfileRequest::default().select(input).unwrap();
        let document = ProfileRequest { want: Want::DOCUMENT, ..ProfileRequest::default() };
        let mut expected = Vec::new();
        let document = document.answer(&selection).unwrap().document.unwrap();
        document.write(&mut expected).unwrap();
        let got = served.get(&format!("/api/{id}/report"));
        assert!(got.body == expected, "{}: the documents differ", path.display());
        assert_limits(&served, &id, &serde_json::from_slice(&expected).unwrap());
        for (query, view) in views() {
            let what = format!("{} {query}", path.display());
            let request = ProfileRequest {
                views: vec![view],
                want: Want::TABLE,
                ..ProfileRequest::default()
            };
            let table = request.answer(&selection).unwrap().table;
            let got = served.json(&format!("/api/{id}/report?view={query}&limit=10000"));
            let Some(table) = table else {
                assert_eq!(got["total_rows"], 0, "{what}");
                assert_eq!(got["missing"].as_array().unwrap().len(), 1, "{what}");
                continue;
            };
            tables += 1;
            let mut csv = Vec::new();
            table.csv(&mut csv).unwrap();
            assert_same(&csv, &got, &what);
            let export = served.get(&format!("/api/{id}/export?as=csv&view={query}"));
            assert!(export.body == csv, "{what}: the exported tables differ");
        }
    }
    assert!(tables > 200, "{tables}");
}

/// Questions with filters, windows and labels.
#[test]
fn parts_of_profiles() {
    let data = testdata();
    let files = [
        data.join("jfr/jdk17.jfr.gz"),
        data.join("pprof/cpu.pb.gz"),
        data.join("hprof/samples-cpu.txt"),
    ];
    let inputs: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let served = Served::new(&inputs);
    let read: Vec<_> = files.iter().map(|path| read(path).unwrap()).collect();
    let pattern = |text| vec![parse::name_pattern(text).unwrap()];
    let mut compared = 0;
    for (query, change) in [
        (
            "focus=main",
            &(|it: &mut ProfileRequest| it.filter.focus = pattern("main"))
                as &dyn Fn(&mut ProfileRequest),
        ),
        ("ignore=java.*", &|it: &mut ProfileRequest| it.filter.ignore = pattern("java.*")),
        ("hide=java.*&top=5", &|it: &mut ProfileRequest| {
            it.filter.hide = pattern("java.*");
            it.top = Some(5);
        }),
        ("from=100ms&to=1s", &|it: &mut ProfileRequest| {
            it.window.from_ns = Some(100_000_000);
            it.window.to_ns = Some(1_000_000_000);
        }),
        ("no-infer", &|it: &mut ProfileRequest| it.infers_callers = false),
        ("metric=samples&min=5%25", &|it: &mut ProfileRequest| {
            it.metric = Some("samples".into());
            it.min_percent = 5.0;
        }),
        ("metric=none", &|it: &mut ProfileRequest| it.metric = Some("none".into())),
    ] {
        for (index, input) in read.iter().enumerate() {
            for (name, view) in
                [("document", None), ("tree", Some(ProfileView::Tree(TreeOrder::TopDown)))]
            {
                let want = if view.is_some() { Want::TABLE } else { Want::DOCUMENT };
                let views = view.into_iter().collect();
                let mut request = ProfileRequest { views, want, ..ProfileRequest::default() };
                change(&mut request);
                let path_of = format!("/api/s{}/report?view={name}&limit=10000&{query}", index + 1);
                let Some(expected) = answer(input, &request) else {
                    assert_eq!(served.error(&path_of).0, 400, "{path_of}");
                    continue;
                };
                compared += 1;
                if let Some(document) = expected.document {
                    let mut bytes = Vec::new();
                    document.write(&mut bytes).unwrap();
                    assert!(served.get(&path_of).body == bytes, "{path_of}");
                } else if let Some(table) = expected.table {
                    let mut csv = Vec::new();
                    table.csv(&mut csv).unwrap();
                    assert_same(&csv, &served.json(&path_of), &path_of);
                }
            }
        }
    }
    assert!(compared > 25, "{compared}");
}

/// The lanes of each thread add up to what the tables of the command line say of it.
#[test]
fn lanes_are_what_the_tables_say() {
    let data = testdata();
    let files = [data.join("jfr/jdk17.jfr.gz"), data.join("jfr/jdk25.jfr.gz")];
    let served = Served::new(&[&*files[0], &*files[1]]);
    let sum = |table: &Value, column: &str| -> u64 {
        let columns = table["columns"].as_array().unwrap();
        let place = columns.iter().position(|it| it["id"] == column).unwrap();
        let rows = table["rows"].as_array().unwrap().iter();
        rows.map(|row| row[place].as_u64().unwrap_or(0)).sum()
    };
    for id in ["s1", "s2"] {
        let lanes = served.json(&format!("/api/{id}/lanes?threads=1000"));
        assert_eq!(lanes["other_thread_count"], 0);
        for of in
            lanes["threads"].as_array().unwrap().iter().chain([&lanes["all"], &lanes["others"]])
        {
            for (total, numbers) in
                of["totals"].as_array().unwrap().iter().zip(of["numbers"].as_array().unwrap())
            {
                let numbers = numbers.as_array().unwrap().iter().map(|it| it.as_u64().unwrap());
                assert_eq!(*total, numbers.sum::<u64>(), "{id}: {}", of["name"]);
            }
        }
        let threads = served.json(&format!("/api/{id}/report?view=threads&limit=10000"));
        let mut listed: BTreeMap<String, u64> = BTreeMap::new();
        let columns = threads["columns"].as_array().unwrap();
        let [name, number] = ["thread", "self_count"]
            .map(|id| columns.iter().position(|it| it["id"] == id).unwrap());
        for row in threads["rows"].as_array().unwrap() {
            let name = row[name].as_str().unwrap_or_default().to_owned();
            *listed.entry(name).or_default() += row[number].as_u64().unwrap();
        }
        let mut shown = BTreeMap::new();
        for thread in lanes["threads"].as_array().unwrap() {
            let total = thread["totals"][0].as_u64().unwrap();
            shown.insert(thread["name"].as_str().unwrap().to_owned(), total);
        }
        shown.retain(|_, total| *total > 0);
        listed.retain(|_, total| *total > 0);
        assert_eq!(shown, listed, "{id}");
        let locks = served.json(&format!("/api/{id}/report?view=locks&limit=10000"));
        let sites = served.json(&format!("/api/{id}/report?view=sites&limit=10000"));
        for (place, metric) in lanes["metrics"].as_array().unwrap().iter().enumerate() {
            let expected = match metric["metric"].as_str().unwrap() {
                "blocked" => sum(&locks, "blocked_ns"),
                "waited" => sum(&locks, "waited_ns"),
                "allocated" => sum(&sites, "allocated_bytes"),
                _ => continue,
            };
            assert_eq!(lanes["all"]["totals"][place], expected, "{id}: {metric}");
        }
    }
}

#[test]
fn comparisons_are_those_of_the_command_line() {
    let data = testdata();
    let files = [data.join("jfr/jdk17.jfr.gz"), data.join("jfr/jdk25.jfr.gz")];
    let served = Served::new(&[&*files[0], &*files[1]]);
    let compare = |questions: [&str; 2], windows: [perk_analysis::Window; 2], query: &str| {
        let sides = [0, 1].map(|side| {
            let request = DiffRequest { window: windows[side], ..DiffRequest::default() };
            let input = perk_open::profile(&files[side], &Options::default()).unwrap();
            let name = perk_open::display_name(&files[side]);
            request.select(NamedItem::new(name, input.profile), &mut Vec::new()).unwrap()
        });
        let [mut before, mut after] = sides;
        let request = DiffRequest { want: Want::DOCUMENT, ..DiffRequest::default() };
        let answer = request.answer([&mut before, &mut after]).unwrap();
        let mut expected = Vec::new();
        answer.document.unwrap().write(&mut expected).unwrap();
        let [before, after] = questions;
        let path = format!("/api/diff?before={before}&after={after}{query}");
        assert!(served.get(&path).body == expected, "{path}");
    };
    let whole = perk_analysis::Window::default();
    compare(["s1", "s2"], [whole, whole], "");
    let begin = perk_analysis::Window { from_ns: None, to_ns: Some(1_000_000_000) };
    compare(["s1", "s2"], [begin, whole], "&before-to=1s");
    let summary = served.json("/api/diff?before=s1&after=s2&view=summary");
    assert!(!summary["sentences"].as_array().unwrap().is_empty(), "{summary}");
    assert!(
        served.json("/api/diff?before=s1&after=s2&view=table")["total_rows"].as_u64() > Some(0)
    );
    assert_eq!(served.error("/api/diff?before=s1").1, "name the source: after=s1");
    assert_eq!(served.error("/api/diff?before=s1&after=s9").0, 404);
}
