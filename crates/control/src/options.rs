//! HPROF's options, as `-agentlib:hprof=<options>` takes them.
//!
//! One table (`table.rs`) defines every option. Parsing, the `help` text and `docs/options.md` use
//! it.
//!
//! # Grammar
//!
//! The string is a sequence of names, each up to `=`, and values, each up to `,`. Nothing is
//! trimmed, and case matters. A name without `=` takes the rest of the string, so `heap=sites,help`
//! is an unknown option. A name that is empty or longer than 15 bytes is a general syntax error.
//! The first error is reported. If an option is given twice, its last value counts, with two
//! exceptions: `file` and `net` may appear only once between them, and `heap` and `cpu` add up
//! (`cpu=times` and `cpu=old` replace each other). `help` counts only as the whole string. The
//! environment variable `_JAVA_HPROF_OPTIONS` is appended after a comma.
//!
//! # Differences from the original
//!
//! - Numbers that do not fit into 32 bits are refused, with the original's text; the original
//!   wrapped them.
//! - Switches for debugging the original itself (`logflags`, `coredump`, ...) have no effect,
//!   except for `pause`.
//! - `force=n` never overwrites: if `<prefix>.<pid><suffix>` exists too, a counter is added.
//! - Additions: `format=p`, a unit in `interval`, `%p` in `file`, and the options of the section
//!   `Perk`. `include` and `exclude` add up.
//! - The help text has a title and warnings of its own, and a section on the additions; its usage
//!   lines, option tables, examples and notes are the original's.

mod file_name;
mod numbers;
mod print;
mod table;
mod usage;

pub use file_name::resolve_file_name;
use perk_profile::{NamePattern, WholePattern};
use table::{Set, TABLE};
pub use table::{interval_ns, pattern, sample_bytes, scaled, thread_name};
pub use usage::{options_markdown, usage};

/// The environment variable whose value is appended to the agent's options.
pub const OPTIONS_VARIABLE: &str = "_JAVA_HPROF_OPTIONS";

/// The interval of `wall=y`, in nanoseconds.
pub const WALL_INTERVAL_NS: u64 = 10_000_000;

/// Longest option name and port number, in bytes.
const MAX_NAME_LEN: usize = 15;
/// Longest value, in bytes (the original's `FILENAME_MAX`).
const MAX_VALUE_LEN: usize = 4096;

