//! Writes Jamaica profiles.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use perk_profile::{
    Allocations, FrameId, Key, KeyedMap, Line, Method, MethodId, Metric, MetricRows, Profile,
    Symbols, TraceId,
};

use crate::lines::{self, LineNumbers};
use crate::{NOTE, metric};

/// The metrics that are written by method alone.
const OF_METHODS: [&str; 4] =
    [metric::BYTECODES, metric::CYCLES, metric::NATIVE_CALLS, metric::ARRAY_ALLOCATIONS];
/// The size of a block if the profile does not give it: Jamaica's own default, in bytes.
const BLOCK_BYTES: u64 = 32;

/// Writes the numbers of `profile` that the format holds: JamaicaVM's counts, calls, and objects by
/// class.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile has none of these.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    if write_part(profile, &[], out)? == 0 {
        let what = "JamaicaVM's profile holds bytecodes, calls and objects; the profile has none";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(())
}

/// Writes `notes` for people, a line each, and then the numbers of `profile` as [`write()`] does.
/// Returns the number of lines with numbers.
///
/// # Errors
/// As `out` fails.
pub fn write_part(profile: &Profile, notes: &[String], out: &mut dyn Write) -> io::Result<usize> {
    let mut writer = JamaicaWriter { profile, out: BufWriter::new(out), line_count: 0 };
    for note in notes {
        writeln!(writer.out, "{NOTE}: {}", note.replace(char::is_control, " "))?;
    }
    writer.heap()?;
    writer.shares("PROFILE", metric::BYTECODES)?;
    writer.lines()?;
    writer.cycles()?;
    writer.invocations()?;
    writer.shares("PROFILE_NATIVE", metric::NATIVE_CALLS)?;
    writer.arrays()?;
    writer.reflection()?;
    writer.threads()?;
    writer.out.flush()?;
    Ok(writer.line_count)
}

/// Returns the part of the sum of `metric` that [`write()`] writes, if it writes the metric: calls
/// have a caller, objects and other numbers a row.
pub fn written_total(profile: &Profile, metric: &Metric) -> u64 {
    let MetricRows { rows, .. } = metric.rows(profile);
    let sum = |is_written: &dyn Fn(&Key) -> bool| {
        let written = rows.iter().filter(|(key, _)| is_written(key)).map(|row| row.1);
        written.fold(0, u64::saturating_add)
    };
    match metric {
        Metric::Calls if metric.is_by_pair(profile) => {
            let pairs = profile.call_edges().flat_map(|edges| edges.rows);
            let pairs = pairs.filter(|edge| edge.caller.is_some() && edge.callee.is_some());
            pairs.map(|edge| edge.count).fold(0, u64::saturating_add)
        }
        Metric::Calls => sum(&|key| profile.frames(key.trace).nth(1).is_some()),
        _ if OF_METHODS.contains(&metric.name()) => {
            sum(&|key| profile.frames(key.trace).next().is_some())
        }
        _ => sum(&|_| true),
    }
}

struct JamaicaWriter<'a> {
    profile: &'a Profile,
    out: BufWriter<&'a mut dyn Write>,
    line_count: usize,
}

