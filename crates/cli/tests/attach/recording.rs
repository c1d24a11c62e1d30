//! Recordings of JVMs that run already.

use std::fs;
use std::process::{Command, Stdio};

use perk_testkit::run::Signal;
use perk_testkit::{JavaRun, Jdk, jdk};
use rustix::process::{Pid, kill_process};

use super::{attach, perk, sleeper, start, wait_for_state};
use crate::util::{Folder, PERK, assert_refused, stderr, stdout, wait_for};

fn spinner(jdk: &Jdk) -> JavaRun {
    JavaRun::new(jdk).main("SpinUntilStop")
}

/// The table and the file are those of `perk run`, and a second recording is as good as the first.
#[test]
fn a_running_program_is_recorded_twice() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk));
        for name in ["a.hprof", "b.collapsed"] {
            let arguments = ["attach", "PID", "--duration", "1s", "--interval", "1ms", "-o", name];
            let output = perk(&folder, &java, &arguments);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}");
            assert!(text.contains("recording the JVM "), "{text}");
            assert!(text.contains("IdleThreads.burn"), "{text}");
            assert!(text.contains(&format!("written   {name}")), "{text}");
        }
        let status = perk(&folder, &java, &["status", "PID"]);
        let text = stdout(&status);
        assert!(text.contains("\nstate=idle\n"), "{text} {}", stderr(&status));
        let collapsed = fs::read_to_string(folder.join("b.collapsed")).unwrap();
        assert!(collapsed.contains("SpinUntilStop.main;"), "{collapsed}");
        fs::write(java.dir().join("stop"), "").unwrap();
        java.wait().assert_success();
    });
}

/// A JVM that handles no signals has its socket from the start.
#[test]
fn a_jvm_without_signals_is_recorded() {
    jdk::on(25, |jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk).jvm_arg("-Xrs"));
        let output = perk(&folder, &java, &["attach", "PID", "--duration", "200ms"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(folder.names(), [format!("perk-SpinUntilStop-{}.hprof", java.pid())]);
    });
}

#[test]
fn a_recording_of_the_command_line_is_paused_and_goes_on() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk).agent("cpu=samples,file=o.txt"));
        let refused = perk(&folder, &java, &["attach", "PID"]);
        assert_refused(&refused, &["the JVM"]);
        for (verb, state) in [("stop", "paused"), ("start", "recording"), ("stop", "paused")] {
            let output = perk(&folder, &java, &[verb, "PID"]);
            assert!(output.status.success(), "{verb}: {}", stderr(&output));
            let status = stdout(&perk(&folder, &java, &["status", "PID"]));
            assert!(status.contains(&format!("state={state}\n")), "{status}");
        }
        fs::write(java.dir().join("stop"), "").unwrap();
        let outcome = java.wait();
        outcome.assert_success();
        assert!(outcome.text("o.txt").contains("CPU SAMPLES"));
    });
}

/// `perk run --paused` begins with nothing on, and its profile has what `perk start` began.
#[test]
fn a_program_that_begins_paused_is_started() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let classes = perk_testkit::fixture::fixtures();
        let mut command = Command::new(PERK);
        command.args(["run", "--paused", "--interval", "1ms", "-o", "a.txt", "--"]);
        command.arg(jdk.java()).arg("-cp").arg(classes).arg("SpinUntilStop");
        command.current_dir(folder.path()).env_remove("JAVA_TOOL_OPTIONS");
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Its only child is the JVM.
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let pid = wait_for("the JVM", || {
            let pid = fs::read_to_string(&children).ok()?.split_whitespace().next()?.to_owned();
            let status = stdout(&folder.run(&["status", &pid]));
            status.contains("state=paused").then_some(pid)
        });
        let output = folder.run(&["start", &pid]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stdout(&folder.run(&["status", &pid])).contains("state=recording"));
        fs::write(folder.join("stop"), "").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(fs::read_to_string(folder.join("a.txt")).unwrap().contains("CPU SAMPLES"));
    });
}

#[test]
fn all_samplers_attach() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk));
        let arguments = [
            "attach",
            "PID",
            "--cpu",
            "samples",
            "--wall",
            "--alloc",
            "--lock",
            "--duration",
            "1s",
        ];
        let output = perk(&folder, &java, &[&arguments[..], &["-o", "a.hprof"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let json = stdout(&folder.run(&["report", "--json", "a.hprof"]));
        assert!(json.contains("\"wall"), "{json}");
    });
}

