//! The end of what is old.

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};

use crate::hour::Hour;
use crate::layout::{MANIFEST, Table, date_folder, service_folder};
use crate::selection::Window;
use crate::store::{REQUESTS, Store};

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpirySummary {
    /// The dates of services.
    pub dates: usize,
    /// The files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Removes all dates that ended before an hour: of each date its manifests first, so that whoever reads meanwhile
    /// finds pieces whole or not at all.
    ///
    /// # Errors
    /// The store cannot be read or written, in one line. What is removed so far stays so.
    pub async fn expire(&self, before: Hour) -> Result<ExpirySummary> {
        let mut expired = ExpirySummary::default();
        let window = Window { to: Some(before), ..Window::default() };
        for (service, date) in self.dates(&window).await? {
            if date.last_of_date() >= before {
                continue;
            }
            expired.dates += 1;
            for folder in [MANIFEST].into_iter().chain(Table::ALL.map(Table::name)) {
                let folder = date_folder(&service_folder(&self.root, folder, &service), date);
                let files = self.list(&folder).await?;
                expired.files += files.len();
                expired.bytes += files.iter().map(|it| it.size).sum::<u64>();
                let removed = stream::iter(files)
                    .map(|file| async move { self.remove(&file.location).await });
                removed.buffer_unordered(REQUESTS).try_collect::<Vec<_>>().await?;
            }
        }
        Ok(expired)
    }
}
