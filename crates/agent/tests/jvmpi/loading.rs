//! The ways to load a profiler, and the faults of each.

use std::path::Path;

use perk_testkit::{JavaRun, Outcome, Signal, jdk};

use crate::support::{compile, library, profiled};

/// The program: a thread that ends before main does.
const PROGRAM: &str = "Hello";

#[track_caller]
fn check_start(outcome: &Outcome, options: &str) {
    outcome.assert_success();
    assert_eq!(outcome.value("options"), options);
    assert_eq!(outcome.value("first.thread"), "main");
    assert_eq!(outcome.value("version"), "10000003");
    assert_eq!((outcome.number("init.done"), outcome.number("shut.down")), (1, 1));
    assert_eq!((outcome.number("dump"), outcome.number("move")), (1, 0));
    assert!(outcome.number("threads.before") >= 4);
    let (before, total) = (outcome.number("classes.before"), outcome.number("classes.total"));
    assert!(before > 200 && total > before, "{before} of {total}");
}

fn hello() -> std::path::PathBuf {
    perk_testkit::fixture::compile_text(
        PROGRAM,
        "public class Hello {
            public static void main(String[] arguments) throws Exception {
                Thread worker = new Thread(() -> System.out.println(\"in=thread\"), \"worker\");
                worker.start();
                worker.join();
                System.out.println(\"hello=world\");
            }
        }",
    )
}

#[test]
fn perk_loads_the_library() {
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "starts", "a=1,b,jvmpi");
        let outcome = run.classes(hello()).main(PROGRAM).run();
        check_start(&outcome, "a=1,b,jvmpi");
        assert_eq!(outcome.value("hello"), "world");
        assert_eq!(outcome.value("thread.worker"), "main,system");
    });
}

#[test]
fn the_jvm_loads_the_library_by_xrun() {
    jdk::each(|jdk| {
        let folder = library("starts").parent().map(Path::to_owned).unwrap();
        let run = JavaRun::new(jdk).agent("jvmpi").jvm_arg("-Xrunstarts:x=1,y");
        let outcome = run.env("LD_LIBRARY_PATH", folder).classes(hello()).main(PROGRAM).run();
        check_start(&outcome, "x=1,y");
    });
}

#[test]
fn an_old_command_line_stays_as_it_is() {
    jdk::each(|jdk| {
        let folder = library("starts").parent().map(Path::to_owned).unwrap();
        let options = format!("-agentpath:{}=jvmpi", perk_testkit::agent::agent_so().display());
        let run = JavaRun::new(jdk).jvm_arg("-Xrunstarts").env("JAVA_TOOL_OPTIONS", options);
        let outcome = run.env("LD_LIBRARY_PATH", folder).classes(hello()).main(PROGRAM).run();
        check_start(&outcome, "(none)");
    });
}

/// Runs a program that must not start. Returns the one line of stderr that is perk's.
#[track_caller]
fn refusal(outcome: &Outcome) -> String {
    outcome.assert_code(1);
    assert!(!outcome.stdout.contains("hello=world"), "{}", outcome.report());
    let stderr = &outcome.stderr;
    let mut lines = stderr.lines().filter(|line| line.starts_with("HPROF ERROR"));
    let line = lines.next().expect("perk says why").to_owned();
    assert_eq!(lines.next(), None);
    line
}

