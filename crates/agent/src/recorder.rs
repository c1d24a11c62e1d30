//! Books on the profile what engines and events report, and writes the profile.
//!
//! No function here calls the JVM, so the recorder's lock is never held while a thread waits for a
//! safepoint.

mod answers;
mod calls;
mod counted;
mod executed;
mod flush;
mod heap;
mod jamaica;
mod kept;
mod metrics;
mod monitors;
mod numbers;
mod objects;
mod sites;
mod sizes;
mod timeline;
mod traces;
mod wall;
mod written;

use std::io;
use std::mem;
use std::time::{Instant, SystemTime};

use perk_control::messages::DumpPart;
use perk_control::options::{Format, Jamaica, Options, TimesForm};
use perk_hprof::{BinaryForm, IdSize, Version, Writer};
use perk_profile::{
    Accounting, Allocations, ClassId, CpuSamples, Event, FrameId, MethodId, Profile, Settings,
    SiteSelection, Thread, ThreadId, TimelineBook, Timestamp, TraceId, Unit, metric,
};

use rustc_hash::{FxHashMap, FxHashSet};

use self::calls::CallBook;
pub(crate) use self::calls::{CallPlaces, ProbeCost};
pub(crate) use self::counted::{CallNodes, Calls, Objects, PathNode, PathNodes, PathSite};
pub(crate) use self::executed::{Executed, ExecutedLine, ExecutedMethod};
pub(crate) use self::flush::Flush;
use self::flush::Shown;
pub(crate) use self::heap::ThreadList;
pub(crate) use self::kept::{KeptMethods, MethodText};
use self::metrics::MetricBook;
use self::numbers::Numbers;
use self::objects::ObjectBook;
use self::sites::SiteBook;
pub(crate) use self::sizes::DumpedSizes;
use self::traces::TraceMemory;
use self::wall::WallBook;
pub(crate) use self::written::{CountedSection, CountedSite, SiteCallers, SiteStream};
use crate::jvm::ThreadInfo;
use crate::os;
use crate::output::Output;
use crate::roster::{Roster, Slot};

/// The profile while it is recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) profile: Profile,
    memory: TraceMemory,
    /// Samples since the last dump, by trace.
    counts: Vec<u64>,
    /// When they were taken; `None` where the output does not hold it.
    timeline: Option<TimelineBook>,
    numbers: Numbers,
    calls: CallBook,
    /// The frames of methods whose calls are booked, by their numbers.
    call_frames: Vec<Option<FrameId>>,
    shown: Shown,
    sites: SiteBook,
    objects: ObjectBook,
    metrics: MetricBook,
    wall: WallBook,
    /// The processor cycles of methods, since the last dump.
    cycles: FxHashMap<MethodId, u64>,
    /// The methods of which the JVM has compiled code, by name.
    compiled: FxHashSet<String>,
    /// The objects of classes as of the last dump, in JamaicaVM's profile.
    dumped_classes: FxHashMap<ClassId, Allocations>,
    roster: Roster,
    file: File,
    /// The name of the file, or the reason why it is lost.
    outcome: Result<String, String>,
    begun: Instant,
    /// The same moment by the clock of [`os::nano_time`].
    begun_ns: u64,
    format: Format,
    /// The form of `format=b`.
    form: BinaryForm,
    with_samples: bool,
    with_wall: bool,
    with_sites: bool,
    /// Whether the sites are those that the exact engine counts.
    sites_are_exact: bool,
    /// The frames that are kept of each trace of sites.
    site_depth: usize,
    times: Option<TimesForm>,
    /// Whether calls go to the file from their trees.
    writes_calls: bool,
    /// Whether those of the dump that is made are there.
    has_written_calls: bool,
    /// Whether exact allocation sites go to the file from their records.
    writes_sites: bool,
    /// Whether those of the dump that is made are there.
    has_written_sites: bool,
    /// Whether the text output is the table of `cpu=old` and can contain nothing else.
    is_table: bool,
    /// The frames that are kept of each trace of calls.
    timing_depth: usize,
    per_thread: bool,
    /// Whether all virtual threads are one in traces.
    merges_virtual: bool,
    /// Whether bytecodes are booked by line.
    with_lines: bool,
    jamaica: Option<Jamaica>,
    cutoff: f64,
    sample_count: u64,
}

/// The states of the output: opened at load, begun at VMInit, closed for good once it is finished
/// or has failed.
#[derive(Debug)]
enum File {
    Opened(Output),
    Begun(Box<Writer<Output>>),
    /// JamaicaVM's profile, which does not have a header.
    Jamaica(Output),
    Closed,
}

