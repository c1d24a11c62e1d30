//! Texts of all ages and in all states: lines that the original agent cut, several files in one,
//! counters that have overflowed, heap dumps, monitors of the JVM's own.

#![forbid(unsafe_code)]

use std::fmt::Write;

use perk_hprof::{Error, Format, ascii};
use perk_profile::{Allocations, Event, HeapRoot, HeapSummary, Profile, ThreadId};

const HEADER: &str =
    "JAVA PROFILE 1.0.1, created Fri Nov 20 19:00:31 2026\n\nprose\n\n--------\n\n";

fn read(body: &str) -> Profile {
    let text = format!("{HEADER}{body}");
    ascii::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns `line` as the original agent writes it. A line of 1,024 bytes or more is cut and does
/// not have a line end.
fn original(line: &str) -> String {
    let line = format!("{line}\n");
    line[..line.len().min(1023)].to_owned()
}

#[test]
fn lines_that_the_original_cut_are_two() {
    let (name, long) = ("n".repeat(2000), "x".repeat(1100));
    let mut text = String::new();
    for line in [
        format!("THREAD START (obj=1, id = 1, name=\"{name}\", group=\"main\")"),
        format!("THREAD START (obj=2, id = 2, name=\"{name}\", group=\"main\")"),
        "TRACE 300001:".to_owned(),
        format!("\ta.{long}.run(A.java:1)"),
        format!("\ta.A.main({long}.java:2)"),
        "TRACE 300002: (thread=1)".to_owned(),
        "\ta.A.main(A.java:3)".to_owned(),
        "SITES BEGIN (ordered by live bytes) Fri Nov 20 19:00:10 2026".to_owned(),
        format!("    1 50.00% 50.00%        10    1        10     1 300001 a.{long}"),
        "    2 50.00% 100.00%        10    1        10     1 300002 a.B".to_owned(),
        "SITES END".to_owned(),
        "CPU SAMPLES BEGIN (total = 7) Fri Nov 20 19:00:10 2026".to_owned(),
        format!("   1 57.14% 57.14%       4 300001 a.{long}.run"),
        "   2 42.86% 100.00%       3 300002 a.A.main".to_owned(),
        "CPU SAMPLES END".to_owned(),
    ] {
        text += &original(&line);
    }
    let profile = read(&text);
    let cut_name = profile.thread_name(ThreadId::new(0));
    assert!(cut_name.len() > 900 && cut_name.bytes().all(|byte| byte == b'n'));
    assert_eq!(profile.threads.len(), 2);
    let samples = profile.cpu_samples().next().unwrap();
    assert_eq!(samples.rows.iter().map(|row| row.1).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(profile.frames(samples.rows[0].0).count(), 2);
    let methods: Vec<_> = profile
        .frames(samples.rows[0].0)
        .map(|frame| profile.symbols.get_method(profile.symbols.get_frame(frame).method))
        .collect();
    assert_eq!(profile.symbols.strings.get(methods[1].name), "main");
    assert_eq!(methods[1].source, None);
    assert_eq!(profile.sites().unwrap().rows.len(), 2);
    assert_eq!(profile.notes.len(), 1, "{:?}", profile.notes);
    assert!(profile.notes[0].starts_with("6 lines were cut off by the agent"));
}

/// perk's own lines are whole, however long.
#[test]
fn long_lines_are_whole_where_nothing_begins_within() {
    let name = "n".repeat(1 << 20);
    let mut text = String::new();
    writeln!(text, "THREAD START (obj=1, id = 1, name=\"{name}\", group=\"main\")").unwrap();
    writeln!(text, "TRACE 1:\n\t{name}.{name}({name}:1)\nTRACE 2:\n\t<empty>").unwrap();
    writeln!(text, "CPU SAMPLES BEGIN (total = 1) x").unwrap();
    writeln!(text, "   1 100.00% 100.00%       1     1 {name}.{name}\nCPU SAMPLES END").unwrap();
    let profile = read(&text);
    assert_eq!(profile.thread_name(ThreadId::new(0)), name);
    assert_eq!(profile.notes, [""; 0]);
    let frame = profile.frames(profile.cpu_samples().next().unwrap().rows[0].0).next().unwrap();
    let method = profile.symbols.get_frame(frame).method;
    assert_eq!(profile.symbols.method_name(method).len(), 2 * name.len() + 1);
}

/// Each file has its own numbers.
#[test]
fn several_files_in_one_are_read_in_order() {
    let part = |method: &str, count: u32| {
        format!(
            "{HEADER}TRACE 300001:\n\ta.A.{method}(A.java:1)\nCPU SAMPLES BEGIN (total = {count}) \
             x\n   1 100.00% 100.00% {count:7} 300001 a.A.{method}\nCPU SAMPLES END\n"
        )
    };
    let text = part("f", 2) + &part("g", 3);
    let profile = perk_hprof::read(text.as_bytes()).unwrap();
    let tops: Vec<_> = profile
        .cpu_samples()
        .map(|samples| {
            let frame = profile.frames(samples.rows[0].0).next().unwrap();
            (samples.total, profile.symbols.method_name(profile.symbols.get_frame(frame).method))
        })
        .collect();
    assert_eq!(tops, [(2, "a.A.f".to_owned()), (3, "a.A.g".to_owned())]);
    assert_eq!(profile.notes, [""; 0]);
}

#[test]
fn totals_that_have_overflown_are_mended() {
    let profile = read("CPU SAMPLES BEGIN (total = -2) x\nCPU SAMPLES END\n");
    assert_eq!(profile.total_cpu_samples().total, u64::from(u32::MAX) - 1);
    assert_eq!(profile.notes, ["1 counter is negative, and taken as having grown over 2^31"]);
    for total in ["-", "x", "99999999999999999999", "-99999999999"] {
        let text = format!("{HEADER}CPU SAMPLES BEGIN (total = {total}) x\nCPU SAMPLES END\n");
        let error = ascii::read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Ascii { line: 7, .. }), "{total}: {error}");
    }
}

