//! Reads `profile.proto`.

use std::io::Read;

use perk_profile::{
    self as profile, Accounting, Frame, FrameId, FrameKind, Key, KeyedMap, LabelSetId, LabelValue,
    Line, Method, MethodId, NodeId, Profile, Subject, ThreadId, Timestamp, WallState,
};

use super::samples::{SampleLabel, SampleTable};
use super::tables::{Function, Location, Tables, entry};
use super::types::{self, ValueType};
use super::wire::{Message, Wire, WireField};
use super::{
    BELOW_CUTOFF, CLASS_LABEL, COMMENT, COMPILED, JAVA, KERNEL, NATIVE, NO_STACK, OLD_RUN, RUN,
    SITES_INTERVAL, STATE_LABEL, THREAD_ID_LABEL, UNKNOWN, is_library,
};
use crate::Error;
use crate::builder::ProfileBuilder;
use crate::columns;
use crate::memory;
use crate::name::NameParts;
use crate::stacks::ROOT;

/// The keys of labels that name the thread.
const THREAD_LABELS: [&str; 3] = ["thread", "thread name", "thread_name"];
/// The keys of labels that number the thread.
const THREAD_ID_LABELS: [&str; 2] = [THREAD_ID_LABEL, "thread id"];
/// The keys of labels whose text can be empty, as the names of virtual threads are.
const TEXT_LABELS: [&str; 4] = ["thread", "thread name", "thread_name", CLASS_LABEL];
/// The number of comments and kinds of labels that are reported one by one.
const MOST_NAMED: usize = 8;

/// Reads an uncompressed profile.
///
/// # Errors
/// [`Error`] with the place that cannot be understood.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut file = PprofFile::default();
    let mut wire = Wire::new(input);
    loop {
        let offset = wire.offset();
        let Some((number, field)) = wire.next()? else { break };
        file.add(number, field, offset)?;
    }
    if wire.is_cut() {
        file.cut(wire.offset())?;
    }
    let (frames, methods) = (KeyedMap::default(), KeyedMap::default());
    PprofBuilder { file, builder: ProfileBuilder::default(), frames, methods }.build()
}

/// A file while it is read.
#[derive(Debug, Default)]
struct PprofFile {
    /// The offset at which the file is cut off, if it is.
    cut: Option<usize>,
    types: Vec<(u64, u64)>,
    samples: SampleTable,
    tables: Tables,
    drop_frames: u64,
    keep_frames: u64,
    time_ns: i64,
    period_type: (u64, u64),
    period: i64,
    comments: Vec<u64>,
    /// The string that holds the data of the run, in perk's own files.
    run: Option<String>,
    unknown_field_count: u64,
}

impl PprofFile {
    fn add(&mut self, number: u64, field: WireField<'_>, offset: usize) -> Result<(), Error> {
        match (number, field) {
            (1, WireField::Bytes(message)) => {
                let value_type = self.value_type(message)?;
                self.types.push(value_type);
            }
            (2, WireField::Bytes(message)) => self.samples.add(message)?,
            (3, WireField::Bytes(message)) => self.tables.add_mapping(message)?,
            (4, WireField::Bytes(message)) => self.tables.add_location(message)?,
            (5, WireField::Bytes(message)) => self.tables.add_function(message)?,
            (6, WireField::Bytes(message)) => {
                if self.run.is_none() && message.bytes.starts_with(RUN.as_bytes()) {
                    self.run = Some(String::from_utf8_lossy(message.bytes).into_owned());
                }
                self.tables.strings.push(message.bytes);
            }
            (7, WireField::Varint(value)) => self.drop_frames = value,
            (8, WireField::Varint(value)) => self.keep_frames = value,
            (9, WireField::Varint(value)) => self.time_ns = value.cast_signed(),
            (11, WireField::Bytes(message)) => self.period_type = self.value_type(message)?,
            (12, WireField::Varint(value)) => self.period = value.cast_signed(),
            (13, WireField::Varint(value)) => self.comments.push(value),
            (13, WireField::Bytes(mut packed)) => {
                while !packed.bytes.is_empty() {
                    self.comments.push(packed.varint()?);
                }
            }
            (10 | 14 | 15, WireField::Varint(_)) => {}
            (1..=15, _) => {
                let expected = "a field of the type that pprof gives it";
                return Err(Error::Offset { offset, expected });
            }
            _ => self.unknown_field_count += 1,
        }
        Ok(())
    }

    /// Records that the file ends at `offset`, in the middle of a field. Without the names of its
    /// metrics the samples have no meaning.
    fn cut(&mut self, offset: usize) -> Result<(), Error> {
        let strings = &self.tables.strings;
        let is_named =
            |&(name, unit): &(u64, u64)| strings.get(name).is_some() && strings.get(unit).is_some();
        if self.types.is_empty() || !self.types.iter().all(is_named) {
            let expected = "the rest of the file: it is cut off before the names of its metrics";
            return Err(Error::Offset { offset, expected });
        }
        self.tables.strings.is_cut = true;
        self.cut = Some(offset);
        Ok(())
    }

