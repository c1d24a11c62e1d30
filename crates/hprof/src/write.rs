//! Writes a profile, record by record or whole, in any format.

mod start;
mod written;

use std::io::{self, Read, Write};

use perk_profile::{
    CallEdges, CallTimes, ClassId, CpuSamples, Event, FieldAccesses, FrameId, HeapHistogram,
    HeapSummary, MonitorDump, MonitorTimes, Pause, Profile, Section, SectionHead, SectionView,
    Sites, Subject, TimeSeries, TimelineHead, Timestamp, TraceId, WaitEvent, deep,
};

use crate::format::SectionKind;
use crate::heap::{Context, HeapCounts, HeapOptions};
use crate::{BinaryForm, Format, ascii, binary, old};
pub use start::ThreadStart;
pub(crate) use start::date;
pub(crate) use written::EntryMarks;

/// Samples of one trace and thread in one tick of a timeline. The thread is a serial number, as an
/// agent need not keep the threads that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRow {
    /// The number of the tick.
    pub tick: u64,
    /// The thread's serial number; 0 if it is not known.
    pub thread: u32,
    /// The trace.
    pub trace: TraceId,
    /// The number of samples.
    pub count: u64,
}

/// A call path of a source of paths that is not a profile, such as a call tree of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedPath {
    /// The path without its innermost frame, by its position in the source; `None` for no frames.
    pub parent: Option<u32>,
    /// The innermost frame.
    pub frame: FrameId,
}

/// Numbers of a path of such a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRow {
    /// The path, by its position in the source; `None` for no frames.
    pub path: Option<u32>,
    /// The subject of the numbers.
    pub subject: Subject,
    /// The numbers: one for each column of the section, which has no more of them.
    pub numbers: [u64; MOST_COLUMNS],
}

/// The most columns of a section with such rows.
pub const MOST_COLUMNS: usize = 4;

/// A writer of any format, which the agent calls as events happen.
///
/// Sections that the format cannot hold are refused with an error of kind
/// [`InvalidInput`](io::ErrorKind::InvalidInput), whose text names the formats that can.
#[derive(Debug)]
pub enum Writer<W: Write> {
    /// Writes text.
    Ascii(ascii::Writer<W>),
    /// Writes records, including perk's own if the format is [`Format::Extended`].
    Binary(binary::Writer<W>),
    /// Writes the table of `cpu=old`, which has neither a header nor threads.
    Old(W),
}

impl<W: Write> Writer<W> {
    /// Begins a file: the header and, in text, the description of the records.
    ///
    /// # Errors
    /// The errors of the sink. The same holds for all other methods.
    pub fn begin(out: W, format: Format, profile: &Profile) -> io::Result<Self> {
        Ok(match format {
            Format::Ascii => Self::Ascii(ascii::Writer::begin(out, profile)?),
            Format::Binary => Self::Binary(binary::Writer::begin(out, profile)?),
            Format::Extended => Self::Binary(binary::Writer::begin_extended(out, profile)?),
            Format::Old => Self::Old(out),
        })
    }

    /// As [`Writer::begin`] with [`Format::Binary`], in a form that old readers need.
    pub fn begin_binary(out: W, form: BinaryForm, profile: &Profile) -> io::Result<Self> {
        Ok(Self::Binary(binary::Writer::begin_in(out, form, profile)?))
    }

    /// Returns a writer of records that continues in a copy of the file so far, and does not change
    /// this one. `None` for text.
    pub fn fork<V: Write>(&self, out: V) -> Option<Writer<V>> {
        match self {
            Self::Binary(writer) => Some(Writer::Binary(writer.fork(out))),
            Self::Ascii(_) | Self::Old(_) => None,
        }
    }

    /// Sets the time stamp of the records to come, in microseconds since the file was begun. Text
    /// does not have time stamps.
    pub fn set_elapsed_us(&mut self, elapsed_us: u64) {
        if let Self::Binary(writer) = self {
            writer.set_elapsed_us(elapsed_us);
        }
    }

