//! A strict checker of HPROF ASCII with header, threads, traces and CPU samples: layout, columns,
//! arithmetic and order of records. It is proved on the original agent's files first.

use std::collections::{BTreeMap, BTreeSet};

/// A file that passed.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Threads that started, by serial number.
    pub(crate) threads: BTreeMap<u32, Thread>,
    /// Serial numbers of threads that ended, in order.
    pub(crate) ended: Vec<u32>,
    pub(crate) traces: BTreeMap<u32, Trace>,
    pub(crate) sections: Vec<Section>,
    /// Where each record stands, by line.
    lines: BTreeMap<Place, usize>,
    /// Traces written since the last section, in order.
    fresh: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Start(u32),
    Trace(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) object: u64,
    pub(crate) name: String,
    pub(crate) group: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) thread: Option<u32>,
    pub(crate) frames: Vec<Frame>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// `class.method`
    pub(crate) method: String,
    pub(crate) source: String,
    /// A number, or words.
    pub(crate) line: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub(crate) total: u64,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) count: u64,
    pub(crate) trace: u32,
    pub(crate) method: String,
}

impl Trace {
    /// What a row shows of it.
    pub(crate) fn top(&self) -> &str {
        self.frames.first().map_or("<empty trace>", |frame| &frame.method)
    }

    pub(crate) fn has(&self, method: &str) -> bool {
        self.frames.iter().any(|frame| frame.method == method)
    }
}

impl Text {
    /// All samples, those of rows cut off among them.
    pub(crate) fn total(&self) -> u64 {
        self.sections.iter().map(|section| section.total).sum()
    }

    /// Samples by trace, over all sections.
    pub(crate) fn counts(&self) -> BTreeMap<u32, u64> {
        let mut counts = BTreeMap::new();
        for row in self.sections.iter().flat_map(|section| &section.rows) {
            *counts.entry(row.trace).or_default() += row.count;
        }
        counts
    }

    /// The serial number of the only thread of that name.
    #[track_caller]
    pub(crate) fn thread(&self, name: &str) -> u32 {
        let found: Vec<u32> = self
            .threads
            .iter()
            .filter(|(_, thread)| thread.name == name)
            .map(|(serial, _)| *serial)
            .collect();
        assert_eq!(found.len(), 1, "threads named {name:?}: {found:?} in {:?}", self.threads);
        found[0]
    }
}

type Result<T> = std::result::Result<T, String>;

fn ensure(condition: bool, what: impl FnOnce() -> String) -> Result<()> {
    if condition { Ok(()) } else { Err(what()) }
}

/// Checks a file by what is true of the original's and of perk's.
pub(crate) fn check(bytes: &[u8]) -> Result<Text> {
    let decoded = String::from_utf8_lossy(bytes);
    ensure(decoded.ends_with('\n'), || "the last line has no end".to_owned())?;
    ensure(!decoded.contains('\r'), || "a carriage return".to_owned())?;
    let lines: Vec<&str> = decoded[..decoded.len() - 1].split('\n').collect();
    let mut text = Text::default();
    let body = header(&lines)?;
    let mut at = body;
    while at < lines.len() {
        at = text.record(&lines, at).map_err(|what| format!("line {}: {what}", at + 1))?;
    }
    ensure(text.fresh.is_empty(), || format!("traces that nothing uses: {:?}", text.fresh))?;
    Ok(text)
}

/// Checks a file of perk's: it tells of each thread before it is named again, does not number what
/// it does not write, and never shows its own threads or the compiler's.
pub(crate) fn check_as_perk(bytes: &[u8]) -> Result<Text> {
    let text = check(bytes)?;
    let mut ended = BTreeSet::new();
    for serial in &text.ended {
        ensure(text.threads.contains_key(serial), || format!("thread {serial} ends unknown"))?;
        ensure(ended.insert(serial), || format!("thread {serial} ends twice"))?;
    }
    let mut objects = BTreeSet::new();
    for (serial, thread) in &text.threads {
        ensure(objects.insert(thread.object), || format!("two threads are obj={}", thread.object))?;
        ensure(*serial > 200_000, || format!("thread {serial}"))?;
        let hidden = ["perk", "CompilerThread", "HPROF"];
        ensure(!hidden.iter().any(|name| thread.name.contains(name)), || {
            format!("the thread {:?} is no business of the reader's", thread.name)
        })?;
    }
    ensure(text.threads.get(&200_001).is_some_and(|thread| thread.name == "main"), || {
        "thread 200001 is not main".to_owned()
    })?;
    for (serial, trace) in &text.traces {
        let Some(thread) = trace.thread else { continue };
        let start = text.lines.get(&Place::Start(thread));
        ensure(start.is_some_and(|&line| line < text.lines[&Place::Trace(*serial)]), || {
            format!("trace {serial} names thread {thread} before its START")
        })?;
    }
    Ok(text)
}

