//! The profiles of several processes as one, and the sections of several dumps as one.

use std::collections::BTreeMap;
use std::mem;

use crate::{
    Accounting, ClassId, Column, Event, Frame, FrameId, Key, KeyedMap, Label, LabelSetId,
    LabelValue, Method, MethodId, MonitorDump, NodeId, Pause, Profile, Section, SectionHead,
    SectionView, SeriesSubject, Span, StrId, Thread, ThreadId, TimeSeries, Timeline, Trace,
    TraceId, WaitEvent,
};

/// HPROF's serial number of a file's first thread.
const FIRST_THREAD: u32 = 200_001;

/// A profile of one process, and the name that identifies the process: `Main (pid 12)`.
#[derive(Debug)]
pub struct Process {
    /// The name. The names of the process's threads begin with it.
    pub name: String,
    /// What was measured in the process.
    pub profile: Profile,
}

impl Profile {
    /// Makes one profile of those of several processes. Traces that had no thread get one that
    /// represents all threads of the process. The names of other threads get the name of the
    /// process as a prefix. So each number is still that of its process wherever a file or a report
    /// has threads, and methods of one name are one method.
    ///
    /// Heap dumps and accesses object by object have no sum, and are left out.
    pub fn of_processes(processes: Vec<Process>) -> Self {
        let mut merged = Self::default();
        let created = processes.iter().filter_map(|it| it.profile.created);
        merged.created = created.min_by_key(|it| it.unix_ms);
        merged.depth = processes.iter().filter_map(|it| it.profile.depth).max();
        let mut common = CommonTables { classes: KeyedMap::default(), next_serial: FIRST_THREAD };
        let mut sections = Vec::new();
        for process in &processes {
            sections.extend(merged.add_process(process, &mut common));
        }
        let accounts = processes.iter().map(|it| &it.profile).filter_map(|profile| {
            let begin_ns = profile.created.map(|it| it.unix_ms.saturating_mul(1_000_000));
            Some((begin_ns, profile.accounting.as_ref()?))
        });
        merged.accounting = Accounting::of_jvms(accounts);
        // The sections of one process count since its start or since its last dump, and add up with
        // those of the others.
        merged.put_sums(sections);
        merged
    }

    /// Adds all but the sections, and returns those.
    fn add_process(&mut self, process: &Process, common: &mut CommonTables) -> Vec<Section> {
        let Process { name, profile } = process;
        let mut ids = ProcessIds::new(self, name, profile, common);
        let delay_ms = match (self.created, profile.created) {
            (Some(first), Some(own)) => own.unix_ms.saturating_sub(first.unix_ms),
            _ => 0,
        };
        self.events.extend(ids.whole.map(Event::ThreadStart));
        for event in &profile.events {
            let event = match event {
                Event::ThreadStart(thread) => Event::ThreadStart(ids.threads[thread.index()]),
                Event::ThreadEnd(serial) => Event::ThreadEnd(ids.serial(common, *serial)),
                Event::ClassUnload(class) => Event::ClassUnload(ids.class(*class)),
                Event::HeapSummary(summary) => Event::HeapSummary(*summary),
                Event::Wait(wait) => Event::Wait(WaitEvent {
                    class: wait.class.map(|class| ids.class(class)),
                    thread: wait.thread.map(|serial| ids.serial(common, serial)),
                    ..*wait
                }),
                Event::MonitorDump(dump) => Event::MonitorDump(ids.dump(common, dump)),
                Event::Timeline(timeline) => {
                    Event::Timeline(ids.timeline(timeline, delay_ms.saturating_mul(1_000_000)))
                }
                Event::Pauses(pauses) => {
                    let later = |pause: &Pause| Pause {
                        begin_ns: pause.begin_ns.saturating_add(delay_ms.saturating_mul(1_000_000)),
                        ..*pause
                    };
                    Event::Pauses(pauses.iter().map(later).collect())
                }
                Event::TimeSeries(series) => {
                    let delay_ns = delay_ms.saturating_mul(1_000_000);
                    Event::TimeSeries(ids.time_series(common, series, delay_ns))
                }
                Event::Section(_) | Event::FieldAccesses(_) | Event::Heap(_) => continue,
            };
            self.events.push(event);
        }
        if let Some(settings) = profile.settings {
            let sum = self.settings.get_or_insert(settings);
            sum.allocations |= settings.allocations;
            sum.cpu_samples |= settings.cpu_samples;
        }
        self.notes.extend(profile.notes.iter().map(|note| format!("{name}: {note}")));
        let counted = profile.counted_sections();
        counted.into_iter().map(|section| ids.section(self, profile, section)).collect()
    }

