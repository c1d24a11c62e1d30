//! The switches of the JVM for archives of classes, with each kind of analysis: the table of
//! docs/archives.md.

use std::fs;
use std::process::Command;

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk, workspace};

use crate::util::{Folder, assert_refused, stderr, stdout};

/// Uses enough CPU time for some samples.
const PROGRAM: &str = "public class Hello {
    static long sum;
    public static void main(String[] args) {
        for (int i = 0; i < 30_000_000; i++) sum += i ^ sum;
        System.out.println(\"hello \" + args.length);
    }
}";

/// The cheapest JVM.
const CHEAP: [&str; 3] = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx64m"];

/// The options of the agent, and those of the tool.
const SAMPLES: (&str, &[&str]) = ("cpu=samples", &["--cpu", "samples"]);
const PROBES: (&str, &[&str]) = ("heap=sites", &["--heap", "sites"]);

/// A row of the table.
struct Row {
    switches: Vec<String>,
    versions: Vec<u32>,
    /// The columns.
    outcomes: [String; 4],
}

fn table() -> Vec<Row> {
    let text = fs::read_to_string(workspace().join("docs/archives.md")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("| `-"));
    let rows = lines.map(|line| {
        let columns: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [switches, versions, outcomes @ ..] = &columns[..] else { panic!("{line}") };
        let outcomes: [&str; 4] = outcomes.try_into().unwrap();
        Row {
            switches: switches.trim_matches('`').split(' ').map(str::to_owned).collect(),
            versions: versions.split(' ').map(|it| it.parse().unwrap()).collect(),
            outcomes: outcomes.map(str::to_owned),
        }
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() > 10);
    rows
}

/// A folder with a program and archives of it that were made without perk.
struct Archives {
    folder: Folder,
    /// The JVM's own archive, if it has none.
    base: Option<String>,
}

impl Archives {
    fn new(jdk: &Jdk) -> Self {
        let folder = Folder::new();
        let classes = fixture::compile_text("Hello", PROGRAM);
        let jar = jdk::compiler().javac().with_file_name("jar");
        let mut command = Command::new(jar);
        command.args(["cf", "hello.jar", "-C"]).arg(classes).arg(".").current_dir(folder.path());
        assert!(command.status().unwrap().success());
        let has_base = jdk.home.join("lib/server/classes.jsa").is_file();
        let base = (!has_base).then(|| "-XX:SharedArchiveFile=base.jsa".to_owned());
        let this = Self { folder, base };
        if let Some(base) = &this.base {
            this.make(jdk, &[base, "-Xshare:dump"]);
        }
        let base = this.base.iter().map(String::as_str);
        this.make(jdk, &base.chain(["-XX:ArchiveClassesAtExit=there.jsa"]).collect::<Vec<_>>());
        if jdk.version >= 25 {
            let configuration = "-XX:AOTConfiguration=there.aotconf";
            this.make(jdk, &["-XX:AOTMode=record", configuration]);
            this.make(jdk, &["-XX:AOTMode=create", configuration, "-XX:AOTCache=there.aot"]);
        }
        this
    }

    fn make(&self, jdk: &Jdk, switches: &[&str]) {
        self.java(jdk, switches).run().assert_success();
    }

    fn java(&self, jdk: &Jdk, switches: &[impl AsRef<str>]) -> JavaRun {
        let run = JavaRun::new(jdk).dir(self.folder.path()).classes("hello.jar").main("Hello");
        let run = CHEAP.iter().fold(run, JavaRun::jvm_arg);
        switches.iter().fold(run, |run, switch| run.jvm_arg(switch.as_ref()))
    }

    /// Returns a command of perk that runs the program.
    fn perk(&self, jdk: &Jdk, options: &[&str], switches: &[String]) -> assert_cmd::Command {
        let mut command = self.folder.perk();
        command.arg("run").args(options).args(["-q", "-o", "out.hprof", "--"]).arg(jdk.java());
        command.args(CHEAP).args(switches).args(["-cp", "hello.jar", "Hello"]);
        command
    }

    /// Removes what a row may have made. Returns whether there was something.
    fn clear(&self) -> bool {
        let new = self.folder.names().into_iter().filter(|it| it.starts_with("new."));
        let new: Vec<_> = new.collect();
        new.iter().for_each(|name| fs::remove_file(self.folder.join(name)).unwrap());
        !new.is_empty()
    }
}

/// Returns what the program and the JVM print, without what differs in each run.
fn lines(text: &str) -> Vec<&str> {
    // The size of a new cache, and the JVM's time before a line.
    let lines = text.lines().filter(|line| !line.starts_with("AOTCache creation is complete"));
    lines.map(|line| line.split_once("s][").map_or(line, |(_, rest)| rest)).collect()
}

#[track_caller]
fn assert_under_the_agent(outcome: &Outcome, plain: &Outcome, expected: &str) {
    let report = outcome.report();
    match expected {
        "runs" => {
            outcome.assert_success();
            assert_eq!(lines(&outcome.stdout), lines(&plain.stdout), "{report}");
            assert!(outcome.stderr.contains("Dumping "), "{report}");
            assert!(!outcome.bytes("o.hprof").is_empty(), "{report}");
        }
        "perk refuses" => {
            assert_eq!(outcome.status.code(), Some(1), "{report}");
            assert_eq!(outcome.stdout, "", "{report}");
            assert!(outcome.stderr.starts_with("HPROF ERROR: "), "{report}");
            assert_eq!(outcome.stderr.lines().count(), 1, "{report}");
        }
        "the JVM refuses" => {
            assert_eq!(outcome.status.code(), Some(1), "{report}");
            assert!(outcome.stdout.contains("does not support native JVMTI agent"), "{report}");
        }
        "no program" => {
            outcome.assert_success();
            assert_eq!(lines(&outcome.stdout), lines(&plain.stdout), "{report}");
        }
        _ => panic!("{expected}"),
    }
}

fn agent(run: JavaRun, options: &str) -> Outcome {
    run.agent(&format!("{options},file=o.hprof")).run()
}

#[test]
fn each_switch_has_the_effect_that_the_table_says() {
    let table = table();
    jdk::each(|jdk| {
        let archives = Archives::new(jdk);
        for row in table.iter().filter(|row| row.versions.contains(&jdk.version)) {
            let what = format!("{} {:?}", jdk.version, row.switches);
            eprintln!("{what}");
            let plain = archives.java(jdk, &row.switches).run();
            plain.assert_success();
            let makes = archives.clear();
            let [samples, probes, samples_of_run, probes_of_run] = &row.outcomes;
            for (kind, expected) in [(SAMPLES, samples), (PROBES, probes)] {
                let outcome = agent(archives.java(jdk, &row.switches), kind.0);
                assert_under_the_agent(&outcome, &plain, expected);
                assert_eq!(archives.clear(), makes && !expected.ends_with("refuses"), "{what}");
                let _ = fs::remove_file(archives.folder.join("o.hprof"));
            }
            for (kind, expected) in [(SAMPLES, samples_of_run), (PROBES, probes_of_run)] {
                // The agent's own effect was just seen.
                if (kind, samples.as_str(), expected.as_str()) == (SAMPLES, "runs", "runs") {
                    continue;
                }
                let output = archives.perk(jdk, kind.1, &row.switches).output().unwrap();
                let (said, status) = (stderr(&output), output.status.code());
                match expected.as_str() {
                    "perk refuses" => assert_refused(&output, &["-X"]),
                    _ => {
                        assert_eq!(status, Some(0), "{what}: {said}");
                        let mut plain = lines(&plain.stdout);
                        let without = expected == "runs without it";
                        if without {
                            plain.retain(|line| line.starts_with("hello"));
                        }
                        assert_eq!(lines(&stdout(&output)), plain, "{what}: {said}");
                        assert_eq!(
                            said.contains("perk switches it off"),
                            without,
                            "{what}: {said}"
                        );
                        assert!(
                            fs::remove_file(archives.folder.join("out.hprof")).is_ok(),
                            "{said}"
                        );
                    }
                }
                let _ = archives.clear();
            }
        }
    });
}

#[test]
fn an_analysis_is_of_samples_or_of_probes() {
    jdk::on(25, |jdk| {
        let archives = Archives::new(jdk);
        let record = ["-XX:AOTMode=record", "-XX:AOTConfiguration=new.aotconf"];
        let plain = archives.java(jdk, &record).run();
        for options in
            ["cpu=samples,monitor=y", "wall=y,format=p", "heap=dump", "heap=sites,sample=64k"]
        {
            let outcome = agent(archives.java(jdk, &record), options);
            assert_under_the_agent(&outcome, &plain, "runs");
        }
        let options = ["cpu=times", "cpu=old", "heap=all", "aprof=y", "fields=shared", "jamaica=y"];
        for options in options {
            let outcome = agent(archives.java(jdk, &record), options);
            assert_under_the_agent(&outcome, &plain, "perk refuses");
        }
        let outcome = archives.java(jdk, &["-XX:AOTMode=on", "-XX:AOTCache=there.aot"]);
        let outcome = agent(outcome, "fields=shared");
        outcome.assert_success();
        assert_eq!(outcome.stdout, "hello 0\n");
    });
}

#[test]
fn switches_are_found_wherever_the_jvm_reads_them() {
    jdk::on(25, |jdk| {
        let archives = Archives::new(jdk);
        let switch = "-XX:ArchiveClassesAtExit=new.jsa";
        for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            let mut command = archives.perk(jdk, SAMPLES.1, &[]);
            assert_refused(&command.env(name, switch).output().unwrap(), &["ArchiveClassesAtExit"]);
        }
        archives.folder.file("arguments", format!("-Xint \"{switch}\""));
        archives.folder.file("options", format!("-Xint {switch}"));
        archives.folder.file("flags", "+RecordDynamicDumpInfo\nArchiveClassesAtExit=new.jsa");
        for word in ["@arguments", "-XX:VMOptionsFile=options", "-XX:Flags=flags"] {
            let mut command = archives.perk(jdk, SAMPLES.1, &[word.to_owned()]);
            assert_refused(&command.output().unwrap(), &["ArchiveClassesAtExit"]);
        }
        let record = "-XX:AOTMode=record -XX:AOTConfiguration=new.aotconf";
        let recording = ["-XX:AOTMode=record: ", "without probes (--cpu samples, "];
        for options in
            [&["--cpu", "times"][..], &["--aprof"], &["--heap", "all"], &["--fields", "shared"]]
        {
            let output = archives.perk(jdk, options, &[]).env("JDK_JAVA_OPTIONS", record).output();
            assert_refused(&output.unwrap(), &recording);
        }
        let mut command = archives.folder.perk();
        command.args(["run", "--jvmpi", "libx.so", "--"]).arg(jdk.java()).args(record.split(' '));
        assert_refused(&command.output().unwrap(), &recording);
        // What no command of perk has started, the agent refuses.
        let run = archives.java(jdk, &["-Xint"; 0]).env("JDK_JAVA_OPTIONS", record);
        let outcome = agent(run, PROBES.0);
        assert!(outcome.stderr.contains("\nHPROF ERROR: "), "{}", outcome.report());
        assert!(!archives.folder.join("new.aotconf").exists());
    });
}

#[test]
fn a_debugger_runs_beside_each_analysis() {
    let debugger = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=0,quiet=y";
    jdk::each(|jdk| {
        let archives = Archives { folder: Folder::new(), base: None };
        let classes = fixture::compile_text("Hello", PROGRAM);
        for options in ["jamaica=y", "heap=all", "fields=shared", "monitor=y,cpu=times", "jvmpi"] {
            let run = archives.java(jdk, &[debugger]).classes(&classes);
            let outcome = match options {
                "jvmpi" => run.agent(options).run(),
                _ => agent(run, options),
            };
            outcome.assert_success();
            assert_eq!(outcome.stdout, "hello 0\n", "{}", outcome.report());
            let warns = outcome.stderr.contains("right to stop threads");
            assert_eq!(warns, options == "jamaica=y", "{}", outcome.report());
        }
    });
}
