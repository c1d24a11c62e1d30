//! The course of numbers in time: `SelectSeries`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perk_store::KeptTimes;

use super::api::Api;
use super::fault::Fault;
use super::part::{Labels, Part, labels, pairs, type_id};
use super::selector::Selector;
use crate::pyroscope_messages::{Point, SelectSeriesRequest, SelectSeriesResponse, Series};
use crate::series_names::{SERVICE_NAME, label_name};

/// `TIME_SERIES_AGGREGATION_TYPE_AVERAGE`.
const AVERAGE: i32 = 1;
/// The shortest step, in seconds.
const LEAST_STEP: f64 = 1.0;
/// The longest, which is longer than all times.
const MOST_STEP: f64 = 1e9;

/// The numbers of a step.
#[derive(Default)]
struct Step {
    sum: u64,
    /// The times that it has numbers of.
    times_ms: BTreeSet<i64>,
}

impl Step {
    fn value(&self, aggregation: i32) -> f64 {
        match aggregation {
            AVERAGE => self.sum as f64 / self.times_ms.len() as f64,
            _ => self.sum as f64,
        }
    }
}

/// The sums of each step, by the labels that are asked.
pub(super) async fn select_series(
    api: Arc<Api>,
    asked: SelectSeriesRequest,
) -> Result<SelectSeriesResponse, Fault> {
    if asked.stack_trace_selector.is_some_and(|it| !it.call_site.is_empty() || it.go_pgo.is_some())
    {
        return Err(Fault::unknown("perk has no course of single stacks"));
    }
    if !(LEAST_STEP..=MOST_STEP).contains(&asked.step) {
        return Err(Fault::argument("use a step of 1 second or more"));
    }
    let step_ms = (asked.step * 1000.0) as i64;
    let id = type_id(&asked.profile_type_id)?;
    let part = Part::new(asked.start, asked.end, Selector::parse(&asked.label_selector)?)?;
    let Some((metric, is_time)) = id.metric() else { return Ok(SelectSeriesResponse::default()) };
    let names: BTreeSet<String> = asked.group_by.iter().map(|it| label_name(it)).collect();
    let is_by_service = names.contains(SERVICE_NAME);
    let kept = names.clone();
    let is_kept = move |name: &str| kept.contains(name);
    let totals = api.totals(&part, Some(&metric), KeptTimes::ALL, is_by_service, is_kept).await?;
    let mut courses: BTreeMap<Labels, BTreeMap<i64, Step>> = BTreeMap::new();
    for (service, totals) in totals {
        for total in totals {
            let mut labels = labels(&total.labels, service.as_deref(), &id);
            if !part.selector.selects(|name| labels.get(name).map(String::as_str)) {
                continue;
            }
            labels.retain(|name, _| names.contains(name));
            // A step is named by its end.
            let since_ms = (total.time_ms - part.from_ms).max(0);
            let end_ms =
                part.from_ms.saturating_add((since_ms / step_ms + 1).saturating_mul(step_ms));
            let end_ms = end_ms.min(part.to_ms);
            let step = courses.entry(labels).or_default().entry(end_ms).or_default();
            let number = if is_time { total.cpu_ns.unwrap_or_default() } else { total.sum };
            step.sum = step.sum.saturating_add(number);
            step.times_ms.insert(total.time_ms);
        }
    }
    let mut courses: Vec<_> = courses.into_iter().collect();
    if let Some(limit) = asked.limit.and_then(|it| usize::try_from(it).ok()).filter(|&it| it > 0) {
        courses.sort_by_key(|(_, steps)| {
            Reverse(steps.values().map(|it| it.sum).fold(0, u64::saturating_add))
        });
        courses.truncate(limit);
    }
    let series = courses.into_iter().map(|(labels, steps)| {
        let point = |(timestamp, step): (i64, Step)| Point {
            value: step.value(asked.aggregation),
            timestamp,
        };
        Series { labels: pairs(labels), points: steps.into_iter().map(point).collect() }
    });
    Ok(SelectSeriesResponse { series: series.collect() })
}
