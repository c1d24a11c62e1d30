//! Reads the records that extended files have in addition to those of HPROF.

use std::mem;

use perk_profile::{
    Allocations, CallEdge, CallEdges, Column, Event, Frame, FrameKind, HeapClassRow, HeapHistogram,
    HeapRoot, HeapSummary, Key, Label, LabelSetId, LabelValue, MethodId, Metric, NodeId,
    ObjectLayout, Section, SectionHead, SiteSelection, Span, StrId, Subject, Trace, TraceId, Unit,
    WallState, mutf8,
};

use super::BinaryReader;
use super::monitors::lock_kind;
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::{
    AS_COUNTED, CLASS_SUBJECT, FIELD_SUBJECT, FRAME, HAS_LABELS, HAS_SUBJECTS, HEAP_HAS_LAYOUT,
    HEAP_IS_CUT, HEAP_IS_INFERRED, IS_BY_PAIR, IS_LAST, IS_OTHER, IS_PARTIAL, IS_UNKNOWN,
    LIVE_IS_UNKNOWN, LOCK_SUBJECT, MAY_REPEAT, NO_SUBJECT, NUMBER_LABEL, PACKED_FORM,
    SITES_ARE_LEFT_OUT, SPANS, STATE_SUBJECT, TEXT_LABEL, UNITS, tag,
};

/// The contents of earlier records.
pub(super) struct ExtendedTables {
    /// The file's nodes by their numbers.
    nodes: Vec<NodeId>,
    /// The file's traces by their numbers.
    traces: Vec<TraceId>,
    /// The file's sets of labels by their numbers.
    label_sets: Vec<LabelSetId>,
    /// The section whose last record has not come yet.
    open: Option<Event>,
    /// Whether its rows are as they were counted.
    is_as_counted: bool,
}

impl ExtendedTables {
    /// The file's traces by their numbers.
    pub(super) fn traces(&self) -> &[TraceId] {
        &self.traces
    }
}

impl BinaryReader {
    /// Reads the record that announces perk's own records.
    pub(super) fn extended_begin(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let form = body.u4("the revision of the extended records")?;
        if !(1..=PACKED_FORM).contains(&form) {
            return Err(body.error(format!(
                "extended records of form {form}; this version of perk reads forms 1 to \
                 {PACKED_FORM}"
            )));
        }
        let (nodes, traces) = (vec![self.profile.tree.root()], vec![self.profile.system_trace()]);
        let label_sets = vec![LabelSetId::EMPTY];
        let extended =
            ExtendedTables { nodes, traces, label_sets, open: None, is_as_counted: false };
        self.extended.get_or_insert(extended);
        Ok(())
    }

    pub(super) fn extended_record(&mut self, tag: u8, body: &mut Cursor<'_>) -> Result<(), Error> {
        let marks = body.u1("whether the section ends")?;
        let last = marks & IS_LAST != 0;
        match tag {
            tag::NODES => return self.nodes(body),
            tag::TRACES => return self.traces(body, marks),
            tag::LABELS => return self.label_sets(body),
            tag::FRAME_KINDS => return self.frame_kinds(body),
            tag::WAIT => return self.wait(body),
            tag::LARGE_HEAP_SUMMARY => {
                let objects = allocations(body)?;
                self.section(Event::HeapSummary(HeapSummary { objects, written: None }));
                return Ok(());
            }
            _ => {}
        }
        let open = self.extended.as_mut().and_then(|extended| extended.open.take());
        let section = match tag {
            tag::MONITOR_DUMP => self.monitor_dump(body, open)?,
            tag::HEAP_HISTOGRAM => self.heap_histogram(body, open, marks)?,
            tag::FIELD_ACCESSES => self.field_accesses(body, open, marks)?,
            _ => {
                let section = match tag {
                    tag::SECTION => self.numbers(body)?,
                    tag::CALL_EDGES => self.call_edges(body)?,
                    _ => self.old_section(tag, body, marks)?,
                };
                Event::Section(match open {
                    None => section,
                    Some(Event::Section(mut begun)) if is_continued(&begun, &section) => {
                        begun.append(section);
                        begun
                    }
                    Some(_) => return Err(interrupted(body, tag)),
                })
            }
        };
        match &mut self.extended {
            Some(extended) if !last => extended.open = Some(section),
            _ => self.whole_section(section),
        }
        Ok(())
    }

