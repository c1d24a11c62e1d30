//! The book of counted calls.

use std::io;
use std::sync::{Mutex, MutexGuard};

use perk_control::options::{Options, OutputFormat};
use perk_jvm::sync::lock;
use perk_profile::{
    Accounting, CallRow, CallTimes, Frame, Line, Method as MethodSymbol, MethodId, Metric, Section,
    TraceId, mutf8,
};
use rustc_hash::FxHashMap;

use super::graph::{CallGraph, Edge, MethodNumber};
use crate::analyses::books::cutoff_of_counts;
use crate::recorder::{Book, DumpSection, Inquiry, Place, Recorder, Sections, entry, now};

/// The calls since the last dump.
#[derive(Debug)]
pub(super) struct CountBook {
    cutoff: f64,
    with_lines: bool,
    /// Whether the output holds how many calls are estimated.
    has_estimates: bool,
    graph: Mutex<CallGraph>,
    counts: Mutex<Counts>,
}

/// The values of all counters.
#[derive(Debug, Default)]
struct Counts {
    /// Those that the last dump has.
    dumped: Vec<u64>,
    /// Those of the last look.
    seen: Vec<u64>,
    /// The calls that these are, since the last dump.
    edges: Vec<Edge>,
    symbols: FxHashMap<MethodNumber, MethodId>,
    /// The calls in all dumps.
    dumped_count: u64,
}

impl Counts {
    /// Forgets the calls so far, which a dump has or nobody wants.
    fn forget(&mut self) {
        self.dumped.clone_from(&self.seen);
        self.edges = Vec::new();
    }

    /// Returns the calls since the last dump.
    fn count(&self) -> u64 {
        self.edges.iter().map(|edge| edge.count).sum()
    }
}

impl CountBook {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            cutoff: cutoff_of_counts(options),
            with_lines: options.lineno,
            has_estimates: options.format == OutputFormat::Extended,
            graph: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    /// Returns the methods and their calls.
    pub(super) fn graph(&self) -> MutexGuard<'_, CallGraph> {
        lock(&self.graph)
    }

    /// Sets the values of all counters as of now.
    pub(super) fn see(&self, values: Vec<u64>) {
        let counts = &mut *lock(&self.counts);
        counts.seen = values;
        let before = counts.dumped.iter().copied().chain(std::iter::repeat(0));
        let since = counts.seen.iter().zip(before).map(|(seen, before)| seen - before.min(*seen));
        let since: Vec<_> = since.collect();
        counts.edges = lock(&self.graph).edges(&since);
    }

    fn times(&self, recorder: &mut Recorder, counts: &mut Counts) -> (CallTimes, Section) {
        let graph = lock(&self.graph);
        let Counts { edges, symbols, .. } = counts;
        let mut rows: Vec<u64> = Vec::new();
        let mut estimates: FxHashMap<TraceId, u64> = FxHashMap::default();
        for &Edge { callee, caller, count, is_estimate } in &*edges {
            let callee = method(recorder, &graph, symbols, callee);
            let mut frames = vec![Frame::new(callee, Line::Unknown)];
            if let Some((caller, line)) = caller {
                let caller = method(recorder, &graph, symbols, caller);
                let line = match line {
                    0 => Line::Unknown,
                    _ if !self.with_lines => Line::Unknown,
                    line => Line::Number(line.into()),
                };
                frames.push(Frame::new(caller, line));
            }
            let frames: Vec<_> =
                frames.into_iter().map(|it| recorder.profile.symbols.frame(it)).collect();
            let trace = recorder.trace(None, &frames);
            *entry(&mut rows, trace.index()) += count;
            if is_estimate {
                *estimates.entry(trace).or_default() += count;
            }
        }
        let rows = rows.into_iter().enumerate().filter(|(_, count)| *count > 0);
        let rows = rows.map(|(index, count)| CallRow {
            trace: TraceId::new(index),
            count,
            self_ns: 0,
            total_ns: 0,
        });
        let mut times = CallTimes { total_ns: 0, rows: rows.collect(), written: Some(now()) };
        times.rank(self.cutoff);
        let total = estimates.values().sum();
        (times, Section::of(Metric::EstimatedCalls, total, estimates))
    }
}

/// Returns the symbol of a method.
fn method(
    recorder: &mut Recorder,
    graph: &CallGraph,
    known: &mut FxHashMap<MethodNumber, MethodId>,
    number: MethodNumber,
) -> MethodId {
    *known.entry(number).or_insert_with(|| {
        let names = graph.names(number);
        let text = |bytes: &[u8]| mutf8::decode(bytes).into_owned();
        let symbols = &mut recorder.profile.symbols;
        let class = symbols.class(&text(&names.class).replace('/', "."));
        let name = symbols.strings.intern(&text(&names.name));
        let signature = Some(symbols.strings.intern(&text(&names.descriptor)));
        let source = names.source.as_ref().map(|it| symbols.strings.intern(&text(it)));
        symbols.method(MethodSymbol { class, name, signature, source })
    })
}

impl Book for CountBook {
    fn place(&self) -> Place {
        Place::Calls
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let counts = &mut *lock(&self.counts);
        let (times, estimates) = self.times(recorder, counts);
        if !sections.are_of_flush() {
            counts.dumped_count += counts.count();
            counts.forget();
        }
        sections.put(recorder, DumpSection::Times(&times))?;
        match self.has_estimates {
            true => sections.put(recorder, DumpSection::Other(&estimates)),
            false => Ok(()),
        }
    }

    fn account(&self, accounting: &mut Accounting, _: bool) {
        let counts = lock(&self.counts);
        accounting.call_count = counts.dumped_count + counts.count();
    }

    fn answer(&self, _: &mut Recorder, inquiry: Inquiry) {
        if let Inquiry::ClearCpu = inquiry {
            lock(&self.counts).forget();
        }
    }

    fn reset(&self, _: bool) {
        let counts = &mut *lock(&self.counts);
        counts.forget();
        counts.dumped_count = 0;
    }

    fn release(&self) {
        *lock(&self.counts) = Counts::default();
        *lock(&self.graph) = CallGraph::default();
    }
}
