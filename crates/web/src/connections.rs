//! The connections that are open, and which of them ends for a new one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The most connections at once.
const MOST: usize = 64;

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// The requests that are being answered: at most one.
    requests: AtomicUsize,
    /// Ends the connection.
    pub(crate) end: Notify,
}

impl Connection {
    /// Marks a request until the mark is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> BusyMark {
        self.requests.fetch_add(1, Ordering::SeqCst);
        BusyMark(Arc::clone(self))
    }
}

/// The mark of a request.
#[derive(Debug)]
pub(crate) struct BusyMark(Arc<Connection>);

impl Drop for BusyMark {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The open connections, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<Vec<Arc<Connection>>>,
}

impl Connections {
    /// Adds a connection. If there are too many, the oldest without a request ends; `None` if all have one.
    pub(crate) fn add(&self) -> Option<Arc<Connection>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST {
            let idle = open.iter().position(|it| it.requests.load(Ordering::SeqCst) == 0)?;
            open.remove(idle).end.notify_one();
        }
        let connection = Arc::<Connection>::default();
        open.push(Arc::clone(&connection));
        Some(connection)
    }

    /// The connection has ended.
    pub(crate) fn remove(&self, ended: &Arc<Connection>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|it| !Arc::ptr_eq(it, ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_idle_connection_ends_for_a_new_one() {
        let connections = Connections::default();
        let all: Vec<_> = (0..MOST).map(|_| connections.add().unwrap()).collect();
        let marks: Vec<_> = all.iter().skip(1).map(Connection::busy).collect();
        let new = connections.add().unwrap();
        assert!(!connections.open.lock().unwrap().iter().any(|it| Arc::ptr_eq(it, &all[0])));
        let mark = new.busy();
        assert!(connections.add().is_none());
        drop(marks);
        assert!(connections.add().is_some());
        drop(mark);
        connections.remove(&new);
        assert_eq!(connections.open.lock().unwrap().len(), MOST - 1);
    }
}
