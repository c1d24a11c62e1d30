//! The addresses of the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use perk_analysis::flame::{FlameGraph, FlameIndex};
use perk_heap::Heap;
use perk_open::display_name;
use perk_report::{Answer, NamedItem, ProfileRequest, Selection};
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::assets;
use crate::cache::{Answers, Cache};
use crate::fault::Fault;
use crate::guard::{self, BODY_BYTES, SESSION};
use crate::question::Question;
use crate::reply::Reply;
use crate::sources::{Source, Sources};
use crate::views::{diff, export, flame, heap, report, times};

/// Questions that are worked on at once.
const WORKERS: usize = 2;
/// Answers that are kept: tables that are sorted and scrolled.
const ANSWERS: usize = 12;
/// Parts of profiles that are kept: each may take as much memory as the whole.
const PARTS: usize = 1;
/// Flame graphs that are kept: each takes 8 bytes for a node of the profile's tree.
const FLAMES: usize = 2;
/// How long the body of a request may take.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// All that requests share.
pub(crate) struct App {
    pub(crate) access: Access,
    pub(crate) sources: Sources,
    pub(crate) source_folders: Vec<PathBuf>,
    pub(crate) read: perk_open::Options,
    pub(crate) answers: Answers<Answer>,
    pub(crate) parts: Answers<Selection>,
    pub(crate) indexes: Answers<FlameIndex>,
    pub(crate) flames: Answers<FlameGraph>,
    profiles: Cache<Selection>,
    heaps: Cache<Heap>,
    workers: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(
        access: Access,
        sources: Sources,
        source_folders: Vec<PathBuf>,
        read: perk_open::Options,
    ) -> Self {
        Self {
            access,
            sources,
            source_folders,
            read,
            answers: Answers::new(ANSWERS),
            parts: Answers::new(PARTS),
            indexes: Answers::new(FLAMES),
            flames: Answers::new(FLAMES),
            profiles: Cache::default(),
            heaps: Cache::default(),
            workers: Arc::new(Semaphore::new(WORKERS)),
        }
    }

    /// The whole profile of a source.
    pub(crate) fn profile(&self, source: &Source) -> Result<Arc<Selection>, Fault> {
        self.profiles.get(source, || {
            let input = perk_open::profile(&source.path, &self.read)?;
            ProfileRequest::default().select(NamedItem::new(display_name(&source.path), input))
        })
    }

    /// The heap of a source. A large dump has its index beside it, as with `perk heap`.
    pub(crate) fn heap(&self, source: &Source) -> Result<Arc<Heap>, Fault> {
        self.heaps.get(source, || {
            perk_open::heap(&source.path, &perk_heap::Options::default(), &mut perk_heap::NoWatch)
        })
    }

    /// The source and the question of a request; a question about another version of it has no answer.
    fn asked(&self, id: &str, query: Option<&str>) -> Result<(Source, Question), Fault> {
        let source = self.sources.find(id)?;
        let question = Question::of_query(query);
        let version: Option<u64> = question.number("version")?;
        if version.is_some_and(|version| version != source.version) {
            return Err(Fault::source(format!("{} has changed: load it again", source.name)));
        }
        Ok((source, question))
    }

    /// Works on a question in a thread of its own, and packs the answer if the client unpacks it.
    async fn work(
        self: Arc<Self>,
        headers: &HeaderMap,
        answer: impl FnOnce(&Self) -> Result<Reply, Fault> + Send + 'static,
    ) -> Response {
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
        let is_packed = accepted.is_some_and(|it| it.split(',').any(|one| one.trim() == "gzip"));
        let Ok(permit) = Arc::clone(&self.workers).acquire_owned().await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let worker = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            answer(&self).map(|reply| reply.packed(is_packed))
        });
        match worker.await {
            Ok(reply) => reply.into_response(),
            Err(_) => {
                let line = "perk failed at this question: its terminal has the reason".to_owned();
                Fault { status: StatusCode::INTERNAL_SERVER_ERROR, line }.into_response()
            }
        }
    }
}

/// The router of all addresses.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(shell))
        .route("/s/{*rest}", get(shell))
        .route("/assets/{*path}", get(asset))
        .route(SESSION, post(session))
        .route("/api/sources", get(sources))
        .route("/api/diff", get(diff))
        .route("/api/diff/flame", get(diff_flame))
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

async fn diff(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.work(&headers, move |app| diff::diff(app, &Question::of_query(query.as_deref()))).await
}

async fn diff_flame(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.work(&headers, move |app| diff::flame(app, &Question::of_query(query.as_deref()))).await
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
            "flame" => flame::flame(app, &source, &question),
            "search" => flame::search(app, &source, &question),
            "timeline" => times::timeline(app, &source, &question),
            "heatmap" => times::heat_map(app, &source, &question),
            "collections" => times::collections(app, &source, &question),
            "export" => export::export(app, &source, &question),
            other => Err(Fault::nothing(format!(
                "there is no {other} of a source: there are report, source, flame, search, timeline, heatmap, \
                 collections, export and heap"
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
