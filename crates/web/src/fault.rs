//! Why there is no answer.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use perk_profile::units::printable;

use crate::recording_store::StoreFault;
use crate::reply::Reply;

/// A status and a line that says what is wrong and what to do.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) line: String,
}

impl Fault {
    /// The question is wrong.
    pub(crate) fn question(line: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, line: line.into() }
    }

    /// There is nothing of that name.
    pub(crate) fn nothing(line: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, line: line.into() }
    }

    /// The source is not as it was, or cannot be read.
    pub(crate) fn source(line: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, line: line.into() }
    }
}

/// A question that a profile cannot answer, or a store.
impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Self {
        let line = format!("{error:#}");
        match error.downcast_ref::<StoreFault>() {
            Some(StoreFault::Nothing(_)) => Self::nothing(line),
            Some(StoreFault::Unreadable(_)) => Self::source(line),
            None => Self::question(line),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let line: Vec<_> = self.line.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        let error = serde_json::json!({ "error": printable(&line.join(" ")) });
        (self.status, Reply::json(&error)).into_response()
    }
}
