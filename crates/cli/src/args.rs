//! The command line.

pub(crate) mod advice;
mod attach;
mod heap;
pub(crate) mod help;
mod measured;
mod profile;
mod report;
mod serve;
mod store;
mod values;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use perk_open::Format;
use perk_report::Limit;

use crate::file_format::{endings, written_format};
pub(crate) use attach::{AttachArgs, RemoteArgs, StartArgs, TopArgs};
pub(crate) use heap::{HeapArgs, Refs};
pub(crate) use measured::{AgentArguments, MeasurementArgs};
pub(crate) use profile::{FilterArgs, ReadArgs, WindowArgs};
pub(crate) use report::ReportArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use store::{PartArgs, SidePattern};
use values::{address, command, length, size, time};

/// A profiler for the JVM: see where a Java program spends its time.
#[derive(Debug, Parser)]
#[command(name = "perk", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        global = true,
        alias = "colour"
    )]
    pub(crate) color: Color,
}

/// When reports have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

const PS_NOTES: &str = "\
Each JVM is a line: its process id, its user, its Java version, its container, the state of perk's agent
(idle, recording, paused; - without an agent) and its main class or jar. Only the JVM's user and root can
see everything: ? replaces what perk cannot see. The exit code is 1 if there is no JVM.";

/// The heading of the options of a recording, in the help of commands that can do without one.
const RECORDING: &str = "Options of the recording of a running JVM, as of perk attach";

const EXAMPLES: &str = "\
Examples:
  perk run -- java -jar app.jar               profile a program, show its top methods
  perk run -o app.html -- mvn -q test         profile any launcher, write a flame graph
  perk attach Main --duration 30s             profile a running program (perk ps lists them)
  perk top Main                               watch a running program in the terminal
  perk report java.hprof.txt                  show a profile
  perk diff before.hprof after.hprof          compare two profiles
  perk heap app.hprof                         show what holds the memory of a heap dump
  perk serve --open app.hprof                 show a profile or a heap dump in the browser
  perk convert java.hprof.txt -o app.html     write a profile in another format

A time has a unit: us, ms, s, m or h, such as 500ms or 1.5s.

The exit code is 0, or 1 if a profile has nothing to report or two profiles differ, or 2 after an error.
`perk run` returns the exit code of the program.";

/// The action.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Attach(AttachArgs),
    /// List the running JVMs, with the state of perk's agent
    #[command(after_help = PS_NOTES)]
    Ps,
    Start(StartArgs),
    /// End the recording of a running JVM, and finish its file
    ///
    /// A recording of the JVM's own command line is paused instead: perk start resumes it.
    #[command(after_help = "Example:\n  perk stop 4711")]
    Stop(RemoteArgs),
    /// Write what was measured since the last dump to the file of the recording
    #[command(after_help = "Example:\n  perk dump 4711")]
    Dump(RemoteArgs),
    /// Forget what was measured so far
    #[command(after_help = "Example:\n  perk reset 4711")]
    Reset(RemoteArgs),
    /// Describe the agent and the recording of a running JVM
    #[command(after_help = "Example:\n  perk status 4711")]
    Status(RemoteArgs),
    Top(TopArgs),
    /// Record all JVMs of this machine, all the time
    ///
    /// Runs the program perk-fleet, which make install installs: perk record --help has its options.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  perk record --to /var/perk --keep 7d\n  perk record --help"
    )]
    Record {
        /// The options of perk-fleet record
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// List the methods of a store whose share changed beyond chance, from version to version
    ///
    /// Runs the program perk-fleet, which make install installs: perk regressions --help has its options.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  perk regressions /var/lib/perk --since 7d\n  perk regressions --help"
    )]
    Regressions {
        /// The options of perk-fleet regressions
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Ask profiles with SQL
    ///
    /// Runs the program perk-fleet, which make install installs: perk sql --help has its options.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  perk sql app.hprof \"SELECT class, method, self FROM methods\"\n  perk sql --help"
    )]
    Sql {
        /// The options of perk-fleet sql
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Keep recordings in a folder or a bucket, as tables
    ///
    /// Runs the program perk-fleet, which make install installs: perk store --help has its options.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  perk store add /var/lib/perk app.hprof\n  perk store --help"
    )]
    Store {
        /// The options of perk-fleet store
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<std::ffi::OsString>,
    },
    Listen(ListenArgs),
    Report(ReportArgs),
    Diff(DiffArgs),
    Heap(HeapArgs),
    Convert(ConvertArgs),
    View(ViewArgs),
    Serve(ServeArgs),
    /// List the formats that perk reads and writes
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
    Man(ManArgs),
}

