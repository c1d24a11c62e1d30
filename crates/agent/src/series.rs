//! What the threads allocate, how long they wait for locks, and their states, over time.

use std::io;
use std::sync::Mutex;

use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_profile::{Metric, SeriesSubject, TimeSeriesBook};

use crate::recorder::{Book, DumpSection, Place, Recorder, Sections};

/// What has times, in the order of [`METRICS`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeriesKind {
    Allocated,
    Blocked,
    Waited,
    /// The time of threads by state.
    Wall,
}

/// The metric of each kind.
const METRICS: [Metric; 4] =
    [Metric::AllocatedBytes, Metric::BlockedTime, Metric::WaitedTime, Metric::WallTime];

/// The numbers since the last dump, by the clock of [`os::nano_time`].
#[derive(Debug)]
pub(crate) struct SeriesBook {
    /// Whether the output holds them.
    are_written: bool,
    /// Whether each dump begins a new file.
    has_parts: bool,
    books: Mutex<[TimeSeriesBook; 4]>,
}

impl SeriesBook {
    pub(crate) fn new(are_written: bool, has_parts: bool) -> Self {
        Self { are_written, has_parts, books: Mutex::default() }
    }

    /// Notes the recording's start.
    pub(crate) fn begin_at(&self, begin_ns: u64) {
        lock(&self.books).iter_mut().for_each(|it| it.begin_at(begin_ns));
    }

    /// Adds a number of a thread that came about in the last `duration_ns`.
    pub(crate) fn add(&self, what: SeriesKind, thread: Option<u32>, duration_ns: u64, number: u64) {
        let now_ns = os::nano_time();
        let times = (now_ns.saturating_sub(duration_ns), now_ns);
        self.add_between(what, SeriesSubject::of(thread), times, number);
    }

    /// Adds a number that came about between two times.
    pub(crate) fn add_between(
        &self,
        what: SeriesKind,
        subject: SeriesSubject,
        times: (u64, u64),
        number: u64,
    ) {
        if self.are_written {
            lock(&self.books)[what as usize].add(subject, times, number);
        }
    }
}

impl Book for SeriesBook {
    fn place(&self) -> Place {
        Place::Series
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let mut books = lock(&self.books);
        let series: Vec<_> = METRICS
            .into_iter()
            .zip(&*books)
            .filter_map(|(metric, book)| book.series(metric))
            .collect();
        if !sections.are_of_flush() {
            books.iter_mut().for_each(TimeSeriesBook::clear);
            if self.has_parts {
                let now_ns = os::nano_time();
                books.iter_mut().for_each(|it| it.begin_at(now_ns));
            }
        }
        drop(books);
        series.iter().try_for_each(|it| sections.put(recorder, DumpSection::TimeSeries(it)))
    }

    fn reset(&self, _: bool) {
        lock(&self.books).iter_mut().for_each(TimeSeriesBook::clear);
    }

    fn release(&self) {
        *lock(&self.books) = Default::default();
    }
}
