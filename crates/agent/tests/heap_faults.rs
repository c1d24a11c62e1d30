//! Heap dumps in difficult programs: while classes are loaded, in a deadlock, with names of any
//! letters, and with as many fields as a class can have.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::{fs, thread, time::Duration};

use perk_testkit::hprof::{Contents, Heap, Recording, Section};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk};

const FILE: &str = "o.hprof";
const GO: &str = "go";

fn run(jdk: &Jdk, options: &str, main: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("{options},file={FILE}")).main(main)
}

#[track_caller]
fn recording(outcome: &Outcome) -> Recording {
    outcome.assert_success();
    assert!(!outcome.stderr.contains("HPROF ERROR"), "{}", outcome.report());
    Recording::read(outcome.bytes(FILE)).unwrap_or_else(|what| panic!("{what}"))
}

fn heaps(recording: &Recording) -> Vec<&Heap> {
    let heaps = recording.sections.iter().filter_map(|section| match section {
        Section::Heap(heap) => Some(heap),
        _ => None,
    });
    heaps.collect()
}

fn go(running: RunningJava) -> Outcome {
    fs::write(running.dir().join(GO), "").unwrap();
    running.wait()
}

/// Every class of which a dump has an object is in the file, although thousands come and go.
#[test]
fn classes_are_loaded_while_the_heap_is_dumped() {
    jdk::each(|jdk| {
        for options in ["heap=dump,format=b", "heap=all"] {
            let storm = run(jdk, options, "LoadingStorm").args(["4"]).jvm_arg("-Xmx256m");
            let mut running = storm.spawn();
            running.wait_for_stdout("ready");
            for _ in 0..3 {
                running.signal(Signal::QUIT);
                thread::sleep(Duration::from_millis(100));
            }
            let outcome = go(running);
            let recording = recording(&outcome);
            assert!(outcome.number("defined") >= 400);
            let heaps = heaps(&recording);
            assert!(heaps.len() >= 2, "{options}: {} dumps", heaps.len());
            for heap in heaps {
                let of = |name| heap.objects.values().filter(move |it| it.class == name).count();
                assert!(of("LoadingStorm$Loader") > 0);
                let copies = heap.classes.values().filter(|it| it.name == "LoadingStorm$Payload");
                let loaders: Vec<u64> = copies.map(|class| class.links[1]).collect();
                let different: BTreeSet<_> = loaders.iter().collect();
                assert!(!loaders.is_empty() && different.len() == loaders.len());
            }
        }
    });
}

/// Readers such as jhat look for threads and stacks when a root refers to them.
#[test]
fn threads_come_and_go_while_the_heap_is_dumped() {
    jdk::each(|jdk| {
        for options in ["heap=dump,format=b", "heap=all,format=b,thread=y", "heap=dump"] {
            let coming = run(jdk, options, "ComingThreads").args(["4", "50"]).jvm_arg("-Xmx256m");
            let mut running = coming.spawn();
            running.wait_for_stdout("ready");
            for _ in 0..8 {
                running.signal(Signal::QUIT);
                thread::sleep(Duration::from_millis(100));
            }
            let outcome = go(running);
            let recording = recording(&outcome);
            let parked_count = outcome.number("parked");
            let heaps = heaps(&recording);
            assert!(heaps.len() >= 2, "{options}: {} dumps", heaps.len());
            let mut main_count = 0;
            for heap in heaps {
                let what = format!("JDK {} {options}", jdk.version);
                assert!(heap.late.is_empty(), "{what}: {:?}", heap.late);
                let stacks = heap.roots.iter().filter_map(|root| Some((root.thread?, root.trace?)));
                let stacks: Vec<_> = stacks.filter(|it| it.0 != 200_000).collect();
                assert!(!stacks.is_empty(), "{what}");
                for (thread, trace) in &stacks {
                    assert_eq!(recording.traces[trace].thread, Some(*thread), "{what}");
                }
                let is_of = |method: &str, trace: u32| {
                    recording.frames(trace).iter().any(|it| it.method == method)
                };
                let count = |method| stacks.iter().filter(|it| is_of(method, it.1)).count() as u64;
                main_count += count("ComingThreads.main");
                // JDK 21 does not report the references of parked virtual threads.
                let expected = if jdk.version == 21 { 0 } else { parked_count };
                assert_eq!(count("ComingThreads.park"), expected, "{what}");
            }
            assert!(main_count > 0, "JDK {} {options}", jdk.version);
        }
    });
}

/// An array that only a local variable of a virtual thread holds looks like a filler if the JVM
/// does not report the references of parked threads.
#[test]
fn what_parked_threads_hold_is_the_program_s() {
    jdk::each(|jdk| {
        let program = run(jdk, "heap=dump,format=b", "ComingThreads").args(["1", "50"]);
        let mut running = program.spawn();
        running.wait_for_stdout("ready");
        running.signal(Signal::QUIT);
        let outcome = go(running);
        let recording = recording(&outcome);
        let heap = heaps(&recording)[0];
        let is_kept = |contents: &Contents| matches!(contents, Contents::Primitives(999, Some(_)));
        let kept = heap.objects.values().filter(|it| it.class == "int[]" && is_kept(&it.contents));
        assert_eq!(kept.count() as u64, outcome.number("parked"), "JDK {}", jdk.version);
    });
}

