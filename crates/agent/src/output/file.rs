//! A file of output: written under a temporary name, and shown under its own when it is whole, or
//! at a dump.
//!
//! A dump of the heap is large, and copying what is written would take as long as writing it: from
//! [`LINKED_BYTES`] on the file gets its own name as a second one, and grows under it. Only whole
//! records are let through from then on, so that whoever reads it, and whoever is left with it when
//! the program is killed, has no half of one; but for those that are larger than
//! [`MOST_PENDING_BYTES`].

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::os;

/// HPROF's buffer size.
const BUFFER_BYTES: usize = 64 << 10;
/// What has grown by so much is linked and not copied when it is shown.
const LINKED_BYTES: u64 = 16 << 20;
/// So much of a record waits for its end where the file is shown while it grows.
const MOST_PENDING_BYTES: usize = 4 << 20;

/// A file in the making.
#[derive(Debug)]
pub(crate) struct OutputFile {
    file: File,
    /// What is not written to it yet.
    pending: Vec<u8>,
    /// How much of that is whole records.
    pending_whole_bytes: usize,
    /// What is written.
    written_bytes: u64,
    /// How much of that is whole records.
    whole_bytes: u64,
    /// The temporary name; `None` where the target is no regular file (a pipe, a terminal,
    /// /dev/null) and is written to directly.
    part: Option<PathBuf>,
    target: PathBuf,
    shown: Shown,
}

/// What is under the file's own name, while the file is in the making.
#[derive(Debug)]
enum Shown {
    /// Nothing of it.
    Nothing,
    /// A copy of its first bytes.
    Copy { file: File, bytes: u64 },
    /// Itself.
    Link,
}

impl OutputFile {
    /// Opens the temporary file beside `target`.
    pub(super) fn create(target: &Path) -> io::Result<Self> {
        let special = fs::metadata(target).is_ok_and(|it| {
            let kind = it.file_type();
            kind.is_fifo() || kind.is_char_device() || kind.is_socket()
        });
        let (file, part) = if let Some(file) = os::open_descriptor(target) {
            (file?, None)
        } else if special {
            (File::options().write(true).open(target)?, None)
        } else if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        } else {
            let (file, part) = create_part(target)?;
            (file, Some(part))
        };
        Ok(Self {
            file,
            pending: Vec::with_capacity(BUFFER_BYTES),
            pending_whole_bytes: 0,
            written_bytes: 0,
            whole_bytes: 0,
            part,
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
        let Some(part) = &self.part else { return Ok(()) };
        let shown_bytes = match &self.shown {
            Shown::Link if is_at(&self.file, &self.target)? => return Ok(()),
            Shown::Copy { file, bytes } if is_at(file, &self.target)? => *bytes,
            _ => 0,
        };
        let beside = with_suffix(&self.target, &format!(".{}.copy", std::process::id()));
        if matches!(self.shown, Shown::Link) || self.written_bytes - shown_bytes >= LINKED_BYTES {
            // Not every file system has links.
            if fs::hard_link(part, &beside).is_ok() {
                self.shown = Shown::Link;
                return renamed(&beside, &self.target);
            }
        }
        let mut part = File::open(part)?;
        if let Shown::Copy { file, bytes } = &mut self.shown
            && shown_bytes > 0
        {
            part.seek(SeekFrom::Start(shown_bytes))?;
            *bytes += io::copy(&mut part, file)?;
            return Ok(());
        }
        let mut file = File::create(&beside)?;
        let copied = io::copy(&mut part, &mut file);
        let bytes = copied.inspect_err(|_| drop(fs::remove_file(&beside)))?;
        renamed(&beside, &self.target)?;
        self.shown = Shown::Copy { file, bytes };
        Ok(())
    }

    /// Ends writing and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        match self.part.take() {
            // To rename one name of a file to another of its names leaves both.
            Some(part) if is_at(&self.file, &self.target)? => fs::remove_file(part),
            Some(part) => fs::rename(part, &self.target),
            None => Ok(()),
        }
    }

    /// The file's own name.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// The name under which the data lies until the file is whole.
    pub(super) fn part(&self) -> Option<&Path> {
        self.part.as_deref()
    }

    /// Writes the first bytes of what is pending: the whole records, or all. Where that fails, a regular file has whole records
    /// all the same.
    fn write_pending(&mut self, count: usize) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&self.pending[..count]) {
            if self.part.is_some() {
                let _ = self.file.set_len(self.whole_bytes);
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

/// Creates the temporary file, which is locked as long as it is written: where another process has
/// the usual one, because both were told the same name, each writes its own.
fn create_part(target: &Path) -> io::Result<(File, PathBuf)> {
    let part = with_suffix(target, ".part");
    let file = File::options().write(true).create(true).truncate(false).open(&part)?;
    let locked = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    // Its owner may have given it its final name between our opening and our lock.
    let same = fs::metadata(&part).and_then(|named| Ok(named.ino() == file.metadata()?.ino()));
    if !locked && same.unwrap_or(false) {
        if file.metadata()?.nlink() == 1 {
            file.set_len(0)?;
            return Ok((file, part));
        }
        // Of a program that was killed: what it has shown stays.
        fs::remove_file(&part)?;
        if let Ok(file) = File::create_new(&part)
            && file.try_lock().is_ok()
        {
            return Ok((file, part));
        }
    }
    let part = with_suffix(target, &format!(".{}.part", std::process::id()));
    Ok((File::create(&part)?, part))
}

/// Whether a file is the one of that name; it may have been moved away or replaced.
fn is_at(file: &File, name: &Path) -> io::Result<bool> {
    let its = file.metadata()?;
    Ok(fs::metadata(name).is_ok_and(|named| (named.dev(), named.ino()) == (its.dev(), its.ino())))
}

/// Renames a file, or removes it.
fn renamed(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(from)))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
