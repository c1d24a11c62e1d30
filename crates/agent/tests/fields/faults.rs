//! Faults, and programs that are difficult.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, Signal, fixture, jdk, part_of};

use crate::support::Mount;
use crate::{FILE, Record, counted, parse, read};

const PROGRAM: &str = "FieldFaults";
/// For programs that run for long.
const LONG: Duration = Duration::from_secs(300);

fn run(jdk: &Jdk, options: &str, what: &str) -> JavaRun {
    counted(jdk, options).main(PROGRAM).args([what])
}

#[test]
fn what_it_cannot_be_combined_with_is_refused_in_one_line() {
    jdk::each(|jdk| {
        for other in [
            "cpu=samples",
            "cpu=times",
            "cpu=old",
            "heap=sites",
            "heap=dump",
            "heap=all",
            "monitor=y",
            "aprof=y",
            "net=localhost:1",
            "format=b",
            "format=p",
            "doe=n",
        ] {
            let outcome = run(jdk, &format!(",{other}"), "end").run();
            outcome.assert_code(1);
            assert_eq!(outcome.stdout, "", "{}", outcome.report());
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert_eq!(lines.len(), 1, "{}", outcome.report());
            let is_clear =
                lines[0].starts_with("HPROF ERROR") && lines[0].contains("fields=shared");
            assert!(is_clear, "{}", outcome.report());
            assert!(outcome.files.is_empty(), "{}", outcome.report());
        }
    });
}

#[test]
fn every_end_of_the_program_leaves_a_whole_file() {
    jdk::each(|jdk| {
        for (what, code) in [("end", 0), ("exit", 7), ("halt", 7), ("throw", 1)] {
            let outcome = run(jdk, "", what).run();
            outcome.assert_code(code);
            let records = parse(outcome.bytes(FILE)).unwrap();
            let mut counters = records.iter().filter(|(it, _)| it.class == "FieldFaults$Counter");
            let (counter, count) = counters.next().expect("a counter");
            let reads = u64::from(what != "end");
            assert_eq!((counter.fields[0].1, *count), ([reads, 0, 1, 0], 1), "{what}");
            assert_eq!(outcome.files.len(), 1, "{:?}", outcome.files.keys());
        }
    });
}

/// What a killed JVM leaves is whole records, but for the last.
#[test]
fn a_killed_program_leaves_whole_records() {
    jdk::each(|jdk| {
        for (file, least_bytes) in [("o.tsv", 300_000), ("o.tsv.gz", 5_000)] {
            let options = format!("fields=shared,file={file},memlimit=4m,include=FieldFaults");
            let run = JavaRun::new(jdk).agent(&options).main(PROGRAM).jvm_arg("-Xmx100m");
            let mut running = run.args(["endless"]).spawn();
            running.wait_for_stdout("ready");
            running.wait_until("records", |running| {
                let part = part_of(&running.dir().join(file));
                part.is_some_and(|part| fs::metadata(part).unwrap().len() > least_bytes)
            });
            running.signal(Signal::KILL);
            let folder = running.dir().to_owned();
            std::thread::sleep(Duration::from_millis(100));
            assert!(!folder.join(file).exists());
            let part = part_of(&folder.join(file)).expect("a part of the file");
            let bytes = fs::read(part).unwrap();
            let text = crate::unpack(&bytes).1;
            let (whole, _) = text.rsplit_once("\n\n").expect("a record");
            let records = parse(format!("{whole}\n\n").as_bytes()).unwrap();
            let counters = records.iter().filter(|(it, _)| it.class == "FieldFaults$Counter");
            let mut objects = 0;
            for (counter, count) in counters {
                assert_eq!(counter.fields[0].1, [0, 0, 1, 0]);
                objects += count;
            }
            assert!(objects > 1000, "{objects}");
        }
    });
}

