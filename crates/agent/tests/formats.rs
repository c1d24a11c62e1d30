//! Both formats, read by the strict reader that is independent of `perk_hprof`: files of the
//! original agent first, then perk's. The results of `perk_hprof` for the same files are compared.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeSet;

use perk_profile::{CpuGroup, Profile};
use perk_testkit::hprof::{RecordId, Recording, Section};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use support::{Counts, golden, read_perk_text, read_records, read_text, self_counts, total_counts};

const GOLDEN_TEXTS: [&str; 3] =
    ["samples-cpu.txt", "samples-cpu-thread-lineno-n.txt", "sigquit-samples.txt"];
const BINARY: &str = "o.hprof";

/// Returns self and total samples by method, as the library reads them. Text does not distinguish
/// methods of one name.
fn library_counts(profile: &Profile) -> (Counts, Counts) {
    let samples = profile.total_cpu_samples();
    let (mut own, mut total) = (Counts::new(), Counts::new());
    let name = |frame| {
        let method = profile.symbols.get_frame(frame).method;
        let signature = profile.symbols.get_method(method).signature;
        let signature = signature.map_or("", |it| profile.symbols.strings.get(it));
        profile.symbols.method_name(method) + signature
    };
    for (trace, count) in samples.rows {
        let names: Vec<String> = profile.frames(trace).map(name).collect();
        if let Some(innermost) = names.first() {
            *own.entry(innermost.clone()).or_default() += count;
        }
        // Recursion counts once.
        for name in names.into_iter().collect::<BTreeSet<_>>() {
            *total.entry(name).or_default() += count;
        }
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

fn binary_run(jdk: &Jdk, options: &str, main: &str, args: &[&str]) -> (Outcome, Recording) {
    let agent = format!("cpu=samples,format=b,file={BINARY}{options}");
    let outcome = JavaRun::new(jdk).agent(&agent).main(main).args(args).run();
    outcome.assert_success();
    let records = read_records(outcome.bytes(BINARY));
    let records = records.unwrap_or_else(|what| panic!("{what}\n{}", outcome.report()));
    (outcome, records)
}

/// The lines of the prose differ; everything after them has the same layout.
#[test]
fn samples_of_the_originals_texts_are_counted_alike() {
    let mut sections = Vec::new();
    for name in GOLDEN_TEXTS {
        let bytes = golden(name);
        let text = read_text(&bytes).unwrap_or_else(|what| panic!("{name}: {what}"));
        assert_library_agrees(&bytes, self_counts(&text, false), total_counts(&text, false));
        sections.extend(text.samples().map(|samples| samples.total));
    }
    assert_eq!(sections, [32, 36, 47, 48, 84]);
}

#[test]
fn samples_of_the_originals_records_are_counted_alike() {
    let bytes = golden("samples-b-cpu.hprof");
    let records = read_records(&bytes).unwrap();
    assert_eq!((records.id_bytes, records.settings), (4, Some((2, 4))));
    assert_eq!(records.sections.len(), 1);
    assert!(records.classes.values().any(|name| name == "java.security.Principal[]"));
    assert_library_agrees(&bytes, self_counts(&records, true), total_counts(&records, true));
}

/// Text and records of the same run have the same method totals.
#[test]
fn text_is_laid_out_as_the_originals() {
    jdk::each(|jdk| {
        for options in ["", ",thread=y", ",depth=64,interval=1,cutoff=0", ",lineno=n"] {
            let (outcome, text) = support::run(jdk, options, "ManyThreads", &["10", "40"]);
            let bytes = outcome.bytes(support::FILE);
            let profile =
                assert_library_agrees(bytes, self_counts(&text, false), total_counts(&text, false));
            assert_eq!(profile.total_cpu_samples().total, text.sample_count());
            assert_eq!(text.sections.len(), 1);
            assert!(text.sample_count() > 0);
            life_of_threads(&text);
        }
    });
}

/// Checks that started threads are written with group and end, and that the end is missing for
/// those that live on.
#[track_caller]
fn life_of_threads(text: &Recording) {
    for index in 0..10 {
        let serial = text.thread_named(&format!("short-{index}"));
        assert_eq!(text.threads[&serial].group, "main");
        assert!(text.ended.contains(&serial), "short-{index}");
    }
    let leaver = text.thread_named("DestroyJavaVM");
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
        assert_eq!(records.settings, Some((2, 4)));
        assert!(records.created_ms > 1_700_000_000_000);
        for index in 0..10 {
            let name = format!("short-{index}");
            let (serial, thread) =
                records.threads.iter().find(|(_, it)| it.name == name).expect(&name);
            assert_eq!(thread.group, "main");
            assert_eq!(thread.parent, "system");
            assert!(records.ended.contains(serial));
        }
        assert!(!records.threads.values().any(|thread| thread.name.contains("perk")));
        let objects: BTreeSet<u64> = records.threads.values().map(|it| it.object).collect();
        assert_eq!(objects.len(), records.threads.len());

        assert!(
            records.traces.values().all(|trace| trace.thread.is_none() && trace.frames.len() <= 4)
        );
        let mut frames = records.traces.values().flat_map(|trace| &trace.frames);
        let burn = frames.find(|frame| frame.method == "ManyThreads.burn");
        let burn = burn.unwrap_or_else(|| panic!("{:?}", records.traces));
        assert_eq!(burn.signature.as_deref(), Some("(J)V"));
        assert_eq!(burn.source, "ManyThreads.java");
        assert!(burn.line.is_some_and(|line| (30..=40).contains(&line)), "{burn:?}");

        // The accounting is the only name that no record uses.
        let unused = &records.loose_names;
        assert_eq!(unused.len(), 1, "{unused:?}");
        assert!(unused[0].starts_with("perk accounting\n"));

        let bytes = outcome.bytes(BINARY);
        let profile =
            assert_library_agrees(bytes, self_counts(&records, true), total_counts(&records, true));

        // The same data as text.
        let mut written = Vec::new();
        perk_hprof::write(&profile, perk_hprof::Format::Ascii, &mut written).unwrap();
        let text = read_perk_text(&written).unwrap();
        assert_eq!(self_counts(&text, false), self_counts(&records, false));
        assert_eq!(total_counts(&text, false), total_counts(&records, false));
        assert_eq!(text.threads.len(), records.threads.len());
    });
}

