//! Sums of accesses while the records of dead objects are written and their memory is used again.

use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use crate::{Counts, FILE, Record, add, counted, parse};

const PROGRAM: &str = "FieldStorm";
const MILLIONS: u64 = 3_000_000;

fn run(jdk: &Jdk, options: &str, count: u64) -> JavaRun {
    let run = counted(jdk, &format!(",aggregate=site{options}")).main(PROGRAM);
    run.args([count.to_string()]).timeout(std::time::Duration::from_secs(240))
}

/// Returns the counts of the objects of a class that `FieldStorm.work` makes, and their number.
fn sums(outcome: &Outcome, class: &str) -> (Vec<Counts>, u64) {
    let (mut sums, mut objects) = (vec![[0; 4]; 2], 0);
    let is_counted = |record: &Record| record.method() == "work" && record.class == class;
    for (record, count) in parse(outcome.bytes(FILE)).unwrap() {
        if is_counted(&record) {
            let fields = sums.iter_mut().zip(&record.fields);
            fields.for_each(|(sum, (_, counts))| add(sum, *counts, count));
            objects += count;
        }
    }
    (sums, objects)
}

/// Checks the sums of a run with options of the JVM, unless this JVM does not have them.
fn assert_sums(jdk: &Jdk, count: u64, flags: &[&str]) {
    let mut plain = JavaRun::new(jdk).main("ExitBySystemExit");
    // The records of a million rounds need 192 MB.
    let mut run = run(jdk, ",memlimit=64m", count).jvm_arg("-Xmx200m");
    for flag in flags {
        (plain, run) = (plain.jvm_arg(flag), run.jvm_arg(flag));
    }
    if plain.run().stderr.contains("VM option") {
        return;
    }
    let outcome = run.run();
    outcome.assert_success();
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
    let (n, what) = (2 * count, format!("{} {flags:?}", jdk.version));
    // The last field comes first.
    let small = (vec![[n, 0, n, 0], [2 * n, 0, n, 0]], n);
    assert_eq!(sums(&outcome, "FieldStorm$Small"), small, "{what}");
    let arrays = (vec![[n, 0, 0, 0], [3 * n, 0, 2 * n, 0]], n);
    assert_eq!(sums(&outcome, "[I"), arrays, "{what}");
}

#[test]
fn of_millions_of_objects() {
    jdk::each(|jdk| assert_sums(jdk, MILLIONS, &[]));
}

#[test]
fn with_every_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "Z", "Shenandoah"] {
            assert_sums(jdk, 1_000_000, &[&format!("-XX:+Use{collector}GC")]);
        }
    });
}

#[test]
fn with_every_layout_of_objects() {
    jdk::each(|jdk| {
        for flag in ["-XX:-UseCompressedOops", "-XX:+UseCompactObjectHeaders"] {
            assert_sums(jdk, 1_000_000, &[flag]);
        }
    });
}

#[test]
fn by_every_compiler() {
    jdk::each(|jdk| {
        assert_sums(jdk, 100_000, &["-Xint"]);
        for flag in ["-XX:TieredStopAtLevel=1", "-XX:-DoEscapeAnalysis", "-XX:-TieredCompilation"] {
            assert_sums(jdk, 1_000_000, &[flag]);
        }
    });
}

/// With less memory than the records of the living objects and of the threads need, accesses are
/// lost, but not unnoticed.
#[test]
fn what_exceeds_the_limit_of_memory_is_known() {
    let all = |outcome: &Outcome| {
        outcome.assert_success();
        let records = parse(outcome.bytes(FILE)).unwrap();
        let counts = records.iter().flat_map(|(record, &count)| {
            record.fields.iter().map(move |(_, counts)| counts.iter().sum::<u64>() * count)
        });
        counts.sum::<u64>()
    };
    jdk::each(|jdk| {
        let run = |limit: &str| run(jdk, &format!(",include=FieldStorm,{limit}"), 200_000).run();
        let plenty = run("memlimit=256m");
        assert_eq!(plenty.stderr, "");
        assert!(all(&plenty) > 12 * 400_000);
        let little = run("memlimit=200k");
        let lost = little.stderr.strip_prefix("HPROF WARNING: ").expect("a warning");
        let (lost, rest) = lost.split_once(' ').unwrap();
        assert_eq!(
            rest,
            "accesses to fields are not in the file: the records of objects have reached memlimit\n"
        );
        let lost: u64 = lost.parse().unwrap();
        assert!(lost > 0 && all(&little) > 0);
        assert_eq!(all(&little) + lost, all(&plenty), "{}", jdk.version);
    });
}

