//! The recorder: the symbols, the threads and the call tree of the profile, and its file.
//!
//! What is booked on traces belongs to the analyses, whose books ([`Book`]) write their own sections at a
//! dump.
//!
//! No function here calls the JVM, so the recorder's lock is never held while a thread waits for a
//! safepoint.

mod book;
mod counted;
mod counted_section;
mod file;
mod flush;
mod kept;
mod numbers;
mod traces;

use std::io;
use std::time::{Instant, SystemTime};

use perk_control::options::Options;
use perk_control::resolve_file_name;
use perk_files::Access;
use perk_hprof::Writer;
use perk_jvm::ThreadInfo;
use perk_jvm::os;
use perk_profile::{
    Accounting, ClassId, Frame, FrameId, FrameKind, Line, Method, MethodId, Profile, Settings,
    Thread, ThreadId, Timestamp, TraceId,
};
use rustc_hash::FxHashMap;

pub(crate) use self::book::{Book, DumpSection, Inquiry, Place, Sections};
pub(crate) use self::counted::{CallNodes, Calls, PathNode, PathNodes};
pub(crate) use self::counted_section::{CountedPart, CountedSection, NODES_AT_ONCE};
use self::file::ProfileFile;
pub(crate) use self::file::cannot_write;
pub(crate) use self::flush::Flush;
use self::kept::table_of;
pub(crate) use self::kept::{KeptMethods, MethodText};
use self::numbers::Numbers;
use self::traces::TraceMemory;
use crate::output::Output;
use crate::roster::{Roster, Slot, Turnover};

/// The profile while it is recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) profile: Profile,
    memory: TraceMemory,
    numbers: Numbers,
    roster: Roster,
    file: ProfileFile,
    per_thread: bool,
    /// Whether all virtual threads are one in traces.
    merges_virtual: bool,
    /// What was accounted for before the file, if the recording has several.
    parts: Option<Parts>,
}

/// The files of a recording that begins a new one now and then.
#[derive(Debug, Default)]
struct Parts {
    /// The number of the current one, less 1.
    ended_count: u64,
    /// The accounting at its beginning.
    begin: Accounting,
}

impl Recorder {
    /// Makes a recorder. Without an output, an analysis writes a file of its own.
    pub(crate) fn new(options: &Options, output: Option<Output>) -> Self {
        let mut profile = Profile::default();
        profile.settings = Some(Settings {
            allocations: options.heap_dump || options.heap_sites || options.aprof,
            cpu_samples: options.cpu.samples,
        });
        Self {
            profile,
            memory: TraceMemory::new(options.trace_limit_bytes()),
            numbers: Numbers::new(options),
            roster: Roster::default(),
            file: ProfileFile::new(options, output),
            per_thread: options.thread,
            merges_virtual: options.platform_threads,
            parts: options.every_ns.map(|_| Parts::default()),
        }
    }

    /// Writes the header.
    pub(crate) fn begin(&mut self, depth: u32) {
        self.file.start();
        self.profile.created = Some(now());
        self.profile.depth = Some(depth);
        self.file.begin(&self.profile);
    }

    /// Returns the moment at which the recording began.
    pub(crate) fn begun(&self) -> Instant {
        self.file.begun()
    }

    /// Returns the same moment by the clock of [`os::nano_time`].
    pub(crate) fn begun_ns(&self) -> u64 {
        self.file.begun_ns()
    }

    /// Returns the name of the file, which may be still to come.
    ///
    /// # Errors
    /// The reason why it is lost, in one line.
    pub(crate) fn file_name(&self) -> Result<String, String> {
        self.file.outcome()
    }

    /// Gives up all that is large, once the file is finished.
    pub(crate) fn release(&mut self, options: &Options) {
        let file = self.file.ended(options);
        *self = Self { file, ..Self::new(options, None) };
    }

    /// Whether the program has begun, whatever became of the output.
    pub(crate) fn has_begun(&self) -> bool {
        self.file.has_begun()
    }

