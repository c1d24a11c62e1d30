//! Reads Jamaica profiles.

use std::collections::BTreeMap;
use std::io::Read;

use perk_hprof::{LineReader, SkippedLines};
use perk_profile::{
    Allocations, CallRow, CallTimes, Event, Frame, FrameId, KeyedMap, Line, Method, MethodId,
    Metric, Profile, Section, Site, Sites, StrId, Thread, ThreadId, TraceId, Unit,
};

use crate::lines::{self, Entry, LineNumbers, Mode, Signature};
use crate::{Error, KEYWORDS, NOTE, metric};

/// Reads a profile. The numbers of several runs that were appended add up, except those of the heap:
/// the last walk counts. Lines that are damaged are skipped, unless they are the majority.
///
/// # Errors
/// [`Error::Line`] with the first line that cannot be understood, if most lines cannot, or as `input`
/// fails.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut reader = JamaicaReader::default();
    let mut lines = LineReader::new(input);
    while lines.next()?.is_some() {
        let line = String::from_utf8_lossy(lines.last());
        if let Err(expected) = reader.line(&line) {
            reader.first_skipped.get_or_insert((lines.line(), expected));
            reader.skipped.add(lines.line(), format!("expected {expected}"));
        }
    }
    let is_majority = reader.skipped.majority(reader.line_count).is_some();
    match reader.first_skipped.filter(|_| is_majority) {
        Some((line, expected)) => Err(Error::Line { line, expected }),
        None => Ok(reader.finish()),
    }
}

#[derive(Default)]
struct JamaicaReader {
    profile: Profile,
    metrics: Vec<(Metric, Vec<(TraceId, u64)>)>,
    /// The place of each trace in the rows of each metric.
    places: KeyedMap<(usize, TraceId), usize>,
    /// The bytecodes that the file gives by line, by the method's trace without line.
    of_lines: KeyedMap<TraceId, u64>,
    sources: KeyedMap<MethodId, StrId>,
    calls: Vec<CallRow>,
    call_places: KeyedMap<TraceId, usize>,
    sites: Sites,
    site_places: KeyedMap<String, usize>,
    thread_count: usize,
    unknown_keywords: BTreeMap<String, usize>,
    odd_mode_count: usize,
    tree_object_count: u64,
    /// The lines that are damaged, the first of them, and the number of those that are not.
    skipped: SkippedLines,
    first_skipped: Option<(usize, &'static str)>,
    line_count: u64,
}

impl JamaicaReader {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let (keyword, rest) = line.split_once(':').unwrap_or((line, ""));
        if keyword == NOTE {
            return Ok(());
        }
        if KEYWORDS.contains(&keyword) {
            self.entry(Entry::parse(keyword, rest)?);
            self.line_count += 1;
            return Ok(());
        }
        let is_keyword = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if rest.is_empty() || keyword.is_empty() || !keyword.chars().all(is_keyword) {
            return Err("a keyword such as PROFILE and a colon");
        }
        *self.unknown_keywords.entry(keyword.to_owned()).or_default() += 1;
        Ok(())
    }

