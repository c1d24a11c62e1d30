//! Control of threads, their stacks and states, and threads of the profiler's own.

use std::path::PathBuf;

use perk_testkit::{Outcome, fixture, jdk};

use crate::support::{library, profiled};

#[track_caller]
fn run(jdk: &perk_testkit::Jdk, agent: &str, class: &str, classes: PathBuf) -> Outcome {
    let path = library(agent).display().to_string();
    let run = profiled(jdk, "", agent, "").jvm_arg("--enable-native-access=ALL-UNNAMED");
    // Exceptions then have all frames, also those that the JDK hides.
    let run = run.jvm_arg("-XX:+UnlockDiagnosticVMOptions").jvm_arg("-XX:+ShowHiddenFrames");
    let outcome = run.classes(classes).main(class).args([path]).run();
    outcome.assert_success();
    outcome
}

#[test]
fn a_sampler_finds_the_shares_of_methods() {
    let program = fixture::compile_text(
        "Shares",
        "public class Shares {
            static double sum;
            static void first(long count) {
                double x = 1;
                for (long i = 0; i < count; i++) x = Math.sqrt(x + i);
                sum += x;
            }
            static void second(long count) {
                double x = 1;
                for (long i = 0; i < count; i++) x = Math.sqrt(x + i);
                sum += x;
            }
            public static void main(String[] arguments) {
                for (int i = 0; i < 300; i++) {
                    first(700_000);
                    second(300_000);
                }
            }
        }",
    );
    jdk::each(|jdk| {
        let outcome = run(jdk, "sampler", "Shares", program.clone());
        assert_eq!((outcome.value("created"), outcome.value("argument")), ("0", "1"));
        assert_eq!((outcome.value("own.event"), outcome.number("starts")), ("1", 1));
        let (first, second) = (outcome.number("first"), outcome.number("second"));
        assert!(first + second >= 200, "{}", outcome.report());
        let share = 100.0 * first as f64 / (first + second) as f64;
        assert!((share - 70.0).abs() <= 5.0, "JDK {}: {share}", jdk.version);
        assert!(outcome.number("other") * 10 <= first + second, "{}", outcome.report());
    });
}

/// Threads in each state, which `main` controls by native methods of the profiler's.
const CONTROL: &str = r#"
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;

public class Control {
    static native long env();
    static native long cpuNs();
    static native int status(long env);
    static native void suspend(long env);
    static native void resume(long env);
    static native boolean hasRun(long env);
    static native String suspendAll(long[] envs);
    static native String resumeAll(long[] envs);
    static native String trace(long env, int depth);
    static native void misuse();

    static final Object lock = new Object(), condition = new Object();
    static volatile long[] envs = new long[8];
    static volatile int begun, line;
    static volatile long turns;
    static volatile boolean isOver;

    static int line() {
        return StackWalker.getInstance().walk(frames -> frames.skip(1).findFirst().get().getLineNumber());
    }

    interface Body { void run() throws Exception; }

    static Thread start(int index, Body body) throws Exception {
        int before = begun;
        Thread thread = new Thread(() -> {
            envs[index] = env();
            begun++;
            try { body.run(); } catch (Exception e) { }
        });
        thread.setDaemon(true);
        thread.start();
        while (begun == before) Thread.onSpinWait();
        return thread;
    }

    static void await(Thread thread, Thread.State state) throws Exception {
        while (thread.getState() != state) Thread.sleep(1);
    }

    static void spin() {
        while (!isOver) turns++;
    }

    static void blocked() {
        line = line(); synchronized (lock) { turns++; }
    }

    static void frames() {
        String[] sent = trace(env(), 64).split(",");
        StackTraceElement[] all = new Throwable().getStackTrace();
        System.out.println("frames=" + (sent.length - 1 == all.length) + " " + all[all.length - 1]);
    }

    static String hex(long env) { return Integer.toHexString(status(env)); }

