//! Why there is no answer, as the protocol Connect says it.

use std::fmt::Write;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use perk_profile::units::printable;
use serde_json::json;

use crate::talk::say;

/// A status, Connect's word for it, and a line that says what is wrong and what to do.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    code: &'static str,
    pub(super) line: String,
}

impl Fault {
    fn new(status: StatusCode, code: &'static str, line: impl Into<String>) -> Self {
        Self { status, code, line: line.into() }
    }

    /// The request is wrong.
    pub(super) fn argument(line: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_argument", line)
    }

    /// The request has another form.
    pub(super) fn form(line: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_argument", line)
    }

    /// perk does not do this.
    pub(super) fn unknown(line: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "unimplemented", line)
    }

    /// The request is too large.
    pub(super) fn size(line: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "resource_exhausted", line)
    }

    /// There are too many requests, or too many of what they have.
    pub(super) fn rate(line: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "resource_exhausted", line)
    }

    /// The request has no right token.
    pub(super) fn token(line: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", line)
    }

    /// The request comes from where none may come from.
    pub(super) fn origin(line: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "permission_denied", line)
    }

    /// The request did not come to its end.
    pub(super) fn time(line: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "deadline_exceeded", line)
    }

    /// The store cannot be read or written. Only its owner learns why.
    pub(super) fn store(error: &anyhow::Error) -> Self {
        say(format_args!("{error:#}"));
        let line = "the store cannot be read or written: the terminal of perk serve has the reason";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", line)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut line = String::new();
        for part in self.line.lines().map(str::trim).filter(|it| !it.is_empty()) {
            let _ = write!(line, "{}{part}", if line.is_empty() { "" } else { " " });
        }
        let body = json!({ "code": self.code, "message": printable(&line) }).to_string();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