#[test]
fn a_full_disk_costs_the_profile_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=64k") else { return };
    let file = folder.path().join(FILE);
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("fields=shared,file={}", file.display()));
        let outcome = run.main(PROGRAM).args(["deep"]).run();
        outcome.assert_success();
        assert_eq!(outcome.stdout, "depth=101\ndepth=101\n");
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{}", outcome.report());
        let begin = format!("HPROF ERROR: can't write profile file: {}: ", file.display());
        assert!(lines[0].starts_with(&begin), "{}", outcome.report());
        assert!(lines[0].contains("No space left on device"), "{}", outcome.report());
        assert!(!file.exists());
        fs::remove_file(part_of(&file).expect("a part of the file")).unwrap();
    });
}

#[test]
fn a_class_with_two_thousand_fields() {
    const FIELDS: usize = 2000;
    let fields: String = (0..FIELDS).map(|at| format!("int f{at};")).collect();
    let text = format!(
        "public class Wide {{
            {fields}
            public static void main(String[] arguments) {{
                Wide wide = null;
                for (int i = 0; i < 100; i++) {{ wide = new Wide(); wide.f0 = i; }}
                wide.f1999 = wide.f1000 + wide.f0;
            }}
        }}"
    );
    let classes = fixture::compile_text("Wide", &text);
    jdk::each(|jdk| {
        let outcome = counted(jdk, ",memlimit=8m").classes(&classes).main("Wide").run();
        let records = read(&outcome);
        let wide: Vec<_> = records.iter().filter(|(it, _)| it.class == "Wide").collect();
        let [(other, 99), (last, 1)] = wide[..] else { panic!("{}", wide.len()) };
        assert_eq!((other.fields.len(), last.fields.len()), (FIELDS, FIELDS));
        let accessed = |at: usize, counts| {
            // The last field comes first.
            let ([_, name, _], found) = &last.fields[FIELDS - 1 - at];
            assert_eq!((name.as_str(), *found), (format!("f{at}").as_str(), counts));
        };
        accessed(0, [1, 0, 1, 0]);
        accessed(1000, [1, 0, 0, 0]);
        accessed(1001, [0; 4]);
        accessed(1999, [0, 0, 1, 0]);
    });
}

#[test]
fn copies_of_classes_in_many_loaders() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "", "loaders").run();
        assert_eq!(outcome.stdout, "sum=400\n");
        let records = read(&outcome);
        let copies = records.iter().filter(|(it, _)| it.class == "FieldFaults$Payload");
        let copies: Vec<_> = copies.map(|(it, count)| (it.fields[0].1, *count)).collect();
        assert_eq!(copies, [([2, 0, 1, 0], 200)]);
    });
}

/// Checks the counter that all threads of a crowd count with.
#[track_caller]
fn assert_crowd(records: &BTreeMap<Record, u64>) {
    let mut counters = records.keys().filter(|it| it.class == "FieldFaults$Counter");
    let shared = counters.find(|it| it.method() == "crowd").expect("the counter");
    assert_eq!(shared.fields[0].1, [0, 300_000, 0, 300_000]);
}

#[test]
fn an_object_that_thousands_of_threads_share() {
    jdk::each(|jdk| {
        let kinds = if jdk.version < 21 { &["crowd"][..] } else { &["crowd", "virtual"] };
        for kind in kinds {
            let outcome = run(jdk, "", kind).run();
            assert_eq!(outcome.stdout, "crowd=3000\n", "{}", outcome.report());
            assert_crowd(&read(&outcome));
        }
    });
}

#[test]
fn stacks_that_overflow() {
    jdk::each(|jdk| {
        for flags in [&["-Xss512k"][..], &["-Xss512k", "-Xint"], &["-XX:TieredStopAtLevel=1"]] {
            let run = flags.iter().fold(run(jdk, "", "deep"), |run, flag| run.jvm_arg(flag));
            let outcome = run.run();
            assert_eq!(outcome.stdout, "depth=101\ndepth=101\n", "{}", outcome.report());
            read(&outcome);
        }
    });
}

