//! The counts of JamaicaVM's profile: where a program spends its bytecodes and its cycles.

use std::cmp::Reverse;

use perk_analysis::{cycles, lines, top};
use perk_jamaica::metric;
use perk_profile::units::{percent, printable};
use perk_profile::{KeyedMap, KeyedSet, Line, MethodId, Profile, ThreadId};
use perk_render::{Column, LazyTable, Part, Section};

use super::content::Content;
use super::metric::MetricView;
use crate::selection::metric::is_of_jamaica;

/// Lines named below a method, and the least share of its bytecodes that they have, in percent.
const LINES: usize = 3;
const LINE_PERCENT: u64 = 5;
/// A method with fewer bytecodes than this, or with a smaller part of all cycles than one in
/// [`PART`], has no cycles per bytecode: what the clock adds to a few of them is more than they are.
const BYTECODES: u64 = 100_000;
const PART: u64 = 200;
/// What a high cost of bytecodes means.
const LEGEND: &str = "High: cache misses, slow intrinsics, native code.";

/// Whether the profile has such counts. They are of methods, not of call paths that could have been
/// cut.
pub(super) fn is_in(profile: &Profile) -> bool {
    let columns = profile.sections().flat_map(|section| &section.head.columns);
    columns.into_iter().any(|column| is_of_jamaica(&column.metric))
}

/// The counts of a profile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts<'c, 'a> {
    content: &'c Content<'a>,
}

impl<'c, 'a> Counts<'c, 'a> {
    /// The counts of `content`; `None` if it has none.
    pub(super) fn of(content: &'c Content<'a>) -> Option<Self> {
        content.metrics.iter().any(|view| is_of_jamaica(&view.metric)).then_some(Self { content })
    }

    fn view(&self, name: &str) -> Option<&'c MetricView<'a>> {
        let views = &mut self.content.metrics.iter();
        views.find(|view| is_of_jamaica(&view.metric) && view.name() == name)
    }

