//! The services and dates that queries have read, and what functions need of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::hour::Hour;
use crate::layout::Slot;
use crate::piece_id::PieceId;
use crate::selection::{HourPieces, Selection};
use crate::store::{Store, StoreSource};

/// The services and hours whose files queries have read, with their pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadDates(Arc<Mutex<BTreeMap<Slot, Vec<PieceId>>>>);

impl ReadDates {
    /// Those that someone else has read.
    pub(crate) fn of(dates: Vec<Slot>) -> Self {
        Self(Arc::new(Mutex::new(dates.into_iter().map(|it| (it, Vec::new())).collect())))
    }

    pub(crate) fn add(&self, hours: Vec<HourPieces>) {
        self.lock().extend(hours.into_iter().map(|it| (it.slot, it.pieces)));
    }

    /// The services and dates, each by its first hour.
    pub(crate) fn all(&self) -> Vec<Slot> {
        let mut dates: Vec<_> = self.lock().keys().map(|it| it.clone().of_date()).collect();
        dates.dedup();
        dates
    }

    /// An id of all pieces.
    pub(crate) fn id(&self) -> PieceId {
        PieceId::of(format!("{:?}", self.lock()).as_bytes())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Slot, Vec<PieceId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How something is made of the pieces of dates.
type Load<T> = for<'a> fn(&'a Store, Vec<HourPieces>) -> BoxFuture<'a, Result<T>>;

/// What functions need of the dates that queries have read.
pub(crate) struct OfReadDates<T> {
    source: StoreSource,
    read: ReadDates,
    load: Load<T>,
    known: Mutex<Option<(Vec<Slot>, Arc<T>)>>,
}

impl<T> OfReadDates<T> {
    pub(crate) fn new(source: &StoreSource, read: &ReadDates, load: Load<T>) -> Self {
        Self { source: source.clone(), read: read.clone(), load, known: Mutex::new(None) }
    }

    /// It is read when more dates were asked than before.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub(crate) fn get(&self) -> Result<Arc<T>> {
        let dates = self.read.all();
        if let Ok(known) = self.known.try_lock()
            && let Some(found) = of_dates(&known, &dates)
        {
            return Ok(found);
        }
        // Functions are called by threads of the runtime, which does its other work meanwhile. That is so of threads that
        // wait for the one that reads, too.
        block_in_place(|| {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = of_dates(&known, &dates) {
                return Ok(found);
            }
            let found = Handle::current().block_on(async {
                let store = self.source.open()?;
                let pieces = store.pieces(&Dates(&dates)).await?;
                (self.load)(&store, pieces).await
            })?;
            let found = Arc::new(found);
            *known = Some((dates, Arc::clone(&found)));
            Ok(found)
        })
    }
}

/// What is known, if it is of these dates.
fn of_dates<T>(known: &Option<(Vec<Slot>, Arc<T>)>, dates: &[Slot]) -> Option<Arc<T>> {
    known.as_ref().filter(|(of, _)| of == dates).map(|(_, found)| Arc::clone(found))
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
