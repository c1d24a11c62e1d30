//! Pushes of profilers: of `perk record`, of Pyroscope's for Python, of OpenTelemetry, and of older ones.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use perk_testkit::{jdk, workspace};
use serde_json::json;

use super::{ApiServer, CPU};
use crate::record::Place;
use crate::record::counterparts;
use crate::record::files::{pid, start};
use crate::sql;
use crate::store::{SUMS, StoreFolder, sums};

fn testdata(name: &str) -> PathBuf {
    workspace().join("testdata").join(name)
}

#[test]
fn a_recorder_s_pushes_have_the_numbers_of_its_files() {
    if !counterparts::are_here() {
        return;
    }
    let stores = [StoreFolder::new(), StoreFolder::new(), StoreFolder::new()];
    let served = stores.each_ref().map(|it| ApiServer::start(&it.path(), &[]));
    let [push, ingest, otlp] = served.each_ref().map(|it| it.url.strip_prefix("http://").unwrap());
    let place = Place::new();
    let running = start(jdk::compiler());
    let urls = [
        format!("pyroscope+http://{push}"),
        format!("pyroscope+http://{ingest}/ingest"),
        format!("otlp+http://{otlp}"),
    ];
    let to: Vec<&str> = urls.iter().flat_map(|it| ["--to", it]).collect();
    let recorder = place
        .start(&[&["--every", "1s", "--label", "my-team=a", &pid(&running)], &to[..]].concat());
    recorder.wait_until("3 files", || place.files().len() >= 3);
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
    recorder.wait_for("has ended");
    recorder.signal("-INT");
    let (code, log) = recorder.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("lost") && !log.contains("for the next perk record"), "{log}");

    let files = place.files();
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let mut of_files = sums(&sql::rows_of(&files, SUMS));
    of_files.retain(|_, sum| sum.0 > 0);
    // They have no series.
    of_files.retain(|metric, _| perk_profile::Metric::own(metric).is_some());
    for (store, served) in stores.iter().zip(&served) {
        let mut of_store = sums(&store.rows(SUMS));
        of_store.retain(|_, sum| sum.0 > 0);
        assert_eq!(of_store, of_files, "{}", served.said());
        let selector = "{service_name=\"Shop\", my_team=\"a\"}";
        let cpu_ns = of_files["samples"].1.unwrap().unsigned_abs();
        assert_eq!(served.sum(CPU, selector), cpu_ns);
    }
    // An account counts once, though each series has it.
    let accounts =
        "SELECT count(DISTINCT recording) AS number FROM accounting WHERE name = 'program'";
    assert_eq!(stores[0].rows(accounts)[0]["number"], files.len());
}

#[test]
fn pyroscope_s_profiler_and_opentelemetry_push() {
    if !counterparts::are_here() {
        return;
    }
    let store = StoreFolder::new();
    let served = ApiServer::start(&store.path(), &[]);
    assert_eq!(served.run("profile", &["busy.app", "3"]).0, 200);
    let selector = "{service_name=\"busy.app\", region=\"eu\"}";
    let cpu_ns = served.sum(CPU, selector);
    assert!((1_000_000_000..8_000_000_000).contains(&cpu_ns), "{cpu_ns}");
    let flame = served.flame(&json!({"profile_typeID": CPU, "label_selector": selector}));
    assert!(flame.own["busy"] > cpu_ns / 2, "{:?}", flame.own);

    assert_eq!(served.run("otlp", &["traced"]), (200, json!({})));
    let message = json!({"profile_typeID": CPU, "label_selector": "{service_name=\"traced\",version=\"1.2\"}"});
    let flame = served.flame(&message);
    let own: Vec<_> = flame.own.iter().map(|(name, number)| (&**name, *number)).collect();
    assert_eq!(own, [("main", 20_000_000), ("work", 30_000_000)]);
    let span = json!({"profile_typeID": CPU, "span_selector": ["0000000000000002"]});
    assert_eq!(served.ask("SelectMergeSpanProfile", &span)["flamegraph"]["total"], "30000000");
    let threads = store.rows(
        "SELECT DISTINCT thread FROM samples WHERE thread IS NOT NULL AND service = 'traced'",
    );
    assert_eq!(threads, [json!({"thread": "worker"})]);
}

