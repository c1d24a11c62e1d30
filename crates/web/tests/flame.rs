//! Flame graphs, searches and numbers over time, compared with reports.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::client::{Served, encoded, testdata, write_stacks};

/// A profile for questions about places: two threads' stacks in one.
fn served(folder: &tempfile::TempDir) -> Served {
    let file = folder.path().join("a.collapsed");
    write_stacks(&file, "main;a;leaf 5\nmain;b;leaf 3\nmain;a 1\nrun;a;x 7\n");
    Served::new(&[&file])
}

/// The nodes as lines: level, name, own and total.
fn lines(graph: &Value) -> Vec<String> {
    let column = |name: &str| graph[name].as_array().unwrap().clone();
    let (levels, frames) = (column("level"), column("frame"));
    let (own, total) = (column("self"), column("total_of"));
    let name = |frame: &Value| match frame.as_i64().unwrap() {
        -1 => "all".to_owned(),
        at => graph["names"][at as usize].as_str().unwrap().to_owned(),
    };
    (0..levels.len())
        .map(|at| {
            let indent = "-".repeat(levels[at].as_u64().unwrap() as usize);
            format!("{indent}{} {} {}", name(&frames[at]), own[at], total[at])
        })
        .collect()
}

#[test]
fn frames_have_the_counted_calls_of_their_methods() {
    let served = Served::new(&[&testdata().join("hprof/samples-and-calls.txt")]);
    let graph = served.json("/api/s1/flame");
    assert_eq!(lines(&graph), ["all 0 5", "-T.main 0 5", "--T.leaf 5 5"]);
    assert_eq!(graph["calls"], serde_json::json!([0, 1, 42]));
    assert_eq!(graph["calls_by_caller"], serde_json::json!([0, 0, 40]));
    assert_eq!(graph["estimated_calls"], serde_json::json!([0, 0, 0]));
    assert_eq!(served.json("/api/s1/flame?tree=bottom-up")["calls"], Value::Null);
}

#[test]
fn what_is_seen_of_a_graph_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let served = served(&folder);
    let graph = served.json("/api/s1/flame");
    let all = [
        "all 0 16",
        "-main 0 9",
        "--a 1 6",
        "---leaf 5 5",
        "--b 0 3",
        "---leaf 3 3",
        "-run 0 7",
        "--a 0 7",
        "---x 7 7",
    ];
    assert_eq!(lines(&graph), all);
    assert_eq!((&graph["total"], &graph["version"]), (&16.into(), &1.into()));
    let id = |name: &str| {
        let names = graph["names"].as_array().unwrap();
        let at = names.iter().position(|it| it == name).unwrap();
        graph["ids"][at].as_u64().unwrap()
    };
    let below = served.json(&format!("/api/s1/flame?root={}.{}", id("main"), id("a")));
    assert_eq!(lines(&below), ["a 1 6", "-leaf 5 5"]);
    assert_eq!(below["above"], serde_json::json!([16, 9]));
    let cut = served.json("/api/s1/flame?depth=2");
    assert_eq!(lines(&cut), ["all 0 16", "-main 0 9", "-run 0 7"]);
    assert_eq!(cut["more"], serde_json::json!([0, 2, 1]));
    let bottom_up = served.json("/api/s1/flame?tree=bottom-up&depth=2");
    assert_eq!(lines(&bottom_up), ["all 0 16", "-leaf 0 8", "-x 0 7", "-a 0 1"]);
    let around = served.json("/api/s1/flame?tree=around&method=a");
    assert_eq!(lines(&around["callers"]), ["a 0 13", "-run 7 7", "-main 6 6"]);
    assert_eq!(lines(&around["callees"]), ["a 1 13", "-x 7 7", "-leaf 5 5"]);
    let focused = served.json("/api/s1/flame?focus=b");
    assert_eq!(lines(&focused), ["all 0 3", "-main 0 3", "--b 0 3", "---leaf 3 3"]);
    let found = served.json("/api/s1/search?q=LEA");
    assert_eq!((&found["found"], &found["ids"]), (&8.into(), &serde_json::json!([id("leaf")])));
    assert_eq!(served.error("/api/s1/flame?root=99").0, 404);
    assert_eq!(served.error("/api/s1/flame?root=x").0, 400);
    assert_eq!(served.error("/api/s1/flame?tree=none").0, 400);
    assert_eq!(served.error("/api/s1/flame?tree=around").1, "name the method: method=Foo.bar");
    assert_eq!(served.error("/api/s1/flame?from=1s").0, 400);
    assert_eq!(served.error("/api/s1/search").1, "name the text: q=parse");
    // Two sides.
    let other = folder.path().join("b.collapsed");
    write_stacks(&other, "main;a;leaf 2\nmain;c 1\n");
    let both = Served::new(&[&folder.path().join("a.collapsed"), &other]);
    let graph = both.json("/api/diff/flame?before=s1&after=s2&depth=3");
    assert_eq!(lines(&graph)[..2], ["all 0 3", "-main 0 3"]);
    assert_eq!((&graph["before_total"][0], &graph["before_total"][1]), (&16.into(), &9.into()));
}

