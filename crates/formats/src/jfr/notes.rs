//! The data that the profile does not contain, in one line each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_profile::units::{bytes, plural};

use super::settings::Settings;
use super::source::JfrChunk;
use super::view::{StructAt, View};

/// The number of event types that the note on skipped events names.
const MOST_NAMED: usize = 3;
/// The number of characters of a type's name in a note.
const LONGEST_NAME: usize = 80;
/// The number of chunks that have a note of their own.
const MAX_CHUNKS: usize = 8;

/// The counts that are kept while a recording is read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Events that do not match their type.
    pub(super) bad_event_count: u64,
    pub(super) bad_checkpoint_count: u64,
    /// Events with a stack that is missing from the chunk.
    pub(super) lost_stack_count: u64,
    /// Events with a thread that is missing from the chunk.
    pub(super) lost_thread_count: u64,
    /// Events with a stack whose outer frames were cut off.
    pub(super) truncated_count: u64,
    /// CPU-time samples without a stack.
    pub(super) failed_sample_count: u64,
    /// CPU-time samples that were taken too late.
    pub(super) biased_sample_count: u64,
    /// CPU-time samples for which the JVM had no room.
    pub(super) lost_sample_count: u64,
    /// Chunks whose end was never written.
    pub(super) unfinished_chunk_count: u64,
    /// What is wrong with chunks as a whole.
    chunks: Vec<String>,
    /// The number of further such chunks.
    more_chunk_count: u64,
    /// The number of bytes by which chunks are shorter than their headers say.
    pub(super) missing_bytes: u64,
    /// Bytes that belong to no event, and the place of the first.
    stray_bytes: u64,
    first_stray: Option<u64>,
    pub(super) has_waits: bool,
    /// The bytes that threads had allocated before the recording, and the number of these threads.
    pub(super) before_bytes: u64,
    pub(super) before_count: u64,
    /// First samples of threads whose own part of the bytes is not known.
    pub(super) estimated_sample_count: u64,
    jvm: Option<String>,
    /// The numbers of events of types that are not read.
    skipped: BTreeMap<String, u64>,
}

impl Notes {
    /// Counts events of a type that is not read.
    pub(super) fn skip(&mut self, name: &str, count: u64) {
        if count > 0 {
            *self.skipped.entry(name.to_owned()).or_default() += count;
        }
    }

    /// Counts bytes that belong to no event, by the place after them.
    pub(super) fn stray(&mut self, (end, count): (usize, u64)) {
        if count > 0 {
            self.stray_bytes += count;
            self.first_stray.get_or_insert((end as u64).saturating_sub(count));
        }
    }

    /// Takes what is wrong with a chunk.
    pub(super) fn chunk(&mut self, chunk: &JfrChunk, what: &str) {
        if self.chunks.len() < MAX_CHUNKS {
            let JfrChunk { number, offset, .. } = chunk;
            self.chunks.push(format!("chunk {number} at byte {offset}: {what}"));
        } else {
            self.more_chunk_count += 1;
        }
    }

    /// Takes the JVM's description of itself.
    pub(super) fn jvm(&mut self, view: &View<'_>, at: StructAt) {
        if self.jvm.is_some() {
            return;
        }
        let text = |field| view.text(at, field).unwrap_or_default();
        let (arguments, version) = (text("javaArguments"), text("jvmVersion"));
        let program = arguments.split_whitespace().next().unwrap_or("a program without a name");
        // The JDK's version begins with the JVM's name; async-profiler's version does not.
        let version = version.split(" for ").next().unwrap_or_default();
        let name = text("jvmName");
        let jvm = if version.starts_with(&*name) { version } else { &format!("{name} {version}") };
        let pid = view.count(at, "pid").map(|pid| format!(" (process {pid})")).unwrap_or_default();
        self.jvm = Some(format!("recorded of {program}{pid} on {jvm}"));
    }

    /// Forgets the JVM's description of itself.
    pub(super) fn forget_jvm(&mut self) {
        self.jvm = None;
    }

