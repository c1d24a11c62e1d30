//! The text format: header, threads, traces, SITES, CPU SAMPLES and CPU TIME. Heap dumps and monitors
//! are in `dump.rs`.

use std::fmt::Display;
use std::str::FromStr;

use super::{
    Cost, Costs, Frame, HprofFormat, Recording, Result, Section, Site, Sites, Thread, Trace,
    ensure, table,
};

/// The length at which the original cuts lines off.
const CUT_BYTES: usize = 1023;
const COSTS_TITLE: &str = "rank   self  accum   count trace method";
/// The least serial number of perk's marks. They are traces below the system trace, to which no row
/// refers.
const LEAST_MARK: u32 = 299_000;
const SITES_TITLES: [&str; 2] = [
    "          percent          live          alloc'ed  stack class",
    " rank   self  accum     bytes objs     bytes  objs trace name",
];

/// The lines that are not read yet.
pub(super) struct Lines<'a> {
    all: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn next(&mut self) -> Result<&'a str> {
        let line = self.all.get(self.next).ok_or("the file ends in a section")?;
        self.next += 1;
        Ok(line)
    }

    /// Returns the next line if `is_wanted` accepts it.
    pub(super) fn next_if(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let line = *self.all.get(self.next)?;
        is_wanted(line).then(|| self.next += 1)?;
        Some(line)
    }

    /// Returns the next line without `start`, if it begins with `start`.
    pub(super) fn next_after(&mut self, start: &str) -> Option<&'a str> {
        let rest = self.all.get(self.next)?.strip_prefix(start)?;
        self.next += 1;
        Some(rest)
    }

    fn is_at_end(&self) -> bool {
        self.next == self.all.len()
    }
}

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Recording> {
    let text = String::from_utf8_lossy(bytes);
    let body = text.strip_suffix('\n').ok_or("the last line has no end")?;
    ensure(!body.contains('\r'), || "a carriage return".to_owned())?;
    let mut lines = Lines { all: body.split('\n').flat_map(whole_lines).collect(), next: 0 };
    let has_cut_lines = lines.all.len() > body.split('\n').count();
    let mut recording =
        Recording { format: HprofFormat::Text, has_cut_lines, ..Recording::default() };
    let has_header = text.starts_with("JAVA PROFILE ");
    let header = if has_header { recording.header(&mut lines) } else { Ok(()) };
    let read = header.and_then(|()| {
        while !lines.is_at_end() {
            recording.record(&mut lines)?;
        }
        Ok(())
    });
    read.map_err(|what| format!("line {}: {what}", lines.next))?;
    // With cpu=old the original does not write a header.
    let has_calls = recording.sections.iter().any(|it| matches!(it, Section::Calls(_)));
    ensure(has_header || has_calls, || "no header".to_owned())?;
    Ok(recording)
}

/// Splits a line into the original lines: the original cuts lines off, including their ends.
fn whole_lines(mut line: &str) -> Vec<&str> {
    const BEGINS: [&str; 4] = ["THREAD START (", "THREAD END (id = ", "TRACE ", "\t"];
    let mut lines = Vec::new();
    while let Some((first, rest)) = line.split_at_checked(CUT_BYTES)
        && BEGINS.iter().any(|begin| rest.starts_with(begin))
    {
        lines.push(first);
        line = rest;
    }
    lines.push(line);
    lines
}

impl Recording {
    fn header(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        let line = lines.next()?;
        let (version, created) = line
            .strip_prefix("JAVA PROFILE ")
            .and_then(|rest| rest.split_once(", created "))
            .ok_or_else(|| format!("no header: {line:?}"))?;
        ensure(version == "1.0.1", || format!("text of version {version}"))?;
        date(created)?;
        self.version = version.to_owned();
        ensure(lines.next()?.is_empty(), || "no empty line behind the header".to_owned())?;
        let mut prelude = Vec::new();
        loop {
            match lines.next()? {
                "--------" => break,
                line => prelude.push(line),
            }
        }
        ensure(prelude.len() > 1 && prelude.last() == Some(&""), || {
            "no prose, or no empty line before the dashes".to_owned()
        })?;
        ensure(lines.next()?.is_empty(), || "no empty line behind the dashes".to_owned())?;
        self.prelude = prelude.join("\n");
        Ok(())
    }

