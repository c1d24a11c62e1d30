//! Mistakes that people make: each has one line on stderr, which says what is wrong and what to do, and exit
//! code 2.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use perk_testkit::{fixture, jdk};
use rustix::process::geteuid;

use crate::foreign::testdata;
use crate::util::{Folder, assert_refused, stderr};

/// The folder in which they are made.
fn desk() -> Folder {
    let folder = Folder::new();
    for (name, content) in [
        ("p.collapsed", "com.acme.Main.main;com.acme.Main.work 8\n"),
        ("other.collapsed", "com.acme.Main.main;com.acme.Other.work 8\n"),
        ("garbage.txt", "garbage\n"),
        ("empty.txt", ""),
        ("Hi.java", "class Hi {}\n"),
        ("Hi.class", "\u{ca}"),
        ("app.zip", "PK\u{3}\u{4}"),
        ("folder/file", ""),
    ] {
        folder.file(name, content);
    }
    fs::copy(testdata("hprof/samples-cpu.txt"), folder.join("java.hprof.txt")).unwrap();
    folder
}

/// Tries command lines, the words of which have blanks between them, and what is said about each.
#[track_caller]
fn check(mistakes: &[(&str, &[&str])]) {
    let folder = desk();
    for (line, parts) in mistakes {
        let words: Vec<_> = line.split_whitespace().collect();
        let output = folder.run(&words);
        assert_eq!(output.status.code(), Some(2), "perk {line}: {}", stderr(&output));
        assert_refused(&output, parts);
    }
}

#[test]
fn what_is_no_command() {
    check(&[
        ("", &["requires a subcommand", "run, attach, ps"]),
        ("java Hi", &["'java'", "perk run -- java Hi profiles a program"]),
        ("java -cp out Hi 1", &["perk run -- java -cp out Hi 1"]),
        ("-- java Hi", &["perk run -- java Hi"]),
        ("sh x", &["perk run -- sh x"]),
        ("Hi", &["perk run -- java Hi", "perk attach Hi one that runs"]),
        ("Hi.java", &["perk run -- java Hi.java"]),
        ("Hi.class", &["perk run -- java Hi profiles"]),
        ("app.jar 8080", &["perk run -- java -jar app.jar 8080"]),
        ("4711", &["perk attach 4711"]),
        ("java.hprof.txt", &["perk report java.hprof.txt"]),
        ("reprot p.collapsed", &["'reprot'", "'report'"]),
        ("--verbose run", &["'--verbose'"]),
        ("-q run -- java Hi", &["'-q'", "perk run -q"]),
        ("help nosuch", &["'nosuch'", "perk --help"]),
        ("man nosuch", &["perk man nosuch: unknown command; the commands are run,"]),
        ("completions csh", &["'csh'", "bash, elvish, fish"]),
        ("--color sometimes ps", &["'sometimes'", "auto, always, never"]),
        ("formats all", &["'all'", "perk formats --help"]),
        ("agent-path 17", &["'17'"]),
    ]);
}

#[test]
fn what_is_no_program() {
    check(&[
        ("run", &["<COMMAND>"]),
        ("run --", &["<COMMAND>"]),
        ("run Hi 1", &["cannot start Hi: it is no program; perk run -- java Hi 1"]),
        ("run app.jar", &["perk run -- java -jar app.jar"]),
        ("run -- app.jar x", &["perk run -- java -jar app.jar x"]),
        ("run -- -jar app.jar", &["cannot start -jar", "perk run -- java -jar app.jar"]),
        ("run -jar app.jar", &["'-j'", "perk run -- java -jar …"]),
        ("run --enable-preview Hi", &["perk run -- java --enable-preview …"]),
        ("run Hi.class", &["perk run -- java Hi"]),
        ("run nosuch", &["cannot find nosuch", "PATH"]),
        ("run folder", &["cannot start folder: it is a folder"]),
        ("run ./garbage.txt", &["not executable (chmod +x)"]),
        ("run --wall 10ms -- java Hi", &["10ms", "write --wall=10ms"]),
        ("run --alloc 1m -- java Hi", &["1m", "write --alloc=1m"]),
    ]);
}