/// Print a manual page, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  perk man run | man -l -\n  \
                        perk man --folder ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The command whose page to print [default: perk]
    pub(crate) command: Option<String>,
    /// Write the pages of perk and of all its commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) folder: Option<PathBuf>,
}

/// Profile a program from its start to its end
///
/// The program keeps its input, output and exit code, and gets the signals sent to perk. When it has ended,
/// perk shows where its time went on stderr and writes the profile.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk run -- java -cp classes Main arg
  perk run -o main.html -o main.hprof -- java -jar app.jar
  perk run --only cpu --interval 1ms --threads --top 30 -- java -jar app.jar
  perk run --cpu counts -- java -jar app.jar
  perk run --heap sites -- java -jar app.jar
  perk run --heap dump -o heap.hprof -- java -jar app.jar
  perk run --aprof --from-signal -- java -jar app.jar
  perk run --wall --threads -- java -jar app.jar
  perk run --cpu samples --wall --alloc --lock -o app.pb.gz -- java -jar app.jar
  perk run --locks -- java -jar app.jar
  perk run --xprof -- java -jar app.jar
  perk run --xprof=tiers,inlined -o app.xprof -- java -jar app.jar
  perk run --fields shared --include 'com.acme.*' -- java -jar app.jar
  perk run --jamaica=bytecodes -o app.prof -- java -jar app.jar
  perk run --jvmpi ./libprofiler.so=file=out.txt -- java -jar app.jar
  perk run --xrun -- java -Xrunprofiler:file=out.txt -jar app.jar
  perk run --paused -- java -jar app.jar
  perk run --delay 10s --duration 30s -o app.html -- java -jar server.jar
  perk run -- ./gradlew --no-daemon test

Without an option that says what to measure, perk takes samples of CPU time, of waits, of locks and of
allocations, at rates that cost about two percent of CPU time; --only leaves some of them out. A file has
the metrics that its format can hold: .hprof, .jfr, .html and .pb.gz hold most.

Without -o the profile goes to perk-<main>-<pid>.hprof in the working folder. A profile of CPU samples alone
goes to perk-<main>-<pid>.txt, and with --fields it goes to
perk-<main>-<pid>.fields.gz; -o x.tsv.gz gives each object its own record. --jamaica adds its profile to
java.prof, or to the file of -o. --xprof alone writes a file only with -o; with other measurements it prints
on stdout.

If the command starts several JVMs, one file has the numbers of all of them: each thread has the name of its
program and its process id (Main (pid 12): worker). Where a measurement does not distinguish threads, each
JVM is one thread. --per-process writes separate files for each JVM; heap dumps, --fields and --xprof always
do so. perk only counts the JVMs that did no measured work.

Ctrl-C goes to the program, as without perk; perk shows and writes the profile when the program has ended.
It also does so if the program is killed (kill -9, the kernel's OOM killer): samples, calls, allocation
sites and locks of the last few seconds are then missing.

--duration ends the recording while the program continues; perk itself ends with the program and its exit
code. --delay leaves out the start. Exact counts of calls and objects keep their probes for the whole run;
the counts begin from zero after the delay.

perk names the JVMs that java itself starts, and profiles them only with --children.

For the allocations between two moments, use --aprof --from-signal and send SIGQUIT at both moments, to the
JVM or to perk, which forwards it. The JVM also prints its threads at a SIGQUIT.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) measured: MeasurementArgs,
    /// Run a profiler library of JVMPI, the interface of JDK 1.2 to 5: foo, or ./libfoo.so=options
    #[arg(long, value_name = "LIB[=OPTIONS]")]
    pub(crate) jvmpi: Option<String>,
    /// Let the command's own -Xrun load such a library
    #[arg(long)]
    pub(crate) xrun: bool,
    /// The source of method events for this library [default: probes]
    #[arg(long, value_name = "SOURCE", value_enum)]
    pub(crate) methods: Option<Methods>,
    /// Send an event for each instruction to this library
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Measure nothing until perk start; perk stop pauses the recording
    #[arg(long, conflicts_with_all = ["jvmpi", "xrun", "delay", "duration"])]
    pub(crate) paused: bool,
    /// Begin the recording of each JVM this time after its start: 10s, 5m
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with_all = ["jvmpi", "xrun"])]
    pub(crate) delay: Option<Duration>,
    /// End the recording of each JVM after this time, and show and write the profile then; the program
    /// continues
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with_all = ["jvmpi", "xrun"])]
    pub(crate) duration: Option<Duration>,
    /// Also profile the JVMs that java itself starts: each of them prints a line on stderr
    #[arg(long, conflicts_with_all = ["jvmpi", "xrun"])]
    pub(crate) children: bool,
    /// Write separate files for each JVM, with its process id before the ending
    #[arg(long, conflicts_with_all = ["jvmpi", "xrun"])]
    pub(crate) per_process: bool,
    /// The program to profile: `java` with its arguments, or a command that starts it
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The source of method events for a profiler of JVMPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Methods {
    /// Instructions that perk puts into the methods
    Probes,
    /// The JVM's own events, for which it only interprets
    Vm,
}

