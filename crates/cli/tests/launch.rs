//! `perk run` with programs that are not JVMs: refusals before the start, exit codes, streams,
//! signals.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::util::{Folder, PERK, assert_refused, stderr, stdout, wait_for};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

#[test]
fn refused_before_the_program_starts() {
    let folder = Folder::new();
    folder.file("script", "not executable");
    fs::create_dir(folder.join("folder.txt")).unwrap();
    let touch = ["--", "touch", "started"];
    for (arguments, parts) in [
        (&["-o", "x.class"][..], &["x.class", ".txt, .hprof, ", ".collapsed or .pb"][..]),
        (&["-o", "x"], &["x: perk writes no format with this ending"]),
        (&["-o", "."], &[". is a folder: name a file in it"]),
        (&["-o", "no/x.txt"], &["cannot write no/x.txt"]),
        (&["-o", "folder.txt"], &["cannot write folder.txt", "folder"]),
        (&["-o", "a.txt", "-o", "a.txt"], &["a.txt", "twice"]),
        (&["--interval", "0ms"], &["--interval", "10ms"]),
        (&["--depth", "0"], &["--depth"]),
        (&["--cpu", "wall"], &["--cpu", "samples, counts, times, old, off"]),
        (&["--cpu", "off"], &["--cpu off", "--heap sites, --aprof or --monitor"]),
        (&["--heap", "tree"], &["--heap", "sites, dump, all"]),
        (&["--heap", "dump", "-o", "a.txt"], &["a.txt", ".hprof"]),
        (&["--heap", "dump", "-o", "a.hprof", "-o", "b.html"], &["b.html", ".hprof"]),
        (
            &["--heap", "all", "-o", "a.txt", "-o", "b.html"],
            &["a.txt", "no place for the heap dump", "name a .hprof file", "--heap sites"],
        ),
        (&["--heap", "all", "--cpu", "times"], &["--cpu times", "run twice"]),
        (&["--heap", "dump", "--locks"], &["--locks", "run twice"]),
        (&["--heap", "dump", "--sample", "512k"], &["--sample", "--heap sites"]),
        (&["--timing", "exact"], &["--timing", "--cpu times or --cpu old"]),
        (&["--cpu", "times", "--interval", "1ms"], &["--interval", "--cpu samples"]),
        (&["--cpu", "times", "--timing", "exact", "--clock", "cpu"], &["--clock wall"]),
        (&["--cpu", "times", "--include", "com/acme"], &["--include", "com.acme.*"]),
        (&["--cpu", "times", "--exclude", "a,,b"], &["--exclude", "com.acme.*"]),
        (&["--cpu", "times", "--max-nodes", "0"], &["--max-nodes", "512k"]),
        (&["--heap", "sites", "--sample", "2g"], &["--sample", "512k"]),
        (&["--aprof", "--gc"], &["--gc", "--heap"]),
        (&["--from-signal"], &["--from-signal", "--aprof"]),
        (&["--cpu", "times", "-o", "a.prof"], &["cannot write a.prof", "the profile has none"]),
        (&["--cpu", "times", "-o", "a.aprof"], &["cannot write a.aprof", "allocations"]),
    ] {
        let arguments: Vec<_> = ["run"].iter().chain(arguments).chain(&touch).copied().collect();
        assert_refused(&folder.run(&arguments), parts);
    }
    assert_refused(&folder.run(&["run", "--", "no-such-java"]), &["no-such-java", "PATH"]);
    assert_refused(&folder.run(&["run", "--", "/no/bin/java"]), &["/no/bin/java", "No such file"]);
    assert_refused(&folder.run(&["run", "--", "./script"]), &["./script", "not executable"]);
    assert_refused(&folder.run(&["run", "--", "./folder.txt"]), &["./folder.txt", "folder"]);
    assert_refused(&folder.run(&["run"]), &["<COMMAND>"]);
    assert_eq!(folder.names(), ["folder.txt", "script"]);
}

#[test]
fn javas_that_cannot_be_profiled() {
    let folder = Folder::new();
    folder.program("jdk11/bin/java", "#!/bin/sh\ntouch started\n");
    folder.file("jdk11/release", "JAVA_VERSION=\"11.0.2\"\n");
    folder.program("j9/bin/java", "#!/bin/sh\ntouch started\n");
    folder.file("j9/release", "JAVA_VERSION=\"17.0.1\"\n");
    folder.file("j9/lib/default/libj9vm29.so", "");
    let old = ["Java 11", "17 or later"];
    assert_refused(&folder.run(&["run", "--", "jdk11/bin/java", "Main"]), &old);
    assert_refused(&folder.run(&["run", "--", "j9/bin/java", "Main"]), &["OpenJ9", "HotSpot"]);
    let output =
        folder.perk().env("PATH", folder.join("jdk11/bin")).args(["run", "java"]).output().unwrap();
    assert_refused(&output, &["Java 11"]);
    assert!(!folder.join("started").exists());
}

