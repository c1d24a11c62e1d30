//! What a file holds, by its beginning: for lists of files.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use anyhow::{Context, bail};
use perk_formats::HEAD_BYTES;

use crate::bounded::read_head;
use crate::memory::Memory;
use crate::packed::{self, Faults};
use crate::prefix::{self, Prefix};
use crate::{Format, display_name, utf16};

/// The bytes of packed data in which the objects of a heap dump begin.
const PACKED_BYTES: u64 = 64 << 20;
/// HPROF's records of objects.
const HEAP_DUMP: u8 = 0x0C;
pub(crate) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
/// The bytes of a binary header after its title: the size of ids and the date.
pub(crate) const SIZE_AND_DATE_BYTES: usize = 4 + 8;
/// The tag, the time and the length of a record.
pub(crate) const RECORD_BYTES: usize = 1 + 4 + 4;

/// What a file holds.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Its format.
    pub format: Format,
    /// Whether it has the objects of a heap, which [`heap`](crate::heap) reads.
    pub has_objects: bool,
}

/// Looks what the file `path` holds, without reading all of it.
///
/// # Errors
/// The file cannot be read, or is none that perk reads; the text names it.
pub fn content(path: &Path) -> anyhow::Result<Content> {
    let name = display_name(path);
    let cannot_read = || format!("cannot read {name}");
    let file = File::open(path).with_context(cannot_read)?;
    let memory = Memory::new(file.metadata().ok().map(|it| it.len()), None);
    let faults = Faults::default();
    let file_bytes = read_head(&mut &file, HEAD_BYTES).with_context(cannot_read)?;
    (&file).rewind().with_context(cannot_read)?;
    let again = file.try_clone().with_context(cannot_read)?;
    let mut source =
        packed::unpack(again, PACKED_BYTES, &faults, &memory).with_context(cannot_read)?;
    let mut source = utf16::decode(&mut source).with_context(cannot_read)?;
    let head = read_head(&mut source, HEAD_BYTES).with_context(cannot_read)?;
    if head.is_empty() {
        bail!("{name} is empty");
    }
    let whole = Cursor::new(head.clone()).chain(source);
    let recognised = match Prefix::of_head(&head) {
        Some(prefix) => {
            let mut bare = prefix::BareLines::new(whole, prefix);
            perk_formats::recognise(&read_head(&mut bare, HEAD_BYTES).with_context(cannot_read)?)
        }
        None => perk_formats::recognise(&head),
    };
    let Some(format) = recognised.filter(|format| format.is_read()) else {
        match perk_formats::foreign(&head) {
            Some(kind) => bail!("{name} is {kind}"),
            None => bail!(
                "{name} is not in a format that perk can read (`perk formats` lists the forms)"
            ),
        }
    };
    // The records of a file that is not packed need no reading: their lengths lead from one to the next.
    let has_objects = match title_bytes(&head) {
        None => false,
        Some(title) if file_bytes == head => {
            (&file).rewind().with_context(cannot_read)?;
            has_objects(BufReader::new(file), title, |it, count| it.seek_relative(count))
        }
        Some(title) => {
            let whole = packed::unpack(
                File::open(path).with_context(cannot_read)?,
                PACKED_BYTES,
                &faults,
                &memory,
            );
            let skip = |it: &mut _, count: i64| {
                io::copy(&mut Read::take(it, count.unsigned_abs()), &mut io::sink()).map(drop)
            };
            whole.is_ok_and(|whole| has_objects(whole, title, skip))
        }
    };
    Ok(Content { format, has_objects })
}

/// The bytes of the title of HPROF's binary format with the NUL at its end; `None` of other data.
pub(crate) fn title_bytes(head: &[u8]) -> Option<usize> {
    const TITLE: &[u8] = b"JAVA PROFILE 1.0";
    let end = head.iter().take(64).position(|&byte| byte == 0)?;
    head.starts_with(TITLE).then_some(end + 1)
}

/// Whether one of the records is of objects.
fn has_objects<R: Read>(
    mut source: R,
    title_bytes: usize,
    skip: impl Fn(&mut R, i64) -> io::Result<()>,
) -> bool {
    let mut next = (title_bytes + SIZE_AND_DATE_BYTES) as i64;
    let mut head = [0; RECORD_BYTES];
    loop {
        if skip(&mut source, next).and_then(|()| source.read_exact(&mut head)).is_err() {
            return false;
        }
        match head {
            [HEAP_DUMP | HEAP_DUMP_SEGMENT, ..] => return true,
            [_, _, _, _, _, length @ ..] => next = u32::from_be_bytes(length).into(),
        }
    }
}
