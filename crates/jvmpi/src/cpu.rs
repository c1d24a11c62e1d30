//! The CPU time of the bridge's own work, for the account. Without the account nothing is measured.
//!
//! A thread's clock is read where the bridge's work begins and ends, and where a handler of the agent's
//! runs within. Reading it costs as much as a short piece of work, so of work that comes very often the
//! first pieces on a thread are measured, and then one in [`MANY`], which counts for all of them.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use crate::state::STATE;
use perk_jvm::os;

/// The number of pieces of frequent work on each thread that are all measured.
const FIRST: u64 = 2000;
/// After these, one piece in this number is measured. It is a prime, as programs repeat themselves.
const MANY: u64 = 61;

thread_local! {
    /// For how much the time of the calling thread counts now, 0 if it is not the bridge's, and its CPU
    /// time when that began.
    static CLOCK: Cell<(i64, u64)> = const { Cell::new((0, 0)) };
    /// The pieces of frequent work on this thread.
    static PIECES: Cell<u64> = const { Cell::new(0) };
}

/// Has the time measured from now on.
pub(super) fn begin() {
    STATE.cpu.is_on.store(true, Relaxed);
}

/// Returns the time of the bridge's work that has ended.
pub(super) fn own_ns() -> u64 {
    STATE.cpu.own_ns.load(Relaxed).max(0).cast_unsigned()
}

/// Runs `body`, work of the bridge's.
pub(super) fn own<T>(body: impl FnOnce() -> T) -> T {
    if !STATE.cpu.is_on.load(Relaxed) || CLOCK.get().0 > 0 {
        return body();
    }
    counted(1, body)
}

/// Runs `body`, work of the bridge's that comes very often.
pub(super) fn own_often<T>(body: impl FnOnce() -> T) -> T {
    if !STATE.cpu.is_on.load(Relaxed) || CLOCK.get().0 > 0 {
        return body();
    }
    match next_weight() {
        0 => body(),
        weight => counted(weight, body),
    }
}

/// Runs `body`, a handler of the agent's.
pub(super) fn of_agent(body: impl FnOnce()) {
    match CLOCK.get().0 {
        0 => body(),
        _ => counted(0, body),
    }
}

/// Runs `body`, a handler of the agent's that comes very often.
pub(super) fn of_agent_often(body: impl FnOnce()) {
    let outer = CLOCK.get().0;
    let weight = if outer == 0 { 0 } else { outer * next_weight() };
    if weight == 0 {
        return body();
    }
    let begin_ns = os::thread_cpu_ns();
    body();
    STATE.cpu.own_ns.fetch_sub(since(begin_ns, os::thread_cpu_ns()) * weight, Relaxed);
}

/// Returns for how many pieces of frequent work the next one counts; 0 if it is not measured.
fn next_weight() -> i64 {
    let pieces = PIECES.get();
    PIECES.set(pieces + 1);
    match pieces {
        ..FIRST => 1,
        _ if pieces.is_multiple_of(MANY) => MANY.cast_signed(),
        _ => 0,
    }
}

/// Runs `body`, whose time counts for this number of pieces.
fn counted<T>(weight: i64, body: impl FnOnce() -> T) -> T {
    let outer = switch(weight);
    let answer = body();
    switch(outer);
    answer
}

/// Begins a time that counts for this number of pieces. Returns the number of the previous time.
fn switch(weight: i64) -> i64 {
    let (outer, begin_ns) = CLOCK.get();
    let now_ns = os::thread_cpu_ns();
    CLOCK.set((weight, now_ns));
    if outer > 0 {
        STATE.cpu.own_ns.fetch_add(since(begin_ns, now_ns) * outer, Relaxed);
    }
    outer
}

/// Returns the nanoseconds between two readings of the clock, without the time of one reading.
fn since(begin_ns: u64, end_ns: u64) -> i64 {
    let cost_ns = STATE.cpu.cost_ns.get_or_init(|| {
        let mut costs: [u64; 31] = std::array::from_fn(|_| {
            let begin_ns = os::thread_cpu_ns();
            os::thread_cpu_ns() - begin_ns
        });
        costs.sort_unstable();
        costs[costs.len() / 2]
    });
    end_ns.saturating_sub(begin_ns).saturating_sub(*cost_ns).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(ns: u64) {
        let begin = os::thread_cpu_ns();
        while os::thread_cpu_ns() - begin < ns {}
    }

    #[test]
    fn the_time_of_handlers_is_not_the_bridges() {
        const NS: u64 = 5_000_000;
        own(|| work(NS));
        assert_eq!(own_ns(), 0);
        begin();
        own(|| {
            work(NS);
            of_agent(|| {
                work(10 * NS);
                own(|| work(NS));
            });
            own(|| work(NS));
        });
        let exact = own_ns();
        assert!((2 * NS..4 * NS).contains(&exact), "{exact}");
        let pieces = FIRST + 20 * MANY;
        (0..pieces).for_each(|_| own_often(|| work(NS / 500)));
        let often = own_ns() - exact;
        let expected = pieces * NS / 500;
        assert!((expected / 2..expected * 2).contains(&often), "{often}");
    }
}
