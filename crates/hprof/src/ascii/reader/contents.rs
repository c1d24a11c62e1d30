//! The contents of a text as far as it has been read.

use std::mem;

use perk_profile::{
    ClassId, Event, Frame, FrameId, KeyedMap, Line, Method, NodeId, Profile, ThreadId, Trace,
    TraceId,
};

use super::by_text::TextIds;
use crate::ascii::{ESTIMATE, ESTIMATE_SERIAL, INTERIM, INTERIM_SERIAL};
use crate::lines::{counter, cut, number, source_form, text};

#[derive(Default)]
pub(super) struct Contents {
    pub(super) profile: Profile,
    /// The number of the line that is being read.
    pub(super) line: usize,
    pub(super) notes: Notes,
    pub(super) threads: KeyedMap<u32, ThreadId>,
    /// The trace whose frames are being read: serial number, thread, and frames from the innermost
    /// out.
    open_serial: u32,
    open_thread: Option<ThreadId>,
    open_frames: Vec<FrameId>,
    /// The frames of the trace before it, from the outermost in, with their nodes. Most traces
    /// begin like the one before.
    path: Vec<(FrameId, NodeId)>,
    /// The last trace, until a section begins. Traces are written right before the section that
    /// needs them.
    pub(super) trace_left_open: Option<u32>,
    /// The interval that the trace announcing estimates gave. It holds for the next SITES.
    pub(super) sample_interval_bytes: Option<u64>,
    /// Whether the next CPU SAMPLES will be counted again.
    pub(super) is_interim: bool,
    /// Frames and classes by their text. Most lines are not new.
    frames: TextIds<FrameId>,
    classes: TextIds<ClassId>,
    /// Rows whose traces are not known yet. In excerpts the traces follow.
    open_rows: Vec<OpenRow>,
}

/// A row that refers to a trace that no line has given.
struct OpenRow {
    /// The index of the event, and of its row.
    event: usize,
    row: usize,
    serial: u32,
    /// The method on top, if the row names it.
    top: Option<FrameId>,
}

impl Contents {
    /// Opens a trace from the text after `TRACE `: `n:` or `n: (thread=n)`.
    pub(super) fn open_trace(&mut self, rest: &[u8]) -> Result<(), String> {
        let length = rest.iter().position(|&byte| byte == b':').unwrap_or(rest.len());
        let serial = number(&rest[..length]).ok_or("expected a trace's serial number")?;
        let thread = match rest[length..].strip_prefix(b": (thread=") {
            Some(rest) => {
                let length = rest.iter().position(|&byte| byte == b')').unwrap_or(rest.len());
                let serial = number(&rest[..length]).ok_or("expected a thread's serial number")?;
                Some(self.thread(narrow(serial)?))
            }
            None => None,
        };
        self.open_serial = narrow(serial)?;
        self.open_thread = thread;
        self.open_frames.clear();
        Ok(())
    }

    /// Takes a line of the open trace. Returns false if `line` begins something else.
    pub(super) fn frame_line(&mut self, line: &[u8]) -> Result<bool, String> {
        let frame = match line {
            [b'\t', frame @ ..] => frame,
            // Excerpts lose the tab.
            [b' ' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'<', ..]
                if (line.ends_with(b")") || line.trim_ascii() == b"<empty>")
                    && !crate::ascii::begins_record(line) =>
            {
                line.trim_ascii()
            }
            _ => return Ok(line.trim_ascii().is_empty()),
        };
        if let Some(id) = self.frames.get(frame) {
            self.open_frames.push(id);
            return Ok(true);
        }
        if self.open_serial <= ESTIMATE_SERIAL && self.is_announcement(frame) {
            return Ok(true);
        }
        if frame != b"<empty>" {
            let id = self.new_frame(frame)?;
            self.frames.insert(frame, id);
            self.open_frames.push(id);
        }
        Ok(true)
    }

    /// Takes a frame that announces a property of the section to come, and forgets its trace.
    fn is_announcement(&mut self, frame: &[u8]) -> bool {
        let interval_bytes = || {
            let frame = frame.strip_prefix(ESTIMATE.0.as_bytes())?;
            number(frame.strip_suffix(ESTIMATE.1.as_bytes())?)
        };
        if self.open_serial == ESTIMATE_SERIAL
            && let Some(interval_bytes) = interval_bytes()
        {
            self.sample_interval_bytes = Some(interval_bytes);
        } else if self.open_serial <= INTERIM_SERIAL && frame == INTERIM.as_bytes() {
            self.is_interim = true;
        } else {
            return false;
        }
        // The system trace is already known.
        self.open_serial = self.profile.get_trace(self.profile.system_trace()).serial;
        true
    }

