//! Profiles in pprof: `SelectMergeProfile`.

use std::io;
use std::sync::Arc;

use perk_formats::pprof;
use prost::Message;

use super::api::Api;
use super::fault::Fault;
use super::flame::check_profile_ids;
use super::part::{Numbers, Part, type_id};
use super::selector::Selector;
use crate::pyroscope_messages::{Pprof, SelectMergeProfileRequest, ValueType};
use crate::series::{Selection, SeriesSet};
use crate::series_names::ProfileTypeId;

/// The numbers of a part in pprof.
pub(super) async fn select_merge_profile(
    api: Arc<Api>,
    asked: SelectMergeProfileRequest,
) -> Result<Pprof, Fault> {
    check_profile_ids(&asked.profile_id_selector)?;
    let id = type_id(&asked.profile_type_id)?;
    let part = Part::new(asked.start, asked.end, Selector::parse(&asked.label_selector)?)?;
    let numbers = api.numbers(&part, &id, asked.stack_trace_selector.as_ref()).await?;
    let Some(numbers) = numbers else { return Ok(Pprof::default()) };
    let made = tokio::task::spawn_blocking(move || message(&numbers, &id)).await;
    let mut message = made.map_err(anyhow::Error::from).and_then(|it| Ok(it?));
    if let Ok(message) = &mut message {
        message.time_nanos = part.from_ms.saturating_mul(1_000_000);
        message.duration_nanos = (part.to_ms - part.from_ms).saturating_mul(1_000_000);
    }
    message.map_err(|error| Fault::store(&error))
}

/// The message of numbers of a type. Those of a class have it as the last frame.
fn message(numbers: &Numbers, id: &ProfileTypeId) -> io::Result<Pprof> {
    let selection = Selection { threads: false, label: &|_| false, others: true };
    let mut bytes = Vec::new();
    SeriesSet::of(&numbers.profile, selection).visit(|_, profile| {
        bytes.clear();
        pprof::write(profile, &mut bytes)
    })?;
    let mut message = Pprof::decode(&*bytes).map_err(io::Error::other)?;
    let mut index = |text: &str| {
        let known = message.string_table.iter().position(|it| it == text);
        let index = known.unwrap_or_else(|| {
            message.string_table.push(text.to_owned());
            message.string_table.len() - 1
        });
        i64::try_from(index).unwrap_or_default()
    };
    // Samples of a known interval have their time beside them.
    let own = index(numbers.metric.file_name());
    let (r#type, unit) = (index(&id.period_type), index(&id.period_unit));
    message.period_type = Some(ValueType { r#type, unit });
    let place = message.sample_type.iter().position(|it| it.r#type == own).unwrap_or_default();
    message.sample_type = message.sample_type.drain(..).skip(place).take(1).collect();
    for sample in &mut message.sample {
        sample.value = sample.value.drain(..).skip(place).take(1).collect();
        sample.label.clear();
    }
    Ok(message)
}
