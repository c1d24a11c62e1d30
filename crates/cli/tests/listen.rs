//! `perk listen`: with real agents, and with other peers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};
use std::thread;

use perk_testkit::{JavaRun, RunningJava, jdk, part_of};
use rustix::process::{Pid, Signal, kill_process};

use crate::util::{Folder, PERK, assert_refused, stdout, wait_for};

/// `perk listen` in a folder of its own.
struct ListenProcess {
    folder: Folder,
    child: Child,
    address: SocketAddr,
    /// Reads its messages to the end.
    said: thread::JoinHandle<String>,
}

impl ListenProcess {
    fn start(arguments: &[&str]) -> Self {
        let folder = Folder::new();
        let mut child = Command::new(PERK)
            .arg("listen")
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.strip_prefix("perk: listening on ").and_then(|it| it.split(';').next());
        let address = address.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        let said = thread::spawn(move || {
            stderr.read_to_string(&mut line).unwrap();
            line
        });
        Self { folder, child, address, said }
    }

    fn run(&self, options: &str, main: &str, args: &[&str]) -> RunningJava {
        let options = format!("{options},net={}", self.address);
        JavaRun::new(jdk::compiler()).agent(&options).main(main).args(args).spawn()
    }

    fn give(&mut self, line: &str) {
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns exit code, stdout and stderr.
    fn end(self) -> (Folder, Option<i32>, String, String) {
        let output = self.child.wait_with_output().unwrap();
        (self.folder, output.status.code(), stdout(&output), self.said.join().unwrap())
    }
}

/// The CPU time of a process, in the kernel's ticks: 100 are a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn stop(running: RunningJava) {
    fs::write(running.dir().join("stop"), "").unwrap();
    running.wait().assert_success();
}

#[test]
fn a_profile_is_received_and_commands_go_back() {
    let send = "heap-summary,alloc-sites+gc=0.001,cpu-samples,dump-traces";
    let mut listening =
        ListenProcess::start(&["-o", "a.hprof", "--send", send, "--after", "200ms"]);
    let options = "heap=sites,cpu=samples,interval=1,format=b";
    let mut running = listening.run(options, "SpinUntilStop", &[]);
    running.wait_for_stdout("ready");
    listening.give("help\nnonsense\n depth=2, heap-summary\n\n");
    let file = listening.folder.join("a.hprof");
    wait_for("two sections and two summaries", || {
        let profile = perk_hprof::read(&fs::read(part_of(&file)?).ok()?[..]).ok()?;
        let summaries = profile.events.iter();
        let summaries = summaries.filter(|it| matches!(it, perk_profile::Event::HeapSummary(_)));
        (summaries.count() == 2 && profile.cpu_samples().count() == 1).then_some(())
    });
    // On a busy machine the program has done little until now.
    let (pid, burn_ticks) = (running.pid(), cpu_ticks(running.pid()) + 30);
    wait_for("CPU time", || (cpu_ticks(pid) >= burn_ticks).then_some(()));
    stop(running);
    let (folder, code, out, said) = listening.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(out.lines().filter(|line| line.starts_with("heap: ")).count(), 2, "{out}");
    assert!(said.contains("connected from 127.0.0.1:"), "{said}");
    assert!(said.contains("\"nonsense\" is not a command; the commands are force-gc,"), "{said}");
    assert!(said.contains("  heap-summary\n      show the number"), "{said}");
    assert!(said.contains("2 ALLOC SITES, 2 HEAP SUMMARY, 2 CPU SAMPLES"), "{said}");
    assert_eq!(folder.names(), ["a.hprof"]);
    let report = folder.run(&["report", "--all", "a.hprof"]);
    assert_eq!(report.status.code(), Some(0));
    assert!(stdout(&report).contains("IdleThreads.burn"), "{}", stdout(&report));
    assert!(stdout(&report).contains("\nHeap summaries\n"), "{}", stdout(&report));
    let report = stdout(&folder.run(&["report", "--json", "a.hprof"]));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(report["heap_summaries"][1]["live_count"].as_u64() > Some(1000), "{report}");
    // The samples requested in between count once.
    let profile = perk_hprof::read(&fs::read(folder.join("a.hprof")).unwrap()[..]).unwrap();
    let last = profile.cpu_samples().last().unwrap();
    assert_eq!(profile.total_cpu_samples().total, last.total);
}

#[test]
fn text_and_perks_own_records_are_received() {
    for (format, ending) in [("a", "txt"), ("p", "hprof")] {
        let listening = ListenProcess::start(&["--send", "cpu-samples,heap-summary"]);
        let options = format!("cpu=samples,interval=1,format={format}");
        listening.run(&options, "CpuBound", &["50"]).wait().assert_success();
        let name = format!("perk-{}.{ending}", listening.address.port());
        let (folder, code, _, said) = listening.end();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(folder.names(), std::slice::from_ref(&name));
        let report = folder.run(&["report", &name]);
        assert_eq!(report.status.code(), Some(0), "{said}");
        assert!(stdout(&report).contains("CpuBound"), "{}", stdout(&report));
    }
}

