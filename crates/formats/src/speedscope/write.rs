//! Writes speedscope's JSON. serde_json writes the values; the lists are written by hand, as serde_json has no
//! form with a frame on each line and all numbers on one.

use std::collections::BTreeMap;
use std::io::{self, Write};

use perk_profile::{
    Accounting, FrameId, Key, KeyedMap, Label, LabelSetId, LabelValue, Line, Metric, Profile,
    StrId, Subject, Unit,
};
use serde_json::{Value as Json, json};

use super::{BELOW_CUTOFF, NO_STACK, SCHEMA};
use crate::columns::{self, Column};
use crate::deep::{LEFT_OUT, Stacks};
use crate::name;

/// Writes all numbers that `profile` has by call path: one profile for each metric and thread.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"$schema\":{},\"exporter\":\"perk\"", json!(SCHEMA))?;
    let program = profile.accounting.as_ref().map_or("", |accounting| &accounting.program);
    if !program.is_empty() {
        write!(out, ",\"name\":{}", json!(program))?;
    }
    write!(out, ",\"activeProfileIndex\":0,\"perk\":{}", run(profile))?;
    let stacks = Stacks::new(profile);
    let mut frames = Frames { profile, stacks, table: Vec::new(), ids: KeyedMap::default() };
    let columns = columns::of_profile(profile);
    // The frames come first, so that a file that is cut off has its names.
    let mut stack = Vec::new();
    for column in &columns {
        column.rows.iter().for_each(|&(place, _)| frames.stack(Some(place), &mut stack));
        if column.unlisted() > 0 {
            frames.stack(None, &mut stack);
        }
    }
    out.write_all(b",\"shared\":{\"frames\":[")?;
    for (index, &key) in frames.table.iter().enumerate() {
        let separator = if index > 0 { ",\n" } else { "\n" };
        write!(out, "{separator}{}", frames.json(key))?;
    }
    out.write_all(b"\n]},\"profiles\":[")?;
    let mut separator = "\n";
    for column in columns {
        for (thread, stacks) in by_thread(profile, &column) {
            out.write_all(separator.as_bytes())?;
            write_profile(&column.metric, thread, &stacks, &mut frames, out)?;
            separator = ",\n";
        }
    }
    out.write_all(b"\n]}\n")
}

/// Returns the data of the run, which only perk reads.
fn run(profile: &Profile) -> Json {
    let mut run = json!({});
    if let Some(created) = profile.created {
        run["created"] = json!([created.unix_ms, created.utc_offset_s]);
    }
    if let Some(ns) = profile.sample_interval_ns() {
        run["sample_interval_ns"] = json!(ns);
    }
    if let Some(bytes) = Metric::AllocatedBytes.period(profile) {
        run["sites_interval_bytes"] = json!(bytes);
    }
    if let Some(accounting) = &profile.accounting {
        run["accounting"] = json!(Accounting::to_text(accounting));
    }
    run
}

/// The meaning of a frame of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TableEntry {
    Frame(FrameId),
    Objects(Subject),
    Labels(LabelSetId),
    NoStack,
    BelowCutoff,
    LeftOut,
}

/// Numbers by row. Numbers without a key belong to traces that are not listed.
type WeightRows = Vec<(Option<Key>, u64)>;

/// Returns the numbers of a column in each thread. Those without a thread come first.
fn by_thread(profile: &Profile, column: &Column) -> BTreeMap<Option<StrId>, WeightRows> {
    let mut threads: BTreeMap<Option<StrId>, WeightRows> = BTreeMap::new();
    for &(key, number) in &column.rows {
        let thread = profile.get_trace(key.trace).thread.map(|id| profile.get_thread(id).name);
        threads.entry(thread).or_default().push((Some(key), number));
    }
    let unlisted = column.unlisted();
    if unlisted > 0 {
        threads.entry(None).or_default().push((None, unlisted));
    }
    threads
}

