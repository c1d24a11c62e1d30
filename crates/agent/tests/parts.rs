//! `every`: a recording in several files, whose sum it is.

#![forbid(unsafe_code)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use perk_profile::{Accounting, Event, Profile, Waits};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, fixture, jdk};

const MS_NS: u64 = 1_000_000;
const PROGRAM: &str = r#"
    public class Parts {
        static final Object LOCK = new Object();
        static volatile Object last;
        static long waits, bytes;
        static long burn(long ns) {
            long end = System.nanoTime() + ns, sum = 0;
            while (System.nanoTime() < end) {
                sum++;
            }
            return sum;
        }
        static void rest() throws Exception {
            synchronized (LOCK) { LOCK.wait(1); }
            waits++;
        }
        static void allocate() {
            for (int i = 0; i < 50; i++) last = new byte[10_000];
            bytes += 50 * 10_016;
        }
        public static void main(String[] arguments) throws Exception {
            System.out.println("ready");
            System.out.flush();
            var own = java.lang.management.ManagementFactory.getThreadMXBean();
            long cpu = own.getCurrentThreadCpuTime();
            long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
            while (System.nanoTime() < end) {
                burn(5_000_000);
                allocate();
                rest();
            }
            System.out.println("waits=" + waits + "\nbytes=" + bytes);
            System.out.println("cpu_us=" + (own.getCurrentThreadCpuTime() - cpu) / 1000);
        }
    }"#;
const MEASURED: &str =
    "cpu=samples,interval=2,monitor=y,heap=sites,sample=64k,cutoff=0,depth=64,format=p";

/// The number of a file and its profile, in their order.
fn parts(outcome: &Outcome) -> Vec<Profile> {
    outcome.assert_success();
    let name = |number: usize| format!("p-{number}.hprof");
    let parts: Vec<_> = (1..=outcome.files.len())
        .map(|number| outcome.files.get(&name(number)).unwrap_or_else(|| panic!("{number}")))
        .map(|bytes| perk_hprof::read(&bytes[..]).unwrap())
        .collect();
    assert_eq!(parts.len(), outcome.files.len(), "{:?}", outcome.files.keys());
    parts
}

fn accounting(part: &Profile) -> &Accounting {
    part.accounting.as_ref().expect("an accounting")
}

fn samples(part: &Profile) -> u64 {
    part.cpu_samples().map(|it| it.rows.iter().map(|row| row.1).sum::<u64>()).sum()
}

fn waits(part: &Profile) -> Waits {
    let mut sum = Waits::default();
    let name = |trace| {
        let frames = part.frames(trace).map(|frame| part.symbols.get_frame(frame).method);
        frames.map(|method| part.symbols.method_name(method)).any(|it| it == "Parts.rest")
    };
    let rows = part.monitor_times().flat_map(|it| it.rows).filter(|row| name(row.trace));
    rows.for_each(|row| sum.add(row.waits));
    sum
}

fn run(jdk: &Jdk, options: &str) -> JavaRun {
    let classes = fixture::compile_text("Parts", PROGRAM);
    JavaRun::new(jdk).agent(options).classes(&classes).main("Parts")
}

#[test]
fn the_sum_of_the_files_is_the_recording() {
    jdk::each(|jdk| {
        let options = format!("{MEASURED},every=1s,flush=300ms,file=p-%n.hprof");
        let outcome = run(jdk, &options).args(["4200"]).run();
        let parts = parts(&outcome);
        assert!((4..=7).contains(&parts.len()), "{}", parts.len());
        // Of each file.
        let mut aligned_count = 0;
        for (index, part) in parts.iter().enumerate() {
            let its = accounting(part);
            assert_eq!(its.sample_count, samples(part), "{index}");
            // On a busy machine one is late, and the next one shorter.
            if index > 0 {
                assert!(its.wall_ns < 2200 * MS_NS, "{index}: {}", its.wall_ns);
                let begin_ms = part.created.unwrap().unix_ms;
                aligned_count += u64::from(begin_ms % 1000 < 300);
            }
            for event in &part.events {
                if let Event::Timeline(timeline) = event {
                    assert!(timeline.head.end_ns <= its.wall_ns + 1000 * MS_NS, "{index}");
                    assert!(timeline.rows.iter().all(|it| it.thread.is_some()), "{index}");
                }
            }
        }
        assert!(aligned_count > 0);
        // Of all of them: what the program counted itself.
        let mut waited = Waits::default();
        parts.iter().for_each(|part| waited.add(waits(part)));
        assert_eq!(waited.wait_count, outcome.number("waits"));
        let sampled_ns = 2 * MS_NS * parts.iter().map(samples).sum::<u64>();
        let cpu_ns = 1000 * outcome.number("cpu_us");
        let java_ns = parts.iter().map(|it| accounting(it).java_cpu_ns).sum::<u64>();
        assert!(
            java_ns >= cpu_ns && sampled_ns >= cpu_ns / 10 * 8,
            "{java_ns} {sampled_ns} {cpu_ns}"
        );
        let allocated: u64 =
            parts.iter().filter_map(Profile::sites).map(|it| it.total.allocated_bytes).sum();
        let bytes = outcome.number("bytes");
        assert!((bytes / 10 * 8..bytes * 2).contains(&allocated), "{allocated} {bytes}");
        let live = parts.iter().filter_map(Profile::sites).any(|it| it.known.live);
        assert!(!live);
    });
}

