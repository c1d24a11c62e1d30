//! Files that are not written: each with its reason, with `-q`, too.

use std::fs;
use std::process::{Command, Output};

use perk_testkit::jdk;

use super::{perk_run, work};
use crate::util::{Folder, PERK, assert_refused, stderr};

/// The lines of perk; those of the agent and of the JVM are left out.
fn lines(output: &Output) -> Vec<String> {
    let text = stderr(output);
    text.lines().filter_map(|line| line.strip_prefix("perk: ").map(str::to_owned)).collect()
}

#[test]
fn nothing_measured() {
    let folder = Folder::new();
    let idle = work(jdk::compiler(), &["0"]);
    let allocated = "nothing was measured: it allocated too little for a sample (--alloc=16k takes";
    let calls = "nothing was measured: no call was counted";
    let times = ["--cpu", "times", "--include", "no.such.Class"];
    for (options, command, why) in [
        (&["--alloc=512m"][..], &idle[..], allocated),
        (&times, &idle, calls),
        (&["--delay", "1h"], &idle, "nothing was measured: after the delay of 3600s, "),
    ] {
        let quiet = [&["-q", "-o", "o.hprof"], options].concat();
        let output = perk_run(&folder, &quiet, command);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        // A name that nothing has is a line of its own.
        let lines_of = |output| lines(output).pop().unwrap_or_default();
        let line = lines_of(&output);
        assert!(line.starts_with(&format!("not written: o.hprof: {why}")), "{line}");
        // Without a file that is asked for it is no error.
        let output = perk_run(&folder, &[&["-q"], options].concat(), command);
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        let line = lines_of(&output);
        assert!(line.starts_with(&format!("no file is written: {why}")), "{line}");
        assert!(folder.names().is_empty());
    }
    let output = perk_run(&folder, &["-q", "-o", "o.txt"], &["true".to_owned()]);
    assert!(lines(&output)[1].starts_with("not written: o.txt: no JVM started under this command"));
}

/// Runs perk with a limit of the sizes of files.
fn limited(folder: &Folder, arguments: &[&str], command: &[String]) -> Output {
    fs::create_dir_all(folder.join("tmp")).unwrap();
    let mut sh = Command::new("sh");
    sh.args(["-c", "ulimit -f 8; exec \"$@\"", "sh", PERK]).args(arguments).args(command);
    sh.current_dir(folder.path()).env("TMPDIR", folder.join("tmp"));
    sh.env_remove("JAVA_TOOL_OPTIONS").output().unwrap()
}

#[test]
fn files_that_must_not_grow() {
    let folder = Folder::new();
    let command = work(jdk::compiler(), &["100"]);
    let sites = ["run", "-q", "--heap", "sites", "-o", "o.hprof", "--"];
    let output = limited(&folder, &sites, &command);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let [first, second] = &lines(&output)[..] else { panic!("{}", stderr(&output)) };
    let why = "could not write its profile: File too large (os error 27)";
    assert!(first.contains(&format!("{why}, the limit of ulimit -f; ")), "{first}");
    assert!(
        second.starts_with("not written: o.hprof: the JVM ") && second.ends_with(why),
        "{second}"
    );
    assert_eq!(folder.names(), ["tmp"]);
    let dump = ["run", "-q", "--heap", "dump", "-o", "o.hprof", "--"];
    let output = limited(&folder, &dump, &command);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let [line] = &lines(&output)[..] else { panic!("{}", stderr(&output)) };
    assert!(
        line.starts_with("o.hprof is not written: the JVM ")
            && line.contains("could not dump its heap")
    );
    assert_eq!(folder.names(), ["tmp"]);
    // perk itself is not ended by the signal of the limit.
    let stacks = (0..5_000).map(|n| format!("main;a.B.method{n} {n}\n")).collect::<String>();
    folder.file("a.collapsed", stacks);
    let output = limited(&folder, &["convert", "a.collapsed", "-o", "o.pb"], &[]);
    assert_refused(&output, &["cannot write o.pb", "File too large"]);
    assert_eq!(folder.names(), ["a.collapsed", "tmp"]);
}

#[test]
fn folders_that_cannot_be_written_to() {
    let folder = Folder::new();
    let command = work(jdk::compiler(), &["0"]);
    let mut perk = folder.perk();
    perk.env("TMPDIR", "/proc").args(["run", "-q", "-o", "o.txt", "--"]).args(&command);
    let parts = ["cannot make a folder in /proc", "set TMPDIR to a writable one"];
    assert_refused(&perk.output().unwrap(), &parts);
    let mut perk = folder.perk();
    perk.current_dir("/proc").args(["run", "-q", "--"]).args(&command);
    let parts = ["cannot write the profile to the folder /proc", "name a file with -o"];
    assert_refused(&perk.output().unwrap(), &parts);
    // What is wrong with the command, or with the JVM, comes first.
    let mut perk = folder.perk();
    perk.current_dir("/proc").args(["run", "--", "no-such-program"]);
    assert_refused(&perk.output().unwrap(), &["cannot find no-such-program"]);
    let mut perk = folder.perk();
    perk.current_dir("/proc").args(["attach", "NoSuchProgram"]);
    assert_refused(&perk.output().unwrap(), &["no JVM has this name"]);
}