impl Recorder {
    /// Makes a recorder. Without an output, an analysis writes a file of its own.
    pub(crate) fn new(options: &Options, output: Option<Output>) -> Self {
        let has_peer = options.has_peer();
        let mut profile = Profile::default();
        profile.settings = Some(Settings {
            allocations: options.heap_dump || options.heap_sites || options.aprof,
            cpu_samples: options.cpu.samples,
        });
        Self {
            profile,
            memory: TraceMemory::new(options.trace_limit_bytes()),
            counts: Vec::new(),
            timeline: timeline::book(options),
            numbers: Numbers::new(options),
            calls: CallBook::default(),
            call_frames: Vec::new(),
            shown: Shown::default(),
            sites: SiteBook::new(options, has_peer),
            objects: ObjectBook::new(options),
            metrics: MetricBook::default(),
            wall: WallBook::default(),
            cycles: FxHashMap::default(),
            compiled: FxHashSet::default(),
            dumped_classes: FxHashMap::default(),
            roster: Roster::default(),
            outcome: output.as_ref().map(Output::name).ok_or_else(|| "there is no file".to_owned()),
            file: output.map_or(File::Closed, File::Opened),
            begun: Instant::now(),
            begun_ns: os::nano_time(),
            format: options.format,
            form: BinaryForm {
                id_size: if options.short_ids { IdSize::Four } else { IdSize::Eight },
                version: if options.version_1_0_1 { Version::V1_0_1 } else { Version::V1_0_2 },
            },
            with_samples: options.cpu.samples,
            with_wall: options.wall_ns.is_some(),
            with_sites: options.heap_sites || options.aprof,
            sites_are_exact: options.heap_sample_bytes.is_none(),
            site_depth: if options.heap_sites { options.depth as usize } else { 0 },
            times: options.cpu.times,
            writes_calls: written::writes_calls(options),
            has_written_calls: false,
            writes_sites: written::writes_sites(options),
            has_written_sites: false,
            is_table: DumpPart::of(options).eq([DumpPart::Old]) && !has_peer,
            timing_depth: options.timing_depth as usize,
            per_thread: options.thread,
            merges_virtual: options.platform_threads,
            with_lines: options.lineno,
            jamaica: options.jamaica,
            cutoff: options.cutoff,
            sample_count: 0,
        }
    }

    /// Writes the header.
    pub(crate) fn begin(&mut self, depth: u32) {
        self.begun = Instant::now();
        self.begun_ns = os::nano_time();
        self.profile.created = Some(now());
        self.profile.depth = Some(depth);
        if let File::Opened(output) = mem::replace(&mut self.file, File::Closed) {
            if self.jamaica.is_some() {
                self.file = File::Jamaica(output);
                return;
            }
            let name = output.name();
            let format = match self.format {
                Format::Extended => Some(perk_hprof::Format::Extended),
                Format::Ascii if self.is_table => Some(perk_hprof::Format::Old),
                Format::Ascii => Some(perk_hprof::Format::Ascii),
                Format::Binary => None,
            };
            let begun = match format {
                Some(format) => Writer::begin(output, format, &self.profile),
                None => Writer::begin_binary(output, self.form, &self.profile),
            };
            match begun {
                Ok(writer) => self.file = File::Begun(Box::new(writer)),
                Err(error) => {
                    self.outcome = Err(format!("can't write {name}: {error}"));
                    cannot_write(&name, &error, None);
                }
            }
        }
    }

    /// Returns the name of the file, which may be still to come.
    ///
    /// # Errors
    /// The reason why it is lost, in one line.
    pub(crate) fn file_name(&self) -> Result<String, String> {
        self.outcome.clone()
    }

    /// Forgets what was booked since the last dump, and what was counted for the accounting. Objects that
    /// live count as allocated from now on if `with_live` is set.
    pub(crate) fn reset(&mut self, with_live: bool) {
        self.clear_cpu();
        self.clear_sites(with_live);
        self.wall = WallBook::default();
        self.metrics.take();
        self.calls = CallBook::default();
        self.sample_count = 0;
    }

    /// Gives up all that is large, once the file is finished.
    pub(crate) fn release(&mut self, options: &Options) {
        let outcome = self.outcome.clone();
        *self = Self { outcome, ..Self::new(options, None) };
    }

