//! Pyroscope's API over a store: queries as Grafana makes them, and pushes as profilers make them.
//!
//! Queries and pushes of series are calls of the protocol Connect (`rpc.rs`). `guard.rs` decides who may ask,
//! `limits.rs` how much. A query is a part of the store (`part.rs`), which is answered with labels (`labels.rs`), with
//! a course (`course.rs`) or with stacks (`flame.rs`, `merged.rs`). A push becomes a recording of the store (`add.rs`),
//! in whatever form it comes (`push.rs`, `ingest.rs`, `otlp.rs`).

mod add;
mod api;
mod course;
mod fault;
mod flame;
mod guard;
mod ingest;
mod labels;
mod limits;
mod merged;
mod multipart;
mod otlp;
mod part;
mod push;
mod rpc;
mod selector;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use perk_store::Store;
use perk_tables::Limits;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

use api::Api;
pub(crate) use api::Options;
use fault::Fault;
pub(crate) use limits::PushLimits;
use limits::QUERY_BYTES;

/// The API over a store, whose queries may take as much as `limits` says.
pub(crate) fn router(store: Store, limits: Limits, options: Options) -> Router {
    let api = Arc::new(Api::new(store, limits, options));
    let querier = Router::new()
        .route("/ProfileTypes", query(labels::profile_types))
        .route("/LabelNames", query(labels::label_names))
        .route("/LabelValues", query(labels::label_values))
        .route("/Series", query(labels::series))
        .route("/SelectSeries", query(course::select_series))
        .route("/SelectMergeStacktraces", query(flame::select_merge_stacktraces))
        .route("/SelectMergeSpanProfile", query(flame::select_merge_span_profile))
        .route("/SelectMergeProfile", query(merged::select_merge_profile));
    Router::new()
        .nest("/querier.v1.QuerierService", querier)
        .route("/push.v1.PusherService/Push", post(push::push))
        .route("/ingest", post(ingest::ingest))
        .route("/v1development/profiles", post(otlp::export))
        .route("/ready", get("ready\n"))
        .fallback(async || Fault::unknown("perk does not answer this address").into_response())
        // Each route reads its body itself, in bounds.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(&api), guard::guard))
        .with_state(api)
}

/// A method of the querier.
fn query<Q, A, F>(answer: fn(Arc<Api>, Q) -> F) -> MethodRouter<Arc<Api>>
where
    Q: Message + Default + DeserializeOwned + 'static,
    A: Message + Serialize + 'static,
    F: Future<Output = Result<A, Fault>> + Send + 'static,
{
    post(async move |State(api): State<Arc<Api>>, request: Request| -> Response {
        let answered = async {
            let _place = api.queries.take().await?;
            let answer = async |question| answer(Arc::clone(&api), question).await;
            rpc::answer(request, QUERY_BYTES, answer).await
        };
        answered.await.unwrap_or_else(IntoResponse::into_response)
    })
}
