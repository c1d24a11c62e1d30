//! A file without a name for what cannot be read in place.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use perk_profile::units;

use crate::{Error, Options};

/// The bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 18;

/// A scratch file that is being written.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: BufWriter<File>,
    folder: PathBuf,
    bytes: u64,
}

impl Scratch {
    pub(crate) fn create(options: &Options) -> Result<Self, Error> {
        Self::create_in(options.scratch.clone().unwrap_or_else(std::env::temp_dir))
    }

    pub(crate) fn create_in(folder: PathBuf) -> Result<Self, Error> {
        let file = perk_files::nameless(&folder).map_err(|error| {
            let folder = name(&folder);
            Error::Refused(format!(
                "no scratch file can be made in {folder} ({error}); --scratch DIR names another folder"
            ))
        })?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, folder, bytes: 0 })
    }

    /// The number of bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the complete file.
    pub(crate) fn into_file(mut self) -> Result<File, Error> {
        let flushed = self.file.flush();
        flushed.map_err(|error| self.fault(&error))?;
        Ok(self.file.into_parts().0)
    }

    /// Checks that `total` bytes fit, those that are written already among them; `what` says what they
    /// are.
    pub(crate) fn check_room(&self, total: u64, what: &str) -> Result<(), Error> {
        // Some file systems do not know their free space.
        let Ok(system) = rustix::fs::fstatvfs(self.file.get_ref()) else { return Ok(()) };
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        if total.saturating_sub(self.bytes) <= free {
            return Ok(());
        }
        let (total, free) = (units::bytes(total), units::bytes(free.saturating_add(self.bytes)));
        Err(Error::Refused(format!(
            "{what} about {total}, and {} has {free} free; --scratch DIR names another folder",
            name(&self.folder)
        )))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|error| self.fault(&error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn fault(&self, error: &io::Error) -> Error {
        unwritable(&self.folder, self.bytes, error)
    }

    /// Returns the file as it is, and its folder.
    pub(crate) fn into_parts(self) -> Result<(File, PathBuf), Error> {
        let folder = self.folder.clone();
        Ok((self.into_file()?, folder))
    }
}

/// The failure to write to a scratch file that has this many bytes.
pub(crate) fn unwritable(folder: &Path, bytes: u64, error: &io::Error) -> Error {
    Error::Refused(format!(
        "the scratch file in {} cannot be written after {} ({error}); --scratch DIR names another folder",
        name(folder),
        units::bytes(bytes)
    ))
}

/// The failure to read from a scratch file.
pub(crate) fn unreadable(folder: &Path, error: &io::Error) -> Error {
    let folder = name(folder);
    Error::Refused(format!(
        "the scratch file in {folder} cannot be read ({error}); --scratch DIR names another folder"
    ))
}

fn name(folder: &Path) -> String {
    units::printable(&folder.display().to_string())
}
