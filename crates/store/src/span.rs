//! The time of which a store has something of a service.

use std::collections::BTreeMap;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};

use crate::hour::Hour;
use crate::selection::{Whole, Window};
use crate::store::{REQUESTS, Store};

/// The time of which a store has something of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpan {
    /// The service, as names of folders have it.
    pub service: String,
    /// The first hour.
    pub first: Hour,
    /// The last hour.
    pub last: Hour,
}

impl Store {
    /// The time of each service. Of a long time only the first and the last date are listed.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub async fn service_spans(&self) -> Result<Vec<ServiceSpan>> {
        let mut dates: BTreeMap<String, (Hour, Hour)> = BTreeMap::new();
        for (service, date) in self.dates(&Whole).await? {
            let span = dates.entry(service).or_insert((date, date));
            *span = (span.0.min(date), span.1.max(date));
        }
        let spans = stream::iter(dates).map(|(service, (first, last))| async move {
            let hours = self.hours_of_date(&service, first).await?;
            let last_hours = match first == last {
                true => hours.clone(),
                false => self.hours_of_date(&service, last).await?,
            };
            let span = hours.into_iter().min().zip(last_hours.into_iter().max());
            Ok::<_, anyhow::Error>(span.map(|(first, last)| ServiceSpan { service, first, last }))
        });
        let spans: Vec<_> = spans.buffered(REQUESTS).try_collect().await?;
        Ok(spans.into_iter().flatten().collect())
    }

    async fn hours_of_date(&self, service: &str, date: Hour) -> Result<Vec<Hour>> {
        let window = Window {
            service: Some(service.to_owned()),
            from: Some(date),
            to: Some(date.last_of_date()),
        };
        Ok(self.pieces(&window).await?.iter().map(|it| it.hour()).collect())
    }
}
