//! The records that extended files have in addition to those of HPROF: the call tree node by node,
//! and sections of any size with exact numbers.

use std::io::{self, Write};

use perk_profile::{
    Allocations, Column, Frame, FrameKind, HeapHistogram, HeapRoot, HeapSummary, Key, NodeId,
    Profile, SectionHead, Subject, Trace, TraceId, mutf8,
};

use super::{Body, Writer, class_serial, index};
use crate::Format;
use crate::binary::{
    CLASS_SUBJECT, FIELD_SUBJECT, HAS_SUBJECTS, HEAP_HAS_LAYOUT, HEAP_IS_CUT, HEAP_IS_INFERRED,
    IS_BY_PAIR, IS_LAST, IS_OTHER, IS_PARTIAL, IS_UNKNOWN, LOCK_SUBJECT, NAME, NO_SUBJECT, SPANS,
    STATE_SUBJECT, UNITS, monitors, tag,
};
use crate::format::SectionKind;

/// The most rows of a record. Further rows go into another record.
const RECORD_ROWS: usize = 1 << 16;

/// The parts of a profile that are written.
#[derive(Clone, Debug)]
pub(super) struct Extended {
    /// The nodes and traces that the file has. The root and the system trace are implied and not
    /// written.
    node_count: usize,
    trace_count: usize,
}

impl Default for Extended {
    fn default() -> Self {
        Self { node_count: 1, trace_count: 1 }
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
        for (Key { subject, .. }, _) in rows.clone() {
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
        let span = SPANS.iter().position(|span| *span == section.span).unwrap_or(0);
        let head = Body::default().u1(marks).u1(span as u8).u2(section.selection.flags());
        let head = head.u1(section.columns.len() as u8);
        let head = section.columns.iter().fold(head, |body, column| body.column(column));
        self.rows(tag::SECTION, &head, rows, |body, (key, numbers)| {
            let body = body.u4(number(key.trace));
            let body = if marks & HAS_SUBJECTS == 0 { body } else { body.subject(key.subject) };
            numbers.as_ref().iter().fold(body, |body, &number| body.u8(number))
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

    /// Writes the nodes and traces that are new. Their numbers are their positions in the profile,
    /// which are not written.
    pub(super) fn tree(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(extended) = &mut self.extended else { return Ok(()) };
        let nodes = extended.node_count..profile.tree.len();
        let traces = extended.trace_count..profile.traces().len();
        (extended.node_count, extended.trace_count) = (nodes.end, traces.end);
        let tree = &profile.tree;
        let mut kinds = Vec::new();
        for frame in nodes.clone().filter_map(|node| tree.frame(NodeId::new(node))) {
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
        if !nodes.is_empty() {
            self.rows(tag::NODES, &Body::default(), nodes, |body, node| {
                let node = NodeId::new(node);
                let parent = tree.parent(node).map_or(0, |parent| parent.index() as u32);
                let frame = tree.frame(node).map_or(0, |frame| index(frame.index()) as u32);
                body.u4(parent).u4(frame)
            })?;
        }
        if !traces.is_empty() {
            self.rows(tag::TRACES, &Body::default(), traces, |body, trace| {
                let Trace { serial, node, thread } = profile.get_trace(TraceId::new(trace));
                let thread = thread.map_or(0, |thread| profile.get_thread(thread).serial);
                body.u4(serial).u4(node.index() as u32).u4(thread)
            })?;
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

    /// As [`Writer::rows`], with more marks beside that of the last record.
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

    fn subject(self, subject: Subject) -> Self {
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

/// Returns the number by which rows refer to a trace.
pub(super) fn number(trace: TraceId) -> u32 {
    trace.index() as u32
}
