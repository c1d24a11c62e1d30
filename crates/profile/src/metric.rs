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

/// A number that a profile has for its call paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// CPU samples.
    #[default]
    Samples,
    /// Self time of calls.
    SelfTime,
    /// Calls.
    Calls,
    /// Time of calls, including the calls that they make. By call path it does not add up: the time
    /// of a path includes the times of the paths that continue it.
    TotalTime,
    /// Bytes of all objects allocated.
    AllocatedBytes,
    /// Bytes of the live objects.
    LiveBytes,
    /// All objects allocated.
    AllocatedObjects,
    /// The live objects.
    LiveObjects,
    /// Wall-clock time of threads, estimated from samples, whatever they did. The subject is their
    /// state.
    WallTime,
    /// Time in which threads were blocked by a lock.
    BlockedTime,
    /// The number of times that a thread could not acquire a lock at once.
    BlockedCount,
    /// Time in which threads were blocked, at the stacks of the threads that had the locks.
    BlockingTime,
    /// The number of times that a waiting thread was met, at the stacks of the threads that had the
    /// locks. These are the samples from which the blocking time is estimated.
    BlockingSamples,
    /// Time in which threads waited to be notified, or were parked for something that is not a
    /// lock.
    WaitedTime,
    /// The number of such waits.
    WaitCount,
    /// Reads and writes of fields.
    FieldAccesses,
    /// Reads and writes of fields by threads other than the one that allocated the object.
    SharedFieldAccesses,
    /// A metric of another tool (events, bytecodes executed, delays), with its name in the file and
    /// its unit.
    Other(Arc<str>, Unit),
}

/// A metric's fixed facts.
struct MetricFacts {
    /// Its name on the command line.
    name: &'static str,
    /// Its name in files of several metrics, which is pprof's where pprof has one.
    file_name: &'static str,
    /// Another name of it that limits of `perk diff` take.
    long_name: &'static str,
    unit: Unit,
}

impl Metric {
    /// The metrics that perk knows, in the order of preference for the default.
    pub const OWN: [Metric; 17] = [
        Metric::Samples,
        Metric::SelfTime,
        Metric::Calls,
        Metric::TotalTime,
        Metric::WallTime,
        Metric::AllocatedBytes,
        Metric::LiveBytes,
        Metric::AllocatedObjects,
        Metric::LiveObjects,
        Metric::BlockedTime,
        Metric::BlockedCount,
        Metric::BlockingTime,
        Metric::BlockingSamples,
        Metric::WaitedTime,
        Metric::WaitCount,
        Metric::FieldAccesses,
        Metric::SharedFieldAccesses,
    ];

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

    fn facts(&self) -> Option<MetricFacts> {
        let (name, file_name, long_name, unit) = match self {
            Metric::Samples => ("samples", "samples", "samples", Unit::Count),
            Metric::SelfTime => ("time", "time", "self_ns", Unit::Nanoseconds),
            Metric::Calls => ("calls", "calls", "calls", Unit::Count),
            Metric::TotalTime => ("total_time", "total_time", "total_ns", Unit::Nanoseconds),
            Metric::AllocatedBytes => ("allocated", "alloc_space", "allocated_bytes", Unit::Bytes),
            Metric::LiveBytes => ("live", "inuse_space", "live_bytes", Unit::Bytes),
            Metric::AllocatedObjects => {
                ("objects", "alloc_objects", "allocated_count", Unit::Count)
            }
            Metric::LiveObjects => ("live_objects", "inuse_objects", "live_count", Unit::Count),
            Metric::WallTime => ("wall", "wall", "wall_ns", Unit::Nanoseconds),
            Metric::BlockedTime => ("blocked", "delay", "lock_time", Unit::Nanoseconds),
            Metric::BlockedCount => ("contentions", "contentions", "lock_count", Unit::Count),
            Metric::BlockingTime => ("blocking", "blocking", "blocking_ns", Unit::Nanoseconds),
            Metric::BlockingSamples => {
                ("blocking_samples", "blocking_samples", "blocking_sample_count", Unit::Count)
            }
            Metric::WaitedTime => ("waited", "waited", "wait_time", Unit::Nanoseconds),
            Metric::WaitCount => ("waits", "waits", "wait_count", Unit::Count),
            Metric::FieldAccesses => ("accesses", "accesses", "access_count", Unit::Count),
            Metric::SharedFieldAccesses => {
                ("shared_accesses", "shared_accesses", "shared_access_count", Unit::Count)
            }
            Metric::Other(..) => return None,
        };
        Some(MetricFacts { name, file_name, long_name, unit })
    }

    /// Its name on the command line and in flame graphs.
    pub fn name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.name),
        }
    }

    /// Its name in headings and sentences: `samples`, `allocated bytes`, `blocked time`.
    pub fn title(&self) -> String {
        match self {
            Metric::AllocatedBytes => "allocated bytes".to_owned(),
            Metric::LiveBytes => "live bytes".to_owned(),
            Metric::LiveObjects => "live objects".to_owned(),
            Metric::WallTime => "wall-clock time".to_owned(),
            Metric::BlockedTime => "blocked time".to_owned(),
            Metric::BlockingTime => "blocking time".to_owned(),
            Metric::WaitedTime => "waited time".to_owned(),
            Metric::Other(name, _) if &**name == JVM => "JVM threads".to_owned(),
            other => printable(other.name()),
        }
    }

    /// Its name in files that hold several metrics, which is pprof's where pprof has one.
    pub fn file_name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.file_name),
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
        Self::OWN.into_iter().find(|metric| {
            metric.facts().is_some_and(|it| [it.name, it.file_name, it.long_name].contains(&name))
        })
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
        !matches!(
            self,
            Metric::TotalTime
                | Metric::FieldAccesses
                | Metric::AllocatedObjects
                | Metric::LiveObjects
                | Metric::BlockedCount
                | Metric::BlockingSamples
                | Metric::WaitCount
                | Metric::SharedFieldAccesses
        )
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
            let mut own = vec![facts.name, facts.file_name, facts.long_name];
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
