//! The creation of perk's files: the agent's output, the tool's output, and their temporary files.
//!
//! A file is created beside its target under a new name that cannot be predicted. It gets the
//! requested name when it is complete. Nothing that exists under either name is followed or opened
//! meanwhile: files are only created (`O_EXCL`), and the target is replaced by renaming. A pipe or
//! a terminal is not a file but can be written to, so it is written to directly. Everything else is
//! refused. [`Destination::open`] decides which of these cases applies to a name.
#![forbid(unsafe_code)]

mod folder;
mod names;
mod part;
mod place;
mod stream;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use folder::{PrivateFolder, nameless};
pub use part::{Part, is_at};
use place::FilePlace;

/// The users that may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All users that the umask allows.
    Usual,
    /// Only the owner, because the file holds data of the program's heap.
    Owner,
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Access::Usual => 0o666,
            Access::Owner => 0o600,
        }
    }
}

/// The destination of output for a name.
#[derive(Debug)]
pub enum Destination {
    /// The name is of a pipe or a device.
    Stream(File),
    /// A file that gets the name when it is complete.
    File(Part),
}

impl Destination {
    /// Opens the destination that `name` denotes. Links are followed, except links that another
    /// user has put into a folder that all users may write to. For a pipe, this waits until it has
    /// a reader, for a limited time.
    ///
    /// # Errors
    /// Returns the error of the operating system, or an error if the name is that of a folder, a
    /// socket, a block device, another user's pipe or link, or a file that may not be written to.
    pub fn open(name: &Path, access: Access) -> io::Result<Self> {
        Ok(match FilePlace::of(name)? {
            FilePlace::Stream(stream) => Self::Stream(stream.open()?),
            FilePlace::File(path) => Self::File(Part::create(&path, access)?),
        })
    }

    /// Opens the destination and removes it again. A pipe is not opened, because its reader would
    /// notice.
    ///
    /// # Errors
    /// Returns the errors of [`Destination::open`].
    pub fn check(name: &Path) -> io::Result<()> {
        match FilePlace::of(name)? {
            FilePlace::Stream(stream) => stream.check(),
            FilePlace::File(path) => Part::create(&path, Access::Usual).map(drop),
        }
    }

    /// Returns the file to write to.
    pub fn file(&self) -> &File {
        match self {
            Self::Stream(file) => file,
            Self::File(part) => part.file(),
        }
    }
}

/// Gives a file of the caller another name, as [`Destination`] would: by a link, or by copying it
/// if a link is not possible.
///
/// # Errors
/// Returns the errors of [`Destination::open`], or the error of the copying.
pub fn give(file: &Path, name: &Path) -> io::Result<()> {
    match FilePlace::of(name)? {
        FilePlace::Stream(stream) => {
            io::copy(&mut File::open(file)?, &mut stream.open()?).map(drop)
        }
        FilePlace::File(target) => {
            let linked = names::beside(&target, |beside| fs::hard_link(file, beside));
            if let Ok((beside, ())) = linked {
                return part::rename(&beside, &target);
            }
            let mut part = Part::create(&target, Access::Owner)?;
            let mut source = File::open(file)?;
            io::copy(&mut source, &mut part.file())?;
            part.file().set_permissions(source.metadata()?.permissions())?;
            part.finish()
        }
    }
}

/// A reader of a file from an offset, independent of the file's own position.
#[derive(Debug)]
pub struct ReadAt<'a> {
    /// The file.
    pub file: &'a File,
    /// The offset of the next byte.
    pub offset: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
