//! Profiles of any format.

use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Context, bail};
use perk_formats::shared_fields::ALIKE;
use perk_formats::{HEAD_BYTES, Reading};
use perk_profile::{Metric, NamePattern, Profile, secrets};

use crate::bounded::{TruncatedReader, read_head};
use crate::heapless::HeaplessFile;
use crate::memory::Memory;
use crate::packed::{self, Faults};
use crate::prefix::{self, Prefix};
use crate::{Format, Source, utf16};

/// The bytes of its beginning that the error of an unknown format shows.
const NAMED_BYTES: usize = 16;

/// How a profile is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format, where the content does not identify it.
    pub format: Option<Format>,
    /// The most bytes that are read, unpacked: more than any profile has, and less than what a small file
    /// made to do harm unpacks to.
    pub max_bytes: u64,
    /// The most memory that reading takes, in bytes; `None` for 20 times the file, 256 MiB at least.
    pub max_memory_bytes: Option<u64>,
    /// The classes that are the program's own; none for those that the file names, or the packages of
    /// the main class.
    pub app: Vec<NamePattern>,
    /// Whether passwords, tokens and keys of the command line stay.
    pub keep_secrets: bool,
    /// Whether samples without a known stack count, as far as the accounting has them.
    pub unattributed: bool,
    /// Whether the profile has the stacks of all events, also of those without numbers.
    pub all_stacks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            max_bytes: 64 << 30,
            max_memory_bytes: None,
            app: Vec::new(),
            keep_secrets: false,
            unattributed: false,
            all_stacks: false,
        }
    }
}

/// A profile and the format that it came in. What the reader skipped is in the profile's notes.
#[derive(Debug)]
pub struct Input {
    /// The format.
    pub format: Format,
    /// The profile.
    pub profile: Profile,
}

/// What was made of a source's bytes.
struct Content<T> {
    format: Format,
    value: T,
    /// What was found wrong around it.
    notes: Vec<String>,
    memory: Memory,
    /// The number of bytes that were read.
    offset: u64,
}

/// Whether a profile has heap dumps and nothing else.
pub fn has_only_heaps(profile: &Profile) -> bool {
    profile.heaps().next().is_some()
        && Metric::all_of(profile).is_empty()
        && profile.monitor_dumps().next().is_none()
        && profile.field_accesses().is_none()
}

/// Reads the profile in the file `path`, or on stdin where it is `-`.
///
/// # Errors
/// The file cannot be read, is none of a known format, or is too large; the text names it, and the place in
/// it.
pub fn profile(path: &Path, options: &Options) -> anyhow::Result<Input> {
    Source::at(path)?.profile(options)
}

/// As [`profile`], of a file whose objects [`heap`](crate::heap) reads: the segments of heap dumps are skipped,
/// unless the file is packed.
///
/// # Errors
/// As [`profile`].
pub fn profile_beside_heap(path: &Path, options: &Options) -> anyhow::Result<Input> {
    let source = Source::at(path)?;
    let file = HeaplessFile::open(path).with_context(|| format!("cannot read {}", source.name))?;
    match file {
        Some(file) => Source { reader: Box::new(file), ..source }.profile(options),
        None => source.profile(options),
    }
}

/// Makes of a profile as it was recorded what perk shows of it.
pub fn prepare(profile: &mut Profile, options: &Options) {
    if let Some(accounting) = profile.accounting.as_mut().filter(|_| !options.keep_secrets) {
        accounting.program = secrets::mask(&accounting.program);
    }
    profile.fold_proxies();
    profile.app.clone_from(&options.app);
}

impl Source {
    /// Reads the profile that the source holds.
    ///
    /// # Errors
    /// As [`profile`].
    pub fn profile(self, options: &Options) -> anyhow::Result<Input> {
        let mut input = self.read_profile(options)?;
        prepare(&mut input.profile, options);
        let profile = &mut input.profile;
        if options.unattributed && !profile.book_unattributed() {
            let note = "the file has no accounting of samples without a stack";
            profile.notes.push(note.to_owned());
        }
        let overflown = profile.overflown();
        let overflown = overflown.iter().map(Metric::title);
        let notes: Vec<_> =
            overflown.map(|what| format!("the sum of the {what} stops at 2^64 - 1")).collect();
        profile.notes.extend(notes);
        Ok(input)
    }