    /// Closes the open trace, all of whose frames have been read.
    pub(super) fn close_trace(&mut self) {
        let tree = &mut self.profile.tree;
        let mut node = tree.root();
        for (depth, &frame) in self.open_frames.iter().rev().enumerate() {
            node = match self.path.get(depth) {
                Some(&(same, node)) if same == frame => node,
                _ => {
                    self.path.truncate(depth);
                    let node = tree.insert_below(node, [frame]);
                    self.path.push((frame, node));
                    node
                }
            };
        }
        self.path.truncate(self.open_frames.len());
        let trace = Trace { serial: self.open_serial, node, thread: self.open_thread };
        self.trace_left_open = Some(trace.serial);
        if trace != self.profile.get_trace(self.profile.system_trace()) {
            self.profile.push_trace(trace);
        }
    }

    /// Parses `class.method(source:line)`, or the same with only one of the two in the parentheses.
    /// Sources and methods may hold parentheses and colons, so the text is parsed from its end.
    fn new_frame(&mut self, line: &[u8]) -> Result<FrameId, String> {
        let frame = text(line);
        let parts = (|| {
            let inner = frame.strip_suffix(')')?;
            if let Some((inner, place)) = inner.rsplit_once(':')
                && let Some(line) = line_of(place)
            {
                let (method, source) = inner.rsplit_once('(')?;
                return Some((method, source, line));
            }
            let (method, place) = inner.rsplit_once('(').filter(|(_, it)| !it.contains(':'))?;
            let unknown = "<Unknown Source>";
            Some(match place {
                "Native Method" => (method, unknown, Line::Native),
                "Compiled Code" => (method, unknown, Line::Compiled),
                "Unknown Source" => (method, unknown, Line::Unknown),
                source => (method, source, Line::Unknown),
            })
        })();
        let (method, source, line) = parts.ok_or_else(|| {
            format!("expected class.method(source:line), found \"{}\"", cut(line))
        })?;
        let known = !source.eq_ignore_ascii_case("<Unknown Source>");
        let source = known.then(|| self.profile.symbols.strings.intern(source));
        let (class, method) = method.rsplit_once('.').unwrap_or(("", method));
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(&source_form(class));
        let name = symbols.strings.intern(method);
        let method = symbols.method(Method { class, name, signature: None, source });
        Ok(symbols.frame(Frame::new(method, line)))
    }

    /// Returns the class of that name, as files of any age write it.
    pub(super) fn class(&mut self, name: &[u8]) -> ClassId {
        if let Some(id) = self.classes.get(name) {
            return id;
        }
        let id = self.profile.symbols.class(&source_form(&text(name)));
        self.classes.insert(name, id);
        id
    }

    /// Returns the trace that the next row of the section refers to. An unknown trace is the system
    /// trace until it comes. `top` is the method on top, if the row names it.
    pub(super) fn trace(&mut self, serial: u64, row: usize, top: &[u8]) -> Result<TraceId, String> {
        let serial = narrow(serial)?;
        if let Some(trace) = self.profile.trace_by_serial(serial) {
            return Ok(trace);
        }
        let top = top.trim_ascii();
        let top = match top {
            b"" | b"<empty trace>" => None,
            _ => {
                let (class, method) = match top.iter().rposition(|&byte| byte == b'.') {
                    Some(dot) => (&top[..dot], &top[dot + 1..]),
                    None => (&b""[..], top),
                };
                let class = self.class(class);
                let symbols = &mut self.profile.symbols;
                let name = symbols.strings.intern(&text(method));
                let method = symbols.method(Method { class, name, signature: None, source: None });
                Some(symbols.frame(Frame::new(method, Line::Unknown)))
            }
        };
        self.open_rows.push(OpenRow { event: self.profile.events.len(), row, serial, top });
        Ok(self.profile.system_trace())
    }

    /// Whether there are rows that refer to traces that are not known yet.
    pub(super) fn has_open_rows(&self) -> bool {
        !self.open_rows.is_empty()
    }

    /// Gives the open rows the traces that have been read since. Missing traces become traces of
    /// the method on top.
    pub(super) fn resolve_rows(&mut self) {
        for OpenRow { event, row, serial, top } in mem::take(&mut self.open_rows) {
            let profile = &mut self.profile;
            let trace = profile.trace_by_serial(serial).unwrap_or_else(|| {
                self.notes.missing_traces += 1;
                let node = profile.tree.insert(top);
                profile.push_trace(Trace { serial, node, thread: None })
            });
            match profile.events.get_mut(event) {
                Some(Event::Section(section)) => section.set_trace(row, trace),
                Some(Event::MonitorDump(dump)) => dump.threads[row].trace = trace,
                _ => {}
            }
        }
    }

