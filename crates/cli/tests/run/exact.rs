//! Exact profiles of programs whose calls and allocations are known by arithmetic.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::Command;

use perk_hprof::{Format, aprof};
use perk_profile::{Accounting, Allocations, MethodId, Profile, TraceId};
use perk_testkit::{Jdk, fixture, jdk};
use rustix::process::{Pid, Signal, kill_process};

use crate::util::{Folder, PERK, stderr, stdout, wait_for};

const N: u64 = 1000;

/// Returns the calls that only `CallCounts` makes if its argument is `n`.
fn calls_of_call_counts(n: u64) -> [(&'static str, u64); 17] {
    [
        ("CallCounts.main", 1),
        ("CallCounts.fib", 2 * 987 - 1),
        ("CallCounts.outer", 10),
        ("CallCounts.inner", 10 * n),
        ("CallCounts.catches", n),
        ("CallCounts.raises", 6 * n),
        ("CallCounts.caught", n),
        ("CallCounts.area", n),
        ("CallCounts.fromLambda", n),
        ("CallCounts.reflected", 100),
        ("CallCounts.threaded", 3),
        ("CallCounts.byThread", 3 * n),
        ("CallCounts.halves", n),
        ("CallCounts$Square.area", n / 2),
        ("CallCounts$Circle.area", n / 2),
        ("CallCounts$Square.<init>", n / 2),
        ("java.lang.IllegalStateException.<init>", n),
    ]
}

/// The allocations of each method of `AllocationCounts`: the class, objects, bytes of each with
/// headers of 12 bytes, and whether they live to the end.
const ALLOCATIONS: [(&str, &str, u64, u64, bool); 11] = [
    ("keep", "AllocationCounts$Kept[]", 1, 16 + 4 * N, true),
    ("keep", "AllocationCounts$Kept", N, 24, true),
    ("drop", "AllocationCounts$Dropped", 2 * N, 16, false),
    ("arrays", "int[]", N, 56, false),
    ("nested", "byte[][]", N, 32, false),
    ("nested", "byte[]", 3 * N, 24, false),
    ("copies", "long[]", 1 + N, 40, false),
    ("reflected", "float[]", N, 24, false),
    ("reflected", "AllocationCounts$Reflected", N, 16, false),
    ("throwing", "AllocationCounts$Throwing", N, 16, false),
    ("throwing", "java.lang.IllegalStateException", N, 40, false),
];

/// Runs a fixture under perk, which must succeed. Returns perk's messages.
#[track_caller]
pub(super) fn run(folder: &Folder, jdk: &Jdk, options: &[&str], program: &[&str]) -> String {
    let java = jdk.java().to_str().unwrap().to_owned();
    let classes = fixture::fixtures().to_str().unwrap().to_owned();
    let mut perk = folder.perk();
    perk.arg("run").args(options).args(["--", &java, "-cp", &classes]).args(program);
    let output = perk.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stderr(&output)
}

#[track_caller]
pub(super) fn read(folder: &Folder, file: &str) -> Profile {
    perk_hprof::read(&std::fs::read(folder.join(file)).unwrap()[..]).unwrap()
}

/// Returns the profile of a run with a quiet report.
#[track_caller]
fn profile(jdk: &Jdk, options: &[&str], program: &[&str]) -> Profile {
    let folder = Folder::new();
    run(&folder, jdk, &[options, &["-q", "-o", "o.hprof"]].concat(), program);
    read(&folder, "o.hprof")
}

fn accounting(profile: &Profile) -> &Accounting {
    profile.accounting.as_ref().expect("an account")
}

/// Returns the methods on a trace, from the innermost outward.
fn methods(profile: &Profile, trace: TraceId) -> impl Iterator<Item = MethodId> {
    profile.frames(trace).map(|frame| profile.symbols.get_frame(frame).method)
}

fn names(profile: &Profile, trace: TraceId) -> impl Iterator<Item = String> {
    methods(profile, trace).map(|method| profile.symbols.method_name(method))
}

/// Returns the calls by the name of the method.
fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for row in profile.call_times().flat_map(|times| times.rows) {
        if let Some(method) = names(profile, row.trace).next() {
            *calls.entry(method).or_default() += row.count;
        }
    }
    calls
}

/// Returns the methods of that name; a program has few of them, but thousands of traces.
fn of_name(profile: &Profile, name: &str) -> Vec<MethodId> {
    let all = (0..profile.symbols.method_count()).map(MethodId::new);
    all.filter(|&method| profile.symbols.method_name(method) == name).collect()
}

