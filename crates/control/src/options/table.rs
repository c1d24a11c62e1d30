//! The table of options. A new option is an entry here: the field that keeps its value, if no other
//! does, and its row. The agent's parser and help, `docs/options.md`, the arguments of `perk run` and
//! `perk attach` with their help, the text of the options that the command line gives the agent, and
//! the refusals follow from it.

use perk_profile::{NamePattern, WholePattern};

use super::measurements::Measurement::{
    Calls, Counts, Fields, Jamaica as JamaicaProfile, Monitors, SampledSites, Samples, Sites, Wall,
    Xprof as XprofTables,
};
use super::row::{Addition, AgentOption, Argument, Clash, Needs, OptionRow, Section, Word};
use super::types::{
    Classes, Clock, Cpu, Jamaica, Output, OutputFormat, SampleEngine, SiteIndex, TimesForm,
    TimingMethod, Xprof,
};
use super::value::{Choice, Kinds, Value};

/// Declares the options with their defaults.
macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)*) => {
        /// The options of the agent.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Options {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for Options {
            fn default() -> Self {
                Options { $($field: $default,)* }
            }
        }
    };
}

fields! {
    /// Write a heap dump (`heap=dump`).
    heap_dump: bool = false,
    /// Write allocation sites (`heap=sites`).
    heap_sites: bool = false,
    /// Count the call paths of allocations, and not only the instructions that make objects.
    paths: bool = true,
    /// CPU profiling.
    cpu: Cpu = Cpu::default(),
    /// Monitor contention.
    monitor: bool = false,
    /// Also report what threads park for: the locks of `java.util.concurrent` (`locks=y`).
    locks: bool = false,
    /// The format of the output.
    format: OutputFormat = OutputFormat::Ascii,
    /// The destination of the output.
    output: Output = Output::Default,
    /// The number of frames kept of each stack trace.
    depth: u32 = 4,
    /// The number of frames kept of each trace of `cpu=times`: 2 with `cpu=old`, otherwise `depth`.
    timing_depth: u32 = 4,
    /// The time between CPU samples, in nanoseconds, never 0, if it is given: see
    /// [`Options::sample_interval_ns`].
    interval_ns: Option<u64> = None,
    /// The share of the total below which rows are left out; a ratio, not a percentage.
    cutoff: f64 = 0.0001,
    /// The CPU time that calls may take with `cpu=times`, by that of the program without perk; 0 without a limit.
    path_budget: f64 = 0.0,
    /// Include line numbers in traces.
    lineno: bool = true,
    /// Treat the thread as part of a trace's identity.
    thread: bool = false,
    /// With `thread`: distinguish only platform threads, and only in samples and waits; all virtual
    /// threads are one (`thread-kinds=platform`).
    platform_threads: bool = false,
    /// Dump on exit.
    doe: bool = true,
    /// Overwrite an existing file.
    force: bool = true,
    /// Replace an existing file instead of appending to it (`jamaica` with `force=y`).
    replace: bool = false,
    /// Report dumps on stderr.
    verbose: bool = true,
    /// Keep the values of primitive fields in a binary heap dump.
    prim_fields: bool = true,
    /// Keep the elements of primitive arrays in a heap dump.
    prim_arrays: bool = true,
    /// Write ids of four bytes in binary output, for old readers (`idsize=4`); otherwise of eight.
    short_ids: bool = false,
    /// Write version 1.0.1 of binary output, for old readers; otherwise 1.0.2.
    version_1_0_1: bool = false,
    /// The classes that get a LOAD CLASS record in binary output.
    classes: Classes = Classes::All,
    /// The engine of CPU samples.
    engine: SampleEngine = SampleEngine::default(),
    /// Whether CPU samples have native frames above Java ones.
    native: bool = false,
    /// The clock of call times, if one was given: see [`Options::clock`].
    clock: Option<Clock> = None,
    /// The way in which calls are timed.
    timing: TimingMethod = TimingMethod::default(),
    /// The classes and methods whose calls are counted; empty means all.
    include: Vec<NamePattern> = Vec::new(),
    /// The classes and methods whose calls are not counted.
    exclude: Vec<NamePattern> = Vec::new(),
    /// The classes that are the program's own, for reports; empty means those around the main class.
    app: Vec<NamePattern> = Vec::new(),
    /// The mean number of allocated bytes per sample of `heap=sites`; `None` counts every
    /// allocation.
    heap_sample_bytes: Option<u64> = None,
    /// The time between two wall-clock samples of a thread, in nanoseconds, never 0; `None` takes
    /// none.
    wall_ns: Option<u64> = None,
    /// The names of the threads with wall-clock samples; empty means those of the program.
    wall_threads: Vec<WholePattern> = Vec::new(),
    /// Collect garbage before live objects are counted at a dump.
    gc: bool = false,
    /// Count the live objects of the sites, and not only the allocated ones.
    live: bool = true,
    /// Take fewer samples of allocations, of waits and by the clock where they would cost more than a
    /// small share of the program's time.
    budget: bool = false,
    /// Write the allocated objects and bytes per class, as `-Xaprof` did.
    aprof: bool = false,
    /// Write them at each dump, for the allocations since the previous dump (`aprof=between`).
    aprof_between: bool = false,
    /// Print the tables of `-Xprof`.
    xprof: Option<Xprof> = None,
    /// Write JamaicaVM's profile, with these counts.
    jamaica: Option<Jamaica> = None,
    /// Count the accesses to the fields of each object (`fields=shared`).
    fields: bool = false,
    /// Write one record for all objects of a site with the same counts (`aggregate=site`).
    aggregate: bool = false,
    /// The index by which the file of `fields=shared` gives a site.
    site_index: SiteIndex = SiteIndex::default(),
    /// Also count the accesses that no instruction makes (`accesses=extended`).
    extended_accesses: bool = false,
    /// The limit of the memory for the records of objects or for call traces, in bytes, if it is
    /// given: see [`Options::record_limit_bytes`] and [`Options::trace_limit_bytes`].
    memory_limit_bytes: Option<u64> = None,
    /// The maximum number of nodes that the call trees may have.
    max_nodes: u64 = 8 << 20,
    /// Keep the changed classes of the JDK in the user's cache folder, and take them from there.
    cache: bool = true,
    /// Measure from the program's start on; otherwise from a command to the control socket on.
    start: bool = true,
    /// The time until anything is measured, in nanoseconds, never 0.
    delay_ns: Option<u64> = None,
    /// The time after which the recording ends, in nanoseconds, never 0; `None` is the end of the
    /// program.
    duration_ns: Option<u64> = None,
    /// The time after which the file is written again with the profile so far, in nanoseconds, never
    /// 0.
    flush_ns: Option<u64> = None,
    /// The time after which a new file begins, in nanoseconds, never 0.
    every_ns: Option<u64> = None,
    /// The time for which a recording continues that has lost the connection which holds it, in nanoseconds,
    /// never 0.
    grace_ns: Option<u64> = None,
    /// Keep the secrets of the program's command line, and do not mask them.
    secrets: bool = false,
    /// Wait for a debugger when the agent is loaded.
    pause: bool = false,
    /// The whole option string, including the part from the environment variable.
    raw: String = String::new(),
}

