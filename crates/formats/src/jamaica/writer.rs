//! Writes Jamaica profiles.

use std::io::{self, Write};

use perk_analysis::allocations;
use perk_profile::{FrameId, KeyedMap, Line, Metric, Profile, Symbols, TraceId};

use super::{lines, metric};
use crate::file_format::refusal;

/// The size of a block if the profile does not give it: Jamaica's own default, in bytes.
const BLOCK_BYTES: u64 = 32;

/// Writes the numbers of `profile` that the format holds: JamaicaVM's counts, calls, and objects by
/// class.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile has none of these.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let writer = Writer { profile };
    let mut text = String::new();
    writer.heap(&mut text);
    writer.shares("PROFILE", metric::BYTECODES, &mut text);
    for (trace, count) in writer.rows(metric::CYCLES) {
        let Some(frame) = writer.top(trace) else { continue };
        let mode = match profile.symbols.get_frame(frame).line {
            Line::Compiled => "(compiled)",
            _ => "(interpreted)",
        };
        let method = method(&profile.symbols, frame);
        text += &format!("PROFILE_CYCLES: {count:<11} {method}{mode}\n");
    }
    writer.invocations(&mut text);
    writer.shares("PROFILE_NATIVE", metric::NATIVE_CALLS, &mut text);
    for (trace, count) in writer.rows(metric::ARRAY_ALLOCATIONS) {
        let Some(frame) = writer.top(trace) else { continue };
        let bci = bci(&profile.symbols, frame);
        text += &format!("PROFILE_NEWARRAY: {count} @ {bci} {}\n", method(&profile.symbols, frame));
    }
    for (trace, _) in writer.rows(metric::REFLECTION) {
        let Some(frame) = writer.top(trace) else { continue };
        let class = class(&profile.symbols, frame);
        text += &format!("PROFILE_CLASS_USED_VIA_REFLECTION: {class}\n");
    }
    writer.threads(&mut text);
    if text.is_empty() {
        let what = "JamaicaVM's profile holds bytecodes, calls and objects; the profile has none";
        return Err(refusal(what));
    }
    out.write_all(text.as_bytes())
}

struct Writer<'a> {
    profile: &'a Profile,
}

