//! The output of `monitor=y`: WAIT and WAITED, MONITOR DUMP, MONITOR TIME.

use perk_profile::{
    ClassId, Event, LockKind, Monitor, MonitorDump, MonitorRow, MonitorTimes, Status, ThreadState,
    WaitEvent, WaitKind, Waits, names,
};

use super::contents::{Contents, narrow};
use super::section::SectionReader;
use super::shares::{RowHead, date, self_ns};
use crate::ascii::{JAVA_MONITOR, PARKING, RAW_MONITOR, UNKNOWN_THREAD};
use crate::lines::{cut, number, source_form, text, word};
use crate::units::from_ms;

impl Contents {
    /// Reads a line of a thread that waits. Returns false if `line` is not one.
    pub(super) fn wait(&mut self, line: &[u8]) -> Result<bool, String> {
        let kinds: [(&[u8], WaitKind, &str); 4] = [
            (b"WAIT: MONITOR ", WaitKind::Wait, ", timeout="),
            (b"WAITED: MONITOR ", WaitKind::Waited, ", time_waited="),
            (b"SLEEP: timeout=", WaitKind::Sleep, ""),
            (b"EXIT: MONITOR ", WaitKind::Exit, ""),
        ];
        let kind = kinds.iter().find(|(begin, ..)| line.starts_with(begin));
        let Some(&(begin, kind, time)) = kind else { return Ok(false) };
        let rest = text(&line[begin.len()..]);
        let event = (|| {
            let (rest, thread) = rest.rsplit_once(", ")?;
            let thread = match thread {
                UNKNOWN_THREAD => None,
                thread => Some(thread.strip_prefix("thread ")?.parse().ok()?),
            };
            let (class, time_ms) = match kind {
                WaitKind::Wait | WaitKind::Waited => {
                    let (class, time_ms) = rest.rsplit_once(time)?;
                    (Some(class), time_ms)
                }
                WaitKind::Sleep => (None, rest),
                WaitKind::Exit => (Some(rest), "0"),
            };
            Some((class, time_ms.parse().ok()?, thread))
        })();
        let Some((class, time_ms, thread)) = event else {
            let what = "expected a line such as \"WAIT: MONITOR LMain;, timeout=0, thread 1\"";
            return Err(format!("{what}, found \"{}\"", cut(line)));
        };
        let class = class.map(|signature| self.class_of(signature));
        self.profile.events.push(Event::Wait(WaitEvent { kind, class, time_ms, thread }));
        Ok(true)
    }

    /// Returns the class of that signature. The agents before JDK 5 have its internal name.
    fn class_of(&mut self, signature: &str) -> ClassId {
        let name = names::from_signature(signature);
        self.profile.symbols.class(&source_form(&name))
    }
}

/// MONITOR DUMP.
#[derive(Default)]
pub(super) struct MonitorDumpSection {
    dump: MonitorDump,
    /// Whether the monitor before this line is the JVM's own, or is skipped.
    is_raw: bool,
}

impl SectionReader for MonitorDumpSection {
    fn title(&self) -> &'static str {
        "MONITOR DUMP"
    }

    fn columns(&self) -> &'static str {
        "THREAD id, trace, status\" or \"MONITOR class"
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        let line = text(line);
        let dump = &mut self.dump;
        if let Some(rest) = line.strip_prefix("    THREAD ") {
            let Some(thread) = thread_state(rest, dump.threads.len(), contents)? else {
                return Ok(false);
            };
            dump.threads.push(thread);
        } else if let Some(rest) = line.strip_prefix("    MONITOR ") {
            self.is_raw = false;
            dump.monitors.push(monitor(rest, LockKind::Monitor, contents));
        } else if let Some(rest) = line.strip_prefix("    LOCK ") {
            self.is_raw = false;
            dump.monitors.push(monitor(rest, LockKind::Parking, contents));
        } else if line.starts_with("    RAW MONITOR ") {
            self.is_raw = true;
            contents.notes.raw_monitors += 1;
        } else {
            let Some(rest) = line.strip_prefix('\t') else {
                // The lines below a monitor that is damaged are not those of the one before.
                self.is_raw = true;
                return Ok(false);
            };
            let monitor = dump.monitors.last_mut().filter(|_| !self.is_raw);
            let is_taken = monitor.and_then(|monitor| of_monitor(monitor, rest)).is_some();
            return Ok(is_taken || self.is_raw);
        }
        Ok(true)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        contents.profile.events.push(Event::MonitorDump(self.dump));
    }
}

