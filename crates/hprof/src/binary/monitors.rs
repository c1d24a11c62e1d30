//! The numbers in the records of monitors and waits.

use perk_profile::{LockKind, Status, ThreadState, WaitKind};

/// MONITOR DUMP: the byte that begins the row of a thread.
pub(super) const THREAD_ROW: u8 = 1;
/// MONITOR DUMP: the byte that begins the row of a monitor.
pub(super) const MONITOR_ROW: u8 = 2;

/// MONITOR DUMP: flags of threads.
pub(super) const SUSPENDED: u8 = 1;
pub(super) const INTERRUPTED: u8 = 2;
pub(super) const IN_NATIVE: u8 = 4;

const WAIT_KINDS: [WaitKind; 4] =
    [WaitKind::Wait, WaitKind::Waited, WaitKind::Sleep, WaitKind::Exit];
const LOCK_KINDS: [LockKind; 2] = [LockKind::Monitor, LockKind::Parking];

pub(super) fn wait_kind_code(kind: WaitKind) -> u8 {
    code(&WAIT_KINDS, kind)
}

pub(super) fn wait_kind(code: u8) -> Option<WaitKind> {
    WAIT_KINDS.get(usize::from(code)).copied()
}

pub(super) fn lock_kind_code(kind: LockKind) -> u8 {
    code(&LOCK_KINDS, kind)
}

pub(super) fn lock_kind(code: u8) -> Option<LockKind> {
    LOCK_KINDS.get(usize::from(code)).copied()
}

/// Returns the number of a status, in the order of [`Status::ALL`].
pub(super) fn status_code(status: Status) -> u8 {
    code(&Status::ALL, status)
}

pub(super) fn status(code: u8) -> Option<Status> {
    Status::ALL.get(usize::from(code)).copied()
}

pub(super) fn flags(thread: &ThreadState) -> u8 {
    let flags = [
        (thread.is_suspended, SUSPENDED),
        (thread.is_interrupted, INTERRUPTED),
        (thread.is_in_native, IN_NATIVE),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
}

fn code<T: PartialEq>(all: &[T], one: T) -> u8 {
    all.iter().position(|it| *it == one).unwrap_or(0) as u8
}
