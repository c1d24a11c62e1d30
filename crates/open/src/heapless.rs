//! A file in HPROF's binary format without the objects of heap dumps.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use perk_formats::HEAD_BYTES;

use crate::bounded::read_head;
use crate::content::{HEAP_DUMP_SEGMENT, RECORD_BYTES, SIZE_AND_DATE_BYTES, title_bytes};

/// A file that passes over its records HEAP DUMP SEGMENT. It has HEAP DUMP, which can be longer than it says.
pub(crate) struct HeaplessFile {
    file: BufReader<File>,
    /// The head of the record at hand.
    head: Cursor<Vec<u8>>,
    /// The bytes after it that belong to it.
    left_bytes: u64,
}

impl HeaplessFile {
    /// Opens a file; `None` if it is not in this format as it is, or cannot be read in any order.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let title = title_bytes(&read_head(&mut file, HEAD_BYTES)?);
        file.rewind()?;
        Ok(title.map(|title| Self {
            file: BufReader::new(file),
            head: Cursor::default(),
            left_bytes: (title + SIZE_AND_DATE_BYTES) as u64,
        }))
    }

    /// Goes on to the next record that is not skipped.
    fn turn(&mut self) -> io::Result<()> {
        loop {
            let mut head = Vec::new();
            (&mut self.file).take(RECORD_BYTES as u64).read_to_end(&mut head)?;
            let length = match head[..] {
                [_, _, _, _, _, a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
                _ => 0,
            };
            match head.first() {
                Some(&HEAP_DUMP_SEGMENT) => self.file.seek_relative(length as i64)?,
                _ => {
                    (self.head, self.left_bytes) = (Cursor::new(head), length);
                    return Ok(());
                }
            }
        }
    }
}

impl Read for HeaplessFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.head.read(buffer)?;
        if count == 0 {
            count = (&mut self.file).take(self.left_bytes).read(buffer)?;
            self.left_bytes -= count as u64;
        }
        if count == 0 && !buffer.is_empty() {
            self.turn()?;
            count = self.head.read(buffer)?;
        }
        Ok(count)
    }
}
