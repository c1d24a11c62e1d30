//! Arrays, boxes and plain objects are found by identity hashes that perk gives them: with every
//! collector, compiler and form of headers, and whatever a program does with its objects.

use perk_hotspot::layout::FieldKind::FourBytes;
use perk_profile::Profile;
use perk_testkit::{JavaRun, Jdk, Outcome, compiled_at_once, jdk};

use crate::Kind::Array;
use crate::{FILE, made, read, usual};

const PROGRAM: &str = "Identities";
/// The hashes of the JVM, which are random, would be the same for a few of these many objects.
const MANY: u64 = 200_000;

/// The methods that make objects, the classes of these, and their number per object that is kept.
const MADE: [(&str, &str, u64); 16] = [
    ("ints", "int[]", 1),
    ("otherInts", "int[]", 1),
    ("bytes", "byte[]", 1),
    ("longs", "long[]", 1),
    ("references", "java.lang.Object[]", 1),
    ("rows", "int[][]", 1),
    ("rows", "int[]", 2),
    ("clones", "int[]", 1),
    ("copies", "int[]", 1),
    ("reflected", "int[]", 1),
    ("boxes", "java.lang.Integer", 1),
    ("objects", "java.lang.Object", 1),
    ("many", "short[]", 1),
    ("escape", "int[]", 1),
    ("locks", "char[]", 1),
    ("locks", "java.lang.Object", 1),
];

/// Runs the program; `None` if this JVM does not have one of the options.
fn run(jdk: &Jdk, rounds: u64, flags: &[&str]) -> Option<(Outcome, Profile)> {
    let options = format!("heap=sites,depth=4,cutoff=0,gc=y,format=p,file={FILE}");
    let mut plain = JavaRun::new(jdk).main("ExitBySystemExit");
    let mut run = JavaRun::new(jdk).agent(&options).main(PROGRAM);
    run = run.args([rounds.to_string(), MANY.to_string()]).jvm_arg("-Xmx256m");
    for flag in flags {
        (plain, run) = (plain.jvm_arg(flag), run.jvm_arg(flag));
    }
    if plain.run().stderr.contains("VM option") {
        return None;
    }
    let outcome = run.run();
    let profile = read(&outcome);
    Some((outcome, profile))
}

/// Every object that is kept is at its site, and no other is.
#[track_caller]
fn assert_found(jdk: &Jdk, rounds: u64, flags: &[&str]) {
    let Some((outcome, profile)) = run(jdk, rounds, flags) else { return };
    for (method, class, count) in MADE {
        let what = format!("{} {flags:?}: {method} {class}", jdk.version);
        let expected = outcome.number(method) * count;
        assert!(expected > 0, "{what}");
        assert_eq!(made(&profile, PROGRAM, method, class).live_count, expected, "{what}");
    }
    assert_eq!(profile.accounting.as_ref().unwrap().fault_count, 0);
}

#[test]
fn with_every_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            assert_found(jdk, 20_000, &[&format!("-XX:+Use{collector}GC")]);
        }
    });
}

#[test]
fn with_every_compiler() {
    jdk::each(|jdk| {
        assert_found(jdk, 2_000, &["-Xint"]);
        let at_once = compiled_at_once("Identities*");
        let at_once: Vec<&str> =
            at_once.iter().map(String::as_str).chain(["-XX:-TieredCompilation"]).collect();
        for flags in [
            &["-XX:TieredStopAtLevel=1"][..],
            &["-XX:-TieredCompilation"],
            &at_once,
            &["-XX:-DoEscapeAnalysis"],
        ] {
            assert_found(jdk, 20_000, flags);
        }
    });
}

#[test]
fn with_every_form_of_headers_and_locks() {
    jdk::each(|jdk| {
        for flags in [
            &["-XX:-UseCompressedOops"][..],
            &["-XX:-UseCompressedClassPointers"],
            &["-XX:ObjectAlignmentInBytes=16"],
            &["-XX:+UseCompactObjectHeaders"],
            &["-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"],
            &["-XX:+UseCompactObjectHeaders", "-XX:+UseShenandoahGC"],
            &["-XX:+UseBiasedLocking", "-XX:BiasedLockingStartupDelay=0"],
            &["-XX:LockingMode=0"],
            &["-XX:LockingMode=2"],
            &["-XX:+UnlockDiagnosticVMOptions", "-XX:+UseObjectMonitorTable"],
            // All hashes are 1: perk leaves them alone.
            &["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"],
            &["-XX:+UseStringDeduplication"],
        ] {
            assert_found(jdk, 20_000, flags);
        }
    });
}

/// The hashes are those of perk: each object of a site has one of its own.
#[test]
fn hashes_differ_and_sizes_are_known() {
    jdk::each(|jdk| {
        let (outcome, profile) = run(jdk, 20_000, &[]).expect("no options");
        assert_eq!(outcome.number("distinct"), MANY, "{}", jdk.version);
        let made = made(&profile, PROGRAM, "ints", "int[]");
        let bytes = Array(FourBytes, 3).bytes(&usual(jdk));
        assert_eq!(made.live_bytes, outcome.number("ints") * bytes, "{}", jdk.version);
    });
}

const BIASED: &str = "
public class Biased {
    static Object[] kept = new Object[200_000];

    public static void main(String[] arguments) {
        for (int i = 0; i < 700_000; i++) {
            kept[i % kept.length] = new Object();
        }
        long distinct =
                java.util.Arrays.stream(kept).mapToInt(System::identityHashCode).distinct().count();
        System.out.println(\"distinct=\" + distinct);
    }
}
";

/// With biased locking the headers of new objects have no room for a hash. These get one from the JVM:
/// 49 of them have one in a block of their site, which has 8,191 of 2^25 blocks.
#[test]
fn identity_hashes_of_the_jvm_lead_to_no_site() {
    let classes = perk_testkit::fixture::compile_text("Biased", BIASED);
    jdk::on(17, |jdk| {
        let options = format!("heap=sites,cutoff=0,gc=y,format=p,file={FILE}");
        let run = JavaRun::new(jdk).agent(&options).classes(classes).main("Biased");
        let run = ["-XX:+UseBiasedLocking", "-XX:BiasedLockingStartupDelay=0"]
            .into_iter()
            .fold(run, |run, flag| run.jvm_arg(flag));
        let outcome = run.run();
        assert!((150_000..=200_000).contains(&outcome.number("distinct")));
        let objects = made(&read(&outcome), "Biased", "main", "java.lang.Object");
        assert_eq!((objects.allocated_count, objects.live_count), (700_000, 200_000));
    });
}
