//! Programs that are killed while they are profiled.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use perk_testkit::{Jdk, fixture, jdk};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::util::{Folder, PERK, shell_line, stderr, wait_for};

/// The command line of `Rounds`.
pub(super) fn rounds(jdk: &Jdk, arguments: &[&str]) -> Vec<String> {
    let [java, classes] = [jdk.java(), fixture::fixtures()].map(|it| it.display().to_string());
    let mut line = vec![java, "-cp".to_owned(), classes, "Rounds".to_owned()];
    line.extend(arguments.iter().map(|&argument| argument.to_owned()));
    line
}

/// A process group of a test, which ends with the test, also where that fails.
pub(super) struct Group {
    pub(super) pid: Pid,
    child: Option<Child>,
}

impl Group {
    fn start(command: &mut Command) -> Self {
        let child = command.process_group(0).spawn().unwrap();
        Self { pid: Pid::from_child(&child), child: Some(child) }
    }

    /// Waits for the end of the first process, and of its output.
    pub(super) fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        if let Some(child) = &mut self.child {
            child.wait().unwrap();
        }
    }
}

/// Starts perk, with its private folder in `tmp`.
pub(super) fn start(folder: &Folder, options: &[&str], command: &[String]) -> Group {
    fs::create_dir_all(folder.join("tmp")).unwrap();
    let mut perk = Command::new(PERK);
    perk.current_dir(folder.path()).env("TMPDIR", folder.join("tmp"));
    perk.env_remove("JAVA_TOOL_OPTIONS").arg("run").args(options).arg("--").args(command);
    Group::start(perk.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// The file of a JVM's last flush, as soon as there is one, and the JVM.
pub(super) fn flushed(folder: &Folder) -> (PathBuf, Pid) {
    wait_for("a flush", || {
        let private = fs::read_dir(folder.join("tmp")).unwrap().next()?.unwrap().path();
        let files = fs::read_dir(private).ok()?.map(|file| file.unwrap().path());
        files.into_iter().find_map(|file| {
            let name = file.file_name()?.to_str()?;
            let pid = name.strip_prefix("perk-")?.strip_suffix(".hprof")?.parse().ok()?;
            Some((file, Pid::from_raw(pid)?))
        })
    })
}

pub(super) fn json(folder: &Folder, file: &str) -> Value {
    let output = folder.run(&["report", "--json", file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The sum of a metric at the stacks that have a method.
pub(super) fn sum(folder: &Folder, file: &str, metric: &str, method: &str) -> u64 {
    sum_of(folder, file, metric, &[method])
}

/// The objects that a method and what it calls has made of the program's own class.
pub(super) fn nodes(folder: &Folder, file: &str, method: &str) -> u64 {
    sum_of(folder, file, "objects", &[method, "Rounds$Node"])
}

fn sum_of(folder: &Folder, file: &str, metric: &str, frames: &[&str]) -> u64 {
    let convert = ["convert", file, "--metric", metric, "--output-format", "collapsed", "-o", "-"];
    let output = folder.run(&convert);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter_map(|line| line.rsplit_once(' '));
    let has = |stack: &str, frame: &str| stack.split(';').any(|it| it == frame);
    let rows = rows.filter(|(stack, _)| frames.iter().all(|frame| has(stack, frame)));
    rows.map(|row| row.1.parse::<u64>().unwrap()).sum()
}

/// Each kind of measurement, with a metric that it has.
const KINDS: [(&[&str], &str); 9] = [
    (&["--cpu", "samples"], "samples"),
    (&["--cpu", "times", "--include", "Rounds"], "calls"),
    (&["--cpu", "times", "--budget", "1", "--include", "Rounds"], "calls"),
    (&["--cpu", "old", "--include", "Rounds", "--threads"], "calls"),
    (&["--heap", "sites"], "allocated"),
    (&["--heap", "sites", "--cpu", "counts"], "allocated"),
    (&["--locks"], "blocked"),
    (&["--wall"], "wall"),
    (&["--cpu", "samples", "--wall", "--alloc", "--lock", "--threads"], "samples"),
];

/// What was measured up to the last flush is shown and written in the forms asked for.
#[test]
fn a_killed_program_has_the_profile_of_its_last_flush() {
    jdk::each_of(&[17, 25], |jdk| {
        for (round, (options, metric)) in (0..).zip(KINDS) {
            let folder = Folder::new();
            let options = [options, &["-o", "o.hprof", "-o", "o.html"]].concat();
            let child = start(&folder, &options, &rounds(jdk, &["forever"]));
            let method = if metric == "allocated" { "Rounds.round" } else { "Rounds.contend" };
            let pid = wait_for("a flush of the program's work", || {
                let (file, pid) = flushed(&folder);
                fs::copy(file, folder.join("copy.hprof")).ok()?;
                (sum(&folder, "copy.hprof", metric, method) > 0).then_some(pid)
            });
            std::thread::sleep(Duration::from_millis(round * 397 % 1100));
            kill_process(pid, Signal::KILL).unwrap();
            let output = child.output();
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(137), "{text}");
            let line =
                format!("perk: Rounds (pid {}) was killed by signal 9: ", pid.as_raw_nonzero());
            assert!(text.contains(&line) && text.contains(" s may be missing\n"), "{text}");
            assert!(sum(&folder, "o.hprof", metric, method) > 0, "{options:?}: {text}");
            assert!(fs::read_to_string(folder.join("o.html")).unwrap().contains("Rounds"));
            assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0, "{text}");
        }
    });
}

/// The counts of a flush are those of one moment, as far as the program's threads allow.
#[test]
fn exact_counts_of_a_killed_program_fit_together() {
    let folder = Folder::new();
    let options = ["--cpu", "times", "--include", "Rounds", "--heap", "sites", "-o", "o.hprof"];
    let command = rounds(jdk::compiler(), &["until", "1000", "never"]);
    let child = start(&folder, &options, &command);
    let (_, pid) = flushed(&folder);
    // All calls were made before a later flush.
    wait_for("all calls", || {
        let (file, _) = flushed(&folder);
        let copy = folder.join("copy.hprof");
        fs::copy(file, copy).ok()?;
        (sum(&folder, "copy.hprof", "calls", "Rounds.round") == 7000).then_some(())
    });
    kill_process(pid, Signal::KILL).unwrap();
    child.output();
    let calls = |method| sum(&folder, "o.hprof", "calls", method);
    assert_eq!(calls("Rounds.leaf"), 3000);
    // Itself, three leaves, and the contended work with what it calls.
    assert_eq!(calls("Rounds.contend"), 2000);
    assert_eq!(nodes(&folder, "o.hprof", "Rounds.round"), 1000);
    let report = folder.run(&["report", "--sites", "o.hprof"]);
    let text = String::from_utf8(report.stdout).unwrap();
    assert!(text.contains("Rounds$Node") && text.contains("not known"), "{text}");
}

/// A launcher's JVM is killed, and the launcher is not: nobody knows the signal.
#[test]
fn a_killed_jvm_of_a_launcher_has_a_profile() {
    let folder = Folder::new();
    let line = shell_line(&rounds(jdk::compiler(), &["forever"]));
    let command = ["sh", "-c", &format!("{line}; exit 5")].map(str::to_owned);
    let child = start(&folder, &["-o", "o.collapsed"], &command);
    let (_, pid) = flushed(&folder);
    kill_process(pid, Signal::KILL).unwrap();
    let output = child.output();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains(" ended without a last dump: ") && text.contains("is missing"), "{text}");
    assert!(fs::read_to_string(folder.join("o.collapsed")).unwrap().contains("Rounds.round"));
}

/// Flushes change nothing: each call and each object is counted once.
#[test]
fn flushes_do_not_change_the_result() {
    jdk::each_of(&[17, 25], |jdk| {
        let folder = Folder::new();
        let options = ["--cpu", "times", "--include", "Rounds", "--heap", "sites"];
        let options = [&options[..], &["--monitor", "-o", "o.hprof"]].concat();
        let stop = folder.join("stop").display().to_string();
        let child = start(&folder, &options, &rounds(jdk, &["until", "700", &stop]));
        let first = flushed(&folder).0;
        let written = || fs::metadata(&first).and_then(|it| it.modified()).unwrap();
        let before = written();
        wait_for("another flush", || (written() > before).then_some(()));
        fs::write(&stop, "").unwrap();
        let output = child.output();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        for method in ["Rounds.early", "Rounds.late"] {
            assert_eq!(sum(&folder, "o.hprof", "calls", method), 1 + 700 * 7, "{method}");
            assert_eq!(nodes(&folder, "o.hprof", method), 700, "{method}");
        }
        let calls = json(&folder, "o.hprof")["accounting"]["call_count"].as_u64().unwrap();
        assert!(calls >= 9802, "{calls}");
    });
}

/// The agent alone flushes where it is asked to.
#[test]
fn an_agent_flushes_into_its_file() {
    let folder = Folder::new();
    let file = folder.join("own.hprof");
    let agent = perk_testkit::agent::agent_so();
    let options = format!("cpu=samples,format=p,flush=200ms,verbose=n,file={}", file.display());
    let agent = format!("-agentpath:{}={options}", agent.display());
    let mut line = rounds(jdk::compiler(), &["forever"]);
    line.insert(1, agent);
    let java = Group::start(Command::new(&line[0]).args(&line[1..]));
    wait_for("a flush with samples", || {
        (file.exists() && sum(&folder, "own.hprof", "samples", "Rounds.contend") > 20).then_some(())
    });
    drop(java);
    assert!(sum(&folder, "own.hprof", "samples", "Rounds.contend") > 20);
}
