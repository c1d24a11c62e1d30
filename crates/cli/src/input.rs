//! Opens profiles: files or stdin, plain or compressed, of any form.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use perk_analysis::Window;
use perk_formats::shared_fields::ALIKE;
use perk_formats::{HEAD_BYTES, Reading};
use perk_profile::units::printable;
use perk_profile::{Metric, NamePattern, Profile, secrets};
use perk_unpack::Packing;

use crate::file_format::{Format, read_format};
use crate::memory::Memory;
use crate::packing::{self, Faults};
use crate::progress::Watched;
use crate::window::{FormAndTime, FormOrTime, FormOrTimeParser};
use crate::{talk, task_prefix, utf16};

/// The most bytes that are read where nothing else is said: more than any profile, and less than
/// what a small file made to do harm unpacks to.
const MAX_BYTES: u64 = 64 << 30;
/// How many of its first bytes are named where a file is of no known form.
const NAMED_BYTES: usize = 16;

/// How a file is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadArgs {
    /// Show samples from this time of the recording on: 2s, 500ms; or the form of the file, where
    /// its content does not identify it
    #[arg(long, value_name = "TIME|FORM", value_parser = FormOrTimeParser(read_format()))]
    pub(crate) from: Vec<FormOrTime>,
    /// Read at most this unpacked size: 500m, 8g [default: 64g]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64g",
          hide_default_value = true)]
    pub(crate) max_bytes: u64,
    /// Take at most this memory to read: 512m, 4g [default: 20 times the file, 256m at least]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// The classes that are the program's own: 'com.acme.*' (repeatable, or with commas) [default: those that
    /// the file names, or the packages of the main class]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = crate::filter::name_pattern)]
    pub(crate) app: Vec<NamePattern>,
    /// Show passwords, tokens and keys of the command line; without this, *** stands there
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Show also samples whose stack is not known, as [no stack], where the accounting has them
    #[arg(long)]
    pub(crate) unattributed: bool,
}

impl Default for ReadArgs {
    fn default() -> Self {
        Self {
            from: Vec::new(),
            max_bytes: MAX_BYTES,
            max_memory: None,
            app: Vec::new(),
            keep_secrets: false,
            unattributed: false,
        }
    }
}

impl ReadArgs {
    /// The form, and the begin of the window.
    fn told(&self) -> anyhow::Result<FormAndTime> {
        FormAndTime::of("--from", &self.from)
    }

    /// The window from `--from` to `to_ns`.
    pub(crate) fn window(&self, to_ns: Option<u64>) -> anyhow::Result<Window> {
        Ok(Window { from_ns: self.told()?.time_ns, to_ns })
    }
}

/// A profile and the form it came in.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) form: Format,
    pub(crate) profile: Profile,
}

/// Whether a profile has heap dumps and nothing else.
pub(crate) fn has_only_heaps(profile: &Profile) -> bool {
    profile.heaps().next().is_some()
        && Metric::all_of(profile).is_empty()
        && profile.monitor_dumps().next().is_none()
        && profile.field_accesses().is_none()
}

/// Reads the profile in `path`, or on stdin where it is `-`. The content tells the form, where
/// `args` does not.
pub(crate) fn read(path: &Path, args: &ReadArgs) -> anyhow::Result<Input> {
    let name = display_name(path);
    let cannot_read = || format!("cannot read {name}");
    let (source, length): (Box<dyn Read>, _) = if is_stream(path) {
        (Box::new(io::stdin().lock()), None)
    } else {
        let file = File::open(path).with_context(cannot_read)?;
        let length = file.metadata().ok().filter(|it| it.is_file()).map(|it| it.len());
        (Box::new(file), length)
    };
    let memory = Memory::new(length, args.max_memory);
    let source = memory.count(Watched::new(source, &name, length));
    let mut input = read_source(source, &name, args, &memory)?;
    let profile = &mut input.profile;
    if let Some(accounting) = profile.accounting.as_mut().filter(|_| !args.keep_secrets) {
        accounting.program = secrets::mask(&accounting.program);
    }
    profile.fold_proxies();
    profile.app.clone_from(&args.app);
    if args.unattributed && !profile.book_unattributed() {
        let note = "the file has no accounting of samples without a stack";
        profile.notes.push(note.to_owned());
    }
    let overflown = profile.overflown();
    let overflown = overflown.iter().map(perk_render::metric);
    let notes: Vec<_> =
        overflown.map(|what| format!("the sum of the {what} stops at 2^64 - 1")).collect();
    profile.notes.extend(notes);
    for note in &input.profile.notes {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    Ok(input)
}

fn read_source(
    source: impl Read + 'static,
    name: &str,
    args: &ReadArgs,
    memory: &Memory,
) -> anyhow::Result<Input> {
    let form = args.told()?.form;
    let faults = Faults::default();
    let cannot_read = || match faults.cut() {
        Some(fault) => format!("cannot read {name}: {fault}"),
        None => format!("cannot read {name}"),
    };
    let mut bounded = unpack(source, args.max_bytes, &faults, memory).with_context(cannot_read)?;
    let mut source = utf16::decode(&mut bounded).with_context(cannot_read)?;
    // The head first: what is no profile may be endless.
    let head = read_head(&mut source, HEAD_BYTES).with_context(|| format!("cannot read {name}"))?;
    // The file of a program that accesses no field of those that are counted.
    let may_be_empty = form == Some(ALIKE);
    if head.is_empty() && !may_be_empty {
        bail!("{name} is empty");
    }
    let is_prefixed = task_prefix::is_prefixed(&head);
    let whole = Cursor::new(head).chain(source);
    let mut source: Box<dyn Read + '_> = match is_prefixed {
        true => Box::new(task_prefix::Lines::new(whole)),
        false => Box::new(whole),
    };
    let head = read_head(&mut source, HEAD_BYTES).with_context(|| format!("cannot read {name}"))?;
    let Some(form) = form.or_else(|| perk_formats::recognise(&head)) else {
        if let Some(kind) = perk_formats::foreign(&head) {
            bail!("{name} is {kind}");
        }
        let begin = head[..head.len().min(NAMED_BYTES)].escape_ascii();
        bail!(
            "{name} is not in a form that perk can read: it begins with \"{begin}\" (`perk formats` \
             lists the forms)"
        );
    };
    let mut whole = Cursor::new(head).chain(&mut source);
    let profile = match form.facts().reading {
        Reading::ToCut => form.read(&mut whole),
        Reading::ToEnd | Reading::Never => form.read(&mut CutIsEnd(whole)),
    };
    drop(source);
    let is_too_large = match &profile {
        Ok(profile) => memory.is_exceeded_by(profile),
        Err(_) => memory.is_exceeded(),
    };
    if is_too_large {
        bail!("cannot read {name}: {}", memory.fault(bounded.offset()));
    }
    let mut profile = profile.with_context(|| match bounded.has_failed {
        true => cannot_read(),
        false => format!("{name}: bad {} file", form.title()),
    })?;
    profile.notes.extend(faults.rest());
    profile
        .notes
        .extend(faults.cut().map(|fault| format!("{fault}; it is read as far as it goes")));
    Ok(Input { form, profile })
}