#[test]
fn what_has_come_is_kept_at_a_signal() {
    let listening = ListenProcess::start(&["-o", "a.hprof"]);
    let mut running = listening.run("cpu=samples,format=b", "SpinUntilStop", &[]);
    running.wait_for_stdout("ready");
    let file = listening.folder.join("a.hprof");
    wait_for("records", || fs::metadata(part_of(&file)?).ok().filter(|it| it.len() > 1000));
    kill_process(Pid::from_child(&listening.child), Signal::INT).unwrap();
    let (folder, code, _, said) = listening.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(folder.names(), ["a.hprof"]);
    let profile = perk_hprof::read(&fs::read(folder.join("a.hprof")).unwrap()[..]).unwrap();
    assert!(!profile.threads.is_empty());
    stop(running);
}

#[test]
fn what_is_no_profile_is_refused() {
    let huge = [HEADER, &[1, 0, 0, 0, 0, 255, 255, 255, 255]].concat();
    for (bytes, message, names) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "is not HPROF: it begins with \"GET / HTTP/1.1", vec![]),
        (&b""[..], "no profile was received", vec![]),
        (&huge[..], "claims 4294967295 bytes", vec!["a.hprof".to_owned()]),
    ] {
        let listening = ListenProcess::start(&["-o", "a.hprof"]);
        let mut peer = TcpStream::connect(listening.address).unwrap();
        peer.write_all(bytes).unwrap();
        drop(peer);
        let (folder, code, _, said) = listening.end();
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(message), "{said}");
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn records_that_are_not_whole_are_left_out() {
    let listening = ListenProcess::start(&["-o", "a.hprof"]);
    let mut peer = TcpStream::connect(listening.address).unwrap();
    peer.write_all(&[HEADER, &[1, 0, 0, 0, 0, 0, 0, 0, 99, 1, 2]].concat()).unwrap();
    drop(peer);
    let (folder, code, _, said) = listening.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("ends inside a record; its last 11 B are left out"), "{said}");
    assert_eq!(fs::read(folder.join("a.hprof")).unwrap(), HEADER);
}

const HEADER: &[u8] =
    b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0\x0e\0\0\0\0\0\0\0\x06\0\0\0\0\0\0";

#[test]
fn what_comes_is_its_owners_and_goes_into_a_new_file() {
    let listening = ListenProcess::start(&["-o", "a.hprof"]);
    let victim = listening.folder.file("victim", "precious");
    symlink(&victim, listening.folder.join("a.hprof.part")).unwrap();
    let mut peer = TcpStream::connect(listening.address).unwrap();
    peer.write_all(HEADER).unwrap();
    drop(peer);
    let (folder, code, _, said) = listening.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    let file = folder.join("a.hprof");
    assert_eq!(fs::read(&file).unwrap(), HEADER);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_silent_peer_is_given_up() {
    for (sent, code_and_file) in [(&b""[..], None), (HEADER, Some(HEADER))] {
        let listening = ListenProcess::start(&["-o", "a.hprof", "--idle-timeout", "300ms"]);
        let mut peer = TcpStream::connect(listening.address).unwrap();
        peer.write_all(sent).unwrap();
        let (folder, code, _, said) = listening.end();
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("no data for 300ms; --idle-timeout allows more"), "{said}");
        assert_eq!(fs::read(folder.join("a.hprof")).ok().as_deref(), code_and_file);
    }
}

/// A program that sends no data until its end.
#[test]
fn a_program_may_be_silent() {
    let listening = ListenProcess::start(&["-o", "a.hprof", "--idle-timeout", "0s"]);
    let running = listening.run("cpu=samples,format=b", "Sleeper", &["700"]);
    running.wait().assert_success();
    let (_, code, _, said) = listening.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn no_more_is_received_than_allowed() {
    let record = [&[1, 0, 0, 0, 0, 0, 0, 0, 12][..], &[1; 12]].concat();
    let sent = [HEADER, &record.repeat(1000)].concat();
    for (most, kept) in [(HEADER.len() + 3 * record.len() + 5, 3), (HEADER.len() - 1, 0)] {
        let listening = ListenProcess::start(&["-o", "a.hprof", "--max-bytes", &most.to_string()]);
        let mut peer = TcpStream::connect(listening.address).unwrap();
        // The connection may end while this is being sent.
        let _ = peer.write_all(&sent);
        let (folder, code, _, said) = listening.end();
        assert_eq!(code, Some(2), "{said}");
        let what = format!("the peer sends more than {most} bytes; --max-bytes allows more");
        assert!(said.contains(&what), "{said}");
        let length = fs::metadata(folder.join("a.hprof")).unwrap().len() as usize;
        let header_bytes = if kept == 0 { HEADER.len() - 15 } else { HEADER.len() };
        assert_eq!(length, header_bytes + kept * record.len());
    }
}

#[test]
fn wrong_command_lines_are_refused() {
    let folder = Folder::new();
    for (arguments, parts) in [
        (&["listen", "--send", "heap"][..], &["is not a command; the commands are force-gc"][..]),
        (&["listen", "--after", "2"], &["a time needs a unit: us, ms, s, m or h"]),
        (&["listen", "--bind", "somewhere"], &["use an IP address"]),
        (&["listen", "--bind", "192.0.2.1"], &["cannot listen on 192.0.2.1:0"]),
        (&["listen", "-o", "no/such/a.hprof"], &["cannot write no/such/a.hprof"]),
        (&["listen", "-o", "."], &["cannot write .: it is a folder"]),
    ] {
        assert_refused(&folder.run(arguments), parts);
    }
}