    /// Whether the header is written and the file is still open.
    pub(crate) fn is_begun(&self) -> bool {
        self.file.is_begun()
    }

    /// Returns a new class with that name; each call makes another one.
    pub(crate) fn new_class(&mut self, name: &str) -> ClassId {
        self.profile.symbols.jvm_class(name)
    }

    /// Returns a new trace that represents all threads of that name; each call makes another one.
    pub(crate) fn new_trace_of_threads(&mut self, name: &str) -> TraceId {
        let name = self.profile.symbols.strings.intern(name);
        let thread = Thread { serial: 0, object_id: 0, name, group: None, parent_group: None };
        let thread = self.profile.push_thread(thread);
        let root = self.profile.tree.root();
        self.profile.trace(root, Some(thread))
    }

    /// Returns the trace of a frame that is not a method, for something to be booked on it.
    pub(crate) fn named_trace(&mut self, name: &str) -> TraceId {
        let symbols = &mut self.profile.symbols;
        let (class, name) = (symbols.class(""), symbols.strings.intern(name));
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let frame = Frame { kind: FrameKind::Native, ..Frame::new(method, Line::Unknown) };
        let frame = symbols.frame(frame);
        self.trace(None, &[frame])
    }

    /// Returns the trace of a single frame.
    pub(crate) fn trace_of_frame(&mut self, frame: Frame) -> TraceId {
        let frame = self.profile.symbols.frame(frame);
        let node = self.profile.tree.insert([frame]);
        self.profile.trace(node, None)
    }

    /// Writes a loaded class to the file.
    pub(crate) fn write_class(&mut self, class: ClassId) {
        self.write(|writer, profile, _| writer.load_class(profile, class));
    }

    /// Writes to the file that a class is unloaded.
    pub(crate) fn write_class_unload(&mut self, class: ClassId) {
        self.write(|writer, _, _| writer.unload_class(class));
    }

