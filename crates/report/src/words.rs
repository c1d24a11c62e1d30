//! Words about names: those that match nothing, and those on command lines.

use perk_analysis::{Filter, near};
use perk_profile::{NamePattern, Symbols};

/// Says that no `what` has the name `pattern`, which ones are near, and else what to write.
pub fn no_such_name(what: &str, pattern: &NamePattern, near: &[String]) -> String {
    let advice = match near {
        [] if pattern.begins_with_package() => format!(
            " from its beginning on; {} finds it further in",
            quoted(&format!("*.{}", pattern.as_str()))
        ),
        [] => "; use bar, Foo.bar, Foo or com.acme.Foo, with * for any part".to_owned(),
        near => did_you_mean(near),
    };
    format!("no {what} has that name{advice}")
}

/// The question whether one of these words of a command line was meant; nothing where there is none.
pub fn did_you_mean(near: &[String]) -> String {
    let near: Vec<_> = near.iter().map(|name| quoted(name)).collect();
    match &near[..] {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

/// As [`no_such_name`], of classes and methods; nothing where one has the name.
pub fn no_such_method(pattern: &NamePattern, symbols: &Symbols) -> Option<String> {
    let filter = Filter { focus: vec![pattern.clone()], ..Filter::default() };
    let is_unmatched = !filter.unmatched(symbols).is_empty();
    is_unmatched.then(|| no_such_name("class or method", pattern, &near::names(pattern, symbols)))
}

/// `text` as a word of a command line.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:=@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (text, word) in [
            ("com.acme.Foo.x", "com.acme.Foo.x"),
            ("Größe.x", "Größe.x"),
            ("Foo$Bar.x", "'Foo$Bar.x'"),
            ("char[]", "'char[]'"),
            ("it's", r"'it'\''s'"),
            ("a b", "'a b'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }
}
