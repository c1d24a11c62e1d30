//! A file of output: written under a temporary name, seen under its own only when it is whole.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::os;

/// HPROF's buffer size.
const BUFFER_BYTES: usize = 64 << 10;

/// A file in the making.
#[derive(Debug)]
pub(crate) struct OutputFile {
    file: BufWriter<File>,
    /// The temporary name; `None` where the target is no regular file (a pipe, a terminal,
    /// /dev/null) and is written to directly.
    part: Option<PathBuf>,
    target: PathBuf,
    shown: Option<Shown>,
}

/// The copy under the file's own name, while the file is in the making.
#[derive(Debug)]
struct Shown {
    file: File,
    bytes: u64,
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
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, part, target: target.to_owned(), shown: None })
    }

    /// Shows what has been written so far under the file's own name, and goes on writing.
    pub(super) fn publish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(part) = &self.part else { return Ok(()) };
        let mut part = File::open(part)?;
        if let Some(shown) = &mut self.shown
            && is_at(&shown.file, &self.target)?
        {
            // What is there stays: dumps of the heap are large.
            part.seek(SeekFrom::Start(shown.bytes))?;
            shown.bytes += io::copy(&mut part, &mut shown.file)?;
            return Ok(());
        }
        let copy = with_suffix(&self.target, &format!(".{}.copy", std::process::id()));
        let copied = File::create(&copy).and_then(|mut file| {
            let bytes = io::copy(&mut part, &mut file)?;
            fs::rename(&copy, &self.target)?;
            Ok(Shown { file, bytes })
        });
        match copied {
            Ok(shown) => {
                self.shown = Some(shown);
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&copy);
                Err(error)
            }
        }
    }

    /// Ends writing and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        match self.part.take() {
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
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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
    if locked || !same.unwrap_or(false) {
        let part = with_suffix(target, &format!(".{}.part", std::process::id()));
        return Ok((File::create(&part)?, part));
    }
    file.set_len(0)?;
    Ok((file, part))
}

/// Whether a file is the one of that name; it may have been moved away or replaced.
fn is_at(file: &File, name: &Path) -> io::Result<bool> {
    let its = file.metadata()?;
    Ok(fs::metadata(name).is_ok_and(|named| (named.dev(), named.ino()) == (its.dev(), its.ino())))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