    /// Writes the loading of a class. Text has no record for it.
    pub fn load_class(&mut self, profile: &Profile, class: ClassId) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.load_class(profile, class),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes the unloading of a class. Text has no record for it.
    pub fn unload_class(&mut self, class: ClassId) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.unload_class(class),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes the start of a thread.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.thread_start(thread),
            Self::Binary(writer) => writer.thread_start(thread),
            Self::Old(_) => Ok(()),
        }
    }

    /// Writes the end of the thread with this serial number.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.thread_end(serial),
            Self::Binary(writer) => writer.thread_end(serial),
            Self::Old(_) => Ok(()),
        }
    }

    /// Writes a section of CPU samples. Those of its traces that are not written yet come first.
    /// The rows are taken as they are: see [`CpuSamples::rank`].
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.cpu_samples(profile, samples),
            Self::Binary(writer) => writer.cpu_samples(profile, samples),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::CpuSamples)),
        }
    }

    /// Writes a section of call times. Those of its traces that are not written yet come first. The
    /// rows are taken as they are: see [`CallTimes::rank`].
    pub fn call_times(&mut self, profile: &Profile, times: &CallTimes) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.call_times(profile, times),
            Self::Binary(writer) => writer.call_times(profile, times),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::CallTimes)),
        }
    }

    /// Writes calls by callee and caller. In text this is the table of `cpu=old`, which ends with
    /// the next record. The rows are taken as they are: see [`CallEdges::rank`].
    pub fn call_edges(&mut self, profile: &mut Profile, edges: &CallEdges) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => old::write(writer.out(), profile, edges),
            Self::Binary(writer) => {
                let section = edges.section(profile);
                writer.section(profile, &section)
            }
            Self::Old(out) => old::write(out, profile, edges),
        }
    }

    /// Writes a section in the records that the format has for its metrics. Text has no records for
    /// the metrics of other tools and of fields, and leaves them out.
    pub fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => match section.view(profile) {
                SectionView::CallEdges(edges) => old::write(writer.out(), profile, &edges),
                SectionView::CpuSamples(samples) => writer.cpu_samples(profile, &samples),
                SectionView::CallTimes(times) => writer.call_times(profile, &times),
                SectionView::Sites(sites) => writer.sites(profile, &sites),
                SectionView::MonitorTimes(times) => writer.monitor_times(profile, &times),
                SectionView::Other => Ok(()),
            },
            Self::Binary(writer) => writer.section(profile, section),
            Self::Old(out) => match CallEdges::of(profile, section) {
                Some(edges) => old::write(out, profile, &edges),
                None => Err(Format::Old.refusal(SectionKind::of_section(&section.head))),
            },
        }
    }

    /// Writes allocation sites. Those of their traces that are not written yet come first. The rows
    /// are taken as they are: see [`Sites::rank`].
    pub fn sites(&mut self, profile: &Profile, sites: &Sites) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.sites(profile, sites),
            Self::Binary(writer) => writer.sites(profile, sites),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::Sites)),
        }
    }

    /// Rewrites the JVM's own heap dump (`jcmd PID GC.heap_dump -all FILE`, with 8-byte ids) while
    /// it streams: see [`heap`](crate::heap). The input is read to HEAP DUMP END, and no further
    /// than each record needs; it may still be growing.
    ///
    /// # Errors
    /// The errors of the input and of the sink, and errors of kind
    /// [`InvalidData`](io::ErrorKind::InvalidData) with the offset of a fault in the input. After
    /// an error the file ends in a dump without its end.
    pub fn heap_dump(
        &mut self,
        profile: &mut Profile,
        input: &mut impl Read,
        options: &HeapOptions,
        context: &mut dyn Context,
    ) -> io::Result<HeapCounts> {
        match self {
            Self::Ascii(writer) => writer.heap_dump(profile, input, options, context),
            Self::Binary(writer) => writer.heap_dump(profile, input, options, context),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::HeapDump)),
        }
    }

    /// Writes the waiting of a thread, at its beginning or end.
    pub fn wait(&mut self, profile: &Profile, wait: &WaitEvent) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.wait(profile, wait),
            Self::Binary(writer) => writer.wait(profile, wait),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::Monitors)),
        }
    }

    /// Writes a dump of threads and monitors. Those of its traces that are not written yet come
    /// first.
    pub fn monitor_dump(&mut self, profile: &Profile, dump: &MonitorDump) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.monitor_dump(profile, dump),
            Self::Binary(writer) => writer.monitor_dump(profile, dump),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::Monitors)),
        }
    }

    /// Writes the waiting for locks. Those of its traces that are not written yet come first. The
    /// rows are taken as they are: see [`MonitorTimes::rank`]. Text cannot hold rows that were
    /// never blocked, or the times that the others waited to be notified.
    pub fn monitor_times(&mut self, profile: &Profile, times: &MonitorTimes) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.monitor_times(profile, times),
            Self::Binary(writer) => writer.monitor_times(profile, times),
            Self::Old(_) => Err(Format::Old.refusal(SectionKind::Monitors)),
        }
    }

    /// Writes the number of objects. Text has no record for it.
    pub fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.heap_summary(summary),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes all traces that are not written yet, whether anything refers to them or not. The
    /// table of `cpu=old` cannot hold them.
    pub fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        match self {
            Self::Ascii(writer) => writer.all_traces(profile),
            Self::Binary(writer) => writer.traces(profile),
            Self::Old(_) => Ok(()),
        }
    }

    /// Writes the profile's accounting, if it has one. In text it is in the header, which
    /// [`Writer::begin`] wrote. The table of `cpu=old` cannot hold it.
    pub fn accounting(&mut self, profile: &Profile) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.accounting(profile),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes the contents of a heap dump by class. Text cannot hold them and leaves them out.
    pub fn heap_histogram(&mut self, profile: &Profile, heap: &HeapHistogram) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.heap_histogram(profile, heap),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes the accesses to the fields of each object. Text cannot hold them and leaves them out.
    pub fn field_accesses(
        &mut self,
        profile: &Profile,
        accesses: &FieldAccesses,
    ) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.field_accesses(profile, accesses),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes the times of samples, in order of time. Those of their traces that are not written yet
    /// come first. Text cannot hold them and leaves them out.
    pub fn timeline(
        &mut self,
        profile: &Profile,
        head: &TimelineHead,
        rows: impl ExactSizeIterator<Item = TimedRow>,
    ) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.timeline(profile, head, rows),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes pauses of the program. Text cannot hold them and leaves them out.
    pub fn pauses(&mut self, pauses: &[Pause]) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.pauses(pauses),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Writes numbers over time, which text leaves out, too.
    pub fn time_series(&mut self, series: &TimeSeries) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.time_series(series),
            Self::Ascii(_) | Self::Old(_) => Ok(()),
        }
    }

    /// Returns the number of paths of a source that the file has.
    pub fn path_count(&self, source: u64) -> usize {
        match self {
            Self::Binary(writer) => writer.path_count(source),
            Self::Ascii(_) | Self::Old(_) => 0,
        }
    }

    /// Writes the next paths of a source, which only extended files hold. A path's parent is a path of
    /// the same source before it.
    pub fn paths(
        &mut self,
        profile: &Profile,
        source: u64,
        paths: &[CountedPath],
    ) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.paths(profile, source, paths),
            Self::Ascii(_) | Self::Old(_) => Err(only_extended()),
        }
    }

    /// Writes a part of a section whose paths are of a source and in the file, with traces of serial
    /// numbers from `serial` on. Rows of one path and subject add up. The parts of a section follow each
    /// other up to its [end](Self::end_counted).
    pub fn counted_rows(
        &mut self,
        profile: &Profile,
        head: &SectionHead,
        source: u64,
        serial: u32,
        rows: &[CountedRow],
    ) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.counted_rows(profile, head, source, serial, rows),
            Self::Ascii(_) | Self::Old(_) => Err(only_extended()),
        }
    }

    /// Ends a section of which parts may have been written, with the head that counts.
    pub fn end_counted(&mut self, head: &SectionHead) -> io::Result<()> {
        match self {
            Self::Binary(writer) => writer.end_counted(head),
            Self::Ascii(_) | Self::Old(_) => Err(only_extended()),
        }
    }

    /// Returns the sink.
    pub fn out(&mut self) -> &mut W {
        match self {
            Self::Ascii(writer) => writer.out(),
            Self::Binary(writer) => writer.out(),
            Self::Old(out) => out,
        }
    }
}

