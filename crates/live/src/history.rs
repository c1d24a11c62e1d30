//! What was recorded so far: each increment of the last ten minutes, and the sum of the older ones.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use perk_profile::units::duration;
use perk_profile::{Accounting, Event, KeyedSet, Metric, Profile, Section, Span, ThreadId};

/// The time for which each increment is kept.
const KEPT: Duration = Duration::from_secs(600);
/// The length of a tick of the states of threads, which are many numbers.
const STATE_TICK_NS: u64 = 1_000_000_000;
/// The number of increments that are added to the sum at once.
const ADDED_AT_ONCE: usize = 60;
/// The most rows of all increments that are kept: of a recording with more, they are kept for a shorter time.
const MOST_ROWS: usize = 2_000_000;
/// The increments that are kept whatever their size.
const LEAST: usize = 70;

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

/// A part of a recording that stays the same: the increments that end after `from_ns` of the recording, and not
/// after `to_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stretch {
    /// Where it begins.
    pub from_ns: u64,
    /// Where it ends.
    pub to_ns: u64,
}

/// A part of a recording is no longer known by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTooOld {
    /// The begin of what is known second by second.
    pub from_ns: u64,
}

impl fmt::Display for PartTooOld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = duration(self.from_ns);
        write!(
            f,
            "the seconds before {from} of the recording are known only as a sum: choose a later part, or all"
        )
    }
}

impl std::error::Error for PartTooOld {}

/// An increment.
#[derive(Debug)]
struct Increment {
    /// What adds up, and what is no section.
    events: Vec<Event>,
    /// What is new in the sections that count since the start.
    new: Vec<Event>,
    /// The accounting at its end.
    accounting: Accounting,
    row_count: usize,
}

/// Sections that are added up.
#[derive(Debug, Default)]
struct Sum {
    /// Those that add up.
    events: Vec<Event>,
    /// The increments that are in it, counted from the first one.
    increment_count: u64,
}

/// The increments; see the module.
#[derive(Debug, Default)]
pub struct History {
    recent: VecDeque<Increment>,
    /// The rows of the recent ones.
    row_count: usize,
    /// The older ones.
    older: Sum,
    /// What the older ones had new in the sections that count since the start.
    older_new: Vec<Event>,
    /// The accounting at the end of the older ones.
    older_end: Accounting,
    /// All of them, up to the time when all was asked for last.
    all: Sum,
    /// The last of each section that counts since the start.
    totals: Vec<Section>,
    /// The threads whose names have come.
    named: KeyedSet<ThreadId>,
}

/// A part of a recording.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// What was measured in it. Its accounting is that of the part.
    pub profile: Profile,
    /// The accounting since the recording began, at its end.
    pub accounting: Accounting,
    /// The time that was recorded in it.
    pub recorded: Duration,
}

fn is_total(section: &Section) -> bool {
    section.head.span == Span::SinceStart
}

fn metrics(section: &Section) -> impl Iterator<Item = &Metric> {
    section.head.columns.iter().map(|column| &column.metric)
}

fn row_count(event: &Event) -> usize {
    match event {
        Event::Section(section) => section.len(),
        Event::Timeline(timeline) => timeline.rows.len(),
        Event::TimeSeries(series) => series.numbers.len(),
        _ => 1,
    }
}

/// The events with sections of the same metrics added up.
fn joined(mut profile: Profile, events: impl Iterator<Item = Event>) -> Profile {
    profile.events = events.collect();
    profile.join_sections();
    profile
}

/// The sections among events. Times of samples are kept for the increments alone.
fn sections<'e>(events: impl Iterator<Item = &'e Event>) -> impl Iterator<Item = Event> {
    events.filter(|event| matches!(event, Event::Section(_))).cloned()
}

