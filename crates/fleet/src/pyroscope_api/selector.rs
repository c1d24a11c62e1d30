//! Selectors of labels, as Prometheus writes them: `{service_name="shop", env=~"p.*"}`.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use super::fault::Fault;
use crate::series_names::{NAME, label_name};

/// The most bytes of a selector.
const MOST_BYTES: usize = 16 << 10;
/// The most terms of a selector.
const MOST_TERMS: usize = 64;
/// The most memory of a compiled expression, in bytes.
const EXPRESSION_BYTES: usize = 1 << 20;

/// What labels have to be: all terms must match.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    terms: Vec<Term>,
}

/// A condition on the label of a name. A label that is not there is empty.
#[derive(Clone, Debug)]
struct Term {
    name: String,
    value: Value,
    is_negated: bool,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Expression(Regex),
}

impl Selector {
    /// Reads a selector. An empty one selects everything.
    ///
    /// # Errors
    /// It is none, in one line.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > MOST_BYTES {
            return Err(Fault::argument(format!("a selector has more than {MOST_BYTES} bytes")));
        }
        let mut cursor = Cursor { text, rest: text.trim() };
        let mut terms = Vec::new();
        let name = cursor.name();
        if !name.is_empty() {
            let value = Value::Text(name.to_owned());
            terms.push(Term { name: NAME.to_owned(), value, is_negated: false });
        }
        if cursor.take("{") {
            while !cursor.take("}") {
                if terms.len() >= MOST_TERMS {
                    return Err(cursor.fault(&format!("at most {MOST_TERMS} terms")));
                }
                terms.push(cursor.term()?);
                if !cursor.take(",") && !cursor.rest.starts_with('}') {
                    return Err(cursor.fault("a comma or }"));
                }
            }
        }
        match cursor.rest.is_empty() {
            true => Ok(Self { terms }),
            false => Err(cursor.fault("its end")),
        }
    }

    /// A selector of what one of these selects of labels of a name, and of what this one selects.
    pub(super) fn with(mut self, name: &str, values: &[String]) -> Result<Self, Fault> {
        let any: Vec<_> = values.iter().map(|it| regex::escape(it)).collect();
        let value = Value::Expression(expression(&any.join("|"))?);
        self.terms.push(Term { name: name.to_owned(), value, is_negated: false });
        Ok(self)
    }

    /// The names of the labels that it looks at.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.terms.iter().map(|it| &*it.name).collect()
    }

    /// Whether labels have what it asks, by the values of names.
    pub(super) fn selects<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.terms.iter().all(|it| it.matches(value(&it.name).unwrap_or_default()))
    }

    /// Whether the label of a name can have a value.
    pub(super) fn allows(&self, name: &str, value: &str) -> bool {
        self.terms.iter().filter(|it| it.name == name).all(|it| it.matches(value))
    }
}

impl Term {
    fn matches(&self, text: &str) -> bool {
        let is_match = match &self.value {
            Value::Text(value) => value == text,
            Value::Expression(expression) => expression.is_match(text),
        };
        is_match != self.is_negated
    }
}

/// An expression that has to match all of a text.
fn expression(text: &str) -> Result<Regex, Fault> {
    let built = RegexBuilder::new(&format!("^(?s:{text})$")).size_limit(EXPRESSION_BYTES).build();
    built.map_err(|_| {
        Fault::argument(format!("{text:?} is no regular expression, or needs too much memory"))
    })
}