    fn whole_section(&mut self, section: Event) {
        let is_as_counted =
            self.extended.as_mut().is_some_and(|it| mem::take(&mut it.is_as_counted));
        match section {
            Event::FieldAccesses(accesses) => self.field_accesses_end(accesses),
            Event::Section(section) if is_as_counted => {
                let section = section.added_up(&self.profile);
                self.section(Event::Section(section));
            }
            section => self.section(section),
        }
    }

    /// Takes an incomplete section if the file lacks its last records.
    pub(super) fn extended_end(&mut self) {
        if let Some(section) = self.extended.as_mut().and_then(|extended| extended.open.take()) {
            let what = "the file ends inside a section of several records: rows are missing";
            self.profile.notes.push(what.to_owned());
            self.whole_section(section);
        }
    }

    fn nodes(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let Some(ExtendedTables { nodes, .. }) = &mut self.extended else { return Ok(()) };
        while !body.is_empty() {
            let parent = body.u4("a node's parent")?;
            let id = FRAME | u64::from(body.u4("a node's frame")?);
            let Some(&parent) = nodes.get(parent as usize) else {
                return Err(body.error(format!("no node {parent} comes before its child")));
            };
            let Some(&frame) = self.frames.get(&id) else {
                return Err(
                    body.error(format!("a node names frame {id:#x}, which no record gives"))
                );
            };
            nodes.push(self.profile.tree.insert_below(parent, [frame]));
        }
        Ok(())
    }

    fn frame_kinds(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        while !body.is_empty() {
            let id = FRAME | u64::from(body.u4("a frame")?);
            let kind = body.u1("the kind of a frame")?;
            let Some(&kind) = FrameKind::ALL.get(usize::from(kind)) else {
                return Err(body.error(format!("{kind} is not a kind of frame")));
            };
            let Some(frame) = self.frames.get_mut(&id) else {
                return Err(
                    body.error(format!("a kind names frame {id:#x}, which no record gives"))
                );
            };
            let symbols = &mut self.profile.symbols;
            let of_kind = Frame { kind, ..symbols.get_frame(*frame) };
            *frame = symbols.frame(of_kind);
        }
        Ok(())
    }

    fn traces(&mut self, body: &mut Cursor<'_>, marks: u8) -> Result<(), Error> {
        while !body.is_empty() {
            let serial = body.u4("a trace's serial number")?;
            let node = body.u4("a trace's node")?;
            let thread = body.u4("a trace's thread")?;
            let nodes = self.extended.as_ref().map(|extended| &extended.nodes[..]);
            let Some(&node) = nodes.and_then(|nodes| nodes.get(node as usize)) else {
                let what = format!("trace {serial} names node {node}, which no record gives");
                return Err(body.error(what));
            };
            let thread = (thread != 0).then(|| self.thread(thread));
            let known = (marks & MAY_REPEAT != 0).then(|| self.profile.find_trace(node, thread));
            let trace = known
                .flatten()
                .unwrap_or_else(|| self.profile.push_trace(Trace { serial, node, thread }));
            if let Some(extended) = &mut self.extended {
                extended.traces.push(trace);
            }
        }
        Ok(())
    }

