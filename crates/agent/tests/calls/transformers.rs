//! Other agents that change classes: they receive the files as they are without perk.

use std::path::Path;

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk};

use crate::{accounting, by_method, pairs, profile};

/// The folder of Debian's libjacoco-java and its dependencies.
const JAVA_LIBRARIES: &str = "/usr/share/java";
const JACOCO: [&str; 6] = [
    "org.jacoco.agent.rt.jar",
    "org.jacoco.core.jar",
    "asm.jar",
    "asm-commons.jar",
    "asm-tree.jar",
    "asm-analysis.jar",
];

/// The options for callees and their callers.
const CALLS: &str = "cpu=times,depth=2";

/// Runs without perk, with it before the agent, and with it after the agent.
fn three_ways(
    jdk: &Jdk,
    options: &str,
    agent: &str,
    run: impl Fn(JavaRun) -> JavaRun,
) -> [Outcome; 3] {
    let with_agent = |it: JavaRun| run(it.jvm_arg(format!("-javaagent:{agent}")));
    let perk = format!("{options},format=p,cutoff=0,file={}", crate::FILE);
    let outcomes = [
        with_agent(JavaRun::new(jdk)).run(),
        with_agent(JavaRun::new(jdk).agent(&perk)).run(),
        with_agent(JavaRun::new(jdk)).agent(&perk).run(),
    ];
    outcomes.iter().for_each(Outcome::assert_success);
    outcomes
}

#[test]
fn transformers_get_the_original_classes() {
    let folder = tempfile::tempdir().unwrap();
    let classes = fixture::fixtures().join("");
    let jar = fixture::agent_jar(folder.path(), "TransformingAgent", &[classes]);
    jdk::each(|jdk| {
        for options in [CALLS, "cpu=counts", "cpu=times,heap=sites,depth=2"] {
            let main = |run: JavaRun| run.main("TransformingAgent");
            let [plain, before, after] = three_ways(jdk, options, &jar, main);
            for outcome in [before, after] {
                assert_eq!(outcome.stdout, plain.stdout, "{}", outcome.report());
                // Counted once each time, although its class met several hooks and was changed
                // twice.
                let profile = profile(&outcome);
                let pairs = pairs(&profile);
                let calls = by_method(&pairs);
                assert_eq!(calls["TransformingAgent$Late.run"], 2, "{}", outcome.report());
            }
        }
    });
}

/// The JVM accepts a redefined class only with the same fields.
#[test]
fn classes_are_redefined_as_without_perk() {
    let folder = tempfile::tempdir().unwrap();
    let classes = fixture::fixtures().join("");
    let jar = fixture::agent_jar(folder.path(), "RedefiningAgent", &[classes]);
    jdk::each(|jdk| {
        for options in ["heap=sites,depth=2", "cpu=times,heap=sites,depth=2", CALLS, "cpu=counts"] {
            let main = |run: JavaRun| run.main("RedefiningAgent");
            let [plain, before, after] = three_ways(jdk, options, &jar, main);
            for outcome in [before, after] {
                assert_eq!(outcome.stdout, plain.stdout, "{options}: {}", outcome.report());
                let profile = profile(&outcome);
                assert_eq!(accounting(&profile).fault_count, 0, "{}", outcome.report());
                let Some(sites) = profile.sites() else { continue };
                // Objects made before each change and after the last, of which some are kept.
                for (class, kept, others) in [
                    ("Plain", 250, 5),
                    ("Below", 250, 5),
                    ("Pair", 250, 5),
                    ("Failure", 250, 5),
                    ("Early", 50, 0),
                ] {
                    let name = format!("RedefiningAgent${class}");
                    let rows = sites.rows.iter();
                    let rows = rows.filter(|it| profile.symbols.class_name(it.class) == name);
                    let rows: Vec<_> = rows.map(|it| it.objects).collect();
                    let allocated: u64 = rows.iter().map(|it| it.allocated_count).sum();
                    let live: u64 = rows.iter().map(|it| it.live_count).sum();
                    assert_eq!(allocated, kept + others, "{name}, {}", outcome.report());
                    assert!((kept..=allocated).contains(&live), "{name}: {live} are live");
                }
            }
        }
    });
}

/// JaCoCo identifies a class by a checksum of its file: with changed files, its coverage would be
/// of classes that do not exist.
#[test]
fn coverage_is_that_of_a_run_without_perk() {
    let libraries = JACOCO.map(|name| Path::new(JAVA_LIBRARIES).join(name));
    assert!(
        libraries.iter().all(|it| it.exists()),
        "no JaCoCo in {JAVA_LIBRARIES}: install libjacoco-java, as tools/setup.sh jacoco does"
    );
    let folder = tempfile::tempdir().unwrap();
    let jar = fixture::agent_jar(folder.path(), "org.jacoco.agent.rt.internal.PreMain", &libraries);
    let text = "public class Covered {
        static int sum;
        static void never() { sum--; }
        public static void main(String[] arguments) {
            for (int i = 0; i < 10; i++) { if (i > 20) never(); else sum += i; }
        }
    }";
    // Compiled for a version that Debian's JaCoCo knows.
    let classes = fixture::compile_text_for(11, "Covered", text);
    jdk::each(|jdk| {
        let agent = format!("{jar}=destfile=jacoco.exec,includes=Covered");
        let main = |run: JavaRun| run.classes(&classes).main("Covered");
        let outcomes = three_ways(jdk, CALLS, &agent, main);
        let covered = outcomes.each_ref().map(|it| coverage(it.bytes("jacoco.exec")));
        assert_eq!(covered[0], covered[1]);
        assert_eq!(covered[0], covered[2]);
    });
}

/// Returns the data of the class in JaCoCo's file: its id, its name, and the probes that were met.
fn coverage(bytes: &[u8]) -> Vec<u8> {
    let name = b"\x00\x07Covered";
    let at = bytes.windows(name.len()).position(|it| it == name).expect("the class is covered");
    // An id of eight bytes is before the name, and the file ends after the probes.
    bytes[at - 8..].to_vec()
}