/// Writes a whole profile: its classes, then its events in order. If text would hold more frames
/// than anybody can use ([`deep::limit`]), its traces are cut at the outer end.
///
/// # Errors
/// Before anything is written, the refusal of [`Format::holds`] as
/// [`InvalidInput`](io::ErrorKind::InvalidInput); after that, the errors of the sink.
pub fn write(profile: &Profile, format: Format, out: impl Write) -> io::Result<()> {
    format.holds(profile).map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
    if format == Format::Old {
        return old::write_all(out, profile);
    }
    let begun_ms = date(None, profile).unix_ms;
    let mut writer = Writer::begin(out, format, profile)?;
    if let (Writer::Ascii(text), Some(depth)) = (&mut writer, deep::limit(&[profile])) {
        text.set_depth(depth);
    }
    writer.accounting(profile)?;
    for (class, _) in profile.symbols.classes() {
        writer.load_class(profile, class)?;
    }
    let has_objects = format == Format::Extended && profile.field_accesses().is_some();
    for event in &profile.events {
        if let Some(written) = written(event) {
            let elapsed_ms = written.unix_ms.saturating_sub(begun_ms);
            writer.set_elapsed_us(elapsed_ms.saturating_mul(1000));
        }
        match event {
            Event::ThreadStart(thread) => {
                writer.thread_start(&ThreadStart::of(profile, *thread))?;
            }
            Event::ThreadEnd(serial) => writer.thread_end(*serial)?,
            Event::ClassUnload(class) => writer.unload_class(*class)?,
            Event::HeapSummary(summary) => writer.heap_summary(summary)?,
            // It follows from the accesses to each object.
            Event::Section(section) if has_objects && is_of_fields(section) => {}
            // Tables are in order of their numbers, whatever the order of the rows.
            Event::Section(section) if format != Format::Extended => {
                writer.section(profile, &section.ranked())?;
            }
            Event::Section(section) => writer.section(profile, section)?,
            Event::Wait(wait) => writer.wait(profile, wait)?,
            Event::MonitorDump(dump) => writer.monitor_dump(profile, dump)?,
            Event::Heap(heap) => writer.heap_histogram(profile, heap)?,
            Event::FieldAccesses(accesses) => writer.field_accesses(profile, accesses)?,
            Event::Timeline(timeline) => {
                let thread = |id| profile.get_thread(id).serial;
                let rows = timeline.rows.iter().map(|row| TimedRow {
                    tick: row.tick,
                    thread: row.thread.map_or(0, thread),
                    trace: row.trace,
                    count: row.count,
                });
                writer.timeline(profile, &timeline.head, rows)?;
            }
            Event::Pauses(pauses) => writer.pauses(pauses)?,
            Event::TimeSeries(series) => writer.time_series(series)?,
        }
    }
    writer.out().flush()
}

/// Writes a whole profile in the extended format as [`write`] does, in less room: rows are packed column by column. Other
/// readers find no threads, classes or frames in it.
///
/// # Errors
/// As [`write`].
pub fn write_packed(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    let mut plain = Vec::new();
    write(profile, Format::Extended, &mut plain)?;
    out.write_all(&binary::packed::packed(&plain)?)
}

/// The refusal of paths and rows that only extended files can hold.
pub(crate) fn only_extended() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "only extended HPROF holds numbers of call trees")
}

fn is_of_fields(section: &Section) -> bool {
    section.head.columns.iter().any(|column| column.metric.is_of_fields())
}

/// Returns the time when an event was written, if it is a section and gives its time.
fn written(event: &Event) -> Option<Timestamp> {
    match event {
        Event::ThreadStart(_)
        | Event::ThreadEnd(_)
        | Event::ClassUnload(_)
        | Event::Wait(_)
        | Event::Timeline(_)
        | Event::Pauses(_)
        | Event::TimeSeries(_)
        | Event::FieldAccesses(_) => None,
        Event::Section(section) => section.head.written,
        Event::Heap(heap) => heap.written,
        Event::HeapSummary(summary) => summary.written,
        Event::MonitorDump(dump) => dump.written,
    }
}
