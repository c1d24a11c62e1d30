//! The values that options have.

/// The kinds of CPU profiling that are on; sampling and timing can be on together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// `cpu=samples`
    pub samples: bool,
    /// `cpu=times` or `cpu=old`
    pub times: Option<TimesForm>,
    /// `cpu=counts`
    pub counts: bool,
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

/// The section in which method times are reported.
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

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
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

impl OutputFormat {
    /// Returns the value of the option `format`.
    pub(super) fn letter(self) -> char {
        match self {
            OutputFormat::Ascii => 'a',
            OutputFormat::Binary => 'b',
            OutputFormat::Extended => 'p',
        }
    }
}
