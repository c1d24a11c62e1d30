//! How perk makes files: the agent's output, the tool's, and their temporary files.
//!
//! A file is made beside its target under a new name that nobody can foresee, and gets the name that
//! was asked for when it is whole. Nothing that lies under either name is followed or opened on the
//! way there: a file is only ever created (`O_EXCL`), and the target is replaced by renaming. What
//! is no file and can be written to, a pipe or a terminal, is written to as it is; all else is
//! refused. [`Destination::open`] decides which of these a name means.
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
use place::Place;

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever the umask lets.
    Usual,
    /// The owner: it holds what the program's heap does.
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

/// What output for a name is written to.
#[derive(Debug)]
pub enum Destination {
    /// The name is of a pipe or a device.
    Stream(File),
    /// A file that gets the name.
    File(Part),
}

impl Destination {
    /// Opens what `name` means. Links are followed, but for those that another user has put into a
    /// folder that anybody may write to. A pipe is waited for until somebody reads it, but not for
    /// ever.
    ///
    /// # Errors
    /// As the system says; and where the name is of a folder, a socket, a block device, of another
    /// user's pipe or link, or of a file that may not be written.
    pub fn open(name: &Path, access: Access) -> io::Result<Self> {
        Ok(match Place::of(name)? {
            Place::Stream(stream) => Self::Stream(stream.open()?),
            Place::File(path) => Self::File(Part::create(&path, access)?),
        })
    }

    /// Opens it and removes it again; a pipe is not opened, which its reader would notice.
    ///
    /// # Errors
    /// As [`Destination::open`].
    pub fn check(name: &Path) -> io::Result<()> {
        match Place::of(name)? {
            Place::Stream(stream) => stream.check(),
            Place::File(path) => Part::create(&path, Access::Usual).map(drop),
        }
    }

    /// What is written to.
    pub fn file(&self) -> &File {
        match self {
            Self::Stream(file) => file,
            Self::File(part) => part.file(),
        }
    }
}

/// Gives a file of the caller's another name, as [`Destination`] would: by a link, or by copying it
/// where there can be none.
///
/// # Errors
/// As [`Destination::open`], or as the copying fails.
pub fn give(file: &Path, name: &Path) -> io::Result<()> {
    match Place::of(name)? {
        Place::Stream(stream) => io::copy(&mut File::open(file)?, &mut stream.open()?).map(drop),
        Place::File(target) => {
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

/// Reads a file from a place on, wherever its own position is.
#[derive(Debug)]
pub struct ReadAt<'a> {
    /// The file.
    pub file: &'a File,
    /// Where the next byte is.
    pub offset: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