#[test]
fn traces_of_threads_name_them_in_records() {
    jdk::each(|jdk| {
        let (_, records) = binary_run(jdk, ",thread=y", "Spin", &["300", "2"]);
        let sampled: BTreeSet<&str> = records
            .samples()
            .flat_map(|samples| &samples.rows)
            .map(|row| records.thread_of(row.trace).expect("a thread"))
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
        // The threads that exist at VMInit come in one batch, before the first thread starts.
        let is_thread = |it: &RecordId| matches!(it, RecordId::Thread(_));
        let is_class = |it: &&RecordId| matches!(it, RecordId::Class(_));
        let first_thread = all.order.iter().position(is_thread).unwrap();
        let (batch, later) = all.order.split_at(first_thread);
        assert!(batch.iter().filter(is_class).count() > 300);
        assert!(later.iter().any(|it| is_class(&it)));

        let (_, used) = binary_run(jdk, ",classes=used", "CpuBound", &["100"]);
        let written: BTreeSet<u32> = used.classes.keys().copied().collect();
        assert_eq!(written, used.frame_classes);
        assert!(used.classes.values().any(|name| name == "CpuBound"));
    });
}

#[test]
fn ids_of_four_bytes_are_read_as_those_of_eight() {
    jdk::each(|jdk| {
        for classes in ["all", "used"] {
            let options = format!(",idsize=4,classes={classes}");
            let (outcome, records) = binary_run(jdk, &options, "CpuBound", &["300"]);
            assert_eq!(records.id_bytes, 4);
            let bytes = outcome.bytes(BINARY);
            assert_library_agrees(bytes, self_counts(&records, true), total_counts(&records, true));
        }
        let agent = format!("heap=dump,format=b,idsize=4,file={BINARY}");
        let run = JavaRun::new(jdk).agent(&agent).jvm_arg("-Xmx64m");
        let outcome = run.file("go", "").main("HeapObjects").args(["1000"]).run();
        outcome.assert_success();
        let recording = Recording::read(outcome.bytes(BINARY)).unwrap();
        let [Section::Heap(heap)] = &recording.sections[..] else { panic!("no heap dump") };
        let nodes = heap.objects.values().filter(|it| it.class == "HeapObjects$Node");
        assert_eq!((recording.id_bytes, nodes.count()), (4, 1000));
    });
}

