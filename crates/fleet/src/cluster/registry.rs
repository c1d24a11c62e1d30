//! The object stores of an executor, which are opened when a plan names them.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use perk_store::StoreAddress;
use perk_tables::fault;
use url::Url;

/// The file system, and buckets with the credentials of the environment.
#[derive(Debug, Default)]
pub(super) struct StoreRegistry {
    known: DefaultObjectStoreRegistry,
}

impl ObjectStoreRegistry for StoreRegistry {
    fn register_store(
        &self,
        url: &Url,
        objects: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.known.register_store(url, objects)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(known) = self.known.get_store(url) {
            return Ok(known);
        }
        let bucket = StoreAddress::parse(url.as_str()).map_err(fault)?;
        let opened = bucket.objects(ClientOptions::new(), RetryConfig::default());
        let (objects, _) = opened.map_err(fault)?;
        self.known.register_store(url, Arc::clone(&objects));
        Ok(objects)
    }
}
