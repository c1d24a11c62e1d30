//! `net=host:port`: the profile over a socket, and every command that comes back over it.

#![forbid(unsafe_code)]

mod faults;
mod peer;
#[path = "../support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use perk_control::Command;
use perk_control::commands::{ThreadId, Threads};
use perk_control::messages::EXIT_LINE;
use perk_testkit::hprof::{Recording, Section, tag};
use perk_testkit::{Jdk, Outcome, jdk};

use peer::{Peer, tags};
use support::{progress, read_perk_text, read_records};

const SITES: Command = Command::AllocSites { flags: 0, cutoff: 0.0 };
const SAMPLES: Command = Command::CpuSamples { cutoff: 0.0 };
/// The objects that AllocationsUntilStop makes, and the number of them that live.
const N: u64 = 1000;

/// Returns live and allocated objects of a class in the last section, all sites together.
fn objects(records: &Recording, class: &str) -> (u64, u64) {
    let sites = records.sites().last().expect("sites");
    let rows = sites.rows.iter().filter(|row| row.class == class);
    rows.fold((0, 0), |sum, row| (sum.0 + row.numbers[1], sum.1 + row.numbers[3]))
}

fn plain(records: &Recording) -> (u64, u64) {
    objects(records, "AllocationsUntilStop$Plain")
}

/// Returns the samples of the last section.
fn total(records: &Recording) -> u64 {
    records.samples().last().expect("samples").total
}

/// Returns the last summary of the heap.
fn summary(records: &Recording) -> [u64; 4] {
    let mut sections = records.sections.iter().rev();
    let summary = sections.find_map(|section| match section {
        Section::HeapSummary(summary) => Some(*summary),
        _ => None,
    });
    summary.expect("a summary")
}

/// Asks for samples until there are at least that many.
fn wait_for_samples(peer: &mut Peer, least: u64) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let samples = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
        if samples >= least {
            return samples;
        }
        assert!(Instant::now() < deadline, "{samples} samples, {least} expected");
    }
}

fn allocating(jdk: &Jdk, options: &str) -> Peer {
    let options = format!("heap=sites,format=b,cutoff=0{options}");
    let mut peer = Peer::start(jdk, &options, "AllocationsUntilStop", &[&N.to_string()]);
    peer.running.wait_for_stdout("ready");
    peer
}

fn spinning(jdk: &Jdk, options: &str) -> Peer {
    let options = format!("interval=1,format=b{options}");
    let mut peer = Peer::start(jdk, &options, "SpinUntilStop", &[]);
    peer.running.wait_for_stdout("ready");
    peer
}

#[track_caller]
fn assert_no_file(outcome: &Outcome) {
    let files: Vec<_> = outcome.files.keys().filter(|name| *name != "stop").collect();
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn header_and_records_come_at_once() {
    jdk::each(|jdk| {
        let mut peer = Peer::start(jdk, "cpu=samples", "SpinUntilStop", &[]);
        let is_main = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.starts_with("JAVA PROFILE 1.0.1, created ")
                && text.contains("name=\"main\", group=\"main\")\n")
        };
        peer.wait_for("the main thread", is_main);
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, progress());
        let text = read_perk_text(&bytes).unwrap_or_else(|what| panic!("{what}"));
        assert_eq!(text.sections.len(), 1);
        assert_no_file(&outcome);

        let mut peer = spinning(jdk, ",cpu=samples");
        peer.take_all();
        let records = peer.records();
        assert_eq!(records.settings, Some((2, 4)));
        assert!(records.threads.values().any(|thread| thread.name == "main"), "{records:?}");
        assert!(records.classes.values().any(|name| name == "java.lang.String[]"));
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        let records = read_records(&bytes).unwrap();
        assert!(total(&records) > 0 && records.sections.len() == 1);
        let own = records.threads.values().find(|it| it.name.contains("HPROF"));
        assert_eq!(own, None);
    });
}

#[test]
fn names_and_ipv6_addresses_are_found() {
    let peer = Peer::start_at("[::1]:0", None, jdk::compiler(), "cpu=samples", "Sleeper", &["10"]);
    let (bytes, outcome) = peer.end();
    outcome.assert_success();
    read_perk_text(&bytes).unwrap();
    let name = Some("localhost");
    let options = "cpu=samples,format=b";
    let peer = Peer::start_at("127.0.0.1:0", name, jdk::compiler(), options, "Sleeper", &["10"]);
    let (bytes, outcome) = peer.end();
    outcome.assert_success();
    read_records(&bytes).unwrap();
}