    fn record(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        if let Some(line) = lines.next_if(|line| line.starts_with("THREAD START (")) {
            self.thread_start(line)
        } else if let Some(rest) = lines.next_after("THREAD END (id = ") {
            let serial = number(rest.strip_suffix(')').ok_or("no closing parenthesis")?)?;
            self.end_thread(serial)
        } else if let Some(rest) = lines.next_after("TRACE ") {
            self.trace(rest, lines)
        } else if let Some(rest) = lines.next_after("CPU SAMPLES BEGIN (total = ") {
            let costs = self.costs(rest, lines, "CPU SAMPLES END")?;
            self.add_section(Section::CpuSamples(costs));
            Ok(())
        } else if let Some(rest) = lines.next_after("CPU TIME (ms) BEGIN (total = ") {
            let costs = self.costs(rest, lines, "CPU TIME (ms) END")?;
            self.add_section(Section::CallTimes(costs));
            Ok(())
        } else if let Some(rest) = lines.next_after("SITES BEGIN (ordered by ") {
            self.site_rows(rest, lines)
        } else if lines.next_if(|line| line == table::TITLE.trim_end()).is_some() {
            self.table(lines)
        } else {
            self.heap_or_monitor_record(lines)
        }
    }

    fn thread_start(&mut self, line: &str) -> Result<()> {
        let (object, rest) = line
            .strip_prefix("THREAD START (obj=")
            .and_then(|rest| rest.split_once(", id = "))
            .ok_or("a thread without obj and id")?;
        let (serial, rest) = rest.split_once(", name=\"").ok_or("a thread without name")?;
        // Any text may be in a name; a group's name is less likely to contain the separator.
        let (name, group) = match rest.strip_suffix("\")") {
            Some(rest) => rest.rsplit_once("\", group=\"").ok_or("a thread without group")?,
            None => {
                self.has_cut_lines = line.len() == CUT_BYTES;
                ensure(self.has_cut_lines, || "a thread's line without end".to_owned())?;
                rest.split_once("\", group=\"").unwrap_or((rest, ""))
            }
        };
        let (name, group) = (name.to_owned(), group.to_owned());
        let thread = Thread { object: hex(object)?, name, group, parent: String::new() };
        self.add_thread(number(serial)?, thread)
    }

    fn trace(&mut self, rest: &str, lines: &mut Lines<'_>) -> Result<()> {
        let (serial, rest) = rest.split_once(':').ok_or("a trace without colon")?;
        let serial: u32 = number(serial)?;
        let thread = match rest.strip_prefix(" (thread=") {
            None => {
                ensure(rest.is_empty(), || format!("behind the colon: {rest:?}")).map(|()| None)
            }
            Some(rest) => number(rest.strip_suffix(')').ok_or("no parenthesis")?).map(Some),
        }?;
        let mut frames = Vec::new();
        let mut is_empty = false;
        while let Some(line) = lines.next_after("\t") {
            ensure(!is_empty, || "a frame of an empty trace".to_owned())?;
            is_empty = line == "<empty>" && frames.is_empty();
            if !is_empty {
                frames.push(frame(line)?);
            }
        }
        ensure(is_empty == frames.is_empty(), || format!("trace {serial} has no line"))?;
        ensure(serial >= LEAST_MARK, || format!("trace {serial}"))?;
        self.add_trace(serial, Trace { thread, frames })
    }

    /// Reads rows of the form `%4u %5.2f%% %5.2f%% %7u %5u %s`, up to `end`.
    fn costs(&self, rest: &str, lines: &mut Lines<'_>, end: &str) -> Result<Costs> {
        let (total, written) = rest.split_once(") ").ok_or("no date")?;
        date(written)?;
        let mut costs = Costs { total: number(total)?, rows: Vec::new() };
        if lines.next_after(end).is_some_and(str::is_empty) {
            return Ok(costs);
        }
        ensure(lines.next()? == COSTS_TITLE, || "rows without their title".to_owned())?;
        let mut sum = Sum::default();
        loop {
            let line = lines.next()?;
            if line == end {
                break;
            }
            let rank = costs.rows.len() + 1;
            let (row, [own, accumulated, count, trace], method) = columns(line)?;
            let (count, trace) = (number(count)?, number(trace)?);
            let again = format!("{rank:4} {own:>6} {accumulated:>6} {count:7} {trace:5} {method}");
            ensure(line == again && row == rank, || format!("row {line:?}, expected {again:?}"))?;
            let top = self.frames(trace).first().map_or("<empty trace>", |frame| &frame.method);
            ensure(top == method, || format!("trace {trace} is {top}, not {method}"))?;
            let percent = sum.add(own, accumulated)?;
            let accumulated = Some(self::percent(accumulated)?);
            costs.rows.push(Cost { percent, accumulated, count, trace });
        }
        ensure(!costs.rows.is_empty(), || "a title without rows".to_owned())?;
        self.check_costs(&costs, end)?;
        Ok(costs)
    }

