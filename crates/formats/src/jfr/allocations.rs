//! Allocations from the events of a recording: samples, and the events about threads' buffers.
//!
//! The JDK gives each sample the bytes that its thread has allocated since its last sample, which is
//! not always in the recording: the first sample of a thread represents also what it allocated before.
//! The recording has the bytes that each thread had allocated when a chunk began, so that this part is
//! known and is left out.

use perk_profile::{
    Allocations, ClassId, KeyedMap, KeyedSet, SeriesSubject, TimeSeriesBook, TraceId,
};

/// A recording continues where its chunks follow each other within this time. Between two recordings
/// in one file there is a gap.
const GAP_NS: u64 = 1_000_000_000;
/// The beginning of the names of the threads that carry virtual threads.
const CARRIER: &str = "ForkJoinPool";
/// The option with which the JVM records from its start on, and the one that delays that.
const FROM_START: &str = "StartFlightRecording";
const DELAYED: &str = "delay=";

/// Allocations by class and trace.
#[derive(Debug, Default)]
pub(super) struct SiteTally {
    pub(super) sites: KeyedMap<(ClassId, TraceId), Allocations>,
    pub(super) sample_count: u64,
}

impl SiteTally {
    pub(super) fn add(&mut self, class: ClassId, trace: TraceId, more: Allocations) {
        self.sites.entry((class, trace)).or_default().add(more);
        self.sample_count += 1;
    }

    pub(super) fn add_all(&mut self, other: Self) {
        for (site, more) in other.sites {
            self.sites.entry(site).or_default().add(more);
        }
        self.sample_count += other.sample_count;
    }
}

/// The JVM of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Jvm {
    pub(super) pid: u64,
    pub(super) start: i64,
    /// Whether it records from its start on.
    pub(super) records_from_start: bool,
}

impl Jvm {
    /// Whether the JVM's options make it record from its start on.
    pub(super) fn is_recording_from_start(options: &str) -> bool {
        options.contains(FROM_START) && !options.contains(DELAYED)
    }
}

/// The thread of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocator {
    /// A thread by the JVM's number, which no other thread of the JVM ever has.
    Thread(i64),
    /// A virtual thread: the bytes are those of the thread that carries it.
    Virtual,
    Unknown,
}

/// A sample of allocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct AllocationSample {
    /// The time, in ticks of the chunk.
    pub(super) time: i64,
    /// The time in nanoseconds since 1970, if it is known.
    pub(super) at_ns: Option<u64>,
    pub(super) thread: Allocator,
    pub(super) class: ClassId,
    pub(super) trace: TraceId,
    /// The serial number of the thread of the trace.
    pub(super) serial: Option<u32>,
    pub(super) bytes: u64,
    /// The number of objects; 0 if it is not known.
    pub(super) count: u64,
}

/// The bytes that a thread had allocated since its start.
#[derive(Clone, Copy, Debug)]
struct AllocationReading {
    time: i64,
    thread: i64,
    bytes: u64,
    is_carrier: bool,
}

/// The first reading of a thread since a recording began.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// `None` if it was in an earlier chunk.
    time: Option<i64>,
    bytes: u64,
    is_carrier: bool,
}

/// The events of a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkAllocations {
    samples: Vec<AllocationSample>,
    readings: Vec<AllocationReading>,
    started: KeyedSet<i64>,
    /// Whether events about threads' buffers were recorded. They cover the samples' allocations.
    has_buffers: bool,
    jvm: Option<Jvm>,
}

impl ChunkAllocations {
    pub(super) fn sample(&mut self, sample: AllocationSample) {
        self.samples.push(sample);
    }

    pub(super) fn reading(&mut self, time: i64, thread: i64, bytes: u64, name: &str) {
        let is_carrier = name.starts_with(CARRIER);
        self.readings.push(AllocationReading { time, thread, bytes, is_carrier });
    }

    pub(super) fn thread_start(&mut self, thread: i64) {
        self.started.insert(thread);
    }

    pub(super) fn buffers(&mut self) {
        self.has_buffers = true;
    }

    pub(super) fn jvm(&mut self, jvm: Jvm) {
        self.jvm = Some(jvm);
    }
}

/// What is known of a chunk besides its events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkFacts {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Whether the JDK wrote it. Other programs give each sample its own bytes.
    pub(super) is_of_jdk: bool,
    /// Whether samples were switched on, if the chunk says so.
    pub(super) is_sampled: Option<bool>,
}

