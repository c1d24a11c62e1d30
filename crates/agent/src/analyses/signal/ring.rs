//! The records of samples between the signal handlers that write them and the thread that reads them.
//!
//! A ring of words in memory that never moves. A writer reserves the words of its record, fills them,
//! and then sets the first one, the record's length. The reader takes the records in their order, and
//! gives their words back in runs of many pages, as 0: so the memory in use is that of the records
//! that wait, not that of the whole ring. While the reader keeps up, the first pages are used again and
//! again, and stay in memory: a fresh page costs the writer, and to give it back interrupts all threads.
//! Nobody waits: a record that does not fit is not written, and
//! `write` says so.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use perk_jvm::memory::{clear, reserve, set_short};

/// The number of words that are given back at once after they were read, or a quarter of a small
/// ring: one call of the system for 16 pages.
const GIVEN_WORDS: u64 = 1 << 13;

/// The number of words, or half of a small ring, behind which an empty ring begins at its first word again.
const REUSED_WORDS: u64 = 1 << 15;

/// The least size of a ring, if the address space is short.
const LEAST_WORDS: usize = 1 << 16;

/// The mark of words at the end of the ring that no record fits in.
const SKIPPED: u64 = 1 << 63;

/// The ring; see the module. Writers are in signal handlers: they do not allocate, lock or wait.
#[derive(Debug)]
pub(super) struct Ring {
    words: &'static [AtomicU64],
    /// The number of words that were ever reserved, of those that were read, and of those that were
    /// given back.
    reserved: AtomicU64,
    read: AtomicU64,
    released: AtomicU64,
}

impl Ring {
    /// Makes a ring of this number of words, a power of two, or of fewer if there is not enough
    /// room.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let mut len = len.next_power_of_two();
        let words = loop {
            match reserve(len) {
                Ok(words) => break words,
                Err(error) if len <= LEAST_WORDS => return Err(error),
                Err(_) => {
                    set_short();
                    len /= 2;
                }
            }
        };
        let zero = || AtomicU64::new(0);
        Ok(Self { words, reserved: zero(), read: zero(), released: zero() })
    }

    /// Writes a record of this number of words; the rest is 0 if there are fewer. Returns whether
    /// there was room.
    pub(super) fn write(&self, count: usize, words: impl IntoIterator<Item = u64>) -> bool {
        let count = 1 + count;
        let Some(at) = self.reserve(count as u64) else { return false };
        for (place, word) in self.words[at + 1..at + count].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.words[at].store(count as u64, Ordering::Release);
        true
    }

    /// Returns the index of this number of words in a row; `None` if there is no room.
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
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
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
            let read = self.read.load(Ordering::Relaxed);
            let at = (read % len) as usize;
            let first = self.words[at].load(Ordering::Acquire);
            if first == 0 {
                let is_empty = read == self.reserved.load(Ordering::Acquire);
                if is_empty {
                    self.rewind(read);
                }
                return is_empty;
            }
            let count = first & !SKIPPED;
            record.clear();
            if first & SKIPPED == 0 {
                let words = &self.words[at + 1..at + count as usize];
                record.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
            }
            self.read.store(read + count, Ordering::Relaxed);
            self.give_back(read + count);
            if first & SKIPPED == 0 {
                body(record);
            }
        }
    }

    /// Makes the next record be at the first word, if a ring that is empty at `read` has come far enough.
    fn rewind(&self, read: u64) {
        let at = read % self.words.len() as u64;
        if at < self.reused() {
            return;
        }
        self.release(read);
        let begin = read - at + self.words.len() as u64;
        // The words that were given back are 0 to the writer that finds this number.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        if self.reserved.compare_exchange(read, begin, success, failure).is_ok() {
            self.read.store(begin, Ordering::Relaxed);
            self.released.store(begin, Ordering::Release);
        }
    }

    fn reused(&self) -> u64 {
        REUSED_WORDS.min(self.words.len() as u64 / 2)
    }

    /// Gives the words up to `read` back if they are many.
    fn give_back(&self, read: u64) {
        let len = self.words.len() as u64;
        let released = self.released.load(Ordering::Relaxed);
        if read - released >= GIVEN_WORDS.min(len / 4) {
            self.release(read);
        }
    }

    fn release(&self, read: u64) {
        let len = self.words.len();
        let released = self.released.load(Ordering::Relaxed);
        let (from, count) = ((released % len as u64) as usize, (read - released) as usize);
        let before_end = count.min(len - from);
        for words in [from..from + before_end, 0..count - before_end] {
            let kept_end = words.end.min(self.reused() as usize).max(words.start);
            let kept = &self.words[words.start..kept_end];
            kept.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            clear(&self.words[kept_end..words.end]);
        }
        self.released.store(read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perk_jvm::os::{are_resident, page_bytes};
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

    #[test]
    fn pages_that_are_read_go_back_to_the_system() {
        let ring = Ring::new(1 << 18).unwrap();
        let bytes = size_of_val(ring.words);
        let pages = bytes / page_bytes();
        let mut read = 0_u64;
        for number in 0..(1 << 18) {
            assert!(ring.write(7, [number]));
            ring.read(&mut Vec::new(), |words| read += words[0]);
        }
        assert_eq!(read, (0..1 << 18).sum());
        let mut is_resident = vec![0_u8; pages];
        let start = ring.words.as_ptr() as usize & !(page_bytes() - 1);
        assert!(are_resident(start, &mut is_resident));
        let count = is_resident.iter().filter(|it| **it & 1 == 1).count();
        assert!((1..=pages / 4).contains(&count), "{count} of {pages}");
    }

    /// A reader that is behind has the ring used to its end; one that keeps up has the first pages used.
    #[test]
    fn an_empty_ring_begins_again() {
        let ring = Ring::new(1 << 18).unwrap();
        let (mut written, mut read) = (0, 0);
        let mut write = |count: u64| {
            (0..count).for_each(|it| assert!(ring.write(7, [written + it])));
            written += count;
        };
        let mut read_all = || {
            let is_empty = ring.read(&mut Vec::new(), |words| {
                assert_eq!(words, [read, 0, 0, 0, 0, 0, 0]);
                read += 1;
            });
            assert!(is_empty);
        };
        let place = || ring.reserved.load(Relaxed) % (1 << 18);
        write(100);
        read_all();
        assert_eq!(place(), 800);
        write(20_000);
        read_all();
        assert_eq!(place(), 0);
        for _ in 0..5 {
            write(30_000);
            read_all();
        }
        assert_eq!((place(), read), (0, 170_100));
        assert!(ring.words.iter().all(|word| word.load(Relaxed) == 0));
    }
}
