//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::form::Form;

/// A profiler for the JVM: see where a Java program spends its time.
#[derive(Debug, Parser)]
#[command(name = "perk", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  perk run -- java -jar app.jar               profile a program, show its top methods
  perk run -o app.html -- mvn -q test         any launcher; a flame graph for the browser
  perk report java.hprof.txt                  what a profile says
  perk convert java.hprof.txt -o app.html     another form of the same profile

Exit code: 0, or 1 if a profile has nothing to report, or 2 after an error. `perk run` gives the
program's own.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Report(ReportArgs),
    Convert(ConvertArgs),
    /// List the forms of profiles that perk reads and writes
    #[command(after_help = "Example:\n  perk formats")]
    Formats,
    AgentPath(AgentPathArgs),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  perk completions bash > \
                            ~/.local/share/bash-completion/completions/perk")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Profile a program from its start to its end
///
/// The program keeps its input, output and exit code, and gets the signals sent to perk. When it
/// has ended, perk shows the top methods on stderr and writes the profile.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk run -- java -cp classes Main arg
  perk run -o main.html -o main.hprof -- java -jar app.jar
  perk run --interval 1ms --threads --top 30 -- java -jar app.jar
  perk run -- ./gradlew --no-daemon test

Without -o the profile goes to perk-<main>-<pid>.txt in the working folder. Where the command
starts several JVMs, each gets files of its own, with its process id before the ending.")]
pub(crate) struct RunArgs {
    /// How CPU time is measured
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    pub(crate) cpu: Cpu,
    /// CPU time between two samples of a thread: 10ms, 500us, 1s
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = interval)]
    pub(crate) interval: String,
    /// Frames to keep of each stack
    #[arg(long, value_name = "N", default_value_t = 2048,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(crate) depth: u32,
    /// Keep the threads apart
    #[arg(long)]
    pub(crate) threads: bool,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,
    /// Show no table, only what went wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write the profile here, in the form of the ending: .txt .hprof .collapsed .html (repeatable)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The program to profile: `java` with its arguments, or whatever starts one
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How CPU time is measured.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Cpu {
    /// Stacks of the threads that use CPU time, each worth the time it stands for
    #[default]
    Samples,
}

/// Show the top methods and call paths of a profile
///
/// Reads every form that perk writes; the content tells the form, not the name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk report java.hprof.txt
  perk report --traces --top 5 app.hprof
  perk report --threads app.hprof
  perk report --json app.hprof | jq -r '.methods[:5][] | [.self_count, .name] | @tsv'
  ssh host cat app.hprof | perk report -")]
pub(crate) struct ReportArgs {
    /// The profile; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Rows of each table [default: 15; with --json: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// A table for each thread, too
    #[arg(long)]
    pub(crate) threads: bool,
    /// Under each method the call traces it was on top of
    #[arg(long)]
    pub(crate) traces: bool,
    /// Everything as JSON: methods, paths, threads, accounting
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a profile in another form
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk convert java.hprof.txt -o app.html
  perk convert app.hprof -o app.collapsed
  perk convert app.hprof --to collapsed -o - | grep Main.parse")]
pub(crate) struct ConvertArgs {
    /// The profile; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The form to write; without it, the ending of the output file decides
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) to: Option<Form>,
}

/// Print where the agent is, for a java command line of your own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  java -agentpath:$(perk agent-path)=cpu=samples,file=app.txt -jar app.jar
  LD_LIBRARY_PATH=$(perk agent-path --hprof) java -agentlib:hprof=cpu=samples -jar app.jar")]
pub(crate) struct AgentPathArgs {
    /// Print a folder that holds the agent as libhprof.so
    #[arg(long)]
    pub(crate) hprof: bool,
}

/// Takes what the agent takes; a number alone is milliseconds.
fn interval(text: &str) -> Result<String, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "ms" } else { unit };
    match (number.parse::<i32>(), unit) {
        (Ok(1..), "us" | "ms" | "s") => Ok(format!("{number}{unit}")),
        _ => Err("use a whole number and us, ms or s, such as 10ms".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn intervals() {
        for (text, value) in [("10ms", "10ms"), ("1", "1ms"), ("500us", "500us"), ("2s", "2s")] {
            assert_eq!(interval(text).as_deref(), Ok(value));
        }
        for text in ["", "0", "0ms", "-1ms", "ms", "1.5ms", "1 ms", "10min", "99999999999ms"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_program_keeps_its_arguments() {
        let cli = Cli::parse_from(["perk", "run", "--top", "3", "--", "java", "--top", "4", "--"]);
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["java", "--top", "4", "--"]);
        let cli = Cli::parse_from(["perk", "run", "java", "-jar", "-o"]);
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["java", "-jar", "-o"]);
    }
}