    /// The tables of bytecodes and cycles.
    pub(super) fn code(&self, top: usize) -> Vec<LazyTable<'c>> {
        [self.bytecodes(), self.cycles(), self.cost()]
            .into_iter()
            .flatten()
            .map(|table| table.top(top))
            .collect()
    }

    /// The tables of natives, arrays and reflection.
    pub(super) fn calls(&self, top: usize) -> Vec<LazyTable<'c>> {
        [self.natives(), self.arrays(), self.reflection()]
            .into_iter()
            .flatten()
            .map(|table| table.top(top))
            .collect()
    }

    /// The threads, and the words of the heap.
    pub(super) fn rest(&self, top: usize) -> Vec<Section> {
        let threads = self.threads().map(|table| Part::table(table.top(top)));
        let at_once = self
            .view(metric::THREADS)
            .map(|view| Part::Sentence(format!("At most {} threads at once.", view.all)));
        let heap = self.view(metric::HEAP_WORDS).map(|view| {
            let words = view.all;
            let references = self.view(metric::HEAP_REFERENCES).map_or(0, |it| it.all);
            let share = percent(references, words);
            Part::Sentence(format!(
                "The fields of live objects are {words} words, {references} of them references \
                 ({share} %)."
            ))
        });
        vec![threads.into_iter().chain(at_once).collect(), heap.into_iter().collect()]
    }

    /// The calls of each method.
    fn counted_calls(&self) -> KeyedMap<MethodId, u64> {
        let calls = self.content.calls.iter().flat_map(|calls| &calls.table.methods);
        calls.map(|row| (row.method, row.count)).collect()
    }

    /// The methods with most bytecodes, the lines with most of them below each.
    fn bytecodes(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::BYTECODES)?;
        let calls = self.counted_calls();
        let has_calls = !calls.is_empty();
        let mut of_method: KeyedMap<MethodId, Vec<(u32, u64)>> = KeyedMap::default();
        for row in lines::lines(view.profile, &view.numbers().rows, None) {
            if let Line::Number(line) = row.line {
                of_method.entry(row.method).or_default().push((line, row.own));
            }
        }
        let rows: Vec<_> = view.methods().iter().filter(|row| row.own > 0).copied().collect();
        let count = move |method: MethodId| calls.get(&method).copied();
        let per_call = Column::words().at(3, "per call").text_if(has_calls);
        let counts = count.clone();
        let own = Column::count("self").of(view.all);
        let table = LazyTable::of(&view.profile.symbols, "Where the bytecodes are executed", rows)
            .column(Column::method().name("method"), |row| row.method)
            .column(own.share_at(0, "share %").at(1, "bytecodes"), |row| row.own)
            .column(Column::words().at(2, "calls").text_if(has_calls), move |row| {
                Some(counts(row.method)?.to_string())
            })
            .column(per_call, move |row| {
                Some(ratio(row.own, count(row.method).filter(|&count| count > 0)?))
            })
            .each(move |row, shown| {
                shown.below = of_method
                    .get(&row.method)
                    .and_then(|it| hint(it, row.own))
                    .into_iter()
                    .collect();
            })
            .table();
        Some(table.ranked())
    }

    /// The methods with most cycles.
    fn cycles(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::CYCLES)?;
        let symbols = &view.profile.symbols;
        let all = self.all_cycles();
        let calls = self.counted_calls();
        let has_calls = !calls.is_empty();
        let mut compiled: KeyedMap<MethodId, u64> = KeyedMap::default();
        for row in lines::lines(view.profile, &view.numbers().rows, None) {
            if row.line == Line::Compiled {
                compiled.insert(row.method, row.own);
            }
        }
        let is_any_compiled = !compiled.is_empty();
        let cycles = Column::count("cycle_count").of(all);
        let cycles = cycles.share_at(0, "share %");
        let compiled = move |method, own| match compiled.get(&method) {
            None => "interpreted",
            Some(&number) if number == own => "compiled",
            Some(_) => "both",
        };
        let mode = Column::words().at(3, "mode").text_if(is_any_compiled);
        let rows: Vec<_> = view.methods().iter().filter(|row| row.own > 0).copied().collect();
        let heading = "Where the cycles go, each method with all that it called";
        let table = LazyTable::of(symbols, heading, rows)
            .column(Column::method().name("method"), |row| row.method)
            .column(cycles.at(1, "cycles"), |row| row.own)
            .column(Column::words().at(2, "per call").text_if(has_calls), move |row| {
                Some(ratio(row.own, calls.get(&row.method).copied().filter(|&count| count > 0)?))
            })
            .column(mode, move |row| compiled(row.method, row.own))
            .table();
        Some(table.ranked())
    }

    /// The methods whose bytecodes cost most each.
    pub(super) fn cost(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::BYTECODES)?;
        let code: KeyedMap<MethodId, u64> =
            view.methods().iter().map(|row| (row.method, row.own)).collect();
        let calls = self.content.calls.as_ref()?;
        let (heading, column, title) = match calls.is_timed() {
            true => ("Most time per bytecode", Column::ns("self_ns"), "ns each"),
            false => ("Most cycles per bytecode", Column::count("own_cycle_count"), "cycles each"),
        };
        let (all, costs) =
            if calls.is_timed() { calls.self_times() } else { self.own_cycles(&code)? };
        let row = |(method, cost): (MethodId, u64)| {
            let count = code.get(&method).copied().filter(|&count| count >= BYTECODES)?;
            (cost > 0 && cost >= all / PART).then_some((method, cost, count))
        };
        let mut rows: Vec<_> = costs.into_iter().filter_map(row).collect();
        let order = |row: &(MethodId, u64, u64)| u128::from(row.1) * 1_000_000 / u128::from(row.2);
        rows.sort_by_key(|row| (Reverse(order(row)), row.0));
        let table = LazyTable::of(&view.profile.symbols, heading, rows)
            .column(Column::method().name("method"), |row| row.0)
            .column(Column::words().at(0, title), |row| ratio(row.1, row.2))
            .column(column.of(all).share_at(1, "share %"), |row| row.1)
            .column(Column::count("bytecode_count").at(2, "bytecodes"), |row| row.2)
            .table();
        let table = match calls.is_timed() {
            true => table,
            false => table.note(
                "Own cycles are the cycles without all those of the methods called; methods that \
                 call others for more than a fifth of their cycles are left out.",
            ),
        };
        let note = format!(
            "Methods with less than {} % of all, or than {BYTECODES} bytecodes, are left out.",
            100.0 / PART as f64
        );
        Some(table.legend(LEGEND).note(note).ranked())
    }

    /// All cycles, and the methods' own ones as far as they are known.
    fn own_cycles(&self, code: &KeyedMap<MethodId, u64>) -> Option<(u64, Vec<(MethodId, u64)>)> {
        let calls = self.content.calls.as_ref()?;
        let rows = self.view(metric::CYCLES)?.methods().iter();
        let cycles: Vec<_> = rows.map(|row| (row.method, row.own)).collect();
        let natives = self.view(metric::NATIVE_CALLS).map_or(&[][..], |it| it.methods());
        let natives: KeyedSet<_> = natives.iter().map(|row| row.method).collect();
        // A filter can have left out a method.
        let known = |method| code.contains_key(&method) || natives.contains(&method);
        let own = cycles::own(&cycles, &calls.table, known);
        Some((self.all_cycles(), own.iter().map(|row| (row.method, row.least)).collect()))
    }

    /// The cycles of all threads; where they are not known, those of the method with most.
    fn all_cycles(&self) -> u64 {
        let rows = self.view(metric::CYCLES).map_or(&[][..], |view| view.methods()).iter();
        let most = rows.map(|row| row.own).max().unwrap_or(0);
        let threads = self.view(metric::THREAD_CYCLES).map_or(0, |it| it.all);
        threads.max(most)
    }

    /// The bytecodes and cycles of a method: `, 300 bytecodes, 5000 cycles`.
    pub(super) fn of_method(&self, method: MethodId) -> String {
        let names = [metric::BYTECODES, metric::CYCLES].into_iter();
        let number = |name| {
            let row = self.view(name)?.methods().iter().find(|row| row.method == method)?;
            Some(format!(", {} {name}", row.own))
        };
        names.filter_map(number).collect()
    }

    fn natives(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::NATIVE_CALLS)?;
        let calls = Column::count("calls").of(view.all);
        let rows: Vec<_> = view.methods().iter().filter(|row| row.own > 0).copied().collect();
        let table = LazyTable::of(&view.profile.symbols, "Calls of native methods", rows)
            .column(Column::method().name("method"), |row| row.method)
            .column(calls.share_at(0, "share %").at(1, "calls"), |row| row.own)
            .table();
        Some(table.ranked())
    }

    /// The places where most arrays are allocated.
    fn arrays(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::ARRAY_ALLOCATIONS)?;
        let symbols = &view.profile.symbols;
        let frame = |row: &(_, u64)| Some((view.profile.frames(row.0).next()?, row.1));
        let mut rows: Vec<_> = view.numbers().rows.iter().filter_map(frame).collect();
        rows.sort_by_key(|row| (Reverse(row.1), row.0));
        let arrays = Column::count("arrays").of(view.all);
        let table = LazyTable::of(symbols, "Where arrays are allocated", rows)
            .column(Column::method().name("method @ bytecode"), |row| {
                symbols.get_frame(row.0).method
            })
            .column(arrays.share_at(0, "share %").at(1, "arrays"), |row| row.1)
            .each(|row, shown| {
                let bci = symbols.get_frame(row.0).bci;
                shown.suffix = bci.map_or_else(String::new, |bci| format!(" @ {bci}"));
            })
            .table();
        Some(table.ranked())
    }

    fn reflection(&self) -> Option<LazyTable<'c>> {
        let view = self.view(metric::REFLECTION)?;
        let symbols = &view.profile.symbols;
        let frames = view.numbers().rows.iter().filter_map(|row| view.profile.frames(row.0).next());
        let class = |frame| symbols.get_method(symbols.get_frame(frame).method).class;
        let mut classes: Vec<_> = frames.map(class).collect();
        classes.sort_by_key(|&class| symbols.class_name(class));
        let count = classes.len();
        let heading = format!("Classes used via reflection: {count}");
        let table = LazyTable::of(symbols, heading, classes)
            .column(Column::other("class").name("class"), |&class| class)
            .table();
        Some(table)
    }

    /// The threads, most cycles first. Text leaves out what is 0 for all of them, as it is where the
    /// JVM does not know it.
    pub(super) fn threads(&self) -> Option<LazyTable<'c>> {
        let [interpreted, compiled, jni, gc] = metric::THREAD_SHARES;
        let cycles = self.view(metric::THREAD_CYCLES).map_or(0, |it| it.all);
        let columns = [
            (metric::THREAD_CYCLES, Column::count("cycle_count").of(cycles), "cycles"),
            (interpreted, Column::count("interpreted_percent"), "interp %"),
            (compiled, Column::count("compiled_percent"), "comp %"),
            (jni, Column::count("jni_percent"), "JNI %"),
            (gc, Column::count("gc_percent"), "GC %"),
            (metric::C_STACK, Column::bytes("c_stack_bytes"), "C stack"),
            (metric::JAVA_STACK, Column::bytes("java_stack_bytes"), "Java stack"),
            (metric::THREAD_PRIORITY, Column::count("priority"), "priority"),
        ];
        let profile = self.content.profile;
        let mut rows: KeyedMap<ThreadId, [u64; 8]> = KeyedMap::default();
        for (index, (name, ..)) in columns.iter().enumerate() {
            let view = self.view(name);
            let numbers =
                view.map(|view| top::threads(profile, view.numbers())).unwrap_or_default();
            for (thread, number) in numbers {
                rows.entry(thread).or_default()[index] = number;
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by_key(|row| (Reverse(row.1[0]), row.0));
        let is_there: [bool; 8] = std::array::from_fn(|at| rows.iter().any(|row| row.1[at] > 0));
        let thread = Column::other("thread").name("thread");
        let mut table = LazyTable::of(&profile.symbols, "Threads", rows)
            .column(thread, |row| printable(profile.thread_name(row.0)));
        for (index, (name, column, heading)) in columns.into_iter().enumerate() {
            let position = u8::try_from(index).unwrap_or(u8::MAX).saturating_add(1);
            let column = column.at(position, heading);
            let is_cycles = name == metric::THREAD_CYCLES;
            let column = if is_cycles { column.share_at(0, "share %") } else { column };
            table = table.column(column.text_if(is_there[index]), move |row| row.1[index]);
        }
        let table = table.table();
        (!table.is_empty()).then_some(table)
    }
}

/// A number per thing, with a decimal where it is small.
fn ratio(number: u64, of: u64) -> String {
    match number / of {
        0..100 => format!("{:.1}", number as f64 / of as f64),
        whole => whole.to_string(),
    }
}

/// The lines with most of a method's bytecodes.
fn hint(lines: &[(u32, u64)], own: u64) -> Option<String> {
    let is_large = |it: &&(u32, u64)| it.1 > 0 && it.1 >= own / 100 * LINE_PERCENT;
    let mut lines: Vec<_> = lines.iter().filter(is_large).collect();
    lines.sort_by_key(|it| (Reverse(it.1), it.0));
    let line = |it: &&(u32, u64)| format!("{} ({} %)", it.0, it.1 * 100 / own.max(1));
    let shown: Vec<_> = lines.iter().take(LINES).map(line).collect();
    let more = if lines.len() > LINES { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    (!shown.is_empty()).then(|| format!("{word} {}{more}", shown.join(", ")))
}