/// The graphs of all sample files have the sums of their tables.
#[test]
fn sums_are_those_of_reports() {
    let data = testdata();
    let files: Vec<PathBuf> = [
        "jfr/jdk17.jfr.gz",
        "jfr/jdk25.jfr.gz",
        "jfr/async-profiler.jfr.gz",
        "pprof/cpu.pb.gz",
        "pprof/heap.pb.gz",
        "hprof/samples-cpu.txt",
        "hprof/times-cpu.txt",
        "hprof/monitor-threads.txt",
        "perf-script/jdk17.txt",
        "async-profiler/alloc.txt",
        "async-profiler/wall.txt",
    ]
    .iter()
    .map(|it| data.join(it))
    .collect();
    let inputs: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let served = Served::new(&inputs);
    let mut graphs = 0;
    for (index, path) in files.iter().enumerate() {
        let id = format!("s{}", index + 1);
        let summary = served.json(&format!("/api/{id}/report?view=summary"));
        for metric in summary["metrics"].as_array().unwrap() {
            if metric["has_paths"] == false {
                continue;
            }
            let text = metric["metric"].as_str().unwrap();
            let name = &encoded(text);
            let what = format!("{} {name}", path.display());
            let graph = |query: &str| {
                let wide = "min-width=100000000";
                served.json(&format!("/api/{id}/flame?metric={name}&{wide}{query}"))
            };
            let top_down = graph("");
            assert_eq!(top_down["total"], metric["total"], "{what}");
            let own: u64 =
                top_down["self"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum();
            let nodes = top_down["self"].as_array().unwrap().len();
            // A graph with more nodes than are sent at once is not whole.
            if nodes < 20_000 && top_down["more"].as_array().unwrap().iter().all(|it| it == 0) {
                assert_eq!(own, top_down["total"].as_u64().unwrap(), "{what}");
            }
            // What is on top of the stacks is the own number of methods.
            let document = served.json(&format!("/api/{id}/report?metric={name}"));
            let of_metric = document["metrics"].as_array().unwrap();
            let of_metric = of_metric.iter().find(|it| it["metric"] == text).unwrap();
            let tops = graph("&tree=bottom-up&depth=2");
            for method in of_metric["methods"].as_array().unwrap() {
                // Objects and locks are below the methods.
                let Some(own) = method["self"].as_u64().filter(|&it| it > 0) else { continue };
                let names = tops["names"].as_array().unwrap();
                let Some(at) = names.iter().position(|it| *it == method["name"]) else { continue };
                if tops["kinds"][at] != "method" {
                    continue;
                }
                let frames = tops["frame"].as_array().unwrap();
                let sums = frames.iter().zip(tops["total_of"].as_array().unwrap());
                let sum: u64 = sums.filter(|it| *it.0 == at).map(|it| it.1.as_u64().unwrap()).sum();
                assert_eq!(sum, own, "{what} {}", method["name"]);
            }
            graphs += 1;
        }
    }
    assert!(graphs > 12, "{graphs}");
}

#[test]
fn times_add_up_to_the_samples_with_a_time() {
    let served =
        Served::new(&[&testdata().join("jfr/jdk17.jfr.gz"), &testdata().join("pprof/cpu.pb.gz")]);
    let timeline = served.json("/api/s1/timeline?bucket-ms=100");
    let all: u64 = timeline["all"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum();
    let threads = timeline["threads"].as_array().unwrap();
    assert_eq!(all, threads.iter().map(|it| it["total"].as_u64().unwrap()).sum::<u64>());
    let heat = served.json("/api/s1/heatmap");
    let cells = heat["numbers"].as_array().unwrap();
    assert_eq!(all, cells.iter().map(|it| it.as_u64().unwrap()).sum::<u64>());
    assert_eq!(cells.len() as u64 % heat["height"].as_u64().unwrap(), 0);
    // A window of a graph has the numbers of the intervals in it.
    let interval = timeline["interval_ns"].as_u64().unwrap();
    let first = timeline["all"][0].as_u64().unwrap();
    let window = format!("to={}us", interval / 1000);
    let metric = encoded(timeline["metric"].as_str().unwrap());
    let graph = served.json(&format!("/api/s1/flame?metric={metric}&{window}"));
    assert_eq!(graph["total"], first);
    assert!(served.error("/api/s2/timeline").1.contains("does not tell when"));
    assert!(served.json("/api/s1/collections")["version"].is_u64());
}

#[test]
fn a_profile_is_exported_in_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let served = served(&folder);
    let get = |query: &str| served.get(&format!("/api/s1/export?{query}"));
    let collapsed = get("as=collapsed&focus=b");
    assert_eq!(collapsed.text(), "main;b;leaf 3\n");
    let disposition = collapsed.header("content-disposition").unwrap();
    assert_eq!(disposition, "attachment; filename=\"perk-profile.collapsed\"");
    for form in ["svg", "pprof", "html", "hprof", "speedscope", "jfr"] {
        let file = folder.path().join(format!("again.{form}"));
        let response = get(&format!("as={form}"));
        assert_eq!(response.status, 200, "{form}: {}", response.text());
        fs::write(&file, &response.body).unwrap();
        if form != "svg" {
            let again = perk_open::profile(&file, &perk_open::Options::default()).unwrap();
            assert_eq!(again.profile.total_cpu_samples().total, 16, "{form}");
        }
    }
    assert_eq!(served.error("/api/s1/export").0, 400);
    assert_eq!(served.error("/api/s1/export?as=none").0, 400);
    let table = get("as=csv&view=methods").text();
    assert!(table.lines().next().unwrap().contains("name,class,method"), "{table}");
}
