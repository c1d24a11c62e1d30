//! `perk run` around real JVMs.

mod advice;
mod archives;
mod budget;
mod counts;
mod diff;
mod exact;
mod fields;
mod heap;
mod jamaica;
mod jfr;
mod jvmpi;
mod kills;
mod live;
mod outputs;
mod parts;
mod threads;
mod times;
mod unwritten;
mod values;
mod xprof;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use perk_testkit::{Jdk, fixture, jdk};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::util::{Folder, PERK, shell_line, stderr, stdout, wait_for};

/// A program that is busy in `hot` for a number of milliseconds, and then does what its argument
/// says.
const WORK: &str = r#"
public class Work {
    static volatile long sink;

    static void hot(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 10_000; i++) sink += i;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(() -> hot(Long.parseLong(args[0])), "worker");
        worker.start();
        worker.join();
        System.out.println("pid=" + ProcessHandle.current().pid());
        switch (args.length > 1 ? args[1] : "") {
            case "exit" -> System.exit(Integer.parseInt(args[2]));
            case "throw" -> throw new IllegalStateException("on purpose");
            case "wait" -> {
                new java.io.File(args[2]).createNewFile();
                while (true) hot(50);
            }
            case "copy" -> System.in.transferTo(System.out);
            default -> { }
        }
    }
}
"#;

fn classes() -> PathBuf {
    fixture::compile_text("Work", WORK)
}

/// Returns the command line of `Work` with `arguments`.
fn work(jdk: &Jdk, arguments: &[&str]) -> Vec<String> {
    let [java, classes] = [jdk.java(), classes()].map(|path| path.to_str().unwrap().to_owned());
    let mut line = vec![java, "-cp".to_owned(), classes, "Work".to_owned()];
    line.extend(arguments.iter().map(|&argument| argument.to_owned()));
    line
}

fn perk_run(folder: &Folder, options: &[&str], command: &[String]) -> Output {
    folder.perk().arg("run").args(options).arg("--").args(command).output().unwrap()
}

/// Starts `Work` under perk, which burns CPU time until it is ended. Returns when the start is
/// over.
fn start_waiting(folder: &Folder, jdk: &Jdk, options: &[&str]) -> (Child, u32) {
    let mut command = Command::new(PERK);
    command.arg("run").args(options).arg("--").args(work(jdk, &["300", "wait", "ready"]));
    command.current_dir(folder.path()).env_remove("JAVA_TOOL_OPTIONS").process_group(0);
    let output = fs::File::create(folder.join("stdout")).unwrap();
    let child = command.stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the JVM", || folder.join("ready").exists().then_some(()));
    let text = fs::read_to_string(folder.join("stdout")).unwrap();
    (child, pid_in(&text))
}

fn pid_in(text: &str) -> u32 {
    let pid = text.lines().find_map(|line| line.strip_prefix("pid=")).expect("a line with the pid");
    pid.parse().unwrap()
}

/// Returns the output of `perk report` for a file.
#[track_caller]
fn report(folder: &Folder, file: &str, options: &[&str]) -> String {
    let output = folder.perk().args(["report", file]).args(options).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
    stdout(&output)
}

#[track_caller]
fn assert_hot(text: &str) {
    // In a table, or in the list of what limits the program.
    let is_hot = |line: &&str| line.ends_with(" Work.hot") || line.contains(": Work.hot (");
    let row = text.lines().find(is_hot);
    let row = row.unwrap_or_else(|| panic!("no Work.hot in {text}"));
    let rank: u32 = row.split_whitespace().next().unwrap().parse().unwrap();
    assert!(rank <= 2, "{text}");
}

#[test]
fn table_and_files() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let files = ["o.txt", "o.hprof", "o.collapsed", "o.html", "o.xprof"];
        let options = files.map(|file| ["-o", file]).concat();
        let output = perk_run(&folder, &options, &work(jdk, &["600"]));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(stdout(&output).lines().count(), 1);
        assert_hot(&text);
        for part in ["\nsamples ", "\nthreads ", "\nCPU time ", "\nperk ", "\nwritten   o.txt\n"] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        for file in files {
            assert_hot(&report(&folder, file, &[]));
        }
        assert_eq!(folder.names().len(), files.len());
        let json = report(&folder, "o.hprof", &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["accounting"]["pid"], pid_in(&stdout(&output)));
        let without_stack = json["accounting"]["unattributed_count"].as_u64().unwrap();
        let interval_ns = json["interval_ns"].as_u64().unwrap();
        assert_eq!(interval_ns, 20_000_000);
        let sampled_ns = (json["sample_count"].as_u64().unwrap() + without_stack) * interval_ns;
        let java_ns = json["accounting"]["java_cpu_ns"].as_u64().unwrap();
        assert!(sampled_ns.abs_diff(java_ns) * 10 <= java_ns, "{sampled_ns} of {java_ns}");
    });
}