    fn value_type(&mut self, message: Message<'_>) -> Result<(u64, u64), Error> {
        let mut value_type = (0, 0);
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => value_type.0 = value,
                (2, WireField::Varint(value)) => value_type.1 = value,
                (1..=2, _) => return Err(message.error("a value type's fields as numbers")),
                _ => self.unknown_field_count += 1,
            }
        }
        Ok(value_type)
    }
}

/// The destination of the samples of a stack.
#[derive(Clone, Copy, Debug)]
enum Stack {
    Node(NodeId),
    BelowCutoff,
}

/// The meaning of a sample's labels: its thread, the class of the objects that it counts or the state of the
/// thread, and all others.
type Labels = (Option<ThreadId>, Subject, LabelSetId);

struct PprofBuilder {
    file: PprofFile,
    builder: ProfileBuilder,
    /// The frames of a location, the innermost first.
    frames: KeyedMap<u64, Vec<FrameId>>,
    /// The methods by the ids of functions, with the lines in their names.
    methods: KeyedMap<u64, (MethodId, Line)>,
}

impl PprofBuilder {
    fn build(mut self) -> Result<Profile, Error> {
        let types = self.types()?;
        if !self.file.samples.rows.is_empty() && types.len() != self.file.samples.width {
            let offset = self.file.samples.offset;
            return Err(Error::Offset { offset, expected: "a value for each of the sample types" });
        }
        let stacks = self.stacks()?;
        let labels = self.labels()?;
        let mut columns: Vec<_> = types.iter().map(|_| Vec::new()).collect();
        let width = self.file.samples.width;
        for (row, &(node, set)) in self.file.samples.rows.iter().enumerate() {
            if memory::is_full(1) {
                break;
            }
            let (thread, subject, labels) = labels[set as usize];
            let key = match stacks[node as usize] {
                Stack::Node(node) => {
                    Some(Key { trace: self.builder.profile.trace(node, thread), subject, labels })
                }
                Stack::BelowCutoff => None,
            };
            let numbers = &self.file.samples.numbers[row * width..][..width];
            for (column, &number) in columns.iter_mut().zip(numbers) {
                if number > 0 {
                    column.push((key, number));
                }
            }
        }
        let period_type = self.value_type(self.file.period_type)?;
        let period = u64::try_from(self.file.period).unwrap_or(0);
        let (columns, mut intervals) = types::to_columns(&types, columns, &period_type, period);
        self.note(&mut intervals)?;
        let mut profile = self.builder.profile;
        columns::into_profile(&mut profile, columns, intervals);
        Ok(profile)
    }

    fn types(&self) -> Result<Vec<ValueType>, Error> {
        self.file.types.iter().map(|&value_type| self.value_type(value_type)).collect()
    }

    fn value_type(&self, (name, unit): (u64, u64)) -> Result<ValueType, Error> {
        let strings = &self.file.tables.strings;
        let name = strings.of(name, "sample_type", name)?;
        Ok(ValueType { name, unit: strings.of(unit, "sample_type", unit)? })
    }

    /// Returns the destinations of the samples of each node of the file's stacks.
    fn stacks(&mut self) -> Result<Vec<Stack>, Error> {
        let root = self.builder.profile.tree.root();
        let mut stacks = vec![Stack::Node(root)];
        let nodes = std::mem::take(&mut self.file.samples.stacks);
        let mut nodes = nodes.iter();
        let mut frame_count = 1;
        // Equal stacks of locations with many inlined methods are long.
        while !memory::is_full(frame_count)
            && let Some((parent, id)) = nodes.next()
        {
            if !self.frames.contains_key(&id) {
                let frames = self.frames_of(id)?;
                self.frames.insert(id, frames);
            }
            let frames = &self.frames[&id];
            frame_count = frames.len();
            let above = match stacks[parent as usize] {
                Stack::Node(node) => node,
                Stack::BelowCutoff => root,
            };
            let profile = &mut self.builder.profile;
            let special = (parent == ROOT && frames.len() == 1).then(|| {
                let method = profile.symbols.get_frame(frames[0]).method;
                profile.symbols.method_name(method)
            });
            stacks.push(match special.as_deref() {
                Some(NO_STACK) => Stack::Node(root),
                Some(BELOW_CUTOFF) => Stack::BelowCutoff,
                _ => {
                    let frames = frames.iter().rev().copied();
                    Stack::Node(profile.tree.insert_below(above, frames))
                }
            });
        }
        Ok(stacks)
    }

