//! An output file. It is written under a temporary name, and appears under its own name when it is
//! whole, or at a dump. Or its data is appended to the file of its own name then.
//!
//! A heap dump is large, and copying the data would take as long as writing it. From
//! [`LINKED_BYTES`] on, the file gets its own name as a second one, and grows under it. From then
//! on only whole records are written, so that a reader, also after the program is killed, finds no
//! partial record. Records larger than [`MOST_PENDING_BYTES`] are the exception.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use perk_files::{Access, Destination, Part, ReadAt};

/// HPROF's buffer size.
const BUFFER_BYTES: usize = 64 << 10;
/// A file that has grown by this much is linked, not copied, when it is shown.
const LINKED_BYTES: u64 = 16 << 20;
/// The part of a record that waits for its end if the file is shown while it grows.
const MOST_PENDING_BYTES: usize = 4 << 20;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    destination: Destination,
    /// The bytes that are not written to the file yet.
    pending: Vec<u8>,
    /// The number of those bytes that belong to whole records.
    pending_whole_bytes: usize,
    /// The number of bytes written.
    written_bytes: u64,
    /// The number of those bytes that belong to whole records.
    whole_bytes: u64,
    target: PathBuf,
    shown: Publication,
    /// The number of bytes that are appended to the target, if the data is not to replace it.
    appended_bytes: Option<u64>,
}

/// The content under the file's own name while the file is being written.
#[derive(Debug)]
enum Publication {
    /// No content.
    Nothing,
    /// A copy of its first bytes.
    Copy { copy: Part, bytes: u64 },
    /// The file itself.
    Link,
}

/// A copy of a file's first bytes, to which more is added before it is shown.
#[derive(Debug)]
pub(crate) struct FileCopy {
    source: File,
    bytes: u64,
    part: Part,
    /// Whether the first bytes are copied; until then, what is added waits.
    is_made: bool,
    pending: Vec<u8>,
}

impl FileCopy {
    /// Copies the first bytes.
    pub(crate) fn make(&mut self) -> io::Result<()> {
        let begin = ReadAt { file: &self.source, offset: 0 };
        io::copy(&mut begin.take(self.bytes), &mut self.part.file())?;
        self.is_made = true;
        Ok(())
    }

    /// Shows the copy under the file's own name.
    pub(crate) fn show(&mut self) -> io::Result<()> {
        self.flush()?;
        self.part.finish()
    }
}

impl Write for FileCopy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_made && self.pending.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.part.file().write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

impl OutputFile {
    /// Opens the temporary file beside `target`, or `target` itself if it is not a regular file.
    /// The temporary file stays there if it never gets its own name.
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
            shown: Publication::Nothing,
            appended_bytes: None,
        })
    }

    /// Appends the data to the target instead of replacing it.
    pub(super) fn append(&mut self) {
        self.appended_bytes = Some(0);
    }

    /// Notes that the data so far consists of whole records.
    pub(super) fn rest(&mut self) {
        self.pending_whole_bytes = self.pending.len();
        if self.pending.is_empty() {
            self.whole_bytes = self.written_bytes;
        }
    }

    /// Shows the data so far under the file's own name, and continues to write.
    pub(super) fn publish(&mut self) -> io::Result<()> {
        self.flush()?;
        let Destination::File(part) = &self.destination else { return Ok(()) };
        if let Some(appended_bytes) = &mut self.appended_bytes {
            if *appended_bytes < self.written_bytes {
                *appended_bytes += part.append(*appended_bytes)?;
            }
            return Ok(());
        }
        let shown_bytes = match &self.shown {
            Publication::Link if part.is_shown()? => return Ok(()),
            Publication::Copy { copy, bytes } if copy.is_shown()? => *bytes,
            _ => 0,
        };
        if matches!(self.shown, Publication::Link)
            || self.written_bytes - shown_bytes >= LINKED_BYTES
        {
            // Not every file system has links.
            if part.show().is_ok() {
                self.shown = Publication::Link;
                return Ok(());
            }
        }
        match &mut self.shown {
            Publication::Copy { copy, bytes } if shown_bytes > 0 => {
                let mut new = ReadAt { file: part.file(), offset: shown_bytes };
                *bytes += io::copy(&mut new, &mut copy.file())?;
            }
            shown => {
                let copy = part.show_copy()?;
                *shown = Publication::Copy { copy, bytes: self.written_bytes };
            }
        }
        Ok(())
    }

    /// Returns a copy of the data so far that is still to be made, and shown under the file's own name;
    /// `None` if that is not a regular file's.
    pub(super) fn copy(&mut self) -> io::Result<Option<FileCopy>> {
        self.flush()?;
        let Destination::File(part) = &self.destination else { return Ok(None) };
        let source = part.file().try_clone()?;
        let (bytes, part) = (self.written_bytes, part.twin()?);
        Ok(Some(FileCopy { source, bytes, part, is_made: false, pending: Vec::new() }))
    }

    /// Ends writing and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        if self.appended_bytes.is_some() {
            self.publish()?;
        }
        match &mut self.destination {
            Destination::File(part) if self.appended_bytes.is_some() => part.remove(),
            Destination::File(part) => part.finish(),
            Destination::Stream(_) => Ok(()),
        }
    }

    /// Removes the file, before any of it is shown.
    pub(super) fn discard(&self) {
        if let Some(part) = self.part() {
            let _ = fs::remove_file(part);
        }
    }

    /// Returns the file's own name.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the name under which the data lies until the file is whole.
    pub(super) fn part(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(part) => Some(part.path()),
            Destination::Stream(_) => None,
        }
    }

    /// Writes the first bytes of the pending data: the whole records, or all. If that fails, a
    /// regular file still has whole records.
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
                Publication::Link => self.pending_whole_bytes,
                Publication::Copy { .. } | Publication::Nothing => self.pending.len(),
            };
            self.write_pending(most)?;
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > MOST_PENDING_BYTES {
            self.write_pending(self.pending.len())?;
        }
        Ok(bytes.len())
    }

    /// Writes all data, which must be whole records.
    fn flush(&mut self) -> io::Result<()> {
        self.rest();
        self.write_pending(self.pending.len())
    }
}
