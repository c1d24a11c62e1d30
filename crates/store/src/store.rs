//! A store that is open.

use std::fmt;
use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use datafusion::prelude::SessionContext;
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
};
use perk_tables::Limits;

use crate::file_place::FilePlace;
use crate::layout::STORE_FILE;
use crate::manifest::StoreFile;
use crate::objects::{StoreAddress, reason};

/// The requests that are under way at once.
pub(crate) const REQUESTS: usize = 16;
/// The bytes at the end of a data file that are read first: most have all of their index there.
pub(crate) const INDEX_BYTES: usize = 64 << 10;
/// The most bytes of a manifest.
pub(crate) const MOST_MANIFEST_BYTES: u64 = 64 << 20;

/// A store.
#[derive(Clone)]
pub struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) root: Path,
    address: StoreAddress,
    /// Who makes sums of its rows; this process, if it is `None`.
    pub(crate) session: Option<SessionContext>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.address).finish()
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Store {
    /// Whether a folder is a store.
    pub fn is_at(folder: &std::path::Path) -> bool {
        folder.join(STORE_FILE).is_file()
    }

    /// Opens a store.
    ///
    /// # Errors
    /// There is none, it cannot be read, or it is of a later version, in one line.
    pub async fn open(address: &StoreAddress) -> Result<Self> {
        let this = Self::at(address, ClientOptions::new(), RetryConfig::default())?;
        this.confirm().await?;
        Ok(this)
    }

    /// Fails unless the store is there.
    ///
    /// # Errors
    /// It is not there, cannot be read, or is of a later version, in one line.
    pub async fn confirm(&self) -> Result<()> {
        match self.check().await? {
            true => Ok(()),
            false => Err(anyhow!("{self} is no store: perk store add makes one")),
        }
    }

    /// Opens a store, or makes one.
    ///
    /// # Errors
    /// It cannot be made or read, or it is of a later version, in one line.
    pub async fn create(
        address: &StoreAddress,
        client: ClientOptions,
        retry: RetryConfig,
    ) -> Result<Self> {
        if let StoreAddress::Folder(path) = address {
            fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let this = Self::at(address, client, retry)?;
        if !this.check().await? {
            let mut text = serde_json::to_vec(&StoreFile::new())?;
            text.push(b'\n');
            // Another process may make it now.
            this.put_new(&this.root.clone().join(STORE_FILE), text).await?;
        }
        Ok(this)
    }

    /// A store that is known to be there.
    fn at(address: &StoreAddress, client: ClientOptions, retry: RetryConfig) -> Result<Self> {
        let (objects, root) = address.objects(client, retry)?;
        Ok(Self { objects, root, address: address.clone(), session: None })
    }

    /// Whether the store is there.
    async fn check(&self) -> Result<bool> {
        let Some(bytes) = self.get(&self.root.clone().join(STORE_FILE)).await? else {
            return Ok(false);
        };
        StoreFile::parse(&bytes).map_err(|error| anyhow!("{self}: {error}"))?;
        Ok(true)
    }

    /// The content of a small file; `None` if it is not there.
    pub(crate) async fn get(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let found = match self.objects.get(path).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.fault(path, &error)),
        };
        if found.meta.size > MOST_MANIFEST_BYTES {
            return Err(anyhow!("{self}: {path} has {} bytes", found.meta.size));
        }
        let bytes = found.bytes().await.map_err(|error| self.fault(path, &error))?;
        Ok(Some(bytes.to_vec()))
    }

    /// Writes a file that is not there yet. Returns whether it was not.
    pub(crate) async fn put_new(&self, path: &Path, bytes: Vec<u8>) -> Result<bool> {
        let options = PutOptions::from(PutMode::Create);
        match self.objects.put_opts(path, PutPayload::from(bytes), options).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.fault(path, &error)),
        }
    }

    /// Removes a file, if it is there.
    pub(crate) async fn remove(&self, path: &Path) -> Result<()> {
        match self.objects.delete(path).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.fault(path, &error)),
        }
    }

    /// A fault of a file, in one line.
    pub(crate) fn fault(&self, path: &Path, error: &Error) -> anyhow::Error {
        anyhow!("{self}: {path}: {}", reason(&error.to_string()))
    }

    /// The fault of a manifest that says something else, in one line.
    pub(crate) fn unknown(&self, manifest: &Path) -> anyhow::Error {
        anyhow!("{self}: {manifest}: not a manifest that this perk knows")
    }

    /// Where it is.
    pub fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// The same store, whose sums a session makes: that of a cluster, whose machines see the store at the same address.
    pub fn with_session(self, session: SessionContext) -> Self {
        Self { session: Some(session), ..self }
    }

    /// A session without tables that knows its objects.
    pub(crate) fn context(&self, limits: &Limits) -> Result<SessionContext> {
        let context = perk_tables::context(limits)?;
        let place = FilePlace::of_session()?;
        context.register_object_store(place.url.as_ref(), Arc::clone(&self.objects));
        Ok(context)
    }
}

/// A store that is open, or is opened when it is needed: machines of a cluster hand on what they do not read.
#[derive(Clone, Debug)]
pub(crate) enum StoreSource {
    Open(Store),
    At(StoreAddress),
}

impl StoreSource {
    /// The store.
    ///
    /// # Errors
    /// This machine does not have it, in one line.
    pub(crate) fn open(&self) -> Result<Store> {
        match self {
            StoreSource::Open(store) => Ok(store.clone()),
            StoreSource::At(address) => {
                Store::at(address, ClientOptions::new(), RetryConfig::default())
            }
        }
    }
}
