//! The labels of methods, classes and parts without names, as the browser shows them.

use perk_analysis::label_tree::Part;
use perk_analysis::{Owner, Owners};
use perk_profile::{KeyedMap, MethodId, Profile, names, units};

/// The frames above the program's own code.
pub(crate) const ABOVE_YOURS: &str = "[above your code]";
/// The time of threads that do not work.
pub(crate) const IDLE: &str = "[idle threads]";

/// Returns the label of a part of a stack.
pub(crate) fn of_part(profile: &Profile, part: Part) -> String {
    let strings = &profile.symbols.strings;
    match part {
        Part::Thread(name) | Part::Subject(name) => units::printable(strings.get(name)),
        Part::State(state) => state.label().to_owned(),
        Part::Method { id, .. } => of_method(profile, id),
        Part::AboveYours => ABOVE_YOURS.to_owned(),
        Part::Idle => IDLE.to_owned(),
        Part::NoStack => "[no stack]".to_owned(),
        Part::BelowCutoff => "[below cutoff]".to_owned(),
    }
}

/// Returns the owner of each label of a method. A label that is the program's own for one method is so
/// for all.
pub(crate) fn owners(profile: &Profile, owners: &Owners) -> KeyedMap<String, Owner> {
    let mut of_label = KeyedMap::default();
    for id in (0..profile.symbols.method_count()).map(MethodId::new) {
        let owner = owners.of(id);
        let known = of_label.entry(of_method(profile, id)).or_insert(owner);
        *known = owner.min(*known);
    }
    of_label
}

/// Formats `class.method(int, String)`, with the parameters if the profile has them.
fn of_method(profile: &Profile, id: MethodId) -> String {
    let symbols = &profile.symbols;
    let name = symbols.method_name(id);
    if name.is_empty() {
        return "[unknown]".to_owned();
    }
    let signature = symbols.get_method(id).signature.map_or("", |id| symbols.strings.get(id));
    let parameters = match names::parameters(signature) {
        Some(types) => {
            let simple = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
            format!("({})", types.iter().map(simple).collect::<Vec<_>>().join(", "))
        }
        None => String::new(),
    };
    units::printable(&(name + &parameters))
}
