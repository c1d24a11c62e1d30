//! Requests for receivers of OpenTelemetry's profiles: `ExportProfilesServiceRequest` of the protocol's version
//! 1.10, `v1development`.
//!
//! Each metric is a profile. All profiles of a request share the tables of its dictionary, whose first rows are
//! empty ones.

use std::convert::Infallible;
use std::hash::Hash;

use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::profiles::v1development::{
    self as otlp, Function, KeyValueAndUnit, Link, Location, Mapping, ProfilesDictionary,
    ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use perk_profile::{
    FrameId, FrameKind, Key, KeyedMap, LabelValue, Line, Metric, NodeId, Profile, Section, Subject,
};
use prost::Message;

use super::deliver::HttpRequest;
use super::identity::Identity;
use super::profile_file::{FILE_LABEL, ProfileFile, TRIGGER_LABEL};
use super::pyroscope::series_id;
use crate::gzip::packed;
use crate::series::{Selection, SeriesSet};
use crate::series_names::{RESOURCE, SPAN_ID, TRACE_ID};

const PATH: &str = "/v1development/profiles";
/// The function of samples without a stack, as in pprof.
const NO_STACK: &str = "[no stack]";

/// The request with all numbers of a file. `None` if it has none.
///
/// # Errors
/// The request cannot be packed.
pub(super) fn request(
    file: &ProfileFile,
    identity: &Identity,
) -> std::io::Result<Option<HttpRequest>> {
    let is_of_jvm = |key: &str| identity.labels().any(|it| it.0 == key);
    let label = |key: &str| !is_of_jvm(key) && key != FILE_LABEL && key != TRIGGER_LABEL;
    let series =
        SeriesSet::of(&file.profile, Selection { threads: true, label: &label, others: false });
    let mut tables = Tables::default();
    let mut profiles = Vec::new();
    let Ok(()) = series.visit(|_, profile| {
        let sections: Vec<_> = profile.sections().collect();
        for section in sections {
            for place in 0..section.head.columns.len() {
                profiles.push(tables.profile(file, profile, section, place));
            }
        }
        Ok::<_, Infallible>(())
    });
    if profiles.is_empty() {
        return Ok(None);
    }
    let attributes = identity.labels().map(|(key, value)| {
        let known = RESOURCE.iter().find(|it| it.0 == key);
        let key = known.map_or(key, |it| it.1).to_owned();
        KeyValue { key, value: Some(text(value)), ..KeyValue::default() }
    });
    let scope = InstrumentationScope {
        name: "perk".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_profiles =
        vec![ScopeProfiles { scope: Some(scope), profiles, ..ScopeProfiles::default() }];
    let resource = Resource { attributes: attributes.collect(), ..Resource::default() };
    let resource_profiles = vec![ResourceProfiles {
        resource: Some(resource),
        scope_profiles,
        ..ResourceProfiles::default()
    }];
    let dictionary = Some(tables.dictionary());
    let body = ExportProfilesServiceRequest { resource_profiles, dictionary }.encode_to_vec();
    Ok(Some(HttpRequest {
        path: PATH.to_owned(),
        content_type: "application/x-protobuf",
        is_packed: true,
        body: packed(&body)?,
    }))
}

fn text(text: &str) -> AnyValue {
    AnyValue { value: Some(any_value::Value::StringValue(text.to_owned())) }
}

fn whole(number: i64) -> AnyValue {
    AnyValue { value: Some(any_value::Value::IntValue(number)) }
}

/// A table of rows that are there once. The first row is empty.
struct Table<T> {
    rows: Vec<T>,
    places: KeyedMap<T, i32>,
}

impl<T: Clone + Default + Eq + Hash> Default for Table<T> {
    fn default() -> Self {
        let mut table = Self { rows: Vec::new(), places: KeyedMap::default() };
        table.place(T::default());
        table
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn place(&mut self, row: T) -> i32 {
        if let Some(&place) = self.places.get(&row) {
            return place;
        }
        let place = i32::try_from(self.rows.len()).unwrap_or(i32::MAX);
        self.rows.push(row.clone());
        self.places.insert(row, place);
        place
    }
}

/// An attribute as a key of its table: the key, its value, and the unit of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Attribute {
    #[default]
    None,
    Text(i32, String),
    Number(i32, i64, i32),
}

/// A location as a key of its table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Place {
    function: i32,
    line: i64,
    /// The place of the attribute with its kind.
    kind: i32,
}

/// The tables of a request.
#[derive(Default)]
struct Tables {
    strings: Table<String>,
    functions: Table<Function>,
    locations: Table<Place>,
    stacks: Table<Stack>,
    attributes: Table<Attribute>,
    links: Table<Link>,
    /// The places of what all series share.
    stack_places: KeyedMap<NodeId, i32>,
    location_places: KeyedMap<FrameId, i32>,
}

impl Tables {
    fn string(&mut self, text: &str) -> i32 {
        self.strings.place(text.to_owned())
    }

    fn text_attribute(&mut self, key: &str, value: &str) -> i32 {
        let key = self.string(key);
        self.attributes.place(Attribute::Text(key, value.to_owned()))
    }

    /// A column of a series.
    fn profile(
        &mut self,
        file: &ProfileFile,
        profile: &Profile,
        section: &Section,
        place: usize,
    ) -> otlp::Profile {
        let column = &section.head.columns[place];
        // Samples of a known interval are the time that they represent.
        let cpu_ns = column.period.filter(|_| column.metric == Metric::Samples);
        let (name, unit) = match cpu_ns {
            Some(_) => ("cpu", "nanoseconds"),
            None => (column.metric.file_name(), column.metric.unit().name()),
        };
        let value_type =
            ValueType { type_strindex: self.string(name), unit_strindex: self.string(unit) };
        let is_sampled = cpu_ns.is_some() || column.metric.is_of_objects();
        let period_type = column.period.filter(|_| is_sampled).map(|_| match cpu_ns {
            Some(_) => value_type,
            None => ValueType {
                type_strindex: self.string("space"),
                unit_strindex: self.string("bytes"),
            },
        });
        let factor = cpu_ns.unwrap_or(1);
        // Frames that differ in what the protocol has no place for are one location: their samples are one.
        let mut samples: Vec<Sample> = Vec::new();
        let mut places: KeyedMap<Sample, usize> = KeyedMap::default();
        for (key, numbers) in section.rows().filter(|(_, numbers)| numbers[place] > 0) {
            let sample = self.sample(profile, key);
            let at = *places.entry(sample.clone()).or_insert_with(|| {
                samples.push(Sample { values: vec![0], ..sample });
                samples.len() - 1
            });
            let value = &mut samples[at].values[0];
            *value = value.saturating_add(signed(numbers[place].saturating_mul(factor)));
        }
        let listed = section.listed(place);
        let unlisted = column.total.saturating_sub(listed).saturating_mul(factor);
        if unlisted > 0 {
            samples.push(Sample { values: vec![signed(unlisted)], ..Sample::default() });
        }
        let reason = file.reason.as_deref();
        otlp::Profile {
            sample_type: Some(value_type),
            samples,
            time_unix_nano: file.profile.created.unwrap_or_default().unix_ms * 1_000_000,
            duration_nano: file.accounting().map_or(0, |it| it.wall_ns),
            period_type,
            period: signed(column.period.filter(|_| is_sampled).unwrap_or_default()),
            profile_id: series_id(&file.id, name).into_bytes().to_vec(),
            attribute_indices: reason
                .map(|reason| self.text_attribute("perk.trigger", reason))
                .into_iter()
                .collect(),
            ..otlp::Profile::default()
        }
    }

    /// A sample without its number.
    fn sample(&mut self, profile: &Profile, key: Key) -> Sample {
        let trace = profile.get_trace(key.trace);
        let mut attributes = Vec::new();
        if let Some(thread) = trace.thread {
            attributes.push(self.text_attribute("thread.name", profile.thread_name(thread)));
            // Not Java's number: perk's own, which distinguishes threads of one name.
            let id = self.string("perk.thread.serial");
            let serial = profile.get_thread(thread).serial;
            attributes.push(self.attributes.place(Attribute::Number(id, serial.into(), 0)));
        }
        if let Subject::State(state) = key.subject {
            attributes.push(self.text_attribute("thread.state", state.name()));
        }
        let text = |id| profile.symbols.strings.get(id);
        let mut ids = [None, None];
        for label in profile.labels.get(key.labels) {
            let name = text(label.key);
            match label.value {
                LabelValue::Text(value) if name == TRACE_ID => ids[0] = Some(text(value)),
                LabelValue::Text(value) if name == SPAN_ID => ids[1] = Some(text(value)),
                LabelValue::Text(value) => attributes.push(self.text_attribute(name, text(value))),
                LabelValue::Number(value, unit) => {
                    let name = self.string(name);
                    let unit = unit.map_or(0, |unit| self.string(text(unit)));
                    attributes.push(self.attributes.place(Attribute::Number(name, value, unit)));
                }
            }
        }
        let bytes = |text: Option<&str>, count| text.and_then(hex).filter(|it| it.len() == count);
        let link = match (bytes(ids[0], 16), bytes(ids[1], 8)) {
            (Some(trace_id), Some(span_id)) => self.links.place(Link { trace_id, span_id }),
            _ => 0,
        };
        Sample {
            stack_index: self.stack(profile, trace.node),
            attribute_indices: attributes,
            link_index: link,
            ..Sample::default()
        }
    }

    fn stack(&mut self, profile: &Profile, node: NodeId) -> i32 {
        if let Some(&place) = self.stack_places.get(&node) {
            return place;
        }
        let frames = profile.tree.frames(node);
        let mut location_indices: Vec<_> =
            frames.map(|frame| self.location(profile, frame)).collect();
        if location_indices.is_empty() {
            let name = self.string(NO_STACK);
            let function = Function { name_strindex: name, ..Function::default() };
            let function = self.functions.place(function);
            location_indices.push(self.locations.place(Place { function, line: 0, kind: 0 }));
        }
        let place = self.stacks.place(Stack { location_indices });
        self.stack_places.insert(node, place);
        place
    }

    fn location(&mut self, profile: &Profile, id: FrameId) -> i32 {
        if let Some(&place) = self.location_places.get(&id) {
            return place;
        }
        let symbols = &profile.symbols;
        let frame = symbols.get_frame(id);
        let method = symbols.get_method(frame.method);
        let name = symbols.method_name(frame.method);
        let signature = method.signature.map_or("", |it| symbols.strings.get(it));
        let function = Function {
            name_strindex: self.string(&name),
            system_name_strindex: self.string(&format!("{name}{signature}")),
            filename_strindex: self.string(method.source.map_or("", |it| symbols.strings.get(it))),
            start_line: 0,
        };
        let function = self.functions.place(function);
        let line = match frame.line {
            Line::Number(number) => number.into(),
            _ => 0,
        };
        let kind = match frame.kind {
            FrameKind::Native => "native",
            FrameKind::Kernel => "kernel",
            _ => "jvm",
        };
        let kind = self.text_attribute("profile.frame.type", kind);
        let place = self.locations.place(Place { function, line, kind });
        self.location_places.insert(id, place);
        place
    }

    fn dictionary(self) -> ProfilesDictionary {
        let attribute = |row| {
            let (key_strindex, value, unit_strindex) = match row {
                Attribute::None => return KeyValueAndUnit::default(),
                Attribute::Text(key, value) => (key, text(&value), 0),
                Attribute::Number(key, number, unit) => (key, whole(number), unit),
            };
            KeyValueAndUnit { key_strindex, value: Some(value), unit_strindex }
        };
        let location = |place: Place| match place {
            Place { function: 0, .. } => Location::default(),
            Place { function, line, kind } => Location {
                lines: vec![otlp::Line { function_index: function, line, column: 0 }],
                attribute_indices: Some(kind).filter(|&it| it > 0).into_iter().collect(),
                ..Location::default()
            },
        };
        ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: self.locations.rows.into_iter().map(location).collect(),
            function_table: self.functions.rows,
            link_table: self.links.rows,
            string_table: self.strings.rows,
            attribute_table: self.attributes.rows.into_iter().map(attribute).collect(),
            stack_table: self.stacks.rows,
        }
    }
}

