//! Sums that do not fit into 64 bits.

use crate::{Event, Profile};

impl Profile {
    /// What has a sum that is larger than numbers can be: it stops at 2^64 - 1, here and in reports.
    pub fn overflown(&self) -> Vec<&str> {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        let mut add = |name, numbers: &mut dyn Iterator<Item = u64>| {
            let sum = numbers.fold(0, u64::saturating_add);
            match sums.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.1 = known.1.saturating_add(sum),
                None => sums.push((name, sum)),
            }
        };
        for event in &self.events {
            match event {
                Event::CpuSamples(it) => {
                    let listed = it.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
                    add("samples", &mut [it.total.max(listed)].into_iter());
                }
                Event::CallTimes(it) => {
                    let listed = it.rows.iter().map(|row| row.self_ns);
                    let listed = listed.fold(0, u64::saturating_add);
                    add("time", &mut [it.total_ns.max(listed)].into_iter());
                    add("calls", &mut it.rows.iter().map(|row| row.count));
                }
                Event::CallEdges(it) => {
                    add("time", &mut it.rows.iter().map(|row| row.total_ns));
                    add("calls", &mut it.rows.iter().map(|row| row.count));
                }
                Event::MonitorTimes(it) => {
                    add("time blocked", &mut it.rows.iter().map(|row| row.waits.blocked_ns));
                    add("time waited", &mut it.rows.iter().map(|row| row.waits.waited_ns));
                }
                Event::Other(it) => {
                    let listed = it.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
                    add(&it.name, &mut [it.total.max(listed)].into_iter());
                }
                _ => {}
            }
        }
        if let Some(sites) = self.sites() {
            let (total, listed) = (sites.total, sites.listed());
            let allocated = [total.allocated_bytes.max(listed.allocated_bytes)];
            add("allocated bytes", &mut allocated.into_iter());
            add("live bytes", &mut [total.live_bytes.max(listed.live_bytes)].into_iter());
            let objects = total.allocated_count.max(listed.allocated_count);
            add("objects", &mut [objects, total.live_count.max(listed.live_count)].into_iter());
        }
        sums.into_iter().filter(|sum| sum.1 == u64::MAX).map(|sum| sum.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{CpuSamples, Event, OtherMetric, Profile};

    #[test]
    fn sums_of_several_sections_are_told() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let half = u64::MAX / 2 + 1;
        let section = |count| {
            Event::CpuSamples(CpuSamples {
                total: count,
                rows: vec![(trace, count)],
                ..CpuSamples::default()
            })
        };
        profile.events = vec![section(half), section(half - 2)];
        assert_eq!(profile.overflown(), [""; 0]);
        profile.events.push(section(2));
        assert_eq!(profile.overflown(), ["samples"]);
        let measure = |name: &str| {
            Event::Other(OtherMetric {
                name: name.to_owned(),
                total: half,
                ..OtherMetric::default()
            })
        };
        profile.events = vec![measure("cycles"), measure("misses")];
        assert_eq!(profile.overflown(), [""; 0], "two sums");
        profile.events.push(measure("cycles"));
        assert_eq!(profile.overflown(), ["cycles"]);
    }
}
