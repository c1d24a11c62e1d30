//! `xprof=y`: the tables of `-Xprof`.

#![forbid(unsafe_code)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use perk_testkit::{JavaRun, Jdk, Outcome, Signal, fixture, jdk, workspace};

use support::assert_near;

/// A program's command that runs JDK 8's `java` in the current folder, such as
/// `sh jdk8.sh FOLDER java`.
const JAVA_8: &str = "PERK_JAVA8";
/// The JVM does not compile the interpreted part of `FlatProfile`.
const INTERPRETED_PART: [&str; 2] =
    ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,FlatProfile.walk"];

/// The tables of a thread, as far as the tests need them.
#[derive(Debug, Default)]
struct Thread {
    name: String,
    seconds: f64,
    total: u64,
    rows: Vec<Row>,
    /// The last rows of the tables.
    totals: Vec<Row>,
    labels: Vec<(String, u64)>,
}

#[derive(Debug)]
struct Row {
    table: String,
    percent: f64,
    code: u64,
    native: u64,
    name: String,
}

impl Thread {
    fn label(&self, name: &str) -> u64 {
        self.labels.iter().filter(|label| label.0 == name).map(|label| label.1).sum()
    }

    /// The ticks for which it ran.
    fn running(&self) -> u64 {
        let idle = ["Blocked (of total)", "Waiting for a CPU (of total)"];
        self.total - idle.iter().map(|label| self.label(label)).sum::<u64>()
    }

    /// The share of a method in a table, in percent.
    fn share(&self, table: &str, name: &str) -> f64 {
        let rows = self.rows.iter().filter(|row| row.table == table && row.name == name);
        rows.map(|row| row.percent).sum()
    }

    /// The share of a whole table, in percent.
    fn share_of(&self, table: &str) -> f64 {
        self.totals.iter().filter(|row| row.table == table).map(|row| row.percent).sum()
    }
}

/// Reads the tables in a text by the columns of the original, strictly. Returns the threads, and the
/// lines of the summary.
#[track_caller]
fn read(text: &str) -> (Vec<Thread>, Vec<(String, u64)>) {
    let mut threads: Vec<Thread> = Vec::new();
    let (mut summary, mut table) = (Vec::new(), String::new());
    let mut is_summary = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Flat profile of ") {
            let (seconds, rest) = rest.split_once(" secs (").expect(line);
            let (total, name) = rest.split_once(" total ticks): ").expect(line);
            let (seconds, total) = (seconds.parse().expect(line), total.parse().expect(line));
            let name = name.to_owned();
            threads.push(Thread { name, seconds, total, ..Thread::default() });
        } else if let Some(rest) = line.strip_prefix("Global summary of ") {
            assert!(rest.ends_with(" seconds:"), "{line}");
            is_summary = true;
        } else if let Some(title) = title(line) {
            assert_eq!(line.len(), 55, "{line:?}");
            table = title.to_owned();
        } else if line.as_bytes().get(5) == Some(&b'%') {
            let percent = line[..5].trim_start().parse().expect(line);
            let number = |columns: &str| columns.trim_start().parse::<u64>().expect(line);
            let name = line[25..].to_owned();
            let count = number(&line[6..12]);
            if is_summary {
                summary.push((name, count));
                continue;
            }
            let thread = threads.last_mut().expect(line);
            if &line[12..15] == "  +" {
                let native = number(&line[15..21]);
                let is_total = name.starts_with("Total ");
                let row = Row { table: table.clone(), percent, code: count, native, name };
                if is_total { &mut thread.totals } else { &mut thread.rows }.push(row);
            } else {
                assert!(line[12..25].trim().is_empty(), "{line:?}");
                thread.labels.push((name, count));
            }
        }
    }
    for thread in &threads {
        let of_labels: u64 = thread.labels.iter().map(|label| label.1).sum();
        let of_tables: u64 = thread.totals.iter().map(|row| row.code + row.native).sum();
        assert_eq!(of_labels + of_tables, thread.total, "{thread:?}");
    }
    (threads, summary)
}

/// The title of the table that begins with a line. The longest one, `Runtime stub`, moves the others'
/// columns.
fn title(line: &str) -> Option<&str> {
    let (title, rest) = line.split_once(" + native")?;
    (rest.trim() == "Method").then(|| title.trim_start())
}

fn flat(jdk: &Jdk, options: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("xprof={options}"))
}