#[test]
fn a_deadlock_is_dumped() {
    jdk::each(|jdk| {
        for options in ["heap=dump,format=b", "heap=all,monitor=y"] {
            let deadlock = run(jdk, options, "Deadlock").args(["400"]);
            let mut running = deadlock.spawn();
            running.wait_for_stdout("deadlocked");
            running.signal(Signal::QUIT);
            let recording = recording(&running.wait());
            let heaps = heaps(&recording);
            assert_eq!(heaps.len(), 2, "{options}");
            for heap in heaps {
                let on_stacks = heap.roots.iter().filter(|root| root.kind == "Java stack");
                let forks = on_stacks.map(|root| root.object);
                let is_fork =
                    |id: &u64| heap.objects.get(id).is_some_and(|it| it.class == "Deadlock$Fork");
                let forks = forks.filter(is_fork);
                assert_eq!(forks.collect::<BTreeSet<_>>().len(), 3);
                let stacks = heap.roots.iter().filter_map(|root| root.trace);
                let is_dining = |trace: &u32| {
                    recording.frames(*trace).first().is_some_and(|it| it.method == "Deadlock.dine")
                };
                let dining: BTreeSet<_> = stacks.filter(|it| *it != 0).filter(is_dining).collect();
                assert_eq!(dining.len(), 3);
            }
        }
    });
}

#[test]
fn names_have_any_letters() {
    jdk::each(|jdk| {
        for options in ["heap=dump,format=b", "heap=dump"] {
            let outcome = run(jdk, options, "StrangeNames").args(["1"]).run();
            let recording = recording(&outcome);
            let heap = heaps(&recording)[0];
            let names: BTreeSet<_> = heap.classes.values().map(|it| it.name.as_str()).collect();
            let odd = if options.contains("format=b") {
                "odd.Tab\tNewline\nNul\0"
            } else {
                "odd.Tab\tNewline\\nNul\0"
            };
            let long = format!("odd.{}", "x".repeat(60_000));
            for name in ["odd.Größe中😀", "odd.Quote\"d", odd, &long] {
                assert!(names.contains(name), "no {name:.80} among {} classes", names.len());
            }
        }
    });
}

/// Makes a class of that many static fields, whose `main` does nothing. Two of the fields have
/// names of letters that modified UTF-8 encodes differently.
fn class_of_statics(name: &str, field_count: usize) -> Vec<u8> {
    let odd: [&[u8]; 2] = [b"nul\xC0\x80", b"\xED\xA0\xBD\xED\xB8\x80"];
    let names = (0..256).map(|at| format!("f{at}").into_bytes());
    // One of each kind and number of dimensions.
    let types =
        (0..256).map(|at| ["[".repeat(at / 8).as_str(), &"BCDFIJSZ"[at % 8..][..1]].concat());
    let mut texts: Vec<Vec<u8>> = vec![name.into(), b"java/lang/Object".into()];
    texts.extend([b"main".to_vec(), b"([Ljava/lang/String;)V".to_vec(), b"Code".to_vec()]);
    texts.extend(names);
    texts.extend(types.map(String::into_bytes));
    for (at, name) in odd.iter().enumerate() {
        texts[5 + at] = name.to_vec();
    }
    let u2 = |value: usize| (value as u16).to_be_bytes();
    let mut class = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 49];
    class.extend(u2(texts.len() + 3));
    for text in &texts {
        class.extend([&[1][..], &u2(text.len()), text].concat());
    }
    let pool = texts.len();
    class.extend([&[7][..], &u2(1), &[7], &u2(2)].concat());
    class.extend([0x21, pool + 1, pool + 2, 0, field_count].map(u2).concat());
    for at in 0..field_count {
        class.extend([8, 6 + at % 256, 6 + 256 + at / 256, 0].map(u2).concat());
    }
    class.extend([1, 9, 3, 4, 1, 5].map(u2).concat());
    // One local variable and `return`.
    class.extend([0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 1, 0xB1, 0, 0, 0, 0]);
    class.extend(u2(0));
    class
}

#[test]
fn a_class_has_as_many_fields_as_there_can_be() {
    jdk::each(|jdk| {
        // From JDK 21 on, the JVM's time grows with the square of the number: the maximum would
        // take a minute.
        let field_count = if jdk.version == 17 { 65_535 } else { 6_000 };
        let folder = tempfile::tempdir().unwrap();
        let class = class_of_statics("Statics", field_count);
        fs::write(folder.path().join("Statics.class"), class).unwrap();
        for options in ["heap=dump", "heap=all,format=b"] {
            let outcome = run(jdk, options, "Statics").classes(folder.path()).run();
            let recording = recording(&outcome);
            let heap = heaps(&recording)[0];
            let class = heap.classes.values().find(|class| class.name == "Statics").unwrap();
            if options.contains("format=b") {
                assert_eq!(class.statics.len(), field_count);
                let odd = |name: &str| ["nul\0", "😀"].contains(&name);
                let odd_count = class.statics.iter().filter(|field| odd(&field.0)).count();
                let expected = (0..field_count).filter(|at| at % 256 < 2).count();
                assert_eq!(odd_count, expected);
            }
        }
    });
}
