//! A part of a recording: the samples from one time to another.

use std::collections::BTreeMap;

use perk_profile::units::plural;
use perk_profile::{Column, Event, Key, Metric, Profile, Section, SectionHead, Span, TraceId};

use crate::times;

/// A window of time. Times are in nanoseconds since the recording's start, which in perk's own files
/// is the start of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its begin; `None` for the recording's start.
    pub from_ns: Option<u64>,
    /// Its end, which is no part of it; `None` for the recording's end.
    pub to_ns: Option<u64>,
}

/// A window of a recording that has times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowExtent {
    /// The start of the window, in nanoseconds.
    pub from_ns: u64,
    /// Its end, not later than the recording's.
    pub to_ns: u64,
    /// The length of the recording, in nanoseconds.
    pub recorded_ns: u64,
    /// The precision of the times, in nanoseconds: a sample belongs to the window in which its tick
    /// begins.
    pub tick_ns: u64,
    /// What is left out, as its times are not known: names of metrics and documents.
    pub left_out: Vec<String>,
    /// The numbers of shown metrics whose times are not known, in words.
    pub without_time: Vec<String>,
}

/// The reason why there is no such window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowError {
    /// The profile has no times.
    NoTimes,
    /// The window ends before it begins.
    Empty,
    /// The recording, of this length in nanoseconds, ends before the window begins.
    Outside(u64),
}

impl Window {
    /// Whether the window is the whole recording, with or without times.
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }

    /// Leaves in `profile` the samples of the window. Totals are the window's. What has no times is
    /// of the whole run, and is left out.
    ///
    /// # Errors
    /// [`WindowError`]; the profile is then as it was.
    pub fn apply(self, profile: &mut Profile) -> Result<WindowExtent, WindowError> {
        if profile.timelines().next().is_none() {
            return Err(WindowError::NoTimes);
        }
        let recorded_ns = profile.recorded_ns();
        let from_ns = self.from_ns.unwrap_or(0);
        if self.to_ns.is_some_and(|to_ns| to_ns <= from_ns) {
            return Err(WindowError::Empty);
        }
        if from_ns > 0 && from_ns >= recorded_ns {
            return Err(WindowError::Outside(recorded_ns));
        }
        // The last tick may begin where the recording ends.
        let to_ns = self.to_ns.filter(|&it| it < recorded_ns).unwrap_or(u64::MAX);
        let mut shown = WindowExtent {
            from_ns,
            to_ns: to_ns.min(recorded_ns),
            recorded_ns,
            tick_ns: profile.timelines().map(|it| it.head.tick_ns).max().unwrap_or(0),
            left_out: Vec::new(),
            without_time: Vec::new(),
        };
        let metrics = times::metrics(profile);
        for metric in &metrics {
            let timed = profile.timelines().filter(|it| it.head.metric == *metric);
            let timed = timed.map(|it| it.total()).fold(0, u64::saturating_add);
            match metric.total(profile).saturating_sub(timed) {
                0 => {}
                rest if *metric == Metric::Samples => {
                    shown.without_time.push(plural(rest, "sample"));
                }
                rest => shown.without_time.push(format!("{rest} of {}", metric.name())),
            }
        }
        for event in &mut profile.events {
            match event {
                Event::Timeline(timeline) => timeline.retain_window(from_ns, to_ns),
                Event::Pauses(pauses) => {
                    pauses.retain(|it| (from_ns..to_ns).contains(&it.begin_ns));
                }
                Event::TimeSeries(series) => series.retain_window(from_ns, to_ns),
                _ => {}
            }
        }
        let mut sections: Vec<_> =
            metrics.iter().map(|metric| (metric, Some(section(profile, metric)))).collect();
        let mut left_out = Vec::new();
        let events = std::mem::take(&mut profile.events);
        for event in events {
            match event {
                Event::Section(whole) => {
                    for column in &whole.head.columns {
                        let place = sections.iter().position(|it| *it.0 == column.metric);
                        match place {
                            Some(place) => {
                                profile.events.extend(sections[place].1.take().map(Event::from));
                            }
                            None => left_out.push(column.metric.name().to_owned()),
                        }
                    }
                }
                Event::HeapSummary(_) => left_out.push("heap summaries".to_owned()),
                Event::Wait(_) => left_out.push("waits".to_owned()),
                Event::MonitorDump(_) => left_out.push("monitor dumps".to_owned()),
                Event::FieldAccesses(_) => left_out.push("field accesses by object".to_owned()),
                Event::Heap(_) => left_out.push("heap dumps by class".to_owned()),
                event @ (Event::ThreadStart(_)
                | Event::ThreadEnd(_)
                | Event::ClassUnload(_)
                | Event::Timeline(_)
                | Event::Pauses(_)
                | Event::TimeSeries(_)) => profile.events.push(event),
            }
        }
        profile.events.extend(sections.into_iter().filter_map(|it| it.1).map(Event::from));
        for what in left_out {
            if !shown.left_out.contains(&what) {
                shown.left_out.push(what);
            }
        }
        Ok(shown)
    }
}

