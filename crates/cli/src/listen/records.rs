//! Follows the records of an HPROF stream by their lengths, none of which is trusted: nothing is
//! kept but what a summary needs.

use std::mem;

/// No header is longer than this.
const MOST_HEADER_BYTES: usize = 64;
/// What follows a binary header's NUL: the size of ids, and the date.
const HEADER_REST_BYTES: usize = 12;
const HEAD_BYTES: usize = 9;
/// No record is longer, except those of heap dumps, which may be as long as the format allows.
const MOST_RECORD_BYTES: u32 = 256 << 20;

/// How streams begin: HPROF text and binary, and the table of `cpu=old`.
const HPROF: &[u8] = b"JAVA PROFILE 1.0";
const OLD: &[u8] = b"count callee caller time\n";

/// Tags of the records that are reported.
mod tag {
    pub(super) const HEAP_SUMMARY: u8 = 0x07;
    pub(super) const HEAP_DUMP: u8 = 0x0C;
    pub(super) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub(super) const HEAP_DUMP_END: u8 = 0x2C;
    pub(super) const EXTENDED: u8 = 0xF0;
    /// Tags of sections that may continue in the next record.
    pub(super) const SECTIONS: std::ops::RangeInclusive<u8> = 0xF3..=0xF8;
}

/// The names of records in a list of a file's contents, by tag.
const COUNTED: [(u8, &str); 13] = [
    (0x06, "ALLOC SITES"),
    (tag::HEAP_SUMMARY, "HEAP SUMMARY"),
    (tag::HEAP_DUMP, "HEAP DUMP"),
    (tag::HEAP_DUMP_END, "HEAP DUMP"),
    (0x0D, "CPU SAMPLES"),
    (0x05, "STACK TRACE"),
    (0x0A, "START THREAD"),
    (0xF3, "ALL CPU SAMPLES"),
    (0xF4, "CPU TIMES"),
    (0xF5, "CALL EDGES"),
    (0xF6, "ALL SITES"),
    (0xF7, "MONITOR TIMES"),
    (0xF8, "MONITOR DUMP"),
];

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    Text,
    Binary,
}

impl StreamKind {
    pub(super) fn ending(self) -> &'static str {
        match self {
            StreamKind::Text => "txt",
            StreamKind::Binary => "hprof",
        }
    }
}

/// A record that has an answer whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    HeapSummary { live_bytes: u32, live_count: u32, allocated_bytes: u64, allocated_count: u64 },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Records {
    kind: Option<StreamKind>,
    state: RecordState,
    /// All bytes taken.
    bytes: u64,
    /// Up to the end of the last record or section that is whole.
    whole_bytes: u64,
    /// All that came until the kind was known.
    beginning: Vec<u8>,
    is_extended: bool,
    counts: [u64; COUNTED.len()],
}

/// Where in a binary stream it is.
#[derive(Debug)]
enum RecordState {
    /// In the header, this far from its end.
    Header(usize),
    Head(Vec<u8>),
    Body {
        tag: u8,
        left: u32,
        kept: Vec<u8>,
    },
}

/// Bytes kept of a body: those of HEAP SUMMARY.
const KEPT_BYTES: usize = 24;

impl Records {
    pub(super) fn kind(&self) -> Option<StreamKind> {
        self.kind
    }

    /// How much came until the kind was known, and has not been taken.
    pub(super) fn beginning_bytes(&self) -> u64 {
        self.beginning.len() as u64
    }

    /// What came until the kind was known, once.
    pub(super) fn beginning(&mut self) -> Vec<u8> {
        mem::take(&mut self.beginning)
    }

    /// Where the last record ends that is whole; text is as whole as it gets.
    pub(super) fn whole_bytes(&self) -> Option<u64> {
        (self.kind == Some(StreamKind::Binary)).then_some(self.whole_bytes)
    }

