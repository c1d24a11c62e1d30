//! The records of samples between the signal handlers that write them and the thread that reads them.
//!
//! A ring of words in memory that never moves. A writer reserves the words of its record, fills them,
//! and then sets the first one, the record's length. The reader takes the records in their order, and
//! sets all words to 0 before it gives them back. Nobody waits: a record that does not fit is not
//! written, and the writer is told.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::{Pages, reserve};

/// The mark of words at the end of the ring that no record fits in.
const SKIPPED: u64 = 1 << 63;

/// The ring; see the module. Writers are in signal handlers: they do not allocate, lock or wait.
#[derive(Debug)]
pub(super) struct Ring {
    words: &'static [AtomicU64],
    /// The number of words that were ever reserved, and of those that were given back.
    reserved: AtomicU64,
    released: AtomicU64,
}

impl Ring {
    /// Makes a ring of so many words, a power of two.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let len = len.next_power_of_two();
        let (reserved, released) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { words: reserve(len, Pages::Small)?, reserved, released })
    }

    /// Writes a record of so many words; the rest is 0 if there are fewer. Returns whether there was
    /// room.
    pub(super) fn write(&self, count: usize, words: impl IntoIterator<Item = u64>) -> bool {
        let count = 1 + count;
        let Some(at) = self.reserve(count as u64) else { return false };
        for (place, word) in self.words[at + 1..at + count].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.words[at].store(count as u64, Ordering::Release);
        true
    }

    /// Returns the index of so many words in a row; `None` if there is no room.
    fn reserve(&self, count: u64) -> Option<usize> {
        let len = self.words.len() as u64;
        let mut reserved = self.reserved.load(Ordering::Relaxed);
        loop {
            let at = reserved % len;
            let skipped = if at + count > len { len - at } else { 0 };
            let next = reserved + skipped + count;
            // Where `released` is ahead, others have reserved meanwhile, and this is tried again.
            let used = next.saturating_sub(self.released.load(Ordering::Acquire));
            if count > len || used > len {
                return None;
            }
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.reserved.compare_exchange_weak(reserved, next, success, failure) {
                Ok(_) => {
                    if skipped > 0 {
                        self.words[at as usize].store(SKIPPED | skipped, Ordering::Release);
                    }
                    return Some(((at + skipped) % len) as usize);
                }
                Err(now) => reserved = now,
            }
        }
    }

    /// Passes the records that are complete to `body`, in their order, up to the first one that is not.
    /// Returns whether there is none that is not: its writer may have been stopped for a while. Only
    /// one thread may read.
    pub(super) fn read(&self, record: &mut Vec<u64>, mut body: impl FnMut(&[u64])) -> bool {
        let len = self.words.len() as u64;
        loop {
            let released = self.released.load(Ordering::Relaxed);
            let at = (released % len) as usize;
            let first = self.words[at].load(Ordering::Acquire);
            if first == 0 {
                return released == self.reserved.load(Ordering::Acquire);
            }
            let count = first & !SKIPPED;
            let words = &self.words[at..at + count as usize];
            record.clear();
            if first & SKIPPED == 0 {
                record.extend(words[1..].iter().map(|word| word.load(Ordering::Relaxed)));
            }
            words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            self.released.store(released + count, Ordering::Release);
            if first & SKIPPED == 0 {
                body(record);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    #[test]
    fn records_of_all_writers_arrive_whole_or_not_at_all() {
        let ring = Ring::new(1 << 10).unwrap();
        let is_over = AtomicBool::new(false);
        let mut seen = [0_u64; 4];
        let written = thread::scope(|scope| {
            let writers: Vec<_> = (0..4_u64)
                .map(|writer| {
                    let ring = &ring;
                    scope.spawn(move || {
                        let mut written = 0_u64;
                        for number in 0..50_000 {
                            let rest = (number % 40) as usize;
                            let words = [writer, number].into_iter().chain([number].repeat(rest));
                            match ring.write(2 + rest, words) {
                                true => written += 1,
                                false => thread::yield_now(),
                            }
                        }
                        written
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut record = Vec::new();
                let mut last = [None; 4];
                loop {
                    let is_last = is_over.load(Relaxed);
                    ring.read(&mut record, |words| {
                        let (writer, number) = (words[0] as usize, words[1]);
                        assert_eq!(words.len() as u64, 2 + number % 40);
                        assert!(words[2..].iter().all(|it| *it == number));
                        assert!(last[writer] < Some(number));
                        last[writer] = Some(number);
                        seen[writer] += 1;
                    });
                    if is_last {
                        return;
                    }
                }
            });
            let written: Vec<u64> = writers.into_iter().map(|it| it.join().unwrap()).collect();
            is_over.store(true, Relaxed);
            reader.join().unwrap();
            written
        });
        assert_eq!(seen.to_vec(), written);
        assert!(written.iter().sum::<u64>() > 1000);
    }

    #[test]
    fn a_full_ring_refuses() {
        let ring = Ring::new(8).unwrap();
        assert!(!ring.write(8, [0; 8]));
        assert!(ring.write(4, [1, 2, 3, 4, 9]));
        assert!(!ring.write(3, [5, 6, 7]));
        let mut found = Vec::new();
        ring.read(&mut Vec::new(), |words| found.extend_from_slice(words));
        assert!(ring.write(3, [5, 6]));
        ring.read(&mut Vec::new(), |words| found.extend_from_slice(words));
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 0]);
    }
}
