//! Patterns for the names of methods and classes.

use crate::{MethodId, Symbols};

/// A name, or the end of one from a dot on (`bar`, `Foo.bar`, `com.acme.Foo.bar`), where each `*`
/// stands for any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
}

impl NamePattern {
    /// The pattern in this form; `None` where `text` is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self { text: text.to_owned() })
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `name`, a class or `class.method`, is meant.
    pub fn matches(&self, name: &str) -> bool {
        let ends = name.match_indices(['.', '/']).map(|(at, _)| &name[at + 1..]);
        std::iter::once(name).chain(ends).any(|end| matches_whole(&self.text, end))
    }

    /// Whether a method is meant.
    pub fn matches_method(&self, symbols: &Symbols, method: MethodId) -> bool {
        self.matches(&symbols.method_name(method))
    }
}

/// Whether `pattern` stands for all of `name`.
fn matches_whole(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    // What stands between two stars is best found as early as it can be.
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_ends_match() {
        for (pattern, name, is_match) in [
            ("com.acme.Foo.bar", "com.acme.Foo.bar", true),
            ("Foo.bar", "com.acme.Foo.bar", true),
            ("bar", "com.acme.Foo.bar", true),
            ("ar", "com.acme.Foo.bar", false),
            ("Foo", "com.acme.Foo.bar", false),
            ("com.acme.*", "com.acme.Foo.bar", true),
            ("com.acme.*", "com.acmex.Foo.bar", false),
            ("*.bar", "com.acme.Foo.bar", true),
            ("*Foo*", "com.acme.Foo.bar", true),
            ("c*.F*.b*r", "com.acme.Foo.bar", true),
            ("c*.F*.b*z", "com.acme.Foo.bar", false),
            ("Foo.*", "com.acme.Foo.<init>", true),
            ("aa*aa", "aaa", false),
            ("byte[]", "byte[]", true),
            ("*", "", true),
        ] {
            assert_eq!(NamePattern::new(pattern).unwrap().matches(name), is_match, "{pattern}");
        }
        assert_eq!(NamePattern::new(""), None);
    }
}
