//! A server as a destination. A file of its queue is a request: a head, and the body.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceResponse;
use perk_profile::units::printable;
use prost::Message;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response, StatusCode, Url};
use tokio::runtime::{Builder, Runtime};

use super::destination::{Destination, Failure};
use super::place::Protocol;

/// The time to connect, and that of a whole request.
pub(super) const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// The longest time to wait that a server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// The most of an answer that is read, and that is shown.
const MOST_BYTES: usize = 1 << 20;
const SHOWN_CHARS: usize = 200;
/// The end of the head of a request.
const HEAD_END: &[u8] = b"\n\n";

/// A request as it waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    /// The path below the server's address, with the query.
    pub(crate) path: String,
    /// The type of the body.
    pub(crate) content_type: &'static str,
    /// Whether the body is packed by gzip, and the server unpacks it.
    pub(crate) is_packed: bool,
    pub(crate) body: Vec<u8>,
}

impl HttpRequest {
    /// The request as bytes: a line each for the path, the type and the packing, an empty one, and the body.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let packing = if self.is_packed { "gzip" } else { "identity" };
        let head = format!("{}\n{}\n{packing}", self.path, self.content_type);
        [head.as_bytes(), HEAD_END, &self.body].concat()
    }
}

/// A request that was read from a queue.
struct Waiting {
    path: String,
    content_type: HeaderValue,
    packing: HeaderValue,
    body: Vec<u8>,
}

impl Waiting {
    fn read(mut bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.windows(HEAD_END.len()).position(|it| it == HEAD_END)?;
        let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
        bytes.drain(..end + HEAD_END.len());
        let mut lines = head.lines();
        let path = lines.next()?.to_owned();
        let content_type = lines.next()?.parse().ok()?;
        let packing = lines.next()?.parse().ok()?;
        Some(Self { path, content_type, packing, body: bytes })
    }
}

/// The server.
#[derive(Debug)]
pub(super) struct Server {
    base: Url,
    headers: HeaderMap,
    protocol: Protocol,
    client: Client,
    runtime: Runtime,
}

impl Server {
    /// The server at an address, whose certificate is of the system's authorities or of those in `ca`.
    ///
    /// # Errors
    /// `ca` cannot be read, in one line.
    pub(super) fn new(
        base: Url,
        protocol: Protocol,
        headers: HeaderMap,
        ca: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let client = Client::builder()
            .user_agent(concat!("perk/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECTS_WITHIN)
            // Another host would get the headers.
            .redirect(Policy::none())
            .timeout(ANSWERS_WITHIN);
        let client =
            certificates(ca)?.into_iter().fold(client, |it, more| it.add_root_certificate(more));
        let client = client.build().context("cannot speak HTTP")?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { base, headers, protocol, client, runtime })
    }

    /// The address of a request: that of the server, with the path and the query of both.
    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let base = url.path().trim_end_matches('/').to_owned();
        // The address may be that of the receiver itself.
        if !base.ends_with(path) {
            url.set_path(&format!("{base}{path}"));
        }
        let both = [self.base.query().unwrap_or_default(), query];
        let both: Vec<_> = both.into_iter().filter(|it| !it.is_empty()).collect();
        url.set_query((!both.is_empty()).then(|| both.join("&")).as_deref());
        url
    }

    async fn send(&self, request: Waiting) -> Result<(), Failure> {
        let sent = self
            .client
            .post(self.url(&request.path))
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, request.content_type);
        let is_plain = request.packing == "identity";
        let sent = if is_plain { sent } else { sent.header(CONTENT_ENCODING, request.packing) };
        let answer = sent.body(request.body).send().await.map_err(failed)?;
        let (status, after) = (answer.status(), wait(answer.headers()));
        let text = body(answer).await;
        if status.is_success() {
            let text = text.map_err(failed)?;
            return match self.protocol {
                Protocol::Otlp => taken(&text),
                Protocol::Push | Protocol::Ingest => Ok(()),
            };
        }
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        let line = text.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
        let line: String = printable(line).chars().take(SHOWN_CHARS).collect();
        let reason = format!("{status}{}{line}", if line.is_empty() { "" } else { ": " });
        match is_of_file(status) {
            true => Err(Failure::Refused(reason)),
            false => Err(Failure::Later { reason: anyhow!(reason), after }),
        }
    }
}

impl Destination for Server {
    fn deliver(&mut self, _: &Path, file: &Path) -> Result<(), Failure> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let Some(request) = Waiting::read(bytes) else {
            return Err(Failure::Refused("perk did not write this file".to_owned()));
        };
        self.runtime.block_on(self.send(request))
    }
}

/// Whether a status says that the server does not take this file, and will not. Others are of the address, of
/// who asks, or of the server's state.
fn is_of_file(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 414 | 415 | 422)
}

/// Whether OpenTelemetry's answer says that all was taken.
fn taken(answer: &[u8]) -> Result<(), Failure> {
    let answer = ExportProfilesServiceResponse::decode(answer);
    match answer.ok().and_then(|it| it.partial_success) {
        Some(it) if it.rejected_profiles > 0 => Err(Failure::Refused(it.error_message)),
        _ => Ok(()),
    }
}

/// The time that a server asks to wait, in seconds.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

async fn body(mut answer: Response) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        if body.len() + part.len() <= MOST_BYTES {
            body.extend_from_slice(&part);
        }
    }
    Ok(body)
}

/// A request that failed, in one line without its address.
fn failed(error: reqwest::Error) -> Failure {
    Failure::from(anyhow::Error::new(error.without_url()))
}

/// The certificates of a file in PEM.
///
/// # Errors
/// It cannot be read, in one line.
pub(super) fn certificates(ca: Option<&Path>) -> anyhow::Result<Vec<Certificate>> {
    let Some(path) = ca else { return Ok(Vec::new()) };
    let bytes = pem(path)?;
    let all = Certificate::from_pem_bundle(&bytes).ok().filter(|all| !all.is_empty());
    all.with_context(|| format!("--ca {} has no certificate in PEM", path.display()))
}

/// The bytes of a file of certificates.
pub(super) fn pem(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read --ca {}", path.display()))
}
