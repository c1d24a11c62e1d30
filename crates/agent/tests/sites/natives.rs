//! The objects that native code makes by JNI: that of the JDK, and that of a library which calls
//! all functions.

use std::path::Path;

use perk_hotspot::layout::FieldKind::{EightBytes, FourBytes, OneByte, Reference, TwoBytes};
use perk_profile::{Allocations, Profile};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk, native_library};

use crate::Kind::{self, Array, Object};
use crate::{N, counted, frames, made, read, sites, usual};

const PROGRAM: &str = "NativeAllocations";

/// The number of files in the folder that the program lists, and of the loads of four classes.
const FILES: u64 = 20;
const LOADERS: u64 = 10;

const STRING: Kind = Object(&[Reference, FourBytes, OneByte, OneByte]);

/// The objects that the library makes for each `n`.
const MADE: [(&str, &[Kind]); 12] = [
    ("boolean[]", &[Array(OneByte, 1)]),
    ("byte[]", &[Array(OneByte, 2), Array(OneByte, 0), Array(OneByte, 5), Array(OneByte, 12)]),
    ("char[]", &[Array(TwoBytes, 3)]),
    ("short[]", &[Array(TwoBytes, 4)]),
    ("int[]", &[Array(FourBytes, 5)]),
    ("long[]", &[Array(EightBytes, 6)]),
    ("float[]", &[Array(FourBytes, 7)]),
    ("double[]", &[Array(EightBytes, 8)]),
    ("$Plain[]", &[Array(Reference, 9)]),
    ("java.lang.String", &[STRING; 3]),
    ("$Plain", &[Object(&[FourBytes]); 2]),
    ("java.nio.DirectByteBuffer", &[]),
];

fn run(jdk: &Jdk, options: &str) -> JavaRun {
    counted(jdk, options).main(PROGRAM).args([N.to_string()])
}

/// Compiles the library.
fn library(folder: &Path) -> String {
    native_library::compile("crates/agent/tests/sites/library.rs", folder)
}

/// Returns the objects of a class made directly in a method whose name begins with `method`.
fn made_in(profile: &Profile, method: &str, class: &str) -> Allocations {
    let mut sum = Allocations::default();
    for site in &sites(profile) {
        let is_in = frames(profile, site).first().is_some_and(|(name, _)| name.starts_with(method));
        if is_in && profile.symbols.class_name(site.class) == class {
            sum.add(site.objects);
        }
    }
    sum
}

fn environment(outcome: &Outcome) -> u64 {
    let line = outcome.stdout.lines().find_map(|line| line.strip_prefix("environment="));
    line.and_then(|size| size.parse().ok()).expect("the number of variables")
}

#[test]
fn the_jdks_natives_are_counted() {
    jdk::each(|jdk| {
        let (jvm, what) = (usual(jdk), jdk.version);
        let outcome = run(jdk, "").run();
        let profile = read(&outcome);
        let count = |method: &str, class| made(&profile, PROGRAM, method, class).allocated_count;

        let variables = environment(&outcome);
        assert!(variables > 0);
        let in_environ = |class| {
            made_in(&profile, "java.lang.ProcessEnvironment.environ", class).allocated_count
        };
        assert_eq!(in_environ("byte[]"), 2 * variables, "{what}");
        assert_eq!(in_environ("byte[][]"), 1, "{what}");

        assert_eq!(count("listed", "java.lang.String"), N * FILES, "{what}");
        assert_eq!(count("listed", "byte[]"), N * FILES, "{what}");
        let arrays = made(&profile, PROGRAM, "listed", "java.lang.String[]");
        let arrays_bytes = [16, 32, FILES as u32].map(|it| jvm.array_bytes(Reference, it));
        assert_eq!(arrays.allocated_count, N * 3, "{what}");
        assert_eq!(arrays.allocated_bytes, N * arrays_bytes.iter().sum::<u64>(), "{what}");

        let names = made_in(&profile, "sun.nio.fs.UnixNativeDispatcher.readdir", "byte[]");
        assert_eq!(names.allocated_count, N * (FILES + 2), "{what}");

        assert_eq!(count("allocated", "$Plain"), N, "{what}");
    });
}

