//! What there is: types of profiles, names and values of labels, series.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perk_formats::pprof;
use perk_profile::{Column, Event, Profile, Section, SectionHead};
use perk_store::{KeptTimes, Total};
use prost::Message;

use super::api::Api;
use super::fault::Fault;
use super::limits::{MOST_SELECTORS, MOST_SERIES};
use super::part::{Labels, Part, labels, pairs};
use super::selector::Selector;
use crate::pyroscope_messages::{
    self as messages, LabelNamesRequest, LabelNamesResponse, LabelValuesRequest,
    LabelValuesResponse, Pprof, ProfileType, ProfileTypesRequest, ProfileTypesResponse,
    SeriesRequest, SeriesResponse,
};
use crate::series::{Selection, SeriesSet};
use crate::series_names::{ProfileTypeId, SERVICE_NAME, SPAN_ID, TRACE_ID, label_name};

/// The types of the profiles of a time.
pub(super) async fn profile_types(
    api: Arc<Api>,
    asked: ProfileTypesRequest,
) -> Result<ProfileTypesResponse, Fault> {
    let part = Part::new(asked.start, asked.end, Selector::default())?;
    let totals = api.totals(&part, None, KeptTimes::Nothing, false, |_| false).await?;
    let ids = totals.iter().flat_map(|(_, totals)| types(totals).into_values().flatten());
    let ids: BTreeSet<_> = ids.collect();
    let profile_types = ids.into_iter().map(|it| ProfileType {
        id: it.to_string(),
        name: it.series,
        sample_type: it.sample_type,
        sample_unit: it.sample_unit,
        period_type: it.period_type,
        period_unit: it.period_unit,
    });
    Ok(ProfileTypesResponse { profile_types: profile_types.collect() })
}

/// The names of the labels of series.
pub(super) async fn label_names(
    api: Arc<Api>,
    asked: LabelNamesRequest,
) -> Result<LabelNamesResponse, Fault> {
    let series = api.all_series(asked.start, asked.end, &asked.matchers).await?;
    let names: BTreeSet<_> = series.into_iter().flat_map(Labels::into_keys).collect();
    Ok(LabelNamesResponse { names: names.into_iter().collect() })
}

/// The values of a label of series.
pub(super) async fn label_values(
    api: Arc<Api>,
    asked: LabelValuesRequest,
) -> Result<LabelValuesResponse, Fault> {
    let name = label_name(&asked.name);
    let selectors = selectors(&asked.matchers)?;
    let is_of_services = |it: &Selector| it.names().into_iter().all(|it| it == SERVICE_NAME);
    let mut values = BTreeSet::new();
    if name == SERVICE_NAME && selectors.iter().all(is_of_services) {
        // The names of folders have them.
        for selector in selectors {
            let part = Part::new(asked.start, asked.end, selector)?;
            values.extend(api.services(&part).await?);
        }
    } else {
        let series = api.all_series(asked.start, asked.end, &asked.matchers).await?;
        values.extend(series.into_iter().filter_map(|mut it| it.remove(&name)));
    }
    Ok(LabelValuesResponse { names: values.into_iter().collect() })
}

/// The series, or the parts of their labels that are asked.
pub(super) async fn series(api: Arc<Api>, asked: SeriesRequest) -> Result<SeriesResponse, Fault> {
    let mut series = api.all_series(asked.start, asked.end, &asked.matchers).await?;
    if !asked.label_names.is_empty() {
        let names: BTreeSet<_> = asked.label_names.iter().map(|it| label_name(it)).collect();
        let part = |mut labels: Labels| {
            labels.retain(|name, _| names.contains(name));
            labels
        };
        series = series.into_iter().map(part).filter(|it| !it.is_empty()).collect();
    }
    let labels_set = series.into_iter().map(|it| messages::Labels { labels: pairs(it) }).collect();
    Ok(SeriesResponse { labels_set })
}

/// The selectors of a query, of which one must match.
fn selectors(texts: &[String]) -> Result<Vec<Selector>, Fault> {
    match texts {
        [] => Ok(vec![Selector::default()]),
        [_, ..] if texts.len() > MOST_SELECTORS => {
            Err(Fault::argument(format!("more than {MOST_SELECTORS} selectors: ask with fewer")))
        }
        _ => texts.iter().map(|it| Selector::parse(it)).collect(),
    }
}

impl Api {
    /// All series that one of the selectors selects.
    async fn all_series(
        &self,
        start: i64,
        end: i64,
        texts: &[String],
    ) -> Result<BTreeSet<Labels>, Fault> {
        let mut series = BTreeSet::new();
        for selector in selectors(texts)? {
            let part = Part::new(start, end, selector)?;
            // Each span has others.
            let is_kept = |name: &str| name != TRACE_ID && name != SPAN_ID;
            let totals = self.totals(&part, None, KeptTimes::Nothing, true, is_kept).await?;
            for (service, totals) in &totals {
                let ids = types(totals);
                for total in totals {
                    for id in ids.get(total.metric.name()).into_iter().flatten() {
                        let labels = labels(&total.labels, service.as_deref(), id);
                        let value = |name: &str| labels.get(name).map(String::as_str);
                        if part.selector.selects(value) {
                            series.insert(labels);
                        }
                    }
                }
                if series.len() > MOST_SERIES {
                    let line =
                        format!("more than {MOST_SERIES} series: select fewer, or less time");
                    return Err(Fault::rate(line));
                }
            }
        }
        Ok(series)
    }
}

/// The types of totals by the name of their metric: those that perk record would send.
fn types(totals: &[Total]) -> BTreeMap<String, Vec<ProfileTypeId>> {
    let mut metrics: BTreeMap<&str, Column> = BTreeMap::new();
    for total in totals.iter().filter(|it| it.sum > 0) {
        let column =
            Column { period: total.period, ..Column::new(total.metric.clone(), total.sum) };
        metrics.entry(total.metric.name()).or_insert(column);
    }
    let mut profile = Profile::default();
    let trace = profile.system_trace();
    for column in metrics.into_values() {
        let number = column.total;
        let mut section = Section::new(SectionHead::new([column]));
        section.push(trace.into(), &[number]);
        profile.events.push(Event::Section(section));
    }
    let selection = Selection { threads: false, label: &|_| false, others: true };
    let mut types: BTreeMap<String, Vec<ProfileTypeId>> = BTreeMap::new();
    let visited = SeriesSet::of(&profile, selection).visit(|name, series| {
        let mut bytes = Vec::new();
        pprof::write(series, &mut bytes)?;
        let message = Pprof::decode(&*bytes).map_err(std::io::Error::other)?;
        for id in ids(name, &message) {
            if let Some((metric, _)) = id.metric() {
                types.entry(metric.name().to_owned()).or_default().push(id);
            }
        }
        Ok::<_, std::io::Error>(())
    });
    // It is written to memory.
    visited.map_or_else(|_| BTreeMap::new(), |()| types)
}

/// The types of the values of a series in pprof.
fn ids(series: &str, message: &Pprof) -> Vec<ProfileTypeId> {
    let text = |index: i64| {
        let index = usize::try_from(index).unwrap_or_default();
        message.string_table.get(index).cloned().unwrap_or_default()
    };
    let period = message.period_type.clone().unwrap_or_default();
    let id = |it: &messages::ValueType| ProfileTypeId {
        series: series.to_owned(),
        sample_type: text(it.r#type),
        sample_unit: text(it.unit),
        period_type: text(period.r#type),
        period_unit: text(period.unit),
    };
    message.sample_type.iter().map(id).collect()
}