#[track_caller]
fn thread<'a>(threads: &'a [Thread], name: &str) -> &'a Thread {
    let found = threads.iter().find(|thread| thread.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {threads:?}"))
}

/// No file is written, and nothing is reported.
#[track_caller]
fn assert_printed(outcome: &Outcome) {
    outcome.assert_success();
    assert!(outcome.files.is_empty(), "{:?}", outcome.files.keys());
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
}

#[test]
fn methods_have_their_shares_by_kind_of_code() {
    jdk::each(|jdk| {
        let mut run = flat(jdk, "y,interval=1").main("FlatProfile").args(["3000"]);
        for option in INTERPRETED_PART {
            run = run.jvm_arg(option);
        }
        let outcome = run.run();
        assert_printed(&outcome);
        // The thread's tables are there before main continues, under the name that it had last.
        let (before, after) = outcome.stdout.split_once("after=true").unwrap();
        let (threads, _) = read(before);
        let burner = thread(&threads, "at the end");
        assert_eq!(threads.len(), 1, "{threads:?}");
        let near = |share: f64, expected: f64| {
            assert!((share - expected).abs() <= 7.0, "{share}, not {expected}: {burner:?}");
        };
        near(burner.share("Compiled", "FlatProfile.fib"), 50.0);
        near(burner.share("Interpreted", "FlatProfile.walk"), 30.0);
        near(burner.share("Stub", "java.lang.Thread.holdsLock"), 20.0);
        let row = burner.rows.iter().find(|row| row.name == "java.lang.Thread.holdsLock").unwrap();
        assert!(row.native > 0, "{row:?}");
        assert_near(burner.running() * 1_000_000, outcome.number("cpu_ns"), 3, 12_000_000, "ticks");
        assert_near(burner.total, (burner.seconds * 1000.0) as u64, 1, 6, "all ticks");

        let (threads, summary) = read(after);
        let main = thread(&threads, "main");
        assert!(main.label("Blocked (of total)") * 100 >= main.total * 80, "{main:?}");
        assert!(threads.iter().all(|it| !["Finalizer", "Reference Handler"].contains(&&*it.name)));
        assert!(summary[0].0 == "Received ticks" && summary[0].1 >= main.total, "{summary:?}");
    });
}

#[test]
fn without_a_compiler_all_is_interpreted_and_with_nothing_else_all_compiled() {
    jdk::each(|jdk| {
        for (mode, table) in [("-Xint", "Interpreted"), ("-Xcomp", "Compiled")] {
            let run = flat(jdk, "all,interval=1").main("FlatProfile").args(["1000"]);
            // C2 would compile the JDK for ten seconds.
            let outcome = run.jvm_arg(mode).jvm_arg("-XX:TieredStopAtLevel=1").run();
            assert_printed(&outcome);
            let (threads, _) = read(&outcome.stdout);
            let burner = thread(&threads, "at the end");
            let share = burner.share_of(table);
            if mode == "-Xint" {
                assert!(burner.totals.len() == 1 && share >= 99.0, "{burner:?}");
            } else {
                assert!(share + burner.share_of("Stub") >= 97.0, "{burner:?}");
            }
        }
    });
}

/// The loop of a method that C2 inlines into the loop of another.
#[test]
fn tiers_and_inlined_methods_are_distinguished() {
    const TEXT: &str = "
        public class InlinedLoop {
            static final int[] DATA = new int[1000];
            static int inner(int[] data, int seed) {
                int sum = seed;
                for (int i = 0; i < data.length; i++) sum = sum * 31 + (data[i] ^ seed);
                return sum;
            }
            static long outer(int turns) {
                long sum = 0;
                for (int i = 0; i < turns; i++) sum += inner(DATA, i);
                return sum;
            }
            public static void main(String[] arguments) {
                long sum = 0, end = System.nanoTime() + 2_000_000_000L;
                do sum += outer(1000); while (System.nanoTime() < end);
                System.out.println(sum);
            }
        }";
    let classes = fixture::compile_text("InlinedLoop", TEXT);
    jdk::each(|jdk| {
        let listed = |options: &str| {
            let run = flat(jdk, &format!("{options},interval=1"));
            let run = run.classes(&classes).main("InlinedLoop").run();
            assert_printed(&run);
            let (mut threads, _) = read(&run.stdout);
            threads.remove(threads.iter().position(|it| it.name == "main").unwrap())
        };
        let plain = listed("y");
        assert!(plain.share("Compiled", "InlinedLoop.outer") >= 70.0, "{plain:?}");
        let tables = listed("tiers:inlined");
        assert_eq!(tables.share_of("Compiled"), 0.0, "{tables:?}");
        assert!(tables.share("C2 compiled", "InlinedLoop.inner") >= 70.0, "{tables:?}");
    });
}