/// The shares of the rows are of all live bytes, including those of rows left out. Nothing gives
/// the allocations of the latter.
#[test]
fn sites_that_are_left_out_are_known_by_the_shares_of_the_others() {
    let sites = |rows: &str| {
        let profile = read(&format!("SITES BEGIN (ordered by live bytes) x\n{rows}SITES END\n"));
        (profile.sites().unwrap().clone(), profile.notes)
    };
    let row = "    7  3.39% 41.42%     55180 2759     95180  4759   300001 a.B\n";
    let (part, _) = sites(row);
    assert!(!part.known.all_sites && part.is_by_live());
    assert!((1_625_000..1_631_000).contains(&part.total.live_bytes), "{part:?}");
    assert_eq!((part.total.live_count, part.total.allocated_bytes), (2759, 95_180));
    let whole = "    1 60.00% 60.00%  600 1  600 1 1 A\n    2 40.00%100.00%  400 1  900 2 1 B\n";
    let (all, _) = sites(whole);
    assert!(all.known.all_sites && !all.is_by_live());
    assert_eq!((all.total.live_bytes, all.total.allocated_bytes), (1000, 1500));
    let (elided, _) = sites(&format!("{whole}...\n"));
    assert!(!elided.known.all_sites);
    // The original counts in 32 bits.
    let (_, notes) = sites("    1 -9.00% -9.00%  600 1  600 1 300001 A\n");
    let odd = "1 SITES has shares that fit no total: a counter has grown over 2^31, or numbers \
               were changed";
    assert!(notes.contains(&odd.to_owned()), "{notes:?}");
}

/// Numbers that are the largest of 32 bits may be larger ones.
#[test]
fn full_numbers_of_records_are_reported() {
    let mut profile = Profile::default();
    let mut objects = Allocations { live_bytes: u32::MAX.into(), ..Allocations::default() };
    profile.events.push(Event::HeapSummary(HeapSummary { objects, written: None }));
    let mut bytes = Vec::new();
    perk_hprof::write(&profile, Format::Binary, &mut bytes).unwrap();
    // perk itself gives the exact number in a record of its own. Other writers do not.
    assert_eq!(perk_hprof::read(&bytes[..]).unwrap().notes, [""; 0]);
    let mark = b"perk wide numbers";
    let at = bytes.windows(mark.len()).position(|it| it == mark).unwrap();
    bytes[at] = b'q';
    let notes = perk_hprof::read(&bytes[..]).unwrap().notes;
    let full = "1 number is 2^32 - 1, the largest that HPROF's records hold: may be larger";
    assert_eq!(notes, [full]);
    objects.live_bytes = 5_000_000_000;
    profile.events = vec![Event::HeapSummary(HeapSummary { objects, written: None })];
    assert!(perk_hprof::write(&profile, Format::Binary, Vec::new()).is_err());
    let mut bytes = Vec::new();
    perk_hprof::write(&profile, Format::Extended, &mut bytes).unwrap();
    let read = perk_hprof::read(&bytes[..]).unwrap();
    let Event::HeapSummary(summary) = read.events[0] else { panic!("{:?}", read.events) };
    assert_eq!((summary.objects, read.notes), (objects, Vec::new()));
}

