//! The tables of `-Xprof`, HotSpot's flat profiler (JDK 1.2 to 9): ticks by thread and method.
//!
//! Source of the format: what JVMs of these ages print; see `docs/formats/xprof.md`.

mod read;
mod write;

pub use read::{read, recognise};
pub use write::write;

/// How the profile of a thread begins.
const THREAD_HEAD: &str = "Flat profile of ";
/// How the last table begins.
const GLOBAL_HEAD: &str = "Global summary of ";
const LOCAL_HEAD: &str = "Thread-local ticks:";
/// Ticks of a thread that was not running, in percent of all of its ticks.
const BLOCKED: &str = "Blocked (of total)";
const RECEIVED: &str = "Received ticks";
/// The frame around the stubs of the JVM's own runtime.
const RUNTIME_STUB: &str = "[runtime stub]";

/// The metric of the ticks of threads that were not running.
const BLOCKED_METRIC: &str = "blocked";
/// The metric of the ticks in native code, which are among the samples.
const NATIVE_METRIC: &str = "native-ticks";
/// The metric of the ticks of the global summary. Those of one kind, such as `Compilation`, are a
/// metric of their own: a tick may be of several kinds or of none.
const RECEIVED_METRIC: &str = "received-ticks";
/// What stands between that name and a kind.
const OF_KIND: &str = ": ";
/// The metric of how long each thread ran.
const ELAPSED_METRIC: &str = "thread-elapsed";
/// The metric of how long the program ran.
const PROGRAM_METRIC: &str = "program-elapsed";

/// A table of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Interpreted,
    Compiled,
    /// Native methods that compiled code calls, through code compiled for that.
    Stub,
    RuntimeStub,
}

impl Table {
    const ALL: [Table; 4] = [Self::Interpreted, Self::Compiled, Self::Stub, Self::RuntimeStub];

    /// Its title before `+ native`.
    fn title(self) -> &'static str {
        match self {
            Self::Interpreted => "Interpreted",
            Self::Compiled => "Compiled",
            Self::Stub => "Stub",
            Self::RuntimeStub => "Runtime stub",
        }
    }

    /// The name of its last row.
    fn total(self) -> &'static str {
        match self {
            Self::Interpreted => "Total interpreted",
            Self::Compiled => "Total compiled",
            Self::Stub => "Total stub",
            Self::RuntimeStub => "Total runtime stubs",
        }
    }
}
