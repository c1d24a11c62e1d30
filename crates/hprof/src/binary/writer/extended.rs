//! The records that extended files have beside HPROF's: the call tree node by node, and sections of
//! any size with their numbers whole.

use std::io::{self, Write};

use perk_profile::{
    Allocations, CallEdges, CallTimes, CpuSamples, HeapHistogram, HeapRoot, HeapSummary, Line,
    MethodId, NodeId, OtherMetric, Profile, Sites, Trace, TraceId, mutf8,
};

use super::{Body, Writer, class_serial, index};
use crate::binary::{
    HEAP_HAS_LAYOUT, HEAP_IS_CUT, HEAP_IS_INFERRED, LIVE_IS_UNKNOWN, METHOD, SITES_ARE_LEFT_OUT,
    UNITS, tag,
};
use crate::write::Written;

/// A record's rows: those beyond them go into a next record.
const RECORD_ROWS: usize = 1 << 16;

/// What of a profile is written.
#[derive(Debug)]
pub(super) struct Extended {
    /// The root and the system trace go without saying.
    node_count: usize,
    trace_count: usize,
    methods: Written,
}

impl Default for Extended {
    fn default() -> Self {
        Self { node_count: 1, trace_count: 1, methods: Written::default() }
    }
}

impl<W: Write> Writer<W> {
    pub(super) fn all_cpu_samples(
        &mut self,
        profile: &Profile,
        samples: &CpuSamples,
    ) -> io::Result<()> {
        self.tree(profile)?;
        let head = Body::default().u8(samples.total);
        let rows = samples.rows.iter();
        let marks = u8::from(samples.is_interim) << 1;
        self.marked_rows(tag::ALL_CPU_SAMPLES, marks, &head, rows, |body, &(trace, count)| {
            body.u4(number(trace)).u8(count)
        })
    }

    pub(super) fn all_cpu_times(&mut self, profile: &Profile, times: &CallTimes) -> io::Result<()> {
        self.tree(profile)?;
        let head = Body::default().u8(times.total_ns);
        self.rows(tag::CPU_TIMES, &head, times.rows.iter(), |body, row| {
            body.u4(number(row.trace)).u8(row.count).u8(row.self_ns).u8(row.total_ns)
        })
    }

    pub(super) fn all_call_edges(
        &mut self,
        profile: &Profile,
        edges: &CallEdges,
    ) -> io::Result<()> {
        for method in edges.rows.iter().flat_map(|row| [row.callee, row.caller]).flatten() {
            self.method(profile, method)?;
        }
        let id = |method: Option<MethodId>| method.map_or(0, |id| METHOD | index(id.index()));
        self.rows(tag::CALL_EDGES, &Body::default(), edges.rows.iter(), |body, row| {
            let thread = row.thread.map_or(0, |thread| profile.get_thread(thread).serial);
            body.id(id(row.callee)).id(id(row.caller)).u4(thread).u8(row.count).u8(row.total_ns)
        })
    }

    pub(super) fn all_sites(&mut self, profile: &Profile, sites: &Sites) -> io::Result<()> {
        self.tree(profile)?;
        for row in &sites.rows {
            self.load_class(profile, row.class)?;
        }
        let head = Body::default().u8(sites.sample_interval_bytes.unwrap_or(0));
        let head = head.objects(sites.total);
        let mut marks = (sites.selection.flags() << 1) as u8;
        marks |= if sites.known.live { 0 } else { LIVE_IS_UNKNOWN };
        marks |= if sites.known.all_sites { 0 } else { SITES_ARE_LEFT_OUT };
        self.marked_rows(tag::ALL_SITES, marks, &head, sites.rows.iter(), |body, row| {
            body.u4(class_serial(row.class)).u4(number(row.trace)).objects(row.objects)
        })
    }

    /// HEAP SUMMARY where live numbers are larger than it holds.
    pub(super) fn large_heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        let body = Body::default().u1(1).objects(summary.objects);
        self.record_of(tag::LARGE_HEAP_SUMMARY, &body.bytes)
    }

    pub(super) fn all_metric_rows(
        &mut self,
        profile: &Profile,
        metric: &OtherMetric,
    ) -> io::Result<()> {
        self.tree(profile)?;
        let unit = UNITS.iter().position(|unit| *unit == metric.unit).unwrap_or(0);
        let name = mutf8::encode(&metric.name);
        let head =
            Body::default().u1(unit as u8).u4(name.len() as u32).bytes(&name).u8(metric.total);
        self.rows(tag::METRIC, &head, metric.rows.iter(), |body, &(trace, count)| {
            body.u4(number(trace)).u8(count)
        })
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
        for frame in nodes.clone().filter_map(|node| tree.frame(NodeId::new(node))) {
            self.frame(profile, frame)?;
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

    /// Writes a method as a frame without a line, if it is not written yet.
    fn method(&mut self, profile: &Profile, method: MethodId) -> io::Result<()> {
        let methods = self.extended.as_mut().map(|extended| &mut extended.methods);
        if methods.is_some_and(|methods| methods.first(method.index())) {
            let id = METHOD | index(method.index());
            self.stack_frame(profile, id, method, Line::Unknown)?;
        }
        Ok(())
    }

    /// Writes records of one kind: whether it is the last of the section, `head`, and the rows that
    /// `put` makes.
    pub(super) fn rows<T>(
        &mut self,
        tag: u8,
        head: &Body,
        rows: impl ExactSizeIterator<Item = T>,
        put: impl Fn(Body, T) -> Body,
    ) -> io::Result<()> {
        self.marked_rows(tag, 0, head, rows, put)
    }

    /// As [`Writer::rows`], with more bits beside that of the last record.
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
            body = body.u1(marks | u8::from(last)).bytes(&head.bytes);
            body = rows.by_ref().take(RECORD_ROWS).fold(body, &put);
            self.record_of(tag, &body.bytes)?;
            if last {
                return Ok(());
            }
        }
    }
}

impl Body {
    fn objects(self, objects: Allocations) -> Self {
        self.u8(objects.live_bytes)
            .u8(objects.live_count)
            .u8(objects.allocated_bytes)
            .u8(objects.allocated_count)
    }
}

/// By which rows refer to a trace.
pub(super) fn number(trace: TraceId) -> u32 {
    trace.index() as u32
}