/// Parses `%d, trace %d, status: %s`. Returns `None` for any other text.
fn thread_state(
    rest: &str,
    row: usize,
    contents: &mut Contents,
) -> Result<Option<ThreadState>, String> {
    let parts = (|| {
        let (serial, rest) = rest.split_once(", trace ")?;
        let (trace, status) = rest.split_once(", status: ")?;
        let mut flags: Vec<_> = status.split('|').collect();
        let code = flags.pop()?;
        let status = Status::ALL.into_iter().find(|status| status.code() == code)?;
        flags.iter().all(|flag| ["S", "intr", "native"].contains(flag)).then_some(())?;
        Some((serial.parse::<u32>().ok()?, number(trace.as_bytes())?, status, flags))
    })();
    let Some((serial, trace, status, flags)) = parts else { return Ok(None) };
    let has = |flag| flags.contains(&flag);
    Ok(Some(ThreadState {
        serial,
        trace: contents.trace(trace, row, b"")?,
        status,
        is_suspended: has("S"),
        is_interrupted: has("intr"),
        is_in_native: has("native"),
    }))
}

/// Parses `%s` or `%s unowned`.
fn monitor(rest: &str, kind: LockKind, contents: &mut Contents) -> Monitor {
    let signature = rest.strip_suffix(" unowned").unwrap_or(rest);
    let (blocked, waiting) = (Vec::new(), Vec::new());
    let class = contents.class_of(signature);
    Monitor { class, identity: None, kind, owner: None, entry_count: 0, blocked, waiting }
}

/// MONITOR TIME.
pub(super) struct MonitorTimeSection {
    times: MonitorTimes,
    sum_ns: u64,
}

impl MonitorTimeSection {
    /// Begins a section. `rest` follows the total.
    pub(super) fn new(total_ms: u64, rest: &[u8]) -> Self {
        let written = rest.strip_prefix(b" ms").and_then(date);
        let times = MonitorTimes { total_ns: from_ms(total_ms), rows: Vec::new(), written };
        Self { times, sum_ns: 0 }
    }
}

impl SectionReader for MonitorTimeSection {
    fn title(&self) -> &'static str {
        "MONITOR TIME"
    }

    fn columns(&self) -> &'static str {
        "rank self accum count trace monitor (Java)"
    }

    /// Takes a row: `rank self% accum% count trace class (Java)`.
    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        if line.trim_ascii_start().starts_with(b"rank ") {
            return Ok(true);
        }
        let rest = &mut &line[..];
        let Some(head) = RowHead::of(rest) else { return Ok(false) };
        let (count, serial) = (word(rest).and_then(number), word(rest).and_then(number));
        let class = text(rest);
        let class = match (class.strip_suffix(JAVA_MONITOR), class.strip_suffix(PARKING)) {
            (Some(class), _) => Some((class, LockKind::Monitor)),
            (_, Some(class)) => Some((class, LockKind::Parking)),
            _ => None,
        };
        let is_raw = rest.ends_with(RAW_MONITOR.as_bytes());
        let total_ns = self.times.total_ns;
        let blocked_ns = if total_ns == 0 {
            0
        } else {
            let Some((own, sum)) = head.hundredths() else { return Ok(false) };
            self_ns(total_ns, own, sum, self.sum_ns)
        };
        let (Some(blocked_count), Some(serial)) = (count, serial) else { return Ok(false) };
        if is_raw {
            contents.notes.raw_monitors += 1;
        } else {
            let Some((class, kind)) = class else { return Ok(false) };
            let trace = contents.trace(narrow(serial)?.into(), self.times.rows.len(), b"")?;
            let class = contents.profile.symbols.class(&source_form(class));
            let waits = Waits { blocked_count, blocked_ns, ..Waits::default() };
            self.times.rows.push(MonitorRow { trace, class, kind, waits });
        }
        self.sum_ns = self.sum_ns.saturating_add(blocked_ns);
        Ok(true)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        contents.profile.events.push(Event::from(self.times));
    }
}

/// Takes a line below a monitor. Returns `None` if it is not such a line.
fn of_monitor(monitor: &mut Monitor, line: &str) -> Option<()> {
    if let Some(rest) = line.strip_prefix("owner: thread ") {
        let (owner, count) = rest.split_once(", entry count: ")?;
        monitor.owner = Some(owner.parse().ok()?);
        monitor.entry_count = count.parse().ok()?;
    } else if let Some(rest) = line.strip_prefix("waiting to enter:") {
        monitor.blocked = list(rest)?;
    } else {
        monitor.waiting = list(line.strip_prefix("waiting to be notified:")?)?;
    }
    Some(())
}

/// Parses ` thread 200003, thread 200004`, or an empty text.
fn list(threads: &str) -> Option<Vec<u32>> {
    let threads = threads.trim();
    if threads.is_empty() {
        return Some(Vec::new());
    }
    threads.split(',').map(|it| it.trim().strip_prefix("thread ")?.parse().ok()).collect()
}
