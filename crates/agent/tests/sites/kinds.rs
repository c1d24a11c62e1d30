//! All ways in which Java code makes objects.

use perk_hotspot::layout::FieldKind::{EightBytes, FourBytes, OneByte, Reference, TwoBytes};
use perk_hotspot::layout::Jvm;
use perk_profile::{Allocations, Line, Profile, Site};
use perk_testkit::{JavaRun, Jdk, Signal, jdk, workspace};

use crate::Kind::{self, Array, Object};
use crate::{FILE, N, frames, read, sites, usual};

const PROGRAM: &str = "AllocationKinds";

/// The objects that each method of `AllocationKinds` makes: class (its own ones begin with `$`),
/// the number for each `n` and in addition, kind, and the percentage that lives.
const MADE: [(&str, &str, u64, u64, Kind, u64); 23] = [
    ("objects", "$Plain", 1, 0, Object(&[]), 50),
    ("boxes", "java.lang.Integer", 1, 0, Object(&[FourBytes]), 100),
    ("primitives", "boolean[]", 1, 0, Array(OneByte, 3), 0),
    ("primitives", "byte[]", 1, 0, Array(OneByte, 3), 0),
    ("primitives", "char[]", 1, 0, Array(TwoBytes, 3), 0),
    ("primitives", "short[]", 1, 0, Array(TwoBytes, 3), 0),
    ("primitives", "int[]", 1, 0, Array(FourBytes, 3), 0),
    ("primitives", "float[]", 1, 0, Array(FourBytes, 3), 0),
    ("primitives", "long[]", 1, 0, Array(EightBytes, 3), 0),
    ("primitives", "double[]", 1, 0, Array(EightBytes, 3), 0),
    ("references", "$Plain[]", 1, 0, Array(Reference, 2), 100),
    ("dimensions", "int[][][]", 1, 0, Array(Reference, 2), 0),
    ("dimensions", "int[][]", 2, 0, Array(Reference, 3), 0),
    ("clones", "$Copied", 1, 1, Object(&[EightBytes, FourBytes]), 100),
    ("clones", "double[]", 1, 1, Array(EightBytes, 5), 0),
    ("reflected", "$Reflected", 1, 0, Object(&[FourBytes]), 0),
    ("reflected", "float[][]", 1, 0, Array(Reference, 2), 0),
    ("lambdas", "$$Lambda", 1, 0, Object(&[FourBytes]), 0),
    ("records", "$Pair", 1, 0, Object(&[FourBytes, EightBytes]), 0),
    ("variable", "java.lang.Object[]", 1, 0, Array(Reference, 3), 0),
    ("inner", "$Outer", 0, 1, Object(&[]), 0),
    ("inner", "$Outer$Inner", 1, 0, Object(&[FourBytes, Reference]), 0),
    ("threaded", "$Threaded", 2, 0, Object(&[]), 0),
];

pub(crate) fn counted(jdk: &Jdk, options: &str) -> JavaRun {
    crate::counted(jdk, options).main(PROGRAM).args([N.to_string()])
}

fn made(profile: &Profile, method: &str, class: &str) -> Allocations {
    crate::made(profile, PROGRAM, method, class)
}

/// Returns the method, the class and the objects of each row of [`MADE`].
pub(crate) fn expected(
    jvm: &Jvm,
) -> impl Iterator<Item = (&'static str, &'static str, Allocations)> {
    MADE.into_iter().map(|(method, class, each, besides, kind, live_percent)| {
        let count = each * N + besides;
        let bytes = kind.bytes(jvm);
        let live = each * N * live_percent / 100;
        let objects = Allocations {
            live_bytes: live * bytes,
            live_count: live,
            allocated_bytes: count * bytes,
            allocated_count: count,
        };
        (method, class, objects)
    })
}

#[track_caller]
fn assert_made(profile: &Profile, jvm: &Jvm, what: &str) {
    for (method, class, expected) in expected(jvm) {
        assert_eq!(made(profile, method, class), expected, "{what}: {method} {class}");
    }
    let rows = made(profile, "reflected", "float[]");
    let rows_bytes = jvm.array_bytes(FourBytes, 2) + 2 * jvm.array_bytes(FourBytes, 3);
    assert_eq!((rows.allocated_count, rows.allocated_bytes), (3 * N, N * rows_bytes), "{what}");
    for (method, class) in [
        ("concatenated", "java.lang.String"),
        ("concatenated", "byte[]"),
        ("builders", "java.lang.StringBuilder"),
    ] {
        // The objects made for the way to the first one are included.
        let count = made(profile, method, class).allocated_count;
        assert!((N..3 * N).contains(&count), "{what}: {method} {class}: {count}");
    }
}

