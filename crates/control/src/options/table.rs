//! The table of options. It alone defines the options, their form and their meaning.

use perk_profile::{NamePattern, WholePattern};

use super::numbers;
use super::{
    Classes, Clock, Format, Jamaica, Options, SampleEngine, SiteIndex, TimesForm, TimingMethod,
    WALL_INTERVAL_NS, Xprof,
};

/// One option.
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// The values, as the help text shows them.
    pub(super) values: &'static str,
    pub(super) about: &'static str,
    pub(super) default: &'static str,
    pub(super) section: Section,
    /// The form that the message for an empty value shows after the name; without it, `rule` is
    /// quoted.
    pub(super) form: Option<&'static str>,
    /// The requirement that the message for a wrong value states.
    pub(super) rule: &'static str,
    pub(super) set: Set,
    /// The values that perk adds to the original's and documents.
    pub(super) additions: &'static [Addition],
}

/// The place of an option in the help text and the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Main,
    Obsolete,
    /// The original accepted it but did not document it.
    Undocumented,
    /// perk's own.
    Perk,
    /// It is refused with a hint.
    Removed,
}

/// The effect of an option's value.
pub(super) enum Set {
    /// Takes a value; `None` means it is wrong.
    Value(fn(&mut Options, &str) -> Option<()>),
    /// `y` or `n`.
    Switch(fn(&mut Options) -> &mut bool),
    /// `y` or `n`, without effect.
    Ignored,
    /// A number of any value that the original accepted, without effect.
    IgnoredNumber,
    File,
    Net,
    /// An option that no longer exists, with the message for it.
    Removed(&'static str),
}

/// A value that perk accepts in addition to the original's.
pub(super) struct Addition {
    pub(super) values: &'static str,
    pub(super) about: &'static str,
}

/// The values of the fields that most options share. Each table entry overrides the others.
const BASE: Spec = Spec {
    name: "",
    values: "",
    about: "",
    default: "",
    section: Section::Main,
    form: None,
    rule: "",
    set: Set::Ignored,
    additions: &[],
};

/// A `y|n` switch.
const SWITCH: Spec = Spec { values: "y|n", rule: "y|n", ..BASE };
const UNDOCUMENTED_SWITCH: Spec = Spec { section: Section::Undocumented, ..SWITCH };
const UNDOCUMENTED_NUMBER: Spec = Spec {
    values: "<number>",
    default: "0",
    section: Section::Undocumented,
    rule: "numeric",
    set: Set::IgnoredNumber,
    ..BASE
};

const PATTERNS: Spec = Spec {
    values: "<name>:<name>",
    section: Section::Perk,
    form: Some("<name>:<name>"),
    rule: "class or method names with : between them",
    ..BASE
};

const TIME: Spec = Spec {
    values: "<time>",
    default: "none",
    section: Section::Perk,
    form: Some("<time>"),
    rule: "a time above 0 such as 30s",
    ..BASE
};

/// All options, in the order of the help text.
pub(super) static TABLE: &[Spec] = &[
    Spec {
        name: "heap",
        values: "dump|sites|all",
        about: "heap profiling",
        default: "all",
        form: Some("dump|sites|all"),
        rule: "dump|sites|all",
        set: Set::Value(set_heap),
        ..BASE
    },
    Spec {
        name: "cpu",
        values: "samples|times|old",
        about: "CPU usage",
        default: "off",
        form: Some("y|samples|times|old"),
        rule: "y|samples|times|old",
        set: Set::Value(set_cpu),
        ..BASE
    },
    Spec {
        name: "monitor",
        about: "monitor contention",
        default: "n",
        set: Set::Switch(|o| &mut o.monitor),
        ..SWITCH
    },
    Spec {
        name: "format",
        values: "a|b",
        about: "text(txt) or binary output",
        default: "a",
        form: Some("a|b"),
        rule: "a|b",
        set: Set::Value(set_format),
        additions: &[Addition { values: "p", about: "perk's extended binary output" }],
        ..BASE
    },
    Spec {
        name: "file",
        values: "<file>",
        about: "write data to file",
        default: "java.hprof[{.txt}]",
        form: Some("filename"),
        set: Set::File,
        additions: &[Addition { values: "<file with %p>", about: "%p is the process id, %% is %" }],
        ..BASE
    },
    Spec {
        name: "net",
        values: "<host>:<port>",
        about: "send data over a socket",
        default: "off",
        set: Set::Net,
        additions: &[Addition { values: "[<IPv6>]:<port>", about: "an IPv6 address and port" }],
        ..BASE
    },
    Spec {
        name: "depth",
        values: "<size>",
        about: "stack trace depth",
        default: "4",
        form: Some("DECIMAL"),
        rule: "decimal and >= 0",
        set: Set::Value(set_depth),
        ..BASE
    },
    Spec {
        name: "interval",
        values: "<ms>",
        about: "sample interval in ms",
        default: "10",
        form: Some("DECIMAL"),
        rule: "decimal and > 0",
        set: Set::Value(set_interval),
        additions: &[Addition { values: "<n>us|ms|s", about: "interval in the unit named" }],
        ..BASE
    },
    Spec {
        name: "cutoff",
        values: "<value>",
        about: "output cutoff point",
        default: "0.0001",
        form: Some("DOUBLE"),
        rule: "floating point and >= 0",
        set: Set::Value(set_cutoff),
        ..BASE
    },
    Spec {
        name: "lineno",
        about: "line number in traces?",
        default: "y",
        set: Set::Switch(|o| &mut o.lineno),
        ..SWITCH
    },
    Spec {
        name: "thread",
        about: "thread in traces?",
        default: "n",
        set: Set::Switch(|o| &mut o.thread),
        ..SWITCH
    },
    Spec {
        name: "doe",
        about: "dump on exit?",
        default: "y",
        set: Set::Switch(|o| &mut o.doe),
        ..SWITCH
    },
    Spec { name: "msa", about: "Solaris micro state accounting", default: "n", ..SWITCH },
    Spec {
        name: "force",
        about: "force output to <file>",
        default: "y",
        set: Set::Value(set_force),
        ..SWITCH
    },
    Spec {
        name: "verbose",
        about: "print messages about dumps",
        default: "y",
        set: Set::Switch(|o| &mut o.verbose),
        ..SWITCH
    },
    Spec { name: "gc_okay", about: "no effect", section: Section::Obsolete, ..SWITCH },
    Spec {
        name: "primfields",
        about: "values of primitive fields in heap dumps",
        default: "y",
        set: Set::Switch(|o| &mut o.prim_fields),
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "primarrays",
        about: "elements of primitive arrays in heap dumps",
        default: "y",
        set: Set::Switch(|o| &mut o.prim_arrays),
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "logflags",
        about: "no effect; the original logged what it did",
        ..UNDOCUMENTED_NUMBER
    },
    Spec {
        name: "debugflags",
        about: "no effect; the original checked itself",
        ..UNDOCUMENTED_NUMBER
    },
    Spec { name: "X", about: "no effect; the original had experiments", ..UNDOCUMENTED_NUMBER },
    Spec {
        name: "coredump",
        about: "no effect; the original aborted on a fatal error",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "errorexit",
        about: "no effect; for the original every error was fatal",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "pause",
        about: "wait on load for a debugger",
        default: "n",
        set: Set::Switch(|o| &mut o.pause),
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "debug",
        about: "no effect; the original debugged itself",
        default: "n",
        ..UNDOCUMENTED_SWITCH
    },
    Spec {
        name: "classes",
        values: "all|used",
        about: "LOAD CLASS records (format=b)",
        default: "all",
        section: Section::Perk,
        form: Some("all|used"),
        rule: "all|used",
        set: Set::Value(set_classes),
        ..BASE
    },
    Spec {
        name: "idsize",
        values: "4|8",
        about: "bytes of ids (format=b)",
        default: "8",
        section: Section::Perk,
        form: Some("4|8"),
        rule: "4|8",
        set: Set::Value(set_id_size),
        ..BASE
    },
    Spec {
        name: "version",
        values: "1.0.1|1.0.2",
        about: "of the file (format=b)",
        default: "1.0.2",
        section: Section::Perk,
        form: Some("1.0.1|1.0.2"),
        rule: "1.0.1|1.0.2",
        set: Set::Value(set_version),
        ..BASE
    },
    Spec {
        name: "engine",
        values: "signal|polling",
        about: "engine of CPU samples",
        default: "auto",
        section: Section::Perk,
        form: Some("signal|polling"),
        rule: "auto|signal|polling",
        set: Set::Value(set_engine),
        ..BASE
    },
    Spec {
        name: "native",
        about: "native frames in CPU samples?",
        default: "n",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.native),
        ..SWITCH
    },
    Spec {
        name: "timing",
        values: "tick|exact|none",
        about: "timing of calls",
        default: "tick",
        section: Section::Perk,
        form: Some("tick|exact|none"),
        rule: "tick|exact|none",
        set: Set::Value(set_timing),
        ..BASE
    },
    Spec {
        name: "clock",
        values: "cpu|wall",
        about: "clock of call times",
        default: "cpu",
        section: Section::Perk,
        form: Some("cpu|wall"),
        rule: "cpu|wall",
        set: Set::Value(set_clock),
        ..BASE
    },
    Spec {
        name: "include",
        about: "classes, methods to count",
        default: "all",
        set: Set::Value(|o, v| add_patterns(&mut o.include, v)),
        ..PATTERNS
    },
    Spec {
        name: "exclude",
        about: "classes, methods to leave out",
        default: "none",
        set: Set::Value(|o, v| add_patterns(&mut o.exclude, v)),
        ..PATTERNS
    },
    Spec {
        name: "app",
        about: "the program's own classes",
        default: "found by the main class",
        set: Set::Value(|o, v| add_patterns(&mut o.app, v)),
        ..PATTERNS
    },
    Spec {
        name: "max-nodes",
        values: "<n>[k|m|g]",
        about: "limit of call tree nodes",
        default: "8m",
        section: Section::Perk,
        form: Some("DECIMAL"),
        rule: "decimal and > 0",
        set: Set::Value(|o, v| scaled(v).map(|n| o.max_nodes = n)),
        ..BASE
    },
    Spec {
        name: "start",
        about: "measure from the start",
        default: "y",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.start),
        ..SWITCH
    },
    Spec {
        name: "delay",
        about: "until it measures",
        set: Set::Value(|o, value| interval_ns(value).map(|ns| o.delay_ns = Some(ns))),
        ..TIME
    },
    Spec {
        name: "duration",
        about: "until it has measured",
        default: "to the end",
        set: Set::Value(|o, value| interval_ns(value).map(|ns| o.duration_ns = Some(ns))),
        ..TIME
    },
    Spec {
        name: "flush",
        about: "show the file so far",
        default: "off",
        set: Set::Value(|o, value| interval_ns(value).map(|ns| o.flush_ns = Some(ns))),
        ..TIME
    },
    Spec {
        name: "secrets",
        about: "keep secrets of the program",
        default: "n",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.secrets),
        ..SWITCH
    },
    Spec {
        name: "cache",
        about: "keep changed JDK classes",
        default: "y",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.cache),
        ..SWITCH
    },
    Spec {
        name: "wall",
        values: "y|n|<time>",
        about: "wall-clock samples (format=p)",
        default: "n",
        section: Section::Perk,
        form: Some("y|n|<time>"),
        rule: "y, n or an interval such as 10ms",
        set: Set::Value(set_wall),
        ..BASE
    },
    Spec {
        name: "wall-threads",
        values: "<names>",
        about: "threads of wall",
        default: "the program's",
        section: Section::Perk,
        form: Some("<name>:<name>"),
        rule: "names of threads with : between them",
        set: Set::Value(|o, value| add_thread_names(&mut o.wall_threads, value)),
        ..BASE
    },
    Spec {
        name: "sample",
        values: "<n>[k|m|g]",
        about: "bytes between heap samples",
        default: "off",
        section: Section::Perk,
        form: Some("DECIMAL"),
        rule: "decimal, > 0 and below 2048m",
        set: Set::Value(set_sample),
        ..BASE
    },
    Spec {
        name: "gc",
        about: "collect garbage before a dump",
        default: "n",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.gc),
        ..SWITCH
    },
    Spec {
        name: "thread-kinds",
        values: "<kinds>",
        about: "all, platform: of thread=y",
        default: "all",
        section: Section::Perk,
        rule: "all|platform",
        set: Set::Value(set_thread_kinds),
        ..BASE
    },
    Spec {
        name: "live",
        about: "count live objects, too",
        default: "y",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.live),
        ..SWITCH
    },
    Spec {
        name: "locks",
        about: "j.u.c. locks, with monitor=y",
        default: "n",
        section: Section::Perk,
        set: Set::Switch(|o| &mut o.locks),
        ..SWITCH
    },
    Spec {
        name: "aprof",
        values: "y|n|between",
        about: "allocations by class",
        default: "n",
        section: Section::Perk,
        rule: "y|n|between",
        set: Set::Value(set_aprof),
        ..BASE
    },
    Spec {
        name: "xprof",
        values: "y|n|<kind>",
        about: "-Xprof: tiers, inlined, all",
        default: "n",
        section: Section::Perk,
        form: Some("y|n|tiers:inlined:all"),
        rule: "y, n or tiers, inlined and all with : between them",
        set: Set::Value(|o, value| xprof(value).map(|it| o.xprof = it)),
        ..BASE
    },
    Spec {
        name: "jamaica",
        values: "y|n|bytecodes",
        about: "JamaicaVM's profile",
        default: "n",
        section: Section::Perk,
        rule: "y|n|bytecodes",
        set: Set::Value(set_jamaica),
        ..BASE
    },
    Spec {
        name: "fields",
        values: "shared|n",
        about: "accesses to fields",
        default: "n",
        section: Section::Perk,
        rule: "shared|n",
        set: Set::Value(set_fields),
        ..BASE
    },
    Spec {
        name: "aggregate",
        values: "site|n",
        about: "alike objects: one record",
        default: "n",
        section: Section::Perk,
        rule: "site|n",
        set: Set::Value(set_aggregate),
        ..BASE
    },
    Spec {
        name: "site-index",
        values: "<kind>",
        about: "instruction, bci, disl2012",
        default: "instruction",
        section: Section::Perk,
        rule: "instruction|bci|disl2012",
        set: Set::Value(set_site_index),
        ..BASE
    },
    Spec {
        name: "accesses",
        values: "<kind>",
        about: "instructions, extended",
        default: "instructions",
        section: Section::Perk,
        rule: "instructions|extended",
        set: Set::Value(set_accesses),
        ..BASE
    },
    Spec {
        name: "memlimit",
        values: "<bytes>",
        about: "memory of traces, records",
        default: "256m",
        section: Section::Perk,
        rule: "numeric, above 0",
        set: Set::Value(|o, value| scaled(value).map(|bytes| o.memory_limit_bytes = Some(bytes))),
        ..BASE
    },
    Spec {
        name: "exitpause",
        section: Section::Removed,
        set: Set::Removed("The exitpause option was removed, use -XX:OnError='cmd %%p'"),
        ..BASE
    },
    Spec {
        name: "precrash",
        section: Section::Removed,
        set: Set::Removed("The precrash option was removed, use -XX:OnError='precrash -p %%p'"),
        ..BASE
    },
];

