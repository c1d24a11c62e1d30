//! All ways in which a program ends or a dump is requested, and all destinations of a file; and
//! that the program is not affected.

#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_control::FatalError;
use perk_testkit::hprof::Recording;
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, agent, fixture, jdk, part_of};

use support::{
    FILE, INTERVAL_NS, Mount, assert_near, checked, progress, read_perk_text, read_records,
    sampled, samples_where,
};

const OLD_CONTENTS: &str = "old\n";
const STOP: &str = "stop";
const SECTION_END: &str = "CPU SAMPLES END";

/// Checks that [`FILE`] is whole and holds samples below a method.
#[track_caller]
fn assert_sampled(outcome: &Outcome, method: &str) -> Recording {
    let text = checked(outcome);
    let samples = samples_where(&text, |trace| trace.has(method));
    assert!(samples > 0, "no {method} in {text:?}\n{}", outcome.report());
    text
}

/// Checks that only [`FILE`] is left.
#[track_caller]
fn assert_only_file(outcome: &Outcome) {
    let names: Vec<&String> = outcome.files.keys().collect();
    assert_eq!(names, [FILE], "{}", outcome.report());
}

fn busy(jdk: &Jdk, options: &str) -> RunningJava {
    let mut running = sampled(jdk, options).main("SpinUntilStop").spawn();
    running.wait_for_stdout("ready");
    running
}

fn stop(running: RunningJava) -> Outcome {
    fs::write(running.dir().join(STOP), "").unwrap();
    let mut outcome = running.wait();
    outcome.assert_success();
    outcome.files.remove(STOP);
    outcome
}

/// Returns the number of sections of the file under its final name.
fn sections(running: &RunningJava) -> usize {
    let text = fs::read_to_string(running.dir().join(FILE)).unwrap_or_default();
    text.matches(SECTION_END).count()
}

#[test]
fn a_program_that_java_does_not_find_is_named() {
    let classes = fixture::compile_text("NoMain", "public class NoMain {}");
    jdk::each(|jdk| {
        let run = |main: &str| {
            let run = JavaRun::new(jdk).classes(&classes);
            let run = run.agent(&format!("heap=sites,format=p,file={FILE}"));
            let outcome = run.main(main).run();
            outcome.assert_code(1);
            assert_eq!(outcome.stdout, "");
            outcome.stderr.matches("HPROF WARNING: java found no main class or method").count()
        };
        assert_eq!((run("NoSuchMain"), run("NoMain")), (1, 1));
        let ended = sampled(jdk, "cpu=samples").main("ExitBySystemExit").args(["1"]).run();
        ended.assert_code(1);
        assert!(!ended.stderr.contains("WARNING"), "{}", ended.report());
    });
}

#[test]
fn the_program_does_not_notice() {
    jdk::each(|jdk| {
        for (main, args, code) in [
            ("Sleeper", "10", 0),
            ("ExitBySystemExit", "7", 7),
            ("ExitByHalt", "8", 8),
            ("Uncaught", "", 1),
            ("DeepRecursion", "5000", 0),
            ("NoSuchClass", "", 1),
        ] {
            let run =
                |run: JavaRun| run.main(main).args([args].iter().filter(|it| !it.is_empty())).run();
            let alone = run(JavaRun::new(jdk));
            let profiled = run(sampled(jdk, ",verbose=n"));
            alone.assert_code(code);
            profiled.assert_code(code);
            assert_eq!(profiled.stdout, alone.stdout, "{}", profiled.report());
            assert_eq!(profiled.stderr, alone.stderr, "{}", profiled.report());
            assert_only_file(&profiled);
            checked(&profiled);
            let with_agent = run(sampled(jdk, ""));
            assert_eq!(
                with_agent.stderr,
                alone.stderr.clone() + &progress(),
                "{}",
                with_agent.report()
            );
        }
    });
}

#[test]
fn every_end_of_the_program_writes_the_samples() {
    jdk::each(|jdk| {
        for (main, method) in [
            ("ExitBySystemExit", "ExitBySystemExit.main"),
            ("ExitByHalt", "ExitByHalt.main"),
            ("Uncaught", "Uncaught.main"),
        ] {
            let outcome = sampled(jdk, ",depth=64").main(main).run();
            assert_ne!(outcome.code(), Some(0));
            assert_sampled(&outcome, method);
            assert_only_file(&outcome);
        }
    });
}

