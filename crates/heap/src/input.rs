//! The file of a dump, read at any place.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::Error;

/// An open dump.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    bytes: u64,
}

impl Input {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Reads bytes from an offset on. Returns their number, which is less than asked for only at the
    /// end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Returns the bytes from the beginning on.
    pub(crate) fn reader(&self) -> Part<'_> {
        Part { input: self, offset: 0 }
    }
}

/// The bytes of a dump, one after the other.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    input: &'a Input,
    offset: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
