//! Patterns for the names of classes and methods: one grammar for every option that takes them.

use crate::{MethodId, Symbols};

/// A class or a method by its name, or by the end of its name from a dot on: `com.acme.Foo`, `Foo`,
/// `Foo.bar`, `bar`. Each `*` stands for any characters: `com.acme.*`, `*Parser`, `*.get*`.
///
/// A class stands for all its methods, and for the classes inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
}

impl NamePattern {
    /// Makes the pattern of this text; `None` if `text` is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self { text: text.to_owned() })
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first character that cannot be in the name of a Java class or method, if any. (Profiles
    /// of other languages have such names.)
    pub fn odd_character(&self) -> Option<char> {
        let is_odd =
            |it: &char| it.is_whitespace() || it.is_control() || "/\\;:,[]()\"'".contains(*it);
        self.text.chars().find(is_odd)
    }

    /// Whether the pattern matches the class `name`, with dots, or a class around it.
    pub fn matches_class(&self, name: &str) -> bool {
        let around = name.match_indices('$').map(|(at, _)| at).filter(|&at| at > 0);
        let mut ends = std::iter::once(name.len()).chain(around);
        ends.any(|end| self.matches_end(&name[..end]))
    }

    /// Whether the pattern matches the method `method` of `class`, or the class.
    pub fn matches(&self, class: &str, method: &str) -> bool {
        self.matches_class(class) || self.matches_end(&format!("{class}.{method}"))
    }

    /// Whether the pattern may match a method of the class `name`, with dots, if not the class: there are
    /// names of methods that it would match.
    pub fn may_match_in(&self, name: &str) -> bool {
        // The name of the method begins after one of the pattern's dots, or in one of its stars.
        let heads = self.text.match_indices(['.', '*']).map(|(at, sign)| match sign {
            "." => &self.text[..at],
            _ => &self.text[..=at],
        });
        let begins_with = |head: &str| {
            let ends = name.match_indices(['.', '/']).map(|(at, _)| &name[at + 1..]);
            std::iter::once(name).chain(ends).any(|end| matches_whole(head, end))
        };
        !self.text.contains('.') || heads.into_iter().any(begins_with)
    }

    /// Whether the pattern matches a method of a profile, or its class.
    pub fn matches_method(&self, symbols: &Symbols, method: MethodId) -> bool {
        let class = symbols.class_name(symbols.get_method(method).class);
        self.matches_class(class) || self.matches_end(&symbols.method_name(method))
    }

    /// Whether the pattern stands for `name`, or for an end of it after a dot or a slash.
    fn matches_end(&self, name: &str) -> bool {
        let ends = name.match_indices(['.', '/']).map(|(at, _)| &name[at + 1..]);
        std::iter::once(name).chain(ends).any(|end| matches_whole(&self.text, end))
    }
}

/// A name of anything, as a whole. Each `*` stands for any characters: `http-*`, `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholePattern {
    text: String,
}

impl WholePattern {
    /// Makes the pattern of this text; `None` if `text` is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self { text: text.to_owned() })
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the pattern stands for `name`.
    pub fn matches(&self, name: &str) -> bool {
        matches_whole(&self.text, name)
    }
}

/// Whether `pattern` stands for all of `name`.
fn matches_whole(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    // The earliest match of the text between two stars leaves the most room for the parts after it.
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

    fn pattern(text: &str) -> NamePattern {
        NamePattern::new(text).unwrap()
    }

    #[test]
    fn names_and_their_ends_match() {
        for (text, name, is_match) in [
            ("com.acme.Foo.bar", "com.acme.Foo.bar", true),
            ("Foo.bar", "com.acme.Foo.bar", true),
            ("bar", "com.acme.Foo.bar", true),
            ("ar", "com.acme.Foo.bar", false),
            ("Foo", "com.acme.Foo.bar", true),
            ("acme", "com.acme.Foo.bar", false),
            ("com.acme.*", "com.acme.Foo.bar", true),
            ("com.acme.*", "com.acmex.Foo.bar", false),
            ("*.bar", "com.acme.Foo.bar", true),
            ("*Foo*", "com.acme.Foo.bar", true),
            ("c*.F*.b*r", "com.acme.Foo.bar", true),
            ("c*.F*.b*z", "com.acme.Foo.bar", false),
            ("Foo.*", "com.acme.Foo.<init>", true),
            ("aa*aa", "aaa.b", false),
            ("*", "Foo.bar", true),
        ] {
            let (class, method) = name.rsplit_once('.').unwrap();
            assert_eq!(pattern(text).matches(class, method), is_match, "{text} {name}");
        }
        assert_eq!(NamePattern::new(""), None);
    }

    #[test]
    fn whole_names_match() {
        for (text, name, is_match) in [
            ("main", "main", true),
            ("main", "main-1", false),
            ("http-*", "http-nio-8080-exec-1", true),
            ("http-*-1", "http-nio-8080-exec-1", true),
            ("*exec*", "http-nio-8080-exec-1", true),
            ("exec", "a.exec", false),
            ("*", "", true),
        ] {
            assert_eq!(WholePattern::new(text).unwrap().matches(name), is_match, "{text} {name}");
        }
    }

    #[test]
    fn a_class_stands_for_those_inside_of_it() {
        for (text, class, is_match) in [
            ("com.acme.Foo", "com.acme.Foo$Bar$1", true),
            ("Foo$Bar", "com.acme.Foo$Bar$1", true),
            ("Foo$Bar", "com.acme.Foo", false),
            ("Foo", "com.acme.Foo$$Lambda/0x000012", true),
            ("Foo", "com.acme.Food", false),
            ("*Foo", "Foo$1", true),
            ("*Foo", "Foo1", false),
            ("$Proxy0", "$Proxy0", true),
            ("byte[]", "byte[]", true),
            ("\u{10400}ä", "p.\u{10400}ä", true),
            ("bar", "com.acme.Foo", false),
        ] {
            assert_eq!(pattern(text).matches_class(class), is_match, "{text} {class}");
        }
        // A method of a class inside is not one of the class around it.
        assert!(!pattern("Foo.bar").matches("com.acme.Foo$Bar", "bar"));
    }

    #[test]
    fn characters_that_java_names_do_not_have() {
        assert_eq!(pattern("com.acme.Foo$Bar.<init>*").odd_character(), None);
        assert_eq!(pattern("com/acme/Foo").odd_character(), Some('/'));
        assert_eq!(pattern("a b").odd_character(), Some(' '));
    }
}
