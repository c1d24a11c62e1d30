//! Labels: what numbers belong to besides their call trace, such as a request, a query or a
//! version.
//!
//! A label is a key and a value, text or a number: `request=GET /orders/{id}`, `status=200`. Each row of a
//! section can have a set of them. Each set is kept once per profile. A profile without labels has
//! only the empty set.

use std::collections::BTreeSet;

use crate::{Event, KeyedMap, LabelSetId, Profile, StrId, Symbols};

/// The value of a [`Label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelValue {
    /// Text.
    Text(StrId),
    /// A number, and the name of its unit where that is known.
    Number(i64, Option<StrId>),
}

/// A key and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The key.
    pub key: StrId,
    /// The value.
    pub value: LabelValue,
}

impl Label {
    /// The value as text: a number is followed by its unit.
    pub fn value_text(self, symbols: &Symbols) -> String {
        match self.value {
            LabelValue::Text(text) => symbols.strings.get(text).to_owned(),
            LabelValue::Number(number, None) => number.to_string(),
            LabelValue::Number(number, Some(unit)) => {
                format!("{number} {}", symbols.strings.get(unit))
            }
        }
    }
}

impl Default for LabelSetId {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// The sets of labels of a profile. The first is empty.
#[derive(Clone, Debug, Default)]
pub struct LabelSets {
    /// All but the empty one.
    sets: Vec<Box<[Label]>>,
    ids: KeyedMap<Box<[Label]>, LabelSetId>,
}

impl LabelSets {
    /// The set of these labels, in any order; a label that is given twice counts once.
    pub fn set(&mut self, mut labels: Vec<Label>) -> LabelSetId {
        labels.sort_unstable();
        labels.dedup();
        if labels.is_empty() {
            return LabelSetId::EMPTY;
        }
        let labels: Box<[Label]> = labels.into();
        if let Some(&id) = self.ids.get(&labels) {
            return id;
        }
        self.sets.push(labels.clone());
        let id = LabelSetId::new(self.sets.len());
        self.ids.insert(labels, id);
        id
    }

    /// The labels of a set, ordered by the ids of their keys.
    ///
    /// # Panics
    /// If the set is not of this profile.
    pub fn get(&self, id: LabelSetId) -> &[Label] {
        id.index().checked_sub(1).map_or(&[], |at| &self.sets[at])
    }

    /// The number of sets, with the empty one.
    pub fn len(&self) -> usize {
        self.sets.len() + 1
    }

    /// Whether no set has a label.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The labels of a set that have this key.
    pub fn of_key(&self, id: LabelSetId, key: StrId) -> impl Iterator<Item = Label> + '_ {
        self.get(id).iter().copied().filter(move |label| label.key == key)
    }
}

impl Profile {
    /// The labels that all rows of all sections have.
    pub fn common_labels(&self) -> Vec<Label> {
        let sets = self.sections().flat_map(|section| section.rows().map(|row| row.0.labels));
        let mut sets = sets.collect::<BTreeSet<_>>().into_iter().map(|set| self.labels.get(set));
        let mut common = sets.next().unwrap_or_default().to_vec();
        sets.for_each(|set| common.retain(|label| set.contains(label)));
        common
    }

    /// Adds labels to all rows of all sections. A row's own label of the same key has precedence.
    pub fn add_labels(&mut self, more: &[Label]) {
        let Self { events, labels, .. } = self;
        let mut known: KeyedMap<LabelSetId, LabelSetId> = KeyedMap::default();
        for event in events {
            let Event::Section(section) = event else { continue };
            section.relabel(|old| {
                *known.entry(old).or_insert_with(|| {
                    let mut all = labels.get(old).to_vec();
                    let new = more.iter().filter(|it| labels.of_key(old, it.key).next().is_none());
                    all.extend(new);
                    labels.set(all)
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Metric, Section};

    #[test]
    fn equal_sets_are_one() {
        let mut symbols = Symbols::default();
        let mut text = |text: &str| symbols.strings.intern(text);
        let request = Label { key: text("request"), value: LabelValue::Text(text("GET /")) };
        let unit = text("bytes");
        let size = Label { key: text("size"), value: LabelValue::Number(-7, Some(unit)) };
        let mut sets = LabelSets::default();
        assert_eq!(sets.set(Vec::new()), LabelSetId::EMPTY);
        assert!(sets.is_empty() && sets.get(LabelSetId::EMPTY).is_empty());
        let both = sets.set(vec![size, request]);
        assert_eq!(sets.set(vec![request, size, request]), both);
        assert_ne!(sets.set(vec![request]), both);
        assert_eq!((sets.len(), sets.get(both)), (3, &[request, size][..]));
        let sizes: Vec<_> = sets.of_key(both, size.key).map(|it| it.value_text(&symbols)).collect();
        assert_eq!(sizes, ["-7 bytes"]);
    }

    #[test]
    fn labels_are_added_to_all_rows() {
        let mut profile = Profile::default();
        let mut text = |text: &str| profile.symbols.strings.intern(text);
        let (service, shop, web) = (text("service"), text("shop"), text("web"));
        let label = |value| Label { key: service, value: LabelValue::Text(value) };
        let host = Label { key: web, value: LabelValue::Text(web) };
        let own = profile.labels.set(vec![label(web)]);
        let trace = profile.system_trace();
        let mut section = Section::of(Metric::Samples, 3, [(trace, 1)]);
        section.push(Key { labels: own, ..trace.into() }, &[2]);
        profile.events.push(section.into());
        profile.add_labels(&[label(shop), host]);
        let rows: Vec<_> =
            profile.sections().next().unwrap().rows().map(|row| row.0.labels).collect();
        assert_eq!(profile.labels.get(rows[0]), [label(shop), host]);
        assert_eq!(profile.labels.get(rows[1]), [label(web), host]);
    }
}