    /// Reads rows of the form `%5u %5.2f%% %5.2f%% %9u %4u %9u %5u %5u %s`.
    fn site_rows(&mut self, rest: &str, lines: &mut Lines<'_>) -> Result<()> {
        let (order, written) = rest.split_once(" bytes) ").ok_or("no order and date")?;
        date(written)?;
        let by_allocated = order == "allocated";
        ensure(by_allocated || order == "live", || format!("ordered by {order}"))?;
        for title in SITES_TITLES {
            ensure(lines.next()? == title, || format!("no title {title:?}"))?;
        }
        let mut sites = Sites { by_allocated, ..Sites::default() };
        let mut sum = Sum::default();
        loop {
            let line = lines.next()?;
            if line == "SITES END" {
                break;
            }
            let rank = sites.rows.len() + 1;
            let (row, [own, accumulated, live, objects, bytes, count, trace], class) =
                columns(line)?;
            let again = format!(
                "{rank:5} {own:>6} {accumulated:>6} {live:>9} {objects:>4} {bytes:>9} {count:>5} \
                 {trace:>5} {class}"
            );
            ensure(line == again && row == rank, || format!("row {line:?}, expected {again:?}"))?;
            sum.add(own, accumulated)?;
            let numbers = [number(live)?, number(objects)?, number(bytes)?, number(count)?];
            let trace = number(trace)?;
            sites.rows.push(Site { numbers, trace, class: class.to_owned() });
        }
        self.add_sites(sites)
    }

    /// Adds a section after checking that its rows are in order and have traces.
    pub(super) fn add_sites(&mut self, sites: Sites) -> Result<()> {
        let key = if sites.by_allocated { 2 } else { 0 };
        let in_order = sites.rows.is_sorted_by(|a, b| a.numbers[key] >= b.numbers[key]);
        ensure(in_order, || "sites out of order".to_owned())?;
        for row in &sites.rows {
            self.check_trace(row.trace)?;
            let [live_bytes, live, bytes, count] = row.numbers;
            ensure(live_bytes <= bytes && live <= count, || {
                format!("more live than made: {row:?}")
            })?;
        }
        self.add_section(Section::Sites(sites));
        Ok(())
    }
}

/// The running sum of a column of shares.
#[derive(Default)]
pub(super) struct Sum {
    percent: f64,
    rows: usize,
}

impl Sum {
    /// Adds a row's share, and compares the sum with the accumulated share of the row.
    pub(super) fn add(&mut self, own: &str, accumulated: &str) -> Result<f64> {
        let own = percent(own)?;
        self.percent += own;
        self.rows += 1;
        let slack = 0.0051 * (self.rows + 1) as f64;
        let stated = percent(accumulated)?;
        ensure((stated - self.percent).abs() <= slack, || {
            format!("shares add up to {}, not {stated}", self.percent)
        })?;
        Ok(own)
    }
}

/// Parses `%.2f%%`.
fn percent(text: &str) -> Result<f64> {
    let bad = || format!("no share: {text:?}");
    let digits = text.strip_suffix('%').ok_or_else(bad)?;
    let value: f64 = digits.parse().map_err(|_| bad())?;
    ensure(format!("{value:.2}") == digits && (0.0..=100.0).contains(&value), bad)?;
    Ok(value)
}

/// Splits a row into its rank, its next `N` columns, and the rest of the line.
pub(super) fn columns<const N: usize>(line: &str) -> Result<(usize, [&str; N], &str)> {
    let mut rest = line;
    let mut next = || {
        let (column, after) =
            rest.trim_start_matches(' ').split_once(' ').ok_or_else(|| format!("row {line:?}"))?;
        rest = after;
        Ok::<&str, String>(column)
    };
    let rank = next()?;
    let mut columns = [""; N];
    for column in &mut columns {
        *column = next()?;
    }
    Ok((number(rank)?, columns, rest))
}

