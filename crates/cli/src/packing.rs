//! Files packed by gzip or zstd: read as what they hold, written where their ending says so.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::Compression;
use flate2::write::GzEncoder;
use perk_unpack::{Packing, Rest};

/// The ending of packed files, without the dot.
fn ending(packing: Packing) -> &'static str {
    match packing {
        Packing::Gzip => "gz",
        Packing::Zstd => "zst",
    }
}

/// The path without the ending that names a packing, and that packing.
pub(crate) fn split(path: &Path) -> (PathBuf, Option<Packing>) {
    let found = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let packing = Packing::ALL.into_iter().find(|&it| ending(it).eq_ignore_ascii_case(found));
    match packing {
        Some(packing) => (path.with_extension(""), Some(packing)),
        None => (path.to_owned(), None),
    }
}

/// Puts the ending of the packing behind `path`.
pub(crate) fn join(path: &Path, packing: Option<Packing>) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    if let Some(packing) = packing {
        path.push(".");
        path.push(ending(packing));
    }
    path.into()
}

/// What `source` holds unpacked. Where it is cut off the input fails, with `UnexpectedEof`, when all
/// that is there has been read, and each time it is asked again; `faults` knows then.
pub(crate) fn unpack(
    packing: Packing,
    source: impl Read + 'static,
    faults: &Faults,
) -> io::Result<Box<dyn Read>> {
    let source = Box::new(perk_unpack::Unpacked::new(packing, source, &faults.rest)?);
    Ok(Box::new(Unpacked { source, packing, faults: faults.clone() }))
}

/// What is wrong with packed data that is read all the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Which packed data is cut off, if some is.
    cut: Rc<Cell<Option<Packing>>>,
    rest: Rest,
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
struct Unpacked {
    source: Box<dyn Read>,
    packing: Packing,
    faults: Faults,
}

impl Read for Unpacked {
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
            assert_eq!(split(Path::new(path)), (rest.into(), packing), "{path}");
        }
        let packed = join(Path::new("a.12.pb"), Some(Packing::Gzip));
        assert_eq!(packed, Path::new("a.12.pb.gz"));
        assert_eq!(join(Path::new("a.pb"), None), Path::new("a.pb"));
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
                let mut source = unpack(packing, io::Cursor::new(bytes), &Faults::default())?;
                source.read_to_string(&mut text).map(|_| text)
            };
            assert_eq!(read(packed.clone()).unwrap(), "main;a 1\n");
            let error = read(packed[..packed.len() - 1].to_vec()).unwrap_err();
            assert_eq!(error.to_string(), format!("the {} data is cut off", packing.name()));
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