#[test]
fn at_most_ten_rows_of_a_table_are_listed() {
    let jdk = jdk::compiler();
    let longest = |options: &str| {
        let run = flat(jdk, options).jvm_arg("-Xint").main("CompileInProcess").args(["1"]).run();
        let (threads, _) = read(&run.stdout);
        let main = thread(&threads, "main");
        let is_elided =
            main.totals.iter().any(|it| it.name == "Total interpreted (including elided)");
        (main.rows.iter().filter(|row| row.table == "Interpreted").count(), is_elided)
    };
    assert_eq!(longest("y,interval=1"), (10, true));
    let (count, is_elided) = longest("all,interval=1");
    assert!(count > 20 && !is_elided, "{count}");
}

#[test]
fn a_file_gets_the_tables_instead_of_stdout() {
    jdk::each(|jdk| {
        let outcome =
            flat(jdk, "y,file=flat-%p.xprof").main("FlatProfile").args(["300", "7"]).run();
        outcome.assert_code(7);
        assert!(!outcome.stdout.contains("Flat profile"), "{}", outcome.stdout);
        assert_eq!(outcome.files.len(), 1, "{:?}", outcome.files.keys());
        let (threads, summary) = read(&outcome.text(&format!("flat-{}.xprof", outcome.pid)));
        assert!(thread(&threads, "at the end").running() >= 25, "{threads:?}");
        assert_eq!(summary[0].0, "Received ticks");
    });
}

#[test]
fn other_analyses_work_beside_it() {
    jdk::each(|jdk| {
        for options in [
            "cpu=samples",
            "cpu=samples,engine=signal",
            "cpu=times",
            "heap=sites",
            "monitor=y",
            "cpu=samples,wall=y,format=p",
        ] {
            let options = format!("y,file=o.hprof,interval=2,{options}");
            let outcome = flat(jdk, &options).main("FlatProfile").args(["400"]).run();
            outcome.assert_success();
            let (threads, summary) = read(&outcome.stdout);
            let burner = thread(&threads, "at the end");
            assert!(burner.running() >= 150, "{options}: {burner:?}");
            // Probes are part of the methods that they are in.
            assert!(burner.rows.iter().all(|row| !row.name.contains("Perk")), "{burner:?}");
            assert!(burner.share("Compiled", "FlatProfile.fib") > 5.0, "{options}: {burner:?}");
            assert_eq!(summary[0].0, "Received ticks");
            let profile = perk_hprof::read(outcome.bytes("o.hprof")).unwrap();
            assert_eq!(options.contains("cpu=samples"), profile.cpu_samples().next().is_some());
        }
    });
}

/// The tables come whichever way the program ends.
#[test]
fn every_end_of_the_program_has_tables() {
    jdk::each(|jdk| {
        let uncaught = flat(jdk, "y").main("Uncaught").run();
        uncaught.assert_code(1);
        assert!(uncaught.stdout.contains("Global summary of"), "{}", uncaught.report());
        let halted = flat(jdk, "y").main("ExitByHalt").run();
        assert!(halted.stdout.contains("Global summary of"), "{}", halted.report());
        let mut running = flat(jdk, "y").main("SpinUntilStop").spawn();
        running.wait_until("a start", |run| run.dir().exists() && !run.stdout().is_empty());
        running.signal(Signal::TERM);
        let ended = running.wait();
        ended.assert_code(143);
        let (threads, _) = read(&ended.stdout);
        assert!(!threads.is_empty(), "{}", ended.report());
    });
}

#[test]
fn thousands_of_threads_have_their_tables() {
    jdk::each(|jdk| {
        let outcome = flat(jdk, "y,interval=1").main("ManyThreads").args(["3000", "2"]).run();
        assert_printed(&outcome);
        let (threads, _) = read(&outcome.stdout);
        assert!(threads.len() >= 2500, "{} tables", threads.len());
        let running: u64 = threads.iter().map(Thread::running).sum();
        assert!(running >= 3000, "{running} ticks");
    });
}