/// Runs with an option of the JVM, unless this JVM does not have it.
fn assert_made_with(jdk: &Jdk, jvm: &Jvm, flags: &[&str]) {
    let mut plain = JavaRun::new(jdk).main("ExitBySystemExit");
    let mut run = counted(jdk, "");
    for flag in flags {
        (plain, run) = (plain.jvm_arg(flag), run.jvm_arg(flag));
    }
    if plain.run().stderr.contains("VM option") {
        return;
    }
    assert_made(&read(&run.run()), jvm, &format!("{} {flags:?}", jdk.version));
}

#[test]
fn whatever_is_made_is_counted() {
    jdk::each(|jdk| {
        let profile = read(&counted(jdk, "").run());
        assert_made(&profile, &usual(jdk), &jdk.version.to_string());
        let account = profile.accounting.as_ref().unwrap();
        assert!(account.unsited_object_count > 0);
        assert_eq!(account.fault_count, 0);
    });
}

#[test]
fn by_every_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            let flag = format!("-XX:+Use{collector}GC");
            // ZGC has no compressed references.
            let oop_bytes = if collector == "Z" { 8 } else { 4 };
            assert_made_with(jdk, &Jvm { oop_bytes, ..usual(jdk) }, &[&flag]);
        }
    });
}

#[test]
fn by_every_compiler() {
    jdk::each(|jdk| {
        for flags in [&["-Xint"][..], &["-XX:TieredStopAtLevel=1"], &["-XX:-TieredCompilation"]] {
            assert_made_with(jdk, &usual(jdk), flags);
        }
    });
}

#[test]
fn sizes_are_those_of_the_jvm_without_perk() {
    jdk::each(|jdk| {
        let usual = usual(jdk);
        let wide = Jvm::new(jdk.version, 16, 8, 8);
        for (flags, jvm) in [
            (&["-XX:-UseCompressedOops"][..], Jvm { oop_bytes: 8, ..usual }),
            (&["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"], wide),
            (&["-XX:-UseCompressedClassPointers"], Jvm::new(jdk.version, 16, 4, 8)),
            (&["-XX:ObjectAlignmentInBytes=16"], Jvm { alignment_bytes: 16, ..usual }),
            (&["-XX:+UseCompactObjectHeaders"], Jvm::new(jdk.version, 8, 4, 8)),
        ] {
            assert_made_with(jdk, &jvm, flags);
        }
    });
}

#[test]
fn the_checks_of_jni_find_nothing() {
    jdk::each(|jdk| {
        let outcome = counted(jdk, "").jvm_arg("-Xcheck:jni").run();
        read(&outcome);
        assert_eq!(outcome.stdout, format!("n={N}\n"));
    });
}

#[test]
fn a_site_is_a_line() {
    let source = workspace().join("java/fixtures/AllocationKinds.java");
    let source = std::fs::read_to_string(source).unwrap();
    let line_of = |text: &str| {
        let before = source.lines().position(|line| line.contains(text)).unwrap();
        Line::Number(before as u32 + 1)
    };
    jdk::each(|jdk| {
        let profile = read(&counted(jdk, "").run());
        for (class, method, text) in [
            ("AllocationKinds$Plain", "objects", "last = new Plain()"),
            ("long[]", "primitives", "new long[3]"),
            ("double[]", "primitives", "new double[3]"),
        ] {
            let method = format!("AllocationKinds.{method}");
            let of_site = |site: &&Site| {
                profile.symbols.class_name(site.class) == class
                    && frames(&profile, site).contains(&(method.clone(), line_of(text)))
            };
            let sites = sites(&profile);
            let counts: Vec<_> = sites.iter().filter(of_site).collect();
            assert_eq!(counts.len(), 1, "{class}");
            assert_eq!(counts[0].objects.allocated_count, N, "{class}");
        }
        let without = read(&counted(jdk, ",lineno=n").run());
        assert_made(&without, &usual(jdk), "lineno=n");
        let has_line =
            |site| frames(&without, site).iter().any(|(_, line)| matches!(line, Line::Number(_)));
        assert!(!sites(&without).iter().any(has_line));
    });
}

#[test]
fn traces_are_as_deep_as_asked_for() {
    jdk::each(|jdk| {
        for depth in [0, 1, 2, 4] {
            let options = format!("heap=sites,depth={depth},cutoff=0,format=p,file={FILE}");
            let run = JavaRun::new(jdk).agent(&options).main(PROGRAM);
            let profile = read(&run.args([N.to_string()]).run());
            let sites = sites(&profile);
            let deepest = sites.iter().map(|site| frames(&profile, site).len()).max();
            assert_eq!(deepest, Some(depth), "depth={depth}");
            let of_class = sites.iter().filter(|site| {
                profile.symbols.class_name(site.class) == "AllocationKinds$Threaded"
            });
            assert_eq!(of_class.map(|it| it.objects.allocated_count).sum::<u64>(), 2 * N);
        }
    });
}