#[test]
fn what_a_class_loader_makes_is_counted_once() {
    jdk::each(|jdk| {
        let profile = read(&run(jdk, "").run());
        let loader = format!("{PROGRAM}$Loader");
        let count = |class| made(&profile, &loader, "make", class).allocated_count;
        let what = jdk.version;
        assert_eq!(count("long[]"), LOADERS * 4, "{what}");
        assert_eq!(count("java.lang.String"), LOADERS * 4 * FILES, "{what}");
        assert_eq!(count("byte[]"), LOADERS * 4 * FILES, "{what}");
        // The JVM called the loader, and reports its objects at the end.
        for class in ["long[]", "java.lang.String[]"] {
            let in_jvm = made_in(&profile, "java.lang.Class.getDeclaredMethods0", class);
            assert_eq!(in_jvm.allocated_count, 0, "{what}: {class}");
        }
        let methods = made(&profile, PROGRAM, "loaded", "java.lang.reflect.Method");
        let made_by_jvm =
            made_in(&profile, "java.lang.Class.getDeclaredMethods0", "java.lang.reflect.Method");
        assert!(methods.allocated_count >= LOADERS, "{what}");
        assert!(made_by_jvm.allocated_count >= LOADERS, "{what}");
    });
}

#[test]
fn all_functions_are_counted_in_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    jdk::each(|jdk| {
        let jvm = usual(jdk);
        let outcome = run(jdk, "").args([library.as_str(), "all"]).run();
        let profile = read(&outcome);
        assert!(outcome.stdout.contains("\npending\nrefused\n"), "{}", outcome.report());
        let virtually = if jdk.version >= 21 { N } else { 0 };
        for (method, n) in [("here", N), ("there", N), ("virtually", virtually)] {
            for (class, kinds) in MADE {
                let what = format!("{}: {method} {class}", jdk.version);
                let objects = made(&profile, PROGRAM, method, class);
                if kinds.is_empty() {
                    assert_eq!(objects.allocated_count, n, "{what}");
                    continue;
                }
                let bytes = kinds.iter().map(|kind| kind.bytes(&jvm)).sum::<u64>();
                assert_eq!(objects.allocated_count, n * kinds.len() as u64, "{what}");
                assert_eq!(objects.allocated_bytes, n * bytes, "{what}");
                let is_kept = method == "here" && ["java.lang.String", "byte[]"].contains(&class);
                assert_eq!(objects.live_count, if is_kept { n } else { 0 }, "{what}");
            }
        }
    });
}

#[test]
fn the_table_by_class_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent("aprof=y,cutoff=0,file=o.hprof").main(PROGRAM);
        let outcome = run.args([N.to_string(), library.clone()]).run();
        outcome.assert_success();
        let table = outcome.stdout.split_once(&format!("\nn={N}\n")).expect("the last line").1;
        let table = perk_hprof::aprof::tables(table.as_bytes()).unwrap().remove(0);
        let threads = if jdk.version >= 21 { 3 } else { 2 };
        for (class, each, besides) in
            [("NativeAllocations$Plain[]", 1, 0), ("NativeAllocations$Plain", 2, N)]
        {
            let row = table.rows.iter().find(|row| row.class == class).expect(class);
            assert_eq!(row.count, threads * each * N + besides, "{}: {class}", jdk.version);
        }
    });
}

#[test]
fn the_checks_of_jni_find_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    jdk::each(|jdk| {
        let outcome = run(jdk, "").jvm_arg("-Xcheck:jni").args([library.as_str()]).run();
        read(&outcome);
        let variables = environment(&outcome);
        assert_eq!(outcome.stdout, format!("environment={variables}\nn={N}\n"));
    });
}
