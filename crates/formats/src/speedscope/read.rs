//! Reads speedscope's JSON.

use std::io::{self, BufReader, Cursor, Read};

use perk_profile::{
    Accounting, Frame as ProfileFrame, FrameId, Key, Label, LabelSetId, LabelValue, Line, Method,
    Metric, NodeId, Profile, Subject, ThreadId, Timestamp, Unit, WallState,
};

use super::cut::ClosingReader;
use super::file::{self, FileFrame, FileFrameKind, SpeedscopeFile, Weight};
use super::{BELOW_CUTOFF, NO_STACK};
use crate::Error;
use crate::builder::ProfileBuilder;
use crate::columns::{self, Column, Intervals};
use crate::memory;
use crate::name::NameParts;
use crate::stacks::{ROOT, Stacks};

/// The bytes that can precede UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads a profile.
///
/// # Errors
/// [`Error`] with the place that cannot be understood.
pub fn read(mut input: impl Read) -> Result<Profile, Error> {
    let mut head = Vec::new();
    input.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut head)?;
    if head == BYTE_ORDER_MARK {
        head.clear();
    }
    let mut input = ClosingReader::new(Cursor::new(head).chain(input));
    let file = serde_json::from_reader(BufReader::with_capacity(1 << 16, &mut input));
    let is_cut = input.is_cut();
    let file: SpeedscopeFile = file.map_err(|error| {
        if error.is_io() {
            return io::Error::from(error).into();
        }
        let what = if is_cut { "speedscope's JSON is cut off" } else { "not speedscope's JSON" };
        Error::Input { kind: io::ErrorKind::InvalidData, message: format!("{what}: {error}") }
    })?;
    SpeedscopeReader { is_cut, ..SpeedscopeReader::default() }.read(file)
}

/// The meaning of a frame of the file in the profile.
#[derive(Clone, Copy, Debug)]
enum FrameMeaning {
    Frame(FrameId),
    Objects(Subject),
    Labels(LabelSetId),
    NoStack,
    BelowCutoff,
}

/// The place at which a stack ends.
#[derive(Clone, Copy, Debug)]
struct StackEnd {
    node: NodeId,
    subject: Subject,
    labels: LabelSetId,
    /// Whether the samples belong to a listed trace.
    is_listed: bool,
}

#[derive(Debug, Default)]
struct SpeedscopeReader {
    builder: ProfileBuilder,
    parts: Vec<FrameMeaning>,
    columns: Vec<Column>,
    rounded_count: u64,
    negative_count: u64,
    open_count: u64,
    /// Whether the end of the file is lost.
    is_cut: bool,
    /// Whether perk wrote the file, so that names are in their final form.
    is_own: bool,
    /// The number of samples whose weights are lost.
    lost_count: u64,
}

impl SpeedscopeReader {
    fn read(mut self, file: SpeedscopeFile) -> Result<Profile, Error> {
        self.is_own = file.perk.is_some() || file.profiles.iter().any(|it| it.perk.is_some());
        self.parts = file.shared.frames.iter().map(|frame| self.part(frame)).collect();
        let mut run = file.perk.unwrap_or_default();
        let values = file.profiles.iter().filter_map(|it| Some(it.perk.as_ref()?.value.clone()));
        let values: Vec<String> = values.collect();
        let names: Vec<&str> = values.iter().map(String::as_str).collect();
        let units: Vec<Unit> = file.profiles.iter().map(|profile| profile.unit().0).collect();
        let weight_ns = one_weight_ns(&file.profiles);
        for (index, profile) in file.profiles.into_iter().enumerate() {
            let (unit, mut factor) = profile.unit();
            let mut is_timed = false;
            let (metric, thread) = match &profile.perk {
                Some(more) => {
                    let own = columns::metric(&more.value, unit, &names);
                    let other = || Metric::other(&more.value, unit);
                    (own.unwrap_or_else(other), more.thread.clone())
                }
                None => {
                    is_timed = unit == Unit::Nanoseconds && weight_ns.is_some();
                    let others = units.iter().filter(|&&other| other == unit).count();
                    let thread =
                        (others > 1 && !profile.name.is_empty()).then(|| profile.name.clone());
                    (metric_of(unit, is_timed), thread)
                }
            };
            let thread = thread.map(|name| self.builder.thread(&name));
            if is_timed {
                run.sample_interval_ns = weight_ns;
                factor = 0;
            }
            self.add(index, profile, thread, metric, factor)?;
        }
        self.note();
        let mut profile = self.builder.profile;
        let stamp = |(unix_ms, utc_offset_s)| Timestamp { unix_ms, utc_offset_s };
        profile.created = run.created.map(stamp);
        profile.accounting = run.accounting.as_deref().map(Accounting::from_text);
        let intervals = Intervals {
            sample_ns: run.sample_interval_ns,
            sites_bytes: run.sites_interval_bytes,
            cpu_ns: None,
        };
        self.columns.iter_mut().for_each(Column::merge);
        columns::into_profile(&mut profile, self.columns, intervals);
        Ok(profile)
    }

