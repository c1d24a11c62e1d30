//! Writes JamaicaVM's profile: the bytecodes, calls and objects of a program, by method and class.

use perk_control::options::Jamaica;
use perk_jamaica::{metric, write_part};
use perk_profile::{
    Accounting, Allocations, CallRow, CallTimes, Frame, Line, Method, Site, Sites, TraceId, Unit,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::counted::CallNodes;
use super::{Recorder, entry};
use crate::cycles::CycleRate;

impl Recorder {
    /// Books the calls of one tree by caller, position and callee, and the cycles of each method with
    /// all that it called. `natives` are the numbers of native methods.
    pub(crate) fn book_invocations(
        &mut self,
        calls: &mut dyn CallNodes,
        natives: &FxHashSet<u32>,
        rate: CycleRate,
    ) {
        let mut pairs: FxHashMap<(u32, u16, u32), u64> = FxHashMap::default();
        let mut times: FxHashMap<u32, u64> = FxHashMap::default();
        let mut native_calls: FxHashMap<u32, u64> = FxHashMap::default();
        for index in 0..calls.count() {
            let node = calls.take(index);
            if node.is_lost() {
                continue;
            }
            let outward =
                || std::iter::successors(calls.get(node.parent), |it| calls.get(it.parent));
            if let Some(caller) = outward().next().filter(|it| node.count > 0 && !it.is_lost()) {
                *pairs.entry((caller.method, node.line, node.method)).or_default() += node.count;
            }
            if node.count > 0 && natives.contains(&node.method) {
                *native_calls.entry(node.method).or_default() += node.count;
            }
            // The time of a recursive call is in that of the call around it.
            if node.total_ns > 0 && outward().all(|it| it.method != node.method) {
                *times.entry(node.method).or_default() += node.total_ns;
            }
        }
        for ((caller, place, callee), count) in pairs {
            let bci = place.checked_sub(1).map(i32::from);
            let caller = Frame { bci, ..Frame::new(self.numbered_method(caller), Line::Unknown) };
            let callee = self.callee_frame(callee, natives);
            let symbols = &mut self.profile.symbols;
            let path = [caller, callee].map(|frame| symbols.frame(frame));
            let node = self.profile.tree.insert(path);
            let trace = self.profile.trace(node, None);
            entry(&mut self.calls.rows, trace.index()).count += count;
        }
        for (method, count) in native_calls {
            let frame = self.callee_frame(method, natives);
            let trace = self.trace_of_frame(frame);
            self.add_number(metric::NATIVE_CALLS, Unit::Count, trace, count);
        }
        for (method, total_ns) in times {
            let method = self.numbered_method(method);
            *self.cycles.entry(method).or_default() += rate.cycles(total_ns);
        }
    }

    /// Notes the methods of which the JVM has compiled code now: `java.lang.String.length()I`.
    pub(crate) fn book_compiled(&mut self, methods: FxHashSet<String>) {
        self.compiled = methods;
    }

    /// Books the cycles of methods, each with the code that the JVM has of it now.
    fn book_cycles(&mut self) {
        for (id, cycles) in std::mem::take(&mut self.cycles) {
            let symbols = &self.profile.symbols;
            let method = symbols.get_method(id);
            let class = symbols.class_name(method.class);
            let text = |id| symbols.strings.get(id);
            let (name, descriptor) = (text(method.name), method.signature.map_or("", text));
            let is_compiled = self.compiled.contains(&format!("{class}.{name}{descriptor}"));
            let line = if is_compiled { Line::Compiled } else { Line::Unknown };
            let trace = self.trace_of_frame(Frame::new(id, line));
            self.add_number(metric::CYCLES, Unit::Count, trace, cycles);
        }
    }

    /// Books the loader of a class, by their names.
    pub(crate) fn book_loader(&mut self, class: &str, loader: &str) {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(class);
        let name = symbols.strings.intern(loader);
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let trace = self.trace_of_frame(Frame::new(method, Line::Unknown));
        self.set_number(metric::LOADERS, Unit::Count, trace, 1);
    }

    fn callee_frame(&mut self, method: u32, natives: &FxHashSet<u32>) -> Frame {
        let line = if natives.contains(&method) { Line::Native } else { Line::Unknown };
        Frame::new(self.numbered_method(method), line)
    }

    /// Writes the numbers since the last dump. Unless this is the last one, they are then appended to
    /// the file.
    pub(super) fn write_jamaica(&mut self, counts: Jamaica, accounting: &Accounting, last: bool) {
        self.book_cycles();
        let mut events = self.metrics.take();
        if counts == Jamaica::All {
            let rows = std::mem::take(&mut self.calls.rows);
            let rows = rows.iter().enumerate().filter(|(_, row)| row.count > 0);
            let rows = rows.map(|(index, row)| CallRow {
                trace: TraceId::new(index),
                count: row.count,
                self_ns: 0,
                total_ns: 0,
            });
            let times = CallTimes { rows: rows.collect(), ..CallTimes::default() };
            events.push(times.into());
            events.push(self.take_classes().into());
        }
        self.profile.events = events;
        let notes = notes(counts, accounting);
        let profile = std::mem::take(&mut self.profile);
        self.write_to(|output| {
            write_part(&profile, &notes, output)?;
            output.rest()?;
            if last { Ok(()) } else { output.publish() }
        });
        self.profile = profile;
        self.profile.events.clear();
    }

    /// Returns the objects allocated since the last dump, and the live ones, by class.
    fn take_classes(&mut self) -> Sites {
        let mut by_class: FxHashMap<_, Allocations> = FxHashMap::default();
        for ((class, _), objects) in self.sites.take_rows() {
            by_class.entry(class).or_default().add(objects);
        }
        let trace = self.profile.system_trace();
        let mut sites = Sites::default();
        for (class, objects) in by_class {
            let before = self.dumped_classes.entry(class).or_default();
            let mut since = objects;
            since.remove_allocated(std::mem::replace(before, objects));
            sites.total.add(since);
            sites.rows.push(Site { class, trace, objects: since });
        }
        sites.rank(0.0);
        sites
    }
}

/// Returns the lines for people at the head of a part of the file.
fn notes(counts: Jamaica, accounting: &Accounting) -> Vec<String> {
    let Accounting { jvm, program, pid, .. } = accounting;
    let mut notes = vec![format!("perk {}, {jvm}, process {pid}: {program}", VERSION)];
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