/// Receive the profile of an agent with net=host:port, and send it commands
///
/// perk writes received data to the file at once. Type commands, or give them with --send; the command help
/// lists them. perk prints totals of the heap on stdout.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk listen --port 4000 -o app.hprof
  java \"-agentpath:$(perk agent-path)=cpu=samples,format=b,net=localhost:4000\" -jar app.jar
  perk listen --port 4000 --send heap-summary,alloc-sites+gc=0.01 --after 10s -o app.hprof
  echo dump-heap | perk listen --port 4000 -o app.hprof

Commands:
  force-gc, dump-heap, alloc-sites[+changed][+allocated][+gc][=SHARE], heap-summary, dump-traces,
  cpu-samples[=SHARE], alloc-on, alloc-off, cpu-on[=THREAD], cpu-off[=THREAD], clear-cpu,
  clear-sites, depth=N, exit, eof
A THREAD is the number in its START record, or 0x and the id of its object.")]
pub(crate) struct ListenArgs {
    /// The port to listen on [default: any free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// The address to listen on; anybody who can reach it can connect
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) bind: IpAddr,
    /// Write the profile here [default: perk-PORT.hprof, or .txt if it is text]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Send these commands when the program has connected (repeatable, or with commas)
    #[arg(long, value_name = "COMMAND", value_delimiter = ',', value_parser = command)]
    pub(crate) send: Vec<perk_control::Command>,
    /// Wait this long before each command of --send: 500ms, 2s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub(crate) after: Duration,
    /// Receive at most this size: 500m, 8g [default: 64g]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64g",
          hide_default_value = true)]
    pub(crate) max_bytes: u64,
    /// Give up if the program sends nothing for this time: 500ms, 2s; 0s for no limit [default: 60s for its
    /// header, no limit after that]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) idle_timeout: Option<Duration>,
}

/// Compare two profiles
///
/// The first line says what changed most and where. Then each metric has the methods that changed, most
/// first. perk compares calls, allocations, accesses to fields and bytecodes exactly. Changes of samples
/// have a margin of error, which depends on their number. Times do not count as a difference, as they vary
/// from run to run. Lambdas of a class count as one. Without --fail-on the exit code is 1 if any exact
/// count differs; with it, if a limit is exceeded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk diff before.hprof after.hprof
  perk diff --fail-on 'calls>+5%' --fail-on 'allocated_bytes>+1%' before.hprof after.hprof
  perk diff --fail-on 'calls(com.acme.Foo.bar)>+0' before.hprof after.hprof
  perk diff --fail-on 'total(com.acme.Foo.bar)>+5ms' before.hprof after.hprof
  perk diff --fail-on 'bytecodes(com.acme.*)>+0.1%' before.prof after.prof
  perk diff --fail-on 'calls>+5%' --junit limits.xml --markdown before.hprof after.hprof > comment.md
  perk diff before.hprof after.hprof -o diff.html
  perk diff /var/lib/perk --service shop --base version=1.4.1 --new version=1.4.2
  perk diff s3://profiles/shop --service shop --base 14d..7d --new 7d..
  perk diff before.hprof after.hprof --json |
    jq -r '.metrics[:1][].methods[:5][] | [.change.self, .name] | @tsv'

A limit is a number, `>+` for growth or `<-` for shrinking, and an amount: 5%, 20ms (ns, us, ms, s), 10MB (B,
kB, MB, GB, KiB, MiB, GiB), or a count. A NAME selects methods. Numbers:
total(NAME), self(NAME): the time of the methods with all that they called, or of themselves, by calls or by
    samples; with --metric, the number of that metric. time(NAME) and self_ns(NAME) are always the time
calls, samples, allocated_bytes, allocated_count, live_bytes, live_count, lock_time, lock_count, heap_bytes,
    heap_count, accesses, shared_accesses, shared_objects, or the name of another tool's metric