#[test]
fn sites_are_written_as_asked_for() {
    jdk::each(|jdk| {
        let mut peer = allocating(jdk, "");
        let records = peer.ask(SITES, tag::ALLOC_SITES);
        assert_eq!(records.settings, Some((1, 4)));
        let (live, allocated) = plain(&records);
        assert_eq!(allocated, N);
        assert!((N / 2..=N).contains(&live), "{live}");
        // After a collection; sorted by allocated bytes, which the checker verifies.
        let flags = 6;
        let records = peer.ask(Command::AllocSites { flags, cutoff: 0.0 }, tag::ALLOC_SITES);
        assert_eq!(plain(&records), (N / 2, N));
        let sites = records.sites().last().unwrap();
        assert_eq!(sites.flags, 6);
        let allocated = sites.totals.unwrap()[3];
        // No object of that class has changed since.
        let flags = 1;
        let records = peer.ask(Command::AllocSites { flags, cutoff: 0.0 }, tag::ALLOC_SITES);
        assert_eq!(plain(&records), (0, 0));
        assert!(records.sites().last().unwrap().totals.unwrap()[3] >= allocated);
        let command = Command::AllocSites { flags: 0, cutoff: 0.5 };
        let records = peer.ask(command, tag::ALLOC_SITES);
        let rows = &records.sites().last().unwrap().rows;
        assert!(rows.len() <= 2, "{rows:?}");
        let records = peer.ask(Command::HeapSummary, tag::HEAP_SUMMARY);
        let [live_bytes, live_count, bytes, count] = summary(&records);
        assert!(N <= live_count && live_count <= count && live_bytes <= bytes, "{records:?}");
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(plain(&read_records(&bytes).unwrap()).1, 2 * N);
    });
}

/// Most of the threads' allocation buffers are never used and belong to no site.
#[test]
fn a_summary_of_the_heap_is_without_fillers() {
    const THREADS: u64 = 100;
    jdk::each(|jdk| {
        let threads = THREADS.to_string();
        let mut peer =
            Peer::start(jdk, "cpu=samples,format=b", "KeptByThreads", &[&threads, "wait"]);
        peer.running.wait_for_stdout("kept=");
        let ask = |peer: &mut Peer| summary(&peer.ask(Command::HeapSummary, tag::HEAP_SUMMARY));
        let [bytes, count, ..] = ask(&mut peer);
        // Header and four elements.
        let (least_bytes, least_count) = (32 * 1000 * THREADS, 1000 * THREADS);
        // The JDK's own objects, dead ones among them.
        let (other_bytes, other_count) = (4_000_000, 100_000);
        let what = format!("JDK {}: {bytes} bytes of {count} objects", jdk.version);
        assert!((least_bytes..least_bytes + other_bytes).contains(&bytes), "{what}");
        assert!((least_count..least_count + other_count).contains(&count), "{what}");
        let again = ask(&mut peer)[1];
        assert!(again >= count && again - count < 1000, "{what}, then {again}");
        peer.stop();
        peer.end().1.assert_success();
    });
}

#[test]
fn allocations_are_counted_on_request() {
    jdk::each(|jdk| {
        let mut peer = allocating(jdk, ",gc=y");
        peer.send(Command::AllocOff);
        assert_eq!(plain(&peer.ask(SITES, tag::ALLOC_SITES)).1, N);
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(plain(&read_records(&bytes).unwrap()), (N / 2, N), "allocated while off");

        let mut peer = allocating(jdk, "");
        peer.send(Command::AllocOff);
        peer.send(Command::AllocOn);
        peer.send(Command::ForceGc);
        peer.send(Command::ClearSites);
        assert_eq!(plain(&peer.ask(SITES, tag::ALLOC_SITES)), (N / 2, N / 2), "what lived");
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(plain(&read_records(&bytes).unwrap()).1, N / 2 + N);
    });
}

#[test]
fn samples_are_written_and_go_on() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        let first = wait_for_samples(&mut peer, 20);
        let second = wait_for_samples(&mut peer, first + 20);
        peer.send(Command::ClearCpu);
        let after = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
        assert!(after < second, "{after} samples after {second}");
        let records = peer.ask(Command::CpuSamples { cutoff: 0.9 }, tag::CPU_SAMPLES);
        assert!(records.samples().last().unwrap().rows.len() <= 1);
        peer.stop();
        peer.end().1.assert_success();
    });
}

#[test]
fn one_thread_or_all_are_sampled() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",heap=sites");
        assert_eq!(total(&peer.ask(SAMPLES, tag::CPU_SAMPLES)), 0);
        let records = peer.records();
        let (&serial, main) = records.threads.iter().find(|(_, it)| it.name == "main").unwrap();
        let swapped = main.object.swap_bytes();
        for id in [main.object, swapped, serial.into()] {
            let one = Threads::One(ThreadId::from(id));
            peer.send(Command::CpuOn(one));
            wait_for_samples(&mut peer, 1);
            peer.send(Command::CpuOff(one));
            let before = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
            std::thread::sleep(Duration::from_millis(200));
            // One sample may have been on its way.
            let after = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
            assert!(after <= before + 1, "{before} samples, then {after}");
            peer.send(Command::ClearCpu);
        }
        peer.send(Command::CpuOn(Threads::All));
        wait_for_samples(&mut peer, 20);
        peer.send(Command::CpuOff(Threads::All));
        let before = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
        std::thread::sleep(Duration::from_millis(200));
        assert!(total(&peer.ask(SAMPLES, tag::CPU_SAMPLES)) <= before + 1);
        // No such thread.
        peer.send(Command::CpuOff(Threads::One(ThreadId::from(0x77))));
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert!(outcome.stderr.contains("HPROF ERROR: perk: no thread has the id 0x77\n"));
        // The samples that CONTROL asked for are in the last dump as well.
        read_records(&bytes).unwrap();
        assert_eq!(tags(&bytes).last(), Some(&tag::CPU_SAMPLES));
    });
}

