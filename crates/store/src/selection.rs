//! Which pieces of a store a question is about.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};

use crate::hour::Hour;
use crate::layout::{
    MANIFEST, ManifestName, Slot, Table, date_folder, parse_manifest, piece_of, service_folder,
    value_of,
};
use crate::manifest::Compaction;
use crate::piece_id::PieceId;
use crate::store::{REQUESTS, Store};

/// A part of a store: services and hours.
pub trait Selection: Sync {
    /// Whether it can have something of a service, and of hours from one to another where these are given.
    fn has(&self, service: &str, hours: Option<(Hour, Hour)>) -> bool;
}

/// All of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole;

impl Selection for Whole {
    fn has(&self, _service: &str, _hours: Option<(Hour, Hour)>) -> bool {
        true
    }
}

/// A service, or all, in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The service, as names of folders have it; all if `None`.
    pub service: Option<String>,
    /// The first hour.
    pub from: Option<Hour>,
    /// The last hour.
    pub to: Option<Hour>,
}

impl Selection for Window {
    fn has(&self, service: &str, hours: Option<(Hour, Hour)>) -> bool {
        let is_in_time = |(first, last)| {
            self.from.is_none_or(|from| last >= from) && self.to.is_none_or(|to| first <= to)
        };
        self.service.as_ref().is_none_or(|it| it == service) && hours.is_none_or(is_in_time)
    }
}

/// The last compaction of a service and an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastCompaction {
    pub(crate) number: u32,
    /// The piece that it made.
    pub(crate) piece: PieceId,
    /// The rows of that in `samples`.
    pub(crate) rows: usize,
    /// All pieces whose content that has, also from compactions before.
    pub(crate) replaced: BTreeSet<PieceId>,
}

/// The pieces of a service and an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourPieces {
    pub(crate) slot: Slot,
    /// The pieces that count, in order.
    pub(crate) pieces: Vec<PieceId>,
    /// The last compaction.
    pub(crate) compaction: Option<LastCompaction>,
    /// What a compaction has left: manifests of pieces that another one has.
    pub(crate) leftovers: Vec<ManifestName>,
}

impl HourPieces {
    /// The service, as names of folders have it.
    pub fn service(&self) -> &str {
        &self.slot.service
    }

    /// The hour.
    pub fn hour(&self) -> Hour {
        self.slot.hour
    }

    /// The number of the pieces that count.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// A data file of a piece that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    pub(crate) slot: Slot,
    pub(crate) meta: ObjectMeta,
}

impl StoredFile {
    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.meta.size
    }
}