    /// Returns a counter and the text that follows it. An overflow of the counter is noted.
    pub(super) fn counter<'t>(
        &mut self,
        digits: &'t [u8],
        what: &str,
    ) -> Result<(u64, &'t [u8]), String> {
        let (value, has_wrapped, rest) =
            counter(digits).ok_or_else(|| format!("expected {what}"))?;
        self.notes.wrapped += usize::from(has_wrapped);
        Ok((value, rest))
    }
}

/// Converts a serial number.
pub(super) fn narrow(serial: u64) -> Result<u32, String> {
    u32::try_from(serial).map_err(|_| "expected a serial number below 2^32".to_owned())
}

/// Returns the line that follows a frame's colon.
fn line_of(place: &str) -> Option<Line> {
    Some(match place {
        "Unknown line" => Line::Unknown,
        "Compiled method" => Line::Compiled,
        "Native method" => Line::Native,
        number => Line::Number(number.parse().ok()?),
    })
}

/// The lines and numbers that were skipped or mended, or that are missing.
#[derive(Default)]
pub(super) struct Notes {
    /// The first line that is not a record, with its number and beginning, and the number of such
    /// lines.
    unknown: Option<(usize, String)>,
    unknown_count: usize,
    /// Lines of dots.
    pub(super) elided: usize,
    /// The number of lines that the original cut off, and of those among them that are useless.
    pub(super) lost_ends: usize,
    pub(super) lost_lines: usize,
    /// The number of counters that have overflowed.
    pub(super) wrapped: usize,
    /// The number of traces that rows refer to and that are missing.
    pub(super) missing_traces: usize,
    /// The first section without an end, with its title and the line in which the next record
    /// begins, and the number of such sections.
    open_section: Option<(&'static str, usize)>,
    open_sections: usize,
    /// The number of monitors of the JVM itself.
    pub(super) raw_monitors: usize,
    /// The number of SITES sections whose shares fit no total.
    pub(super) odd_sites: usize,
}

impl Notes {
    pub(super) fn unknown(&mut self, line: &[u8], number: usize) {
        self.unknown.get_or_insert_with(|| (number, cut(line)));
        self.unknown_count += 1;
    }

    /// Returns the first line that is not a record.
    pub(super) fn first_unknown(&self) -> Option<(usize, &str)> {
        self.unknown.as_ref().map(|(line, found)| (*line, found.as_str()))
    }

    pub(super) fn open_section(&mut self, title: &'static str, line: usize) {
        self.open_section.get_or_insert((title, line));
        self.open_sections += 1;
    }

    /// Adds a line to `notes` for each kind that occurred.
    pub(super) fn report(&self, notes: &mut Vec<String>) {
        if let Some((line, found)) = &self.unknown {
            let count = count(
                self.unknown_count,
                "line that is not a record",
                "lines that are not records",
            );
            notes.push(format!("{count} skipped, the first is line {line}: \"{found}\""));
        }
        if let Some((title, line)) = self.open_section {
            let count = count(self.open_sections, "section has", "sections have");
            notes.push(format!("{count} no end, the first is {title} before line {line}"));
        }
        let mut note = |number: usize, one: &str, several: &str, what: &str| {
            if number > 0 {
                notes.push(format!("{} {what}", count(number, one, several)));
            }
        };
        note(self.elided, "line of dots", "lines of dots", "where rows were left out");
        let cut = "cut off by the agent, which makes lines in 1,023 bytes: the rest is lost";
        note(self.lost_ends, "line was", "lines were", cut);
        note(self.lost_lines, "such line", "such lines", "skipped: too little of it is left");
        let wrapped = "negative, and taken as having grown over 2^31";
        note(self.wrapped, "counter is", "counters are", wrapped);
        let top =
            "not in the file: only the method on top of a trace is known, where a row names it";
        note(
            self.missing_traces,
            "trace that a row refers to is",
            "traces that rows refer to are",
            top,
        );
        note(self.raw_monitors, "monitor", "monitors", "of the JVM itself skipped");
        let odd =
            "shares that fit no total: a counter has grown over 2^31, or numbers were changed";
        note(self.odd_sites, "SITES has", "SITES have", odd);
    }
}

/// Formats a count: `1 line`, `2 lines`.
fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
