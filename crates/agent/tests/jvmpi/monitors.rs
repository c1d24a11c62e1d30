//! Events of monitors of Java, waits and sleeps, and MONITOR_DUMP.

use perk_testkit::{Outcome, fixture, jdk};

use crate::support::{library, profiled};

#[track_caller]
fn run(jdk: &perk_testkit::Jdk, agent: &str, class: &str, text: &str) -> Outcome {
    let run = profiled(jdk, "", agent, "").jvm_arg("--enable-native-access=ALL-UNNAMED");
    let classes = fixture::compile_text(class, text);
    let outcome = run.classes(classes).main(class).args([library(agent)]).run();
    outcome.assert_success();
    assert_eq!(outcome.stderr, "");
    outcome
}

const WAITS: &str = r#"
public class Waits {
    static native void watch(Object object);
    static native void sleeper();
    static native int contending();
    static native void enable(boolean on);
    static native void waitedOnly();
    static native void report(String name);

    static final Object lock = new Object(), timed = new Object(), notified = new Object();

    static void contend(int count) throws Exception {
        Thread[] threads = new Thread[count];
        synchronized (lock) {
            for (int i = 0; i < count; i++) {
                threads[i] = new Thread(() -> { synchronized (lock) { } });
                threads[i].start();
            }
            while (contending() < count) Thread.onSpinWait();
        }
        for (Thread thread : threads) thread.join();
    }

    static void waits() throws Exception {
        synchronized (timed) {
            for (int i = 0; i < 3; i++) timed.wait(60);
        }
        Thread waiter = new Thread(() -> {
            synchronized (notified) {
                try { notified.wait(); } catch (InterruptedException e) { }
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) Thread.onSpinWait();
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < 50_000_000) Thread.onSpinWait();
        synchronized (notified) { notified.notifyAll(); }
        waiter.join();
    }

    static void sleeps() throws Exception {
        Thread.sleep(30);
        Thread.sleep(40);
        Thread.sleep(50, 1);
        Thread.currentThread().interrupt();
        try {
            Thread.sleep(100_000);
            System.out.println("interrupted=no");
        } catch (InterruptedException e) {
            System.out.println("interrupted=" + e.getMessage());
        }
        try {
            Thread.sleep(-1);
        } catch (IllegalArgumentException e) {
            System.out.println("negative=" + e.getMessage());
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        watch(lock);
        watch(timed);
        watch(notified);
        sleeper();
        waits();
        sleeps();
        report("off");
        enable(true);
        contend(7);
        waits();
        sleeps();
        report("on");
        waitedOnly();
        waits();
        sleeps();
        report("waited");
        enable(false);
        waits();
        sleeps();
        report("end");
    }
}
"#;

#[test]
fn waits_sleeps_and_contention_are_counted() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "waits", "Waits", WAITS);
        let value = |name: &str| outcome.value(name);
        let number = |name: &str| outcome.number(name);
        for name in ["off", "end"] {
            for what in ["0", "1", "2", "sleep"] {
                assert_eq!(value(&format!("{name}.{what}")), "0,0,0,0,0");
            }
        }
        assert_eq!(value("on.0"), "7,7,0,0,0");
        assert_eq!(value("on.1"), "0,0,3,3,180");
        assert_eq!(value("on.2"), "0,0,1,1,0");
        // A part of a millisecond counts as one.
        assert_eq!(value("on.sleep"), format!("0,0,4,4,{}", 30 + 40 + 51 + 100_000));
        assert_eq!(value("waited.1"), "0,0,0,3,0");
        assert_eq!(value("waited.2"), "0,0,0,1,0");
        assert_eq!(value("waited.sleep"), "0,0,0,4,0");
        for name in ["on", "waited"] {
            let range = |what| {
                (number(&format!("{name}.{what}.least")), number(&format!("{name}.{what}.most")))
            };
            let (least, most) = range("1");
            assert!((60..1000).contains(&least) && most < 2000, "{least} to {most}");
            let (least, most) = range("2");
            assert!((50..2000).contains(&least) && least == most, "{least} to {most}");
            let (least, most) = range("sleep");
            assert!(least < 30 && (50..2000).contains(&most), "{least} to {most}");
        }
        assert_eq!(number("on.failures"), 0);
        assert_eq!(outcome.stdout.matches("interrupted=sleep interrupted\n").count(), 4);
        assert_eq!(outcome.stdout.matches("negative=timeout value is negative\n").count(), 4);
    });
}

/// A deadlock, and monitors in each other state.
const KNOWN: &str = r#"
public class Known {
    static native void name(Object object, String name);
    static native void enterByNative(Object object);
    static native void dump();

    static final Object a = new Object(), b = new Object(), c = new Object(), d = new Object();
    static final Object e = new Object(), f = new Object(), g = new Object();
    static volatile int held;

    interface Body { void run() throws Exception; }

