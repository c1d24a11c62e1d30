//! Services of stores: the part that a question is about.

use std::sync::Arc;

use anyhow::Context;
use perk_analysis::LabelPattern;
use perk_open::Input;
use perk_profile::Timestamp;
use perk_profile::units::printable;
use perk_report::parse;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::question::Question;
use crate::recording_store::{PartDetail, RecordingStore, Service, ServicePart};
use crate::sources::{Origin, Source};

/// A part of a service, as a source.
#[derive(Clone, Debug)]
pub(crate) struct ServiceMoment {
    pub(crate) store: Arc<dyn RecordingStore>,
    pub(crate) service: Service,
    /// All of the time that is looked at, in milliseconds since 1970.
    range_ms: (i64, i64),
    /// What distinguishes the numbers of that time from those that were there before.
    state: u64,
    part: ServicePart,
}

impl ServiceMoment {
    /// All that a store has of a service.
    fn new(store: &Arc<dyn RecordingStore>, service: Service) -> Self {
        let range_ms = (service.begin_unix_ms, service.end_unix_ms);
        let part = ServicePart {
            service: service.name.clone(),
            from_ms: range_ms.0,
            to_ms: range_ms.1,
            labels: Vec::new(),
            detail: detail(&Question::default()),
        };
        Self { store: Arc::clone(store), service, range_ms, state: 0, part }
    }

    /// The part that a question is about, and what is left of the question: `last=24h` is all of the time that is looked at,
    /// `from` and `to` are a window of it.
    pub(crate) fn asked(&self, question: &Question) -> Result<(Self, Question), Fault> {
        let last = question.value("last", parse::time)?;
        let last_ms = last.map(|it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX));
        let end_ms = self.service.end_unix_ms;
        let first_ms = self.service.begin_unix_ms;
        let begin_ms = last_ms.map_or(first_ms, |it| end_ms.saturating_sub(it).max(first_ms));
        let (from, to) = (question.value("from", time)?, question.value("to", time)?);
        let (from_ms, to_ms) = (from.unwrap_or(begin_ms), to.unwrap_or(end_ms));
        if to_ms <= from_ms {
            return Err(Fault::question("to is not later than from"));
        }
        let part = ServicePart {
            service: self.service.name.clone(),
            from_ms,
            to_ms,
            labels: question.values("label", str::parse::<LabelPattern>)?,
            detail: detail(question),
        };
        // A window that the address has stays seen when the range goes on.
        let range_ms = (begin_ms.min(from_ms), end_ms.max(to_ms));
        let question = question.without_all(&["last", "from", "to", "label"]);
        let state = self.store.state(&part.service, range_ms);
        let state = state.map_err(|error| Fault::source(format!("{error:#}")))?;
        Ok((Self { range_ms, state, part, ..self.clone() }, question))
    }

    /// All of the time that is looked at, in this detail.
    pub(crate) fn over_all_time(&self, detail: &PartDetail) -> Self {
        let (from_ms, to_ms) = self.range_ms;
        Self {
            part: ServicePart { from_ms, to_ms, detail: detail.clone(), ..self.part.clone() },
            ..self.clone()
        }
    }

    /// The profile of the part.
    pub(crate) fn input(&self) -> anyhow::Result<Input> {
        let profile = self.store.profile(&self.part)?;
        let format = perk_formats::by_name("hprof").context("the format of recordings")?;
        Ok(Input { format, profile })
    }

    /// The labels of the part, the key of the service left out.
    pub(crate) fn labels(&self) -> Result<Value, Fault> {
        let labels = self.store.labels(&self.part)?.into_iter().filter(|(key, _)| key != "service");
        let labels = labels.map(|(key, values)| {
            let values: Vec<_> = values.iter().map(|it| printable(it)).collect();
            json!({ "key": printable(&key), "value_count": values.len(), "values": values })
        });
        Ok(json!({ "labels": labels.collect::<Vec<_>>() }))
    }

    /// The part as a source, which stays the same: when the store has more of that time, it is another one.
    pub(crate) fn into_source(self, source: &Source) -> Source {
        let name = source.id.split('@').next().unwrap_or_default();
        Source {
            id: format!("{name}@{}+{:x}", self.part.key(), self.state),
            name: source.name.clone(),
            version: source.version,
            origin: Origin::Service(self),
        }
    }
}

/// What a question distinguishes numbers by.
fn detail(question: &Question) -> PartDetail {
    let group = question.text("group");
    let view = question.text("view");
    let of_group = group.and_then(|it| it.strip_prefix("label:"));
    PartDetail {
        interval_count: None,
        has_stacks: true,
        has_threads: group == Some("thread")
            || view == Some("threads")
            || question.text("thread").is_some(),
        label_keys: question.text("by").or(of_group).map(str::to_owned).into_iter().collect(),
    }
}

/// A moment of an address, in milliseconds since 1970.
fn time(text: &str) -> Result<i64, &'static str> {
    let stamp = Timestamp::from_iso_utc(text).and_then(|it| i64::try_from(it.unix_ms).ok());
    stamp.ok_or("use a time such as 2026-11-29T10:00:00Z")
}

/// All stores.
pub(crate) struct Stores(pub(crate) Vec<Arc<dyn RecordingStore>>);

