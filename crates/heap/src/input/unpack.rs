//! Packed data of gzip and zstd, by their first bytes.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use perk_unpack::{Packing, TrailingBytes};

use super::kind::{HEAD_BYTES, InputKind};
use crate::scratch::Scratch;
use crate::{Error, Watch};

/// The most layers of packing: data with more layers is no dump.
const LAYERS: usize = 3;
/// The bytes that are read at once.
const PART_BYTES: usize = 1 << 20;
/// The unpacked bytes from which the size of all is estimated.
const ESTIMATE_AFTER_BYTES: u64 = 32 << 20;

/// Returns the fault of the data that a failure to unpack shows; `None` if it is a failure of the
/// system.
pub(super) fn fault(packing: Packing, error: &io::Error) -> Option<String> {
    let name = packing.name();
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Some(format!("the {name} data is cut off")),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            Some(format!("the {name} data is damaged ({error})"))
        }
        _ => None,
    }
}

/// What a source holds, unpacked.
pub(super) struct UnpackedDump<'a> {
    source: Box<dyn Read + 'a>,
    /// The first bytes, which the source gives again.
    pub(super) head: Vec<u8>,
    /// From the outermost on.
    pub(super) layers: Vec<Packing>,
    /// The bytes that have been read from the source.
    packed_bytes: Rc<Cell<u64>>,
    fault: Option<String>,
    /// The bytes after the packed data, once everything is read.
    pub(super) rest: TrailingBytes,
}

impl<'a> UnpackedDump<'a> {
    pub(super) fn new(source: impl Read + 'a) -> Result<Self, Error> {
        let packed_bytes = Rc::new(Cell::new(0));
        let counted = CountingReader { source, count: packed_bytes.clone() };
        let mut it = Self {
            source: Box::new(counted),
            head: vec![],
            layers: vec![],
            packed_bytes,
            fault: None,
            rest: TrailingBytes::default(),
        };
        it.take_head()?;
        while it.layers.len() < LAYERS
            && let Some(packing) = Packing::of_head(&it.head)
        {
            let head = std::mem::take(&mut it.head);
            let packed =
                Cursor::new(head).chain(std::mem::replace(&mut it.source, Box::new(io::empty())));
            it.source = Box::new(perk_unpack::Unpacker::new(packing, packed, &it.rest)?);
            it.layers.push(packing);
            it.take_head()?;
            if it.head.is_empty()
                && let Some(fault) = &it.fault
            {
                return Err(Error::Refused(format!("{fault}: nothing of it can be read")));
            }
        }
        Ok(it)
    }

    /// Returns what the content is.
    pub(super) fn kind(&self) -> Result<InputKind, Error> {
        match (InputKind::of(&self.head), &self.fault) {
            (Err(_), Some(fault)) if self.head.len() < HEAD_BYTES => {
                Err(Error::Refused(format!("{fault}: nothing of it can be read")))
            }
            (kind, _) => kind,
        }
    }

    fn take_head(&mut self) -> Result<(), Error> {
        let mut head = vec![0; HEAD_BYTES];
        let mut count = 0;
        while count < head.len() {
            match self.read(&mut head[count..])? {
                0 => break,
                more => count += more,
            }
        }
        head.truncate(count);
        self.head = head;
        Ok(())
    }

    /// Reads on. A fault of packed data is its end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.fault.is_some() {
            return Ok(0);
        }
        loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    match self.layers.last().and_then(|&packing| fault(packing, &error)) {
                        Some(fault) => {
                            self.fault = Some(fault);
                            return Ok(0);
                        }
                        None => return Err(error),
                    }
                }
                read => return read,
            }
        }
    }

    /// Writes everything to scratch. `packed_bytes` is the size of the source, or 0 if it is not
    /// known. Returns the fault at which the packed data ends, if it has one.
    pub(super) fn copy(
        mut self,
        scratch: &mut Scratch,
        packed_bytes: u64,
        watch: &mut dyn Watch,
    ) -> Result<Option<String>, Error> {
        let phase = if self.layers.is_empty() { "copying" } else { "unpacking" };
        scratch.write(&self.head)?;
        let mut part = vec![0; PART_BYTES];
        let mut is_estimated = packed_bytes == 0;
        loop {
            let count = self.read(&mut part)?;
            if count == 0 {
                return Ok(self.fault);
            }
            scratch.write(&part[..count])?;
            let done = self.packed_bytes.get();
            watch.progress(phase, done, packed_bytes.max(done));
            if !is_estimated && scratch.bytes() >= ESTIMATE_AFTER_BYTES {
                is_estimated = true;
                check_room(scratch, done, packed_bytes)?;
            }
        }
    }
}

/// Checks that scratch has room for everything, if the rest of the packed data grows as the `done`
/// bytes of it did.
pub(super) fn check_room(scratch: &Scratch, done: u64, packed_bytes: u64) -> Result<(), Error> {
    let total = u128::from(scratch.bytes()) * u128::from(packed_bytes) / u128::from(done.max(1));
    scratch.check_room(u64::try_from(total).unwrap_or(u64::MAX), "unpacked it has")
}

/// Counts the bytes that are read.
struct CountingReader<R> {
    source: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}
