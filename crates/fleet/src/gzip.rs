//! Packing by gzip.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// `bytes`, packed by gzip.
///
/// # Errors
/// Never: it is written to memory.
pub(crate) fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes)?;
    packer.finish()
}
