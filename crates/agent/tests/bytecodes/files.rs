//! The file: appended to, refused, dumped to on request, and left by each end of the program.

use std::fs;
use std::path::Path;

use perk_control::FatalError;
use perk_jamaica::metric;
use perk_profile::{Metric, Profile, TraceId};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk, part_of};

use super::support::Mount;
use super::{FILE, run};

const PROGRAM: &str = "BytecodesUntilStop";
const PROGRESS: &str = "Dumping JamaicaVM's profile ... done.\n";
/// What is in the file before a run.
const WHOLE: &str = "PROFILE: 12 (100%)      A.b()V\n";

/// Whether the innermost frame of a trace is in a method of the program.
fn is_in(profile: &Profile, trace: TraceId, name: &str) -> bool {
    let symbols = &profile.symbols;
    let method = profile.frames(trace).next().map(|it| symbols.get_frame(it).method);
    method.is_some_and(|it| symbols.method_name(it) == format!("{PROGRAM}.{name}"))
}

/// Returns the number of a metric at a method of the program.
fn number(profile: &Profile, metric: &str, name: &str) -> u64 {
    let rows = Metric::find(profile, metric).unwrap().rows(profile).by_trace();
    rows.iter().filter(|row| is_in(profile, row.0, name)).map(|row| row.1).sum()
}

fn calls(profile: &Profile, name: &str) -> u64 {
    let rows = profile.call_times().flat_map(|times| times.rows);
    rows.filter(|row| is_in(profile, row.trace, name)).map(|row| row.count).sum()
}

/// Checks the numbers of a program with this number of rounds in each of its threads.
#[track_caller]
fn assert_numbers(bytes: &[u8], mode: &str, rounds: &[u64], report: &str) {
    let profile = perk_jamaica::read(bytes).unwrap();
    let all: u64 = rounds.iter().sum();
    let seldom: u64 = rounds.iter().map(|rounds| rounds.div_ceil(64)).sum();
    for (name, expected) in [
        ("sum", 909 * all),
        ("seldom", 8 * all + 5 * seldom),
        ("caught", 10 * all),
        ("round", 14 * all),
    ] {
        assert_eq!(number(&profile, metric::BYTECODES, name), expected, "{name}\n{report}");
        if mode == "y" {
            assert_eq!(calls(&profile, name), all, "{name}\n{report}");
        }
    }
    // Lines 28 to 33, of which two are executed seldom.
    let executions = number(&profile, metric::LINE_EXECUTIONS, "seldom");
    assert_eq!(executions, 3 * all + 2 * seldom, "{report}");
    if mode == "y" {
        let sites = profile.sites();
        let mut rows = sites.iter().flat_map(|sites| &sites.rows);
        let class = "BytecodesUntilStop$Kept";
        let kept = rows.find(|row| profile.symbols.class_name(row.class) == class).unwrap();
        let runs = rounds.len() as u64 / 2;
        assert_eq!((kept.objects.allocated_count, kept.objects.live_count), (30 * runs, 30));
    }
}

/// Returns the rounds of the two threads.
fn rounds(outcome: &Outcome) -> [u64; 2] {
    ["rounds", "others"].map(|name| outcome.number(name))
}

fn rounds_of(jdk: &Jdk, mode: &str, count: u64) -> JavaRun {
    run(jdk, PROGRAM, mode).args([&count.to_string(), "return"])
}

/// Returns the number of parts in a file that was written to.
fn parts(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    text.matches("PERK_NOTE: perk ").count()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|it| it.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn runs_add_up_in_a_file_unless_it_is_replaced() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let again = |mode, count, more: &str| {
            let options = format!("{mode}{more}");
            let outcome = rounds_of(jdk, &options, count).dir(folder.path()).run();
            outcome.assert_success();
            assert_eq!(outcome.stderr, PROGRESS, "{}", outcome.report());
            outcome
        };
        again("y", 50, "");
        let outcome = again("y", 77, "");
        assert_eq!(parts(folder.path()), 2);
        assert_numbers(outcome.bytes(FILE), "y", &[50, 50, 77, 77], &outcome.report());
        let outcome = again("y", 65, ",force=y");
        assert_numbers(outcome.bytes(FILE), "y", &[65, 65], &outcome.report());
        let before = outcome.bytes(FILE).to_vec();
        let outcome = again("bytecodes", 3, ",force=n");
        assert_eq!(outcome.bytes(FILE), before);
        let other = format!("{FILE}.{}", outcome.pid);
        assert_numbers(outcome.bytes(&other), "bytecodes", &[3, 3], &outcome.report());
        assert_eq!(names(folder.path()).len(), 2);
    });
}

