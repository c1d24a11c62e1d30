//! The heap dumps in an HPROF binary, by the heads of its records.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A heap dump in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DumpOutline {
    /// The parts of the file that belong to it, in order: the head, the records with names, classes
    /// and traces, and its own segments. The parts of other dumps are not among them.
    pub(super) parts: Vec<Range<u64>>,
}

/// Tags of records.
mod tag {
    pub(super) const HEAP_DUMP: u8 = 0x0C;
    pub(super) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub(super) const HEAP_DUMP_END: u8 = 0x2C;

    /// Whether records of some writer have this tag.
    pub(super) fn is_known(tag: u8) -> bool {
        matches!(tag, 0x01..=0x0E | HEAP_DUMP_SEGMENT | HEAP_DUMP_END | 0xEF..=0xFF)
    }
}

const MAGIC: &[u8] = b"JAVA PROFILE 1.0";
/// The size of a record before its body, in bytes.
const HEAD_BYTES: u64 = 9;
/// The longest text of a file's head.
const TITLE_LIMIT_BYTES: u64 = 64;
/// The bytes of a file's head after its text and NUL: the size of ids, and the date.
const SIZE_AND_DATE_BYTES: u64 = 4 + 8;
/// The number of records that must follow a length for it to be the true one.
const CHAIN_COUNT: usize = 3;

/// Returns the dumps of a file. Where a record makes no sense the rest of the file belongs to the
/// dump at hand.
pub(super) fn dumps(file: &File, bytes: u64) -> io::Result<Vec<DumpOutline>> {
    let mut walk = OutlineWalk::new(file, bytes);
    let mut at = 0;
    while at < bytes {
        at = match walk.header_end(at)? {
            Some(end) => {
                walk.file_ends(at);
                walk.others.push(at..end);
                end
            }
            None => walk.record(at)?,
        };
    }
    walk.file_ends(bytes);
    Ok(walk.dumps)
}

struct OutlineWalk<'a> {
    window: OutlineWindow<'a>,
    bytes: u64,
    /// The records of the file at hand that belong to all its dumps.
    others: Vec<Range<u64>>,
    /// The segments of the dump at hand.
    segments: Vec<Range<u64>>,
    dumps: Vec<DumpOutline>,
    /// The number of dumps before this file's.
    earlier_count: usize,
}

impl<'a> OutlineWalk<'a> {
    fn new(file: &'a File, bytes: u64) -> Self {
        Self {
            window: OutlineWindow::new(file),
            bytes,
            others: vec![],
            segments: vec![],
            dumps: vec![],
            earlier_count: 0,
        }
    }

    /// Returns the end of the file's head that begins there, if one does.
    fn header_end(&mut self, at: u64) -> io::Result<Option<u64>> {
        let begin = self.window.at(at, MAGIC.len())?;
        // The head may be cut off.
        if begin.is_empty() || !MAGIC.starts_with(begin) {
            return Ok(None);
        }
        let length = (self.bytes - at).min(TITLE_LIMIT_BYTES) as usize;
        let title = self.window.at(at, length)?;
        let end = title.iter().position(|&byte| byte == 0).unwrap_or(length) as u64;
        Ok(Some((at + end + 1 + SIZE_AND_DATE_BYTES).min(self.bytes)))
    }

    /// Takes a record. Returns its end.
    fn record(&mut self, at: u64) -> io::Result<u64> {
        let Some((tag, length)) = self.head(at)? else {
            self.rest(at);
            return Ok(self.bytes);
        };
        let end = (at + HEAD_BYTES).saturating_add(length).min(self.bytes);
        match tag {
            tag::HEAP_DUMP => {
                let end = self.heap_dump_end(at, length)?;
                self.dump_ends();
                add(&mut self.segments, at..end);
                self.dump_ends();
                return Ok(end);
            }
            tag::HEAP_DUMP_SEGMENT => add(&mut self.segments, at..end),
            tag::HEAP_DUMP_END => {
                if !self.segments.is_empty() {
                    add(&mut self.segments, at..end);
                }
                self.dump_ends();
            }
            _ => add(&mut self.others, at..end),
        }
        Ok(end)
    }