#[test]
fn a_jvm_without_a_program_writes_a_file_too() {
    jdk::each(|jdk| {
        let outcome = sampled(jdk, "").args(["-version"]).run();
        outcome.assert_success();
        assert!(outcome.stderr.ends_with(&progress()), "{}", outcome.report());
        checked(&outcome);
        assert_only_file(&outcome);
    });
}

#[test]
fn signals_that_end_the_program_write_the_samples() {
    jdk::each(|jdk| {
        for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
            let mut running = busy(jdk, ",depth=64,interval=1");
            // A dump shows whether there are samples yet.
            running.signal(Signal::QUIT);
            running.wait_until("a dump", |running| sections(running) == 1);
            running.signal(signal);
            let outcome = running.wait();
            outcome.assert_code(code);
            let text = assert_sampled(&outcome, "SpinUntilStop.main");
            assert_eq!(text.sections.len(), 2);
            assert_only_file(&outcome);
        }
    });
}

#[test]
fn a_killed_program_leaves_the_old_file() {
    jdk::each(|jdk| {
        let start = |old: Option<&str>| {
            let mut run = sampled(jdk, ",depth=64").main("SpinUntilStop");
            if let Some(old) = old {
                run = run.file(FILE, old);
            }
            let mut running = run.spawn();
            running.wait_for_stdout("ready");
            running
        };
        let kill = |mut running: RunningJava| {
            running.signal(Signal::KILL);
            let outcome = running.wait();
            assert_eq!(outcome.signal(), Some(9));
            outcome
        };
        assert_eq!(kill(start(Some(OLD_CONTENTS))).text(FILE), OLD_CONTENTS);
        assert!(!kill(start(None)).files.contains_key(FILE));

        // The data that a dump has shown stays, and is whole.
        let mut running = start(Some(OLD_CONTENTS));
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |running| sections(running) == 1);
        let outcome = kill(running);
        assert_eq!(checked(&outcome).sections.len(), 1);
        perk_hprof::read(outcome.bytes(FILE)).unwrap();
    });
}

/// The checker rejects a trace that is written twice.
#[test]
fn dumps_on_demand_show_what_came_since_the_last() {
    jdk::each(|jdk| {
        let mut running = busy(jdk, ",depth=64,cutoff=0");
        let mut before = Vec::new();
        for dump in 1..=2 {
            running.signal(Signal::QUIT);
            running.wait_until("a dump", |running| sections(running) == dump);
            let shown = fs::read(running.dir().join(FILE)).unwrap();
            let text = read_perk_text(&shown).unwrap();
            assert_eq!(text.sections.len(), dump);
            assert!(shown.starts_with(&before), "a dump changed what stood before it");
            before = shown;
        }
        // Long enough for the sections to differ from running sums.
        running.wait_until("some CPU time", |running| cpu_ticks(running.pid()) > 150);
        let outcome = stop(running);
        let text = assert_sampled(&outcome, "SpinUntilStop.main");
        assert!(outcome.bytes(FILE).starts_with(&before));
        assert_eq!(text.sections.len(), 3);
        assert_eq!(outcome.stderr, progress().repeat(3));
        assert_only_file(&outcome);
        let spent = samples_where(&text, |trace| trace.has("SpinUntilStop.main")) * INTERVAL_NS;
        assert_near(spent, outcome.number("main_cpu_ns"), 10, 100_000_000, "main");
    });
}

/// Returns the process's CPU time so far, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[test]
fn jcmd_asks_for_a_dump() {
    jdk::each(|jdk| {
        if !jdk.jcmd().is_file() {
            eprintln!("skipped: JDK {} has no jcmd", jdk.version);
            return;
        }
        let mut running = busy(jdk, ",depth=64");
        let pid = running.pid().to_string();
        let asked = Command::new(jdk.jcmd()).args([&pid, "JVMTI.data_dump"]).output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        running.wait_until("a dump", |running| sections(running) == 1);
        let outcome = stop(running);
        assert_eq!(assert_sampled(&outcome, "SpinUntilStop.main").sections.len(), 2);
    });
}