    fn read_profile(self, options: &Options) -> anyhow::Result<Input> {
        let read = |format: Format, input: &mut dyn Read| match options.all_stacks {
            true => format.read_all_stacks(input),
            false => format.read(input),
        };
        let name = self.name.clone();
        let Content { format, value: mut profile, notes, memory, offset } =
            self.read_content(options, read)?;
        if memory.is_exceeded_by(&profile) {
            bail!("cannot read {name}: {}", memory.fault(offset));
        }
        profile.notes.extend(notes);
        Ok(Input { format, profile })
    }

    /// Reads what the source holds with `read`, which gets its format and its bytes, unpacked.
    ///
    /// # Errors
    /// As [`profile`], and as `read` fails.
    pub fn read<T>(
        self,
        options: &Options,
        read: impl FnOnce(Format, &mut dyn Read) -> Result<T, perk_formats::Error>,
    ) -> anyhow::Result<T> {
        Ok(self.read_content(options, read)?.value)
    }

    fn read_content<T>(
        self,
        options: &Options,
        read: impl FnOnce(Format, &mut dyn Read) -> Result<T, perk_formats::Error>,
    ) -> anyhow::Result<Content<T>> {
        let Self { reader, name, length_bytes } = self;
        let format = options.format;
        let memory = Memory::new(length_bytes, options.max_memory_bytes);
        let source = memory.count(reader);
        let faults = Faults::default();
        let cannot_read = || match faults.cut() {
            Some(fault) => format!("cannot read {name}: {fault}"),
            None => format!("cannot read {name}"),
        };
        let mut bounded = packed::unpack(source, options.max_bytes, &faults, &memory)
            .with_context(cannot_read)?;
        let mut source = utf16::decode(&mut bounded).with_context(cannot_read)?;
        // The head first: what is no profile may be endless.
        let head =
            read_head(&mut source, HEAD_BYTES).with_context(|| format!("cannot read {name}"))?;
        // The file of a program that accesses no field of those that are counted.
        let may_be_empty = format == Some(ALIKE);
        if head.is_empty() && !may_be_empty {
            bail!("{name} is empty");
        }
        let prefix = Prefix::of_head(&head);
        let whole = Cursor::new(head).chain(source);
        let mut source: Box<dyn Read + '_> = match prefix.clone() {
            Some(prefix) => Box::new(prefix::BareLines::new(whole, prefix)),
            None => Box::new(whole),
        };
        let head =
            read_head(&mut source, HEAD_BYTES).with_context(|| format!("cannot read {name}"))?;
        let Some(format) = format.or_else(|| perk_formats::recognise(&head)) else {
            if let Some(kind) = perk_formats::foreign(&head) {
                bail!("{name} is {kind}");
            }
            let begin = head[..head.len().min(NAMED_BYTES)].escape_ascii();
            bail!(
                "{name} is not in a format that perk can read: it begins with \"{begin}\" (`perk formats` \
                 lists the forms)"
            );
        };
        let mut whole = Cursor::new(head).chain(&mut source);
        let value = match format.facts().reading {
            Reading::ToCut => read(format, &mut whole),
            Reading::ToEnd | Reading::Never => read(format, &mut TruncatedReader(whole)),
        };
        drop(source);
        let offset = bounded.offset();
        if memory.is_exceeded() {
            bail!("cannot read {name}: {}", memory.fault(offset));
        }
        let value = value.with_context(|| match bounded.has_failed {
            true => cannot_read(),
            false => format!("{name}: bad {} file", format.title()),
        })?;
        let cut = faults.cut().map(|fault| format!("{fault}; it is read as far as it goes"));
        let notes = prefix.and_then(|prefix| prefix.note());
        let notes = notes.into_iter().chain(faults.rest()).chain(cut).collect();
        Ok(Content { format, value, notes, memory, offset })
    }
}
