//! The destination of the profile: a file or a socket.

mod file;
mod net;
mod watch;

use std::io::{self, Write};
use std::path::Path;

use self::file::{FileCopy, OutputFile};
pub(crate) use self::net::Connection;
use self::net::Outbox;
pub(crate) use self::watch::{WatchOutput, Watcher};
use perk_files::Access;

/// An output; see the module.
#[derive(Debug)]
pub(crate) enum Output {
    File(OutputFile),
    Net(Outbox),
    Watch(WatchOutput),
    /// A copy of a file so far, which is shown under its name when it is finished. As a variant it has the same
    /// writers as the file: those of a second type would be a twelfth of the agent.
    Copy(FileCopy),
}

impl Output {
    /// Creates a file that appears under this name.
    pub(crate) fn create(target: &Path, access: Access) -> io::Result<Self> {
        OutputFile::create(target, access).map(Self::File)
    }

    /// Appends the data to a file that exists instead of replacing it.
    pub(crate) fn append(&mut self) {
        if let Self::File(file) = self {
            file.append();
        }
    }

    /// Hands over the data so far, which is whole for now and need not wait for more.
    pub(crate) fn rest(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => {
                file.rest();
                Ok(())
            }
            Self::Net(outbox) => outbox.flush(),
            Self::Watch(_) | Self::Copy(_) => Ok(()),
        }
    }

    /// Sets whether it waits for a slow peer from now on, as long as the peer reads at all. Returns
    /// the previous setting. A file's disk is always waited for.
    pub(crate) fn set_patient(&mut self, is_patient: bool) -> bool {
        match self {
            Self::File(_) | Self::Copy(_) => true,
            Self::Net(outbox) => outbox.set_patient(is_patient),
            Self::Watch(_) => false,
        }
    }

    /// Shows what has been written so far, and continues to write.
    pub(crate) fn publish(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.publish(),
            Self::Net(outbox) => outbox.flush(),
            Self::Watch(_) | Self::Copy(_) => Ok(()),
        }
    }

    /// Returns a copy of a file's data so far, which is still to be made; `None` if there is no file.
    pub(crate) fn copy(&mut self) -> io::Result<Option<Self>> {
        match self {
            Self::File(file) => Ok(file.copy()?.map(Self::Copy)),
            Self::Net(_) | Self::Watch(_) | Self::Copy(_) => Ok(None),
        }
    }

    /// Copies the data so far, if this is a copy. Needs no lock.
    pub(crate) fn make(&mut self) -> io::Result<()> {
        if let Self::Copy(copy) = self { copy.make() } else { Ok(()) }
    }

    /// Ends writing; the file gets its name, the peer all that is left.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.finish(),
            Self::Net(outbox) => outbox.finish(),
            Self::Watch(watch) => {
                watch.finish();
                Ok(())
            }
            Self::Copy(copy) => copy.show(),
        }
    }

    /// Removes a file that was never begun.
    pub(crate) fn discard(&self) {
        if let Self::File(file) = self {
            file.discard();
        }
    }

    /// Returns the name under which a file lies until it is whole.
    pub(crate) fn part(&self) -> Option<&Path> {
        match self {
            Self::File(file) => file.part(),
            Self::Net(_) | Self::Watch(_) | Self::Copy(_) => None,
        }
    }

    /// Returns the output's name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(file) => file.target().display().to_string(),
            Self::Net(outbox) => outbox.peer().to_owned(),
            Self::Watch(_) => "the connection of watch".to_owned(),
            Self::Copy(_) => "the file so far".to_owned(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Net(outbox) => outbox.write(bytes),
            Self::Watch(watch) => watch.write(bytes),
            Self::Copy(copy) => copy.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Net(outbox) => outbox.flush(),
            Self::Watch(watch) => watch.flush(),
            Self::Copy(copy) => copy.flush(),
        }
    }
}
