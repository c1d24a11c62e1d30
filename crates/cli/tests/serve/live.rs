//! `perk serve` of running JVMs.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use perk_testkit::{JavaRun, Jdk, RunningJava, jdk};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Server;
use crate::attach::{perk, start, wait_for_state};
use crate::util::{Folder, assert_refused, stderr, stdout, wait_for};

/// A program that formats and waits for a lock for some seconds.
pub(super) fn program(jdk: &Jdk, seconds: &str) -> RunningJava {
    let run =
        JavaRun::new(jdk).jvm_arg("-XX:+EnableDynamicAgentLoading").jvm_arg("-XX:+UseSerialGC");
    start(&run.main("Planted").args([seconds, "format", "monitor"]))
}

pub(super) fn signal(java: &RunningJava, signal: Signal) {
    kill_process(Pid::from_raw(java.pid() as i32).unwrap(), signal).unwrap();
}

/// A browser with its cookie.
struct Browser<'s> {
    server: &'s Server,
    cookie: String,
}

impl<'s> Browser<'s> {
    fn new(server: &'s Server) -> Self {
        Self { server, cookie: server.cookie() }
    }

    /// The status and the body of an answer.
    fn ask(&self, address: &str) -> (String, Vec<u8>) {
        let (head, body) = self.server.ask(&format!("GET {address}"), "", &self.cookie);
        (head.split(' ').nth(1).unwrap().to_owned(), body)
    }

    /// The answer of an address, which has to be there.
    #[track_caller]
    fn json(&self, address: &str) -> Value {
        let (status, body) = self.ask(address);
        assert_eq!(status, "200", "{address}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    /// Waits until a member of the JVM's answer is as wanted.
    #[track_caller]
    fn wait_for(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            Some(self.json("/api/j1/live?last=2s")).filter(&is_wanted)
        })
    }
}

/// A document without the name of its file.
fn unnamed(mut document: Value, name: &str) -> Value {
    document["file"] = Value::Null;
    serde_json::from_str(&document.to_string().replace(name, "FILE")).unwrap()
}

#[test]
fn a_part_of_a_running_jvm_is_the_file_that_is_saved() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = program(jdk, "120");
        let pid = java.pid();
        let server = Server::new(&folder, &[&pid.to_string()]);
        let (one, other) = (Browser::new(&server), Browser::new(&server));
        let sources = one.json("/api/sources");
        assert_eq!(sources["sources"][0]["kind"], "jvm");
        assert_eq!(sources["sources"][0]["name"], format!("Planted · pid {pid}"));
        let recorded = |it: &Value| it["recorded_ns"].as_u64().unwrap();
        let now = one.wait_for("four seconds", |it| recorded(it) > 4_000_000_000);
        assert_eq!(now["state"], "live");
        assert!(now["process_cpu_ns"].as_u64().unwrap() > 0 && now["class_count"].is_u64());
        // A page freezes the part by its ends, which may be a bit later.
        let s = |name: &str| format!("{:.6}s", now[name].as_u64().unwrap() as f64 / 1e9 + 1e-6);
        let part = format!("from={}&to={}", s("from_ns"), s("to_ns"));
        let threads = one.json(&format!("/api/j1/live-threads?sort=allocated&{part}"));
        let listed = threads["rows"].to_string();
        assert!(listed.contains("\",\"blocked by a monitor\"]"), "{listed}");
        assert!(threads["rows"][0].to_string().contains("\"format-"), "{listed}");
        assert!(threads["rows"].as_array().unwrap().iter().any(|row| row[0].as_u64() > Some(0)));
        // Every number is that of the file that is saved.
        let (status, file) = one.ask(&format!("/api/j1/export?as=hprof&{part}"));
        assert_eq!(status, "200");
        folder.file("part.hprof", file);
        let report = folder.run(&["report", "--json", "part.hprof"]);
        let of_file: Value = serde_json::from_slice(&report.stdout).unwrap();
        assert_eq!(of_file["limits"][0]["method"], "Planted$Journal.write()V", "{of_file}");
        let of_page = one.json(&format!("/api/j1/report?{part}"));
        let name = format!("Planted · pid {pid}");
        let (page, file) = (unnamed(of_page.clone(), &name), unnamed(of_file, "part.hprof"));
        for (member, value) in file.as_object().unwrap() {
            assert_eq!(page[member], *value, "{member}");
        }
        // It stays the same, for each browser; what follows the program does not.
        one.wait_for("two more", |it| recorded(it) > recorded(&now) + 2_000_000_000);
        assert_eq!(other.json(&format!("/api/j1/report?{part}")), of_page);
        assert_ne!(other.json("/api/j1/report?last=2s"), of_page);
        let dump = String::from_utf8(other.ask("/api/j1/thread-dump").1).unwrap();
        assert!(dump.contains("\"monitor-1\""), "{dump}");
        // One that asks and never reads keeps nobody waiting.
        let mut deaf = TcpStream::connect(server.parts().0).unwrap();
        for _ in 0..40 {
            let head = format!("host: {}\r\n{}\r\n", server.parts().0, one.cookie);
            write!(deaf, "GET /api/j1/report HTTP/1.1\r\n{head}").unwrap();
        }
        // A JVM has one recording.
        assert_refused(
            &folder.run(&["serve", &pid.to_string()]),
            &["a recording is under way", "stop it first"],
        );
        // What was recorded stays when the JVM is killed.
        signal(&java, Signal::KILL);
        let end = one.wait_for("the end", |it| it["state"] == "ended");
        assert_eq!(end["end"], format!("{name} was ended by signal 9"));
        assert_eq!(one.json(&format!("/api/j1/report?{part}")), of_page);
        folder.file("all.hprof", one.ask("/api/j1/export?as=hprof").1);
        assert!(stdout(&folder.run(&["report", "all.hprof"])).contains("Planted.line"));
        drop(deaf);
        let (code, said) = server.end(Signal::INT);
        assert_eq!(code, Some(0), "{said}");
        let lines: Vec<_> = said.lines().collect();
        let title = format!("perk: the JVM {pid} (Planted)");
        assert_eq!(
            lines,
            [
                format!("perk: recording the JVM {pid} (Planted) until Ctrl-C"),
                format!("{title} was ended by signal 9; what was recorded is served until Ctrl-C")
            ]
        );
    });
}