    fn part(&mut self, frame: &FileFrame) -> FrameMeaning {
        match (frame.perk.kind, frame.name.as_str()) {
            (FileFrameKind::Objects, class) => {
                let state = WallState::of_label(class).map(Subject::State);
                let class = || Subject::Class(self.builder.profile.symbols.class(class));
                return FrameMeaning::Objects(state.unwrap_or_else(class));
            }
            (FileFrameKind::Labels, _) => {
                return FrameMeaning::Labels(self.label_set(&frame.perk.labels));
            }
            (_, NO_STACK) => return FrameMeaning::NoStack,
            (_, BELOW_CUTOFF) => return FrameMeaning::BelowCutoff,
            _ => {}
        }
        let source = frame.file.as_deref().unwrap_or_default();
        let NameParts { class, method, signature: of_name, line } = match self.is_own {
            true => NameParts::as_it_is(&frame.name),
            false => NameParts::of(&frame.name, source),
        };
        let line = match (frame.perk.kind, frame.line) {
            (FileFrameKind::Native, _) => Line::Native,
            (FileFrameKind::Compiled, _) => Line::Compiled,
            // The cast saturates.
            (_, Some(line)) if line >= 1.0 => Line::Number(line as u32),
            _ => line,
        };
        let symbols = &mut self.builder.profile.symbols;
        let class = symbols.class(&class);
        let name = symbols.strings.intern(method);
        let mut text = |text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(|text| symbols.strings.intern(text))
        };
        let signature = frame.perk.signature.clone().or_else(|| Some(of_name.into_owned()));
        let (signature, source) = (text(&signature), text(&frame.file));
        let method = symbols.method(Method { class, name, signature, source });
        FrameMeaning::Frame(symbols.frame(ProfileFrame::new(method, line)))
    }

    /// Adds the numbers of one of the file's profiles, times `factor`. If that is 0, each weight
    /// counts as 1.
    fn add(
        &mut self,
        index: usize,
        profile: file::Profile,
        thread: Option<ThreadId>,
        metric: Metric,
        factor: u64,
    ) -> Result<(), Error> {
        let error = |expected| Error::Entry { table: "profiles", index, expected };
        let at = self.columns.iter().position(|column| column.metric == metric);
        let at = at.unwrap_or_else(|| {
            self.columns.push(Column::new(metric));
            self.columns.len() - 1
        });
        if let Some(samples) = profile.samples {
            let mut is_end = vec![false; samples.stacks.len()];
            samples.nodes.iter().for_each(|&node| is_end[node as usize] = true);
            let places = self.places(&samples.stacks, &is_end, thread)?;
            if memory::is_full(0) {
                return Ok(());
            }
            let cut_weights = self.is_cut.then(Vec::new);
            let weights = profile.weights.or(cut_weights).ok_or_else(|| error("weights"))?;
            if self.is_cut {
                self.lost_count += samples.nodes.len().saturating_sub(weights.len()) as u64;
            } else if weights.len() != samples.nodes.len() {
                return Err(error("as many weights as samples"));
            }
            for (node, weight) in samples.nodes.into_iter().zip(weights) {
                let number = self.number(weight, factor);
                self.columns[at].add(places[node as usize], number);
            }
        } else if let Some(events) = profile.events {
            let is_end: Vec<bool> = events.own.iter().map(|&own| own != 0.0).collect();
            let places = self.places(&events.stacks, &is_end, thread)?;
            self.open_count += events.open_count;
            for (place, own) in places.into_iter().zip(events.own) {
                let number = self.number(Weight::Other(own), factor);
                self.columns[at].add(place, number);
            }
        } else if !self.is_cut {
            return Err(error("samples or events"));
        }
        Ok(())
    }

    fn label_set(&mut self, labels: &[file::FileLabel]) -> LabelSetId {
        let profile = &mut self.builder.profile;
        let strings = &mut profile.symbols.strings;
        let labels = labels.iter().map(|label| Label {
            key: strings.intern(&label.key),
            value: match &label.text {
                Some(text) => LabelValue::Text(strings.intern(text)),
                None => {
                    let unit = label.unit.as_deref().map(|unit| strings.intern(unit));
                    LabelValue::Number(label.number, unit)
                }
            },
        });
        let labels = labels.collect();
        profile.labels.set(labels)
    }

    fn number(&mut self, weight: Weight, factor: u64) -> u64 {
        if factor == 0 {
            return 1;
        }
        if factor == 1 && matches!(weight, Weight::Other(number) if number.fract() != 0.0) {
            self.rounded_count += 1;
        }
        weight.scaled(factor).unwrap_or_else(|| {
            self.negative_count += 1;
            0
        })
    }

    /// Returns the keys of the nodes of `stacks` at which a stack ends; `None` if the samples
    /// belong to no listed trace.
    fn places(
        &mut self,
        stacks: &Stacks,
        is_end: &[bool],
        thread: Option<ThreadId>,
    ) -> Result<Vec<Option<Key>>, Error> {
        let root = self.builder.profile.tree.root();
        let mut nodes = vec![StackEnd {
            node: root,
            subject: Subject::None,
            labels: LabelSetId::EMPTY,
            is_listed: true,
        }];
        for (parent, index) in stacks.iter() {
            if memory::is_full(1) {
                break;
            }
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            let expected = "an entry for each frame of the samples";
            let error = Error::Entry { table: "shared.frames", index, expected };
            let part = *self.parts.get(index).ok_or(error)?;
            let above = nodes[parent as usize];
            nodes.push(match part {
                FrameMeaning::Frame(frame) => {
                    let tree = &mut self.builder.profile.tree;
                    StackEnd { node: tree.insert_below(above.node, [frame]), ..above }
                }
                FrameMeaning::Objects(subject) => StackEnd { subject, ..above },
                FrameMeaning::Labels(labels) => StackEnd { labels, ..above },
                FrameMeaning::NoStack => above,
                FrameMeaning::BelowCutoff => {
                    StackEnd { is_listed: above.is_listed && parent != ROOT, ..above }
                }
            });
        }
        let mut key = |(place, is_end): (StackEnd, bool)| {
            let StackEnd { node, subject, labels, is_listed } = place;
            (is_listed && is_end).then(|| Key {
                trace: self.builder.profile.trace(node, thread),
                subject,
                labels,
            })
        };
        Ok(nodes.into_iter().zip(is_end.iter().copied()).map(&mut key).collect())
    }

    /// Adds notes about the data that is skipped or changed.
    fn note(&mut self) {
        for (count, what) in [
            (self.rounded_count, "weights rounded to whole numbers"),
            (self.negative_count, "negative weights counted as 0"),
            (self.open_count, "frames without an end counted up to the last event"),
            (self.lost_count, "samples without a weight skipped"),
        ] {
            if count > 0 {
                self.builder.profile.notes.push(format!("{count} {what}"));
            }
        }
        if self.is_cut {
            self.builder
                .profile
                .notes
                .push("the file is cut off: its whole part is read".to_owned());
        }
    }
}

/// Returns the metric that profiles of other tools count.
fn metric_of(unit: Unit, is_timed: bool) -> Metric {
    match unit {
        Unit::Count => Metric::Samples,
        Unit::Nanoseconds if is_timed => Metric::Samples,
        Unit::Nanoseconds => Metric::other("time", unit),
        Unit::Bytes => Metric::other("bytes", unit),
    }
}

/// Returns the weight of the samples of profiles of time, in nanoseconds, if all have the same and
/// no profile counts samples: samplers write the time that a sample represents.
fn one_weight_ns(profiles: &[file::Profile]) -> Option<u64> {
    if profiles.iter().any(|profile| profile.perk.is_some() || profile.unit().0 == Unit::Count) {
        return None;
    }
    let mut one = None;
    for profile in profiles.iter().filter(|profile| profile.unit().0 == Unit::Nanoseconds) {
        profile.samples.as_ref()?;
        for weight in profile.weights.as_ref()? {
            let ns = weight.scaled(profile.unit().1).filter(|&ns| ns > 0)?;
            if *one.get_or_insert(ns) != ns {
                return None;
            }
        }
    }
    one
}
