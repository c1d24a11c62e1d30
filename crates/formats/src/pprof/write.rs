//! Writes `profile.proto`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use perk_profile::{
    Accounting, FrameId, FrameKind, Key, KeyedMap, Line, MethodId, Metric, Profile, Subject, Unit,
};

use super::types::{CPU, SPACE};
use super::wire::Encoder;
use super::{
    BELOW_CUTOFF, CLASS_LABEL, COMMENT, COMPILED, JAVA, KERNEL, NATIVE, NO_STACK, RUN,
    SITES_INTERVAL, STATE_LABEL, THREAD_ID_LABEL, THREAD_LABEL, is_library,
};
use crate::columns::{self, Column};
use crate::deep::{LEFT_OUT, Stacks};
use crate::name;

/// The mappings of all files, which distinguish native and compiled frames from others. The first is
/// the program's. Those of libraries and of the kernel follow.
const MAPPINGS: [&str; 3] = [JAVA, NATIVE, COMPILED];

/// Writes all numbers that `profile` has by call path, uncompressed. Programs that read pprof's
/// files accept them in this form, or compressed by gzip.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let columns = columns_of(profile);
    let mut tables = WriterTables::new(profile);
    let mut file = Encoder::default();
    for column in &columns {
        let name = tables.string(column.metric.file_name());
        let unit = tables.string(column.metric.unit().name());
        value_type(&mut file, 1, name, unit);
    }
    write_samples(&columns, &mut tables, out, &mut file)?;
    write_run(profile, &columns, &mut tables, &mut file);
    tables.write(out, &mut file)
}

/// Returns the columns of `profile`, and the CPU time of the samples if their interval is known.
fn columns_of(profile: &Profile) -> Vec<Column> {
    let mut columns = columns::of_profile(profile);
    let samples = columns.iter().position(|column| column.metric == Metric::Samples);
    if let (Some(samples), Some(ns)) = (samples, profile.sample_interval_ns()) {
        let mut cpu = columns[samples].clone();
        cpu.metric = Metric::other(CPU, Unit::Nanoseconds);
        cpu.total = cpu.total.saturating_mul(ns);
        cpu.rows.iter_mut().for_each(|row| row.1 = row.1.saturating_mul(ns));
        columns.insert(samples + 1, cpu);
    }
    columns
}

fn write_samples(
    columns: &[Column],
    tables: &mut WriterTables<'_>,
    out: &mut dyn Write,
    file: &mut Encoder,
) -> io::Result<()> {
    let mut samples: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        for &(key, number) in &column.rows {
            let numbers = samples.entry(key).or_insert_with(|| vec![0; columns.len()]);
            numbers[index] = numbers[index].saturating_add(number);
        }
    }
    let [thread_key, id_key, class_key, state_key] =
        [THREAD_LABEL, THREAD_ID_LABEL, CLASS_LABEL, STATE_LABEL].map(|label| tables.string(label));
    let profile = tables.profile;
    let stacks = Stacks::new(profile);
    let mut locations = Vec::new();
    for (&Key { trace, subject, labels: set }, numbers) in &samples {
        let trace = profile.get_trace(trace);
        locations.clear();
        locations.extend(stacks.frames(trace.node).map(|frame| match frame {
            Some(frame) => tables.frame(frame),
            None => tables.location(Location::LeftOut),
        }));
        if locations.is_empty() {
            locations.push(tables.location(Location::NoStack));
        }
        let mut labels = Vec::with_capacity(3);
        if let Some(thread) = trace.thread {
            let name = tables.string(profile.thread_name(thread));
            labels.push((thread_key, LabelValue::Text(name)));
            let serial = profile.get_thread(thread).serial;
            labels.push((id_key, LabelValue::Number(serial.into(), 0)));
        }
        let (key, text) = match subject {
            Subject::State(state) => (state_key, Some(tables.string(state.name()))),
            _ => (class_key, subject.label(&profile.symbols).map(|label| tables.string(&label))),
        };
        labels.extend(text.map(|text| (key, LabelValue::Text(text))));
        for label in profile.labels.get(set) {
            let text = |id| profile.symbols.strings.get(id);
            let key = tables.string(text(label.key));
            let value = match label.value {
                perk_profile::LabelValue::Text(id) => LabelValue::Text(tables.string(text(id))),
                perk_profile::LabelValue::Number(number, unit) => LabelValue::Number(
                    number as u64,
                    unit.map_or(0, |unit| tables.string(text(unit))),
                ),
            };
            labels.push((key, value));
        }
        sample(file, &locations, numbers, &labels);
        flush(out, file)?;
    }
    let unlisted: Vec<u64> = columns.iter().map(Column::unlisted).collect();
    if unlisted.iter().any(|&number| number > 0) {
        let location = tables.location(Location::BelowCutoff);
        sample(file, &[location], &unlisted, &[]);
    }
    Ok(())
}

