//! The list of fuzz targets, each of which has a program of its name.

use perk_control::{Options, commands};
use perk_formats::{FORMATS, FileFormat};
use perk_hprof::heap::Stream;

use super::class;

/// A consumer of any bytes. It panics if there is a fault.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// The reader of a format.
    Format(&'static dyn FileFormat),
    /// The name, and the function that consumes the bytes.
    Other(&'static str, fn(&[u8])),
}

const OTHERS: [Target; 5] = [
    Target::Other("any-hprof", |bytes| drop(perk_hprof::read(bytes))),
    Target::Other("heap", heap),
    Target::Other("class", class::edit_and_probe),
    Target::Other("options", |bytes| drop(Options::parse(&String::from_utf8_lossy(bytes), None))),
    Target::Other("commands", commands_of),
];

impl Target {
    /// Returns all targets.
    pub(crate) fn all() -> impl Iterator<Item = Target> {
        let read = FORMATS.into_iter().filter(|format| format.is_read());
        read.map(Target::Format).chain(OTHERS)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Format(format) => format.name(),
            Target::Other(name, _) => name,
        }
    }

    pub(crate) fn run(self, mut bytes: &[u8]) {
        match self {
            Target::Format(format) => drop(format.read(&mut bytes)),
            Target::Other(_, run) => run(bytes),
        }
    }
}

/// Reads every record of a heap dump.
fn heap(bytes: &[u8]) {
    let Ok((_, mut records)) = Stream::new(bytes) else { return };
    while let Ok(Some(_)) = records.next() {}
}

/// Reads every command of a connection.
fn commands_of(mut bytes: &[u8]) {
    use commands::PeerInput::{End, Garbage};
    while let Ok(received) = commands::read(&mut bytes)
        && !matches!(received, End | Garbage { .. })
    {}
}
