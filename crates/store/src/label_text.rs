//! Labels as text: those that a recording's numbers have in common, and those of single numbers.

use std::collections::HashMap;

use perk_profile::{LabelSetId, Profile};

/// The label that `perk record` gives to all numbers of a file, with the id of the file. Recordings of a store have ids of
/// their own, and labels that they share with others.
const FILE: &str = "file";

/// Labels in the order of their keys.
pub(crate) type LabelText = Vec<(String, String)>;

/// The labels that all numbers of a recording have, with `more`; its own have precedence.
pub(crate) fn common_labels(profile: &Profile, more: &[(String, String)]) -> LabelText {
    let symbols = &profile.symbols;
    let text = |label: perk_profile::Label| {
        (symbols.strings.get(label.key).to_owned(), label.value_text(symbols))
    };
    let mut labels: LabelText = profile.common_labels().into_iter().map(text).collect();
    let new: Vec<_> = more
        .iter()
        .filter(|(key, _)| labels.iter().all(|label| label.0 != *key))
        .cloned()
        .collect();
    labels.extend(new);
    labels.retain(|label| label.0 != FILE);
    labels.sort();
    labels
}

/// The labels of each set that are not in common.
pub(crate) fn own_labels(profile: &Profile, common: &LabelText) -> HashMap<LabelSetId, LabelText> {
    let symbols = &profile.symbols;
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    let own = sets.map(|set| {
        let labels =
            profile.labels.get(set).iter().map(|label| {
                (symbols.strings.get(label.key).to_owned(), label.value_text(symbols))
            });
        let mut labels: LabelText =
            labels.filter(|it| it.0 != FILE && !common.contains(it)).collect();
        labels.sort();
        // A map has each key once.
        labels.dedup_by(|next, first| next.0 == first.0);
        (set, labels)
    });
    own.collect()
}
