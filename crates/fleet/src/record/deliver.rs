//! Deliveries: where files go (`place.rs`), the queue and the thread of each place (`queue.rs`, `lanes.rs`), and
//! what it takes to bring them there: a folder (`folder.rs`), an object store (`objects.rs`), a
//! store of tables (`store.rs`), a server (`http.rs`).

mod destination;
mod folder;
mod http;
mod lanes;
mod objects;
mod place;
mod queue;
mod store;

use anyhow::Context;

use super::settings::Settings;
use destination::Destination;
use folder::Folder;
pub(crate) use http::HttpRequest;
use http::Server;
pub(crate) use lanes::Lanes;
use objects::Objects;
pub(crate) use place::{Place, PlaceArg, PlaceKind, Protocol, Secret};
use queue::Queue;
use store::Tables;

/// What brings files to a place.
///
/// # Errors
/// The place cannot be one, in one line.
pub(crate) fn open(place: &Place, settings: &Settings) -> anyhow::Result<Box<dyn Destination>> {
    Ok(match &place.kind {
        PlaceKind::Folder(path) => {
            Box::new(Folder::new(path.clone(), settings.keep, settings.most_bytes))
        }
        PlaceKind::Objects(url) => {
            let objects = Objects::new(url, settings.ca.as_deref());
            Box::new(objects.with_context(|| format!("--to {}", place.name))?)
        }
        PlaceKind::Store(address) => {
            let tables = Tables::new(address.clone(), settings.ca.as_deref());
            Box::new(tables.with_context(|| format!("--to {}", place.name))?)
        }
        PlaceKind::Server(protocol, url) => {
            let headers = place.headers.clone();
            Box::new(Server::new(url.clone(), *protocol, headers, settings.ca.as_deref())?)
        }
    })
}
