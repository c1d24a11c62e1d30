//! The addresses of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use crate::app::App;
use crate::assets;
use crate::fault::Fault;
use crate::guard::{self, BODY_BYTES, SESSION};
use crate::question::Question;
use crate::reply::Reply;
use crate::views::{diff, export, flame, heap, history, lanes, live, report, times};

/// How long the body of a request may take.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// The router of all addresses.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(shell))
        .route("/s/{*rest}", get(shell))
        .route("/assets/{*path}", get(asset))
        .route(SESSION, post(session))
        .route("/api/sources", get(sources))
        .route("/api/diff", comparison(diff::diff))
        .route("/api/diff/flame", comparison(diff::flame))
        .route("/api/{source}/{view}", get(view))
        .route("/api/{source}/heap/{view}", get(heap_view))
        .fallback(|| async { Fault::nothing("there is nothing under this address") })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

/// The page, which asks for the rest.
async fn shell() -> Response {
    file("index.html")
}

async fn asset(Path(path): Path<String>) -> Response {
    file(&path)
}

fn file(path: &str) -> Response {
    let Some((bytes, mime)) = assets::asset(path) else {
        return Fault::nothing("there is nothing under this address").into_response();
    };
    let mut response = Reply::of(bytes.to_vec(), mime).into_response();
    // Another perk has another page.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Gives a cookie for the token.
async fn session(State(app): State<Arc<App>>, body: Body) -> Response {
    let read = axum::body::to_bytes(body, BODY_BYTES);
    let Ok(Ok(token)) = tokio::time::timeout(BODY_LIMIT, read).await else {
        let line = format!("the token did not come, or is longer than {BODY_BYTES} bytes");
        return Fault { status: StatusCode::PAYLOAD_TOO_LARGE, line }.into_response();
    };
    let token = String::from_utf8_lossy(&token);
    let cookie = app.access.exchange(token.trim());
    match cookie.and_then(|it| HeaderValue::from_str(&it).ok()) {
        Some(cookie) => (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response(),
        None => {
            let line = "wrong token: open the address that perk serve printed".to_owned();
            Fault { status: StatusCode::UNAUTHORIZED, line }.into_response()
        }
    }
}

async fn sources(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    app.work(&headers, |app| Ok(Reply::json(&app.sources.list()))).await
}

/// The route of a comparison, which names its sources in the question.
fn comparison(answer: fn(&App, &Question) -> Result<Reply, Fault>) -> MethodRouter<Arc<App>> {
    get(async move |State(app): State<Arc<App>>, RawQuery(query): RawQuery, headers: HeaderMap| {
        app.work(&headers, move |app| answer(app, &Question::of_query(query.as_deref()))).await
    })
}

async fn view(
    State(app): State<Arc<App>>,
    Path((id, view)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.work(&headers, move |app| {
        let (source, question) = app.asked(&id, query.as_deref())?;
        match &*view {
            "report" => report::report(app, &source, &question),
            "source" => report::source(app, &source, &question),
            "files" => report::files(app, &source, &question),
            "fields" => report::fields(app, &source, &question),
            "flame" => flame::flame(app, &source, &question),
            "search" => flame::search(app, &source, &question),
            "timeline" => times::timeline(app, &source, &question),
            "heatmap" => times::heat_map(app, &source, &question),
            "lanes" => lanes::lanes(app, &source, &question),
            "thread-states" => lanes::states(app, &source, &question),
            "strip" => times::strip(app, &source, &question),
            "collections" => times::collections(app, &source, &question),
            "history" => history::history(app, &source, &question),
            "labels" => history::labels(&source, &question),
            "export" => export::export(app, &source, &question),
            "live" => live::live(app, &source, &question),
            "live-threads" => live::threads(app, &source, &question),
            "thread-dump" => live::thread_dump(&source, &question),
            other => Err(Fault::nothing(format!(
                "there is no {other} of a source: there are report, source, files, fields, flame, search, timeline, lanes, \
                 thread-states, heatmap, strip, collections, history, export and heap; of a running JVM also live, live-threads and \
                 thread-dump; of a service of a store labels"
            ))),
        }
    })
    .await
}

async fn heap_view(
    State(app): State<Arc<App>>,
    Path((id, view)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.work(&headers, move |app| {
        let (source, question) = app.asked(&id, query.as_deref())?;
        heap::heap(app, &source, &view, &question)
    })
    .await
}
