//! Metrics: the numbers that a profile has for its call paths. Samples, times, calls, objects,
//! waits for locks, and metrics of other tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::units::printable;
use crate::{Key, KeyedSet, Profile, Section, SectionHead, Span, TraceId};

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
    /// locks: so many samples is their blocking time known by.
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

/// The numbers of one metric in a profile.
#[derive(Debug, Default)]
pub struct MetricRows {
    /// The total of all rows, including those that the file left out.
    pub total: u64,
    /// The keys of the rows, in order, each with its number.
    pub rows: Vec<(Key, u64)>,
}

impl MetricRows {
    /// The numbers of each trace, in trace order.
    pub fn by_trace(self) -> Vec<(TraceId, u64)> {
        let mut rows: Vec<(TraceId, u64)> = Vec::with_capacity(self.rows.len());
        for (key, number) in self.rows {
            match rows.last_mut() {
                // One trace can have objects or locks of several classes.
                Some((last, sum)) if *last == key.trace => *sum = sum.saturating_add(number),
                _ => rows.push((key.trace, number)),
            }
        }
        rows
    }
}

/// A metric's fixed facts.
struct Facts {
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

    fn facts(&self) -> Option<Facts> {
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
        Some(Facts { name, file_name, long_name, unit })
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

    /// All metrics that `profile` has, in order of interest.
    pub fn all_of(profile: &Profile) -> Vec<Metric> {
        Self::candidates(profile).filter(|metric| metric.is_in(profile)).collect()
    }

    /// The leading metrics of `profile` that are by call path.
    pub fn leading_of(profile: &Profile) -> impl Iterator<Item = Metric> {
        let all = Self::all_of(profile);
        let leads = |metric: &Metric| {
            metric.is_leading() || metric.leader().is_some_and(|leader| !all.contains(&leader))
        };
        let leading: Vec<_> =
            all.iter().filter(|it| leads(it) && !it.is_by_pair(profile)).cloned().collect();
        leading.into_iter()
    }

    /// The metric that leads in the section of this count: a file may have the number of objects or
    /// of waits and not their size or time.
    fn leader(&self) -> Option<Self> {
        Some(match self {
            Metric::AllocatedObjects => Metric::AllocatedBytes,
            Metric::LiveObjects => Metric::LiveBytes,
            Metric::BlockedCount => Metric::BlockedTime,
            Metric::BlockingSamples => Metric::BlockingTime,
            Metric::WaitCount => Metric::WaitedTime,
            _ => return None,
        })
    }

    /// Whether `profile` has the metric only by callee and caller.
    pub fn is_by_pair(&self, profile: &Profile) -> bool {
        self.sections(profile).first().is_some_and(|(section, _)| section.head.is_by_pair)
    }

    /// The first metric that `profile` has: samples, times, calls, allocated bytes, locks or one of
    /// another tool that has stacks; calls by callee and caller if it has no others. What the JVM
    /// itself used, and sums without a stack, say nothing of the program's methods: only their name
    /// chooses them.
    pub fn first_of(profile: &Profile) -> Option<Metric> {
        let has = |metric: &Metric| metric.is_in(profile) && metric.is_of_methods(profile);
        let is_by_path = |metric: &Metric| has(metric) && !metric.is_by_pair(profile);
        Self::candidates(profile).find(is_by_path).or_else(|| Self::candidates(profile).find(has))
    }

    /// The metric that `profile` has under that name.
    pub fn find(profile: &Profile, name: &str) -> Option<Metric> {
        let is_named = |metric: &Metric| metric.name() == name;
        let exact = Self::candidates(profile).filter(is_named).chain(Self::own(name));
        exact.into_iter().find(|metric| metric.is_in(profile))
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

    /// Whether it is of another tool.
    pub fn is_other(&self) -> bool {
        matches!(self, Metric::Other(..))
    }

    /// Whether its numbers in `profile` are of the program's methods, or may be: not of the JVM's own
    /// threads or the whole process, and not sums of another tool without any stack.
    fn is_of_methods(&self, profile: &Profile) -> bool {
        let Metric::Other(name, _) = self else { return true };
        let has_stack = |(section, _): (&Section, usize)| {
            let root = profile.tree.root();
            section.head.is_by_pair
                || section.traces().any(|trace| profile.get_trace(trace).node != root)
        };
        ![JVM, PROCESS_CPU, GC_CPU].contains(&&**name)
            && self.sections(profile).into_iter().any(has_stack)
    }

    /// Whether it is of allocated objects.
    pub fn is_of_objects(&self) -> bool {
        Self::OF_OBJECTS.contains(self)
    }

    /// Whether it is of fields.
    pub fn is_of_fields(&self) -> bool {
        matches!(self, Metric::FieldAccesses | Metric::SharedFieldAccesses)
    }

    /// Whether it is of locks: of the waits for them, or of their holders.
    pub fn is_of_locks(&self) -> bool {
        Self::OF_LOCKS.contains(self) || Self::OF_HOLDERS.contains(self)
    }

    /// The metrics that `profile` may have, in order of interest: live bytes come before allocated
    /// bytes if only shares of live bytes are known, and metrics of other tools before calls that
    /// were not timed.
    pub(crate) fn candidates(profile: &Profile) -> impl Iterator<Item = Metric> + use<> {
        let mut metrics = Vec::from(Self::OWN);
        if profile.site_section().is_some_and(is_by_live) {
            let place = |metric| Self::OWN.iter().position(|own| *own == metric);
            if let (Some(a), Some(b)) = (place(Metric::AllocatedBytes), place(Metric::LiveBytes)) {
                metrics.swap(a, b);
            }
        }
        let mut others = Vec::new();
        let mut known = KeyedSet::default();
        for column in profile.sections().flat_map(|section| &section.head.columns) {
            if let Metric::Other(name, _) = &column.metric
                && known.insert(name.clone())
            {
                others.push(column.metric.clone());
            }
        }
        // Calls that were counted and not timed say less than what was measured beside them.
        let is_timed = others.is_empty() || Metric::SelfTime.is_in(profile);
        let calls = metrics.iter().position(|metric| *metric == Metric::Calls);
        let place = calls.filter(|_| !is_timed).unwrap_or(metrics.len());
        metrics.splice(place..place, others);
        metrics.into_iter()
    }

    /// Whether this metric of a section adds up over its call traces.
    fn is_additive(&self, section: &SectionHead) -> bool {
        *self != Metric::TotalTime || section.is_by_pair
    }

    /// The sections of `profile` whose numbers of this metric count, and its index among their
    /// columns.
    pub(crate) fn sections<'a>(&self, profile: &'a Profile) -> Vec<(&'a Section, usize)> {
        let place = |section: &'a Section| {
            let place = section.head.place(self)?;
            self.is_additive(&section.head).then_some((section, place))
        };
        let mut sections: Vec<_> = profile.sections().filter_map(place).collect();
        // If there are call paths, they count the calls of pairs of methods again.
        if sections.iter().any(|(section, _)| !section.head.is_by_pair) {
            sections.retain(|(section, _)| !section.head.is_by_pair);
        }
        let last = sections.len().saturating_sub(1);
        let since_start = match sections.last() {
            Some((section, _)) if section.head.span == Span::SinceStart => {
                let is_whole =
                    |(section, _): &(&Section, usize)| !section.head.selection.changed_only;
                Some(sections.iter().rposition(is_whole).unwrap_or(last))
            }
            _ => None,
        };
        let mut index = 0;
        sections.retain(|(section, _)| {
            let at = index;
            index += 1;
            match section.head.span {
                Span::SinceLast => since_start.is_none(),
                Span::Interim => at == last,
                Span::SinceStart => since_start == Some(at),
            }
        });
        sections
    }

