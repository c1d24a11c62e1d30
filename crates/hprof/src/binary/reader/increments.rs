//! Reads a recording while it is made: the increments that the agent sends to who watches.

use std::fmt;
use std::io::Read;
use std::mem;

use perk_profile::{Event, Profile};

use super::BinaryReader;
use crate::Error;
use crate::heap::{Header, Record, Stream};

/// A recording that comes in increments. Each ends with the accounting; what follows the last accounting is
/// the last increment.
pub struct Increments<R> {
    header: Header,
    stream: Stream<R>,
    reader: BinaryReader,
    has_ended: bool,
}

impl<R> fmt::Debug for Increments<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Increments").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<R: Read> Increments<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// As those of [`read`](super::read).
    pub fn new(input: R) -> Result<Self, Error> {
        let (header, stream) = Stream::new(input)?;
        let mut reader = BinaryReader::default();
        reader.tally.begin_file(&header);
        reader.id_bytes = header.id_bytes;
        Ok(Self { header, stream, reader, has_ended: false })
    }

    /// The symbols, call paths and threads so far, and the accounting. The events of increments are not in it.
    pub fn profile(&self) -> &Profile {
        &self.reader.profile
    }

    /// The time when the recording began, in milliseconds since 1970.
    pub fn begun_unix_ms(&self) -> u64 {
        self.header.unix_ms
    }

    /// Waits for the next increment, and returns its events. `None` if the recording has ended.
    ///
    /// # Errors
    /// As those of [`read`](super::read); [`Error::Cut`] if the input ends within a record.
    pub fn read(&mut self) -> Result<Option<Vec<Event>>, Error> {
        self.reader.has_accounting = false;
        while !self.has_ended && !self.reader.has_accounting {
            let offset = self.stream.offset();
            match self.stream.next()? {
                None | Some(Record::Header(_)) => self.has_ended = true,
                Some(record) => self.reader.record(record, offset)?,
            }
        }
        if self.has_ended {
            self.reader.file_end()?;
        }
        self.reader.sections_elapsed_us.clear();
        let events = mem::take(&mut self.reader.profile.events);
        Ok((!self.has_ended || !events.is_empty()).then_some(events))
    }
}