#[test]
fn threads_are_distinguished() {
    jdk::each(|jdk| {
        let profile = read(&counted(jdk, ",thread=y").run());
        assert_made(&profile, &usual(jdk), "thread=y");
        let mut threads: Vec<_> = sites(&profile)
            .iter()
            .filter(|site| profile.symbols.class_name(site.class) == "AllocationKinds$Threaded")
            .map(|site| {
                let thread = profile.get_trace(site.trace).thread.expect("a thread");
                (profile.thread_name(thread), site.objects.allocated_count)
            })
            .collect();
        threads.sort_unstable();
        assert_eq!(threads, [("first", N), ("second", N)]);
    });
}

#[test]
fn calls_are_counted_as_ever() {
    jdk::each(|jdk| {
        let profile = read(&counted(jdk, ",cpu=times").run());
        assert_made(&profile, &usual(jdk), "cpu=times");
        let times = profile.call_times().next().expect("a section of times");
        let of_takes = times.rows.iter().filter(|row| {
            let frame = profile.frames(row.trace).next().map(|id| profile.symbols.get_frame(id));
            frame.is_some_and(|it| {
                assert_eq!(it.line, Line::Unknown);
                profile.symbols.method_name(it.method) == "AllocationKinds.takes"
            })
        });
        assert_eq!(of_takes.map(|row| row.count).collect::<Vec<_>>(), [N]);
    });
}

#[test]
fn each_dump_counts_from_the_start() {
    let plain = |profile: &Profile| {
        let of_class = sites(profile)
            .into_iter()
            .filter(|site| profile.symbols.class_name(site.class) == "AllocationsUntilStop$Plain");
        let mut sum = Allocations::default();
        of_class.for_each(|site| sum.add(site.objects));
        (sum.live_count, sum.allocated_count)
    };
    jdk::each(|jdk| {
        let options = format!("heap=sites,cutoff=0,gc=y,file={FILE}");
        let run = JavaRun::new(jdk).agent(&options).main("AllocationsUntilStop");
        let mut running = run.args([N.to_string()]).spawn();
        running.wait_for_stdout("ready");
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |run| run.dir().join(FILE).exists());
        let dump = std::fs::read(running.dir().join(FILE)).unwrap();
        assert_eq!(plain(&perk_hprof::read(&dump[..]).unwrap()), (N / 2, N));
        std::fs::write(running.dir().join("stop"), "").unwrap();
        assert_eq!(plain(&read(&running.wait())), (N, 2 * N));
    });
}

#[test]
fn the_table_by_class_is_printed() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("aprof=y,cutoff=0,file={FILE}"));
        let outcome = run.main(PROGRAM).args([N.to_string()]).run();
        outcome.assert_success();
        let table = perk_hprof::aprof::tables(outcome.stdout.as_bytes()).unwrap().remove(0);
        for (class, kind, count) in [
            ("AllocationKinds$Plain", Object(&[]), N),
            ("AllocationKinds$Threaded", Object(&[]), 2 * N),
            ("AllocationKinds$Copied", Object(&[EightBytes, FourBytes]), N + 1),
            ("AllocationKinds$Plain[]", Array(Reference, 2), N),
            ("int[][][]", Array(Reference, 2), N),
        ] {
            let row = table.rows.iter().find(|row| row.class == class).expect(class);
            assert_eq!((row.count, row.bytes), (count, count * kind.bytes(&usual(jdk))), "{class}");
        }
    });
}

#[test]
fn allocated_objects_alone_can_be_counted() {
    jdk::each(|jdk| {
        let what = jdk.version;
        let profile = read(&counted(jdk, ",live=n").run());
        for (method, class, each, besides, kind, _) in MADE {
            let (count, bytes) = (each * N + besides, kind.bytes(&usual(jdk)));
            let expected = Allocations::of([0, 0, count * bytes, count]);
            assert_eq!(made(&profile, method, class), expected, "{what}: {method} {class}");
        }
        let section = profile.sites().unwrap();
        assert!(!section.known.live && section.rows.len() > 10, "{what}");
        // The JVM makes some before a thread's first method.
        assert!(profile.accounting.unwrap().unsited_object_count < 10, "{what}");
        // perk's own file has all of them.
        let all = read(&counted(jdk, ",live=n,cutoff=0.01").run()).sites().unwrap().rows.len();
        assert!(all * 10 > section.rows.len() * 9, "{what}: {all} of {}", section.rows.len());
    });
}
