//! Sums that do not fit into 64 bits.

use crate::{Metric, Profile};

impl Profile {
    /// The metrics whose sum is too large: it stops at 2^64 - 1, here and in reports.
    pub fn overflown(&self) -> Vec<Metric> {
        let sum = |metric: &Metric| {
            let sections = metric.sections(self).into_iter();
            let totals = sections.map(|(section, place)| {
                section.head.columns[place].total.max(section.listed(place))
            });
            totals.fold(0, u64::saturating_add)
        };
        Metric::candidates(self).filter(|metric| sum(metric) == u64::MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{CpuSamples, Event, Metric, Profile, Section, Unit};

    #[test]
    fn sums_of_several_sections_are_reported() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let half = u64::MAX / 2 + 1;
        let section = |count| {
            Event::from(CpuSamples {
                total: count,
                rows: vec![(trace, count)],
                ..CpuSamples::default()
            })
        };
        profile.events = vec![section(half), section(half - 2)];
        assert!(profile.overflown().is_empty());
        profile.events.push(section(2));
        assert_eq!(profile.overflown(), [Metric::Samples]);
        let measure =
            |name: &str| Event::from(Section::of(Metric::other(name, Unit::Count), half, []));
        profile.events = vec![measure("cycles"), measure("misses")];
        assert!(profile.overflown().is_empty(), "two sums");
        profile.events.push(measure("cycles"));
        assert_eq!(profile.overflown(), [Metric::other("cycles", Unit::Count)]);
    }
}
