//! `-Xprof`: the output of JVMs is read whole, and written again as they print it.

mod util;

use perk_formats::{Error, xprof};
use perk_profile::{Frame, Line, Method, Metric, MetricRows, Profile};
use proptest::prelude::*;
use util::{sample_paths, samples};

const FILES: [&str; 8] =
    ["alloc", "cpu", "cpu-xint", "gc", "jdk13", "long", "threads", "threads-xint"];

fn file(name: &str) -> Vec<u8> {
    util::testdata(&format!("xprof/{name}.txt"))
}

fn read(text: &[u8]) -> Profile {
    xprof::read(text).unwrap()
}

fn written(profile: &Profile) -> String {
    let mut out = Vec::new();
    xprof::write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn metric(profile: &Profile, name: &str) -> MetricRows {
    profile.other_columns(name).next().unwrap().metric.rows(profile)
}

/// Returns the tables in `text` without the program's output, and with rows of equal rank in one
/// order. If HotSpot leaves out rows, its sums differ from those of the listed rows.
fn tables(text: &str) -> Vec<String> {
    let begin = text.find("Flat profile of").unwrap();
    let lines = text[begin..].lines().filter(|line| !line.is_empty() && *line != "done true");
    let lines = lines.filter(|line| !line.contains("Total interpreted"));
    // The program's lambda has the name that all runs have.
    let mut lines: Vec<_> = lines.map(|line| line.replace("$$Lambda$4.", "$$Lambda.")).collect();
    for rows in lines.split_mut(|line| !line.contains('%') || line.contains(" Total ")) {
        rows.sort();
    }
    lines
}

#[test]
fn files_of_jvms_read_back_as_they_are() {
    for name in FILES {
        let text = file(name);
        let text = String::from_utf8(text).unwrap();
        let profile = read(text.as_bytes());
        // The output of HotSpot of JDK 1.3 is indented differently, and is an excerpt.
        if name != "jdk13" {
            assert_eq!(tables(&written(&profile)), tables(&text), "{name}");
        }
        assert_eq!(written(&read(written(&profile).as_bytes())), written(&profile), "{name}");
    }
}

#[test]
fn a_file_of_jdk_1_3() {
    let profile = read(&file("jdk13"));
    let threads: Vec<_> = profile.threads.iter().map(|it| it.name).collect();
    assert_eq!(threads.len(), 1);
    assert_eq!(profile.symbols.strings.get(threads[0]), "main");
    let all = samples(&profile);
    assert_eq!(all["main:tuning.profile.ProfileTest.main"], 23 + 4);
    assert_eq!(all["main:java.lang.FDBigInt.quoRemIteration(c)"], 99);
    assert_eq!(all["main:java.lang.Double.doubleToLongBits(n)"], 11 + 8);
    // The numbers of these in native code: 4, 14, 7; 0, 1, 0; 8, 3, …
    assert_eq!(metric(&profile, "native-ticks").rows[0].1, 4);
    // No method calls itself.
    assert!(profile.traces().iter().all(|it| profile.tree.frames(it.node).count() <= 2));
    assert_eq!(all["main:[runtime stub];interpreter_entries(c)"], 1);
    assert_eq!(all["main:[Unknown code]"], 86);
    // 736 ticks, of which the excerpt lists 23 + 4 + 4 + 14 + … + 86.
    assert_eq!(profile.total_cpu_samples().total, 736);
    assert_eq!(all["main:"], 736 - 27 - 18 - 10 - 99 - 72 - 67 - 19 - 5 - 4 - 1 - 97);
    let received = metric(&profile, "received-ticks");
    assert_eq!((received.total, received.rows.len()), (754, 1));
    assert_eq!(metric(&profile, "received-ticks: Received GC ticks").total, 14);
    assert_eq!(metric(&profile, "thread-elapsed").total, 7_550_000_000);
    assert_eq!(metric(&profile, "program-elapsed").total, 7_570_000_000);
    assert!(profile.notes.is_empty(), "{:?}", profile.notes);
}

#[test]
fn threads_of_one_name_are_distinguished_and_blocked_ones_are_no_samples() {
    let profile = read(&file("threads-xint"));
    let names: Vec<_> = (0..profile.threads.len())
        .map(|index| profile.thread_name(perk_profile::ThreadId::new(index)))
        .collect();
    assert_eq!(names, ["main", "Wörker #1", "Wörker #1", "DestroyJavaVM"]);
    let blocked = metric(&profile, "blocked");
    let blocked: Vec<_> = blocked.rows.iter().map(|row| row.1).collect();
    assert_eq!(blocked, [12, 11, 1]);
    assert_eq!(Metric::all_of(&profile).len(), 8);
    assert_eq!(sample_paths(&profile, "DestroyJavaVM"), Vec::<String>::new());
    assert_eq!(profile.notes, ["1 line that belongs to no table skipped"]);
}

#[test]
fn what_the_program_prints_in_between_is_reported() {
    let text = String::from_utf8(file("cpu")).unwrap();
    let noisy = text.replace("\n  Thread-local", "\r\n50% done\r\n  Thread-local");
    let noisy = &noisy[..noisy.find("Global summary").unwrap()];
    let profile = read(noisy.as_bytes());
    assert_eq!(samples(&profile), samples(&read(text.as_bytes())));
    assert_eq!(
        profile.notes,
        ["2 lines that belong to no table skipped", "the file ends without a global summary"]
    );
}

#[test]
fn faults_have_a_line() {
    let check = |text: &str, line, expected| {
        assert_eq!(xprof::read(text.as_bytes()).unwrap_err(), Error::Line { line, expected });
    };
    let head = "\"Flat profile of … secs (… total ticks): …\"";
    check("a\nb\n", 2, "a line \"Flat profile of … secs (… total ticks): …\"");
    check("", 1, "a line \"Flat profile of … secs (… total ticks): …\"");
    check("a\nFlat profile of x secs (3 total ticks): main\n", 2, head);
    check("Flat profile of 1.0 secs (-3 total ticks): main\n", 1, head);
    check("Flat profile of -1.0 secs (3 total ticks): main\n", 1, head);
    check("Global summary of ages:\n", 1, "\"Global summary of … seconds:\"");
    let table = "Flat profile of 1,5 secs (3 total ticks): main\n  Stub + native   Method\n";
    let ticks = "ticks, from 0 to below 2^64";
    check(&format!("{table} 1.0%  -1  +  2  a.b\n"), 3, ticks);
    check(&format!("{table} 1.0%  1  +  18446744073709551616  a.b\n"), 3, ticks);
}

#[test]
fn more_ticks_than_there_are_are_reported() {
    let text = "Flat profile of 1.0 secs (3 total ticks): main\n  Compiled + native   Method\n\
                1.0%  2  +  2  a.b\n1.0%  18446744073709551615  +  0  a.c\nGlobal summary of 1.0 seconds:\n";
    let profile = read(text.as_bytes());
    assert_eq!(profile.total_cpu_samples().total, u64::MAX);
    assert_eq!(profile.overflown(), [Metric::Samples]);
    assert_eq!(profile.notes, ["1 thread has more ticks in the tables than in the title"]);
    written(&profile);
}

#[test]
fn cut_anywhere_or_with_bits_turned_it_reads_or_says_why_not() {
    util::damage(&file("threads-xint"), |bytes| {
        if let Ok(profile) = xprof::read(bytes) {
            written(&profile);
        }
    });
}

#[test]
fn heads() {
    for name in FILES {
        assert!(xprof::recognise(&file(name)), "{name}");
    }
    for head in
        ["", "F", "Flat profile of the city\n", "main;a;b 12\n", "Global summary of 3 files:\n"]
    {
        assert!(!xprof::recognise(head.as_bytes()), "{head}");
    }
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        Just(Line::Unknown),
        Just(Line::Number(7)),
        Just(Line::Compiled),
        Just(Line::Native)
    ]
}