/// Threads that end before they are met running: their CPU time has no stack.
#[test]
fn samples_without_a_stack_are_shown_where_asked_for() {
    let jdk = jdk::compiler();
    let folder = Folder::new();
    let [java, classes] = [jdk.java(), fixture::fixtures()].map(|it| it.display().to_string());
    let command = [&java, "-cp", &classes, "ManyThreads", "300", "3"].map(str::to_owned);
    let output = perk_run(&folder, &["--only", "cpu", "-o", "o.hprof", "-o", "o.txt"], &command);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json = |file: &str, options: &[&str]| -> serde_json::Value {
        serde_json::from_str(&report(&folder, file, &[&["--json"], options].concat())).unwrap()
    };
    let without = json("o.hprof", &[]);
    let listed = without["sample_count"].as_u64().unwrap();
    let lost = without["accounting"]["unattributed_count"].as_u64().unwrap();
    assert!(lost > 0, "{without}");
    assert!(!report(&folder, "o.hprof", &["--all"]).contains("[no stack]"));
    assert_eq!(json("o.hprof", &["--unattributed"])["sample_count"], listed + lost);
    assert!(report(&folder, "o.hprof", &["--all", "--unattributed"]).contains("[no stack]"));
    let convert = ["convert", "o.hprof", "--unattributed", "-o", "o.collapsed"];
    assert!(folder.run(&convert).status.success());
    let text = fs::read_to_string(folder.join("o.collapsed")).unwrap();
    assert!(text.contains(&format!("[no stack] {lost}\n")), "{text}");
    let refused = folder.run(&["report", "--unattributed", "o.collapsed"]);
    assert!(stderr(&refused).contains("has no accounting"), "{}", stderr(&refused));
}

#[test]
fn without_a_file_name() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let output = perk_run(&folder, &["--quiet"], &work(jdk, &["200"]));
        assert_eq!(stderr(&output), "");
        assert_eq!(folder.names(), [format!("perk-Work-{}.hprof", pid_in(&stdout(&output)))]);
    });
}

#[test]
fn a_failing_program_has_a_profile() {
    jdk::each(|jdk| {
        for (arguments, code) in [(&["200", "exit", "5"][..], 5), (&["200", "throw"], 1)] {
            let folder = Folder::new();
            let output = perk_run(&folder, &["-o", "o.txt"], &work(jdk, arguments));
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
            assert_hot(&stderr(&output));
            assert_hot(&report(&folder, "o.txt", &[]));
        }
    });
}

#[test]
fn threads_are_kept_apart() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let output = perk_run(&folder, &["--threads", "-o", "o.hprof"], &work(jdk, &["300"]));
        assert_hot(&stderr(&output));
        let text = report(&folder, "o.hprof", &["--threads"]);
        let (_, threads) = text.split_once("\nThread worker: ").expect("the worker's table");
        assert_hot(threads);
    });
}

#[test]
fn streams_belong_to_the_program() {
    let folder = Folder::new();
    let mut perk = folder.perk();
    perk.args(["run", "-q", "-o", "o.txt", "--"]).args(work(jdk::compiler(), &["50", "copy"]));
    let output = perk.write_stdin("one\ntwo\n").output().unwrap();
    assert!(stdout(&output).ends_with("\none\ntwo\n"), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn interrupted_programs_have_a_profile() {
    jdk::each(|jdk| {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let folder = Folder::new();
            let (child, _) = start_waiting(&folder, jdk, &["-o", "o.txt"]);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
            assert_hot(&report(&folder, "o.txt", &[]));
        }
        let folder = Folder::new();
        let (child, _) = start_waiting(&folder, jdk, &["-o", "o.txt"]);
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert_hot(&report(&folder, "o.txt", &[]));
    });
}

/// Before the first flush there is nothing, and the old file stays.
#[test]
fn a_jvm_that_is_killed_at_once_leaves_no_file() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        folder.file("o.txt", "the old file");
        let (child, pid) = start_waiting(&folder, jdk, &["--delay", "1h", "-o", "o.txt"]);
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(137), "{text}");
        let line = format!("perk: the JVM {pid} died before its profile was complete (killed by");
        assert!(text.starts_with(&line), "{text}");
        assert_eq!(fs::read_to_string(folder.join("o.txt")).unwrap(), "the old file");
    });
}

