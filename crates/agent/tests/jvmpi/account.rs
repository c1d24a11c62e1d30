//! The account of `verbose=y`.

use std::io::Write;
use std::path::PathBuf;

use perk_testkit::{Jdk, Outcome, jdk};

use crate::support::{library, profiled};

/// Returns the class folder of a program with a method that has no room for probes, a hidden class, and
/// where there are virtual threads three waits of such a thread.
fn program() -> PathBuf {
    let large = "x++; ".repeat(8190);
    perk_testkit::fixture::compile_text(
        "Account",
        &format!(
            "public class Account {{
                static int x;
                static volatile Object kept;
                static native void tick();
                static void tickAlways() {{
                    while (true) {{
                        kept = new Object();
                        tick();
                    }}
                }}
                static void large() {{ {large} }}
                static synchronized void waits() {{
                    try {{
                        for (int i = 0; i < 3; i++) Account.class.wait(1);
                    }} catch (InterruptedException e) {{
                        throw new RuntimeException(e);
                    }}
                }}
                public static void main(String[] arguments) throws Exception {{
                    large();
                    Runnable waits = () -> waits();
                    try {{
                        Object thread = Thread.class.getMethod(\"startVirtualThread\", Runnable.class).invoke(null, waits);
                        ((Thread) thread).join();
                    }} catch (NoSuchMethodException e) {{
                        waits.run();
                    }}
                    System.gc();
                    if (arguments.length > 0) {{
                        System.load(arguments[0]);
                        tick();
                        Thread ticking = new Thread(() -> tickAlways());
                        ticking.setDaemon(true);
                        ticking.start();
                    }}
                    System.out.println(\"x=\" + x);
                }}
            }}"
        ),
    )
}

#[track_caller]
fn run(jdk: &Jdk, more: &str, args: &[String]) -> Outcome {
    let run = profiled(jdk, more, "account", "").classes(program()).main("Account");
    let outcome = run.args(args).run();
    outcome.assert_success();
    assert_eq!(outcome.number("x"), 8190);
    outcome
}

/// Returns the number at the begin of the line of the account that has a text.
#[track_caller]
fn number(outcome: &Outcome, text: &str) -> u64 {
    let mut lines = outcome.stderr.lines().filter(|line| line.ends_with(text));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        panic!("not one line with {text:?}: {}", outcome.report());
    };
    let number = line.strip_prefix("perk:").and_then(|line| line.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn events_are_counted_by_kind_and_fate() {
    jdk::each(|jdk| {
        for source in ["methods=probes,verbose=y,", "methods=vm,verbose=y,"] {
            let outcome = run(jdk, source, &[]);
            let _ = writeln!(std::io::stderr(), "JDK {} {source}\n{}", jdk.version, outcome.stderr);
            let sent = outcome.stderr.find("was sent").expect("the first part");
            let not_sent = outcome.stderr.find("was not sent").expect("the second part");
            assert!(sent < not_sent, "{}", outcome.report());
            let nested = [("JNI_GLOBALREF_ALLOC", 7), ("METHOD_ENTRY", 5), ("METHOD_EXIT", 5)];
            for (kind, count) in nested {
                let name = format!(" {kind}, caused by its own handler of such events");
                assert_eq!(number(&outcome, &name), count, "{}", outcome.report());
            }
            assert_eq!(number(&outcome, " JVM_SHUT_DOWN"), 1);
            assert!(number(&outcome, " METHOD_ENTRY") > 100);
            if jdk.version >= 21 {
                assert!(outcome.stderr.contains(" MONITOR_WAIT, 3 by virtual threads"));
                assert!(outcome.stderr.contains(" of methods by virtual threads"));
            } else {
                assert!(!outcome.stderr.contains("virtual"), "{}", outcome.report());
            }
        }
    });
}

#[test]
fn methods_without_probes_are_counted_with_the_reason() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "verbose=y,", &[]);
        let hidden = " hidden classes have none, as those of lambda expressions";
        for what in [" have probes", " native methods have none", hidden] {
            assert!(number(&outcome, what) > 0, "{what}");
        }
        assert_eq!(number(&outcome, " for lack of room"), 1, "{}", outcome.report());
        let lines = outcome.stderr.lines().map(|line| line.trim_start_matches("perk:").trim());
        let named = |start: &str| lines.clone().filter(|line| line.starts_with(start)).count();
        assert_eq!(named("Account.large()V: "), 1, "{}", outcome.report());
        assert_eq!(named("java.lang.Object.finalize()V: it must stay empty"), 1);
        let all = run(jdk, "methods=vm,verbose=y,", &[]);
        assert!(!all.stderr.contains("probes"), "{}", all.report());
    });
}

#[test]
fn the_cpu_time_is_a_part_of_the_jvms() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "verbose=y,", &[]);
        let line = outcome.stderr.lines().find(|line| line.ends_with("perk's own"));
        let words: Vec<_> = line.expect("the last line").split_whitespace().collect();
        let [own, all]: [f64; 2] = [1, 6].map(|at| words[at].parse().unwrap());
        assert!(0.0 < own && own < all, "{}", outcome.report());
    });
}

#[test]
fn nothing_is_printed_without_the_option() {
    jdk::each(|jdk| assert!(!run(jdk, "", &[]).stderr.contains("perk:")));
}

#[test]
fn nothing_follows_the_shut_down() {
    jdk::each(|jdk| {
        for source in ["methods=probes,verbose=y,", "methods=vm,verbose=y,"] {
            let outcome = run(jdk, source, &[library("account").display().to_string()]);
            assert_eq!(outcome.number("late"), 0, "{}", outcome.report());
            for kind in ["OBJECT_ALLOC", "METHOD_ENTRY", "METHOD_EXIT"] {
                let name = format!(" {kind}, after JVM_SHUT_DOWN, ProfilerExit or THREAD_END");
                assert!(number(&outcome, &name) >= 3, "{}", outcome.report());
            }
        }
    });
}