/// The samples of all chunks.
#[derive(Debug, Default)]
pub(super) struct SampledAllocations {
    pub(super) tally: SiteTally,
    /// Their times since 1970.
    pub(super) series: TimeSeriesBook,
    /// The number of samples whose allocations the events about buffers have as well.
    pub(super) covered_count: u64,
    /// The bytes that threads had allocated before, and the number of these threads.
    pub(super) before_bytes: u64,
    pub(super) before_count: u64,
    /// First samples whose own part is not known. They count as much as an average one.
    unsettled: Vec<AllocationSample>,
    jvm: Option<Jvm>,
    /// The end of the last chunk, and whether samples were switched on in it.
    last_end_ns: Option<u64>,
    was_sampled: bool,
    /// What each thread had allocated when it was last sampled, in any recording of the JVM.
    sampled_bytes: KeyedMap<i64, u64>,
    /// The threads that were sampled, and those that began, since the recording began.
    sampled: KeyedSet<i64>,
    started: KeyedSet<i64>,
    bases: KeyedMap<i64, Base>,
    has_bases: bool,
}

impl SampledAllocations {
    /// Takes a chunk.
    pub(super) fn chunk(&mut self, mut chunk: ChunkAllocations, facts: ChunkFacts) {
        chunk.samples.sort_by_key(|sample| sample.time);
        chunk.readings.sort_by_key(|reading| reading.time);
        if facts.is_of_jdk {
            self.begin_chunk(&chunk, facts);
        }
        let first_reading = chunk.readings.first().map(|it| it.time).filter(|_| !self.has_bases);
        let has_bases = self.has_bases;
        for &AllocationReading { time, thread, bytes, is_carrier } in &chunk.readings {
            let base = Base { time: Some(time), bytes, is_carrier };
            self.bases.entry(thread).or_insert(base);
        }
        self.has_bases |= !chunk.readings.is_empty();
        self.started.extend(&chunk.started);
        let records_from_start = chunk.jvm.is_some_and(|jvm| jvm.records_from_start);
        for sample in chunk.samples {
            let is_after_readings = has_bases || first_reading.is_some_and(|it| it <= sample.time);
            let own = match facts.is_of_jdk {
                true => self.own_bytes(&sample, is_after_readings, records_from_start),
                false => Some(sample.bytes),
            };
            if chunk.has_buffers {
                self.covered_count += 1;
                continue;
            }
            match own {
                Some(bytes) => {
                    let before = sample.bytes - bytes;
                    self.before_bytes = self.before_bytes.saturating_add(before);
                    self.before_count += u64::from(before > 0);
                    self.add(sample, bytes);
                }
                None => self.unsettled.push(sample),
            }
        }
        for base in self.bases.values_mut() {
            base.time = None;
        }
        if facts.is_of_jdk {
            self.last_end_ns = Some(facts.end_ns);
        }
    }

    /// Finds out whether a chunk continues the recording of the one before.
    fn begin_chunk(&mut self, chunk: &ChunkAllocations, facts: ChunkFacts) {
        let is_same_jvm = match (self.jvm, chunk.jvm) {
            (Some(before), Some(jvm)) => (before.pid, before.start) == (jvm.pid, jvm.start),
            (_, None) => true,
            (None, Some(_)) => self.last_end_ns.is_none(),
        };
        self.jvm = chunk.jvm.or(self.jvm);
        if !is_same_jvm {
            self.sampled_bytes.clear();
        }
        let follows = |end_ns: u64| facts.start_ns.abs_diff(end_ns) < GAP_NS;
        let continues = self.was_sampled && self.last_end_ns.is_some_and(follows);
        if !is_same_jvm || !continues {
            self.sampled.clear();
            self.started.clear();
            self.bases.clear();
            self.has_bases = false;
        }
        self.was_sampled = facts.is_sampled.unwrap_or(!chunk.samples.is_empty());
    }

