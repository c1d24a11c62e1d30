//! Objects that are counted by the instruction that makes them, with callers from samples.

use std::collections::BTreeMap;

use perk_profile::{Allocations, Profile};
use perk_testkit::{Jdk, jdk};

use crate::{counted, frames, kinds, made, read, sites, usual};

const BY_INSTRUCTION: &str = ",paths=n";
/// The same methods have counters of their calls, too.
const BESIDE_CALLS: &str = ",paths=n,cpu=counts";

/// Returns all objects of a class.
fn of_class(profile: &Profile, class: &str) -> Allocations {
    let mut sum = Allocations::default();
    for site in sites(profile).iter().filter(|it| profile.symbols.class_name(it.class) == class) {
        sum.add(site.objects);
    }
    sum
}

/// Runs `AllocationKinds` with flags of the JVM, unless this JVM does not have them.
fn assert_made_with(jdk: &Jdk, options: &str, flags: &[&str]) {
    let mut run = kinds::counted(jdk, options);
    for flag in flags {
        run = run.jvm_arg(flag);
    }
    let outcome = run.run();
    if outcome.stderr.contains("VM option") {
        return;
    }
    let profile = read(&outcome);
    // Lambdas have hidden classes, which have probes.
    assert_eq!(profile.accounting.as_ref().expect("an account").unseen_class_count, 0);
    let mut jvm = usual(jdk);
    if flags.contains(&"-XX:+UseZGC") {
        jvm.oop_bytes = 8;
    }
    for (method, class, expected) in kinds::expected(&jvm) {
        // The instruction is one of the JDK's.
        let found = match method {
            "reflected" | "clones" if class.starts_with('$') => {
                of_class(&profile, &format!("AllocationKinds{class}"))
            }
            "reflected" => of_class(&profile, class),
            "boxes" => continue,
            _ => made(&profile, "AllocationKinds", method, class),
        };
        assert_eq!(found, expected, "{} {options} {flags:?}: {method} {class}", jdk.version);
    }
}

#[test]
fn whatever_is_made_is_counted() {
    jdk::each(|jdk| assert_made_with(jdk, BY_INSTRUCTION, &[]));
}

#[test]
fn whatever_is_made_is_counted_beside_calls() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-XX:TieredStopAtLevel=1"], &["-XX:-TieredCompilation"]] {
            assert_made_with(jdk, BESIDE_CALLS, flags);
        }
    });
}

#[test]
fn by_every_compiler_and_by_collectors() {
    jdk::each(|jdk| {
        for flags in [
            &["-Xint"][..],
            &["-XX:TieredStopAtLevel=1"],
            &["-XX:-TieredCompilation"],
            &["-XX:+UseSerialGC"],
            &["-XX:+UseZGC"],
        ] {
            assert_made_with(jdk, BY_INSTRUCTION, flags);
        }
    });
}

/// Each class has the objects that it has where paths are counted, but for what the JVM itself makes.
#[test]
fn classes_have_the_objects_that_paths_have() {
    jdk::each(|jdk| {
        let by_class = |options: &str| {
            let run = counted(jdk, options).jvm_arg("-XX:-DoEscapeAnalysis");
            let run = run.jvm_arg("-XX:-OptimizeStringConcat").main("AllocatedBytes").args(["500"]);
            let profile = read(&run.run());
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for site in &sites(&profile) {
                let class = profile.symbols.class_name(site.class);
                // The names of hidden classes end in a number.
                let class = class.split('/').next().unwrap_or(class).to_owned();
                *counts.entry(class).or_default() += site.objects.allocated_count;
            }
            counts
        };
        let (by_path, by_instruction) = (by_class(""), by_class(BY_INSTRUCTION));
        for (class, &count) in by_path.iter().filter(|(_, count)| **count >= 500) {
            let found = by_instruction.get(class).copied().unwrap_or(0);
            let most = count / 50 + 100;
            assert!(found.abs_diff(count) <= most, "{}: {class}: {found}, {count}", jdk.version);
        }
    });
}

#[test]
fn callers_are_from_samples_and_sums_are_exact() {
    const EACH: u64 = 50_000;
    jdk::each(|jdk| {
        for threads in ["platform", "virtual"] {
            // Samples distinguish the threads, and counts do not.
            let options =
                format!("{BY_INSTRUCTION},live=n,cpu=samples,thread=y,thread-kinds=platform");
            let run = counted(jdk, &options).main("AllocationCallers");
            let profile = read(&run.args([&EACH.to_string(), threads]).run());
            let what = format!("{} {threads}", jdk.version);
            for class in ["AllocationCallers$Item", "byte[]"] {
                let mut by_caller: BTreeMap<String, u64> = BTreeMap::new();
                for site in &sites(&profile) {
                    let frames = frames(&profile, site);
                    let is_meant = profile.symbols.class_name(site.class) == class
                        && frames.first().is_some_and(|it| it.0 == "AllocationCallers.make");
                    if is_meant {
                        let caller = frames.get(1).map_or("", |it| it.0.as_str());
                        let count = site.objects.allocated_count;
                        *by_caller.entry(caller.to_owned()).or_default() += count;
                    }
                }
                let all: u64 = by_caller.values().sum();
                assert_eq!(all, 16 * EACH, "{what}: {class}: {by_caller:?}");
                if class == "byte[]" {
                    // 800 MB. Samples that cost too much become fewer, and weigh more: one may weigh as some hundred
                    // of the first ones.
                    let share = by_caller["AllocationCallers.often"] as f64 / all as f64;
                    assert!((share - 0.75).abs() < 0.2, "{what}: {share}");
                }
            }
        }
    });
}

#[test]
fn options_are_checked() {
    let jdk = jdk::compiler();
    for options in ["heap=sites,paths=n", "cpu=samples,format=p,paths=n"] {
        let outcome = perk_testkit::JavaRun::new(jdk).agent(options).main("ExitBySystemExit").run();
        assert!(outcome.stderr.contains("paths"), "{options}: {}", outcome.report());
    }
}
