//! The waits of virtual threads while no carrier runs them. Samples of wall-clock time do not have them; the
//! measurement of locks has all of their waits.

use perk_profile::{Key, LockKind, Profile, Subject, TraceId, WallState};

fn is_virtual(profile: &Profile, trace: TraceId) -> bool {
    profile.get_trace(trace).thread.is_some_and(|thread| profile.is_virtual(thread))
}

/// Whether there are virtual threads, and nothing measured how they park.
pub(super) fn are_waits_hidden(profile: &Profile, wall: &[(Key, u64)]) -> bool {
    let is_measured =
        |kind| profile.monitor_times().flat_map(|it| it.rows).any(|row| row.kind == kind);
    // Locks were measured where no thread happened to park, too.
    let has_locks = profile.accounting.as_ref().is_some_and(|it| it.engine.contains("monitors"));
    wall.iter().any(|row| is_virtual(profile, row.0.trace))
        && !has_locks
        && !is_measured(LockKind::Parking)
}

/// The waits of virtual threads without a carrier, in addition to the rows of wall-clock time.
pub(super) fn waits(profile: &Profile, wall: &[(Key, u64)]) -> Vec<(Key, u64)> {
    let is_virtual = |trace| is_virtual(profile, trace);
    let rows = profile.monitor_times().flat_map(|section| section.rows);
    let rows = rows.filter(|row| is_virtual(row.trace)).flat_map(|row| {
        let (blocked, waiting) = match row.kind {
            LockKind::Monitor => (WallState::Blocked, WallState::Waiting),
            LockKind::Parking => (WallState::Parked, WallState::Parked),
        };
        let waits = [(blocked, row.waits.blocked_ns), (waiting, row.waits.waited_ns)];
        waits.map(|(state, ns)| (Key::new(row.trace, Subject::State(state)), ns))
    });
    let rows: Vec<_> = rows.collect();
    let all_ns = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
    // A thread that keeps its carrier while it waits is in both.
    let waits = [WallState::Blocked, WallState::Waiting, WallState::Parked, WallState::Sleeping];
    let is_wait = |subject| matches!(subject, Subject::State(state) if waits.contains(&state));
    let both = wall.iter().filter(|row| is_wait(row.0.subject) && is_virtual(row.0.trace));
    let both_ns = both.map(|row| row.1).fold(0, u64::saturating_add).min(all_ns);
    let rest = (all_ns - both_ns) as f64 / all_ns.max(1) as f64;
    rows.into_iter().map(|(key, ns)| (key, (ns as f64 * rest) as u64)).collect()
}
