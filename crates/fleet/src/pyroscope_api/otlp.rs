//! Pushes of OpenTelemetry's profiles (`v1development`), which are read as pprof.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::profiles::v1development::{
    self as otlp, ProfilesDictionary, ResourceProfiles,
};
use perk_profile::KeyedMap;
use prost::Message;

use super::add::checked_labels;
use super::api::Api;
use super::fault::Fault;
use super::limits::{MESSAGE_BYTES, MOST_FRAMES, MOST_PROFILES};
use super::push::{pprof, too_many};
use super::rpc;
use crate::pyroscope_messages::{
    Function, Label, Line, Location, Mapping, Pprof, Sample, ValueType,
};
use crate::series_names::{RESOURCE, SPAN_ID, TRACE_ID};

const PROTOBUF: &str = "application/x-protobuf";
/// What pprof's reader takes for the thread, its number and its state.
const LABELS: [(&str, &str); 3] =
    [("thread.name", "thread"), ("perk.thread.serial", "thread_id"), ("thread.state", "state")];
/// The kinds of frames that have mappings of their own.
const MAPPINGS: [(&str, &str); 3] =
    [("jvm", "java"), ("native", "[native]"), ("kernel", "[kernel.kallsyms]")];
const KIND: &str = "profile.frame.type";

/// Adds profiles.
pub(super) async fn export(State(api): State<Arc<Api>>, request: Request) -> Response {
    let added = async {
        api.rate.count()?;
        let _place = api.pushes.take().await?;
        let kind = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if kind.map(|it| it.split(';').next().unwrap_or_default().trim()) != Some(PROTOBUF) {
            return Err(Fault::form(format!("send {PROTOBUF}, as OTLP over HTTP does")));
        }
        let body = rpc::body(request, MESSAGE_BYTES).await?;
        let message = ExportProfilesServiceRequest::decode(&*body);
        let message = message
            .map_err(|error| Fault::argument(format!("the message cannot be read: {error}")))?;
        drop(body);
        api.add_resources(message).await
    };
    match added.await {
        Ok(()) => {
            let body = ExportProfilesServiceResponse::default().encode_to_vec();
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
            response
        }
        Err(fault) => fault.into_response(),
    }
}

impl Api {
    async fn add_resources(&self, message: ExportProfilesServiceRequest) -> Result<(), Fault> {
        let scopes = message.resource_profiles.iter().flat_map(|it| &it.scope_profiles);
        let profiles: usize = scopes.map(|it| it.profiles.len()).sum();
        if profiles.max(message.resource_profiles.len()) > MOST_PROFILES {
            return Err(too_many());
        }
        let dictionary = Arc::new(message.dictionary.unwrap_or_default());
        for ResourceProfiles { resource, scope_profiles, .. } in message.resource_profiles {
            let attributes = resource.unwrap_or_default().attributes;
            let labels = checked_labels(attributes.iter().filter_map(label))?;
            let profiles: Vec<_> = scope_profiles.into_iter().flat_map(|it| it.profiles).collect();
            let dictionary = Arc::clone(&dictionary);
            let read = move || {
                files(&dictionary, &profiles)?.map(|it| pprof(it.encode_to_vec())).collect()
            };
            self.add(labels, None, read).await?;
        }
        Ok(())
    }
}

/// A label of a resource, under the name that perk has for it.
fn label(attribute: &KeyValue) -> Option<(String, String)> {
    let known = RESOURCE.iter().find(|it| it.1 == attribute.key);
    let name = known.map_or(&*attribute.key, |it| it.0).to_owned();
    let value = match attribute.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => text.clone(),
        any_value::Value::BoolValue(is_it) => is_it.to_string(),
        any_value::Value::IntValue(number) => number.to_string(),
        any_value::Value::DoubleValue(number) => number.to_string(),
        // Lists and bytes are no labels.
        _ => return None,
    };
    Some((name, value))
}

/// What profiles of one file have in common: the type of the period, the period, the time and the length.
type Head = ((i32, i32), i64, u64, u64);

/// Profiles that are one file of pprof: of one time and period, each of another type.
struct File<'a> {
    head: Head,
    types: Vec<(i32, i32)>,
    message: Pprof,
    tables: Tables<'a>,
}

