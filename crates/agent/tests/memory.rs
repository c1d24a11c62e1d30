//! The memory of probes. Address space: perk takes no more than it uses, and a program that runs under a
//! limit without perk runs under it with perk. Call trees: the memory of a path, and its limit.

#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use perk_profile::{Accounting, Metric, Profile, Site};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk};

const FILE: &str = "o";
/// All that probes and samplers need memory of their own for.
const MEASUREMENTS: [&str; 12] = [
    "cpu=times",
    "cpu=times,path-budget=1",
    "heap=sites",
    "heap=all",
    "cpu=times,heap=sites,thread=y",
    "aprof=y",
    "fields=shared",
    "jamaica=y",
    "jamaica=bytecodes",
    "cpu=samples",
    "cpu=samples,engine=polling",
    "wall=10ms,format=p",
];
/// The JVM, with little: it reserves 1 GB for classes.
const LITTLE: [&str; 3] = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=32m"];
/// A limit under which the JVMs do run like that, with little to spare: with 50 MB less they do not start.
const LIMIT_KIB: u64 = 1_500_000;
/// A bound of what a dump takes for each path.
const DUMP_BYTES: u64 = 24;
/// The same for each allocation site; it was 290 when the dump made a profile of them.
const SITE_DUMP_BYTES: u64 = 64;
/// The warning at the end.
const SHORT: &str =
    "HPROF WARNING: the system refused perk more address space (ulimit -v, ulimit -d)";

fn run(jdk: &Jdk, options: &str, args: &[&str]) -> JavaRun {
    let run = JavaRun::new(jdk).agent(&format!("{options},depth=64,file={FILE}"));
    let run = LITTLE.iter().fold(run, |run, arg| run.jvm_arg(arg));
    run.main("ManyContexts").args(args)
}

/// Returns a JDK whose `java` has a limit of the shell's.
fn limited(jdk: &Jdk, home: &tempfile::TempDir, limit: &str) -> Jdk {
    let java = home.path().join("bin/java");
    fs::create_dir_all(java.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\nulimit {limit}\nexec {} \"$@\"\n", jdk.java().display());
    fs::write(&java, script).unwrap();
    fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).unwrap();
    Jdk { home: home.path().to_owned(), ..jdk.clone() }
}

/// Fails unless the program has done its work, and perk its own.
#[track_caller]
fn assert_complete(outcome: &Outcome, options: &str) {
    assert_eq!(outcome.code(), Some(0), "{options}: {}", outcome.report());
    assert!(outcome.stdout.starts_with("ready\ncalls="), "{options}: {}", outcome.report());
    let written =
        outcome.files.iter().any(|(name, bytes)| name.starts_with(FILE) && !bytes.is_empty());
    assert!(written, "{options}: {}", outcome.report());
}

/// Returns the size of the address space of a running program, in KiB.
fn size_kib(run: &RunningJava) -> u64 {
    status_kib(run, "VmSize:")
}

fn status_kib(run: &RunningJava, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", run.pid())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    size.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn each_measurement_starts_under_a_limit() {
    let home = tempfile::tempdir().unwrap();
    jdk::each(|jdk| {
        let limited = limited(jdk, &home, &format!("-v {LIMIT_KIB}"));
        for options in MEASUREMENTS {
            assert_complete(&run(&limited, options, &["6"]).run(), options);
        }
    });
}

#[test]
fn each_measurement_takes_little_more_than_the_program() {
    let jdk = jdk::compiler();
    let size = |run: JavaRun| {
        // The C library reserves 64 MB for threads that allocate, or not.
        let mut run = run.env("MALLOC_ARENA_MAX", "1").spawn();
        run.wait_for_stdout("ready");
        let size = size_kib(&run);
        ["go", "end"].iter().for_each(|file| fs::write(run.dir().join(file), "").unwrap());
        assert_eq!(run.wait().code(), Some(0));
        size
    };
    let bare = LITTLE.iter().fold(JavaRun::new(jdk), |run, arg| run.jvm_arg(arg));
    let bare_kib = size(bare.main("ManyContexts").args(["3", "wait"]));
    for options in MEASUREMENTS {
        let kib = size(run(jdk, options, &["3", "wait"]));
        assert!(kib < bare_kib + (192 << 10), "{options}: {kib} KiB, without perk {bare_kib}");
    }
}

/// Returns the number of calls in a profile of the program's own methods.
fn calls(profile: &Profile) -> u64 {
    let rows = Metric::Calls.rows(profile).by_trace();
    let own = rows.iter().filter(|(trace, _)| {
        let frame = profile.frames(*trace).next().map(|id| profile.symbols.get_frame(id).method);
        let name = frame.map(|method| profile.symbols.method_name(method)).unwrap_or_default();
        ["one", "two", "three", "four"].iter().any(|it| name == format!("ManyContexts.{it}"))
    });
    own.map(|row| row.1).sum()
}

