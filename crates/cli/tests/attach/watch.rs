//! The request `watch`: a recording that is sent over the control socket, and `perk top`, which shows it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use perk_control::remote::{folders, socket_name};
use perk_testkit::{JavaRun, Jdk, RunningJava, jdk};
use rustix::process::{Pid, Signal, getuid, kill_process};

use super::{perk, start, wait_for_state};
use crate::util::{Folder, stderr, stdout};
use crate::view::Session;

const OPTIONS: &str = "budget=cpu:waits:locks:alloc,depth=2048,thread=y,format=p";

/// A program that formats and waits for a lock for some seconds.
fn program(jdk: &Jdk, seconds: &str) -> RunningJava {
    let run =
        JavaRun::new(jdk).jvm_arg("-XX:+EnableDynamicAgentLoading").jvm_arg("-XX:+UseSerialGC");
    start(&run.main("Planted").args([seconds, "format", "monitor"]))
}

/// Has the JVM load the agent, and connects to it.
fn connect(folder: &Folder, java: &RunningJava) -> UnixStream {
    if perk(folder, java, &["status", "PID"]).status.code() != Some(0) {
        let begin = perk(folder, java, &["start", "PID", "cpu=samples,format=p,file=/dev/null"]);
        assert_eq!(begin.status.code(), Some(0), "{}", stderr(&begin));
        perk(folder, java, &["stop", "PID"]);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR");
    let folders = folders(runtime.as_deref(), getuid().as_raw());
    let mut sockets = folders.iter().map(|it| it.join(socket_name(java.pid())));
    let socket = sockets.find(|socket| socket.exists()).unwrap();
    UnixStream::connect(socket).unwrap()
}

/// Asks for a recording, and reads its answer.
fn ask(connection: &mut UnixStream, options: &str) -> String {
    connection.write_all(format!("watch {options}\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_recording_is_sent_while_it_is_made() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = program(jdk, "60");
        let mut refused = connect(&folder, &java);
        let answer = ask(&mut refused, "cpu=samples");
        assert_eq!(answer, "error watch sends format=p, which it needs, and no heap dump\n");
        let mut connection = connect(&folder, &java);
        assert_eq!(ask(&mut connection, OPTIONS), "ok\n");
        let answer = ask(&mut connect(&folder, &java), OPTIONS);
        assert!(answer.starts_with("error a recording is under way ("), "{answer}");
        // Each second has its increment.
        connection.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let (begin, mut bytes, mut arrivals) = (Instant::now(), Vec::new(), Vec::new());
        while begin.elapsed() < Duration::from_secs(6) {
            let mut part = [0; 1 << 16];
            if let Ok(count @ 1..) = connection.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
                arrivals.push(begin.elapsed().as_secs());
            }
        }
        arrivals.dedup();
        assert!(arrivals.len() >= 3, "{arrivals:?}");
        // What came is a file.
        folder.file("watched.hprof", &bytes);
        let output = folder.run(&["report", "--json", "watched.hprof"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let limits = json["limits"].to_string();
        assert!(limits.contains("Planted$Journal.write"), "{limits}");
        assert!(
            json["accounting"]["sample_count"].as_u64().unwrap() > 20,
            "{}",
            json["accounting"]
        );
        // The recording ends with the connection, and another can begin.
        drop(connection);
        wait_for_state(&folder, &java, "idle");
        assert_eq!(ask(&mut connect(&folder, &java), OPTIONS), "ok\n");
    });
}

#[test]
fn a_peer_that_does_not_read_stops_nobody() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = program(jdk, "8");
        let mut connection = connect(&folder, &java);
        assert_eq!(ask(&mut connection, OPTIONS), "ok\n");
        wait_for_state(&folder, &java, "recording");
        let outcome = java.wait();
        outcome.assert_success();
        assert_eq!(outcome.stderr, "");
        // What it did not read is still there.
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > 1000, "{}", rest.len());
    });
}

#[test]
fn top_shows_a_running_program() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = program(jdk, "60");
        let pid = java.pid();
        let script = format!("exec \"$PERK\" top {pid}");
        let mut session = Session::start(&folder, &script);
        session.await_text("Planted.line()");
        let first = session.await_text("samples: ");
        let title = format!("Planted · pid {pid} · live");
        assert!(first.lines().next().unwrap().starts_with(&title), "{first}");
        assert!(first.contains("blocked by a monitor") && first.contains("allocates "), "{first}");
        // What is chosen stays chosen.
        session.press("r5");
        session.await_screen("threads", |shown| {
            shown.contains("format-1") && shown.contains("last 1 min")
        });
        std::thread::sleep(Duration::from_millis(2500));
        session.await_text("format-1");
        // A moment is frozen and saved.
        session.press("p");
        session.await_text("frozen at ");
        session.press("S");
        session.await_text("written to perk-Planted-");
        let output = folder.run(&["report", &format!("perk-Planted-{pid}.hprof")]);
        assert!(stdout(&output).contains("Planted"), "{}", stderr(&output));
        session.press("D");
        session.await_text(".threads.txt");
        let threads =
            std::fs::read_to_string(folder.join(&format!("perk-Planted-{pid}.threads.txt")));
        assert!(threads.unwrap().contains("\"monitor-1\""));
        // The browser says how the JVM has ended.
        session.press("p");
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
        session.await_text("the JVM was ended by signal 9");
        session.press("q");
        assert_eq!(session.wait(), Some(0));
    });
}