/// The options of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Write a heap dump (`heap=dump`).
    pub heap_dump: bool,
    /// Write allocation sites (`heap=sites`).
    pub heap_sites: bool,
    /// CPU profiling.
    pub cpu: Cpu,
    /// Monitor contention.
    pub monitor: bool,
    /// Also report what threads park for: the locks of `java.util.concurrent` (`locks=y`).
    pub locks: bool,
    /// The form of the output.
    pub format: Format,
    /// The destination of the output.
    pub output: Output,
    /// The number of frames kept of each stack trace.
    pub depth: u32,
    /// The number of frames kept of each trace of `cpu=times`: 2 with `cpu=old`, otherwise `depth`.
    pub timing_depth: u32,
    /// The time between samples, in nanoseconds; never 0.
    pub interval_ns: u64,
    /// The share of the total below which rows are left out; a ratio, not a percentage.
    pub cutoff: f64,
    /// Include line numbers in traces.
    pub lineno: bool,
    /// Treat the thread as part of a trace's identity.
    pub thread: bool,
    /// With `thread`: tell only platform threads apart, and only in samples and waits; all virtual
    /// threads are one (`thread-kinds=platform`).
    pub platform_threads: bool,
    /// Dump on exit.
    pub doe: bool,
    /// Overwrite an existing file.
    pub force: bool,
    /// Replace an existing file instead of appending to it (`jamaica` with `force=y`).
    pub replace: bool,
    /// Report on stderr what is dumped.
    pub verbose: bool,
    /// Keep the values of primitive fields in a binary heap dump.
    pub prim_fields: bool,
    /// Keep the elements of primitive arrays in a heap dump.
    pub prim_arrays: bool,
    /// Write ids of four bytes in binary output, for old readers (`idsize=4`); otherwise of eight.
    pub short_ids: bool,
    /// Write version 1.0.1 of binary output, for old readers; otherwise 1.0.2.
    pub version_1_0_1: bool,
    /// The classes that get a LOAD CLASS record in binary output.
    pub classes: Classes,
    /// The engine of CPU samples.
    pub engine: SampleEngine,
    /// Whether CPU samples have native frames above Java ones.
    pub native: bool,
    /// The clock of call times, if one was given: see [`Options::clock`].
    pub clock: Option<Clock>,
    /// The way in which calls are timed.
    pub timing: TimingMethod,
    /// The classes and methods whose calls are counted; empty means all.
    pub include: Vec<NamePattern>,
    /// The classes and methods whose calls are not counted.
    pub exclude: Vec<NamePattern>,
    /// The classes that are the program's own, for reports; empty means those around the main class.
    pub app: Vec<NamePattern>,
    /// The mean number of allocated bytes per sample of `heap=sites`; `None` counts every
    /// allocation.
    pub heap_sample_bytes: Option<u64>,
    /// The time between two wall-clock samples of a thread, in nanoseconds, never 0; `None` takes
    /// none.
    pub wall_ns: Option<u64>,
    /// The names of the threads with wall-clock samples; empty means those of the program.
    pub wall_threads: Vec<WholePattern>,
    /// Collect garbage before live objects are counted at a dump.
    pub gc: bool,
    /// Count the live objects of the sites, and not only the allocated ones.
    pub live: bool,
    /// Write the allocated objects and bytes per class, as `-Xaprof` did.
    pub aprof: bool,
    /// Write them at each dump, for the allocations since the previous one (`aprof=between`).
    pub aprof_between: bool,
    /// Print the tables of `-Xprof`.
    pub xprof: Option<Xprof>,
    /// Write JamaicaVM's profile, with these counts.
    pub jamaica: Option<Jamaica>,
    /// Count the accesses to the fields of each object (`fields=shared`).
    pub fields: bool,
    /// Write one record for all objects of a site with the same counts (`aggregate=site`).
    pub aggregate: bool,
    /// The index by which the file of `fields=shared` gives a site.
    pub site_index: SiteIndex,
    /// Also count the accesses that no instruction makes (`accesses=extended`).
    pub extended_accesses: bool,
    /// The limit of the memory for the records of objects or for call traces, in bytes, if it is
    /// given: see [`Options::record_limit_bytes`] and [`Options::trace_limit_bytes`].
    pub memory_limit_bytes: Option<u64>,
    /// The maximum number of nodes that the call trees may have.
    pub max_nodes: u64,
    /// Keep the changed classes of the JDK in the user's cache folder, and take them from there.
    pub cache: bool,
    /// Measure from the program's start on; otherwise from a command to the control socket on.
    pub start: bool,
    /// The time until anything is measured, in nanoseconds, never 0.
    pub delay_ns: Option<u64>,
    /// The time after which the recording ends, in nanoseconds, never 0; `None` is the end of the
    /// program.
    pub duration_ns: Option<u64>,
    /// The time after which the file shows again what was measured so far, in nanoseconds, never 0.
    pub flush_ns: Option<u64>,
    /// Keep the secrets of the program's command line, and do not mask them.
    pub secrets: bool,
    /// Wait for a debugger when the agent is loaded.
    pub pause: bool,
    /// The whole option string, including the part from the environment variable.
    pub raw: String,
}

/// The kinds of CPU profiling that are on; sampling and timing can be on together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// `cpu=samples`
    pub samples: bool,
    /// `cpu=times` or `cpu=old`
    pub times: Option<TimesForm>,
}

/// The tables of `-Xprof`, which differ from the original's by these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Xprof {
    /// List methods compiled by C1 and by C2 in tables of their own (`xprof=tiers`).
    pub tiers: bool,
    /// List methods that are inlined, instead of those whose code they are part of
    /// (`xprof=inlined`).
    pub inlined: bool,
    /// List all methods, and not only the first 10 of each table (`xprof=all`).
    pub all: bool,
}

/// The counts of JamaicaVM's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jamaica {
    /// `jamaica=bytecodes`: executed bytecodes, by method and line, and arrays.
    Bytecodes,
    /// `jamaica=y`: all.
    All,
}

/// The form in which method times are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimesForm {
    /// `cpu=times`: per trace.
    Times,
    /// `cpu=old`: per pair of caller and callee, as JDK 1.1's `-prof`.
    Old,
}

/// The clock of call times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// `clock=cpu`: the time for which a thread ran.
    Cpu,
    /// `clock=wall`: the time that passed, including blocked and sleeping time.
    Wall,
}

/// The engine that takes CPU samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SampleEngine {
    /// `engine=auto`: by signals where they work, else by polling.
    #[default]
    Auto,
    /// `engine=polling`: a thread of the agent walks the stacks of those that ran, at safepoints.
    Polling,
    /// `engine=signal`: a timer interrupts each thread where it is.
    Signal,
}

/// The way in which calls are timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimingMethod {
    /// `timing=tick`: probes read a word that a thread of the agent updates with the time.
    #[default]
    Tick,
    /// `timing=exact`: probes read `System.nanoTime`.
    Exact,
    /// `timing=none`: calls are counted and not timed.
    None,
}

