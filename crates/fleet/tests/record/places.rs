//! What places get that are no folders, as independent programs read it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use perk_profile::{Metric, Profile};
use perk_testkit::{RunningJava, jdk};
use serde_json::Value;

use super::counterparts::{
    self, Receiver, Server, decoded, output, script, sums_of_pprof, wait_until,
};
use super::files::{pid, start};
use super::{Place, Recorder};

/// The sums of numbers by type and unit, as pprof names them.
type Sums = BTreeMap<String, u64>;

/// The sums of the files of a folder.
fn sums_of_files(profiles: &[Profile]) -> Sums {
    let mut sums = Sums::new();
    let mut add = |name: &str, number| *sums.entry(name.to_owned()).or_default() += number;
    for profile in profiles {
        let interval_ns = profile.sample_interval_ns().unwrap_or_default();
        let samples = Metric::Samples.rows(profile).total;
        add("samples/count", samples);
        add("cpu/nanoseconds", samples * interval_ns);
        for metric in [
            Metric::WallTime,
            Metric::AllocatedObjects,
            Metric::AllocatedBytes,
            Metric::BlockedCount,
            Metric::BlockedTime,
            Metric::WaitCount,
            Metric::WaitedTime,
        ] {
            let name = format!("{}/{}", metric.file_name(), metric.unit().name());
            add(&name, metric.rows(profile).total);
        }
    }
    sums.retain(|_, sum| *sum > 0);
    sums
}

fn add_up(sums: &mut Sums, more: Vec<(String, u64)>) {
    more.into_iter().for_each(|(name, sum)| *sums.entry(name).or_default() += sum);
}

/// Lets a program run until its recorder has delivered some files, and ends both.
fn end(place: &Place, running: RunningJava, recorder: Recorder) -> String {
    recorder.wait_until("3 files", || place.files().len() >= 3);
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
    recorder.wait_for("has ended");
    recorder.signal("-INT");
    let (code, log) = recorder.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("lost") && !log.contains("for the next perk record"), "{log}");
    log
}

#[test]
fn pyroscope_gets_the_numbers_of_the_files() {
    if !counterparts::are_here() {
        return;
    }
    jdk::each(|jdk| {
        let place = Place::new();
        let receiver = Receiver::start(place.path("receiver"), &[]);
        let running = start(jdk);
        let url = format!("pyroscope+http://user:secret@127.0.0.1:{}/base", receiver.port());
        let recorder = place.start(&[
            "--every",
            "1s",
            "--to",
            &url,
            "--header",
            "X-Scope-OrgID: shop",
            "--label",
            "my-team=a",
            &pid(&running),
        ]);
        let log = end(&place, running, recorder);
        assert!(!log.contains("secret"), "{log}");

        let received = receiver.received();
        assert_eq!(received.len(), place.files().len(), "{received:?}");
        let mut sums = Sums::new();
        for request in &received {
            assert_eq!(request.path, "/base/push.v1.PusherService/Push");
            let header = |name: &str| request.headers[name].as_str().unwrap_or_default();
            assert_eq!(header("content-type"), "application/proto");
            assert_eq!(header("x-scope-orgid"), "shop");
            assert_eq!(header("authorization"), "Basic dXNlcjpzZWNyZXQ=");
            for series in decoded("push.py", &request.body)["series"].as_array().unwrap() {
                let labels = &series["labels"];
                assert_eq!(
                    (&labels["service_name"], &labels["my_team"]),
                    (&"Shop".into(), &"a".into())
                );
                let names = ["process_cpu", "memory", "mutex", "wait", "wall"];
                assert!(names.contains(&labels["__name__"].as_str().unwrap()), "{labels}");
                let sample = &series["samples"][0];
                add_up(&mut sums, sums_of_pprof(sample["path"].as_str().unwrap().as_ref()));
            }
        }
        sums.retain(|_, sum| *sum > 0);
        assert_eq!(sums, sums_of_files(&place.profiles()));
    });
}

#[test]
fn ingest_gets_a_request_for_each_series() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let receiver = Receiver::start(place.path("receiver"), &[]);
    let running = start(jdk::compiler());
    let url = format!("pyroscope+http://127.0.0.1:{}/ingest", receiver.port());
    let recorder = place.start(&["--every", "1s", "--to", &url, &pid(&running)]);
    end(&place, running, recorder);
    let mut sums = Sums::new();
    for request in receiver.received() {
        let query = request.path.strip_prefix("/ingest?name=Shop%7B").expect(&request.path);
        assert!(query.contains("&format=pprof&spyName=perk"), "{query}");
        let number = |key: &str| -> u64 {
            query.split('&').find_map(|it| it.strip_prefix(key)).unwrap().parse().unwrap()
        };
        assert!((1..5).contains(&(number("until=") - number("from="))), "{query}");
        add_up(&mut sums, sums_of_pprof(&request.body));
    }
    sums.retain(|_, sum| *sum > 0);
    assert_eq!(sums, sums_of_files(&place.profiles()));
}