/// Parses `class.method(source:line)`.
fn frame(text: &str) -> Result<Frame> {
    let bad = || format!("no frame: {text:?}");
    let inner = text.strip_suffix(')').ok_or_else(bad)?;
    let (inner, line) = inner.rsplit_once(':').ok_or_else(bad)?;
    let (method, source) = inner.rsplit_once('(').ok_or_else(bad)?;
    ensure(method.contains('.') && !source.is_empty(), bad)?;
    let is_native = line == "Native method";
    let line = if is_native || line == "Unknown line" { None } else { Some(number(line)?) };
    let (method, source) = (method.to_owned(), source.to_owned());
    Ok(Frame { method, signature: None, source, line, is_native })
}

/// Checks a date in the format of C's ctime: `Www Mmm dd hh:mm:ss yyyy`.
pub(super) fn date(text: &str) -> Result<()> {
    const DAYS: &str = "MonTueWedThuFriSatSun";
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let bad = || format!("no date: {text:?}");
    let is_of =
        |names: &str, name: &str| names.as_bytes().chunks(3).any(|it| it == name.as_bytes());
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    ensure(text.is_ascii() && text.len() == 24, bad)?;
    ensure(is_of(DAYS, &text[..3]) && is_of(MONTHS, &text[4..7]), bad)?;
    ensure([" 00 00:00:00 0000", "  0 00:00:00 0000"].contains(&&shape[7..]), bad)?;
    let part = |from: usize, to: usize| text[from..to].trim_start().parse().unwrap_or(u32::MAX);
    let in_range = (1..=31).contains(&part(8, 10))
        && part(11, 13) < 24
        && part(14, 16) < 60
        && part(17, 19) < 61
        && (2020..2200).contains(&part(20, 24));
    ensure(in_range, bad)
}

/// Parses a decimal number in the form of `printf`.
pub(super) fn number<T: FromStr + Display>(text: &str) -> Result<T> {
    let value: T = text.parse().map_err(|_| format!("no number: {text:?}"))?;
    ensure(value.to_string() == text, || format!("an odd number: {text:?}"))?;
    Ok(value)
}

/// Parses a hexadecimal number in the form of `printf`.
pub(super) fn hex(text: &str) -> Result<u64> {
    let value = u64::from_str_radix(text, 16).map_err(|_| format!("no id: {text:?}"))?;
    ensure(format!("{value:x}") == text, || format!("an odd id: {text:?}"))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "JAVA PROFILE 1.0.1, created Sun Nov 22 05:34:20 2026\n\nprose\n\n--------\n\n";

    /// The original cuts lines at 1023 bytes, and the next record is then on the same line. perk
    /// does not do this.
    #[test]
    fn names_of_threads_may_be_very_long() {
        let name = "x".repeat(5000);
        let start = format!("THREAD START (obj=50000001, id = 200002, name=\"{name}");
        let next = "THREAD START (obj=50000002, id = 200003, name=\"y\", group=\"main\")\n";
        let cut = read(format!("{HEADER}{}{next}", &start[..CUT_BYTES]).as_bytes()).unwrap();
        assert!(name.starts_with(&cut.threads[&200_002].name));
        assert_eq!(cut.threads[&200_003].name, "y");
        assert!(cut.has_cut_lines && cut.check_plain().is_err());
        let whole = format!("{HEADER}{start}\", group=\"main\")\n{next}");
        let whole = read(whole.as_bytes()).unwrap();
        assert_eq!((&whole.threads[&200_002].name, whole.threads.len()), (&name, 2));
        assert!(!whole.has_cut_lines);
        whole.check_plain().unwrap();
        assert!(read(format!("{HEADER}{}\n{next}", &start[..900]).as_bytes()).is_err());
    }

    #[test]
    fn only_texts_with_a_table_of_calls_have_no_header() {
        let table = "THREAD END (id = 200003)\ncount callee caller time\n1 A.b()V A.c()V 0\n";
        let recording = read(table.as_bytes()).unwrap();
        assert!(matches!(&recording.sections[..], [Section::Calls(calls)] if calls.len() == 1));
        assert_eq!(read(b"THREAD END (id = 200003)\n").unwrap_err(), "no header");
    }
}
