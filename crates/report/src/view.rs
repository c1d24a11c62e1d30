//! Requests and what they are about.

use crate::Answer;

/// A view of something: the fields of a request say what is asked.
pub trait View<S> {
    /// Answers.
    ///
    /// # Errors
    /// What is asked for is not there, or cannot be read; the text says what to do.
    fn answer(&self, subject: S) -> anyhow::Result<Answer>;
}

/// Something, and how messages and headings call it.
#[derive(Clone, Debug)]
pub struct NamedItem<T> {
    /// The name.
    pub name: String,
    /// The thing.
    pub it: T,
}

impl<T> NamedItem<T> {
    /// Names `it`.
    pub fn new(name: impl Into<String>, it: T) -> Self {
        Self { name: name.into(), it }
    }
}