/// Locks of java.util.concurrent are measured as monitors are, and no more when the recording is over.
#[test]
fn locks_of_a_running_program_are_measured() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let run = JavaRun::new(jdk).jvm_arg("-Xcheck:jni");
        let java = run.main("LockStorm").args(["6"]).spawn();
        for name in ["a.txt", "b.txt"] {
            let arguments = ["attach", "PID", "--lock", "--duration", "500ms", "-o", name];
            let output = perk(&folder, &java, &arguments);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}");
            let is_lock = |line: &str| line.contains("ReentrantLock$NonfairSync ");
            assert!(text.lines().any(is_lock), "{text}");
        }
        let outcome = java.wait();
        outcome.assert_success();
        assert!(outcome.stdout.ends_with("ended\n"), "{}", outcome.report());
    });
}

#[test]
fn an_interrupt_ends_the_recording_early() {
    jdk::on(21, |jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk));
        let child = attach(&folder, &java, &["--interval", "1ms", "-o", "a.txt"]);
        wait_for_state(&folder, &java, "recording");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(fs::read_to_string(folder.join("a.txt")).unwrap().contains("CPU SAMPLES"));
        assert!(stdout(&folder.run(&["status", &java.pid().to_string()])).contains("state=idle"));
    });
}

#[test]
fn the_end_of_the_program_ends_the_recording() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk));
        let child = attach(&folder, &java, &["--interval", "1ms", "-o", "a.txt"]);
        wait_for_state(&folder, &java, "recording");
        fs::write(java.dir().join("stop"), "").unwrap();
        java.wait().assert_success();
        let output = child.wait_with_output().unwrap();
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains(" has ended\n"), "{text}");
        assert!(fs::read_to_string(folder.join("a.txt")).unwrap().contains("CPU SAMPLES"));
    });
}

#[test]
fn a_program_that_is_killed_leaves_a_line() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let mut java = start(&spinner(jdk));
        let child = attach(&folder, &java, &["--interval", "1ms", "-o", "a.txt"]);
        wait_for_state(&folder, &java, "recording");
        java.signal(Signal::KILL);
        let output = child.wait_with_output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("ended before its profile was complete: no part of it is left"));
        assert_eq!(folder.names(), [""; 0]);
    });
}

/// `perk start` loads the agent, and the verbs say what they did.
#[test]
fn a_recording_is_begun_and_ended_by_commands() {
    jdk::on(25, |jdk| {
        let folder = Folder::new();
        let java = start(&sleeper(jdk));
        let file = folder.join("r.txt");
        let options = format!("cpu=samples,file={}", file.display());
        for (arguments, expected) in [
            (&["start", "PID", &options][..], format!("file={}\n", file.display())),
            (&["status", "PID"], "state=recording\n".to_owned()),
            (&["dump", "PID"], String::new()),
            (&["reset", "PID"], String::new()),
            (&["stop", "PID"], format!("file={}\n", file.display())),
            (&["status", "PID"], "state=idle\n".to_owned()),
        ] {
            let output = perk(&folder, &java, arguments);
            let text = stdout(&output);
            assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
            assert!(text.contains(&expected), "{arguments:?}: {text}");
        }
        assert!(file.exists());
        let list = stdout(&folder.run(&["ps"]));
        let line = list.lines().find(|line| line.contains(&java.pid().to_string())).unwrap();
        assert!(line.contains(" idle "), "{line}");
        assert_refused(&perk(&folder, &java, &["stop", "PID"]), &["the JVM"]);
    });
}

/// `perk stop` of somebody else ends it, and what was measured is shown and written.
#[test]
fn another_request_ends_the_recording() {
    jdk::on(25, |jdk| {
        let folder = Folder::new();
        let java = start(&spinner(jdk));
        let child = attach(&folder, &java, &["--interval", "1ms", "-o", "a.txt"]);
        wait_for_state(&folder, &java, "recording");
        let stopped = perk(&folder, &java, &["stop", "PID"]);
        assert!(stopped.status.success(), "{}", stderr(&stopped));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("another request ended the recording"));
        assert!(fs::read_to_string(folder.join("a.txt")).unwrap().contains("CPU SAMPLES"));
    });
}
