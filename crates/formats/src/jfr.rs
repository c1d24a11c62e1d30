//! Recordings of the JDK's Flight Recorder (JFR), in the chunk format of JDK 11 and later; also
//! those of other programs that write it, such as async-profiler. `docs/formats/jfr.md` has the
//! details.
//!
//! A recording is a series of chunks. Each has events, including those that are needed to read the
//! others: the types (metadata) and the constants (checkpoints): threads, stacks, methods, classes,
//! names. A chunk is read whole, because its constants follow the events that name them, and is
//! dropped before the next.

mod allocations;
mod annotations;
mod cpu_load;
mod cursor;
pub mod events;
mod names;
mod notes;
mod pauses;
mod recording;
mod settings;
mod source;
mod stacks;
mod types;
mod view;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use perk_profile::{Metric, Profile};

use crate::Error;
use crate::file_format::{
    self, Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading,
};
use cursor::Fault;
use names::{SPREAD, TIMES_SETTING, native_samples, waiting_samples};
use recording::Recording;
use source::{JfrChunk, Source};
use types::LastTypes;
use view::{Contents, View};

pub use write::write;

pub(crate) struct Jfr;

impl FileFormat for Jfr {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "jfr",
            title: "JFR recording",
            about: "A recording of the JDK's Flight Recorder",
            endings: &["jfr"],
            page: "jfr.md",
            keeps: "samples, wall-clock time, allocations, locks; no calls, no live objects",
            reading: Reading::ToEnd,
            written: Some(FormatContent {
                metrics: Metrics::All,
                detail: Detail::Lines,
                documents: &[Document::Times],
                accounting: true,
                depth: Depth::Ends,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    fn read_all_stacks(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read_into(Recording::with_all_stacks(), input)
    }

    fn write(&self, view: &file_format::View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view.profile, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        let own = [Metric::Samples, Metric::WallTime];
        let allocated = [Metric::AllocatedBytes, Metric::AllocatedObjects];
        own.contains(metric)
            || allocated.contains(metric)
            || metric.is_of_locks()
            || *metric == native_samples()
            || *metric == waiting_samples()
    }

    fn is_dated(&self) -> bool {
        true
    }

    fn special_losses(&self, profile: &Profile) -> Vec<&'static str> {
        write::losses(profile)
    }
}

/// Whether a file that begins with `head` is a recording.
pub fn recognise(head: &[u8]) -> bool {
    head.starts_with(source::MAGIC)
}

/// Reads a recording: samples, allocations, waits for locks, threads. The notes name the recorded
/// program, and the data that was skipped.
///
/// # Errors
/// [`Error::Offset`] if no chunk can be understood. Other faulty data is skipped and counted.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    read_into(Recording::default(), input)
}

fn read_into(mut recording: Recording, input: impl Read) -> Result<Profile, Error> {
    let mut source = Source::new(input);
    let mut chunk = JfrChunk::default();
    let mut types = LastTypes::default();
    let (mut is_read, mut fault) = (false, None);
    while source.next(&mut chunk)? {
        let contents = Contents::of(&chunk);
        let notes = recording.notes();
        notes.stray(source.take_stray());
        notes.stray((chunk.offset + chunk.bytes.len(), contents.rest_bytes));
        notes.missing_bytes = notes.missing_bytes.saturating_add(chunk.missing_bytes);
        notes.unfinished_chunk_count += u64::from(chunk.is_unfinished);
        let why = match view(&chunk, &contents, &mut types) {
            Ok(Some(view)) => {
                is_read = true;
                if chunk.ticks_per_second == 0 {
                    notes.chunk(&chunk, "0 ticks per second: its times in ticks are not known");
                }
                recording.chunk(&chunk, &view);
                continue;
            }
            Ok(None) => "its types are not there".to_owned(),
            Err(error) => {
                let why = error.to_string();
                fault.get_or_insert(error);
                why
            }
        };
        let events = contents.event_count;
        let s = if events == 1 { "" } else { "s" };
        notes.chunk(&chunk, &format!("skipped with {events} event{s}: {why}"));
    }
    // An unreadable file has another format, or a fault in its only chunk.
    if let Some(error) = fault.filter(|_| !is_read) {
        return Err(error);
    }
    recording.notes().stray(source.take_stray());
    Ok(recording.finish())
}

/// Returns the number of events of each type in a recording, including its inner ones
/// (`jdk.Metadata`, `jdk.Checkpoint`).
///
/// # Errors
/// As [`read`].
pub fn event_counts(input: impl Read) -> Result<BTreeMap<String, u64>, Error> {
    let mut source = Source::new(input);
    let mut chunk = JfrChunk::default();
    let mut types = LastTypes::default();
    let mut counts = BTreeMap::new();
    while source.next(&mut chunk)? {
        if let Ok(Some(view)) = view(&chunk, &Contents::of(&chunk), &mut types) {
            recording::count_events(&chunk, &view, &mut counts);
        }
    }
    Ok(counts)
}

fn view<'a>(
    chunk: &'a JfrChunk,
    contents: &Contents,
    types: &mut LastTypes,
) -> Result<Option<View<'a>>, Error> {
    View::new(chunk, contents, types).map_err(|Fault { at, expected }| chunk.error(at, expected))
}