proptest! {
    /// The tables of any profile read back: they are the same when written again, and no sample of
    /// a thread is lost.
    #[test]
    fn tables_read_back(stacks in prop::collection::vec(
        (0..3_usize, prop::collection::vec(("[a-c]{0,2}", "[a-c]{1,2}", line()), 0..4), 1..2000_u64),
        1..20,
    )) {
        let mut profile = Profile::default();
        let mut rows = Vec::new();
        for (thread, frames, count) in &stacks {
            let frames: Vec<_> = frames.iter().map(|(class, name, line)| {
                let symbols = &mut profile.symbols;
                let class = symbols.class(class);
                let name = symbols.strings.intern(name);
                let method = symbols.method(Method { class, name, signature: None, source: None });
                symbols.frame(Frame::new(method, *line))
            }).collect();
            let node = profile.tree.insert(frames);
            let thread = util::thread(&mut profile, *thread);
            rows.push((profile.trace(node, thread), *count));
        }
        let total = rows.iter().map(|row| row.1).sum();
        util::push_samples(&mut profile, rows, total);
        let text = written(&profile);
        let read = read(text.as_bytes());
        prop_assert_eq!(written(&read), text);
        prop_assert_eq!(read.total_cpu_samples().total, total);
        prop_assert!(read.notes.is_empty());
    }

    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec("(Flat profile of 1.0 secs \\(9 total ticks\\): x|  Stub \\+ native   Method|[0-9.%+ -]{0,12}[a-z.]{0,3}|\\PC{0,9})", 0..12)
    ) {
        let _ = xprof::read(lines.join("\n").as_bytes());
    }
}
