//! The times of a page's numbers, for the strip above the graph: numbers by node, thread and bin of
//! time. A page of hours has longer bins, so its size stays bounded.

use std::collections::BTreeMap;

use perk_profile::{
    KeyedMap, Metric, NodeId, Profile, StrId, ThreadId, Timeline, TimelineHead, TimelineRow,
    TraceId,
};
use serde::{Deserialize, Serialize};

use super::data::{FrameColumns, NodeColumns, NodeKind, same_length};
use super::index::index;
use crate::Error;
use crate::builder::ProfileBuilder;

/// The most bins of a page.
const MAX_BINS: u64 = 1000;
/// The most rows of a page, unless its tree has more nodes.
const MAX_ROWS: usize = 200_000;
/// The most threads that are distinguished. The others, those with least, are one.
const MAX_THREADS: usize = 11;

/// When the numbers were taken, one column per property of a row.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TimeColumns {
    /// The length of a bin, in nanoseconds.
    bin_ns: u64,
    /// The time of the first bin since the recording's start, in nanoseconds.
    begin_ns: u64,
    /// The number of bins.
    bins: u64,
    /// The names of the threads, those with most first.
    threads: Vec<String>,
    /// The number of other threads, which are the one after these.
    other_threads: u64,
    /// The bin, minus the bin of the previous row.
    bin: Vec<u64>,
    /// The index of the thread.
    thread: Vec<u32>,
    /// The index of the node in which the numbers end.
    node: Vec<u32>,
    /// The number.
    count: Vec<u64>,
}

/// A row's bin, thread and node.
type BinRow = (u64, u32, u32);

impl TimeColumns {
    /// Returns the times of a metric; `None` if the profile has none. `ends` has the nodes of the
    /// traces.
    pub(super) fn of(
        profile: &Profile,
        metric: &Metric,
        ends: &[(TraceId, u32)],
        nodes: &NodeColumns,
        frames: &FrameColumns,
    ) -> Option<Self> {
        let timelines = || profile.timelines().filter(|it| it.head.metric == *metric);
        let rows = || timelines().flat_map(|it| it.rows.iter().map(|row| (&it.head, row)));
        let tick_ns = timelines().map(|it| it.head.tick_ns).max()?;
        let end_ns = timelines().map(|it| it.head.end_ns).max()?;
        let last_ns = rows().map(|(head, row)| head.time_ns(row.tick)).max()?;
        let end_ns = end_ns.max(last_ns.saturating_add(1));
        let begin_ns = timelines().map(|it| it.head.begin_ns).min()?;
        let threads = ThreadNames::of(profile, rows().map(|it| it.1));
        let below_cutoff = (0..nodes.level.len())
            .find(|&node| frames.kind[nodes.frame[node] as usize] == NodeKind::BelowCutoff);
        let node = |trace: TraceId| {
            let place = ends.binary_search_by_key(&trace, |end| end.0).ok();
            place.map(|place| ends[place].1).or(below_cutoff.map(index))
        };
        let length_ns = end_ns - begin_ns;
        let most = length_ns.div_ceil(tick_ns).div_ceil(MAX_BINS).max(1);
        let mut bin_ns = tick_ns.saturating_mul(most);
        let mut places: BTreeMap<BinRow, u64> = BTreeMap::new();
        for (head, row) in rows() {
            let Some(node) = node(row.trace) else { continue };
            let bin = (head.time_ns(row.tick) - begin_ns) / bin_ns;
            add(&mut places, (bin, threads.place(profile, row.thread), node), row.count);
        }
        let most = MAX_ROWS.max(nodes.level.len());
        while places.len() > most && bin_ns < length_ns {
            bin_ns = bin_ns.saturating_mul(2);
            let finer = std::mem::take(&mut places);
            for ((bin, thread, node), count) in finer {
                add(&mut places, (bin / 2, thread, node), count);
            }
        }
        let text = |name: &StrId| profile.symbols.strings.get(*name).to_owned();
        let mut times = Self {
            bin_ns,
            begin_ns,
            bins: length_ns.div_ceil(bin_ns),
            threads: threads.names.iter().map(text).collect(),
            other_threads: threads.other_count,
            ..Self::default()
        };
        let mut last = 0;
        for ((bin, thread, node), count) in places {
            times.bin.push(bin - last);
            times.thread.push(thread);
            times.node.push(node);
            times.count.push(count);
            last = bin;
        }
        (!times.bin.is_empty()).then_some(times)
    }