    /// Writes all notes.
    pub(super) fn finish(
        &mut self,
        settings: &Settings,
        truncated_depth: usize,
        notes: &mut Vec<String>,
    ) {
        notes.extend(self.jvm.take());
        notes.append(&mut self.chunks);
        let mut add = |count: u64, one: &str, many: &str| {
            if count > 0 {
                notes.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        };
        add(self.more_chunk_count, "more such chunk", "more such chunks");
        add(
            self.unfinished_chunk_count,
            "chunk was never finished: its unwritten part is lost",
            "chunks were never finished: their unwritten parts are lost",
        );
        add(
            self.missing_bytes,
            "byte is missing at the end of the file",
            "bytes are missing at the end of the file",
        );
        let first = self.first_stray.unwrap_or(0);
        add(
            self.stray_bytes,
            &format!("byte that belongs to no event skipped, at byte {first}"),
            &format!("bytes that belong to no event skipped, the first at byte {first}"),
        );
        add(
            self.bad_checkpoint_count,
            "checkpoint is not as its types say: constants after the fault skipped",
            "checkpoints are not as their types say: constants after the faults skipped",
        );
        add(
            self.bad_event_count,
            "event is not as its type says: skipped",
            "events are not as their types say: skipped",
        );
        add(
            self.lost_stack_count,
            "event has a stack that is not in the file: counted without one",
            "events have stacks that are not in the file: counted without one",
        );
        add(
            self.lost_thread_count,
            "event names a thread that is not in the file",
            "events name threads that are not in the file",
        );
        let depth = format!("cut off after {truncated_depth} frames at most");
        add(
            self.truncated_count,
            &format!("event has a stack {depth}"),
            &format!("events have stacks {depth}"),
        );
        add(
            self.failed_sample_count,
            "CPU-time sample failed: it has no stack",
            "CPU-time samples failed: they have no stack",
        );
        add(
            self.biased_sample_count,
            "CPU-time sample is biased to a safepoint",
            "CPU-time samples are biased to safepoints",
        );
        add(
            self.lost_sample_count,
            "CPU-time sample was lost by the JVM",
            "CPU-time samples were lost by the JVM",
        );
        add(
            self.estimated_sample_count,
            "thread's first sample of allocations may represent what it allocated before the \
             recording: it counts at most as much as an average sample",
            "threads' first samples of allocations may represent what they allocated before the \
             recording: each counts at most as much as an average sample",
        );
        if self.before_bytes > 0 {
            let size = bytes(self.before_bytes);
            let threads = plural(self.before_count, "thread");
            notes.push(format!(
                "{size} that {threads} had allocated before the recording are left out"
            ));
        }
        let threshold_ns = settings.wait_threshold_ns();
        if self.has_waits && threshold_ns > 0 {
            let threshold = threshold_ns as f64 / 1e6;
            notes.push(format!("waits for locks shorter than {threshold} ms are not recorded"));
        }
        notes.extend(self.skipped());
    }

    /// The note on events of types that are not read: the types with most events have their names in it.
    fn skipped(&self) -> Option<String> {
        let events = self.skipped.values().fold(0, |sum: u64, &it| sum.saturating_add(it));
        let mut types: Vec<(&String, u64)> = self.skipped.iter().map(|(it, &n)| (it, n)).collect();
        types.sort_by_key(|&(name, count)| (Reverse(count), name));
        let largest = types.iter().take(MOST_NAMED).map(|(name, count)| {
            let name: String = name.chars().take(LONGEST_NAME).collect();
            format!("{name} ({count})")
        });
        let mut largest: Vec<_> = largest.collect();
        let more = types.len() - largest.len();
        largest.extend((more > 0).then(|| format!("and {more} more")));
        let (types, events) = (types.len() as u64, plural(events, "event"));
        (types > 0).then(|| {
            format!("{} skipped, {events}: {}", plural(types, "event type"), largest.join(", "))
        })
    }
}
