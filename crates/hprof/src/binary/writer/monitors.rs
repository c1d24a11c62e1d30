//! Monitors and waits, which only extended files hold.

use std::io::{self, Write};

use perk_profile::{Monitor, MonitorDump, Profile, ThreadState, WaitEvent};

use super::{Body, Writer, class_serial};
use crate::Format;
use crate::binary::{monitors, tag};
use crate::format::SectionKind;

/// A row of a dump.
enum DumpRow<'a> {
    Thread(&'a ThreadState),
    Monitor(&'a Monitor),
}

impl<W: Write> Writer<W> {
    /// Writes the waiting of a thread.
    pub fn wait(&mut self, profile: &Profile, wait: &WaitEvent) -> io::Result<()> {
        self.check_extended()?;
        if let Some(class) = wait.class {
            self.load_class(profile, class)?;
        }
        let body = Body::default()
            .u1(1)
            .u1(monitors::wait_kind_code(wait.kind))
            .u4(wait.class.map_or(0, class_serial))
            .u8(wait.time_ms)
            .u4(wait.thread.unwrap_or(0));
        self.record(tag::WAIT, body)
    }

    /// Writes a dump of threads and monitors.
    pub fn monitor_dump(&mut self, profile: &Profile, dump: &MonitorDump) -> io::Result<()> {
        self.check_extended()?;
        self.tree(profile)?;
        for monitor in &dump.monitors {
            self.load_class(profile, monitor.class)?;
        }
        let threads = dump.threads.iter().map(DumpRow::Thread);
        let rows: Vec<_> = threads.chain(dump.monitors.iter().map(DumpRow::Monitor)).collect();
        let traces = self.trace_numbers();
        self.rows(tag::MONITOR_DUMP, &Body::default(), rows.iter(), |body, row| match row {
            DumpRow::Thread(thread) => body
                .u1(monitors::THREAD_ROW)
                .u4(thread.serial)
                .u4(traces.get(thread.trace.index()))
                .u1(monitors::status_code(thread.status))
                .u1(monitors::flags(thread)),
            DumpRow::Monitor(monitor) => {
                let body = body
                    .u1(monitors::MONITOR_ROW)
                    .u4(class_serial(monitor.class))
                    .u8(monitor.identity.map_or(0, |identity| u64::from(identity) + 1))
                    .u1(monitors::lock_kind_code(monitor.kind))
                    .u4(monitor.owner.unwrap_or(0))
                    .u4(monitor.entry_count);
                [&monitor.blocked, &monitor.waiting].into_iter().fold(body, |body, threads| {
                    let body = body.u4(threads.len() as u32);
                    threads.iter().fold(body, |body, &thread| body.u4(thread))
                })
            }
        })
    }

    fn check_extended(&self) -> io::Result<()> {
        match self.extended {
            Some(_) => Ok(()),
            None => Err(Format::Binary.refusal(SectionKind::Monitors)),
        }
    }
}