fn set_heap(options: &mut Options, value: &str) -> Option<()> {
    let (dump, sites) = match value {
        "dump" => (true, false),
        "sites" => (false, true),
        "all" => (true, true),
        _ => return None,
    };
    options.heap_dump |= dump;
    options.heap_sites |= sites;
    Some(())
}

fn set_cpu(options: &mut Options, value: &str) -> Option<()> {
    match value {
        "y" | "samples" => options.cpu.samples = true,
        "times" => options.cpu.times = Some(TimesForm::Times),
        "old" => options.cpu.times = Some(TimesForm::Old),
        _ => return None,
    }
    Some(())
}

fn set_format(options: &mut Options, value: &str) -> Option<()> {
    options.format = match value {
        "a" => Format::Ascii,
        "b" => Format::Binary,
        "p" => Format::Extended,
        _ => return None,
    };
    Some(())
}

fn set_depth(options: &mut Options, value: &str) -> Option<()> {
    options.depth = u32::try_from(numbers::decimal(value)?).ok()?;
    Some(())
}

fn set_interval(options: &mut Options, value: &str) -> Option<()> {
    options.interval_ns = interval_ns(value)?;
    Some(())
}

/// Parses a time of `interval` and returns it in nanoseconds. The text is a whole number above 0
/// with `us`, `ms` or `s` after it; without a unit it counts milliseconds. Any other text gives
/// `None`.
pub fn interval_ns(value: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 3] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let (number, unit_ns) = UNITS
        .iter()
        .find_map(|&(unit, unit_ns)| Some((value.strip_suffix(unit)?, unit_ns)))
        .unwrap_or((value, 1_000_000));
    let number = u64::try_from(numbers::decimal(number)?).ok().filter(|&n| n > 0)?;
    Some(number * unit_ns)
}