    /// Reads a record SECTION.
    fn numbers(&mut self, body: &mut Cursor<'_>) -> Result<Section, Error> {
        let marks = body.u1("the marks of a section")?;
        let span = body.u1("the span of a section")?;
        let Some(&span) = SPANS.get(usize::from(span)) else {
            return Err(body.error(format!("{span} is not the span of a section")));
        };
        let selection = SiteSelection::from_flags(body.u2("the selection of a section")?);
        let count = body.u1("the number of columns")?;
        let columns = (0..count).map(|_| column(body)).collect::<Result<Vec<_>, _>>()?;
        let is_by_pair = marks & IS_BY_PAIR != 0;
        if let Some(extended) = &mut self.extended {
            extended.is_as_counted |= marks & AS_COUNTED != 0;
        }
        let mut section =
            Section::new(SectionHead { columns, is_by_pair, span, selection, written: None });
        let mut numbers = Vec::new();
        while !body.is_empty() {
            let trace = self.trace_of_number(body)?;
            let subject = match marks & HAS_SUBJECTS {
                0 => Subject::None,
                _ => self.subject(body)?,
            };
            let labels = match marks & HAS_LABELS {
                0 => LabelSetId::EMPTY,
                _ => self.label_set(body)?,
            };
            numbers.clear();
            for _ in 0..count {
                numbers.push(body.u8("a number")?);
            }
            section.push(Key { trace, subject, labels }, &numbers);
        }
        Ok(section)
    }

    fn label_set(&self, body: &mut Cursor<'_>) -> Result<LabelSetId, Error> {
        let number = body.u4("a set of labels")?;
        let sets = self.extended.as_ref().map(|extended| &extended.label_sets[..]);
        let set = sets.and_then(|sets| sets.get(number as usize)).copied();
        set.ok_or_else(|| body.error(format!("no record gives set of labels {number}")))
    }

    fn label_sets(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        while !body.is_empty() {
            let count = body.u4("the number of labels")?;
            let mut labels = Vec::new();
            for _ in 0..count {
                let key = self.label_name(body, "a label's key")?;
                let value = match body.u1("the kind of a label")? {
                    TEXT_LABEL => LabelValue::Text(self.label_name(body, "a label's text")?),
                    NUMBER_LABEL => {
                        let number = body.u8("a label's number")? as i64;
                        LabelValue::Number(number, self.name(body, "a label's unit")?)
                    }
                    kind => return Err(body.error(format!("{kind} is not a kind of label"))),
                };
                labels.push(Label { key, value });
            }
            let set = self.profile.labels.set(labels);
            if let Some(extended) = &mut self.extended {
                extended.label_sets.push(set);
            }
        }
        Ok(())
    }

    fn label_name(&mut self, body: &mut Cursor<'_>, what: &str) -> Result<StrId, Error> {
        let name = self.name(body, what)?;
        Ok(name.unwrap_or_else(|| self.profile.symbols.strings.intern("")))
    }

    fn subject(&mut self, body: &mut Cursor<'_>) -> Result<Subject, Error> {
        let kind = body.u1("the kind of a subject")?;
        if kind == NO_SUBJECT {
            return Ok(Subject::None);
        }
        if kind == STATE_SUBJECT {
            let number = body.u1("a thread's state")?;
            return Ok(Subject::State(state(number, body)?));
        }
        let class = body.u4("a class's serial number")?;
        let class = self.class(class);
        Ok(match kind {
            CLASS_SUBJECT => Subject::Class(class),
            LOCK_SUBJECT => Subject::Lock(class, lock_kind(body)?),
            FIELD_SUBJECT => {
                let name = self.name(body, "a field's name")?;
                let name = name.unwrap_or_else(|| self.profile.symbols.strings.intern(""));
                Subject::Field(class, name)
            }
            _ => return Err(body.error(format!("{kind} is not a kind of subject"))),
        })
    }

