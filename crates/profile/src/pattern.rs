//! Patterns for the names of classes and methods: one grammar for every option that takes them.

use crate::{MethodId, Symbols, names};

/// A class or a method by its name: `com.acme.Foo`, `com.acme.Foo.bar`. Each `*` matches any
/// characters: `com.acme.*`, `*Parser`, `*.get*`.
///
/// A pattern that begins with a package, which is a part in lower case before a dot, is compared from
/// the beginning of the name: `java.*` is not `com.acme.java.util.Foo`. Any other may also begin where
/// the name of a class begins, or that of one inside of a class, or the name of a method: `Foo`,
/// `Foo.bar`, `bar`, `Foo.get*`. In names with slashes, as Go has them, the part after the last slash
/// counts as a beginning.
///
/// A pattern of a class matches all its methods, and the classes inside it.
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

    /// Whether the pattern begins with a package, and so is compared from the beginning of names.
    pub fn begins_with_package(&self) -> bool {
        self.text.contains('.') && self.text.starts_with(char::is_lowercase)
    }

    /// Whether the pattern matches the class `name`, with dots, or a class around it.
    pub fn matches_class(&self, name: &str) -> bool {
        let around = name.match_indices('$').map(|(at, _)| at).filter(|&at| at > 0);
        let mut ends = std::iter::once(name.len()).chain(around);
        ends.any(|end| self.matches_from(&name[..end], self.class_starts(&name[..end])))
    }

    /// Whether the pattern matches the method `method` of `class`, or the class.
    pub fn matches(&self, class: &str, method: &str) -> bool {
        self.matches_class(class) || self.matches_name(class, method)
    }

    /// Whether the pattern may match a method of the class `name`, with dots, even if it does not
    /// match the class.
    pub fn may_match_in(&self, name: &str) -> bool {
        // The name of the method begins after one of the pattern's dots, or in one of its stars.
        let heads = self.text.match_indices(['.', '*']).map(|(at, sign)| match sign {
            "." => &self.text[..at],
            _ => &self.text[..=at],
        });
        let begins_with =
            |head: &str| self.class_starts(name).any(|start| matches_whole(head, &name[start..]));
        !self.text.contains('.') || heads.into_iter().any(begins_with)
    }

    /// Whether the pattern matches a method of a profile, or its class.
    pub fn matches_method(&self, symbols: &Symbols, method: MethodId) -> bool {
        let method = symbols.get_method(method);
        self.matches(symbols.class_name(method.class), symbols.strings.get(method.name))
    }

    /// Whether the pattern matches a method, without regard to its class.
    fn matches_name(&self, class: &str, method: &str) -> bool {
        // Functions of other languages have their namespaces in their name.
        let inside = method.match_indices(['.', '/']).map(|(at, _)| at + 1);
        let of_method = std::iter::once(0).chain(inside).filter(|_| !self.begins_with_package());
        if class.is_empty() {
            let path = method.rfind('/').map(|at| at + 1);
            return self.matches_from(method, std::iter::once(0).chain(path).chain(of_method));
        }
        let name = format!("{class}.{method}");
        let of_method = of_method.map(|start| class.len() + 1 + start);
        self.matches_from(&name, self.class_starts(class).chain(of_method))
    }

    /// The places of a class's name where the pattern may begin.
    fn class_starts<'n>(&self, class: &'n str) -> impl Iterator<Item = usize> + use<'n> {
        let simple = simple_start(class);
        let path = class[..simple].rfind('/').map(|at| at + 1);
        let inside = class[simple..].match_indices('$').map(move |(at, _)| simple + at + 1);
        let inside = std::iter::once(simple).chain(inside);
        let is_free = !self.begins_with_package();
        std::iter::once(0).chain(path).chain(inside.filter(move |_| is_free))
    }

    /// Whether the pattern matches `name` from one of `starts` on.
    fn matches_from(&self, name: &str, mut starts: impl Iterator<Item = usize>) -> bool {
        starts.any(|start| matches_whole(&self.text, &name[start..]))
    }
}

/// The place in a class's name where its package ends.
fn simple_start(class: &str) -> usize {
    let name = names::without_address(class);
    let end = name.find('$').filter(|&at| at > 0).unwrap_or(name.len());
    name[..end].rfind(['.', '/']).map_or(0, |at| at + 1)
}

/// A pattern of whole names. Each `*` matches any characters: `http-*`, `*`.
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

    /// Whether the pattern matches `name`.
    pub fn matches(&self, name: &str) -> bool {
        matches_whole(&self.text, name)
    }
}

/// Whether `pattern` matches all of `name`.
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
            ("Foo.b*", "com.acme.Foo.bar", true),
            ("b*", "com.acme.Foo.bar", true),
            ("Foo*", "com.acme.Foods.bar", true),
            ("aa*aa", "aaa.b", false),
            ("*", "Foo.bar", true),
        ] {
            let (class, method) = name.rsplit_once('.').unwrap();
            assert_eq!(pattern(text).matches(class, method), is_match, "{text} {name}");
        }
        assert_eq!(NamePattern::new(""), None);
    }

    #[test]
    fn packages_are_at_the_beginning() {
        for (text, name, is_match) in [
            ("sun.*", "sun.misc.Unsafe.park", true),
            ("sun.*", "com.sun.proxy.$Proxy1.run", false),
            ("java.*", "com.acme.java.util.Foo.bar", false),
            ("java.util.Foo", "com.acme.java.util.Foo.bar", false),
            ("java*", "com.acme.java.util.Foo.bar", false),
            ("acme.Foo.bar", "com.acme.Foo.bar", false),
            ("*.java.*", "com.acme.java.util.Foo.bar", true),
            ("foo.bar", "foo.bar", true),
            // The part in upper case may be that of a package, too.
            ("A.*", "A.b.C.d", true),
        ] {
            let (class, method) = name.rsplit_once('.').unwrap();
            assert_eq!(pattern(text).matches(class, method), is_match, "{text} {name}");
        }
        for (text, class, method, is_match) in [
            ("http.Get", "net/http", "Get", true),
            ("pkg.Map.Get", "example.org/x/pkg.Map", "Get", true),
            ("serve", "net/http", "(*conn).serve", true),
            ("libz.so.1", "", "/usr/lib/libz.so.1", true),
            ("lib.z", "", "a.lib.z", false),
        ] {
            assert_eq!(pattern(text).matches(class, method), is_match, "{text} {class}.{method}");
        }
    }

    #[test]
    fn classes_inside_have_names_of_their_own() {
        for (text, class, method, is_match) in [
            ("UserController.list", "Server$UserController", "list", true),
            ("UserController", "p.Server$UserController$1", "run", true),
            ("User*", "p.Server$UserController", "list", true),
            ("Controller.list", "Server$UserController", "list", false),
            ("list", "Server$UserController", "list", true),
            ("Foo.bar", "com.acme.Foo$Bar", "bar", false),
            ("$Proxy3.run", "com.sun.proxy.$Proxy3", "run", true),
        ] {
            let pattern = pattern(text);
            assert_eq!(pattern.matches(class, method), is_match, "{text} {class}.{method}");
            assert!(!is_match || pattern.matches_class(class) || pattern.may_match_in(class));
        }
        assert!(!pattern("java.util.*.get").may_match_in("com.java.util.Foo"));
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
    }

    #[test]
    fn characters_that_java_names_do_not_have() {
        assert_eq!(pattern("com.acme.Foo$Bar.<init>*").odd_character(), None);
        assert_eq!(pattern("com/acme/Foo").odd_character(), Some('/'));
        assert_eq!(pattern("a b").odd_character(), Some(' '));
    }
}