#[test]
fn otlp_gets_the_numbers_of_the_files() {
    if !counterparts::are_here() {
        return;
    }
    jdk::each(|jdk| {
        let place = Place::new();
        let receiver = Receiver::start(place.path("receiver"), &[]);
        let running = start(jdk);
        let url = format!("otlp+http://127.0.0.1:{}", receiver.port());
        let recorder = place.start(&["--every", "1s", "--to", &url, &pid(&running)]);
        end(&place, running, recorder);
        let mut sums = Sums::new();
        let mut ids = Vec::new();
        let received = receiver.received();
        assert_eq!(received.len(), place.files().len());
        for request in received {
            assert_eq!(request.path, "/v1development/profiles");
            assert_eq!(request.headers["content-type"], "application/x-protobuf");
            let message = decoded("otlp.py", &request.body);
            let unused = message["unused"].as_object().unwrap();
            assert!(unused.values().all(|it| it == 0), "{unused:?}");
            let resource = &message["resources"][0];
            assert_eq!(resource["attributes"]["service.name"], "Shop");
            assert!(resource["attributes"]["service.instance.id"].is_string());
            for profile in resource["scopes"][0]["profiles"].as_array().unwrap() {
                let text = |key: &str| profile[key].as_str().unwrap();
                let name = format!("{}/{}", text("type"), text("unit"));
                *sums.entry(name.clone()).or_default() += profile["sum"].as_u64().unwrap();
                ids.push(text("profile_id").to_owned());
                assert_eq!(profile["alike"], 0, "{name}");
                assert!(profile["samples"].as_array().unwrap().iter().all(is_of_a_thread));
            }
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
        let mut expected = sums_of_files(&place.profiles());
        // They are the CPU time.
        expected.remove("samples/count");
        assert_eq!(sums, expected);
    });
}

fn is_of_a_thread(sample: &Value) -> bool {
    sample["attributes"]["thread.name"].is_string()
}

#[test]
fn an_object_store_gets_the_files() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let keys = [("AWS_ACCESS_KEY_ID", "perk"), ("AWS_SECRET_ACCESS_KEY", "a secret/+")];
    let mut command = script("s3.py");
    let server = Server::start({
        command.envs(keys);
        command
    });
    let address = format!("http://127.0.0.1:{}", server.port);
    let running = start(jdk::compiler());
    let recorder = place.start_with(
        &["--every", "1s", "--service", "shop é+1", "--to", "s3://profiles/a/b", &pid(&running)],
        &[keys[0], keys[1], ("AWS_ENDPOINT_URL", &address), ("AWS_REGION", "us-east-1")],
    );
    end(&place, running, recorder);
    let out = place.path("out");
    for file in place.files() {
        let key = file.strip_prefix(&out).unwrap().display().to_string();
        assert!(key.starts_with("service=shop_é+1/date="), "{key}");
        let key = key.replace('é', "%C3%A9").replace('+', "%2B");
        let url = format!("{address}/profiles/a/b/{key}");
        let object = Command::new("curl").args(["-sf", &url]).output().unwrap();
        assert!(object.status.success(), "{url}");
        assert_eq!(object.stdout, fs::read(&file).unwrap());
    }
}

#[test]
fn files_in_pprof_are_read_by_go() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let running = start(jdk::compiler());
    let recorder = place.start(&["--every", "1s", "--format", "pprof", &pid(&running)]);
    end(&place, running, recorder);
    for file in place.files() {
        let profile =
            perk_formats::pprof::read(flate2::read::GzDecoder::new(fs::File::open(&file).unwrap()));
        let sums: Sums = sums_of_pprof(&file).into_iter().collect();
        for (name, sum) in sums_of_files(&[profile.unwrap()]) {
            assert_eq!(sums.get(&name), Some(&sum), "{name}");
        }
    }
}