/// Profiles as files of pprof.
fn files(
    dictionary: &ProfilesDictionary,
    profiles: &[otlp::Profile],
) -> Result<impl Iterator<Item = Pprof>, Fault> {
    let kind = |it: &Option<otlp::ValueType>| {
        it.as_ref().map_or((0, 0), |it| (it.type_strindex, it.unit_strindex))
    };
    // Types come first: each sample has a value of all.
    let mut files: Vec<File<'_>> = Vec::new();
    let mut places = Vec::new();
    for profile in profiles {
        let (time, length) = (profile.time_unix_nano, profile.duration_nano);
        let head = (kind(&profile.period_type), profile.period, time, length);
        let sample_type = kind(&profile.sample_type);
        let fits = |it: &File<'_>| it.head == head && !it.types.contains(&sample_type);
        let at = files.iter().position(fits).unwrap_or_else(|| {
            files.push(File::new(dictionary, head));
            files.len() - 1
        });
        files[at].types.push(sample_type);
        places.push((at, files[at].types.len() - 1));
    }
    for (profile, (at, place)) in profiles.iter().zip(places) {
        files[at].add(profile, place)?;
    }
    Ok(files.into_iter().map(File::finish))
}

impl<'a> File<'a> {
    fn new(dictionary: &'a ProfilesDictionary, head: Head) -> Self {
        let (types, message) = Default::default();
        Self { head, types, message, tables: Tables::new(dictionary) }
    }

    /// Adds the samples of a profile, whose values are at a place.
    fn add(&mut self, profile: &otlp::Profile, place: usize) -> Result<(), Fault> {
        for sample in &profile.samples {
            let value = match sample.values.is_empty() {
                // Each time is one event.
                true => i64::try_from(sample.timestamps_unix_nano.len()).unwrap_or(i64::MAX),
                false => sample.values.iter().copied().fold(0, i64::saturating_add),
            };
            let mut values = vec![0; self.types.len()];
            values[place] = value;
            self.message.sample.push(Sample {
                location_id: self.tables.stack(sample.stack_index)?,
                value: values,
                label: self.tables.labels(sample)?,
            });
        }
        Ok(())
    }

    fn finish(mut self) -> Pprof {
        let ((period_type, period_unit), period, time_nanos, duration_nanos) = self.head;
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let tables = &mut self.tables;
        let sample_type = self.types.iter().map(|&(name, unit)| tables.value_type(name, unit));
        self.message.sample_type = sample_type.collect();
        self.message.period_type = Some(tables.value_type(period_type, period_unit));
        let mappings = (1..).zip(MAPPINGS).map(|(id, (_, name))| Mapping {
            id,
            filename: tables.text(name),
            has_functions: true,
            ..Mapping::default()
        });
        self.message.mapping = mappings.collect();
        Pprof {
            time_nanos: whole(time_nanos),
            duration_nanos: whole(duration_nanos),
            period,
            string_table: self.tables.texts,
            location: self.tables.locations,
            function: self.tables.functions,
            ..self.message
        }
    }
}

/// The tables of a file, made of those of a request.
struct Tables<'a> {
    dictionary: &'a ProfilesDictionary,
    texts: Vec<String>,
    text_ids: KeyedMap<String, i64>,
    locations: Vec<Location>,
    location_ids: KeyedMap<i32, u64>,
    functions: Vec<Function>,
    function_ids: KeyedMap<i32, u64>,
    /// The frames of all stacks of samples.
    frames: usize,
}

impl<'a> Tables<'a> {
    fn new(dictionary: &'a ProfilesDictionary) -> Self {
        let (locations, location_ids, functions, function_ids, frames) = Default::default();
        let text_ids = KeyedMap::from_iter([(String::new(), 0)]);
        let texts = vec![String::new()];
        Self {
            dictionary,
            texts,
            text_ids,
            locations,
            location_ids,
            functions,
            function_ids,
            frames,
        }
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.text_ids.get(text) {
            return known;
        }
        let id = i64::try_from(self.texts.len()).unwrap_or(i64::MAX);
        self.texts.push(text.to_owned());
        self.text_ids.insert(text.to_owned(), id);
        id
    }

    /// A text of the request; an empty one if it has none at this place.
    fn text_at(&mut self, index: i32) -> i64 {
        let text = row(&self.dictionary.string_table, index).map_or("", |it| it);
        self.text(text)
    }

