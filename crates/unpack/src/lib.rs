//! Packed data of gzip and zstd, read as what it holds: all members or frames in a row.
//!
//! Zeros may be between and after them, as tapes and block devices add them. Other bytes after the
//! last one are counted and skipped, as `gzip` does.
#![forbid(unsafe_code)]

mod peek;

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use peek::Peek;

/// The longest window that `zstd --long=31` makes, as its logarithm. Memory is taken as far as the
/// data fills it.
const WINDOW_LOG: u32 = 31;
const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
/// The beginning of a frame without data, after its first byte.
const SKIPPABLE: &[u8] = &[0x2A, 0x4D, 0x18];
/// The bytes of such a frame before its content: its beginning, and the length of its content.
const SKIPPABLE_HEAD_BYTES: usize = 8;

/// A way to pack data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Packing {
    /// All of them.
    pub const ALL: [Packing; 2] = [Packing::Gzip, Packing::Zstd];
    /// The number of bytes of a file by which its packing is recognised.
    pub const HEAD_BYTES: usize = 4;

    /// Returns the packing of data that begins with `head`.
    pub fn of_head(head: &[u8]) -> Option<Self> {
        if head.starts_with(GZIP) {
            Some(Self::Gzip)
        } else if head.starts_with(ZSTD) || is_skippable(head) {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }
}

/// Whether a frame without data begins here.
fn is_skippable(head: &[u8]) -> bool {
    head.first().is_some_and(|byte| byte & 0xF0 == 0x50) && head[1..].starts_with(SKIPPABLE)
}

/// The number of bytes after packed data that belong to none of it.
#[derive(Clone, Debug, Default)]
pub struct TrailingBytes(Rc<Cell<Option<(Packing, u64)>>>);

impl TrailingBytes {
    /// Returns a sentence about these bytes, if there are any.
    pub fn note(&self) -> Option<String> {
        let (packing, count) = self.0.get()?;
        let what = if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
        let verb = if count == 1 { "is" } else { "are" };
        Some(format!("{what} after the {} data {verb} skipped", packing.name()))
    }
}

/// What packed data holds.
///
/// Reading fails with `UnexpectedEof` where the data is cut off.
pub struct Unpacker<R> {
    packing: Packing,
    /// The member that is read; `None` after the last.
    member: Option<Member<R>>,
    rest: TrailingBytes,
}

enum Member<R> {
    Gzip(Box<GzDecoder<Peek<R>>>),
    Zstd(zstd::Decoder<'static, Peek<R>>),
}

impl<R> fmt::Debug for Unpacker<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, member, rest } = self;
        let is_at_end = member.is_none();
        let mut out = out.debug_struct("Unpacked");
        out.field("packing", packing).field("is_at_end", &is_at_end).field("rest", rest).finish()
    }
}

impl<R: Read> Unpacker<R> {
    /// Returns what `source` holds, which is packed in this way. After its end, `rest` has the bytes
    /// that follow.
    ///
    /// # Errors
    /// As `source` fails.
    pub fn new(packing: Packing, source: R, rest: &TrailingBytes) -> io::Result<Self> {
        let mut it = Self { packing, member: None, rest: rest.clone() };
        let source = Peek::new(source);
        it.member = match packing {
            Packing::Gzip => Some(Member::Gzip(Box::new(GzDecoder::new(source)))),
            Packing::Zstd => it.next(source)?,
        };
        Ok(it)
    }

    /// Returns the next member, if there is one.
    fn next(&mut self, mut source: Peek<R>) -> io::Result<Option<Member<R>>> {
        loop {
            source.skip_zeros()?;
            let head = source.peek(Packing::HEAD_BYTES)?;
            match Packing::of_head(head).filter(|&packing| packing == self.packing) {
                Some(Packing::Gzip) => {
                    return Ok(Some(Member::Gzip(Box::new(GzDecoder::new(source)))));
                }
                Some(Packing::Zstd) if is_skippable(head) => skip_frame(&mut source)?,
                Some(Packing::Zstd) => {
                    let mut decoder = zstd::Decoder::with_buffer(source)?.single_frame();
                    decoder.window_log_max(WINDOW_LOG)?;
                    return Ok(Some(Member::Zstd(decoder)));
                }
                None => break,
            }
        }
        let count = io::copy(&mut source, &mut io::sink())?;
        if count > 0 {
            self.rest.0.set(Some((self.packing, count)));
        }
        Ok(None)
    }
}