fn write_profile(
    metric: &Metric,
    thread: Option<StrId>,
    numbers: &WeightRows,
    frames: &mut Frames<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (value, unit) = (metric.file_name(), metric.unit());
    let thread = thread.map(|name| frames.profile.symbols.strings.get(name));
    let name = thread.map_or_else(|| value.to_owned(), |thread| format!("{value}: {thread}"));
    let mut more = json!({ "value": value });
    if let Some(thread) = thread {
        more["thread"] = json!(thread);
    }
    let unit = if unit == Unit::Count { "none" } else { unit.name() };
    let total = numbers.iter().map(|row| row.1).fold(0, u64::saturating_add);
    write!(out, "{{\"type\":\"sampled\",\"name\":{},\"perk\":{more}", json!(name))?;
    write!(out, ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{total},\"samples\":[")?;
    let mut stack = Vec::new();
    for (index, &(key, _)) in numbers.iter().enumerate() {
        frames.stack(key, &mut stack);
        out.write_all(if index > 0 { b",[" } else { b"[" })?;
        for (level, id) in stack.iter().rev().enumerate() {
            let separator = if level > 0 { "," } else { "" };
            write!(out, "{separator}{id}")?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"],\"weights\":[")?;
    for (index, (_, number)) in numbers.iter().enumerate() {
        let separator = if index > 0 { "," } else { "" };
        write!(out, "{separator}{number}")?;
    }
    out.write_all(b"]}")
}

/// The frames that samples refer to.
struct Frames<'a> {
    profile: &'a Profile,
    stacks: Stacks<'a>,
    table: Vec<TableEntry>,
    ids: KeyedMap<TableEntry, usize>,
}

impl Frames<'_> {
    /// Fills `stack` with the frames of a row, from the innermost outward.
    fn stack(&mut self, key: Option<Key>, stack: &mut Vec<usize>) {
        stack.clear();
        let Some(Key { trace, subject, labels }) = key else {
            stack.push(self.id(TableEntry::BelowCutoff));
            return;
        };
        let profile = self.profile;
        if subject != Subject::None {
            stack.push(self.id(TableEntry::Objects(subject)));
        }
        let objects = stack.len();
        let table = &mut self.table;
        let ids = &mut self.ids;
        let frames = self.stacks.frames(profile.get_trace(trace).node);
        stack.extend(
            frames
                .map(|frame| id(table, ids, frame.map_or(TableEntry::LeftOut, TableEntry::Frame))),
        );
        if stack.len() == objects {
            stack.push(self.id(TableEntry::NoStack));
        }
        if labels != LabelSetId::EMPTY {
            stack.push(self.id(TableEntry::Labels(labels)));
        }
    }

    fn id(&mut self, key: TableEntry) -> usize {
        id(&mut self.table, &mut self.ids, key)
    }

    fn json(&self, key: TableEntry) -> Json {
        let symbols = &self.profile.symbols;
        let frame = match key {
            TableEntry::NoStack => return json!({ "name": NO_STACK }),
            TableEntry::BelowCutoff => return json!({ "name": BELOW_CUTOFF }),
            TableEntry::LeftOut => return json!({ "name": LEFT_OUT }),
            TableEntry::Objects(subject) => {
                let name = subject.label(symbols).unwrap_or_default();
                return json!({ "name": name, "perk": { "kind": "objects" } });
            }
            TableEntry::Labels(set) => return self.labels(set),
            TableEntry::Frame(frame) => symbols.get_frame(frame),
        };
        let method = symbols.get_method(frame.method);
        let class = symbols.class_name(method.class);
        let mut json = json!({ "name": name::join(class, symbols.strings.get(method.name)) });
        if let Some(source) = method.source {
            json["file"] = json!(symbols.strings.get(source));
        }
        if let Some(signature) = method.signature {
            json["perk"]["signature"] = json!(symbols.strings.get(signature));
        }
        match frame.line {
            Line::Number(line) => json["line"] = json!(line),
            Line::Native => json["perk"]["kind"] = json!("native"),
            Line::Compiled => json["perk"]["kind"] = json!("compiled"),
            Line::Unknown => {}
        }
        json
    }
}

/// The labels of a row are its outermost frame: speedscope has no other place.
impl Frames<'_> {
    fn labels(&self, set: LabelSetId) -> Json {
        let symbols = &self.profile.symbols;
        let text = |id| symbols.strings.get(id);
        let labels = self.profile.labels.get(set);
        let name = |label: &Label| format!("{}={}", text(label.key), label.value_text(symbols));
        let name: Vec<_> = labels.iter().map(name).collect();
        let labels = labels.iter().map(|label| match label.value {
            LabelValue::Text(value) => json!({ "key": text(label.key), "text": text(value) }),
            LabelValue::Number(number, unit) => {
                json!({ "key": text(label.key), "number": number, "unit": unit.map(text) })
            }
        });
        let labels: Vec<_> = labels.collect();
        json!({ "name": name.join(", "), "perk": { "kind": "labels", "labels": labels } })
    }
}

fn id(
    table: &mut Vec<TableEntry>,
    ids: &mut KeyedMap<TableEntry, usize>,
    key: TableEntry,
) -> usize {
    *ids.entry(key).or_insert_with(|| {
        table.push(key);
        table.len() - 1
    })
}