    /// Adds up sections of the same metrics, as dumps in the middle of a run leave them, and
    /// timelines of the same clock. The numbers of the profile stay what they are.
    pub fn join_sections(&mut self) {
        let sections = self.counted_sections().into_iter().cloned().collect();
        self.events.retain(|event| !matches!(event, Event::Section(_)));
        self.put_sums(sections);
        self.join_timelines();
    }

    /// Makes one timeline of those of the same clock.
    pub fn join_timelines(&mut self) {
        let mut timelines: Vec<Timeline> = Vec::new();
        for event in mem::take(&mut self.events) {
            match event {
                Event::Timeline(more) => add_timeline(&mut timelines, more),
                other => self.events.push(other),
            }
        }
        for mut timeline in timelines {
            if !timeline.rows.is_sorted() {
                timeline.rows.sort_unstable();
            }
            self.events.push(Event::Timeline(timeline));
        }
    }

    /// Adds one section for those of the same metrics.
    fn put_sums(&mut self, sections: Vec<Section>) {
        let mut sums: Vec<Sum> = Vec::new();
        for section in sections {
            match sums.iter_mut().find(|sum| is_alike(&sum.head, &section.head)) {
                Some(sum) => sum.add(&section),
                None => sums.push(Sum::of(section)),
            }
        }
        for sum in sums {
            let section = sum.section(self);
            self.events.push(Event::Section(section));
        }
    }

    /// Adds the sets of labels of another profile. Returns their ids, indexed by their ids there.
    pub fn take_labels(&mut self, from: &Self) -> Vec<LabelSetId> {
        let sets = (0..from.labels.len()).map(|index| {
            let labels = from.labels.get(LabelSetId::new(index)).iter();
            let strings = &mut self.symbols.strings;
            let mut text = |id: StrId| strings.intern(from.symbols.strings.get(id));
            let labels = labels.map(|label| Label {
                key: text(label.key),
                value: match label.value {
                    LabelValue::Text(value) => LabelValue::Text(text(value)),
                    LabelValue::Number(number, unit) => {
                        LabelValue::Number(number, unit.map(&mut text))
                    }
                },
            });
            let labels = labels.collect();
            self.labels.set(labels)
        });
        sets.collect()
    }

    /// The sections whose numbers no later section repeats.
    fn counted_sections(&self) -> Vec<&Section> {
        let sections: Vec<&Section> = self.sections().collect();
        let counts = |(place, section): &(usize, &&Section)| {
            let mut later =
                sections[place + 1..].iter().filter(|it| is_alike(&it.head, &section.head));
            match section.head.span {
                Span::SinceLast => true,
                Span::Interim => later.next().is_none(),
                Span::SinceStart => !later.any(|it| {
                    it.head.selection.changed_only == section.head.selection.changed_only
                        || !it.head.selection.changed_only
                }),
            }
        };
        let counted: Vec<_> = sections.iter().enumerate().filter(counts).map(|it| *it.1).collect();
        counted
    }
}

/// Whether two sections have the same metrics at the same kind of places.
fn is_alike(a: &SectionHead, b: &SectionHead) -> bool {
    let (of_a, of_b) = (a.columns.iter(), b.columns.iter());
    a.is_by_pair == b.is_by_pair && of_a.map(|it| &it.metric).eq(of_b.map(|it| &it.metric))
}

/// The sum of sections of the same metrics.
struct Sum {
    head: SectionHead,
    rows: BTreeMap<Key, Vec<u64>>,
    /// The only section, as long as there is one.
    only: Option<Section>,
}

impl Sum {
    fn of(section: Section) -> Self {
        Self { head: section.head.clone(), rows: BTreeMap::new(), only: Some(section) }
    }

    fn add(&mut self, more: &Section) {
        if let Some(only) = self.only.take() {
            self.add_rows(&only);
        }
        self.add_rows(more);
        for (sum, column) in self.head.columns.iter_mut().zip(&more.head.columns) {
            let Column { total, is_known, is_partial, period, .. } = column;
            if sum.total > 0 && *total > 0 && sum.period != *period {
                sum.period = None;
            } else if sum.total == 0 {
                sum.period = *period;
            }
            sum.total = sum.total.saturating_add(*total);
            sum.is_known &= is_known;
            sum.is_partial |= is_partial;
        }
        self.head.written = more.head.written.or(self.head.written);
    }

    fn add_rows(&mut self, section: &Section) {
        for (key, numbers) in section.rows() {
            let sums = self.rows.entry(key).or_insert_with(|| vec![0; numbers.len()]);
            let pairs = sums.iter_mut().zip(numbers);
            pairs.for_each(|(sum, number)| *sum = sum.saturating_add(*number));
        }
    }

