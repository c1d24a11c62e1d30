//! Calls counted in programs that run already: their classes get probes, and lose them.

use perk_testkit::{JavaRun, Outcome, jdk};

use crate::tables::expected;
use crate::{accounting, by_method, own, pairs, read};

/// Runs a program that loads the agent late.
fn loaded_late(run: &JavaRun) -> Outcome {
    let mut running = run.spawn();
    running.wait_for_stdout("ready");
    let answer = running.load_agent("control");
    assert!(answer.contains("return code: 0"), "{answer}{}", running.stderr());
    let outcome = running.wait();
    outcome.assert_success();
    outcome
}

/// Counts the calls of parts of the fixture `Calls` in two recordings.
#[track_caller]
fn assert_counts(run: JavaRun, options: &str, parts: &[&str]) {
    let options = format!("{options},format=p,cutoff=0,include=Calls*,include=LateCalls");
    let outcome = loaded_late(&run.main("LateCalls").args([options.as_str()]).args(parts));
    // The classes are initialised by then.
    let is_of_use = |method: &str| {
        method.ends_with(".<clinit>")
            || method.starts_with("CallsLanguage$Op") && method.ends_with("<init>")
    };
    let mut expected = expected(parts);
    expected.retain(|(callee, caller), _| !is_of_use(callee) && !is_of_use(caller));
    for file in ["o.perk", "p.perk"] {
        let profile = read(&outcome, file);
        let found = pairs(&profile);
        let title = format!("{file} {options}");
        // The caller is another one where code of the JDK is between them.
        let mut own = own(&found);
        // The classes of lambdas, which are in the way to the lambdas' bodies.
        own.retain(|(callee, _), _| !callee.contains("$$Lambda"));
        assert_eq!(by_method(&own), by_method(&expected), "{title}\n{}", outcome.report());
        assert_eq!(found.values().sum::<u64>(), accounting(&profile).call_count, "{title}");
        let spins = |method: &str| {
            found.iter().filter(|((callee, _), _)| callee == method).map(|(_, n)| n).sum::<u64>()
        };
        assert!(spins("LateCalls.tick") > 0, "{title}");
        assert_eq!(spins("LateCalls.spin"), 0, "{title}");
    }
}

#[test]
fn a_running_program_has_exact_counts() {
    jdk::each(|jdk| {
        for options in
            ["cpu=times", "cpu=times,timing=exact", "cpu=times,clock=wall,thread=y", "cpu=counts"]
        {
            assert_counts(JavaRun::new(jdk), options, &["Language", "Throwing", "Deep"]);
        }
    });
}

#[test]
fn threads_of_a_running_program_have_exact_counts() {
    jdk::each(|jdk| {
        let parts: &[&str] = if jdk.version >= 21 { &["Threads", "Virtual"] } else { &["Threads"] };
        assert_counts(JavaRun::new(jdk).jvm_arg("-Xcheck:jni"), "cpu=times", parts);
        assert_counts(JavaRun::new(jdk), "cpu=times,thread=y", parts);
        assert_counts(JavaRun::new(jdk).jvm_arg("-Xcheck:jni"), "cpu=counts", parts);
    });
}

/// Methods that began with probes keep them when a recording is over, and its memory is gone.
#[test]
fn recordings_follow_each_other_in_a_storm() {
    let options = "format=p,cutoff=0,file=o.perk,include=LateStorm";
    jdk::each(|jdk| {
        for (counts, arguments) in [
            ("cpu=times", &["-Xcheck:jni", "-XX:+UseParallelGC"][..]),
            ("cpu=times,timing=exact", &["-XX:+UseZGC", "-Xmx256m"]),
            ("cpu=times,clock=wall,thread=y", &["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]),
            ("cpu=counts", &["-Xcheck:jni", "-XX:+UseParallelGC"]),
            ("cpu=counts", &["-XX:+UseZGC", "-Xmx256m"]),
        ] {
            let run = arguments.iter().fold(JavaRun::new(jdk), |run, it| run.jvm_arg(*it));
            let options = format!("{counts},{options}");
            let outcome = loaded_late(&run.main("LateStorm").args([options.as_str(), "15"]));
            assert!(outcome.stdout.ends_with("ready\nworks=true\n"), "{}", outcome.report());
            let profile = read(&outcome, "o.perk");
            // Calls of other threads are counted, too.
            let found = pairs(&profile);
            assert!(by_method(&found).get("LateStorm.fib") >= Some(&21_891), "{found:?}");
            assert_eq!(accounting(&profile).fault_count, 0);
        }
    });
}

/// The file has what was counted until the program's end.
#[test]
fn a_program_that_ends_has_its_counts() {
    jdk::each(|jdk| {
        let options = "cpu=times,format=p,cutoff=0,file=o.perk,include=LateStorm.fib";
        let run = JavaRun::new(jdk).main("LateStorm").args([options, "1", "exit"]);
        let outcome = loaded_late(&run);
        assert!(outcome.stdout.ends_with("ready\n"), "{}", outcome.report());
        let found = pairs(&read(&outcome, "o.perk"));
        assert!(by_method(&found).get("LateStorm.fib") >= Some(&21_891), "{found:?}");
    });
}
