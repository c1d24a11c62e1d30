//! Dumps of any format as one file that can be read at any offset.
//!
//! A plain HPROF binary is read in place. Packed input, a pipe or a text becomes a scratch file
//! first. Of several dumps in a file one is selected: its parts are joined, so that readers see a
//! file of one dump.

mod kind;
mod members;
mod outline;
mod text;
mod unpack;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use perk_files::ReadAt;
use perk_profile::units;
use perk_unpack::Packing;

use self::kind::InputKind;
use self::unpack::UnpackedDump;
use crate::scratch::Scratch;
use crate::{Error, Options, Watch};

/// A file of one heap dump.
#[derive(Debug)]
pub struct Input {
    file: File,
    /// The parts of the file that are the dump, in order.
    parts: Vec<FilePart>,
    bytes: u64,
    origin: Option<Origin>,
    notes: Vec<String>,
    dump_number: usize,
    dump_count: usize,
    is_text: bool,
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
struct FilePart {
    /// Its offset in the dump.
    at: u64,
    /// Its offset in the file.
    offset: u64,
    bytes: u64,
}

/// The file that was named.
#[derive(Debug)]
struct Origin {
    file: File,
    identity: Identity,
}

/// The properties that distinguish a file from another one of the same name, and from itself before
/// a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The size.
    pub bytes: u64,
    /// The time of the last change, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        let (seconds, ns) = (metadata.mtime(), metadata.mtime_nsec());
        Self {
            bytes: metadata.len(),
            modified_ns: i128::from(seconds) * 1_000_000_000 + i128::from(ns),
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

impl Input {
    /// Opens the dump in `path`, or on stdin if it is `-`: the one that
    /// [`Options::dump_number`] names, or the last one.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a dump, or does not have the requested one.
    pub fn open(path: &Path, options: &Options, watch: &mut dyn Watch) -> Result<Self, Error> {
        let mut source = if path.as_os_str() == "-" {
            File::from(io::stdin().as_fd().try_clone_to_owned()?)
        } else {
            File::open(path)?
        };
        let metadata = source.metadata()?;
        if metadata.is_dir() {
            return Err(Error::Refused("it is a folder; name a dump in it".to_owned()));
        }
        // If a part of a file has been read already, the rest is read like a pipe.
        let is_whole = metadata.is_file() && source.stream_position()? == 0;
        let identity = Identity::of(&metadata);
        let mut notes = Vec::new();
        let (file, kind) = match is_whole {
            true => unpacked(source.try_clone()?, identity.bytes, options, watch, &mut notes)?,
            false => spooled(&mut source, options, watch, &mut notes)?,
        };
        let origin = is_whole.then_some(Origin { file: source, identity });
        match kind {
            InputKind::Binary => Self::chosen(file, origin, notes, options),
            InputKind::Text => {
                let made = text::translate(&file, options, watch)?;
                notes.extend(made.notes);
                let whole = 0..made.file.metadata()?.len();
                let input = Self::of_parts(made.file, &[whole], origin, notes);
                let (dump_number, dump_count) = (made.dump_number, made.dump_count);
                Ok(Self { dump_number, dump_count, is_text: true, ..input }.with_choice())
            }
        }
    }

    /// Chooses the dump of an HPROF binary.
    fn chosen(
        file: File,
        origin: Option<Origin>,
        notes: Vec<String>,
        options: &Options,
    ) -> Result<Self, Error> {
        let bytes = file.metadata()?.len();
        let mut dumps = outline::dumps(&file, bytes)?;
        let dump_count = dumps.len();
        let dump_number = choose(options.dump_number, dump_count)?;
        let dump = dumps.swap_remove(dump_number - 1);
        let input = Self::of_parts(file, &dump.parts, origin, notes);
        Ok(Self { dump_number, dump_count, ..input }.with_choice())
    }

    fn of_parts(
        file: File,
        ranges: &[Range<u64>],
        origin: Option<Origin>,
        notes: Vec<String>,
    ) -> Self {
        let mut bytes = 0;
        let parts = ranges.iter().map(|range| {
            let part = FilePart { at: bytes, offset: range.start, bytes: range.end - range.start };
            bytes += part.bytes;
            part
        });
        let parts = parts.collect();
        Self { file, parts, bytes, origin, notes, dump_number: 1, dump_count: 1, is_text: false }
    }

    fn with_choice(mut self) -> Self {
        if self.dump_count > 1 {
            self.notes.push(format!(
                "the file has {} heap dumps, and this is number {}; --dump N chooses another",
                self.dump_count, self.dump_number
            ));
        }
        self
    }

    /// Reads bytes from an offset on. Returns their number, which is less than the buffer's size only
    /// at the end.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_some(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Reads bytes of one part of the file.
    fn read_some(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let index = self.parts.partition_point(|part| part.at + part.bytes <= offset);
        let Some(part) = self.parts.get(index) else { return Ok(0) };
        let from = offset - part.at;
        let count =
            usize::try_from(part.bytes - from).map_or(buffer.len(), |it| it.min(buffer.len()));
        self.file.read_at(&mut buffer[..count], part.offset + from)
    }

    /// Returns a reader of the bytes from the beginning on.
    pub fn reader(&self) -> InputPart<'_> {
        InputPart { input: self, offset: 0 }
    }

    /// Returns the number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "a dump is never empty")]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Returns the identity of the file; `None` for pipes.
    pub fn identity(&self) -> Option<Identity> {
        self.origin.as_ref().map(|origin| origin.identity)
    }

    /// Whether the dump is the file that was named, as a whole and in place: offsets in it are those
    /// of the file.
    pub fn is_in_place(&self) -> bool {
        let is_whole = self.dump_count == 1 && !self.is_text;
        is_whole
            && self.origin.as_ref().is_some_and(|origin| {
                let file = self.file.metadata();
                file.is_ok_and(|it| {
                    (it.dev(), it.ino()) == (origin.identity.device, origin.identity.inode)
                })
            })
    }

    /// Returns the number of the dump among those of the file, from 1.
    pub fn dump_number(&self) -> usize {
        self.dump_number
    }

    /// Returns the number of dumps in the file.
    pub fn dump_count(&self) -> usize {
        self.dump_count
    }

    /// Whether the dump is HPROF text, which has no values of primitive types.
    pub fn is_text(&self) -> bool {
        self.is_text
    }

    /// Returns what is unusual about the file, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns a note if the file has been changed since it was opened.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn change(&self) -> io::Result<Option<String>> {
        let Some(Origin { file, identity: before }) = &self.origin else { return Ok(None) };
        let now = Identity::of(&file.metadata()?);
        if now == *before {
            return Ok(None);
        }
        let (from, to) = (units::bytes(before.bytes), units::bytes(now.bytes));
        Ok(Some(if now.bytes > before.bytes {
            format!(
                "the file grew from {from} to {to} while it was read, so its dump was still being \
                 written; the first {from} are shown"
            )
        } else if now.bytes < before.bytes {
            format!("the file shrank from {from} to {to} while it was read")
        } else {
            "the file was changed while it was read".to_owned()
        }))
    }
}

