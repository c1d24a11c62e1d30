//! What the program allocates and how long its threads wait for locks, over time.

use std::io;
use std::sync::Mutex;

use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_profile::{Metric, TimeSeriesBook};

use crate::recorder::{Book, DumpSection, Place, Recorder, Sections};

/// What has times, in the order of [`METRICS`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeriesKind {
    Allocated,
    Blocked,
    Waited,
}

/// The metric of each kind.
const METRICS: [Metric; 3] = [Metric::AllocatedBytes, Metric::BlockedTime, Metric::WaitedTime];

/// The numbers since the last dump, by the clock of [`os::nano_time`].
#[derive(Debug)]
pub(crate) struct SeriesBook {
    /// Whether the output holds them.
    are_written: bool,
    books: Mutex<[TimeSeriesBook; 3]>,
}

impl SeriesBook {
    pub(crate) fn new(are_written: bool) -> Self {
        Self { are_written, books: Mutex::default() }
    }

    /// Adds a number that came about in the last `duration_ns`.
    pub(crate) fn add(&self, what: SeriesKind, duration_ns: u64, number: u64) {
        if self.are_written {
            let now_ns = os::nano_time();
            let times = (now_ns.saturating_sub(duration_ns), now_ns);
            lock(&self.books)[what as usize].add(times, number);
        }
    }
}

impl Book for SeriesBook {
    fn place(&self) -> Place {
        Place::Series
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let begun_ns = recorder.begun_ns();
        let mut books = lock(&self.books);
        let series: Vec<_> = METRICS
            .into_iter()
            .zip(&*books)
            .filter_map(|(metric, book)| book.series(metric, begun_ns))
            .collect();
        if !sections.are_of_flush() {
            *books = Default::default();
        }
        drop(books);
        series.iter().try_for_each(|it| sections.put(recorder, DumpSection::TimeSeries(it)))
    }

    fn reset(&self, _: bool) {
        *lock(&self.books) = Default::default();
    }

    fn release(&self) {
        self.reset(false);
    }
}
