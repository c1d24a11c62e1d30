//! Every recorded command line of the original agent, with a real JVM and `-agentlib:hprof`.
//!
//! Cases that only need some working analysis use `cpu=samples` here, where the recorded run had
//! `heap=sites` or `heap=dump`. Their subject, the name of the file and the other options, is
//! unchanged. The program is `Sleeper`, unless a case says otherwise.

#![forbid(unsafe_code)]

use std::path::Path;

use perk_control::{AgentAction, DumpPart, FatalError, Options, messages, usage};
use perk_testkit::golden::Golden;
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

/// The files that the recorded `force-*` runs found.
const EXISTING: [&str; 5] = ["java.hprof", "java.hprof.txt", "mine", "mine.txt", "mine.TXT"];
const OLD_CONTENTS: &str = "old\n";

/// The cases that run with `cpu=samples`, and the file that each writes; `%p` is the process id.
const RUNS: &[(&str, &str)] = &[
    ("file-binary-default", "java.hprof"),
    ("file-nosuffix-ascii", "plain"),
    ("force-n-absent", "absent.txt"),
    ("force-n-binary", "mine.txt.%p"),
    ("force-n-default", "java.hprof.%p.txt"),
    ("force-n-txt", "mine.%p.txt"),
    ("force-y-overwrite", "mine.txt"),
    ("opt-cpu-y", "o.txt"),
    ("opt-cutoff-2", "o.txt"),
    ("opt-env", "envfile.txt"),
    ("opt-env-only", "envfile.txt"),
    ("opt-gcokay-ok", "o.txt"),
    ("opt-trailing-comma", "o.txt"),
    ("opt-verbose-n", "o.txt"),
];

/// The cases whose options are valid, but whose output cannot be made.
const WITHOUT_OUTPUT: &[&str] =
    &["opt-dump-unwritable", "opt-net-badhost", "opt-net-port0", "opt-net-refused"];

/// The cases with a test of their own.
const SPECIAL: &[&str] = &[
    "force-n-dump-tmp-exists",
    "opt-file-unwritable",
    "opt-none-default",
    "opt-none-xrun",
    "opt-twice",
];

fn golden() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/testdata/hprof-options");
    Golden::load_all(&folder).unwrap()
}

fn golden_case(name: &str) -> Golden {
    golden().into_iter().find(|case| case.name == name).unwrap()
}

/// Returns the case's agent and environment, without a program.
fn as_recorded(jdk: &Jdk, case: &Golden) -> JavaRun {
    run_of(jdk, case, str::to_owned)
}

/// Returns the same with an analysis that this version has.
fn with_samples(jdk: &Jdk, case: &Golden) -> JavaRun {
    run_of(jdk, case, |options| {
        options.replace("heap=sites", "cpu=samples").replace("heap=dump", "cpu=samples")
    })
}

fn run_of(jdk: &Jdk, case: &Golden, adapt: impl Fn(&str) -> String) -> JavaRun {
    let xrun = case.command.iter().any(|word| word.starts_with("-Xrun"));
    let run = JavaRun::new(jdk).jvm_arg("-Xmx64m");
    let mut run = if xrun { run.xrunhprof() } else { run.agentlib_hprof() };
    for options in case.agent_options() {
        run = run.agent(&adapt(options));
    }
    for (name, value) in &case.environment {
        run = run.env(name, adapt(value));
    }
    run
}

fn parse(case: &Golden) -> Result<AgentAction, String> {
    Options::parse(case.agent_options()[0], case.env("_JAVA_HPROF_OPTIONS"))
        .map_err(|error| error.to_string())
}

fn sleeper(run: JavaRun) -> JavaRun {
    run.main("Sleeper").args(["0"])
}

/// Checks exit code and stderr, and that the program did not start.
#[track_caller]
fn assert_refused(outcome: &Outcome, exit_code: i32, stderr: &str) {
    outcome.assert_code(exit_code);
    assert_eq!(outcome.stderr, stderr, "{}", outcome.report());
    assert_eq!(outcome.stdout, "", "{}", outcome.report());
}

fn progress_of_samples() -> String {
    let part = DumpPart::Samples.progress();
    format!("{}{part}{}", messages::DUMP_BEGIN, messages::DUMP_END)
}

#[test]
fn every_case_is_tested_here() {
    for case in golden() {
        let name = case.name.as_str();
        let listed = RUNS.iter().any(|(run, _)| *run == name)
            || WITHOUT_OUTPUT.contains(&name)
            || SPECIAL.contains(&name);
        let refused_or_help = !matches!(parse(&case), Ok(AgentAction::Run(_)));
        assert!(listed != refused_or_help, "{name}");
    }
}

#[test]
fn wrong_options_end_as_recorded() {
    jdk::each(|jdk| {
        for case in golden().iter().filter(|case| parse(case).is_err()) {
            let outcome = sleeper(as_recorded(jdk, case)).run();
            assert_refused(&outcome, case.exit_code, &case.stderr);
            assert!(outcome.files.is_empty(), "{}", outcome.report());
        }
    });
}