    static Thread start(String name, Thread.State until, Body body) throws Exception {
        Thread thread = new Thread(() -> {
            try { body.run(); } catch (Exception exception) { }
        }, name);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != until) Thread.sleep(1);
        return thread;
    }

    static void deep(int depth) {
        if (depth > 0) deep(depth - 1);
        else synchronized (d) { }
    }

    static void cross(Object mine, Object other) throws Exception {
        synchronized (mine) {
            synchronized (g) { held++; }
            while (held < 2) Thread.sleep(1);
            synchronized (other) { }
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        Object[] all = { a, b, c, d, e, f, g };
        for (int i = 0; i < all.length; i++) name(all[i], "" + (char) ('a' + i));
        Thread one = start("one", Thread.State.TIMED_WAITING, () -> cross(a, b));
        start("two", Thread.State.BLOCKED, () -> cross(b, a));
        while (one.getState() != Thread.State.BLOCKED) Thread.sleep(1);
        start("w1", Thread.State.WAITING, () -> { synchronized (c) { synchronized (c) { c.wait(); } } });
        start("w2", Thread.State.WAITING, () -> { synchronized (c) { c.wait(); } });
        start("w3", Thread.State.TIMED_WAITING, () -> { synchronized (e) { e.wait(100_000); } });
        start("w4", Thread.State.WAITING, () -> { synchronized (f) { f.wait(); } });
        start("holder", Thread.State.TIMED_WAITING, () -> { synchronized (f) { Thread.sleep(100_000); } });
        start("e3", Thread.State.BLOCKED, () -> { synchronized (f) { } });
        enterByNative(g);
        synchronized (d) { synchronized (d) { synchronized (d) {
            start("e1", Thread.State.BLOCKED, () -> { synchronized (d) { } });
            start("e2", Thread.State.BLOCKED, () -> deep(3000));
            dump();
        } } }
    }
}
"#;

#[test]
fn a_monitor_dump_shows_a_deadlock() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "monitordump", "Known", KNOWN);
        let value = |name: &str| outcome.value(name);
        assert_eq!((value("early"), value("enable"), value("request")), ("-1", "1", "0"));
        assert_eq!((value("whole"), value("bad"), value("unknown")), ("1", "0", "0"));
        assert_eq!((value("type"), value("threads")), ("1000003b", "1"));
        assert_eq!(value("java.a"), "one,1,two,");
        assert_eq!(value("java.b"), "two,1,one,");
        assert_eq!(value("java.c"), "-,0,,w1+w2");
        assert_eq!(value("java.d"), "main,3,e1+e2,");
        assert_eq!(value("java.e"), "-,0,,w3");
        assert_eq!(value("java.f"), "holder,1,e3,w4");
        assert_eq!(value("java.g"), "main,1,,");
        assert_eq!(value("raw.first"), "raw owner,2,raw entering,");
        assert_eq!(value("raw.second"), "-,0,,raw owner");
        let states = [("main", 1), ("one", 2), ("e3", 2), ("w1", 3), ("w3", 3), ("holder", 3)];
        for (thread, state) in states.into_iter().chain([("raw owner", 3), ("raw entering", 2)]) {
            assert_eq!(outcome.number(&format!("status.{thread}")), state, "{thread}");
        }
        assert_eq!((value("top.main"), value("depth.main")), ("Known.dump:-3", "2"));
        assert!(value("top.one").starts_with("Known.cross:"), "{}", value("top.one"));
        assert!((3001..3020).contains(&outcome.number("depth.e2")), "{}", value("depth.e2"));
        assert_eq!(value("depth.raw owner"), "0");
    });
}

/// 64 threads that contend, wait, sleep, allocate and call the profiler for some seconds.
const STORM: &str = r#"
public class Storm {
    static native void begin();
    static native void turn(Object fresh, int turn);
    static native void end();

    static final Object[] locks = { new Object(), new Object(), new Object() };
    static volatile boolean isOver;
    static long turns;

    static void run(int number) {
        for (int i = 1; !isOver; i++) {
            Object lock = locks[(i + number) % locks.length];
            synchronized (lock) {
                turns++;
                if (i % 16 == 0) lock.notifyAll();
                if (i % 32 == 0) try { lock.wait(1); } catch (InterruptedException e) { }
            }
            turn(new int[i % 100], i + 1000 * number);
            if (i % 50 == 0) try { Thread.sleep(1); } catch (InterruptedException e) { }
            if (i % 200 == 0) new Thread(() -> turn(new Object(), number)).start();
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        begin();
        Thread[] threads = new Thread[64];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> run(number));
            threads[i].start();
        }
        Thread.sleep(Integer.parseInt(arguments[1]));
        isOver = true;
        for (Thread thread : threads) thread.join();
        System.out.println("turns=" + turns);
        end();
    }
}
"#;

#[test]
fn a_storm_of_threads_does_not_hang() {
    let classes = fixture::compile_text("Storm", STORM);
    let duration_ms = std::env::var("PERK_STORM_MS").unwrap_or_else(|_| "4000".to_owned());
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "storm", "").jvm_arg("--enable-native-access=ALL-UNNAMED");
        let library = library("storm").display().to_string();
        let run = run.classes(classes.clone()).main("Storm").args([library, duration_ms.clone()]);
        let outcome = run.timeout(std::time::Duration::from_secs(120)).run();
        outcome.assert_success();
        assert_eq!(outcome.number("faults"), 0);
        assert!(outcome.number("turns") > 1000, "{}", outcome.report());
        assert!(outcome.number("suspensions") > 100, "{}", outcome.report());
    });
}
