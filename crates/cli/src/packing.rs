//! Files packed by gzip or zstd: read as what they hold, written where their ending says so.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// A way to pack files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    const ALL: [Packing; 2] = [Packing::Gzip, Packing::Zstd];
    /// How many bytes of a file tell its packing.
    pub(crate) const HEAD_BYTES: u64 = 4;

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// The ending of such files, without the dot.
    fn ending(self) -> &'static str {
        match self {
            Packing::Gzip => "gz",
            Packing::Zstd => "zst",
        }
    }

    /// The packing of a file that begins with `head`.
    pub(crate) fn of_head(head: &[u8]) -> Option<Self> {
        let magic = |packing| match packing {
            Packing::Gzip => &[0x1F, 0x8B][..],
            Packing::Zstd => &[0x28, 0xB5, 0x2F, 0xFD],
        };
        Self::ALL.into_iter().find(|&packing| head.starts_with(magic(packing)))
    }

    /// The path without the ending that names a packing, and that packing.
    pub(crate) fn split(path: &Path) -> (PathBuf, Option<Self>) {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let packing = Self::ALL.into_iter().find(|it| it.ending().eq_ignore_ascii_case(ending));
        match packing {
            Some(packing) => (path.with_extension(""), Some(packing)),
            None => (path.to_owned(), None),
        }
    }

    /// Puts the ending of the packing behind `path`.
    pub(crate) fn join(path: &Path, packing: Option<Self>) -> PathBuf {
        let mut path = path.as_os_str().to_owned();
        if let Some(packing) = packing {
            path.push(".");
            path.push(packing.ending());
        }
        path.into()
    }

    /// What `source` holds unpacked. Where it is cut off the input fails, with `UnexpectedEof`, when all
    /// that is there has been read, and each time it is asked again; `cut` knows then.
    pub(crate) fn unpack(
        self,
        source: impl Read + 'static,
        cut: &Cut,
    ) -> io::Result<Box<dyn Read>> {
        let source: Box<dyn Read> = match self {
            Packing::Gzip => {
                Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, source)))
            }
            Packing::Zstd => {
                let mut decoder = zstd::Decoder::new(source)?;
                // What `zstd --long=31` needs; memory is taken as far as the data fills it.
                decoder.window_log_max(31)?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Unpacked { source, packing: self, cut: cut.clone() }))
    }
}

/// Which packed data is cut off, if some is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cut(Rc<Cell<Option<Packing>>>);

impl Cut {
    /// What is wrong, for people.
    pub(crate) fn fault(&self) -> Option<String> {
        self.0.get().map(|packing| format!("the {} data is cut off", packing.name()))
    }

    fn error(&self) -> Option<io::Error> {
        self.fault().map(|what| io::Error::new(io::ErrorKind::UnexpectedEof, what))
    }
}

/// Says what is wrong with packed data in words of its own.
struct Unpacked {
    source: Box<dyn Read>,
    packing: Packing,
    cut: Cut,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.cut.error() {
            return Err(error);
        }
        let name = self.packing.name();
        self.source.read(buffer).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    self.cut.0.set(Some(self.packing));
                    return self.cut.error().unwrap_or(error);
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

/// Packs what is written, where it is to be packed.
pub(crate) enum Packer<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Packer<W> {
    pub(crate) fn new(out: W, packing: Option<Packing>) -> io::Result<Self> {
        Ok(match packing {
            None => Packer::Plain(out),
            Some(Packing::Gzip) => Packer::Gzip(GzEncoder::new(out, Compression::default())),
            Some(Packing::Zstd) => Packer::Zstd(zstd::Encoder::new(out, 0)?),
        })
    }

    /// Writes the end of the packed data.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Packer::Plain(out) => Ok(out),
            Packer::Gzip(out) => out.finish(),
            Packer::Zstd(out) => out.finish(),
        }
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packer::Plain(out) => out.write(bytes),
            Packer::Gzip(out) => out.write(bytes),
            Packer::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packer::Plain(out) => out.flush(),
            Packer::Gzip(out) => out.flush(),
            Packer::Zstd(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_come_off_and_on() {
        for (path, rest, packing) in [
            ("/x/a.pb.gz", "/x/a.pb", Some(Packing::Gzip)),
            ("a.txt.ZST", "a.txt", Some(Packing::Zstd)),
            ("a.txt", "a.txt", None),
            (".gz", ".gz", None),
            ("gz", "gz", None),
        ] {
            assert_eq!(Packing::split(Path::new(path)), (rest.into(), packing), "{path}");
        }
        let packed = Packing::join(Path::new("a.12.pb"), Some(Packing::Gzip));
        assert_eq!(packed, Path::new("a.12.pb.gz"));
        assert_eq!(Packing::join(Path::new("a.pb"), None), Path::new("a.pb"));
    }

    #[test]
    fn the_longest_windows_of_zstd_are_unpacked() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.long_distance_matching(true).unwrap();
        encoder.window_log(31).unwrap();
        encoder.write_all(b"main;a 1\n").unwrap();
        let packed = encoder.finish().unwrap();
        let mut text = String::new();
        let mut source = Packing::Zstd.unpack(io::Cursor::new(packed), &Cut::default()).unwrap();
        source.read_to_string(&mut text).unwrap();
        assert_eq!(text, "main;a 1\n");
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for packing in Packing::ALL {
            let mut packer = Packer::new(Vec::new(), Some(packing)).unwrap();
            packer.write_all(b"main;a 1\n").unwrap();
            let packed = packer.finish().unwrap();
            assert_eq!(Packing::of_head(&packed), Some(packing));
            let read = |bytes: Vec<u8>| {
                let mut text = String::new();
                let mut source = packing.unpack(io::Cursor::new(bytes), &Cut::default())?;
                source.read_to_string(&mut text).map(|_| text)
            };
            assert_eq!(read(packed.clone()).unwrap(), "main;a 1\n");
            let error = read(packed[..packed.len() - 1].to_vec()).unwrap_err();
            assert_eq!(error.to_string(), format!("the {} data is cut off", packing.name()));
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
