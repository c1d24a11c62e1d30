//! The part of a store that a query is about.

use std::collections::{BTreeMap, BTreeSet};

use perk_profile::{Column, Event, Key, LabelSetId, Metric, Process, Profile, Section};
use perk_profile::{SectionHead, Subject, Unit};
use perk_store::{
    Detail, Hour, KeptLabels, KeptTimes, KeyChoice, NoAnswer, Question, Total, Window,
};

use super::api::Api;
use super::fault::Fault;
use super::selector::Selector;
use crate::pyroscope_messages::{LabelPair, StackTraceSelector};
use crate::series_names::{NAME, ProfileTypeId, SERVICE, SERVICE_NAME, label_name};
use crate::store::args::now_ms;

/// The time that a query without a start is about, in milliseconds.
const DAY_MS: i64 = 24 * 3_600_000;

/// The end of the year 9999, in milliseconds since 1970.
const LAST_MS: i64 = 253_402_300_800_000;

/// Labels as Pyroscope has them, by name.
pub(super) type Labels = BTreeMap<String, String>;

/// A part of a store: a time, and what labels have to be.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) from_ms: i64,
    /// The first moment after it.
    pub(super) to_ms: i64,
    pub(super) selector: Selector,
}

impl Part {
    /// The part of a query, whose times are 0 where it has none: it is then about the last day.
    pub(super) fn new(start: i64, end: i64, selector: Selector) -> Result<Self, Fault> {
        let to_ms = if end == 0 { now_ms() } else { end };
        let from_ms = if start == 0 { to_ms.saturating_sub(DAY_MS) } else { start };
        // What is before 1970 or after the year 9999 is in no store.
        let (from_ms, to_ms) = (from_ms.max(0), to_ms.min(LAST_MS));
        match from_ms < to_ms {
            true => Ok(Self { from_ms, to_ms, selector }),
            false => {
                Err(Fault::argument("the end is not after the start, in milliseconds since 1970"))
            }
        }
    }

    fn window(&self) -> Window {
        let (from, to) = (Hour::of(self.from_ms), Hour::of(self.to_ms - 1));
        Window { service: None, from: Some(from), to: Some(to) }
    }

    /// A question about a service in this part, with the labels whose names `is_kept` returns true for.
    fn question(
        &self,
        service: Option<String>,
        metric: Option<&Metric>,
        times: KeptTimes,
        is_kept: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Question {
        let choice = KeyChoice::new(move |key| key != SERVICE && is_kept(&label_name(key)));
        let detail = Detail {
            times,
            has_stacks: true,
            has_threads: false,
            labels: KeptLabels::Chosen(choice),
            is_cpu_time: false,
        };
        Question {
            service,
            from_ms: Some(self.from_ms),
            to_ms: Some(self.to_ms),
            labels: Vec::new(),
            metric: metric.map(|it| it.name().to_owned()),
            detail,
        }
    }

    /// The names of the labels that the selector needs.
    fn names(&self) -> BTreeSet<String> {
        self.selector.names().into_iter().map(str::to_owned).collect()
    }
}

/// The labels of a series.
pub(super) fn labels(
    own: &[(String, String)],
    service: Option<&str>,
    id: &ProfileTypeId,
) -> Labels {
    let mut labels: Labels =
        own.iter().map(|(key, value)| (label_name(key), value.clone())).collect();
    let id_text = id.to_string();
    for (name, value) in [
        (NAME, &id.series),
        ("__profile_type__", &id_text),
        ("__type__", &id.sample_type),
        ("__unit__", &id.sample_unit),
        ("__period_type__", &id.period_type),
        ("__period_unit__", &id.period_unit),
    ] {
        labels.insert(name.to_owned(), value.clone());
    }
    labels.extend(service.map(|it| (SERVICE_NAME.to_owned(), it.to_owned())));
    labels
}

/// The type of profiles that a query names.
pub(super) fn type_id(text: &str) -> Result<ProfileTypeId, Fault> {
    text.parse().map_err(|fault: String| Fault::argument(fault))
}

/// Labels as messages have them.
pub(super) fn pairs(labels: Labels) -> Vec<LabelPair> {
    labels.into_iter().map(|(name, value)| LabelPair { name, value }).collect()
}

/// A metric of a part: what its numbers are named, and the profile that has them.
pub(super) struct Numbers {
    pub(super) metric: Metric,
    pub(super) profile: Profile,
}

impl Api {
    /// The services of a part.
    pub(super) async fn services(&self, part: &Part) -> Result<Vec<String>, Fault> {
        let pieces = self.store.pieces(&part.window()).await;
        let pieces = pieces.map_err(|error| Fault::store(&error))?;
        let mut services: Vec<_> = pieces.iter().map(|it| it.service().to_owned()).collect();
        services.dedup();
        services.retain(|it| part.selector.allows(SERVICE_NAME, it));
        Ok(services)
    }

    /// The services that a part has to be asked for one by one; one question about all if it names none.
    async fn asked_services(
        &self,
        part: &Part,
        is_by_service: bool,
    ) -> Result<Vec<Option<String>>, Fault> {
        if !is_by_service && !part.selector.names().contains(SERVICE_NAME) {
            return Ok(vec![None]);
        }
        Ok(self.services(part).await?.into_iter().map(Some).collect())
    }

