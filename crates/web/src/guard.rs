//! What every request has to pass, and what every response says.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderName, ORIGIN, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::is_address;
use crate::app::App;
use crate::fault::Fault;

/// The most bytes of the body of a request.
pub(crate) const BODY_BYTES: usize = 64 << 10;

/// What a page may load and do: its own scripts and styles, questions to this server, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 4] = [
    (HeaderName::from_static("content-security-policy"), POLICY),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The one address that is answered without a cookie: it gives one.
pub(crate) const SESSION: &str = "/api/session";

/// Lets a request pass, or says why not.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let checked = check(&app, request.uri().path(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn check(app: &App, path: &str, headers: &HeaderMap) -> Result<(), Fault> {
    let refused = |line: &str| Fault { status: StatusCode::FORBIDDEN, line: line.to_owned() };
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    let host = text(HOST).filter(|_| headers.get_all(HOST).iter().count() == 1);
    let host = host.ok_or_else(|| Fault::question("the request has no host"))?;
    if !is_address(host) {
        return Err(refused(
            "name this machine by its address, such as 127.0.0.1, and not by a name",
        ));
    }
    let is_own = |origin: &HeaderValue| {
        origin.to_str().ok().and_then(|it| it.strip_prefix("http://")) == Some(host)
    };
    if !headers.get_all(ORIGIN).iter().all(is_own) {
        return Err(refused("pages of other servers cannot ask"));
    }
    let length =
        headers.get(CONTENT_LENGTH).map(|it| it.to_str().unwrap_or_default().parse::<u64>());
    if length.is_some_and(|it| it.is_ok_and(|bytes| bytes > BODY_BYTES as u64)) {
        let line = format!("the request is longer than {BODY_BYTES} bytes");
        return Err(Fault { status: StatusCode::PAYLOAD_TOO_LARGE, line });
    }
    if !path.starts_with("/api/") {
        return Ok(());
    }
    // What a browser says about who asks: a page of this server, or the user.
    let site = text(HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|it| !["same-origin", "none"].contains(&it)) {
        return Err(refused("pages of other servers cannot ask"));
    }
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    if path != SESSION && !cookies.any(|it| app.access.admits(it)) {
        let line = "open the address that perk serve printed: its end is the key".to_owned();
        return Err(Fault { status: StatusCode::UNAUTHORIZED, line });
    }
    Ok(())
}
