//! The events of recordings made here: all values of all types are those that `jfr print` gives.

use std::ops::ControlFlow;

use perk_formats::jfr::events::{self, EventField, EventSink, FieldKind, Value};
use perk_profile::{NodeId, Profile};
use perk_testkit::jdk;
use serde_json::{Map, Value as Json, json};

use super::real::{class_name, jfr_tool, program, summary};

/// What a value is in JSON: numbers of time are numbers, and stacks lists of methods, the innermost first.
struct Rows<'a> {
    fields: &'a [EventField],
    /// The values of the current event, by node.
    values: Vec<(usize, Json)>,
    rows: Vec<Json>,
}

impl EventSink for Rows<'_> {
    fn value(&mut self, node: usize, value: Value<'_>) {
        let value = match value {
            Value::Null => Json::Null,
            Value::Flag(flag) => flag.into(),
            Value::Number(number) | Value::Time(number) | Value::Timespan(number) => number.into(),
            Value::Decimal(number) => number.into(),
            Value::Text(text) => text.into(),
            Value::Stack(profile, node) => stack(profile, node),
            Value::Struct => json!({}),
            Value::List(count) => json!(vec![(); count]),
        };
        self.values.push((node, value));
    }

    fn end_event(&mut self) -> ControlFlow<()> {
        let mut values = std::mem::take(&mut self.values);
        // Fields that are missing come last.
        values.sort_by_key(|&(node, _)| node);
        let mut values = values.into_iter();
        self.rows.push(object(self.fields, 0, &mut values));
        assert_eq!(values.next(), None);
        ControlFlow::Continue(())
    }
}

fn stack(profile: &Profile, node: NodeId) -> Json {
    let frames = profile.tree.frames(node);
    let method = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
    frames.map(method).collect()
}

fn object(
    fields: &[EventField],
    mut node: usize,
    values: &mut impl Iterator<Item = (usize, Json)>,
) -> Json {
    let mut map = Map::new();
    for EventField { name, kind, .. } in fields {
        let (at, mut value) = values.next().unwrap();
        assert_eq!(at, node, "{name}");
        match (&mut value, kind) {
            (Json::Object(_), FieldKind::Struct(fields)) => {
                value = object(fields, node + 1, values);
            }
            (Json::Array(items), FieldKind::List(_)) => {
                items.iter_mut().for_each(|item| *item = values.next().unwrap().1);
            }
            _ => {}
        }
        map.insert(name.clone(), value);
        node += kind.node_count();
    }
    map.into()
}

/// The time by whose multiples zones differ.
const QUARTER_NS: i64 = 900_000_000_000;

/// The nanoseconds of a time in ISO 8601 since midnight.
fn time_ns(text: &str) -> i64 {
    let time = text.split_once('T').unwrap().1;
    let time = &time[..time.find(['+', '-', 'Z']).unwrap_or(time.len())];
    let (clock, part) = time.split_once('.').unwrap_or((time, "0"));
    let seconds =
        clock.split(':').fold(0, |sum: i64, part| sum * 60 + part.parse::<i64>().unwrap());
    let part_ns: i64 = format!("{part:0<9}").parse().unwrap();
    seconds * 1_000_000_000 + part_ns
}

/// The nanoseconds of a duration in ISO 8601.
fn span_ns(text: &str) -> f64 {
    let mut sum = 0.0;
    let mut number = String::new();
    for letter in text.trim_start_matches("PT").chars() {
        let unit = match letter {
            'H' => 3600e9,
            'M' => 60e9,
            'S' => 1e9,
            _ => {
                number.push(letter);
                continue;
            }
        };
        sum += std::mem::take(&mut number).parse::<f64>().unwrap() * unit;
    }
    sum
}

