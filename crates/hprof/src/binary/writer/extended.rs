//! The records that extended files have in addition to those of HPROF: the call tree node by node,
//! and sections of any size with exact numbers.

use std::io::{self, Write};

use perk_profile::{
    Allocations, Column, Frame, FrameId, FrameKind, HeapHistogram, HeapRoot, HeapSummary, Key,
    LabelSetId, LabelValue, NodeId, Profile, SectionHead, StrId, Subject, Trace, TraceId, mutf8,
};

use super::{Body, Writer, class_serial, index};
use crate::Format;
use crate::binary::{
    CLASS_SUBJECT, FIELD_SUBJECT, HAS_LABELS, HAS_SUBJECTS, HEAP_HAS_LAYOUT, HEAP_IS_CUT,
    HEAP_IS_INFERRED, IS_BY_PAIR, IS_LAST, IS_OTHER, IS_PARTIAL, IS_UNKNOWN, LOCK_SUBJECT, NAME,
    NO_SUBJECT, NUMBER_LABEL, SPANS, STATE_SUBJECT, TEXT_LABEL, UNITS, monitors, tag,
};
use crate::format::SectionKind;

/// The most rows of a record. Further rows go into another record.
const RECORD_ROWS: usize = 1 << 16;

/// The parts of a profile that are written. The root and the system trace are implied and not written.
#[derive(Clone, Debug)]
pub(super) struct ExtendedState {
    /// The number of nodes and traces that the file has.
    node_count: u32,
    pub(super) trace_count: u32,
    /// The numbers of the profile's nodes and traces.
    nodes: EntryNumbers,
    traces: EntryNumbers,
    /// Those of the paths of each source, in order of the sources.
    sources: Vec<(u64, EntryNumbers)>,
    /// The number of sets of labels that the file has; the empty one is implied.
    label_set_count: usize,
}

impl Default for ExtendedState {
    fn default() -> Self {
        let mut first = EntryNumbers::default();
        first.add(1, 0);
        let (nodes, traces, sources) = (first.clone(), first, Vec::new());
        Self { node_count: 1, trace_count: 1, nodes, traces, sources, label_set_count: 1 }
    }
}

impl ExtendedState {
    /// Returns the numbers of the paths of a source.
    pub(super) fn paths(&self, source: u64) -> EntryNumbers {
        let at = self.sources.binary_search_by_key(&source, |of| of.0);
        at.map_or_else(|_| EntryNumbers::default(), |at| self.sources[at].1.clone())
    }

    /// Adds further paths of a source. Returns the numbers of all of them.
    pub(super) fn add_paths(&mut self, source: u64, count: usize) -> EntryNumbers {
        let at = self.sources.binary_search_by_key(&source, |of| of.0).unwrap_or_else(|at| {
            self.sources.insert(at, (source, EntryNumbers::default()));
            at
        });
        let numbers = &mut self.sources[at].1;
        numbers.add(count, self.node_count);
        self.node_count += count as u32;
        numbers.clone()
    }
}

/// The numbers that entries of a table have in the file, where entries of other tables interrupt
/// them.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryNumbers {
    /// The index and the number of the first entry of each part that is in one piece.
    parts: Vec<(usize, u32)>,
    count: usize,
}

impl EntryNumbers {
    /// Returns the number of entries that the file has.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds further entries, whose numbers go up from `first`.
    pub(super) fn add(&mut self, count: usize, first: u32) {
        let next = self.parts.last().map(|&(index, number)| number + (self.count - index) as u32);
        if next != Some(first) {
            self.parts.push((self.count, first));
        }
        self.count += count;
    }

    /// Returns the number of an entry that the file has.
    pub(super) fn get(&self, index: usize) -> u32 {
        let after = self.parts.partition_point(|&(first, _)| first <= index);
        let (first, number) = self.parts[after - 1];
        number + (index - first) as u32
    }
}