#[test]
fn each_jvm_of_a_launcher_has_files_of_its_own_where_asked_for() {
    let folder = Folder::new();
    let command = two_programs();
    let output = perk_run(&folder, &["-o", "o.txt", "--per-process"], &command);
    let text = stderr(&output);
    let out = stdout(&output);
    let pids: Vec<_> = out.lines().map(pid_in).collect();
    assert_eq!(pids.len(), 2, "{text}");
    for pid in &pids {
        assert_hot(&report(&folder, &format!("o.{pid}.txt"), &["--all"]));
    }
    let table = |pid: u32| text.find(&format!("(pid {pid})")).expect("a table of each JVM");
    assert!(table(pids[1]) < table(pids[0]), "{text}");
    assert_eq!(folder.names().len(), 2);
}

/// A command that starts two JVMs with a program, and one without.
fn two_programs() -> [String; 3] {
    let line = |ms| shell_line(&work(jdk::compiler(), &[ms]));
    let java = jdk::compiler().java().display().to_string();
    let version = shell_line(&[java, "-version".to_owned()]);
    let script = format!("{}; {}; {version}", line("100"), line("1500"));
    ["sh", "-c", &script].map(str::to_owned)
}

/// One file has what files of their own have together, and each number is still that of its JVM.
#[test]
fn the_jvms_of_a_launcher_are_in_one_file() {
    let folder = Folder::new();
    let files =
        ["o.hprof", "o.txt", "o.collapsed", "o.html", "o.pb.gz", "o.speedscope.json", "o.jfr"];
    let options = files.map(|file| ["-o", file]).concat();
    let output = perk_run(&folder, &options, &two_programs());
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_hot(&text);
    assert!(text.contains("\n2 JVMs: Work (pid ") && text.contains("1 more JVM did no"), "{text}");
    let out = stdout(&output);
    let mut pids: Vec<_> = out.lines().map(pid_in).collect();
    pids.sort_unstable();
    assert_eq!(pids.len(), 2, "{text}");
    assert_eq!(folder.names().len(), files.len());
    let json = |file: &str| -> serde_json::Value {
        serde_json::from_str(&report(&folder, file, &["--json"])).unwrap()
    };
    let total = json("o.hprof")["sample_count"].as_u64().unwrap();
    for file in files {
        assert_eq!(json(file)["sample_count"], total, "{file}");
        let text = report(&folder, file, &["--threads"]);
        let of_threads: u64 = pids
            .iter()
            .map(|pid| {
                // A recording has the threads of the process, whose names follow.
                let head = format!("Thread Work (pid {pid}): ");
                let threads = text.lines().filter_map(|line| line.strip_prefix(&head));
                // Other metrics have threads, too.
                let threads: Vec<_> = threads.filter(|line| line.contains(" sample")).collect();
                assert!(!threads.is_empty(), "{file}: {text}");
                let counts = threads.iter().map(|line| {
                    let count = line.split(" sample").next().unwrap().rsplit(' ').next().unwrap();
                    count.parse::<u64>().unwrap_or_else(|_| panic!("{file}: {line}"))
                });
                counts.sum::<u64>()
            })
            .sum();
        assert_eq!(of_threads, total, "{file}: {text}");
    }
    let text = fs::read_to_string(folder.join("o.txt")).unwrap();
    assert_eq!(text.matches("CPU SAMPLES BEGIN").count(), 1, "{text}");
}

