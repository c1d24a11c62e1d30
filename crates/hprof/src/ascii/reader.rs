//! Reads HPROF ASCII.

mod monitors;
mod sections;

use perk_profile::{
    Accounting, Event, Frame, FrameId, Line, Method, Profile, Thread, ThreadId, Timestamp, Trace,
};
use rustc_hash::FxHashMap;

use super::{ACCOUNTING, ESTIMATE, ESTIMATE_SERIAL, INTERIM, INTERIM_SERIAL, PROSE_END};
use crate::Error;
use crate::lines::{Lines, cut, number, text};

/// Reads a file. Sections other than CPU SAMPLES, CPU TIME and SITES are passed over with a note.
///
/// # Errors
/// [`Error::Ascii`] with the line that cannot be understood, or the last one if the file is cut.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let mut reader = Reader {
        lines: Lines::new(bytes),
        profile: Profile::default(),
        threads: FxHashMap::default(),
        open_trace: None,
        sample_interval_bytes: None,
        is_interim: false,
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
    /// What the trace that announces estimates said; the next SITES are meant.
    sample_interval_bytes: Option<u64>,
    /// The next CPU SAMPLES will be counted again.
    is_interim: bool,
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
        } else if self.wait(line)? || self.section(line)? {
            Ok(())
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
        if serial == ESTIMATE_SERIAL
            && let Some(interval_bytes) = self.lines.peek_indented().and_then(estimate)
        {
            self.lines.next()?;
            self.sample_interval_bytes = Some(interval_bytes);
            return Ok(());
        }
        if serial <= INTERIM_SERIAL && self.lines.peek_indented() == Some(INTERIM.as_bytes()) {
            self.lines.next()?;
            self.is_interim = true;
            return Ok(());
        }
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

/// The bytes that the frame of the trace before estimated SITES tells.
fn estimate(frame: &[u8]) -> Option<u64> {
    number(frame.strip_prefix(ESTIMATE.0.as_bytes())?.strip_suffix(ESTIMATE.1.as_bytes())?)
}