    /// Reads a record of files of revision 1, which have one for each kind of section: totals, then
    /// rows of a trace, the class of objects or of a lock, and numbers.
    fn old_section(&mut self, tag: u8, body: &mut Cursor<'_>, marks: u8) -> Result<Section, Error> {
        let mut head = SectionHead::default();
        match tag {
            tag::METRIC => {
                let unit = unit(body)?;
                let metric = Metric::other(&name(body)?, unit);
                head.columns.push(Column::new(metric, body.u8("the total")?));
            }
            tag::ALL_CPU_SAMPLES => {
                head.span = if marks & 2 != 0 { Span::Interim } else { Span::SinceLast };
                head.columns.push(Column::new(Metric::Samples, body.u8("the total")?));
            }
            tag::CPU_TIMES => {
                let total_ns = body.u8("the total of the times")?;
                head.columns.extend(Metric::OF_CALLS.map(|metric| Column::new(metric, 0)));
                head.columns[1].total = total_ns;
            }
            tag::MONITOR_TIMES => {
                let total_ns = body.u8("the total of the times")?;
                head.columns.extend(Metric::OF_LOCKS.map(|metric| Column::new(metric, 0)));
                head.columns[1].total = total_ns;
            }
            _ => {
                head.span = Span::SinceStart;
                head.selection = SiteSelection::from_flags((marks >> 1 & 7).into());
                let interval_bytes = body.u8("the bytes between two samples")?;
                for metric in Metric::OF_OBJECTS {
                    let is_live = matches!(metric, Metric::LiveBytes | Metric::LiveObjects);
                    let is_left_out = marks & SITES_ARE_LEFT_OUT != 0;
                    head.columns.push(Column {
                        total: body.u8("a total of objects")?,
                        is_known: !is_live || marks & LIVE_IS_UNKNOWN == 0,
                        is_partial: is_left_out && metric != Metric::LiveBytes,
                        period: (interval_bytes != 0).then_some(interval_bytes),
                        metric,
                    });
                }
            }
        }
        let mut section = Section::new(head);
        let mut numbers = vec![0; section.head.columns.len()];
        while !body.is_empty() {
            let mut class = || body.u4("a class's serial number");
            let of_objects = if tag == tag::ALL_SITES { Some(class()?) } else { None };
            let trace = self.trace_of_number(body)?;
            let subject = match (tag, of_objects) {
                (_, Some(class)) => Subject::Class(self.class(class)),
                (tag::MONITOR_TIMES, _) => {
                    let class = body.u4("a class's serial number")?;
                    Subject::Lock(self.class(class), lock_kind(body)?)
                }
                _ => Subject::None,
            };
            for number in &mut numbers {
                *number = body.u8("a number")?;
            }
            section.push(Key::new(trace, subject), &numbers);
        }
        Ok(section)
    }

    fn call_edges(&mut self, body: &mut Cursor<'_>) -> Result<Section, Error> {
        let mut edges = CallEdges::default();
        while !body.is_empty() {
            let callee = self.method(body)?;
            let caller = self.method(body)?;
            let thread = body.u4("a caller's thread")?;
            let thread = (thread != 0).then(|| self.thread(thread));
            let (count, total_ns) = (body.u8("a caller's calls")?, body.u8("their time")?);
            edges.rows.push(CallEdge { callee, caller, thread, count, total_ns });
        }
        Ok(edges.section(&mut self.profile))
    }

    fn heap_histogram(
        &mut self,
        body: &mut Cursor<'_>,
        open: Option<Event>,
        marks: u8,
    ) -> Result<Event, Error> {
        let mut heap = match open {
            None => HeapHistogram::default(),
            Some(Event::Heap(heap)) => heap,
            Some(_) => return Err(interrupted(body, tag::HEAP_HISTOGRAM)),
        };
        heap.is_cut = marks & HEAP_IS_CUT != 0;
        heap.layout = if marks & HEAP_HAS_LAYOUT == 0 {
            None
        } else {
            Some(ObjectLayout {
                header_bytes: body.u4("the bytes of a header")?,
                array_header_bytes: body.u4("the bytes of an array's header")?,
                reference_bytes: body.u4("the bytes of a reference")?,
                alignment_bytes: body.u4("the alignment of objects")?,
                is_inferred: marks & HEAP_IS_INFERRED != 0,
            })
        };
        heap.roots.clear();
        for kind in HeapRoot::ALL {
            let count = body.u8("a number of roots")?;
            if count > 0 {
                heap.roots.push((kind, count));
            }
        }
        while !body.is_empty() {
            let class = body.u4("a class's serial number")?;
            let instance_count = body.u8("a class's objects")?;
            let shallow_bytes = body.u8("their bytes")?;
            let class = self.class(class);
            heap.rows.push(HeapClassRow { class, instance_count, shallow_bytes });
        }
        Ok(Event::Heap(heap))
    }