/// Returns the section of what is left in the timelines of a metric.
fn section(profile: &Profile, metric: &Metric) -> Section {
    let mut counts: BTreeMap<TraceId, u64> = BTreeMap::new();
    for timeline in profile.timelines().filter(|it| it.head.metric == *metric) {
        for row in &timeline.rows {
            let sum = counts.entry(row.trace).or_default();
            *sum = sum.saturating_add(row.count);
        }
    }
    let total = counts.values().copied().fold(0, u64::saturating_add);
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|&(trace, count)| (std::cmp::Reverse(count), trace));
    let column = Column { period: metric.period(profile), ..Column::new(metric.clone(), total) };
    let last = profile.sections().filter(|it| it.head.has(std::slice::from_ref(metric))).last();
    let written = last.and_then(|section| section.head.written);
    let head = SectionHead { span: Span::SinceLast, written, ..SectionHead::new([column]) };
    Section::with_rows(head, rows.into_iter().map(|(trace, count)| (Key::from(trace), [count])))
}

#[cfg(test)]
mod tests {
    use perk_profile::{Timeline, TimelineHead, TimelineRow};

    use super::*;
    use crate::fixture::{push_metric, push_samples, push_times};

    const MS: u64 = 1_000_000;

    /// Samples of `T.a` in the first 100 ms, then of `T.b` up to 300 ms.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        push_samples(&mut profile, &[("T.a<T.main", 10), ("T.b<T.main", 25)]);
        push_times(&mut profile, &[("T.a", None, 3, 10)]);
        push_metric(&mut profile, "misses", &[("T.a", 5)]);
        let traces: Vec<_> =
            Metric::Samples.rows(&profile).rows.iter().map(|it| it.0.trace).collect();
        let row = |tick, trace| TimelineRow { tick, thread: None, trace, count: 1 };
        for (begin_ns, ticks, trace) in [(0, 10, traces[0]), (100 * MS, 20, traces[1])] {
            let end_ns = begin_ns + ticks * 10 * MS;
            let head = TimelineHead { metric: Metric::Samples, tick_ns: 10 * MS, begin_ns, end_ns };
            let rows = (0..ticks).map(|tick| row(tick, trace)).collect();
            profile.events.push(Event::Timeline(Timeline { head, rows }));
        }
        profile
    }

    fn window(from_ms: Option<u64>, to_ms: Option<u64>) -> Window {
        Window { from_ns: from_ms.map(|ms| ms * MS), to_ns: to_ms.map(|ms| ms * MS) }
    }

    fn shown(window: Window) -> Vec<u64> {
        let mut profile = profile();
        window.apply(&mut profile).unwrap();
        Metric::Samples.rows(&profile).by_trace().iter().map(|it| it.1).collect()
    }

    #[test]
    fn windows_add_up() {
        assert_eq!(shown(window(Some(0), None)), [10, 20]);
        assert_eq!(shown(window(None, Some(100))), [10]);
        assert_eq!(shown(window(Some(100), None)), [20]);
        assert_eq!(shown(window(Some(50), Some(150))), [5, 5]);
        assert_eq!(shown(window(Some(250), Some(9000))), [5]);
    }

    #[test]
    fn what_has_no_times_is_left_out_and_named() {
        let mut profile = profile();
        let shown = window(Some(50), Some(150)).apply(&mut profile).unwrap();
        assert_eq!(shown.left_out, ["calls", "time", "total_time", "misses"]);
        assert_eq!(shown.without_time, ["5 samples"]);
        assert_eq!((shown.from_ns, shown.to_ns), (50 * MS, 150 * MS));
        assert_eq!((shown.recorded_ns, shown.tick_ns), (300 * MS, 10 * MS));
        assert_eq!(Metric::all_of(&profile), [Metric::Samples]);
        assert_eq!(profile.timelines().map(Timeline::total).sum::<u64>(), 10);
        let again = window(Some(50), None).apply(&mut profile).unwrap();
        assert_eq!((again.recorded_ns, &*again.left_out), (150 * MS, &[][..]));
    }

    #[test]
    fn impossible_windows_are_refused() {
        for (from, to, error) in [
            (Some(2), Some(2), WindowError::Empty),
            (Some(3), Some(2), WindowError::Empty),
            (None, Some(0), WindowError::Empty),
            (Some(300), None, WindowError::Outside(300 * MS)),
            (Some(900), Some(1000), WindowError::Outside(300 * MS)),
        ] {
            let mut profile = profile();
            assert_eq!(window(from, to).apply(&mut profile), Err(error));
        }
        let untimed = window(Some(1), None).apply(&mut Profile::default());
        assert_eq!(untimed, Err(WindowError::NoTimes));
    }
}
