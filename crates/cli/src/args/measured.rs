//! The measurements of `perk run` and `perk attach`, and what is shown and written of them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perk_control::options;
use perk_profile::{NamePattern, WholePattern};

use crate::file_format::endings;

/// What is measured, shown and written.
#[derive(Clone, Debug, Args)]
pub(crate) struct Measured {
    /// Measurement of the program's time [default: samples, or off with others]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) cpu: Option<Cpu>,
    /// Sample what all threads do and wait for, by the clock, at this interval [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = interval, num_args = 0..=1,
          require_equals = true, default_missing_value = "10ms")]
    pub(crate) wall: Option<u64>,
    /// The threads of --wall, by name: main, 'http-*' (repeatable, or with commas) [default: those of
    /// the program; '*': also the JDK's own]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = thread_name)]
    pub(crate) wall_threads: Vec<WholePattern>,
    /// Estimate allocated and live objects from one sample per SIZE bytes [default: 512k]; the same as
    /// --heap sites --sample SIZE
    #[arg(long, value_name = "SIZE", value_parser = count, num_args = 0..=1, require_equals = true,
          default_missing_value = "512k", conflicts_with_all = ["heap", "sample"])]
    pub(crate) alloc: Option<u64>,
    /// Measurement of the program's objects
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) heap: Option<Heap>,
    /// Count the objects and bytes allocated for each class
    #[arg(long)]
    pub(crate) aprof: bool,
    /// Print what kind of code the threads run, by method, as the JVM's -Xprof did: on the program's
    /// stdout, or into -o x.xprof. Alone or with KINDs: the same, told apart (repeatable, or with commas)
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, require_equals = true,
          value_delimiter = ',')]
    pub(crate) xprof: Option<Vec<Xprof>>,
    /// Count the accesses to the fields of each object, by the thread that made it and by others
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) fields: Option<Fields>,
    /// The accesses that --fields counts [default: instructions]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) accesses: Option<Accesses>,
    /// Count executed bytecodes exactly, for JamaicaVM's profile [default: all]
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    pub(crate) jamaica: Option<Jamaica>,
    /// Replace the file of --jamaica; without this, the run is added to it
    #[arg(long)]
    pub(crate) force: bool,
    /// Measure how long threads wait to enter monitors (synchronized) and to be notified
    #[arg(long)]
    pub(crate) monitor: bool,
    /// Measure also how long threads park for locks of java.util.concurrent; implies --monitor
    #[arg(long, visible_alias = "lock")]
    pub(crate) locks: bool,
    /// At each SIGQUIT and at the end, print on stdout the counts of --aprof since the last time
    #[arg(long)]
    pub(crate) from_signal: bool,
    /// CPU time between two samples of a thread: 10ms, 500us, 1s [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) interval: Option<u64>,
    /// The engine of CPU samples [default: auto]
    #[arg(long, value_name = "ENGINE", value_enum)]
    pub(crate) engine: Option<Engine>,
    /// Show native functions, stubs of the JVM and functions of the kernel above Java methods
    #[arg(long)]
    pub(crate) native: bool,
    /// Timing of calls [default: tick]
    #[arg(long, value_name = "METHOD", value_enum)]
    pub(crate) timing: Option<Timing>,
    /// The clock of call times [default: cpu, or wall with --timing exact]
    #[arg(long, value_name = "CLOCK", value_enum)]
    pub(crate) clock: Option<Clock>,
    /// Count only calls of these classes and methods: 'com.acme.*', Foo.bar (repeatable, or with commas)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = pattern)]
    pub(crate) include: Vec<NamePattern>,
    /// Leave out calls of these classes and methods (repeatable, or with commas)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = pattern)]
    pub(crate) exclude: Vec<NamePattern>,
    /// The classes that are the program's own, for reports: 'com.acme.*' (repeatable, or with commas)
    /// [default: the packages of the main class and of the class path's folders]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = pattern)]
    pub(crate) app: Vec<NamePattern>,
    /// Limit of call tree nodes; calls beyond it are counted without their path [default: 8m]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_nodes: Option<u64>,
    /// Limit of the memory for call paths; new ones beyond it are cut short, or counted by method alone
    /// [default: 256m]
    #[arg(long, value_name = "SIZE", value_parser = count)]
    pub(crate) memlimit: Option<u64>,
    /// Do not keep changed classes of the JDK in the user's cache folder, and take none from there
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Estimate --heap sites from one sample per SIZE bytes: 512k, 1m
    #[arg(long, value_name = "SIZE", value_parser = sample)]
    pub(crate) sample: Option<u64>,
    /// Collect garbage before --heap reads the objects [default of perk run where it counts live ones]
    #[arg(long)]
    pub(crate) gc: bool,
    /// Do not collect garbage: dead objects that no collection has removed yet count, too
    #[arg(long, conflicts_with = "gc")]
    pub(crate) no_gc: bool,
    /// Count allocated objects alone, which costs less: --heap sites then does not look for live ones
    #[arg(long, conflicts_with = "gc")]
    pub(crate) no_live: bool,
    /// Keep passwords, tokens and keys of the command line in files and reports; without this, *** stands
    /// there
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Frames to keep of each stack
    #[arg(long, value_name = "N", default_value_t = 2048,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(crate) depth: u32,
    /// Tell all threads apart: virtual ones, those of exact counts, and in flame graphs, too [default:
    /// platform threads, in samples and waits]
    #[arg(long)]
    pub(crate) threads: bool,
    /// Rows of each table at the end [default: as many as fit]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show only errors, without a table
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[arg(short, long, value_name = "FILE", help = format!(
        "Write the profile here, in the form of the ending: {} (repeatable)",
        endings()
    ))]
    pub(crate) output: Vec<PathBuf>,
}