impl History {
    /// Adds an increment, whose sections that count since the start are replaced by what is new in them.
    pub fn push(&mut self, accounting: Accounting, events: Vec<Event>) {
        let (mut others, mut new) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Section(section) if is_total(&section) => {
                    let known = self.totals.iter().position(|it| metrics(it).eq(metrics(&section)));
                    let then = known.map(|place| self.totals.swap_remove(place));
                    let then = then.unwrap_or_else(|| Section::new(section.head.clone()));
                    let difference = section.since(&then);
                    new.extend((!difference.is_empty()).then_some(Event::Section(difference)));
                    self.totals.push(section);
                }
                Event::ThreadStart(thread) => drop(self.named.insert(thread)),
                Event::ThreadEnd(_) => {}
                Event::TimeSeries(mut series) if series.metric == Metric::WallTime => {
                    series.coarsen(STATE_TICK_NS);
                    others.push(Event::TimeSeries(series));
                }
                other => others.push(other),
            }
        }
        let row_count = others.iter().chain(&new).map(row_count).sum();
        self.row_count += row_count;
        self.recent.push_back(Increment { events: others, new, accounting, row_count });
    }

    /// The number of increments that are to be added to the sum.
    pub fn old_count(&self) -> usize {
        let now_ns = self.recent.back().map_or(0, |last| last.accounting.wall_ns);
        let kept_ns = KEPT.as_nanos() as u64;
        let is_old = |it: &&Increment| it.accounting.wall_ns.saturating_add(kept_ns) < now_ns;
        let old = self.recent.iter().take_while(is_old).count();
        let most = self.recent.len().saturating_sub(LEAST);
        match self.row_count > MOST_ROWS {
            true => old.max(self.recent.len() / 2).min(most),
            false => old.min(most) / ADDED_AT_ONCE * ADDED_AT_ONCE,
        }
    }

    /// Adds the first `count` increments to the sum of the older ones. `symbols` is a profile with the symbols of
    /// all increments, and without events.
    pub fn add_up(&mut self, symbols: &Profile, count: usize) {
        let count = count.min(self.recent.len());
        let (mut events, mut new) =
            (std::mem::take(&mut self.older.events), std::mem::take(&mut self.older_new));
        for increment in self.recent.drain(..count) {
            self.row_count -= increment.row_count;
            self.older.increment_count += 1;
            self.older_end = increment.accounting;
            events.extend(sections(increment.events.iter()));
            new.extend(increment.new);
        }
        self.older.events = joined(symbols.clone(), events.into_iter()).events;
        self.older_new = joined(symbols.clone(), new.into_iter()).events;
    }

    /// The accounting at the end of the last increment.
    fn last(&self) -> &Accounting {
        self.recent.back().map_or(&self.older_end, |last| &last.accounting)
    }

    /// The range that ends at `until` of the recording, or now.
    pub fn stretch(&self, range: Range, until: Option<Duration>) -> Stretch {
        let until_ns = until.map_or(u64::MAX, |until| until.as_nanos() as u64);
        let ends = || self.recent.iter().rev().map(|it| it.accounting.wall_ns);
        let older_ns = self.older_end.wall_ns;
        let to_ns = ends().find(|&end_ns| end_ns <= until_ns).unwrap_or(older_ns);
        let from_ns = match range {
            Range::All => 0,
            Range::Last(time) => {
                let begin_ns = to_ns.saturating_sub(time.as_nanos() as u64);
                ends().find(|&end_ns| end_ns <= begin_ns).unwrap_or(older_ns)
            }
        };
        Stretch { from_ns, to_ns }
    }

    /// A part of the recording. `symbols` is a profile with the symbols of all increments, and without events.
    ///
    /// # Errors
    /// Its increments are added up with others.
    pub fn moment(&mut self, symbols: Profile, stretch: Stretch) -> Result<Moment, PartTooOld> {
        let older_ns = self.older_end.wall_ns;
        let is_split = |ns: u64| 0 < ns && ns < older_ns;
        if is_split(stretch.from_ns) || is_split(stretch.to_ns) {
            return Err(PartTooOld { from_ns: older_ns });
        }
        let first = self.recent.partition_point(|it| it.accounting.wall_ns <= stretch.from_ns);
        let end = self.recent.partition_point(|it| it.accounting.wall_ns <= stretch.to_ns);
        let end = end.max(first);
        let at = |place: usize| match place.checked_sub(1) {
            Some(before) => &self.recent[before].accounting,
            None => &self.older_end,
        };
        let accounting = at(end).clone();
        let from_begin = stretch.from_ns == 0;
        let then = if from_begin { Accounting::default() } else { at(first).clone() };
        let mut profile = match from_begin && end == self.recent.len() {
            true => self.whole(symbols),
            false => {
                let older = self.older.events.iter().chain(&self.older_new);
                let older = older.filter(|_| from_begin);
                let recent = self.recent.range(first..end);
                let recent = recent.flat_map(|it| it.events.iter().chain(&it.new));
                joined(symbols, older.chain(recent).cloned())
            }
        };
        self.introduce_threads(&mut profile);
        let of_part = accounting.since(&then);
        let recorded = Duration::from_nanos(of_part.wall_ns);
        profile.accounting = Some(of_part);
        Ok(Moment { profile, accounting, recorded })
    }

    /// All of the recording.
    fn whole(&mut self, symbols: Profile) -> Profile {
        if self.all.increment_count < self.older.increment_count {
            self.all.events.clone_from(&self.older.events);
            self.all.increment_count = self.older.increment_count;
        }
        let known = (self.all.increment_count - self.older.increment_count) as usize;
        let more = self.recent.range(known..).flat_map(|it| &it.events);
        let mut whole = joined(symbols, self.all.events.drain(..).chain(sections(more)));
        self.all.events.clone_from(&whole.events);
        self.all.increment_count += (self.recent.len() - known) as u64;
        whole.events.extend(self.totals.iter().cloned().map(Event::Section));
        let is_other = |event: &&Event| !matches!(event, Event::Section(_));
        whole.events.extend(self.recent.iter().flat_map(|it| &it.events).filter(is_other).cloned());
        whole.join_timelines();
        whole
    }

    /// Adds the starts of the threads that have numbers: files have the names of threads there.
    fn introduce_threads(&self, profile: &mut Profile) {
        let of_sections = profile.sections().flat_map(Section::traces);
        let of_timelines = profile.timelines().flat_map(|it| &it.rows);
        let of_timelines = of_timelines.map(|row| (row.thread, row.trace));
        let all = of_sections.map(|trace| (None, trace)).chain(of_timelines);
        let all = all.filter_map(|(thread, trace)| thread.or(profile.get_trace(trace).thread));
        let serials = profile.time_series().flat_map(|it| it.numbers.keys());
        let serials: KeyedSet<_> = serials.filter_map(|it| it.1.thread).collect();
        let of_series = (0..profile.threads.len()).map(ThreadId::new);
        let of_series = of_series.filter(|&it| serials.contains(&profile.get_thread(it).serial));
        let all = all.chain(of_series);
        let mut threads: Vec<_> = all.filter(|thread| self.named.contains(thread)).collect();
        threads.sort_unstable();
        threads.dedup();
        profile.events.splice(0..0, threads.into_iter().map(Event::ThreadStart));
    }

    /// The begin of what is known second by second.
    pub fn kept_from_ns(&self) -> u64 {
        self.older_end.wall_ns
    }

    /// The end of what was recorded.
    pub fn end_ns(&self) -> u64 {
        self.last().wall_ns
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Column, Key, SectionHead};

    use super::*;

    /// A second of 10 samples, and a total of 100 bytes more than before.
    fn push(history: &mut History, symbols: &Profile, number: u64) {
        let trace = symbols.system_trace();
        let samples = Section::of(Metric::Samples, 10, [(trace, 10)]);
        let head = SectionHead {
            span: Span::SinceStart,
            ..SectionHead::new([Column::new(Metric::AllocatedBytes, 100 * number)])
        };
        let bytes = Section::with_rows(head, [(Key::from(trace), [100 * number])]);
        let accounting = Accounting { wall_ns: number * 1_000_000_000, ..Accounting::default() };
        history.push(accounting, vec![Event::Section(samples), Event::Section(bytes)]);
        history.add_up(symbols, history.old_count());
    }

    fn totals(moment: &Moment) -> [u64; 2] {
        let sum =
            |metric: Metric| metric.rows(&moment.profile).by_trace().iter().map(|it| it.1).sum();
        [sum(Metric::Samples), sum(Metric::AllocatedBytes)]
    }

    /// The moment of a range that ends at a second, or now.
    fn moment(history: &mut History, range: Range, until_s: Option<u64>) -> Moment {
        let stretch = history.stretch(range, until_s.map(Duration::from_secs));
        history.moment(Profile::default(), stretch).unwrap()
    }

    #[test]
    fn a_range_has_what_was_measured_in_it() {
        let (mut history, symbols) = (History::default(), Profile::default());
        for number in 1..=1500 {
            push(&mut history, &symbols, number);
            let of_ten = totals(&moment(&mut history, Range::OFFERED[0], None));
            assert_eq!(of_ten, [10 * number.min(10), 100 * number.min(10)], "{number}");
            // All is not always asked for.
            if number % 7 == 0 || number < 20 {
                let all = totals(&moment(&mut history, Range::All, None));
                assert_eq!(all, [10 * number, 100 * number], "{number}");
            }
        }
        let earlier = moment(&mut history, Range::OFFERED[0], Some(1400));
        assert_eq!(
            (totals(&earlier), earlier.accounting.wall_ns),
            ([100, 1000], 1_400_000_000_000)
        );
        let of_minute = moment(&mut history, Range::OFFERED[1], None);
        assert_eq!((totals(&of_minute), of_minute.recorded.as_secs()), ([600, 6000], 60));
        assert_eq!(of_minute.accounting.wall_ns, 1_500_000_000_000);
        let until = moment(&mut history, Range::All, Some(1400));
        assert_eq!((totals(&until), until.recorded.as_secs()), ([14_000, 140_000], 1400));
        // The older increments are a sum: memory does not grow with time.
        assert!(history.recent.len() <= 601 + ADDED_AT_ONCE);
        assert_eq!((history.older.events.len(), history.older_new.len()), (1, 1));
        assert_eq!(history.all.events.len(), 1);
    }

    #[test]
    fn a_stretch_stays_the_same_and_is_refused_once_it_is_in_the_sum() {
        let (mut history, symbols) = (History::default(), Profile::default());
        (1..=30).for_each(|number| push(&mut history, &symbols, number));
        let stretch = history.stretch(Range::OFFERED[0], Some(Duration::from_millis(20_500)));
        assert_eq!(stretch, Stretch { from_ns: 10_000_000_000, to_ns: 20_000_000_000 });
        (31..=500).for_each(|number| push(&mut history, &symbols, number));
        let again = history.moment(Profile::default(), stretch).unwrap();
        assert_eq!((totals(&again), again.recorded.as_secs()), ([100, 1000], 10));
        (501..=700).for_each(|number| push(&mut history, &symbols, number));
        let refusal = history.moment(Profile::default(), stretch).unwrap_err();
        assert_eq!(refusal.from_ns, history.kept_from_ns());
        assert!(refusal.to_string().contains("known only as a sum"), "{refusal}");
        let all = history.moment(Profile::default(), Stretch { from_ns: 0, to_ns: u64::MAX });
        assert_eq!(totals(&all.unwrap()), [7000, 70_000]);
    }

    #[test]
    fn many_rows_are_kept_for_a_shorter_time() {
        let mut history = History::default();
        let mut symbols = Profile::default();
        let traces: Vec<_> = (0..20_000)
            .map(|index| {
                let class = symbols.symbols.class(&format!("C{index}"));
                let name = symbols.symbols.strings.intern("m");
                let method = perk_profile::Method { class, name, signature: None, source: None };
                let method = symbols.symbols.method(method);
                let line = perk_profile::Line::Unknown;
                let frame = symbols.symbols.frame(perk_profile::Frame::new(method, line));
                let node = symbols.tree.insert([frame]);
                symbols.trace(node, None)
            })
            .collect();
        for number in 1..=200 {
            let rows = traces.iter().map(|&trace| (trace, 1));
            let samples = Section::of(Metric::Samples, traces.len() as u64, rows);
            let wall_ns = number * 1_000_000_000;
            let accounting = Accounting { wall_ns, ..Accounting::default() };
            history.push(accounting, vec![Event::Section(samples)]);
            history.add_up(&symbols, history.old_count());
        }
        assert!(history.row_count <= MOST_ROWS && history.recent.len() >= LEAST / 2);
        assert!(history.kept_from_ns() > 0);
        let stretch = history.stretch(Range::All, None);
        let all = history.moment(symbols, stretch).unwrap();
        assert_eq!(totals(&all)[0], 200 * 20_000);
    }

    #[test]
    fn ranges_have_names() {
        let titles = Range::OFFERED.map(Range::title);
        assert_eq!(titles, ["last 10 s", "last 1 min", "all"]);
    }
}
