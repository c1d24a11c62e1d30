//! Files that are packed by gzip or zstd, where their ending says so.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use perk_unpack::Packing;

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

/// Packs the output if the target is packed.
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
}