impl Writer<'_> {
    /// Returns the numbers of a metric, by trace.
    fn rows(&self, name: &str) -> Vec<(TraceId, u64)> {
        let Some(metric) = Metric::find(self.profile, name) else { return Vec::new() };
        metric.rows(self.profile).by_trace()
    }

    fn top(&self, trace: TraceId) -> Option<FrameId> {
        self.profile.frames(trace).next()
    }

    /// Writes `KEYWORD: 8158752 (11%)  java/nio/ByteBufferImpl.put(B)V`. Percentages are cut, not
    /// rounded.
    fn shares(&self, keyword: &str, name: &str, text: &mut String) {
        let rows = self.rows(name);
        let total = rows.iter().map(|row| u128::from(row.1)).sum::<u128>().max(1);
        for (trace, count) in rows {
            let Some(frame) = self.top(trace) else { continue };
            let share = format!("{count} ({}%)", u128::from(count) * 100 / total);
            let method = method(&self.profile.symbols, frame);
            *text += &format!("{keyword}: {share:<14} {method}\n");
        }
    }

    fn heap(&self, text: &mut String) {
        let by_root = |name| self.rows(name).first().map(|row| row.1);
        if let Some((references, words)) =
            by_root(metric::HEAP_REFERENCES).zip(by_root(metric::HEAP_WORDS))
        {
            let share = percent(references, words);
            *text += &format!("HEAP_REFS: {references} of {words} words ({share}%)\n");
        }
        let Some(sites) = self.profile.sites() else { return };
        let symbols = &self.profile.symbols;
        let mut blocks_of: KeyedMap<String, u64> = KeyedMap::default();
        for (trace, blocks) in self.rows(metric::BLOCKS) {
            if let Some(frame) = self.top(trace) {
                blocks_of.insert(class(symbols, frame), blocks);
            }
        }
        let classes = allocations::classes(self.profile, &sites);
        // The number of blocks of an object. If it is not given, as many as the object's size
        // needs.
        let blocks = |class: &str, bytes: u64, count: u64| match blocks_of.get(class) {
            Some(&blocks) => blocks,
            None => bytes.checked_div(count).unwrap_or(0).div_ceil(BLOCK_BYTES),
        };
        for row in classes.iter().filter(|row| row.objects.live_count > 0) {
            let class = lines::to_class_name(symbols.class_name(row.class));
            let (count, bytes) = (row.objects.live_count, row.objects.live_bytes);
            let blocks = blocks(&class, bytes, count);
            let of_block = bytes.checked_div(count.saturating_mul(blocks)).unwrap_or(BLOCK_BYTES);
            let share = percent(bytes, sites.total.live_bytes);
            *text += &format!(
                "HEAP_USE: {count} objects * {blocks} blocks * {of_block} bytes = {bytes} bytes \
                 ({share}%) trees: 0 (0%) {class}\n"
            );
        }
        for row in classes.iter().filter(|row| row.objects.allocated_count > 0) {
            let class = lines::to_class_name(symbols.class_name(row.class));
            let (count, bytes) = (row.objects.allocated_count, row.objects.allocated_bytes);
            let blocks = blocks(&class, bytes, count);
            *text += &format!(
                "INSTANTIATION_COUNT: {count} * {blocks} = {} blocks {bytes} bytes trees: 0 (0%) \
                 bootstrap {class}\n",
                count.saturating_mul(blocks)
            );
        }
    }

    /// Writes the calls by caller, position and callee, regardless of the caller's own callers.
    fn invocations(&self, text: &mut String) {
        let symbols = &self.profile.symbols;
        let mut counts: KeyedMap<(String, i32, String), u64> = KeyedMap::default();
        for row in self.profile.call_times().flat_map(|times| times.rows) {
            let mut frames = self.profile.frames(row.trace);
            let Some((callee, caller)) = frames.next().zip(frames.next()) else { continue };
            let key = (method(symbols, caller), bci(symbols, caller), method(symbols, callee));
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(row.count);
        }
        for edge in self.profile.call_edges().flat_map(|edges| edges.rows) {
            let Some((caller, callee)) = edge.caller.zip(edge.callee) else { continue };
            let name = |id| {
                let of_method = symbols.get_method(id);
                name(symbols, &of_method)
            };
            let count = counts.entry((name(caller), 0, name(callee))).or_default();
            *count = count.saturating_add(edge.count);
        }
        let mut rows: Vec<_> = counts.into_iter().filter(|row| row.1 > 0).collect();
        rows.sort();
        for ((caller, bci, callee), count) in rows {
            *text += &format!("PROFILE_INVOKE: {count} @ {bci} {caller} -> {callee}\n");
        }
    }

    fn threads(&self, text: &mut String) {
        let by_trace = |name| -> KeyedMap<_, _> { self.rows(name).into_iter().collect() };
        let priorities = by_trace(metric::THREAD_PRIORITY);
        let cycles = by_trace(metric::THREAD_CYCLES);
        let shares = metric::THREAD_SHARES.map(by_trace);
        let stacks = [metric::C_STACK, metric::JAVA_STACK].map(by_trace);
        let mut traces: Vec<_> = priorities.keys().chain(cycles.keys()).copied().collect();
        traces.sort();
        traces.dedup();
        for trace in traces {
            let of = |numbers: &KeyedMap<TraceId, u64>| numbers.get(&trace).copied().unwrap_or(0);
            let [int, comp, jni, gc] = shares.each_ref().map(of);
            let [c_stack, java_stack] = stacks.each_ref().map(of);
            let thread = self.profile.get_trace(trace).thread;
            let name = thread.map_or("", |thread| self.profile.thread_name(thread));
            *text += &format!(
                "PROFILE_THREAD: {} {} int {int}% comp {comp}% jni {jni}% gc {gc}% C {c_stack} Java \
                 {java_stack} ({name})\n",
                of(&priorities),
                of(&cycles),
            );
        }
        for (_, count) in self.rows(metric::THREADS) {
            *text += &format!("PROFILE_THREADS: {count}\n");
        }
    }
}

fn percent(part: u64, whole: u64) -> u128 {
    u128::from(part) * 100 / u128::from(whole.max(1))
}

fn class(symbols: &Symbols, frame: FrameId) -> String {
    let method = symbols.get_method(symbols.get_frame(frame).method);
    lines::to_class_name(symbols.class_name(method.class))
}

fn method(symbols: &Symbols, frame: FrameId) -> String {
    name(symbols, &symbols.get_method(symbols.get_frame(frame).method))
}

fn name(symbols: &Symbols, method: &perk_profile::Method) -> String {
    let class = lines::to_class_name(symbols.class_name(method.class));
    let name = symbols.strings.get(method.name);
    let descriptor = method.signature.map_or("", |id| symbols.strings.get(id));
    let name = if class.is_empty() { name.to_owned() } else { format!("{class}.{name}") };
    // Words end at blanks.
    (name + descriptor).replace(char::is_whitespace, "_")
}

fn bci(symbols: &Symbols, frame: FrameId) -> i32 {
    symbols.get_frame(frame).bci.unwrap_or(0)
}