#[test]
fn address_space_that_ends_in_mid_run_costs_paths_and_no_calls() {
    jdk::each(|jdk| {
        let options = "cpu=times,heap=sites,format=p,cutoff=0";
        let mut run = run(jdk, options, &["9", "wait"]).spawn();
        run.wait_for_stdout("ready");
        let limit = (size_kib(&run) + (24 << 10)) << 10;
        let mut prlimit = Command::new("prlimit");
        prlimit.arg("--pid").arg(run.pid().to_string()).arg(format!("--as={limit}:{limit}"));
        assert!(prlimit.status().unwrap().success());
        ["go", "end"].iter().for_each(|file| fs::write(run.dir().join(file), "").unwrap());
        let outcome = run.wait();
        assert_complete(&outcome, options);
        assert!(outcome.stderr.contains(SHORT), "{}", outcome.report());
        let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
        let all = outcome.number("calls");
        assert_eq!(calls(&profile), all, "{}", jdk.version);
        let Accounting { folded_call_count, .. } = *profile.accounting.as_ref().unwrap();
        assert!(folded_call_count > all / 8 && folded_call_count < all, "{folded_call_count}");
    });
}

/// Returns the number of objects of which a profile has nothing but the class.
fn objects_without_path(profile: &Profile) -> u64 {
    let rows = profile.sites().unwrap().rows;
    let without = rows.iter().filter(|row| profile.frames(row.trace).next().is_none());
    without.map(|row| row.objects.allocated_count).sum()
}

/// The program has 349,525 paths, and an object on each.
#[test]
fn memlimit_bounds_call_trees_and_no_call_or_object_is_lost() {
    jdk::each(|jdk| {
        let limit = 16 << 20;
        let options = format!("cpu=times,heap=sites,format=p,cutoff=0,memlimit={limit}");
        let run = run(jdk, &options, &["9", "wait", "make"]).file("go", "").file("end", "");
        let outcome = run.run();
        assert_complete(&outcome, &options);
        let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
        let all = outcome.number("calls");
        assert_eq!(calls(&profile), all, "{}", jdk.version);
        let account = profile.accounting.as_ref().unwrap();
        let folded = account.folded_call_count;
        let line = format!(
            "HPROF WARNING: call trees have reached memlimit, {limit} bytes: {folded} calls are counted \
             by method alone, below <folded>, and new sites by class alone\n"
        );
        assert!(folded > 100_000 && outcome.stderr.contains(&line), "{}", outcome.report());
        assert!(account.call_node_count < 200_000, "{}", account.call_node_count);
        assert!(account.perk_peak_bytes < 3 * limit, "{}", account.perk_peak_bytes);
        let arrays = profile.sites().unwrap().rows;
        let is_made = |site: &&Site| profile.symbols.class_name(site.class) == "int[]";
        let made: u64 =
            arrays.iter().filter(is_made).map(|site| site.objects.allocated_count).sum();
        assert!(made >= all, "{made}");
        // The JVM may continue a little after the sites were written.
        let (known, unsited) = (objects_without_path(&profile), account.unsited_object_count);
        assert!(known > 100_000 && (known..known + 100).contains(&unsited), "{known}: {unsited}");
    });
}

/// Returns the bytes that a path takes while the program runs, and those that a dump adds.
fn path_bytes(options: &str, args: &[&str]) -> (u64, u64) {
    let options = format!("{options},format=p,cutoff=0,memlimit=2048m");
    let mut run = run(jdk::compiler(), &options, args).spawn();
    run.wait_for_stdout("ready");
    let before_kib = status_kib(&run, "VmRSS:");
    fs::write(run.dir().join("go"), "").unwrap();
    run.wait_for_stdout("calls=");
    let after_kib = status_kib(&run, "VmRSS:");
    run.signal(Signal::QUIT);
    run.wait_until("the dump", |run| run.stderr().contains("done."));
    let most_kib = status_kib(&run, "VmHWM:");
    fs::write(run.dir().join("end"), "").unwrap();
    let outcome = run.wait();
    assert_complete(&outcome, &options);
    let per_path = |kib: u64| (kib << 10) / outcome.number("calls");
    (per_path(after_kib - before_kib), per_path(most_kib - after_kib))
}

/// The program has 1,398,101 paths, each with a node, a trace and a row in the dump.
#[test]
fn the_memory_of_a_path() {
    let (tree_bytes, dump_bytes) = path_bytes("cpu=times", &["10", "wait"]);
    // Measured: see docs/measuring.md.
    assert!(tree_bytes < 110, "{tree_bytes} bytes a path while the program runs");
    assert!(dump_bytes < DUMP_BYTES, "{dump_bytes} bytes a path in the dump");
}

/// The program has 349,525 sites, each on a path of its own.
#[test]
fn the_memory_of_a_site() {
    let (_, dump_bytes) = path_bytes("heap=sites", &["9", "wait", "make"]);
    assert!(dump_bytes < SITE_DUMP_BYTES, "{dump_bytes} bytes a site in the dump");
}