/// The account in a file agrees with the file.
#[test]
fn the_accounting_adds_up() {
    jdk::each(|jdk| {
        let (outcome, records) = binary_run(jdk, ",interval=1", "ManyThreads", &["20", "10"]);
        let profile = perk_hprof::read(outcome.bytes(BINARY)).unwrap();
        let run = profile.accounting.unwrap();
        assert_eq!((run.pid, run.interval_ns), (outcome.pid, 1_000_000));
        assert_eq!(run.program, "ManyThreads 20 10");
        assert_eq!(run.engine, "signal");
        assert_eq!(run.sample_count, records.sample_count());
        assert!(run.thread_count >= records.threads.len() as u64);
        assert!(run.walk_count > 0 && run.walk_count >= run.failed_walk_count);
        assert!(run.perk_cpu_ns > 0 && run.perk_peak_bytes > 0);
        assert!(run.process_cpu_ns >= run.java_cpu_ns);
        assert_eq!((run.fault_count, run.folded_count), (0, 0));
        let threads_ns = outcome.number("threads_cpu_ns");
        assert!(run.java_cpu_ns >= threads_ns, "{} of {threads_ns}", run.java_cpu_ns);
        // Each thread begins with a random part of an interval.
        let slack = run.thread_count * run.interval_ns;
        let sampled_ns = (run.sample_count + run.unattributed_count) * run.interval_ns;
        assert!(sampled_ns.abs_diff(run.java_cpu_ns) <= slack, "{run:?}");
    });
}

/// The CPU time of the process is known by group of threads. Which groups have any depends on the JVM's
/// options: one collector works on the thread that stops the others.
#[test]
fn groups_of_threads_have_their_cpu_time() {
    jdk::each(|jdk| {
        if !jdk.has_javac {
            eprintln!("skipped: JDK {} has no compiler", jdk.version);
            return;
        }
        for flags in [
            &["-XX:+UseSerialGC", "-Xmx24m"][..],
            &["-XX:+UseG1GC", "-Xmx24m"],
            &["-XX:+UseZGC", "-Xmx48m"],
            &["-XX:TieredStopAtLevel=1"],
            &["-Xint"],
        ] {
            let what = format!("{} {flags:?}", jdk.version);
            let run = JavaRun::new(jdk).agent(&format!("monitor=y,format=p,file={BINARY}"));
            let run = flags.iter().fold(run, |run, flag| run.jvm_arg(flag));
            let methods = if flags == ["-Xint"] { "20" } else { "60" };
            let outcome = run.main("CompileInProcess").args([methods]).run();
            outcome.assert_success();
            let profile = perk_hprof::read(outcome.bytes(BINARY)).unwrap();
            let account = profile.accounting.unwrap();
            let groups = account.cpu_groups().unwrap();
            let time = |group| groups.iter().find(|it| it.0 == group).map_or(0, |it| it.1);
            assert_eq!(groups.iter().map(|it| it.1).sum::<u64>(), account.process_cpu_ns, "{what}");
            let has = [CpuGroup::Gc, CpuGroup::JitC1, CpuGroup::JitC2].map(|it| time(it) > 0);
            let expected = match flags {
                ["-Xint"] => [has[0], false, false],
                ["-XX:TieredStopAtLevel=1"] => [has[0], true, false],
                _ => [true, true, true],
            };
            assert_eq!(has, expected, "{what}: {account:?}");
            for group in [CpuGroup::Java, CpuGroup::Start, CpuGroup::Jvm, CpuGroup::Perk] {
                assert!(time(group) > 0, "{what}: {group:?} in {account:?}");
            }
            assert!(time(CpuGroup::Ended) < account.process_cpu_ns / 4, "{what}: {account:?}");
            assert!(account.idle_ns().unwrap() < account.wall_ns * account.cpu_count, "{what}");
        }
    });
}

/// Samples without a frame have no row, as with the original; the account has their CPU time.
#[test]
fn samples_without_a_stack_are_in_the_account_alone() {
    jdk::each(|jdk| {
        let mut unattributed_count = 0;
        // By chance all stacks of a run are known.
        for format in ['a', 'b'].into_iter().chain(['p'; 10]) {
            let agent = format!("cpu=samples,interval=1,format={format},file={BINARY}");
            // The threads are so short that few are met while they run.
            let run = JavaRun::new(jdk).agent(&agent).main("ManyThreads").args(["200", "2"]);
            let outcome = run.run();
            outcome.assert_success();
            let profile = perk_hprof::read(outcome.bytes(BINARY)).unwrap();
            let rows = profile.cpu_samples().flat_map(|samples| samples.rows);
            let empty = rows.filter(|row| profile.frames(row.0).next().is_none());
            assert_eq!(empty.count(), 0, "{}", outcome.report());
            if let Some(account) = &profile.accounting {
                assert_eq!(profile.total_cpu_samples().total, account.sample_count);
                unattributed_count = account.unattributed_count;
            }
            if unattributed_count > 0 {
                break;
            }
        }
        assert!(unattributed_count > 0);
    });
}