/// Returns the time on all paths through a method, in nanoseconds.
fn time_below(profile: &Profile, method: &str) -> u64 {
    let wanted = of_name(profile, method);
    let rows = profile.call_times().flat_map(|times| times.rows);
    let below = rows.filter(|row| methods(profile, row.trace).any(|it| wanted.contains(&it)));
    below.map(|row| row.self_ns).sum()
}

#[track_caller]
pub(super) fn assert_calls(profile: &Profile, n: u64) {
    let counted = calls(profile);
    for (method, count) in calls_of_call_counts(n) {
        assert_eq!(counted.get(method), Some(&count), "{method}");
    }
}

#[test]
fn calls_are_counted_exactly() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "times", "-o", "o.hprof"];
        let text = run(&folder, jdk, &options, &["CallCounts", &N.to_string()]);
        let exact = read(&folder, "o.hprof");
        assert_calls(&exact, N);
        let account = accounting(&exact);
        assert_eq!(calls(&exact).values().sum::<u64>(), account.call_count);
        assert_eq!((account.clock.as_str(), account.timing.as_str()), ("cpu", "tick"));
        assert_eq!(account.folded_call_count, 0);
        for part in ["\ncalls  ", "\nclock     cpu, timing tick\n", "\nprobes  "] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        assert!(!text.contains("\nsamples  "), "{text}");
    });
}

#[test]
fn text_has_every_call_too() {
    const FEW: u64 = 50;
    let folder = Folder::new();
    let options = ["--cpu", "times", "--include", "CallCounts", "-o", "o.txt", "-o", "o.hprof"];
    run(&folder, jdk::compiler(), &options, &["CallCounts", &FEW.to_string()]);
    let text = read(&folder, "o.txt");
    assert_calls(&text, FEW);
    assert_eq!(calls(&text), calls(&read(&folder, "o.hprof")));
}

#[test]
fn every_path_has_its_own_count() {
    jdk::each(|jdk| {
        let profile = profile(jdk, &["--cpu", "times"], &["CallCounts", &N.to_string()]);
        let rows = profile.call_times().flat_map(|times| times.rows);
        let mut of_halves = BTreeMap::new();
        for row in rows {
            let path: Vec<_> = names(&profile, row.trace).collect();
            let levels = path.iter().take_while(|name| *name == "CallCounts.halves").count();
            if levels > 0 {
                assert_eq!(path[levels], "CallCounts.main");
                *of_halves.entry(levels as u64).or_default() += row.count;
            }
        }
        // Recursion is folded: all calls of the method by itself are one path.
        assert_eq!(of_halves, BTreeMap::from([(1, 1), (2, N - 1)]));
    });
}

#[test]
fn calls_by_caller() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "old", "-o", "o.prof"];
        run(&folder, jdk, &options, &["CallCounts", &N.to_string()]);
        let text = std::fs::read_to_string(folder.join("o.prof")).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("count callee caller time"));
        let rows: Vec<_> = lines.map(|line| line.rsplit_once(' ').unwrap().0).collect();
        for row in [
            "10000 CallCounts.inner(I)V CallCounts.outer(I)V",
            "10 CallCounts.outer(I)V CallCounts.main([Ljava/lang/String;)V",
            "1972 CallCounts.fib(I)I CallCounts.fib(I)I",
            "1 CallCounts.fib(I)I CallCounts.main([Ljava/lang/String;)V",
            "5000 CallCounts.raises(I)V CallCounts.raises(I)V",
            "1000 CallCounts.raises(I)V CallCounts.catches(I)V",
            "1000 CallCounts.caught()V CallCounts.catches(I)V",
            "999 CallCounts.halves(I)I CallCounts.halves(I)I",
            "3000 CallCounts.byThread(I)V CallCounts.threaded(I)V",
            "500 CallCounts$Square.area()I CallCounts.area(LCallCounts$Shape;)I",
        ] {
            assert_eq!(rows.iter().filter(|found| **found == row).count(), 1, "{row}");
        }
    });
}

/// The graphs of `--cpu old` have stacks of two: a callee below its caller.
#[test]
fn calls_by_caller_are_graphs() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let files = ["-o", "o.collapsed", "-o", "o.html", "-o", "o.pb"];
        run(&folder, jdk, &[&["--cpu", "old"], &files[..]].concat(), &["CallCounts", "1000"]);
        let text = std::fs::read_to_string(folder.join("o.collapsed")).unwrap();
        for line in [
            "CallCounts.outer;CallCounts.inner 10000",
            "CallCounts.main;CallCounts.outer 10",
            "CallCounts.fib;CallCounts.fib 1972",
        ] {
            assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}");
        }
        assert!(text.lines().all(|line| line.matches(';').count() <= 1));
        let arguments =
            ["convert", "o.pb", "--metric", "calls", "--output-format", "collapsed", "-o", "-"];
        let output = folder.run(&arguments);
        assert_eq!(stdout(&output), text, "{}", stderr(&output));
        let page = std::fs::read_to_string(folder.join("o.html")).unwrap();
        assert!(page.contains("\"calls\"") && page.contains("CallCounts"), "{page:.200}");
    });
}

