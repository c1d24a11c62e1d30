//! `perk serve STORE --pyroscope-api`, asked as Grafana's data source asks it.

mod pushes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::UNIX_EPOCH;

use perk_profile::Metric;
use perk_testkit::workspace;
use serde_json::{Value, json};

use crate::record::counterparts::{self, output, script, sums_of_pprof, wait_until};
use crate::sql;
use crate::store::questions::printed;
use crate::store::{SUMS, StoreFolder, sums};

const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
const SAMPLES: &str = "process_cpu:samples:count:cpu:nanoseconds";

/// A store that is served.
pub(crate) struct ApiServer {
    child: Child,
    log: PathBuf,
    pub(super) url: String,
    /// Milliseconds since 1970.
    started_ms: i64,
}

impl ApiServer {
    /// Serves a store, with more arguments.
    pub(crate) fn start(store: &Path, arguments: &[&str]) -> Self {
        let log = store.with_extension("log");
        let perk = Path::new(env!("CARGO_BIN_EXE_perk-fleet")).with_file_name("perk");
        let mut command = Command::new(perk);
        command.arg("serve").arg(store).args(["--pyroscope-api", "--port", "0"]).args(arguments);
        let child = command.stdin(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn();
        let started_ms = UNIX_EPOCH.elapsed().unwrap().as_millis().try_into().unwrap();
        let mut this = Self { child: child.unwrap(), log, url: String::new(), started_ms };
        wait_until("the address", || this.said().contains("http://"));
        let said = this.said();
        let (_, rest) = said.split_once("http://").unwrap();
        this.url = format!("http://{}", rest.split_whitespace().next().unwrap());
        this
    }

    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// What a script of a client says: the status and the answer.
    #[track_caller]
    pub(super) fn run(&self, what: &str, arguments: &[&str]) -> (u64, Value) {
        let mut command = script("querier.py");
        said(command.args([what, &self.url]).args(arguments))
    }

    /// A message with a time, from which the steps of a course follow.
    fn timed(&self, message: &Value) -> Value {
        let mut message = message.clone();
        for (key, hours) in [("start", -1), ("end", 1)] {
            let time_ms = self.started_ms + hours * 3_600_000;
            message.as_object_mut().unwrap().entry(key).or_insert(json!(time_ms.to_string()));
        }
        message
    }

    /// Sends a message, and returns the answer.
    #[track_caller]
    pub(super) fn ask(&self, method: &str, message: &Value) -> Value {
        let message = self.timed(message).to_string();
        let (status, answer) = self.run("ask", &[method, &message]);
        assert_eq!(status, 200, "{method} {message}: {answer}");
        answer
    }

    /// The fault of a message.
    #[track_caller]
    fn fault(&self, method: &str, message: &Value) -> String {
        let (status, answer) = self.run("ask", &[method, &message.to_string()]);
        assert_ne!(status, 200, "{method} {message}: {answer}");
        format!(
            "{status} {}: {}",
            answer["code"].as_str().unwrap(),
            answer["message"].as_str().unwrap()
        )
    }

    /// The sum of the courses of a type.
    #[track_caller]
    pub(crate) fn sum(&self, id: &str, selector: &str) -> u64 {
        let message = json!({"profile_typeID": id, "label_selector": selector, "step": 15.0});
        let answer = self.ask("SelectSeries", &message);
        let series = answer["series"].as_array().into_iter().flatten();
        let points = series.flat_map(|it| it["points"].as_array().unwrap());
        points.map(|it| it["value"].as_f64().unwrap() as u64).sum()
    }

    /// The flame graph of a type.
    #[track_caller]
    fn flame(&self, message: &Value) -> Flame {
        Flame::of(&self.ask("SelectMergeStacktraces", message)["flamegraph"])
    }

    /// The names or types that an answer lists.
    #[track_caller]
    pub(super) fn names(&self, method: &str, message: &Value) -> Vec<String> {
        let answer = self.ask(method, message);
        let names = answer["names"].as_array().into_iter().flatten();
        let names = names.map(|it| it.as_str().unwrap().to_owned());
        let types = answer["profileTypes"].as_array().into_iter().flatten();
        names.chain(types.map(|it| it["ID"].as_str().unwrap().to_owned())).collect()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a script printed: the status and the answer.
#[track_caller]
fn said(command: &mut Command) -> (u64, Value) {
    let mut found: Value = serde_json::from_str(&output(command)).unwrap();
    (found["status"].as_u64().unwrap(), found["answer"].take())
}

/// A number of 64 bits, which is text in JSON.
fn number(value: &Value) -> u64 {
    value.as_str().map_or(0, |it| it.parse().unwrap())
}

/// A flame graph.
struct Flame {
    total: u64,
    nodes: usize,
    /// By name: the sums of own numbers.
    own: BTreeMap<String, u64>,
    /// The names of the first level.
    outermost: Vec<String>,
}

impl Flame {
    /// Reads one, and checks that each node lies within one of the level above.
    #[track_caller]
    fn of(graph: &Value) -> Self {
        let names: Vec<_> = graph["names"].as_array().into_iter().flatten().collect();
        let mut own = BTreeMap::new();
        let (mut nodes, mut outermost) = (0, Vec::new());
        let mut above: Vec<(u64, u64)> = vec![(0, number(&graph["total"]))];
        for (level, values) in graph["levels"].as_array().into_iter().flatten().enumerate() {
            let values: Vec<_> = values["values"].as_array().unwrap().iter().map(number).collect();
            let (mut end, mut here) = (0, Vec::new());
            for node in values.chunks(4) {
                let [distance, total, own_number, name] = node[..] else { panic!("{values:?}") };
                let begin = end + distance;
                end = begin + total;
                assert!(above.iter().any(|it| it.0 <= begin && end <= it.1), "{level}: {node:?}");
                let name = names[usize::try_from(name).unwrap()].as_str().unwrap().to_owned();
                *own.entry(name.clone()).or_default() += own_number;
                if level == 1 {
                    outermost.push(name);
                }
                here.push((begin, end));
                nodes += 1;
            }
            above = here;
        }
        own.retain(|_, number| *number > 0);
        Self { total: number(&graph["total"]), nodes, own, outermost }
    }
}

/// A store with two real recordings, each with a label of its own.
fn of_two_versions() -> StoreFolder {
    let store = StoreFolder::new();
    for (file, version) in sql::recordings().iter().zip(["1.4.1", "1.4.2"]) {
        let labels = ["--label", &format!("version={version}"), "--label", "my-team.x=a"];
        store.print("add", &[&labels[..], &[file.to_str().unwrap()]].concat());
    }
    store
}

#[test]
fn answers_have_the_numbers_of_the_files() {
    if !counterparts::are_here() {
        return;
    }
    let store = of_two_versions();
    let served = ApiServer::start(&store.path(), &[]);
    let files: Vec<_> = sql::recordings().iter().map(PathBuf::as_path).collect();
    let mut of_files: BTreeMap<String, u64> = BTreeMap::new();
    for (metric, (sum, cpu_ns)) in sums(&sql::rows_of(&files, SUMS)) {
        let Some(metric) = Metric::own(&metric) else { continue };
        let name = format!("{}:{}", metric.file_name(), metric.unit().name());
        of_files.insert(name, sum.unsigned_abs());
        of_files.extend(cpu_ns.map(|it| ("cpu:nanoseconds".to_owned(), it.unsigned_abs())));
    }
    of_files.retain(|_, sum| *sum > 0);
    let ids = served.names("ProfileTypes", &json!({}));
    let of_id = |id: &String| id.split(':').skip(1).take(2).collect::<Vec<_>>().join(":");
    let mut named: Vec<_> = ids.iter().map(of_id).collect();
    named.sort();
    assert_eq!(named, of_files.keys().cloned().collect::<Vec<_>>());
    assert!(
        ids.contains(&CPU.to_owned()) && ids.iter().any(|it| it.starts_with("wall:")),
        "{ids:?}"
    );
    let folder = tempfile::tempdir().unwrap();
    for id in &ids {
        let sum = of_files[&of_id(id)];
        let message = json!({"profile_typeID": id, "label_selector": "{service_name=\"Shop\"}"});
        let message = served.timed(&message);
        assert_eq!(served.flame(&message).total, sum, "{id}");
        assert_eq!(served.sum(id, "{}"), sum, "{id}");
        let file = folder.path().join("profile.pb");
        let mut command = script("querier.py");
        command.args(["ask", &served.url, "SelectMergeProfile", &message.to_string()]);
        assert_eq!(said(command.env("PPROF", &file)).0, 200);
        assert_eq!(sums_of_pprof(&file), [(of_id(id).replace(':', "/"), sum)], "{id}");
    }
    // By method the numbers are those of a report.
    let own = served.flame(&json!({"profile_typeID": SAMPLES})).own;
    let path = store.path();
    let report = printed(&["report", path.to_str().unwrap(), "--json", "--metric", "samples"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let mut of_report: BTreeMap<String, u64> = BTreeMap::new();
    for method in report["metrics"][0]["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap().split('(').next().unwrap();
        *of_report.entry(name.to_owned()).or_default() += method["self"].as_u64().unwrap();
    }
    of_report.retain(|_, number| *number > 0);
    assert_eq!(own, of_report);
}

#[test]
fn labels_select_and_group() {
    if !counterparts::are_here() {
        return;
    }
    let store = of_two_versions();
    let served = ApiServer::start(&store.path(), &[]);
    let names = served.names("LabelNames", &json!({"matchers": ["{service_name=\"Shop\"}"]}));
    for name in ["__profile_type__", "service_name", "version", "my_team_x", "host"] {
        assert!(names.iter().any(|it| it == name), "{names:?} has no {name}");
    }
    assert!(!names.iter().any(|it| it == "service" || it == "my-team.x"), "{names:?}");
    let values = |name: &str, selector: &str| {
        served.names("LabelValues", &json!({"name": name, "matchers": [selector]}))
    };
    assert_eq!(values("service_name", ""), ["Shop"]);
    assert_eq!(values("service_name", "{version=\"1.4.1\"}"), ["Shop"]);
    assert_eq!(values("version", "{}"), ["1.4.1", "1.4.2"]);
    assert_eq!(values("version", "{service_name!=\"Shop\"}"), [""; 0]);
    assert_eq!(values("version", "{my_team_x=~\"a|b\", version!~\".*1\"}"), ["1.4.2"]);
    let series = json!({"matchers": [format!("{{__profile_type__=\"{CPU}\"}}")], "label_names": ["version"]});
    let series = served.ask("Series", &series);
    let version = |it: &str| json!({"labels": [{"name": "version", "value": it}]});
    assert_eq!(series["labelsSet"], json!([version("1.4.1"), version("1.4.2")]));

    let of = |selector: &str| served.sum(CPU, selector);
    let (all, first, second) = (of("{}"), of("{version=\"1.4.1\"}"), of("{version=\"1.4.2\"}"));
    assert!(first > 0 && second > 0 && first + second == all, "{first} {second} {all}");
    assert_eq!(of("{service_name=~\"Sh.*\",version=~\"1.*\"}"), all);
    assert_eq!(of("{service_name=\"other\"}") + of("{version=\"\"}"), 0);
    let by = json!({"profile_typeID": CPU, "step": 15.0, "group_by": ["version", "service_name"]});
    let by = served.ask("SelectSeries", &by);
    let labels: Vec<_> =
        by["series"].as_array().unwrap().iter().map(|it| &it["labels"][1]["value"]).collect();
    assert_eq!(labels, ["1.4.1", "1.4.2"]);
    let top = json!({"profile_typeID": CPU, "step": 15.0, "group_by": ["version"], "limit": 1});
    let top = served.ask("SelectSeries", &top);
    let largest = if first >= second { "1.4.1" } else { "1.4.2" };
    assert_eq!(top["series"].as_array().unwrap().len(), 1);
    assert_eq!(top["series"][0]["labels"][0]["value"], largest);

    let flame = |more: Value| {
        let mut message = json!({"profile_typeID": CPU});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        served.flame(&message)
    };
    assert_eq!(flame(json!({"label_selector": "{version=\"1.4.2\"}"})).total, second);
    let (whole, small) = (flame(json!({})), flame(json!({"max_nodes": 3})));
    assert!(small.nodes < whole.nodes && small.own.contains_key("other"), "{} nodes", small.nodes);
    assert_eq!((small.total, small.own.values().sum::<u64>()), (all, all));
    let begin = &whole.outermost[0];
    let site = flame(json!({"stack_trace_selector": {"call_site": [{"name": begin}]}}));
    assert_eq!(&site.outermost, std::slice::from_ref(begin));
    assert!(site.total <= all && site.total > 0);
    // What is not there is no fault.
    assert_eq!(flame(json!({"start": "1000", "end": "2000"})).total, 0);
}

#[test]
fn faults_have_connect_s_form() {
    if !counterparts::are_here() {
        return;
    }
    let store = StoreFolder::of_tools();
    let served = ApiServer::start(&store.path(), &[]);
    for (method, message, words) in [
        (
            "SelectSeries",
            json!({"profile_typeID": CPU}),
            "400 invalid_argument: use a step of 1 second",
        ),
        (
            "SelectSeries",
            json!({"profile_typeID": "x", "step": 15.0}),
            "400 invalid_argument: \"x\" is no type",
        ),
        (
            "SelectMergeStacktraces",
            json!({"profile_typeID": CPU, "label_selector": "{a"}),
            "400 invalid_argument",
        ),
        (
            "ProfileTypes",
            json!({"start": "2000", "end": "1000"}),
            "400 invalid_argument: the end is not after",
        ),
        ("LabelNames", json!({"matchers": ["{a=~\"(\"}"]}), "no regular expression"),
    ] {
        let fault = served.fault(method, &message);
        assert!(fault.contains(words), "{fault}");
    }
    let file = workspace().join("Cargo.toml");
    let send = |path: &str, headers: &[&str]| {
        let (status, answer) =
            served.run("send", &[&[path, file.to_str().unwrap()], headers].concat());
        (status, answer["code"].as_str().unwrap_or_default().to_owned())
    };
    let querier = "/querier.v1.QuerierService/ProfileTypes";
    for (path, header, status, code) in [
        (querier, "Content-Type:application/json", 400, "invalid_argument"),
        (querier, "Content-Type:application/proto", 400, "invalid_argument"),
        (querier, "Content-Type:text/plain", 415, "invalid_argument"),
        (querier, "Origin:http://evil.com", 403, "permission_denied"),
        (querier, "Host:evil.com", 403, "permission_denied"),
        ("/querier.v1.QuerierService/Diff", "Content-Type:application/json", 501, "unimplemented"),
    ] {
        assert_eq!(send(path, &[header]), (status, code.to_owned()), "{path} {header}");
    }
    assert_eq!(served.said().lines().count(), 1, "{}", served.said());
}