/// The value of a label: the index of a string, or a number and the index of its unit.
#[derive(Clone, Copy)]
enum LabelValue {
    Text(u64),
    Number(u64, u64),
}

fn sample(file: &mut Encoder, locations: &[u64], numbers: &[u64], labels: &[(u64, LabelValue)]) {
    file.message(2, |sample| {
        sample.packed(1, locations.iter().copied());
        // The file's numbers are signed.
        sample.packed(2, numbers.iter().map(|&number| number.min(i64::MAX.unsigned_abs())));
        for &(key, value) in labels {
            sample.message(3, |label| {
                label.number(1, key);
                match value {
                    LabelValue::Text(text) => label.number(2, text),
                    LabelValue::Number(number, unit) => {
                        label.number(3, number);
                        label.number(4, unit);
                    }
                }
            });
        }
    });
}

/// Writes the data of the run, and the data that is not measured by call path.
fn write_run(
    profile: &Profile,
    columns: &[Column],
    tables: &mut WriterTables<'_>,
    file: &mut Encoder,
) {
    let unix_ms = profile.created.map_or(0, |stamp| stamp.unix_ms);
    file.number(9, unix_ms.saturating_mul(1_000_000).min(i64::MAX.unsigned_abs()));
    let mut run = RUN.to_owned();
    if let Some(accounting) = &profile.accounting {
        file.number(10, accounting.wall_ns.min(i64::MAX.unsigned_abs()));
        run += &Accounting::to_text(accounting);
    }
    let has_samples = columns.iter().any(|column| column.metric == Metric::Samples);
    let sample_ns = profile.sample_interval_ns().filter(|_| has_samples);
    let sites_bytes = Metric::AllocatedBytes.period(profile);
    let period = match (sample_ns, sites_bytes) {
        (Some(ns), _) => Some((CPU, Unit::Nanoseconds, ns)),
        (None, Some(bytes)) => Some((SPACE, Unit::Bytes, bytes)),
        (None, None) => columns.first().and_then(|column| period_of(&column.metric)),
    };
    if let Some((name, unit, period)) = period {
        let (name, unit) = (tables.string(name), tables.string(unit.name()));
        value_type(file, 11, name, unit);
        file.number(12, period.min(i64::MAX.unsigned_abs()));
    }
    run.extend(sites_bytes.map(|bytes| format!("{SITES_INTERVAL}{bytes}\n")));
    if run != RUN {
        tables.string(&run);
    }
    let comments = profile.notes.iter().filter_map(|note| note.strip_prefix(COMMENT));
    let comments: Vec<_> = comments.map(|comment| tables.string(comment)).collect();
    if !comments.is_empty() {
        file.packed(13, comments);
    }
    if let Some(metric) = Metric::first_of(profile) {
        let is_timed = metric == Metric::Samples && sample_ns.is_some();
        let shown = if is_timed { CPU } else { metric.file_name() };
        let shown = tables.string(shown);
        file.number(14, shown);
    }
}

/// The kind of event of which each is in the numbers, as others name it.
fn period_of(metric: &Metric) -> Option<(&'static str, Unit, u64)> {
    match metric {
        Metric::BlockedCount => Some(("contentions", Unit::Count, 1)),
        Metric::WaitCount => Some(("waits", Unit::Count, 1)),
        Metric::WallTime => Some(("wall", Unit::Nanoseconds, 1)),
        _ => None,
    }
}

fn value_type(file: &mut Encoder, field: u64, name: u64, unit: u64) {
    file.message(field, |value_type| {
        value_type.number(1, name);
        value_type.number(2, unit);
    });
}

fn flush(out: &mut dyn Write, file: &mut Encoder) -> io::Result<()> {
    out.write_all(&file.bytes)?;
    file.bytes.clear();
    Ok(())
}

/// The meaning of a location of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Location {
    Line { method: MethodId, line: Line, is_kernel: bool },
    NoStack,
    BelowCutoff,
    LeftOut,
}

/// The tables to which samples refer. Ids begin with 1.
struct WriterTables<'a> {
    profile: &'a Profile,
    strings: Vec<String>,
    string_ids: KeyedMap<String, u64>,
    /// The files of mappings.
    mappings: Vec<String>,
    locations: Vec<Location>,
    location_ids: KeyedMap<Location, u64>,
    frame_ids: KeyedMap<FrameId, u64>,
}

