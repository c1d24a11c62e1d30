//! The server of the page: what it serves, and to whom.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Access;
use crate::app::App;
use crate::listener::Listener;
use crate::live::LiveSource;
use crate::recording_store::RecordingStore;
use crate::routes;
use crate::sources::Sources;

/// Threads that take requests; others work on them.
const THREADS: usize = 2;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Profiles, heap dumps, and folders with them.
    pub inputs: Vec<PathBuf>,
    /// Running JVMs.
    pub jvms: Vec<LiveSource>,
    /// Stores, whose services are served.
    pub stores: Vec<Arc<dyn RecordingStore>>,
    /// The address to listen on.
    pub host: IpAddr,
    /// The port; 0 for any.
    pub port: u16,
    /// The token that admits; `None` for a new one, which only the loopback address may have.
    pub token: Option<String>,
    /// The folders with source files.
    pub source_folders: Vec<PathBuf>,
    /// How profiles are read.
    pub read: perk_open::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            jvms: Vec::new(),
            stores: Vec::new(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            token: None,
            source_folders: Vec::new(),
            read: perk_open::Options::default(),
        }
    }
}

/// What a user who serves others should know.
pub fn others_can_reach(host: IpAddr) -> String {
    format!(
        "others can reach {host}: whoever has the token sees everything that is served, and the network sees it, too, as it \
         is not encrypted"
    )
}

/// A server that listens.
pub struct Server {
    listener: Listener,
    app: Arc<App>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// An input is not there, the address cannot be had, or the system has no threads or signals for it.
    pub fn bind(options: Options) -> anyhow::Result<Self> {
        let Options { inputs, jvms, stores, host, port, token, source_folders, read } = options;
        Listener::check(host, token.as_deref())?;
        let sources = Sources::new(&inputs, jvms, stores)?;
        let listener = Listener::bind(host, port, THREADS)?;
        let access = Access::new(listener.address().port(), token)?;
        let app = Arc::new(App::new(access, sources, source_folders, read));
        Ok(Self { listener, app })
    }

    /// The address of the page, with the token at its end.
    pub fn url(&self) -> String {
        format!("{}/#{}", self.listener.url(), self.app.access.token())
    }

    /// Serves until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// The system does not accept connections.
    pub fn run(self) -> anyhow::Result<()> {
        self.listener.run(routes::router(self.app))
    }
}
