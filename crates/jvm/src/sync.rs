//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks even after a panic: the data consists of counters and tables, and the feature that failed
/// is off.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