#[test]
fn a_server_that_fails_gets_all_files_later() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let receiver = Receiver::start(place.path("receiver"), &[]);
    let port = receiver.port().to_string();
    let running = start(jdk::compiler());
    let url = format!("pyroscope+http://127.0.0.1:{port}");
    let recorder = place.start(&["--every", "1s", "--to", &url, &pid(&running)]);
    let again = || recorder.log().matches("files are delivered again").count();
    for (behaviour, message) in [
        ("status 500", "500 Internal Server Error: The behaviour is 500.; perk tries again"),
        ("status 429 1", "429 Too Many Requests: "),
        ("status 401", "401 Unauthorized: "),
        ("half", "; perk tries again"),
        ("close", "; perk tries again"),
    ] {
        let (count, before) = (recorder.log().matches(message).count(), again());
        receiver.behave(behaviour);
        recorder.wait_until(behaviour, || recorder.log().matches(message).count() > count);
        receiver.behave("ok");
        recorder.wait_until("its end", || again() > before);
    }
    // Nobody listens; then another server does.
    let (folder, before) = (receiver.folder.clone(), again());
    drop(receiver);
    recorder.wait_for("Connection refused (os error 111); perk tries again");
    let receiver = Receiver::start(folder, &["--port", &port]);
    recorder.wait_until("its end", || again() > before);
    receiver.behave("status 400");
    recorder.wait_for("refuses 1 file, dropped: 400 Bad Request: ");
    receiver.behave("ok");
    end(&place, running, recorder);
    let received = receiver.received();
    let refused = received.iter().filter(|it| it.behaviour == "status 400").count();
    let ids = |body: &_| -> Vec<String> {
        let message = decoded("push.py", body);
        let series = message["series"].as_array().unwrap();
        series.iter().map(|it| it["samples"][0]["ID"].as_str().unwrap().to_owned()).collect()
    };
    let taken = received.iter().filter(|it| it.behaviour == "ok");
    let mut requests: Vec<_> = taken.map(|it| ids(&it.body)).collect();
    requests.sort();
    requests.dedup();
    assert_eq!(requests.len() + refused, place.files().len());
    // What was answered by half was sent again, with the ids that it had.
    let halves = received.iter().filter(|it| it.behaviour == "half");
    assert!(halves.map(|it| ids(&it.body)).all(|ids| requests.contains(&ids)));
}

#[test]
fn a_certificate_is_checked() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let certificates = place.path("certificates");
    fs::create_dir(&certificates).unwrap();
    output(script("certificates.py").arg(&certificates));
    let file = |name: &str| certificates.join(name).to_str().unwrap().to_owned();
    let start_receiver = |name: &str, more: &[&str]| {
        let (certificate, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
        let arguments = [&["--tls", &certificate, &key], more].concat();
        Receiver::start(place.path("receiver"), &arguments)
    };
    let receiver = start_receiver("expired", &[]);
    let port = receiver.port().to_string();
    let running = start(jdk::compiler());
    let url = format!("otlp+https://localhost:{port}");
    let (ca, pid) = (file("ca.pem"), pid(&running));
    let recorder = place.start(&["--every", "1s", "--ca", &ca, "--to", &url, &pid]);
    recorder.wait_for("; perk tries again");
    assert!(recorder.log().contains("expired"), "{}", recorder.log());
    assert!(receiver.received().is_empty());
    drop(receiver);
    let receiver = start_receiver("valid", &["--port", &port]);
    recorder.wait_for("files are delivered again");
    end(&place, running, recorder);
    assert_eq!(receiver.received().len(), place.files().len());
}

#[test]
fn perk_writes_what_pyroscope_s_own_client_writes() {
    if !counterparts::are_here() {
        return;
    }
    let place = Place::new();
    let receiver = Receiver::start(place.path("receiver"), &[]);
    output(script("writer.py").arg(format!("http://127.0.0.1:{}", receiver.port())));
    wait_until("a request", || !receiver.received().is_empty());
    let its = &receiver.received()[0];
    assert_eq!(its.path, "/push.v1.PusherService/Push");
    assert_eq!(its.headers["content-type"], "application/proto");
    assert_eq!(its.headers["content-encoding"], "gzip");
    let series = &decoded("push.py", &its.body)["series"][0];
    assert_eq!(series["labels"]["__name__"], "process_cpu");
    assert!(series["labels"]["service_name"].is_string());
    let sums = sums_of_pprof(series["samples"][0]["path"].as_str().unwrap().as_ref());
    assert_eq!(sums[0].0, "cpu/nanoseconds");
}

#[test]
fn places_change_with_the_settings() {
    let place = Place::new();
    let running = start(jdk::compiler());
    let config = place.path("record.toml");
    let (other, out) = (place.path("other"), place.path("out"));
    let write = |to: &str| fs::write(&config, format!("every = \"1s\"\nto = [{to}]\n")).unwrap();
    let spool = place.path("spool");
    write(&format!("{other:?}"));
    let arguments = ["--config", config.to_str().unwrap(), "--spool", spool.to_str().unwrap()];
    let recorder = place.start_as_is(&[&arguments[..], &[&pid(&running)]].concat());
    recorder.wait_until("a file", || other.exists());
    write(&format!("{out:?}, \"nothing://a\""));
    recorder.signal("-HUP");
    recorder.wait_for("the old settings stay: --to nothing://a: use a folder");
    write(&format!("{out:?}"));
    recorder.signal("-HUP");
    recorder.wait_until("files", || place.files().len() >= 2);
    end(&place, running, recorder);
}