    fn frames_of(&mut self, id: u64) -> Result<Vec<FrameId>, Error> {
        let expected = "an entry of this id, as samples name it";
        let location = match self.file.tables.locations.get(&id) {
            Some(&location) => location,
            None if self.file.cut.is_some() => {
                return Ok(vec![self.builder.frame("", UNKNOWN, "", Line::Unknown)]);
            }
            None => return Err(entry("location", id, expected)),
        };
        let tables = &self.file.tables;
        let mapping = tables.mappings.get(&location.mapping).copied().unwrap_or_default();
        let file = tables.strings.of(mapping.file, "mapping", location.mapping)?;
        if tables.lines(location).is_empty() {
            let name = address_name(location, mapping.start, mapping.file_offset, &file);
            return Ok(vec![self.builder.frame("", &name, "", Line::Unknown)]);
        }
        let lines = tables.lines(location).to_vec();
        let mut frames = Vec::with_capacity(lines.len());
        for (id, line) in lines {
            let (method, of_name) = match self.methods.get(&id) {
                Some(&method) => method,
                None => self.method(id, &file)?,
            };
            let line = match (line, file.as_str()) {
                (1.., _) => Line::Number(u32::try_from(line).unwrap_or(u32::MAX)),
                (_, NATIVE | KERNEL) => Line::Native,
                (_, file) if is_library(file) => Line::Native,
                (_, COMPILED) => Line::Compiled,
                _ => of_name,
            };
            let symbols = &mut self.builder.profile.symbols;
            let mut frame = Frame::new(method, line);
            if file == KERNEL {
                frame.kind = FrameKind::Kernel;
            }
            frames.push(symbols.frame(frame));
        }
        Ok(frames)
    }

    /// Returns the method of a function that is first met in the mapping of a file, and the line in
    /// its name.
    fn method(&mut self, id: u64, file: &str) -> Result<(MethodId, Line), Error> {
        let tables = &self.file.tables;
        let expected = "an entry of this id, as locations name it";
        let function = match tables.functions.get(&id) {
            Some(function) => function,
            None if self.file.cut.is_some() => &Function::default(),
            None => return Err(entry("function", id, expected)),
        };
        let text = |index| tables.strings.of(index, "function", id);
        let (full, system, source) =
            (text(function.name)?, text(function.system_name)?, text(function.file)?);
        let full = if full.is_empty() { &system } else { &full };
        let is_lost = full.is_empty() && self.file.cut.is_some();
        let NameParts { class, method, signature, line } = match is_lost {
            true => NameParts::as_it_is(UNKNOWN),
            // perk's own names need no second reading.
            false if [JAVA, NATIVE, COMPILED].contains(&file) => NameParts::as_it_is(full),
            false => NameParts::of(full, &source),
        };
        let of_system = system.strip_prefix(full.as_str()).filter(|it| it.starts_with('('));
        let signature = if signature.is_empty() { of_system } else { Some(&*signature) };
        let symbols = &mut self.builder.profile.symbols;
        let class = symbols.class(&class);
        let strings = &mut symbols.strings;
        let name = strings.intern(method);
        let signature = signature.map(|signature| strings.intern(signature));
        let source = if source.is_empty() && is_library(file) { file } else { &source };
        let source = (!source.is_empty()).then(|| strings.intern(source));
        let method = symbols.method(Method { class, name, signature, source });
        self.methods.insert(id, (method, line));
        Ok((method, line))
    }

    /// Returns the meaning of each set of labels.
    fn labels(&mut self) -> Result<Vec<Labels>, Error> {
        let strings = &self.file.tables.strings;
        let samples = &self.file.samples;
        let mut labels = Vec::with_capacity(samples.label_sets.len());
        let mut skipped = samples.number_labels.clone();
        for (set, &uses) in samples.label_sets.iter().zip(&samples.label_set_uses) {
            let (mut thread, mut id, mut subject) = (None, None, Subject::None);
            let mut others = Vec::new();
            let profile = &mut self.builder.profile;
            for &SampleLabel { key, text, number, unit } in set {
                let name = strings.of(key, "label", key)?;
                // The format does not distinguish an empty text from the number 0.
                let is_text = text != 0 || number == 0 && TEXT_LABELS.contains(&name.as_str());
                if !is_text {
                    if THREAD_ID_LABELS.contains(&name.as_str()) && id.is_none() {
                        id = Some(number);
                    } else if let Some(count) = skipped.get_mut(&key) {
                        *count += uses;
                    } else {
                        let unit = strings.of(unit, "label", unit)?;
                        let strings = &mut profile.symbols.strings;
                        let unit = (!unit.is_empty()).then(|| strings.intern(&unit));
                        let value = LabelValue::Number(number as i64, unit);
                        others.push(profile::Label { key: strings.intern(&name), value });
                    }
                    continue;
                }
                let text = strings.of(text, "label", text)?;
                if thread.is_none() && THREAD_LABELS.contains(&name.as_str()) {
                    thread = Some(text);
                } else if subject == Subject::None && name == CLASS_LABEL {
                    subject = Subject::Class(profile.symbols.class(&text));
                } else if subject == Subject::None
                    && let Some(state) = state_of_label(&name, &text)
                {
                    subject = Subject::State(state);
                } else {
                    let strings = &mut profile.symbols.strings;
                    let value = LabelValue::Text(strings.intern(&text));
                    others.push(profile::Label { key: strings.intern(&name), value });
                }
            }
            let others = profile.labels.set(others);
            let thread = match (thread, id) {
                (name, Some(id)) => {
                    Some(self.builder.thread_with_serial(&name.unwrap_or_default(), id))
                }
                (Some(name), None) => Some(self.builder.thread(&name)),
                (None, None) => None,
            };
            labels.push((thread, subject, others));
        }
        let mut skipped: Vec<_> = skipped.into_iter().collect();
        skipped.sort_unstable();
        let mut names = Vec::new();
        for &(key, count) in skipped.iter().take(MOST_NAMED) {
            names.push(format!("{} (of {count} samples)", strings.of(key, "label", key)?));
        }
        if skipped.len() > MOST_NAMED {
            names.push(format!("{} more", skipped.len() - MOST_NAMED));
        }
        if !names.is_empty() {
            let note = format!("labels skipped: {}", names.join(", "));
            self.builder.profile.notes.push(note);
        }
        Ok(labels)
    }

