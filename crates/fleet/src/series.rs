//! The numbers of a file as systems for continuous profiling have them: a series for each kind of measurement.
//! Call paths end with the class of what was allocated or waited for.

use std::collections::BTreeMap;

use perk_profile::{
    Event, Frame, Key, KeyedMap, Label, LabelSetId, Line, Method, Metric, Profile, Section,
    SectionHead, Subject, TraceId, section::Column,
};

use crate::series_names::{SERIES, name_of_other};

/// The series of a file.
#[derive(Debug)]
pub(crate) struct SeriesSet {
    /// A profile with the call paths of all, and the numbers of none.
    profile: Profile,
    series: Vec<(String, Section)>,
}

/// What of a profile is in its series.
#[derive(Clone, Copy)]
pub(crate) struct Selection<'a> {
    /// Whether threads are distinguished.
    pub(crate) threads: bool,
    /// Whether a label of rows stays, by its key.
    pub(crate) label: &'a dyn Fn(&str) -> bool,
    /// Whether metrics of other tools have series of their names.
    pub(crate) others: bool,
}

impl SeriesSet {
    /// The series of a profile.
    pub(crate) fn of(profile: &Profile, selection: Selection<'_>) -> Self {
        let mut change = KeyChange::new(profile, selection);
        let mut series = Vec::new();
        let own = SERIES.map(|(name, metrics)| (name.to_owned(), metrics.to_vec()));
        let others = Metric::all_of(profile).into_iter();
        let others = others.filter(|it| selection.others && it.is_other());
        let others = others.map(|it| (name_of_other(it.name()), vec![it]));
        for (name, metrics) in own.into_iter().chain(others) {
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
    pub(crate) fn visit<E>(
        self,
        mut visit: impl FnMut(&str, &Profile) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { mut profile, series } = self;
        for (name, section) in series {
            profile.events = vec![Event::Section(section)];
            visit(&name, &profile)?;
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