/// A body with a file as its part.
fn with_parts(folder: &Path, part: &str, file: &Path) -> PathBuf {
    let mut body = format!(
        "--limit\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"x\"\r\n\r\n"
    )
    .into_bytes();
    body.extend(fs::read(file).unwrap());
    body.extend(b"\r\n--limit--\r\n");
    let path = folder.join("parts");
    fs::write(&path, body).unwrap();
    path
}

#[test]
fn older_profilers_push_in_several_formats() {
    if !counterparts::are_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines");
    fs::write(&lines, "a;b\na;b\na\n").unwrap();
    let parts = "Content-Type:multipart/form-data; boundary=limit";
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let pprof = testdata("pprof/cpu.pb.gz");
    let recording = testdata("jfr/jdk17.jfr.gz");
    for (query, file, part, header) in [
        ("format=folded", testdata("collapsed/signatures.collapsed"), None, "A:b"),
        ("format=pprof", pprof.clone(), None, "Content-Type:application/octet-stream"),
        ("format=pprof", pprof.clone(), Some("profile"), parts),
        ("spyName=gospy", pprof, Some("profile"), parts),
        ("format=jfr", recording, Some("jfr"), parts),
    ] {
        let store = StoreFolder::new();
        let served = ApiServer::start(&store.path(), &[]);
        let body = part.map_or_else(|| file.clone(), |part| with_parts(folder.path(), part, &file));
        let path =
            format!("/ingest?name=old%7Bversion%3D1%7D&from={now}&until={}&{query}", now + 10);
        let sent = served.run("send", &[&path, body.to_str().unwrap(), header]);
        assert_eq!(sent.0, 200, "{query}: {}", sent.1);
        let of_store = sums(&store.rows(SUMS));
        let of_file = sums(&sql::rows_of(&[&file], SUMS));
        let values = |sums: &crate::store::Sums| -> Vec<_> {
            sums.iter().map(|(metric, sum)| (metric.clone(), sum.0)).filter(|it| it.1 > 0).collect()
        };
        assert_eq!(values(&of_store), values(&of_file), "{query}");
        let labels =
            store.rows("SELECT DISTINCT service, labels['version'] AS version FROM samples");
        assert_eq!(labels, [json!({"service": "old", "version": "1"})]);
    }
    let store = StoreFolder::new();
    let served = ApiServer::start(&store.path(), &[]);
    let path = format!("/ingest?name=old&from={now}&format=lines&sampleRate=50");
    assert_eq!(served.run("send", &[&path, lines.to_str().unwrap()]).0, 200);
    let selector = "{service_name=\"old\"}";
    assert_eq!(served.sum(CPU, selector), 60_000_000);
    // Times of other intervals add up without rounding.
    let path = format!("/ingest?name=old&from={now}&format=lines&sampleRate=30");
    assert_eq!(served.run("send", &[&path, lines.to_str().unwrap()]).0, 200);
    assert_eq!(served.sum(CPU, selector), 159_999_999);
    let flame = served.flame(&json!({"profile_typeID": CPU, "label_selector": selector}));
    let own: Vec<_> = flame.own.into_iter().collect();
    assert_eq!(own, [("a".to_owned(), 53_333_333), ("b".to_owned(), 106_666_666)]);
}