#[test]
fn without_a_dump_on_exit_there_are_threads_only() {
    jdk::each(|jdk| {
        let outcome = stop(busy(jdk, ",doe=n"));
        assert_eq!(outcome.stderr, "");
        let text = checked(&outcome);
        assert!(text.sections.is_empty() && text.traces.is_empty());
        assert!(text.threads.len() >= 2);
        assert_only_file(&outcome);

        let mut running = busy(jdk, ",doe=n,depth=64");
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |running| sections(running) == 1);
        let outcome = stop(running);
        assert_eq!(outcome.stderr, progress());
        assert_eq!(checked(&outcome).sections.len(), 1);
    });
}

#[test]
fn files_that_are_no_files() {
    jdk::each(|jdk| {
        let run = |file: &str| {
            let run = JavaRun::new(jdk).agent(&format!("cpu=samples,verbose=n,file={file}"));
            let outcome = run.main("ExitBySystemExit").args(["3"]).run();
            outcome.assert_code(3);
            assert!(outcome.files.is_empty(), "{}", outcome.report());
            outcome
        };
        let kind = |path: &str| fs::symlink_metadata(path).unwrap().file_type();
        let before = ["/dev/null", "/dev/stdout", "/dev/stderr"].map(kind);

        let outcome = run("/dev/null");
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("leaving\n", ""));

        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let outcome = run(name);
            assert_eq!(outcome.stderr, "");
            let profile = outcome.stdout.replacen("leaving\n", "", 1);
            assert_ne!(profile, outcome.stdout, "the program's own line is there");
            read_perk_text(profile.as_bytes()).unwrap();
        }
        let outcome = run("/dev/stderr");
        assert_eq!(outcome.stdout, "leaving\n");
        read_perk_text(outcome.stderr.as_bytes()).unwrap();

        let after = ["/dev/null", "/dev/stdout", "/dev/stderr"].map(kind);
        assert_eq!(before, after);
        assert_eq!(part_of(Path::new("/dev/stdout")), None);
    });
}

#[test]
fn a_pipe_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    jdk::each(|jdk| {
        let options = format!("cpu=samples,format=b,file={}", pipe.display());
        let running = JavaRun::new(jdk).agent(&options).main("CpuBound").args(["100"]).spawn();
        let bytes = fs::read(&pipe).unwrap();
        running.wait().assert_success();
        read_records(&bytes).unwrap();
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    });
}

#[test]
fn a_file_that_cannot_be_made_stops_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, is_folder) = (folder.path().join("no/o.txt"), folder.path().to_owned());
    let in_no_folder = PathBuf::from("/proc/o.txt");
    jdk::each(|jdk| {
        for file in [&missing, &is_folder, &in_no_folder] {
            let file = file.display().to_string();
            let run = JavaRun::new(jdk).agent(&format!("cpu=samples,file={file}"));
            let outcome = run.main("Sleeper").args(["0"]).run();
            outcome.assert_code(1);
            assert_eq!(outcome.stderr, format!("{}\n", FatalError::cannot_create_file(&file)));
            assert_eq!(outcome.stdout, "");
        }
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_full_disk_costs_the_profile_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=64k") else { return };
    let file = folder.path().join(FILE);
    jdk::each(|jdk| {
        for old in [Some(OLD_CONTENTS), None] {
            let _ = fs::remove_file(&file);
            if let Some(old) = old {
                fs::write(&file, old).unwrap();
            }
            // Each trace has 2048 lines: more than a hundred kB.
            let options = "cpu=samples,depth=2048,interval=1,verbose=n,file=";
            let run = JavaRun::new(jdk).agent(&format!("{options}{}", file.display()));
            let outcome = run.main("DeepRecursion").args(["5000", "200"]).run();
            outcome.assert_success();
            assert_eq!(outcome.stdout, "depth=5000\n");
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert_eq!(lines.len(), 1, "{}", outcome.report());
            let begin = format!("HPROF ERROR: can't write profile file: {}: ", file.display());
            assert!(lines[0].starts_with(&begin), "{}", outcome.report());
            assert!(lines[0].contains("No space left on device"), "{}", outcome.report());
            let part = part_of(&file).unwrap();
            assert!(lines[0].ends_with(&part.display().to_string()), "{}", outcome.report());
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), old);
            fs::remove_file(&part).unwrap();
        }
    });
}