/// Allocation sites count since the start, calls since the last dump: both add up.
#[test]
fn exact_counts_of_several_jvms_add_up() {
    let folder = Folder::new();
    let options = ["--cpu", "times", "--heap", "sites", "--include", "Work"];
    let mut counts = Vec::new();
    for extra in [&["-o", "all.hprof"][..], &["-o", "one.hprof", "--per-process"]] {
        let command = two_programs();
        let output = perk_run(&folder, &[&options, extra].concat(), &command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let files = folder.names();
        let named = |file: &&String| file.starts_with(extra[1].split('.').next().unwrap());
        let mut calls = 0;
        for file in files.iter().filter(named) {
            let convert =
                ["convert", file, "--metric", "calls", "--output-format", "collapsed", "-o", "-"];
            let stacks = stdout(&folder.run(&convert));
            let of_main = stacks.lines().filter_map(|line| line.split_once("Work.main "));
            calls += of_main.map(|it| it.1.parse::<u64>().unwrap()).sum::<u64>();
        }
        counts.push(calls);
    }
    assert_eq!(counts, [2, 2]);
}

#[test]
fn a_jvm_that_outlives_its_launcher() {
    let folder = Folder::new();
    let line = shell_line(&work(jdk::compiler(), &["600", "wait", "ready"]));
    let script = format!("{line} > out 2>&1 & while [ ! -e ready ]; do sleep 0.05; done");
    let command = ["sh", "-c", &script].map(str::to_owned);
    let output = perk_run(&folder, &["-o", "o.txt"], &command);
    let text = stderr(&output);
    let pid = pid_in(&fs::read_to_string(folder.join("out")).unwrap());
    let (_, file) = text
        .split_once(&format!("the JVM {pid} is still running; it writes its profile to "))
        .unwrap_or_else(|| panic!("{text}"));
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains(&format!("perk: not written: o.txt: the JVM {pid} is still running\n")),
        "{text}"
    );
    let file = PathBuf::from(file.lines().next().unwrap());
    wait_for("the profile", || file.exists().then_some(()));
    assert_hot(&report(&folder, file.to_str().unwrap(), &[]));
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn a_profile_that_cannot_be_written_is_kept() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("/dev/full", folder.join("full.txt")).unwrap();
    let output = perk_run(&folder, &["-o", "full.txt"], &work(jdk::compiler(), &["200"]));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("No space left"), "{text}");
    let (_, kept) = text.split_once("the profile is kept: perk convert ").expect("the hint");
    let kept = Path::new(kept.split(" -o ").next().unwrap());
    assert_hot(&report(&folder, kept.to_str().unwrap(), &[]));
    fs::remove_dir_all(kept.parent().unwrap()).unwrap();
}

#[test]
fn a_java_that_starts_no_program() {
    let folder = Folder::new();
    let java = jdk::compiler().java().to_str().unwrap().to_owned();
    let command = [java, "-XX:+NoSuchOption".to_owned(), "Main".to_owned()];
    let output = perk_run(&folder, &[], &command);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("no file is written: ")
            && text.contains("ended with exit code 1 before its JVM ran a"),
        "{text}"
    );
    assert!(folder.names().is_empty());
}

/// Nothing empty is written, and a file that was asked for and is missing is an error.
#[test]
fn a_run_that_measured_nothing_leaves_no_file() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = jdk.java().display().to_string();
        let version = [java.clone(), "-version".to_owned()];
        let output = perk_run(&folder, &[], &version);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let idle = ["--cpu", "times", "--include", "no.such.Class"];
        for file in ["o.txt", "o.hprof", "o.html", "o.collapsed", "o.pb.gz", "o.speedscope.json"] {
            let options = [&idle[..], &["-o", file]].concat();
            let output = perk_run(&folder, &options, &work(jdk, &["1"]));
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{file}: {text}");
            assert!(text.contains(&format!("perk: not written: {file}")), "{text}");
        }
        let command = [java, "-jar".to_owned(), "nofile.jar".to_owned()];
        let output = perk_run(&folder, &["-o", "o.html"], &command);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(folder.names(), [""; 0]);
    });
}

#[test]
fn a_real_compiler() {
    jdk::each(|jdk| {
        if !jdk.has_javac {
            return;
        }
        let folder = Folder::new();
        let methods: String = (0..2_000)
            .map(|i| format!("int f{i}(int x) {{ return x * {i} + f{}(x); }}\n", i / 2))
            .collect();
        folder.file("Big.java", format!("class Big {{ {methods} }}"));
        let javac = jdk.javac().to_str().unwrap().to_owned();
        let output = perk_run(&folder, &["-o", "o.html"], &[javac, "Big.java".to_owned()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(
            text.contains("JAVA_TOOL_OPTIONS") && text.contains("com.sun.tools.javac"),
            "{text}"
        );
        assert!(folder.join("Big.class").exists());
        assert!(report(&folder, "o.html", &[]).contains("com.sun.tools.javac"));
    });
}