#[test]
fn values_that_are_wrong() {
    let unit = "a time needs a unit: us, ms, s, m or h";
    check(&[
        ("run --interval 10 -- java Hi", &["'10'", "--interval", unit]),
        ("run --wall=10 -- java Hi", &["'10'", "--wall", unit]),
        ("run --duration 30 -- java Hi", &["'30'", "--duration", unit]),
        ("run --duration 10 s -- java Hi", &["'10'", unit]),
        ("run --delay 5 -- java Hi", &["--delay", unit]),
        ("attach Hi --duration 30", &["--duration", unit]),
        ("attach Hi --timeout 3", &["--timeout", unit]),
        ("attach Hi --interval 1", &["--interval", unit]),
        ("stop Hi --timeout 3", &["--timeout", unit]),
        ("listen --after 2", &["--after", unit]),
        ("listen --idle-timeout 60", &["--idle-timeout", unit]),
        ("report --from 2 p.collapsed", &["--from", unit]),
        ("report --to 2 p.collapsed", &["--to", unit]),
        ("run --duration ten -- java Hi", &["use a number and us, ms, s, m or h"]),
        ("run --duration 0s -- java Hi", &["use a time above 0"]),
        ("run --interval 0ms -- java Hi", &["use a time above 0"]),
        ("run --duration -- java Hi", &["a value is required", "--duration"]),
        ("run --alloc=1x -- java Hi", &["'1x'", "512k"]),
        ("run --top x -- java Hi", &["'x'", "--top", "use a whole number"]),
        ("run --depth 0 -- java Hi", &["'0'", "--depth"]),
        ("run --cpu time -- java Hi", &["'time'", "samples, counts, times", "'times'"]),
        ("run --cpu samples,times -- java Hi", &["'samples,times'"]),
        ("run --only memory -- java Hi", &["'memory'", "cpu, waits, locks, alloc"]),
        ("run --only cpu --cpu times -- java Hi", &["--cpu", "--only"]),
        ("run --duraton 1s -- java Hi", &["'--duraton'", "'--duration'"]),
        ("run --include com.acme -- java Hi", &["--include works only with --cpu times"]),
        ("report --min 200% p.collapsed", &["'200%'", "from 0% to 100%"]),
        ("report --max-bytes 1 p.collapsed", &["--max-bytes allows more"]),
        ("report --label request p.collapsed", &["'request'", "KEY=VALUE"]),
        ("report --csv --json p.collapsed", &["--csv", "--json"]),
        ("report --input-format jpg p.collapsed", &["'jpg'", "jfr"]),
        ("listen --port 99999", &["'99999'", "0..=65535"]),
        ("listen --bind somewhere", &["use an IP address of this machine"]),
        ("listen --send heap", &["\"heap\" is not a command", "dump-heap"]),
        ("diff --fail-on cpu p.collapsed p.collapsed", &["'cpu'", "calls>+5%"]),
    ]);
}

#[test]
fn files_that_are_wrong() {
    check(&[
        ("report", &["<FILE>"]),
        ("report missing.txt", &["cannot read missing.txt: No such file"]),
        ("report folder", &["cannot read folder: it is a folder; name a file in it"]),
        ("report empty.txt", &["empty.txt is empty"]),
        ("report garbage.txt", &["garbage.txt is not in a format", "perk formats"]),
        ("report app.zip", &["app.zip is a zip or jar archive", "unpack it first"]),
        ("report p.collapsed missing.txt", &["cannot read missing.txt"]),
        ("report p.collapsed java.hprof.txt", &["files of one format add up"]),
        ("report --input-format jfr p.collapsed", &["p.collapsed: bad JFR recording"]),
        ("report -o page.html p.collapsed", &["--source", "perk convert"]),
        ("diff p.collapsed", &["<AFTER>"]),
        ("diff p.collapsed missing.txt", &["cannot read missing.txt"]),
        ("diff - -", &["only one of the profiles can come from stdin"]),
        ("heap p.collapsed", &["cannot analyse p.collapsed: it is not a heap dump", "perk report"]),
        ("heap java.hprof.txt", &["without a heap dump; `perk report`"]),
        (
            "heap missing.hprof",
            &["cannot analyse missing.hprof: No such file or directory (os error 2)\n"],
        ),
        ("heap folder", &["it is a folder; name a dump in it"]),
        ("convert p.collapsed", &["--output <FILE>"]),
        ("convert p.collapsed out.html", &["'out.html'", "perk convert … -o out.html"]),
        ("convert p.collapsed -o p.collapsed", &["both input and output", "-o"]),
        ("convert p.collapsed -o out.doc", &["out.doc: perk writes no format", ".html"]),
        ("convert p.collapsed -o folder", &["folder is a folder: name a file in it"]),
        ("convert p.collapsed -o missing/out.html", &["cannot write missing/out.html"]),
        ("convert p.collapsed -o out.tsv", &["cannot write out.tsv", "the profile has none"]),
        ("view p.collapsed", &["stdout is not a terminal: use perk report instead"]),
        ("view missing", &["cannot read missing"]),
        ("run -o out.doc -- java Hi", &["out.doc: perk writes no format", ".html"]),
        ("run -o folder -- java Hi", &["folder is a folder: name a file in it"]),
        ("run -o missing/out.html -- java Hi", &["cannot write missing/out.html"]),
        ("run -o a.html -o a.html -- java Hi", &["a.html: named twice with -o"]),
        ("listen -o missing/a.hprof", &["cannot write missing/a.hprof"]),
    ]);
}