/// Runs `FieldScale` with all its objects in 4 MB of records. Returns the objects of a class, their
/// accesses, and the warning.
fn in_four_megabytes(jdk: &Jdk, what: &str, class: &str) -> (u64, u64, String) {
    let run = counted(jdk, ",aggregate=site,include=FieldScale,memlimit=4m").main("FieldScale");
    let outcome = run.args([what, "2000000"]).jvm_arg("-Xmx300m").run();
    outcome.assert_success();
    // The sum of all numbers below 2 million.
    assert_eq!(outcome.stdout, format!("{what}=1999999000000\n"));
    let (mut accesses, mut objects) = (0, 0);
    for (record, count) in parse(outcome.bytes(FILE)).unwrap() {
        if record.class == class {
            let counts = record.fields.iter().flat_map(|(_, counts)| counts);
            accesses += counts.sum::<u64>() * count;
            objects += count;
        }
    }
    (objects, accesses, outcome.stderr)
}

#[test]
fn four_megabytes_are_enough_for_objects_that_die() {
    jdk::each(|jdk| {
        let found = in_four_megabytes(jdk, "dead", "FieldScale$One");
        assert_eq!(found, (2_000_000, 4_000_000, String::new()), "{}", jdk.version);
    });
}

#[test]
fn four_megabytes_are_not_enough_for_objects_that_live() {
    jdk::each(|jdk| {
        let (objects, accesses, warning) = in_four_megabytes(jdk, "live", "FieldScale$Pair");
        let lost = warning.strip_prefix("HPROF WARNING: ").and_then(|it| it.split_once(' '));
        let (lost, rest) = lost.unwrap_or_else(|| panic!("{warning}"));
        assert!(rest.ends_with("the records of objects have reached memlimit\n"), "{warning}");
        // A record of two fields has 48 bytes.
        assert!((50_000..=(4 << 20) / 48).contains(&objects), "{objects}");
        assert_eq!(accesses + lost.parse::<u64>().unwrap(), 6_000_000, "{}", jdk.version);
    });
}

const STRANGERS: &str = "
public class Strangers {
    static int[][] kept;

    static void work(int count) {
        kept = new int[count][];
        for (int i = 0; i < count; i++) {
            int[] array = new int[2];
            array[0] = i;
            kept[i] = array;
        }
    }

    /** A clone has no record before its first access, and an identity hash of the JVM's. */
    static void others(int count) {
        int[] original = new int[4];
        int sum = 0;
        for (int i = 0; i < count; i++) {
            int[] clone = original.clone();
            sum += clone.hashCode();
            clone[1] = i;
            sum += clone[1];
            if ((i & 7) == 0) synchronized (clone) { clone[0] = sum; }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        work(500_000);
        Thread thread = new Thread(() -> others(100_000));
        thread.start();
        thread.join();
        System.out.println(\"made=\" + kept.length);
    }
}
";

/// 23 of the clones have a hash that would lead to the record of another array.
#[test]
fn identity_hashes_of_the_jvm_lead_to_no_record() {
    let classes = perk_testkit::fixture::compile_text("Strangers", STRANGERS);
    jdk::each(|jdk| {
        for flag in ["-XX:+UseSerialGC", "-XX:+UseShenandoahGC", "-XX:+UseCompactObjectHeaders"] {
            let mut plain = JavaRun::new(jdk).main("ExitBySystemExit");
            let mut run = counted(jdk, ",aggregate=site,include=Strangers").jvm_arg("-Xmx300m");
            (plain, run) = (plain.jvm_arg(flag), run.jvm_arg(flag));
            if plain.run().stderr.contains("VM option") {
                continue;
            }
            let outcome = run.classes(classes.clone()).main("Strangers").run();
            outcome.assert_success();
            assert_eq!(outcome.stderr, "");
            let (mut own, mut others) = ([0; 4], [0; 4]);
            for (record, count) in parse(outcome.bytes(FILE)).unwrap() {
                if record.class == "[I" {
                    let sum = if record.method() == "work" { &mut own } else { &mut others };
                    record.fields.iter().for_each(|(_, counts)| add(sum, *counts, count));
                }
            }
            assert_eq!(own, [0, 0, 500_000, 0], "{} {flag}", jdk.version);
            assert_eq!(others[1] + others[3], 212_500, "{} {flag}: {others:?}", jdk.version);
        }
    });
}