/// Whether `path` means stdin or stdout.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages and headings call the input `path`.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stream(path) { "stdin".to_owned() } else { printable(&path.display().to_string()) }
}

/// What `source` holds, unpacked if it is packed, twice if it is packed twice; `max_bytes` of it.
fn unpack(
    source: impl Read + 'static,
    max_bytes: u64,
    faults: &Faults,
    memory: &Memory,
) -> io::Result<Bounded<Box<dyn Read>>> {
    const LAYERS: usize = 3;
    // Packed data is hardly longer than what it holds; but it may be endless and hold nothing.
    let max_packed_bytes = max_bytes.saturating_add(max_bytes / 8).saturating_add(1 << 16);
    let mut source: Box<dyn Read> = Box::new(source);
    for _ in 0..LAYERS {
        let head = read_head(&mut source, Packing::HEAD_BYTES as u64)?;
        let packing = Packing::of_head(&head);
        let whole = Cursor::new(head).chain(source);
        source = match packing {
            Some(packing) => {
                packing::unpack(packing, Bounded::new(whole, max_packed_bytes, memory), faults)?
            }
            None => return Ok(Bounded::new(Box::new(whole), max_bytes, memory)),
        };
    }
    Ok(Bounded::new(source, max_bytes, memory))
}

/// The first bytes: of what is cut off, those that are there, if there are any.
pub(crate) fn read_head(source: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match source.take(bytes).read_to_end(&mut head) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof || head.is_empty() => Err(error),
        _ => Ok(head),
    }
}

/// Takes the place where packed data is cut off for the end, for readers that know of ends alone.
struct CutIsEnd<R>(R);

impl<R: Read> Read for CutIsEnd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}

/// Reads a number of bytes and no more, as long as memory allows.
struct Bounded<R> {
    source: R,
    memory: Memory,
    left: u64,
    max_bytes: u64,
    /// An error was given out: the file's, not one of what it holds.
    has_failed: bool,
}

impl<R: Read> Bounded<R> {
    fn new(source: R, max_bytes: u64, memory: &Memory) -> Self {
        Self { source, memory: memory.clone(), left: max_bytes, max_bytes, has_failed: false }
    }

    /// The number of bytes that have been read.
    fn offset(&self) -> u64 {
        self.max_bytes - self.left
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.memory.is_exceeded() {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                self.memory.fault(self.offset()),
            ));
        }
        // One byte more than is allowed tells a file that is too long from one that just fits.
        let room = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX);
        let length = buffer.len().min(room);
        let count = self.source.read(&mut buffer[..length])?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let what = format!("more than {} bytes; --max-bytes allows more", self.max_bytes);
            io::Error::new(io::ErrorKind::FileTooLarge, what)
        })?;
        Ok(count)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read_on(buffer);
        let is_failure = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.has_failed |= count.as_ref().is_err_and(is_failure);
        count
    }
}

/// A size on the command line: a whole number, `k`, `m` or `g` behind it.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['k', 'm', 'g']);
    let shift = match &lower[digits.len()..] {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => 64,
    };
    let number =
        digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|it| it.is_ascii_digit()));
    number
        .and_then(|number| number.checked_mul(1_u64.checked_shl(shift)?))
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "use a size such as 500m or 8g".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("1", 1), ("500m", 500 << 20), ("8G", 8 << 30), ("2k", 2048)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "k", "-1", "+1", "1.5g", "1kk", "1t", "99999999999999g"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_longer_than_allowed_is_an_error() {
        let read = |max_bytes| {
            let mut bounded = Bounded::new(&b"12345"[..], max_bytes, &Memory::new(None, None));
            let mut bytes = Vec::new();
            bounded.read_to_end(&mut bytes).map(|_| bytes)
        };
        assert_eq!(read(5).unwrap(), b"12345");
        let error = read(4).unwrap_err();
        assert_eq!(error.to_string(), "more than 4 bytes; --max-bytes allows more");
    }
}
