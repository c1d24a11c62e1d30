//! Packed data as what it holds, and what is wrong with it.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use perk_unpack::{Packing, TrailingBytes};

use crate::bounded::{BoundedReader, read_head};
use crate::memory::Memory;

/// What `source` holds, unpacked if it is packed, twice if it is packed twice; `max_bytes` of it.
pub(crate) fn unpack(
    source: impl Read + 'static,
    max_bytes: u64,
    faults: &Faults,
    memory: &Memory,
) -> io::Result<BoundedReader<Box<dyn Read>>> {
    const LAYERS: usize = 3;
    // Packed data is hardly longer than what it holds; but it may be endless and hold nothing.
    let max_packed_bytes = max_bytes.saturating_add(max_bytes / 8).saturating_add(1 << 16);
    let mut source: Box<dyn Read> = Box::new(source);
    for _ in 0..LAYERS {
        let head = read_head(&mut source, Packing::HEAD_BYTES as u64)?;
        let packing = Packing::of_head(&head);
        let whole = Cursor::new(head).chain(source);
        source = match packing {
            Some(packing) => {
                unpack_layer(packing, BoundedReader::new(whole, max_packed_bytes, memory), faults)?
            }
            None => return Ok(BoundedReader::new(Box::new(whole), max_bytes, memory)),
        };
    }
    Ok(BoundedReader::new(source, max_bytes, memory))
}

/// What `source` holds unpacked. Where it is cut off the input fails, with `UnexpectedEof`, when all
/// that is there has been read, and each time it is asked again; `faults` knows then.
fn unpack_layer(
    packing: Packing,
    source: impl Read + 'static,
    faults: &Faults,
) -> io::Result<Box<dyn Read>> {
    let source = Box::new(perk_unpack::Unpacker::new(packing, source, &faults.rest)?);
    Ok(Box::new(UnpackedStream { source, packing, faults: faults.clone() }))
}

/// What is wrong with packed data that is read all the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Which packed data is cut off, if some is.
    cut: Rc<Cell<Option<Packing>>>,
    rest: TrailingBytes,
}

impl Faults {
    /// What is cut off, for people.
    pub(crate) fn cut(&self) -> Option<String> {
        self.cut.get().map(|packing| format!("the {} data is cut off", packing.name()))
    }

    /// What follows the packed data, for people.
    pub(crate) fn rest(&self) -> Option<String> {
        self.rest.note()
    }

    fn error(&self) -> Option<io::Error> {
        self.cut().map(|what| io::Error::new(io::ErrorKind::UnexpectedEof, what))
    }
}

/// Says what is wrong with packed data in words of its own.
struct UnpackedStream {
    source: Box<dyn Read>,
    packing: Packing,
    faults: Faults,
}

impl Read for UnpackedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.faults.error() {
            return Err(error);
        }
        let name = self.packing.name();
        self.source.read(buffer).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    self.faults.cut.set(Some(self.packing));
                    return self.faults.error().unwrap_or(error);
                }
                io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                    format!("the {name} data is damaged: {error}")
                }
                _ => return error,
            };
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let text = b"main;a 1\n";
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text).unwrap();
        let zstd = zstd::encode_all(&text[..], 0).unwrap();
        for (packing, packed) in [(Packing::Gzip, gzip.finish().unwrap()), (Packing::Zstd, zstd)] {
            assert_eq!(Packing::of_head(&packed), Some(packing));
            let read = |bytes: Vec<u8>| {
                let mut text = Vec::new();
                let mut source = unpack_layer(packing, Cursor::new(bytes), &Faults::default())?;
                source.read_to_end(&mut text).map(|_| text)
            };
            assert_eq!(read(packed.clone()).unwrap(), text);
            let error = read(packed[..packed.len() - 1].to_vec()).unwrap_err();
            assert_eq!(error.to_string(), format!("the {} data is cut off", packing.name()));
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
