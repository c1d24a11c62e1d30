//! Entries and exits of methods: their numbers, their brackets, their objects.

use perk_testkit::{Jdk, Outcome, jdk};

use crate::support::{library, profiled};

/// The sources of the events, as options.
const SOURCES: [&str; 2] = ["methods=probes,verbose=y,", "methods=vm,verbose=y,"];

/// Runs a program of `java/fixtures` with the profiler `methods`.
#[track_caller]
fn run(jdk: &Jdk, source: &str, options: &str, program: &str, args: &[&str]) -> Outcome {
    let options = format!("{options},{program}");
    let run = profiled(jdk, source, "methods", &options).main(program);
    let library = library("methods").display().to_string();
    let outcome = run.args(std::iter::once(library.as_str()).chain(args.iter().copied())).run();
    outcome.assert_success();
    assert!(!outcome.stdout.contains("own.class="), "{}", outcome.report());
    outcome
}

/// Returns the entries and exits of a method on a thread.
fn counts(outcome: &Outcome, thread: &str, method: &str) -> (u64, u64) {
    let name = format!("{thread}:{method}=");
    let Some(line) = outcome.stdout.lines().find_map(|line| line.strip_prefix(&name)) else {
        return (0, 0);
    };
    let (entries, exits) = line.split_once(',').expect("two numbers");
    (entries.parse().unwrap(), exits.parse().unwrap())
}

/// Checks that the brackets of a thread match, and that as many are open as are expected.
#[track_caller]
fn check_brackets(outcome: &Outcome, thread: &str, open: u64) {
    let number = |name: &str| outcome.number(&format!("{name}.{thread}"));
    assert_eq!((number("bad"), number("open")), (0, open), "{}", outcome.report());
    assert_eq!(number("entries"), number("exits") + open);
}

/// Checks the calls of `JvmpiCalls.work`.
#[track_caller]
fn check_work(outcome: &Outcome, thread: &str, times: u64) {
    let expected = [
        ("work", 1),
        // fib(n) calls itself twice the next Fibonacci number, less one.
        ("fib", times * 177),
        ("catcher", times),
        ("thrower", times * 6),
        ("construct", times),
        // After each catcher, two of three constructions, and five of ten reflective calls.
        ("after", times * 3 + 5),
        ("guarded", times),
        ("reflect", 1),
        ("reflected", 10),
        ("lambdas", 1),
        ("lambda$lambdas$0", 30),
    ];
    for (method, count) in expected {
        let method = format!("JvmpiCalls.{method}");
        assert_eq!(counts(outcome, thread, &method), (count, count), "{thread}:{method}");
    }
    let of_classes = [
        ("Derived.<init>", times * 3),
        ("Derived.argument", times * 3),
        ("Derived.method", times),
        ("Base.<init>", times * 2),
    ];
    for (method, count) in of_classes {
        let method = format!("JvmpiCalls${method}");
        assert_eq!(counts(outcome, thread, &method), (count, count), "{thread}:{method}");
    }
}

