//! Reading ahead: while one block is processed, another thread reads the next ones.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The size of a block, and the number of blocks that are read ahead: together they fit into the
/// caches of processors.
const BLOCK_BYTES: usize = 1 << 18;
const BLOCKS: usize = 4;

/// What was read ahead.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The blocks that were read, each with the number of its bytes; none after the end or an error.
    full: Receiver<io::Result<(Vec<u8>, usize)>>,
    /// The way of blocks back.
    empty: Sender<Vec<u8>>,
    block: Vec<u8>,
    start: usize,
    end: usize,
}

/// Runs a function with the content of a reader.
pub(crate) fn read<T>(mut reader: impl Read + Send, run: impl FnOnce(Ahead) -> T) -> T {
    // The number of blocks is the bound of both channels.
    let (put_full, full) = mpsc::channel();
    let (empty, take_empty) = mpsc::channel();
    (0..BLOCKS).for_each(|_| {
        // The other end is below.
        let _ = empty.send(vec![0; BLOCK_BYTES]);
    });
    thread::scope(|scope| {
        scope.spawn(move || {
            // It ends when the other side takes no more.
            while let Ok(mut block) = take_empty.recv() {
                let read = match reader.read(&mut block) {
                    Ok(0) => return,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok((block, 0)),
                    read => read.map(|count| (block, count)),
                };
                let is_last = read.is_err();
                if put_full.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        run(Ahead { full, empty, block: Vec::new(), start: 0, end: 0 })
    })
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.start == self.end {
            let block = std::mem::take(&mut self.block);
            if !block.is_empty() {
                // The other side may have read all.
                let _ = self.empty.send(block);
            }
            let Ok(read) = self.full.recv() else { return Ok(0) };
            (self.block, self.end) = read?;
            self.start = 0;
        }
        let count = buffer.len().min(self.end - self.start);
        buffer[..count].copy_from_slice(&self.block[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives bytes in parts of different sizes, and at last an error.
    struct Parts {
        given: usize,
        count: usize,
        has_error: bool,
    }

    impl Read for Parts {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.given == self.count {
                return if self.has_error { Err(io::Error::other("worn out")) } else { Ok(0) };
            }
            let count =
                (self.given * 7 % 300_000 + 1).min(buffer.len()).min(self.count - self.given);
            for (place, byte) in (self.given..).zip(&mut buffer[..count]) {
                *byte = place as u8 ^ (place >> 8) as u8;
            }
            self.given += count;
            Ok(count)
        }
    }

    #[test]
    fn all_bytes_come_in_their_order() {
        for count in [0, 1, 3_000_000] {
            let mut bytes = Vec::new();
            let parts = Parts { given: 0, count, has_error: false };
            read(parts, |mut ahead| ahead.read_to_end(&mut bytes)).unwrap();
            assert!(
                bytes.len() == count
                    && (0..).zip(&bytes).all(|(place, &byte): (usize, _)| {
                        byte == place as u8 ^ (place >> 8) as u8
                    })
            );
        }
    }

    #[test]
    fn errors_come_after_the_bytes_before_them() {
        let mut bytes = Vec::new();
        let parts = Parts { given: 0, count: 1_000_000, has_error: true };
        let error = read(parts, |mut ahead| ahead.read_to_end(&mut bytes)).unwrap_err();
        assert_eq!((error.to_string().as_str(), bytes.len()), ("worn out", 1_000_000));
    }

    #[test]
    fn a_reader_need_not_be_read_to_its_end() {
        let parts = Parts { given: 0, count: usize::MAX, has_error: false };
        let mut buffer = [0; 3];
        assert_eq!(read(parts, |mut ahead| ahead.read(&mut buffer)).unwrap(), 1);
    }
}
