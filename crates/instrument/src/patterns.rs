//! Which classes are meant: `com.acme.*,*Controller`.

/// Patterns of class names. A class matches if one of them does.
///
/// Names are written as in Java, `com.acme.Foo`, and stand for the classes inside of those too. A
/// `*` stands for any characters, or none: `com.acme.*` is a package and all below it, `*Foo` any
/// class whose name ends so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    patterns: Vec<Pattern>,
}

/// One pattern: what is between its stars, in internal form and modified UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// At least one. The first begins the name, the last ends it.
    parts: Vec<Vec<u8>>,
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing between two commas, or at an end.
    #[error("an empty class pattern in \"{list}\"")]
    Empty {
        /// The whole list.
        list: String,
    },
    /// A character that no class name has.
    #[error(
        "class pattern \"{pattern}\": {found:?} cannot be in a class name; \
         write it as com.acme.Foo, com.acme.* or *Foo"
    )]
    Character {
        /// The pattern.
        pattern: String,
        /// The character.
        found: char,
    },
    /// A name that begins or ends with a dot, or has two in a row.
    #[error("class pattern \"{pattern}\": a name is missing at a dot")]
    Dots {
        /// The pattern.
        pattern: String,
    },
}

impl Patterns {
    /// Reads patterns separated by commas.
    ///
    /// # Errors
    ///
    /// If one of them is not as described above.
    pub fn parse(list: &str) -> Result<Self, PatternError> {
        let mut patterns = Self::default();
        patterns.add(list)?;
        Ok(patterns)
    }

    /// Adds patterns separated by commas, for options that may be repeated.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse); nothing is added then.
    pub fn add(&mut self, list: &str) -> Result<(), PatternError> {
        let known = self.patterns.len();
        for pattern in list.split(',').map(str::trim) {
            let pattern = match pattern {
                "" => Err(PatternError::Empty { list: list.to_owned() }),
                _ => Pattern::parse(pattern),
            };
            match pattern {
                Ok(pattern) => self.patterns.push(pattern),
                Err(error) => {
                    self.patterns.truncate(known);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether there are none, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a class matches, given its internal name (`com/acme/Foo$Bar`) in modified UTF-8.
    pub fn matches(&self, class: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches_or_surrounds(class))
    }
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Self, PatternError> {
        let is_wrong =
            |it: char| it.is_whitespace() || it.is_control() || "/\\;:[]()<>\"'".contains(it);
        if let Some(found) = pattern.chars().find(|it| is_wrong(*it)) {
            return Err(PatternError::Character { pattern: pattern.to_owned(), found });
        }
        if pattern.split('.').any(str::is_empty) {
            return Err(PatternError::Dots { pattern: pattern.to_owned() });
        }
        let parts = pattern.split('*').map(|part| modified_utf8(&part.replace('.', "/")));
        Ok(Self { parts: parts.collect() })
    }

    /// Whether the class or one that it is inside of matches.
    fn matches_or_surrounds(&self, class: &[u8]) -> bool {
        let dollars = class.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'$');
        let mut ends = std::iter::once(class.len()).chain(dollars.map(|(at, _)| at));
        ends.any(|end| self.matches(&class[..end]))
    }

    fn matches(&self, class: &[u8]) -> bool {
        let [first, middle @ .., last] = &self.parts[..] else {
            return self.parts.iter().all(|only| only == class);
        };
        let rest = class.strip_prefix(&first[..]).and_then(|rest| rest.strip_suffix(&last[..]));
        let Some(mut rest) = rest else { return false };
        // The leftmost place of each part leaves the most for those behind it.
        for part in middle {
            match find(rest, part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

/// Where `part` first is in `bytes`.
fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    match part.len() {
        0 => Some(0),
        length => bytes.windows(length).position(|window| window == part),
    }
}

/// Text as class files have it: what is beyond 16 bits is written as two surrogates (JVM
/// specification 4.4.7).
fn modified_utf8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match character.len_utf8() {
            4 => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let six_bits = |shift: u32| (*unit >> shift & 0x3f) as u8 | 0x80;
                    bytes.extend([0xe0 | (*unit >> 12) as u8, six_bits(6), six_bits(0)]);
                }
            }
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(list: &str, class: &str) -> bool {
        Patterns::parse(list).unwrap().matches(class.as_bytes())
    }

    #[test]
    fn a_name_is_a_class_and_those_inside_of_it() {
        assert!(matches("com.acme.Foo", "com/acme/Foo"));
        assert!(matches("com.acme.Foo", "com/acme/Foo$Bar$1"));
        assert!(matches("com.acme.Foo$Bar", "com/acme/Foo$Bar$1"));
        assert!(!matches("com.acme.Foo$Bar", "com/acme/Foo"));
        assert!(!matches("com.acme.Foo", "com/acme/Food"));
        assert!(!matches("com.acme.Foo", "com/acme/Foo/Bar"));
        assert!(!matches("Foo", "com/acme/Foo"));
        assert!(matches("$Proxy0", "$Proxy0"));
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("com.acme.*", "com/acme/Foo"));
        assert!(matches("com.acme.*", "com/acme/deep/Foo$Bar"));
        assert!(!matches("com.acme.*", "com/acmeFoo"));
        assert!(matches("*Foo", "com/acme/BarFoo"));
        assert!(matches("*Foo", "Foo$1"));
        assert!(!matches("*Foo", "Foo1"));
        assert!(matches("com.*.Bar", "com/a/b/Bar"));
        assert!(!matches("com.*.Bar", "com/Bar"));
        assert!(matches("*a*a", "aa") && !matches("*a*a", "a"));
        assert!(matches("ab*ba", "abba") && !matches("ab*ba", "aba"));
        assert!(matches("*b*c*", "abcd") && !matches("*c*b*", "abcd"));
        assert!(matches("*", "any/Thing") && matches("**", "any/Thing"));
    }

    #[test]
    fn lists_add_up() {
        let mut patterns = Patterns::parse("a.B, c.*").unwrap();
        patterns.add("*D").unwrap();
        for class in ["a/B", "c/X", "x/D"] {
            assert!(patterns.matches(class.as_bytes()), "{class}");
        }
        assert!(!patterns.matches(b"a/C") && !Patterns::default().matches(b"a/C"));
        assert!(Patterns::default().is_empty() && !patterns.is_empty());
    }

    #[test]
    fn names_are_compared_as_class_files_have_them() {
        // The surrogates D801 DC00, of three bytes each, and an umlaut as in UTF-8.
        let class = b"p/\xed\xa0\x81\xed\xb0\x80\xc3\xa4";
        assert!(Patterns::parse("p.\u{10400}ä").unwrap().matches(class));
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let error = |list| Patterns::parse(list).unwrap_err().to_string();
        assert_eq!(error(""), r#"an empty class pattern in """#);
        assert_eq!(error("a.B,,c"), r#"an empty class pattern in "a.B,,c""#);
        assert_eq!(
            error("a.B,com/acme/Foo"),
            r#"class pattern "com/acme/Foo": '/' cannot be in a class name; write it as com.acme.Foo, com.acme.* or *Foo"#
        );
        for list in [".Foo", "com.", "com..Foo"] {
            assert_eq!(
                error(list),
                format!("class pattern \"{list}\": a name is missing at a dot")
            );
        }
        let mut patterns = Patterns::parse("a").unwrap();
        patterns.add("b,c d").unwrap_err();
        assert_eq!(patterns, Patterns::parse("a").unwrap());
    }
}
