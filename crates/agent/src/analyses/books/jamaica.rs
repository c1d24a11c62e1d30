//! The book of JamaicaVM's profile: the bytecodes, calls and objects of a program, by method and class.

use std::io;
use std::mem;
use std::sync::Mutex;

use perk_control::options::Jamaica;
use perk_jamaica::{metric, write_part};
use perk_jvm::sync::lock;
use perk_profile::{
    Accounting, Allocations, CallRow, CallTimes, ClassId, Event, Frame, Line, Method, MethodId,
    Profile, Site, Sites, TraceId, Unit,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::numbers::NumberBook;
use super::sites::SiteBook;
use crate::recorder::{Book, Place, Recorder, Sections, entry};

/// The numbers since the last dump; see the module.
#[derive(Debug)]
pub(crate) struct JamaicaBook {
    counts: Jamaica,
    /// The objects of classes, if they are counted.
    sites: Option<&'static SiteBook>,
    state: Mutex<JamaicaNumbers>,
}

#[derive(Debug, Default)]
struct JamaicaNumbers {
    numbers: NumberBook,
    /// The calls of callers and callees, by trace.
    calls: Vec<u64>,
    /// The processor cycles of methods.
    cycles: FxHashMap<MethodId, u64>,
    /// The methods of which the JVM has compiled code, by name.
    compiled: FxHashSet<String>,
    /// The objects of classes as of the last dump.
    classes: FxHashMap<ClassId, Allocations>,
}

impl JamaicaBook {
    pub(crate) fn new(counts: Jamaica, sites: Option<&'static SiteBook>) -> Self {
        Self { counts, sites, state: Mutex::default() }
    }

    /// Books a part of a total since the start. All parts are booked anew for each dump, which has
    /// the increase since the one before.
    pub(crate) fn book_total(&self, name: &str, unit: Unit, trace: TraceId, part: u64) {
        lock(&self.state).numbers.book_total(name, unit, trace, part);
    }

    /// Books a part of the increase since the dump before.
    pub(crate) fn add(&self, name: &str, unit: Unit, trace: TraceId, increase: u64) {
        lock(&self.state).numbers.add(name, unit, trace, increase);
    }

    /// Books the number as it is now.
    pub(crate) fn set(&self, name: &str, unit: Unit, trace: TraceId, now: u64) {
        lock(&self.state).numbers.set(name, unit, trace, now);
    }

    /// Books the live objects of classes.
    pub(crate) fn book_live(
        &self,
        live: impl IntoIterator<Item = (ClassId, TraceId, Allocations)>,
    ) {
        if let Some(sites) = self.sites {
            sites.book(live);
        }
    }

    /// Books calls by caller and callee.
    pub(crate) fn add_calls(&self, recorder: &mut Recorder, path: [Frame; 2], count: u64) {
        let symbols = &mut recorder.profile.symbols;
        let path = path.map(|frame| symbols.frame(frame));
        let node = recorder.profile.tree.insert(path);
        let trace = recorder.profile.trace(node, None);
        *entry(&mut lock(&self.state).calls, trace.index()) += count;
    }

    /// Books the cycles of a method.
    pub(crate) fn add_cycles(&self, method: MethodId, cycles: u64) {
        *lock(&self.state).cycles.entry(method).or_default() += cycles;
    }

    /// Notes the methods of which the JVM has compiled code now: `java.lang.String.length()I`.
    pub(crate) fn set_compiled(&self, methods: FxHashSet<String>) {
        lock(&self.state).compiled = methods;
    }

    /// Books the loader of a class, by their names.
    pub(crate) fn book_loader(&self, recorder: &mut Recorder, class: &str, loader: &str) {
        let symbols = &mut recorder.profile.symbols;
        let class = symbols.class(class);
        let name = symbols.strings.intern(loader);
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let trace = recorder.trace_of_frame(Frame::new(method, Line::Unknown));
        self.set(metric::LOADERS, Unit::Count, trace, 1);
    }

    /// Returns the objects allocated since the last dump, and the live ones, by class.
    fn take_classes(&self, profile: &mut Profile, state: &mut JamaicaNumbers) -> Sites {
        let mut by_class: FxHashMap<_, Allocations> = FxHashMap::default();
        for ((class, _), objects) in self.sites.map(SiteBook::take_rows).unwrap_or_default() {
            by_class.entry(class).or_default().add(objects);
        }
        let trace = profile.system_trace();
        let mut sites = Sites::default();
        for (class, objects) in by_class {
            let before = state.classes.entry(class).or_default();
            let mut since = objects;
            since.remove_allocated(mem::replace(before, objects));
            sites.total.add(since);
            sites.rows.push(Site { class, trace, objects: since });
        }
        sites.rank(0.0);
        sites
    }
}

impl JamaicaNumbers {
    /// Books the cycles of methods, each with the code that the JVM has of it now.
    fn book_cycles(&mut self, recorder: &mut Recorder) {
        for (id, cycles) in mem::take(&mut self.cycles) {
            let symbols = &recorder.profile.symbols;
            let method = symbols.get_method(id);
            let class = symbols.class_name(method.class);
            let text = |id| symbols.strings.get(id);
            let (name, descriptor) = (text(method.name), method.signature.map_or("", text));
            let is_compiled = self.compiled.contains(&format!("{class}.{name}{descriptor}"));
            let line = if is_compiled { Line::Compiled } else { Line::Unknown };
            let trace = recorder.trace_of_frame(Frame::new(id, line));
            self.numbers.add(metric::CYCLES, Unit::Count, trace, cycles);
        }
    }

    /// Returns the calls since the last dump.
    fn take_calls(&mut self) -> CallTimes {
        let calls = mem::take(&mut self.calls);
        let rows = calls.iter().enumerate().filter(|(_, count)| **count > 0);
        let rows = rows.map(|(index, &count)| CallRow {
            trace: TraceId::new(index),
            count,
            self_ns: 0,
            total_ns: 0,
        });
        CallTimes { rows: rows.collect(), ..CallTimes::default() }
    }
}

impl Book for JamaicaBook {
    fn place(&self) -> Place {
        Place::Jamaica
    }

    fn write(&self, recorder: &mut Recorder, _: &mut Sections<'_>) -> io::Result<()> {
        let state = &mut *lock(&self.state);
        state.book_cycles(recorder);
        let mut events: Vec<Event> = state.numbers.take().into_iter().map(Event::from).collect();
        if self.counts == Jamaica::All {
            events.push(state.take_calls().into());
            events.push(self.take_classes(&mut recorder.profile, state).into());
        }
        recorder.profile.events = events;
        let notes = notes(self.counts, recorder.profile.accounting.as_ref());
        recorder.write_plain(|profile, output| write_part(profile, &notes, output).map(drop));
        recorder.profile.events.clear();
        Ok(())
    }

    fn reset(&self, _: bool) {
        let state = &mut *lock(&self.state);
        state.numbers.take();
        state.calls.clear();
    }

    fn release(&self) {
        *lock(&self.state) = JamaicaNumbers::default();
    }
}

/// Returns the lines for people at the head of a part of the file.
fn notes(counts: Jamaica, accounting: Option<&Accounting>) -> Vec<String> {
    let head =
        |it: &Accounting| format!("perk {VERSION}, {}, process {}: {}", it.jvm, it.pid, it.program);
    let mut notes: Vec<_> = accounting.map(head).into_iter().collect();
    match counts {
        Jamaica::Bytecodes => notes.push(
            "jamaica=bytecodes counts bytecodes, lines and arrays only; jamaica=y counts all"
                .to_owned(),
        ),
        Jamaica::All => notes.extend(ON_HOTSPOT.map(str::to_owned)),
    }
    notes
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The numbers that mean something else on HotSpot than on JamaicaVM.
const ON_HOTSPOT: [&str; 3] = [
    "HotSpot does not have blocks and trees of blocks: blocks are those of 32 bytes that an object's \
     size needs, trees are 0",
    "cycles are the CPU time of threads, booked at the clock's ticks, by the frequency of the \
     processor's time stamp counter",
    "a thread has one stack: its high-water mark is that of the C stack, and 0 that of the Java stack; \
     threads of the JVM collect garbage, in a line of their own; int, comp and jni are sampled",
];
