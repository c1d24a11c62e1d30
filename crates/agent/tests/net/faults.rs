//! Peers that go away, do not read, or send invalid commands; and hosts without a peer. The program
//! is not affected.

use std::io::Write;
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use perk_control::FatalError;
use perk_testkit::hprof::{Recording, Section, tag};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, jdk};

use crate::peer::Peer;
use crate::support::{progress, read_records};
use crate::{SAMPLES, spinning, total};

/// The agent's message about a peer that is gone.
const LOST: &str = "; the program continues without a profile\n";
const ERROR: &str = "HPROF ERROR: ";

/// Returns the CPU time that the agent's two threads of a connection have used, in ticks of 10 ms.
fn connection_ticks(running: &RunningJava) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let stats =
        tasks.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    let own = stats.filter(|it| it.contains("(HPROF listener") || it.contains("(perk sender)"));
    own.map(|stat| {
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    })
    .sum()
}

#[track_caller]
fn assert_unnoticed(outcome: &Outcome, stdout: &str) {
    outcome.assert_success();
    assert!(outcome.stdout.starts_with(stdout), "{}", outcome.report());
    assert!(outcome.stderr.lines().count() <= 3, "{}", outcome.report());
}

#[test]
fn a_peer_that_goes_away_costs_nothing() {
    jdk::each(|jdk| {
        let peer = spinning(jdk, ",cpu=samples");
        let Peer { running, stream, .. } = peer;
        drop(stream);
        thread::sleep(Duration::from_millis(1500));
        assert!(connection_ticks(&running) <= 10, "a thread spins");
        std::fs::write(running.dir().join("stop"), "").unwrap();
        let outcome = running.wait();
        assert_unnoticed(&outcome, "ready\nmain_cpu_ns=");
        assert_eq!(outcome.stderr.matches(ERROR).count(), 1, "{}", outcome.report());
        assert!(outcome.stderr.contains("HPROF ERROR: perk has lost 127.0.0.1:"));
        assert!(outcome.stderr.contains(LOST), "{}", outcome.report());
    });
}

#[test]
fn a_peer_that_sends_no_more_gets_all() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        peer.stream.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(300));
        assert!(connection_ticks(&peer.running) <= 10, "a thread spins");
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, progress());
        assert!(total(&read_records(&bytes).unwrap()) > 0);
    });
}

#[test]
fn a_peer_that_does_not_read_is_given_up() {
    let jdk = jdk::compiler();
    // Dumps of the heap are larger than the kernel's buffer for a peer.
    let peer = Peer::start(jdk, "heap=dump,format=b", "Sleeper", &["10"]);
    let begin = Instant::now();
    let outcome = peer.running.wait();
    assert_unnoticed(&outcome, "");
    assert!(outcome.stderr.contains("it has not read for 15 s"), "{}", outcome.report());
    assert!(begin.elapsed() < Duration::from_secs(45), "{:?}", begin.elapsed());
    drop(peer.stream);
}

/// The kernel takes no data from the agent for seconds while it holds the data that this peer
/// reads.
#[test]
fn a_peer_that_reads_slowly_gets_all() {
    let run = |jdk: &Jdk| {
        let mut peer = Peer::start(jdk, "heap=dump,format=b,verbose=n", "HeapObjects", &["60000"]);
        std::fs::write(peer.running.dir().join("go"), "").unwrap();
        peer.take_slowly(20_000, Duration::from_secs(9));
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, "", "{}", outcome.report());
        assert!(bytes.len() > 4 << 20, "{} bytes", bytes.len());
        let heap = Recording::read(&bytes).unwrap().sections.pop();
        let Some(Section::Heap(heap)) = heap else { panic!("no heap dump") };
        let nodes = heap.objects.values().filter(|it| it.class == "HeapObjects$Node");
        assert_eq!(nodes.count(), 60_000);
    };
    // They wait, most of the time.
    thread::scope(|scope| {
        for version in [17, 25] {
            scope.spawn(move || jdk::on(version, run));
        }
    });
}

/// For a peer that has read fast, the kernel holds much data, and takes none for long once the peer
/// is slow.
#[test]
fn a_peer_that_becomes_slow_gets_all() {
    let options = "heap=dump,format=b,verbose=n";
    let mut peer = Peer::start(jdk::compiler(), options, "HeapObjects", &["200000"]);
    std::fs::write(peer.running.dir().join("go"), "").unwrap();
    peer.wait_for("some megabytes", |bytes| bytes.len() > 5 << 20);
    peer.take_slowly(20_000, Duration::from_secs(40));
    let (bytes, outcome) = peer.end();
    outcome.assert_success();
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
    let Some(Section::Heap(heap)) = Recording::read(&bytes).unwrap().sections.pop() else {
        panic!("no heap dump")
    };
    let nodes = heap.objects.values().filter(|it| it.class == "HeapObjects$Node");
    assert_eq!(nodes.count(), 200_000);
}

