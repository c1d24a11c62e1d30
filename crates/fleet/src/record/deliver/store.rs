//! A store as a destination: what files have, as tables.

use std::path::Path;

use anyhow::Context;
use object_store::{ClientOptions, RetryConfig};
use perk_open::Options;
use perk_store::{Origin, Piece, Store, StoreAddress};
use tokio::runtime::{Builder, Runtime};

use super::destination::{Destination, Failure};
use super::objects::client;

/// The store. It is opened when the first file comes, as it may not be reached before.
#[derive(Debug)]
pub(super) struct Tables {
    address: StoreAddress,
    client: (ClientOptions, RetryConfig),
    store: Option<Store>,
    runtime: Runtime,
}

impl Tables {
    /// The store at an address.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub(super) fn new(address: StoreAddress, ca: Option<&Path>) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { address, client: client(ca)?, store: None, runtime })
    }
}

impl Destination for Tables {
    fn deliver(&mut self, path: &Path, file: &Path) -> Result<(), Failure> {
        let cannot = || format!("cannot read {}", file.display());
        let found = perk_open::profile(file, &Options::default()).with_context(cannot);
        let found = found.map_err(|error| Failure::Refused(format!("{error:#}")))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let origin = Origin { file: name, ..Origin::default() };
        let pieces = Piece::all_of(&found.profile, &origin);
        let pieces = pieces.map_err(|error| Failure::Refused(format!("{error:#}")))?;
        let Self { address, client, store, runtime } = self;
        runtime.block_on(async {
            let store = match store {
                Some(store) => store,
                None => {
                    let (options, retry) = client.clone();
                    store.insert(Store::create(address, options, retry).await?)
                }
            };
            for piece in &pieces {
                store.add(piece).await?;
            }
            Ok(())
        })
    }
}
