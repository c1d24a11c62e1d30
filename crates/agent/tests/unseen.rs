//! A program behaves as it does without perk. Reflection does not show perk's additions to classes,
//! the JIT compilers keep their special knowledge of classes, and Flight Recorder works.

#![forbid(unsafe_code)]

use std::process::Command;

use perk_profile::Profile;
use perk_testkit::{JavaRun, Jdk, Outcome, Signal, compiled_at_once, fixture, jdk, workspace};

const FILE: &str = "o.hprof";
const VECTORS: &str = "jdk.incubator.vector";

/// The analyses that add fields, with HPROF's default among them, which is `heap=all`.
const OPTIONS: [&str; 6] = [
    "heap=sites",
    "",
    "cpu=times",
    "cpu=times,path-budget=1",
    "cpu=counts",
    "cpu=counts,heap=sites,paths=n",
];

/// Runs a program under perk, which must print the same as without.
#[track_caller]
fn assert_same(run: &JavaRun, plain: &Outcome, options: &str) -> Outcome {
    let separator = if options.is_empty() { "" } else { "," };
    let agent = format!("{options}{separator}format=p,file={FILE}");
    let outcome = run.clone().agent(&agent).run();
    outcome.assert_success();
    assert_eq!(outcome.stdout, plain.stdout, "{options}");
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    outcome
}

fn profile(outcome: &Outcome) -> Profile {
    perk_hprof::read(outcome.bytes(FILE)).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a JVM has a module; reports it if not.
fn has_module(jdk: &Jdk, module: &str) -> bool {
    let output = Command::new(jdk.java()).arg("--list-modules").output().unwrap();
    let has_module = String::from_utf8_lossy(&output.stdout).contains(&format!("{module}@"));
    if !has_module {
        eprintln!("*** NOT TESTED ON JDK {}: it has no {module} ***", jdk.version);
    }
    has_module
}

#[test]
fn vectors_are_computed() {
    let source = workspace().join("java/fixtures/vector/DotProduct.java");
    let classes = fixture::compile_with_module(VECTORS, &[&source]);
    jdk::each(|jdk| {
        if !has_module(jdk, VECTORS) {
            return;
        }
        let run = JavaRun::new(jdk).jvm_arg("--add-modules").jvm_arg(VECTORS);
        let run = run.classes(&classes).main("DotProduct");
        let plain = run.run();
        plain.assert_success();
        for options in &OPTIONS[..2] {
            assert_same(&run, &plain, options);
        }
    });
}

#[test]
fn reflection_finds_what_there_is_without_perk() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).main("Reflective");
        let plain = run.run();
        plain.assert_success();
        assert!(plain.stdout.lines().count() > 1000, "{}", plain.report());
        for options in OPTIONS {
            assert_same(&run, &plain, options);
        }
    });
}

#[test]
fn flight_recorder_records() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).main("Recorded");
        let plain = run.run();
        plain.assert_success();
        assert_eq!(plain.stdout, "sum=499500 collected=true\n");
        assert_same(&run, &plain, "heap=sites");
        // The JVM's message about the recording contains the process id.
        let flag = "-XX:StartFlightRecording:filename=whole.jfr";
        let run = run.jvm_arg(flag).jvm_arg("-Xlog:disable");
        let outcome = assert_same(&run, &run.run(), "");
        assert!(!outcome.bytes("whole.jfr").is_empty());
    });
}

/// On JDK 17, Flight Recorder copies methods of `java.io`, including the probes, into methods that
/// then continue with the same parameters.
#[test]
fn flight_recorder_records_input_and_output() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).main("RecordedIo");
        let plain = run.run();
        plain.assert_success();
        assert!(plain.stdout.ends_with(" events=true\n"), "{}", plain.report());
        for options in
            ["cpu=times", "cpu=counts", "heap=sites", "cpu=times,heap=sites,include=java.io.*"]
        {
            assert_same(&run, &plain, options);
        }
    });
}

#[test]
fn virtual_threads_may_wait_at_a_dump() {
    const COUNT: u64 = 2000;
    jdk::each_of(&[21, 25], |jdk| {
        for options in ["heap=sites", "heap=all"] {
            let run = JavaRun::new(jdk).main("VirtualParked").args([COUNT.to_string()]);
            let outcome = run.agent(&format!("{options},format=p,cutoff=0,file={FILE}")).run();
            outcome.assert_success();
            assert_eq!(outcome.stdout, "waiting\n");
            let profile = profile(&outcome);
            let rows = &profile.sites().expect("a section of sites").rows;
            let threads = rows
                .iter()
                .filter(|site| profile.symbols.class_name(site.class) == "java.lang.VirtualThread");
            let live = threads.map(|site| site.objects.live_count).sum::<u64>();
            assert_eq!(live, COUNT, "{options}");
            // There are few records; an invalid index would have created many.
            let peak_bytes = profile.accounting.as_ref().unwrap().perk_peak_bytes;
            assert!(peak_bytes < 200 << 20, "{peak_bytes}");
        }
        let run = JavaRun::new(jdk).main("VirtualParked").args(["200", "until stop"]);
        let mut running = run.agent(&format!("format=p,file={FILE}")).spawn();
        running.wait_for_stdout("waiting");
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |run| run.dir().join(FILE).exists());
        std::fs::write(running.dir().join("stop"), "").unwrap();
        running.wait().assert_success();
    });
}

#[test]
fn boxes_and_bare_objects_are_counted() {
    const COUNT: u64 = 300;
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).main("Boxes");
        let plain = run.run();
        plain.assert_success();
        let outcome = assert_same(&run, &plain, "heap=sites,cutoff=0,depth=64,gc=y");
        let profile = profile(&outcome);
        let kept = |class: &str| {
            let method = |id| profile.symbols.method_name(profile.symbols.get_frame(id).method);
            let is_kept = |trace| {
                // The JDK makes some as well on the way to the first lambda.
                let is_inside = |name: &String| {
                    name.ends_with(".<init>")
                        || name == "java.lang.Double.valueOf"
                        || name.contains("$Holder.")
                };
                let mut methods = profile.frames(trace).map(method);
                methods.find(|name| !is_inside(name)).is_some_and(|name| name == "Boxes.keep")
            };
            let sites = profile.sites().expect("a section of sites");
            let rows = sites.rows.iter().filter(|site| {
                let name = profile.symbols.class_name(site.class);
                let is_lambda = class.ends_with("$$Lambda") && name.starts_with(class);
                (name == class || is_lambda) && is_kept(site.trace)
            });
            let (mut live, mut all) = (0, 0);
            for site in rows {
                live += site.objects.live_count;
                all += site.objects.allocated_count;
            }
            (live, all)
        };
        // The last box is kept as well.
        assert_eq!(kept("java.lang.Double"), (COUNT + 1, 2 * COUNT));
        assert_eq!(kept("java.lang.Object"), (COUNT, COUNT));
        assert_eq!(kept("Boxes$$Lambda"), (COUNT, COUNT));
        assert_same(
            &compiled_at_once("Boxes*")
                .iter()
                .fold(run.jvm_arg("-XX:-TieredCompilation"), |run, flag| run.jvm_arg(flag)),
            &plain,
            "heap=sites",
        );
    });
}