    /// How many records there are of each kind, in words.
    pub(super) fn counted(&self) -> impl Iterator<Item = String> {
        let named = COUNTED.iter().zip(self.counts);
        named.filter(|(_, count)| *count > 0).map(|((_, name), count)| format!("{count} {name}"))
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// What is no HPROF.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        mut tell: impl FnMut(Record),
    ) -> Result<(), String> {
        match self.kind {
            None => {
                self.beginning.extend_from_slice(bytes);
                let all = mem::take(&mut self.beginning);
                let taken = self.begin(&all, &mut tell);
                self.beginning = all;
                taken
            }
            Some(StreamKind::Text) => Ok(()),
            Some(StreamKind::Binary) => self.follow(bytes, &mut tell),
        }
    }

    /// Finds out what the stream is from all that has come of it.
    fn begin(&mut self, all: &[u8], tell: &mut impl FnMut(Record)) -> Result<(), String> {
        if all.starts_with(OLD) {
            self.kind = Some(StreamKind::Text);
        } else if all.starts_with(HPROF) {
            // The version is followed by a NUL or, in text, by a comma.
            match all.iter().position(|&byte| byte == 0 || byte == b',') {
                Some(nul) if all[nul] == 0 => {
                    self.kind = Some(StreamKind::Binary);
                    self.bytes = (nul + 1) as u64;
                    return self.follow(&all[nul + 1..], tell);
                }
                Some(_) => self.kind = Some(StreamKind::Text),
                None if all.len() > MOST_HEADER_BYTES => {
                    return Err("its header has no end".to_owned());
                }
                None => {}
            }
        } else if !HPROF.starts_with(all) && !OLD.starts_with(all) {
            let first = &all[..all.len().min(16)];
            return Err(format!("it begins with \"{}\"", first.escape_ascii()));
        }
        Ok(())
    }

    fn follow(&mut self, mut bytes: &[u8], tell: &mut impl FnMut(Record)) -> Result<(), String> {
        while !bytes.is_empty() {
            let wanted = match &self.state {
                RecordState::Header(left) => *left,
                RecordState::Head(head) => HEAD_BYTES - head.len(),
                RecordState::Body { left, .. } => *left as usize,
            };
            let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            self.bytes += taken.len() as u64;
            match &mut self.state {
                RecordState::Header(left) => *left -= taken.len(),
                RecordState::Head(head) => head.extend_from_slice(taken),
                RecordState::Body { left, kept, .. } => {
                    *left -= taken.len() as u32;
                    let room = KEPT_BYTES - kept.len();
                    kept.extend_from_slice(&taken[..taken.len().min(room)]);
                }
            }
            if taken.len() == wanted {
                self.next(tell)?;
            }
        }
        Ok(())
    }

    /// Continues with what follows the part that is whole now.
    fn next(&mut self, tell: &mut impl FnMut(Record)) -> Result<(), String> {
        match mem::replace(&mut self.state, RecordState::Head(Vec::new())) {
            RecordState::Header(_) => self.whole_bytes = self.bytes,
            RecordState::Head(head) => {
                let (tag, left) = (head[0], length(&head)?);
                self.state = RecordState::Body { tag, left, kept: Vec::new() };
                if left == 0 {
                    self.next(tell)?;
                }
            }
            RecordState::Body { tag, kept, .. } => self.ended(tag, &kept, tell),
        }
        Ok(())
    }

    /// A record is whole.
    fn ended(&mut self, tag: u8, kept: &[u8], tell: &mut impl FnMut(Record)) {
        self.is_extended |= tag == tag::EXTENDED;
        let is_last = kept.first().is_none_or(|marks| marks & 1 != 0);
        if self.is_extended && tag::SECTIONS.contains(&tag) && !is_last {
            return;
        }
        self.whole_bytes = self.bytes;
        if let Some(place) = COUNTED.iter().position(|(counted, _)| *counted == tag) {
            self.counts[place] += 1;
        }
        if tag == tag::HEAP_SUMMARY
            && let Some((live, allocated)) = kept.split_at_checked(8)
            && let (Ok(live), Ok(allocated)) =
                (<[u8; 8]>::try_from(live), <[u8; 16]>::try_from(allocated))
        {
            let (live, allocated) = (u64::from_be_bytes(live), u128::from_be_bytes(allocated));
            tell(Record::HeapSummary {
                live_bytes: (live >> 32) as u32,
                live_count: live as u32,
                allocated_bytes: (allocated >> 64) as u64,
                allocated_count: allocated as u64,
            });
        }
    }
}

