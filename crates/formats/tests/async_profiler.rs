//! The text of async-profiler: its whole output is read, and no number counts twice.

mod util;

use perk_formats::{Error, async_profiler};
use perk_profile::{Metric, Profile, Unit};
use proptest::prelude::*;
use util::samples;

const FILES: [&str; 7] = ["alloc", "annotated", "cpu", "flat", "lock", "threads", "wall"];

fn file(name: &str) -> Vec<u8> {
    util::testdata(&format!("async-profiler/{name}.txt"))
}

fn read(text: &[u8]) -> Profile {
    async_profiler::read(text).unwrap()
}

/// Returns the number after `label` in the file.
fn number(text: &str, label: &str) -> u64 {
    let rest = text.split_once(label).unwrap().1.trim_start_matches([' ', ':']);
    rest.split(['\n', ' ']).next().unwrap().parse().unwrap()
}

#[test]
fn every_sample_is_there_once() {
    for name in FILES {
        let text = String::from_utf8(file(name)).unwrap();
        let profile = read(text.as_bytes());
        let all = if name == "alloc" {
            Metric::find(&profile, "events").unwrap()
        } else {
            Metric::Samples
        };
        // For a waiting thread, one sample is counted as many, but the summary counts it as one.
        let is_whole = all.rows(&profile).total == number(&text, "Total samples");
        assert_eq!(is_whole, name != "wall", "{name}");
        assert!(profile.notes.is_empty(), "{name}: {:?}", profile.notes);
        assert!(async_profiler::recognise(text.as_bytes()), "{name}");
    }
}

#[test]
fn threads_and_times() {
    let profile = read(&file("threads"));
    let deflate = "Wörker #1:java.lang.Thread.run;java.util.concurrent.ThreadPoolExecutor$Worker.run;\
                   java.util.concurrent.ThreadPoolExecutor.runWorker;java.util.concurrent.FutureTask.run;\
                   Work$$Lambda.call;Work.lambda$main$3;Work.pack;\
                   java.util.zip.Deflater.deflate;java.util.zip.Deflater.deflate;\
                   java.util.zip.Deflater.deflateBytesBytes;\
                   Java_java_util_zip_Deflater_deflateBytesBytes;deflate;\
                   /usr/lib/x86_64-linux-gnu/libz.so.1.2.13";
    let paths = samples(&profile);
    assert_eq!(paths[deflate], 9, "{paths:#?}");
    let thread = profile.threads.iter().find(|thread| thread.object_id == 6228).unwrap();
    assert_eq!(profile.symbols.strings.get(thread.name), "Wörker #1");
    let ns = Metric::find(&profile, "ns").unwrap();
    assert_eq!(ns.unit(), Unit::Nanoseconds);
    let ns = ns.rows(&profile);
    let row = ns.rows.iter().find(|row| util::path(&profile, row.0.trace) == deflate);
    assert_eq!(row.unwrap().1, 50_000_000);
}

#[test]
fn kinds_of_frames() {
    let paths = samples(&read(&file("annotated")));
    assert!(paths.keys().any(|path| path.contains("java.lang.Thread.run;")), "{paths:#?}");
    assert!(paths.keys().any(|path| path.contains("Work.fib(c);Work.fib(c)")), "{paths:#?}");
    assert!(paths.keys().all(|path| !path.contains("_[")), "{paths:#?}");
}

#[test]
fn allocations_are_no_cpu_samples() {
    let text = String::from_utf8(file("alloc")).unwrap();
    let profile = read(text.as_bytes());
    assert_eq!(profile.cpu_samples().count(), 0);
    let bytes = Metric::find(&profile, "bytes").unwrap();
    assert_eq!(bytes.unit(), Unit::Bytes);
    let weights = bytes.rows(&profile);
    let row = weights.rows.iter().find(|row| row.1 == 13_312_000).unwrap();
    assert_eq!(util::path(&profile, row.0.trace), "Work.main;Work$Box.grow;int[]");
}

#[test]
fn the_table_adds_what_no_trace_has() {
    let text = "\n--- Execution profile ---\nTotal samples:         12\nGC_active           : 2 (16.7%)\n\
                Frame buffer usage:    0.0311%\n\n\
                Total: 40 (40.00%)  samples: 4\n  [ 0] a.b.c\n  [ 1] a.b.main\n\n\
                --- 20 ns (20.00%), 1 sample\n[ 0] a.b.c\n\n\
                          ns  percent  samples  top\n  ----------  -------  -------  ---\n\
                70   70.00%  7  a.b.c\n30  30.00%  1  x y (z)\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let profile = read(text.as_bytes());
        let paths = samples(&profile);
        let paths: Vec<_> = paths.iter().map(|(path, &count)| (path.as_str(), count)).collect();
        assert_eq!(paths, [("a.b.c", 3), ("a.b.main;a.b.c", 4), ("x y (z)", 1)]);
        assert_eq!(profile.total_cpu_samples().total, 12);
        assert_eq!(profile.notes, ["2 samples without a whole stack: GC_active"]);
    }
    let twice = read(format!("{text}{text}").as_bytes());
    assert_eq!(twice.total_cpu_samples().total, 24);
}

#[test]
fn faults_have_a_line() {
    let check = |text: &str, line, expected| {
        let error = async_profiler::read(text.as_bytes()).unwrap_err();
        assert_eq!(error, Error::Line { line, expected }, "{text}");
    };
    let head = "--- Execution profile ---";
    check("", 1, "\"--- Execution profile ---\"");
    check("a\nb\n", 2, "\"--- Execution profile ---\"");
    check(&format!("{head}\nTotal samples: -1\n"), 2, "a number of samples below 2^64");
    let trace = "\"--- … ns (…%), … samples\" with numbers below 2^64";
    check(&format!("{head}\n--- 18446744073709551616 ns (1%), 1 sample\n"), 2, trace);
    check(&format!("{head}\n--- 5 ns\n"), 2, trace);
    let table = format!("{head}\n ns percent samples top\n");
    check(&format!("{table}5 1.0% -4 x\n"), 3, "a counter and samples, from 0 to below 2^64");
    let passed = read(format!("{table}what\n").as_bytes());
    assert_eq!(passed.notes, ["1 line of other text skipped"]);
}

#[test]
fn cut_anywhere_or_with_bits_turned_it_reads_or_says_why_not() {
    let bytes = file("threads");
    util::damage(&bytes[..bytes.len().min(1500)], |bytes| drop(async_profiler::read(bytes)));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(
        "(--- [0-9]{1,3} [a-z]{2} \\([0-9]%\\), [0-9]{1,20} samples|  \\[ ?[0-9]{1,2}\\] \\PC{0,6}|ns percent samples top|[0-9 %]{0,12} x|Total samples: [0-9]{1,20}|\\PC{0,9})",
        0..12,
    )) {
        let text = format!("--- Execution profile ---\n{}", lines.join("\n"));
        let _ = async_profiler::read(text.as_bytes());
    }
}