    static void deep(int depth) {
        if (depth > 0) { deep(depth - 1); return; }
        System.out.println("deep=" + trace(env(), 3));
        System.out.println("deep.count=" + trace(env(), 64).split(",").length);
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        Thread blocked, waiting, sleeping, parked, dead;
        synchronized (lock) {
            start(0, Control::spin);
            blocked = start(1, Control::blocked);
            waiting = start(2, () -> { synchronized (condition) { condition.wait(); } });
            sleeping = start(3, () -> Thread.sleep(100_000));
            parked = start(4, LockSupport::park);
            start(5, () -> { Thread.currentThread().interrupt(); spin(); });
            dead = start(6, () -> { });
            dead.join();
            await(blocked, Thread.State.BLOCKED);
            await(waiting, Thread.State.WAITING);
            await(sleeping, Thread.State.TIMED_WAITING);
            await(parked, Thread.State.WAITING);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 7; i++) text.append(hex(envs[i])).append(' ');
            System.out.println("states=" + text + hex(env()));
            System.out.println("blocked=" + trace(envs[1], 1).equals("Control.blocked:" + line));
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long early = threads.getCurrentThreadCpuTime(), now = cpuNs();
        System.out.println("cpu=" + (early <= now && now <= threads.getCurrentThreadCpuTime()));
        String own = trace(env(), 2); int here = line();
        System.out.println("own=" + own.equals("Control.trace:-3,Control.main:" + here));
        System.out.println("waiting=" + trace(envs[2], 64).matches(".*Object\\.wait0?:-3,.*Control\\.lambda.*:\\d+,.*java\\.lang\\.Thread\\.run:-?\\d+"));
        System.out.println("dead=" + trace(envs[6], 4) + ".");
        deep(20);
        start(7, Control::frames).join();

        suspend(envs[0]);
        System.out.println("suspended=" + hex(envs[0]) + " " + trace(envs[0], 1).startsWith("Control.spin:"));
        resume(envs[0]);
        suspend(envs[5]);
        Thread.sleep(20);
        suspend(envs[0]);
        System.out.println("ran=" + hasRun(envs[0]));
        long before = turns;
        Thread.sleep(50);
        System.out.println("stands=" + (turns == before));
        resume(envs[0]);
        Thread.sleep(50);
        System.out.println("goes=" + (turns > before));
        resume(envs[5]);
        for (int i = 0; i < 2; i++) {
            suspend(envs[2]);
            if (i == 1) System.out.println("waiter=" + hasRun(envs[2]) + " " + hex(envs[2]));
            resume(envs[2]);
        }
        suspend(env());
        System.out.println("self=" + hex(env()));
        long[] all = { envs[0], envs[2], env(), envs[6], envs[0], 0 };
        System.out.println("suspend.list=" + suspendAll(all) + " " + hex(envs[0]) + " " + hex(envs[2]));
        System.out.println("resume.list=" + resumeAll(all) + " " + hex(envs[0]) + " " + hex(envs[2]));
        misuse();
        isOver = true;
        Thread.sleep(50);
    }
}
"#;

#[test]
fn threads_are_controlled_and_looked_at() {
    let program = fixture::compile_text("Control", CONTROL);
    jdk::each(|jdk| {
        let outcome = run(jdk, "control", "Control", program.clone());
        let value = |name| outcome.value(name);
        assert_eq!(value("too.early"), "-1");
        assert_eq!(value("states"), "1 2 3 3 3 4001 0 1");
        assert_eq!(value("blocked"), "true", "{}", outcome.report());
        assert_eq!((value("own"), value("waiting"), value("dead")), ("true", "true", "."));
        assert!(value("deep").starts_with("Control.trace:-3,Control.deep:"), "{}", value("deep"));
        assert_eq!((value("deep").split(',').count(), outcome.number("deep.count")), (3, 23));
        let frames = value("frames");
        assert!(frames.starts_with("true java.base/java.lang.Thread.run("), "{frames}");
        assert_eq!((value("cpu"), value("suspended")), ("true", "8001 true"));
        assert_eq!((value("ran"), value("stands"), value("goes")), ("true", "true", "true"));
        assert_eq!((value("waiter"), value("self")), ("false 8003", "1"));
        assert_eq!(value("suspend.list"), "001111 8001 8003");
        assert_eq!(value("resume.list"), "001111 1 3");
        for name in ["bad.status", "bad.run", "bad.frames", "bad.storage", "no.frames", "no.depth"]
        {
            assert!(outcome.stdout.contains(&format!("{name}=0\n")), "{}", outcome.report());
            assert!(!outcome.stdout.contains(&format!("{name}=1")), "{}", outcome.report());
            assert!(!outcome.stdout.contains(&format!("{name}=77")), "{}", outcome.report());
        }
        assert_eq!((value("no.function"), value("no.priority")), ("-1", "-1"));
        assert_eq!((value("no.name"), value("started")), ("0", "1"));
        assert_eq!(outcome.stderr, "");
    });
}

#[test]
fn stacks_have_no_frames_and_lines_of_perk() {
    let program = fixture::compile_text(
        "Traced",
        "public class Traced {
            static native void probe(boolean on);
            static native String trace();
            static int line() {
                return StackWalker.getInstance().walk(it -> it.skip(1).findFirst().get().getLineNumber());
            }
            static void target() { System.out.println(\"target.line=\" + line()); }
            static int caller() {
                int sum = 0;
                for (int i = 0; i < 3; i++) sum += i;
                String trace = trace(); int line = line(); System.out.println(\"lines=\" + trace.startsWith(\"Traced.trace:-3,Traced.caller:\" + line + \",\"));
                System.out.println(\"caller.line=\" + line());
                target();
                return sum;
            }
            public static void main(String[] arguments) {
                System.load(arguments[0]);
                caller();
                probe(true);
                caller();
                probe(false);
                caller();
            }
        }",
    );
    jdk::each(|jdk| {
        let outcome = run(jdk, "traced", "Traced", program.clone());
        assert_eq!(outcome.stdout.matches("lines=true\n").count(), 3, "{}", outcome.report());
        let (target, caller) = (outcome.number("target.line"), outcome.number("caller.line") + 1);
        let entry = format!("Traced.target:{target},Traced.caller:{caller},Traced.main:");
        assert!(outcome.value("entry").starts_with(&entry), "{} {entry}", outcome.report());
        let exit = outcome.value("exit");
        assert!(exit.starts_with(&entry), "{exit}");
        assert_eq!(outcome.stdout.matches("entry=").count(), 1);
    });
}