#[test]
fn a_stopped_jvm_is_named_and_its_recording_ends_with_perk() {
    let folder = Folder::new();
    let java = program(&jdk::all()[0], "60");
    // A JVM beside files, with options of its recording.
    folder.file("app.collapsed", "main;a 5\n");
    let pid = java.pid().to_string();
    let server = Server::new(&folder, &["app.collapsed", "--only", "cpu", &pid]);
    let browser = Browser::new(&server);
    let recorded = |it: &Value| it["recorded_ns"].as_u64().unwrap();
    browser.wait_for("two seconds", |it| recorded(it) > 2_000_000_000);
    assert_eq!(browser.json("/api/s1/report?view=summary")["form"], "collapsed");
    let summary = browser.json("/api/j1/report?view=summary");
    let metrics = summary["metrics"].to_string();
    assert!(metrics.contains("samples") && !metrics.contains("wall"), "{metrics}");
    for (wrong, line) in [
        ("/api/j1/report?last=1s&from=1s", "last and from"),
        ("/api/j1/report?from=2s&to=1s", "to is not later than from"),
        ("/api/s1/report?last=1s", "no parameter last"),
        ("/api/s1/live", "no running JVM"),
    ] {
        let (status, body) = browser.ask(wrong);
        let body = String::from_utf8(body).unwrap();
        assert!(status.starts_with('4') && body.contains(line), "{wrong}: {status} {body}");
    }
    signal(&java, Signal::STOP);
    browser.wait_for("the stop", |it| it["state"] == "stopped");
    let (status, body) = browser.ask("/api/j1/thread-dump");
    let body = String::from_utf8(body).unwrap();
    assert!(status == "409" && body.contains("kill -CONT"), "{status} {body}");
    signal(&java, Signal::CONT);
    let after = browser.wait_for("its continuation", |it| it["state"] == "live");
    browser.wait_for("more", |it| recorded(it) > recorded(&after));
    // Ctrl-C ends the recording in the JVM, which continues.
    assert_eq!(server.end(Signal::INT).0, Some(0));
    let status = perk(&folder, &java, &["status", "PID"]);
    assert!(stdout(&status).contains("state=idle"), "{}", stderr(&status));
    wait_for_state(&folder, &java, "idle");
}

#[test]
fn a_jvm_that_exits_has_ended() {
    let folder = Folder::new();
    let java = program(&jdk::all()[0], "60");
    folder.file("a.collapsed", b"a;b 5\n");
    let pid = java.pid().to_string();
    let server = Server::new(&folder, &["a.collapsed", &pid, "a.collapsed"]);
    let browser = Browser::new(&server);
    browser.wait_for("a second", |it| it["recorded_ns"].as_u64().unwrap() > 0);
    // In the order of the arguments.
    let sources = browser.json("/api/sources");
    let ids: Vec<_> = sources["sources"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["s1", "j1", "s2"]);
    // It sends the end of the recording before its process is gone.
    signal(&java, Signal::TERM);
    let end = browser.wait_for("the end", |it| it["end"].is_string());
    assert_eq!(end["state"], "ended");
    // The exit code of a JVM that SIGTERM ends.
    assert!(end["end"].as_str().unwrap().ends_with(" has ended with exit code 143"), "{end}");
    let (_, said) = server.end(Signal::INT);
    assert!(
        said.contains(" has ended with exit code 143; what was recorded is served until Ctrl-C"),
        "{said}"
    );
}

#[test]
fn what_is_no_file_is_a_jvm() {
    let folder = Folder::new();
    let java = program(&jdk::all()[0], "60");
    let pid = java.pid().to_string();
    folder.file(&pid, "no profile");
    // A file that perk cannot read does not hide the JVM of its name.
    let server = Server::new(&folder, &[&pid]);
    let browser = Browser::new(&server);
    assert_eq!(browser.json("/api/sources")["sources"][0]["id"], "j1");
    assert_eq!(server.end(Signal::TERM).0, Some(0));
    folder.file(&pid, "main;a 5\n");
    let server = Server::new(&folder, &[&pid]);
    let browser = Browser::new(&server);
    assert_eq!(browser.json("/api/sources")["sources"][0]["id"], "s1");
    assert_eq!(server.end(Signal::TERM), (Some(0), String::new()));
    folder.file("app.collapsed", "main;a 5\n");
    for (arguments, parts) in [
        (&["serve", "Nosuch"][..], &["cannot read Nosuch", "no JVM has this name"][..]),
        (&["serve", "99999999"], &["there is no process 99999999"]),
        (&["serve", "folder/none"], &["cannot read folder/none"]),
        (&["serve", "--wall", "app.collapsed"], &["--wall", "no input is a running JVM"]),
    ] {
        assert_refused(&folder.run(arguments), parts);
    }
    fs::remove_file(folder.join(&pid)).unwrap();
    let output = folder.run(&["serve", "--heap", "dump", &pid]);
    assert_refused(&output, &["--heap", "cannot begin in a running program"]);
}