#[test]
fn ids_of_four_bytes_name_threads_too() {
    let mut peer = spinning(jdk::compiler(), ",cpu=samples,idsize=4");
    wait_for_samples(&mut peer, 1);
    let records = peer.records();
    let main = records.threads.values().find(|it| it.name == "main").unwrap();
    let id = u32::try_from(main.object).unwrap();
    // The form in which the original's clients send it: off, for the thread with this id.
    peer.send_bytes(&[&[8, 0, 0, 0, 1, 0, 0, 0, 6, 0, 4][..], &id.to_le_bytes()].concat());
    let before = total(&peer.ask(SAMPLES, tag::CPU_SAMPLES));
    std::thread::sleep(Duration::from_millis(200));
    assert!(total(&peer.ask(SAMPLES, tag::CPU_SAMPLES)) <= before + 5, "{before}");
    peer.stop();
    let (_, outcome) = peer.end();
    assert_eq!(outcome.stderr, progress());
}

#[test]
fn the_heap_is_dumped_whether_the_options_say_so_or_not() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        for number in 1..=2 {
            peer.send(Command::DumpHeap);
            let ends =
                |bytes: &[u8]| tags(bytes).iter().filter(|it| **it == tag::HEAP_DUMP_END).count();
            peer.wait_for("a heap dump", |bytes| ends(bytes) == number);
        }
        assert!(tags(&peer.received).contains(&tag::HEAP_DUMP_SEGMENT));
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, progress());
        assert_eq!(tags(&bytes).last(), Some(&tag::CPU_SAMPLES));
        assert_no_file(&outcome);
    });
}

#[test]
fn traces_are_written_to_the_depth_asked_for() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        let deadline = Instant::now() + Duration::from_secs(60);
        // The first samples may be of threads that were not met running.
        while peer.records().traces.values().all(|trace| trace.frames.len() < 2) {
            assert!(Instant::now() < deadline, "no trace has two frames");
            peer.ask(SAMPLES, tag::CPU_SAMPLES);
        }
        peer.send(Command::Depth(1));
        // A walk may be on its way.
        std::thread::sleep(Duration::from_millis(100));
        peer.send(Command::ClearCpu);
        std::thread::sleep(Duration::from_millis(300));
        peer.send(Command::DumpTraces);
        let records = peer.ask(SAMPLES, tag::CPU_SAMPLES);
        let rows = &records.samples().last().unwrap().rows;
        let deepest = rows.iter().map(|row| &records.traces[&row.trace]);
        let deepest = deepest.map(|trace| trace.frames.len()).max();
        assert_eq!(deepest, Some(1), "{rows:?}");
        peer.stop();
        peer.end().1.assert_success();
    });
}

#[test]
fn the_program_is_ended_on_request() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        peer.send(Command::Exit);
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, format!("{EXIT_LINE}\n"));
        assert_eq!(outcome.stdout, "ready\n");
        let records = read_records(&bytes).unwrap();
        assert!(records.sections.is_empty(), "a dump that nobody asked for");
    });
}

#[test]
fn after_eof_commands_are_not_obeyed() {
    jdk::each(|jdk| {
        let mut peer = spinning(jdk, ",cpu=samples");
        peer.send(Command::Eof);
        peer.send(SAMPLES);
        peer.take_all();
        assert!(peer.records().sections.is_empty());
        peer.stop();
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        assert_eq!(outcome.stderr, progress());
        assert_eq!(read_records(&bytes).unwrap().sections.len(), 1);
    });
}

#[test]
fn unloaded_classes_are_reported() {
    jdk::each(|jdk| {
        let options = "cpu=samples,format=b";
        let peer = Peer::start(jdk, options, "ClassUnloading", &["20"]);
        let (bytes, outcome) = peer.end();
        outcome.assert_success();
        let records = read_records(&bytes).unwrap();
        let unloaded = records.unloaded.iter().map(|serial| &records.classes[serial]);
        let payloads = unloaded.filter(|name| *name == "ClassUnloading$Payload").count() as u64;
        let gone = outcome.number("unloaded");
        assert!(gone > 0 && payloads <= 20, "{}", outcome.report());
        // The last ones may get lost while the program ends.
        assert!(payloads + 2 >= gone, "{payloads} of {gone}");
    });
}
