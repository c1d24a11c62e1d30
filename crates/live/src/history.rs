//! What was recorded so far: each increment of the last ten minutes, and the sum of the older ones.

use std::collections::VecDeque;
use std::time::Duration;

use perk_profile::{Accounting, Event, Profile, Section, Span};

/// The time for which each increment is kept.
const KEPT: Duration = Duration::from_secs(600);
/// The number of increments that are added to the sum at once.
const ADDED_AT_ONCE: usize = 60;

/// The part of a recording that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// The last of it.
    Last(Duration),
    /// From its beginning.
    All,
}

impl Range {
    /// The ranges that views offer, shortest first.
    pub const OFFERED: [Self; 3] =
        [Self::Last(Duration::from_secs(10)), Self::Last(Duration::from_secs(60)), Self::All];

    /// Its name in views.
    pub fn title(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Last(time) if time.as_secs() % 60 == 0 => {
                format!("last {} min", time.as_secs() / 60)
            }
            Self::Last(time) => format!("last {} s", time.as_secs()),
        }
    }
}

/// An increment.
#[derive(Debug)]
struct Increment {
    events: Vec<Event>,
    /// The accounting at its end.
    accounting: Accounting,
}

/// The increments; see the module.
#[derive(Debug, Default)]
pub struct History {
    recent: VecDeque<Increment>,
    /// The sections of the older ones, added up.
    older: Vec<Event>,
    /// The accounting at the end of the older ones.
    older_end: Accounting,
}

/// A part of a recording.
#[derive(Clone, Debug)]
pub struct Moment {
    /// What was measured in the range. Its accounting is that of the range.
    pub profile: Profile,
    /// The accounting since the recording began.
    pub accounting: Accounting,
    /// The time of the range that was recorded.
    pub recorded: Duration,
}

impl History {
    /// Adds an increment of a recording whose symbols are those of `profile`, which has no events.
    pub fn push(&mut self, profile: &Profile, events: Vec<Event>) {
        let accounting = profile.accounting.clone().unwrap_or_default();
        let now_ns = accounting.wall_ns;
        self.recent.push_back(Increment { events, accounting });
        let kept_ns = KEPT.as_nanos() as u64;
        let is_old = |it: &&Increment| it.accounting.wall_ns.saturating_add(kept_ns) < now_ns;
        let old = self.recent.iter().take_while(is_old).count();
        if old >= ADDED_AT_ONCE {
            self.add_up(profile, old);
        }
    }

    /// Adds the first `count` increments to the sum of the older ones.
    fn add_up(&mut self, profile: &Profile, count: usize) {
        let mut sum = profile.clone();
        sum.events = std::mem::take(&mut self.older);
        for increment in self.recent.drain(..count) {
            self.older_end = increment.accounting;
            // Times of samples are kept for the increments alone.
            let numbers = |event: &Event| matches!(event, Event::Section(_));
            sum.events.extend(increment.events.into_iter().filter(numbers));
        }
        sum.join_sections();
        self.older = sum.events;
    }

    /// The part of the recording in a range that ends at `until` of the recording, or now; with the symbols of
    /// `profile`, which has no events.
    pub fn moment(&self, profile: &Profile, range: Range, until: Option<Duration>) -> Moment {
        let until_ns = until.map_or(u64::MAX, |until| until.as_nanos() as u64);
        let (before, events) = self.recent.as_slices();
        let all = before.iter().chain(events).take_while(|it| it.accounting.wall_ns <= until_ns);
        let all: Vec<&Increment> = all.collect();
        let accounting = all.last().map_or(&self.older_end, |last| &last.accounting).clone();
        let begin_ns = match range {
            Range::All => 0,
            Range::Last(time) => accounting.wall_ns.saturating_sub(time.as_nanos() as u64),
        };
        // An increment counts if it ends within the range.
        let skipped = all.iter().take_while(|it| it.accounting.wall_ns <= begin_ns).count();
        let skipped = if range == Range::All { 0 } else { skipped };
        let mut moment = profile.clone();
        let then = match (range, skipped) {
            (Range::All, _) => Accounting::default(),
            (_, 0) => self.older_end.clone(),
            (_, count) => all[count - 1].accounting.clone(),
        };
        if range == Range::All {
            moment.events.clone_from(&self.older);
        }
        for increment in &all[skipped..] {
            moment.events.extend(increment.events.iter().cloned());
        }
        if range != Range::All {
            let earlier = self.older.iter().chain(all[..skipped].iter().flat_map(|it| &it.events));
            only_new(&mut moment.events, earlier);
        }
        moment.join_sections();
        let of_range = accounting.since(&then);
        let recorded = Duration::from_nanos(of_range.wall_ns);
        moment.accounting = Some(of_range);
        Moment { profile: moment, accounting, recorded }
    }
}