/// The index of an instruction that allocates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SiteIndex {
    /// `site-index=instruction`: the number of the instructions before it.
    #[default]
    Instruction,
    /// `site-index=bci`: its position in the bytecode.
    Bci,
    /// `site-index=disl2012`: the number that the Shared Fields Analysis of 2012 wrote, which begins
    /// with 1 and counts labels.
    Disl2012,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `format=a`
    Ascii,
    /// `format=b`
    Binary,
    /// `format=p`: perk's extended binary format, which holds every analysis in full depth.
    Extended,
}

/// The destination of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The default file: `java.hprof.txt`, or `java.hprof` with `format=b|p`.
    Default,
    /// A file by its name, in which `%p` is not yet replaced: see [`resolve_file_name`].
    File(String),
    /// A socket.
    Net {
        /// The host's name or address.
        host: String,
        /// The port as written, unchecked; 0 if it was not a number.
        port: i32,
    },
}

/// The classes that get a LOAD CLASS record in binary output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classes {
    /// Every class that the VM loads, as in the original.
    All,
    /// Only classes that appear in a trace.
    Used,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            heap_dump: false,
            heap_sites: false,
            cpu: Cpu::default(),
            monitor: false,
            locks: false,
            format: Format::Ascii,
            output: Output::Default,
            depth: 4,
            timing_depth: 4,
            interval_ns: 10_000_000,
            cutoff: 0.0001,
            lineno: true,
            thread: false,
            doe: true,
            force: true,
            replace: false,
            verbose: true,
            prim_fields: true,
            prim_arrays: true,
            short_ids: false,
            version_1_0_1: false,
            classes: Classes::All,
            clock: None,
            engine: SampleEngine::default(),
            native: false,
            timing: TimingMethod::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            app: Vec::new(),
            heap_sample_bytes: None,
            wall_ns: None,
            wall_threads: Vec::new(),
            platform_threads: false,
            gc: false,
            live: true,
            aprof: false,
            aprof_between: false,
            xprof: None,
            jamaica: None,
            fields: false,
            aggregate: false,
            site_index: SiteIndex::default(),
            extended_accesses: false,
            memory_limit_bytes: None,
            max_nodes: 8 << 20,
            cache: true,
            start: true,
            delay_ns: None,
            duration_ns: None,
            flush_ns: None,
            secrets: false,
            pause: false,
            raw: String::new(),
        }
    }
}

/// The action that an option string asks for.
#[expect(clippy::large_enum_variant, reason = "there is one, for a moment")]
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// Print [`usage`] on stdout and exit with code 0.
    Help,
    /// Profile.
    Run(Options),
}

/// An error for an option string that cannot be parsed. Its text is the line for stderr.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HPROF ERROR: hprof option error: {message} ({options}) [hprof_init.c:495]")]
pub struct OptionError {
    /// The description of the error.
    pub message: String,
    /// The whole option string.
    pub options: String,
}

impl OptionError {
    /// The exit code that goes with the message.
    pub const EXIT_CODE: i32 = 1;
}

impl Options {
    /// Whether a peer gets the output, and may send commands.
    pub fn has_peer(&self) -> bool {
        matches!(self.output, Output::Net { .. })
    }

    /// Whether an analysis puts probes into classes.
    pub fn changes_classes(&self) -> bool {
        let has_exact_sites = self.heap_sites && self.heap_sample_bytes.is_none();
        let has_calls = self.cpu.times.is_some() || self.jamaica.is_some();
        has_calls || has_exact_sites || self.aprof || self.fields
    }

    /// Parses the agent's options, with the value of [`OPTIONS_VARIABLE`] if it is set.
    pub fn parse(agent_options: &str, env: Option<&str>) -> Result<Parsed, OptionError> {
        if agent_options == "help" {
            return Ok(Parsed::Help);
        }
        let raw = match env {
            Some(env) if agent_options.is_empty() => env.to_owned(),
            Some(env) if !env.is_empty() => format!("{agent_options},{env}"),
            _ => agent_options.to_owned(),
        };
        let mut options = Options::default();
        match options.read(&raw) {
            Ok(()) => {
                options.raw = raw;
                Ok(Parsed::Run(options))
            }
            Err(message) => Err(OptionError { message, options: raw }),
        }
    }

    /// Returns the clock of call times. Without `clock` it is wall time with `timing=exact`,
    /// otherwise CPU time.
    pub fn clock(&self) -> Clock {
        let default = match self.timing {
            TimingMethod::Exact => Clock::Wall,
            TimingMethod::Tick | TimingMethod::None => Clock::Cpu,
        };
        self.clock.unwrap_or(default)
    }

