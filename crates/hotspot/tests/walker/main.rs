//! Walks of the stacks of real JVMs, in a signal handler, by an agent of the test's own
//! (`agent.rs`), which has the memory read by a system call that cannot fault.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, jdk, native_library};
use tempfile::TempDir;

/// The agent, compiled once for each process of tests.
fn agent() -> &'static str {
    static AGENT: OnceLock<(TempDir, String)> = OnceLock::new();
    let (_, agent) = AGENT.get_or_init(|| {
        let folder = TempDir::new().expect("a folder");
        let source = "crates/hotspot/tests/walker/agent.rs";
        let agent = native_library::compile_optimized(source, folder.path());
        (folder, agent)
    });
    agent
}

/// What the agent wrote.
struct Walks {
    numbers: BTreeMap<String, u64>,
    /// The first methods of threads in Java code, under stubs, with their samples.
    methods: BTreeMap<String, u64>,
    text: String,
}

impl Walks {
    fn read(file: &Path) -> Walks {
        let text = fs::read_to_string(file).expect("the agent writes its totals");
        let mut numbers = BTreeMap::new();
        let mut methods: BTreeMap<String, u64> = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [name, number] => {
                    numbers.extend(number.parse().map(|number: u64| (name.to_owned(), number)));
                }
                ["method", count, _, name] => {
                    *methods.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap();
                }
                _ => {}
            }
        }
        Walks { numbers, methods, text }
    }

    fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// The walks of threads in a state.
    fn total(&self, state: &str) -> u64 {
        let of_state = self
            .numbers
            .iter()
            .filter(|(name, _)| name.strip_prefix(state).is_some_and(|rest| rest.starts_with('.')));
        of_state.map(|(_, count)| count).sum()
    }

    /// Asserts that of the threads in Java code at most 0.5 % have no complete stack.
    fn assert_complete(&self, least: u64) {
        let total = self.total("java");
        let good = self.number("java.complete") + self.number("java.truncated");
        assert!(total >= least, "{}", self.text);
        assert!((total - good) * 200 <= total, "{good} of {total}:\n{}", self.text);
    }

    /// Asserts that all stacks are those of JVMTI, to the bytecode.
    fn assert_equal(&self, least: u64) {
        let (compared, equal) = (self.number("compared"), self.number("equal"));
        assert!(compared >= least, "{}", self.text);
        assert_eq!(compared, equal, "{}", self.text);
    }
}

/// Walks a program for a while, and longer if too little of that was the program's: a busy machine,
/// or one that compiles.
fn walk_enough(
    jdk: &Jdk,
    mode: &str,
    options: &[&str],
    kind: &[&str],
    is_enough: impl Fn(&Walks) -> bool,
) -> Walks {
    let walk_for = |ms: &str| walk(jdk, mode, options, &[&[ms], kind].concat());
    let walks = ["500", "1500", "6000"].into_iter().map(walk_for).find(is_enough);
    walks.unwrap_or_else(|| walk_for("24000"))
}

fn walk(jdk: &Jdk, mode: &str, options: &[&str], arguments: &[&str]) -> Walks {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("walks.txt");
    let mut run = JavaRun::new(jdk)
        .jvm_arg(format!("-agentpath:{}={}{mode}", agent(), file.display()))
        .jvm_arg("-XX:+UnlockDiagnosticVMOptions")
        .jvm_arg("-XX:+DebugNonSafepoints")
        .timeout(Duration::from_secs(120));
    for option in options {
        run = run.jvm_arg(option);
    }
    run.main("HotSpots").args(arguments).run().assert_success();
    Walks::read(&file)
}

#[test]
fn stacks_of_java_code_are_complete() {
    jdk::each(|jdk| {
        let walks = walk(jdk, "", &[], &["2500"]);
        walks.assert_complete(100);
        for method in ["HotSpots.countedLoop", "HotSpots.inlinedLeaf", "java/util/Arrays.fill"] {
            assert!(walks.methods.get(method) >= Some(&5), "{method}\n{}", walks.text);
        }
    });
}