impl<W: Write> Writer<W> {
    /// Writes SECTION: numbers by call trace.
    pub(super) fn rows_of<N: AsRef<[u64]>>(
        &mut self,
        profile: &Profile,
        section: &SectionHead,
        rows: impl ExactSizeIterator<Item = (Key, N)> + Clone,
    ) -> io::Result<()> {
        if self.extended.is_none() {
            return Err(Format::Binary.refusal(SectionKind::of_section(section)));
        }
        self.tree(profile)?;
        let mut marks = if section.is_by_pair { IS_BY_PAIR } else { 0 };
        for (Key { subject, labels, .. }, _) in rows.clone() {
            if labels != LabelSetId::EMPTY {
                marks |= HAS_LABELS;
            }
            if subject != Subject::None {
                marks |= HAS_SUBJECTS;
            }
            if let Some(class) = subject.class() {
                self.load_class(profile, class)?;
            }
            if let Subject::Field(_, field) = subject {
                self.name(profile, Some(field))?;
            }
        }
        if marks & HAS_LABELS != 0 {
            self.label_sets(profile)?;
        }
        let head = section_head(marks, section);
        let traces = self.trace_numbers();
        self.rows(tag::SECTION, &head, rows, |body, (key, numbers)| {
            let body = body.u4(traces.get(key.trace.index()));
            let body = if marks & HAS_SUBJECTS == 0 { body } else { body.subject(key.subject) };
            let body = match marks & HAS_LABELS {
                0 => body,
                _ => body.u4(key.labels.index() as u32),
            };
            numbers.as_ref().iter().fold(body, |body, &number| body.u8(number))
        })
    }

    /// Writes LABELS: the sets of labels that are new.
    fn label_sets(&mut self, profile: &Profile) -> io::Result<()> {
        let count = profile.labels.len();
        let Some(extended) = &mut self.extended else { return Ok(()) };
        let new = std::mem::replace(&mut extended.label_set_count, count)..count;
        if new.is_empty() {
            return Ok(());
        }
        let set = |index| profile.labels.get(LabelSetId::new(index));
        for label in new.clone().flat_map(set) {
            self.name(profile, Some(label.key))?;
            match label.value {
                LabelValue::Text(text) => self.name(profile, Some(text))?,
                LabelValue::Number(_, unit) => self.name(profile, unit)?,
            };
        }
        let name = |id: StrId| NAME | index(id.index());
        self.rows(tag::LABELS, &Body::default(), new, |body, set_index| {
            let labels = set(set_index);
            labels.iter().fold(body.u4(labels.len() as u32), |body, label| {
                let body = body.id(name(label.key));
                match label.value {
                    LabelValue::Text(text) => body.u1(TEXT_LABEL).id(name(text)),
                    LabelValue::Number(number, unit) => {
                        body.u1(NUMBER_LABEL).u8(number as u64).id(unit.map_or(0, name))
                    }
                }
            })
        })
    }