    fn entry(&mut self, entry: Entry<'_>) {
        let system = self.profile.system_trace();
        match entry {
            Entry::Bytecodes { count, method } => {
                let trace = self.method(method, Line::Unknown, None);
                self.add(metric::BYTECODES, Unit::Count, trace, count);
            }
            Entry::Lines { method, source, lines } => self.lines(method, source, &lines),
            Entry::Cycles { count, method, mode } => {
                let line = match mode {
                    Some(Mode::Compiled) => Line::Compiled,
                    Some(Mode::Other) => {
                        self.odd_mode_count += 1;
                        Line::Unknown
                    }
                    Some(Mode::Interpreted) | None => Line::Unknown,
                };
                let trace = self.method(method, line, None);
                self.add(metric::CYCLES, Unit::Count, trace, count);
            }
            Entry::Native { count, method } => {
                let trace = self.method(method, Line::Native, None);
                self.add(metric::NATIVE_CALLS, Unit::Count, trace, count);
            }
            Entry::NewArray { count, bci, method } => {
                let trace = self.method(method, Line::Unknown, Some(bci));
                self.add(metric::ARRAY_ALLOCATIONS, Unit::Count, trace, count);
            }
            Entry::Invoke { count, bci, caller, callee } => {
                let caller = self.frame(caller, Line::Unknown, Some(bci));
                let callee = self.frame(callee, Line::Unknown, None);
                let node = self.profile.tree.insert([caller, callee]);
                let trace = self.profile.trace(node, None);
                let place = *self.call_places.entry(trace).or_insert_with(|| {
                    self.calls.push(CallRow { trace, count: 0, self_ns: 0, total_ns: 0 });
                    self.calls.len() - 1
                });
                let row = &mut self.calls[place];
                row.count = row.count.saturating_add(count);
            }
            Entry::Instantiations { class, loader, objects, blocks, trees } => {
                let signature = Signature { class, method: loader, descriptor: "" };
                let trace = self.method(signature, Line::Unknown, None);
                self.set_most(metric::LOADERS, Unit::Count, trace, 1);
                self.tree_object_count = self.tree_object_count.saturating_add(trees);
                self.blocks(class, blocks);
                self.objects(class, objects);
            }
            Entry::HeapUse { class, objects, blocks, trees } => {
                self.tree_object_count = self.tree_object_count.saturating_add(trees);
                self.blocks(class, blocks);
                self.objects(class, objects);
            }
            Entry::HeapReferences { references, words } => {
                self.forget_heap();
                self.set(metric::HEAP_REFERENCES, Unit::Count, system, |_| references);
                self.set(metric::HEAP_WORDS, Unit::Count, system, |_| words);
            }
            Entry::Reflection { class } => {
                let trace = self.class_trace(class);
                self.set_most(metric::REFLECTION, Unit::Count, trace, 1);
            }
            Entry::Threads { count } => self.set_most(metric::THREADS, Unit::Count, system, count),
            Entry::Thread { priority, cycles, shares, c_stack_bytes, java_stack_bytes, name } => {
                let thread = self.thread(name);
                let root = self.profile.tree.root();
                let trace = self.profile.trace(root, Some(thread));
                self.add(metric::THREAD_CYCLES, Unit::Count, trace, cycles);
                self.set_most(metric::THREAD_PRIORITY, Unit::Count, trace, priority);
                for (name, share) in metric::THREAD_SHARES.into_iter().zip(shares) {
                    self.set_most(name, Unit::Count, trace, share);
                }
                for (name, bytes) in
                    [(metric::C_STACK, c_stack_bytes), (metric::JAVA_STACK, java_stack_bytes)]
                {
                    self.set_most(name, Unit::Bytes, trace, bytes);
                }
            }
        }
    }

    fn metric(&mut self, name: &str, unit: Unit) -> usize {
        let known = self.metrics.iter().position(|(metric, _)| metric.name() == name);
        known.unwrap_or_else(|| {
            self.metrics.push((Metric::other(name, unit), Vec::new()));
            self.metrics.len() - 1
        })
    }

    fn set(&mut self, name: &str, unit: Unit, trace: TraceId, change: impl FnOnce(u64) -> u64) {
        let index = self.metric(name, unit);
        let rows = &mut self.metrics[index].1;
        let place = *self.places.entry((index, trace)).or_insert_with(|| {
            rows.push((trace, 0));
            rows.len() - 1
        });
        rows[place].1 = change(rows[place].1);
    }

    fn add(&mut self, name: &str, unit: Unit, trace: TraceId, count: u64) {
        self.set(name, unit, trace, |sum| sum.saturating_add(count));
    }

    /// Sets a number to `count`, if that is more: of several runs, the largest value counts.
    fn set_most(&mut self, name: &str, unit: Unit, trace: TraceId, count: u64) {
        self.set(name, unit, trace, |most| most.max(count));
    }

    fn lines(&mut self, signature: Signature<'_>, source: Option<&str>, lines: &[LineNumbers]) {
        let whole = self.method(signature, Line::Unknown, None);
        let frame = self.profile.frames(whole).next();
        if let Some((source, frame)) = source.zip(frame) {
            let symbols = &mut self.profile.symbols;
            let source = symbols.strings.intern(source);
            self.sources.insert(symbols.get_frame(frame).method, source);
        }
        for numbers in lines {
            let sum = self.of_lines.entry(whole).or_default();
            *sum = sum.saturating_add(numbers.bytecodes);
            let trace = self.method(signature, Line::Number(numbers.line), None);
            self.add(metric::BYTECODES, Unit::Count, trace, numbers.bytecodes);
            self.add(metric::LINE_EXECUTIONS, Unit::Count, trace, numbers.executions);
            self.set_most(metric::LINE_INSTRUCTIONS, Unit::Count, trace, numbers.instructions);
            self.set_most(metric::LINE_INSTRUCTIONS_RUN, Unit::Count, trace, numbers.run);
        }
    }

    /// Forgets the live objects of an earlier walk of the heap.
    fn forget_heap(&mut self) {
        let objects = self.sites.rows.iter_mut().map(|row| &mut row.objects);
        for objects in objects.chain([&mut self.sites.total]) {
            (objects.live_count, objects.live_bytes) = (0, 0);
        }
    }

