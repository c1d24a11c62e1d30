//! Pushes of older profilers: `/ingest`, a profile each.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use perk_formats::by_name;
use perk_profile::{Event, Metric, Profile};

use super::add::{checked_labels, read};
use super::api::Api;
use super::fault::Fault;
use super::limits::UNPACKED_BYTES;
use super::multipart;
use super::rpc;
use crate::series_names::SERVICE_NAME;

/// The samples of a second, if a push does not say how many.
const SAMPLE_RATE: u64 = 100;

/// Adds a profile.
pub(super) async fn ingest(State(api): State<Arc<Api>>, request: Request) -> Response {
    let added = async {
        api.rate.count()?;
        let _place = api.pushes.take().await?;
        let query = IngestQuery::parse(request.uri().query().unwrap_or_default())?;
        let labels = checked_labels(labels_of_name(&query.name)?)?;
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let body = rpc::body(request, UNPACKED_BYTES).await?;
        let created_ms = query.from_ms;
        api.add(labels, created_ms, move || Ok(vec![query.profile(&content_type, body)?])).await
    };
    match added.await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(fault) => fault.into_response(),
    }
}

/// The query of a push.
#[derive(Debug, Default)]
struct IngestQuery {
    name: String,
    from_ms: Option<i64>,
    format: String,
    sample_rate: Option<u64>,
    units: String,
}

impl IngestQuery {
    fn parse(query: &str) -> Result<Self, Fault> {
        let mut this = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let number = || {
                let fault = || Fault::argument(format!("{key}={value} is no whole number"));
                value.parse::<u64>().map_err(|_| fault())
            };
            match &*key {
                "name" => this.name = value.into_owned(),
                "from" => this.from_ms = Some(milliseconds(number()?)),
                "format" => this.format = value.into_owned(),
                "sampleRate" => this.sample_rate = Some(number()?),
                "units" => this.units = value.into_owned(),
                _ => {}
            }
        }
        match this.name.is_empty() {
            true => Err(Fault::argument("the push has no name: use name=SERVICE")),
            false => Ok(this),
        }
    }

    /// The profile of a body.
    fn profile(&self, content_type: &str, body: Vec<u8>) -> Result<Profile, Fault> {
        let parts = multipart::parts(content_type, &body)?;
        let part = |name: &str| {
            let parts = parts.as_deref()?;
            Some(parts.iter().find(|it| it.0 == name)?.1.to_vec())
        };
        if part("prev_profile").is_some() {
            return Err(Fault::unknown(
                "perk takes no differences of profiles: push each one's own numbers",
            ));
        }
        let has_parts = parts.is_some();
        let of_part = |name: &str| {
            part(name).ok_or_else(|| Fault::argument(format!("the body has no part {name}")))
        };
        let (format, bytes) = match &*self.format {
            "pprof" if has_parts => ("pprof", of_part("profile")?),
            "jfr" if has_parts => ("jfr", of_part("jfr")?),
            // What has no format of its own has parts with pprof.
            "" if part("profile").is_some() => ("pprof", of_part("profile")?),
            "pprof" | "jfr" => (&*self.format, body),
            "" | "folded" | "groups" | "collapsed" => ("collapsed", body),
            "lines" => ("collapsed", counted(&body)),
            other => {
                let line =
                    format!("perk does not take the format {other}: use pprof, jfr or folded");
                return Err(Fault::unknown(line));
            }
        };
        let is_of_stacks = format == "collapsed";
        if is_of_stacks && !["", "samples"].contains(&&*self.units) {
            let line = format!("perk takes no stacks of {}: use pprof", self.units);
            return Err(Fault::unknown(line));
        }
        let format = by_name(format).ok_or_else(|| Fault::unknown("perk does not read this"))?;
        let mut profile = read(bytes, format)?;
        if is_of_stacks {
            let rate = self.sample_rate.unwrap_or(SAMPLE_RATE).max(1);
            set_interval(&mut profile, 1_000_000_000 / rate);
        }
        Ok(profile)
    }
}

/// A time in seconds, or in a smaller unit, as milliseconds since 1970.
fn milliseconds(time: u64) -> i64 {
    let ms = match time {
        0..100_000_000_000 => time * 1000,
        100_000_000_000..100_000_000_000_000 => time,
        100_000_000_000_000..100_000_000_000_000_000 => time / 1000,
        _ => time / 1_000_000,
    };
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Lines with a stack each, as stacks with counts.
fn counted(lines: &[u8]) -> Vec<u8> {
    let lines = lines.split(|it| *it == b'\n').filter(|it| !it.is_empty());
    lines.flat_map(|line| [line, b" 1\n"].concat()).collect()
}

/// Sets the CPU time that a sample represents.
fn set_interval(profile: &mut Profile, interval_ns: u64) {
    for event in &mut profile.events {
        let Event::Section(section) = event else { continue };
        for column in &mut section.head.columns {
            if column.metric == Metric::Samples {
                column.period = Some(interval_ns);
            }
        }
    }
}

/// The labels of a name `shop{version=1,host=a}`.
fn labels_of_name(name: &str) -> Result<Vec<(String, String)>, Fault> {
    let fault =
        || Fault::argument(format!("{name:?} is no name: use one such as shop{{version=1}}"));
    let (service, labels) = match name.split_once('{') {
        Some((service, labels)) => (service, labels.strip_suffix('}').ok_or_else(fault)?),
        None => (name, ""),
    };
    let mut found = vec![(SERVICE_NAME.to_owned(), service.trim().to_owned())];
    for label in labels.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let (key, value) = label.split_once('=').ok_or_else(fault)?;
        let value = value.trim().trim_matches('"');
        // The name has the service already.
        if key.trim() != SERVICE_NAME {
            found.push((key.trim().to_owned(), value.to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_labels() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let service = pair(SERVICE_NAME, "shop");
        for name in ["shop", "shop{}"] {
            assert_eq!(labels_of_name(name).unwrap(), std::slice::from_ref(&service));
        }
        let found = labels_of_name("shop{version=1, host=\"a\",service_name=b}").unwrap();
        assert_eq!(found, [service, pair("version", "1"), pair("host", "a")]);
        for name in ["shop{", "shop{a}", "shop{a=1"] {
            assert!(labels_of_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn times_have_several_units() {
        for time in [1_795_201_231, 1_795_201_231_000, 1_795_201_231_000_000] {
            assert_eq!(milliseconds(time), 1_795_201_231_000);
        }
        assert_eq!(milliseconds(1_795_201_231_000_000_000), 1_795_201_231_000);
    }

    #[test]
    fn stacks_have_an_interval() {
        let query =
            IngestQuery::parse("name=shop&from=1795201231&sampleRate=50&units=samples").unwrap();
        let profile = query.profile("", b"a;b 3\na 1\n".to_vec()).unwrap();
        assert_eq!(profile.sample_interval_ns(), Some(20_000_000));
        assert_eq!(Metric::Samples.total(&profile), 4);
        let query = IngestQuery::parse("name=shop&format=lines").unwrap();
        let profile = query.profile("", b"a;b\na;b\n\na".to_vec()).unwrap();
        assert_eq!(Metric::Samples.total(&profile), 3);
        for query in ["", "name=", "name=a&from=x", "name=a&sampleRate=-1"] {
            assert!(IngestQuery::parse(query).is_err(), "{query}");
        }
        for query in ["name=a&format=trie", "name=a&units=bytes", "name=a&format=pprof"] {
            let query = IngestQuery::parse(query).unwrap();
            assert!(query.profile("", b"a 1\n".to_vec()).is_err(), "{query:?}");
        }
    }
}