    /// Reads a trace's number and returns the trace.
    pub(super) fn trace_of_number(&self, body: &mut Cursor<'_>) -> Result<TraceId, Error> {
        let number = body.u4("a trace's number")?;
        self.trace_at(number, body)
    }

    /// Returns the trace of a number.
    pub(super) fn trace_at(&self, number: u32, body: &Cursor<'_>) -> Result<TraceId, Error> {
        let traces = self.extended.as_ref().map(|extended| &extended.traces[..]);
        let trace = traces.and_then(|traces| traces.get(number as usize));
        trace.copied().ok_or_else(|| {
            body.error(format!("a row names the trace of number {number}, which no record gives"))
        })
    }

    /// Reads a method, given by a frame without a line. Returns `None` for the id 0.
    fn method(&self, body: &mut Cursor<'_>) -> Result<Option<MethodId>, Error> {
        let id = body.id("a method's id")?;
        if id == 0 {
            return Ok(None);
        }
        let frame = self.frames.get(&id);
        let frame = frame.ok_or_else(|| {
            body.error(format!("a row names method {id:#x}, which no record gives"))
        })?;
        Ok(Some(self.profile.symbols.get_frame(*frame).method))
    }
}

/// Reads a column of SECTION.
fn column(body: &mut Cursor<'_>) -> Result<Column, Error> {
    let marks = body.u1("the marks of a column")?;
    let unit = unit(body)?;
    let name = name(body)?;
    let own = Metric::own(&name).filter(|_| marks & IS_OTHER == 0);
    let (total, period) = (body.u8("the total")?, body.u8("the period of samples")?);
    Ok(Column {
        // A metric of a later version of perk is taken as another tool's.
        metric: own.unwrap_or_else(|| Metric::other(&name, unit)),
        total,
        is_known: marks & IS_UNKNOWN == 0,
        is_partial: marks & IS_PARTIAL != 0,
        period: (period != 0).then_some(period),
    })
}

pub(super) fn state(number: u8, body: &Cursor<'_>) -> Result<WallState, Error> {
    WallState::of_number(number)
        .ok_or_else(|| body.error(format!("{number} is not a state of threads")))
}

pub(super) fn unit(body: &mut Cursor<'_>) -> Result<Unit, Error> {
    let unit = body.u1("the unit of a metric")?;
    let known = UNITS.get(usize::from(unit)).copied();
    known.ok_or_else(|| body.error(format!("{unit} is not the unit of a metric")))
}

pub(super) fn name(body: &mut Cursor<'_>) -> Result<String, Error> {
    let length = body.u4("the length of a name")?;
    Ok(mutf8::decode(body.bytes(length as usize, "a name")?).into_owned())
}

/// Whether a record continues a section that others before it began.
fn is_continued(begun: &Section, more: &Section) -> bool {
    let metrics = |section: &Section| -> Vec<Metric> {
        section.head.columns.iter().map(|column| column.metric.clone()).collect()
    };
    begun.head.is_by_pair == more.head.is_by_pair && metrics(begun) == metrics(more)
}

fn allocations(body: &mut Cursor<'_>) -> Result<Allocations, Error> {
    Ok(Allocations {
        live_bytes: body.u8("the live bytes")?,
        live_count: body.u8("the live objects")?,
        allocated_bytes: body.u8("the allocated bytes")?,
        allocated_count: body.u8("the allocated objects")?,
    })
}

pub(super) fn interrupted(body: &Cursor<'_>, tag: u8) -> Error {
    let name = tag::name(tag);
    body.error(format!("{name} is inside a section of another kind that is not at its end"))
}
