//! The numbers that a profile has of a metric.

use std::collections::BTreeMap;

use crate::metric::{GC_CPU, JVM, PROCESS_CPU};
use crate::{Key, KeyedSet, Metric, Profile, Section, SectionHead, Span, TraceId};

/// The numbers of one metric in a profile.
#[derive(Debug, Default)]
pub struct MetricRows {
    /// The total of all rows, including those that the file left out.
    pub total: u64,
    /// The keys of the rows, in order, each with its number.
    pub rows: Vec<(Key, u64)>,
}

/// Orders rows by their keys, and adds up those of the same key.
pub fn add_up_rows<K: Copy + Ord>(rows: &mut Vec<(K, u64)>) {
    // Most come in order, or nearly.
    rows.sort_unstable_by_key(|row| row.0);
    rows.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 = sum.1.saturating_add(next.1);
        }
        is_same
    });
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

impl Metric {
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

    /// Whether `profile` has the metric only by callee and caller.
    pub fn is_by_pair(&self, profile: &Profile) -> bool {
        self.sections(profile).first().is_some_and(|(section, _)| section.head.is_by_pair)
    }

    /// The first metric that `profile` has: samples, times, calls, allocated bytes, locks or one of
    /// another tool that has stacks; calls by callee and caller if it has no others. What the JVM
    /// itself used, and sums without a stack, say nothing about the program's methods: only their
    /// name selects them.
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

    /// The total of `profile`'s numbers, including those that the file left out, and the numbers of each trace, in
    /// trace order.
    pub fn by_trace(&self, profile: &Profile) -> (u64, Vec<(TraceId, u64)>) {
        let sections = self.sections(profile);
        let total = sum(sections.iter().map(|(section, place)| section.head.columns[*place].total));
        let numbers = sections
            .iter()
            .flat_map(|(section, place)| section.traces().zip(section.numbers(*place)));
        let rows = profile.sums_by_trace(numbers);
        let listed = sum(rows.iter().map(|row| row.1));
        (total.max(listed), rows)
    }

    /// The total of `profile`'s numbers, including those that the file left out.
    pub fn total(&self, profile: &Profile) -> u64 {
        self.visit(profile, |_, _| {})
    }

    /// Visits the numbers of all sections of `profile`; a key can come several times. Returns the total of all,
    /// including those that the file left out.
    pub fn visit(&self, profile: &Profile, mut visit: impl FnMut(Key, u64)) -> u64 {
        let sections = self.sections(profile);
        let total = sum(sections.iter().map(|(section, place)| section.head.columns[*place].total));
        let mut listed = 0_u64;
        for (section, place) in sections {
            for (key, numbers) in section.rows() {
                listed = listed.saturating_add(numbers[place]);
                visit(key, numbers[place]);
            }
        }
        total.max(listed)
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
        // Calls that were counted and not timed say less than the other metrics.
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
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
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

    /// A metric without methods is shown where its name is given, and never as the program's.
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