/// The values of the fields that most rows share. Each row overrides the others.
const BASE: OptionRow = OptionRow {
    name: "",
    values: "",
    about: "",
    default: "",
    section: Section::Main,
    form: None,
    rule: "",
    value: Value::Ignored,
    addition: None,
    needs: None,
    is_lenient: false,
    clash: None,
    note: "",
    arguments: &[],
};

/// A `y|n` switch.
const SWITCH: OptionRow = OptionRow { values: "y|n", rule: "y|n", ..BASE };
const UNDOCUMENTED_SWITCH: OptionRow = OptionRow { section: Section::Undocumented, ..SWITCH };
const UNDOCUMENTED_NUMBER: OptionRow = OptionRow {
    values: "<number>",
    default: "0",
    section: Section::Undocumented,
    rule: "numeric",
    value: Value::IgnoredNumber,
    ..BASE
};

/// perk's own.
const OWN: OptionRow = OptionRow { section: Section::Perk, ..BASE };
const OWN_SWITCH: OptionRow = OptionRow { section: Section::Perk, ..SWITCH };

const PATTERNS: OptionRow = OptionRow {
    values: "<name>:<name>",
    form: Some("<name>:<name>"),
    rule: "class or method names with : between them",
    ..OWN
};

const TIME: OptionRow = OptionRow {
    values: "<time>",
    default: "none",
    form: Some("<time>"),
    rule: "a time above 0 such as 30s",
    ..OWN
};

/// An argument without a value.
const FLAG: Argument = Argument {
    long: "",
    alias: "",
    position: 0,
    help: "",
    value_name: "",
    plain: "y",
    is_optional: false,
    is_list: false,
    words: &[],
    range: None,
    hint: "",
    default: "",
    also: &[],
    conflicts: &[],
    requires: "",
    is_measurement: false,
    is_from_start: false,
    needs: None,
};
const TIME_ARGUMENT: Argument =
    Argument { value_name: "TIME", hint: "use a time above 0, such as 10ms", ..FLAG };
const SIZE_ARGUMENT: Argument = Argument {
    value_name: "SIZE",
    hint: "use a whole number, with k (1024), m (1024 k) or g (1024 m) after it, such as 512k",
    ..FLAG
};
const SAMPLE_ARGUMENT: Argument =
    Argument { hint: "use a size below 2g, such as 512k", ..SIZE_ARGUMENT };
const PATTERNS_ARGUMENT: Argument = Argument {
    value_name: "NAME",
    is_list: true,
    hint: "use a class or method with dots, * for any part of it, such as com.acme.*",
    ..FLAG
};

/// The time between two wall-clock samples of a thread, unless another one is asked for.
const WALL_NS: u64 = 10_000_000;
/// The bytes between two samples of allocations, likewise.
const SAMPLE_BYTES: u64 = 512 << 10;

/// The measurements with call trees.
const TREES: Needs = Needs {
    of: &[Calls, Sites, JamaicaProfile],
    is_met: Some(|options| options.has_call_trees()),
    ..Needs::BASE
};
/// The measurements with probes in methods.
const PROBES: Needs = Needs {
    of: &[Calls, Counts, Sites, Fields, JamaicaProfile],
    is_met: Some(|options| options.changes_classes()),
    ..Needs::BASE
};
const BINARY: Needs = Needs {
    is_met: Some(|options| options.format == OutputFormat::Binary),
    agent: "format=b",
    ..Needs::BASE
};

