//! Two runs compared: equal calls and one slow method, an allocation more, samples of both.

use perk_testkit::{Jdk, fixture, jdk};

use super::perk_run;
use crate::util::{Folder, stderr, stdout};

/// Calls `Step.slow`, which spins, and `Step.steady`, which does not depend on the argument; the second
/// argument is the number of bytes that each round allocates.
const PACE: &str = r#"
public class Pace {
    static volatile long sink;
    static volatile byte[] kept;

    static class Step {
        static void spin(int count) {
            for (int i = 0; i < count; i++) sink += i;
        }
        static void slow(int count) { spin(count); }
        static void steady() { for (int i = 0; i < 200_000; i++) sink ^= i; }
        static void allocate(int size) { kept = new byte[size]; }
    }

    public static void main(String[] args) {
        for (int round = 0; round < 20; round++) {
            Step.slow(Integer.parseInt(args[0]));
            Step.steady();
            Step.allocate(Integer.parseInt(args[1]));
        }
    }
}
"#;

fn record(folder: &Folder, jdk: &Jdk, options: &[&str], arguments: [&str; 2]) {
    let classes = fixture::compile_text("Pace", PACE);
    let [java, classes] = [jdk.java(), classes].map(|it| it.to_str().unwrap().to_owned());
    let line = [&*java, "-cp", &*classes, "Pace", arguments[0], arguments[1]].map(str::to_owned);
    let output = perk_run(folder, options, &line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[track_caller]
fn diff(folder: &Folder, arguments: &[&str], code: i32) -> String {
    let output = folder.run(&[&["diff"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

#[test]
fn equal_calls_and_a_slow_method() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let exact = ["--cpu", "times", "--heap", "sites", "--include", "Pace*", "-o"];
        for (name, arguments) in [
            ("a.hprof", ["200000", "100"]),
            ("b.hprof", ["8000000", "100"]),
            ("c.hprof", ["200000", "90000"]),
        ] {
            record(&folder, jdk, &[&exact[..], &[name]].concat(), arguments);
        }
        let text = diff(&folder, &["a.hprof", "b.hprof", "--focus", "Pace.main"], 0);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("b.hprof takes ") && first.contains(" times the time of a"),
            "{first}"
        );
        assert!(first.contains("; most of it in Pace$Step.spin (+"), "{text}");
        assert!(text.contains("\nno difference in calls and allocations\n"), "{text}");
        let total = text.split("\nTime by method, with all that it called\n").nth(1).unwrap();
        let total = total.split("\n\n").next().unwrap();
        for name in ["Pace$Step.spin", "Pace$Step.slow", "Pace.main"] {
            assert!(total.lines().any(|line| line.ends_with(name)), "{name}: {total}");
        }
        // Its own time is that of a call: the limit is on all of it.
        for (limit, code) in [
            ("time(Pace$Step.slow)>+200%", 1),
            ("total(Pace$Step.slow)>+1ms", 1),
            ("total(Pace$Step.slow)<-1ms", 0),
            ("self(Pace$Step.spin)>+200%", 1),
            ("total(Pace$Step.steady)>+10000%", 0),
            ("calls>+0", 0),
        ] {
            diff(
                &folder,
                &["a.hprof", "b.hprof", "--focus", "Pace.main", "--fail-on", limit],
                code,
            );
        }

        let text = diff(&folder, &["a.hprof", "c.hprof", "--focus", "Pace.main"], 1);
        let bytes = "\nAllocated bytes by method, its own\n";
        let table = text.split(bytes).nth(1).unwrap().split("\n\n").next().unwrap();
        assert!(table.lines().nth(1).unwrap().ends_with("  Pace$Step.allocate"), "{text}");
        let same = "total(Pace$Step.allocate)>+1MB";
        let chosen = ["a.hprof", "c.hprof", "--metric", "allocated", "--fail-on", same];
        let text = diff(&folder, &chosen, 1);
        assert!(text.contains("EXCEEDED  total(Pace$Step.allocate)>+1MB: "), "{text}");
    });
}

#[test]
fn samples_of_two_runs() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        for (name, count) in [("a.hprof", "200000"), ("b.hprof", "8000000")] {
            record(&folder, jdk, &["-o", name, "--interval", "1ms"], [count, "100"]);
        }
        let text = diff(&folder, &["a.hprof", "b.hprof"], 0);
        let first = text.lines().next().unwrap();
        assert!(first.contains(" times the CPU time of a.hprof (+"), "{text}");
        assert!(first.contains("; most of it in Pace$Step.spin (+"), "{text}");
        assert!(text.contains("\nCPU time by method, its own\n"), "{text}");
        assert!(text.contains(" samples, ± ") && text.contains("at 95 % confidence"), "{text}");
        diff(&folder, &["a.hprof", "b.hprof", "--fail-on", "total(Pace$Step.slow)>+5ms"], 1);
        diff(&folder, &["a.hprof", "b.hprof", "--fail-on", "time(Pace$Step.slow)>+100%"], 1);
        diff(&folder, &["a.hprof", "b.hprof", "-o", "d.html"], 0);
        assert!(folder.join("d.html").exists());
    });
}

/// Makes the same objects in each run. Strings that are put together by `+` would be made in other ways.
const EVEN: &str = r#"
import java.util.ArrayList;
import java.util.List;

public class Even {
    static final List<Object> kept = new ArrayList<>();

    static class Pair {
        final int[] numbers = new int[2];
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1000; i++) kept.add(new Pair());
        Thread thread = new Thread(() -> kept.add(new long[3]));
        thread.start();
        thread.join();
        System.out.println(kept.size());
    }
}
"#;

#[test]
fn equal_runs_allocate_the_same() {
    let classes = fixture::compile_text("Even", EVEN);
    jdk::each(|jdk| {
        let [java, classes] =
            [jdk.java(), classes.clone()].map(|it| it.to_str().unwrap().to_owned());
        let line = [&*java, "-cp", &*classes, "Even"].map(str::to_owned);
        for way in [&["--heap", "sites", "--paths"][..], &["--heap", "sites"]] {
            let folder = Folder::new();
            // The first run of a kind may keep what the others use.
            for name in ["first.hprof", "a.hprof", "b.hprof"] {
                let options = [way, &["-q", "-o", name]].concat();
                let output = perk_run(&folder, &options, &line);
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                let json = folder.run(&["report", "--json", name]);
                let json = stdout(&json);
                assert!(json.contains("Even$Pair") && !json.contains("java.lang.Perk"), "{json}");
            }
            // Of the JDK's objects the times of its threads and of the JIT compilers make more or fewer.
            let limits = [
                "allocated_count(Even)>+0",
                "allocated_count(Even)<-0",
                "allocated_bytes(Even)>+0",
            ];
            let limits = limits.iter().flat_map(|limit| ["--fail-on", limit]);
            let arguments: Vec<_> = ["a.hprof", "b.hprof"].into_iter().chain(limits).collect();
            let kept = diff(&folder, &arguments, 0);
            // Estimated callers are left out: the numbers are those of the lines themselves.
            let with_callees = kept.contains("2002 → 2002");
            assert!(kept.contains("allocated_count(Even)"), "{way:?}: {kept}");
            assert_eq!(with_callees, way.len() == 3, "{way:?}: {kept}");
        }
    });
}
