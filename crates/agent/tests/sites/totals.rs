//! The counts compared with the JVM's own counts, thread by thread, without perk.

use perk_profile::{Allocations, Profile};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use crate::{FILE, counted, frames, read, sites};

const PROGRAM: &str = "AllocatedBytes";
const N: u64 = 2000;
/// The largest difference between both: some objects are made once, by the JVM or when a form is
/// compiled.
const MOST_SHARE: f64 = 0.005;

/// Returns the objects, of a class or all, that are made below a method of the program while the
/// JVM counts.
fn measured(profile: &Profile, method: &str, class: Option<&str>) -> Allocations {
    let (measured, method) = (format!("{PROGRAM}.measured"), format!("{PROGRAM}.{method}"));
    let mut sum = Allocations::default();
    for site in &sites(profile) {
        let frames = frames(profile, site);
        let is_of_class = class.is_none_or(|it| it == profile.symbols.class_name(site.class));
        if is_of_class
            && [&measured, &method].iter().all(|it| frames.iter().any(|(name, _)| name == *it))
        {
            sum.add(site.objects);
        }
    }
    sum
}

fn run(run: JavaRun) -> Outcome {
    // Objects that C2 finds unnecessary are not allocated, and that depends on the probes.
    let run = run.jvm_arg("-XX:-DoEscapeAnalysis").jvm_arg("-XX:-OptimizeStringConcat");
    run.main(PROGRAM).args([N.to_string()]).run()
}

fn assert_totals(jdk: &Jdk, agent: &JavaRun, allowed_share: f64) {
    let plain = run(JavaRun::new(jdk));
    plain.assert_success();
    let profile = read(&run(agent.clone()));
    let (mut all, mut found_all) = (0, 0);
    let mut report = String::new();
    for line in plain.stdout.lines() {
        let (method, bytes) = line.split_once('=').unwrap();
        let bytes: u64 = bytes.parse().unwrap();
        let found = measured(&profile, method, None).allocated_bytes;
        report += &format!("{} {method}: {found} of {bytes}\n", jdk.version);
        all += bytes;
        found_all += found;
    }
    eprintln!("{report}");
    let differs = found_all.abs_diff(all) as f64 / all as f64;
    assert!(differs < allowed_share, "{differs}: {found_all} of {all} bytes:\n{report}");
}

#[test]
fn are_those_of_the_jvm() {
    jdk::each(|jdk| assert_totals(jdk, &counted(jdk, ""), MOST_SHARE));
}

#[test]
fn are_those_of_the_jvm_by_class() {
    jdk::each(|jdk| {
        let profile = read(&run(counted(jdk, "")));
        let count =
            |method: &str, class: &str| measured(&profile, method, Some(class)).allocated_count;
        let what = jdk.version;
        assert_eq!(count("inherited", "AllocatedBytes$Inherited"), N + 1, "{what}");
        assert_eq!(count("above", "AllocatedBytes$Below"), N + 1, "{what}");
        assert_eq!(count("own", "AllocatedBytes$Inherited"), N, "{what}");
        assert_eq!(count("constructors", "short[]"), N, "{what}");
        assert_eq!(count("invoked", "char[]"), N, "{what}");
        assert_eq!(count("copies", "AllocatedBytes$Inherited[]"), 2 * N + 1, "{what}");
        // Backtraces consist of chunks of 32 frames: one for the first exception of each two, two
        // for the second.
        assert_eq!(count("exceptions", "short[]"), 3 * N, "{what}");
        assert_eq!(count("exceptions", "java.lang.Object[]"), 6 * N, "{what}");
    });
}

#[test]
fn are_those_of_the_jvm_with_estimates_of_each_object() {
    jdk::each(|jdk| {
        let options = format!("heap=sites,sample=1,depth=64,cutoff=0,format=p,file={FILE}");
        assert_totals(jdk, &JavaRun::new(jdk).agent(&options), MOST_SHARE);
    });
}