    /// Keeps the file's description of itself, and adds notes about data that is skipped.
    fn note(&mut self, intervals: &mut columns::Intervals) -> Result<(), Error> {
        let (file, profile) = (&self.file, &mut self.builder.profile);
        let unix_ms = u64::try_from(file.time_ns / 1_000_000).unwrap_or(0);
        profile.created = (unix_ms > 0).then_some(Timestamp { unix_ms, utc_offset_s: 0 });
        let run = file.run.as_deref().and_then(|run| run.strip_prefix(RUN)).unwrap_or_default();
        let mut run: Vec<String> = run.lines().map(str::to_owned).collect();
        let mut comments = 0_usize;
        for &comment in &file.comments {
            let text = file.tables.strings.of(comment, "comment", comment)?;
            if let Some(line) = text.strip_prefix(OLD_RUN).filter(|line| line.contains('=')) {
                run.push(line.to_owned());
            } else {
                comments += 1;
                if comments <= MOST_NAMED {
                    profile.notes.push(format!("{COMMENT}{text}"));
                }
            }
        }
        if comments > MOST_NAMED {
            profile.notes.push(format!("{} more comments skipped", comments - MOST_NAMED));
        }
        let sites = run.iter().find_map(|line| line.strip_prefix(SITES_INTERVAL)?.parse().ok());
        intervals.sites_bytes = sites.or(intervals.sites_bytes);
        run.retain(|line| !line.starts_with(SITES_INTERVAL));
        if !run.is_empty() {
            let accounting = Accounting::from_text(&run.join("\n"));
            if let Some(created) = &mut profile.created {
                created.utc_offset_s = accounting.utc_offset_s;
            }
            profile.accounting = Some(accounting);
        }
        for (field, index) in [("drop_frames", file.drop_frames), ("keep_frames", file.keep_frames)]
        {
            let pattern = file.tables.strings.of(index, field, index)?;
            if !pattern.is_empty() {
                profile.notes.push(format!("{field} skipped: {pattern}"));
            }
        }
        if let Some(offset) = file.cut {
            profile.notes.push(format!("cut off at byte {offset}: lost names are {UNKNOWN}"));
        }
        let negative = file.samples.negative_count;
        if negative > 0 {
            profile.notes.push(format!("{negative} negative values counted as 0"));
        }
        let unknown = [
            file.unknown_field_count,
            file.samples.unknown_field_count,
            file.tables.unknown_field_count,
        ];
        let unknown = unknown.into_iter().fold(0, u64::saturating_add);
        if unknown > 0 {
            profile.notes.push(format!("{unknown} fields of unknown kinds skipped"));
        }
        Ok(())
    }
}

/// Returns the state that a label gives.
fn state_of_label(name: &str, text: &str) -> Option<WallState> {
    (name == STATE_LABEL).then(|| WallState::of_name(text)).flatten()
}

/// Returns the name for a place of which the file has only the address: `libc.so.6+0x1f`, `0x7f00`.
fn address_name(location: Location, start: u64, file_offset: u64, file: &str) -> String {
    let address = location.address;
    match (file.rsplit(['/', '\\']).next().unwrap_or_default(), address.checked_sub(start)) {
        ("", _) | (_, None) => format!("0x{address:x}"),
        (file, Some(offset)) => format!("{file}+0x{:x}", offset.wrapping_add(file_offset)),
    }
}
