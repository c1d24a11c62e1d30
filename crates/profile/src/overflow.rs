//! Sums that do not fit into 64 bits.

use std::collections::BTreeMap;

use crate::{Metric, Profile, Span};

impl Profile {
    /// The metrics whose sum is too large: it stops at 2^64 - 1, here and in reports.
    pub fn overflown(&self) -> Vec<&Metric> {
        let mut sums: BTreeMap<&Metric, u64> = BTreeMap::new();
        for section in self.sections() {
            let is_last = self.site_section().is_some_and(|last| std::ptr::eq(last, section));
            if section.head.span == Span::SinceStart && !is_last {
                continue;
            }
            for (place, column) in section.head.columns.iter().enumerate() {
                if !column.metric.is_additive(&section.head) {
                    continue;
                }
                let number = column.total.max(section.listed(place));
                let sum = sums.entry(&column.metric).or_default();
                *sum = sum.saturating_add(number);
            }
        }
        sums.into_iter().filter(|sum| sum.1 == u64::MAX).map(|(metric, _)| metric).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{CpuSamples, Event, Metric, Profile, Section, Unit};

    #[test]
    fn sums_of_several_sections_are_told() {
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
        assert_eq!(profile.overflown(), [&Metric::Samples]);
        let measure =
            |name: &str| Event::from(Section::of(Metric::other(name, Unit::Count), half, []));
        profile.events = vec![measure("cycles"), measure("misses")];
        assert!(profile.overflown().is_empty(), "two sums");
        profile.events.push(measure("cycles"));
        assert_eq!(profile.overflown(), [&Metric::other("cycles", Unit::Count)]);
    }
}