    /// Returns the bytes of a sample that its thread allocated since the recording began; `None` if
    /// they are not known.
    fn own_bytes(
        &mut self,
        sample: &AllocationSample,
        is_after_readings: bool,
        records_from_start: bool,
    ) -> Option<u64> {
        let thread = match sample.thread {
            Allocator::Thread(thread) => thread,
            Allocator::Virtual => match self.carrier(sample) {
                Some(carrier) => carrier,
                None => return Some(sample.bytes),
            },
            Allocator::Unknown => return Some(sample.bytes),
        };
        if !self.sampled.insert(thread) {
            if let Some(bytes) = self.sampled_bytes.get_mut(&thread) {
                *bytes = bytes.saturating_add(sample.bytes);
            }
            return Some(sample.bytes);
        }
        let base = self.bases.get(&thread).copied();
        let is_before = |base: &Base| base.time.is_none_or(|time| time <= sample.time);
        let base = base.filter(is_before);
        let last_bytes = self.sampled_bytes.remove(&thread);
        if self.started.contains(&thread) || is_after_readings && base.is_none() {
            self.sampled_bytes.insert(thread, sample.bytes);
            return Some(sample.bytes);
        }
        let before = match (base, last_bytes) {
            // A new recording of JDK 21 and 25 begins with all bytes again, one of JDK 17 with those
            // since the last sample.
            (Some(base), _) if base.bytes <= sample.bytes => base.bytes,
            (Some(base), Some(last_bytes)) => base.bytes.saturating_sub(last_bytes),
            // An earlier recording, or one that runs beside, has sampled the thread.
            _ if records_from_start => 0,
            _ => return None,
        };
        let own = sample.bytes.saturating_sub(before);
        let all = base.map_or(sample.bytes, |base| base.bytes.saturating_add(own));
        self.sampled_bytes.insert(thread, all);
        Some(own)
    }

    /// Returns the carrier whose first sample this one of a virtual thread is, if any: the one with
    /// the most bytes before that the sample can have.
    fn carrier(&self, sample: &AllocationSample) -> Option<i64> {
        let can_be = |(thread, base): &(&i64, &Base)| {
            base.is_carrier
                && base.time.is_none_or(|time| time <= sample.time)
                && (1..=sample.bytes).contains(&base.bytes)
                && !self.sampled.contains(thread)
        };
        let carriers = self.bases.iter().filter(can_be);
        carriers.max_by_key(|(thread, base)| (base.bytes, **thread)).map(|(thread, _)| *thread)
    }

    fn add(&mut self, sample: AllocationSample, bytes: u64) {
        let AllocationSample { class, trace, count, .. } = sample;
        let more = Allocations {
            allocated_bytes: bytes,
            allocated_count: count,
            ..Allocations::default()
        };
        self.tally.add(class, trace, more);
        if let Some(at_ns) = sample.at_ns {
            self.series.add(SeriesSubject::of(sample.serial), (at_ns, at_ns), bytes);
        }
    }

