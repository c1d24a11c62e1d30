//! The output of `perf script` for Java programs.

mod util;

use perk_formats::{Error, perf_script};
use perk_profile::{Metric, Profile, Unit};
use proptest::prelude::*;
use util::samples;

fn file(name: &str) -> Vec<u8> {
    util::testdata(&format!("perf-script/{name}.txt"))
}

fn read(text: &[u8]) -> Profile {
    perf_script::read(text).unwrap()
}

/// Returns the number of heads of samples of `event` in a file.
fn heads(text: &str, event: &str) -> u64 {
    let is_head = |line: &&str| !line.starts_with('\t') && line.contains(event);
    text.lines().filter(is_head).count() as u64
}

#[test]
fn a_recording_of_jdk_17() {
    let text = String::from_utf8(file("jdk17")).unwrap();
    let profile = read(text.as_bytes());
    assert!(perf_script::recognise(text.as_bytes()));
    assert_eq!(profile.total_cpu_samples().total, heads(&text, "cpu-clock:"));
    assert_eq!(profile.sample_interval_ns(), Some(10_101_010));
    let paths = samples(&profile);
    let fib = paths.keys().find(|path| path.starts_with("Wörker #1:") && path.contains("fib"));
    let fib = fib.unwrap();
    assert!(fib.contains("start_thread(n);"), "{fib}");
    assert!(fib.contains("Interpreter;Interpreter;Work.fib(c);Work.fib(c)"), "{fib}");
    let is_fib = |name: &str| name == "Work.fib(I)I";
    let mut methods = (0..profile.symbols.method_count()).map(|index| {
        let id = perk_profile::MethodId::new(index);
        let signature = profile.symbols.get_method(id).signature;
        let signature = signature.map_or("", |it| profile.symbols.strings.get(it));
        profile.symbols.method_name(id) + signature
    });
    assert!(methods.any(|name| is_fib(&name)));
    assert!(profile.notes.is_empty(), "{:?}", profile.notes);
}

/// Times are since the first sample, to 10 ms, by thread.
#[test]
fn samples_have_times() {
    let text = String::from_utf8(file("events")).unwrap();
    let profile = read(text.as_bytes());
    for metric in Metric::all_of(&profile) {
        let timed = profile.timelines().filter(|it| it.head.metric == metric);
        let timed: u64 = timed.map(perk_profile::Timeline::total).sum();
        assert_eq!(timed, metric.rows(&profile).total, "{metric:?}");
    }
    let heads = text.lines().filter(|line| !line.starts_with(['\t', '#']) && !line.is_empty());
    let times: Vec<f64> = heads
        .map(|line| line.split_whitespace().find_map(|it| it.strip_suffix(':')?.parse().ok()))
        .map(|time: Option<f64>| time.unwrap())
        .collect();
    let length = times.last().unwrap() - times[0];
    let recorded = profile.recorded_ns() as f64 / 1e9;
    assert!((0.0..=0.021).contains(&(recorded - length)), "{recorded} {length}");
    let text = b"a 1 7.5: 1 cycles:\n\tff f (/a.so)\n\na 2 7.515: 1 cycles:\n\tff f (/a.so)\n\n\
        a 1 7.41: 1 cycles:\n\tff f (/a.so)\n\n";
    let profile = read(text);
    let samples = profile.timelines().find(|it| it.head.metric == Metric::Samples).unwrap();
    let ticks: Vec<_> = samples.rows.iter().map(|row| row.tick).collect();
    assert_eq!(ticks, [0, 9, 10]);
    let threads: Vec<_> = samples.rows.iter().map(|row| row.thread).collect();
    assert!(threads[0] == threads[1] && threads[1] != threads[2]);
    let without = "a 1 cycles:\n\tff f (/a.so)\n\n";
    assert_eq!(read(without.as_bytes()).timelines().count(), 0);
}