/// Sets the interval of wall-clock samples.
fn set_wall(options: &mut Options, value: &str) -> Option<()> {
    options.wall_ns = match value {
        "y" => Some(WALL_INTERVAL_NS),
        "n" => None,
        time => Some(interval_ns(time)?),
    };
    Some(())
}

/// Adds the names of a value. They are separated by colons, because a comma would end the value.
fn add_thread_names(names: &mut Vec<WholePattern>, value: &str) -> Option<()> {
    let added: Option<Vec<_>> = value.split(':').map(thread_name).collect();
    names.extend(added?);
    Some(())
}

/// Parses a name of `wall-threads`, in which each `*` stands for any characters. A text that is
/// empty or has a comma or a colon gives `None`: the grammar cannot express it.
pub fn thread_name(text: &str) -> Option<WholePattern> {
    WholePattern::new(text).filter(|_| !text.contains([',', ':']))
}

fn set_cutoff(options: &mut Options, value: &str) -> Option<()> {
    let cutoff = numbers::float(value)?;
    // No share is below NaN, so nothing is left out.
    options.cutoff = if cutoff.is_nan() { 0.0 } else { cutoff };
    (options.cutoff >= 0.0).then_some(())
}

fn set_classes(options: &mut Options, value: &str) -> Option<()> {
    options.classes = match value {
        "all" => Classes::All,
        "used" => Classes::Used,
        _ => return None,
    };
    Some(())
}

