//! The services and dates that queries have read, and what functions need of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::hour::Hour;
use crate::layout::Slot;
use crate::selection::{HourPieces, Selection};
use crate::store::Store;

/// The services and dates whose files queries have read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadDates(Arc<Mutex<BTreeSet<Slot>>>);

impl ReadDates {
    pub(crate) fn add(&self, hours: Vec<HourPieces>) {
        let mut dates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        dates.extend(hours.into_iter().map(|it| it.slot.of_date()));
    }

    fn all(&self) -> Vec<Slot> {
        let dates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        dates.iter().cloned().collect()
    }
}

/// How something is made of the pieces of dates.
type Load<T> = for<'a> fn(&'a Store, Vec<HourPieces>) -> BoxFuture<'a, Result<T>>;

/// What functions need of the dates that queries have read.
pub(crate) struct OfReadDates<T> {
    store: Store,
    read: ReadDates,
    load: Load<T>,
    known: Mutex<Option<(Vec<Slot>, Arc<T>)>>,
}

impl<T> OfReadDates<T> {
    pub(crate) fn new(store: &Store, read: &ReadDates, load: Load<T>) -> Self {
        Self { store: store.clone(), read: read.clone(), load, known: Mutex::new(None) }
    }

    /// It is read when more dates were asked than before.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub(crate) fn get(&self) -> Result<Arc<T>> {
        let dates = self.read.all();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, found)) = &*known
            && *of == dates
        {
            return Ok(Arc::clone(found));
        }
        // Functions are called by threads of the runtime, which does its other work meanwhile.
        let found = block_in_place(|| {
            Handle::current().block_on(async {
                let pieces = self.store.pieces(&Dates(&dates)).await?;
                (self.load)(&self.store, pieces).await
            })
        })?;
        let found = Arc::new(found);
        *known = Some((dates, Arc::clone(&found)));
        Ok(found)
    }
}

/// Services and dates.
pub(crate) struct Dates<'a>(pub(crate) &'a [Slot]);

impl Selection for Dates<'_> {
    fn has(&self, service: &str, hours: Option<(Hour, Hour)>) -> bool {
        self.0.iter().any(|date| {
            let is_in = |(first, last)| date.hour <= last && date.hour.last_of_date() >= first;
            date.service == service && hours.is_none_or(is_in)
        })
    }
}
