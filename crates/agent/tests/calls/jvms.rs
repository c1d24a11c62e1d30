//! All ways to run the JVM: the calls are the same.

use perk_testkit::{JavaRun, Outcome, jdk};

use crate::tables::expected;
use crate::{
    PAIRS, WHOLE, accounting, assert_pairs, assert_same, by_method, counted, of_parts, own, pairs,
};

const PARTS: [&str; 3] = ["Language", "Throwing", "Deep"];

/// Each is a JVM with the options of several ways that go together.
const WAYS: [&[&str]; 8] = [
    &["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=3"],
    &["-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1", "-Xverify:all"],
    &["-XX:+UseG1GC", "-Xshare:off", "-XX:-Inline"],
    &["-XX:+UseZGC", "-XX:-TieredCompilation"],
    &["-XX:+UseShenandoahGC", "-Xbatch"],
    // Without perk, a JVM that cannot use its archive of classes reports that in its log.
    &["-XX:-UseCompressedOops", "-Xlog:disable"],
    &["-Xmx16m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+SafepointALot"],
    &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders"],
];

fn with(run: JavaRun, way: &[&str]) -> JavaRun {
    way.iter().fold(run, |run, option| run.jvm_arg(option))
}

#[test]
fn every_way_to_run_the_jvm() {
    let own_calls = expected(&PARTS);
    jdk::each(|jdk| {
        let plain = of_parts(JavaRun::new(jdk), &PARTS).run();
        plain.assert_success();
        let mut taken = 0;
        for (place, way) in WAYS.iter().enumerate() {
            // The JVM's messages about the options appear with perk as well.
            let version = with(JavaRun::new(jdk), way).args(["--version"]).run();
            if version.code() != Some(0) {
                continue;
            }
            taken += 1;
            let options = if place % 2 == 0 { WHOLE } else { PAIRS };
            let outcome = of_parts(with(counted(jdk, options), way), &PARTS).run();
            assert_same(&outcome, &Outcome { stderr: version.stderr, ..plain.clone() });
            let profile = crate::profile(&outcome);
            assert_pairs(&own(&pairs(&profile)), &own_calls, &format!("{way:?}"));
            assert_eq!(accounting(&profile).fault_count, 0, "{way:?}");
        }
        // Some collectors and experiments may be missing.
        assert!(taken >= 6, "{taken}");
    });
}

/// The interpreter has a tenth of the speed, so one part suffices.
#[test]
fn the_interpreter_alone() {
    let parts = ["Throwing"];
    jdk::each(|jdk| {
        let run = |run: JavaRun| of_parts(run.jvm_arg("-Xint"), &parts).run();
        let outcome = run(counted(jdk, ",depth=2,timing=none,include=Calls*"));
        assert_same(&outcome, &run(JavaRun::new(jdk)));
        let found = own(&pairs(&crate::profile(&outcome)));
        assert_eq!(by_method(&found), by_method(&expected(&parts)));
    });
}

/// `-Xcheck:jni` warns of any misuse of JNI.
#[test]
fn the_jvm_finds_no_fault_in_the_use_of_jni() {
    let parts = ["Throwing", "Threads", "Virtual"];
    jdk::each(|jdk| {
        let run = |run: JavaRun| {
            let run = run.jvm_arg("-Xcheck:jni");
            of_parts(run.jvm_arg("-Djdk.virtualThreadScheduler.parallelism=4"), &parts).run()
        };
        let plain = run(JavaRun::new(jdk));
        for options in [PAIRS, ",depth=2,thread=y,timing=exact"] {
            assert_same(&run(counted(jdk, options)), &plain);
        }
    });
}

/// The JVM reports the objects that its native methods make before they throw with the exception
/// pending.
#[test]
fn exceptions_of_native_methods_are_no_fault_in_the_use_of_jni() {
    jdk::each(|jdk| {
        let run = |run: JavaRun| run.jvm_arg("-Xcheck:jni").main("ThrowingNatives").run();
        for options in [",depth=2,heap=sites", ",depth=2,monitor=y"] {
            let outcome = run(counted(jdk, options));
            outcome.assert_success();
            assert_eq!(outcome.number("caught"), 700);
            assert!(!outcome.stderr.contains("WARNING"), "{}", outcome.report());
            assert!(!outcome.stdout.contains("WARNING"), "{}", outcome.report());
        }
    });
}
