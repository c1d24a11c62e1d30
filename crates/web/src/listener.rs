//! What takes connections: it listens, limits connections, and ends at Ctrl-C.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
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

use crate::connections::{Connection, Connections};
use crate::patient::PatientStream;

/// How long a client may take for the head of a request, and how long a connection without one stays.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 64 << 10;
/// The stack of a thread that works, which is as large as that of the command line.
const STACK_BYTES: usize = 8 << 20;
/// How long the server waits before it accepts again where the system has no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
content-type: application/json\r\ncontent-length: 55\r\n\r\n{\"error\": \"too many connections at once: try it again\"}";

/// What listens on an address.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    runtime: Runtime,
    /// SIGINT and SIGTERM: whoever has the address can end the server.
    signals: [Signal; 2],
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Listener {
    /// Whether a host may be listened on: one that others can reach needs a token.
    ///
    /// # Errors
    /// It needs one and there is none.
    pub fn check(host: IpAddr, token: Option<&str>) -> anyhow::Result<()> {
        if !host.is_loopback() && token.is_none() {
            bail!(
                "--host {host}: others can reach this address: name a file with a token with --token-file"
            );
        }
        Ok(())
    }

    /// Listens, with this number of threads that take requests.
    ///
    /// # Errors
    /// The address cannot be had, or the system has no threads or signals for it.
    pub fn bind(host: IpAddr, port: u16, threads: usize) -> anyhow::Result<Self> {
        let wanted = SocketAddr::new(host, port);
        let listener = TcpListener::bind(wanted).with_context(|| match port {
            0 => format!("cannot listen on {host}"),
            port => format!("cannot listen on port {port} of {host} (--port 0 takes a free one)"),
        })?;
        let address = listener.local_addr().context("cannot listen")?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(threads)
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
        Ok(Self { listener, address, runtime, signals })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients on this machine.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            // Any address of the machine would do; this one always does here.
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}")
    }

    /// Waits for a future, on the threads that take requests.
    pub fn wait_for<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Serves until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// The system does not accept connections.
    pub fn run(self, router: Router) -> anyhow::Result<()> {
        let Self { listener, runtime, signals, .. } = self;
        let ended = runtime.block_on(accept(listener, router, signals));
        // A question that takes long does not keep the user waiting.
        runtime.shutdown_background();
        ended
    }
}

/// Accepts connections until a signal comes.
async fn accept(
    listener: TcpListener,
    router: Router,
    [mut interrupt, mut terminate]: [Signal; 2],
) -> anyhow::Result<()> {
    listener.set_nonblocking(true).context("cannot listen")?;
    let listener = tokio::net::TcpListener::from_std(listener).context("cannot listen")?;
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