#[test]
fn several_events_are_metrics_of_their_own() {
    let text = String::from_utf8(file("events")).unwrap();
    let profile = read(text.as_bytes());
    let names: Vec<_> =
        Metric::all_of(&profile).iter().map(|metric| metric.name().to_owned()).collect();
    assert_eq!(names[0], "samples");
    for (event, unit) in [
        ("page-faults", Unit::Count),
        ("context-switches", Unit::Count),
        ("cpu-clock", Unit::Nanoseconds),
        ("task-clock", Unit::Nanoseconds),
    ] {
        let metric = Metric::find(&profile, event).unwrap();
        assert_eq!(metric.unit(), unit, "{event}");
        let periods: u64 = text
            .lines()
            .filter(|line| {
                !line.starts_with('\t') && line.trim_end().ends_with(&format!("{event}:"))
            })
            .map(|line| line.split_whitespace().rev().nth(1).unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(metric.rows(&profile).total, periods, "{event}");
    }
    // The first of the two events of time gives the samples.
    let first = if text.find("cpu-clock:") < text.find("task-clock:") {
        "cpu-clock:"
    } else {
        "task-clock:"
    };
    assert_eq!(profile.total_cpu_samples().total, heads(&text, first));
}

#[test]
fn fields_can_be_left_out() {
    let frames = "\t    7f int A.f(int)+0x4c (/tmp/perf-1.map)\n\t  40 main+0x1 (/bin/java)\n\n";
    let full = "java 1/7 [001] 5.25:  99 cpu-clock:u: \n";
    for head in [
        full,
        "            java 7 5.25:  99 cpu-clock:u: \n",
        "java 7 5.25: cpu-clock:u:\n",
        "java 7 cycles: \n",
        "java 7 \n",
        "java 7     250000 \n",
        "java 7 5.25: \n",
        "java 7 5.25: 250000 \n",
    ] {
        for end in ["\n", "\r\n"] {
            let text = format!("# cmdline : x\n#\n{head}{frames}{head}{frames}").replace('\n', end);
            let profile = read(text.as_bytes());
            let paths: Vec<_> = samples(&profile).into_iter().collect();
            assert_eq!(paths, [("java:main(n);A.f(c)".to_owned(), 2)], "{text}");
            assert_eq!(profile.threads[0].object_id, 7);
            assert_eq!(profile.notes, Vec::<String>::new());
        }
    }
    // Periods are no threads, whatever is left out.
    for (head, thread) in [
        ("  7  5555.100000:     25000# cycles: \n", "tid=7:"),
        ("  7/7 [001]  5555.100000:     25000# cycles: \n", "tid=7:"),
        ("  7     25000# cycles: \n", "tid=7:"),
        ("  7  5555.10000#: \n", "tid=7:"),
        ("java  5555.100000:     25000# cycles: \n", "java:"),
        ("java [001]  5555.100000:     25000# cycles: \n", "java:"),
        ("java     25000# cycles: \n", "java:"),
        ("java 1234567# cycles: \n", "java:"),
        ("     5555.100000:     25000# cycles: \n", ""),
        ("    25000# cycles: \n", ""),
        ("     5555.10000#: \n", ""),
        ("cycles: \n", ""),
    ] {
        for indentation in ["\t", "  ", ""] {
            let text = |number: usize| {
                let head = head.replace('#', &number.to_string());
                head + &frames.replace('\t', indentation)
            };
            let text: String = (0..10).map(text).collect();
            let profile = read(text.as_bytes());
            let paths: Vec<_> = samples(&profile).into_iter().collect();
            assert_eq!(paths, [(format!("{thread}main(n);A.f(c)"), 10)], "{text}");
            assert_eq!(profile.threads.len(), usize::from(!thread.is_empty()), "{text}");
            assert_eq!(profile.notes, [""; 0], "{text}");
            assert!(perf_script::recognise(text.as_bytes()), "{text}");
        }
    }
    for head in ["7 5.25: 99 cpu-clock:", "7 5.25:", "5.25:", "5.25: 99", "7 5.25: 99"] {
        let flat = format!("{head} 7f int A.f(int)+0x4c (/tmp/perf-1.map)\n");
        let thread = if head.starts_with('7') { "tid=7:" } else { "" };
        let paths: Vec<_> = samples(&read(flat.repeat(2).as_bytes())).into_iter().collect();
        assert_eq!(paths, [(format!("{thread}A.f(c)"), 2)], "{head}");
        assert!(perf_script::recognise(flat.as_bytes()), "{flat}");
    }
    let no_heads = read(frames.repeat(3).as_bytes());
    assert_eq!(samples(&no_heads)["main(n);A.f(c)"], 3);
    let flat = "java 7 5.25: 99 cpu-clock: 7f int A.f(int)+0x4c (/tmp/perf-1.map)\n";
    assert_eq!(samples(&read(flat.repeat(2).as_bytes()))["java:A.f(c)"], 2);
}

#[test]
fn frames_of_all_kinds() {
    let text = "java 7 5.25: 1 cycles: \n\
                \t 1 Lcom/foo/Bar;::a->Lcom/foo/Baz;::b+0x1 (/tmp/perf-1.map)\n\
                \t 2 [unknown] (/tmp/perf-1.map)\n\
                \t 3 [unknown] (/usr/lib/libx.so.1 (deleted))\n\
                \t 4 [unknown] ([unknown])\n\
                \t 5 void a.B.c() (inlined)\n\
                \t 6 Interpreter+0x2 (/tmp/perf-1.map)\n\
                \t 7 call_stub+0x2 (/tmp/perf-1.map)\n\
                \t 8 do_exec.isra.0+0x2 ([kernel.kallsyms])\n\
                \t 9 class A.f(I)V+0x2 (/home/x/.debug/jit/jitted-1-3.so)\n";
    let paths: Vec<_> = samples(&read(text.as_bytes())).into_keys().collect();
    assert_eq!(
        paths,
        ["java:class A.f(c);do_exec.isra.0(n);call_stub(c);Interpreter;a.B.c;[unknown](n);\
          [libx.so.1 (deleted)](n);[unknown](c);com.foo.Bar.a(c);com.foo.Baz.b(c)"]
    );
}

#[test]
fn what_is_skipped_is_reported() {
    let text = "java 7 5.25: 3 cycles: \n\t 1 f (x)\n  file.c:12\n\tnothing\n\
                java 7 5.3: PERF_RECORD_FORK(1:2):(3:4)\njava 7 5.3: PERF_RECORD_FORK(1:2):(3:4)\n\
                java 8\n";
    let profile = read(text.as_bytes());
    assert_eq!(
        profile.notes,
        ["2 records PERF_RECORD_FORK skipped", "3 lines that are not part of a sample skipped"]
    );
    assert_eq!(samples(&profile)["java:f(n)"], 1);
}

#[test]
fn faults_have_a_line() {
    let check = |text: &str, line, expected| {
        let error = perf_script::read(text.as_bytes()).unwrap_err();
        assert_eq!(error, Error::Line { line, expected }, "{text}");
    };
    let sample = "a sample: command, thread, time and event, then a line per frame";
    check("", 1, sample);
    check("\n\nx\n", 3, sample);
    let big = "18446744073709551616";
    check(&format!("\njava {big} 5.2: 3 cycles: \n"), 2, "the number of a thread below 2^64");
    check(&format!("java 1 5.2: {big} cycles: \n"), 1, "a count of the event below 2^64");
}

#[test]
fn sums_stop_at_the_largest_number() {
    let text = format!("java 1 5.2: {0} cycles: \n\njava 1 5.2: {0} cycles: \n", u64::MAX);
    let profile = read(text.as_bytes());
    assert_eq!(profile.overflown(), [Metric::other("cycles", Unit::Count)]);
    assert_eq!(profile.total_cpu_samples().total, 2);
}

#[test]
fn heads_of_files() {
    for head in [
        "java 7 5.25: 3 cycles: \n\t 1 f (x)\n",
        "java 7 \n\t 1 f\n",
        "java 7 cycles:\n\t 1 f\n",
        "# x\n#\n\nGC Thread#0 7 [000] 5.25: cpu-clock:\n",
    ] {
        assert!(perf_script::recognise(head.as_bytes()), "{head}");
    }
    for head in
        ["", "# x\n", "main;a;b 12\n", "java 7 cycles:\n", "a: b\n", "\t7f f (x)\n", "1 2 3\n"]
    {
        assert!(!perf_script::recognise(head.as_bytes()), "{head}");
    }
}

#[test]
fn cut_anywhere_or_with_bits_turned_it_reads_or_says_why_not() {
    let bytes = file("jdk17");
    util::damage(&bytes[bytes.len() - 1800..], |bytes| drop(perf_script::read(bytes)));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(
        "(java [0-9]{1,3} [0-9.:]{0,5} [0-9]{0,20} [a-z:]{0,4}|\t[0-9a-f]{0,3} [a-z;:>()+x-]{0,9}|\\PC{0,9}|)",
        0..12,
    )) {
        let _ = perf_script::read(lines.join("\n").as_bytes());
    }
}