/// Checks the header; answers the index of the first line behind it.
fn header(lines: &[&str]) -> Result<usize> {
    let date = lines[0].strip_prefix("JAVA PROFILE 1.0.1, created ");
    date_of(date.ok_or("line 1: no header")?).map_err(|what| format!("line 1: {what}"))?;
    ensure(lines.get(1) == Some(&""), || "line 2 is not empty".to_owned())?;
    let dashes = lines.iter().position(|line| *line == "--------").ok_or("no line of dashes")?;
    ensure(dashes > 3 && lines[dashes - 1].is_empty(), || "no empty line before dashes".into())?;
    ensure(lines.get(dashes + 1) == Some(&""), || "no empty line behind the dashes".to_owned())?;
    Ok(dashes + 2)
}

/// `Www Mmm dd hh:mm:ss yyyy`
fn date_of(text: &str) -> Result<()> {
    const DAYS: &str = "MonTueWedThuFriSatSun";
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let shape = || format!("no date of 24 characters: {text:?}");
    let part = |from: usize, to: usize| text.get(from..to).ok_or_else(shape);
    let names = |all: &str, name: &str| all.as_bytes().chunks(3).any(|it| it == name.as_bytes());
    let number = |from: usize, to: usize| -> Result<u32> {
        part(from, to)?.trim_start().parse().map_err(|_| shape())
    };
    let separators = [(3, " "), (7, " "), (10, " "), (13, ":"), (16, ":"), (19, " ")];
    let separated = separators.iter().all(|(at, mark)| text.get(*at..at + 1) == Some(mark));
    let named = names(DAYS, part(0, 3)?) && names(MONTHS, part(4, 7)?);
    let in_range = (1..=31).contains(&number(8, 10)?)
        && number(11, 13)? < 24
        && number(14, 16)? < 60
        && number(17, 19)? < 61
        && (2020..2200).contains(&number(20, 24)?);
    ensure(text.len() == 24 && separated && named && in_range, shape)
}

impl Text {
    /// Checks the record at line `at`; answers where the next one begins.
    fn record(&mut self, lines: &[&str], at: usize) -> Result<usize> {
        let line = lines[at];
        if let Some(rest) = line.strip_prefix("THREAD START (") {
            self.thread_start(rest, at)?;
            Ok(at + 1)
        } else if let Some(rest) = line.strip_prefix("THREAD END (id = ") {
            let serial = rest.strip_suffix(')').ok_or("no closing parenthesis")?;
            self.ended.push(decimal(serial)?);
            Ok(at + 1)
        } else if let Some(rest) = line.strip_prefix("TRACE ") {
            self.trace(rest, lines, at)
        } else if let Some(rest) = line.strip_prefix("CPU SAMPLES BEGIN (total = ") {
            self.section(rest, lines, at)
        } else {
            Err(format!("no record begins with {:?}", line.get(..40).unwrap_or(line)))
        }
    }

    fn thread_start(&mut self, rest: &str, at: usize) -> Result<()> {
        let (object, rest) = rest.split_once(", id = ").ok_or("no id")?;
        let object = object.strip_prefix("obj=").ok_or("no obj")?;
        let object_id = u64::from_str_radix(object, 16).map_err(|e| e.to_string())?;
        ensure(format!("{object_id:x}") == object, || format!("obj={object}"))?;
        let (serial, rest) = rest.split_once(", name=\"").ok_or("no name")?;
        let rest = rest.strip_suffix("\")").ok_or("no end")?;
        // A name may hold this text too; a group's name is less likely to.
        let (name, group) = rest.rsplit_once("\", group=\"").ok_or("no group")?;
        let serial = decimal(serial)?;
        ensure(self.lines.insert(Place::Start(serial), at).is_none(), || {
            format!("thread {serial} starts twice")
        })?;
        let (name, group) = (name.to_owned(), group.to_owned());
        self.threads.insert(serial, Thread { object: object_id, name, group });
        Ok(())
    }