/// All options, in the order of the agent's help.
pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "heap",
        values: "dump|sites|all",
        about: "heap profiling",
        default: "all",
        form: Some("dump|sites|all"),
        rule: "dump|sites|all",
        value: Value::Choice(&[
            Choice { name: "dump", set: |o| o.heap_dump = true },
            Choice { name: "sites", set: |o| o.heap_sites = true },
            Choice { name: "all", set: |o| (o.heap_dump, o.heap_sites) = (true, true) },
        ]),
        arguments: &[Argument {
            long: "heap",
            position: 50,
            help: "What to measure of the program's objects",
            value_name: "KIND",
            words: &[
                Word::new(
                    "sites",
                    "Count allocated and live objects and bytes, by class and allocation site",
                ),
                Word::new(
                    "dump",
                    "Write a heap dump (.hprof) of all objects at the end, for perk and other tools",
                ),
                Word::new(
                    "all",
                    "Do both; each object of the dump has the call trace of its allocation",
                ),
            ],
            is_measurement: true,
            is_from_start: true,
            ..FLAG
        }],
        ..BASE
    },
    OptionRow {
        name: "cpu",
        values: "samples|times|old",
        about: "CPU usage",
        default: "off",
        form: Some("y|samples|times|old"),
        rule: "y|samples|times|old",
        value: Value::Choice(&[
            Choice { name: "y", set: |o| o.cpu.samples = true },
            Choice { name: "samples", set: |o| o.cpu.samples = true },
            Choice { name: "times", set: |o| o.cpu.times = Some(TimesForm::Times) },
            Choice { name: "old", set: |o| o.cpu.times = Some(TimesForm::Old) },
            Choice { name: "counts", set: |o| (o.cpu.samples, o.cpu.counts) = (true, true) },
        ]),
        clash: Some(&Clash {
            is_there: |o| {
                let has_paths = o.counts_sites() && o.paths;
                o.cpu.counts && (o.cpu.times.is_some() || o.aprof || has_paths)
            },
            agent: "cpu=counts is not supported with cpu=times, cpu=old, aprof and heap=sites, which count by \
                    call path: paths=n or sample do not",
            command_line: "--cpu counts does not work with --aprof, --heap all and --heap sites --paths, which \
                           count by call path: use --cpu times with them",
        }),
        note: "\
- `cpu=counts` counts the calls of each method and call site exactly, and takes `cpu=samples` for times and
  paths. It costs a fraction of `cpu=times`, which counts each call path.",
        arguments: &[Argument {
            long: "cpu",
            position: 10,
            help: "What to measure of the program's time [default: samples, or off with others]",
            value_name: "KIND",
            words: &[
                Word::new("samples", "Sample the stacks of threads that use CPU time"),
                Word::new("counts", "Count every call, by method and call site, and sample the time"),
                Word::new("times", "Count and time every call, by call path"),
                Word::new("old", "Count and time every call, by caller and callee"),
                Word { name: "off", value: None, help: "Measure no time" },
            ],
            is_measurement: true,
            ..FLAG
        }],
        ..BASE
    },
    OptionRow {
        name: "monitor",
        about: "monitor contention",
        default: "n",
        value: Value::Switch(|o| &mut o.monitor),
        arguments: &[Argument {
            long: "monitor",
            position: 120,
            help: "Measure how long threads wait to enter monitors (synchronized) and to be notified",
            is_measurement: true,
            ..FLAG
        }],
        ..SWITCH
    },
    OptionRow {
        name: "format",
        values: "a|b",
        about: "text(txt) or binary output",
        default: "a",
        form: Some("a|b"),
        rule: "a|b",
        value: Value::Choice(&[
            Choice { name: "a", set: |o| o.format = OutputFormat::Ascii },
            Choice { name: "b", set: |o| o.format = OutputFormat::Binary },
            Choice { name: "p", set: |o| o.format = OutputFormat::Extended },
        ]),
        addition: Some(&Addition { values: "p", about: "perk's extended binary output" }),
        note: "\
- `format=p` is HPROF binary with additional records, which keep the full depth of every analysis;
  `perk report` and `perk convert` read it.",
        ..BASE
    },
    OptionRow {
        name: "file",
        values: "<file>",
        about: "write data to file",
        default: "java.hprof[{.txt}]",
        form: Some("filename"),
        value: Value::File,
        addition: Some(&Addition { values: "<file with %p>", about: "%p is the process id, %% is %" }),
        ..BASE
    },
    OptionRow {
        name: "net",
        values: "<host>:<port>",
        about: "send data over a socket",
        default: "off",
        value: Value::Net,
        addition: Some(&Addition { values: "[<IPv6>]:<port>", about: "an IPv6 address and port" }),
        ..BASE
    },
    OptionRow {
        name: "depth",
        values: "<size>",
        about: "stack trace depth",
        default: "4",
        form: Some("DECIMAL"),
        rule: "decimal and >= 0",
        value: Value::Number(|o| &mut o.depth),
        arguments: &[Argument {
            long: "depth",
            position: 310,
            help: "Frames to keep of each stack",
            value_name: "N",
            range: Some((1, i32::MAX as i64)),
            default: "2048",
            ..FLAG
        }],
        ..BASE
    },
    OptionRow {
        name: "interval",
        values: "<ms>",
        about: "sample interval in ms",
        default: "10",
        form: Some("DECIMAL"),
        rule: "decimal and > 0",
        value: Value::Time(|o| &mut o.interval_ns),
        addition: Some(&Addition { values: "<time>", about: "500us, 10ms, 1.5s, 2m, 1h" }),
        needs: Some(&Needs::one_of(&[Samples, XprofTables])),
        is_lenient: true,
        arguments: &[Argument {
            long: "interval",
            position: 150,
            help: "CPU time between two samples of a thread: 10ms, 500us, 1s [default: 10ms, and 20ms \
                   for what is measured by default]",
            ..TIME_ARGUMENT
        }],
        ..BASE
    },
    OptionRow {
        name: "cutoff",
        values: "<value>",
        about: "output cutoff point",
        default: "0.0001",
        form: Some("DOUBLE"),
        rule: "floating point and >= 0",
        value: Value::Ratio(|o| &mut o.cutoff),
        ..BASE
    },
    OptionRow {
        name: "lineno",
        about: "line number in traces?",
        default: "y",
        value: Value::Switch(|o| &mut o.lineno),
        ..SWITCH
    },
    OptionRow {
        name: "thread",
        about: "thread in traces?",
        default: "n",
        value: Value::Switch(|o| &mut o.thread),
        arguments: &[Argument {
            long: "threads",
            position: 320,
            help: "Distinguish all threads, also virtual ones, and also in exact counts and flame \
                   graphs [default: only platform threads, in samples and waits]",
            ..FLAG
        }],
        ..SWITCH
    },
    OptionRow {
        name: "doe",
        about: "dump on exit?",
        default: "y",
        value: Value::Switch(|o| &mut o.doe),
        ..SWITCH
    },
    OptionRow { name: "msa", about: "Solaris micro state accounting", default: "n", ..SWITCH },
    OptionRow {
        name: "force",
        about: "force output to <file>",
        default: "y",
        value: Value::Choice(&[
            Choice { name: "y", set: |o| (o.force, o.replace) = (true, true) },
            Choice { name: "n", set: |o| (o.force, o.replace) = (false, false) },
        ]),
        arguments: &[Argument {
            long: "force",
            position: 110,
            help: "Replace the file of --jamaica instead of adding the run to it",
            // The agent's file is not the one that is replaced.
            plain: "",
            is_from_start: true,
            needs: Some(&Needs::one_of(&[JamaicaProfile])),
            ..FLAG
        }],
        ..SWITCH
    },
    OptionRow {
        name: "verbose",
        about: "print messages about dumps",
        default: "y",
        value: Value::Switch(|o| &mut o.verbose),
        ..SWITCH
    },
    OptionRow { name: "gc_okay", about: "no effect", section: Section::Obsolete, ..SWITCH },
    OptionRow {
        name: "primfields",
        about: "values of primitive fields in heap dumps",
        default: "y",
        value: Value::Switch(|o| &mut o.prim_fields),
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "primarrays",
        about: "elements of primitive arrays in heap dumps",
        default: "y",
        value: Value::Switch(|o| &mut o.prim_arrays),
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "logflags",
        about: "no effect; the original logged what it did",
        ..UNDOCUMENTED_NUMBER
    },
    OptionRow {
        name: "debugflags",
        about: "no effect; the original checked itself",
        ..UNDOCUMENTED_NUMBER
    },
    OptionRow {
        name: "X",
        about: "no effect; the original had experiments",
        ..UNDOCUMENTED_NUMBER
    },
    OptionRow {
        name: "coredump",
        about: "no effect; the original aborted on a fatal error",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "errorexit",
        about: "no effect; for the original every error was fatal",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "pause",
        about: "wait on load for a debugger",
        default: "n",
        value: Value::Switch(|o| &mut o.pause),
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "debug",
        about: "no effect; the original debugged itself",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    OptionRow {
        name: "classes",
        values: "all|used",
        about: "LOAD CLASS records (format=b)",
        default: "all",
        form: Some("all|used"),
        rule: "all|used",
        value: Value::Choice(&[
            Choice { name: "all", set: |o| o.classes = Classes::All },
            Choice { name: "used", set: |o| o.classes = Classes::Used },
        ]),
        ..OWN
    },
    OptionRow {
        name: "idsize",
        values: "4|8",
        about: "bytes of ids (format=b)",
        default: "8",
        form: Some("4|8"),
        rule: "4|8",
        value: Value::Choice(&[
            Choice { name: "4", set: |o| o.short_ids = true },
            Choice { name: "8", set: |o| o.short_ids = false },
        ]),
        needs: Some(&BINARY),
        ..OWN
    },
    OptionRow {
        name: "version",
        values: "1.0.1|1.0.2",
        about: "of the file (format=b)",
        default: "1.0.2",
        form: Some("1.0.1|1.0.2"),
        rule: "1.0.1|1.0.2",
        value: Value::Choice(&[
            Choice { name: "1.0.1", set: |o| o.version_1_0_1 = true },
            Choice { name: "1.0.2", set: |o| o.version_1_0_1 = false },
        ]),
        needs: Some(&BINARY),
        ..OWN
    },
    OptionRow {
        name: "engine",
        values: "signal|polling",
        about: "engine of CPU samples",
        default: "auto",
        form: Some("signal|polling"),
        rule: "auto|signal|polling",
        value: Value::Choice(&[
            Choice { name: "auto", set: |o| o.engine = SampleEngine::Auto },
            Choice { name: "signal", set: |o| o.engine = SampleEngine::Signal },
            Choice { name: "polling", set: |o| o.engine = SampleEngine::Polling },
        ]),
        needs: Some(&Needs::one_of(&[Samples])),
        clash: Some(&Clash {
            is_there: |o| o.engine == SampleEngine::Signal && o.has_peer(),
            agent: "engine=signal is not supported with net, whose commands are for single threads: \
                    use engine=polling",
            command_line: "",
        }),
        note: "\
- `engine=signal` interrupts threads where they run (Linux on x86-64). `engine=polling` walks their
  stacks at their next safepoint, which can be a method or two after the place that used the time.
  `engine=auto` is `signal` if that works, and otherwise `polling`, with a warning. With `net` it is
  `polling`, as the commands of a peer are for single threads.",
        arguments: &[Argument {
            long: "engine",
            position: 160,
            help: "The engine of CPU samples [default: auto]",
            value_name: "ENGINE",
            words: &[
                Word::new("auto", "Use signals if they work, otherwise poll, with a warning"),
                Word::new(
                    "signal",
                    "Interrupt threads where they are (Linux on x86-64): exact to the line",
                ),
                Word::new(
                    "polling",
                    "Walk the stacks of threads at their next safepoint: works everywhere, but can \
                     show the wrong method",
                ),
            ],
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "native",
        about: "native frames in CPU samples?",
        default: "n",
        value: Value::Switch(|o| &mut o.native),
        needs: Some(&Needs {
            is_met: Some(|o| o.cpu.samples && o.format == OutputFormat::Extended),
            agent: "cpu=samples and format=p",
            ..Needs::BASE
        }),
        clash: Some(&Clash {
            is_there: |o| o.native && (o.engine == SampleEngine::Polling || o.has_peer()),
            agent: "native=y is not supported with engine=polling, which sees only Java code",
            command_line: "--native does not work with --engine polling, which sees Java code alone",
        }),
        note: "\
- `native=y` adds native functions and the JVM's stubs to CPU samples by signals, above the Java
  method that called them (`format=p`). Above these it adds kernel functions, if the system permits it
  (`kernel.perf_event_paranoid` below 2, or `CAP_PERFMON`; the names need `kernel.kptr_restrict=0`,
  otherwise they are `[kernel]`). A stub has the JVM's name, such as `jbyte_disjoint_arraycopy`.
  Without `native=y` its time counts for its caller, as in all other formats.",
        arguments: &[Argument {
            long: "native",
            position: 170,
            help: "Show native functions, the JVM's stubs and kernel functions above Java methods",
            needs: Some(&Needs::one_of(&[Samples])),
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "timing",
        values: "tick|exact|none",
        about: "timing of calls",
        default: "tick",
        form: Some("tick|exact|none"),
        rule: "tick|exact|none",
        value: Value::Choice(&[
            Choice { name: "tick", set: |o| o.timing = TimingMethod::Tick },
            Choice { name: "exact", set: |o| o.timing = TimingMethod::Exact },
            Choice { name: "none", set: |o| o.timing = TimingMethod::None },
        ]),
        needs: Some(&Needs::one_of(&[Calls])),
        is_lenient: true,
        clash: Some(&Clash {
            is_there: |o| o.timing == TimingMethod::Exact && o.clock == Some(Clock::Cpu),
            agent: "clock=cpu is not supported with timing=exact, which reads nanoTime, a wall clock: \
                    use clock=wall or timing=tick",
            command_line: "--timing exact reads a wall clock: use --clock wall or --timing tick",
        }),
        note: "\
- With `timing=tick` a thread of the agent looks every 250 us where each thread is, which costs
  nothing in the calls. `timing=exact` reads `System.nanoTime` at each entry and exit, about 40 ns per
  call. `timing=none` only counts.",
        arguments: &[Argument {
            long: "timing",
            position: 180,
            help: "Timing of calls [default: tick]",
            value_name: "METHOD",
            words: &[
                Word::new(
                    "tick",
                    "Let a thread of the agent see every 250 us where each thread is: correct in sums, cheap",
                ),
                Word::new(
                    "exact",
                    "Read the JVM's nanosecond clock at each entry and exit: correct per call, \
                     expensive",
                ),
                Word::new("none", "Count calls without timing them"),
            ],
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "clock",
        values: "cpu|wall",
        about: "clock of call times",
        default: "cpu",
        form: Some("cpu|wall"),
        rule: "cpu|wall",
        value: Value::Choice(&[
            Choice { name: "cpu", set: |o| o.clock = Some(Clock::Cpu) },
            Choice { name: "wall", set: |o| o.clock = Some(Clock::Wall) },
        ]),
        needs: Some(&Needs::one_of(&[Calls])),
        is_lenient: true,
        note: "\
- `clock=cpu` is the CPU time of the thread; `clock=wall` is the wall-clock time, including time
  blocked and asleep. With `timing=exact` the clock is `wall`, and perk refuses `clock=cpu`.",
        arguments: &[Argument {
            long: "clock",
            position: 190,
            help: "The clock of call times [default: cpu, or wall with --timing exact]",
            value_name: "CLOCK",
            words: &[
                Word::new("cpu", "CPU time of the thread"),
                Word::new("wall", "Wall-clock time, including time blocked and asleep"),
            ],
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "include",
        about: "classes, methods to count",
        default: "all",
        value: Value::Patterns(|o| &mut o.include),
        needs: Some(&PROBES),
        is_lenient: true,
        note: "\
- `include` and `exclude` take names of classes and methods, separated by a colon (a comma would end
  the value), with `*` for any characters, such as `com.acme.*:Parser:HashMap.put`. A name that begins
  with a package must match from the beginning (`java.*` is not `com.acme.java.Foo`); other names may
  also match from the name of a class or method. A class includes all its methods and its inner
  classes.
  A method that is left out is counted at its calls, and its allocations are counted. At the end perk
  reports names without a match on stderr.",
        arguments: &[Argument {
            long: "include",
            position: 200,
            help: "Count only calls of these classes and methods: 'com.acme.*', Foo.bar (repeatable, \
                   or with commas)",
            ..PATTERNS_ARGUMENT
        }],
        ..PATTERNS
    },
    OptionRow {
        name: "exclude",
        about: "classes, methods to leave out",
        default: "none",
        value: Value::Patterns(|o| &mut o.exclude),
        needs: Some(&PROBES),
        is_lenient: true,
        arguments: &[Argument {
            long: "exclude",
            position: 210,
            help: "Leave out calls of these classes and methods (repeatable, or with commas)",
            ..PATTERNS_ARGUMENT
        }],
        ..PATTERNS
    },
    OptionRow {
        name: "app",
        about: "the program's own classes",
        default: "found by the main class",
        value: Value::Patterns(|o| &mut o.app),
        note: "\
- `app` takes such names, too: those of the program's own classes, to which reports charge the time in
  other classes. Without it these are the packages of the main class and of the class path's folders.
  Only `format=p` keeps it.",
        arguments: &[Argument {
            long: "app",
            position: 220,
            help: "The classes that are the program's own, for reports: 'com.acme.*' (repeatable, or \
                   with commas) [default: the packages of the main class and of the class path's \
                   folders]",
            ..PATTERNS_ARGUMENT
        }],
        ..PATTERNS
    },
    OptionRow {
        name: "max-nodes",
        values: "<n>[k|m|g]",
        about: "limit of call tree nodes",
        default: "8m",
        form: Some("DECIMAL"),
        rule: "decimal and > 0",
        value: Value::Scaled(|o| &mut o.max_nodes),
        needs: Some(&TREES),
        is_lenient: true,
        note: "\
- `max-nodes` limits the call trees: calls on paths beyond it are counted only by method.",
        arguments: &[Argument {
            long: "max-nodes",
            position: 230,
            help: "Limit of call tree nodes; calls beyond it are counted without their path [default: \
                   8m]",
            value_name: "N",
            ..SIZE_ARGUMENT
        }],
        ..OWN
    },
    OptionRow {
        name: "path-budget",
        values: "<ratio>",
        about: "budget for call paths",
        default: "none",
        form: Some("DOUBLE"),
        rule: "floating point and >= 1",
        value: Value::Ratio(|o| &mut o.path_budget),
        needs: Some(&Needs {
            of: &[Calls],
            is_met: Some(|o| {
                o.cpu.times == Some(TimesForm::Times)
                    && !(o.counts_sites() || o.aprof || o.jamaica.is_some())
            }),
            agent: "cpu=times, without heap=sites, aprof and jamaica",
            command_line: "--cpu times, without --heap sites, --aprof and --jamaica",
        }),
        clash: Some(&Clash {
            is_there: |o| o.path_budget > 0.0 && o.path_budget < 1.0,
            agent: "path-budget is the CPU time with perk by that without: use a number from 1 on, such as 1.3",
            command_line: "--budget is the CPU time with perk by that without: use a number from 1 on, such as 1.3",
        }),
        note: "\
- With `path-budget=1.3` calls may take 0.3 of the CPU time that the program takes by itself. After 1, 3, 7 seconds and so
  on perk compares an estimate of what they take with that. Where it is more, the methods with the most calls
  give up their paths: each of their calls is still counted, in one number below a frame `<over budget>`.
  Their time is that of their callers. What they call is below their callers, with such a frame between. The
  accounting has their number and names. A method that catches exceptions keeps its path.",
        arguments: &[Argument {
            long: "budget",
            position: 235,
            help: "Let the methods with the most calls give up their paths where the CPU time would be more than this \
                   times that without perk",
            value_name: "RATIO",
            hint: "use a number from 1 on, such as 1.3",
            is_from_start: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "start",
        about: "measure from the start",
        default: "y",
        value: Value::Switch(|o| &mut o.start),
        clash: Some(&Clash {
            is_there: |o| !o.start && (o.delay_ns.is_some() || o.duration_ns.is_some()),
            agent: "delay and duration are not supported with start=n: perk start and perk stop begin \
                    and end the recording",
            command_line: "",
        }),
        note: "\
- `start=n` measures nothing until `perk start PID`; `perk stop PID` pauses the recording. Exact
  counts cannot be paused.",
        ..OWN_SWITCH
    },
    OptionRow {
        name: "delay",
        about: "time before measuring",
        value: Value::Time(|o| &mut o.delay_ns),
        note: "\
- `delay=10s` and `duration=30s` measure a part of the run: the recording begins this time after the
  program's start, and ends with its file this time after its own beginning. The program continues.
  Exact counts (`cpu=times|old`, `heap=sites`) have their probes from the start until the program
  ends; the counts begin from zero after `delay`, and end with `duration`. A site with objects from
  before counts no more live objects than were allocated since.",
        ..TIME
    },
    OptionRow {
        name: "duration",
        about: "time of measuring",
        default: "to the end",
        value: Value::Time(|o| &mut o.duration_ns),
        ..TIME
    },
    OptionRow {
        name: "flush",
        about: "write the file so far",
        default: "off",
        value: Value::Time(|o| &mut o.flush_ns),
        needs: Some(&Needs {
            is_met: Some(|o| o.format == OutputFormat::Extended && !o.has_peer()),
            agent: "format=p and a file",
            ..Needs::BASE
        }),
        note: "\
- `flush=5s` writes the profile so far under the file's name at least this often, from the first
  second on, so that it exists if the program is killed (`format=p`). Each flush that takes long makes
  the next ones rarer: all of them together take at most 2 % of the time. A flush does not count live
  objects.",
        ..TIME
    },
    OptionRow {
        name: "every",
        about: "begin a new file",
        default: "off",
        value: Value::Time(|o| &mut o.every_ns),
        needs: Some(&Needs {
            is_met: Some(|o| o.has_parts()),
            agent: "samples, format=p and a file with %n in its name",
            ..Needs::BASE
        }),
        note: "\
- `every=60s` begins a new file at each full minute: times are aligned to the clock. Each file has what was
  measured since the one before, and is readable alone; their sum is the recording. `%n` in `file`
  becomes the number of the file, from 1. The first file is up to an eighth longer, or shorter. Live objects
  are not counted.",
        ..TIME
    },
    OptionRow {
        name: "grace",
        about: "time without a holder",
        default: "none",
        value: Value::Time(|o| &mut o.grace_ns),
        needs: Some(&Needs {
            is_met: Some(|o| o.every_ns.is_some()),
            agent: "every",
            ..Needs::BASE
        }),
        note: "\
- `grace=10m` lets a recording that a connection holds (`lease` of the control socket) continue for this time
  without it, until the request `hold` of another connection takes it over.",
        ..TIME
    },
    OptionRow {
        name: "secrets",
        about: "keep secrets, do not mask",
        default: "n",
        value: Value::Switch(|o| &mut o.secrets),
        note: "\
- `secrets=n` writes `***` instead of passwords, tokens and keys of the program's command line, which
  the file has as the name of the program. It recognises them by the name of an option or parameter
  (`--password=…`, `--api-key …`, `?token=…`), and in URLs with a user. The file does not have the
  options of the JVM itself.",
        arguments: &[Argument {
            long: "keep-secrets",
            position: 300,
            help: "Keep passwords, tokens and keys of the command line in files and reports; without \
                   it, *** replaces them",
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "cache",
        about: "keep changed JDK classes",
        default: "y",
        value: Value::Switch(|o| &mut o.cache),
        needs: Some(&TREES),
        is_lenient: true,
        note: "\
- `cache=y` keeps the JDK's classes that every program loads, with their probes, in `perk/classes` in
  the user's cache folder, so that later JVMs start faster. It applies to `cpu=times|old` and
  `heap=sites` without `include` and `exclude`. `cache=n` neither reads nor writes there.",
        arguments: &[Argument {
            long: "no-cache",
            position: 250,
            help: "Neither keep changed classes of the JDK in the user's cache folder nor use those \
                   in it",
            plain: "n",
            is_from_start: true,
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "wall",
        values: "y|n|<time>",
        about: "wall-clock samples (format=p)",
        default: "n",
        form: Some("y|n|<time>"),
        rule: "y, n or an interval such as 10ms",
        value: Value::SwitchOrTime(|o| &mut o.wall_ns, WALL_NS),
        arguments: &[Argument {
            long: "wall",
            position: 20,
            help: "Sample all threads by wall-clock time, with their states, at this interval \
                   [default: 10ms]",
            is_optional: true,
            is_measurement: true,
            ..TIME_ARGUMENT
        }],
        ..OWN
    },
    OptionRow {
        name: "wall-threads",
        values: "<names>",
        about: "threads that wall samples",
        default: "the program's",
        form: Some("<name>:<name>"),
        rule: "names of threads with : between them",
        value: Value::ThreadNames(|o| &mut o.wall_threads),
        needs: Some(&Needs::one_of(&[Wall])),
        arguments: &[Argument {
            long: "wall-threads",
            position: 30,
            help: "The threads of --wall, by name: main, 'http-*' (repeatable, or with commas) \
                   [default: those of the program; '*': also the JDK's own]",
            value_name: "NAME",
            is_list: true,
            hint: "use the name of a thread, * for any part of it, without colons, such as http-*",
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "sample",
        values: "<n>[k|m|g]",
        about: "bytes between heap samples",
        default: "off",
        form: Some("DECIMAL"),
        rule: "decimal, > 0 and below 2048m",
        // The JVM takes it as a signed number of 32 bits.
        value: Value::OptionalScaled(|o| &mut o.heap_sample_bytes, i32::MAX as u64),
        needs: Some(&Needs {
            is_met: Some(|o| o.heap_sites),
            agent: "heap=sites",
            command_line: "--heap sites",
            ..Needs::BASE
        }),
        note: "\
- `sample` makes `heap=sites` an estimate from one sample per this number of allocated bytes, on
  average; without it perk counts every allocation. perk refuses it without `heap=sites`.",
        arguments: &[
            Argument {
                long: "alloc",
                position: 40,
                help: "Estimate allocated and live objects from one sample per SIZE bytes [default: \
                       512k]; the same as --heap sites --sample SIZE",
                plain: "512k",
                is_optional: true,
                also: &[("heap", "sites")],
                conflicts: &["heap", "sample"],
                is_measurement: true,
                ..SAMPLE_ARGUMENT
            },
            Argument {
                long: "sample",
                position: 260,
                help: "Estimate --heap sites from one sample per SIZE bytes: 512k, 1m",
                is_from_start: true,
                ..SAMPLE_ARGUMENT
            },
        ],
        ..OWN
    },
    OptionRow {
        name: "gc",
        about: "collect garbage before a dump",
        default: "n",
        value: Value::Switch(|o| &mut o.gc),
        note: "\
- `gc=y` collects garbage before a dump, so that `heap=sites` counts no dead objects as live.",
        arguments: &[
            Argument {
                long: "gc",
                position: 270,
                help: "Collect garbage before --heap reads the objects [default of perk run if it \
                       counts live objects]",
                needs: Some(&Needs {
                    is_met: Some(|o| o.heap_dump || o.heap_sites && o.live),
                    command_line: "--heap",
                    ..Needs::BASE
                }),
                ..FLAG
            },
            Argument {
                long: "no-gc",
                position: 280,
                help: "Do not collect garbage: dead objects that no collection has removed yet count \
                       as live",
                plain: "n",
                conflicts: &["gc"],
                needs: Some(&Needs {
                    is_met: Some(|o| o.heap_sites && o.live),
                    command_line: "--heap sites, --heap all or --alloc",
                    ..Needs::BASE
                }),
                ..FLAG
            },
        ],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "budget",
        values: "y|n|<kinds>",
        about: "cpu, waits, locks, alloc",
        default: "n",
        form: Some("y|n|cpu:waits:locks:alloc"),
        rule: "y, n or cpu, waits, locks and alloc with : between them",
        value: Value::Kinds(&Kinds {
            none: |o| o.budget = false,
            plain: |o| o.budget = true,
            kinds: &[
                Choice { name: "cpu", set: |o| o.cpu.samples = true },
                Choice { name: "waits", set: |o| _ = o.wall_ns.get_or_insert(WALL_NS) },
                Choice { name: "locks", set: |o| (o.monitor, o.locks) = (true, true) },
                Choice {
                    name: "alloc",
                    set: |o| {
                        (o.heap_sites, o.live) = (true, false);
                        o.heap_sample_bytes.get_or_insert(SAMPLE_BYTES);
                    },
                },
            ],
        }),
        needs: Some(&Needs::one_of(&[Samples, Wall, Monitors, SampledSites])),
        note: "\
- `budget=y` keeps the cost of `wall`, of `monitor=y` and of `heap=sites` with `sample` small: their
  intervals become longer where samples cost much, and waits for locks are sampled by their duration.
  CPU samples are taken every 20 ms, unless `interval` is given.
  The numbers are estimates; each sample has the weight of the interval that was in force.
  `budget=cpu:waits:locks:alloc` also turns these on: `cpu=samples`, `wall=y`, `monitor=y,locks=y` and
  `heap=sites,sample=512k,live=n`. `perk run` and `perk attach` measure this by default (`format=p`).",
        arguments: &[Argument {
            long: "only",
            position: 5,
            help: "Measure only these of what is measured by default (repeatable, or with commas) \
                   [default: cpu,waits,locks,alloc]",
            value_name: "WHAT",
            is_list: true,
            words: &[
                Word::new("cpu", "Samples of the stacks of threads that use CPU time"),
                Word::new("waits", "Samples of what all threads do and wait for, by the clock"),
                Word::new("locks", "Waits for locks, estimated from samples"),
                Word::new("alloc", "Allocations, estimated from samples"),
            ],
            conflicts: &[
                "cpu", "wall", "alloc", "heap", "aprof", "xprof", "fields", "jamaica", "monitor",
                "locks",
            ],
            is_measurement: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "thread-kinds",
        values: "<kinds>",
        about: "all, platform (thread=y)",
        default: "all",
        rule: "all|platform",
        value: Value::Choice(&[
            Choice { name: "all", set: |o| o.platform_threads = false },
            Choice { name: "platform", set: |o| o.platform_threads = true },
        ]),
        needs: Some(&Needs { is_met: Some(|o| o.thread), agent: "thread=y", ..Needs::BASE }),
        note: "\
- With `thread-kinds=platform`, `thread=y` distinguishes only platform threads, and only in samples
  and waits: all virtual threads are one, and exact counts are those of all threads. perk refuses it
  without `thread=y`.",
        ..OWN
    },
    OptionRow {
        name: "paths",
        about: "allocations by call path",
        default: "y",
        value: Value::Switch(|o| &mut o.paths),
        needs: Some(&Needs {
            is_met: Some(|o| o.can_count_by_line() && o.format == OutputFormat::Extended),
            agent: "heap=sites and format=p, without sample, cpu=times, aprof and jamaica; include and exclude \
                    with cpu=counts alone",
            ..Needs::BASE
        }),
        note: "\
- `paths=n` counts the objects that each instruction makes, and no call paths: those are estimated from samples.
  It costs a fraction of `paths=y`. perk refuses it without `heap=sites` and `format=p`. It is the default of
  `perk run`, except with what counts by call path, or in chosen methods.",
        arguments: &[Argument {
            long: "paths",
            position: 285,
            help: "Count the objects of --heap sites by call path, and not by line: exact callers, at several \
                   times the cost",
            plain: "y",
            default: "n",
            is_from_start: true,
            needs: Some(&Needs {
                is_met: Some(|o| o.counts_sites_alone()),
                command_line: "--heap sites, without --sample",
                ..Needs::BASE
            }),
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "live",
        about: "count live objects, too",
        default: "y",
        value: Value::Switch(|o| &mut o.live),
        needs: Some(&Needs {
            is_met: Some(|o| o.heap_sites && !o.heap_dump && o.format == OutputFormat::Extended),
            agent: "heap=sites and format=p",
            ..Needs::BASE
        }),
        note: "\
- `live=n` counts only allocated objects: no object gets a field or an identity hash, and no walk of
  the heap looks for live objects. The file marks their numbers as unknown. perk refuses it without
  `heap=sites` and `format=p`.",
        arguments: &[Argument {
            long: "no-live",
            position: 290,
            help: "Count only allocated objects, which costs less: --heap sites then does not look \
                   for live ones",
            plain: "n",
            conflicts: &["gc"],
            is_from_start: true,
            needs: Some(&Needs {
                is_met: Some(|o| o.counts_sites_alone()),
                command_line: "--heap sites, without --sample",
                ..Needs::BASE
            }),
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "locks",
        about: "j.u.c. locks, with monitor=y",
        default: "n",
        value: Value::Switch(|o| &mut o.locks),
        needs: Some(&Needs::one_of(&[Monitors])),
        note: "\
- With `locks=y`, `monitor=y` also measures how long threads park for the locks and queues of
  `java.util.concurrent`. perk refuses it without `monitor=y`.",
        arguments: &[Argument {
            long: "locks",
            alias: "lock",
            position: 130,
            help: "Also measure how long threads park for locks of java.util.concurrent; implies \
                   --monitor",
            also: &[("monitor", "y")],
            is_measurement: true,
            ..FLAG
        }],
        ..OWN_SWITCH
    },
    OptionRow {
        name: "aprof",
        values: "y|n|between",
        about: "allocations by class",
        default: "n",
        rule: "y|n|between",
        value: Value::Choice(&[
            Choice { name: "y", set: |o| (o.aprof, o.aprof_between) = (true, false) },
            Choice { name: "n", set: |o| (o.aprof, o.aprof_between) = (false, false) },
            Choice { name: "between", set: |o| (o.aprof, o.aprof_between) = (true, true) },
        ]),
        note: "\
- `aprof=y` counts the objects and bytes allocated for each class over the whole run, as the JVM's
  `-Xaprof` did, and prints the table on stdout at exit; with `format=p` it is only in the file.
- `aprof=between` prints this table on stdout at each dump, with the allocations since the previous
  dump, or since the start. Send SIGQUIT when the period to measure begins and when it ends. A line
  above each table gives its period. The file has the whole run, as with `aprof=y`.",
        arguments: &[
            Argument {
                long: "aprof",
                position: 60,
                help: "Count the objects and bytes allocated for each class",
                is_measurement: true,
                is_from_start: true,
                ..FLAG
            },
            Argument {
                long: "from-signal",
                position: 140,
                help: "At each SIGQUIT and at the end, print the counts of --aprof since the last \
                       time on stdout",
                plain: "between",
                requires: "aprof",
                is_from_start: true,
                ..FLAG
            },
        ],
        ..OWN
    },
    OptionRow {
        name: "xprof",
        values: "y|n|<kind>",
        about: "-Xprof: tiers, inlined, all",
        default: "n",
        form: Some("y|n|tiers:inlined:all"),
        rule: "y, n or tiers, inlined and all with : between them",
        value: Value::Kinds(&Kinds {
            none: |o| o.xprof = None,
            plain: |o| o.xprof = Some(Xprof::default()),
            kinds: &[
                Choice { name: "tiers", set: |o| o.xprof.get_or_insert_default().tiers = true },
                Choice { name: "inlined", set: |o| o.xprof.get_or_insert_default().inlined = true },
                Choice { name: "all", set: |o| o.xprof.get_or_insert_default().all = true },
            ],
        }),
        note: "\
- `xprof=y` prints the tables of the JVM's `-Xprof` on stdout, as the original did: those of a thread
  when it has ended, all others and a summary when the program ends. Without another analysis, `file`
  names a file for them, and perk writes no other file. `xprof=tiers` lists methods compiled by C1 and
  by C2 in separate tables. `xprof=inlined` lists methods that were inlined instead of those that they
  were inlined into. `xprof=all` lists every method and not only the first 10 of each table. A colon
  joins them, as in `xprof=tiers:inlined`. The tables need the signals of `engine=signal`, whatever
  engine `cpu=samples` uses. [xprof.md](xprof.md) describes the tables.",
        arguments: &[Argument {
            long: "xprof",
            position: 70,
            help: "Print what kind of code each thread runs, by method, as the JVM's -Xprof did: on \
                   the program's stdout, or into -o x.xprof. A KIND lists more methods separately \
                   (repeatable, or with commas)",
            value_name: "KIND",
            is_optional: true,
            is_list: true,
            words: &[
                Word::new("tiers", "Methods compiled by C1, and those compiled by C2"),
                Word::new("inlined", "Inlined methods, instead of those that they were inlined into"),
                Word::new("all", "All methods, instead of the first 10 of each table"),
            ],
            is_measurement: true,
            is_from_start: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "jamaica",
        values: "y|n|bytecodes",
        about: "JamaicaVM's profile",
        default: "n",
        rule: "y|n|bytecodes",
        value: Value::Choice(&[
            Choice { name: "y", set: |o| o.jamaica = Some(Jamaica::All) },
            Choice { name: "n", set: |o| o.jamaica = None },
            Choice { name: "bytecodes", set: |o| o.jamaica = Some(Jamaica::Bytecodes) },
        ]),
        arguments: &[Argument {
            long: "jamaica",
            position: 100,
            help: "Count executed bytecodes exactly, for JamaicaVM's profile [default: all]",
            value_name: "WHAT",
            is_optional: true,
            words: &[
                Word {
                    name: "all",
                    value: Some("y"),
                    help: "Bytecodes, cycles, calls, native calls, arrays, classes, threads and the heap",
                },
                Word::new("bytecodes", "Bytecodes by method and line, at less cost"),
            ],
            is_measurement: true,
            is_from_start: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "fields",
        values: "shared|n",
        about: "accesses to fields",
        default: "n",
        rule: "shared|n",
        value: Value::Choice(&[
            Choice { name: "shared", set: |o| o.fields = true },
            Choice { name: "n", set: |o| o.fields = false },
        ]),
        arguments: &[Argument {
            long: "fields",
            position: 80,
            help: "Count the accesses to the fields of each object",
            value_name: "KIND",
            words: &[Word::new(
                "shared",
                "Reads and writes of each field, by the thread that made the object and by others",
            )],
            also: &[("aggregate", "site")],
            is_measurement: true,
            is_from_start: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "aggregate",
        values: "site|n",
        about: "merge alike objects",
        default: "n",
        rule: "site|n",
        value: Value::Choice(&[
            Choice { name: "site", set: |o| o.aggregate = true },
            Choice { name: "n", set: |o| o.aggregate = false },
        ]),
        needs: Some(&Needs::one_of(&[Fields])),
        ..OWN
    },
    OptionRow {
        name: "site-index",
        values: "<kind>",
        about: "instruction, bci, disl2012",
        default: "instruction",
        rule: "instruction|bci|disl2012",
        value: Value::Choice(&[
            Choice { name: "instruction", set: |o| o.site_index = SiteIndex::Instruction },
            Choice { name: "bci", set: |o| o.site_index = SiteIndex::Bci },
            Choice { name: "disl2012", set: |o| o.site_index = SiteIndex::Disl2012 },
        ]),
        needs: Some(&Needs::one_of(&[Fields])),
        ..OWN
    },
    OptionRow {
        name: "accesses",
        values: "<kind>",
        about: "instructions, extended",
        default: "instructions",
        rule: "instructions|extended",
        value: Value::Choice(&[
            Choice { name: "instructions", set: |o| o.extended_accesses = false },
            Choice { name: "extended", set: |o| o.extended_accesses = true },
        ]),
        needs: Some(&Needs::one_of(&[Fields])),
        arguments: &[Argument {
            long: "accesses",
            position: 90,
            help: "The accesses that --fields counts [default: instructions]",
            value_name: "KIND",
            words: &[
                Word::new("instructions", "Accesses by instructions of Java code"),
                Word::new(
                    "extended",
                    "Also accesses that no instruction makes: System.arraycopy, clone(), reflection, \
                     Unsafe",
                ),
            ],
            is_from_start: true,
            ..FLAG
        }],
        ..OWN
    },
    OptionRow {
        name: "memlimit",
        values: "<bytes>",
        about: "memory of traces, records",
        default: "256m",
        rule: "numeric, above 0",
        value: Value::OptionalScaled(|o| &mut o.memory_limit_bytes, u64::MAX),
        needs: Some(&Needs {
            of: &[
                Samples,
                Calls,
                Wall,
                Sites,
                SampledSites,
                Monitors,
                Fields,
                JamaicaProfile,
            ],
            is_met: Some(|o| {
                let has_samples = o.cpu.samples || o.wall_ns.is_some() || o.monitor;
                has_samples || o.fields || o.heap_sites || o.has_call_trees()
            }),
            ..Needs::BASE
        }),
        is_lenient: true,
        note: "\
- `memlimit` is a number of bytes; `k`, `m` and `g` after it mean KiB, MiB and GiB. It limits the memory of the call
  traces of samples (`cpu=samples`, `wall`, `heap=sites` with `sample`) and of waits (`monitor=y`), which
  grows with each new stack; the default is the limit for
  these. At the limit, a sample with a new stack is booked
  below those of its outermost frames that are known, on a frame `perk.[memory limit reached]`: no sample
  and no time is lost, and the totals of threads stay right. A warning at the end and reports have the
  number of such samples. The times of samples (`format=p`) take at most another eighth of the limit.
  Names and threads have no limit. `memlimit` also limits the call trees and sites of exact counts
  (`cpu=times`, `heap=sites`), including the memory of dumps: a call on a path without room is counted
  only by method, below `<folded>`, a new site only by class, and a warning says so. If only
  `max-nodes` is given, it alone limits the nodes. With `fields=shared` `memlimit` limits the records
  of objects, and its default is `4096m`.",
        arguments: &[Argument {
            long: "memlimit",
            position: 240,
            help: "Limit of the memory for call paths; new ones beyond it are cut, or counted only \
                   by method [default: 256m]",
            ..SIZE_ARGUMENT
        }],
        ..OWN
    },
    OptionRow {
        name: "exitpause",
        section: Section::Removed,
        value: Value::Removed("The exitpause option was removed, use -XX:OnError='cmd %%p'"),
        ..BASE
    },
    OptionRow {
        name: "precrash",
        section: Section::Removed,
        value: Value::Removed(
            "The precrash option was removed, use -XX:OnError='precrash -p %%p'",
        ),
        ..BASE
    },
];

/// The options, as the agent needs them.
pub(super) static OPTIONS: [AgentOption; ROWS.len()] = {
    let mut options = [BASE.for_agent(); ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        options[index] = ROWS[index].for_agent();
        index += 1;
    }
    options
};