fn set_engine(options: &mut Options, value: &str) -> Option<()> {
    options.engine = match value {
        "auto" => SampleEngine::Auto,
        "signal" => SampleEngine::Signal,
        "polling" => SampleEngine::Polling,
        _ => return None,
    };
    Some(())
}

fn set_timing(options: &mut Options, value: &str) -> Option<()> {
    options.timing = match value {
        "tick" => TimingMethod::Tick,
        "exact" => TimingMethod::Exact,
        "none" => TimingMethod::None,
        _ => return None,
    };
    Some(())
}

fn set_clock(options: &mut Options, value: &str) -> Option<()> {
    options.clock = Some(match value {
        "cpu" => Clock::Cpu,
        "wall" => Clock::Wall,
        _ => return None,
    });
    Some(())
}

/// Adds the patterns of a value. They are separated by colons, because a comma would end the value.
fn add_patterns(patterns: &mut Vec<NamePattern>, value: &str) -> Option<()> {
    let added: Option<Vec<_>> = value.split(':').map(pattern).collect();
    patterns.extend(added?);
    Some(())
}

/// Parses a pattern of `include` and `exclude`: a name that a Java class or method can have, in
/// which each `*` stands for any characters. Any other text gives `None`.
pub fn pattern(text: &str) -> Option<NamePattern> {
    let pattern = NamePattern::new(text).filter(|it| it.odd_character().is_none())?;
    (!text.split('.').any(str::is_empty)).then_some(pattern)
}