    fn section(self, profile: &mut Profile) -> Section {
        if let Some(only) = self.only {
            return only;
        }
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut section = Section::new(self.head);
        rows.iter().for_each(|(key, numbers)| section.push(*key, numbers));
        ranked(section, profile)
    }
}

/// The section in the order that HPROF has for its metrics.
fn ranked(section: Section, profile: &mut Profile) -> Section {
    let head = section.head.clone();
    let mut rows = match section.view(profile) {
        SectionView::CallTimes(mut times) => {
            times.rank(0.0);
            Section::from(times)
        }
        SectionView::Sites(mut sites) => {
            sites.rank(0.0);
            Section::from(sites)
        }
        SectionView::MonitorTimes(mut times) => {
            times.rank(0.0);
            Section::from(times)
        }
        SectionView::CallEdges(mut edges) => {
            edges.rank();
            edges.section(profile)
        }
        SectionView::CpuSamples(_) | SectionView::Other => return section,
    };
    // A view leaves out what it has no name for.
    if rows.len() < section.len() || !is_alike(&rows.head, &head) {
        return section;
    }
    rows.head = head;
    rows
}

/// Adds the times of one timeline to those of the same clock.
fn add_timeline(timelines: &mut Vec<Timeline>, more: Timeline) {
    let is_same = |it: &&mut Timeline| {
        (&it.head.metric, it.head.tick_ns, it.head.begin_ns)
            == (&more.head.metric, more.head.tick_ns, more.head.begin_ns)
    };
    match timelines.iter_mut().find(is_same) {
        Some(timeline) => {
            timeline.head.end_ns = timeline.head.end_ns.max(more.head.end_ns);
            timeline.rows.extend_from_slice(&more.rows);
        }
        None => timelines.push(more),
    }
}

/// The tables that several processes share in the merged profile.
struct CommonTables {
    /// The classes by name: those of one name by several loaders stay apart; the first of each process
    /// are one class, the second ones too, and so on.
    classes: KeyedMap<StrId, Vec<ClassId>>,
    /// The serial number of the next thread.
    next_serial: u32,
}

impl CommonTables {
    fn class(&mut self, profile: &mut Profile, name: &str, place: usize) -> ClassId {
        let key = profile.symbols.strings.intern(name);
        let known = self.classes.entry(key).or_default();
        while known.len() <= place {
            known.push(profile.symbols.new_class(name));
        }
        known[place]
    }

    fn serial(&mut self) -> u32 {
        let serial = self.next_serial;
        self.next_serial = self.next_serial.saturating_add(1);
        serial
    }
}

/// The ids that the parts of one profile have in the merged one.
struct ProcessIds {
    classes: Vec<ClassId>,
    traces: Vec<TraceId>,
    threads: Vec<ThreadId>,
    serials: KeyedMap<u32, u32>,
    label_sets: Vec<LabelSetId>,
    /// The thread that represents the process, if traces have no thread.
    whole: Option<ThreadId>,
}

impl ProcessIds {
    fn new(into: &mut Profile, name: &str, from: &Profile, common: &mut CommonTables) -> Self {
        let text = |id: StrId| from.symbols.strings.get(id);
        let mut counts: KeyedMap<StrId, usize> = KeyedMap::default();
        let mut classes = Vec::new();
        for (_, class) in from.symbols.classes() {
            let count = counts.entry(class.name).or_default();
            classes.push(common.class(into, text(class.name), *count));
            *count += 1;
        }
        let mut methods = Vec::with_capacity(from.symbols.method_count());
        for index in 0..from.symbols.method_count() {
            let method = from.symbols.get_method(MethodId::new(index));
            let mut string = |id: StrId| into.symbols.strings.intern(text(id));
            let method = Method {
                class: classes[method.class.index()],
                name: string(method.name),
                signature: method.signature.map(&mut string),
                source: method.source.map(&mut string),
            };
            methods.push(into.symbols.method(method));
        }
        let mut frames = Vec::with_capacity(from.symbols.frame_count());
        for index in 0..from.symbols.frame_count() {
            let frame = from.symbols.get_frame(FrameId::new(index));
            let method = methods[frame.method.index()];
            frames.push(into.symbols.frame(Frame { method, ..frame }));
        }
        let mut nodes = vec![into.tree.root()];
        for index in 1..from.tree.len() {
            let node = NodeId::new(index);
            let parent = from.tree.parent(node).unwrap_or(from.tree.root());
            let frame = from.tree.frame(node).map(|frame| frames[frame.index()]);
            nodes.push(into.tree.insert_below(nodes[parent.index()], frame));
        }
        let mut this = Self {
            classes,
            traces: Vec::with_capacity(from.traces().len()),
            threads: Vec::with_capacity(from.threads.len()),
            serials: KeyedMap::default(),
            label_sets: into.take_labels(from),
            whole: None,
        };
        for thread in &from.threads {
            let serial = this.serial(common, thread.serial);
            let strings = &mut into.symbols.strings;
            let thread_copy = Thread {
                serial,
                object_id: thread.object_id,
                name: strings.intern(&format!("{name}: {}", text(thread.name))),
                group: thread.group.map(|group| strings.intern(text(group))),
                parent_group: thread.parent_group.map(|group| strings.intern(text(group))),
            };
            this.threads.push(into.push_thread(thread_copy));
        }
        for Trace { node, thread, .. } in from.traces() {
            let thread = match thread {
                Some(thread) => this.threads[thread.index()],
                None => *this.whole.get_or_insert_with(|| {
                    let name = into.symbols.strings.intern(name);
                    let serial = common.serial();
                    let (group, parent_group) = (None, None);
                    into.push_thread(Thread { serial, object_id: 0, name, group, parent_group })
                }),
            };
            this.traces.push(into.trace(nodes[node.index()], Some(thread)));
        }
        this
    }

