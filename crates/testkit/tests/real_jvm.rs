//! Tests of the finder, the compiler and the runner, with real JVMs and without the agent.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use perk_testkit::{JavaRun, Signal, fixture, jdk};

#[test]
fn every_jdk_runs_and_is_the_version_it_claims() {
    assert!(!jdk::all().is_empty());
    jdk::each(|jdk| {
        let outcome = JavaRun::new(jdk).args(["-version"]).run();
        outcome.assert_success();
        let version = format!("version \"{}", jdk.version);
        assert!(outcome.stderr.contains(&version), "{}", outcome.report());
        assert!(jdk.jcmd().is_file(), "{}", jdk.home.display());
        assert_eq!(jdk.has_javac, jdk.javac().is_file());
    });
}

#[test]
fn cpu_time_is_by_method() {
    jdk::each(|jdk| {
        let outcome = JavaRun::new(jdk).main("CpuBound").args(["300"]).run();
        outcome.assert_success();
        let (heavy, light) = (outcome.number("heavy_cpu_ns"), outcome.number("light_cpu_ns"));
        assert!(heavy > light && heavy + light >= 290_000_000, "{}", outcome.report());
        assert!(outcome.number("main_cpu_ns") > heavy + light);
    });
}

#[test]
fn programs_do_what_they_say() {
    jdk::each(|jdk| {
        let run = |main: &str, args: &[&str]| JavaRun::new(jdk).main(main).args(args).run();
        let idle = run("IdleThreads", &["10", "50"]);
        idle.assert_success();
        assert!(idle.number("main_cpu_ns") >= 50_000_000);
        let many = run("ManyThreads", &["20", "5"]);
        many.assert_success();
        assert!(many.number("threads_cpu_ns") >= 100_000_000);
        let virtuals = run("VirtualThreads", &["4", "2"]);
        virtuals.assert_success();
        assert_eq!(virtuals.value("virtual"), if jdk.version >= 21 { "yes" } else { "no" });
        let deep = run("DeepRecursion", &["100000", "20"]);
        deep.assert_success();
        assert_eq!((deep.number("depth"), deep.stderr.as_str()), (100_000, ""));
        let strange = run("StrangeNames", &["2"]);
        strange.assert_success();
        assert_eq!((strange.number("threads"), strange.stderr.as_str()), (8, ""));
        let spin = run("Spin", &["50", "2"]);
        spin.assert_success();
        assert!(spin.number("threads_cpu_ns") > 0);
    });
}

#[test]
fn exit_codes_and_signals_come_back() {
    jdk::each(|jdk| {
        let run = |main: &str| JavaRun::new(jdk).main(main);
        run("ExitBySystemExit").args(["7"]).run().assert_code(7);
        let halted = run("ExitByHalt").args(["8"]).run();
        halted.assert_code(8);
        assert!(!halted.stdout.contains("hook ran"));
        let uncaught = run("Uncaught").run();
        uncaught.assert_code(1);
        assert!(uncaught.stderr.contains("nobody catches this"));

        let mut running = run("Sleeper").args(["60000"]).spawn();
        running.wait_for_stdout("ready");
        running.signal(Signal::TERM);
        running.wait().assert_code(143);

        let mut running = run("Sleeper").args(["60000"]).spawn();
        running.wait_for_stdout("ready");
        running.signal(Signal::KILL);
        assert_eq!(running.wait().signal(), Some(9));
    });
}

#[test]
fn a_run_has_its_own_folder_environment_and_files() {
    let classes = fixture::compile_text(
        "Copy",
        "import java.nio.file.*;
        public class Copy {
            public static void main(String[] args) throws Exception {
                Files.copy(Path.of(\"in.txt\"), Path.of(\"out.txt\"));
                System.out.println(\"home=\" + System.getenv(\"PERK_TEST\"));
            }
        }",
    );
    let run = JavaRun::new(jdk::compiler()).classes(&classes).main("Copy");
    let run = run.file("in.txt", "text").env("PERK_TEST", "here");
    for _ in 0..2 {
        let outcome = run.run();
        outcome.assert_success();
        assert_eq!((outcome.text("out.txt").as_str(), outcome.value("home")), ("text", "here"));
        assert_eq!(outcome.files.len(), 2);
    }
    let unnamed = catch_unwind(AssertUnwindSafe(|| run.run().text("absent.txt")));
    assert!(unnamed.is_err());
}

#[test]
fn a_program_that_hangs_is_killed() {
    let sleeper = JavaRun::new(jdk::compiler()).main("Sleeper").args(["60000"]);
    let running = sleeper.timeout(Duration::from_millis(300)).spawn();
    let pid = running.pid();
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| running.wait()));
    let message = *result.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("time is up") && message.contains("Sleeper"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn two_that_compile_the_same_at_once_agree() {
    let source = "public class Same { public static void main(String[] args) {} }";
    // The source differs from that of any other run, so it is compiled here.
    let source = format!("{source}\n// {}", std::process::id());
    let folders: Vec<_> = std::thread::scope(|scope| {
        let compile = || fixture::compile_text("Same", &source);
        let threads = [scope.spawn(compile), scope.spawn(compile)];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(folders[0], folders[1]);
    assert!(folders[0].join("Same.class").is_file());
    std::fs::remove_dir_all(&folders[0]).unwrap();
}
