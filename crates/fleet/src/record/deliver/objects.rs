//! An object store as a destination: the files of a folder, as objects.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use object_store::path::Path as ObjectPath;
use object_store::{Certificate, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use perk_store::{StoreAddress, reason};
use reqwest::Url;
use tokio::runtime::{Builder, Runtime};

use super::destination::{Destination, Failure};
use super::http::{ANSWERS_WITHIN, CONNECTS_WITHIN, pem};

/// The longest message of a store, in characters.
const SHOWN_CHARS: usize = 300;

/// The bucket, and the path within it.
#[derive(Debug)]
pub(super) struct Objects {
    store: Arc<dyn ObjectStore>,
    begin: ObjectPath,
    runtime: Runtime,
}

/// How object stores are asked.
///
/// # Errors
/// The certificates cannot be read.
pub(super) fn client(ca: Option<&Path>) -> anyhow::Result<(ClientOptions, RetryConfig)> {
    let mut options =
        ClientOptions::new().with_connect_timeout(CONNECTS_WITHIN).with_timeout(ANSWERS_WITHIN);
    if let Some(path) = ca {
        let all = Certificate::from_pem_bundle(&pem(path)?)?;
        options = all.into_iter().fold(options, ClientOptions::with_root_certificate);
    }
    // The queue tries again.
    Ok((options, RetryConfig { max_retries: 0, ..RetryConfig::default() }))
}

impl Objects {
    /// The objects below an address. The environment has the credentials.
    ///
    /// # Errors
    /// The address or what the environment has for it cannot be, in one line.
    pub(super) fn new(url: &Url, ca: Option<&Path>) -> anyhow::Result<Self> {
        let (options, retry) = client(ca)?;
        let (store, begin) = StoreAddress::Bucket(url.clone()).objects(options, retry)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { store, begin, runtime })
    }
}

impl Destination for Objects {
    fn deliver(&mut self, path: &Path, file: &Path) -> Result<(), Failure> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let object = match ObjectPath::parse(format!("{}/{}", self.begin, path.display())) {
            Ok(object) => object,
            Err(error) => return Err(Failure::Refused(error.to_string())),
        };
        let put = self.runtime.block_on(self.store.put(&object, bytes.into()));
        put.map(|_| ()).map_err(|error| {
            let reason = reason(&error.to_string());
            Failure::from(anyhow!(reason.chars().take(SHOWN_CHARS).collect::<String>()))
        })
    }
}
