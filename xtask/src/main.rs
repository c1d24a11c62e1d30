//! perk's generators and checks: `cargo run -p xtask -- COMMAND`.

#![forbid(unsafe_code)]

mod arguments;
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

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// perk's generators, checks and benchmarks
#[derive(Debug, Parser)]
#[command(bin_name = "cargo run -p xtask --", disable_help_subcommand = true)]
enum Task {
    /// Check the rules of the workspace that the compiler does not enforce
    Check {
        /// The check that runs alone
        #[arg(value_parser = check::names())]
        name: Option<String>,
    },
    /// Write the tables of docs/formats/README.md
    Formats,
    /// Write crates/jvmti-sys/src/generated.rs from a JDK's jvmti.h
    Jvmti {
        /// The folder of the JDK
        java_home: PathBuf,
    },
    /// Write include/jvmpi.h and the Rust types of JVMPI from their table
    Jvmpi,
    /// Measure what perk costs
    #[command(subcommand)]
    Bench(bench::Benchmark),
    /// Run random programs under JDK 8's HPROF agent and under perk, whose counts must be equal
    Conform(conform::ConformArguments),
    /// Have other tools read the heap dumps of perk's agent, and compare the number of objects of each class
    Readers(readers::Tools),
    /// Sample programs that strain the JVM, and count crashes, hangs, other output, lost samples and memory
    ///
    /// The programs are javac, small ones that strain the JVM, and real ones, with each collector and
    /// compiler in turn.
    Soak(soak::SoakArguments),
    /// Run cargo-fuzz on the code that reads foreign bytes: no panic, no hang
    Fuzz(fuzz::FuzzArguments),
    /// Read and write the classes of a JDK, and run it with probes in all of them
    RoundtripJdk(roundtrip::RoundtripArguments),
    /// List the 30 slowest tests of a run of cargo-nextest
    Slow {
        /// The report of the run [default: that of the last run]
        junit_xml: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Check { name } => check::run(name.as_deref()),
        Task::Formats => check::formats::write(),
        Task::Jvmti { java_home } => jvmti::generate(&java_home),
        Task::Jvmpi => jvmpi::generate(),
        Task::Bench(benchmark) => bench::run(&benchmark),
        Task::Conform(arguments) => conform::run(&arguments),
        Task::Readers(tools) => readers::run(&tools),
        Task::Soak(arguments) => soak::run(&arguments),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::RoundtripJdk(arguments) => roundtrip::run(&arguments),
        Task::Slow { junit_xml } => slow::run(junit_xml.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Task::command().debug_assert();
    }
}
