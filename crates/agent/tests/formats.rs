//! Both formats, by checkers that owe nothing to `perk_hprof`, on files of the original agent first
//! and then on perk's; and what `perk_hprof` reads of the same files.

#![forbid(unsafe_code)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use perk_profile::{Profile, top};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use support::records::{self, Records};
use support::text::{self, Text};
use support::{golden, self_counts, total_counts};

const GOLDEN_TEXTS: [&str; 3] =
    ["samples-cpu.txt", "samples-cpu-thread-lineno-n.txt", "sigquit-samples.txt"];
const BINARY: &str = "o.hprof";

type Counts = BTreeMap<String, u64>;

/// Self and total samples by method, as the library reads them. In text, methods of one name are
/// told apart by nothing.
fn library_counts(profile: &Profile) -> (Counts, Counts) {
    let samples = profile.total_cpu_samples();
    let (mut own, mut total) = (Counts::new(), Counts::new());
    for row in top::methods(profile, &samples) {
        let signature = profile.symbols.get_method(row.method).signature;
        let signature = signature.map_or("", |it| profile.symbols.strings.get(it));
        let name = profile.symbols.method_name(row.method) + signature;
        if row.self_count > 0 {
            *own.entry(name.clone()).or_default() += row.self_count;
        }
        *total.entry(name).or_default() += row.total_count;
    }
    (own, total)
}

#[track_caller]
fn assert_library_agrees(bytes: &[u8], own: Counts, total: Counts) -> Profile {
    let profile = perk_hprof::read(bytes).unwrap();
    assert!(!total.is_empty());
    assert_eq!(library_counts(&profile), (own, total));
    profile
}

fn binary_run(jdk: &Jdk, options: &str, main: &str, args: &[&str]) -> (Outcome, Records) {
    let agent = format!("cpu=samples,format=b,file={BINARY}{options}");
    let outcome = JavaRun::new(jdk).agent(&agent).main(main).args(args).run();
    outcome.assert_success();
    let records = records::check(outcome.bytes(BINARY));
    let records = records.unwrap_or_else(|what| panic!("{what}\n{}", outcome.report()));
    (outcome, records)
}

/// The lines of the prose differ; everything behind it has the same layout.
#[test]
fn the_text_checker_takes_the_originals_files() {
    let mut sections = Vec::new();
    for name in GOLDEN_TEXTS {
        let bytes = golden(name);
        let text = text::check(&bytes).unwrap_or_else(|what| panic!("{name}: {what}"));
        assert_library_agrees(&bytes, self_counts(&text), total_counts(&text));
        sections.extend(text.sections.iter().map(|section| section.total));
    }
    assert_eq!(sections, [32, 36, 47, 48, 84]);
}

#[test]
fn the_text_checker_refuses_what_is_wrong() {
    let file = String::from_utf8(golden("samples-cpu.txt")).unwrap();
    assert!(text::check(file.as_bytes()).is_ok());
    let row = "   1 40.62% 40.62%      13 300079 CpuRecursion.spin\n";
    let second = "   2 15.62% 56.25%       5 300080 CpuRecursion.spin\n";
    for (from, to) in [
        ("JAVA PROFILE 1.0.1,", "JAVA PROFILE 1.0.2,"),
        ("created Fri", "created Fry"),
        ("\n--------\n\n", "\n--------\n"),
        ("obj=50000186", "obj=0x50000186"),
        ("id = 200001, ", "id=200001, "),
        ("TRACE 300080:\n", "TRACE 300079:\n"),
        ("TRACE 300080:\n", "TRACE 300080: \n"),
        ("TRACE 300080:\n", "TRACE 300199:\n\t<empty>\nTRACE 300080:\n"),
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
    ] {
        assert!(file.contains(from), "{from:?}");
        let broken = file.replacen(from, to, 1);
        assert!(text::check(broken.as_bytes()).is_err(), "{from:?} -> {to:?}");
    }
}

