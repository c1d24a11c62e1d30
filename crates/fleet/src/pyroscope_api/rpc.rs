//! Calls of the protocol Connect: a message in a body, and one in the answer, as a protocol buffer or as JSON.

use std::error::Error;
use std::io::Read;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use flate2::read::MultiGzDecoder;
use futures::StreamExt;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::fault::Fault;
use super::limits::{BODY_TIME, PACKED_BYTES, REFUSED_BYTES};
use crate::gzip::packed;

/// What is longer is packed for clients that unpack it.
const PACKED_FROM: usize = 4 << 10;

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    Proto,
    Json,
}

impl Codec {
    fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim() {
            "application/proto" => Ok(Codec::Proto),
            "application/json" => Ok(Codec::Json),
            _ => Err(Fault::form("send application/proto or application/json, as Connect does")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Codec::Proto => "application/proto",
            Codec::Json => "application/json",
        }
    }
}

/// Answers a call, whose message may have this number of bytes.
///
/// # Errors
/// The call is wrong, or has no answer.
pub(super) async fn answer<Q, A>(
    request: Request,
    most_bytes: usize,
    answer: impl AsyncFnOnce(Q) -> Result<A, Fault>,
) -> Result<Response, Fault>
where
    Q: Message + Default + DeserializeOwned,
    A: Message + Serialize,
{
    let codec = Codec::of(request.headers())?;
    let accepted = request.headers().get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
    let is_accepted = accepted.is_some_and(|it| it.split(',').any(|one| one.trim() == "gzip"));
    let body = body(request, most_bytes).await?;
    let fault = |error: &dyn Error| Fault::argument(format!("the message cannot be read: {error}"));
    let question = match codec {
        Codec::Proto => Q::decode(&*body).map_err(|error| fault(&error))?,
        Codec::Json if body.is_empty() => Q::default(),
        Codec::Json => serde_json::from_slice(&body).map_err(|error| fault(&error))?,
    };
    drop(body);
    let answer = answer(question).await?;
    let mut bytes = match codec {
        Codec::Proto => answer.encode_to_vec(),
        Codec::Json => serde_json::to_vec(&answer).map_err(|error| fault(&error))?,
    };
    let is_packed = is_accepted && bytes.len() >= PACKED_FROM;
    if is_packed {
        bytes = packed(&bytes).map_err(|error| fault(&error))?;
    }
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(codec.name()));
    if is_packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// The body of a request, unpacked to this number of bytes at most.
///
/// # Errors
/// It is too long, takes too long, or is packed in another way than by gzip.
pub(super) async fn body(request: Request, most_bytes: usize) -> Result<Vec<u8>, Fault> {
    let packing = request.headers().get(CONTENT_ENCODING).map(|it| it.to_str().unwrap_or("?"));
    let is_packed = match packing.unwrap_or("identity") {
        "identity" => false,
        "gzip" => true,
        other => return Err(Fault::form(format!("the body is packed by {other:?}: use gzip"))),
    };
    let read = timeout(BODY_TIME, read(request.into_body())).await;
    let bytes = read.map_err(|_| Fault::time("the body took too long"))??;
    let bytes = if is_packed { unpacked(&bytes, most_bytes)? } else { bytes };
    match bytes.len() > most_bytes {
        true => Err(Fault::size(format!(
            "the body has more than {} MiB when it is unpacked: send less at once",
            most_bytes >> 20
        ))),
        false => Ok(bytes),
    }
}

/// The bytes of a body.
async fn read(body: Body) -> Result<Vec<u8>, Fault> {
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    let mut parts = body.into_data_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Fault::argument("the body does not come to its end"))?;
        length = length.saturating_add(part.len());
        if length <= PACKED_BYTES {
            bytes.extend_from_slice(&part);
        } else if length <= REFUSED_BYTES {
            // Most clients read an answer only after they have sent all.
            bytes = Vec::new();
        } else {
            break;
        }
    }
    match length > PACKED_BYTES {
        true => Err(Fault::size(format!(
            "the body has more than {} MiB: send less at once",
            PACKED_BYTES >> 20
        ))),
        false => Ok(bytes),
    }
}

/// Unpacks gzip, as far as it is seen that there are more than this number of bytes.
fn unpacked(bytes: &[u8], most_bytes: usize) -> Result<Vec<u8>, Fault> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most_bytes as u64 + 1).read_to_end(&mut plain);
    read.map_err(|_| Fault::argument("the body is no gzip, or is cut off"))?;
    Ok(plain)
}
