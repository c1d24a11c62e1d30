//! Who may ask.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use perk_web::{is_address, is_same};

use super::api::Api;
use super::fault::Fault;

/// Lets a request pass, or says why not.
pub(super) async fn guard(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    match check(api.token.as_deref(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

fn check(token: Option<&str>, headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    if let Some(token) = token {
        let given = text(AUTHORIZATION).and_then(|it| it.split_once(' '));
        let given = given.filter(|it| it.0.eq_ignore_ascii_case("bearer")).map(|it| it.1.trim());
        return match given.is_some_and(|it| is_same(it, token)) {
            true => Ok(()),
            false => Err(Fault::token(
                "send the token of perk serve's --token-file as Authorization: Bearer TOKEN",
            )),
        };
    }
    // Without a token whoever is on this machine may ask, and no page of a browser on it.
    if headers.contains_key(ORIGIN) {
        return Err(Fault::origin("pages of a browser cannot ask"));
    }
    match text(HOST).is_some_and(is_address) {
        true => Ok(()),
        false => Err(Fault::origin(
            "name this machine by its address, such as 127.0.0.1, and not by a name; or use --token-file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue, StatusCode};

    use super::*;

    fn status(token: Option<&str>, headers: &[(HeaderName, &'static str)]) -> StatusCode {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        let checked = check(token, &headers.collect());
        checked.map_or_else(|fault| fault.into_response().status(), |()| StatusCode::OK)
    }

    #[test]
    fn a_token_admits() {
        let token = Some("secret");
        for (given, wanted) in [
            ("Bearer secret", StatusCode::OK),
            ("bearer secret", StatusCode::OK),
            ("Bearer secret2", StatusCode::UNAUTHORIZED),
            ("Basic secret", StatusCode::UNAUTHORIZED),
            ("secret", StatusCode::UNAUTHORIZED),
        ] {
            assert_eq!(status(token, &[(AUTHORIZATION, given)]), wanted, "{given}");
        }
        assert_eq!(status(token, &[(HOST, "127.0.0.1")]), StatusCode::UNAUTHORIZED);
        assert_eq!(
            status(token, &[(AUTHORIZATION, "Bearer secret"), (HOST, "a.b")]),
            StatusCode::OK
        );
    }

    #[test]
    fn pages_of_a_browser_cannot_ask() {
        assert_eq!(status(None, &[(HOST, "localhost:4040")]), StatusCode::OK);
        for headers in [
            &[][..],
            &[(HOST, "evil.com:4040")],
            &[(HOST, "127.0.0.1:4040"), (ORIGIN, "http://evil.com")],
        ] {
            assert_eq!(status(None, headers), StatusCode::FORBIDDEN, "{headers:?}");
        }
    }
}