#[test]
fn flight_recorder_at_the_same_time() {
    // The runtime of JDK 21 that tests use may lack it.
    jdk::each_of(&[17, 25], |jdk| {
        let recorded = run(jdk, "", "crowd").jvm_arg("-XX:StartFlightRecording=filename=x.jfr");
        let outcome = recorded.run();
        outcome.assert_success();
        // On JDK 25 the recorder uses ConstantPool, whose only field the JVM hides.
        let hidden = "the JVM does not show these fields to agents\n";
        assert!(outcome.stderr.is_empty() || outcome.stderr.ends_with(hidden));
        assert_eq!(outcome.stderr.lines().count(), usize::from(!outcome.stderr.is_empty()));
        let records = parse(outcome.bytes(FILE)).unwrap();
        assert_crowd(&records);
        assert!(outcome.bytes("x.jfr").starts_with(b"FLR\0"));
    });
}

#[test]
fn an_agent_that_retransforms_all_classes() {
    let folder = tempfile::tempdir().unwrap();
    let jar = fixture::agent_jar(folder.path(), "FieldAgent", &[fixture::fixtures().join("")]);
    // The runtime of JDK 21 that tests use may lack agents.
    jdk::each_of(&[17, 25], |jdk| {
        let run = counted(jdk, "").jvm_arg(format!("-javaagent:{jar}"));
        let outcome = run.main("FieldAgent").run();
        outcome.assert_success();
        assert!(outcome.stdout.starts_with("right=true\nmany=true\n"), "{}", outcome.report());
        let rounds = outcome.number("rounds");
        let records = read(&outcome);
        let of_class = |class: &str| {
            let is_wanted = |it: &&Record| it.class == class && it.is_of("FieldAgent$Cell");
            let found = records.keys().find(is_wanted).expect("a record");
            found.fields.iter().map(|(_, counts)| *counts).collect::<Vec<_>>()
        };
        // The program itself reads each once more; the last field comes first.
        let [reads, writes] = [rounds + 1, rounds];
        let cell = [[reads, 0, writes + 1, 0], [reads, 0, writes, 0], [reads, 0, writes, 0]];
        assert_eq!(of_class("FieldAgent$Cell"), cell, "{}", jdk.version);
        assert_eq!(of_class("[I"), [[0; 4], [reads, 0, writes, 0]], "{}", jdk.version);
    });
}

/// Each class has one object.
#[test]
fn a_hundred_thousand_classes() {
    const CLASSES: u64 = 100_000;
    jdk::each_of(&[17, 25], |jdk| {
        let run = counted(jdk, ",aggregate=site").main("FieldMany").args([CLASSES.to_string()]);
        let outcome = run.timeout(LONG).run();
        assert_eq!(outcome.stdout, format!("sum={}\n", 2 * CLASSES), "{}", outcome.report());
        let records = read(&outcome);
        let of_class = |it: &&Record| it.class.starts_with("FieldMany$C");
        let objects: Vec<&Record> = records.keys().filter(of_class).collect();
        assert_eq!(objects.len() as u64, CLASSES);
        assert!(objects.iter().all(|it| it.fields[0].1 == [2, 0, 1, 0]));
    });
}

/// Counters have 32 bits, and the bits above elsewhere.
#[test]
fn counters_that_exceed_32_bits() {
    let times = (1 << 32) + 1000_u64;
    jdk::each_of(&[17, 25], |jdk| {
        let run = counted(jdk, ",include=FieldScale").main("FieldScale");
        let outcome = run.args(["counter", &times.to_string()]).timeout(LONG).run();
        let records = read(&outcome);
        let one = records.keys().find(|it| it.class == "FieldScale$One").expect("the object");
        assert_eq!(one.fields[0].1, [times, 0, 1, 0], "{}", jdk.version);
    });
}
