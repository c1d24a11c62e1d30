//! Parts of a run: `--delay` and `--duration`; programs that start others; secrets.

use std::fs;

use perk_testkit::jdk;
use rustix::process::{Signal, kill_process};

use super::kills::{json, nodes, rounds, start, sum};
use super::perk_run;
use crate::util::{Folder, assert_refused, stderr, wait_for};

/// The profile is written while the program continues, whose end and exit code perk waits for.
#[test]
fn the_program_goes_on_after_the_duration() {
    jdk::each_of(&[17, 25], |jdk| {
        for (options, metric) in [
            (&["--cpu", "samples", "--wall", "--alloc", "--lock"][..], "samples"),
            (&["--cpu", "times", "--include", "Rounds", "--heap", "sites"], "calls"),
        ] {
            let folder = Folder::new();
            let options = [options, &["--duration", "2s", "-o", "o.hprof"]].concat();
            let child = start(&folder, &options, &rounds(jdk, &["forever"]));
            wait_for("the profile", || folder.join("o.hprof").exists().then_some(()));
            let written = fs::read(folder.join("o.hprof")).unwrap();
            assert!(sum(&folder, "o.hprof", metric, "Rounds.contend") > 0);
            let wall_ns = json(&folder, "o.hprof")["accounting"]["wall_ns"].as_u64().unwrap();
            assert!(wall_ns >= 2_000_000_000, "{wall_ns}");
            kill_process(child.pid, Signal::TERM).unwrap();
            let output = child.output();
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(143), "{text}");
            assert_eq!(text.matches("written   o.hprof").count(), 1, "{text}");
            assert_eq!(fs::read(folder.join("o.hprof")).unwrap(), written);
            assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0, "{text}");
        }
    });
}

/// What happens outside of the part is not in the profile, by samples or by exact counts.
#[test]
fn only_the_part_asked_for_is_measured() {
    jdk::each_of(&[17, 25], |jdk| {
        let command = rounds(jdk, &["sleep", "4000", "7000"]);
        let exact = ["--cpu", "times", "--include", "Rounds", "--heap", "sites"];
        for (part, in_early, in_late) in
            [(&["--delay", "3s"][..], 0, 4000), (&["--duration", "3s"], 4000, 0)]
        {
            let folder = Folder::new();
            let options = [&exact[..], part, &["-o", "o.hprof"]].concat();
            let output = perk_run(&folder, &options, &command);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{text}");
            let calls = |method| sum(&folder, "o.hprof", "calls", method);
            // The call of `early` itself began in time.
            let both = [calls("Rounds.early") / 7, calls("Rounds.late") / 7];
            assert_eq!(both, [in_early, in_late], "{part:?}: {text}");
            let objects = |method| nodes(&folder, "o.hprof", method);
            assert_eq!([objects("Rounds.early"), objects("Rounds.late")], both, "{part:?}");
            let options = [&["--wall", "--cpu", "samples"], part, &["-o", "s.hprof"]].concat();
            let output = perk_run(&folder, &options, &command);
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            let samples = |method| sum(&folder, "s.hprof", "samples", method);
            let both = [samples("Rounds.early") > 0, samples("Rounds.late") > 0];
            assert_eq!(both, [in_early > 0, in_late > 0], "{part:?}");
            // The account is of the same part.
            let accounting = &json(&folder, "s.hprof")["accounting"];
            let number = |name: &str| accounting[name].as_u64().unwrap() as f64;
            let sampled_ns = number("sample_count") * number("interval_ns");
            let java_ns = number("java_cpu_ns");
            assert!((0.7..1.4).contains(&(sampled_ns / java_ns)), "{part:?}: {accounting}");
        }
    });
}

#[test]
fn a_program_that_ends_in_the_delay_has_no_profile() {
    let folder = Folder::new();
    let command = rounds(jdk::compiler(), &["sleep", "100", "1"]);
    let output = perk_run(&folder, &["--delay", "1h", "-o", "o.txt"], &command);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("after the delay of 3600s, ") && text.contains("not written: o.txt"),
        "{text}"
    );
}

#[test]
fn parts_that_cannot_be_measured_are_refused() {
    let folder = Folder::new();
    for (options, part) in [
        (&["--delay", "0s"][..], "above 0"),
        (&["--duration", "5"], "a time needs a unit: us"),
        (&["--delay", "1s", "--paused"], "--paused"),
        (&["--duration", "1s", "--fields", "shared"], "measure the whole run"),
        (&["--delay", "1s", "--jamaica"], "measure the whole run"),
        (&["--duration", "1s", "--xprof"], "measure the whole run"),
        (&["--delay", "1s", "--heap", "dump"], "--heap dump"),
    ] {
        let output = folder.perk().arg("run").args(options).args(["--", "java"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(stderr(&output).contains(part), "{options:?}: {}", stderr(&output));
    }
    assert_refused(
        &folder.run(&["run", "--delay", "1s", "--heap", "dump", "--", "java"]),
        &["--delay"],
    );
    assert!(folder.names().is_empty());
}

/// JVMs that `java` itself starts are named, or profiled where that is asked for.
#[test]
fn the_jvms_that_java_starts() {
    let command = rounds(jdk::compiler(), &["java", "0", "4000"]);
    let folder = Folder::new();
    let output = perk_run(&folder, &["-o", "o.hprof"], &command);
    let text = stderr(&output);
    let line = "perk: not profiled, as the program itself started them: Rounds (pid ";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("--children profiles them"), "{text}");
    let output = perk_run(&folder, &["--children", "-o", "all.hprof"], &command);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(sum(&folder, "all.hprof", "samples", "Rounds.late") > 0, "{text}");
    assert!(!text.contains("not profiled"), "{text}");
}

/// The files and the report of a run do not have the secrets of its command line.
#[test]
fn secrets_of_the_command_line_are_masked() {
    let secrets = ["hunter2", "t0ken", "k3y", "pw4url"];
    let arguments = [
        "sleep",
        "2000",
        "1",
        "--password=hunter2",
        "token=t0ken",
        "--api-key",
        "k3y",
        "db://joe:pw4url@host",
    ];
    let command = rounds(jdk::compiler(), &arguments);
    let folder = Folder::new();
    let files = ["o.hprof", "o.txt", "o.html", "o.svg", "o.pb", "o.speedscope.json", "o.xprof"];
    let outputs = files.map(|file| ["-o", file]).concat();
    let output = perk_run(&folder, &outputs, &command);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    for secret in secrets {
        assert!(!stderr(&output).contains(secret), "{}", stderr(&output));
        for file in files {
            assert!(!has(&fs::read(folder.join(file)).unwrap(), secret), "{secret} is in {file}");
        }
    }
    assert!(has(&fs::read(folder.join("o.hprof")).unwrap(), "--password=***"));
    let output = perk_run(&folder, &["--keep-secrets", "-o", "k.hprof"], &command);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let report = |options: &[&str]| {
        let output = folder.run(&[&["report", "--json", "k.hprof"], options].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    for secret in secrets {
        assert!(has(&fs::read(folder.join("k.hprof")).unwrap(), secret), "{secret}");
        assert!(report(&["--keep-secrets"]).contains(secret) && !report(&[]).contains(secret));
    }
}