#[test]
fn faults_of_libraries_have_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("text.so"), "this is not a library, it is a line of text").unwrap();
    std::fs::write(file("short.so"), "short").unwrap();
    let mut head = [0_u8; 64];
    head[..5].copy_from_slice(b"\x7fELF\x01");
    std::fs::write(file("old.so"), head).unwrap();
    head[4] = 2;
    std::fs::write(file("other.so"), head).unwrap();
    std::fs::write(file("empty.c"), "int nothing;\n").unwrap();
    compile(&file("empty.c"), &file("empty.so"), &["-shared", "-fPIC"]);
    let failing = "#include <jvmpi.h>\nJNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, \
                   void *reserved) {\n    (void)vm; (void)options; (void)reserved;\n    return -1;\n}\n";
    std::fs::write(file("fails.c"), failing).unwrap();
    compile(&file("fails.c"), &file("fails.so"), &["-shared", "-fPIC"]);
    let faults = [
        ("text.so", "it is not a library"),
        ("short.so", "it is not a library"),
        ("old.so", "it is a 32-bit library"),
        ("other.so", "it is a library for another machine"),
        ("missing.so", "there is no such library"),
        ("empty.so", "it has no function JVM_OnLoad"),
        ("fails.so", "failed with -1"),
    ];
    jdk::each(|jdk| {
        for (name, reason) in faults {
            let path = file(name);
            let run = JavaRun::new(jdk).agent(&format!("jvmpi={}", path.display()));
            let line = refusal(&run.classes(hello()).main(PROGRAM).run());
            assert!(line.contains(name) && line.contains(reason), "{line}");
        }
        let run = JavaRun::new(jdk).agent("jvmpi=nosuchlibrary");
        let line = refusal(&run.classes(hello()).main(PROGRAM).run());
        assert!(line.contains("cannot load the library nosuchlibrary"), "{line}");
    });
}

#[test]
fn an_analysis_beside_it_is_refused() {
    jdk::each(|jdk| {
        for options in ["cpu=samples,jvmpi=foo", "jvmpi,heap=sites", "jvmpi,cpu=times"] {
            let run = JavaRun::new(jdk).agent(options);
            let line = refusal(&run.classes(hello()).main(PROGRAM).run());
            assert!(line.contains("jvmpi cannot be combined with"), "{line}");
        }
    });
}

#[test]
fn a_second_agent_is_refused() {
    jdk::each(|jdk| {
        let first = library("starts");
        let folder = tempfile::tempdir().unwrap();
        let second = folder.path().join("libsecond.so");
        std::fs::copy(&first, &second).unwrap();
        let run = JavaRun::new(jdk).agent(&format!("jvmpi={}", first.display()));
        let run = run.jvm_arg("-Xrunsecond").env("LD_LIBRARY_PATH", folder.path());
        let line = refusal(&run.classes(hello()).main(PROGRAM).run());
        assert!(line.contains("two JVMPI agents") && line.contains("libsecond.so"), "{line}");
    });
}

#[test]
fn an_agent_without_a_function_changes_nothing() {
    let source = "#include <stdio.h>\n#include <jvmpi.h>\nstatic JVMPI_Interface *jvmpi;\n\
                  JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {\n    \
                  (void)options; (void)reserved;\n    \
                  if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0) return JNI_ERR;\n    \
                  jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);\n    \
                  printf(\"cpu=%d\\n\", jvmpi->GetCurrentThreadCpuTime() > 0);\n    return JNI_OK;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let (file, library) = (folder.path().join("silent.c"), folder.path().join("silent.so"));
    std::fs::write(&file, source).unwrap();
    compile(&file, &library, &["-shared", "-fPIC"]);
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("jvmpi={}", library.display()));
        let outcome = run.classes(hello()).main(PROGRAM).run();
        outcome.assert_success();
        assert_eq!((outcome.value("cpu"), outcome.value("hello")), ("1", "world"));
        assert_eq!(outcome.stderr, "");
    });
}

#[test]
fn requests_from_outside_are_events() {
    let waiting = perk_testkit::fixture::compile_text(
        "Waiting",
        "public class Waiting {
            public static void main(String[] arguments) throws Exception {
                System.out.println(\"waiting=1\");
                Thread.sleep(50_000);
            }
        }",
    );
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "starts", "").classes(&waiting).main("Waiting");
        let mut running = run.spawn();
        running.wait_for_stdout("waiting=1");
        running.signal(Signal::QUIT);
        running.wait_for_stdout("dump.request=1");
        assert!(running.load_agent("reset").contains("return code: 0"));
        running.wait_for_stdout("reset.request=1");
        assert!(running.load_agent("cpu=samples").contains("return code: -1"));
        assert!(running.stderr().contains("perk is loaded into a running program by perk attach"));
        running.signal(Signal::TERM);
        running.wait();
    });
}
