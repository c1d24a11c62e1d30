//! A builder that fills a profile sample by sample, for readers of merged stacks.

use std::borrow::Cow;

use perk_profile::{
    Column, Event, Frame, FrameId, FrameKind, KeyedMap, KeyedSet, Line, Method, Metric, NodeId,
    Profile, Section, SectionHead, StrId, Thread, ThreadId, TraceId, Unit, mutf8,
};

use crate::times::Times;

/// The serial number of the first thread, as in HPROF files.
const FIRST_THREAD: u32 = 200_001;

/// A profile under construction, with one section of samples and any number of metrics.
#[derive(Debug, Default)]
pub(crate) struct ProfileBuilder {
    pub(crate) profile: Profile,
    /// The time that one sample represents, in nanoseconds, if the file gives it.
    pub(crate) interval_ns: Option<u64>,
    threads: KeyedMap<(StrId, u64), ThreadId>,
    /// The serial numbers that threads have.
    serials: KeyedSet<u32>,
    samples: Counts,
    metrics: Vec<(Metric, Counts)>,
    /// The first time, in nanoseconds by the file's clock.
    begin_ns: Option<u64>,
    /// The number of names that are not UTF-8.
    bad_names: u64,
}

/// Numbers by trace, and their times.
#[derive(Debug, Default)]
struct Counts {
    of_trace: Vec<u64>,
    total: u64,
    times: Times,
}

impl Counts {
    fn add(&mut self, trace: TraceId, count: u64) {
        self.add_part(trace, count);
        self.add_to_total(count);
    }

    /// Adds to a trace a number that the total already includes.
    fn add_part(&mut self, trace: TraceId, count: u64) {
        let trace = trace.index();
        if trace >= self.of_trace.len() {
            self.of_trace.resize(trace + 1, 0);
        }
        self.of_trace[trace] = self.of_trace[trace].saturating_add(count);
    }

    fn add_to_total(&mut self, count: u64) {
        self.total = self.total.saturating_add(count);
    }

    /// Returns the section of the traces that have a number, and its timeline if times are known.
    fn finish(self, column: Column, begin_ns: u64) -> impl Iterator<Item = Event> {
        let timeline = self.times.timeline(column.metric.clone(), begin_ns, begin_ns);
        let rows = self.of_trace.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let rows = rows.map(|(index, count)| (TraceId::new(index).into(), [count]));
        let section = Section::with_rows(SectionHead::new([column]), rows);
        std::iter::once(Event::from(section)).chain(timeline.map(Event::Timeline))
    }
}

/// The index of one of a builder's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetricId(usize);

impl ProfileBuilder {
    /// Returns the thread with a name.
    pub(crate) fn thread(&mut self, name: &str) -> ThreadId {
        self.thread_with_id(name, 0)
    }

    /// Returns the thread with a name and a number. The number distinguishes threads of the same
    /// name.
    pub(crate) fn thread_with_id(&mut self, name: &str, id: u64) -> ThreadId {
        let name = self.profile.symbols.strings.intern(name);
        if let Some(&thread) = self.threads.get(&(name, id)) {
            return thread;
        }
        let thread = self.push_thread(name, id);
        self.threads.insert((name, id), thread);
        thread
    }

    /// Returns the thread with a name and a serial number, if no other has the number. Otherwise, the
    /// number only distinguishes it.
    pub(crate) fn thread_with_serial(&mut self, name: &str, serial: u64) -> ThreadId {
        let name = self.profile.symbols.strings.intern(name);
        if let Some(&thread) = self.threads.get(&(name, serial)) {
            return thread;
        }
        let free = u32::try_from(serial).ok();
        let thread = match free.filter(|it| *it > 0 && !self.serials.contains(it)) {
            Some(serial) => self.push_thread_with_serial(name, 0, serial),
            None => self.push_thread(name, serial),
        };
        self.threads.insert((name, serial), thread);
        thread
    }

    /// Returns a new thread, even if one of that name exists.
    pub(crate) fn new_thread(&mut self, name: &str) -> ThreadId {
        let name = self.profile.symbols.strings.intern(name);
        self.push_thread(name, 0)
    }

    fn push_thread(&mut self, name: StrId, object_id: u64) -> ThreadId {
        let index = u32::try_from(self.profile.threads.len()).unwrap_or(u32::MAX);
        let first = FIRST_THREAD.saturating_add(index);
        let serial = (first..=u32::MAX).find(|it| !self.serials.contains(it));
        self.push_thread_with_serial(name, object_id, serial.unwrap_or(u32::MAX))
    }

    fn push_thread_with_serial(&mut self, name: StrId, object_id: u64, serial: u32) -> ThreadId {
        self.serials.insert(serial);
        self.profile.push_thread(Thread {
            serial,
            object_id,
            name,
            group: None,
            parent_group: None,
        })
    }

