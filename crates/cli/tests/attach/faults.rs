//! JVMs that cannot be attached to: each has a line with what to do, and no JVM is harmed.

use perk_testkit::run::Signal;
use perk_testkit::{JavaRun, RunningJava, jdk};

use super::{assert_unharmed, perk, sleeper, start, storm};
use crate::util::{Folder, assert_refused, perk_for_all, stderr};

/// Fails unless perk refuses to attach with these words, and the JVM continues.
#[track_caller]
fn assert_unattachable(run: &JavaRun, words: &[&str]) {
    let folder = Folder::new();
    let mut java = start(run);
    assert_refused(&perk(&folder, &java, &["attach", "PID", "--timeout", "2s"]), words);
    assert_alive(&mut java);
    assert_eq!(folder.names(), [""; 0]);
    let files = std::fs::read_dir(java.dir()).unwrap().count();
    assert_eq!(files, 0, "a file of the attempt is left in the JVM's folder");
}

/// Fails if the JVM has ended. A thread dump shows that it works.
#[track_caller]
fn assert_alive(java: &mut RunningJava) {
    java.signal(Signal::CONT);
}

#[test]
fn a_jvm_without_the_attach_mechanism() {
    jdk::each(|jdk| {
        let run = sleeper(jdk).jvm_arg("-XX:+DisableAttachMechanism");
        assert_unattachable(&run, &["-XX:+DisableAttachMechanism", "-agentpath:"]);
    });
    jdk::on(17, |jdk| {
        let run = sleeper(jdk).env("JAVA_TOOL_OPTIONS", "-XX:+DisableAttachMechanism");
        assert_unattachable(&run, &["-XX:+DisableAttachMechanism"]);
    });
}

#[test]
fn a_jvm_that_loads_no_agents() {
    jdk::each(|jdk| {
        let run = sleeper(jdk).jvm_arg("-XX:-EnableDynamicAgentLoading");
        assert_unattachable(&run, &["-XX:-EnableDynamicAgentLoading", "-agentpath:"]);
    });
}

/// SIGQUIT would end it. Such a JVM makes its socket at the start.
#[test]
fn a_jvm_without_a_handler_of_sigquit() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let mut java = start(&sleeper(jdk).jvm_arg("-Xrs"));
        std::fs::remove_file(format!("/tmp/.java_pid{}", java.pid())).unwrap();
        let output = perk(&folder, &java, &["attach", "PID"]);
        assert_refused(&output, &["does not handle SIGQUIT", "-Xrs", "-agentpath:"]);
        assert_alive(&mut java);
    });
}

#[test]
fn a_jvm_that_is_stopped() {
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let mut java = start(&sleeper(jdk));
        java.signal(Signal::STOP);
        let output = perk(&folder, &java, &["attach", "PID", "--timeout", "1s"]);
        let hint = format!("kill -CONT {}", java.pid());
        assert_refused(&output, &["is stopped, by SIGSTOP or a debugger", &hint]);
        java.signal(Signal::CONT);
        assert_alive(&mut java);
    });
}

#[test]
fn a_process_that_is_not_there() {
    let folder = Folder::new();
    // No process has an id above this limit of the kernel's.
    assert_refused(&folder.run(&["attach", "4194305"]), &["there is no process 4194305"]);
}

#[test]
fn measurements_that_need_the_start_are_refused() {
    let folder = Folder::new();
    for (arguments, words) in [
        (
            &["--cpu", "times"][..],
            "--cpu times without --include cannot begin in a running program: name the methods to \
             count (--include 'com.acme.*'), or start the program with perk run",
        ),
        (&["--heap", "dump"], "use jcmd PID GC.heap_dump, or start the program with perk run"),
        (&["--aprof"], "--aprof cannot begin in a running program: use --alloc, which estimates"),
        (&["--fields", "shared"], "in a running program: start the program with perk run"),
        (&["--heap", "sites"], "--heap sites without --sample"),
    ] {
        let output = folder.perk().arg("attach").args(arguments).arg("4194305").output().unwrap();
        assert_refused(&output, &[words]);
    }
}

#[test]
fn a_jvm_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("*** NOT TESTED: only root can start a JVM of another user ***");
        return;
    }
    jdk::on(17, |jdk| {
        use std::os::unix::process::CommandExt;
        let java = start(&sleeper(jdk));
        let folder = Folder::new();
        let mut command = std::process::Command::new(perk_for_all(&folder));
        // Nor can that user write to the folder, which matters less.
        command.arg("attach").arg(java.pid().to_string()).current_dir("/");
        command.uid(65534).gid(65534);
        assert_refused(&command.output().unwrap(), &["is of the user root", "as root"]);
    });
}

/// Names that nothing in the program has are refused at once, with those near to them.
#[test]
fn names_that_no_class_or_thread_has() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&storm(jdk, &["work"]));
        for (options, text) in [
            (
                &["--cpu", "times", "--include", "com.acme"][..],
                "include=com.acme: no loaded class or method has that name",
            ),
            (&["--cpu", "times", "--include", "AttachStorn"], "did you mean AttachStorm?"),
            (
                &["--cpu", "times", "--include", "AttachStorm.mian"],
                "did you mean AttachStorm.main?",
            ),
            (&["--cpu", "times", "--include", "AttachStorm,Gone"], "include=Gone: no loaded class"),
            (
                &["--wall", "--wall-threads", "nosuch-*"],
                "wall-threads=nosuch-*: no thread has that name",
            ),
            (&["--wall", "--wall-threads", "mian"], "did you mean main?"),
        ] {
            let arguments = ["attach", "PID", "--duration", "100ms", "-o", "a.hprof"];
            let output = perk(&folder, &java, &[&arguments, options].concat());
            assert_refused(&output, &[text]);
            assert!(folder.names().is_empty());
        }
        let options = ["--quiet", "--wall", "--wall-threads", "ma*", "-o", "a.hprof"];
        let arguments = ["attach", "PID", "--duration", "200ms"];
        let output = perk(&folder, &java, &[&arguments[..], &options].concat());
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
        assert_unharmed(java);
    });
}
