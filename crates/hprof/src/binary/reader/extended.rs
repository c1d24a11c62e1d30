//! Reads the records that extended files have beside HPROF's.

use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, CpuSamples, Event, HeapClassRow,
    HeapHistogram, HeapRoot, HeapSummary, KnownObjects, MethodId, NodeId, ObjectLayout,
    OtherMetric, Site, SiteSelection, Sites, Trace, TraceId, mutf8,
};

use super::Reader;
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::{
    EXTENDED_FORM, FRAME, HEAP_HAS_LAYOUT, HEAP_IS_CUT, HEAP_IS_INFERRED, LIVE_IS_UNKNOWN,
    SITES_ARE_LEFT_OUT, UNITS, tag,
};

/// What earlier records said.
pub(super) struct Extended {
    /// The file's nodes by their numbers.
    nodes: Vec<NodeId>,
    /// The file's traces by their numbers.
    traces: Vec<TraceId>,
    /// The section whose last record has not come yet.
    open: Option<Event>,
}

impl Reader {
    /// The record that says that the file has perk's own.
    pub(super) fn extended_begin(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let form = body.u4("the form of the extended records")?;
        if form != EXTENDED_FORM {
            return Err(body.error(format!(
                "extended records of form {form}; this version of perk reads form {EXTENDED_FORM}"
            )));
        }
        let (nodes, traces) = (vec![self.profile.tree.root()], vec![self.profile.system_trace()]);
        self.extended.get_or_insert(Extended { nodes, traces, open: None });
        Ok(())
    }

    pub(super) fn extended_record(&mut self, tag: u8, body: &mut Cursor<'_>) -> Result<(), Error> {
        let marks = body.u1("whether the section ends")?;
        let last = marks & 1 != 0;
        match tag {
            tag::NODES => return self.nodes(body),
            tag::TRACES => return self.traces(body),
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
            tag::ALL_CPU_SAMPLES => self.all_cpu_samples(body, open, marks & 2 != 0)?,
            tag::CPU_TIMES => self.call_times(body, open)?,
            tag::CALL_EDGES => self.call_edges(body, open)?,
            tag::MONITOR_TIMES => self.monitor_times(body, open)?,
            tag::MONITOR_DUMP => self.monitor_dump(body, open)?,
            tag::METRIC => self.metric(body, open)?,
            tag::HEAP_HISTOGRAM => self.heap_histogram(body, open, marks)?,
            _ => self.all_sites(body, open, marks)?,
        };
        match &mut self.extended {
            Some(extended) if !last => extended.open = Some(section),
            _ => self.section(section),
        }
        Ok(())
    }

    /// Takes a section as it is of which the file lacks the last records.
    pub(super) fn extended_end(&mut self) {
        if let Some(section) = self.extended.as_mut().and_then(|extended| extended.open.take()) {
            let what = "the file ends inside a section of several records: rows are missing";
            self.profile.notes.push(what.to_owned());
            self.section(section);
        }
    }

    fn nodes(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let Some(Extended { nodes, .. }) = &mut self.extended else { return Ok(()) };
        while !body.is_empty() {
            let parent = body.u4("a node's parent")?;
            let id = FRAME | u64::from(body.u4("a node's frame")?);
            let Some(&parent) = nodes.get(parent as usize) else {
                return Err(body.error(format!("no node {parent} stands before its child")));
            };
            let Some(&frame) = self.frames.get(&id) else {
                return Err(
                    body.error(format!("a node names frame {id:#x}, which no record gives"))
                );
            };
            nodes.push(self.profile.tree.insert_below(parent, [frame]).node);
        }
        Ok(())
    }