#[test]
fn names_that_nothing_has() {
    let near = "did you mean com.acme.Main";
    check(&[
        (
            "report --focus Mian p.collapsed",
            &["--focus Mian: no class or method of p.collapsed", near],
        ),
        ("report --focus com.acme.Main --focus Q p.collapsed", &["--focus Q: no class or method"]),
        ("report --app acme p.collapsed", &["--app acme", "did you mean 'com.acme.*'?"]),
        ("report --label request=x p.collapsed", &["--label request=x: p.collapsed has no labels"]),
        ("report --metric sampels p.collapsed", &["it has samples; did you mean samples?"]),
        ("report --by request p.collapsed", &["--by request: the profile has no labels"]),
        ("convert --focus Mian p.collapsed -o o.html", &["--focus Mian", near]),
        ("view --focus Mian p.collapsed", &["--focus Mian", near]),
        (
            "diff --focus Mian p.collapsed other.collapsed",
            &["p.collapsed or other.collapsed", near],
        ),
        ("diff --fail-on samples(Mian)>+1% p.collapsed p.collapsed", &["--fail-on", near]),
    ]);
    // What is in one of two profiles is not misspelt.
    let output = desk().run(&["diff", "--focus", "Other", "p.collapsed", "other.collapsed"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("perk: --focus Other: no class or method of p.collapsed "));
}

#[test]
fn programs_that_are_not_there() {
    check(&[
        ("attach", &["<PID|NAME>"]),
        ("attach 4194305", &["there is no process 4194305"]),
        ("attach 0", &["there is no process 0"]),
        ("attach 1", &["process 1 "]),
        ("attach -1", &["'-1'"]),
        ("attach no.such.Program", &["no JVM has this name (perk ps lists them)"]),
        ("attach java -jar app.jar", &["'-j'", "process id or the name of a running program"]),
        ("attach -- java Hi", &["'Hi'", "perk run -- java … starts one"]),
        ("status 4194305", &["there is no process 4194305"]),
        ("start 4194305 cpu=samples", &["there is no process 4194305"]),
        ("stop no.such.Program", &["no JVM has this name"]),
        ("dump", &["<PID|NAME>"]),
        ("reset no.such.Program", &["no JVM has this name"]),
        ("ps Main", &["'Main'"]),
    ]);
}

/// Root may do everything.
#[test]
fn what_is_not_permitted() {
    let folder = desk();
    let mode = |name: &str, mode| {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("p.collapsed", 0);
    mode("folder", 0o555);
    if !geteuid().is_root() {
        assert_refused(
            &folder.run(&["report", "p.collapsed"]),
            &["cannot read p.collapsed: Permission denied"],
        );
        assert_refused(
            &folder.run(&["run", "-o", "folder/a.html", "--", "java", "Hi"]),
            &["cannot write folder/a.html: Permission denied"],
        );
    }
    mode("folder", 0o755);
    assert_refused(
        &folder.run(&["run", "-o", "/proc/a.html", "--", "java", "Hi"]),
        &["/proc/a.html"],
    );
}

/// A program that has yet to load its classes runs; the end says what none had, also with `--quiet`.
#[test]
fn names_that_a_program_did_not_have() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let [java, classes] =
            [jdk.java(), fixture::fixtures()].map(|it| it.to_str().unwrap().to_owned());
        let run = |options: &[&str]| {
            let program = ["--", &java, "-XX:+UseSerialGC", "-cp", &classes, "Sleeper", "1"];
            let output =
                folder.run(&[&["run", "--quiet", "-o", "a.hprof"], options, &program].concat());
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            stderr(&output)
        };
        let text = run(&["--cpu", "times", "--include", "Slepeer"]);
        let near = "--include Slepeer: no class or method has that name; did you mean Sleeper?\n";
        assert!(text.contains(near), "{text}");
        assert!(
            text.ends_with("not written: a.hprof: nothing was measured: no call was counted\n")
        );
        let text = run(&["--wall", "--wall-threads", "mian"]);
        assert!(
            text.contains("--wall-threads mian: no thread had that name; did you mean main?\n"),
            "{text}"
        );
    });
}