/// Parses a number or size, such as those of `max-nodes`, `memlimit` and `sample`: a whole number above 0. A
/// `k` after it multiplies it by 1024, an `m` by 1024 * 1024, a `g` by 1024 * 1024 * 1024. Any other text gives
/// `None`.
pub fn scaled(value: &str) -> Option<u64> {
    numbers::scaled(value)
}

/// Parses a value of `sample`, which the JVM takes as a signed number of 32 bits. Any other text gives
/// `None`.
pub fn sample_bytes(value: &str) -> Option<u64> {
    scaled(value).filter(|&bytes| i32::try_from(bytes).is_ok())
}

fn set_sample(options: &mut Options, value: &str) -> Option<()> {
    options.heap_sample_bytes = Some(sample_bytes(value)?);
    Some(())
}

fn set_id_size(options: &mut Options, value: &str) -> Option<()> {
    options.short_ids = match value {
        "4" => true,
        "8" => false,
        _ => return None,
    };
    Some(())
}

fn set_version(options: &mut Options, value: &str) -> Option<()> {
    options.version_1_0_1 = match value {
        "1.0.1" => true,
        "1.0.2" => false,
        _ => return None,
    };
    Some(())
}

fn set_fields(options: &mut Options, value: &str) -> Option<()> {
    options.fields = match value {
        "shared" => true,
        "n" => false,
        _ => return None,
    };
    Some(())
}

