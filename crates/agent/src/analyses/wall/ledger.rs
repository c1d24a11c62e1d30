//! How a thread's time divides among running, waiting for a CPU, and the rest.
//!
//! A look cannot decide this: the thread that looks may have taken the CPU for that, and the kernel
//! counts a wait only once it is over. So the kernel's counts decide how much of each there was,
//! and samples decide where: time on a CPU that passed before the thread was met asleep is held
//! until it is met active.

use perk_jvm::os::Tid;

use crate::threads::LiveThread;

/// What the kernel has counted of a thread, in nanoseconds, as far as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The time on a CPU.
    pub(super) cpu_ns: Option<u64>,
    /// The time of waits for a CPU that are over.
    pub(super) delay_ns: Option<u64>,
}

impl Counts {
    /// Reads the counts of a thread.
    pub(super) fn of(thread: &LiveThread) -> Self {
        let tid = thread.tid();
        Self { cpu_ns: tid.and_then(Tid::cpu_ns), delay_ns: tid.and_then(Tid::run_delay_ns) }
    }
}

/// What is booked of a thread; see the module.
#[derive(Debug)]
pub(super) struct Ledger {
    /// The counts as far as they are booked.
    booked: Counts,
    /// The time that is taken and not booked.
    held_ns: u64,
}

/// A division of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) running_ns: u64,
    pub(super) runnable_ns: u64,
    pub(super) rest_ns: u64,
}

impl Ledger {
    /// Makes it for a thread that has these counts now.
    pub(super) fn new(counts: Counts) -> Self {
        Self { booked: counts, held_ns: 0 }
    }

    /// Divides time, and what was held before. Without a clock all of it is running.
    pub(super) fn split(&mut self, counts: Counts, ns: u64) -> Split {
        let split = self.divided(counts, ns);
        let add = |booked: &mut Option<u64>, ns| *booked = booked.map(|it| it + ns);
        add(&mut self.booked.cpu_ns, split.running_ns);
        add(&mut self.booked.delay_ns, split.runnable_ns);
        // Counts that come later begin here.
        self.booked.cpu_ns = self.booked.cpu_ns.or(counts.cpu_ns);
        self.booked.delay_ns = self.booked.delay_ns.or(counts.delay_ns);
        self.held_ns = 0;
        split
    }

    /// Takes time in which the thread was met asleep. Returns the part of it that can be booked now.
    pub(super) fn hold(&mut self, counts: Counts, ns: u64) -> u64 {
        if counts.cpu_ns.or(self.booked.cpu_ns).is_none() {
            return ns;
        }
        // Counts that come later begin here: a thread that is met asleep has not run all the time.
        self.booked.cpu_ns = self.booked.cpu_ns.or(counts.cpu_ns);
        self.booked.delay_ns = self.booked.delay_ns.or(counts.delay_ns);
        let Split { running_ns, runnable_ns, rest_ns } = self.divided(counts, ns);
        self.held_ns = running_ns + runnable_ns;
        rest_ns
    }

    /// Notes that a wait for a CPU is booked before the kernel counts it.
    pub(super) fn prepay(&mut self, ns: u64) {
        self.booked.delay_ns = self.booked.delay_ns.map(|it| it + ns);
    }

    fn divided(&self, counts: Counts, ns: u64) -> Split {
        let all_ns = self.held_ns + ns;
        let since = |now: Option<u64>, booked: Option<u64>| Some(now?.saturating_sub(booked?));
        let running_ns = since(counts.cpu_ns, self.booked.cpu_ns).unwrap_or(all_ns).min(all_ns);
        let left_ns = all_ns - running_ns;
        let waited_ns = since(counts.delay_ns, self.booked.delay_ns).unwrap_or(0);
        let runnable_ns = waited_ns.min(left_ns);
        Split { running_ns, runnable_ns, rest_ns: left_ns - runnable_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cpu_ns: u64, delay_ns: u64) -> Counts {
        Counts { cpu_ns: Some(cpu_ns), delay_ns: Some(delay_ns) }
    }

    fn split(running_ns: u64, runnable_ns: u64, rest_ns: u64) -> Split {
        Split { running_ns, runnable_ns, rest_ns }
    }

    #[test]
    fn no_more_time_is_running_than_the_clock_says() {
        let mut ledger = Ledger::new(counts(1000, 500));
        assert_eq!(ledger.split(counts(1030, 510), 100), split(30, 10, 60));
        // A wait that is not over is not counted.
        assert_eq!(ledger.split(counts(1030, 510), 100), split(0, 0, 100));
        ledger.prepay(100);
        assert_eq!(ledger.split(counts(1050, 640), 100), split(20, 30, 50));
    }

    #[test]
    fn a_thread_without_a_clock_at_first_has_slept_when_it_is_met_asleep() {
        let mut ledger = Ledger::new(Counts::default());
        assert_eq!(ledger.hold(counts(1000, 500), 100), 100);
        assert_eq!(ledger.split(counts(1010, 505), 100), split(10, 5, 85));
    }

    #[test]
    fn time_on_a_cpu_is_held_until_the_thread_is_met_active() {
        let mut ledger = Ledger::new(counts(0, 0));
        assert_eq!(ledger.hold(counts(10, 5), 100), 85);
        assert_eq!(ledger.hold(counts(30, 5), 100), 80);
        assert_eq!(ledger.split(counts(60, 10), 50), split(60, 10, 15));
        assert_eq!(ledger.split(counts(60, 10), 50), split(0, 0, 50));
    }

    #[test]
    fn without_counts_time_is_where_the_thread_was_met() {
        let mut ledger = Ledger::new(Counts::default());
        assert_eq!(ledger.hold(Counts::default(), 100), 100);
        assert_eq!(ledger.split(Counts::default(), 100), split(100, 0, 0));
        assert_eq!(ledger.split(counts(700, 70), 100), split(100, 0, 0));
        assert_eq!(ledger.split(counts(720, 80), 100), split(20, 10, 70));
    }
}