    fn value_type(&mut self, name: i32, unit: i32) -> ValueType {
        ValueType { r#type: self.text_at(name), unit: self.text_at(unit) }
    }

    /// The locations of a stack, the innermost first.
    fn stack(&mut self, index: i32) -> Result<Vec<u64>, Fault> {
        let Some(stack) = row(&self.dictionary.stack_table, index) else {
            return Err(missing("stack", index));
        };
        // Few bytes can make many samples of one deep stack.
        self.frames = self.frames.saturating_add(stack.location_indices.len());
        if self.frames > MOST_FRAMES {
            let line = format!("the stacks have more than {MOST_FRAMES} frames: push less at once");
            return Err(Fault::size(line));
        }
        stack.location_indices.iter().map(|&it| self.location(it)).collect()
    }

    fn location(&mut self, index: i32) -> Result<u64, Fault> {
        if let Some(&known) = self.location_ids.get(&index) {
            return Ok(known);
        }
        let location = row(&self.dictionary.location_table, index);
        let location = location.ok_or_else(|| missing("location", index))?;
        let attributes = location.attribute_indices.iter().copied();
        let kind = self.attributes(attributes)?.remove(KIND);
        let kind = kind.and_then(|it| MAPPINGS.iter().position(|mapping| mapping.0 == it.text));
        let lines = location.lines.iter().map(|line| {
            Ok(Line { function_id: self.function(line.function_index)?, line: line.line })
        });
        let line = lines.collect::<Result<_, Fault>>()?;
        let id = self.locations.len() as u64 + 1;
        let mapping_id = kind.map_or(0, |it| it as u64 + 1);
        self.locations.push(Location { id, mapping_id, address: location.address, line });
        self.location_ids.insert(index, id);
        Ok(id)
    }

    fn function(&mut self, index: i32) -> Result<u64, Fault> {
        if let Some(&known) = self.function_ids.get(&index) {
            return Ok(known);
        }
        let function = row(&self.dictionary.function_table, index);
        let function = function.ok_or_else(|| missing("function", index))?;
        let id = self.functions.len() as u64 + 1;
        let function = Function {
            id,
            name: self.text_at(function.name_strindex),
            system_name: self.text_at(function.system_name_strindex),
            filename: self.text_at(function.filename_strindex),
        };
        self.functions.push(function);
        self.function_ids.insert(index, id);
        Ok(id)
    }

    fn labels(&mut self, sample: &otlp::Sample) -> Result<Vec<Label>, Fault> {
        let attributes = self.attributes(sample.attribute_indices.iter().copied())?;
        let mut labels = Vec::with_capacity(attributes.len());
        for (name, Attribute { text, number, unit }) in attributes {
            let known = LABELS.iter().find(|it| it.0 == name);
            let key = self.text(known.map_or(&*name, |it| it.1));
            labels.push(match number {
                Some(num) => Label { key, num, num_unit: self.text(&unit), str: 0 },
                None => Label { key, str: self.text(&text), ..Label::default() },
            });
        }
        let link = row(&self.dictionary.link_table, sample.link_index);
        if let Some(link) = link.filter(|_| sample.link_index > 0) {
            for (key, id) in [(TRACE_ID, &link.trace_id), (SPAN_ID, &link.span_id)] {
                let text: String = id.iter().map(|it| format!("{it:02x}")).collect();
                labels.push(Label {
                    key: self.text(key),
                    str: self.text(&text),
                    ..Label::default()
                });
            }
        }
        Ok(labels)
    }

    /// Attributes by their names.
    fn attributes(
        &self,
        indices: impl Iterator<Item = i32>,
    ) -> Result<BTreeMap<String, Attribute>, Fault> {
        let text = |index| row(&self.dictionary.string_table, index).cloned().unwrap_or_default();
        let mut found = BTreeMap::new();
        for index in indices {
            let attribute = row(&self.dictionary.attribute_table, index);
            let attribute = attribute.ok_or_else(|| missing("attribute", index))?;
            let value = attribute.value.as_ref().and_then(|it| it.value.as_ref());
            let (text_of, number) = match value {
                Some(any_value::Value::IntValue(number)) => (String::new(), Some(*number)),
                Some(any_value::Value::StringValue(text)) => (text.clone(), None),
                Some(any_value::Value::StringValueStrindex(index)) => (text(*index), None),
                Some(any_value::Value::BoolValue(is_it)) => (is_it.to_string(), None),
                _ => continue,
            };
            let unit = text(attribute.unit_strindex);
            found.insert(text(attribute.key_strindex), Attribute { text: text_of, number, unit });
        }
        Ok(found)
    }
}

/// The value of an attribute.
struct Attribute {
    text: String,
    number: Option<i64>,
    unit: String,
}

/// The row of a table.
fn row<T>(table: &[T], index: i32) -> Option<&T> {
    table.get(usize::try_from(index).ok()?)
}

fn missing(table: &str, index: i32) -> Fault {
    Fault::argument(format!("the {table} table has no row {index}"))
}