impl Store {
    /// The names of all services.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub async fn services(&self) -> Result<BTreeSet<String>> {
        let folder = self.root.clone().join(MANIFEST);
        let found = self.folders(&folder).await?;
        Ok(found.iter().filter_map(|it| value_of(it.filename()?, "service")).collect())
    }

    async fn folders(&self, folder: &Path) -> Result<Vec<Path>> {
        let found = self.objects.list_with_delimiter(Some(folder)).await;
        Ok(found.map_err(|error| self.fault(folder, &error))?.common_prefixes)
    }

    /// All files below a folder.
    pub(crate) async fn list(&self, folder: &Path) -> Result<Vec<ObjectMeta>> {
        let found = self.objects.list(Some(folder)).try_collect().await;
        found.map_err(|error| self.fault(folder, &error))
    }

    /// The services and dates of a selection, each date by its first hour.
    pub(crate) async fn dates(&self, selection: &dyn Selection) -> Result<Vec<(String, Hour)>> {
        let services = self.services().await?.into_iter();
        let services = services.filter(|service| selection.has(service, None));
        let dates = stream::iter(services).map(|service| async move {
            let folder = service_folder(&self.root, MANIFEST, &service);
            let found = self.folders(&folder).await?;
            let hours =
                found.iter().filter_map(|it| Hour::parse(&value_of(it.filename()?, "date")?, "00"));
            let hours =
                hours.filter(|&hour| selection.has(&service, Some((hour, hour.last_of_date()))));
            Ok::<_, anyhow::Error>(hours.map(|hour| (service.clone(), hour)).collect::<Vec<_>>())
        });
        let mut dates: Vec<_> = dates.buffer_unordered(REQUESTS).try_concat().await?;
        dates.sort();
        Ok(dates)
    }

    /// The pieces of a selection, by service and hour.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub async fn pieces(&self, selection: &dyn Selection) -> Result<Vec<HourPieces>> {
        let slots = self.manifests(selection).await?;
        let hours = stream::iter(slots).map(|(slot, names)| self.hour_pieces(slot, names));
        hours.buffered(REQUESTS).try_collect().await
    }

    /// A number that changes when something of a selection comes, goes or is compacted. Only names are read.
    ///
    /// # Errors
    /// The store cannot be read, in one line.
    pub async fn state(&self, selection: &dyn Selection) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        self.manifests(selection).await?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// The names of the manifests of a selection, in order.
    async fn manifests(
        &self,
        selection: &dyn Selection,
    ) -> Result<BTreeMap<Slot, BTreeSet<ManifestName>>> {
        let dates = stream::iter(self.dates(selection).await?).map(|(service, date)| async move {
            let folder = date_folder(&service_folder(&self.root, MANIFEST, &service), date);
            self.list(&folder).await
        });
        let files: Vec<_> = dates.buffer_unordered(REQUESTS).try_concat().await?;
        let mut slots: BTreeMap<Slot, BTreeSet<ManifestName>> = BTreeMap::new();
        for file in files {
            let Some((slot, name)) = parse_manifest(&self.root, &file.location) else { continue };
            if selection.has(&slot.service, Some((slot.hour, slot.hour))) {
                slots.entry(slot).or_default().insert(name);
            }
        }
        Ok(slots)
    }

    /// The pieces of an hour: what the last compaction has, and what came later.
    pub(crate) async fn hour_pieces(
        &self,
        slot: Slot,
        names: BTreeSet<ManifestName>,
    ) -> Result<HourPieces> {
        let last = names.iter().filter_map(|name| match name {
            ManifestName::Compaction(number) => Some(*number),
            ManifestName::Piece(_) => None,
        });
        let compaction = match last.max() {
            Some(number) => Some(self.compaction(&slot, number).await?),
            None => None,
        };
        let (mut pieces, mut leftovers) = (Vec::new(), Vec::new());
        for name in names {
            match (name, &compaction) {
                (ManifestName::Compaction(number), Some(last)) if number == last.number => {}
                (ManifestName::Compaction(_), _) => leftovers.push(name),
                (ManifestName::Piece(id), Some(last)) if last.replaced.contains(&id) => {
                    leftovers.push(name);
                }
                (ManifestName::Piece(id), _) => pieces.push(id),
            }
        }
        pieces.extend(compaction.as_ref().map(|it| it.piece));
        pieces.sort_unstable();
        Ok(HourPieces { slot, pieces, compaction, leftovers })
    }

    /// Reads the manifest of a compaction.
    pub(crate) async fn compaction(&self, slot: &Slot, number: u32) -> Result<LastCompaction> {
        let path = slot.manifest(&self.root, ManifestName::Compaction(number));
        let bytes = self.get(&path).await?;
        let bytes =
            bytes.with_context(|| format!("{self}: {path} was removed meanwhile: ask again"))?;
        let fault = || self.unknown(&path);
        let found: Compaction = serde_json::from_slice(&bytes).map_err(|_| fault())?;
        let replaced = found.replaced.iter().map(|id| PieceId::parse(id));
        let replaced = replaced.collect::<Option<_>>().ok_or_else(fault)?;
        let piece = PieceId::parse(&found.piece).ok_or_else(fault)?;
        Ok(LastCompaction { number, piece, rows: found.rows, replaced })
    }

    /// The files of a table that these pieces have.
    ///
    /// # Errors
    /// The store cannot be read, or a file is not there, in one line.
    pub async fn files(&self, hours: &[HourPieces], table: Table) -> Result<Vec<StoredFile>> {
        let folders: BTreeSet<_> =
            hours.iter().map(|it| it.slot.folder(&self.root, table)).collect();
        let listed = stream::iter(folders).map(|folder| async move { self.list(&folder).await });
        let listed: Vec<_> = listed.buffer_unordered(REQUESTS).try_concat().await?;
        let listed =
            listed.into_iter().filter_map(|it| Some(((folder(&it)?, piece_of(&it.location)?), it)));
        let mut listed: HashMap<_, _> = listed.collect();
        let mut files = Vec::new();
        for hour in hours {
            let folder = hour.slot.folder(&self.root, table).to_string();
            for &id in &hour.pieces {
                let path = hour.slot.data(&self.root, table, id);
                let meta = listed.remove(&(folder.clone(), id));
                let meta = match meta {
                    Some(meta) => meta,
                    // A store that lists late has it all the same.
                    None => {
                        self.objects.head(&path).await.map_err(|error| self.fault(&path, &error))?
                    }
                };
                files.push(StoredFile { slot: hour.slot.clone(), meta });
            }
        }
        Ok(files)
    }
}

/// The folder of a file.
fn folder(file: &ObjectMeta) -> Option<String> {
    file.location.as_ref().rsplit_once('/').map(|it| it.0.to_owned())
}