    /// Writes HEAP SUMMARY with live numbers that do not fit the plain record.
    pub(super) fn large_heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        let body = Body::default().u1(1).objects(summary.objects);
        self.record_of(tag::LARGE_HEAP_SUMMARY, &body.bytes)
    }

    pub(super) fn heap_rows(&mut self, profile: &Profile, heap: &HeapHistogram) -> io::Result<()> {
        for row in &heap.rows {
            self.load_class(profile, row.class)?;
        }
        let mut marks = if heap.is_cut { HEAP_IS_CUT } else { 0 };
        let mut head = Body::default();
        if let Some(layout) = heap.layout {
            marks |= HEAP_HAS_LAYOUT | if layout.is_inferred { HEAP_IS_INFERRED } else { 0 };
            head = head
                .u4(layout.header_bytes)
                .u4(layout.array_header_bytes)
                .u4(layout.reference_bytes)
                .u4(layout.alignment_bytes);
        }
        for kind in HeapRoot::ALL {
            let count = heap.roots.iter().filter(|root| root.0 == kind).map(|root| root.1);
            head = head.u8(count.fold(0, u64::saturating_add));
        }
        self.marked_rows(tag::HEAP_HISTOGRAM, marks, &head, heap.rows.iter(), |body, row| {
            body.u4(class_serial(row.class)).u8(row.instance_count).u8(row.shallow_bytes)
        })
    }

    /// Returns the numbers by which rows refer to the profile's traces.
    pub(super) fn trace_numbers(&self) -> EntryNumbers {
        self.extended.as_ref().map(|extended| extended.traces.clone()).unwrap_or_default()
    }

    /// Writes the nodes and traces that are new. Their numbers are their positions in the file, which
    /// are not written.
    pub(super) fn tree(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(extended) = &mut self.extended else { return Ok(()) };
        let nodes = extended.nodes.count()..profile.tree.len();
        let traces = extended.traces.count()..profile.traces().len();
        extended.nodes.add(nodes.len(), extended.node_count);
        extended.traces.add(traces.len(), extended.trace_count);
        extended.node_count += nodes.len() as u32;
        extended.trace_count += traces.len() as u32;
        let numbers = extended.nodes.clone();
        let tree = &profile.tree;
        self.new_frames(profile, nodes.clone().filter_map(|node| tree.frame(NodeId::new(node))))?;
        if !nodes.is_empty() {
            self.rows(tag::NODES, &Body::default(), nodes, |body, node| {
                let node = NodeId::new(node);
                let parent = tree.parent(node).map_or(0, |parent| numbers.get(parent.index()));
                let frame = tree.frame(node).map_or(0, |frame| index(frame.index()) as u32);
                body.u4(parent).u4(frame)
            })?;
        }
        if !traces.is_empty() {
            self.rows(tag::TRACES, &Body::default(), traces, |body, trace| {
                let Trace { serial, node, thread } = profile.get_trace(TraceId::new(trace));
                let thread = thread.map_or(0, |thread| profile.get_thread(thread).serial);
                body.u4(serial).u4(numbers.get(node.index())).u4(thread)
            })?;
        }
        Ok(())
    }

    /// Writes those of `frames` that are new.
    pub(super) fn new_frames(
        &mut self,
        profile: &Profile,
        frames: impl Iterator<Item = FrameId>,
    ) -> io::Result<()> {
        let mut kinds = Vec::new();
        for frame in frames {
            if self.frame(profile, frame)? {
                let Frame { line, kind, .. } = profile.symbols.get_frame(frame);
                if kind != FrameKind::of_line(line) {
                    kinds.push((frame, kind));
                }
            }
        }
        if !kinds.is_empty() {
            self.rows(
                tag::FRAME_KINDS,
                &Body::default(),
                kinds.into_iter(),
                |body, (id, kind)| {
                    let kind = FrameKind::ALL.iter().position(|it| *it == kind).unwrap_or(0);
                    body.u4(index(id.index()) as u32).u1(kind as u8)
                },
            )?;
        }
        Ok(())
    }

    /// Writes records of one kind: a mark whether the record is the last of the section, `head`,
    /// and the rows that `put` makes.
    pub(super) fn rows<T>(
        &mut self,
        tag: u8,
        head: &Body,
        rows: impl ExactSizeIterator<Item = T>,
        put: impl Fn(Body, T) -> Body,
    ) -> io::Result<()> {
        self.marked_rows(tag, 0, head, rows, put)
    }

    /// As [`Writer::rows`], with more marks besides that of the last record.
    fn marked_rows<T>(
        &mut self,
        tag: u8,
        marks: u8,
        head: &Body,
        mut rows: impl ExactSizeIterator<Item = T>,
        put: impl Fn(Body, T) -> Body,
    ) -> io::Result<()> {
        let mut body = Body::default();
        loop {
            let last = rows.len() <= RECORD_ROWS;
            body.bytes.clear();
            let marks = if last { marks | IS_LAST } else { marks };
            body = body.u1(marks).bytes(&head.bytes);
            body = rows.by_ref().take(RECORD_ROWS).fold(body, &put);
            self.record_of(tag, &body.bytes)?;
            if last {
                return Ok(());
            }
        }
    }
}

impl Body {
    fn column(self, column: &Column) -> Self {
        let name = mutf8::encode(column.metric.file_name());
        let unit = UNITS.iter().position(|unit| *unit == column.metric.unit()).unwrap_or(0);
        let mark = |is_set: bool, mark: u8| if is_set { mark } else { 0 };
        let marks = mark(column.metric.is_other(), IS_OTHER)
            | mark(column.is_partial, IS_PARTIAL)
            | mark(!column.is_known, IS_UNKNOWN);
        let body = self.u1(marks).u1(unit as u8).u4(name.len() as u32).bytes(&name);
        body.u8(column.total).u8(column.period.unwrap_or(0))
    }

    pub(super) fn subject(self, subject: Subject) -> Self {
        match subject {
            Subject::None => self.u1(NO_SUBJECT),
            Subject::Class(class) => self.u1(CLASS_SUBJECT).u4(class_serial(class)),
            Subject::Lock(class, kind) => {
                self.u1(LOCK_SUBJECT).u4(class_serial(class)).u1(monitors::lock_kind_code(kind))
            }
            Subject::State(state) => self.u1(STATE_SUBJECT).u1(state.number()),
            Subject::Field(class, field) => {
                let name = NAME | index(field.index());
                self.u1(FIELD_SUBJECT).u4(class_serial(class)).id(name)
            }
        }
    }

    fn objects(self, objects: Allocations) -> Self {
        self.u8(objects.live_bytes)
            .u8(objects.live_count)
            .u8(objects.allocated_bytes)
            .u8(objects.allocated_count)
    }
}

/// Returns the beginning of SECTION.
pub(super) fn section_head(marks: u8, section: &SectionHead) -> Body {
    let span = SPANS.iter().position(|span| *span == section.span).unwrap_or(0);
    let head = Body::default().u1(marks).u1(span as u8).u2(section.selection.flags());
    let head = head.u1(section.columns.len() as u8);
    section.columns.iter().fold(head, |body, column| body.column(column))
}
