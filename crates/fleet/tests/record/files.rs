//! The files of a recorder.

use std::fs;
use std::io::{Read, Write};

use perk_profile::Profile;
use perk_testkit::{JavaRun, Jdk, RunningJava, Signal, fixture, jdk};

use super::Place;

/// Waits often, burns CPU time and prints what it did; ends when the file `go` is there.
const PROGRAM: &str = r#"
    public class Shop {
        static final Object LOCK = new Object();
        static long waits;
        static long deep(int depth) {
            return depth > 0 ? deep(depth - 1) + 1 : work();
        }
        static long work() {
            long end = System.nanoTime() + 2_000_000, sum = 0;
            while (System.nanoTime() < end) sum++;
            return sum;
        }
        static Object kept;
        static void rest() throws Exception {
            kept = new byte[100_000];
            synchronized (LOCK) { LOCK.wait(5); }
            waits++;
        }
        public static void main(String[] arguments) throws Exception {
            System.out.println("ready");
            System.out.flush();
            var go = new java.io.File("go");
            while (!go.exists()) {
                deep(20);
                rest();
            }
            System.out.println("waits=" + waits);
        }
    }"#;

pub(crate) fn start(jdk: &Jdk) -> RunningJava {
    start_named(jdk, "Shop")
}

/// A program of a name that no other test has, for recorders that find JVMs by name.
fn start_named(jdk: &Jdk, name: &str) -> RunningJava {
    let classes = fixture::compile_text(name, &PROGRAM.replace("Shop", name));
    spawn(&JavaRun::new(jdk).classes(&classes).main(name))
}

fn spawn(run: &JavaRun) -> RunningJava {
    let mut running = run.spawn();
    running.wait_for_stdout("ready");
    running
}

pub(crate) fn pid(run: &RunningJava) -> String {
    run.pid().to_string()
}

fn samples(profile: &Profile) -> u64 {
    profile.cpu_samples().map(|it| it.rows.iter().map(|row| row.1).sum::<u64>()).sum()
}

fn label(profile: &Profile, key: &str) -> Vec<String> {
    let symbols = &profile.symbols;
    let rows = profile.sections().flat_map(|section| section.rows().map(|row| row.0.labels));
    let mut values: Vec<_> = rows
        .flat_map(|set| profile.labels.get(set))
        .filter(|label| symbols.strings.get(label.key) == key)
        .map(|label| label.value_text(symbols))
        .collect();
    values.sort();
    values.dedup();
    values
}

/// When a file begins, since 1970, and how long it is.
fn span_ms(profile: &Profile) -> (u64, u64) {
    (profile.created.unwrap().unix_ms, profile.accounting.as_ref().unwrap().wall_ns / 1_000_000)
}

#[test]
fn each_second_has_a_file_until_the_jvm_ends() {
    jdk::each(|jdk| {
        let place = Place::new();
        let running = start(jdk);
        let recorder = place.start(&["--every", "1s", "--label", "team=a", &pid(&running)]);
        recorder.wait_for("service Shop");
        recorder.wait_until("4 files", || place.files().len() >= 4);
        fs::write(running.dir().join("go"), "").unwrap();
        let outcome = running.wait();
        outcome.assert_success();
        recorder.wait_for("has ended");
        recorder.signal("-TERM");
        let (code, log) = recorder.end();
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("lost") && !log.contains("cannot"), "{log}");

        let profiles = place.profiles();
        let mut ids = Vec::new();
        for (path, profile) in place.files().iter().zip(&profiles) {
            let path = path.to_str().unwrap();
            assert!(
                path.contains("/out/service=Shop/date=20") && path.ends_with(".hprof.zst"),
                "{path}"
            );
            let accounting = profile.accounting.as_ref().unwrap();
            assert_eq!(accounting.sample_count, samples(profile));
            let nodes = profile.cpu_samples().flat_map(|it| it.rows);
            let depths = nodes.map(|row| profile.frames(row.0).count()).max();
            assert!(depths.is_none_or(|depth| depth > 20), "{depths:?}");
            assert_eq!(label(profile, "service"), ["Shop"]);
            assert_eq!(label(profile, "team"), ["a"]);
            ids.extend(label(profile, "file"));
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), count), (profiles.len(), profiles.len()));
        // Nothing is missing between two files, and no time is in both.
        let mut spans: Vec<_> = profiles.iter().map(span_ms).collect();
        spans.sort_unstable();
        for two in spans.windows(2) {
            let end_ms = two[0].0 + two[0].1;
            assert!(end_ms.abs_diff(two[1].0) < 1000, "{spans:?}");
        }
    });
}

