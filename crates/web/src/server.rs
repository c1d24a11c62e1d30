//! The server: it listens, limits connections, and ends at Ctrl-C.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::access::Access;
use crate::app::App;
use crate::connections::{Connection, Connections};
use crate::live::LiveSource;
use crate::patient::PatientStream;
use crate::routes;
use crate::sources::Sources;
use crate::stored::RecordingStore;

/// How long a client may take for the head of a request, and how long a connection without one stays.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 64 << 10;
/// Threads that take requests; others work on them.
const THREADS: usize = 2;
/// The stack of a thread that works, which is as large as that of the command line.
const STACK_BYTES: usize = 8 << 20;
/// How long the server waits before it accepts again where the system has no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
content-type: application/json\r\ncontent-length: 55\r\n\r\n{\"error\": \"too many connections at once: try it again\"}";

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
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    runtime: Runtime,
    /// SIGINT and SIGTERM: whoever has the address can end the server.
    signals: [Signal; 2],
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// An input is not there, the address cannot be had, or the system has no threads or signals for it.
    pub fn bind(options: Options) -> anyhow::Result<Self> {
        let Options { inputs, jvms, stores, host, port, token, source_folders, read } = options;
        if !host.is_loopback() && token.is_none() {
            bail!(
                "--host {host}: others can reach this address: name a file with a token with --token-file"
            );
        }
        let sources = Sources::new(&inputs, jvms, stores)?;
        let wanted = SocketAddr::new(host, port);
        let listener = TcpListener::bind(wanted).with_context(|| match port {
            0 => format!("cannot listen on {host}"),
            port => format!("cannot listen on port {port} of {host} (--port 0 takes a free one)"),
        })?;
        let address = listener.local_addr().context("cannot listen")?;
        let access = Access::new(address.port(), token)?;
        let app = Arc::new(App::new(access, sources, source_folders, read));
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_stack_size(STACK_BYTES)
            .thread_name("perk serve")
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let signals = {
            let _inside = runtime.enter();
            let wait = |kind| signal(kind).context("cannot wait for signals");
            [wait(SignalKind::interrupt())?, wait(SignalKind::terminate())?]
        };
        Ok(Self { listener, address, app, runtime, signals })
    }

    /// The address of the page, with the token at its end.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            // Any address of the machine would do; this one always does here.
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/#{}", self.app.access.token())
    }

    /// Serves until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// The system does not accept connections.
    pub fn run(self) -> anyhow::Result<()> {
        let Self { listener, app, runtime, signals, .. } = self;
        let ended = runtime.block_on(accept(listener, app, signals));
        // A question that takes long does not keep the user waiting.
        runtime.shutdown_background();
        ended
    }
}

/// Accepts connections until a signal comes.
async fn accept(
    listener: TcpListener,
    app: Arc<App>,
    [mut interrupt, mut terminate]: [Signal; 2],
) -> anyhow::Result<()> {
    listener.set_nonblocking(true).context("cannot listen")?;
    let listener = tokio::net::TcpListener::from_std(listener).context("cannot listen")?;
    let router = routes::router(app);
    let connections = Arc::<Connections>::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        match connections.add() {
            Some(connection) => {
                let (router, connections) = (router.clone(), Arc::clone(&connections));
                tokio::spawn(async move {
                    serve(stream, router, &connection).await;
                    connections.remove(&connection);
                });
            }
            // What does not fit into the system's buffer is not sent.
            None => drop(stream.try_write(BUSY)),
        }
    }
}

/// Answers the requests of a connection until it ends.
async fn serve(stream: TcpStream, router: Router, connection: &Arc<Connection>) {
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(|request| {
        let mark = connection.busy();
        let response = router.call(request);
        async move {
            let response = response.await;
            drop(mark);
            response.map_err(|never: Infallible| match never {})
        }
    });
    let answered = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(PatientStream::new(stream)), service);
    // A client may break the rules, or leave: that is not an error of the server.
    tokio::select! {
        _ = answered => {}
        () = connection.end.notified() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_has_its_length() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert!(serde_json::from_str::<serde_json::Value>(body).unwrap()["error"].is_string());
    }
}
