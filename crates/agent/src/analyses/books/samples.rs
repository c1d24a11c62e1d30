//! The books of CPU samples, which both engines fill.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_control::options::{Options, OutputFormat};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_profile::{
    Accounting, CpuSamples, FrameId, Metric, TimelineBook, TimelineHead, TraceId, Unit, metric,
};

use super::numbers::NumberBook;
use crate::recorder::{Book, DumpSection, Inquiry, Place, Recorder, Sections, entry, now};
use crate::roster::Slot;

/// The bytes of `memlimit` for each row between two dumps, which has 16: less than a trace takes, so
/// that there are more rows than traces. By default they are two million: at 10 ms of CPU time per
/// sample six hours of CPU time with a precision of 10 ms, and longer with less of it.
const LIMIT_BYTES_PER_ROW: u64 = 128;

/// The samples, by trace and time.
#[derive(Debug)]
pub(crate) struct SampleBook {
    /// Whether dumps have samples: a peer may begin with them later.
    is_on: AtomicBool,
    cutoff: f64,
    /// The most rows of the timeline; `None` if the output does not hold one.
    max_rows: Option<usize>,
    samples: Mutex<SampleCounts>,
}

#[derive(Debug, Default)]
struct SampleCounts {
    /// The samples since the last dump, by trace.
    counts: Vec<u64>,
    /// When they were taken; `None` if the output does not hold it.
    timeline: Option<TimelineBook>,
    /// All samples so far.
    total: u64,
}

impl SampleBook {
    pub(crate) fn new(options: &Options) -> Self {
        let rows = options.trace_limit_bytes().div_ceil(LIMIT_BYTES_PER_ROW);
        let max_rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let max_rows = (options.format == OutputFormat::Extended).then_some(max_rows);
        Self {
            is_on: AtomicBool::new(options.cpu.samples),
            cutoff: options.cutoff,
            max_rows,
            samples: Mutex::new(SampleCounts {
                timeline: max_rows.map(TimelineBook::with_limit),
                ..SampleCounts::default()
            }),
        }
    }

    /// Books `count` samples of `thread` (0 is possible) on the path of `frames`, which begin with
    /// the innermost. They were taken at `at_ns`, by the clock of [`os::nano_time`].
    pub(crate) fn sample(
        &self,
        recorder: &mut Recorder,
        thread: Slot,
        frames: &[FrameId],
        count: u64,
        at_ns: u64,
    ) -> TraceId {
        let trace = recorder.uncounted_trace(Some(thread), frames);
        self.book(recorder, trace, thread, count, at_ns);
        trace
    }

    /// Books samples on a trace. They were taken of `thread` at `at_ns`, by the clock of
    /// [`os::nano_time`]. The thread of a trace is known better than the one whose CPU time it was: it may
    /// be a virtual thread.
    pub(crate) fn book(
        &self,
        recorder: &mut Recorder,
        trace: TraceId,
        thread: Slot,
        count: u64,
        at_ns: u64,
    ) {
        recorder.count_cut(trace, count);
        let mut samples = lock(&self.samples);
        *entry(&mut samples.counts, trace.index()) += count;
        samples.total += count;
        let Some(timeline) = samples.timeline.as_mut().filter(|_| count > 0) else { return };
        let serial = match recorder.profile.get_trace(trace).thread {
            Some(thread) => recorder.profile.get_thread(thread).serial,
            None => {
                recorder.announce(thread);
                recorder.thread_serial(thread)
            }
        };
        timeline.add(at_ns.saturating_sub(recorder.begun_ns()), serial, trace, count);
    }

    fn clear(&self) {
        let mut samples = lock(&self.samples);
        samples.counts.clear();
        if let Some(timeline) = &mut samples.timeline {
            timeline.clear();
        }
    }
}

impl SampleCounts {
    /// Returns the section of the samples since the last dump.
    fn section(&self, cutoff: f64) -> CpuSamples {
        let total = self.counts.iter().sum();
        let rows = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        let rows = rows.map(|(index, &count)| (TraceId::new(index), count)).collect();
        let mut samples = CpuSamples { total, rows, written: Some(now()), ..CpuSamples::default() };
        samples.rank(cutoff);
        samples
    }
}

impl Book for SampleBook {
    fn place(&self) -> Place {
        Place::Samples
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        if !self.is_on.load(Relaxed) {
            return Ok(());
        }
        let mut samples = lock(&self.samples);
        let section = samples.section(self.cutoff);
        if !sections.are_of_flush() {
            samples.counts.clear();
        }
        sections.put(recorder, DumpSection::Samples(&section))?;
        let Some(timeline) = &mut samples.timeline else { return Ok(()) };
        let (tick_ns, rows) = timeline.rows();
        let end_ns = os::nano_time().saturating_sub(recorder.begun_ns());
        let head = TimelineHead { metric: Metric::Samples, tick_ns, begin_ns: 0, end_ns };
        sections.put(recorder, DumpSection::Timeline(&head, rows))?;
        if !sections.are_of_flush() {
            timeline.take();
        }
        Ok(())
    }

    fn account(&self, accounting: &mut Accounting, _: bool) {
        accounting.sample_count = lock(&self.samples).total;
    }

    fn answer(&self, recorder: &mut Recorder, inquiry: Inquiry) {
        match inquiry {
            Inquiry::Samples { cutoff } => {
                let mut section = lock(&self.samples).section(cutoff);
                section.is_interim = true;
                recorder.write_section(DumpSection::Samples(&section));
            }
            Inquiry::BeginSamples => self.is_on.store(true, Relaxed),
            Inquiry::ClearCpu => self.clear(),
            _ => {}
        }
    }

    fn reset(&self, _: bool) {
        self.clear();
        lock(&self.samples).total = 0;
    }

    fn release(&self) {
        *lock(&self.samples) = SampleCounts {
            timeline: self.max_rows.map(TimelineBook::with_limit),
            ..SampleCounts::default()
        };
    }
}

/// The CPU time of threads that run no Java code.
#[derive(Debug, Default)]
pub(crate) struct NativeTimeBook(Mutex<NumberBook>);

impl NativeTimeBook {
    /// Books CPU time on the path of `frames`, which begin with the innermost.
    pub(crate) fn book(&self, recorder: &mut Recorder, frames: &[FrameId], ns: u64) {
        let trace = recorder.uncounted_trace(None, frames);
        lock(&self.0).add(metric::JVM, Unit::Nanoseconds, trace, ns);
    }
}

impl Book for NativeTimeBook {
    fn place(&self) -> Place {
        Place::NativeTime
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let taken = match sections.are_of_flush() {
            true => lock(&self.0).clone().take(),
            false => lock(&self.0).take(),
        };
        taken.iter().try_for_each(|it| sections.put(recorder, DumpSection::Other(it)))
    }

    fn reset(&self, _: bool) {
        lock(&self.0).take();
    }

    fn release(&self) {
        *lock(&self.0) = NumberBook::default();
    }
}