#[test]
fn clocks_tell_what_they_are_asked_for() {
    const MS: u64 = 400;
    const MS_NS: u64 = 1_000_000;
    let program = ["CallTimes", &MS.to_string(), &MS.to_string()];
    jdk::each(|jdk| {
        let profile =
            |options: &[&str]| profile(jdk, &[&["--cpu", "times"], options].concat(), &program);
        let on_cpu = profile(&[]);
        let burnt_ms = time_below(&on_cpu, "CallTimes.burns") / MS_NS;
        let slept_ms = time_below(&on_cpu, "CallTimes.sleeps") / MS_NS;
        assert!(burnt_ms.abs_diff(MS) <= MS / 4, "{burnt_ms}");
        assert!(slept_ms <= MS / 10, "{slept_ms}");

        for options in [&["--clock", "wall"][..], &["--timing", "exact"]] {
            let on_wall = profile(options);
            assert_eq!(accounting(&on_wall).clock, "wall");
            for method in ["CallTimes.sleeps", "CallTimes.burns"] {
                let passed_ms = time_below(&on_wall, method) / MS_NS;
                assert!(passed_ms >= MS * 9 / 10, "{options:?} {method}: {passed_ms}");
            }
        }

        let untimed = profile(&["--timing", "none"]);
        assert_eq!(accounting(&untimed).timing, "none");
        assert_eq!(calls(&untimed)["CallTimes.burns"], 1);
        assert_eq!(time_below(&untimed, "CallTimes.burns"), 0);
    });
}

#[test]
fn only_the_classes_asked_for_are_counted() {
    jdk::each(|jdk| {
        let program = ["CallCounts", &N.to_string()];
        let included = profile(jdk, &["--cpu", "times", "--include", "CallCounts"], &program);
        assert_calls(&included, N);
        assert!(accounting(&included).excluded_class_count > 0);
        // The direct callees of these methods may be listed, but not the calls below.
        for row in included.call_times().flat_map(|times| times.rows) {
            let path: Vec<_> = names(&included, row.trace).collect();
            let is_included = |name: &String| name.starts_with("CallCounts");
            assert!(path.windows(2).all(|call| call.iter().any(is_included)), "{path:?}");
        }
        let options = ["--cpu", "times", "--exclude", "CallCounts$Square,CallCounts$Circle"];
        let excluded = profile(jdk, &options, &program);
        assert_eq!(accounting(&excluded).excluded_class_count, 2);
        assert_eq!(calls(&excluded)["CallCounts.area"], N);
    });
}

#[test]
fn a_full_call_tree_loses_paths_and_no_calls() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "times", "--include", "CallCounts", "--max-nodes", "10"];
        let options = [&options[..], &["-o", "o.hprof"]].concat();
        let text = run(&folder, jdk, &options, &["CallCounts", &(2 * N).to_string()]);
        let profile = read(&folder, "o.hprof");
        assert_calls(&profile, 2 * N);
        // Roots and methods without a path have nodes beyond the limit.
        assert!(accounting(&profile).call_node_count <= 110);
        // The recursion's 2000 levels are among them.
        assert!(accounting(&profile).folded_call_count >= 2 * N);
        assert!(text.contains(" of them without their path: the trees were full"), "{text}");
    });
}

/// Returns the objects of a class allocated below a method of `AllocationCounts`.
pub(super) fn allocated(profile: &Profile, method: &str, class: &str) -> Allocations {
    let wanted = of_name(profile, &format!("AllocationCounts.{method}"));
    let mut sum = Allocations::default();
    for site in &profile.sites().expect("sites").rows {
        let is_below = methods(profile, site.trace).any(|it| wanted.contains(&it));
        if is_below && profile.symbols.class_name(site.class) == class {
            sum.add(site.objects);
        }
    }
    sum
}

/// By line, by call path, and by line beside counted calls.
const SITES: [&[&str]; 3] = [
    &["--heap", "sites"],
    &["--heap", "sites", "--paths"],
    &["--heap", "sites", "--cpu", "counts"],
];

