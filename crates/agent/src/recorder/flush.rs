//! Flushes: the profile so far is shown under the file's name while the recording continues, so that it is
//! there if the program is killed. Nothing that is booked changes: the file at the end is the same as
//! without any flush.

use std::io;
use std::sync::Mutex;

use perk_hprof::Writer;
use perk_jvm::sync::lock;
use perk_profile::Accounting;

use super::Recorder;
use super::book::{Book, Sections};
use crate::output::Output;

/// A flush that is still to be shown: the file so far, and the sections that follow there.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) writer: Writer<Output>,
}

impl Flush {
    /// Copies the file so far. Needs no lock.
    ///
    /// # Errors
    /// The error of the system; what was shown before is still there.
    pub(crate) fn copy(&mut self) -> io::Result<()> {
        self.writer.out().make()
    }

    /// Ends it and shows it under the file's name.
    ///
    /// # Errors
    /// The error of the system; what was shown before is still there.
    pub(crate) fn show(mut self, recorder: &Mutex<Recorder>) -> io::Result<()> {
        self.writer.accounting(&lock(recorder).profile)?;
        self.writer.out().finish()
    }
}

impl Recorder {
    /// Returns the profile so far, as a dump would write it. `None` if there is no file of records. Live
    /// objects are not looked for.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn flush(
        &mut self,
        mut accounting: Accounting,
        books: &[&dyn Book],
    ) -> io::Result<Option<Flush>> {
        if self.parts.is_none() {
            // Paths are written once, for all flushes and the dumps that follow.
            self.write_traces();
        }
        let Some(mut writer) = self.file.fork()? else { return Ok(None) };
        self.account(&mut accounting);
        books.iter().for_each(|book| book.account(&mut accounting, true));
        self.set_accounting(accounting);
        let sections = &mut Sections::of_flush(&mut writer);
        books.iter().try_for_each(|book| book.write(self, sections))?;
        Ok(Some(Flush { writer }))
    }
}