    /// Returns the tag and the length of the record there, if one is.
    fn head(&mut self, at: u64) -> io::Result<Option<(u8, u64)>> {
        Ok(match self.window.at(at, HEAD_BYTES as usize)? {
            &[tag, _, _, _, _, a, b, c, d] if tag::is_known(tag) => {
                Some((tag, u32::from_be_bytes([a, b, c, d]).into()))
            }
            _ => None,
        })
    }

    /// Returns the end of HEAP DUMP. Its length is modulo 2^32, and 0 if its writer could not set it.
    fn heap_dump_end(&mut self, at: u64, length: u64) -> io::Result<u64> {
        let mut end = at + HEAD_BYTES + length;
        while end < self.bytes {
            if self.is_end(end)? {
                return Ok(end);
            }
            end = end.saturating_add(1 << 32);
        }
        Ok(self.bytes)
    }

    /// Whether records, another file, or nothing follows.
    fn is_end(&mut self, mut at: u64) -> io::Result<bool> {
        for _ in 0..CHAIN_COUNT {
            if at == self.bytes || self.header_end(at)?.is_some() {
                return Ok(true);
            }
            let Some((_, length)) = self.head(at)? else { return Ok(false) };
            at = at.saturating_add(HEAD_BYTES + length);
            if at > self.bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn dump_ends(&mut self) {
        if self.segments.is_empty() {
            return;
        }
        let mut parts = [&self.others[..], &std::mem::take(&mut self.segments)].concat();
        parts.sort_by_key(|part| part.start);
        self.dumps.push(DumpOutline { parts: joined(parts) });
    }

    /// Ends the file at hand. Its last dump has all that follows it, as traces may come late.
    fn file_ends(&mut self, at: u64) {
        self.dump_ends();
        if let [.., last] = &mut self.dumps[self.earlier_count..]
            && let Some(part) = last.parts.last_mut()
        {
            part.end = at;
        }
        self.earlier_count = self.dumps.len();
        self.others.clear();
    }

    /// Gives the rest of the input to the dump at hand.
    fn rest(&mut self, at: u64) {
        let parts = if self.segments.is_empty() { &mut self.others } else { &mut self.segments };
        add(parts, at..self.bytes);
    }
}

/// Adds a part that follows the others.
fn add(parts: &mut Vec<Range<u64>>, part: Range<u64>) {
    match parts.last_mut() {
        Some(last) if last.end == part.start => last.end = part.end,
        _ => parts.push(part),
    }
}

fn joined(parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut joined = Vec::new();
    for part in parts {
        add(&mut joined, part);
    }
    joined
}

/// The part of the file that was read last.
struct OutlineWindow<'a> {
    file: &'a File,
    begin: u64,
    bytes: Vec<u8>,
    /// The bytes to read next. Records of names are short and follow each other; the heads of
    /// segments are far apart.
    ahead_bytes: usize,
}

const LEAST_AHEAD_BYTES: usize = 256;
const MOST_AHEAD_BYTES: usize = 1 << 17;

impl<'a> OutlineWindow<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, begin: 0, bytes: Vec::new(), ahead_bytes: LEAST_AHEAD_BYTES }
    }

    /// Returns the bytes there: `count` of them, or fewer at the end of the file.
    fn at(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let within = |begin: u64, length: usize| {
            let from = usize::try_from(at.checked_sub(begin)?).ok()?;
            (from + count <= length).then_some(from)
        };
        let from = match within(self.begin, self.bytes.len()) {
            Some(from) => from,
            None => {
                let end = self.begin + self.bytes.len() as u64;
                let is_near = (self.begin..=end).contains(&at);
                self.ahead_bytes = match is_near {
                    true => (2 * self.ahead_bytes).min(MOST_AHEAD_BYTES),
                    false => LEAST_AHEAD_BYTES,
                };
                self.fill(at, count.max(self.ahead_bytes))?;
                0
            }
        };
        Ok(&self.bytes[from..self.bytes.len().min(from + count)])
    }

    fn fill(&mut self, at: u64, count: usize) -> io::Result<()> {
        (self.begin, self.bytes) = (at, vec![0; count]);
        let mut length = 0;
        while length < count {
            match self.file.read_at(&mut self.bytes[length..], at + length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.truncate(length);
        Ok(())
    }
}