#[test]
fn a_recording_survives_its_recorder() {
    jdk::each(|jdk| {
        let place = Place::new();
        let running = start(jdk);
        let arguments = ["--every", "1s", &pid(&running)];
        let first = place.start(&arguments);
        first.wait_until("a file", || !place.files().is_empty());
        first.signal("-KILL");
        drop(first);
        std::thread::sleep(std::time::Duration::from_millis(2500));
        let second = place.start(&arguments);
        second.wait_for("continues");
        let before = place.files().len();
        second.wait_until("more files", || place.files().len() >= before + 4);
        second.signal("-INT");
        let (_, log) = second.end();
        assert!(!log.contains("lost"), "{log}");
        // The time without a recorder has its files, too.
        let mut spans: Vec<_> = place.profiles().iter().map(span_ms).collect();
        spans.sort_unstable();
        let covered_ms: u64 = spans.iter().map(|it| it.1).sum();
        let last = spans[spans.len() - 1];
        assert!(covered_ms * 10 >= (last.0 + last.1 - spans[0].0) * 9, "{spans:?}");
        fs::write(running.dir().join("go"), "").unwrap();
        running.wait().assert_success();
    });
}

#[test]
fn a_jvm_that_is_killed_leaves_what_was_flushed() {
    jdk::each(|jdk| {
        let place = Place::new();
        let mut running = start(jdk);
        let recorder = place.start(&["--every", "60s", &pid(&running)]);
        recorder.wait_for("recording the JVM");
        std::thread::sleep(std::time::Duration::from_secs(3));
        running.signal(Signal::KILL);
        running.wait();
        recorder.wait_for("was killed: its last seconds may be missing");
        recorder.wait_until("its file", || place.files().len() == 1);
        assert!(samples(&place.profiles()[0]) > 0);
    });
}

#[test]
fn once_records_a_file_and_ends() {
    let place = Place::new();
    let running = start(jdk::compiler());
    let recorder = place.start(&["--once", "--every", "1s", &pid(&running)]);
    let (code, log) = recorder.end();
    assert_eq!(code, Some(0), "{log}");
    assert!((1..=2).contains(&place.files().len()), "{log}");
    fs::write(running.dir().join("go"), "").unwrap();
    let outcome = running.wait();
    outcome.assert_success();
    assert_eq!(outcome.stdout.lines().filter(|it| it.starts_with("waits=")).count(), 1);
}

#[test]
fn new_jvms_are_found_and_a_second_recorder_says_so() {
    let place = Place::new();
    let recorder = place.start(&["--every", "1s", "LateShop"]);
    recorder.wait_for("records files of 1s to");
    let (code, log) = place.start(&["--every", "1s", "LateShop"]).end();
    assert_eq!(code, Some(2), "{log}");
    assert!(log.contains("another perk record (process "), "{log}");
    let running = start_named(jdk::compiler(), "LateShop");
    let title = format!("recording the JVM {} (LateShop)", running.pid());
    recorder.wait_for(&title);
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
    recorder.wait_for("has ended");
}

#[test]
fn what_both_left_when_they_were_killed_is_delivered() {
    jdk::each(|jdk| {
        let place = Place::new();
        // The recorders of other tests look for what JVMs have left, too.
        let name = "LeftShop";
        let classes = fixture::compile_text(name, &PROGRAM.replace("Shop", name));
        let folder = place.path("run");
        fs::create_dir(&folder).unwrap();
        let run = JavaRun::new(jdk).env("XDG_RUNTIME_DIR", folder).classes(&classes).main(name);
        let mut running = spawn(&run);
        let first = place.start(&["--every", "1s", &pid(&running)]);
        first.wait_until("a file", || !place.files().is_empty());
        first.signal("-KILL");
        drop(first);
        std::thread::sleep(std::time::Duration::from_millis(2200));
        let pid = running.pid();
        running.signal(Signal::KILL);
        running.wait();
        let before = place.files().len();
        // A JVM of the same user.
        let other = spawn(&run);
        // A recorder of other JVMs leaves them alone.
        let elsewhere = Place::new();
        let of_others = elsewhere.start(&["--every", "60s", &self::pid(&other)]);
        of_others.wait_for("recording the JVM");
        of_others.signal("-INT");
        assert!(!of_others.end().1.contains("was killed"));
        let second = place.start(&["--every", "60s", name]);
        second.wait_for("recording the JVM");
        let line = format!("the JVM {pid} (LeftShop) was killed");
        assert!(second.log().contains(&line), "{}", second.log());
        second.wait_until("their files", || place.files().len() >= before + 2);
        for profile in place.profiles() {
            assert_eq!(label(&profile, "service"), ["LeftShop"]);
        }
        fs::write(other.dir().join("go"), "").unwrap();
        other.wait().assert_success();
    });
}

