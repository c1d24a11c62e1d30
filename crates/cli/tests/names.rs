//! The names of classes that are generated while a program runs.

use std::fs;

use perk_profile::{ClassId, MethodId, Profile, names};
use perk_testkit::{Jdk, fixture, jdk};

use crate::util::{Folder, stderr};

/// Runs a program of lambdas under perk; `file` has the profile.
#[track_caller]
fn run(folder: &Folder, jdk: &Jdk, options: &[&str], program: &[&str], file: &str) -> Profile {
    let mut perk = folder.perk();
    perk.arg("run").args(options).args(["-q", "-o", file, "--"]);
    perk.arg(jdk.java()).arg("-cp").arg(fixture::fixtures()).arg("Lambdas").args(program);
    let output = perk.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    perk_hprof::read(&fs::read(folder.join(file)).unwrap()[..]).unwrap()
}

#[track_caller]
fn assert_stable(profile: &Profile) {
    let symbols = &profile.symbols;
    let classes = (0..symbols.classes().len()).map(|index| symbols.class_name(ClassId::new(index)));
    for class in classes {
        assert_eq!(names::stable(class), class);
        assert!(!class.contains("0x"), "{class}");
    }
    let methods =
        (0..symbols.method_count()).map(|index| symbols.method_name(MethodId::new(index)));
    assert!(methods.into_iter().any(|name| name.starts_with("Lambdas.lambda$main$")));
}

/// The second run makes other lambdas and proxies first, so that the JVM gives all other ones other
/// numbers.
#[test]
fn lambdas_have_the_same_names_in_every_run() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let sites = ["--heap", "sites"];
        run(&folder, jdk, &sites, &["500"], "before.hprof");
        run(&folder, jdk, &sites, &["500", "first"], "after.hprof");
        let bytes = fs::read(folder.join("before.hprof")).unwrap();
        let has_address = bytes.windows(11).any(|it| it.starts_with(b"$$Lambda") && it[8] != b';');
        assert!(has_address, "the JVM's own name has an address");
        let output = folder.run(&["diff", "--json", "before.hprof", "after.hprof"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = json["sites"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let text = row.to_string();
            assert!(!text.contains("0x"), "{text}");
            let class = row["class"].as_str().unwrap();
            // The JDK makes what has no state in several ways.
            let made = row["frames"][0]["method"].as_str().unwrap_or_default();
            let is_own = class.starts_with("Lambdas$$") && made.starts_with("Lambdas.");
            assert!(!is_own, "{text}");
        }
    });
}

#[test]
fn stacks_have_no_addresses() {
    jdk::each(|jdk| {
        for engine in ["auto", "polling"] {
            let folder = Folder::new();
            let options = &["--engine", engine, "--interval", "1ms"];
            let profile = run(&folder, jdk, options, &["60000", "first"], "o.hprof");
            assert_stable(&profile);
            let output = folder.run(&["convert", "o.hprof", "-o", "o.collapsed"]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let text = fs::read_to_string(folder.join("o.collapsed")).unwrap();
            assert!(text.contains("Lambdas.lambda$main$") && !text.contains("0x"), "{text}");
            // The frames of lambdas' objects are left out before those of their class.
            let lines: Vec<_> = text.lines().collect();
            assert!(!lines.iter().any(|it| it.contains("Lambdas$$Lambda.applyAsLong;Lambdas.")));
            let sum: u64 =
                lines.iter().map(|it| it.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
            let samples: u64 = profile.cpu_samples().map(|it| it.total).sum();
            assert_eq!(sum, samples);
        }
    });
}
