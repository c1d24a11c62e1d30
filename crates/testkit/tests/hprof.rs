//! Tests of the independent readers of HPROF files, with files of the original agent. The readers
//! accept all of these, return their contents, and refuse files that violate the format's
//! description.

#![forbid(unsafe_code)]

use std::fs;

use perk_testkit::hprof::{HprofFormat, Recording, Section};
use perk_testkit::workspace;

fn golden(name: &str) -> Vec<u8> {
    let path = workspace().join("testdata/hprof").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read(name: &str) -> Recording {
    Recording::read(&golden(name)).unwrap_or_else(|what| panic!("{name}: {what}"))
}

#[test]
fn text_of_samples() {
    let recording = read("samples-cpu-thread-lineno-n.txt");
    assert_eq!((recording.format, recording.version.as_str()), (HprofFormat::Text, "1.0.1"));
    let [Section::CpuSamples(samples)] = &recording.sections[..] else { panic!() };
    assert_eq!((samples.total, samples.rows.len(), samples.rows[0].count), (36, 8, 11));
    assert!((samples.rows[0].percent - 30.56).abs() < 1e-9);
    let top = samples.rows[0].trace;
    let frame = &recording.frames(top)[0];
    assert_eq!((frame.method.as_str(), frame.line), ("CpuRecursion.spin", None));
    assert_eq!(recording.thread_of(top), Some("main"));
}

#[test]
fn files_of_samples_alone_are_plain() {
    let names = ["samples-cpu.txt", "samples-cpu-thread-lineno-n.txt", "sigquit-samples.txt"];
    for name in [&names[..], &["samples-b-cpu.hprof"]].concat() {
        read(name).check_plain().unwrap_or_else(|what| panic!("{name}: {what}"));
    }
    for name in ["times-cpu.txt", "sites-alloc-depth1.txt", "sites-b-arrays.hprof"] {
        assert!(read(name).check_plain().is_err(), "{name}");
    }
}

#[test]
fn files_that_cannot_be_perks_are_refused() {
    let file = String::from_utf8(golden("samples-cpu-thread-lineno-n.txt")).unwrap();
    let check = |text: &str| Recording::read(text.as_bytes()).unwrap().check_perk();
    check(&file).unwrap();
    let end = "THREAD END (id = 200004)\n";
    for (from, to) in [
        ("id = 200001, name=\"main\"", "id = 200001, name=\"other\""),
        ("name=\"DestroyJavaVM\"", "name=\"perk sampler\""),
        ("name=\"DestroyJavaVM\"", "name=\"C1 CompilerThread0\""),
        ("obj=500001e9", "obj=50000186"),
        ("TRACE 300078: (thread=200001)", "TRACE 300078: (thread=200002)"),
        (end, "THREAD END (id = 200005)\n"),
    ] {
        assert!(file.contains(from), "{from:?}");
        assert!(check(&file.replacen(from, to, 1)).is_err(), "{from:?} -> {to:?}");
    }
    let twice = file.replacen(end, &end.repeat(2), 1);
    assert!(Recording::read(twice.as_bytes()).is_err());
}

#[test]
fn text_of_sites() {
    let recording = read("sites-alloc-depth1.txt");
    let [Section::Sites(sites)] = &recording.sections[..] else { panic!() };
    let nodes = sites.rows.iter().find(|row| row.class == "AllocSites$Node").unwrap();
    assert_eq!(nodes.numbers[3], 3500);
    // The original writes every trace that exists.
    assert!(recording.loose_traces().len() > 100);
}

#[test]
fn records() {
    let recording = read("sites-b-arrays.hprof");
    assert_eq!(
        (recording.format, recording.id_bytes, recording.settings),
        (HprofFormat::Binary, 4, Some((1, 4)))
    );
    assert!(recording.classes.values().any(|name| name == "ArraysAll"));
    assert!(!recording.unknown_classes.is_empty() && recording.loose_names.is_empty());
    let [Section::Sites(sites)] = &recording.sections[..] else { panic!() };
    assert_eq!(sites.cutoff_bits, 0xeb1c_432d);
}

#[test]
fn the_table_of_calls() {
    let recording = read("old-cpu.txt");
    let [Section::Calls(calls)] = &recording.sections[..] else { panic!() };
    let fib = "CpuRecursion.fib(I)I";
    let row = calls.iter().find(|row| row.callee == fib && row.caller == fib).unwrap();
    assert_eq!(row.count, 1392);
}

#[test]
fn text_that_differs_is_refused() {
    let file = String::from_utf8(golden("samples-cpu.txt")).unwrap();
    Recording::read(file.as_bytes()).unwrap().check_plain().unwrap();
    let second = "   2 15.62% 56.25%       5 300080 CpuRecursion.spin\n";
    let row = "   1 40.62% 40.62%      13 300079 CpuRecursion.spin\n";
    for (from, to) in [
        ("JAVA PROFILE 1.0.1,", "JAVA PROFILE 1.0.2,"),
        ("created Fri", "created Fry"),
        ("\n--------\n\n", "\n--------\n"),
        ("obj=50000186", "obj=0x50000186"),
        ("id = 200001, ", "id=200001, "),
        ("TRACE 300080:\n", "TRACE 300079:\n"),
        ("TRACE 300080:\n", "TRACE 300080: \n"),
        ("TRACE 300080:\n", "TRACE 300199:\n\t<empty>\nTRACE 300080:\n"),
        ("TRACE 300080:\n", "TRACE 299080:\n\t<empty>\nTRACE 300080:\n"),
        ("CpuRecursion.java:6)\n", "CpuRecursion.java:6)\r\n"),
        ("created Fri Nov 20 1", "created Fri Nov 20 3"),
        ("created Fri Nov 20", "created Fri Nov 40"),
        ("\tCpuRecursion.spin(CpuRecursion.java:6)\n", "\tCpuRecursion.spin(CpuRecursion.java)\n"),
        ("\tCpuRecursion.spin(CpuRecursion.java:6)\n", " CpuRecursion.spin(CpuRecursion.java:6)\n"),
        (row, &row.replace("40.62% 40", "40.63% 40")),
        (row, &row.replace("% 40.62%", "% 40.72%")),
        (row, &row.replace("     13", "13")),
        (row, &row.replace("   1 ", "   2 ")),
        (row, &row.replace("spin", "leaf")),
        (row, ""),
        (second, &second.replace("300080", "300090")),
        ("(total = 32)", "(total = 31)"),
        ("rank   self  accum   count trace method\n", ""),
        ("CPU SAMPLES END\n", ""),
        ("CPU SAMPLES END\n", "CPU SAMPLES END"),
        ("CPU SAMPLES END\n", "CPU SAMPLES END\nWAIT: MONITOR x\n"),
    ] {
        assert!(file.contains(from), "{from:?}");
        let broken = file.replacen(from, to, 1);
        let read = Recording::read(broken.as_bytes());
        assert!(read.and_then(|it| it.check_plain()).is_err(), "{from:?} -> {to:?}");
    }
}

#[test]
fn records_that_differ_are_refused() {
    let bytes = golden("samples-b-cpu.hprof");
    let start = "JAVA PROFILE 1.0.1".len() + 1 + 4 + 8;
    for (offset, value) in [(0, b'j'), (start, 1), (start + 8, 7), (start + 8, 5)] {
        let mut broken = bytes.clone();
        broken[offset] = value;
        assert!(Recording::read(&broken).is_err(), "{offset}");
    }
    assert!(Recording::read(&bytes[..bytes.len() - 1]).is_err());
    let without_settings = [&bytes[..start], &bytes[start + 15..]].concat();
    assert!(Recording::read(&without_settings).is_err());
    // A file that is cut at any place is an error or a file that ends earlier.
    for end in (0..bytes.len()).step_by(97) {
        if let Ok(recording) = Recording::read(&bytes[..end]) {
            assert!(recording.sections.is_empty());
        }
    }
}

/// The file has heap dumps and monitors in the form of the description.
#[test]
fn dumps_in_text() {
    let text = "JAVA PROFILE 1.0.1, created Fri Nov 20 19:00:31 2026\n\nprose\n\n--------\n\n\
        TRACE 300001:\n\tA.m(A.java:3)\n\
        MONITOR DUMP BEGIN\n    THREAD 200001, trace 300001, status: S|intr|MW\n    \
        MONITOR LA;\n\towner: thread 200002, entry count: 2\n\twaiting to enter: thread 200001\n\
        \twaiting to be notified:\n    MONITOR LB; unowned\n\twaiting to enter:\n\
        \twaiting to be notified: thread 200003, thread 200004\nMONITOR DUMP END\n\
        MONITOR TIME BEGIN (total = 40 ms) Fri Nov 20 19:00:32 2026\n\
        rank   self  accum   count trace monitor\n   1 100.00% 100.00%       7 300001 A (Java)\n\
        MONITOR TIME END\n\
        HEAP DUMP BEGIN (3 objects, 80 bytes) Fri Nov 20 19:00:33 2026\n\
        ROOT 1 (kind=<Java stack>, thread=200001, frame=1)\n\
        OBJ 1 (sz=24, trace=300001, class=A@4)\n\tnext\t\t2\n\tlong_name\t3\n\
        ARR 2 (sz=32, trace=300001, nelems=3, elem type=A[]@5)\n\t[1]\t\t1\n\
        ARR 3 (sz=24, trace=300000, nelems=2, elem type=int[])\n\
        CLS 4 (name=A, trace=300001)\n\tsuper\t\t5\n\tloader\t\t6\n\tstatic s\t1\n\
        \tconstant pool entry 7\t2\nHEAP DUMP END\n";
    let recording = Recording::read(text.as_bytes()).unwrap();
    let [Section::MonitorDump(dump), Section::MonitorTimes(times), Section::Heap(heap)] =
        &recording.sections[..]
    else {
        panic!("{:?}", recording.sections)
    };
    assert_eq!(dump.monitors[0].owner, Some((200_002, 2)));
    assert_eq!(dump.monitors[1].waiting, [200_003, 200_004]);
    assert_eq!((times.total_ms, times.rows[0].count), (40, 7));
    assert_eq!((heap.objects.len(), heap.classes[&4].constants.len()), (3, 1));
    for (from, to) in [
        ("status: S|intr|MW", "status: WAITING"),
        ("\twaiting to be notified:\n    MONITOR LB", "    MONITOR LB"),
        ("(Java)", "(C)"),
        ("\tnext\t\t2", "\tnext\t2"),
        ("\tlong_name\t3", "\tlong_name\t0"),
        ("\t[1]\t\t1", "\t[3]\t\t1"),
        ("trace=300000, nelems", "trace=300009, nelems"),
        ("CLS 4", "OBJ 4"),
        ("kind=<Java stack>, thread=", "kind=<Java stack>, id="),
    ] {
        assert!(text.contains(from), "{from:?}");
        let broken = text.replacen(from, to, 1);
        assert!(Recording::read(broken.as_bytes()).is_err(), "{from:?} -> {to:?}");
    }
}