/// Returns the allocations whose method is known in a way of counting. By line, it is that of the methods that make
/// objects themselves, and not in a constructor or by reflection.
fn counted_by(way: &[&str]) -> impl Iterator<Item = (&'static str, &'static str, u64, u64, bool)> {
    let is_by_path = way.contains(&"--paths");
    let is_elsewhere = |method| ["reflected", "throwing"].contains(&method);
    ALLOCATIONS.into_iter().filter(move |it| is_by_path || !is_elsewhere(it.0))
}

#[test]
fn allocations_are_counted_exactly() {
    jdk::each(|jdk| {
        for way in SITES {
            let folder = Folder::new();
            let options = [way, &["-o", "o.hprof", "-o", "o.txt"]].concat();
            run(&folder, jdk, &options, &["AllocationCounts", &N.to_string()]);
            for file in ["o.hprof", "o.txt"] {
                let profile = read(&folder, file);
                assert_eq!(profile.sites().unwrap().sample_interval_bytes, None);
                for (method, class, count, bytes, is_kept) in counted_by(way) {
                    let live = if is_kept { count } else { 0 };
                    let expected = Allocations::of([live * bytes, live, count * bytes, count]);
                    let found = allocated(&profile, method, class);
                    assert_eq!(found, expected, "{way:?} {file} {method} {class}");
                }
            }
        }
    });
}

/// Where everything is interpreted the cost of a probe is always known.
#[test]
fn the_time_of_probes_is_estimated() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "times", "--heap", "sites", "-o", "o.hprof"];
        let text =
            run(&folder, jdk, &options, &["-Xint", "-Xss64m", "CallCounts", &(20 * N).to_string()]);
        let profile = read(&folder, "o.hprof");
        let account = accounting(&profile);
        let objects: u64 =
            profile.sites().unwrap().rows.iter().map(|site| site.objects.allocated_count).sum();
        // Of the objects without a site, probes have counted those that threads without a frame made.
        let sited = objects - account.unsited_object_count;
        // The end of the program counts on.
        assert!(account.probe_call_count > account.call_count / 2, "{account:?}");
        assert!(account.probe_call_count <= account.call_count, "{account:?}");
        assert!(account.probe_object_count > sited / 2, "{account:?}");
        assert!(account.probe_object_count <= objects, "{account:?}");
        assert!(account.probe_call_ns > 0 && account.probe_object_ns > 0, "{account:?}");
        let estimate = format!("  {} calls of ", account.probe_call_count);
        assert!(text.contains("probes: at least ") && text.contains(&estimate), "{text}");
    });
}

#[test]
fn live_objects_are_left_out_where_nobody_looked_for_them() {
    for way in SITES {
        let folder = Folder::new();
        let options = [way, &["--no-live", "-o", "o.hprof"]].concat();
        let report = run(&folder, jdk::compiler(), &options, &["AllocationCounts", &N.to_string()]);
        assert!(report.contains("allocated") && !report.contains("live"), "{report}");
        let profile = read(&folder, "o.hprof");
        assert!(!profile.sites().unwrap().known.live);
        for (method, class, count, bytes, _) in counted_by(way) {
            let expected = Allocations::of([0, 0, count * bytes, count]);
            assert_eq!(allocated(&profile, method, class), expected, "{way:?} {method} {class}");
        }
    }
}

#[test]
fn allocations_by_class() {
    jdk::each(|jdk| {
        let profile = profile(jdk, &["--aprof"], &["AllocationCounts", &N.to_string()]);
        let sites = profile.sites().expect("a table of classes");
        for (class, count) in [("Kept", N), ("Dropped", 2 * N), ("Reflected", N), ("Throwing", N)] {
            let class = format!("AllocationCounts${class}");
            let of_class =
                |site: &&perk_profile::Site| profile.symbols.class_name(site.class) == class;
            let rows = sites.rows.iter().filter(of_class);
            assert_eq!(
                rows.map(|site| site.objects.allocated_count).sum::<u64>(),
                count,
                "{class}"
            );
        }
        let account = profile.accounting.as_ref().expect("an account");
        assert!(account.instrumented_class_count > 100, "{account:?}");
        assert!(account.instrumented_method_count >= account.instrumented_class_count);
    });
}