#[test]
fn files_wait_for_a_destination_and_other_settings_begin_anew() {
    let place = Place::new();
    let running = start(jdk::compiler());
    // No folder can be made where a file is.
    fs::write(place.path("out"), "").unwrap();
    let config = place.path("record.toml");
    fs::write(&config, "every = \"1s\"\n").unwrap();
    let recorder = place.start(&["--config", config.to_str().unwrap(), &pid(&running)]);
    recorder.wait_for("; perk tries again with 1 file");
    fs::remove_file(place.path("out")).unwrap();
    recorder.wait_for("files are delivered again");
    // A fault of the settings leaves the old ones; others are taken over.
    fs::write(&config, "every = \"x\"\n").unwrap();
    recorder.signal("-HUP");
    recorder.wait_for("the old settings stay: ");
    fs::write(&config, "every = \"2s\"\nservice = \"other\"\n").unwrap();
    recorder.signal("-HUP");
    recorder.wait_for("the settings are read again");
    let is_long = |profile: &Profile| profile.accounting.as_ref().unwrap().wall_ns > 1_800_000_000;
    recorder.wait_until("a file of 2 s", || place.profiles().iter().any(is_long));
    recorder.signal("-INT");
    let (code, log) = recorder.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("lost"), "{log}");
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
}

#[test]
fn files_wait_in_the_jvm_while_the_spool_has_no_room() {
    let place = Place::new();
    let running = start(jdk::compiler());
    let config = place.path("record.toml");
    fs::write(&config, "every = \"1s\"\n").unwrap();
    let recorder = place.start(&["--config", config.to_str().unwrap(), &pid(&running)]);
    recorder.wait_until("2 files", || place.files().len() >= 2);
    // Nothing can be written to a queue that is not there.
    let entries = fs::read_dir(place.path("spool")).unwrap().map(|it| it.unwrap().path());
    let queue = entries.filter(|it| it.is_dir()).collect::<Vec<_>>().pop().unwrap();
    let away = place.path("away");
    fs::rename(&queue, &away).unwrap();
    recorder.wait_for("; up to 60 files of the JVM ");
    std::thread::sleep(std::time::Duration::from_millis(2200));
    // Another recording begins, whose files have the same numbers.
    fs::write(&config, "every = \"2s\"\n").unwrap();
    recorder.signal("-HUP");
    recorder.wait_for("the settings are read again");
    std::thread::sleep(std::time::Duration::from_millis(6500));
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
    recorder.wait_for("has ended");
    let before = place.files().len();
    fs::rename(&away, &queue).unwrap();
    recorder.wait_for("are taken again");
    recorder.wait_until("the others", || place.files().len() >= before + 6);
    recorder.signal("-INT");
    let (_, log) = recorder.end();
    assert!(!log.contains("lost") && !log.contains("the next perk record takes them"), "{log}");
    assert_eq!(log.matches("; up to 60 files").count(), 1, "{log}");
    let mut spans: Vec<_> = place.profiles().iter().map(span_ms).collect();
    spans.sort_unstable();
    for two in spans.windows(2) {
        assert!((two[0].0 + two[0].1).abs_diff(two[1].0) < 1000, "{spans:?}");
    }
}

#[test]
fn the_numbers_of_the_recorder_are_for_prometheus() {
    let place = Place::new();
    let running = start(jdk::compiler());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let recorder = place.start(&["--every", "1s", "--metrics", &address, &pid(&running)]);
    recorder.wait_until("3 files", || place.files().len() >= 3);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let number = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name)).expect(&text);
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert_eq!((number("perk_jvms"), number("perk_lost_files_total")), (1.0, 0.0));
    assert!(number("perk_delivered_files_total{destination=") >= 3.0);
    assert!(number("perk_jvm_cpu_seconds_total") > number("perk_agent_cpu_seconds_total"));
    fs::write(running.dir().join("go"), "").unwrap();
    running.wait().assert_success();
}

#[test]
fn a_trigger_measures_more_for_a_time() {
    jdk::each(|jdk| {
        let place = Place::new();
        let running = start(jdk);
        let recorder = place.start(&[
            "--every",
            "1s",
            "--when",
            "threads>1 for 1s",
            "--then",
            "cpu=samples,interval=1ms,wall 1s",
            "--triggers-per-hour",
            "1",
            &pid(&running),
        ]);
        recorder.wait_for("; measures cpu=samples,interval=1ms,wall 1s");
        let is_fired = |profile: &Profile| !label(profile, "trigger").is_empty();
        recorder.wait_until("its file", || place.profiles().iter().any(is_fired));
        let count = place.files().len();
        recorder.wait_until("the usual files", || place.files().len() >= count + 2);
        recorder.signal("-INT");
        let (_, log) = recorder.end();
        assert!(!log.contains("lost") && !log.contains("cannot"), "{log}");
        let profiles = place.profiles();
        let fired: Vec<_> = profiles.iter().filter(|it| is_fired(it)).collect();
        assert_eq!(fired.len(), 1, "{log}");
        let reason = &label(fired[0], "trigger")[0];
        assert!(reason.starts_with("threads>1 for 1s: "), "{reason}");
        let interval = |it: &Profile| it.accounting.as_ref().unwrap().interval_ns;
        assert_eq!(interval(fired[0]), 1_000_000);
        assert!(profiles.iter().all(|it| is_fired(it) || interval(it) >= 20_000_000));
        fs::write(running.dir().join("go"), "").unwrap();
        running.wait().assert_success();
    });
}