#[test]
fn the_record_walker_takes_the_originals_file() {
    let bytes = golden("samples-b-cpu.hprof");
    let records = records::check(&bytes).unwrap();
    assert_eq!((records.id_bytes, records.flags, records.depth), (4, 2, 4));
    assert_eq!(records.sections.len(), 1);
    assert!(records.classes.values().any(|name| name == "java.security.Principal[]"));
    assert_library_agrees(&bytes, records.self_counts(true), records.total_counts(true));

    // Each byte of a record's head, and of a serial number, matters.
    let start = records.version.len() + 1 + 4 + 8;
    for (offset, value) in [(0, b'j'), (start, 1), (start + 8, 7), (start + 8, 5)] {
        let mut broken = bytes.clone();
        broken[offset] = value;
        assert!(records::check(&broken).is_err(), "{offset}");
    }
    assert!(records::check(&bytes[..bytes.len() - 1]).is_err());
    let without_settings = [&bytes[..start], &bytes[start + 15..]].concat();
    assert!(records::check(&without_settings).is_err());
}

/// The method totals of a file whose text and records say the same.
#[test]
fn text_is_laid_out_as_the_originals() {
    jdk::each(|jdk| {
        for options in ["", ",thread=y", ",depth=64,interval=1,cutoff=0", ",lineno=n"] {
            let (outcome, text) = support::run(jdk, options, "ManyThreads", &["10", "40"]);
            let bytes = outcome.bytes(support::FILE);
            let profile = assert_library_agrees(bytes, self_counts(&text), total_counts(&text));
            assert_eq!(profile.total_cpu_samples().total, text.total());
            assert_eq!(text.sections.len(), 1);
            assert!(text.total() > 0);
            life_of_threads(&text);
        }
    });
}

/// Started threads are told with group and end; those that live on are not ended.
#[track_caller]
fn life_of_threads(text: &Text) {
    for index in 0..10 {
        let serial = text.thread(&format!("short-{index}"));
        assert_eq!(text.threads[&serial].group, "main");
        assert!(text.ended.contains(&serial), "short-{index}");
    }
    let leaver = text.thread("DestroyJavaVM");
    assert_eq!(text.threads[&leaver].group, "main");
    let serials: Vec<u32> = text.threads.keys().copied().collect();
    assert_eq!(serials[0], 200_001);
    let highest = 200_001 + 64;
    assert!(serials.iter().all(|serial| *serial < highest), "{serials:?}");
}

#[test]
fn records_come_as_the_originals_do() {
    jdk::each(|jdk| {
        let (outcome, records) = binary_run(jdk, "", "ManyThreads", &["10", "40"]);
        assert_eq!((records.flags, records.depth), (2, 4));
        assert!(records.created_ms > 1_700_000_000_000);
        for index in 0..10 {
            let name = format!("short-{index}");
            let (serial, thread) =
                records.threads.iter().find(|(_, it)| it.name == name).expect(&name);
            assert_eq!(thread.group.as_deref(), Some("main"));
            assert_eq!(thread.parent.as_deref(), Some("system"));
            assert!(records.ended.contains(serial));
        }
        assert!(!records.threads.values().any(|thread| thread.name.contains("perk")));
        let objects: BTreeSet<u64> = records.threads.values().map(|it| it.object).collect();
        assert_eq!(objects.len(), records.threads.len());

        assert!(records.traces.values().all(|trace| trace.thread == 0 && trace.frames.len() <= 4));
        let burn = records
            .frames
            .values()
            .find(|frame| frame.method == "burn" && records.classes[&frame.class] == "ManyThreads");
        let burn = burn.unwrap_or_else(|| panic!("{:?}", records.frames));
        assert_eq!(burn.signature.as_deref(), Some("(J)V"));
        assert_eq!(burn.source.as_deref(), Some("ManyThreads.java"));
        assert!((30..=40).contains(&burn.line), "{}", burn.line);

        // The accounting is the only name that no record uses.
        let unused = records.unused_names();
        assert_eq!(unused.len(), 1, "{unused:?}");
        assert!(unused[0].starts_with(b"perk accounting\n"));

        let bytes = outcome.bytes(BINARY);
        let profile =
            assert_library_agrees(bytes, records.self_counts(true), records.total_counts(true));

        // The same as text, by the other checker.
        let mut written = Vec::new();
        perk_hprof::write(&profile, perk_hprof::Format::Ascii, &mut written).unwrap();
        let text = text::check_as_perk(&written).unwrap();
        assert_eq!(self_counts(&text), records.self_counts(false));
        assert_eq!(total_counts(&text), records.total_counts(false));
        assert_eq!(text.threads.len(), records.threads.len());
    });
}