    /// Whether `profile` has such numbers other than 0.
    pub fn is_in(&self, profile: &Profile) -> bool {
        self.sections(profile).into_iter().any(|(section, place)| {
            section.head.columns[place].total > 0 || section.numbers(place).any(|number| number > 0)
        })
    }

    /// The numbers of all sections of `profile`.
    pub fn rows(&self, profile: &Profile) -> MetricRows {
        let sections = self.sections(profile);
        let total = sum(sections.iter().map(|(section, place)| section.head.columns[*place].total));
        let rows: Vec<_> = if !sections
            .iter()
            .any(|(section, _)| section.has_subjects() || section.has_labels())
        {
            let numbers = sections
                .iter()
                .flat_map(|(section, place)| section.traces().zip(section.numbers(*place)));
            let rows = profile.sums_by_trace(numbers);
            rows.into_iter().map(|(trace, number)| (trace.into(), number)).collect()
        } else {
            let mut sums: BTreeMap<Key, u64> = BTreeMap::new();
            for (section, place) in sections {
                for (key, numbers) in section.rows().filter(|row| row.1[place] > 0) {
                    let sum = sums.entry(Key { subject: key.subject.merged(), ..key }).or_default();
                    *sum = sum.saturating_add(numbers[place]);
                }
            }
            sums.into_iter().collect()
        };
        let listed = sum(rows.iter().map(|row| row.1));
        MetricRows { total: total.max(listed), rows }
    }