impl Default for RecordState {
    fn default() -> Self {
        RecordState::Header(HEADER_REST_BYTES)
    }
}

/// The length that the head of a record claims.
fn length(head: &[u8]) -> Result<u32, String> {
    let tag = head[0];
    let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    let is_heap = matches!(tag, tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT);
    if length > MOST_RECORD_BYTES && !is_heap {
        let most = MOST_RECORD_BYTES;
        return Err(format!(
            "a record with tag {tag:#04x} claims {length} bytes; {most} are the most"
        ));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_be_bytes();
        [&[tag, 0, 0, 0, 0][..], &length, body].concat()
    }

    fn stream(records: &[Vec<u8>]) -> Vec<u8> {
        [b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0", &records.concat()[..]].concat()
    }

    /// The reports on a stream that comes in pieces of this size.
    fn take(bytes: &[u8], piece: usize) -> (Records, Vec<Record>, Vec<u8>) {
        let (mut records, mut reports, mut written) = (Records::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            let is_open = records.kind().is_some();
            records.take(piece, |record| reports.push(record)).unwrap();
            match records.kind() {
                Some(_) if is_open => written.extend_from_slice(piece),
                Some(_) => written.extend(records.beginning()),
                None => {}
            }
        }
        (records, reports, written)
    }

    #[test]
    fn records_are_counted_however_they_come() {
        let mut summary = vec![0, 0, 0, 5, 0, 0, 0, 2];
        summary.extend(9_u64.to_be_bytes());
        summary.extend(3_u64.to_be_bytes());
        let records =
            [record(1, b"abc"), record(0x2C, b""), record(7, &summary), record(13, &[0; 8])];
        let bytes = stream(&records);
        let answer = Record::HeapSummary {
            live_bytes: 5,
            live_count: 2,
            allocated_bytes: 9,
            allocated_count: 3,
        };
        for piece in 1..bytes.len() + 1 {
            let (records, reports, written) = take(&bytes, piece);
            assert_eq!(reports, [answer], "{piece}");
            assert_eq!(written, bytes, "{piece}");
            assert_eq!(records.whole_bytes(), Some(bytes.len() as u64), "{piece}");
            let counted: Vec<_> = records.counted().collect();
            assert_eq!(counted, ["1 HEAP SUMMARY", "1 HEAP DUMP", "1 CPU SAMPLES"], "{piece}");
        }
    }

    #[test]
    fn what_is_cut_off_ends_with_the_last_record() {
        let whole = stream(&[record(0xF0, &[0, 0, 0, 1]), record(0xF6, &[1, 2])]);
        let next = [record(0xF4, &[0, 9]), record(0xF4, &[1, 9])].concat();
        let bytes = [&whole[..], &next].concat();
        for end in whole.len()..bytes.len() {
            let (records, ..) = take(&bytes[..end], 7);
            assert_eq!(records.whole_bytes(), Some(whole.len() as u64), "{end}");
        }
        assert_eq!(take(&bytes, 7).0.whole_bytes(), Some(bytes.len() as u64));
    }

    #[test]
    fn text_is_taken_as_it_is() {
        for text in ["JAVA PROFILE 1.0.1, created x\n\nabc", "count callee caller time\n1 a b 0\n"]
        {
            for piece in 1..text.len() {
                let (records, _, written) = take(text.as_bytes(), piece);
                assert_eq!(records.kind(), Some(StreamKind::Text));
                assert_eq!(written, text.as_bytes());
                assert_eq!(records.whole_bytes(), None);
            }
        }
    }

    #[test]
    fn what_is_no_hprof_is_refused() {
        let long = [b"JAVA PROFILE 1.0", &[b'x'; 99][..]].concat();
        for (bytes, what) in [
            (b"GET / HTTP/1.1\r\n".to_vec(), "it begins with \"GET / HTTP/1.1"),
            (long, "its header has no end"),
            (stream(&[vec![1, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]]), "claims 4294967295 bytes"),
        ] {
            let error = Records::default().take(&bytes, |_| ()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        let segment = stream(&[vec![0x1C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]]);
        assert_eq!(Records::default().take(&segment, |_| ()), Ok(()));
    }
}
