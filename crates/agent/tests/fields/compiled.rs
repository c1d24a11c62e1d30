//! Methods in whose place the JIT compilers put code of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use perk_control::intrinsics::{self, CodeMetric};
use perk_testkit::{JavaRun, Jdk, jdk};

use crate::{Counts, FILE, add, counted, read};

const PROGRAM: &str = "Intrinsics";
/// The interpreter takes its time.
const LONGEST: Duration = Duration::from_secs(300);
/// Compiles methods before they continue, so that compiled code surely runs.
const COMPILED: [&str; 1] = ["-Xbatch"];
const COMPILED_BY_C1: [&str; 2] = ["-Xbatch", "-XX:TieredStopAtLevel=1"];

/// What a run has counted.
#[derive(Debug)]
struct Found {
    /// Of the objects that the program makes: by method, class and field.
    own: BTreeMap<String, Counts>,
    /// The accesses to the components of the arrays that the JDK makes.
    components: u64,
}

fn run(jdk: &Jdk, flags: &[impl AsRef<str>]) -> Found {
    let mut run = counted(jdk, ",aggregate=site").main(PROGRAM).timeout(LONGEST);
    for flag in flags {
        run = run.jvm_arg(flag.as_ref());
    }
    let (mut own, mut components) = (BTreeMap::new(), 0);
    for (record, objects) in read(&run.run()) {
        for ([_, field, _], counts) in &record.fields {
            if record.is_of(PROGRAM) {
                let field = format!("{} {} {field}", record.method(), record.class);
                add(own.entry(field).or_default(), *counts, objects);
            } else if record.site.is_some() && field == "$components" {
                components += counts.iter().sum::<u64>() * objects;
            }
        }
    }
    Found { own, components }
}

/// Returns what two runs have counted differently.
fn differences(a: &Found, b: &Found) -> Vec<String> {
    let fields = a.own.iter().filter(|(field, counts)| b.own.get(*field) != Some(counts));
    fields.map(|(field, counts)| format!("{field}: {counts:?} {:?}", b.own.get(field))).collect()
}

#[test]
fn compiled_code_is_counted_as_interpreted_code() {
    jdk::each(|jdk| {
        let off = intrinsics::jvm_options(jdk.version, CodeMetric::Accesses);
        let with = |flags: &[&str]| {
            let flags: Vec<&str> =
                off.iter().map(String::as_str).chain(flags.iter().copied()).collect();
            run(jdk, &flags)
        };
        let expected = with(&["-Xint"]);
        for flags in [&COMPILED[..], &COMPILED_BY_C1] {
            let found = with(flags);
            let wrong = differences(&expected, &found);
            assert!(wrong.is_empty(), "{} {flags:?}: {wrong:#?}", jdk.version);
            // The program is not alone in using these.
            let difference = found.components.abs_diff(expected.components);
            assert!(
                difference < expected.components / 1000,
                "{} {flags:?}: {} {}",
                jdk.version,
                found.components,
                expected.components
            );
        }
        // With the intrinsics accesses are lost.
        let lost = run(jdk, &COMPILED);
        assert!(!differences(&expected, &lost).is_empty(), "{} {lost:?}", jdk.version);
        let (lost, all) = (lost.components, expected.components);
        assert!(lost < all * 9 / 10, "{}: {lost} of {all}", jdk.version);
    });
}

#[test]
fn intrinsics_that_are_on_are_reported() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).main("ExitBySystemExit");
        let agent = format!("fields=shared,accesses=extended,file={FILE}");
        let with = |options: &[String]| {
            let run = options.iter().fold(run.clone().agent(&agent), JavaRun::jvm_arg);
            run.run().stderr
        };
        let options = intrinsics::jvm_options(jdk.version, CodeMetric::Accesses);
        assert_eq!(with(&options), "", "{}", jdk.version);
        for options in [&options[..0], &options[..2], &[&options[..1], &options[2..]].concat()] {
            let stderr = with(options);
            let line = "HPROF WARNING: accesses in methods that the JIT replaces";
            assert!(stderr.starts_with(line) && stderr.lines().count() == 1, "{stderr}");
        }
    });
}
