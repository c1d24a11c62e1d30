//! Requests for Pyroscope: `push.v1.PusherService/Push`, with a profile in pprof for each series, and the older
//! `/ingest`, a request for each.
//!
//! Sources: `push.proto`, `types.proto` and the rules for labels of Pyroscope.

use std::io;
use std::time::Duration;

use perk_formats::pprof;
use prost::Message;
use reqwest::Url;
use uuid::Uuid;

use super::deliver::HttpRequest;
use super::identity::Identity;
use super::profile_file::{FILE_LABEL, ProfileFile, TRIGGER_LABEL};
use crate::gzip::packed;
use crate::pyroscope_messages::{LabelPair, PushRequest, RawProfileSeries, RawSample};
use crate::series::{Selection, SeriesSet};
use crate::series_names::{NAME, SERVICE_NAME, TRACE_ID, label_name};

const PUSH: &str = "/push.v1.PusherService/Push";
const INGEST: &str = "/ingest";

/// The request with all series of a file. `None` if it has none.
///
/// # Errors
/// A series cannot be written.
pub(super) fn push(file: &ProfileFile, identity: &Identity) -> io::Result<Option<HttpRequest>> {
    let mut series = Vec::new();
    visit(file, identity, |name, raw_profile| {
        let id = series_id(&file.id, name).to_string();
        let labels = [(NAME.to_owned(), name.to_owned())].into_iter().chain(labels(file, identity));
        let labels = labels.map(|(name, value)| LabelPair { name, value }).collect();
        series.push(RawProfileSeries { labels, samples: vec![RawSample { raw_profile, id }] });
    })?;
    if series.is_empty() {
        return Ok(None);
    }
    let body = packed(&PushRequest { series }.encode_to_vec())?;
    let content_type = "application/proto";
    Ok(Some(HttpRequest { path: PUSH.to_owned(), content_type, is_packed: true, body }))
}

/// The requests with a series of a file each, and their names.
///
/// # Errors
/// A series cannot be written.
pub(super) fn ingest(
    file: &ProfileFile,
    identity: &Identity,
) -> io::Result<Vec<(String, HttpRequest)>> {
    let mut requests = Vec::new();
    let name = service_with_labels(file, identity);
    let begin = file.profile.created.unwrap_or_default().unix_ms / 1000;
    let length = file.accounting().map_or(0, |it| it.wall_ns);
    let end = begin + Duration::from_nanos(length).as_secs() + 1;
    let query = [
        ("name", &*name),
        ("from", &begin.to_string()),
        ("until", &end.to_string()),
        ("format", "pprof"),
        ("spyName", "perk"),
    ];
    let url = Url::parse_with_params("http://host", query).map_err(io::Error::other)?;
    visit(file, identity, |name, profile| {
        let path = format!("{INGEST}?{}", url.query().unwrap_or_default());
        let content_type = "application/octet-stream";
        let request =
            packed(&profile).map(|body| HttpRequest { path, content_type, is_packed: false, body });
        requests.push(request.map(|request| (name.to_owned(), request)));
    })?;
    requests.into_iter().collect()
}

/// Visits the series with labels of their own, in pprof.
fn visit(
    file: &ProfileFile,
    identity: &Identity,
    mut visit: impl FnMut(&str, Vec<u8>),
) -> io::Result<()> {
    // Labels of samples are series of their own: threads and traces would be too many.
    let label = |key: &str| !is_of_series(key, identity) && key != FILE_LABEL && key != TRACE_ID;
    let series =
        SeriesSet::of(&file.profile, Selection { threads: false, label: &label, others: false });
    series.visit(|name, profile| {
        let mut bytes = Vec::new();
        pprof::write(profile, &mut bytes)?;
        visit(name, bytes);
        Ok(())
    })
}

fn is_of_series(key: &str, identity: &Identity) -> bool {
    key == TRIGGER_LABEL || identity.labels().any(|it| it.0 == key)
}

/// The labels of the series of a file, without their names.
fn labels(file: &ProfileFile, identity: &Identity) -> impl Iterator<Item = (String, String)> {
    let reason = file.reason.as_deref().map(|reason| (TRIGGER_LABEL, reason));
    let all = identity.labels().chain(reason).map(|(key, value)| {
        let key = if key == Identity::SERVICE { SERVICE_NAME.to_owned() } else { label_name(key) };
        (key, value.to_owned())
    });
    // Pyroscope refuses a name that is there twice.
    all.collect::<std::collections::BTreeMap<_, _>>().into_iter()
}

/// The service and its labels as one text: `shop{version=1,host=a}`.
fn service_with_labels(file: &ProfileFile, identity: &Identity) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if "{}=,\"".contains(c) { '_' } else { c }).collect()
    };
    let labels = labels(file, identity).filter(|it| it.0 != SERVICE_NAME);
    let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={}", plain(&value))).collect();
    format!("{}{{{}}}", plain(identity.service()), labels.join(","))
}

/// What distinguishes a series of a file from all others: a repeat has the same.
pub(super) fn series_id(file: &str, series: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("perk:{file}/{series}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_a_file_has_one_id() {
        let id = series_id("web1-4711-9c1f03aa", "memory");
        assert_eq!(id, series_id("web1-4711-9c1f03aa", "memory"));
        assert_ne!(id, series_id("web1-4711-9c1f03aa", "wall"));
        assert_eq!(id.get_version_num(), 5);
    }
}