For allocations, NAME selects classes, and the allocations of methods; for locks and shared objects,
classes; for accesses, fields and classes. `samples(NAME)` is the share of all samples with the method on
top.")]
pub(crate) struct DiffArgs {
    /// The first profile; with --base and --new a store that has both
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The second profile
    #[arg(value_name = "AFTER", required_unless_present = "new")]
    pub(crate) after: Option<PathBuf>,
    /// The first side, in a store: a label or a time, version=1.4.1 or 14d..7d (repeatable: all must match)
    #[arg(long, value_name = "SIDE", requires = "new")]
    pub(crate) base: Vec<SidePattern>,
    /// The second side, in a store: version=1.4.2 or 7d..
    #[arg(long, value_name = "SIDE", requires = "base", conflicts_with = "after")]
    pub(crate) new: Vec<SidePattern>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Exit with 1 if this limit is exceeded: 'calls>+5%' (repeatable)
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail_on: Vec<Limit>,
    /// Rows of each table, including changes that may be chance [default: 5 to 15, of the three metrics
    /// that changed most; with --json: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Compare samples and times by their share of the total, for runs of different length
    #[arg(long)]
    pub(crate) normalize: bool,
    /// Write all differences as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write all differences as CSV, one line per number
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write Markdown, for a comment of a pull request: 20 lines, without a limit with --top
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    pub(crate) markdown: bool,
    /// Write the limits as test cases to this file, as JUnit does
    #[arg(long, value_name = "FILE", requires = "fail_on")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Write both profiles as one flame graph, coloured by the change: .html, .svg, or .collapsed with two
    /// numbers per line (repeatable)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The metric to compare by method, and in the flame graph [default: all; in the flame graph, the
    /// first that both profiles have]
    #[arg(long, visible_alias = "value", value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// The profile whose numbers are the widths of the flame graph
    #[arg(long, value_name = "SIDE", value_enum, default_value = "after", requires = "output")]
    pub(crate) by: Side,
}

/// One of two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// The first
    Before,
    /// The second
    After,
}

/// Write a profile in another format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk convert java.hprof.txt -o app.html
  perk convert app.hprof -o app.collapsed
  perk convert app.hprof --metric calls -o calls.html
  perk convert app.hprof --focus Main.parse -o parse.html
  perk convert app.hprof --from 2s --to 5s -o part.html
  perk convert app.tsv.gz -o fields.html
  perk convert app.hprof --output-format collapsed -o - | grep Main.parse
  perk convert /var/lib/perk --service shop --since 24h -o shop.html")]
pub(crate) struct ConvertArgs {
    /// The profile, or a store; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[arg(short, long, value_name = "FILE", help = format!(
        "The file to write, in the format of the ending: {}; - is stdout",
        endings()
    ))]
    pub(crate) output: PathBuf,
    /// The format to write [default: that of the ending of the output file]
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub(crate) output_format: Option<Format>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Put the values of this label at the root of all stacks: request, trace_id
    #[arg(long, value_name = "LABEL")]
    pub(crate) by: Option<String>,
    /// Distinguish threads in collapsed stacks and .svg
    #[arg(long)]
    pub(crate) threads: bool,
    /// The metric of collapsed stacks and flame graphs: samples, time, calls, wall, allocated,
    /// objects, live, blocked, waited, or another that the profile has [default: the first that it has]
    #[arg(long, visible_alias = "value", value_name = "NAME")]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Browse a profile in the terminal
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk view app.hprof
  perk view java.hprof.txt
  perk view --metric wall app.hprof
  perk view --from 2s --to 5s app.hprof
  perk view --focus 'com.acme.*' app.hprof
  perk view /var/lib/perk --service shop --since 1h
  ssh -t host perk view app.hprof")]
pub(crate) struct ViewArgs {
    /// The profile, or a store; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// The metric to begin with; v shows the next one [default: the first that the profile has]
    #[arg(long, visible_alias = "value", value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Put the values of this label at the root of all stacks: request, trace_id
    #[arg(long, value_name = "LABEL")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Print the path of the agent, for your own java command line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  java \"-agentpath:$(perk agent-path)=cpu=samples,file=app.txt\" -jar app.jar
  LD_LIBRARY_PATH=$(perk agent-path --hprof) java -agentlib:hprof=cpu=samples -jar app.jar
  cc -shared -fPIC \"-I$(perk agent-path --include)\" \"-I$JAVA_HOME/include\" \"-I$JAVA_HOME/include/linux\" \\
    -o libprofiler.so profiler.c")]
pub(crate) struct AgentPathArgs {
    /// Print a folder that holds the agent as libhprof.so
    #[arg(long)]
    pub(crate) hprof: bool,
    /// Print a folder that holds jvmpi.h, for the compilation of JVMPI profilers
    #[arg(long, conflicts_with = "hprof")]
    pub(crate) include: bool,
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
    fn the_program_keeps_its_arguments() {
        let cli = Cli::parse_from(["perk", "run", "--top", "3", "--", "java", "--top", "4", "--"]);
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["java", "--top", "4", "--"]);
        let cli = Cli::parse_from(["perk", "run", "java", "-jar", "-o"]);
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["java", "-jar", "-o"]);
    }
}