    /// Writes the traces that are not written yet.
    pub(crate) fn write_traces(&mut self) {
        self.write(|writer, profile, _| writer.traces(profile));
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

    /// Returns the slot that represents all virtual threads.
    pub(crate) fn virtual_threads(&mut self) -> Slot {
        self.roster.virtual_threads()
    }

    /// Returns what was known of a thread when it started.
    pub(crate) fn thread_info(&self, thread: Slot) -> &ThreadInfo {
        self.roster.info(thread)
    }

    /// Returns the living thread that has this id.
    pub(crate) fn find_thread(&self, id: u64) -> Option<Slot> {
        self.roster.find(id)
    }

    /// Returns how many threads have started and ended so far.
    pub(crate) fn thread_turnover(&self) -> Turnover {
        self.roster.turnover()
    }

    /// Whether a list of the platform threads that was made then is still right.
    pub(crate) fn are_listed(&self, then: Turnover, java_ids: &[u64]) -> bool {
        self.roster.are_listed(then, java_ids)
    }

    /// Returns the serial number of a thread.
    pub(crate) fn thread_serial(&self, thread: Slot) -> u32 {
        self.roster.serial(thread)
    }

    /// Writes the living threads to the file. Returns the threads of the file by their ids in Java.
    pub(crate) fn announce_all(&mut self) -> FxHashMap<u64, ThreadId> {
        self.announce_living();
        self.roster.by_java_id(&mut self.profile)
    }

    fn announce_living(&mut self) {
        let living: Vec<_> = self.roster.living().collect();
        living.into_iter().for_each(|slot| self.announce(slot));
    }

    pub(crate) fn thread_ended(&mut self, thread: Slot) {
        let removed = self.roster.end(thread);
        self.write_end(removed);
    }

    /// Keeps the slot of a thread from being another one's until [`let_go`](Self::let_go): something of the
    /// thread may be booked after its end.
    pub(crate) fn hold(&mut self, thread: Slot) {
        self.roster.hold(thread);
    }

    /// Ends [`hold`](Self::hold).
    pub(crate) fn let_go(&mut self, thread: Slot) {
        let removed = self.roster.let_go(thread);
        self.write_end(removed);
    }

    fn write_end(&mut self, removed: Option<u32>) {
        if let Some(serial) = removed {
            self.write(|writer, _, _| writer.thread_end(serial));
        }
    }

    /// Writes a thread to the file, once.
    pub(crate) fn announce(&mut self, thread: Slot) {
        self.write(|writer, _, roster| match roster.announce(thread) {
            Some(start) => writer.thread_start(&start),
            None => Ok(()),
        });
    }

    /// Returns the trace of `frames`, which begin with the innermost, for something to be booked
    /// on it.
    pub(crate) fn trace(&mut self, thread: Option<Slot>, frames: &[FrameId]) -> TraceId {
        let trace = self.uncounted_trace(thread, frames);
        self.count_cut(trace, 1);
        trace
    }

    /// As [`trace`](Self::trace), for samples, which [`count_cut`](Self::count_cut) counts.
    pub(crate) fn uncounted_trace(&mut self, thread: Option<Slot>, frames: &[FrameId]) -> TraceId {
        let id = self.thread_of_trace(thread);
        self.memory.find_or_cut(&mut self.profile, id, frames)
    }

    /// Counts samples if their trace is cut.
    pub(crate) fn count_cut(&mut self, trace: TraceId, count: u64) {
        self.memory.count(&self.profile, trace, count);
    }

    /// Returns the thread that is part of a trace, if traces distinguish threads.
    pub(crate) fn thread_of_trace(&mut self, thread: Option<Slot>) -> Option<ThreadId> {
        let mut thread = thread.filter(|_| self.per_thread)?;
        if self.merges_virtual && self.roster.info(thread).is_of_virtual() {
            thread = self.roster.virtual_threads();
        }
        self.announce(thread);
        Some(self.roster.id(thread, &mut self.profile))
    }

    /// Whether there may be kept classes.
    pub(crate) fn may_keep_methods(&self) -> bool {
        self.numbers.may_keep
    }

    /// Counts a kept class that the JVM loads.
    pub(crate) fn count_kept_class(&mut self) {
        self.numbers.class_count += 1;
    }

    /// Gives the first numbers to the methods of kept classes. No method has a number yet.
    pub(crate) fn keep_methods(&mut self, kept: KeptMethods) {
        self.numbers.kept = kept;
    }

    /// Returns the table of all methods that have numbers; kept ones are not among them.
    pub(crate) fn methods_to_keep(&self) -> Vec<u8> {
        table_of(&self.profile.symbols)
    }

    /// Returns the number of a method.
    pub(crate) fn method_number(&mut self, text: &MethodText<'_>) -> u32 {
        self.numbers.number(&mut self.profile.symbols, text)
    }

    /// Returns the method with a number.
    pub(crate) fn numbered_method(&mut self, number: u32) -> MethodId {
        self.numbers.method(&mut self.profile.symbols, number)
    }

    /// Returns the frame of the method with a number.
    pub(crate) fn frame(&mut self, number: u32) -> FrameId {
        self.numbers.frame(&mut self.profile.symbols, number)
    }

    /// Returns the frame of a method at a line; 0 if it is not given.
    pub(crate) fn frame_at(&mut self, number: u32, line: u16) -> FrameId {
        self.numbers.frame_at(&mut self.profile.symbols, number, line)
    }

    /// Writes the data since the last dump. Unless this is the last dump, the file so far is then
    /// shown under its name. Returns the text that the dump prints on stdout.
    pub(crate) fn dump(
        &mut self,
        mut accounting: Accounting,
        books: &[&dyn Book],
        last: bool,
    ) -> Option<Vec<u8>> {
        self.account(&mut accounting);
        books.iter().for_each(|book| book.account(&mut accounting, false));
        self.set_accounting(accounting);
        self.write(|writer, profile, _| writer.accounting(profile));
        for book in books {
            // The errors of the file are reported where they occur.
            let _ = book.write(self, &mut Sections::of_file());
        }
        if !last {
            self.file.publish();
        }
        books.iter().find_map(|book| book.text(self, last))
    }

    /// Writes the data since the last increment or dump, which ends with the accounting.
    pub(crate) fn increment(&mut self, mut accounting: Accounting, books: &[&dyn Book]) {
        self.write_traces();
        for book in books {
            // The errors of the file are reported where they occur.
            let _ = book.write(self, &mut Sections::of_file());
        }
        self.account(&mut accounting);
        books.iter().for_each(|book| book.account(&mut accounting, true));
        self.set_accounting(accounting);
        self.write(|writer, profile, _| writer.accounting(profile));
    }

    /// Ends the file with the data since its beginning, and begins the next one. If that cannot be created, the
    /// current one continues.
    pub(crate) fn begin_part(
        &mut self,
        mut accounting: Accounting,
        books: &[&dyn Book],
        options: &Options,
    ) {
        let Some(parts) = &self.parts else { return };
        let number = parts.ended_count + 2;
        let name = resolve_file_name(options, std::process::id(), number, |_| false);
        let Ok(output) = Output::create(&name, Access::Usual) else { return };
        self.account(&mut accounting);
        books.iter().for_each(|book| book.account(&mut accounting, false));
        let begin = accounting.clone();
        self.set_accounting(accounting);
        for book in books {
            // A file that is lost has a number that is missing.
            let _ = book.write(self, &mut Sections::of_file());
        }
        self.write(|writer, profile, _| writer.accounting(profile));
        self.file.finish();
        self.parts = Some(Parts { ended_count: number - 1, begin });
        self.file = ProfileFile::new(options, Some(output));
        self.begin(options.depth);
        // Traces of threads, and times, refer to their records.
        self.roster.forget_announced();
        self.announce_living();
    }

    /// Keeps the accounting, of which a file has its part.
    fn set_accounting(&mut self, accounting: Accounting) {
        self.profile.accounting = Some(match &self.parts {
            Some(parts) => accounting.since(&parts.begin),
            None => accounting,
        });
    }

    /// Adds the recorder's own counts.
    fn account(&self, accounting: &mut Accounting) {
        accounting.utc_offset_s = now().utc_offset_s;
        accounting.folded_count = self.memory.folded_count;
        accounting.thread_count = self.roster.started();
        accounting.cached_class_count = self.numbers.class_count;
    }

    /// Waits for a slow peer from now on, as the program ends.
    pub(crate) fn be_patient(&mut self) {
        self.file.be_patient();
    }

    /// Gives the file its name. No data is written after this.
    pub(crate) fn finish(&mut self) {
        self.memory.warn();
        self.file.finish();
    }

    /// Removes a file that was opened but never begun.
    pub(crate) fn discard_unbegun(&mut self) {
        self.file.discard_unbegun();
    }

    /// Returns the number of paths of a source that the file has; `None` if it has no records.
    pub(crate) fn path_count(&self, source: u64) -> Option<usize> {
        self.file.path_count(source)
    }

    /// Writes records to the file.
    pub(crate) fn write(
        &mut self,
        body: impl FnOnce(&mut Writer<Output>, &mut Profile, &mut Roster) -> io::Result<()>,
    ) {
        let Self { profile, roster, file, .. } = self;
        file.write(|writer| body(writer, profile, roster));
    }

    /// Writes to a file without records.
    pub(crate) fn write_plain(
        &mut self,
        body: impl FnOnce(&Profile, &mut Output) -> io::Result<()>,
    ) {
        let Self { profile, file, .. } = self;
        file.write_plain(|output| body(profile, output));
    }
}

/// Returns the entry at `index` of a vector, which grows if necessary.
pub(crate) fn entry<T: Clone + Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if all.len() <= index {
        all.resize(index + 1, T::default());
    }
    &mut all[index]
}

/// Returns the time of day.
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp {
        unix_ms: since_1970.as_millis() as u64,
        utc_offset_s: os::utc_offset_s(since_1970.as_secs()),
    }
}
