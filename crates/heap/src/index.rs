//! The analysis of a large dump in a file beside it, so that the next query needs no analysis.
//!
//! The file is a head and sections: each has its length in 8 bytes, the CRC-32 of its content in 4,
//! and the content. The first is the [`IndexKey`]: for which dump and with which options the analysis
//! was made. If anything differs, the analysis is made again. About 16 bytes per object.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use perk_files::{Access, Destination};
use perk_profile::ObjectLayout;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::column::{Column, ColumnPlace};
use crate::findings::{BIGGEST, Findings, TREE_ROWS};
use crate::heap::{Classes, Heap, Holders, Reachability, RetainedSizes};
use crate::ids::Ids;
use crate::input::Input;
use crate::memory::{self, Plan};
use crate::model::Model;
use crate::pool::Pool;
use crate::referrers::{MANY, NONE};
use crate::space::{Number, Space};
use crate::thread::Threads;
use crate::{Options, Refs, Root, SUSPECT_SHARE, Totals, TreeLimits};

const MAGIC: &[u8; 8] = b"PERKIDX4";
/// The bytes at the beginning and the end of the dump that are compared.
const ENDS_BYTES: u64 = 1 << 20;
/// The numbers that are converted at once.
const PIECE: usize = 1 << 16;
/// The size of what an object retains, where four bytes are too few.
const WIDE_BYTES: usize = 5;

/// What an index is for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct IndexKey {
    version: String,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
    /// The check sums of the first and the last bytes.
    first: u32,
    last: u32,
    refs: Refs,
    keep_unreachable: bool,
}

/// All that is small.
#[derive(Serialize, Deserialize)]
struct IndexFacts<M, T, R> {
    title: String,
    unix_ms: u64,
    id_bytes: usize,
    notes: Vec<String>,
    is_cut: bool,
    /// Header, header of arrays, reference, alignment, and whether they were inferred.
    layout: (u32, u32, u32, u32, bool),
    /// Whether four bytes are enough for what objects retain.
    is_narrow: bool,
    batches: Vec<Batch>,
    model: M,
    threads: T,
    totals: Totals,
    roots: R,
}

/// The index of a dump.
pub(crate) struct Index {
    path: PathBuf,
    key: IndexKey,
}

impl Index {
    /// Determines the name of the index and its key; `None` if the dump has none.
    pub(crate) fn of(path: &Path, input: &Input, options: &Options) -> Option<Self> {
        let is_small = options.index_from_bytes.is_none_or(|least| input.len() < least);
        // Sizes by rules of the user are not those of the next query.
        if !input.is_in_place() || is_small || options.layout.is_some() {
            return None;
        }
        let metadata = fs::metadata(path).ok()?;
        let sum = |offset: u64| -> io::Result<u32> {
            let mut bytes = vec![0; ENDS_BYTES.min(input.len()) as usize];
            let count = input.read_at(&mut bytes, offset)?;
            Ok(crc32fast::hash(&bytes[..count]))
        };
        let key = IndexKey {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            bytes: input.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            first: sum(0).ok()?,
            last: sum(input.len().saturating_sub(ENDS_BYTES)).ok()?,
            refs: options.refs,
            keep_unreachable: options.keep_unreachable,
        };
        let mut name = OsString::from(path);
        name.push(".perkidx");
        Some(Self { path: name.into(), key })
    }