/// Returns the entries on a thread of methods in hidden classes.
fn of_hidden(outcome: &Outcome, thread: &str) -> u64 {
    let start = format!("{thread}:JvmpiCalls$$Lambda");
    let lines = outcome.stdout.lines().filter(|line| line.starts_with(&start));
    let counts = lines.filter(|line| line.contains(".applyAsInt="));
    counts.map(|line| line.rsplit_once(',').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn each_thread_has_its_calls() {
    jdk::each(|jdk| {
        for source in SOURCES {
            // With probes the JIT compilers do their work.
            let is_vm = source.contains("vm");
            let times = if is_vm { 20 } else { 400 };
            let outcome = run(jdk, source, "ex", "JvmpiCalls", &[&times.to_string()]);
            assert_eq!(outcome.value("done"), "true");
            let threads = [("main", 1), ("worker1", 1), ("worker2", 2), ("worker3", 3)];
            for (thread, share) in threads {
                check_work(&outcome, thread, times * share);
                check_brackets(&outcome, thread, 0);
                assert_eq!(of_hidden(&outcome, thread), if is_vm { 30 } else { 0 });
            }
            assert_eq!(counts(&outcome, "main", "JvmpiCalls.main"), (1, 1));
            // The account has the same numbers.
            let total = |kind: &str| -> u64 {
                let lines = outcome.stdout.lines().filter(|line| line.starts_with(kind));
                lines.map(|line| line.rsplit_once('=').unwrap().1.parse::<u64>().unwrap()).sum()
            };
            let sent = |kind: &str| -> u64 {
                let mut lines = outcome.stderr.lines();
                let line = lines.find(|line| line.ends_with(kind)).expect("the account has it");
                line.split_whitespace().nth(1).unwrap().parse().unwrap()
            };
            // Other threads of the JVM may continue after the profiler's report.
            assert!(sent(" METHOD_ENTRY") >= total("entries."), "{}", outcome.stderr);
            assert!(sent(" METHOD_ENTRY") < total("entries.") + 1000, "{}", outcome.stderr);
            assert!(sent(" METHOD_EXIT") >= total("exits."), "{}", outcome.stderr);
        }
    });
}

#[test]
fn brackets_match_when_the_stack_overflows() {
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = run(jdk, source, "ex", "JvmpiCalls", &["3", "overflow"]);
            assert_eq!(outcome.value("overflow"), "truetrue");
            check_work(&outcome, "main", 3);
            check_brackets(&outcome, "main", 0);
            let (entries, exits) = counts(&outcome, "main", "JvmpiCalls.overflow");
            assert!(entries == exits && entries > 4000, "{entries} and {exits}");
            assert!(outcome.number("deepest.main") > 2000);
        }
    });
}

#[test]
fn brackets_match_when_events_are_switched_in_mid_run() {
    jdk::each(|jdk| {
        for (source, options) in SOURCES.into_iter().zip(["lex", "lexc"]) {
            let outcome = run(jdk, source, options, "JvmpiSwitches", &[]);
            assert_eq!(outcome.value("done"), "41024");
            let of = |method: &str| counts(&outcome, "main", &format!("JvmpiSwitches.{method}"));
            assert_eq!(of("known"), (13, 13), "{}", outcome.stdout);
            assert_eq!(of("repeat"), (2, 2));
            assert_eq!(counts(&outcome, "other", "JvmpiSwitches.known"), (11, 11));
            assert_eq!(of("early"), (0, 0));
            assert_eq!(of("between"), (0, 0));
            // The JVM's own events tell no end of what was open at a pause.
            assert_eq!(of("across"), if source.contains("vm") { (1, 0) } else { (1, 1) });
            assert_eq!(outcome.number("bad.main"), 0);
            check_brackets(&outcome, "other", 0);
        }
    });
}

#[test]
fn exits_alone_are_reported() {
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = run(jdk, source, "x", "JvmpiCalls", &["5"]);
            for thread in ["main", "worker1"] {
                let of = |method: &str| counts(&outcome, thread, &format!("JvmpiCalls.{method}"));
                assert_eq!((of("fib"), of("thrower")), ((0, 5 * 177), (0, 5 * 6)));
                assert_eq!(counts(&outcome, thread, "JvmpiCalls$Base.<init>"), (0, 10));
            }
        }
    });
}

#[test]
fn objects_are_those_that_the_methods_run_on() {
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = run(jdk, source, "2x", "JvmpiReceivers", &[]);
            assert_eq!(outcome.value("done"), "300");
            let of = |method: &str| counts(&outcome, "main", &format!("JvmpiReceivers{method}"));
            assert_eq!(of(".expectedReceiver"), (300, 300));
            assert_eq!((of(".<init>"), of("$Below.<init>")), ((3, 3), (2, 2)));
            let objects = ["some", "wrong"].map(|it| outcome.number(&format!("objects.{it}")));
            assert_eq!(objects, [300, 0]);
            assert!(outcome.number("objects.null") > 0);
            check_brackets(&outcome, "main", 0);
        }
    });
}