#[test]
fn help_goes_to_stdout() {
    jdk::each(|jdk| {
        for case in golden().iter().filter(|case| parse(case) == Ok(AgentAction::Help)) {
            let outcome = sleeper(as_recorded(jdk, case)).run();
            outcome.assert_success();
            assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (usage(), ""));
        }
    });
}

#[test]
fn output_that_cannot_be_had_ends_as_recorded() {
    jdk::each(|jdk| {
        for case in golden().iter().filter(|case| WITHOUT_OUTPUT.contains(&case.name.as_str())) {
            let outcome = sleeper(as_recorded(jdk, case)).run();
            assert_refused(&outcome, case.exit_code, &case.stderr);
            assert!(outcome.files.is_empty(), "{}", outcome.report());
        }
    });
}

#[test]
fn good_options_write_the_recorded_file() {
    jdk::each(|jdk| {
        for (name, file) in RUNS {
            let case = golden_case(name);
            let existing: &[&str] = if name.starts_with("force-") { &EXISTING } else { &[] };
            let mut run = sleeper(with_samples(jdk, &case));
            for old in existing {
                run = run.file(*old, OLD_CONTENTS);
            }
            let outcome = run.run();
            outcome.assert_success();
            assert_eq!(outcome.stdout, "ready\nawake\n", "{}", outcome.report());
            let progress = progress_of_samples();
            let stderr = if *name == "opt-verbose-n" { "" } else { &progress };
            assert_eq!(outcome.stderr, stderr, "{}", outcome.report());

            let file = file.replace("%p", &outcome.pid.to_string());
            assert!(outcome.bytes(&file).starts_with(b"JAVA PROFILE 1.0."), "{}", outcome.report());
            let names = outcome.files.keys().map(String::as_str);
            let others: Vec<&str> = names.filter(|name| *name != file).collect();
            let mut expected: Vec<&str> =
                existing.iter().copied().filter(|name| *name != file).collect();
            expected.sort_unstable();
            assert_eq!(others, expected, "{}", outcome.report());
            for old in others {
                assert_eq!(outcome.text(old), OLD_CONTENTS, "{name}: {old}");
            }
        }
    });
}

#[test]
fn percent_p_in_a_name_is_the_process_id() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agentlib_hprof().agent("cpu=samples,file=o-%p-%%.txt");
        let outcome = sleeper(run).run();
        outcome.assert_success();
        outcome.bytes(&format!("o-{}-%.txt", outcome.pid));
    });
}

/// With `cpu=samples` for `heap=sites`.
#[test]
fn a_file_that_cannot_be_made_ends_as_recorded() {
    let case = golden_case("opt-file-unwritable");
    jdk::each(|jdk| {
        let outcome = sleeper(with_samples(jdk, &case)).run();
        assert_refused(&outcome, case.exit_code, &case.stderr);
    });
}

/// The end is that of the original, which begins with a temporary file beside the file for
/// `heap=dump`.
#[test]
fn a_folder_is_no_file() {
    jdk::on(17, |jdk| {
        for options in ["file=.", "file=.,heap=dump", "file=/,cpu=samples", "file=.,format=b"] {
            let outcome = sleeper(JavaRun::new(jdk).agentlib_hprof().agent(options)).run();
            let name = &options[5..6];
            assert_refused(&outcome, 1, &format!("{}\n", FatalError::cannot_create_file(name)));
            assert!(outcome.files.is_empty(), "{}", outcome.report());
        }
        let options = "file=missing/o.txt,heap=dump";
        let outcome = sleeper(JavaRun::new(jdk).agentlib_hprof().agent(options)).run();
        let fatal = FatalError::cannot_create_temporary_file("missing/o.txt.TMP");
        assert_refused(&outcome, 9, &format!("{fatal}\n"));
    });
}

/// With `cpu=samples` for `heap=sites`. The recorded run left an empty file, which is not required.
#[test]
fn the_agent_cannot_be_loaded_twice() {
    let case = golden_case("opt-twice");
    assert_eq!(case.stderr, format!("{}\n", FatalError::loaded_twice()));
    jdk::each(|jdk| {
        let outcome = sleeper(with_samples(jdk, &case)).run();
        assert_refused(&outcome, case.exit_code, &case.stderr);
    });
}

/// With `cpu=samples` for `heap=dump`, and a program that ends the same way. The recorded run
/// deleted the file that `force=n` was to keep.
#[test]
fn force_n_keeps_a_file_beside_a_stale_temporary_one() {
    let case = golden_case("force-n-dump-tmp-exists");
    jdk::each(|jdk| {
        let run = with_samples(jdk, &case).main("Uncaught");
        let run = run.file("o.txt", OLD_CONTENTS).file("o.txt.TMP", OLD_CONTENTS);
        let outcome = run.run();
        outcome.assert_code(case.exit_code);
        assert!(outcome.stderr.contains("nobody catches this"), "{}", outcome.report());
        assert!(outcome.stderr.ends_with(&progress_of_samples()), "{}", outcome.report());
        assert_eq!(outcome.text("o.txt"), OLD_CONTENTS);
        assert!(outcome.text(&format!("o.{}.txt", outcome.pid)).starts_with("JAVA PROFILE"));
    });
}
