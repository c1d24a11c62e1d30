//! CPU time that one of two profiles has as samples and the other in nanoseconds.

use perk_profile::{Column, Key, Metric, Profile, Section, SectionHead, Unit};

/// The name under which both are compared.
const NAME: &str = "cpu";
/// The names of CPU time in profiles of other tools.
const NAMES: [&str; 2] = [NAME, "CPU time"];

/// The form in which a profile has its CPU time.
#[derive(Debug, PartialEq, Eq)]
struct CpuTime {
    metric: Metric,
    /// The nanoseconds that each of its numbers represents.
    each_ns: u64,
}

impl CpuTime {
    fn of(profile: &Profile) -> Option<Self> {
        let sampled = profile.sample_interval_ns().filter(|_| Metric::Samples.is_in(profile));
        if let Some(each_ns) = sampled {
            return Some(Self { metric: Metric::Samples, each_ns });
        }
        let mut others = NAMES.into_iter().map(|name| Metric::other(name, Unit::Nanoseconds));
        let metric = others.find(|metric| metric.is_in(profile))?;
        Some(Self { metric, each_ns: 1 })
    }

    /// The same numbers as nanoseconds.
    fn section(&self, profile: &Profile) -> Section {
        let numbers = self.metric.rows(profile);
        let period = match self.metric {
            Metric::Samples => Some(self.each_ns),
            _ => self.metric.period(profile),
        };
        let total = numbers.total.saturating_mul(self.each_ns);
        let column = Column { period, ..Column::new(named(), total) };
        let row = |(key, number): (Key, u64)| (key, [number.saturating_mul(self.each_ns)]);
        Section::with_rows(SectionHead::new([column]), numbers.rows.into_iter().map(row))
    }
}

fn named() -> Metric {
    Metric::other(NAME, Unit::Nanoseconds)
}

/// Adds CPU time in nanoseconds to profiles that have it in different units, so that a comparison
/// finds a common metric.
pub fn align_cpu_time(profiles: [&mut Profile; 2]) {
    let forms = profiles.each_ref().map(|profile| CpuTime::of(profile));
    let [Some(before), Some(after)] = &forms else { return };
    if before.metric == after.metric {
        return;
    }
    for (profile, form) in profiles.into_iter().zip([before, after]) {
        if form.metric != named() {
            let section = form.section(profile);
            profile.events.push(section.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{CpuSamples, Event};

    use super::*;
    use crate::diff::Diff;

    fn trace(profile: &mut Profile) -> perk_profile::TraceId {
        let class = profile.symbols.class("a.B");
        let name = profile.symbols.strings.intern("c");
        let method = perk_profile::Method { class, name, signature: None, source: None };
        let method = profile.symbols.method(method);
        let frame = perk_profile::Frame::new(method, perk_profile::Line::Unknown);
        let frame = profile.symbols.frame(frame);
        let node = profile.tree.insert([frame]);
        profile.trace(node, None)
    }

    fn sampled(interval_ns: Option<u64>) -> Profile {
        let mut profile = Profile::default();
        let rows = vec![(trace(&mut profile), 3)];
        let samples = CpuSamples { total: 3, rows, interval_ns, ..CpuSamples::default() };
        profile.events.push(Event::from(samples));
        profile
    }

    fn timed(name: &str, ns: u64) -> Profile {
        let mut profile = Profile::default();
        let metric = Metric::other(name, Unit::Nanoseconds);
        let rows = [(trace(&mut profile), ns)];
        profile.events.push(Section::of(metric, ns, rows).into());
        profile
    }

    #[test]
    fn samples_are_compared_with_times() {
        for (mut before, mut after) in [
            (sampled(Some(10)), timed("cpu", 31)),
            (sampled(Some(10)), timed("CPU time", 31)),
            (timed("CPU time", 30), timed("cpu", 31)),
        ] {
            align_cpu_time([&mut before, &mut after]);
            let diff = Diff::new(&before, &after);
            let cpu = diff.metric(&named()).unwrap();
            assert_eq!((cpu.total.before, cpu.total.after), (30, 31));
            assert_eq!(cpu.methods.len(), 1);
            assert_eq!((cpu.methods[0].before.own, cpu.methods[0].after.own), (30, 31));
        }
    }

    #[test]
    fn what_is_comparable_already_stays() {
        for (mut before, mut after) in [
            (sampled(Some(10)), sampled(Some(20))),
            (timed("cpu", 3), timed("cpu", 4)),
            (sampled(None), timed("cpu", 4)),
        ] {
            align_cpu_time([&mut before, &mut after]);
            assert_eq!((before.events.len(), after.events.len()), (1, 1));
        }
    }
}