    /// Adds the samples whose own part is not known, each as an average one, and returns their
    /// number.
    pub(super) fn settle(&mut self) -> u64 {
        let sites = self.tally.sites.values();
        let bytes = sites.map(|it| it.allocated_bytes).fold(0, u64::saturating_add);
        let average = bytes.checked_div(self.tally.sample_count);
        let unsettled = std::mem::take(&mut self.unsettled);
        let count = unsettled.len() as u64;
        for sample in unsettled {
            let bytes = average.map_or(sample.bytes, |average| average.min(sample.bytes));
            self.add(sample, bytes);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn sample(time: i64, thread: Allocator, bytes: u64) -> AllocationSample {
        AllocationSample {
            time,
            at_ns: None,
            thread,
            class: ClassId::new(0),
            trace: TraceId::new(0),
            serial: None,
            bytes,
            count: 0,
        }
    }

    /// A chunk of the second `at`: readings and samples of threads with their time and bytes.
    fn chunk(readings: &[(i64, i64, u64)], samples: &[(i64, Allocator, u64)]) -> ChunkAllocations {
        let mut chunk = ChunkAllocations::default();
        for &(time, thread, bytes) in readings {
            let name = if thread >= 100 { "ForkJoinPool-1-worker-1" } else { "a" };
            chunk.reading(time, thread, bytes * MB, name);
        }
        for &(time, thread, bytes) in samples {
            chunk.sample(sample(time, thread, bytes * MB));
        }
        chunk
    }

    fn facts(start_s: u64, end_s: u64) -> ChunkFacts {
        let (start_ns, end_ns) = (start_s * 1_000_000_000, end_s * 1_000_000_000);
        ChunkFacts { start_ns, end_ns, is_of_jdk: true, is_sampled: None }
    }

    /// The megabytes of all samples, those left out, and the number of samples that are estimated.
    fn sums(chunks: Vec<(ChunkAllocations, ChunkFacts)>) -> (u64, u64, u64) {
        let mut all = SampledAllocations::default();
        chunks.into_iter().for_each(|(chunk, facts)| all.chunk(chunk, facts));
        let unsettled = all.settle();
        let bytes: u64 = all.tally.sites.values().map(|it| it.allocated_bytes).sum();
        (bytes / MB, all.before_bytes / MB, unsettled)
    }

    use Allocator::{Thread, Virtual};

    #[test]
    fn what_was_allocated_before_the_recording_is_left_out() {
        // Thread 1 lived before, thread 2 began within and has no event of its start.
        let first = chunk(
            &[(1, 1, 200), (90, 1, 220), (90, 2, 9)],
            &[(5, Thread(1), 203), (6, Thread(2), 4), (7, Thread(1), 15), (8, Thread(2), 5)],
        );
        // Thread 3 lived before and is first sampled in the second chunk.
        let mut with_third = chunk(&[(1, 3, 50)], &[]);
        with_third.readings.extend(first.readings);
        with_third.samples.extend(first.samples);
        let second =
            chunk(&[(101, 1, 221), (101, 3, 55)], &[(105, Thread(1), 3), (106, Thread(3), 57)]);
        let chunks = vec![(with_third, facts(0, 10)), (second, facts(10, 20))];
        assert_eq!(sums(chunks), (3 + 15 + 4 + 5 + 3 + 7, 250, 0));
    }

    #[test]
    fn what_was_allocated_between_recordings_is_left_out() {
        let first =
            || chunk(&[(1, 1, 200), (9, 1, 220)], &[(5, Thread(1), 203), (6, Thread(1), 10)]);
        let second = || chunk(&[(1, 1, 300)], &[(5, Thread(1), 95), (6, Thread(1), 2)]);
        let chunks = vec![(first(), facts(0, 10)), (second(), facts(20, 30))];
        // When last sampled the thread had allocated 213 MB.
        assert_eq!(sums(chunks), (13 + 8 + 2, 200 + 87, 0));
        let from_all = chunk(&[(1, 1, 300)], &[(5, Thread(1), 305), (6, Thread(1), 2)]);
        let chunks = vec![(first(), facts(0, 10)), (from_all, facts(20, 30))];
        assert_eq!(sums(chunks), (13 + 5 + 2, 200 + 300, 0));
        // Another JVM has other threads of the same numbers.
        let (mut other, mut again) = (first(), first());
        other.jvm(Jvm { pid: 1, start: 2, records_from_start: false });
        again.jvm(Jvm { pid: 1, start: 3, records_from_start: false });
        let chunks = vec![(other, facts(0, 10)), (again, facts(10, 20))];
        assert_eq!(sums(chunks), (26, 400, 0));
    }

    #[test]
    fn virtual_threads_have_the_bytes_of_their_carriers() {
        let chunk = chunk(
            &[(1, 1, 7), (1, 100, 200), (1, 101, 90)],
            &[(2, Virtual, 95), (3, Virtual, 6), (4, Virtual, 204), (5, Virtual, 8)],
        );
        assert_eq!(sums(vec![(chunk, facts(0, 10))]), (5 + 6 + 4 + 8, 290, 0));
    }

    #[test]
    fn without_readings_a_first_sample_is_an_average_one() {
        let events =
            [(1, Thread(1), 500), (2, Thread(1), 10), (3, Thread(2), 20), (4, Thread(2), 30)];
        let chunk = |is_started: bool, from_start: bool| {
            let mut chunk = chunk(&[], &events);
            if is_started {
                chunk.thread_start(2);
            }
            chunk.jvm(Jvm { records_from_start: from_start, ..Jvm::default() });
            vec![(chunk, facts(0, 10))]
        };
        assert_eq!(sums(chunk(true, false)), (60 + 20, 0, 1));
        assert_eq!(sums(chunk(true, true)), (560, 0, 0));
        let events_of_others = facts(0, 10);
        let others = ChunkFacts { is_of_jdk: false, ..events_of_others };
        let chunks = chunk(false, false).into_iter().map(|(it, _)| (it, others)).collect();
        assert_eq!(sums(chunks), (560, 0, 0));
    }

    #[test]
    fn events_about_buffers_cover_the_samples_of_their_chunk_alone() {
        let mut first = chunk(&[(1, 1, 200)], &[(5, Thread(1), 203)]);
        first.buffers();
        let second = chunk(&[(11, 1, 206)], &[(15, Thread(1), 4)]);
        let mut all = SampledAllocations::default();
        all.chunk(first, facts(0, 10));
        all.chunk(second, facts(10, 20));
        assert_eq!((all.covered_count, all.tally.sample_count, all.before_bytes), (1, 1, 0));
        assert_eq!(all.tally.sites[&(ClassId::new(0), TraceId::new(0))].allocated_bytes, 4 * MB);
    }

    #[test]
    fn options_say_whether_the_jvm_records_from_its_start() {
        for (options, is_so) in [
            ("-Xmx1g -XX:StartFlightRecording:filename=a.jfr", true),
            ("-XX:StartFlightRecording=delay=20s,filename=a.jfr", false),
            ("-Xmx1g", false),
        ] {
            assert_eq!(Jvm::is_recording_from_start(options), is_so, "{options}");
        }
    }
}
