//! The methods that lack probes.

use perk_control::messages;
use perk_instrument::ClassFile;
use perk_profile::mutf8;

use super::Selection;
use crate::os;

/// Returns the names of a class's methods that lack probes, each with the reason.
pub(crate) fn skipped_methods(
    class: &[u8],
    methods: &[(Vec<u8>, impl std::fmt::Display)],
) -> Vec<String> {
    if methods.is_empty() {
        return Vec::new();
    }
    let class = ClassFile::parse(class);
    let class = class.as_ref().ok().and_then(|it| it.name().ok()).unwrap_or_default();
    let class = mutf8::decode(class).replace('/', ".");
    let named = methods.iter();
    named.map(|(method, reason)| format!("{class}.{}: {reason}", mutf8::decode(method))).collect()
}

/// Prints which methods are not in a file as they lack probes, and which patterns stand for nothing.
/// `what` is counted.
pub(crate) fn warn_of_missing(what: &str, skipped: &[String], selection: &Selection) {
    if let [first, rest @ ..] = skipped {
        let more =
            if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        os::say(&format!(
            "HPROF WARNING: {what} in methods without room for probes are not in the file: \
             {first}{more}\n"
        ));
    }
    let unmatched = selection.unmatched();
    if !unmatched.is_empty() {
        os::say(&messages::unmatched_patterns(&unmatched.join(", ")));
    }
}
