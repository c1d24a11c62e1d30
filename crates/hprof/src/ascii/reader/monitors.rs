//! What `monitor=y` gives: WAIT and WAITED, MONITOR DUMP, MONITOR TIME.

use perk_profile::{
    ClassId, Event, LockKind, Monitor, MonitorDump, MonitorRow, MonitorTimes, Status, ThreadState,
    WaitEvent, WaitKind, Waits, names,
};

use super::Reader;
use super::sections::{date, self_ns};
use crate::Error;
use crate::ascii::{JAVA_MONITOR, PARKING, UNKNOWN_THREAD};
use crate::lines::{cut, hundredths, number, text, word};
use crate::units::from_ms;

const DUMP_END: &str = "MONITOR DUMP END";
const TIME_END: &str = "MONITOR TIME END";

impl<'a> Reader<'a> {
    /// Reads a line of a thread that waits, if `line` is one; false if not.
    pub(super) fn wait(&mut self, line: &[u8]) -> Result<bool, Error> {
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
            return Err(self.lines.error(format!("{what}, found \"{}\"", cut(line))));
        };
        let class = class.map(|signature| self.class_of(signature));
        self.profile.events.push(Event::Wait(WaitEvent { kind, class, time_ms, thread }));
        Ok(true)
    }

    fn class_of(&mut self, signature: &str) -> ClassId {
        self.profile.symbols.class(&names::from_signature(signature))
    }

    pub(super) fn monitor_dump(&mut self) -> Result<(), Error> {
        let mut dump = MonitorDump::default();
        loop {
            let line = self.lines.expect(DUMP_END)?;
            if line == DUMP_END.as_bytes() {
                break;
            }
            let line = text(line);
            let read = if let Some(rest) = line.strip_prefix("    THREAD ") {
                self.thread_state(rest)?.map(|thread| dump.threads.push(thread))
            } else if let Some(rest) = line.strip_prefix("    MONITOR ") {
                dump.monitors.push(self.monitor(rest, LockKind::Monitor));
                Some(())
            } else if let Some(rest) = line.strip_prefix("    LOCK ") {
                dump.monitors.push(self.monitor(rest, LockKind::Parking));
                Some(())
            } else {
                let monitor = dump.monitors.last_mut();
                monitor.and_then(|monitor| of_monitor(monitor, line.strip_prefix('\t')?))
            };
            if read.is_none() {
                let columns = "THREAD id, trace, status\" or \"MONITOR class";
                return Err(self.no_row(line.as_bytes(), columns, DUMP_END));
            }
        }
        self.profile.events.push(Event::MonitorDump(dump));
        Ok(())
    }

    /// `%d, trace %d, status: %s`; `None` where it is not that.
    fn thread_state(&self, rest: &str) -> Result<Option<ThreadState>, Error> {
        let parts = (|| {
            let (serial, rest) = rest.split_once(", trace ")?;
            let (trace, status) = rest.split_once(", status: ")?;
            let mut flags: Vec<_> = status.split('|').collect();
            let code = flags.pop()?;
            let status = Status::ALL.into_iter().find(|status| status.code() == code)?;
            flags.iter().all(|flag| ["S", "intr", "native"].contains(flag)).then_some(())?;
            Some((serial.parse().ok()?, trace.parse().ok()?, status, flags))
        })();
        let Some((serial, trace, status, flags)) = parts else { return Ok(None) };
        let has = |flag| flags.contains(&flag);
        Ok(Some(ThreadState {
            serial,
            trace: self.trace_above(trace)?,
            status,
            is_suspended: has("S"),
            is_interrupted: has("intr"),
            is_in_native: has("native"),
        }))
    }

    /// `%s` or `%s unowned`
    fn monitor(&mut self, rest: &str, kind: LockKind) -> Monitor {
        let signature = rest.strip_suffix(" unowned").unwrap_or(rest);
        let (blocked, waiting) = (Vec::new(), Vec::new());
        let class = self.class_of(signature);
        Monitor { class, identity: None, kind, owner: None, entry_count: 0, blocked, waiting }
    }

    /// `rank self% accum% count trace class (Java)`
    pub(super) fn monitor_times(&mut self, rest: &'a [u8]) -> Result<(), Error> {
        const COLUMNS: &str = "rank self accum count trace monitor (Java)";
        let (total_ms, rest) = self.number(rest, "the total of the milliseconds")?;
        let total_ns = from_ms(total_ms);
        let written = rest.strip_prefix(b" ms").and_then(date);
        let mut times = MonitorTimes { total_ns, rows: Vec::new(), written };
        let mut sum_ns = 0_u64;
        loop {
            let line = self.lines.expect(TIME_END)?;
            if line == TIME_END.as_bytes() {
                break;
            }
            if line.starts_with(b"rank ") {
                continue;
            }
            let rest = &mut &line[..];
            let (_, own, sum) = (word(rest), word(rest), word(rest));
            let (count, serial) = (word(rest).and_then(number), word(rest).and_then(number));
            let class = text(rest);
            let class = match (class.strip_suffix(JAVA_MONITOR), class.strip_suffix(PARKING)) {
                (Some(class), _) => Some((class, LockKind::Monitor)),
                (_, Some(class)) => Some((class, LockKind::Parking)),
                _ => None,
            };
            let (Some(count), Some(serial), Some((class, kind))) = (count, serial, class) else {
                return Err(self.no_row(line, COLUMNS, TIME_END));
            };
            let trace = self.trace_above(serial)?;
            let blocked_ns = if total_ns == 0 {
                0
            } else {
                let (Some(own), Some(sum)) = (own.and_then(hundredths), sum.and_then(hundredths))
                else {
                    return Err(self.no_row(line, COLUMNS, TIME_END));
                };
                self_ns(total_ns, own, sum, sum_ns)
            };
            sum_ns = sum_ns.saturating_add(blocked_ns);
            let class = self.profile.symbols.class(class);
            let waits = Waits { blocked_count: count, blocked_ns, ..Waits::default() };
            times.rows.push(MonitorRow { trace, class, kind, waits });
        }
        self.profile.events.push(Event::MonitorTimes(times));
        Ok(())
    }
}

/// A line below a monitor; `None` where it is none.
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

/// ` thread 200003, thread 200004`, or nothing.
fn list(threads: &str) -> Option<Vec<u32>> {
    let threads = threads.trim();
    if threads.is_empty() {
        return Some(Vec::new());
    }
    threads.split(',').map(|it| it.trim().strip_prefix("thread ")?.parse().ok()).collect()
}
