//! Writes waits, and the sections of monitors.

use std::cmp::Reverse;

use perk_profile::{
    Frame, FrameKind, HolderRow, Line, Method, MonitorDump, MonitorRow, MonitorTimes, TraceId,
    WaitEvent,
};

use super::{Recorder, now};
use crate::roster::Slot;

impl Recorder {
    /// Returns the serial number of a thread.
    pub(crate) fn thread_serial(&self, thread: Slot) -> u32 {
        self.roster.serial(thread)
    }

    /// Writes a line for a thread that waits or has waited.
    pub(crate) fn write_wait(&mut self, thread: Slot, wait: WaitEvent) {
        self.announce(thread);
        let wait = WaitEvent { thread: Some(self.roster.serial(thread)), ..wait };
        self.write(|writer, profile, _| writer.wait(profile, &wait));
    }

    /// Writes all threads and monitors; `slots` are those of the threads. Threads that have ended
    /// since are left out.
    pub(crate) fn write_monitor_dump(&mut self, mut dump: MonitorDump, slots: &[Slot]) {
        let mut of_threads = slots.iter().copied();
        dump.threads.retain(|thread| {
            let slot = of_threads.next().filter(|&it| self.roster.serial(it) == thread.serial);
            if let Some(slot) = slot {
                self.announce(slot);
            }
            slot.is_some()
        });
        let living: Vec<_> = dump.threads.iter().map(|thread| thread.serial).collect();
        let lives = |serial: &u32| living.binary_search(serial).is_ok();
        for monitor in &mut dump.monitors {
            if monitor.owner.is_some_and(|owner| !lives(&owner)) {
                (monitor.owner, monitor.entry_count) = (None, 0);
            }
            monitor.blocked.retain(lives);
            monitor.waiting.retain(lives);
        }
        dump.monitors.retain(|monitor| {
            let waits = monitor.blocked.len() + monitor.waiting.len();
            monitor.owner.is_some() || waits > 0
        });
        dump.written = Some(now());
        self.write(|writer, profile, _| writer.monitor_dump(profile, &dump));
    }

    /// Writes the times that threads waited for locks.
    pub(crate) fn write_monitor_times(&mut self, rows: Vec<MonitorRow>) {
        let times = self.monitor_times(rows);
        self.write(|writer, profile, _| writer.monitor_times(profile, &times));
    }

    /// Books the times that threads waited for locks, for a flush alone.
    pub(crate) fn show_waits(&mut self, rows: Vec<MonitorRow>) {
        self.shown.waits = Some(rows);
    }

    pub(super) fn monitor_times(&self, rows: Vec<MonitorRow>) -> MonitorTimes {
        let total_ns = rows.iter().map(|row| row.waits.blocked_ns).fold(0, u64::saturating_add);
        let mut times = MonitorTimes { total_ns, rows, written: Some(now()) };
        times.rank(self.cutoff);
        times
    }

    /// Writes the times for which others waited for the holders of locks.
    pub(crate) fn write_holders(&mut self, mut rows: Vec<HolderRow>) {
        rows.sort_by_key(|row| (Reverse(row.blocking_ns), row.trace, row.class, row.kind));
        let section = HolderRow::section(&rows, Some(now()));
        self.write(|writer, profile, _| writer.section(profile, &section));
    }

    /// Returns the trace of a frame that is not a method, for something to be booked on it.
    pub(crate) fn named(&mut self, name: &str) -> TraceId {
        let symbols = &mut self.profile.symbols;
        let (class, name) = (symbols.class(""), symbols.strings.intern(name));
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let frame = Frame { kind: FrameKind::Native, ..Frame::new(method, Line::Unknown) };
        let frame = symbols.frame(frame);
        self.trace(None, &[frame])
    }
}
