//! Locks that no panic leaves broken.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no panic leaves broken.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