    /// The serial number of a thread. Files can name threads that they never introduced.
    fn serial(&mut self, common: &mut CommonTables, serial: u32) -> u32 {
        *self.serials.entry(serial).or_insert_with(|| common.serial())
    }

    fn class(&self, class: ClassId) -> ClassId {
        self.classes[class.index()]
    }

    fn trace(&self, trace: TraceId) -> TraceId {
        self.traces[trace.index()]
    }

    fn section(&self, into: &mut Profile, from: &Profile, section: &Section) -> Section {
        let mut mapped = Section::new(section.head.clone());
        for (Key { trace, subject, labels }, numbers) in section.rows() {
            let subject = subject.renamed(
                |class| self.class(class),
                |field| into.symbols.strings.intern(from.symbols.strings.get(field)),
            );
            let labels = self.label_sets[labels.index()];
            mapped.push(Key { trace: self.trace(trace), subject, labels }, numbers);
        }
        mapped
    }

    fn dump(&mut self, common: &mut CommonTables, dump: &MonitorDump) -> MonitorDump {
        let mut dump = dump.clone();
        for thread in &mut dump.threads {
            thread.serial = self.serial(common, thread.serial);
            thread.trace = self.trace(thread.trace);
        }
        for monitor in &mut dump.monitors {
            monitor.class = self.class(monitor.class);
            let owner = monitor.owner.iter_mut();
            for serial in owner.chain(&mut monitor.blocked).chain(&mut monitor.waiting) {
                *serial = self.serial(common, *serial);
            }
        }
        dump
    }

    fn time_series(
        &mut self,
        common: &mut CommonTables,
        series: &TimeSeries,
        delay_ns: u64,
    ) -> TimeSeries {
        let numbers = series.numbers.iter().map(|(&(tick, subject), &number)| {
            let thread = subject.thread.map(|serial| self.serial(common, serial));
            ((tick, SeriesSubject { thread, ..subject }), number)
        });
        let numbers = numbers.collect();
        let begin_ns = series.begin_ns.saturating_add(delay_ns);
        TimeSeries { metric: series.metric.clone(), numbers, begin_ns, ..*series }
    }

