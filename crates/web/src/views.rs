//! The answers of each kind.

pub(crate) mod report;