#[test]
fn stacks_are_complete_with_all_kinds_of_code_and_collectors() {
    let all: [&[&str]; 6] = [
        &["-Xint"],
        &["-Xcomp"],
        &["-XX:TieredStopAtLevel=1"],
        &["-XX:-TieredCompilation", "-XX:+PreserveFramePointer"],
        &["-XX:+UseZGC"],
        &["-XX:+UseParallelGC", "-XX:-UseCompressedOops"],
    ];
    let complete = |jdk: &Jdk, options: &[&str]| {
        let is_enough = |walks: &Walks| walks.total("java") >= 20;
        walk_enough(jdk, "", options, &[], is_enough).assert_complete(20);
    };
    jdk::each(|jdk| {
        for options in all {
            complete(jdk, options);
        }
        if jdk.version >= 25 {
            let compact = ["-XX:+UseCompactObjectHeaders", "-XX:+UseSerialGC"];
            complete(jdk, &compact);
        }
    });
}

#[test]
fn stacks_are_those_of_jvmti() {
    jdk::each(|jdk| {
        for (options, least) in [(&[][..], 40), (&["-Xint"], 3), (&["-XX:TieredStopAtLevel=1"], 15)]
        {
            let is_enough = |walks: &Walks| walks.number("compared") >= least;
            walk_enough(jdk, ",compare", options, &[], is_enough).assert_equal(least);
        }
    });
}

#[test]
fn walks_cross_from_virtual_threads_to_their_carriers() {
    jdk::each_of(&[21, 25], |jdk| {
        let walks = walk(jdk, "", &[], &["2500", "virtual"]);
        walks.assert_complete(100);
        assert!(walks.number("borders") > 100, "{}", walks.text);
        assert!(walks.number("thawed") > 0, "{}", walks.text);
        let is_enough = |walks: &Walks| walks.number("compared") >= 20;
        walk_enough(jdk, ",compare", &[], &["virtual"], is_enough).assert_equal(20);
    });
}

#[test]
fn walks_of_virtual_threads_go_on_in_the_heap() {
    let stopping: [&[&str]; 5] = [
        &["-Xmn8m"],
        &["-Xint", "-XX:+UseParallelGC", "-Xmn8m"],
        &["-XX:+UseParallelGC", "-XX:-UseCompressedOops", "-Xmn8m"],
        &["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmn8m"],
        &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
    ];
    let equal = |jdk: &Jdk, options: &[&str], least: u64| {
        let is_enough = |walks: &Walks| walks.number("compared") >= 100;
        let walks = walk_enough(jdk, ",compare", options, &["yielding"], is_enough);
        walks.assert_equal(100);
        assert!(walks.number("compared_thawed") >= least, "{}", walks.text);
    };
    jdk::each_of(&[21, 25], |jdk| {
        for options in stopping {
            equal(jdk, options, 50);
        }
        equal(jdk, &["-XX:+UseZGC", "-Xmx100m"], 10);
        // A thread in native code can miss a pause of Shenandoah.
        equal(jdk, &["-XX:+UseShenandoahGC", "-Xmx100m"], 0);
        let flag = if jdk.version == 21 { "-XX:+ZGenerational" } else { "-XX:+UseZGC" };
        equal(jdk, &["-XX:+UseZGC", flag, "-Xmx100m"], 10);
        if jdk.version == 25 {
            equal(jdk, &["-XX:+UseCompactObjectHeaders"], 50);
        }
    });
}

#[test]
fn running_virtual_threads_have_all_frames() {
    jdk::each_of(&[21, 25], |jdk| {
        let is_enough = |walks: &Walks| walks.total("java") >= 100;
        let walks = walk_enough(jdk, "", &[], &["yielding"], is_enough);
        let (thawed, frozen) = (walks.number("thawed"), walks.number("java_frozen"));
        assert!(thawed > 0 && frozen * 200 <= walks.total("java"), "{}", walks.text);
    });
}