/// Heap dumps of the agent before JDK 5 and of the one after.
#[test]
fn heap_dumps_are_counted() {
    let profile = read(
        "\
HEAP DUMP BEGIN (5 objects, 100 bytes) Fri Nov 20 19:00:32 2026
ROOT 0 (kind=<thread>, id=200000, trace=300000)
ROOT 8b3e20 (kind=<Java stack>, thread=1, frame=0)
OBJ 8b3e20 (sz=24, trace=1, class=java/lang/String@8a1b30)
\tvalue\t\t8b3e40
OBJ 8b3e50 (sz=24, trace=1, class=java/lang/String@8a1b30)
ARR 8b3e40 (sz=32, trace=1, nelems=10, elem type=char)
ARR 8b3e70 (sz=40, trace=1, nelems=2, elem type=java.lang.String[]@8a1b40)
\t[0]\t\t8b3e20
ARR 8b3ea0 (sz=8, trace=1, nelems=0, elem type=byte[])
CLS 8a1b30 (name=java/lang/String, trace=1)
\tsuper\t\t8a1000
HEAP DUMP END
",
    );
    let heap = profile.heaps().next().unwrap();
    let rows: Vec<_> = heap
        .rows
        .iter()
        .map(|row| {
            let class = profile.symbols.class_name(row.class);
            (class, row.instance_count, row.shallow_bytes)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("java.lang.String", 2, 48),
            ("java.lang.String[]", 1, 40),
            ("char[]", 1, 32),
            ("byte[]", 1, 8),
            ("java.lang.Class", 1, 0),
        ]
    );
    assert_eq!(heap.roots, [(HeapRoot::JavaFrame, 1), (HeapRoot::Thread, 1)]);
    assert_eq!(profile.notes, ["line 7: HEAP DUMP has no sizes of its 1 classes"]);
    let text = format!("{HEADER}HEAP DUMP BEGIN (1 objects, 1 bytes) x\nOBJ 1 (sz=x, class=a@1)\n");
    assert!(ascii::read(text.as_bytes()).is_err());
}

#[test]
fn monitors_of_the_jvm_are_skipped() {
    let profile = read(
        "\
TRACE 3:
\tjava/lang/Object.wait(Object.java:Native method)
MONITOR DUMP BEGIN
    THREAD 4, trace 3, status: CW
    MONITOR java/lang/ref/Reference$Lock unowned
\twaiting to enter:
\twaiting to be notified: thread 4
    RAW MONITOR \"Heap lock\"(0x8066d58)
\towner: thread 4, entry count: 1
\twaiting to enter:
\twaiting to be notified:
MONITOR DUMP END
MONITOR TIME BEGIN (total = 100 ms) Fri Nov 20 19:00:32 2026
rank   self  accum   count trace monitor
   1 80.00% 80.00%       4     3 java/lang/Object (Java)
   2 20.00% 100.00%       2     3 Heap lock (Raw)
MONITOR TIME END
",
    );
    let dump = profile.monitor_dumps().next().unwrap();
    let class = |id| profile.symbols.class_name(id);
    assert_eq!(dump.monitors.len(), 1);
    assert_eq!(class(dump.monitors[0].class), "java.lang.ref.Reference$Lock");
    assert_eq!(dump.monitors[0].waiting, [4]);
    let times = profile.monitor_times().next().unwrap();
    assert_eq!((times.rows.len(), class(times.rows[0].class)), (1, "java.lang.Object"));
    assert_eq!(times.rows[0].waits.blocked_ns, 80_000_000);
    assert_eq!(profile.notes, ["2 monitors of the JVM itself skipped"]);
}

