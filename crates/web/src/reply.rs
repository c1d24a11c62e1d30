//! What an answer is as bytes.

use std::io::Write;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, VARY,
};
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What is longer is packed for clients that unpack it.
const PACKED_BYTES: usize = 10 << 10;
/// The header that names the version of the source that an answer is of.
const VERSION: &str = "perk-version";

/// The bytes of an answer.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mime: &'static str,
    /// The version of the source.
    pub(crate) version: Option<u64>,
    /// The name under which a browser keeps it.
    pub(crate) file: Option<String>,
    is_packed: bool,
}

impl Reply {
    /// A JSON document.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { bytes: value.to_string().into_bytes(), mime: JSON, ..Self::default() }
    }

    /// Bytes of a type.
    pub(crate) fn of(bytes: Vec<u8>, mime: &'static str) -> Self {
        Self { bytes, mime, ..Self::default() }
    }

    /// The answer is of this version of the source.
    pub(crate) fn version(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// A browser keeps the answer as a file of this name.
    pub(crate) fn file(self, name: String) -> Self {
        Self { file: Some(name), ..self }
    }

    /// Packs what is long, if `is_accepted`.
    pub(crate) fn packed(mut self, is_accepted: bool) -> Self {
        if !is_accepted || self.bytes.len() < PACKED_BYTES {
            return self;
        }
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        if packer.write_all(&self.bytes).is_ok()
            && let Ok(packed) = packer.finish()
        {
            (self.bytes, self.is_packed) = (packed, true);
        }
        self
    }
}

pub(crate) const JSON: &str = "application/json";

impl IntoResponse for Reply {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.bytes));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.mime));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if self.is_packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(version) = self.version {
            headers.insert(VERSION, version.into());
        }
        // Letters, digits and a few signs alone: the name needs no escapes.
        let file = self.file.map(|name| format!("attachment; filename=\"{name}\""));
        if let Some(value) = file.and_then(|it| HeaderValue::from_str(&it).ok()) {
            headers.insert(CONTENT_DISPOSITION, value);
        }
        response
    }
}
