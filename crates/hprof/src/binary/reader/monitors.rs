//! Reads monitors and waits.

use perk_profile::{Event, LockKind, Monitor, MonitorDump, ThreadState, WaitEvent};

use super::BinaryReader;
use super::extended::interrupted;
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::{monitors, tag};

impl BinaryReader {
    pub(super) fn wait(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let kind = body.u1("an action of a thread")?;
        let Some(kind) = monitors::wait_kind(kind) else {
            return Err(body.error(format!("{kind} is not an action of a thread")));
        };
        let class = body.u4("a class's serial number")?;
        let class = (class != 0).then(|| self.class(class));
        let time_ms = body.u8("a time in milliseconds")?;
        let thread = body.u4("a thread's serial number")?;
        let thread = (thread != 0).then_some(thread);
        self.profile.events.push(Event::Wait(WaitEvent { kind, class, time_ms, thread }));
        Ok(())
    }

    pub(super) fn monitor_dump(
        &mut self,
        body: &mut Cursor<'_>,
        open: Option<Event>,
    ) -> Result<Event, Error> {
        let mut dump = match open {
            None => MonitorDump::default(),
            Some(Event::MonitorDump(dump)) => dump,
            Some(_) => return Err(interrupted(body, tag::MONITOR_DUMP)),
        };
        while !body.is_empty() {
            match body.u1("the kind of a row")? {
                monitors::THREAD_ROW => dump.threads.push(self.thread_state(body)?),
                monitors::MONITOR_ROW => dump.monitors.push(self.monitor(body)?),
                kind => return Err(body.error(format!("no row is of the kind {kind}"))),
            }
        }
        Ok(Event::MonitorDump(dump))
    }

    fn thread_state(&self, body: &mut Cursor<'_>) -> Result<ThreadState, Error> {
        let serial = body.u4("a thread's serial number")?;
        let trace = self.trace_of_number(body)?;
        let status = body.u1("a thread's status")?;
        let Some(status) = monitors::status(status) else {
            return Err(body.error(format!("{status} is not a status of a thread")));
        };
        let flags = body.u1("a thread's flags")?;
        let has = |flag| flags & flag != 0;
        Ok(ThreadState {
            serial,
            trace,
            status,
            is_suspended: has(monitors::SUSPENDED),
            is_interrupted: has(monitors::INTERRUPTED),
            is_in_native: has(monitors::IN_NATIVE),
        })
    }

    fn monitor(&mut self, body: &mut Cursor<'_>) -> Result<Monitor, Error> {
        let class = body.u4("a class's serial number")?;
        let identity = body.u8("a monitor's identity")?.checked_sub(1);
        let identity = identity.and_then(|identity| u32::try_from(identity).ok());
        let kind = lock_kind(body)?;
        let owner = body.u4("a monitor's owner")?;
        let entry_count = body.u4("how often a monitor was entered")?;
        let blocked = threads(body)?;
        let waiting = threads(body)?;
        let (class, owner) = (self.class(class), (owner != 0).then_some(owner));
        Ok(Monitor { class, identity, kind, owner, entry_count, blocked, waiting })
    }
}

pub(super) fn lock_kind(body: &mut Cursor<'_>) -> Result<LockKind, Error> {
    let kind = body.u1("the kind of a lock")?;
    monitors::lock_kind(kind).ok_or_else(|| body.error(format!("{kind} is not a kind of lock")))
}

/// Reads a number of threads, and their serial numbers.
fn threads(body: &mut Cursor<'_>) -> Result<Vec<u32>, Error> {
    let count = body.u4("a number of threads")?;
    (0..count).map(|_| body.u4("a thread's serial number")).collect()
}
