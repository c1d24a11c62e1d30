//! The tables of `-Xprof`, HotSpot's flat profiler (JDK 1.2 to 9): ticks by thread and method.
//!
//! Source of the format: the output of JVMs of these versions; see `docs/formats/xprof.md`.

use std::io::{self, Read, Write};

use perk_hprof::xprof::{
    BLOCKED, GLOBAL_HEAD, LOCAL_HEAD, LOST, RECEIVED, THREAD_HEAD, Table, ThreadTables, WAITING,
    XprofRow, write_summary,
};
use perk_profile::{Metric, Profile};

use crate::Error;
use crate::file_format::{
    Depth, Detail, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
    has_rounded_times, listed, refusal,
};
mod read;
mod write;

pub use read::{read, recognise};
pub use write::write;

/// The tables of `-Xprof`.
pub static XPROF: &dyn FileFormat = &Xprof;

pub(crate) struct Xprof;

impl FileFormat for Xprof {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "xprof",
            title: "-Xprof text",
            about: "Ticks by method and thread, as `-Xprof` printed them",
            endings: &["xprof", "xprof.txt"],
            page: "xprof.md",
            keeps: "samples by thread and method, without paths",
            reading: Reading::ToCut,
            written: Some(FormatContent {
                metrics: Metrics::Table,
                detail: Detail::Methods,
                documents: &[],
                accounting: false,
                depth: Depth::Whole,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        if !Metric::Samples.is_in(view.profile) {
            return Err(refusal("the tables of -Xprof hold samples; the profile has none"));
        }
        write(view.profile, out)
    }

    fn written_total(&self, profile: &Profile, metric: &Metric) -> u64 {
        match metric {
            Metric::Samples => listed(profile, metric),
            _ => metric.rows(profile).total,
        }
    }

    fn rounding(&self, profile: &Profile, metric: &Metric) -> Option<&'static str> {
        const STEP_NS: u64 = 10_000_000;
        has_rounded_times(profile, metric, STEP_NS).then_some("rows in 0.01 s")
    }

    fn holds_interval(&self, _profile: &Profile) -> bool {
        false
    }

    fn holds(&self, metric: &Metric) -> bool {
        let own = [BLOCKED_METRIC, WAITING_METRIC, NATIVE_METRIC, ELAPSED_METRIC, PROGRAM_METRIC];
        let is_own = |name: &str| own.contains(&name) || name.starts_with(RECEIVED_METRIC);
        *metric == Metric::Samples || metric.is_other() && is_own(metric.name())
    }
}

/// The frame around the stubs of the JVM's own runtime.
const RUNTIME_STUB: &str = "[runtime stub]";

/// The metric of the ticks of threads that were not running.
const BLOCKED_METRIC: &str = "blocked";
/// The metric of the ticks of threads that waited for a CPU.
const WAITING_METRIC: &str = "waiting-for-cpu";
/// The metric of the ticks in native code, which are among the samples.
const NATIVE_METRIC: &str = "native-ticks";
/// The metric of the ticks of the global summary. The ticks of one kind, such as `Compilation`, are
/// a metric of their own: a tick may be of several kinds or of none.
const RECEIVED_METRIC: &str = "received-ticks";
/// The text between that name and a kind.
const OF_KIND: &str = ": ";
/// The metric of the time that each thread ran.
const ELAPSED_METRIC: &str = "thread-elapsed";
/// The metric of the time that the program ran.
const PROGRAM_METRIC: &str = "program-elapsed";
