//! The waits, and the sections of monitors.

use std::cmp::Reverse;
use std::io;

use perk_jvm::sync::lock;
use perk_profile::{HolderRow, MonitorDump, MonitorRow, MonitorTimes, WaitEvent};

use super::Monitors;
use crate::recorder::{Book, DumpSection, Place, Recorder, Sections, now};
use crate::roster::Slot;

/// Writes a line for a thread that waits or has waited.
pub(super) fn write_wait(recorder: &mut Recorder, thread: Slot, wait: WaitEvent) {
    recorder.announce(thread);
    let wait = WaitEvent { thread: Some(recorder.thread_serial(thread)), ..wait };
    recorder.write(|writer, profile, _| writer.wait(profile, &wait));
}

/// Writes all threads and monitors; `slots` are those of the threads. Threads that have ended
/// since are left out.
pub(super) fn write_dump(recorder: &mut Recorder, mut dump: MonitorDump, slots: &[Slot]) {
    let mut of_threads = slots.iter().copied();
    dump.threads.retain(|thread| {
        let slot = of_threads.next().filter(|&it| recorder.thread_serial(it) == thread.serial);
        if let Some(slot) = slot {
            recorder.announce(slot);
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
    recorder.write(|writer, profile, _| writer.monitor_dump(profile, &dump));
}

/// Returns the section of the times that threads waited for locks.
pub(super) fn times(rows: Vec<MonitorRow>, cutoff: f64) -> MonitorTimes {
    let total_ns = rows.iter().map(|row| row.waits.blocked_ns).fold(0, u64::saturating_add);
    let mut times = MonitorTimes { total_ns, rows, written: Some(now()) };
    times.rank(cutoff);
    times
}

/// Writes the times for which others waited for the holders of locks.
pub(super) fn write_holders(recorder: &mut Recorder, mut rows: Vec<HolderRow>) {
    rows.sort_unstable_by_key(|row| (Reverse(row.blocking_ns), row.trace, row.class, row.kind));
    let section = HolderRow::section(&rows, Some(now()));
    recorder.write_section(DumpSection::Other(&section));
}

/// The waits for locks of a flush. A dump has them from [`Analysis::dump`](crate::analyses::Analysis::dump),
/// which asks the JVM for the monitors at the same moment.
impl Book for Monitors {
    fn place(&self) -> Place {
        Place::Waits
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        match lock(&self.shown).take() {
            Some(rows) => {
                let times = times(rows, self.common.options.cutoff);
                sections.put(recorder, DumpSection::Waits(&times))
            }
            None => Ok(()),
        }
    }
}
