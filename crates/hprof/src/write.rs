//! Writes a profile, record by record or whole, in either format.

use std::io::{self, Write};

use perk_profile::{ClassId, CpuSamples, Event, Profile, ThreadId, Timestamp};

use crate::{Format, ascii, binary};

/// What a file is told of a thread that started. The names stand here and not in a profile, as an
/// agent need not keep those of threads that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStart<'a> {
    /// Its serial number.
    pub serial: u32,
    /// The id of its `java.lang.Thread` object.
    pub object_id: u64,
    /// Its name.
    pub name: &'a str,
    /// The name of its thread group, where it has one.
    pub group: Option<&'a str>,
    /// The name of that group's parent, where it has one.
    pub parent_group: Option<&'a str>,
}

impl<'a> ThreadStart<'a> {
    /// A thread that a profile knows.
    pub fn of(profile: &'a Profile, thread: ThreadId) -> Self {
        let thread = profile.get_thread(thread);
        let text = |name| profile.symbols.strings.get(name);
        Self {
            serial: thread.serial,
            object_id: thread.object_id,
            name: text(thread.name),
            group: thread.group.map(text),
            parent_group: thread.parent_group.map(text),
        }
    }
}

/// A writer of either format: the agent calls it as things happen.
#[derive(Debug)]
pub enum Writer<W: Write> {
    /// Writes text.
    Ascii(ascii::Writer<W>),
    /// Writes records.
    Binary(binary::Writer<W>),
}

impl<W: Write> Writer<W> {
    /// Begins a file: header and, in text, the description of the records.
    ///
    /// # Errors
    /// As the sink fails; so do all other methods.
    pub fn begin(out: W, format: Format, profile: &Profile) -> io::Result<Self> {
        Ok(match format {
            Format::Ascii => Self::Ascii(ascii::Writer::begin(out, profile)?),
            Format::Binary => Self::Binary(binary::Writer::begin(out, profile)?),
        })
    }

    /// Sets the time stamp of the records to come: microseconds since the file was begun. Text has
    /// none.
    pub fn set_elapsed_us(&mut self, elapsed_us: u64) {
        if let Self::Binary(writer) = self {
            writer.set_elapsed_us(elapsed_us);
        }
    }

    /// Tells of a loaded class. Text has no record for it.
    pub fn load_class(&mut self, profile: &Profile, class: ClassId) -> io::Result<()> {
        match self {
            Self::Ascii(_) => Ok(()),
            Self::Binary(writer) => writer.load_class(profile, class),
        }
    }

    /// Tells that a thread started.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.thread_start(thread),
            Self::Binary(writer) => writer.thread_start(thread),
        }
    }

    /// Tells that the thread with this serial number ended.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.thread_end(serial),
            Self::Binary(writer) => writer.thread_end(serial),
        }
    }

    /// Writes a section of CPU samples, and before it those of its traces that are not written
    /// yet. The rows are taken as they are: see [`CpuSamples::rank`].
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.cpu_samples(profile, samples),
            Self::Binary(writer) => writer.cpu_samples(profile, samples),
        }
    }

    /// Writes the profile's accounting, if it has one. In text it stands in the header, which
    /// [`Writer::begin`] wrote.
    pub fn accounting(&mut self, profile: &Profile) -> io::Result<()> {
        match self {
            Self::Ascii(_) => Ok(()),
            Self::Binary(writer) => writer.accounting(profile),
        }
    }

    /// The sink.
    pub fn out(&mut self) -> &mut W {
        match self {
            Self::Ascii(writer) => writer.out(),
            Self::Binary(writer) => writer.out(),
        }
    }
}

/// Writes a whole profile: its classes, then its events in order.
///
/// # Errors
/// As the sink fails.
pub fn write(profile: &Profile, format: Format, out: impl Write) -> io::Result<()> {
    let mut writer = Writer::begin(out, format, profile)?;
    writer.accounting(profile)?;
    for (class, _) in profile.symbols.classes() {
        writer.load_class(profile, class)?;
    }
    for event in &profile.events {
        match event {
            Event::ThreadStart(thread) => {
                writer.thread_start(&ThreadStart::of(profile, *thread))?;
            }
            Event::ThreadEnd(serial) => writer.thread_end(*serial)?,
            Event::CpuSamples(samples) => {
                let begun_ms = date(None, profile).unix_ms;
                let written_ms = date(samples.written, profile).unix_ms;
                writer.set_elapsed_us(written_ms.saturating_sub(begun_ms) * 1000);
                writer.cpu_samples(profile, samples)?;
            }
            Event::CpuTimes(_) | Event::CallEdges(_) | Event::Sites(_) => {}
        }
    }
    writer.out().flush()
}

/// Which entries of a table have been written, by index.
#[derive(Debug, Default)]
pub(crate) struct Written(Vec<bool>);

impl Written {
    /// Marks an entry; true if it was not marked before.
    pub(crate) fn first(&mut self, index: usize) -> bool {
        if self.0.len() <= index {
            self.0.resize((index + 1).next_power_of_two(), false);
        }
        !std::mem::replace(&mut self.0[index], true)
    }
}

/// The date that stands at a place where the profile has none.
pub(crate) fn date(stamp: Option<Timestamp>, profile: &Profile) -> Timestamp {
    stamp.or(profile.created).unwrap_or_default()
}