/// Asks the agent, and returns its answer and the connection.
fn ask(run: &RunningJava, request: &str) -> (String, UnixStream) {
    let socket = run.dir().join("perk.sock");
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    let mut byte = [0];
    while !answer.ends_with("ok\n") && !answer.contains("error ") || !answer.ends_with('\n') {
        if stream.read(&mut byte).unwrap() == 0 {
            break;
        }
        answer.push(char::from(byte[0]));
    }
    (answer, stream)
}

/// A program that runs, with an agent whose socket is in its folder.
fn attached(jdk: &Jdk, ms: u64) -> RunningJava {
    let classes = fixture::compile_text("Parts", PROGRAM);
    let run = JavaRun::new(jdk).classes(&classes).main("Parts").args([ms.to_string()]);
    let mut running = run.spawn();
    running.wait_for_stdout("ready");
    let socket = running.dir().join("perk.sock");
    let option = perk_control::remote::ATTACH_OPTION;
    let loaded = running.load_agent(&format!("\"{option}={}\"", socket.display()));
    assert!(loaded.contains("return code: 0"), "{loaded}");
    running.wait_until("the socket", |_| UnixStream::connect(&socket).is_ok());
    running
}

fn number_of_files(run: &RunningJava) -> usize {
    let names = fs::read_dir(run.dir()).unwrap().map(|it| it.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".hprof")).count()
}

#[test]
fn a_recording_continues_without_a_holder_for_a_time() {
    jdk::each(|jdk| {
        let mut running = attached(jdk, 60_000);
        let file = running.dir().join("p-%n.hprof");
        let options = format!("{MEASURED},every=1s,grace=3s,file={}", file.display());
        let (answer, first) = ask(&running, &format!("lease {options}"));
        assert!(answer.contains("grace_ms=3000\n"), "{answer}");
        assert_eq!(ask(&running, "hold").0, "error another perk holds the recording\n");
        drop(first);
        thread::sleep(Duration::from_secs(2));
        // It is taken over, and lives longer than without.
        let (answer, second) = ask(&running, "hold");
        assert_eq!(answer, "grace_ms=3000\nok\n");
        thread::sleep(Duration::from_secs(2));
        assert!(ask(&running, "status").0.contains("state=recording\n"));
        drop(second);
        let begin = Instant::now();
        running.wait_until("the end", |it| ask(it, "status").0.contains("state=idle\n"));
        assert!(begin.elapsed() >= Duration::from_millis(2500), "{:?}", begin.elapsed());
        let count = number_of_files(&running);
        assert!(count >= 4, "{count}");
        let mut sum = 0;
        for number in 1..=count {
            let bytes = fs::read(running.dir().join(format!("p-{number}.hprof"))).unwrap();
            sum += samples(&perk_hprof::read(&bytes[..]).unwrap());
        }
        assert!(sum > 100, "{sum}");
        running.signal(Signal::KILL);
        running.wait();
    });
}

#[test]
fn a_file_that_cannot_be_created_leaves_its_data_to_the_one_before() {
    jdk::each(|jdk| {
        // A folder has the name of the second file.
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("p-2.hprof")).unwrap();
        let options = format!("{MEASURED},every=1s,file=p-%n.hprof");
        let outcome = run(jdk, &options).args(["3200"]).dir(folder.path()).run();
        outcome.assert_success();
        let bytes = fs::read(folder.path().join("p-1.hprof")).unwrap();
        let only = perk_hprof::read(&bytes[..]).unwrap();
        assert_eq!(waits(&only).wait_count, outcome.number("waits"));
        assert_eq!(accounting(&only).sample_count, samples(&only));
    });
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let jdk = jdk::compiler();
    for (options, line) in [
        ("cpu=samples,format=p,every=1s,file=o", "every is only supported with samples"),
        ("cpu=times,format=p,every=1s,file=o-%n", "every is only supported with samples"),
        ("cpu=samples,every=1s,file=o-%n", "every is only supported with samples"),
        ("cpu=samples,grace=1s,file=o", "grace is only supported with every"),
    ] {
        let outcome = run(jdk, options).args(["1"]).run();
        outcome.assert_code(1);
        assert!(outcome.stderr.contains(line), "{options}: {}", outcome.stderr);
    }
}