/// The last dump is not copied: a disk with room for one copy of the file is large enough.
#[test]
fn a_file_that_fits_the_disk_once_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=512k") else { return };
    let file = folder.path().join(FILE);
    jdk::each(|jdk| {
        let _ = fs::remove_file(&file);
        let options = "cpu=samples,format=b,cutoff=0,verbose=n,file=";
        let run = JavaRun::new(jdk).agent(&format!("{options}{}", file.display()));
        // LOAD CLASS records alone have a few dozen kB; the rest of the disk is full.
        let outcome = run.clone().main("CpuBound").args(["100"]).run();
        outcome.assert_success();
        let size = fs::metadata(&file).unwrap().len() as usize;
        fs::remove_file(&file).unwrap();
        let filler = folder.path().join("filler");
        fs::write(&filler, vec![0; (512 << 10) - size * 3 / 2]).unwrap();
        let outcome = run.main("CpuBound").args(["100"]).run();
        outcome.assert_success();
        assert_eq!(outcome.stderr, "");
        read_records(&fs::read(&file).unwrap()).unwrap();
        fs::remove_file(filler).unwrap();
    });
}

#[test]
fn a_folder_that_cannot_be_written_stops_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=64k,ro") else { return };
    let file = folder.path().join(FILE).display().to_string();
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("cpu=samples,file={file}"));
        let outcome = run.main("Sleeper").args(["0"]).run();
        outcome.assert_code(1);
        assert_eq!(outcome.stderr, format!("{}\n", FatalError::cannot_create_file(&file)));
    });
}

#[test]
fn a_folder_that_goes_costs_the_profile_and_nothing_else() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("sub");
        fs::create_dir(&sub).unwrap();
        let file = sub.join(FILE).display().to_string();
        let options = format!("cpu=samples,verbose=n,file={file}");
        let mut running = JavaRun::new(jdk).agent(&options).main("SpinUntilStop").spawn();
        running.wait_for_stdout("ready");
        fs::remove_dir_all(&sub).unwrap();
        let outcome = stop(running);
        let begin = format!("HPROF ERROR: can't write profile file: {file}: ");
        assert!(outcome.stderr.starts_with(&begin), "{}", outcome.report());
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
    });
}

/// This happens when a build tool starts JVMs of its own with the same options.
#[test]
fn two_programs_that_write_one_file_leave_a_whole_one() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let run = sampled(jdk, ",depth=64").dir(folder.path());
            let mut running = run.main("SpinUntilStop").spawn();
            running.wait_for_stdout("ready");
            running
        };
        let mut both = [start(), start()];
        for (index, running) in both.iter_mut().enumerate() {
            let _ = fs::remove_file(folder.path().join(FILE));
            running.signal(Signal::QUIT);
            running.wait_until("a dump", |running| sections(running) == 1);
            let shown = read_perk_text(&fs::read(folder.path().join(FILE)).unwrap());
            assert_eq!(shown.unwrap().sections.len(), 1, "{index}");
        }
        for mut running in both {
            running.signal(Signal::TERM);
            let outcome = running.wait();
            outcome.assert_code(143);
            assert_sampled(&outcome, "SpinUntilStop.main");
        }
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [FILE]);
    });
}

#[test]
fn a_stale_temporary_file_is_no_hindrance() {
    jdk::each(|jdk| {
        let stale = "x".repeat(1 << 20);
        let run = sampled(jdk, ",depth=64").file("o.txt.perk-aaaaaa.part", stale);
        let outcome = run.main("CpuBound").args(["100"]).run();
        outcome.assert_success();
        assert_sampled(&outcome, "CpuBound.main");
        assert_only_file(&outcome);
    });
}