/// perk receives SIGQUIT and passes it on; the program's folder is perk's.
#[test]
fn allocations_between_signals() {
    // Marked of each step of `AllocationsInSteps`.
    const STEPS: [u64; 3] = [N, 2 * N, 3 * N];
    const MARKED: &str = "AllocationsInSteps$Marked";
    const SPAN: &str = "\nAllocated from ";
    jdk::each(|jdk| {
        let folder = Folder::new();
        let printed = || std::fs::read_to_string(folder.join("stdout")).unwrap_or_default();
        let mut command = Command::new(PERK);
        command.args(["run", "-q", "--aprof", "--from-signal", "-o", "o.aprof", "--"]);
        command.arg(jdk.java()).arg("-cp").arg(fixture::fixtures());
        command.args(["AllocationsInSteps", &N.to_string()]);
        command.current_dir(folder.path()).env_remove("JAVA_TOOL_OPTIONS");
        let mut perk =
            command.stdout(File::create(folder.join("stdout")).unwrap()).spawn().unwrap();
        for step in 1..=STEPS.len() {
            let name = format!("step {step}\n");
            wait_for(&name, || printed().contains(&name).then_some(()));
            if step < STEPS.len() {
                kill_process(Pid::from_child(&perk), Signal::QUIT).unwrap();
                let is_dumped = || printed().matches("--total--").count() == step;
                wait_for("a table", || is_dumped().then_some(()));
            }
            folder.file(&format!("go-{step}"), "");
        }
        assert!(perk.wait().unwrap().success());
        let text = printed();
        let marked = |text: &str| {
            let table = aprof::tables(text.as_bytes()).unwrap().remove(0);
            let row = table.rows.into_iter().find(|row| row.class == MARKED).expect("a row");
            (row.bytes, row.count)
        };
        let tables: Vec<_> = text.split(SPAN).skip(1).map(marked).collect();
        assert_eq!(tables, STEPS.map(|count| (24 * count, count)));
        let whole = std::fs::read_to_string(folder.join("o.aprof")).unwrap();
        assert_eq!(marked(&whole), (24 * 6 * N, 6 * N));
    });
}

#[test]
fn sampled_allocations_are_estimates() {
    const MANY: u64 = 1_000_000;
    jdk::each(|jdk| {
        let options = ["--heap", "sites", "--sample", "32k"];
        let profile = profile(jdk, &options, &["AllocationCounts", &MANY.to_string()]);
        assert_eq!(profile.sites().unwrap().sample_interval_bytes, Some(32 << 10));
        // 32 MB in samples of 32 kB: 1000 samples, with a deviation of 3 %.
        let dropped = allocated(&profile, "drop", "AllocationCounts$Dropped").allocated_bytes;
        assert!(dropped.abs_diff(2 * MANY * 16) <= 2 * MANY * 16 / 5, "{dropped}");
    });
}

#[test]
fn samples_and_sites_in_one_profile() {
    jdk::each(|jdk| {
        let options = ["--cpu", "samples", "--heap", "sites", "--interval", "1ms"];
        let profile = profile(jdk, &options, &["AllocationCounts", &N.to_string()]);
        assert_eq!(allocated(&profile, "arrays", "int[]").allocated_count, N);
        assert!(profile.total_cpu_samples().total > 0);
    });
}

#[test]
fn an_exact_profile_goes_to_a_file_that_holds_it() {
    let folder = Folder::new();
    run(&folder, jdk::compiler(), &["--cpu", "times", "-q"], &["CallCounts", "1"]);
    let names = folder.names();
    assert!(names.len() == 1 && names[0].starts_with("perk-CallCounts-"), "{names:?}");
    assert!(names[0].ends_with(".hprof"), "{names:?}");
    let bytes = std::fs::read(folder.join(&names[0])).unwrap();
    assert_eq!(perk_hprof::recognise(&bytes), Some(Format::Extended));
}

/// Calls by callee and caller beside other analyses: every file has all of them.
#[test]
fn calls_by_callee_and_caller_go_with_all_others() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "old", "--heap", "sites", "--monitor"];
        let files = ["-o", "x.txt", "-o", "y.hprof"];
        run(&folder, jdk, &[&options[..], &files].concat(), &["CallCounts", "10"]);
        for file in ["x.txt", "y.hprof"] {
            let profile = read(&folder, file);
            let rows = profile.call_edges().map(|edges| edges.rows.len()).sum::<usize>();
            assert!(rows > 100, "{file}");
            assert!(profile.sites().unwrap().rows.len() > 10, "{file}");
            assert_eq!(profile.monitor_dumps().count(), 1, "{file}");
        }
        // The table alone does not have a header.
        run(&folder, jdk, &["--cpu", "old", "-o", "z.txt"], &["CallCounts", "10"]);
        let text = std::fs::read_to_string(folder.join("z.txt")).unwrap();
        assert!(text.starts_with("count callee caller time\n"), "{text:.100}");
    });
}