    /// Returns what the page has as a timeline of samples. `ends` are the threads and call paths of
    /// the nodes.
    pub(super) fn timeline(
        &self,
        builder: &mut ProfileBuilder,
        ends: &[Option<(Option<ThreadId>, NodeId)>],
    ) -> Result<Timeline, Error> {
        same_length("times.thread", self.thread.len(), self.bin.len())?;
        same_length("times.node", self.node.len(), self.bin.len())?;
        same_length("times.count", self.count.len(), self.bin.len())?;
        if self.bin_ns == 0 {
            let expected = "a length that is not 0";
            return Err(Error::Entry { table: "times.bin_ns", index: 0, expected });
        }
        let mut names: Vec<Option<ThreadId>> = Vec::new();
        let mut tick = 0_u64;
        let mut rows = Vec::with_capacity(self.bin.len());
        for row in 0..self.bin.len() {
            let error = |table, expected| Error::Entry { table, index: row, expected };
            tick = tick.saturating_add(self.bin[row]);
            let end = ends.get(self.node[row] as usize);
            let end = end.ok_or_else(|| error("times.node", "an index of nodes"))?;
            // Numbers below the cutoff have no trace.
            let Some((thread, node)) = *end else { continue };
            if names.is_empty() {
                names = self.threads.iter().map(|name| Some(builder.thread(name))).collect();
            }
            let of_row = match names.get(self.thread[row] as usize) {
                Some(name) => *name,
                None if self.thread[row] as usize == names.len() => None,
                None => return Err(error("times.thread", "an index of threads")),
            };
            let trace = builder.profile.trace(node, thread);
            let thread = thread.or(of_row);
            rows.push(TimelineRow { tick, thread, trace, count: self.count[row] });
        }
        let length_ns = self.bins.saturating_mul(self.bin_ns);
        let head = TimelineHead {
            metric: Metric::Samples,
            tick_ns: self.bin_ns,
            begin_ns: self.begin_ns,
            end_ns: self.begin_ns.saturating_add(length_ns),
        };
        Ok(Timeline { head, rows: rows.into() })
    }
}

fn add(places: &mut BTreeMap<BinRow, u64>, place: BinRow, count: u64) {
    let sum = places.entry(place).or_default();
    *sum = sum.saturating_add(count);
}

/// The threads that are distinguished, by name.
struct ThreadNames {
    names: Vec<StrId>,
    places: KeyedMap<StrId, u32>,
    other_count: u64,
}

