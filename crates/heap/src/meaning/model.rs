//! The meanings of objects.

use crate::ClassIndex;

/// The most that a [`Meaning`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Characters of a text.
    pub char_count: usize,
    /// Elements of a collection, entries of a map.
    pub element_count: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { char_count: 200, element_count: 10 }
    }
}

/// The value that an object represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Characters.
    Text {
        /// The first ones.
        text: String,
        /// The number of all, in `char`s.
        char_count: u64,
    },
    /// A value, as the program would print it.
    Plain(String),
    /// A collection or an array.
    Elements {
        /// The number of elements.
        size: u64,
        /// Whether there are more than `size`: they were counted one by one, and not all of them.
        is_least: bool,
        /// The first ones.
        first: Vec<Item>,
    },
    /// A map.
    Entries {
        /// The number of entries.
        size: u64,
        /// Whether there are more than `size`.
        is_least: bool,
        /// The first keys and values.
        first: Vec<(Item, Item)>,
    },
    /// An object with a few fields that matter.
    Facts {
        /// The object in a few words.
        brief: String,
        /// The fields and their names.
        facts: Vec<(&'static str, Item)>,
    },
}

/// A value within another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The address, if it is a reference to an object.
    pub address: Option<u64>,
    /// The class of the object.
    pub class: Option<ClassIndex>,
    /// The value in a few words.
    pub text: String,
}

impl Item {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { address: None, class: None, text: text.into() }
    }
}

impl Meaning {
    /// Returns the meaning as one line.
    pub fn text(&self) -> String {
        let counted = |size: u64, is_least: bool, noun: &[&str; 2]| {
            let least = if is_least { "at least " } else { "" };
            format!("{least}{size} {}", noun[usize::from(size != 1)])
        };
        let listed = |mut line: String, size: u64, is_least: bool, items: Vec<String>| {
            if items.is_empty() {
                return line;
            }
            line += ": ";
            line += &items.join(", ");
            if is_least || size > items.len() as u64 {
                line += ", ...";
            }
            line
        };
        match self {
            Self::Text { text, char_count } => quoted(text, *char_count),
            Self::Plain(text) => text.clone(),
            Self::Elements { size, is_least, first } => {
                let items = first.iter().map(|it| it.text.clone()).collect();
                let line = counted(*size, *is_least, &["element", "elements"]);
                listed(line, *size, *is_least, items)
            }
            Self::Entries { size, is_least, first } => {
                let items = first.iter().map(|it| format!("{} = {}", it.0.text, it.1.text));
                let line = counted(*size, *is_least, &["entry", "entries"]);
                listed(line, *size, *is_least, items.collect())
            }
            Self::Facts { facts, .. } => {
                let facts: Vec<_> =
                    facts.iter().map(|(name, it)| format!("{name} {}", it.text)).collect();
                facts.join(", ")
            }
        }
    }

    /// Returns the meaning of an object of this class in a few words.
    pub(super) fn brief(&self, class: &str) -> String {
        let simple = || class.rsplit(['.', '$']).next().unwrap_or(class);
        match self {
            Self::Text { .. } | Self::Plain(_) => self.text(),
            Self::Elements { size, is_least, .. } | Self::Entries { size, is_least, .. } => {
                let more = if *is_least { "+" } else { "" };
                match class.strip_suffix("[]") {
                    Some(element) => format!("{}[{size}]", element),
                    None => format!("{} of {size}{more}", simple()),
                }
            }
            Self::Facts { brief, .. } => brief.clone(),
        }
    }
}

/// `"text"`, or `"text"... (1000 characters)`.
fn quoted(text: &str, char_count: u64) -> String {
    match char_count > text.encode_utf16().count() as u64 {
        true => format!("{text:?}... ({char_count} characters)"),
        false => format!("{text:?}"),
    }
}