#[test]
fn traces_of_threads_name_them_in_records() {
    jdk::each(|jdk| {
        let (_, records) = binary_run(jdk, ",thread=y", "Spin", &["300", "2"]);
        let sampled: BTreeSet<&str> = records
            .sections
            .iter()
            .flat_map(|section| &section.rows)
            .map(|(_, trace)| records.traces[trace].thread)
            .map(|thread| records.threads[&thread].name.as_str())
            .collect();
        assert!(sampled.contains("spin-0") && sampled.contains("spin-1"), "{sampled:?}");
    });
}

#[test]
fn classes_all_names_every_class_and_used_only_those_of_frames() {
    jdk::each(|jdk| {
        let (_, all) = binary_run(jdk, ",classes=all", "CpuBound", &["100"]);
        let names: BTreeSet<&str> = all.classes.values().map(String::as_str).collect();
        for name in ["java.lang.String[]", "int[]", "java.lang.Object", "CpuBound"] {
            assert!(names.contains(name), "{name}");
        }
        let shaped = |name: &&str| !name.contains('/') && !name.starts_with('[');
        assert!(names.iter().all(shaped), "{:?}", names.iter().find(|name| !shaped(name)));
        assert!(!names.contains("int"), "primitive classes are not loaded");
        // Those that are there at VMInit come in one batch, before the first thread starts.
        let first_thread = all.tags.iter().position(|tag| *tag == records::START_THREAD).unwrap();
        let batch = all.tags[..first_thread].iter().filter(|tag| **tag == records::LOAD_CLASS);
        assert!(batch.count() > 300);
        assert!(all.tags[first_thread..].contains(&records::LOAD_CLASS));

        let (_, used) = binary_run(jdk, ",classes=used", "CpuBound", &["100"]);
        let of_frames: BTreeSet<u32> = used.frames.values().map(|frame| frame.class).collect();
        let written: BTreeSet<u32> = used.classes.keys().copied().collect();
        assert_eq!(written, of_frames);
        assert!(used.classes.values().any(|name| name == "CpuBound"));
    });
}

/// The account in a file fits the file.
#[test]
fn the_accounting_adds_up() {
    jdk::each(|jdk| {
        let (outcome, records) = binary_run(jdk, ",interval=1", "ManyThreads", &["20", "10"]);
        let profile = perk_hprof::read(outcome.bytes(BINARY)).unwrap();
        let told = profile.accounting.unwrap();
        assert_eq!((told.pid, told.interval_ns), (outcome.pid, 1_000_000));
        assert_eq!(told.program, "ManyThreads 20 10");
        assert_eq!(told.engine, "polling");
        assert_eq!(told.sample_count, u64::from(records.sections[0].total));
        assert!(told.thread_count >= records.threads.len() as u64);
        assert!(told.walk_count > 0 && told.walk_count >= told.failed_walk_count);
        assert!(told.perk_cpu_ns > 0 && told.perk_peak_bytes > 0);
        assert!(told.process_cpu_ns >= told.java_cpu_ns);
        assert_eq!((told.fault_count, told.folded_count), (0, 0));
        let threads_ns = outcome.number("threads_cpu_ns");
        assert!(told.java_cpu_ns >= threads_ns, "{} of {threads_ns}", told.java_cpu_ns);
        // Each thread begins with a random part of an interval.
        let slack = told.thread_count * told.interval_ns;
        let sampled_ns = (told.sample_count + told.unattributed_count) * told.interval_ns;
        assert!(sampled_ns.abs_diff(told.java_cpu_ns) <= slack, "{told:?}");
    });
}

/// Who has no frame is no row, as with the original; the account has what it burned.
#[test]
fn samples_without_a_stack_are_in_the_account_alone() {
    jdk::each(|jdk| {
        for format in ['a', 'b', 'p'] {
            let agent = format!("cpu=samples,interval=1,format={format},file={BINARY}");
            // Threads so short that hardly any is met while it runs.
            let run = JavaRun::new(jdk).agent(&agent).main("ManyThreads").args(["200", "2"]);
            let outcome = run.run();
            outcome.assert_success();
            let profile = perk_hprof::read(outcome.bytes(BINARY)).unwrap();
            let rows = profile.cpu_samples().flat_map(|samples| &samples.rows);
            let empty = rows.filter(|row| profile.frames(row.0).next().is_none());
            assert_eq!(empty.count(), 0, "{}", outcome.report());
            if let Some(account) = &profile.accounting {
                assert!(account.unattributed_count > 0, "{account:?}");
                assert_eq!(profile.total_cpu_samples().total, account.sample_count);
            }
        }
    });
}