impl<'a> WriterTables<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            strings: vec![String::new()],
            string_ids: KeyedMap::from_iter([(String::new(), 0)]),
            mappings: MAPPINGS.map(str::to_owned).to_vec(),
            locations: Vec::new(),
            location_ids: KeyedMap::default(),
            frame_ids: KeyedMap::default(),
        }
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.string_ids.get(text) {
            return id;
        }
        let id = self.strings.len() as u64;
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), id);
        id
    }

    fn frame(&mut self, id: FrameId) -> u64 {
        if let Some(&location) = self.frame_ids.get(&id) {
            return location;
        }
        let frame = self.profile.symbols.get_frame(id);
        let is_kernel = frame.kind == FrameKind::Kernel;
        let (method, line) = (frame.method, frame.line);
        let location = self.location(Location::Line { method, line, is_kernel });
        self.frame_ids.insert(id, location);
        location
    }

    fn location(&mut self, location: Location) -> u64 {
        *self.location_ids.entry(location).or_insert_with(|| {
            self.locations.push(location);
            self.locations.len() as u64
        })
    }

    /// Returns the library of a native function, if it is known.
    fn library(&self, method: MethodId) -> Option<&'a str> {
        let symbols = &self.profile.symbols;
        let method = symbols.get_method(method);
        let source = symbols.strings.get(method.source?);
        (symbols.class_name(method.class).is_empty() && is_library(source)).then_some(source)
    }

    /// Returns the mapping of a location.
    fn mapping(&mut self, location: Location) -> u64 {
        let file = match location {
            Location::Line { is_kernel: true, .. } => KERNEL,
            Location::Line { method, line: Line::Native, .. } => {
                self.library(method).unwrap_or(NATIVE)
            }
            Location::Line { line: Line::Compiled, .. } => COMPILED,
            _ => JAVA,
        };
        let known = self.mappings.iter().position(|mapping| mapping == file);
        let index = known.unwrap_or_else(|| {
            self.mappings.push(file.to_owned());
            self.mappings.len() - 1
        });
        index as u64 + 1
    }

    fn write(mut self, out: &mut dyn Write, file: &mut Encoder) -> io::Result<()> {
        let locations = std::mem::take(&mut self.locations);
        let mappings: Vec<u64> = locations.iter().map(|&it| self.mapping(it)).collect();
        for (index, name) in std::mem::take(&mut self.mappings).into_iter().enumerate() {
            let name = self.string(&name);
            file.message(3, |mapping| {
                mapping.number(1, index as u64 + 1);
                mapping.number(5, name);
                // The mapping has functions, files, lines and inlined frames: no symbols need to be
                // looked up.
                (7..=10).for_each(|field| mapping.number(field, 1));
            });
        }
        let mut function_ids: KeyedMap<(Option<MethodId>, &str), u64> = KeyedMap::default();
        for (index, (location, mapping)) in locations.into_iter().zip(mappings).enumerate() {
            let (function, line) = match location {
                Location::Line { method, line, .. } => ((Some(method), ""), line),
                Location::NoStack => ((None, NO_STACK), Line::Unknown),
                Location::BelowCutoff => ((None, BELOW_CUTOFF), Line::Unknown),
                Location::LeftOut => ((None, LEFT_OUT), Line::Unknown),
            };
            let next = function_ids.len() as u64 + 1;
            let id = *function_ids.entry(function).or_insert(next);
            if id == next {
                self.function(file, id, function);
            }
            file.message(4, |location| {
                location.number(1, index as u64 + 1);
                location.number(2, mapping);
                location.message(4, |message| {
                    message.number(1, id);
                    if let Line::Number(line) = line {
                        message.number(2, line.into());
                    }
                });
            });
            flush(out, file)?;
        }
        for text in &self.strings {
            file.bytes(6, text.as_bytes());
            flush(out, file)?;
        }
        flush(out, file)
    }

    /// Writes a method, or the name of a place that is not a method.
    fn function(&mut self, file: &mut Encoder, id: u64, (method, name): (Option<MethodId>, &str)) {
        let symbols = &self.profile.symbols;
        let (mut full, mut signature, mut source) = (name.to_owned(), "", "");
        if let Some(id) = method {
            let method = symbols.get_method(id);
            let class = symbols.class_name(method.class);
            full = name::join(class, symbols.strings.get(method.name));
            signature = method.signature.map_or("", |signature| symbols.strings.get(signature));
            source = method.source.map_or("", |source| symbols.strings.get(source));
            // Its mapping has it.
            source = if self.library(id).is_some() { "" } else { source };
        }
        let system = self.string(&format!("{full}{signature}"));
        let (full, source) = (self.string(&full), self.string(source));
        file.message(5, |function| {
            function.number(1, id);
            function.number(2, full);
            function.number(3, system);
            function.number(4, source);
        });
    }
}