    /// Returns the analysis, if it is there, whole, and of this dump with these options.
    pub(crate) fn load(&self, options: &Options) -> Option<impl FnOnce(Input) -> Heap + use<>> {
        let mut sections = Sections::open(&self.path)?;
        if parse::<IndexKey>(&sections.bytes()?)? != self.key {
            return None;
        }
        let facts: IndexFacts<Model, Threads, Vec<Root>> = parse(&sections.bytes()?)?;
        let ids: Ids = parse(&sections.bytes()?)?;
        let count = ids.count() as usize;
        let room = match memory::plan(count as u64, options).ok()? {
            Plan::Memory => ColumnPlace::Memory,
            Plan::Scratch(little) => {
                Pool::new(little.pool_bytes, little.needed_bytes, options).ok()?.room()
            }
        };
        let class_count = facts.model.classes.len();
        let most_class = |class: u32| (class as usize) < class_count;
        let classes = match class_count <= u16::MAX.into() {
            true => {
                let all = sections
                    .numbers(&room, count, 0, u16::from_le_bytes, |it| most_class(it.into()));
                Classes::Few(all?)
            }
            false => {
                Classes::Many(sections.numbers(&room, count, 0, u32::from_le_bytes, most_class)?)
            }
        };
        let any = |_| true;
        let shallow = sections.numbers(&room, count, 0, u32::from_le_bytes, any)?;
        let is_holder = |it: u32| (it as usize) < count || it >= MANY;
        let holder = sections.numbers(&room, count, NONE, u32::from_le_bytes, is_holder)?;
        let retained = match facts.is_narrow {
            true => {
                RetainedSizes::Few(sections.numbers(&room, count, 0, u32::from_le_bytes, any)?)
            }
            false => {
                let wide = |bytes: [u8; WIDE_BYTES]| {
                    let [a, b, c, d, e] = bytes;
                    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
                };
                RetainedSizes::Many(sections.numbers(&room, count, 0, wide, |_| true)?)
            }
        };
        let reach = sections.numbers(
            &room,
            count,
            Reachability::NOT,
            |[code]| Reachability(code),
            |_| true,
        )?;
        let findings: Findings = parse(&sections.bytes()?)?;
        if room.fault().is_some() {
            return None;
        }
        let (refs, thread_count) = (options.refs, options.threads());
        Some(move |input| {
            let (header_bytes, array_header_bytes, reference_bytes, alignment_bytes, is_inferred) =
                facts.layout;
            Heap {
                title: facts.title,
                unix_ms: facts.unix_ms,
                id_bytes: facts.id_bytes,
                notes: facts.notes,
                is_cut: facts.is_cut,
                refs,
                layout: ObjectLayout {
                    header_bytes,
                    array_header_bytes,
                    reference_bytes,
                    alignment_bytes,
                    is_inferred,
                },
                input,
                ids,
                batches: facts.batches,
                model: facts.model,
                classes,
                shallow,
                holders: Some(Holders { holder, retained, reach }),
                room,
                totals: facts.totals,
                roots: facts.roots,
                threads: facts.threads,
                thread_count,
                children: Default::default(),
                findings,
                graph: Default::default(),
                batch_of: Default::default(),
                places: Default::default(),
            }
        })
    }

    /// Writes the index of a heap with holders.
    ///
    /// # Errors
    /// The errors of the folder and the disk.
    pub(crate) fn save(&self, heap: &Heap) -> io::Result<()> {
        let Some(holders) = &heap.holders else { return Ok(()) };
        // In little memory each walk reads the scratch file: they wait until somebody asks.
        if heap.room.is_memory() {
            find_all(heap);
        }
        let Destination::File(mut part) = Destination::open(&self.path, Access::Owner)? else {
            return Err(io::Error::other("its name is that of a pipe or a device"));
        };
        let mut out = BufWriter::with_capacity(1 << 20, part.file());
        out.write_all(MAGIC)?;
        section(&mut out, &made(&self.key)?)?;
        let layout = heap.layout;
        let facts = IndexFacts {
            title: heap.title.clone(),
            unix_ms: heap.unix_ms,
            id_bytes: heap.id_bytes,
            notes: heap.notes.clone(),
            is_cut: heap.is_cut,
            layout: (
                layout.header_bytes,
                layout.array_header_bytes,
                layout.reference_bytes,
                layout.alignment_bytes,
                layout.is_inferred,
            ),
            is_narrow: matches!(holders.retained, RetainedSizes::Few(_)),
            batches: heap.batches.clone(),
            model: &heap.model,
            threads: &heap.threads,
            totals: heap.totals.clone(),
            roots: &heap.roots,
        };
        section(&mut out, &made(&facts)?)?;
        section(&mut out, &made(&heap.ids)?)?;
        match &heap.classes {
            Classes::Few(classes) => put(&mut out, classes, |class| class.to_le_bytes())?,
            Classes::Many(classes) => put(&mut out, classes, |class| class.to_le_bytes())?,
        }
        put(&mut out, &heap.shallow, |units| units.to_le_bytes())?;
        put(&mut out, &holders.holder, |holder| holder.to_le_bytes())?;
        match &holders.retained {
            RetainedSizes::Few(units) => put(&mut out, units, |units| units.to_le_bytes())?,
            RetainedSizes::Many(units) => put(&mut out, units, |units| {
                let [a, b, c, d, e, ..] = units.to_le_bytes();
                [a, b, c, d, e]
            })?,
        }
        put(&mut out, &holders.reach, |reached| [reached.0])?;
        section(&mut out, &made(&heap.findings)?)?;
        if let Some(fault) = heap.room.fault() {
            return Err(io::Error::other(fault));
        }
        out.flush()?;
        drop(out);
        part.finish()
    }
}

