//! perk's generators and checks: `cargo run -p xtask -- COMMAND`.

#![forbid(unsafe_code)]

mod bench;
mod check;
mod conform;
mod fuzz;
mod jvmpi;
mod jvmti;
mod readers;
mod roundtrip;
mod slow;
mod soak;
mod workspace;

use std::env;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo run -p xtask -- COMMAND

  check               run every check below
  check layers        crates use only what lies below them; unsafe code stays in its crates
  check formats       docs/formats has the tables and the page of each format
  check docs          links lead somewhere; docs/architecture.md is short and names the unsafe crates
  check agent-deps    the agent links what xtask/agent-deps.txt lists, and nothing heavy
  check agent-size    libperk.so has at most 4 MiB and exports only the JVM's entry points
  formats             write the tables of docs/formats/README.md
  jvmti JAVA_HOME     write crates/jvmti-sys/src/generated.rs from a JDK's jvmti.h
  jvmpi               write include/jvmpi.h and the Rust types of JVMPI from their table
  bench overhead [--rounds N] [--only javac,hello,idle,threads,kit-NAME] [--jdk HOME] [--workloads FOLDER]
                      measure what sampling costs, beside the JVM's flight recorder; prints tables for
                      docs/measurements. kit-NAME is run by the script run-NAME.sh of the folder
  bench exact [--rounds N] [--only javac,hello,idle,micro] [--modes NAME,...] [--jdk HOME]
                      the same of the exact modes, and what they add to a call and an allocation
  bench readers [--mb N] [--rounds N] [--only FORM,...]
                      how fast perk reads generated files; a line for docs/measurements each
  bench jvmpi [--jdk HOME]... [--rounds N] [--only javac,hello,speed,dumps,size]
                      what the bridge to profilers of JVMPI costs, beside its bars, on these JDKs or all
  bench attach [--jdk HOME]... [--rounds N]
                      how late the result of perk attach is, and what a program costs after it
  bench heap [--mb N] [--file DUMP] [--slurp PROGRAM] [--rounds N]
                      what perk heap costs on a dump of N MB of objects, or on this one, beside hprof-slurp
  conform [--seeds N] [--from SEED] [--java8 COMMAND] [--jdk HOME]
                      random programs under JDK 8's HPROF agent and under perk: counts must be equal
  conform combinations [--java8 COMMAND]
                      write testdata/hprof/combinations/original.tsv: how JDK 8's HPROF agent ends with each
                      combination of its analyses
  conform heap DUMP ANALYZER
                      retained sizes of a heap dump by perk and by the crate hprof-analyzer, object by object
  readers [--visualvm JAR] [--slurp PROGRAM]
                      heap dumps of perk's agent read by VisualVM's library (Debian's package visualvm) and
                      by the crate hprof-slurp: the number of objects of each class must be equal
  soak [--minutes N] [--jdk 17|21|25|all|HOME] [--interval 1ms] [--only NAME,...] [--workloads FOLDER]
                      javac, programs that strain the JVM, and real ones, sampled by signals with each collector
                      and compiler in turn: counts crashes, hangs, other output, lost samples and memory
  soak exact [--seconds N] [--jdk HOME]
                      programs with perk's probes, with Flight Recorder and the Vector API: they print what
                      they print without
  fuzz [TARGET] [--seconds N] [--seed N]
                      what reads foreign bytes, on files broken at random: no panic, no hang
  fuzz [TARGET] --corpus FILE|DIR
                      the same on these files, such as those that cargo-fuzz has found
  roundtrip-jdk JAVA_HOME [--modules java.base|all]
                      read and write a JDK's classes, and run it with probes in all of them
  slow [JUNIT_XML]    the 30 slowest tests of the last run of cargo-nextest
  help                print this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["help" | "--help" | "-h"] => {
            eprint!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["check"] => check::run(None),
        ["check", name] => check::run(Some(name)),
        ["bench", rest @ ..] => bench::run(rest),
        ["conform", rest @ ..] => conform::run(rest),
        ["readers", rest @ ..] => readers::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["slow"] => slow::run(&workspace::root().join("target/nextest/default/junit.xml")),
        ["slow", file] => slow::run(Path::new(file)),
        ["roundtrip-jdk", rest @ ..] => roundtrip::run(rest),
        ["formats"] => check::formats::write(),
        ["jvmpi"] => jvmpi::generate(),
        ["jvmti", java_home] => jvmti::generate(Path::new(java_home)),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