#[test]
fn a_profiler_that_enables_nothing_else_has_the_names_on_request() {
    let program = "public class Resolved {
        interface Shape { default int area() { return 1; } }
        static class Square implements Shape {}
        Resolved() {}
        static int first(int[] a, String b) { return a.length; }
        static void last() {}
        public static void main(String[] arguments) {
            first(new int[3], \"\");
            new Resolved();
            new Square().area();
            last();
        }
    }";
    let classes = perk_testkit::fixture::compile_text("Resolved", program);
    jdk::each(|jdk| {
        for source in SOURCES {
            let run = profiled(jdk, source, "resolver", "").classes(&classes).main("Resolved");
            let outcome = run.run();
            outcome.assert_success();
            let values = ["resolved", "unresolved", "refused"].map(|it| outcome.number(it));
            assert_eq!(values, [1, 0, 0]);
            for (method, line) in [
                ("Resolved.main([Ljava/lang/String;)V", 8),
                ("Resolved.first([ILjava/lang/String;)I", 5),
                ("Resolved.<init>()V", 4),
                ("Resolved$Square.<init>()V", 3),
                ("Resolved$Shape.area()I", 2),
                ("Resolved.last()V", 6),
            ] {
                assert_eq!(outcome.number(method), line, "{}", outcome.report());
            }
            assert!(!outcome.stdout.contains("other="), "{}", outcome.stdout);
        }
    });
}

#[test]
fn the_jvm_may_load_the_profiler_after_classes() {
    jdk::each(|jdk| {
        let library = library("methods");
        let run = perk_testkit::JavaRun::new(jdk).agent("jvmpi").main("JvmpiCalls");
        let run = run.jvm_arg("-Xrunmethods:ex,JvmpiCalls").args([&library.display().to_string()]);
        let outcome = run.env("LD_LIBRARY_PATH", library.parent().unwrap()).run();
        outcome.assert_success();
        for (thread, times) in [("main", 100), ("worker3", 300)] {
            check_work(&outcome, thread, times);
            check_brackets(&outcome, thread, 0);
        }
    });
}

#[test]
fn a_compiler_writes_the_same_with_events_of_all_its_methods() {
    jdk::each(|jdk| {
        if !jdk.has_javac {
            return;
        }
        let fixtures = perk_testkit::workspace().join("java/fixtures");
        let sources = ["JvmpiCalls", "JvmpiSwitches", "Bytecodes"]
            .map(|name| fixtures.join(name).with_extension("java"));
        let compiled = |agent: Option<String>| {
            let folder = tempfile::tempdir().unwrap();
            let mut javac = std::process::Command::new(jdk.javac());
            javac.args(agent).arg("-d").arg(folder.path()).args(&sources);
            let output = javac.output().unwrap();
            let mut files: Vec<_> = std::fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(&path).unwrap()))
                .collect();
            files.sort_unstable();
            (output.status.code(), String::from_utf8(output.stderr).unwrap(), files)
        };
        let (without, text, files) = compiled(None);
        assert!(files.len() > 5 && without == Some(0), "{text}");
        let agent = perk_testkit::agent::agent_so();
        let profiler = library("methods");
        let option =
            format!("-J-agentpath:{}=jvmpi={}=e2x,None", agent.display(), profiler.display());
        assert_eq!(compiled(Some(option)), (without, text, files));
    });
}

#[test]
fn virtual_threads_are_not_reported() {
    jdk::each(|jdk| {
        if jdk.version < 21 {
            return;
        }
        for (source, options) in SOURCES.into_iter().zip(["ex", "exc"]) {
            for options in [options.to_owned(), format!("l{options}")] {
                let outcome = run(jdk, source, &options, "JvmpiVirtual", &[]);
                assert_eq!(outcome.value("done"), "850");
                let name = ":JvmpiVirtual.tick=";
                let lines: Vec<_> =
                    outcome.stdout.lines().filter(|line| line.contains(name)).collect();
                assert_eq!(lines, ["main:JvmpiVirtual.tick=50,50"]);
                assert!(!outcome.stdout.contains("JvmpiVirtual.sleep"), "{}", outcome.stdout);
                // The profiler forgets what is open only on the thread that switches.
                let is_meant =
                    |line: &&str| !source.contains("vm") || line.starts_with("bad.main=");
                let bad = outcome.stdout.lines().filter(|line| line.starts_with("bad."));
                let bad: Vec<_> = bad.filter(is_meant).collect();
                assert!(!bad.is_empty() && bad.iter().all(|it| it.ends_with("=0")), "{bad:?}");
                assert!(outcome.stderr.contains("virtual threads"), "{}", outcome.stderr);
            }
        }
    });
}
