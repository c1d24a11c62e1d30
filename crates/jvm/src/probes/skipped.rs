//! The methods that lack probes.

use perk_instrument::ClassFile;
use perk_profile::mutf8;

/// Returns the names of a class's methods that lack probes, each with the reason.
pub fn skipped_methods(class: &[u8], methods: &[(Vec<u8>, impl std::fmt::Display)]) -> Vec<String> {
    if methods.is_empty() {
        return Vec::new();
    }
    let class = ClassFile::parse(class);
    let class = class.as_ref().ok().and_then(|it| it.name().ok()).unwrap_or_default();
    let class = mutf8::decode(class).replace('/', ".");
    let named = methods.iter();
    named.map(|(method, reason)| format!("{class}.{}: {reason}", mutf8::decode(method))).collect()
}