/// Carriers have the ticks of the virtual threads that they run.
#[test]
fn carriers_have_the_ticks_of_virtual_threads() {
    const TEXT: &str = "
        public class VirtualBurner {
            static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
            public static void main(String[] arguments) throws Exception {
                Thread thread = Thread.ofVirtual().start(() -> {
                    long end = System.nanoTime() + 1_000_000_000L;
                    while (System.nanoTime() < end) fib(20);
                });
                thread.join();
            }
        }";
    jdk::each_of(&[21, 25], |jdk| {
        let compiler = jdk::version(25).expect("JDK 25 compiles the program");
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("VirtualBurner.java");
        std::fs::write(&source, TEXT).unwrap();
        let compiled = Command::new(compiler.javac())
            .args(["--release", "21", "-d"])
            .args([folder.path(), &source])
            .status();
        assert!(compiled.unwrap().success());
        let run = flat(jdk, "y,interval=1").classes(folder.path()).main("VirtualBurner").run();
        assert_printed(&run);
        let (threads, _) = read(&run.stdout);
        let carriers = threads.iter().filter(|it| it.name.starts_with("ForkJoinPool-1-worker"));
        let share = carriers.map(|it| it.share("Compiled", "VirtualBurner.fib")).fold(0., f64::max);
        assert!(share >= 80.0, "{threads:?}");
    });
}

/// The collector's own account of its pauses is as long as the ticks.
#[test]
fn pauses_are_in_the_summary() {
    const TEXT: &str = "
        public class Garbage {
            public static void main(String[] arguments) {
                java.util.ArrayList<int[]> kept = new java.util.ArrayList<>();
                long end = System.nanoTime() + 1_500_000_000L;
                for (int i = 0; System.nanoTime() < end; i++) {
                    int[] made = new int[200 + i % 7];
                    if (kept.size() < 100_000) kept.add(made); else kept.set(i % 100_000, made);
                }
                long ms = 0;
                for (var it : java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()) {
                    ms += it.getCollectionTime();
                }
                System.out.println(\"pauses_ms=\" + ms);
            }
        }";
    let classes = fixture::compile_text("Garbage", TEXT);
    jdk::each(|jdk| {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC"] {
            let run = flat(jdk, "y,interval=1").jvm_arg(collector).jvm_arg("-Xmx384m");
            let outcome = run.classes(&classes).main("Garbage").run();
            assert_printed(&outcome);
            let (_, summary) = read(&outcome.stdout);
            let ticks = summary.iter().find(|line| line.0 == "Received GC ticks").unwrap().1;
            assert_near(ticks, outcome.number("pauses_ms"), 15, 40, collector);
        }
    });
}

#[test]
fn a_closed_stdout_is_reported_in_one_line() {
    let jdk = jdk::compiler();
    let agent = perk_testkit::agent::agent_so();
    let agent = format!("-agentpath:{}=xprof=y", agent.display());
    let mut sh = Command::new("sh");
    sh.args(["-c", "exec \"$@\" >&-", "sh"]).arg(jdk.java()).arg(agent).arg("-cp");
    sh.arg(fixture::fixtures()).args(["CpuBound", "200"]);
    let output = sh.stderr(Stdio::piped()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("can't write profile file: stdout: Bad file descriptor"), "{stderr}");
}