/// Replaces the sections that count since the start by what is new in them since the `earlier` events.
fn only_new<'e>(events: &mut Vec<Event>, earlier: impl Iterator<Item = &'e Event>) {
    let is_total = |section: &Section| section.head.span == Span::SinceStart;
    let metrics = |section: &Section| -> Vec<_> {
        section.head.columns.iter().map(|column| column.metric.clone()).collect()
    };
    let mut last: Vec<(Vec<_>, &Section)> = Vec::new();
    for event in earlier {
        if let Event::Section(section) = event
            && is_total(section)
        {
            let its = metrics(section);
            last.retain(|(other, _)| *other != its);
            last.push((its, section));
        }
    }
    let mut is_last: Vec<Vec<_>> = Vec::new();
    for event in events.iter_mut().rev() {
        let Event::Section(section) = event else { continue };
        if !is_total(section) {
            continue;
        }
        let its = metrics(section);
        if is_last.contains(&its) {
            *section = Section::new(section.head.clone());
            continue;
        }
        if let Some((_, then)) = last.iter().find(|(other, _)| *other == its) {
            *section = section.since(then);
        }
        is_last.push(its);
    }
    events.retain(|event| !matches!(event, Event::Section(section) if is_total(section) && section.is_empty()));
}

#[cfg(test)]
mod tests {
    use perk_profile::{Column, Key, Metric, SectionHead};

    use super::*;

    /// A second of 10 samples, and a total of 100 bytes more than before.
    fn second(number: u64) -> (Profile, Vec<Event>) {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        profile.accounting =
            Some(Accounting { wall_ns: number * 1_000_000_000, ..Accounting::default() });
        let samples = Section::of(Metric::Samples, 10, [(trace, 10)]);
        let head = SectionHead {
            span: Span::SinceStart,
            ..SectionHead::new([Column::new(Metric::AllocatedBytes, 100 * number)])
        };
        let bytes = Section::with_rows(head, [(Key::from(trace), [100 * number])]);
        (profile, vec![Event::Section(samples), Event::Section(bytes)])
    }

    fn totals(moment: &Moment) -> [u64; 2] {
        let sum =
            |metric: Metric| metric.rows(&moment.profile).by_trace().iter().map(|it| it.1).sum();
        [sum(Metric::Samples), sum(Metric::AllocatedBytes)]
    }

    #[test]
    fn a_range_has_what_was_measured_in_it() {
        let mut history = History::default();
        let mut last = Profile::default();
        for number in 1..=1500 {
            let (profile, events) = second(number);
            history.push(&profile, events);
            last = profile;
            let at = |range| totals(&history.moment(&last, range, None));
            let (of_ten, all) = (at(Range::OFFERED[0]), at(Range::All));
            assert_eq!(of_ten, [10 * number.min(10), 100 * number.min(10)], "{number}");
            assert_eq!(all, [10 * number, 100 * number], "{number}");
        }
        let earlier = history.moment(&last, Range::OFFERED[0], Some(Duration::from_secs(1400)));
        assert_eq!(
            (totals(&earlier), earlier.accounting.wall_ns),
            ([100, 1000], 1_400_000_000_000)
        );
        let moment = history.moment(&last, Range::OFFERED[1], None);
        assert_eq!((totals(&moment), moment.recorded.as_secs()), ([600, 6000], 60));
        assert_eq!(moment.accounting.wall_ns, 1_500_000_000_000);
        // The older increments are a sum: memory does not grow with time.
        assert!(history.recent.len() <= 601 + ADDED_AT_ONCE);
        assert_eq!(history.older.len(), 2);
    }

    #[test]
    fn ranges_have_names() {
        let titles = Range::OFFERED.map(Range::title);
        assert_eq!(titles, ["last 10 s", "last 1 min", "all"]);
    }
}
