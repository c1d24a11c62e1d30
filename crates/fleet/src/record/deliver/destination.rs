//! What all destinations have in common.

use std::path::Path;
use std::time::Duration;

/// A place that files are delivered to.
pub(crate) trait Destination: Send {
    /// Delivers a file under a path. A file that is there already is the same one.
    ///
    /// # Errors
    /// It is not there.
    fn deliver(&mut self, path: &Path, file: &Path) -> Result<(), Failure>;

    /// Does what recurs: removes old files.
    fn tidy(&mut self) {}
}

/// Why a file was not delivered.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The place does not take this file, now or later.
    Refused(String),
    /// The place cannot have it now.
    Later {
        /// Why, in one line.
        reason: anyhow::Error,
        /// The time that the place asks to wait.
        after: Option<Duration>,
    },
}

impl From<anyhow::Error> for Failure {
    fn from(reason: anyhow::Error) -> Self {
        Self::Later { reason, after: None }
    }
}