/// Returns the number of the requested dump.
fn choose(asked: Option<usize>, count: usize) -> Result<usize, Error> {
    match asked {
        _ if count == 0 => Err(Error::Refused(
            "it is an HPROF file without a heap dump; `perk report` shows what it has".to_owned(),
        )),
        None => Ok(count),
        Some(number) if (1..=count).contains(&number) => Ok(number),
        Some(number) => Err(Error::Refused(format!(
            "it has {}, so --dump {number} names none",
            units::plural(count as u64, "heap dump")
        ))),
    }
}

/// Returns a file with the plain content of another one: the same, if it is not packed.
fn unpacked(
    source: File,
    bytes: u64,
    options: &Options,
    watch: &mut dyn Watch,
    notes: &mut Vec<String>,
) -> Result<(File, InputKind), Error> {
    let content = UnpackedDump::new(ReadAt { file: &source, offset: 0 })?;
    let kind = content.kind()?;
    if content.layers.is_empty() {
        drop(content);
        return Ok((source, kind));
    }
    let mut head = [0; kind::HEAD_BYTES];
    let count = source.read_at(&mut head, 0)?;
    let block_bytes = members::block_bytes(&head[..count]);
    let mut scratch = Scratch::create(options)?;
    let rest = content.rest.clone();
    let fault = match block_bytes {
        Some(block_bytes) if content.layers == [Packing::Gzip] => {
            let threads = options.threads();
            members::unpack(&source, bytes, block_bytes, threads, &mut scratch, watch)?
        }
        _ => content.copy(&mut scratch, bytes, watch)?,
    };
    note_fault(fault, &scratch, notes);
    notes.extend(rest.note());
    Ok((scratch.into_file()?, kind))
}

/// Returns a scratch file with the plain content of a pipe.
fn spooled(
    source: &mut File,
    options: &Options,
    watch: &mut dyn Watch,
    notes: &mut Vec<String>,
) -> Result<(File, InputKind), Error> {
    let content = UnpackedDump::new(source)?;
    let kind = content.kind()?;
    let mut scratch = Scratch::create(options)?;
    let rest = content.rest.clone();
    let fault = content.copy(&mut scratch, 0, watch)?;
    note_fault(fault, &scratch, notes);
    notes.extend(rest.note());
    Ok((scratch.into_file()?, kind))
}

fn note_fault(fault: Option<String>, scratch: &Scratch, notes: &mut Vec<String>) {
    notes.extend(fault.map(|fault| {
        let bytes = units::bytes(scratch.bytes());
        format!("{fault}: {bytes} of the dump are there, and it is not known how much is missing")
    }));
}

/// A reader of an [`Input`].
#[derive(Clone, Debug)]
pub struct InputPart<'a> {
    input: &'a Input,
    offset: u64,
}

impl Read for InputPart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read_some(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