    fn timeline(&self, timeline: &Timeline, delay_ns: u64) -> Timeline {
        let mut timeline = timeline.clone();
        timeline.head.begin_ns = timeline.head.begin_ns.saturating_add(delay_ns);
        timeline.head.end_ns = timeline.head.end_ns.saturating_add(delay_ns);
        for row in timeline.rows.iter_mut() {
            row.trace = self.trace(row.trace);
            let of_trace = row.thread.map(|thread| self.threads[thread.index()]);
            row.thread = of_trace.or(self.whole);
        }
        timeline.rows.sort_unstable();
        timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use crate::fixture::{push_monitor_times, push_samples, samples, waits};
    use crate::{CpuSamples, Timestamp};

    fn process(name: &str, rows: &[(&str, u64)]) -> Process {
        Process { name: name.to_owned(), profile: samples(rows) }
    }

    fn shown(profile: &Profile) -> Vec<String> {
        let rows = Metric::Samples.rows(profile).rows.into_iter().map(|(key, count)| {
            let thread = profile.get_trace(key.trace).thread;
            let thread = thread.map_or("", |thread| profile.thread_name(thread));
            let frames = profile
                .frames(key.trace)
                .map(|frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method));
            format!("{thread} {} {count}", frames.collect::<Vec<_>>().join("<"))
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    }

    #[test]
    fn processes_stay_distinct_and_methods_are_one() {
        let mut second = process("B (pid 2)", &[("T.x<T.main", 5), ("", 1)]);
        let name = second.profile.symbols.strings.intern("worker");
        let thread =
            Thread { serial: 200_007, object_id: 9, name, group: None, parent_group: None };
        let thread = second.profile.push_thread(thread);
        let node = crate::fixture::stack(&mut second.profile, "T.x<T.run");
        let trace = second.profile.trace(node, Some(thread));
        let rows = vec![(trace, 4)];
        second.profile.events.push(CpuSamples { total: 4, rows, ..CpuSamples::default() }.into());
        let first = process("A (pid 1)", &[("T.x<T.main", 3), ("T.y<T.main", 2)]);
        let merged = Profile::of_processes(vec![first, second]);
        let expected = [
            "A (pid 1) T.x<T.main 3",
            "A (pid 1) T.y<T.main 2",
            "B (pid 2)  1",
            "B (pid 2) T.x<T.main 5",
            "B (pid 2): worker T.x<T.run 4",
        ];
        assert_eq!(shown(&merged), expected);
        assert_eq!(merged.symbols.classes().len(), 1);
        assert_eq!(merged.sections().count(), 1);
        assert_eq!(Metric::Samples.rows(&merged).total, 15);
        let mut serials: Vec<_> = merged.threads.iter().map(|thread| thread.serial).collect();
        serials.sort_unstable();
        serials.dedup();
        assert_eq!(serials.len(), merged.threads.len());
    }

    #[test]
    fn times_are_those_since_the_first_process_began() {
        let timed = |unix_ms, name: &str| {
            let mut process = process(name, &[("T.x", 1)]);
            process.profile.created = Some(Timestamp { unix_ms, utc_offset_s: 0 });
            let head = crate::TimelineHead {
                metric: Metric::Samples,
                tick_ns: 10,
                begin_ns: 0,
                end_ns: 1_000_000_000,
            };
            process
                .profile
                .events
                .push(Event::Timeline(Timeline { head, rows: Vec::new().into() }));
            process
        };
        let merged = Profile::of_processes(vec![timed(5_000, "late"), timed(2_000, "early")]);
        assert_eq!(merged.created.unwrap().unix_ms, 2_000);
        assert_eq!(merged.recorded_ns(), 4_000_000_000);
    }

    #[test]
    fn sections_of_several_dumps_are_one() {
        let mut profile = samples(&[("T.x", 3), ("T.y", 1)]);
        push_samples(&mut profile, &[("T.y", 7)]);
        for _ in 0..2 {
            push_monitor_times(&mut profile, &[("L", "T.x", waits(1, 10, 2, 20))]);
        }
        let before = Metric::OWN.map(|metric| metric.rows(&profile).total);
        profile.join_sections();
        assert_eq!(profile.sections().count(), 2);
        assert_eq!(Metric::OWN.map(|metric| metric.rows(&profile).total), before);
        let rows = profile.cpu_samples().next().unwrap();
        let counts: Vec<_> = rows.rows.iter().map(|row| row.1).collect();
        assert_eq!((counts, rows.total), (vec![8, 3], 11));
    }

    #[test]
    fn numbers_since_the_start_are_not_added_up() {
        let section = |total, span| {
            let mut section = Section::of(Metric::LiveBytes, total, [(TraceId::new(0), total)]);
            section.head.span = span;
            section
        };
        let mut profile = Profile::default();
        for total in [5, 8] {
            profile.events.push(section(total, Span::SinceStart).into());
        }
        for (total, span) in [(3, Span::Interim), (4, Span::SinceLast)] {
            let mut of_samples = section(total, span);
            of_samples.head.columns[0].metric = Metric::Samples;
            profile.events.push(of_samples.into());
        }
        profile.join_sections();
        let totals: Vec<_> = profile.sections().map(|it| it.head.columns[0].total).collect();
        assert_eq!(totals, [8, 4]);
        let two = |name: &str| Process { name: name.to_owned(), profile: profile.clone() };
        let merged = Profile::of_processes(vec![two("A"), two("B")]);
        let totals: Vec<_> = merged.sections().map(|it| it.head.columns[0].total).collect();
        assert_eq!(totals, [16, 8]);
    }
}
