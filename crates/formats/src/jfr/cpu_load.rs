//! The CPU time of the whole process, from the loads that the JDK records each second, and that of
//! its garbage collector.

use perk_profile::metric::{GC_CPU, PROCESS_CPU};
use perk_profile::{Metric, Profile, Section, Unit};

/// A chunk that begins this long after the last one does not continue its recording.
const GAP_NS: u64 = 1_000_000_000;

/// The loads of a recording.
#[derive(Debug, Default)]
pub(super) struct CpuLoads {
    /// The loads of the chunk: the time, and the part of all CPUs' time that the process used since
    /// the one before.
    loads: Vec<(u64, f64)>,
    cpu_count: u64,
    /// The last time up to which loads are known, and the end of the last chunk.
    known_ns: u64,
    end_ns: Option<u64>,
    process_ns: f64,
    gc_ns: u64,
}

impl CpuLoads {
    /// Takes a load.
    pub(super) fn load(&mut self, time_ns: u64, load: f64) {
        if (0.0..=1.0).contains(&load) {
            self.loads.push((time_ns, load));
        }
    }

    /// Takes the number of CPUs.
    pub(super) fn cpus(&mut self, count: u64) {
        self.cpu_count = count;
    }

    /// Takes the CPU time of a garbage collection.
    pub(super) fn gc(&mut self, ns: u64) {
        self.gc_ns = self.gc_ns.saturating_add(ns);
    }

    /// Adds the loads of a chunk from `start_ns` to `end_ns`.
    pub(super) fn end_chunk(&mut self, start_ns: u64, end_ns: u64) {
        let continues = self.end_ns.is_some_and(|end_ns| start_ns.abs_diff(end_ns) < GAP_NS);
        if !continues {
            self.known_ns = start_ns;
        }
        self.loads.sort_by_key(|load| load.0);
        for (time_ns, load) in std::mem::take(&mut self.loads) {
            let since_ns = time_ns.saturating_sub(self.known_ns);
            self.process_ns += load * since_ns as f64 * self.cpu_count as f64;
            self.known_ns = self.known_ns.max(time_ns);
        }
        self.end_ns = Some(end_ns);
    }

    /// Adds the times to the profile.
    pub(super) fn finish(self, profile: &mut Profile) {
        // The cast saturates.
        for (name, ns) in [(PROCESS_CPU, self.process_ns.round() as u64), (GC_CPU, self.gc_ns)] {
            if ns > 0 {
                let trace = profile.system_trace();
                let metric = Metric::other(name, Unit::Nanoseconds);
                profile.events.push(Section::of(metric, ns, [(trace, ns)]).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn loads_are_of_all_cpus_since_the_one_before() {
        let mut loads = CpuLoads::default();
        loads.cpus(4);
        for (chunk, times) in
            [([10, 12], [(11, 0.5), (12, 0.25)]), ([12, 14], [(14, 1.0), (13, 0.0)])]
        {
            times.iter().for_each(|&(time, load)| loads.load(time * S, load));
            loads.load(chunk[1] * S, f64::NAN);
            loads.gc(7);
            loads.end_chunk(chunk[0] * S, chunk[1] * S);
        }
        // Another recording, in the same file.
        loads.load(101 * S, 0.25);
        loads.end_chunk(100 * S, 102 * S);
        let mut profile = Profile::default();
        loads.finish(&mut profile);
        let total = |name| Metric::other(name, Unit::Nanoseconds).rows(&profile).total;
        assert_eq!(total(PROCESS_CPU), 4 * S / 2 + S + 4 * S + S);
        assert_eq!(total(GC_CPU), 14);
    }
}