    /// The limit of the memory for the records of objects of `fields=shared`, in bytes.
    pub fn record_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or(4 << 30)
    }

    /// The limit of the memory for the call traces of samples, in bytes.
    pub fn trace_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or(256 << 20)
    }

    /// The limit of the memory for call trees and their allocation sites, in bytes. A limit of nodes
    /// takes the place of the default.
    pub fn tree_limit_bytes(&self) -> u64 {
        let default = match self.max_nodes == Self::default().max_nodes {
            true => 256 << 20,
            false => u64::MAX,
        };
        self.memory_limit_bytes.unwrap_or(default)
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        let mut rest = Tokens(text);
        while !rest.0.is_empty() {
            let name =
                rest.next('=', MAX_NAME_LEN).ok_or("general syntax error parsing options")?;
            let spec = TABLE
                .iter()
                .find(|spec| spec.name == name)
                .ok_or_else(|| format!("Unknown option: {name}"))?;
            let must_be = || format!("{name} option value must be {}", spec.rule);
            let misses = || match spec.form {
                Some(form) => format!("syntax error parsing {name}={form}"),
                None => must_be(),
            };
            match spec.set {
                Set::Value(set) => {
                    let value = rest.next(',', MAX_VALUE_LEN).ok_or_else(misses)?;
                    set(self, value).ok_or_else(must_be)?;
                }
                Set::Switch(switch) => *switch(self) = rest.switch().ok_or_else(must_be)?,
                Set::Ignored => drop(rest.switch().ok_or_else(must_be)?),
                Set::IgnoredNumber => drop(rest.next(',', MAX_VALUE_LEN).ok_or_else(must_be)?),
                Set::File => {
                    self.check_no_output()?;
                    let name = rest.next(',', MAX_VALUE_LEN).ok_or_else(misses)?;
                    self.output = Output::File(name.to_owned());
                }
                Set::Net => {
                    self.check_no_output()?;
                    let host = rest.host().ok_or("net option missing ':'")?;
                    let port = rest.next(',', MAX_NAME_LEN).ok_or("net option missing port")?;
                    let port = numbers::leading_decimal(port);
                    self.output = Output::Net { host: host.to_owned(), port };
                }
                Set::Removed(message) => return Err(message.to_owned()),
            }
        }
        self.cross_check()?;
        self.apply_defaults();
        Ok(())
    }

    fn check_no_output(&self) -> Result<(), &'static str> {
        match self.output {
            Output::Default => Ok(()),
            _ => Err("file or net options should only appear once"),
        }
    }

    fn cross_check(&self) -> Result<(), &'static str> {
        if self.format == Format::Binary {
            if self.cpu.times.is_some() {
                return Err("cpu=times|old is not supported with format=b");
            }
            if self.monitor {
                return Err("monitor=y is not supported with format=b");
            }
        }
        if (self.short_ids || self.version_1_0_1) && self.format != Format::Binary {
            return Err("idsize and version are only supported with format=b");
        }
        if self.timing == TimingMethod::Exact && self.clock == Some(Clock::Cpu) {
            return Err("clock=cpu is not supported with timing=exact, which reads nanoTime, \
                        a wall clock: use clock=wall or timing=tick");
        }
        let heap = self.heap_dump || self.heap_sites || self.aprof;
        let is_other = heap
            || self.cpu != Cpu::default()
            || self.monitor
            || self.wall_ns.is_some()
            || self.xprof.is_some();
        if self.jamaica.is_some() {
            if is_other || self.fields {
                return Err(
                    "jamaica cannot be used with cpu, heap, monitor, aprof, xprof, wall or fields: \
                            run the program once for each",
                );
            }
            if self.format != Format::Ascii || self.has_peer() {
                return Err(
                    "jamaica writes text to a file; it is not supported with format and net",
                );
            }
        }
        if self.fields {
            if is_other {
                return Err(
                    "fields=shared cannot be used with cpu, heap, monitor, aprof, xprof or wall: \
                            run the program once for each",
                );
            }
            if self.format != Format::Ascii || self.has_peer() {
                return Err(
                    "fields=shared writes text to a file; it is not supported with format \
                            and net",
                );
            }
            if !self.doe {
                return Err("fields=shared is not supported with doe=n: most objects are written \
                            on exit");
            }
        } else if self.site_index != SiteIndex::default()
            || self.aggregate
            || self.extended_accesses
        {
            return Err("accesses, aggregate and site-index are only supported with fields=shared");
        }
        if self.wall_ns.is_some() && self.format != Format::Extended {
            return Err("wall is only supported with format=p: HPROF has no record for it");
        }
        if !self.wall_threads.is_empty() && self.wall_ns.is_none() {
            return Err("wall-threads is only supported with wall");
        }
        if self.xprof.is_some() {
            if self.has_peer() {
                return Err(
                    "xprof prints text on stdout or to a file; it is not supported with net",
                );
            }
            if !self.doe {
                return Err("xprof is not supported with doe=n: most tables are printed on exit");
            }
            if self.has_only_xprof() && self.format != Format::Ascii {
                return Err("xprof prints text; format is only supported with another analysis");
            }
        }
        if self.engine != SampleEngine::Auto && !self.cpu.samples {
            return Err("engine is only supported with cpu=samples");
        }
        if self.native {
            if !self.cpu.samples || self.format != Format::Extended {
                return Err("native=y is only supported with cpu=samples and format=p");
            }
            if self.engine == SampleEngine::Polling || self.has_peer() {
                return Err(
                    "native=y is not supported with engine=polling, which sees Java code alone",
                );
            }
        }
        if self.engine == SampleEngine::Signal && self.has_peer() {
            return Err("engine=signal is not supported with net, whose commands are for single \
                        threads: use engine=polling");
        }
        let is_timed = self.delay_ns.is_some() || self.duration_ns.is_some();
        if is_timed && (self.jamaica.is_some() || self.fields || self.xprof.is_some()) {
            return Err(
                "delay and duration are not supported with jamaica, fields and xprof, which \
                        measure the whole run",
            );
        }
        if is_timed && !self.start {
            return Err(
                "delay and duration are not supported with start=n: perk start and perk stop \
                        begin and end the recording",
            );
        }
        if self.flush_ns.is_some() && (self.format != Format::Extended || self.has_peer()) {
            return Err("flush is only supported with format=p and a file");
        }
        if self.locks && !self.monitor {
            return Err("locks=y is only supported with monitor=y");
        }
        if self.heap_sample_bytes.is_some() && !self.heap_sites {
            return Err("sample is only supported with heap=sites");
        }
        if self.platform_threads && !self.thread {
            return Err("thread-kinds=platform is only supported with thread=y");
        }
        let is_of_sites = self.heap_sites && !self.heap_dump && self.heap_sample_bytes.is_none();
        if !self.live && (!is_of_sites || self.format != Format::Extended) {
            return Err("live=n is only supported with heap=sites, without sample, and format=p");
        }
        Ok(())
    }

    /// Whether each thread is told apart, virtual ones and those of exact counts, too.
    pub fn tells_all_threads(&self) -> bool {
        self.thread && !self.platform_threads
    }

    /// Whether the tables of `-Xprof` are all that is wanted.
    pub fn has_only_xprof(&self) -> bool {
        let heap = self.heap_dump || self.heap_sites || self.aprof;
        let other = self.cpu != Cpu::default() || self.monitor || self.wall_ns.is_some();
        self.xprof.is_some() && !heap && !other
    }

    fn apply_defaults(&mut self) {
        self.timing_depth = if self.cpu.times == Some(TimesForm::Old) { 2 } else { self.depth };
        let heap = self.heap_dump || self.heap_sites;
        let other = self.monitor
            || self.aprof
            || self.xprof.is_some()
            || self.fields
            || self.wall_ns.is_some()
            || self.jamaica.is_some();
        if !heap && self.cpu == Cpu::default() && !other {
            self.heap_dump = true;
            self.heap_sites = true;
        }
    }
}

/// The part of an option string that is not read yet.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    /// Returns the text up to `separator` or the end; `None` if it is empty or too long.
    fn next(&mut self, separator: char, max_len: usize) -> Option<&'a str> {
        let (token, rest) = self.0.split_once(separator).unwrap_or((self.0, ""));
        self.0 = rest;
        (!token.is_empty() && token.len() <= max_len).then_some(token)
    }

    /// Returns the host before a colon. A host in brackets may contain colons itself.
    fn host(&mut self) -> Option<&'a str> {
        match self.0.strip_prefix('[').and_then(|it| it.split_once("]:")) {
            Some((host, rest)) if !host.contains(',') => {
                self.0 = rest;
                (!host.is_empty() && host.len() <= MAX_VALUE_LEN).then_some(host)
            }
            _ => self.next(':', MAX_VALUE_LEN),
        }
    }

    fn switch(&mut self) -> Option<bool> {
        match self.next(',', MAX_VALUE_LEN)? {
            "y" => Some(true),
            "n" => Some(false),
            _ => None,
        }
    }
}
