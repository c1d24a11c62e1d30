//! The output of `monitor=y`: WAIT and WAITED, MONITOR DUMP, MONITOR TIME.

use std::io::{self, Write};

use perk_profile::{
    LockKind, MonitorDump, MonitorTimes, Profile, ThreadState, WaitEvent, WaitKind, names,
};

use super::{Writer, percent};
use crate::ascii::{JAVA_MONITOR, PARKING, UNKNOWN_THREAD};
use crate::lines::one_line;
use crate::units::to_ms;
use crate::write::date;

impl<W: Write> Writer<W> {
    /// Writes `WAIT`, `WAITED`, `SLEEP` or `EXIT`.
    pub fn wait(&mut self, profile: &Profile, wait: &WaitEvent) -> io::Result<()> {
        let class = wait.class.map_or("", |class| profile.symbols.class_name(class));
        let class = names::to_signature(class);
        let class = one_line(&class);
        let thread = wait.thread.map_or_else(|| UNKNOWN_THREAD.into(), |it| format!("thread {it}"));
        let time_ms = wait.time_ms;
        match wait.kind {
            WaitKind::Wait => {
                writeln!(self.out, "WAIT: MONITOR {class}, timeout={time_ms}, {thread}")
            }
            WaitKind::Waited => {
                writeln!(self.out, "WAITED: MONITOR {class}, time_waited={time_ms}, {thread}")
            }
            WaitKind::Sleep => writeln!(self.out, "SLEEP: timeout={time_ms}, {thread}"),
            WaitKind::Exit => writeln!(self.out, "EXIT: MONITOR {class}, {thread}"),
        }
    }

    /// Writes the traces that are new, in order of trace, and `MONITOR DUMP`.
    pub fn monitor_dump(&mut self, profile: &Profile, dump: &MonitorDump) -> io::Result<()> {
        let mut traces: Vec<_> = dump.threads.iter().map(|thread| thread.trace).collect();
        traces.sort_unstable();
        self.traces(profile, traces)?;
        writeln!(self.out, "MONITOR DUMP BEGIN")?;
        for thread in &dump.threads {
            let trace = profile.get_trace(thread.trace).serial;
            let (serial, status) = (thread.serial, status(thread));
            writeln!(self.out, "    THREAD {serial}, trace {trace}, status: {status}")?;
        }
        for monitor in &dump.monitors {
            let title = match monitor.kind {
                LockKind::Monitor => "MONITOR",
                LockKind::Parking => "LOCK",
            };
            let class = names::to_signature(profile.symbols.class_name(monitor.class));
            write!(self.out, "    {title} {}", one_line(&class))?;
            match monitor.owner {
                Some(owner) => {
                    let count = monitor.entry_count;
                    writeln!(self.out, "\n\towner: thread {owner}, entry count: {count}")?;
                }
                None => writeln!(self.out, " unowned")?,
            }
            writeln!(self.out, "\twaiting to enter:{}", list(&monitor.blocked))?;
            writeln!(self.out, "\twaiting to be notified:{}", list(&monitor.waiting))?;
        }
        writeln!(self.out, "MONITOR DUMP END")
    }

    /// Writes the traces that are new, in order of trace, and `MONITOR TIME`, with the rows that
    /// were blocked. Without such rows nothing is written. The total is in whole milliseconds. The
    /// rows' times are percentages of the exact total. If it is less than half a millisecond, all
    /// percentages are 0.
    pub fn monitor_times(&mut self, profile: &Profile, times: &MonitorTimes) -> io::Result<()> {
        let rows: Vec<_> = times.rows.iter().filter(|row| row.waits.is_blocked()).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let (stamp, total_ms) = (date(times.written, profile).ctime(), to_ms(times.total_ns));
        let mut traces: Vec<_> = rows.iter().map(|row| row.trace).collect();
        traces.sort_unstable();
        self.traces(profile, traces)?;
        writeln!(self.out, "MONITOR TIME BEGIN (total = {total_ms} ms) {stamp}")?;
        writeln!(self.out, "rank   self  accum   count trace monitor")?;
        let total_ns = if total_ms == 0 { 0 } else { times.total_ns };
        let mut sum_ns = 0_u64;
        for (index, row) in rows.into_iter().enumerate() {
            let part_ns = row.waits.blocked_ns;
            sum_ns = sum_ns.saturating_add(part_ns);
            let kind = match row.kind {
                LockKind::Monitor => JAVA_MONITOR,
                LockKind::Parking => PARKING,
            };
            writeln!(
                self.out,
                "{:4} {:5.2}% {:5.2}% {:7} {:5} {}{kind}",
                index + 1,
                percent(part_ns, total_ns),
                percent(sum_ns, total_ns),
                row.waits.blocked_count,
                profile.get_trace(row.trace).serial,
                one_line(profile.symbols.class_name(row.class)),
            )?;
        }
        writeln!(self.out, "MONITOR TIME END")
    }
}

fn status(thread: &ThreadState) -> String {
    let flags = [
        (thread.is_suspended, "S|"),
        (thread.is_interrupted, "intr|"),
        (thread.is_in_native, "native|"),
    ];
    let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag).collect();
    flags + thread.status.code()
}

/// Formats thread numbers: ` thread 200003, thread 200004`.
fn list(threads: &[u32]) -> String {
    let threads: Vec<_> = threads.iter().map(|thread| format!(" thread {thread}")).collect();
    threads.join(",")
}