    fn trace(&mut self, rest: &str, lines: &[&str], at: usize) -> Result<usize> {
        let (serial, rest) = rest.split_once(':').ok_or("no colon")?;
        let serial = decimal(serial)?;
        ensure(serial >= 300_000, || format!("trace {serial}"))?;
        let thread = match rest.strip_prefix(" (thread=").map(|rest| rest.strip_suffix(')')) {
            None if rest.is_empty() => None,
            Some(Some(thread)) => Some(decimal(thread)?),
            _ => return Err(format!("behind the colon: {rest:?}")),
        };
        let mut frames = Vec::new();
        let mut next = at + 1;
        while let Some(line) = lines.get(next).and_then(|line| line.strip_prefix('\t')) {
            frames.push(line);
            next += 1;
        }
        let frames = match frames[..] {
            [] => return Err("a trace without lines".to_owned()),
            ["<empty>"] => Vec::new(),
            _ => frames.into_iter().map(frame).collect::<Result<_>>()?,
        };
        self.traces.insert(serial, Trace { thread, frames });
        self.fresh.push(serial);
        ensure(self.lines.insert(Place::Trace(serial), at).is_none(), || {
            format!("trace {serial} is written twice")
        })?;
        Ok(next)
    }

    fn section(&mut self, rest: &str, lines: &[&str], at: usize) -> Result<usize> {
        let (total, date) = rest.split_once(") ").ok_or("no date")?;
        date_of(date)?;
        let mut section = Section { total: decimal(total)?, rows: Vec::new() };
        let mut next = at + 1;
        let titled = lines.get(next) == Some(&"rank   self  accum   count trace method");
        next += usize::from(titled);
        let mut sum = 0;
        loop {
            let line = lines.get(next).ok_or("no CPU SAMPLES END")?;
            next += 1;
            if *line == "CPU SAMPLES END" {
                break;
            }
            let row = row(line)?;
            sum += row.count;
            let number = section.rows.len() + 1;
            self.check_row(line, &row, number, sum, section.total)?;
            if let Some(before) = section.rows.last() {
                ensure(before.count >= row.count, || format!("row {number} is out of order"))?;
            }
            section.rows.push(row);
        }
        ensure(titled != section.rows.is_empty(), || {
            "a title and no rows, or rows and no title".into()
        })?;
        ensure(sum <= section.total, || format!("{sum} samples in rows of {}", section.total))?;
        // New traces are written in the order of the rows, and none that no row names.
        let named = section.rows.iter().map(|row| row.trace);
        let fresh: Vec<u32> = named.filter(|trace| self.fresh.contains(trace)).collect();
        ensure(fresh == self.fresh, || format!("traces {:?}, rows name {fresh:?}", self.fresh))?;
        self.fresh.clear();
        self.sections.push(section);
        Ok(next)
    }

    /// `%4u %5.2f%% %5.2f%% %7u %5u %s`, with the right numbers in it.
    fn check_row(&self, line: &str, row: &Row, rank: usize, sum: u64, total: u64) -> Result<()> {
        let trace = self.traces.get(&row.trace).ok_or_else(|| format!("no TRACE {}", row.trace))?;
        ensure(trace.top() == row.method, || format!("trace {} is {}", row.trace, trace.top()))?;
        let share = |count: u64| count as f64 * 100.0 / total as f64;
        let expected = format!(
            "{rank:4} {:5.2}% {:5.2}% {:7} {:5} {}",
            share(row.count),
            share(sum),
            row.count,
            row.trace,
            row.method
        );
        ensure(line == expected, || format!("row {line:?}, expected {expected:?}"))
    }
}

/// `class.method(source:line)`
fn frame(line: &str) -> Result<Frame> {
    let bad = || format!("no frame: {:?}", line.get(..80).unwrap_or(line));
    let inner = line.strip_suffix(')').ok_or_else(bad)?;
    let (inner, number) = inner.rsplit_once(':').ok_or_else(bad)?;
    let (method, source) = inner.rsplit_once('(').ok_or_else(bad)?;
    let words = ["Unknown line", "Native method", "Compiled method"];
    if !words.contains(&number) {
        decimal::<u32>(number).map_err(|_| bad())?;
    }
    ensure(!source.is_empty() && method.contains('.'), bad)?;
    Ok(Frame { method: method.to_owned(), source: source.to_owned(), line: number.to_owned() })
}

fn row(line: &str) -> Result<Row> {
    let mut rest = line;
    let mut columns = Vec::new();
    for _ in 0..5 {
        let (column, after) = rest.trim_start_matches(' ').split_once(' ').ok_or("five columns")?;
        columns.push(column);
        rest = after;
    }
    let (count, trace) = (decimal(columns[3])?, decimal(columns[4])?);
    ensure(count > 0, || "a row without samples".to_owned())?;
    Ok(Row { count, trace, method: rest.to_owned() })
}

/// A number without sign or leading zeroes.
fn decimal<T: std::str::FromStr + ToString>(text: &str) -> Result<T> {
    let number: T = text.parse().map_err(|_| format!("no number: {text:?}"))?;
    ensure(number.to_string() == text, || format!("an odd number: {text:?}"))?;
    Ok(number)
}
