//! Reads HPROF ASCII.

use perk_profile::{
    Accounting, CpuSamples, Event, Frame, FrameId, Line, Method, Profile, Thread, ThreadId,
    Timestamp, Trace, TraceId, mutf8,
};
use rustc_hash::FxHashMap;

use super::{ACCOUNTING, PROSE_END};
use crate::Error;

/// Reads a file. Sections other than CPU SAMPLES are passed over with a note.
///
/// # Errors
/// [`Error::Ascii`] with the line that cannot be understood, or the last one if the file is cut.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let mut reader = Reader {
        lines: Lines { rest: bytes, line: 0 },
        profile: Profile::default(),
        threads: FxHashMap::default(),
        open_trace: None,
    };
    reader.header()?;
    while let Some(line) = reader.lines.next()? {
        reader.record(line)?;
    }
    match reader.open_trace {
        Some(serial) => {
            let what =
                format!("the file ends after TRACE {serial}, expected the rows that refer to it");
            Err(reader.lines.error(what))
        }
        None => Ok(reader.profile),
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    profile: Profile,
    threads: FxHashMap<u32, ThreadId>,
    /// The trace before this record: traces are written right before the section that needs them.
    open_trace: Option<u32>,
}

impl<'a> Reader<'a> {
    fn header(&mut self) -> Result<(), Error> {
        let first = self.lines.expect("the header")?;
        self.profile.created =
            text(first).split_once(", created ").and_then(|(_, date)| Timestamp::from_ctime(date));
        let mut accounting = String::new();
        loop {
            let line = self.lines.expect("the line of dashes that ends the header")?;
            if line == PROSE_END.as_bytes() {
                break;
            }
            if let Some(line) = line.strip_prefix(ACCOUNTING.as_bytes()) {
                accounting += &text(line);
                accounting.push('\n');
            }
        }
        if !accounting.is_empty() {
            self.profile.accounting = Some(Accounting::from_text(&accounting));
        }
        Ok(())
    }

    fn record(&mut self, line: &'a [u8]) -> Result<(), Error> {
        if line.is_empty() {
            Ok(())
        } else if let Some(rest) = line.strip_prefix(b"THREAD START (") {
            self.thread_start(rest)
        } else if let Some(rest) = line.strip_prefix(b"THREAD END (id = ") {
            let (serial, rest) = self.number(rest, "a thread's serial number")?;
            self.end_of(rest, b")")?;
            self.profile.events.push(Event::ThreadEnd(self.narrow(serial)?));
            Ok(())
        } else if let Some(rest) = line.strip_prefix(b"TRACE ") {
            self.trace(rest)
        } else if let Some(rest) = line.strip_prefix(b"CPU SAMPLES BEGIN (total = ") {
            self.cpu_samples(rest)
        } else if let Some(section) = section(line) {
            self.pass_over(section)
        } else {
            let what = format!(
                "expected a record (THREAD START, THREAD END, TRACE, … BEGIN), found \"{}\"",
                cut(line)
            );
            Err(self.lines.error(what))
        }
    }

    /// `obj=%x, id = %d, name="%s", group="%s")`; the names may hold quotes.
    fn thread_start(&mut self, rest: &[u8]) -> Result<(), Error> {
        let expected = "expected THREAD START (obj=…, id = …, name=\"…\", group=\"…\")";
        let bad = |reader: &Self| reader.lines.error(expected.to_owned());
        let line = text(rest);
        let rest = line.strip_prefix("obj=").ok_or_else(|| bad(self))?;
        let (object, rest) = rest.split_once(", id = ").ok_or_else(|| bad(self))?;
        let (serial, rest) = rest.split_once(", name=\"").ok_or_else(|| bad(self))?;
        let rest = rest.strip_suffix("\")").ok_or_else(|| bad(self))?;
        let (name, group) = rest.rsplit_once("\", group=\"").ok_or_else(|| bad(self))?;
        let object_id = u64::from_str_radix(object, 16).map_err(|_| bad(self))?;
        let serial = serial.parse().map_err(|_| bad(self))?;
        let strings = &mut self.profile.symbols.strings;
        let name = strings.intern(name);
        let group = (!group.is_empty()).then(|| strings.intern(group));
        let thread = Thread { serial, object_id, name, group, parent_group: None };
        let id = self.profile.push_thread(thread);
        self.threads.insert(serial, id);
        self.profile.events.push(Event::ThreadStart(id));
        Ok(())
    }

    fn trace(&mut self, rest: &[u8]) -> Result<(), Error> {
        let (serial, rest) = self.number(rest, "a trace's serial number")?;
        let serial = self.narrow(serial)?;
        self.open_trace = Some(serial);
        let rest = rest.strip_prefix(b":").ok_or_else(|| self.expected(": after TRACE n"))?;
        let thread = match rest.strip_prefix(b" (thread=") {
            Some(rest) => {
                let (thread, _) = self.number(rest, "a thread's serial number")?;
                Some(self.thread(thread)?)
            }
            None => None,
        };
        let mut frames = Vec::new();
        while let Some(line) = self.lines.peek_indented() {
            self.lines.next()?;
            if line != b"<empty>" {
                frames.push(self.frame(line)?);
            }
        }
        let node = self.profile.tree.insert(frames.into_iter().rev()).node;
        let system = self.profile.get_trace(self.profile.system_trace());
        let trace = Trace { serial, node, thread };
        if trace != system {
            self.profile.push_trace(trace);
        }
        Ok(())
    }

