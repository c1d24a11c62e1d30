//! `perk serve STORE` as a user starts it: its answers have the numbers of `perk report`, `perk diff` and `perk sql`.

mod browser;
mod faults;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perk_profile::Timestamp;
use perk_testkit::workspace;
use serde_json::{Value, json};

use crate::record::counterparts::wait_until;
use crate::store::questions::{changes, of_two_versions, printed};
use crate::store::{SUMS, StoreFolder, sums};

/// The service of the recordings of a real program.
const SHOP: &str = "Shop";
/// A service with signs that mean something in addresses.
const OTHER: &str = "a/b é";

/// A server that a user has started.
pub(super) struct PageServer {
    child: Child,
    /// The address that it prints, with the token.
    pub(super) url: String,
    host: String,
    token: String,
    cookie: String,
}

impl PageServer {
    /// Starts `perk serve` of stores and files.
    pub(super) fn start(inputs: &[&Path]) -> Self {
        let perk = Path::new(env!("CARGO_BIN_EXE_perk-fleet")).with_file_name("perk");
        Self::of(Command::new(perk).arg("serve").args(inputs))
    }

    pub(super) fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        let (host, token) = url.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        let mut this = Self { child, url, host, token, cookie: String::new() };
        let (head, _) = this
            .send(&format!("POST /api/session HTTP/1.1\r\ncontent-length: {}", 32), &this.token);
        let cookie = head.lines().find_map(|it| it.strip_prefix("set-cookie: ")).unwrap();
        this.cookie = cookie.split(';').next().unwrap().to_owned();
        this
    }

    /// Sends a request, and returns the head and the body of its answer.
    fn send(&self, head: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "{head}\r\nhost: {}\r\nconnection: close\r\n\r\n{body}", self.host).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// The status and the answer of an address.
    pub(super) fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(path, &self.cookie)
    }

    fn get_as(&self, path: &str, cookie: &str) -> (u16, Value) {
        let (head, body) = self.send(&format!("GET {path} HTTP/1.1\r\ncookie: {cookie}"), "");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {head}\n{body}")))
    }

    #[track_caller]
    pub(super) fn json(&self, path: &str) -> Value {
        let (status, answer) = self.get(path);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The sources, by name.
    pub(super) fn sources(&self) -> BTreeMap<String, Value> {
        let mut list = self.json("/api/sources");
        let sources = list["sources"].as_array_mut().unwrap().iter_mut().map(Value::take);
        sources.map(|it| (it["name"].as_str().unwrap().to_owned(), it)).collect()
    }

    /// A source as a part of addresses.
    pub(super) fn id(&self, name: &str) -> String {
        encoded(self.sources()[name]["id"].as_str().unwrap())
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    let sign = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(sign).collect()
}

/// A store with two versions of a real program, and a service that has numbers of two days.
pub(super) fn store_of_two_services() -> StoreFolder {
    let (store, _) = of_two_versions();
    add(&store, "allocations", OTHER, "2026-11-27T10:00:00Z", "region=eu");
    add(&store, "signatures", OTHER, "2026-11-27T16:00:00Z", "region=ap");
    add(&store, "signatures", OTHER, "2026-11-28T10:30:00Z", "region=us");
    store
}

/// Adds a file of another tool.
pub(super) fn add(store: &StoreFolder, file: &str, service: &str, time: &str, label: &str) {
    let file = workspace().join(format!("testdata/collapsed/{file}.collapsed"));
    let (file, service) = (file.to_str().unwrap(), format!("service={service}"));
    store.print("add", &["--label", &service, "--label", label, "--time", time, file]);
}

/// What a document says of each metric, with its methods by name: rows of equal numbers have no order of their own.
fn metrics(document: &Value) -> Vec<Value> {
    let of_method = |it: &Value| json!([it["name"], it["self"], it["total"]]);
    let of_metric = |it: &Value| {
        let methods = it["methods"].as_array().unwrap().iter();
        let mut methods: Vec<_> = methods.map(of_method).collect();
        methods.sort_by_key(Value::to_string);
        json!([it["metric"], it["unit"], it["total"], it["listed"], it["sample_ns"], methods])
    };
    document["metrics"].as_array().unwrap().iter().map(of_metric).collect()
}

/// The sums of the metrics of a document.
fn totals(document: &Value) -> BTreeMap<String, i64> {
    let metrics = document["metrics"].as_array().unwrap().iter();
    metrics
        .map(|it| (it["metric"].as_str().unwrap().to_owned(), it["total"].as_i64().unwrap()))
        .collect()
}

/// The sums of the metrics that SQL finds.
fn totals_of_sql(store: &StoreFolder, filter: &str) -> BTreeMap<String, i64> {
    let rows = store.rows(&SUMS.replace("GROUP BY", &format!("WHERE {filter} GROUP BY")));
    sums(&rows).into_iter().map(|(metric, (value, _))| (metric, value)).collect()
}

#[test]
fn a_part_has_the_numbers_of_reports_and_of_sql() {
    let store = store_of_two_services();
    let served = PageServer::start(&[&store.path()]);
    let path = store.path();
    let path = path.to_str().unwrap();
    let noon = "2026-11-27T12:00:00Z";
    let of_version = ["--service", SHOP, "--label", "version=1.4.2"];
    let questions = [
        (SHOP, String::new(), vec!["--service", SHOP], "TRUE".to_owned()),
        (
            SHOP,
            "label=version%3D1.4.2".to_owned(),
            of_version.to_vec(),
            "labels['version'] = '1.4.2'".to_owned(),
        ),
        (OTHER, String::new(), vec!["--service", OTHER], "TRUE".to_owned()),
        (
            OTHER,
            format!("to={noon}"),
            vec!["--service", OTHER, "--until", noon],
            format!("time < '{noon}'"),
        ),
        (
            OTHER,
            format!("from={noon}"),
            vec!["--service", OTHER, "--since", noon],
            format!("time >= '{noon}'"),
        ),
        // The last number is before 11:00 of the second day.
        (
            OTHER,
            "last=23h".to_owned(),
            vec!["--service", OTHER, "--since", noon],
            format!("time >= '{noon}'"),
        ),
    ];
    let mut seen = Vec::new();
    for (service, question, arguments, filter) in questions {
        let document = served.json(&format!("/api/{}/report?{question}", served.id(service)));
        let printed = printed(&[&["report", path, "--json"], &arguments[..]].concat());
        let of_report: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(metrics(&document), metrics(&of_report), "{service} {question}");
        for member in ["sample_count", "interval_ns", "created_unix_ms", "accounting"] {
            assert_eq!(document[member], of_report[member], "{service} {question}: {member}");
        }
        // A service is read without its threads, of which one may wait; and a report of a label says nothing of processes.
        let has_process = !question.starts_with("label");
        for part in ["cpu_ns", "wall_ns", "parts"].into_iter().filter(|_| has_process) {
            let of_process = [&document, &of_report].map(|it| &it["whole_process"][part]);
            assert_eq!(of_process[0], of_process[1], "{service} {question}: {part}");
        }
        let filter = format!("service = '{service}' AND {filter}");
        let of_sql = totals_of_sql(&store, &filter);
        for (metric, total) in totals(&document) {
            assert_eq!(of_sql.get(&metric), Some(&total), "{service} {question}: {metric}");
        }
        let summary =
            served.json(&format!("/api/{}/report?view=summary&{question}", served.id(service)));
        assert_eq!(totals(&summary), totals(&document), "{service} {question}");
        seen.push(totals(&document));
    }
    // The parts differ, except that of the last hours and that since noon.
    assert!(seen[0] != seen[1] && seen[2] != seen[3] && seen[2] != seen[4] && seen[3] != seen[4]);
    assert_eq!(seen[4], seen[5]);
    // What it is of: labels with their values, and the tables by them.
    let labels = |service: &str, question: &str| {
        let answer = served.json(&format!("/api/{}/labels?{question}", served.id(service)));
        answer["labels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["key"].clone(), it["values"].clone()))
            .collect::<Vec<_>>()
    };
    assert!(labels(SHOP, "").contains(&(json!("version"), json!(["1.4.1", "1.4.2"]))));
    assert_eq!(labels(OTHER, ""), [(json!("region"), json!(["ap", "eu", "us"]))]);
    assert_eq!(labels(OTHER, &format!("from={noon}")), [(json!("region"), json!(["ap", "us"]))]);
    let by = served
        .json(&format!("/api/{}/report?view=label&by=version&metric=samples", served.id(SHOP)));
    let by: BTreeMap<_, _> = by["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row[0] == "samples")
        .map(|row| (row[1].to_string(), row[2].as_i64()))
        .collect();
    let of_sql = store.rows("SELECT labels['version'] AS version, sum(value) AS value FROM samples WHERE service = 'Shop' AND metric = 'samples' GROUP BY 1");
    assert_eq!(
        by,
        of_sql.iter().map(|row| (row["version"].to_string(), row["value"].as_i64())).collect()
    );
    assert_eq!(by.len(), 2);
}

/// Numbers of SQL by the intervals of an answer.
fn by_interval(rows: &[Value], answer: &Value, length: usize) -> Vec<u64> {
    let begin_ms = answer["begun_unix_ms"].as_u64().unwrap();
    let interval_ms = answer["interval_ns"].as_u64().unwrap() / 1_000_000;
    let mut numbers = vec![0; length];
    for row in rows {
        let time = Timestamp::from_iso_utc(row["time"].as_str().unwrap()).unwrap().unix_ms;
        numbers[((time - begin_ms) / interval_ms) as usize] += row["value"].as_u64().unwrap();
    }
    numbers
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
}

#[test]
fn numbers_over_time_are_those_of_sql() {
    let store = store_of_two_services();
    let served = PageServer::start(&[&store.path()]);
    let over_time = |filter: &str| {
        store.rows(&format!(
            "SELECT time, sum(value) AS value FROM samples WHERE {filter} GROUP BY 1"
        ))
    };
    for service in [SHOP, OTHER] {
        let id = served.id(service);
        let strip = served.json(&format!("/api/{id}/strip"));
        let series = strip["series"].as_array().unwrap();
        assert!(series.iter().any(|it| it["metric"] == "samples"), "{strip}");
        for it in series {
            let (metric, found) = (it["metric"].as_str().unwrap(), numbers(&it["numbers"]));
            let rows = over_time(&format!("service = '{service}' AND metric = '{metric}'"));
            assert_eq!(found, by_interval(&rows, &strip, found.len()), "{service} {metric}");
        }
        // Of the methods, those on top and those anywhere. A program can spend all of its CPU time in one, and waits in another.
        let metrics = if service == SHOP { &["samples", "wall"][..] } else { &["samples"] };
        let mut checked = 0;
        for metric in metrics {
            let history = served.json(&format!("/api/{id}/history?metric={metric}&top=100"));
            let of_metric = format!("service = '{service}' AND metric = '{metric}'");
            let all = numbers(&history["all"]);
            assert_eq!(all, by_interval(&over_time(&of_metric), &history, all.len()), "{service}");
            assert!(all.iter().sum::<u64>() > 0);
            let methods = history["methods"].as_array().unwrap();
            let own = methods.iter().flat_map(|it| numbers(&it["self"]));
            assert!(methods.len() == 100 || own.sum::<u64>() == all.iter().sum::<u64>());
            let names: Vec<_> = methods.iter().map(|it| it["name"].as_str().unwrap()).collect();
            // Several methods can have one name, which SQL asks by its class and method alone.
            let alone = |name: &str| {
                names.iter().filter(|it| it.split('(').next() == name.split('(').next()).count()
                    == 1
            };
            for (method, name) in methods.iter().zip(&names).filter(|it| alone(it.1)).take(4) {
                let plain = name.split('(').next().unwrap();
                let leaf = over_time(&format!(
                    "{of_metric} AND split_part(leaf(stack), '(', 1) = '{plain}'"
                ));
                assert_eq!(
                    numbers(&method["self"]),
                    by_interval(&leaf, &history, all.len()),
                    "{name}"
                );
                // A history of one method, whatever its parameters.
                let one = served
                    .json(&format!("/api/{id}/history?metric={metric}&method={}", encoded(plain)));
                let inside =
                    over_time(&format!("{of_metric} AND stack_contains(stack, '{plain}')"));
                assert_eq!(
                    numbers(&one["methods"][0]["total"]),
                    by_interval(&inside, &history, all.len()),
                    "{name}"
                );
                checked += 1;
            }
        }
        assert!(checked >= 2, "{service}");
    }
}

#[test]
fn comparisons_are_those_of_diff() {
    let store = store_of_two_services();
    let served = PageServer::start(&[&store.path()]);
    let path = store.path();
    let path = path.to_str().unwrap();
    let noon = "2026-11-27T12:00:00Z";
    let (until, since) = (format!("..{noon}"), format!("{noon}.."));
    for (service, question, sides) in [
        (
            SHOP,
            "before-label=version%3D1.4.1&after-label=version%3D1.4.2".to_owned(),
            ["--base", "version=1.4.1", "--new", "version=1.4.2"],
        ),
        (OTHER, format!("before-to={noon}&after-from={noon}"), ["--base", &until, "--new", &since]),
    ] {
        let id = served.id(service);
        let address = format!("/api/diff?before={id}&after={id}&{question}");
        let mut document = served.json(&address);
        let of_diff =
            changes(&[&["diff", "--json", path, "--service", service], &sides[..]].concat());
        let mut found = document["metrics"].take();
        for metric in found.as_array_mut().unwrap() {
            metric["methods"].as_array_mut().unwrap().sort_by_key(|it| it["name"].to_string());
        }
        assert_eq!(found, of_diff, "{service} {question}");
        let said = served.json(&format!("{address}&view=summary"))["sentences"][0].to_string();
        assert!(said.contains(if service == SHOP { "version=1.4.2" } else { noon }), "{said}");
        let flame = served.json(&address.replace("/diff?", "/diff/flame?"));
        let after = found.as_array().unwrap().iter().find(|it| it["metric"] == flame["metric"]);
        assert_eq!(flame["total"], after.unwrap()["total"]["after"], "{service}");
    }
}

#[test]
fn stores_and_files_are_served_together_and_what_comes_later_appears() {
    let (first, second) = (StoreFolder::of_tools(), StoreFolder::new());
    add(&second, "allocations", "late", "2026-11-28T10:00:00Z", "n=1");
    let file = workspace().join("testdata/collapsed/signatures.collapsed");
    let served = PageServer::start(&[&first.path(), &file, &second.path()]);
    let names = |served: &PageServer| served.sources().into_keys().collect::<Vec<_>>();
    let before = ["a/b é", "late", "other", "shop", "signatures.collapsed"];
    assert_eq!(names(&served), before);
    let total = |name: &str| {
        let document = served.json(&format!("/api/{}/report", served.id(name)));
        totals(&document)["samples"]
    };
    let one = total("late");
    // A service that is new, and more of an hour that was asked before.
    add(&second, "allocations", "new", "2026-11-28T10:00:00Z", "n=1");
    add(&second, "allocations", "late", "2026-11-28T10:20:00Z", "n=2");
    // Services of different stores, and a service and a file, are compared.
    let diff = |before: &str, after: &str| {
        let (before, after) = (served.id(before), served.id(after));
        let answer = served.json(&format!("/api/diff?before={before}&after={after}"));
        let total = answer["metrics"][0]["total"].clone();
        (total["before"].as_i64().unwrap(), total["after"].as_i64().unwrap())
    };
    assert_eq!(diff("other", "signatures.collapsed").0, total("signatures.collapsed"));
    assert_eq!(diff("shop", "a/b é"), (total("shop"), total("a/b é")));
    wait_until("the new service", || names(&served).contains(&"new".to_owned()));
    wait_until("the new numbers", || total("late") == 2 * one);
    assert_eq!(total("new"), one);
}