/// Skips a frame without data.
fn skip_frame(source: &mut impl Read) -> io::Result<()> {
    let mut head = [0; SKIPPABLE_HEAD_BYTES];
    source.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if io::copy(&mut source.take(length), &mut io::sink())? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

impl<R: Read> Read for Unpacker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match &mut self.member {
                None => return Ok(0),
                Some(Member::Gzip(member)) => member.read(buffer)?,
                Some(Member::Zstd(member)) => member.read(buffer)?,
            };
            if count > 0 {
                return Ok(count);
            }
            let source = match self.member.take() {
                None => return Ok(0),
                Some(Member::Gzip(member)) => member.into_inner(),
                Some(Member::Zstd(member)) => member.finish(),
            };
            self.member = self.next(source)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A reader that returns one byte at a time.
    struct ByteByByte<'a>(&'a [u8]);

    impl Read for ByteByByte<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(1);
            (&mut self.0).take(length as u64).read(buffer)
        }
    }

    fn packed(packing: Packing, text: &str) -> Vec<u8> {
        match packing {
            Packing::Gzip => {
                let mut out =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                out.write_all(text.as_bytes()).unwrap();
                out.finish().unwrap()
            }
            Packing::Zstd => zstd::encode_all(text.as_bytes(), 0).unwrap(),
        }
    }

    fn unpacked(packing: Packing, bytes: &[u8]) -> io::Result<(String, Option<String>)> {
        let rest = TrailingBytes::default();
        let read = |source: &mut dyn Read| -> io::Result<(String, Option<String>)> {
            let mut text = String::new();
            Unpacker::new(packing, source, &rest)?.read_to_string(&mut text)?;
            Ok((text, rest.note()))
        };
        let whole = read(&mut &bytes[..]);
        let slowly = read(&mut ByteByByte(bytes));
        let kind =
            |it: &io::Result<_>| it.as_ref().map_or_else(|error| Some(error.kind()), |_| None);
        assert_eq!(kind(&slowly), kind(&whole));
        if let (Ok(slowly), Ok(whole)) = (&slowly, &whole) {
            assert_eq!(slowly, whole);
        }
        whole
    }

    #[test]
    fn members_zeros_and_the_rest() {
        for packing in Packing::ALL {
            let (a, b) = (packed(packing, "a;b 1\n"), packed(packing, "c 2\n"));
            let name = packing.name();
            for (zeros_between, rest, note) in [
                (0, &b""[..], None),
                (0, &[0; 1000], None),
                (512, b"", None),
                (512, &[0; 1], None),
                (3, b"x", Some(format!("1 byte after the {name} data is skipped"))),
                (0, b"garbage", Some(format!("7 bytes after the {name} data are skipped"))),
                (0, b"\0\0tail\0", Some(format!("5 bytes after the {name} data are skipped"))),
            ] {
                let bytes = [&a, &vec![0; zeros_between][..], &b, rest].concat();
                let (text, found) = unpacked(packing, &bytes).unwrap();
                assert_eq!((text.as_str(), &found), ("a;b 1\nc 2\n", &note), "{name}");
            }
            // The second member is cut off.
            let cut = [&a[..], &b[..b.len() - 1]].concat();
            let error = unpacked(packing, &cut).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn frames_without_data_are_skipped() {
        let frame = |content: &[u8]| {
            let length = u32::try_from(content.len()).unwrap().to_le_bytes();
            [&[0x53, 0x2A, 0x4D, 0x18][..], &length, content].concat()
        };
        let data = packed(Packing::Zstd, "a 1\n");
        let bytes =
            [frame(b"pzstd"), data.clone(), frame(&[1; 300_000]), data, frame(b"")].concat();
        assert_eq!(Packing::of_head(&bytes), Some(Packing::Zstd));
        assert_eq!(unpacked(Packing::Zstd, &bytes).unwrap(), ("a 1\na 1\n".to_owned(), None));
        let cut = [&bytes[..], &frame(b"pzstd")[..12]].concat();
        assert_eq!(unpacked(Packing::Zstd, &cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_longest_windows_of_zstd_are_unpacked() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.long_distance_matching(true).unwrap();
        encoder.window_log(WINDOW_LOG).unwrap();
        encoder.write_all(b"main;a 1\n").unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(unpacked(Packing::Zstd, &packed).unwrap().0, "main;a 1\n");
    }
}
