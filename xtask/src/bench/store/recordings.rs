//! Recordings of services for a store, the same ones at each run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use perk_hprof::write_packed;
use perk_profile::{
    Event, Frame, Line, Method, Metric, NodeId, Profile, Section, Thread, ThreadId, Timeline,
    TimelineHead, TimelineRow, Timestamp, TraceId,
};

use crate::bench::readers::stacks::Stacks;

/// The stacks of a service.
const STACKS: usize = 20_000;
/// The threads of an instance.
const THREADS: u32 = 16;
/// What a sample represents.
const INTERVAL_NS: u64 = 10_000_000;
/// The times of a store are to within this.
const TICK_NS: u64 = 10_000_000_000;
/// The ticks of a minute.
pub(super) const MINUTE_TICKS: u64 = 6;
/// The rows of a minute.
const MINUTE_ROWS: u64 = 800;

/// A service, of which recordings are made.
pub(super) struct Service {
    /// The stacks and threads.
    profile: Profile,
    traces: Vec<TraceId>,
    threads: Vec<ThreadId>,
    numbers: Stacks,
}

impl Service {
    /// The service of this number: some of its methods have the names of those of others.
    pub(super) fn new(number: u64) -> Self {
        let mut profile = Profile::default();
        let mut numbers = Stacks::new();
        // Each service has its own part of the sequence.
        for _ in 0..number * 1_000_003 {
            numbers.number(2);
        }
        let mut nodes: Vec<NodeId> = Vec::new();
        let mut known = BTreeSet::new();
        let mut path = Vec::new();
        while nodes.len() < STACKS {
            numbers.next(&mut path);
            let symbols = &mut profile.symbols;
            let frames: Vec<_> = path
                .iter()
                .map(|frame| {
                    let class = symbols.class(&frame.class().to_string());
                    let name = symbols.strings.intern(&frame.method().to_string());
                    let source = Some(symbols.strings.intern(&frame.source().to_string()));
                    let method = symbols.method(Method { class, name, signature: None, source });
                    let line = u32::try_from(frame.line()).map_or(Line::Unknown, Line::Number);
                    symbols.frame(Frame::new(method, line))
                })
                .collect();
            let node = profile.tree.insert(frames);
            if known.insert(node) {
                nodes.push(node);
            }
        }
        let traces = nodes.into_iter().map(|node| profile.trace(node, None)).collect();
        let threads = (0..THREADS)
            .map(|at| {
                let name = profile.symbols.strings.intern(&format!("http-worker-{at}"));
                let thread = Thread {
                    serial: 200_001 + at,
                    object_id: u64::from(at) + 1,
                    name,
                    group: None,
                    parent_group: None,
                };
                profile.push_thread(thread)
            })
            .collect();
        Self { profile, traces, threads, numbers }
    }

    /// Writes a recording that begins at a time and has this many ticks.
    pub(super) fn write(&mut self, path: &Path, created: &str, ticks: u64) -> io::Result<()> {
        let mut rows = Vec::new();
        for tick in 0..ticks {
            // The rows of ticks add up to those of minutes.
            let row_count =
                (tick + 1) * MINUTE_ROWS / MINUTE_TICKS - tick * MINUTE_ROWS / MINUTE_TICKS;
            let mut of_tick = BTreeSet::new();
            while of_tick.len() < row_count as usize {
                of_tick.insert((self.thread(), self.trace()));
            }
            for (thread, trace) in of_tick {
                let count = 1 + self.numbers.number(8);
                rows.push(TimelineRow { tick, thread: Some(thread), trace, count });
            }
        }
        let mut sums = BTreeMap::new();
        for row in &rows {
            *sums.entry(row.trace).or_insert(0) += row.count;
        }
        let mut section = Section::of(Metric::Samples, sums.values().sum(), sums);
        section.head.columns[0].period = Some(INTERVAL_NS);
        let end_ns = ticks * TICK_NS;
        let head = TimelineHead { metric: Metric::Samples, tick_ns: TICK_NS, begin_ns: 0, end_ns };
        let mut profile = self.profile.clone();
        profile.created = Timestamp::from_iso_utc(created);
        let timeline = Timeline { head, rows: rows.into_iter().collect() };
        profile.events = vec![Event::Section(section), Event::Timeline(timeline)];
        let mut bytes = Vec::new();
        write_packed(&profile.pruned(), &mut bytes)?;
        fs::write(path, bytes)
    }

    /// A trace: the first ones are the most frequent, by Zipf's law, roughly.
    fn trace(&mut self) -> TraceId {
        const STEPS: u64 = 1 << 20;
        let part = self.numbers.number(STEPS) as f64 / STEPS as f64;
        let rank = (self.traces.len() as f64).powf(part) as usize - 1;
        self.traces[rank.min(self.traces.len() - 1)]
    }

    fn thread(&mut self) -> ThreadId {
        self.threads[self.numbers.number(u64::from(THREADS)) as usize]
    }
}
