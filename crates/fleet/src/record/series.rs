//! The numbers of a file as systems for continuous profiling have them: a series for each kind of measurement.
//! Call paths end with the class of what was allocated or waited for.

use std::collections::BTreeMap;

use perk_profile::{
    Event, Frame, Key, KeyedMap, Label, LabelSetId, Line, Method, Metric, Profile, Section,
    SectionHead, Subject, TraceId, section::Column,
};

/// The names of the series, as far as there are some those that these systems know, and their metrics.
const SERIES: [(&str, &[Metric]); 7] = [
    ("process_cpu", &[Metric::Samples]),
    ("memory", &Metric::OF_OBJECTS),
    ("mutex", &[Metric::BlockedCount, Metric::BlockedTime]),
    ("wait", &[Metric::WaitCount, Metric::WaitedTime]),
    ("wall", &[Metric::WallTime]),
    ("lock_holder", &Metric::OF_HOLDERS),
    ("calls", &[Metric::Calls, Metric::SelfTime]),
];

/// The series of a file.
#[derive(Debug)]
pub(super) struct SeriesSet {
    /// A profile with the call paths of all, and the numbers of none.
    profile: Profile,
    series: Vec<(&'static str, Section)>,
}

/// What of a profile is in its series.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    /// Whether threads are distinguished.
    pub(super) threads: bool,
    /// Whether a label of rows stays, by its key.
    pub(super) label: &'a dyn Fn(&str) -> bool,
}

impl SeriesSet {
    /// The series of a profile.
    pub(super) fn of(profile: &Profile, selection: Selection<'_>) -> Self {
        let mut change = KeyChange::new(profile, selection);
        let mut series = Vec::new();
        for (name, metrics) in SERIES {
            let metrics: Vec<_> = metrics.iter().filter(|it| it.is_in(profile)).collect();
            let mut sums: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
            let mut columns = Vec::new();
            for (place, &metric) in metrics.iter().enumerate() {
                let rows = metric.rows(profile);
                let period = match metric {
                    Metric::Samples => profile.sample_interval_ns(),
                    _ => metric.period(profile),
                };
                columns.push(Column { period, ..Column::new(metric.clone(), rows.total) });
                for (key, number) in rows.rows {
                    let key = change.key(key);
                    let numbers = sums.entry(key).or_insert_with(|| vec![0; metrics.len()]);
                    numbers[place] = numbers[place].saturating_add(number);
                }
            }
            let mut section = Section::new(SectionHead::new(columns));
            sums.iter().for_each(|(key, numbers)| section.push(*key, numbers));
            if !metrics.is_empty() {
                series.push((name, section));
            }
        }
        Self { profile: change.profile, series }
    }

    /// Visits each series: its name, and a profile that has only its numbers.
    ///
    /// # Errors
    /// Those of the visit.
    pub(super) fn visit<E>(
        self,
        mut visit: impl FnMut(&'static str, &Profile) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { mut profile, series } = self;
        for (name, section) in series {
            profile.events = vec![Event::Section(section)];
            visit(name, &profile)?;
        }
        Ok(())
    }
}

/// A profile whose rows get other keys.
struct KeyChange<'a> {
    profile: Profile,
    selection: Selection<'a>,
    traces: KeyedMap<(TraceId, Subject), TraceId>,
    labels: KeyedMap<LabelSetId, LabelSetId>,
}

impl<'a> KeyChange<'a> {
    fn new(profile: &Profile, selection: Selection<'a>) -> Self {
        let mut profile = profile.clone();
        profile.events.clear();
        Self { profile, selection, traces: KeyedMap::default(), labels: KeyedMap::default() }
    }

    fn key(&mut self, key: Key) -> Key {
        let subject = match key.subject {
            Subject::State(_) => key.subject,
            _ => Subject::None,
        };
        let trace = self.trace(key.trace, key.subject.merged());
        Key { trace, subject, labels: self.label_set(key.labels) }
    }

    /// The trace of a row, which ends with the class of its subject.
    fn trace(&mut self, id: TraceId, subject: Subject) -> TraceId {
        if let Some(&known) = self.traces.get(&(id, subject)) {
            return known;
        }
        let profile = &mut self.profile;
        let trace = profile.get_trace(id);
        let mut node = trace.node;
        if subject.class().is_some()
            && let Some(name) = subject.label(&profile.symbols)
        {
            let symbols = &mut profile.symbols;
            let (class, name) = (symbols.class(""), symbols.strings.intern(&name));
            let method = symbols.method(Method { class, name, signature: None, source: None });
            let frame = symbols.frame(Frame::new(method, Line::Unknown));
            node = profile.tree.insert_below(node, [frame]);
        }
        let new = profile.trace(node, trace.thread.filter(|_| self.selection.threads));
        self.traces.insert((id, subject), new);
        new
    }

    fn label_set(&mut self, id: LabelSetId) -> LabelSetId {
        if let Some(&known) = self.labels.get(&id) {
            return known;
        }
        let Profile { labels, symbols, .. } = &mut self.profile;
        let stays = |label: &&Label| (self.selection.label)(symbols.strings.get(label.key));
        let kept: Vec<_> = labels.get(id).iter().filter(stays).copied().collect();
        let new = labels.set(kept);
        self.labels.insert(id, new);
        new
    }
}
