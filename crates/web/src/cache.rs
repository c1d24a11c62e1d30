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

/// Answers by their question, the last used first.
pub(crate) struct Answers<T> {
    kept: Mutex<VecDeque<(String, Arc<T>)>>,
    most: usize,
}

impl<T> Answers<T> {
    /// Keeps at most `most` answers.
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// The answer of a question, made where it is not there.
    pub(crate) fn get(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<Arc<T>, Fault> {
        {
            let mut kept = lock(&self.kept);
            if let Some(index) = kept.iter().position(|it| it.0 == key)
                && let Some(found) = kept.remove(index)
            {
                let it = Arc::clone(&found.1);
                kept.push_front(found);
                return Ok(it);
            }
        }
        let it = Arc::new(make()?);
        let mut kept = lock(&self.kept);
        kept.push_front((key.to_owned(), Arc::clone(&it)));
        kept.truncate(self.most);
        Ok(it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_used_last_are_kept() {
        const MOST: usize = 12;
        let answers = Answers::new(MOST);
        let get = |key: usize| *answers.get(&key.to_string(), || Ok(key)).unwrap();
        (0..MOST).for_each(|key| assert_eq!(get(key), key));
        let again = |key: usize| answers.get(&key.to_string(), || Err(Fault::nothing("gone")));
        assert!(again(0).is_ok());
        get(MOST);
        assert!(again(0).is_ok() && again(1).is_err());
    }
}