/// Whether a value is the one that the JDK prints.
fn is_same(kind: &FieldKind, own: &Json, theirs: &Json) -> bool {
    match kind {
        // The JDK has a time or span of no length, and perk none.
        FieldKind::Time | FieldKind::Timespan if own.is_null() => {
            let text = theirs.as_str().unwrap_or_default();
            text.contains("PT-") || text.starts_with('-') || theirs.is_null()
        }
        _ if own.is_null() => theirs.is_null(),
        FieldKind::Flag => own == theirs,
        FieldKind::Number => match theirs.as_u64() {
            Some(number) => own.as_i64() == Some(i64::try_from(number).unwrap_or(i64::MAX)),
            // JDK 17 prints numbers without sign as if they had one.
            None => own == theirs || own.as_i64() == Some(i64::MAX),
        },
        FieldKind::Decimal => {
            let theirs: f64 = theirs.to_string().trim_matches('"').parse().unwrap();
            let own = own.as_f64().unwrap();
            (own - theirs).abs() <= 1e-6 * theirs.abs() + 1e-30
        }
        FieldKind::Text if theirs.is_object() => {
            own.as_str() == theirs["name"].as_str().map(class_name).as_deref()
        }
        FieldKind::Text => own == theirs,
        FieldKind::Time => {
            let away = own.as_i64().unwrap() - time_ns(theirs.as_str().unwrap());
            let away = away.rem_euclid(QUARTER_NS);
            away.min(QUARTER_NS - away) <= 1_000
        }
        FieldKind::Timespan => {
            let own = own.as_f64().unwrap();
            // Longer ones are as long as numbers go.
            let theirs = span_ns(theirs.as_str().unwrap()).min(i64::MAX as f64);
            (own - theirs).abs() <= 1e-9 * theirs.abs() + 2.0
        }
        FieldKind::Stack => {
            let frames = theirs["frames"].as_array().unwrap();
            let method = |frame: &Json| {
                let method = &frame["method"];
                let class = class_name(method["type"]["name"].as_str().unwrap());
                format!("{class}.{}", method["name"].as_str().unwrap())
            };
            *own == frames.iter().map(method).collect::<Json>()
        }
        FieldKind::Struct(fields) => {
            fields.iter().all(|it| is_same(&it.kind, &own[&it.name], &theirs[&it.name]))
        }
        FieldKind::List(kind) => {
            let (own, theirs) = (own.as_array().unwrap(), theirs.as_array().unwrap());
            own.len() == theirs.len()
                && own.iter().zip(theirs).all(|(own, theirs)| is_same(kind, own, theirs))
        }
        FieldKind::Mixed => false,
    }
}

fn rows(bytes: &[u8], name: &str, fields: &[EventField]) -> Vec<Json> {
    let mut sink = Rows { fields, values: Vec::new(), rows: Vec::new() };
    assert_eq!(events::read(bytes, name, fields, &mut sink), Ok(0));
    sink.rows
}

#[test]
fn all_events_are_those_that_the_jdk_prints() {
    jdk::each(|jdk| {
        let outcome = program(jdk, "1500").run();
        outcome.assert_success();
        let bytes = outcome.bytes("x.jfr");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.jfr");
        std::fs::write(&file, bytes).unwrap();

        let types = events::types(bytes).unwrap();
        let counts = types.0.iter().filter(|(_, it)| it.count > 0);
        let counts: Vec<_> = counts.map(|(name, it)| (name.clone(), it.count)).collect();
        let mut expected = summary(jdk, &file);
        expected.retain(|name, _| !["jdk.Metadata", "jdk.Checkpoint"].contains(&name.as_str()));
        assert_eq!(counts, Vec::from_iter(expected), "JDK {}", jdk.version);
        assert!(counts.len() > 50, "{counts:?}");

        // All at once: each start of a JVM takes a second.
        let listed: Vec<_> = counts.iter().map(|(name, _)| name.as_str()).collect();
        let args = ["print", "--json", "--stack-depth", "2048", "--events", &listed.join(",")];
        let printed: Json = serde_json::from_str(&jfr_tool(jdk, &args, &file)).unwrap();
        let printed = printed["recording"]["events"].as_array().unwrap();
        let mut names = Vec::new();
        for (name, event_type) in types.0.iter().filter(|(_, it)| it.count > 0) {
            let rows = rows(bytes, name, &event_type.fields);
            let printed = printed.iter().filter(|it| it["type"] == name.as_str());
            let mut printed: Vec<_> = printed.map(|it| &it["values"]).collect();
            assert_eq!(rows.len() as u64, event_type.count, "{name}");
            assert_eq!(rows.len(), printed.len(), "{name}");
            // The JDK prints events by time.
            let mut rows: Vec<_> = rows.iter().collect();
            rows.sort_by_key(|row| row["startTime"].as_i64());
            printed.sort_by_key(|row| time_ns(row["startTime"].as_str().unwrap()));
            for (row, printed) in rows.into_iter().zip(printed) {
                for EventField { name: field, kind, .. } in &event_type.fields {
                    names.push(format!("{name}.{field}"));
                    assert!(
                        is_same(kind, &row[field], &printed[field]),
                        "JDK {}: {name}.{field}: {} {}",
                        jdk.version,
                        row[field],
                        printed[field]
                    );
                }
            }
        }
        names.dedup();
        assert!(names.len() > 300, "{names:?}");

        // One field alone is the same as among all.
        let all = &types.0["jdk.ThreadPark"].fields;
        let one: Vec<_> = all.iter().filter(|it| it.name == "parkedClass").cloned().collect();
        let alone = rows(bytes, "jdk.ThreadPark", &one);
        let among = rows(bytes, "jdk.ThreadPark", all);
        assert!(alone.iter().any(|row| row["parkedClass"].is_string()), "{alone:?}");
        assert!(alone.iter().zip(&among).all(|(a, b)| a["parkedClass"] == b["parkedClass"]));
        assert_eq!(alone.len(), among.len());
    });
}