/// JDK 1.1 gives only shares, of the ticks. The counts are the whole numbers that print so.
#[test]
fn samples_of_jdk_1_1() {
    let text = "\
JAVA PROFILE 1.0, created Thu Feb 15 14:39:15 2001

WARNING!  prose
--------
CPU SAMPLES BEGIN (1703 samples, 1712 ticks, depth 1) Thu Feb 15 14:39:33 2001
rank   self  accum   method
   1 14.84% 14.84%   java/lang/String.getChars (II[CI)V
   2 11.16% 25.99%   java/lang/StringBuffer.<init> (I)V
   3 11.16% 37.15%   java/lang/StringBuffer.<init> (Ljava/lang/String;)V
CPU SAMPLES END
";
    let profile = perk_hprof::read(text.as_bytes()).unwrap();
    let samples = profile.cpu_samples().next().unwrap();
    assert_eq!(samples.total, 1712);
    assert_eq!(samples.written.unwrap().ctime(), "Thu Feb 15 14:39:33 2001");
    let rows: Vec<_> = samples
        .rows
        .iter()
        .map(|&(trace, count)| {
            let frame = profile.frames(trace).next().unwrap();
            let method = profile.symbols.get_frame(frame).method;
            let signature = profile.symbols.get_method(method).signature.unwrap();
            let signature = profile.symbols.strings.get(signature);
            (profile.symbols.method_name(method) + signature, count)
        })
        .collect();
    let init = "java.lang.StringBuffer.<init>";
    assert_eq!(
        rows,
        [
            ("java.lang.String.getChars(II[CI)V".to_owned(), 254),
            (format!("{init}(I)V"), 191),
            (format!("{init}(Ljava/lang/String;)V"), 191),
        ]
    );
    assert_eq!(profile.depth, Some(1));
    let looks = "line 5: the JVM looked 1703 times and found 1712 threads running, which are the \
                 samples";
    assert_eq!(profile.notes, [looks]);
    for wrong in ["x", "1 samples, 2 ticks", "1 samples, 2 ticks, depth x)", "total = 1"] {
        let text = format!("{HEADER}CPU SAMPLES BEGIN ({wrong}\n");
        let result = ascii::read(text.as_bytes());
        assert_eq!(result.is_ok(), wrong == "total = 1", "{wrong}");
    }
}

/// A file as books or pages show it: all of it indented, and rows left out in words.
#[test]
fn excerpts_may_be_indented() {
    let text = "\
\tSITES BEGIN (ordered by live bytes) Tue Dec  8 11:16:15 2015
\t          percent          live          alloc'ed  stack class
\t rank   self  accum     bytes objs     bytes  objs trace name
\t    1  60.00%60.00%    600000  200   1200000   400 302116 int[]
\t    2  30.00% 90.00%    300000  100    300000   100 302104 java.util.ArrayList
\t    ... cut for brevity ...
\tSITES END
\tTRACE 302116:
\t\ta.B.<init>(B.java:11)
\tCPU TIMES (ms) BEGIN (total = 100) Tue Dec  8 11:16:15 2015
\trank   self  accum   count trace method
\t   1100.00%100.00%       7 302116 a.B.<init>
\tCPU TIMES END
";
    for text in [text.to_owned(), text.replace('\t', "    "), text.replace('\t', "")] {
        let profile = perk_hprof::read(text.as_bytes()).unwrap();
        let sites = profile.sites().unwrap();
        assert_eq!(sites.rows.len(), 2);
        assert_eq!(sites.total.live_bytes, 1_000_000);
        let frame = profile.frames(sites.rows[0].trace).next().unwrap();
        let method = profile.symbols.get_frame(frame).method;
        assert_eq!(profile.symbols.method_name(method), "a.B.<init>");
        let times = profile.call_times().next().unwrap();
        let row = times.rows[0];
        assert_eq!((times.rows.len(), row.count, row.self_ns), (1, 7, 100_000_000));
        assert_eq!(
            profile.notes,
            [
                "1 line of dots where rows were left out",
                "1 trace that a row refers to is not in the file: only the method on top of a \
                 trace is known, where a row names it"
            ]
        );
    }
}

#[test]
fn calls_of_before_jdk_1_1() {
    let text = "# count callee caller time\n3 A.b()V A.c()V 12\n";
    let profile = perk_hprof::read(text.as_bytes()).unwrap();
    assert_eq!(profile.call_edges().next().unwrap().rows[0].count, 3);
}

/// Lines that are not records are reported. A text of only such lines is not a profile.
#[test]
fn other_lines_are_reported() {
    let body = "HPROF said so\nTHREAD END (id = 1)\nand so\n";
    let profile = read(body);
    assert_eq!(
        profile.notes,
        ["2 lines that are not records skipped, the first is line 7: \"HPROF said so\""]
    );
    for (text, line) in [("# README\n\nmore\n", 1), ("\n\n\u{0}\u{1}\n", 3)] {
        let error = ascii::read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Ascii { line: at, .. } if at == line), "{error}");
    }
    assert!(matches!(ascii::read(&b""[..]), Err(Error::NotHprof { .. })));
    assert!(ascii::read(&b"T"[..]).is_err());
}

/// Frames as JVMs before JDK 1.2 and other tools print them.
#[test]
fn frames_of_all_kinds() {
    let profile = read(
        "TRACE 1:\n\ta.A.f(Native Method)\n\ta.A.g(Unknown Source)\n\ta.A.h(A.java)\n\t\
         a.A.i(<Unknown Source>:Unknown line)\n\ta.A.j(A.java:Native method)\n",
    );
    let trace = profile.trace_by_serial(1).unwrap();
    let frames: Vec<_> = profile
        .frames(trace)
        .map(|frame| {
            let frame = profile.symbols.get_frame(frame);
            let source = profile.symbols.get_method(frame.method).source;
            (source.map(|it| profile.symbols.strings.get(it)), frame.line.to_hprof())
        })
        .collect();
    let file = Some("A.java");
    assert_eq!(frames, [(None, -3), (None, -1), (file, -1), (None, -1), (file, -3)]);
    for wrong in ["a.A.f", "a.A.f(A.java:12a)", "a.A.f(A.java:1"] {
        let text = format!("{HEADER}TRACE 1:\n\t{wrong}\n");
        assert!(matches!(ascii::read(text.as_bytes()), Err(Error::Ascii { line: 8, .. })));
    }
}
