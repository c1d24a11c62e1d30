//! The profiler's raw monitors: in `JVM_OnLoad`, on threads that are not the JVM's, and in natives.

use perk_testkit::{fixture, jdk};

use crate::support::{library, profiled};

const PROGRAM: &str = "
public class Raw {
    static native void check();
    static native void hold(int count);
    static native void enter();
    static native void exit();
    static native void reset();
    static native void report();

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        check();
        reset();
        Thread[] threads = new Thread[5];
        enter();
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> { enter(); System.gc(); exit(); });
            threads[i].start();
        }
        hold(threads.length);
        System.gc();
        exit();
        for (Thread thread : threads) thread.join();
        report();
    }
}";

#[test]
fn raw_monitors_exclude_wait_and_report_contention() {
    let program = fixture::compile_text("Raw", PROGRAM);
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "raw", "").jvm_arg("--enable-native-access=ALL-UNNAMED");
        let run = run.classes(program.clone()).main("Raw").args([library("raw")]);
        let outcome = run.run();
        outcome.assert_success();
        let value = |name: &str| outcome.value(name);
        assert_eq!(value("created"), "1");
        for when in ["loading", "running"] {
            let value = |name: &str| value(&format!("{when}.{name}"));
            // 8 threads of 20000 turns that count twice
            assert_eq!(value("counter"), "320000");
            assert_eq!((value("asleep"), value("awake")), ("8", "8"));
            assert_eq!((value("owned.by.none"), value("limit")), ("1", "1"));
            // 4 threads that wait: each enters, and each release but the last finds some waiting
            assert_eq!(value("events"), "4,4,4,12");
            // That of the main thread has an environment, once there is one.
            assert_eq!(value("without.env"), if when == "loading" { "12" } else { "11" });
            assert_eq!(value("nested"), "0");
        }
        assert_eq!(outcome.stdout.matches("other=1\nhandles=1\nin.use=2\n").count(), 2);
        assert_eq!(value("java.events"), "5,5,5,0");
        assert_eq!(outcome.stderr, "");
    });
}