    /// `class.method(source:line)`. Sources and methods may hold parentheses and colons, so it is
    /// taken apart from its end.
    fn frame(&mut self, line: &[u8]) -> Result<FrameId, Error> {
        let bad = |reader: &Self| {
            let what = format!("expected class.method(source:line), found \"{}\"", cut(line));
            reader.lines.error(what)
        };
        let frame = text(line);
        let inner = frame.strip_suffix(')').ok_or_else(|| bad(self))?;
        let (inner, number) = inner.rsplit_once(':').ok_or_else(|| bad(self))?;
        let (method, source) = inner.rsplit_once('(').ok_or_else(|| bad(self))?;
        let (class, method) = method.rsplit_once('.').unwrap_or(("", method));
        let line = match number {
            "Unknown line" => Line::Unknown,
            "Compiled method" => Line::Compiled,
            "Native method" => Line::Native,
            number => Line::Number(number.parse().map_err(|_| bad(self))?),
        };
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(class);
        let name = symbols.strings.intern(method);
        let source = (source != "<Unknown Source>").then(|| symbols.strings.intern(source));
        let method = symbols.method(Method { class, name, signature: None, source });
        Ok(symbols.frame(Frame { method, bci: None, line }))
    }

    fn cpu_samples(&mut self, rest: &[u8]) -> Result<(), Error> {
        self.open_trace = None;
        let (total, rest) = self.number(rest, "the total of the samples")?;
        let written = rest.strip_prefix(b") ").and_then(|date| Timestamp::from_ctime(&text(date)));
        let mut samples = CpuSamples { total, rows: Vec::new(), written };
        loop {
            let line = self.lines.expect("CPU SAMPLES END")?;
            if line == b"CPU SAMPLES END" {
                break;
            }
            if !line.starts_with(b"rank ") {
                samples.rows.push(self.row(line)?);
            }
        }
        self.profile.events.push(Event::CpuSamples(samples));
        Ok(())
    }

    /// `rank self% accum% count trace method`
    fn row(&self, line: &[u8]) -> Result<(TraceId, u64), Error> {
        let mut columns = line.split(|&byte| byte == b' ').filter(|column| !column.is_empty());
        let mut column = |index| columns.nth(index).and_then(number);
        let (Some(count), Some(serial)) = (column(3), column(0)) else {
            let what = format!(
                "expected a row \"rank self accum count trace method\" or CPU SAMPLES END, found \"{}\"",
                cut(line)
            );
            return Err(self.lines.error(what));
        };
        let trace = u32::try_from(serial).ok().and_then(|n| self.profile.trace_by_serial(n));
        match trace {
            Some(trace) => Ok((trace, count)),
            None => Err(self.lines.error(format!("no TRACE {serial} stands before this row"))),
        }
    }

    /// Passes over a section up to its END line.
    fn pass_over(&mut self, section: &[u8]) -> Result<(), Error> {
        self.open_trace = None;
        let (name, first) = (text(section).into_owned(), self.lines.line);
        let end = [section, b" END"].concat();
        while self.lines.expect(&format!("{name} END"))? != end {}
        let count = self.lines.line - first + 1;
        let note = format!("line {first}: {name} ({count} lines) was passed over");
        self.profile.notes.push(note);
        Ok(())
    }

    fn thread(&mut self, serial: u64) -> Result<ThreadId, Error> {
        let serial = self.narrow(serial)?;
        Ok(*self.threads.entry(serial).or_insert_with(|| {
            // Threads older than the agent's start have no THREAD START line.
            let name = self.profile.symbols.strings.intern(&format!("thread {serial}"));
            let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
            self.profile.push_thread(thread)
        }))
    }

    fn number<'t>(&self, bytes: &'t [u8], what: &str) -> Result<(u64, &'t [u8]), Error> {
        let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match number(&bytes[..length]) {
            Some(value) => Ok((value, &bytes[length..])),
            None => Err(self.expected(what)),
        }
    }

    fn narrow(&self, serial: u64) -> Result<u32, Error> {
        u32::try_from(serial).map_err(|_| self.expected("a serial number below 2^32"))
    }

    fn end_of(&self, found: &[u8], expected: &[u8]) -> Result<(), Error> {
        if found == expected { Ok(()) } else { Err(self.expected(&text(expected))) }
    }

    fn expected(&self, what: &str) -> Error {
        self.lines.error(format!("expected {what}"))
    }
}

/// The name of a section that begins with this line.
fn section(line: &[u8]) -> Option<&[u8]> {
    const SECTIONS: [&[u8]; 6] = [
        b"HEAP DUMP",
        b"SITES",
        b"CPU TIME (ms)",
        b"MONITOR TIME",
        b"MONITOR DUMP",
        b"CPU SAMPLES",
    ];
    SECTIONS
        .into_iter()
        .find(|section| line.strip_prefix(*section).is_some_and(|rest| rest.starts_with(b" BEGIN")))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    mutf8::decode(bytes)
}

/// A line's beginning, for a message.
fn cut(line: &[u8]) -> String {
    let text = text(line);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

struct Lines<'a> {
    rest: &'a [u8],
    /// The number of the line given out last, from 1.
    line: usize,
}

impl<'a> Lines<'a> {
    /// The next line without its end; `None` at the file's end. A last line without a line end
    /// means that the file was cut.
    fn next(&mut self) -> Result<Option<&'a [u8]>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') else {
            let what = format!("the file is cut off in \"{}\"", cut(self.rest));
            return Err(self.error(what));
        };
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The next line, which must be there.
    fn expect(&mut self, what: &str) -> Result<&'a [u8], Error> {
        let line = self.next()?;
        line.ok_or_else(|| self.error(format!("the file ends here, expected {what}")))
    }

    /// The next line without its tab, if it begins with one and is whole.
    fn peek_indented(&self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\n')?;
        let line = &self.rest[..end];
        line.strip_suffix(b"\r").unwrap_or(line).strip_prefix(b"\t")
    }

    fn error(&self, what: String) -> Error {
        Error::Ascii { line: self.line, what }
    }
}
