//! How much requests may have and take.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::fault::Fault;
use crate::lock::lock;

/// The most bytes of a body as it is sent.
pub(super) const PACKED_BYTES: usize = 16 << 20;
/// The most bytes of an unpacked profile; of an unpacked message, of which a byte can take a hundred in memory; and of a
/// query.
pub(super) const UNPACKED_BYTES: usize = 256 << 20;
pub(super) const MESSAGE_BYTES: usize = 32 << 20;
pub(super) const QUERY_BYTES: usize = 1 << 20;
/// The bytes of a body that is too long up to which it is read all the same, and thrown away.
pub(super) const REFUSED_BYTES: usize = 64 << 20;
/// The most memory that reading a profile takes, in bytes.
pub(super) const READING_BYTES: u64 = 256 << 20;
/// How long a body may take.
pub(super) const BODY_TIME: Duration = Duration::from_secs(30);
/// The most profiles of a push, and the most frames of all their stacks.
pub(super) const MOST_PROFILES: usize = 100;
pub(super) const MOST_FRAMES: usize = 16 << 20;
/// The most labels of a push, and the most bytes of a name and a value.
pub(super) const MOST_LABELS: usize = 30;
pub(super) const NAME_BYTES: usize = 128;
pub(super) const VALUE_BYTES: usize = 1024;
/// The most sets of labels that the samples of a profile have.
pub(super) const MOST_SAMPLE_LABELS: usize = 10_000;
/// The most hours that a pushed profile reaches over.
pub(super) const MOST_HOURS: usize = 48;
/// How far a pushed profile may be ahead of this machine's clock, in milliseconds.
pub(super) const AHEAD_MS: i64 = 3_600_000;
/// The most selectors of a query.
pub(super) const MOST_SELECTORS: usize = 16;
/// The most series that a query about labels looks at.
pub(super) const MOST_SERIES: usize = 50_000;
/// The most nodes of a flame graph, and those of one that does not say how many.
pub(super) const MOST_NODES: usize = 1 << 20;
pub(super) const DEFAULT_NODES: usize = 8192;

/// The queries and the pushes that are worked on at once.
const QUERIES: usize = 2;
const PUSHES: usize = 2;
/// How long a request waits until it is worked on.
const WAIT: Duration = Duration::from_secs(20);
/// The time after which label sets are counted anew.
const COUNTED: Duration = Duration::from_secs(3600);

/// How much may be pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PushLimits {
    /// Pushes in a second.
    pub(crate) per_second: u32,
    /// Sets of labels in an hour.
    pub(crate) label_sets: usize,
}

impl Default for PushLimits {
    fn default() -> Self {
        Self { per_second: 50, label_sets: 10_000 }
    }
}

/// The places of requests that are worked on at once.
pub(super) struct Places(Semaphore);

impl Places {
    pub(super) fn of_queries() -> Self {
        Self(Semaphore::new(QUERIES))
    }

    pub(super) fn of_pushes() -> Self {
        Self(Semaphore::new(PUSHES))
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// None gets free in time.
    pub(super) async fn take(&self) -> Result<SemaphorePermit<'_>, Fault> {
        match timeout(WAIT, self.0.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Fault::rate("too many requests at once: try it again")),
        }
    }
}

/// The pushes that may come now: those of a second may come at once.
pub(super) struct PushRate {
    per_second: f64,
    /// The pushes that were left at a moment.
    left: Mutex<(f64, Instant)>,
}

impl PushRate {
    pub(super) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second.max(1));
        Self { per_second, left: Mutex::new((per_second, Instant::now())) }
    }

    /// Counts a push.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn count(&self) -> Result<(), Fault> {
        self.count_at(Instant::now())
    }

    fn count_at(&self, now: Instant) -> Result<(), Fault> {
        let mut left = lock(&self.left);
        let new = now.saturating_duration_since(left.1).as_secs_f64() * self.per_second;
        *left = ((left.0 + new).min(self.per_second), now);
        if left.0 < 1.0 {
            let line = format!("more than {} pushes in a second: push less often", self.per_second);
            return Err(Fault::rate(line));
        }
        left.0 -= 1.0;
        Ok(())
    }
}

/// The sets of labels that were pushed within the hour, as hashes.
pub(super) struct LabelSets {
    most: usize,
    hasher: RandomState,
    known: Mutex<(HashSet<u64>, Instant)>,
}

impl LabelSets {
    pub(super) fn new(most: usize) -> Self {
        let known = Mutex::new((HashSet::new(), Instant::now()));
        Self { most, hasher: RandomState::new(), known }
    }

    /// Counts a set of labels.
    ///
    /// # Errors
    /// There are too many others.
    pub(super) fn count(&self, labels: &[(String, String)]) -> Result<(), Fault> {
        let set = self.hasher.hash_one(labels);
        let mut known = lock(&self.known);
        if known.1.elapsed() > COUNTED {
            *known = (HashSet::new(), Instant::now());
        }
        if !known.0.contains(&set) && known.0.len() >= self.most {
            return Err(Fault::rate(format!(
                "more than {} sets of labels in an hour: leave out labels that differ with each push",
                self.most
            )));
        }
        known.0.insert(set);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_of_a_second_may_come_at_once() {
        let rate = PushRate::new(3);
        let begin = Instant::now();
        let count = |ms| rate.count_at(begin + Duration::from_millis(ms)).is_ok();
        assert_eq!([0, 0, 0, 0].map(count), [true, true, true, false]);
        assert_eq!([100, 400, 500, 60_000].map(count), [false, true, false, true]);
    }

    #[test]
    fn a_known_set_of_labels_always_fits() {
        let sets = LabelSets::new(2);
        let count = |value: &str| sets.count(&[("a".to_owned(), value.to_owned())]).is_ok();
        assert_eq!(["1", "2", "3", "1", "2"].map(count), [true, true, false, true, true]);
    }
}