impl ThreadNames {
    fn of<'r>(profile: &Profile, rows: impl Iterator<Item = &'r TimelineRow>) -> Self {
        let mut counts: KeyedMap<Option<StrId>, u64> = KeyedMap::default();
        for row in rows {
            let name = row.thread.map(|thread| profile.get_thread(thread).name);
            let sum = counts.entry(name).or_default();
            *sum = sum.saturating_add(row.count);
        }
        let text = |name: StrId| profile.symbols.strings.get(name);
        let mut named: Vec<(StrId, u64)> =
            counts.iter().filter_map(|(name, count)| Some(((*name)?, *count))).collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| text(a.0).cmp(text(b.0))));
        let other_count = counts.len() - named.len().min(MAX_THREADS);
        named.truncate(MAX_THREADS);
        let names: Vec<StrId> = named.into_iter().map(|it| it.0).collect();
        let places = names.iter().copied().zip(0..).collect();
        Self { names, places, other_count: other_count as u64 }
    }

    /// Returns the index of a thread, or the one after all for other threads.
    fn place(&self, profile: &Profile, thread: Option<ThreadId>) -> u32 {
        let name = thread.map(|thread| profile.get_thread(thread).name);
        let place = name.and_then(|name| self.places.get(&name).copied());
        place.unwrap_or_else(|| index(self.names.len()))
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Event, TICK_NS, Thread};

    use super::super::{read, write};
    use crate::collapsed;
    use crate::file_format::View;

    use super::*;

    /// A profile of two stacks on several threads: a sample each tick.
    fn timed(ticks: u64, threads: u64) -> Profile {
        let text = format!("T.main;T.a {}\nT.main;T.b {}\n", ticks / 2, ticks - ticks / 2);
        let mut profile = collapsed::read(text.as_bytes()).unwrap();
        let traces: Vec<_> = profile.total_cpu_samples().rows.iter().map(|row| row.0).collect();
        let mut ids = Vec::new();
        for number in 0..threads {
            let name = profile.symbols.strings.intern(&format!("t{number}"));
            let serial = 200_001 + number as u32;
            let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
            ids.push(profile.push_thread(thread));
        }
        let row = |tick: u64| TimelineRow {
            tick,
            thread: Some(ids[(tick * tick % threads) as usize]),
            trace: traces[usize::from(tick >= ticks / 2)],
            count: 1,
        };
        let head = TimelineHead {
            metric: Metric::Samples,
            tick_ns: TICK_NS,
            begin_ns: 0,
            end_ns: ticks * TICK_NS,
        };
        let rows = (0..ticks).map(row).collect();
        profile.events.push(Event::Timeline(Timeline { head, rows }));
        profile
    }

    fn page(profile: &Profile) -> String {
        let mut out = Vec::new();
        write(&View::new(profile, "test"), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn totals(profile: &Profile, border_ns: u64) -> [u64; 2] {
        let mut totals = [0; 2];
        for timeline in profile.timelines() {
            for row in &timeline.rows {
                totals[usize::from(timeline.head.time_ns(row.tick) >= border_ns)] += row.count;
            }
        }
        totals
    }

    #[test]
    fn times_read_back() {
        let profile = timed(500, 3);
        let html = page(&profile);
        let read = read(html.as_bytes()).unwrap();
        assert_eq!(totals(&read, 250 * TICK_NS), [250, 250]);
        assert_eq!(read.recorded_ns(), 500 * TICK_NS);
        assert_eq!(read.timelines().next().unwrap().rows.len(), 500);
        assert_eq!(page(&read), html);
    }

    #[test]
    fn pages_of_hours_have_longer_bins_and_busy_threads() {
        let html = page(&timed(720_000, 40));
        assert!(html.len() < 400_000, "{}", html.len());
        assert!(html.contains(r#""bin_ns":7200000000,"begin_ns":0,"bins":1000,"#));
        let read = read(html.as_bytes()).unwrap();
        assert_eq!(totals(&read, 360_000 * TICK_NS), [360_000, 360_000]);
        assert!(read.threads.len() <= MAX_THREADS);
    }

    #[test]
    fn without_times_the_page_has_nothing_of_them() {
        let mut profile = timed(100, 1);
        profile.events.retain(|event| !matches!(event, Event::Timeline(_)));
        let html = page(&profile);
        assert!(!html.contains("\"times\":{"), "{html}");
    }

    #[test]
    fn wrong_times_are_refused() {
        let html = page(&timed(10, 1));
        for (from, to, message) in [
            (r#""bin_ns":10000000"#, r#""bin_ns":0"#, "times.bin_ns[0]"),
            (r#""thread":[0,"#, r#""thread":[7,"#, "times.thread[0]"),
            (r#""node":[1,"#, r#""node":[9,"#, "times.node[0]"),
            (r#""thread":[0,"#, r#""thread":["#, "times.thread[9]"),
        ] {
            assert!(html.contains(from), "{from} {html}");
            let error = read(html.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
