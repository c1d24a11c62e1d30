//! Metrics: the numbers that a profile has for its call paths. Samples, times, calls, objects,
//! waits for locks, and metrics of other tools.

use std::sync::Arc;

use crate::units::printable;

/// The unit of the numbers of a [`Metric`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Things.
    #[default]
    Count,
    /// Time, in nanoseconds.
    Nanoseconds,
    /// Memory, in bytes.
    Bytes,
}

impl Unit {
    /// Its name in files: `count`, `nanoseconds`, `bytes`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
        }
    }
}

/// The name of the metric of CPU time of threads that do not run Java code, in nanoseconds, estimated
/// from samples: the JVM's own threads, which compile and collect garbage, and those of libraries.
pub const JVM: &str = "jvm";
/// The name of the metric of the CPU time of a whole process, in nanoseconds, as its JVM measured it.
pub const PROCESS_CPU: &str = "process CPU time";
/// The name of the metric of the CPU time of garbage collections, in nanoseconds, as the JVM measured
/// it.
pub const GC_CPU: &str = "GC CPU time";

/// A metric's fixed facts.
struct MetricFacts {
    /// Its names: on the command line; in files of several metrics, which is pprof's where pprof has
    /// one; and another one that limits of `perk diff` take.
    names: [&'static str; 3],
    /// Its name in headings and sentences.
    title: &'static str,
    unit: Unit,
    /// See [`Metric::is_leading`].
    is_leading: bool,
}

/// The facts of a metric that leads in its section.
const fn first(names: [&'static str; 3], title: &'static str, unit: Unit) -> MetricFacts {
    MetricFacts { names, title, unit, is_leading: true }
}

/// The facts of a metric beside another of its section.
const fn second(names: [&'static str; 3], title: &'static str, unit: Unit) -> MetricFacts {
    MetricFacts { names, title, unit, is_leading: false }
}

/// Declares the metrics of perk with their facts.
macro_rules! metrics {
    ($($(#[$attribute:meta])* $metric:ident = $facts:expr,)*) => {
        /// A number that a profile has for its call paths.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Metric {
            $($(#[$attribute])* $metric,)*
            /// A metric of another tool (events, bytecodes executed, delays), with its name in the
            /// file and its unit.
            Other(Arc<str>, Unit),
        }

        impl Metric {
            /// The metrics that perk knows, in the order of preference for the default.
            pub const OWN: [Metric; [$(stringify!($metric)),*].len()] = [$(Metric::$metric),*];

            fn facts(&self) -> Option<&'static MetricFacts> {
                match self {
                    $(Metric::$metric => {
                        const FACTS: MetricFacts = $facts;
                        Some(&FACTS)
                    })*
                    Metric::Other(..) => None,
                }
            }
        }
    };
}

// A new metric is a row here, and the analysis or the reader that fills a section with it. The order
// is that of preference for the default.
metrics! {
    /// CPU samples.
    #[default]
    Samples = first(["samples", "samples", "samples"], "samples", Unit::Count),
    /// Self time of calls.
    SelfTime = first(["time", "time", "self_ns"], "time", Unit::Nanoseconds),
    /// Calls.
    Calls = first(["calls", "calls", "calls"], "calls", Unit::Count),
    /// Time of calls, including the calls that they make. By call path it does not add up: the time
    /// of a path includes the times of the paths that continue it.
    TotalTime = second(["total_time", "total_time", "total_ns"], "total_time", Unit::Nanoseconds),
    /// The calls of which the caller is estimated: several methods can run where the callers make them. They are
    /// among the calls.
    EstimatedCalls = second(
        ["estimated_calls", "estimated_calls", "estimated_call_count"],
        "calls by estimated callers",
        Unit::Count,
    ),
    /// Wall-clock time of threads, estimated from samples, whatever they did. The subject is their
    /// state.
    WallTime = first(["wall", "wall", "wall_ns"], "wall-clock time", Unit::Nanoseconds),
    /// Bytes of all objects allocated.
    AllocatedBytes =
        first(["allocated", "alloc_space", "allocated_bytes"], "allocated bytes", Unit::Bytes),
    /// Bytes of the live objects.
    LiveBytes = first(["live", "inuse_space", "live_bytes"], "live bytes", Unit::Bytes),
    /// All objects allocated.
    AllocatedObjects =
        second(["objects", "alloc_objects", "allocated_count"], "objects", Unit::Count),
    /// The live objects.
    LiveObjects =
        second(["live_objects", "inuse_objects", "live_count"], "live objects", Unit::Count),
    /// Time in which threads were blocked by a lock.
    BlockedTime = first(["blocked", "delay", "lock_time"], "blocked time", Unit::Nanoseconds),
    /// The number of times that a thread could not acquire a lock at once.
    BlockedCount =
        second(["contentions", "contentions", "lock_count"], "contentions", Unit::Count),
    /// Time in which threads were blocked, at the stacks of the threads that had the locks.
    BlockingTime =
        first(["blocking", "blocking", "blocking_ns"], "blocking time", Unit::Nanoseconds),
    /// The number of times that a waiting thread was met, at the stacks of the threads that had the
    /// locks. These are the samples from which the blocking time is estimated.
    BlockingSamples = second(
        ["blocking_samples", "blocking_samples", "blocking_sample_count"],
        "blocking_samples",
        Unit::Count,
    ),
    /// Time in which threads waited to be notified, or were parked for something that is not a
    /// lock.
    WaitedTime = first(["waited", "waited", "wait_time"], "waited time", Unit::Nanoseconds),
    /// The number of such waits.
    WaitCount = second(["waits", "waits", "wait_count"], "waits", Unit::Count),
    /// Reads and writes of fields.
    FieldAccesses = second(["accesses", "accesses", "access_count"], "accesses", Unit::Count),
    /// Reads and writes of fields by threads other than the one that allocated the object.
    SharedFieldAccesses = second(
        ["shared_accesses", "shared_accesses", "shared_access_count"],
        "shared_accesses",
        Unit::Count,
    ),
}

impl Metric {
    /// The metrics of calls.
    pub const OF_CALLS: [Metric; 3] = [Metric::Calls, Metric::SelfTime, Metric::TotalTime];
    /// The metrics of allocation sites.
    pub const OF_OBJECTS: [Metric; 4] =
        [Metric::LiveBytes, Metric::LiveObjects, Metric::AllocatedBytes, Metric::AllocatedObjects];
    /// The metrics of locks.
    pub const OF_LOCKS: [Metric; 4] =
        [Metric::BlockedCount, Metric::BlockedTime, Metric::WaitCount, Metric::WaitedTime];

    /// The metrics of the holders of locks.
    pub const OF_HOLDERS: [Metric; 2] = [Metric::BlockingTime, Metric::BlockingSamples];

    /// Makes a metric of another tool with this name.
    pub fn other(name: &str, unit: Unit) -> Self {
        Metric::Other(name.into(), unit)
    }

    /// Its name on the command line and in flame graphs.
    pub fn name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.names[0]),
        }
    }

    /// Its name in headings and sentences: `samples`, `allocated bytes`, `blocked time`.
    pub fn title(&self) -> String {
        match self {
            Metric::Other(name, _) if &**name == JVM => "JVM threads".to_owned(),
            Metric::Other(name, _) => printable(name),
            own => own.facts().map_or(String::new(), |facts| facts.title.to_owned()),
        }
    }

    /// Its name in files that hold several metrics, which is pprof's where pprof has one.
    pub fn file_name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.names[1]),
        }
    }

    /// The unit of its numbers.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Other(_, unit) => *unit,
            own => own.facts().map_or(Unit::Count, |facts| facts.unit),
        }
    }

    /// The metric of perk that has this name as any of its names.
    pub fn own(name: &str) -> Option<Self> {
        Self::OWN
            .into_iter()
            .find(|metric| metric.facts().is_some_and(|it| it.names.contains(&name)))
    }

    /// The metric that leads in the section of this count: a file may have the number of objects or
    /// of waits and not their size or time.
    pub(crate) fn leader(&self) -> Option<Self> {
        Some(match self {
            Metric::AllocatedObjects => Metric::AllocatedBytes,
            Metric::LiveObjects => Metric::LiveBytes,
            Metric::BlockedCount => Metric::BlockedTime,
            Metric::BlockingSamples => Metric::BlockingTime,
            Metric::WaitCount => Metric::WaitedTime,
            _ => return None,
        })
    }

    /// Whether it is the main metric of its section: the bytes of objects rather than their number,
    /// the times of waits rather than their number.
    pub fn is_leading(&self) -> bool {
        self.facts().is_none_or(|facts| facts.is_leading)
    }

    /// Whether it is a metric of another tool.
    pub fn is_other(&self) -> bool {
        matches!(self, Metric::Other(..))
    }

    /// Whether it is a metric of allocated objects.
    pub fn is_of_objects(&self) -> bool {
        Self::OF_OBJECTS.contains(self)
    }

    /// Whether it is a metric of fields.
    pub fn is_of_fields(&self) -> bool {
        matches!(self, Metric::FieldAccesses | Metric::SharedFieldAccesses)
    }

    /// Whether it is a metric of locks: of the waits for them, or of their holders.
    pub fn is_of_locks(&self) -> bool {
        Self::OF_LOCKS.contains(self) || Self::OF_HOLDERS.contains(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_metric_each() {
        let mut names = Vec::new();
        for metric in Metric::OWN {
            let facts = metric.facts().expect("the facts of a metric");
            let mut own = facts.names.to_vec();
            own.dedup();
            for name in &own {
                assert_eq!(Metric::own(name), Some(metric.clone()), "{name}");
            }
            names.extend(own);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