    /// Returns the frame of a method. An empty signature means that there is none.
    pub(crate) fn frame(
        &mut self,
        class: &str,
        name: &str,
        signature: &str,
        line: Line,
    ) -> FrameId {
        self.frame_of_kind(class, name, signature, line, FrameKind::Unknown)
    }

    /// Like [`ProfileBuilder::frame`], with a kind. If the kind is unknown, it is the one that the
    /// line implies.
    pub(crate) fn frame_of_kind(
        &mut self,
        class: &str,
        name: &str,
        signature: &str,
        line: Line,
        kind: FrameKind,
    ) -> FrameId {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(class);
        let name = symbols.strings.intern(name);
        let signature = (!signature.is_empty()).then(|| symbols.strings.intern(signature));
        let method = symbols.method(Method { class, name, signature, source: None });
        let frame = Frame::new(method, line);
        symbols.frame(if kind == FrameKind::Unknown { frame } else { Frame { kind, ..frame } })
    }

    /// Returns the node of `frame` below `node`.
    pub(crate) fn child(&mut self, node: NodeId, frame: FrameId) -> NodeId {
        self.profile.tree.insert_below(node, [frame])
    }

    /// Returns a name of the file as text. Bytes that are not UTF-8 become visible, and are
    /// reported in the profile's notes.
    pub(crate) fn name<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                self.bad_names += 1;
                mutf8::decode(bytes)
            }
        }
    }

    /// Adds a note about what was done with `count` things, unless there are none.
    pub(crate) fn note(&mut self, count: u64, one: &str, many: &str, what: &str) {
        match count {
            0 => {}
            1 => self.profile.notes.push(format!("1 {one} {what}")),
            _ => self.profile.notes.push(format!("{count} {many} {what}")),
        }
    }

    /// Adds samples of a call path.
    pub(crate) fn add(&mut self, thread: Option<ThreadId>, node: NodeId, count: u64) {
        let trace = self.profile.trace(node, thread);
        self.samples.add(trace, count);
    }

    /// Like [`ProfileBuilder::add`], for samples taken at a time in nanoseconds by the file's clock.
    pub(crate) fn add_at(
        &mut self,
        thread: Option<ThreadId>,
        node: NodeId,
        count: u64,
        time_ns: u64,
    ) {
        self.add(thread, node, count);
        let trace = self.profile.trace(node, thread);
        self.samples.times.add(&self.profile, trace, count, time_ns);
        self.begin_ns = Some(self.begin_ns.map_or(time_ns, |it| it.min(time_ns)));
    }

    /// Adds samples that belong to no trace of the profile.
    pub(crate) fn add_unlisted(&mut self, count: u64) {
        self.samples.add_to_total(count);
    }

    /// Returns the metric of a name.
    pub(crate) fn metric(&mut self, name: &str, unit: Unit) -> MetricId {
        let known = self.metrics.iter().position(|(metric, _)| metric.name() == name);
        MetricId(known.unwrap_or_else(|| {
            self.metrics.push((Metric::other(name, unit), Counts::default()));
            self.metrics.len() - 1
        }))
    }

    /// Adds to the number of a metric at a call path.
    pub(crate) fn add_metric(
        &mut self,
        metric: MetricId,
        thread: Option<ThreadId>,
        node: NodeId,
        number: u64,
    ) {
        let trace = self.profile.trace(node, thread);
        self.metrics[metric.0].1.add(trace, number);
    }

    /// Like [`ProfileBuilder::add_metric`], for a number at a time in nanoseconds by the file's clock.
    pub(crate) fn add_metric_at(
        &mut self,
        metric: MetricId,
        thread: Option<ThreadId>,
        node: NodeId,
        number: u64,
        time_ns: u64,
    ) {
        self.add_metric(metric, thread, node, number);
        let trace = self.profile.trace(node, thread);
        self.metrics[metric.0].1.times.add(&self.profile, trace, number, time_ns);
        self.begin_ns = Some(self.begin_ns.map_or(time_ns, |it| it.min(time_ns)));
    }

    /// Adds to a metric a number that belongs to no trace of the profile.
    pub(crate) fn add_unlisted_metric(&mut self, metric: MetricId, number: u64) {
        self.metrics[metric.0].1.add_to_total(number);
    }

    /// Returns the profile.
    pub(crate) fn finish(mut self) -> Profile {
        let what = "not UTF-8: the bytes are shown as \\xFF";
        self.note(self.bad_names, "name is", "names are", what);
        let begin_ns = self.begin_ns.unwrap_or(0);
        let mut events = Vec::new();
        if self.samples.total > 0 || self.metrics.is_empty() {
            let column = Column {
                period: self.interval_ns,
                ..Column::new(Metric::Samples, self.samples.total)
            };
            events.extend(self.samples.finish(column, begin_ns));
        }
        events.extend(self.metrics.into_iter().flat_map(|(metric, counts)| {
            let column = Column::new(metric, counts.total);
            counts.finish(column, begin_ns)
        }));
        self.profile.events.extend(events);
        self.profile
    }
}