    /// The totals of all services, or of each one alone, with the labels whose names `is_kept` returns true for.
    pub(super) async fn totals(
        &self,
        part: &Part,
        metric: Option<&Metric>,
        times: KeptTimes,
        is_by_service: bool,
        is_kept: impl Fn(&str) -> bool + Clone + Send + Sync + 'static,
    ) -> Result<Vec<(Option<String>, Vec<Total>)>, Fault> {
        let mut found = Vec::new();
        for service in self.asked_services(part, is_by_service).await? {
            let (names, is_kept) = (part.names(), is_kept.clone());
            let is_kept = move |name: &str| names.contains(name) || is_kept(name);
            let question = part.question(service.clone(), metric, times, is_kept);
            let totals = self.store.totals(&question, &self.limits).await;
            let totals = answered(totals)?.unwrap_or_default();
            if !totals.is_empty() {
                found.push((service, totals));
            }
        }
        Ok(found)
    }

    /// The numbers of a type in a part, at the stacks that begin as `stacks` says. `None` if there are none.
    pub(super) async fn numbers(
        &self,
        part: &Part,
        id: &ProfileTypeId,
        stacks: Option<&StackTraceSelector>,
    ) -> Result<Option<Numbers>, Fault> {
        let Some((metric, is_time)) = id.metric() else { return Ok(None) };
        let call_site: Vec<String> = match stacks {
            Some(StackTraceSelector { go_pgo: Some(_), .. }) => {
                return Err(Fault::unknown("perk makes no profiles for Go's compiler"));
            }
            Some(selector) => selector.call_site.iter().map(|it| it.name.clone()).collect(),
            None => Vec::new(),
        };
        let shown = match is_time {
            true => Metric::other("cpu", Unit::Nanoseconds),
            false => metric.clone(),
        };
        let mut processes = Vec::new();
        for service in self.asked_services(part, false).await? {
            let names = part.names();
            let is_kept = move |name: &str| names.contains(name);
            let mut question =
                part.question(service.clone(), Some(&metric), KeptTimes::Nothing, is_kept);
            question.detail.is_cpu_time = is_time;
            let profile = self.store.profile(&question, &self.limits).await;
            let Some(profile) = answered(profile)? else { continue };
            let profile = selected(profile, &shown, |profile, key| {
                let own = own_labels(profile, key.labels);
                let labels = labels(&own, service.as_deref(), id);
                part.selector.selects(|name| labels.get(name).map(String::as_str))
                    && begins_with(profile, key, &call_site)
            });
            processes.push(Process { name: service.unwrap_or_default(), profile });
        }
        let mut profile = match processes.len() {
            0 | 1 => processes.pop().map(|it| it.profile),
            _ => Some(Profile::of_processes(processes)),
        };
        let profile = profile.take_if(|it| shown.is_in(it));
        Ok(profile.map(|profile| Numbers { metric: shown, profile }))
    }
}

/// What a store says; `None` if it has nothing of a question.
fn answered<T>(answer: anyhow::Result<T>) -> Result<Option<T>, Fault> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error.downcast_ref::<NoAnswer>() {
            Some(NoAnswer::Nothing) => Ok(None),
            Some(NoAnswer::TooMuch(_)) => Err(Fault::rate(
                "that is more than fits the memory: ask for less time or for one service",
            )),
            None => Err(Fault::store(&error)),
        },
    }
}

fn own_labels(profile: &Profile, set: LabelSetId) -> Vec<(String, String)> {
    let labels = profile.labels.get(set).iter();
    let key = |key| profile.symbols.strings.get(key).to_owned();
    labels.map(|it| (key(it.key), it.value_text(&profile.symbols))).collect()
}

/// Whether the stack of numbers begins with these methods.
fn begins_with(profile: &Profile, key: Key, call_site: &[String]) -> bool {
    if call_site.is_empty() {
        return true;
    }
    let mut frames: Vec<_> = profile.frames(key.trace).collect();
    frames.reverse();
    let names = frames.iter().map(|&it| {
        let method = profile.symbols.get_frame(it).method;
        profile.symbols.method_name(method)
    });
    let begin: Vec<_> = names.take(call_site.len()).collect();
    begin == call_site
}

/// A profile of the numbers of a metric that are selected, without labels and states.
fn selected(
    mut profile: Profile,
    metric: &Metric,
    is_selected: impl Fn(&Profile, Key) -> bool,
) -> Profile {
    let period = metric.period(&profile);
    let rows = metric.rows(&profile).rows;
    let mut sums: BTreeMap<Key, u64> = BTreeMap::new();
    for (key, number) in rows.into_iter().filter(|it| is_selected(&profile, it.0)) {
        let subject = match key.subject {
            Subject::State(_) => Subject::None,
            subject => subject,
        };
        let sum = sums.entry(Key { subject, labels: LabelSetId::EMPTY, ..key }).or_default();
        *sum = sum.saturating_add(number);
    }
    let total = sums.values().copied().fold(0, u64::saturating_add);
    let column = Column { period, ..Column::new(metric.clone(), total) };
    let mut section = Section::new(SectionHead::new([column]));
    sums.iter().for_each(|(key, number)| section.push(*key, &[*number]));
    profile.events = vec![Event::Section(section)];
    profile.accounting = None;
    profile
}
