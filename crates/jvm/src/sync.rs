//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Held to write while a thread of perk becomes one of the JVM's. Before it has a thread object, for which it may
/// have to wait until garbage is collected, it is in HotSpot's list of threads, and
/// `GetObjectMonitorUsage` looks at the object of each thread there (JDK 25: the JVM ends).
pub(crate) static ATTACHING: RwLock<()> = RwLock::new(());

/// Locks even after a panic: the data consists of counters and tables, and the feature that failed
/// is off.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
