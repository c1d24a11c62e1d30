//! Labels as text: those that a recording's numbers have in common, and those of single numbers.

use std::collections::HashMap;

use perk_profile::{Label, LabelSetId, Profile};

/// The label that `perk record` gives to all numbers of a file, with the id of the file. Recordings of a store have ids of
/// their own, and labels that they share with others.
const FILE: &str = "file";

/// Labels in the order of their keys.
pub(crate) type LabelText = Vec<(String, String)>;

/// The labels that all numbers of a recording have, with `more`; its own have precedence.
pub(crate) fn common_labels(profile: &Profile, more: &[(String, String)]) -> LabelText {
    let mut labels = texts(profile, &profile.common_labels());
    let is_new =
        |(key, _): &&(String, String)| key != FILE && labels.iter().all(|label| label.0 != *key);
    let new: Vec<_> = more.iter().filter(is_new).cloned().collect();
    labels.extend(new);
    labels.sort();
    labels
}

/// The labels of each set that are not in common.
pub(crate) fn own_labels(profile: &Profile, common: &LabelText) -> HashMap<LabelSetId, LabelText> {
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    let own = sets.map(|set| {
        let mut labels = texts(profile, profile.labels.get(set));
        labels.retain(|label| !common.contains(label));
        labels.sort();
        // A map has each key once.
        labels.dedup_by(|next, first| next.0 == first.0);
        (set, labels)
    });
    own.collect()
}

/// Labels as text, without that of the file.
pub(crate) fn texts(profile: &Profile, labels: &[Label]) -> LabelText {
    let symbols = &profile.symbols;
    let texts = labels
        .iter()
        .map(|label| (symbols.strings.get(label.key).to_owned(), label.value_text(symbols)));
    texts.filter(|label| label.0 != FILE).collect()
}