    fn traces(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
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
            let trace = self.profile.push_trace(Trace { serial, node, thread });
            if let Some(extended) = &mut self.extended {
                extended.traces.push(trace);
            }
        }
        Ok(())
    }

    fn all_cpu_samples(
        &mut self,
        body: &mut Cursor<'_>,
        open: Option<Event>,
        is_interim: bool,
    ) -> Result<Event, Error> {
        let mut samples = match open {
            None => CpuSamples::default(),
            Some(Event::CpuSamples(samples)) => samples,
            Some(_) => return Err(interrupted(body, tag::ALL_CPU_SAMPLES)),
        };
        samples.is_interim = is_interim;
        samples.total = body.u8("the total of the samples")?;
        while !body.is_empty() {
            let trace = self.trace_of_number(body)?;
            samples.rows.push((trace, body.u8("a trace's samples")?));
        }
        Ok(Event::CpuSamples(samples))
    }

    fn call_times(&mut self, body: &mut Cursor<'_>, open: Option<Event>) -> Result<Event, Error> {
        let mut times = match open {
            None => CallTimes::default(),
            Some(Event::CallTimes(times)) => times,
            Some(_) => return Err(interrupted(body, tag::CPU_TIMES)),
        };
        times.total_ns = body.u8("the total of the times")?;
        while !body.is_empty() {
            let trace = self.trace_of_number(body)?;
            let (count, self_ns) = (body.u8("a trace's calls")?, body.u8("a trace's self time")?);
            let total_ns = body.u8("a trace's total time")?;
            times.rows.push(CallRow { trace, count, self_ns, total_ns });
        }
        Ok(Event::CallTimes(times))
    }

    fn call_edges(&mut self, body: &mut Cursor<'_>, open: Option<Event>) -> Result<Event, Error> {
        let mut edges = match open {
            None => CallEdges::default(),
            Some(Event::CallEdges(edges)) => edges,
            Some(_) => return Err(interrupted(body, tag::CALL_EDGES)),
        };
        while !body.is_empty() {
            let callee = self.method(body)?;
            let caller = self.method(body)?;
            let thread = body.u4("a caller's thread")?;
            let thread = (thread != 0).then(|| self.thread(thread));
            let (count, total_ns) = (body.u8("a caller's calls")?, body.u8("their time")?);
            edges.rows.push(CallEdge { callee, caller, thread, count, total_ns });
        }
        Ok(Event::CallEdges(edges))
    }

    fn all_sites(
        &mut self,
        body: &mut Cursor<'_>,
        open: Option<Event>,
        marks: u8,
    ) -> Result<Event, Error> {
        let mut sites = match open {
            None => Sites::default(),
            Some(Event::Sites(sites)) => sites,
            Some(_) => return Err(interrupted(body, tag::ALL_SITES)),
        };
        sites.selection = SiteSelection::from_flags((marks >> 1).into());
        sites.known = KnownObjects {
            live: marks & LIVE_IS_UNKNOWN == 0,
            all_sites: marks & SITES_ARE_LEFT_OUT == 0,
        };
        let interval_bytes = body.u8("the bytes between two samples")?;
        sites.sample_interval_bytes = (interval_bytes != 0).then_some(interval_bytes);
        sites.total = allocations(body)?;
        while !body.is_empty() {
            let class = body.u4("a class's serial number")?;
            let trace = self.trace_of_number(body)?;
            let objects = allocations(body)?;
            sites.rows.push(Site { class: self.class(class), trace, objects });
        }
        Ok(Event::Sites(sites))
    }

    fn metric(&mut self, body: &mut Cursor<'_>, open: Option<Event>) -> Result<Event, Error> {
        let mut metric = match open {
            None => OtherMetric::default(),
            Some(Event::Other(metric)) => metric,
            Some(_) => return Err(interrupted(body, tag::METRIC)),
        };
        let unit = body.u1("the unit of a metric")?;
        let Some(&unit) = UNITS.get(usize::from(unit)) else {
            return Err(body.error(format!("{unit} is not the unit of a metric")));
        };
        metric.unit = unit;
        let length = body.u4("the length of a name")?;
        metric.name = mutf8::decode(body.bytes(length as usize, "a name")?).into_owned();
        metric.total = body.u8("the total")?;
        while !body.is_empty() {
            let trace = self.trace_of_number(body)?;
            metric.rows.push((trace, body.u8("a trace's number")?));
        }
        Ok(Event::Other(metric))
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

    /// The trace of the number that comes next.
    pub(super) fn trace_of_number(&self, body: &mut Cursor<'_>) -> Result<TraceId, Error> {
        let number = body.u4("a trace's number")?;
        let traces = self.extended.as_ref().map(|extended| &extended.traces[..]);
        let trace = traces.and_then(|traces| traces.get(number as usize));
        trace.copied().ok_or_else(|| {
            body.error(format!("a row names the trace of number {number}, which no record gives"))
        })
    }

    /// The method that a frame without a line stands for; `None` for the id 0.
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
    body.error(format!("{name} stands inside a section of another kind that is not at its end"))
}