/// Measurement of the program's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cpu {
    /// Sample the stacks of threads that use CPU time
    Samples,
    /// Count and time every call, by call path
    Times,
    /// Count and time every call, by caller and callee
    Old,
    /// Measure no time
    Off,
}

/// Measurement of the program's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Heap {
    /// Count allocated and live objects and bytes by class and allocation site
    Sites,
    /// Dump all objects at the end, as a heap dump (.hprof) for perk and other tools
    Dump,
    /// Both; each object of the dump has the call trace of its allocation
    All,
}

/// What the tables of `--xprof` tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Xprof {
    /// What C1 compiled, and what C2 compiled
    Tiers,
    /// Inlined methods, instead of those that they were inlined into
    Inlined,
    /// All methods, instead of the first 10 of each table
    All,
}

/// Accesses to fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fields {
    /// Which fields of which objects are read and written by which threads
    Shared,
}

/// The accesses to fields that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Accesses {
    /// Those by instructions of Java code
    Instructions,
    /// Also those that no instruction makes: System.arraycopy, clone(), reflection, Unsafe
    Extended,
}

/// The content of JamaicaVM's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Jamaica {
    /// Bytecodes, cycles, calls, natives, arrays, classes, threads and the heap
    All,
    /// Bytecodes by method and line, at less cost
    Bytecodes,
}

/// The engine of CPU samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Signals where they work, else polling, with a warning
    Auto,
    /// Interrupt threads where they are (Linux on x86-64): right to the line
    Signal,
    /// Walk the stacks of threads at their next safepoint: works everywhere, names the wrong method at times
    Polling,
}

/// Timing of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Timing {
    /// Read a clock in memory that a thread of the agent updates: right in sums, cheap
    Tick,
    /// Read the JVM's nanosecond clock at each entry and exit: right per call, expensive
    Exact,
    /// Count calls without timing them
    None,
}

/// The clock of call times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// CPU time of the thread
    Cpu,
    /// Wall-clock time, including time blocked and asleep
    Wall,
}

/// A time in the agent's syntax, in nanoseconds.
fn interval(text: &str) -> Result<u64, String> {
    let error = "use a whole number and us, ms or s, such as 10ms";
    options::interval_ns(text).ok_or_else(|| error.to_owned())
}

/// A number in the agent's syntax.
fn count(text: &str) -> Result<u64, String> {
    let error =
        "use a whole number, with k (1024), m (1024 k) or g (1024 m) after it, such as 512k";
    options::scaled(text).ok_or_else(|| error.to_owned())
}

/// A size that the JVM can take samples at, in the agent's syntax.
fn sample(text: &str) -> Result<u64, String> {
    options::sample_bytes(text).ok_or_else(|| "use a size below 2g, such as 512k".to_owned())
}

/// A name of threads in the agent's syntax.
fn thread_name(text: &str) -> Result<WholePattern, String> {
    let error = "use the name of a thread, * for any part of it, without colons, such as http-*";
    options::thread_name(text).ok_or_else(|| error.to_owned())
}

/// A name of classes or methods in the agent's syntax.
fn pattern(text: &str) -> Result<NamePattern, String> {
    let error = "use a class or method with dots, * for any part of it, such as com.acme.*";
    options::pattern(text).ok_or_else(|| error.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        for (text, ns) in
            [("10ms", 10_000_000), ("1", 1_000_000), ("500us", 500_000), ("2s", 2_000_000_000)]
        {
            assert_eq!(interval(text), Ok(ns));
        }
        for text in ["", "0", "0ms", "-1ms", "ms", "1.5ms", "1 ms", "10min", "99999999999ms"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_and_patterns() {
        for (text, number) in [("1", 1), ("512k", 512 << 10), ("8m", 8 << 20), ("1g", 1 << 30)] {
            assert_eq!(count(text), Ok(number));
        }
        for text in ["", "0", "k", "-1", "1.5m", "1t", "1 k", "1km"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(
            (sample("512k"), sample("1g").is_ok(), sample("2g").is_ok()),
            (Ok(512 << 10), true, false)
        );
        for text in ["com.acme.*", "*Parser", "Größe$Inner"] {
            assert_eq!(pattern(text).unwrap().as_str(), text);
        }
        for text in ["", "a:b", "com/acme/Foo", "a b", "Lcom.acme.Foo;", "com..Foo", ".Foo", "a.[]"]
        {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