#[test]
fn a_file_that_cannot_be_appended_to_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let name = file.display().to_string();
    let cut = &WHOLE.trim_end()[..WHOLE.len() - 5];
    let jdk = jdk::compiler();
    let refused = |what: &str| {
        let options = format!("jamaica=bytecodes,file={name}");
        let outcome = JavaRun::new(jdk).agent(&options).main("Sleeper").args(["0"]).run();
        outcome.assert_code(1);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr), ("", format!("{what}\n")));
    };
    let why = |reason| {
        format!(
            "HPROF ERROR: perk cannot append to {name}: {reason}; choose another file, or replace it \
             by force=y"
        )
    };
    for (content, reason) in [
        ("JAVA PROFILE 1.0.1, created", "it is not a profile of JamaicaVM"),
        ("\u{1}\u{2}\n", "it is not a profile of JamaicaVM"),
        (cut, "its last line is cut off"),
    ] {
        fs::write(&file, content).unwrap();
        refused(&why(reason));
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&FatalError::cannot_create_file(&name).to_string());
    assert_eq!(names(folder.path()), [FILE]);
    fs::remove_dir(&file).unwrap();

    let Some(_mount) = Mount::new(folder.path(), "size=64k,ro") else { return };
    refused(&FatalError::cannot_create_file(&name).to_string());
}

#[test]
fn a_full_disk_costs_the_part_of_this_run_and_nothing_else() {
    let jdk = jdk::compiler();
    let outcome = rounds_of(jdk, "bytecodes", 9).run();
    let size = outcome.bytes(FILE).len();
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=1m") else { return };
    let (file, filler) = (folder.path().join(FILE), folder.path().join("filler"));
    fs::write(&file, WHOLE).unwrap();
    // There is room for a part of the numbers, or for all of them, but not for their copy.
    for room in [size / 2, size * 3 / 2] {
        fs::write(&filler, vec![0; (1 << 20) - room]).unwrap();
        let outcome = rounds_of(jdk, "bytecodes", 9).dir(folder.path()).run();
        outcome.assert_success();
        assert_eq!(rounds(&outcome), [9, 9]);
        let part = part_of(&file).unwrap();
        let lost = format!("HPROF ERROR: can't write profile file: {}: No space", file.display());
        assert_eq!(outcome.stderr.matches(&lost).count(), 1, "{}", outcome.report());
        let kept = format!("; the part written is in {}\n", part.display());
        assert!(outcome.stderr.contains(&kept), "{}", outcome.report());
        assert_eq!(fs::read_to_string(&file).unwrap(), WHOLE);
        if room > size {
            assert_numbers(&fs::read(&part).unwrap(), "bytecodes", &[9, 9], &outcome.report());
        }
        fs::remove_file(&part).unwrap();
        fs::remove_file(&filler).unwrap();
    }
    let outcome = JavaRun::new(jdk).agent("jamaica=bytecodes,file=/dev/full").main("Sleeper");
    let outcome = outcome.args(["0"]).run();
    outcome.assert_success();
    assert!(outcome.stderr.contains("/dev/full: No space left on device"), "{}", outcome.report());
}

fn until_stop(run: &JavaRun, arguments: &[&str]) -> RunningJava {
    let mut running = run.clone().args(arguments).spawn();
    running.wait_for_stdout("ready");
    running
}

/// Has a program dump, and waits for the end of the dump.
fn dump(running: &mut RunningJava) {
    let dumps = |running: &RunningJava| running.stderr().matches(PROGRESS).count();
    let before = dumps(running);
    running.signal(Signal::QUIT);
    running.wait_until("a dump", |running| dumps(running) > before);
}