    /// Whether the program has begun, whatever became of the output.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.file, File::Opened(_))
    }

    /// Whether the header is written and the file is still open.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self.file, File::Begun(_) | File::Jamaica(_))
    }

    /// Returns a new class with that name; each call makes another one.
    pub(crate) fn new_class(&mut self, name: &str) -> ClassId {
        self.profile.symbols.jvm_class(name)
    }

    /// Returns a new trace that stands for all threads of that name; each call makes another one.
    pub(crate) fn new_trace_of_threads(&mut self, name: &str) -> TraceId {
        let name = self.profile.symbols.strings.intern(name);
        let thread = Thread { serial: 0, object_id: 0, name, group: None, parent_group: None };
        let thread = self.profile.push_thread(thread);
        let root = self.profile.tree.root();
        self.profile.trace(root, Some(thread))
    }

    /// Books CPU time of a thread that does not run Java code, on the path of `frames`, which begin
    /// with the innermost.
    pub(crate) fn sample_native(&mut self, frames: &[FrameId], ns: u64) {
        let trace = self.find_or_cut(None, frames);
        self.add_number(metric::JVM, Unit::Nanoseconds, trace, ns);
    }

    /// Writes a loaded class to the file.
    pub(crate) fn write_class(&mut self, class: ClassId) {
        self.write(|writer, profile, _| writer.load_class(profile, class));
    }

    /// Writes to the file that a class is unloaded.
    pub(crate) fn write_class_unload(&mut self, class: ClassId) {
        self.write(|writer, _, _| writer.unload_class(class));
    }

    /// Adds a new thread, which is written to the file at once if `announce` is set, or else with
    /// its first trace.
    pub(crate) fn thread_started(&mut self, info: ThreadInfo, announce: bool) -> Slot {
        let thread = self.roster.add(info);
        if announce {
            self.announce(thread);
        }
        thread
    }

    /// Returns the slot that stands for all virtual threads.
    pub(crate) fn virtual_threads(&mut self) -> Slot {
        self.roster.virtual_threads()
    }

    /// Returns what was known of a thread when it started.
    pub(crate) fn thread_info(&self, thread: Slot) -> &ThreadInfo {
        self.roster.info(thread)
    }

    pub(crate) fn thread_ended(&mut self, thread: Slot) {
        if let Some(serial) = self.roster.remove(thread) {
            self.write(|writer, _, _| writer.thread_end(serial));
        }
    }

    fn announce(&mut self, thread: Slot) {
        self.write(|writer, _, roster| match roster.announce(thread) {
            Some(start) => writer.thread_start(&start),
            None => Ok(()),
        });
    }

    /// Books `count` samples of `thread` (0 is possible) on the path of `frames`, which begin with
    /// the innermost. They were taken at `at_ns`, by the clock of [`os::nano_time`].
    pub(crate) fn sample(
        &mut self,
        thread: Slot,
        frames: &[FrameId],
        count: u64,
        at_ns: u64,
    ) -> TraceId {
        let id = self.thread_of_trace(Some(thread));
        let trace = self.find_or_cut(id, frames);
        self.book(trace, thread, count, at_ns);
        trace
    }

    /// Returns the trace of `frames`, which begin with the innermost, for something to be booked
    /// on it.
    pub(crate) fn trace(&mut self, thread: Option<Slot>, frames: &[FrameId]) -> TraceId {
        let id = self.thread_of_trace(thread);
        let trace = self.find_or_cut(id, frames);
        self.memory.folded_count += u64::from(self.is_cut(trace));
        trace
    }

    /// Returns the thread that is part of a trace, if traces distinguish threads.
    fn thread_of_trace(&mut self, thread: Option<Slot>) -> Option<ThreadId> {
        let mut thread = thread.filter(|_| self.per_thread)?;
        if self.merges_virtual && self.roster.info(thread).is_of_virtual() {
            thread = self.roster.virtual_threads();
        }
        self.announce(thread);
        Some(self.roster.id(thread, &mut self.profile))
    }

    /// Books samples on a trace. They were taken of `thread` at `at_ns`, by the clock of
    /// [`os::nano_time`].
    pub(crate) fn book(&mut self, trace: TraceId, thread: Slot, count: u64, at_ns: u64) {
        *entry(&mut self.counts, trace.index()) += count;
        self.sample_count += count;
        self.memory.folded_count += if self.is_cut(trace) { count } else { 0 };
        self.book_time(trace, thread, count, at_ns);
    }

    /// Writes the data since the last dump. Unless this is the last dump, the file so far is then
    /// shown under its name. Returns the text that the dump prints on stdout.
    pub(crate) fn dump(&mut self, mut accounting: Accounting, last: bool) -> Option<Vec<u8>> {
        self.account(&mut accounting);
        if let Some(counts) = self.jamaica {
            self.write_jamaica(counts, &accounting, last);
            return None;
        }
        self.profile.accounting = Some(accounting);
        self.write(|writer, profile, _| writer.accounting(profile));
        if self.with_sites && !mem::take(&mut self.has_written_sites) {
            let sites = self.take_sites(SiteSelection::default(), self.cutoff_of_sites());
            self.write(|writer, profile, _| writer.sites(profile, &sites));
        }
        if self.with_samples {
            let samples = self.take_samples();
            self.write(|writer, profile, _| writer.cpu_samples(profile, &samples));
            self.write_timeline();
        }
        if self.with_wall {
            self.write_wall();
        }
        for event in self.metrics.take() {
            if let Event::Section(section) = event {
                self.write(|writer, profile, _| writer.section(profile, &section));
            }
        }
        match self.times {
            Some(TimesForm::Times) => {
                let times = self.take_times();
                if !mem::take(&mut self.has_written_calls) {
                    self.write(|writer, profile, _| writer.call_times(profile, &times));
                }
            }
            Some(TimesForm::Old) => {
                let edges = self.take_edges();
                self.write(|writer, profile, _| writer.call_edges(profile, &edges));
            }
            None => {}
        }
        if !last {
            self.write(|writer, _, _| writer.out().publish());
        }
        self.class_table(last)
    }

    /// Adds the recorder's own counts.
    fn account(&self, accounting: &mut Accounting) {
        accounting.utc_offset_s = now().utc_offset_s;
        accounting.sample_count = self.sample_count;
        accounting.folded_count = self.memory.folded_count;
        accounting.thread_count = self.roster.started();
        accounting.call_count = self.calls.call_count;
        accounting.folded_call_count = self.calls.folded_count;
        accounting.probe_removed_ns = self.calls.removed_ns;
        accounting.cached_class_count = self.numbers.class_count;
        accounting.wall_thread_ns = self.wall.total_ns;
    }

    /// Returns the section of samples; the next section begins from zero.
    fn take_samples(&mut self) -> CpuSamples {
        let samples = self.samples(self.cutoff);
        self.counts.clear();
        samples
    }

    fn samples(&self, cutoff: f64) -> CpuSamples {
        let total = self.counts.iter().sum();
        let rows = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        let rows = rows.map(|(index, &count)| (TraceId::new(index), count)).collect();
        let mut samples = CpuSamples { total, rows, written: Some(now()), ..CpuSamples::default() };
        samples.rank(cutoff);
        samples
    }

    /// Waits for a slow peer from now on, as the program ends.
    pub(crate) fn be_patient(&mut self) {
        if let File::Begun(writer) = &mut self.file {
            writer.out().set_patient(true);
        }
    }

    /// Gives the file its name. No data is written after this.
    pub(crate) fn finish(&mut self) {
        self.memory.warn();
        self.write(|writer, _, _| writer.out().finish());
        self.write_to(Output::finish);
        self.file = File::Closed;
    }

    /// Removes a file that was opened but never begun.
    pub(crate) fn discard_unbegun(&mut self) {
        if let File::Opened(output) = &self.file {
            output.discard();
            self.file = File::Closed;
        }
    }

    fn write(
        &mut self,
        body: impl FnOnce(&mut Writer<Output>, &mut Profile, &mut Roster) -> io::Result<()>,
    ) {
        let File::Begun(writer) = &mut self.file else { return };
        writer.set_elapsed_us(self.begun.elapsed().as_micros() as u64);
        let written = body(writer, &mut self.profile, &mut self.roster);
        if let Err(error) = written.and_then(|()| writer.out().rest()) {
            self.lose_output(&error);
        }
    }

    /// Writes to the file of JamaicaVM's profile.
    fn write_to(&mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) {
        if let File::Jamaica(output) = &mut self.file
            && let Err(error) = body(output)
        {
            self.lose_output(&error);
        }
    }

    /// Reports that the output cannot be written, and closes it.
    fn lose_output(&mut self, error: &io::Error) {
        let mut lose = |output: &Output| {
            let part = output.part().map(|part| part.display().to_string());
            self.outcome = Err(format!("can't write {}: {error}", output.name()));
            cannot_write(&output.name(), error, part);
        };
        match mem::replace(&mut self.file, File::Closed) {
            File::Begun(mut writer) => lose(writer.out()),
            File::Jamaica(output) => lose(&output),
            File::Opened(_) | File::Closed => {}
        }
    }
}

/// Prints one line on stderr; the program continues without a profile.
pub(crate) fn cannot_write(name: &str, error: &io::Error, part: Option<String>) {
    // The code that lost the connection has already reported it.
    if error.kind() == io::ErrorKind::NotConnected {
        return;
    }
    let kept = part.map_or(String::new(), |part| format!("; the part written is in {part}"));
    os::say(&format!("HPROF ERROR: can't write profile file: {name}: {error}{kept}\n"));
}

/// Returns the entry at `index` of a vector, which grows if necessary.
pub(crate) fn entry<T: Clone + Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if all.len() <= index {
        all.resize(index + 1, T::default());
    }
    &mut all[index]
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp {
        unix_ms: since_1970.as_millis() as u64,
        utc_offset_s: os::utc_offset_s(since_1970.as_secs()),
    }
}