/// The protocol's numbers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The bytes of a text in hexadecimal. `None` if it is none, or all are 0: that is no id.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.map(byte).collect::<Option<_>>()?;
    bytes.iter().any(|&it| it > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use perk_profile::section::Column;
    use perk_profile::{Frame, Label, Method, SectionHead, Symbols, Thread, WallState};

    use super::*;

    #[test]
    fn ids_are_in_hexadecimal() {
        assert_eq!(hex("0a1B"), Some(vec![10, 27]));
        for text in ["", "0000", "x1", "é"] {
            assert_eq!(hex(text), None, "{text}");
        }
    }

    #[test]
    fn samples_have_threads_states_labels_and_links() {
        let request =
            request(&file(), &Identity::of_text("service=shop\nteam=a\n")).unwrap().unwrap();
        let mut body = Vec::new();
        GzDecoder::new(&*request.body).read_to_end(&mut body).unwrap();
        let message = ExportProfilesServiceRequest::decode(&*body).unwrap();
        let tables = message.dictionary.unwrap();
        let text = |place: i32| &*tables.string_table[place as usize];
        let resource = &message.resource_profiles[0];
        let keys: Vec<_> =
            resource.resource.as_ref().unwrap().attributes.iter().map(|it| &*it.key).collect();
        assert_eq!(keys, ["service.name", "team"]);
        let profiles = &resource.scope_profiles[0].profiles;
        let names = profiles.iter().map(|it| text(it.sample_type.unwrap().type_strindex));
        assert_eq!(names.collect::<Vec<_>>(), ["cpu", "alloc_space", "wall"]);

        let attributes = |sample: &Sample| -> Vec<String> {
            let indices = sample.attribute_indices.iter();
            let rows = indices.map(|&it| &tables.attribute_table[it as usize]);
            rows.map(|row| match row.value.as_ref().unwrap().value.as_ref().unwrap() {
                any_value::Value::StringValue(value) => {
                    format!("{}={value}", text(row.key_strindex))
                }
                any_value::Value::IntValue(value) => {
                    format!("{}={value} {}", text(row.key_strindex), text(row.unit_strindex))
                }
                other => panic!("{other:?}"),
            })
            .collect()
        };
        let stack = |sample: &Sample| -> Vec<&str> {
            let stack = &tables.stack_table[sample.stack_index as usize].location_indices;
            let locations = stack.iter().map(|&it| &tables.location_table[it as usize]);
            let functions =
                locations.map(|it| &tables.function_table[it.lines[0].function_index as usize]);
            functions.map(|it| text(it.name_strindex)).collect()
        };
        let sample = |profile: usize| &profiles[profile].samples[0];
        assert_eq!(sample(0).values, [60_000_000]);
        assert_eq!(stack(sample(0)), ["A.a"]);
        assert_eq!(
            attributes(sample(0)),
            ["thread.name=main", "perk.thread.serial=7 ", "status=200 code"]
        );
        let link = &tables.link_table[sample(0).link_index as usize];
        assert_eq!((link.trace_id[15], link.span_id[7]), (0x1f, 0xab));
        assert_eq!(stack(sample(1)), ["byte[]", "A.a"]);
        assert!(attributes(sample(2)).contains(&"thread.state=waiting".to_owned()));
        assert_eq!(sample(2).link_index, 0);
        assert_eq!(profiles[0].profile_id.len(), 16);
    }

    /// A file with samples of a span, an allocation and a wait.
    fn file() -> ProfileFile {
        let mut profile = Profile::default();
        let symbols = &mut profile.symbols;
        let (class, name) = (symbols.class("A"), symbols.strings.intern("a"));
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let frame = symbols.frame(Frame::new(method, Line::Number(3)));
        let bytes = symbols.class("byte[]");
        let text = |symbols: &mut Symbols, key: &str, value: &str| Label {
            key: symbols.strings.intern(key),
            value: LabelValue::Text(symbols.strings.intern(value)),
        };
        let code = LabelValue::Number(200, Some(symbols.strings.intern("code")));
        let status = Label { key: symbols.strings.intern("status"), value: code };
        let labels = vec![
            text(symbols, TRACE_ID, "0000000000000000000000000000001f"),
            text(symbols, SPAN_ID, "00000000000000ab"),
            text(symbols, "team", "a"),
            text(symbols, FILE_LABEL, "x"),
            status,
        ];
        let main = symbols.strings.intern("main");
        let labels = profile.labels.set(labels);
        let thread =
            Thread { serial: 7, object_id: 0, name: main, group: None, parent_group: None };
        let thread = profile.push_thread(thread);
        let node = profile.tree.insert([frame]);
        let trace = profile.trace(node, Some(thread));
        let mut add = |metric, period, key, number| {
            let column = Column { period, ..Column::new(metric, number) };
            let mut section = Section::new(SectionHead::new([column]));
            section.push(key, &[number]);
            profile.events.push(section.into());
        };
        let key = |subject| Key::new(trace, subject);
        add(Metric::Samples, Some(20_000_000), Key { labels, ..key(Subject::None) }, 3);
        add(Metric::AllocatedBytes, None, key(Subject::Class(bytes)), 100);
        add(Metric::WallTime, None, key(Subject::State(WallState::Waiting)), 5);
        ProfileFile { profile, id: "host-1-0".to_owned(), reason: None }
    }

    #[test]
    fn tables_have_each_row_once_after_an_empty_one() {
        let mut table = Table::<String>::default();
        assert_eq!(["a", "b", "a", ""].map(|it| table.place(it.to_owned())), [1, 2, 1, 0]);
    }
}