#[test]
fn dumps_on_request_and_the_last_one_add_up_at_each_end_of_the_program() {
    jdk::each(|jdk| {
        for (mode, end, code) in [("y", "halt", 4), ("bytecodes", "exit", 3)] {
            let mut running = until_stop(&run(jdk, PROGRAM, mode), &["0", end]);
            let mut before = Vec::new();
            for _ in 0..3 {
                dump(&mut running);
                let shown = fs::read(running.dir().join(FILE)).unwrap();
                assert!(shown.starts_with(&before), "a dump changed what stood before it");
                perk_jamaica::read(&shown[..]).unwrap();
                before = shown;
            }
            fs::write(running.dir().join("stop"), "").unwrap();
            let outcome = running.wait();
            outcome.assert_code(code);
            assert_eq!(outcome.stderr, PROGRESS.repeat(4));
            assert_numbers(outcome.bytes(FILE), mode, &rounds(&outcome), mode);
        }
    });
}

#[test]
fn a_killed_program_leaves_the_parts_that_were_dumped() {
    jdk::each(|jdk| {
        let run = run(jdk, PROGRAM, "y").file(FILE, WHOLE);
        let mut running = until_stop(&run, &["0", "return"]);
        running.signal(Signal::KILL);
        assert_eq!(running.wait().text(FILE), WHOLE);

        let mut running = until_stop(&run, &["0", "return"]);
        dump(&mut running);
        running.signal(Signal::KILL);
        let outcome = running.wait();
        assert_eq!(outcome.signal(), Some(9));
        assert!(outcome.text(FILE).starts_with(WHOLE));
        let profile = perk_jamaica::read(outcome.bytes(FILE)).unwrap();
        assert!(number(&profile, metric::BYTECODES, "sum") >= 909, "{}", outcome.report());
    });
}

#[test]
fn two_jvms_that_append_to_one_file_lose_nothing() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let both = run(jdk, PROGRAM, "bytecodes").dir(folder.path());
        let mut running =
            [until_stop(&both, &["0", "return"]), until_stop(&both, &["0", "return"])];
        running.iter_mut().for_each(dump);
        fs::write(folder.path().join("stop"), "").unwrap();
        let outcomes = running.map(RunningJava::wait);
        outcomes.iter().for_each(Outcome::assert_success);
        assert_eq!(parts(folder.path()), 4);
        let all: Vec<u64> = outcomes.iter().flat_map(rounds).collect();
        let bytes = fs::read(folder.path().join(FILE)).unwrap();
        assert_numbers(&bytes, "bytecodes", &all, &outcomes[1].report());
        assert_eq!(names(folder.path()), [FILE, "stop"]);
    });
}

/// The turns of the loop of `BytecodesHot` in each of which lines are executed that the others skip.
const EVERY: u64 = 1 << 24;

#[test]
fn a_dump_is_of_one_moment_of_all_threads() {
    jdk::each(|jdk| {
        for (mode, end) in [("bytecodes", "join"), ("y", "exit")] {
            let mut running = until_stop(&run(jdk, "BytecodesHot", mode), &[end]);
            (0..4).for_each(|_| dump(&mut running));
            fs::write(running.dir().join("stop"), "").unwrap();
            let outcome = running.wait();
            outcome.assert_success();
            let text = outcome.text(FILE);
            let of_hot = |line: &&str| line.contains(" BytecodesHot.hot(I)J ");
            let dumps =
                text.lines().filter(|line| line.starts_with("PROFILE_LINES")).filter(of_hot);
            let (mut turns, mut seldom) = (0, [0; 3]);
            for dump in dumps {
                turns += executions(dump, 18);
                let lines = [20, 27, 32].map(|line| executions(dump, line));
                for (sum, more) in seldom.iter_mut().zip(lines) {
                    *sum += more;
                    // The sixth turn is the first one.
                    assert!(sum.abs_diff((turns + EVERY - 6) / EVERY) <= 1, "{end} {text}");
                }
            }
            if end == "join" {
                let turns_before = outcome.number("calls") * 8 * EVERY;
                assert_eq!((turns, seldom), (turns_before, [turns_before / EVERY; 3]));
            }
        }
    });
}

/// Returns the executions of a line in a line `PROFILE_LINES`.
fn executions(text: &str, line: u32) -> u64 {
    let begin = format!("{line}:");
    let numbers = text.split(' ').find_map(|word| word.strip_prefix(&begin));
    numbers.map_or(0, |it| it.split(':').nth(1).unwrap().parse().unwrap())
}