/// The peer has unread data of the agent when it goes.
#[test]
fn a_peer_that_goes_at_the_end_is_not_waited_for() {
    let jdk = jdk::compiler();
    let mut peer = Peer::start(jdk, "heap=dump,format=b,verbose=n", "HeapObjects", &["60000"]);
    std::fs::write(peer.running.dir().join("go"), "").unwrap();
    peer.take_slowly(500_000, Duration::from_secs(2));
    let begin = Instant::now();
    let outcome = peer.leave();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_unnoticed(&outcome, "ready\nsum=");
    assert!(outcome.stderr.contains(LOST), "{}", outcome.report());
}

#[test]
fn what_is_no_command_harms_nobody() {
    let jdk = jdk::compiler();
    let samples = SAMPLES.encode(1);
    // The bytes sent; the number of answers; the message.
    let cases: [(Vec<u8>, usize, &str); 7] = [
        ([&[9, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3][..], &samples].concat(), 1, "no command 9: "),
        ([&[0, 0, 0, 0, 1, 0, 0, 0, 0][..], &samples].concat(), 1, "no command 0: "),
        ([&[8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 99][..], &samples].concat(), 1, "no option 99: "),
        ([&[9, 0, 0, 0, 1, 255, 255, 255, 255][..], &samples].concat(), 0, "4294967295 bytes"),
        ([&[5, 0, 0, 0, 1, 0, 0, 0, 7][..], &samples].concat(), 0, "0x05 with 7 bytes"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(10_000), 0, "is not a command: the rest"),
        (samples[..5].to_vec(), 0, "last command is cut off"),
    ];
    for (bytes, answers, said) in cases {
        let mut peer = spinning(jdk, ",cpu=samples");
        peer.send_bytes(&bytes);
        peer.stream.shutdown(Shutdown::Write).unwrap();
        peer.take_all();
        assert_eq!(peer.records().sections.len(), answers, "{said}");
        assert!(connection_ticks(&peer.running) <= 20, "a thread spins");
        peer.stop();
        let (bytes, outcome) = peer.end();
        assert_unnoticed(&outcome, "ready\nmain_cpu_ns=");
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.report());
        assert_eq!(read_records(&bytes).unwrap().sections.len(), answers + 1);
    }
}

#[test]
fn commands_without_end_are_obeyed_or_dropped() {
    let jdk = jdk::compiler();
    let burst = SAMPLES.encode(1).repeat(10_000);
    let mut peer = spinning(jdk, ",cpu=samples");
    // The peer reads nothing meanwhile; the agent must continue to take commands.
    peer.send_bytes(&burst);
    peer.wait_for("all answers", |bytes| {
        let is_samples = |it: &&u8| **it == tag::CPU_SAMPLES;
        crate::tags(bytes).iter().filter(is_samples).count() == 10_000
    });
    peer.stop();
    peer.end().1.assert_success();

    let mut peer = spinning(jdk, ",cpu=samples");
    // The connection may end while this is being sent.
    let _ = peer.stream.write_all(&burst);
    peer.stop();
    assert_unnoticed(&peer.leave(), "ready\nmain_cpu_ns=");
}

#[test]
fn unknown_commands_without_end_are_not_all_reported() {
    let mut peer = spinning(jdk::compiler(), ",cpu=samples");
    peer.send_bytes(&[9, 0, 0, 0, 1, 0, 0, 0, 0].repeat(1000));
    peer.ask(SAMPLES, tag::CPU_SAMPLES);
    peer.stop();
    let (_, outcome) = peer.end();
    outcome.assert_success();
    assert_eq!(outcome.stderr.matches("there is no command 9").count(), 10);
}

#[test]
fn where_nobody_listens_no_program_starts() {
    jdk::each(|jdk| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let run = |net: &str| {
            let options = format!("cpu=samples,net={net}");
            JavaRun::new(jdk).agent(&options).main("Sleeper").args(["10"]).run()
        };
        let refused = |jdk: &Jdk, net: &str, fatal: FatalError| {
            let outcome = run(net);
            outcome.assert_code(fatal.exit_code);
            assert_eq!(outcome.stderr, format!("{fatal}\n"), "{jdk:?} {net}");
            assert_eq!(outcome.stdout, "");
            assert!(outcome.files.is_empty());
        };
        let connect = FatalError::cannot_connect;
        refused(jdk, &format!("127.0.0.1:{port}"), connect("127.0.0.1", port.into()));
        refused(jdk, &format!("[::1]:{port}"), connect("::1", port.into()));
        refused(jdk, "no.such.host.invalid:4000", connect("no.such.host.invalid", 4000));
        refused(jdk, "127.0.0.1:70000", connect("127.0.0.1", 70_000));
        refused(jdk, "127.0.0.1:0", FatalError::cannot_create_file("(null)"));
    });
}