#[test]
fn pushes_have_limits() {
    if !counterparts::are_here() {
        return;
    }
    let store = StoreFolder::new();
    let served = ApiServer::start(&store.path(), &["--label-sets", "2"]);
    let pprof = testdata("pprof/cpu.pb.gz");
    let (pprof, other) = (pprof.to_str().unwrap(), workspace().join("Cargo.toml"));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("long"), vec![b'a'; (16 << 20) + 1]).unwrap();
    let mut bomb = GzEncoder::new(fs::File::create(path("bomb")).unwrap(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    (0..257).for_each(|_| bomb.write_all(&zeros).unwrap());
    bomb.finish().unwrap();
    let code = |sent: (u64, serde_json::Value)| {
        (sent.0, sent.1["code"].as_str().unwrap_or_default().to_owned())
    };
    let fault = |status, code: &str| (status, code.to_owned());

    let many: Vec<_> = (0..31).map(|it| format!("label{it}=1")).collect();
    let many: Vec<_> = [pprof].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert_eq!(code(served.run("push", &many)), fault(400, "invalid_argument"));
    assert_eq!(
        code(served.run("push", &[other.to_str().unwrap(), "service_name=a"])),
        fault(400, "invalid_argument")
    );
    assert_eq!(
        code(served.run("send", &["/ingest?name=a", &path("long")])),
        fault(413, "resource_exhausted")
    );
    let packed = ["/ingest?name=a", &path("bomb"), "Content-Encoding:gzip"];
    assert_eq!(code(served.run("send", &packed)), fault(413, "resource_exhausted"));
    assert_eq!(code(served.run("send", &["/ingest?name=a&format=pprof", &path("bomb")])).0, 400);
    for service in ["a", "b"] {
        assert_eq!(served.run("push", &[pprof, &format!("service_name={service}")]).0, 200);
    }
    assert_eq!(
        code(served.run("push", &[pprof, "service_name=c"])),
        fault(429, "resource_exhausted")
    );
    assert_eq!(served.run("push", &[pprof, "service_name=a"]).0, 200);
    let services = served.names("LabelValues", &json!({"name": "service_name", "start": "1"}));
    assert_eq!(services, ["a", "b"]);

    let slow =
        ApiServer::start(&StoreFolder::new().path().with_extension("slow"), &["--push-rate", "1"]);
    let sent = slow.run("burst", &["/ingest?name=a", other.to_str().unwrap(), "20"]).1;
    let sent: Vec<_> = sent.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert!(sent.contains(&429), "{sent:?}");
}

#[test]
fn a_token_is_needed() {
    if !counterparts::are_here() {
        return;
    }
    let store = StoreFolder::new();
    let file = store.path().with_extension("token");
    let token = "0123456789abcdef0123456789abcdef";
    fs::write(&file, token).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let served = ApiServer::start(&store.path(), &["--token-file", file.to_str().unwrap()]);
    let pprof = testdata("pprof/cpu.pb.gz");
    let push = ["service_name=a", "--token", token];
    let push = [&[pprof.to_str().unwrap()], &push[..]].concat();
    assert_eq!(served.run("push", &push[..2]).0, 401);
    assert_eq!(served.run("push", &push), (200, json!({})));
    for more in [&[][..], &["--token", "0123456789abcdef0123456789abcdee"]] {
        let (status, answer) = served.run("ask", &[&["ProfileTypes", "{}"], more].concat());
        assert_eq!((status, answer["code"].as_str()), (401, Some("unauthenticated")));
    }
    assert_eq!(served.run("ask", &["ProfileTypes", "{}", "--token", token]).0, 200);
    assert_eq!(served.run("profile", &["busy.app", "2", "--token", token]).0, 200);
    let services = store.rows("SELECT DISTINCT service FROM samples ORDER BY service");
    assert_eq!(services, [json!({"service": "a"}), json!({"service": "busy.app"})]);

    // Others can reach such an address.
    let mut open = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    open.arg("serve").arg(store.path()).args([
        "--pyroscope-api",
        "--host",
        "0.0.0.0",
        "--port",
        "0",
    ]);
    let output = open.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("--token-file"), "{said}");
}
