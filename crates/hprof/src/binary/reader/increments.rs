//! Reads a recording while it is made: the increments that the agent sends to who watches.

use std::fmt;
use std::io::Read;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perk_profile::{Accounting, Event, Profile};

use super::BinaryReader;
use crate::Error;
use crate::heap::{Header, Record, Stream};

/// A recording that comes in increments. Each ends with the accounting; what follows the last accounting is
/// the last increment.
pub struct Increments<R> {
    header: Header,
    stream: Stream<R>,
    reader: Arc<Mutex<BinaryReader>>,
    has_ended: bool,
}

/// The symbols, call paths and threads of a recording that is being read. They only grow, so that a copy serves
/// all increments that were read before it.
#[derive(Clone, Default)]
pub struct GrowingSymbols(Arc<Mutex<BinaryReader>>);

impl fmt::Debug for GrowingSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingSymbols").finish_non_exhaustive()
    }
}

impl GrowingSymbols {
    /// A profile with them, and without events.
    pub fn copy(&self) -> Profile {
        let mut reader = lock(&self.0);
        // Those of the increment at hand.
        let events = mem::take(&mut reader.profile.events);
        let copy = reader.profile.clone();
        reader.profile.events = events;
        copy
    }
}

impl<R> fmt::Debug for Increments<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Increments").field("header", &self.header).finish_non_exhaustive()
    }
}

fn lock(reader: &Mutex<BinaryReader>) -> MutexGuard<'_, BinaryReader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
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
        Ok(Self { header, stream, reader: Arc::new(Mutex::new(reader)), has_ended: false })
    }

    /// The symbols, call paths and threads, also of what will be read.
    pub fn symbols(&self) -> GrowingSymbols {
        GrowingSymbols(Arc::clone(&self.reader))
    }

    /// The accounting at the end of the last increment.
    pub fn accounting(&self) -> Accounting {
        lock(&self.reader).profile.accounting.clone().unwrap_or_default()
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
        lock(&self.reader).has_accounting = false;
        let mut is_whole = false;
        while !self.has_ended && !is_whole {
            let offset = self.stream.offset();
            // The input is waited for without the lock.
            match self.stream.next()? {
                None | Some(Record::Header(_)) => self.has_ended = true,
                Some(record) => {
                    let mut reader = lock(&self.reader);
                    reader.record(record, offset)?;
                    is_whole = reader.has_accounting;
                }
            }
        }
        let mut reader = lock(&self.reader);
        if self.has_ended {
            reader.file_end()?;
        }
        reader.sections_elapsed_us.clear();
        let events = mem::take(&mut reader.profile.events);
        Ok((!self.has_ended || !events.is_empty()).then_some(events))
    }
}