/// A signal that the parent ignores is not free: here all are, and the program runs without tables.
#[test]
fn without_a_free_signal_one_line_says_so_and_the_program_runs() {
    const REASON: &str = "signals cannot be used: no real-time signal is free\n";
    let no_tables = format!("HPROF ERROR: perk cannot print the tables of xprof: {REASON}");
    let by_polling = format!(
        "HPROF WARNING: samples are taken at safepoints (engine=polling), as {REASON}\
         Dumping CPU usage by sampling running threads ... done.\n"
    );
    jdk::each(|jdk| {
        let with_samples = format!("{no_tables}{by_polling}");
        for (options, expected, files) in [
            ("xprof=y", &no_tables, 0),
            ("xprof=y,file=o.xprof", &no_tables, 0),
            ("cpu=samples,file=o.txt", &by_polling, 1),
            ("xprof=y,cpu=samples,file=o.txt", &with_samples, 1),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let agent = perk_testkit::agent::agent_so();
            let agent = format!("-agentpath:{}={options}", agent.display());
            let mut bash = Command::new("bash");
            bash.args(["-c", "trap '' $(seq 34 64); exec \"$@\"", "bash"])
                .arg(jdk.java())
                .arg(agent);
            bash.arg("-cp").arg(fixture::fixtures()).args(["CpuBound", "500"]);
            let output = bash.current_dir(&folder).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
            assert_eq!(&*stderr, *expected, "{options}");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(
                stdout.contains("main_cpu_ns=") && !stdout.contains("Flat profile"),
                "{stdout}"
            );
            let names: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
            assert_eq!(names.len(), files, "{names:?}");
            if files > 0 {
                let text = std::fs::read_to_string(folder.path().join("o.txt")).unwrap();
                assert!(text.contains("CpuBound.main"), "{text}");
            }
        }
    });
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (options, reason) in [
        ("y,doe=n", "xprof is not supported with doe=n"),
        ("y,net=localhost:1", "it is not supported with net"),
        ("y,format=b", "format is only supported with another analysis"),
        ("y,jamaica=y", "jamaica cannot be used with"),
        ("y,fields=shared", "fields=shared cannot be used with"),
        ("wide", "xprof option value must be y, n or tiers, inlined and all with : between"),
        ("tiers:", "xprof option value must be"),
    ] {
        let outcome = flat(jdk::compiler(), options).main("CpuBound").args(["1"]).run();
        outcome.assert_code(1);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
        assert!(outcome.stderr.contains(reason), "{}", outcome.report());
        assert!(outcome.files.is_empty());
    }
}

/// The same methods are on top as in JDK 8's tables, and with the same shares.
#[test]
fn jdk_8_prints_the_same_shares() {
    let Some(java_8) = std::env::var_os(JAVA_8) else {
        let line =
            format!("*** NOT TESTED BESIDE JDK 8: set {JAVA_8} to a command of its java ***");
        let _ = writeln!(std::io::stderr(), "{line}");
        return;
    };
    let source = workspace().join("java/fixtures/FlatProfile.java");
    let classes = fixture::compile_files_for(8, &[&source]);
    let java_8 = java_8.into_string().unwrap();
    for mode in [&INTERPRETED_PART[..], &["-Xint"]] {
        let arguments: Vec<_> = mode.iter().chain(&["FlatProfile", "8000"]).collect();
        let mut words = java_8.split_whitespace();
        let output = Command::new(words.next().unwrap())
            .args(words)
            .arg("-Xprof")
            .args(["-cp", "."])
            .args(&arguments)
            .current_dir(&classes)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (threads, _) = read(&text);
        let original = thread(&threads, "at the end");
        jdk::each(|jdk| {
            let mut run = flat(jdk, "y").timeout(std::time::Duration::from_secs(180));
            for option in mode {
                run = run.jvm_arg(option);
            }
            let outcome = run.main("FlatProfile").args(["8000"]).run();
            assert_printed(&outcome);
            let (threads, _) = read(&outcome.stdout);
            let ours = thread(&threads, "at the end");
            // The native method on the way to the clock is not among them: it has the ticks for which
            // the original waited until the thread came to a call.
            const PARTS: [&[&str]; 3] = [
                &["FlatProfile.fib"],
                &["FlatProfile.walk"],
                &["java.lang.Thread.holdsLock", "FlatProfile.ask"],
            ];
            let shares = |thread: &Thread| {
                let of = |names: &&[&str]| {
                    let rows = thread.rows.iter().filter(|row| names.contains(&&*row.name));
                    rows.map(|row| row.code + row.native).sum::<u64>() as f64
                };
                let counts: Vec<f64> = PARTS.iter().map(of).collect();
                let all: f64 = counts.iter().sum();
                counts.into_iter().map(|count| 100.0 * count / all).collect::<Vec<_>>()
            };
            let (ours_of, original_of) = (shares(ours), shares(original));
            let line =
                format!("JDK {} {mode:?}: {ours_of:.1?}, -Xprof {original_of:.1?}", jdk.version);
            let _ = writeln!(std::io::stderr(), "{line}");
            for (ours, original) in ours_of.iter().zip(&original_of) {
                assert!((ours - original).abs() <= 5.0, "{line}");
            }
            // The same tables have the same methods on top.
            let first = |thread: &Thread, table: &str| {
                let is_part = |row: &&Row| PARTS.concat().contains(&&*row.name);
                let mut rows = thread.rows.iter().filter(|row| row.table == table);
                rows.find(is_part).map(|row| row.name.clone())
            };
            for table in ["Interpreted", "Compiled", "Stub"] {
                assert_eq!(first(ours, table), first(original, table), "{table}");
            }
        });
    }
}