    /// The sampling period of `profile`'s sections, in nanoseconds or bytes, if it is known and the
    /// same for all.
    pub fn period(&self, profile: &Profile) -> Option<u64> {
        let sections = self.sections(profile);
        let columns = sections.iter().map(|(section, place)| &section.head.columns[*place]);
        let mut columns = columns.filter(|column| column.total > 0);
        let first = columns.next()?.period?;
        columns.all(|column| column.period == Some(first)).then_some(first)
    }
}

/// Whether shares of allocation sites can only be of the live bytes: the allocated bytes are not
/// known, or only in part.
pub(crate) fn is_by_live(sites: &Section) -> bool {
    let place = sites.head.place(&Metric::AllocatedBytes);
    place.is_none_or(|place| {
        let column = &sites.head.columns[place];
        column.is_partial || column.total == 0 && sites.listed(place) == 0
    })
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::{CallRow, CallTimes, LockKind, MonitorRow, MonitorTimes, Subject, Waits};

    #[test]
    fn other_metrics_come_before_calls_that_were_not_timed() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let call = |self_ns| CallTimes {
            rows: vec![CallRow { trace, count: 3, self_ns, total_ns: self_ns }],
            ..CallTimes::default()
        };
        profile.events.push(call(0).into());
        let bytecodes = Metric::other("bytecodes", Unit::Count);
        profile.events.push(Section::of(bytecodes.clone(), 7, [(trace, 7)]).into());
        assert_eq!(Metric::all_of(&profile), [bytecodes.clone(), Metric::Calls]);
        profile.events.push(call(5).into());
        assert_eq!(Metric::all_of(&profile), [Metric::SelfTime, Metric::Calls, bytecodes]);
    }

    #[test]
    fn metrics_of_a_name_add_up() {
        let mut profile = Profile::default();
        let node = fixture::stack(&mut profile, "T.f");
        let trace = profile.trace(node, None);
        for (name, unit, count) in [
            ("misses", Unit::Count, 2),
            ("delay", Unit::Nanoseconds, 50),
            ("misses", Unit::Count, 3),
            ("nothing", Unit::Bytes, 0),
        ] {
            let section = Section::of(Metric::other(name, unit), count, [(trace, count)]);
            profile.events.push(section.into());
        }
        let all = Metric::all_of(&profile);
        let misses = Metric::other("misses", Unit::Count);
        let delay = Metric::other("delay", Unit::Nanoseconds);
        assert_eq!(all, [misses.clone(), delay.clone()]);
        assert_eq!(Metric::first_of(&profile), Some(misses.clone()));
        assert_eq!(Metric::find(&profile, "delay"), Some(delay));
        assert_eq!(Metric::find(&profile, "nothing"), None);
        let numbers = misses.rows(&profile);
        assert_eq!((numbers.total, numbers.rows), (5, vec![(trace.into(), 5)]));
    }

    /// What no method did is shown where its name is given, and nowhere as the program's.
    #[test]
    fn what_the_jvm_used_is_not_the_first_metric() {
        let mut profile = Profile::default();
        let node = fixture::stack(&mut profile, "T.f");
        let (path, none) = (profile.trace(node, None), profile.system_trace());
        let rows =
            [(JVM, path), (JVM, none), (PROCESS_CPU, none), (GC_CPU, none), ("elapsed", none)];
        for (name, trace) in rows {
            let metric = Metric::other(name, Unit::Nanoseconds);
            profile.events.push(Section::of(metric, 5, [(trace, 5)]).into());
        }
        assert_eq!(Metric::first_of(&profile), None);
        assert_eq!(Metric::find(&profile, JVM), Some(Metric::other(JVM, Unit::Nanoseconds)));
        let events = Metric::other("events", Unit::Count);
        profile.events.push(Section::of(events.clone(), 5, [(path, 5)]).into());
        assert_eq!(Metric::first_of(&profile), Some(events));
    }

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

    #[test]
    fn waits_of_a_class_add_up() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let class = profile.symbols.class("T");
        let row = |kind, blocked_ns, wait_count| MonitorRow {
            trace,
            class,
            kind,
            waits: Waits { blocked_ns, wait_count, ..Waits::default() },
        };
        let rows = vec![row(LockKind::Monitor, 5, 1), row(LockKind::Parking, 2, 0)];
        profile.events.push(MonitorTimes { total_ns: 9, rows, written: None }.into());
        assert_eq!(Metric::all_of(&profile), [Metric::BlockedTime, Metric::WaitCount]);
        let blocked = Metric::BlockedTime.rows(&profile);
        assert_eq!(
            (blocked.total, blocked.rows),
            (9, vec![(Key::new(trace, Subject::Class(class)), 7)])
        );
    }
}