impl Stores {
    /// Their services; of a store that cannot be read why.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        for (number, store) in (1..).zip(&self.0) {
            let source =
                |id, name: &str, origin| Source { id, name: printable(name), version: 1, origin };
            match store.services() {
                Ok(services) => sources.extend(services.into_iter().map(|service| {
                    // An id has no signs that parts of ids use.
                    let id: String =
                        form_urlencoded::byte_serialize(service.name.as_bytes()).collect();
                    let name = service.name.clone();
                    let origin = Origin::Service(ServiceMoment::new(store, service));
                    source(format!("v{number}:{id}"), &name, origin)
                })),
                Err(error) => {
                    let origin = Origin::Fault(format!("{error:#}"));
                    sources.push(source(format!("v{number}"), &store.name(), origin));
                }
            }
        }
        sources
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Profile;

    use super::*;
    use crate::recording_store::StoreFault;

    #[derive(Debug)]
    struct Empty;

    impl RecordingStore for Empty {
        fn name(&self) -> String {
            "empty".to_owned()
        }

        fn services(&self) -> anyhow::Result<Vec<Service>> {
            let service = |name: &str| Service {
                name: name.to_owned(),
                begin_unix_ms: 0,
                end_unix_ms: 7_200_000,
            };
            Ok(vec![service("a b@c"), service("shop")])
        }

        fn state(&self, _: &str, range_ms: (i64, i64)) -> anyhow::Result<u64> {
            Ok(range_ms.1.unsigned_abs())
        }

        fn profile(&self, _: &ServicePart) -> anyhow::Result<Profile> {
            anyhow::bail!("nothing")
        }

        fn labels(&self, _: &ServicePart) -> anyhow::Result<Vec<(String, Vec<String>)>> {
            Ok(Vec::new())
        }
    }

    fn sources() -> Vec<Source> {
        Stores(vec![Arc::new(Empty)]).sources()
    }

    fn asked(query: &str) -> (ServicePart, (i64, i64), String) {
        let Origin::Service(moment) = &sources()[1].origin else { panic!() };
        let (moment, question) = moment.asked(&Question::of_query(Some(query))).unwrap();
        (moment.part, moment.range_ms, question.key(&[]))
    }

    #[test]
    fn ids_have_no_signs_of_parts() {
        let sources = sources();
        assert_eq!((&*sources[0].id, &*sources[0].name), ("v1:a+b%40c", "a b@c"));
        let Origin::Service(moment) = &sources[0].origin else { panic!() };
        let part = moment.clone().into_source(&sources[0]);
        assert!(part.id.starts_with("v1:a+b%40c@") && !part.id.contains(' '), "{}", part.id);
        assert!(sources[0].is_moment(&part.id) && !sources[1].is_moment(&part.id));
        let again = moment.clone().into_source(&part);
        assert_eq!(again.id, part.id);
    }

    #[test]
    fn a_question_is_about_a_part() {
        let (part, range_ms, left) = asked("last=1h&by=host&metric=samples");
        assert_eq!(
            (part.from_ms, part.to_ms, range_ms),
            (3_600_000, 7_200_000, (3_600_000, 7_200_000))
        );
        assert_eq!(
            (part.detail.label_keys, &*left),
            (vec!["host".to_owned()], "by=host&metric=samples")
        );
        let (part, range_ms, left) =
            asked("last=1h&from=1970-01-01T00:30:00Z&to=1970-01-01T00:40:00Z&label=a%3Db+c");
        assert_eq!(
            (part.from_ms, part.to_ms, range_ms),
            (1_800_000, 2_400_000, (1_800_000, 7_200_000))
        );
        assert_eq!((part.labels[0].to_string(), left), ("a=b c".to_owned(), String::new()));
        assert!(
            asked("view=threads").0.detail.has_threads
                && !asked("view=methods").0.detail.has_threads
        );
    }

    #[test]
    fn a_part_is_another_source_once_the_store_has_more_of_it() {
        let source = &sources()[1];
        let Origin::Service(moment) = &source.origin else { panic!() };
        let id = |state| ServiceMoment { state, ..moment.clone() }.into_source(source).id;
        assert!(id(1) == id(1) && id(1) != id(2));
        let asked = |query: &str| moment.asked(&Question::of_query(Some(query))).unwrap().0;
        assert_eq!(
            (asked("").state, asked("to=1970-01-01T03:00:00Z").state),
            (7_200_000, 10_800_000)
        );
    }

    #[test]
    fn faults_have_the_status_of_their_reason() {
        let fault = |fault: StoreFault| Fault::from(anyhow::Error::from(fault).context("shop"));
        let nothing = fault(StoreFault::Nothing("nothing".to_owned()));
        assert_eq!((nothing.status.as_u16(), &*nothing.line), (404, "shop: nothing"));
        assert_eq!(fault(StoreFault::Unreadable("cut".to_owned())).status.as_u16(), 409);
        assert_eq!(Fault::from(anyhow::anyhow!("too much")).status.as_u16(), 400);
    }

    #[test]
    fn wrong_times_say_what_to_use() {
        let Origin::Service(moment) = &sources()[1].origin else { panic!() };
        let line = |query: &str| moment.asked(&Question::of_query(Some(query))).unwrap_err().line;
        assert_eq!(line("from=3s"), "from 3s: use a time such as 2026-11-29T10:00:00Z");
        assert_eq!(line("from=2000-01-01T00:00:00Z"), "to is not later than from");
    }
}
