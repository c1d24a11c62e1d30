//! `xtask soak exact`: programs that use much of the JVM, under perk for a requested time, with Flight
//! Recorder on and the Vector API available. Their output must be the same as without perk.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_testkit::{JavaRun, Jdk, Outcome, fixture, workspace};

use crate::arguments::JdkList;

const VECTORS: &str = "jdk.incubator.vector";
const FILE: &str = "o.hprof";
/// The time limit of a program, with room for other load on the machine.
const LONGEST: Duration = Duration::from_secs(600);

/// The options of perk, in turns.
const OPTIONS: [&str; 6] = [
    "heap=sites",
    "heap=all",
    "cpu=times",
    "cpu=times,heap=sites,monitor=y",
    "heap=sites,depth=64,thread=y,gc=y",
    "heap=sites,sample=64k",
];

/// Options of the JVM, in turns.
const WAYS: [&[&str]; 11] = [
    &[],
    &["-XX:+UseSerialGC", "-Xmx256m"],
    &["-XX:+UseParallelGC", "-XX:-TieredCompilation"],
    &["-XX:+UseZGC"],
    &["-XX:+UseShenandoahGC"],
    &["-XX:-UseCompressedClassPointers"],
    &["-XX:-UseCompressedOops"],
    &["-XX:ObjectAlignmentInBytes=16"],
    &["-XX:+UseCompactObjectHeaders"],
    &["-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"],
    &["-XX:TieredStopAtLevel=1", "-XX:-UseCompressedOops"],
];

/// A program: its class and its arguments.
const PROGRAMS: [(&str, &[&str]); 6] = [
    ("Reflective", &[]),
    ("Recorded", &[]),
    ("RecordedIo", &[]),
    ("Boxes", &[]),
    ("AllocationKinds", &["2000"]),
    ("CallCounts", &["3000"]),
];
/// A program for JDKs with a compiler.
const WITH_COMPILER: (&str, &[&str]) = ("CompileInProcess", &["100"]);
/// A program for JDK 21 and later.
const WITH_VIRTUAL_THREADS: (&str, &[&str]) = ("VirtualParked", &["5000"]);
const WITH_VECTORS: (&str, &[&str]) = ("DotProduct", &[]);

/// The arguments of `xtask soak exact`.
#[derive(Args, Debug)]
pub(super) struct ExactArguments {
    /// The time for all JDKs
    #[arg(long, value_name = "N", default_value = "300")]
    seconds: u64,
    #[command(flatten)]
    jdks: JdkList,
}

/// Runs `xtask soak exact`.
pub(super) fn run(ExactArguments { seconds, jdks }: &ExactArguments) -> Result<()> {
    let vectors = workspace().join("java/fixtures/vector/DotProduct.java");
    let vectors = fixture::compile_with_module(VECTORS, &[&vectors]);
    let mut programs = Vec::new();
    for jdk in jdks.or_all()? {
        programs.extend(programs_of(jdk, &vectors)?);
    }
    let begin = Instant::now();
    let (mut out, mut run_count) = (std::io::stdout(), 0);
    // The lengths of the lists share no divisor, so each option meets each way.
    while begin.elapsed() < Duration::from_secs(*seconds) {
        for program in &programs {
            let (options, way) = (OPTIONS[run_count % OPTIONS.len()], WAYS[run_count % WAYS.len()]);
            program.run(way, options)?;
            run_count += 1;
        }
        write!(out, "\r{run_count} runs, {} s", begin.elapsed().as_secs())?;
        out.flush()?;
    }
    writeln!(out, "\r{run_count} runs of {} programs: all as without perk", programs.len())?;
    Ok(())
}

/// A program on a JVM, and its behaviour without perk.
struct Program {
    name: String,
    run: JavaRun,
    plain: Outcome,
}

fn programs_of(jdk: &Jdk, vectors: &Path) -> Result<Vec<Program>> {
    let modules = Command::new(jdk.java()).arg("--list-modules").output()?;
    let has_vectors = String::from_utf8_lossy(&modules.stdout).contains(&format!("{VECTORS}@"));
    let new = || {
        let flag = "-XX:StartFlightRecording:filename=whole.jfr,settings=profile";
        let run = JavaRun::new(jdk).timeout(LONGEST).jvm_arg(flag).jvm_arg("-Xlog:disable");
        match has_vectors {
            true => run.jvm_arg("--add-modules").jvm_arg(VECTORS),
            false => run,
        }
    };
    let mut wanted: Vec<_> = PROGRAMS.into_iter().map(|program| (program, new())).collect();
    if jdk.has_javac {
        wanted.push((WITH_COMPILER, new()));
    }
    if jdk.version >= 21 {
        wanted.push((WITH_VIRTUAL_THREADS, new()));
    }
    if has_vectors {
        wanted.push((WITH_VECTORS, new().classes(vectors)));
    }
    let programs = wanted.into_iter().map(|((main, arguments), run)| {
        let run = run.main(main).args(arguments);
        let plain = run.run();
        let name = format!("{main} on JDK {}", jdk.version);
        ensure!(plain.code() == Some(0), "{name} without perk: {}", plain.report());
        Ok(Program { name, run, plain })
    });
    programs.collect()
}

/// Returns a program's output without the numbers of its lambdas' classes. These depend on how many
/// the threads of Flight Recorder created before.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split("$$Lambda$");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |sum, part| {
        sum + "$$Lambda$" + part.trim_start_matches(|it: char| it.is_ascii_digit())
    })
}

impl Program {
    /// Runs the program under perk.
    fn run(&self, way: &[&str], options: &str) -> Result<()> {
        let run = way.iter().fold(self.run.clone(), |run, flag| run.jvm_arg(flag));
        let outcome = run.agent(&format!("{options},format=p,file={FILE}")).run();
        let what = format!("{} with {options} {way:?}", self.name);
        if outcome.stderr.contains("not supported") || outcome.stderr.contains("Unrecognized VM") {
            return Ok(());
        }
        ensure!(outcome.code() == Some(0), "{what}: {}", outcome.report());
        let is_same = without_numbers(&outcome.stdout) == without_numbers(&self.plain.stdout);
        ensure!(is_same, "{what}: {}", outcome.report());
        let profile = perk_hprof::read(outcome.bytes(FILE)).with_context(|| what.clone())?;
        let fault_count = profile.accounting.map_or(0, |it| it.fault_count);
        ensure!(fault_count == 0, "{what}: {fault_count} faults of perk");
        Ok(())
    }
}