impl<'a> JamaicaWriter<'a> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.line_count += 1;
        writeln!(self.out, "{line}")
    }

    /// Returns the numbers of a metric, by trace.
    fn rows(&self, name: &str) -> Vec<(TraceId, u64)> {
        let Some(metric) = Metric::find(self.profile, name) else { return Vec::new() };
        metric.rows(self.profile).by_trace()
    }

    /// Returns the numbers of a metric by what `key` makes of the rows' methods, in the order in
    /// which they first appear.
    fn sums<K>(&self, name: &str, key: impl Fn(&'a Symbols, FrameId) -> K) -> Vec<(K, u64)>
    where
        K: Clone + Eq + std::hash::Hash,
    {
        let mut sums: Vec<(K, u64)> = Vec::new();
        let mut places = KeyedMap::default();
        for (trace, count) in self.rows(name) {
            let Some(frame) = self.profile.frames(trace).next() else { continue };
            let key = key(&self.profile.symbols, frame);
            let place = *places.entry(key.clone()).or_insert_with(|| {
                sums.push((key, 0));
                sums.len() - 1
            });
            sums[place].1 = sums[place].1.saturating_add(count);
        }
        sums
    }

    /// Writes `KEYWORD: 8158752 (11%)  java/nio/ByteBufferImpl.put(B)V`. Percentages are cut, not
    /// rounded.
    fn shares(&mut self, keyword: &str, name: &str) -> io::Result<()> {
        let rows = self.sums(name, method);
        let total = rows.iter().map(|row| u128::from(row.1)).sum::<u128>().max(1);
        for (method, count) in rows {
            let share = format!("{count} ({}%)", u128::from(count) * 100 / total);
            self.line(format_args!("{keyword}: {share:<14} {method}"))?;
        }
        Ok(())
    }

    /// Writes the bytecodes of the methods whose lines are known, by line.
    fn lines(&mut self) -> io::Result<()> {
        let symbols = &self.profile.symbols;
        let of_line = |name| -> KeyedMap<_, _> {
            self.sums(name, line).into_iter().filter_map(|(line, sum)| Some((line?, sum))).collect()
        };
        let bytecodes = of_line(metric::BYTECODES);
        let executions = of_line(metric::LINE_EXECUTIONS);
        let run = of_line(metric::LINE_INSTRUCTIONS_RUN);
        let mut methods: Vec<(String, &str, BTreeMap<u32, LineNumbers>)> = Vec::new();
        let mut places = KeyedMap::default();
        for (key, instructions) in self.sums(metric::LINE_INSTRUCTIONS, line) {
            let Some(key) = key else { continue };
            let of = |numbers: &KeyedMap<_, u64>| numbers.get(&key).copied().unwrap_or(0);
            let (bytecodes, executions, run) = (of(&bytecodes), of(&executions), of(&run));
            let (method, line) = key;
            let numbers = LineNumbers { line, bytecodes, executions, run, instructions };
            let place = *places.entry(method).or_insert_with(|| {
                let method = symbols.get_method(method);
                let source = method.source.map_or("-", |id| symbols.strings.get(id));
                methods.push((name(symbols, &method), source, BTreeMap::new()));
                methods.len() - 1
            });
            methods[place].2.insert(line, numbers);
        }
        for (method, source, lines) in methods {
            let sum = lines.values().map(|it| it.bytecodes).fold(0, u64::saturating_add);
            let source = word(source);
            let mut text = format!("PROFILE_LINES: {sum} {method} {source}");
            for LineNumbers { line, bytecodes, executions, run, instructions } in lines.values() {
                text += &format!(" {line}:{bytecodes}:{executions}:{run}/{instructions}");
            }
            self.line(format_args!("{text}"))?;
        }
        Ok(())
    }

    fn cycles(&mut self) -> io::Result<()> {
        let mode = |symbols: &Symbols, frame| match symbols.get_frame(frame).line {
            Line::Compiled => "(compiled)",
            _ => "(interpreted)",
        };
        let rows = self.sums(metric::CYCLES, |it, frame| method(it, frame) + mode(it, frame));
        for (method, count) in rows {
            self.line(format_args!("PROFILE_CYCLES: {count:<11} {method}"))?;
        }
        Ok(())
    }

    fn arrays(&mut self) -> io::Result<()> {
        let key = |symbols: &Symbols, frame| (method(symbols, frame), bci(symbols, frame));
        for ((method, bci), count) in self.sums(metric::ARRAY_ALLOCATIONS, key) {
            self.line(format_args!("PROFILE_NEWARRAY: {count} @ {bci} {method}"))?;
        }
        Ok(())
    }

    fn reflection(&mut self) -> io::Result<()> {
        for (class, _) in self.sums(metric::REFLECTION, class) {
            self.line(format_args!("PROFILE_CLASS_USED_VIA_REFLECTION: {class}"))?;
        }
        Ok(())
    }

    fn heap(&mut self) -> io::Result<()> {
        let by_root = |name| self.rows(name).first().map(|row| row.1);
        if let Some((references, words)) =
            by_root(metric::HEAP_REFERENCES).zip(by_root(metric::HEAP_WORDS))
        {
            let share = percent(references, words);
            self.line(format_args!("HEAP_REFS: {references} of {words} words ({share}%)"))?;
        }
        let blocks_of: KeyedMap<String, u64> =
            self.sums(metric::BLOCKS, class).into_iter().collect();
        // The number of blocks of an object. If it is not given, as many as the object's size
        // needs.
        let blocks = |class: &str, bytes: u64, count: u64| match blocks_of.get(class) {
            Some(&blocks) => blocks,
            None => bytes.checked_div(count).unwrap_or(0).div_ceil(BLOCK_BYTES),
        };
        let classes = self.objects();
        let live_bytes = classes.values().map(|it| it.live_bytes).fold(0, u64::saturating_add);
        for (class, objects) in classes.iter().filter(|row| row.1.live_count > 0) {
            let (count, bytes) = (objects.live_count, objects.live_bytes);
            let blocks = blocks(class, bytes, count);
            // JamaicaVM's objects consist of whole blocks, of a size that it is configured for.
            let all = count.saturating_mul(blocks);
            let of_block = match blocks_of.contains_key(class) {
                true => bytes.checked_div(all).unwrap_or(BLOCK_BYTES),
                false => BLOCK_BYTES,
            };
            let sign = if all.saturating_mul(of_block) == bytes { " =" } else { ":" };
            let share = percent(bytes, live_bytes);
            self.line(format_args!(
                "HEAP_USE: {count} objects * {blocks} blocks * {of_block} bytes{sign} {bytes} bytes \
                 ({share}%) trees: 0 (0%) {class}"
            ))?;
        }
        let loaders = self.sums(metric::LOADERS, |symbols, frame| {
            let method = symbols.get_method(symbols.get_frame(frame).method);
            (class(symbols, frame), symbols.strings.get(method.name))
        });
        let loaders: KeyedMap<String, &str> = loaders.into_iter().map(|row| row.0).collect();
        for (class, objects) in classes.iter().filter(|row| row.1.allocated_count > 0) {
            let (count, bytes) = (objects.allocated_count, objects.allocated_bytes);
            let blocks = blocks(class, bytes, count);
            let loader = loaders.get(class).copied().unwrap_or("unknown");
            self.line(format_args!(
                "INSTANTIATION_COUNT: {count} * {blocks} = {} blocks {bytes} bytes trees: 0 (0%) \
                 {loader} {class}",
                count.saturating_mul(blocks)
            ))?;
        }
        Ok(())
    }

    /// Returns the objects of each class, regardless of where they were allocated.
    fn objects(&self) -> BTreeMap<String, Allocations> {
        let mut classes: BTreeMap<String, Allocations> = BTreeMap::new();
        for row in self.profile.sites().iter().flat_map(|sites| &sites.rows) {
            let class = lines::to_class_name(self.profile.symbols.class_name(row.class));
            classes.entry(class).or_default().add(row.objects);
        }
        classes
    }

    /// Writes the calls by caller, position and callee, regardless of the caller's own callers.
    fn invocations(&mut self) -> io::Result<()> {
        let symbols = &self.profile.symbols;
        let mut counts: KeyedMap<(String, i32, String), u64> = KeyedMap::default();
        for row in self.profile.call_times().flat_map(|times| times.rows) {
            let mut frames = self.profile.frames(row.trace);
            let Some((callee, caller)) = frames.next().zip(frames.next()) else { continue };
            let key = (method(symbols, caller), bci(symbols, caller), method(symbols, callee));
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(row.count);
        }
        // Beside call paths, pairs count the same calls again.
        let is_by_pair = Metric::Calls.is_by_pair(self.profile);
        let edges = self.profile.call_edges().filter(|_| is_by_pair);
        for edge in edges.flat_map(|edges| edges.rows) {
            let Some((caller, callee)) = edge.caller.zip(edge.callee) else { continue };
            let name = |id| name(symbols, &symbols.get_method(id));
            let count = counts.entry((name(caller), 0, name(callee))).or_default();
            *count = count.saturating_add(edge.count);
        }
        let mut rows: Vec<_> = counts.into_iter().filter(|row| row.1 > 0).collect();
        rows.sort_unstable();
        for ((caller, bci, callee), count) in rows {
            self.line(format_args!("PROFILE_INVOKE: {count} @ {bci} {caller} -> {callee}"))?;
        }
        Ok(())
    }

    fn threads(&mut self) -> io::Result<()> {
        let by_trace = |name| -> KeyedMap<_, _> { self.rows(name).into_iter().collect() };
        let priorities = by_trace(metric::THREAD_PRIORITY);
        let cycles = by_trace(metric::THREAD_CYCLES);
        let shares = metric::THREAD_SHARES.map(by_trace);
        let stacks = [metric::C_STACK, metric::JAVA_STACK].map(by_trace);
        let mut traces: Vec<_> = priorities.keys().chain(cycles.keys()).copied().collect();
        traces.sort_unstable();
        traces.dedup();
        for trace in traces {
            let of = |numbers: &KeyedMap<TraceId, u64>| numbers.get(&trace).copied().unwrap_or(0);
            let [int, comp, jni, gc] = shares.each_ref().map(of);
            let [c_stack, java_stack] = stacks.each_ref().map(of);
            let thread = self.profile.get_trace(trace).thread;
            let name = thread.map_or("", |thread| self.profile.thread_name(thread));
            self.line(format_args!(
                "PROFILE_THREAD: {} {} int {int}% comp {comp}% jni {jni}% gc {gc}% C {c_stack} Java \
                 {java_stack} ({name})",
                of(&priorities),
                of(&cycles),
            ))?;
        }
        for (_, count) in self.rows(metric::THREADS) {
            self.line(format_args!("PROFILE_THREADS: {count}"))?;
        }
        Ok(())
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

fn name(symbols: &Symbols, method: &Method) -> String {
    let class = lines::to_class_name(symbols.class_name(method.class));
    let name = symbols.strings.get(method.name);
    let descriptor = method.signature.map_or("", |id| symbols.strings.get(id));
    let name = if class.is_empty() { name.to_owned() } else { format!("{class}.{name}") };
    word(&(name + descriptor))
}

/// Returns a name without blanks, as words end there.
fn word(name: &str) -> String {
    name.replace(char::is_whitespace, "_")
}

fn line(symbols: &Symbols, frame: FrameId) -> Option<(MethodId, u32)> {
    let frame = symbols.get_frame(frame);
    match frame.line {
        Line::Number(line) => Some((frame.method, line)),
        _ => None,
    }
}

fn bci(symbols: &Symbols, frame: FrameId) -> i32 {
    symbols.get_frame(frame).bci.unwrap_or(0)
}
