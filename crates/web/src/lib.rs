//! A server that shows profiles, heap dumps, running JVMs and the services of stores in a browser.
//!
//! [`Server::bind`] listens, [`Server::run`] serves until Ctrl-C. A question comes as an address: its parameters
//! have the names of the options of the command line (`question.rs`), its answer is an
//! [`Answer`](perk_report::Answer) of crate `report`, as JSON. `access.rs` decides who may ask, `sources.rs` what
//! there is, `cache.rs` keeps what was read, `live.rs` the parts of the recording of a running JVM, `stored.rs` those of a
//! service of a store. `listener.rs` takes connections, also for the other servers of perk. Nothing here writes a file or
//! prints.
#![forbid(unsafe_code)]

mod access;
mod app;
mod assets;
mod cache;
mod connections;
mod fault;
mod folder;
mod guard;
mod listener;
mod live;
mod opener;
mod patient;
mod question;
mod recording_store;
mod reply;
mod routes;
mod server;
mod sources;
mod stored;
mod views;

pub use access::{is_address, is_same, token_of_file};
pub use listener::Listener;
pub use live::LiveSource;
pub use opener::open_page;
pub use recording_store::{PartDetail, RecordingStore, Service, ServicePart, StoreFault};
pub use server::{Options, Server, others_can_reach};
