//! What was read: profiles and heaps in memory, as long as there is room, and answers that are asked for again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault::Fault;
use crate::sources::{Fingerprint, Source};

/// The files of all profiles in memory have at most this size, but the last one is kept whatever its size.
const PROFILE_BYTES: u64 = 256 << 20;
/// What was made of a file, and a lock that makes others wait while one makes it.
type Place<T> = Arc<Mutex<Option<(Fingerprint, Arc<T>)>>>;

/// The place of a source.
struct Slot<T> {
    id: String,
    it: Place<T>,
    bytes: u64,
}

/// What was made of files, the last used first.
pub(crate) struct Cache<T> {
    slots: Mutex<Vec<Slot<T>>>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { slots: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Cache<T> {
    /// What was made of the file of `source` as it is now; `read` makes it where it is not there yet.
    pub(crate) fn get(
        &self,
        source: &Source,
        read: impl FnOnce() -> anyhow::Result<T>,
    ) -> Result<Arc<T>, Fault> {
        let before = source.fingerprint()?;
        let place = self.place(&source.id, before.bytes);
        let mut place = lock(&place);
        if let Some((fingerprint, it)) = &*place
            && *fingerprint == before
        {
            return Ok(Arc::clone(it));
        }
        // The old one goes before the new one comes, unless somebody still has it.
        *place = None;
        let read = read();
        let is_changed = source.fingerprint()? != before;
        match read {
            Ok(it) => {
                let it = Arc::new(it);
                // A file that has grown meanwhile is read again when it is asked for again.
                *place = (!is_changed).then(|| (before, Arc::clone(&it)));
                Ok(it)
            }
            Err(error) if is_changed => Err(Fault::source(format!(
                "{} changed while perk read it ({error:#}): ask again",
                source.name
            ))),
            Err(error) => Err(Fault::source(format!("{error:#}"))),
        }
    }

    /// The place of a source, as the one used last; others go where there is no room.
    fn place(&self, id: &str, bytes: u64) -> Place<T> {
        let mut slots = lock(&self.slots);
        let slot = match slots.iter().position(|slot| slot.id == id) {
            Some(index) => Slot { bytes, ..slots.remove(index) },
            None => Slot { id: id.to_owned(), it: Arc::default(), bytes },
        };
        let it = Arc::clone(&slot.it);
        slots.insert(0, slot);
        let mut sum = 0_u64;
        let sums = slots.iter().map(|slot| {
            sum = sum.saturating_add(slot.bytes);
            sum
        });
        let count = sums.take_while(|&sum| sum <= PROFILE_BYTES).count();
        slots.truncate(count.max(1));
        it
    }
}

/// Something with a size in memory.
pub(crate) trait Weight {
    /// The bytes that it takes, about.
    fn bytes(&self) -> usize;
}

/// An answer that is kept.
struct Entry<T> {
    key: String,
    it: Arc<T>,
    bytes: usize,
}

/// Answers by their question, the last used first.
pub(crate) struct Answers<T> {
    kept: Mutex<VecDeque<Entry<T>>>,
    most_bytes: usize,
    most_count: usize,
}

impl<T: Weight> Answers<T> {
    /// Keeps answers of at most `most_bytes` together, and always the last one.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes, most_count: usize::MAX }
    }

    /// Keeps this number of answers, whatever their size.
    pub(crate) fn of_count(most_count: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes: usize::MAX, most_count }
    }

    /// The keys of the answers that are kept.
    pub(crate) fn keys(&self) -> Vec<String> {
        lock(&self.kept).iter().map(|entry| entry.key.clone()).collect()
    }

    /// Drops the answers whose keys are not wanted.
    pub(crate) fn retain(&self, is_wanted: impl Fn(&str) -> bool) {
        lock(&self.kept).retain(|entry| is_wanted(&entry.key));
    }

    /// The answer of a question, made where it is not there.
    pub(crate) fn get(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<Arc<T>, Fault> {
        {
            let mut kept = lock(&self.kept);
            if let Some(index) = kept.iter().position(|entry| entry.key == key)
                && let Some(found) = kept.remove(index)
            {
                let it = Arc::clone(&found.it);
                kept.push_front(found);
                return Ok(it);
            }
        }
        // The new one is most likely as large as the others: they go before it comes.
        let largest = lock(&self.kept).iter().map(|entry| entry.bytes).max();
        self.shrink(self.most_bytes.saturating_sub(largest.unwrap_or(0)), 0);
        let it = Arc::new(make()?);
        let entry = Entry { key: key.to_owned(), bytes: it.bytes(), it: Arc::clone(&it) };
        lock(&self.kept).push_front(entry);
        self.shrink(self.most_bytes, 1);
        Ok(it)
    }

    /// Drops the oldest answers until the others have at most `bytes`; the first `least` stay.
    fn shrink(&self, bytes: usize, least: usize) {
        let mut kept = lock(&self.kept);
        let mut sum = 0_usize;
        let sums = kept.iter().map(|entry| {
            sum = sum.saturating_add(entry.bytes);
            sum
        });
        let count = sums.take_while(|&sum| sum <= bytes).count();
        kept.truncate(count.min(self.most_count).max(least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weight for Vec<u8> {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn the_answers_used_last_are_kept() {
        let answers = Answers::new(100);
        let get = |key: usize, len| answers.get(&key.to_string(), || Ok(vec![0; len])).unwrap();
        (0..10).for_each(|key| assert_eq!(get(key, 10).len(), 10));
        let again =
            |key: usize| answers.get(&key.to_string(), || Err(Fault::nothing("gone"))).is_ok();
        assert!(again(0));
        get(10, 10);
        assert!(again(0) && again(2) && !again(1));
        // What is larger than all that is kept is alone.
        get(11, 1000);
        assert!(again(11) && !again(0));
    }

    #[test]
    fn a_number_of_answers_is_kept_and_others_go_when_asked() {
        let answers = Answers::of_count(2);
        (0..5).for_each(|key: usize| drop(answers.get(&key.to_string(), || Ok(vec![0; 1000]))));
        assert_eq!(answers.keys(), ["4", "3"]);
        answers.retain(|key| key == "3");
        assert_eq!(answers.keys(), ["3"]);
    }

    /// While an answer is made, those that would have to go for it are gone.
    #[test]
    fn there_is_room_before_an_answer_is_made() {
        let answers = Answers::new(100);
        let first = answers.get("a", || Ok(vec![0; 90])).unwrap();
        let weak = Arc::downgrade(&first);
        drop(first);
        answers.get("b", || Ok(vec![0; weak.strong_count()])).unwrap();
        assert_eq!(answers.get("b", || Ok(vec![0; 7])).unwrap().len(), 0);
    }
}
