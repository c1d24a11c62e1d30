//! What a page of source files asks for.

/// A part of a page of source files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePart {
    /// The numbers of each file; those whose source is not there, too.
    List,
    /// The lines of the file with this path or name.
    File(String),
}