/// Other users may create files under names that can be foreseen.
#[test]
fn nothing_that_lies_beside_the_file_is_opened() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), OLD_CONTENTS).unwrap();
        symlink(at("victim"), at("o.hprof.part")).unwrap();
        assert!(Command::new("mkfifo").arg(at("o.txt.part")).status().unwrap().success());
        let outcome = sampled(jdk, "").dir(folder.path()).main("CpuBound").args(["50"]).run();
        outcome.assert_success();
        checked(&outcome);

        let run = JavaRun::new(jdk).agent("heap=dump,format=b,doe=n,file=o.hprof");
        let mut running = run.dir(folder.path()).main("SpinUntilStop").spawn();
        running.wait_for_stdout("ready");
        let foreseen = [format!("perk-{}-0.heap", running.pid()), "o.hprof.copy".to_owned()];
        for name in &foreseen {
            symlink(at("victim"), at(name)).unwrap();
        }
        running.signal(Signal::QUIT);
        running.wait_until("a dump", |_| at("o.hprof").exists());
        stop(running);
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), OLD_CONTENTS);
        for name in foreseen.iter().map(String::as_str).chain(["o.hprof.part"]) {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name}");
        }
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("o.hprof"), 0o600);
        perk_hprof::read(&fs::read(at("o.hprof")).unwrap()[..]).unwrap();
    });
}

#[test]
fn links_are_followed_to_the_file() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let (link, real) = (folder.path().join(FILE), folder.path().join("sub/real.txt"));
        symlink("sub/real.txt", &link).unwrap();
        let run = sampled(jdk, "").dir(folder.path()).main("CpuBound").args(["50"]);
        run.run().assert_success();
        read_perk_text(&fs::read(&real).unwrap()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    });
}

#[test]
fn a_socket_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let file = socket.display().to_string();
    jdk::each(|jdk| {
        for options in ["cpu=samples", "heap=dump"] {
            let run = JavaRun::new(jdk).agent(&format!("{options},file={file}"));
            let outcome = run.main("Sleeper").args(["0"]).run();
            outcome.assert_code(1);
            let line =
                format!("HPROF ERROR: perk cannot write {file}: it is a socket, not a file\n");
            assert_eq!((outcome.stdout.as_str(), outcome.stderr), ("", line));
        }
    });
}

#[test]
fn the_agent_is_loaded_once_however_it_is_named() {
    let twice = format!("{}\n", FatalError::loaded_twice());
    jdk::each(|jdk| {
        let program = |run: JavaRun| run.main("Sleeper").args(["0"]).run();
        let by_path = program(sampled(jdk, "").agent("cpu=samples,file=p.txt"));
        // A link gives the same file the name libhprof.so.
        let path = format!("-agentpath:{}=cpu=samples", agent::agent_so().display());
        let by_both =
            program(JavaRun::new(jdk).agentlib_hprof().agent("cpu=samples").jvm_arg(path));
        for outcome in [by_path, by_both] {
            outcome.assert_code(9);
            assert_eq!(outcome.stderr, twice, "{}", outcome.report());
            assert_eq!(outcome.stdout, "");
        }
    });
}

#[test]
fn xrun_and_agentlib_are_agentpath() {
    jdk::each(|jdk| {
        for run in [JavaRun::new(jdk).xrunhprof(), JavaRun::new(jdk).agentlib_hprof()] {
            let run = run.agent(&format!("cpu=samples,depth=64,file={FILE}"));
            let outcome = run.main("CpuBound").args(["100"]).run();
            outcome.assert_success();
            assert_sampled(&outcome, "CpuBound.main");
            assert!(outcome.stderr.ends_with(&progress()), "{}", outcome.report());
        }
    });
}

#[test]
fn names_are_relative_to_the_folder_of_the_start() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let run = JavaRun::new(jdk).dir(folder.path()).agent("cpu=samples,file=sub/../sub/%p.txt");
        let outcome = run.main("CpuBound").args(["50"]).run();
        outcome.assert_success();
        let file = folder.path().join(format!("sub/{}.txt", outcome.pid));
        read_perk_text(&fs::read(file).unwrap()).unwrap();
    });
}

#[test]
fn force_n_leaves_an_old_file_alone() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",force=n").file(FILE, OLD_CONTENTS);
        let outcome = run.main("CpuBound").args(["50"]).run();
        outcome.assert_success();
        assert_eq!(outcome.text(FILE), OLD_CONTENTS);
        let own = format!("o.{}.txt", outcome.pid);
        read_perk_text(outcome.bytes(&own)).unwrap();
        let outcome = sampled(jdk, ",force=n").main("CpuBound").args(["50"]).run();
        checked(&outcome);
        assert_only_file(&outcome);
    });
}