#[test]
fn a_launcher_without_a_jvm() {
    let folder = Folder::new();
    let output = folder.run(&["run", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "out\n");
    let text = stderr(&output);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains("JAVA_TOOL_OPTIONS"), "{text}");
    assert_eq!(lines[1], "err");
    assert!(
        lines[2].starts_with("perk: no file is written: no JVM started under this command"),
        "{text}"
    );
    assert!(folder.names().is_empty());
}

#[test]
fn the_launcher_gets_the_agent_by_its_environment() {
    let folder = Folder::new();
    let output = folder
        .perk()
        .env("JAVA_TOOL_OPTIONS", "-Dmine=1")
        .args(["run", "--depth", "9", "--", "sh", "-c", "echo \"$JAVA_TOOL_OPTIONS\""])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(text.starts_with("-Dmine=1 -agentpath:/"), "{text}");
    assert!(text.contains("cpu=samples,") && text.contains(",depth=9,"), "{text}");
}

#[test]
fn an_exact_profile_is_asked_for_by_the_environment_too() {
    let folder = Folder::new();
    let arguments = ["--cpu", "times", "--heap", "sites", "--include", "a.*,b.$C"];
    let command = ["--", "sh", "-c", "echo \"$JAVA_TOOL_OPTIONS\""];
    let output = folder.perk().arg("run").args(arguments).args(command).output().unwrap();
    let text = stdout(&output);
    for options in ["=heap=sites,cpu=times,", ",include=a.*,include=b.$C,", ",gc=y,"] {
        assert!(text.contains(options), "{text}");
    }
}

#[test]
fn a_wrapper_script_called_java_is_a_launcher() {
    let folder = Folder::new();
    folder.program("java", "#!/bin/sh\necho \"$JAVA_TOOL_OPTIONS $*\"\n");
    let output = folder.run(&["run", "--", "./java", "-jar", "x.jar"]);
    let text = stdout(&output);
    assert!(text.contains("-agentpath:") && text.ends_with(" -jar x.jar\n"), "{text}");
}

#[test]
fn exit_codes_and_signals_come_through() {
    let folder = Folder::new();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
    ] {
        let output = folder.run(&["run", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}");
    }
}

#[test]
fn stdin_is_passed_through() {
    let folder = Folder::new();
    let output =
        folder.perk().args(["run", "--", "cat"]).write_stdin("one\ntwo\n").output().unwrap();
    assert_eq!(stdout(&output), "one\ntwo\n");
}

/// Starts a shell under `perk run` that writes `<signal>` to `got` for each signal, and ends with 7
/// after the first. It is ready when `ready` exists.
fn start_trapping(folder: &Folder, command: &mut Command) -> Child {
    let script = "for s in INT QUIT TERM HUP USR1 USR2; do \
                      trap \"echo $s >> got; stop=1\" $s; done; \
                  touch ready; \
                  while [ -z \"$stop\" ]; do sleep 0.05; done; sleep 0.3; exit 7";
    let child = command.args(["run", "--", "sh", "-c", script]).current_dir(folder.path());
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the shell", || folder.join("ready").exists().then_some(()));
    child
}

#[test]
fn signals_to_perk_go_to_the_program() {
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ] {
        let folder = Folder::new();
        let mut child = start_trapping(&folder, &mut Command::new(PERK));
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7), "{name}");
        assert_eq!(fs::read_to_string(folder.join("got")).unwrap(), format!("{name}\n"));
    }
}

#[test]
fn perk_outlives_an_interrupt_of_its_process_group() {
    let folder = Folder::new();
    let mut child = start_trapping(&folder, Command::new(PERK).process_group(0));
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("no JVM started"), "{text}");
}

#[test]
fn ctrl_c_reaches_the_program_once() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let folder = Folder::new();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = fs::File::options().read(true).write(true).open(name).unwrap();
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", PERK]).stdin(terminal);
    let mut child = start_trapping(&folder, &mut command);
    fs::File::from(master.try_clone().unwrap()).write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(fs::read_to_string(folder.join("got")).unwrap(), "INT\n");
}

#[test]
fn what_was_ignored_stays_ignored() {
    let folder = Folder::new();
    let script = "trap '' HUP; exec \"$PERK\" run -- sh -c \
         'grep SigIgn /proc/self/status > ignored; kill -HUP $PPID; sleep 0.2; exit 5'";
    let status = Command::new("sh")
        .args(["-c", script])
        .env("PERK", PERK)
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(5));
    let ignored = fs::read_to_string(folder.join("ignored")).unwrap();
    assert!(ignored.trim_end().ends_with('1'), "{ignored}");
}

#[test]
fn nobody_listening_is_no_fault() {
    let folder = Folder::new();
    let script = "\"$PERK\" run -- sh -c 'exit 4' 2>&-";
    let mut sh = Command::new("sh");
    let status = sh.args(["-c", script]).env("PERK", PERK).current_dir(folder.path()).status();
    assert_eq!(status.unwrap().code(), Some(4));
}
