//! A file of output: written under a temporary name, and shown under its own when it is whole, or
//! at a dump.
//!
//! A dump of the heap is large, and copying what is written would take as long as writing it: from
//! [`LINKED_BYTES`] on the file gets its own name as a second one, and grows under it. Only whole
//! records are let through from then on, so that whoever reads it, and whoever is left with it when
//! the program is killed, has no half of one; but for those that are larger than
//! [`MOST_PENDING_BYTES`].

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use perk_files::{Access, Destination, Part, ReadAt};

/// HPROF's buffer size.
const BUFFER_BYTES: usize = 64 << 10;
/// What has grown by so much is linked and not copied when it is shown.
const LINKED_BYTES: u64 = 16 << 20;
/// So much of a record waits for its end where the file is shown while it grows.
const MOST_PENDING_BYTES: usize = 4 << 20;

/// A file in the making.
#[derive(Debug)]
pub(crate) struct OutputFile {
    destination: Destination,
    /// What is not written to it yet.
    pending: Vec<u8>,
    /// How much of that is whole records.
    pending_whole_bytes: usize,
    /// What is written.
    written_bytes: u64,
    /// How much of that is whole records.
    whole_bytes: u64,
    target: PathBuf,
    shown: Shown,
}

/// What is under the file's own name, while the file is in the making.
#[derive(Debug)]
enum Shown {
    /// Nothing of it.
    Nothing,
    /// A copy of its first bytes.
    Copy { copy: Part, bytes: u64 },
    /// Itself.
    Link,
}

impl OutputFile {
    /// Opens the temporary file beside `target`, or what `target` is if it is not a file. It stays
    /// there when it does not get its name.
    pub(super) fn create(target: &Path, access: Access) -> io::Result<Self> {
        let mut destination = Destination::open(target, access)?;
        if let Destination::File(part) = &mut destination {
            part.keep();
        }
        Ok(Self {
            destination,
            pending: Vec::with_capacity(BUFFER_BYTES),
            pending_whole_bytes: 0,
            written_bytes: 0,
            whole_bytes: 0,
            target: target.to_owned(),
            shown: Shown::Nothing,
        })
    }

    /// What was handed over so far is whole records.
    pub(super) fn rest(&mut self) {
        self.pending_whole_bytes = self.pending.len();
        if self.pending.is_empty() {
            self.whole_bytes = self.written_bytes;
        }
    }

    /// Shows what has been written so far under the file's own name, and goes on writing.
    pub(super) fn publish(&mut self) -> io::Result<()> {
        self.flush()?;
        let Destination::File(part) = &self.destination else { return Ok(()) };
        let shown_bytes = match &self.shown {
            Shown::Link if part.is_shown()? => return Ok(()),
            Shown::Copy { copy, bytes } if copy.is_shown()? => *bytes,
            _ => 0,
        };
        if matches!(self.shown, Shown::Link) || self.written_bytes - shown_bytes >= LINKED_BYTES {
            // Not every file system has links.
            if part.show().is_ok() {
                self.shown = Shown::Link;
                return Ok(());
            }
        }
        match &mut self.shown {
            Shown::Copy { copy, bytes } if shown_bytes > 0 => {
                let mut new = ReadAt { file: part.file(), offset: shown_bytes };
                *bytes += io::copy(&mut new, &mut copy.file())?;
            }
            shown => {
                let copy = part.show_copy()?;
                *shown = Shown::Copy { copy, bytes: self.written_bytes };
            }
        }
        Ok(())
    }

    /// Ends writing and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        match &mut self.destination {
            Destination::File(part) => part.finish(),
            Destination::Stream(_) => Ok(()),
        }
    }

    /// Removes it, before anything has been shown.
    pub(super) fn discard(&self) {
        if let Some(part) = self.part() {
            let _ = fs::remove_file(part);
        }
    }

    /// The file's own name.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// The name under which the data lies until the file is whole.
    pub(super) fn part(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(part) => Some(part.path()),
            Destination::Stream(_) => None,
        }
    }

    /// Writes the first bytes of what is pending: the whole records, or all. Where that fails, a
    /// regular file has whole records all the same.
    fn write_pending(&mut self, count: usize) -> io::Result<()> {
        let mut file = self.destination.file();
        if let Err(error) = file.write_all(&self.pending[..count]) {
            if self.part().is_some() {
                let _ = file.set_len(self.whole_bytes);
            }
            return Err(error);
        }
        if self.pending_whole_bytes > 0 {
            self.whole_bytes = self.written_bytes + self.pending_whole_bytes as u64;
            self.pending_whole_bytes = 0;
        }
        self.written_bytes += count as u64;
        self.pending.drain(..count);
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.pending.len() + bytes.len() > BUFFER_BYTES {
            let most = match self.shown {
                Shown::Link => self.pending_whole_bytes,
                Shown::Copy { .. } | Shown::Nothing => self.pending.len(),
            };
            self.write_pending(most)?;
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > MOST_PENDING_BYTES {
            self.write_pending(self.pending.len())?;
        }
        Ok(bytes.len())
    }

    /// Writes all, which must be whole records.
    fn flush(&mut self) -> io::Result<()> {
        self.rest();
        self.write_pending(self.pending.len())
    }
}