/// The sections of an index, one after the other.
struct Sections {
    file: File,
    /// The bytes that are left in the file.
    left: u64,
}

impl Sections {
    /// Opens an index; `None` if the file is none.
    fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let left = file.metadata().ok()?.len().checked_sub(MAGIC.len() as u64)?;
        let mut magic = [0; MAGIC.len()];
        file.read_exact(&mut magic).ok()?;
        (magic == *MAGIC).then_some(Self { file, left })
    }

    /// Reads the head of a section: its size in bytes, and its check sum.
    fn head(&mut self) -> Option<(u64, u32)> {
        let mut head = [0; 12];
        self.file.read_exact(&mut head).ok()?;
        let bytes = u64::from_le_bytes(head[..8].try_into().ok()?);
        let sum = u32::from_le_bytes(head[8..].try_into().ok()?);
        self.left = self.left.checked_sub(bytes.checked_add(12)?)?;
        Some((bytes, sum))
    }

    /// Reads a section.
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let (bytes, sum) = self.head()?;
        let mut content = vec![0; usize::try_from(bytes).ok()?];
        self.file.read_exact(&mut content).ok()?;
        (crc32fast::hash(&content) == sum).then_some(content)
    }

    /// Reads a section of this many numbers, piece by piece; `None` also if one is not sound.
    fn numbers<const N: usize, T: Number>(
        &mut self,
        room: &ColumnPlace,
        count: usize,
        value: T,
        number: impl Fn([u8; N]) -> T,
        is_sound: impl Fn(T) -> bool,
    ) -> Option<Column<T>> {
        let (bytes, expected) = self.head()?;
        if bytes != (count as u64).checked_mul(N as u64)? {
            return None;
        }
        let mut numbers = room.column(count, value);
        let mut done = 0;
        let mut sum = crc32fast::Hasher::new();
        let mut piece = vec![0; PIECE.min(count) * N];
        while done < count {
            let piece = &mut piece[..PIECE.min(count - done) * N];
            self.file.read_exact(piece).ok()?;
            sum.update(piece);
            for &bytes in piece.as_chunks().0 {
                let number = number(bytes);
                if !is_sound(number) {
                    return None;
                }
                numbers.set(done, number);
                done += 1;
            }
        }
        (sum.finalize() == expected).then_some(numbers)
    }
}

/// Finds all that [`Findings`] has of a heap.
fn find_all(heap: &Heap) {
    heap.class_sizes();
    heap.packages();
    heap.biggest(BIGGEST);
    // A file that cannot be read is an error of the question.
    let _ = heap.suspects(SUSPECT_SHARE);
    heap.held_tree(None, TreeLimits::new(heap.totals().reachable.bytes, TREE_ROWS));
}

fn made(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// Writes a section.
fn section(out: &mut impl Write, content: &[u8]) -> io::Result<()> {
    out.write_all(&(content.len() as u64).to_le_bytes())?;
    out.write_all(&crc32fast::hash(content).to_le_bytes())?;
    out.write_all(content)
}

/// Writes a section of numbers, piece by piece.
fn put<const N: usize, T: Number>(
    out: &mut impl Write,
    values: &Column<T>,
    bytes: impl Fn(T) -> [u8; N],
) -> io::Result<()> {
    let count = values.count();
    let pieces = |each: &mut dyn FnMut(&[u8]) -> io::Result<()>| {
        (0..count).step_by(PIECE).try_for_each(|start| {
            let piece = start..count.min(start + PIECE);
            each(&piece.flat_map(|index| bytes(values.get(index))).collect::<Vec<u8>>())
        })
    };
    let mut sum = crc32fast::Hasher::new();
    pieces(&mut |piece| {
        sum.update(piece);
        Ok(())
    })?;
    out.write_all(&((count * N) as u64).to_le_bytes())?;
    out.write_all(&sum.finalize().to_le_bytes())?;
    pieces(&mut |piece| out.write_all(piece))
}
