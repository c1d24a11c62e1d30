//! The rows of a question about a profile.

use perk_profile::{Key, KeyedMap, LabelSetId, Profile, Subject, ThreadId, TraceId};

use super::label::{LabelKind, Labels};
use super::numbers::{Group, Question};
use crate::labels;

/// Visits the rows of a question, each with its thread where that is known. Returns their total, with what the file
/// left out.
pub(super) fn visit(
    profile: &Profile,
    question: &Question,
    mut visit: impl FnMut(Key, Option<ThreadId>, u64),
) -> u64 {
    let Question { metric, window, filter, .. } = question;
    let of_trace = |trace: TraceId| profile.get_trace(trace).thread;
    let threads = filter.kept_threads(profile);
    let is_of_thread = |thread: Option<ThreadId>| {
        threads.as_ref().is_none_or(|kept| thread.is_some_and(|it| kept[it.index()]))
    };
    if window.is_whole() {
        let is_kept = (!filter.labels.is_empty()).then(|| labels::kept(&filter.labels, profile));
        return metric.visit(profile, |key, number| {
            let thread = of_trace(key.trace);
            let has_labels = is_kept.as_ref().is_none_or(|kept| kept[key.labels.index()]);
            if has_labels && is_of_thread(thread) {
                visit(key, thread, number);
            }
        });
    }
    let (from_ns, to_ns) = (window.from_ns.unwrap_or(0), window.to_ns.unwrap_or(u64::MAX));
    // When samples were taken is known by trace alone.
    let timelines = profile.timelines().filter(|it| it.head.metric == *metric);
    let mut total = 0_u64;
    for timeline in timelines.filter(|_| filter.labels.is_empty()) {
        let rows = timeline.rows.iter();
        for row in rows.filter(|row| (from_ns..to_ns).contains(&timeline.head.time_ns(row.tick))) {
            let thread = row.thread.or_else(|| of_trace(row.trace));
            if is_of_thread(thread) {
                visit(Key::from(row.trace), thread, row.count);
            }
            total = total.saturating_add(row.count);
        }
    }
    total
}

/// The labels of the groups and of the subjects of rows.
pub(super) struct Namer<'n> {
    group: &'n Group,
    of_thread: Vec<u32>,
    no_thread: u32,
    of_labels: KeyedMap<LabelSetId, u32>,
    of_subject: KeyedMap<Subject, Option<u32>>,
}

impl<'n> Namer<'n> {
    pub(super) fn new(profile: &Profile, group: &'n Group, labels: &mut Labels) -> Self {
        let (mut of_thread, mut no_thread) = (Vec::new(), 0);
        if *group == Group::Thread {
            no_thread = labels.named(LabelKind::Group, "[all threads]".to_owned());
            let names = profile.threads.iter().map(|it| profile.symbols.strings.get(it.name));
            of_thread = names.map(|it| labels.named(LabelKind::Group, it.to_owned())).collect();
        }
        let (of_labels, of_subject) = Default::default();
        Self { group, of_thread, no_thread, of_labels, of_subject }
    }

    /// The label of the group of a row.
    pub(super) fn group(
        &mut self,
        (profile, labels): (&Profile, &mut Labels),
        (key, thread): (Key, Option<ThreadId>),
    ) -> Option<u32> {
        match self.group {
            Group::None => None,
            Group::Thread => {
                let thread = thread.and_then(|id| self.of_thread.get(id.index()));
                Some(thread.copied().unwrap_or(self.no_thread))
            }
            Group::Label(name) => Some(*self.of_labels.entry(key.labels).or_insert_with(|| {
                let mut all = profile.labels.get(key.labels).iter();
                let found = all.find(|it| profile.symbols.strings.get(it.key) == name);
                let value = found.map(|it| it.value_text(&profile.symbols));
                let value = value.unwrap_or_else(|| format!("[no {name}]"));
                labels.named(LabelKind::Group, value)
            })),
        }
    }

    /// The label of the subject of a row.
    pub(super) fn subject(
        &mut self,
        (profile, labels): (&Profile, &mut Labels),
        subject: Subject,
    ) -> Option<u32> {
        if subject == Subject::None {
            return None;
        }
        *self.of_subject.entry(subject).or_insert_with(|| {
            let text = subject.merged().label(&profile.symbols)?;
            Some(labels.named(LabelKind::Subject, text))
        })
    }
}