    fn blocks(&mut self, class: &str, blocks: u64) {
        let trace = self.class_trace(class);
        self.set_most(metric::BLOCKS, Unit::Count, trace, blocks);
    }

    fn objects(&mut self, class: &str, objects: Allocations) {
        let place = match self.site_places.get(class) {
            Some(&place) => place,
            None => {
                let id = self.profile.symbols.class(&lines::from_class_name(class));
                let trace = self.profile.system_trace();
                let objects = Allocations::default();
                self.sites.rows.push(Site { class: id, trace, objects });
                self.site_places.insert(class.to_owned(), self.sites.rows.len() - 1);
                self.sites.rows.len() - 1
            }
        };
        self.sites.rows[place].objects.add(objects);
        self.sites.total.add(objects);
    }

    fn frame(&mut self, signature: Signature<'_>, line: Line, bci: Option<i32>) -> FrameId {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(&lines::from_class_name(signature.class));
        let name = symbols.strings.intern(signature.method);
        let descriptor = signature.descriptor;
        let signature = (!descriptor.is_empty()).then(|| symbols.strings.intern(descriptor));
        let method = symbols.method(Method { class, name, signature, source: None });
        symbols.frame(Frame { bci, ..Frame::new(method, line) })
    }

    /// Returns a trace of one frame, as the file has no paths.
    fn method(&mut self, signature: Signature<'_>, line: Line, bci: Option<i32>) -> TraceId {
        let frame = self.frame(signature, line, bci);
        let node = self.profile.tree.insert([frame]);
        self.profile.trace(node, None)
    }

    /// Returns a trace that represents a class alone.
    fn class_trace(&mut self, class: &str) -> TraceId {
        let signature = Signature { class, method: "", descriptor: "" };
        self.method(signature, Line::Unknown, None)
    }

    fn thread(&mut self, name: Option<&str>) -> ThreadId {
        const FIRST_SERIAL: u32 = 200_001;
        self.thread_count += 1;
        let known = name.and_then(|name| self.profile.symbols.strings.lookup(name));
        let same = |thread: &Thread| Some(thread.name) == known;
        if let Some(place) = self.profile.threads.iter().position(same) {
            return ThreadId::new(place);
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("thread {}", self.thread_count),
        };
        let index = u32::try_from(self.profile.threads.len()).unwrap_or(u32::MAX);
        let name = self.profile.symbols.strings.intern(&name);
        let serial = FIRST_SERIAL.saturating_add(index);
        self.profile.push_thread(Thread {
            serial,
            object_id: 0,
            name,
            group: None,
            parent_group: None,
        })
    }

    fn finish(mut self) -> Profile {
        self.take_out_lines();
        for (method, source) in std::mem::take(&mut self.sources) {
            self.profile.symbols.set_source(method, source);
        }
        // The numbers of executed code come first, because reports show the first metric by
        // default.
        let rank = |(metric, _): &(Metric, Vec<(TraceId, u64)>)| {
            let order = [metric::BYTECODES, metric::CYCLES, metric::NATIVE_CALLS];
            order.iter().position(|&name| name == metric.name()).unwrap_or(order.len())
        };
        self.metrics.sort_by_key(rank);
        for (metric, rows) in self.metrics {
            let total = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
            self.profile.events.push(Section::of(metric, total, rows).into());
        }
        if !self.calls.is_empty() {
            let times = CallTimes { rows: self.calls, ..CallTimes::default() };
            self.profile.events.push(Event::from(times));
        }
        if !self.sites.rows.is_empty() {
            self.profile.events.push(Event::from(self.sites));
        }
        let counted = [
            (
                self.odd_mode_count as u64,
                "methods in a mode that is neither interpreted nor compiled",
            ),
            (self.tree_object_count, "objects organised in a tree: their number by class skipped"),
        ];
        let notes = &mut self.profile.notes;
        notes.extend(self.skipped.note());
        for (keyword, count) in self.unknown_keywords {
            notes.push(format!("{count} lines {keyword} skipped: perk does not know them"));
        }
        for (count, what) in counted {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        }
        self.profile
    }

    /// Leaves to the methods as a whole the bytecodes that belong to no line.
    fn take_out_lines(&mut self) {
        if self.of_lines.is_empty() {
            return;
        }
        let index = self.metric(metric::BYTECODES, Unit::Count);
        let rows = &mut self.metrics[index].1;
        for (trace, count) in rows.iter_mut() {
            if let Some(of_lines) = self.of_lines.get(trace) {
                *count = count.saturating_sub(*of_lines);
            }
        }
        rows.retain(|(trace, count)| *count > 0 || !self.of_lines.contains_key(trace));
    }
}