fn set_aggregate(options: &mut Options, value: &str) -> Option<()> {
    options.aggregate = match value {
        "site" => true,
        "n" => false,
        _ => return None,
    };
    Some(())
}

fn set_accesses(options: &mut Options, value: &str) -> Option<()> {
    options.extended_accesses = match value {
        "extended" => true,
        "instructions" => false,
        _ => return None,
    };
    Some(())
}

fn set_site_index(options: &mut Options, value: &str) -> Option<()> {
    options.site_index = match value {
        "instruction" => SiteIndex::Instruction,
        "bci" => SiteIndex::Bci,
        "disl2012" => SiteIndex::Disl2012,
        _ => return None,
    };
    Some(())
}

fn set_force(options: &mut Options, value: &str) -> Option<()> {
    options.force = match value {
        "y" => true,
        "n" => false,
        _ => return None,
    };
    options.replace = options.force;
    Some(())
}

fn set_jamaica(options: &mut Options, value: &str) -> Option<()> {
    options.jamaica = match value {
        "y" => Some(Jamaica::All),
        "bytecodes" => Some(Jamaica::Bytecodes),
        "n" => None,
        _ => return None,
    };
    Some(())
}

/// Parses a value of `xprof`.
fn xprof(value: &str) -> Option<Option<Xprof>> {
    let mut xprof = Xprof::default();
    match value {
        "n" => return Some(None),
        "y" => return Some(Some(xprof)),
        _ => {}
    }
    for kind in value.split(':') {
        match kind {
            "tiers" => xprof.tiers = true,
            "inlined" => xprof.inlined = true,
            "all" => xprof.all = true,
            _ => return None,
        }
    }
    Some(Some(xprof))
}

fn set_thread_kinds(options: &mut Options, value: &str) -> Option<()> {
    options.platform_threads = match value {
        "all" => false,
        "platform" => true,
        _ => return None,
    };
    Some(())
}

fn set_aprof(options: &mut Options, value: &str) -> Option<()> {
    (options.aprof, options.aprof_between) = match value {
        "y" => (true, false),
        "n" => (false, false),
        "between" => (true, true),
        _ => return None,
    };
    Some(())
}