/// What is left of a text while it is read.
struct Cursor<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn fault(&self, expected: &str) -> Fault {
        let at = self.text.trim_end().len() - self.rest.len();
        Fault::argument(format!(
            "the selector {:?} needs {expected} at byte {at}: use one such as \
             {{service_name=\"shop\", version=~\"1.*\"}}",
            self.text
        ))
    }

    /// Takes a sign, if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// Takes a name; empty if none comes next.
    fn name(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        name
    }

    fn term(&mut self) -> Result<Term, Fault> {
        let name = match self.rest.starts_with('"') {
            true => self.quoted()?,
            false => self.name().to_owned(),
        };
        if name.is_empty() {
            return Err(self.fault("the name of a label"));
        }
        let operators =
            [("=~", true, false), ("!~", true, true), ("!=", false, true), ("=", false, false)];
        let found = operators.into_iter().find(|it| self.take(it.0));
        let Some((_, is_expression, is_negated)) = found else {
            return Err(self.fault("=, !=, =~ or !~"));
        };
        let text = self.quoted()?;
        let value = match is_expression {
            true => Value::Expression(expression(&text)?),
            false => Value::Text(text),
        };
        Ok(Term { name: label_name(&name), value, is_negated })
    }

    /// Takes a text in quotes, as Go writes it.
    fn quoted(&mut self) -> Result<String, Fault> {
        let quote = self.rest.chars().next().filter(|it| "\"'`".contains(*it));
        let quote = quote.ok_or_else(|| self.fault("a value in quotes"))?;
        let mut text = String::new();
        let mut signs = self.rest.char_indices().skip(1);
        while let Some((at, sign)) = signs.next() {
            match sign {
                _ if sign == quote => {
                    self.rest = self.rest[at + 1..].trim_start();
                    return Ok(text);
                }
                '\\' if quote != '`' => match signs.next().map(|it| it.1) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(escaped @ ('\\' | '"' | '\'')) => text.push(escaped),
                    _ => {
                        return Err(self.fault("a value whose escapes are \\\\, \\\", \\n and \\t"));
                    }
                },
                _ => text.push(sign),
            }
        }
        Err(self.fault("a value that ends in a quote"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a selector selects labels `a=1,b=2`.
    fn selects(selector: &str, labels: &str) -> bool {
        let labels: Vec<_> = labels.split(',').filter_map(|it| it.split_once('=')).collect();
        let value = |name: &str| labels.iter().find(|it| it.0 == name).map(|it| it.1);
        Selector::parse(selector).unwrap().selects(value)
    }

    #[test]
    fn all_terms_must_match() {
        for (selector, labels, is_selected) in [
            ("", "a=1", true),
            ("{}", "", true),
            (" { } ", "", true),
            (r#"{a="1"}"#, "a=1,b=2", true),
            (r#"{a="1",b!="2"}"#, "a=1,b=2", false),
            (r#"{a=~"1|2", b=~".*",}"#, "a=2", true),
            // Expressions are of the whole value.
            (r#"{a=~"1"}"#, "a=12", false),
            (r#"{a=~"x|1"}"#, "a=x1", false),
            (r#"{a!~"1.*"}"#, "a=2", true),
            (r#"{a!~"1.*"}"#, "a=12", false),
            // What is not there is empty.
            (r#"{c=""}"#, "a=1", true),
            (r#"{c!=""}"#, "a=1", false),
            (r#"{a='it\'s "1"\\'}"#, r#"a=it's "1"\"#, true),
            (r#"{a=`\d`}"#, r"a=\d", true),
            (r#"process_cpu{a="1"}"#, "a=1,__name__=process_cpu", true),
            (r#"process_cpu{a="1"}"#, "a=1,__name__=memory", false),
            (r#"{"k8s.pod"="x"}"#, "k8s_pod=x", true),
        ] {
            assert_eq!(selects(selector, labels), is_selected, "{selector} of {labels}");
        }
    }

    #[test]
    fn faults_have_a_place() {
        for (selector, words) in [
            ("{", "needs the name of a label at byte 1"),
            (r#"{a="1""#, "needs a comma or } at byte 6"),
            (r#"{a"1"}"#, "needs =, !=, =~ or !~ at byte 2"),
            ("{a=1}", "needs a value in quotes at byte 3"),
            (r#"{a="1}"#, "ends in a quote"),
            (r#"{a="\q"}"#, "escapes"),
            (r#"{a=~"("}"#, "no regular expression"),
            (r#"{a=~"(((a{1000}){1000}){1000})"}"#, "too much memory"),
            (r#"{a="1"} b"#, "needs its end at byte 8"),
            (r#"{"a"}"#, "needs =, !=, =~ or !~"),
            (&"x".repeat(MOST_BYTES + 1), "more than"),
            (&format!("{{{}}}", r#"a="1","#.repeat(MOST_TERMS + 1)), "at most 64 terms"),
        ] {
            let fault = Selector::parse(selector).unwrap_err();
            assert!(fault.line.contains(words), "{selector}: {}", fault.line);
        }
    }

    #[test]
    fn lists_of_values_are_taken_literally() {
        let selector = Selector::default().with("a", &["1.".to_owned(), "x|y".to_owned()]).unwrap();
        let selects = |value| selector.selects(|_| Some(value));
        assert_eq!(["1.", "12", "x|y", "x"].map(selects), [true, false, true, false]);
        assert_eq!(selector.names().into_iter().collect::<Vec<_>>(), ["a"]);
        assert!(selector.allows("b", "1") && !selector.allows("a", "2"));
    }
}
