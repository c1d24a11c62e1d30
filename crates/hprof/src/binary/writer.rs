//! Writes HPROF binary.

mod counted;
mod extended;
mod fields;
mod heap;
mod monitors;
mod timeline;

use std::io::{self, Write};

use perk_profile::profile::SYSTEM_TRACE;
use perk_profile::{
    CallTimes, ClassId, CpuSamples, FrameId, HeapHistogram, HeapSummary, KeyedMap, Line, MethodId,
    MonitorTimes, Profile, Section, SectionView, Site, Sites, StrId, TraceId, mutf8,
};

use self::extended::ExtendedState;
use self::heap::HeapState;
use super::cursor::put_varint;
use super::{
    ACCOUNTING, ACCOUNTING_ID, ARRAYS, CLASS_OBJECT, ESTIMATE, ESTIMATE_ID, EXTENDED_FORM,
    FLAG_CPU_SAMPLES, FLAG_SITES, FRAME, INTERIM, INTERIM_ID, NAME, NO_ARRAY, OBJECT_ARRAY,
    THREAD_NAME, WIDE, WIDE_ID, tag,
};
use crate::format::SectionKind;
use crate::write::{EntryMarks, ThreadStart, date};
use crate::{BinaryForm, Format, IdSize};

/// The number of thread names that are remembered. Programs that start threads without end give
/// each a different name.
const RECENT_THREAD_NAMES: usize = 1024;
const FIRST_CLASS_SERIAL: u32 = 100_000;

/// A writer of the records, one by one. Names, frames and traces are written once, right before the
/// first record that needs them.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    form: BinaryForm,
    elapsed_us: u32,
    names: EntryMarks,
    thread_names: KeyedMap<String, u64>,
    thread_name_count: u64,
    classes: EntryMarks,
    frames: EntryMarks,
    traces: EntryMarks,
    /// The number of sections that the next one counts again.
    interim_count: u64,
    /// The number of records with numbers that do not fit four bytes.
    wide_count: u64,
    /// The state of perk's own records, if the file has them.
    extended: Option<Box<ExtendedState>>,
    heap: HeapState,
}

impl<W: Write> Writer<W> {
    /// Writes the header, CONTROL SETTINGS and the system trace.
    ///
    /// # Errors
    /// The errors of the sink. The same holds for all other methods.
    pub fn begin(out: W, profile: &Profile) -> io::Result<Self> {
        Self::begin_in(out, BinaryForm::default(), profile)
    }

    /// As [`Writer::begin`], in a layout that old readers need.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn begin_in(out: W, form: BinaryForm, profile: &Profile) -> io::Result<Self> {
        let mut writer = Self::header(out, form, profile)?;
        writer.settings(profile)?;
        Ok(writer)
    }

    /// As [`Writer::begin`], for an extended file.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn begin_extended(out: W, profile: &Profile) -> io::Result<Self> {
        let mut writer = Self::header(out, BinaryForm::default(), profile)?;
        writer.extended = Some(Box::default());
        writer.record(tag::EXTENDED, Body::default().u4(EXTENDED_FORM))?;
        writer.settings(profile)?;
        Ok(writer)
    }

    /// Returns a writer that continues in a copy of the file so far. This one does not change.
    pub fn fork<V: Write>(&self, out: V) -> Writer<V> {
        Writer {
            out,
            form: self.form,
            elapsed_us: self.elapsed_us,
            names: self.names.clone(),
            thread_names: self.thread_names.clone(),
            thread_name_count: self.thread_name_count,
            classes: self.classes.clone(),
            frames: self.frames.clone(),
            traces: self.traces.clone(),
            interim_count: self.interim_count,
            wide_count: self.wide_count,
            extended: self.extended.clone(),
            heap: self.heap.clone(),
        }
    }

    fn header(mut out: W, form: BinaryForm, profile: &Profile) -> io::Result<Self> {
        out.write_all(form.version.title())?;
        out.write_all(&(form.id_size.bytes() as u32).to_be_bytes())?;
        out.write_all(&date(None, profile).unix_ms.to_be_bytes())?;
        Ok(Self {
            out,
            form,
            elapsed_us: 0,
            names: EntryMarks::default(),
            thread_names: KeyedMap::default(),
            thread_name_count: 0,
            classes: EntryMarks::default(),
            frames: EntryMarks::default(),
            traces: EntryMarks::default(),
            interim_count: 0,
            wide_count: 0,
            extended: None,
            heap: HeapState::default(),
        })
    }

    fn settings(&mut self, profile: &Profile) -> io::Result<()> {
        let settings = profile.shown_settings();
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags =
            flag(settings.allocations, FLAG_SITES) | flag(settings.cpu_samples, FLAG_CPU_SAMPLES);
        let depth = u16::try_from(profile.depth.unwrap_or(0)).unwrap_or(u16::MAX);
        self.record(tag::CONTROL_SETTINGS, self.body().u4(flags).u2(depth))?;
        self.trace(profile, profile.system_trace())
    }

    /// Sets the time stamp of the records to come, in microseconds since the file began. The field
    /// has 32 bits: it wraps after 71 minutes.
    pub fn set_elapsed_us(&mut self, elapsed_us: u64) {
        self.elapsed_us = elapsed_us as u32;
    }

    /// Writes LOAD CLASS, if it is not written yet.
    pub fn load_class(&mut self, profile: &Profile, class: ClassId) -> io::Result<()> {
        if !self.classes.first(class.index()) {
            return Ok(());
        }
        let name = self.name(profile, Some(profile.symbols.get_class(class).name))?;
        let object = match self.form.id_size {
            IdSize::Eight => CLASS_OBJECT | index(class.index()),
            // All ids of four bytes may be addresses of objects.
            IdSize::Four => 0,
        };
        let body = self.body();
        let body = body.u4(class_serial(class)).id(object).u4(SYSTEM_TRACE).id(name);
        self.record(tag::LOAD_CLASS, body)
    }

    /// Writes UNLOAD CLASS, for a class of which LOAD CLASS is written.
    pub fn unload_class(&mut self, class: ClassId) -> io::Result<()> {
        if !self.classes.has(class.index()) {
            return Ok(());
        }
        self.record(tag::UNLOAD_CLASS, self.body().u4(class_serial(class)))
    }

    /// Writes START THREAD.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        let name = self.thread_name(Some(thread.name))?;
        let group = self.thread_name(thread.group)?;
        let parent = self.thread_name(thread.parent_group)?;
        let body = self.body().u4(thread.serial).id(thread.object_id).u4(SYSTEM_TRACE);
        self.record(tag::START_THREAD, body.id(name).id(group).id(parent))
    }

    /// Writes END THREAD.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        self.record(tag::END_THREAD, self.body().u4(serial))
    }

    /// Writes the frames and traces that are new, in the rows' order, and CPU SAMPLES. Counts of
    /// 2^32 and more do not fit the format. They are written as 2^32 - 1, after a record that has
    /// them.
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        if self.extended.is_some() {
            return self.rows_of(profile, &samples.head(), samples.keyed());
        }
        if samples.is_interim {
            let id = INTERIM_ID + self.interim_count;
            self.interim_count += 1;
            self.record(tag::UTF8, self.body().id(id).bytes(INTERIM.as_bytes()))?;
        }
        let mut body = self.body().u4_at_most(samples.total).u4_at_most(samples.rows.len() as u64);
        for &(trace, count) in &samples.rows {
            self.trace(profile, trace)?;
            body = body.u4_at_most(count).u4(profile.get_trace(trace).serial);
        }
        self.record(tag::CPU_SAMPLES, body)
    }

    /// Writes call times, which only extended files hold.
    pub fn call_times(&mut self, profile: &Profile, times: &CallTimes) -> io::Result<()> {
        self.rows_of(profile, &times.head(), times.keyed())
    }

    /// Writes the waiting for locks, which only extended files hold.
    pub fn monitor_times(&mut self, profile: &Profile, times: &MonitorTimes) -> io::Result<()> {
        self.rows_of(profile, &times.head(), times.keyed())
    }

    /// Writes a section in the records of HPROF, or in a record of an extended file, which holds
    /// any section.
    pub fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        if self.extended.is_none() {
            match section.view(profile) {
                SectionView::CpuSamples(samples) => return self.cpu_samples(profile, &samples),
                SectionView::Sites(sites) => return self.sites(profile, &sites),
                _ => {}
            }
        }
        self.rows_of(profile, &section.head, section.rows())
    }

    /// Writes the frames and traces that are new, in order of trace, and ALLOC SITES. If the
    /// numbers are estimates, the record that announces this comes before ALLOC SITES. Live
    /// numbers, and numbers of rows, of 2^32 and more do not fit the format. They are written as
    /// 2^32 - 1, after a record that has them. If the rows are not complete, the cutoff is the
    /// share of the last row.
    pub fn sites(&mut self, profile: &Profile, sites: &Sites) -> io::Result<()> {
        if self.extended.is_some() {
            return self.rows_of(profile, &sites.head(), sites.keyed());
        }
        let mut traces: Vec<_> = sites.rows.iter().map(|row| row.trace).collect();
        traces.sort_unstable();
        for trace in traces {
            self.trace(profile, trace)?;
        }
        if let Some(interval_bytes) = sites.sample_interval_bytes {
            let text = format!("{ESTIMATE}{interval_bytes}\n");
            self.record(tag::UTF8, self.body().id(ESTIMATE_ID).bytes(text.as_bytes()))?;
        }
        let total = sites.total;
        let mut body = self
            .body()
            .u2(sites.selection.flags())
            .u4(cutoff(sites).to_bits())
            .u4_at_most(total.live_bytes)
            .u4_at_most(total.live_count)
            .u8(total.allocated_bytes)
            .u8(total.allocated_count)
            .u4_at_most(sites.rows.len() as u64);
        for row in &sites.rows {
            self.load_class(profile, row.class)?;
            body = body
                .u1(element_type(profile.symbols.class_name(row.class)))
                .u4(class_serial(row.class))
                .u4(profile.get_trace(row.trace).serial)
                .u4_at_most(row.objects.live_bytes)
                .u4_at_most(row.objects.live_count)
                .u4_at_most(row.objects.allocated_bytes)
                .u4_at_most(row.objects.allocated_count);
        }
        self.record(tag::ALLOC_SITES, body)
    }

    /// Writes HEAP SUMMARY. Live numbers of 2^32 and more do not fit it. Extended files have a
    /// record of their own for them. Other files have 2^32 - 1, after a record that has the
    /// numbers.
    pub fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        let objects = summary.objects;
        if self.extended.is_some() && objects.live_bytes.max(objects.live_count) > u32::MAX.into() {
            return self.large_heap_summary(summary);
        }
        let body = self
            .body()
            .u4_at_most(objects.live_bytes)
            .u4_at_most(objects.live_count)
            .u8(objects.allocated_bytes)
            .u8(objects.allocated_count);
        self.record(tag::HEAP_SUMMARY, body)
    }

    /// Writes the contents of heap dumps by class, which only extended files hold.
    pub fn heap_histogram(&mut self, profile: &Profile, heap: &HeapHistogram) -> io::Result<()> {
        match self.extended {
            Some(_) => self.heap_rows(profile, heap),
            None => Err(Format::Binary.refusal(SectionKind::HeapHistogram)),
        }
    }

    /// Writes all frames and traces that are new.
    pub fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        if self.extended.is_some() {
            return self.tree(profile);
        }
        (0..profile.traces().len()).try_for_each(|index| self.trace(profile, TraceId::new(index)))
    }

    /// Writes the accounting, if the profile has one, in a UTF8 record that no other record refers
    /// to.
    pub fn accounting(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(accounting) = &profile.accounting else { return Ok(()) };
        let text = format!("{ACCOUNTING}{}", accounting.to_text());
        self.record(tag::UTF8, self.body().id(ACCOUNTING_ID).bytes(&mutf8::encode(&text)))
    }

    /// Returns the sink.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    fn trace(&mut self, profile: &Profile, id: TraceId) -> io::Result<()> {
        if !self.traces.first(id.index()) {
            return Ok(());
        }
        let trace = profile.get_trace(id);
        let mut frames = self.body();
        let mut count = 0;
        for frame in profile.tree.frames(trace.node) {
            self.frame(profile, frame)?;
            frames = frames.id(FRAME | index(frame.index()));
            count += 1;
        }
        let thread = trace.thread.map_or(0, |thread| profile.get_thread(thread).serial);
        let body = self.body().u4(trace.serial).u4(thread).u4(count).bytes(&frames.bytes);
        self.record(tag::STACK_TRACE, body)
    }

    /// Writes a frame if it is new. Returns whether it was new.
    fn frame(&mut self, profile: &Profile, id: FrameId) -> io::Result<bool> {
        if !self.frames.first(id.index()) {
            return Ok(false);
        }
        let frame = profile.symbols.get_frame(id);
        self.stack_frame(profile, FRAME | index(id.index()), frame.method, frame.line)?;
        Ok(true)
    }

    fn stack_frame(
        &mut self,
        profile: &Profile,
        id: u64,
        method: MethodId,
        line: Line,
    ) -> io::Result<()> {
        let method = profile.symbols.get_method(method);
        self.load_class(profile, method.class)?;
        let name = self.name(profile, Some(method.name))?;
        let signature = self.name(profile, method.signature)?;
        let source = self.name(profile, method.source)?;
        let body = self.body().id(id).id(name).id(signature).id(source);
        let line = line.to_hprof().cast_unsigned();
        self.record(tag::STACK_FRAME, body.u4(class_serial(method.class)).u4(line))
    }

    /// Returns the id of a name, which is written if it is new. Without a name the id is 0.
    fn name(&mut self, profile: &Profile, name: Option<StrId>) -> io::Result<u64> {
        let Some(name) = name else { return Ok(0) };
        let id = NAME | index(name.index());
        if self.names.first(name.index()) {
            let text = mutf8::encode(profile.symbols.strings.get(name));
            self.record(tag::UTF8, self.body().id(id).bytes(&text))?;
        }
        Ok(id)
    }

    /// Returns the id of a thread's or group's name, which is written unless it is among the recent
    /// ones.
    fn thread_name(&mut self, name: Option<&str>) -> io::Result<u64> {
        let Some(name) = name else { return Ok(0) };
        if let Some(&id) = self.thread_names.get(name) {
            return Ok(id);
        }
        self.thread_name_count += 1;
        let id = THREAD_NAME | self.thread_name_count;
        self.record(tag::UTF8, self.body().id(id).bytes(&mutf8::encode(name)))?;
        if self.thread_names.len() >= RECENT_THREAD_NAMES {
            self.thread_names.clear();
        }
        self.thread_names.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Returns an empty body of a record.
    fn body(&self) -> Body {
        Body { id_size: self.form.id_size, ..Body::default() }
    }

    fn record(&mut self, tag: u8, body: Body) -> io::Result<()> {
        if !body.wide.is_empty() {
            let id = WIDE_ID + self.wide_count;
            self.wide_count += 1;
            let lines: String = body.wide.iter().map(|value| format!("{value}\n")).collect();
            let text = self.body().id(id).bytes(WIDE.as_bytes()).bytes(lines.as_bytes());
            self.record_of(tag::UTF8, &text.bytes)?;
        }
        self.record_of(tag, &body.bytes)
    }

    fn record_of(&mut self, tag: u8, body: &[u8]) -> io::Result<()> {
        self.head(tag, body.len() as u64)?;
        self.out.write_all(body)
    }

    /// Writes the head of a record whose body has this many bytes.
    fn head(&mut self, tag: u8, bytes: u64) -> io::Result<()> {
        let length = u32::try_from(bytes).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "an HPROF record is limited to 4 GiB")
        })?;
        self.out.write_all(&[tag])?;
        self.out.write_all(&self.elapsed_us.to_be_bytes())?;
        self.out.write_all(&length.to_be_bytes())
    }
}

/// Returns the id's part for a table position. An id of 0 would mean none.
fn index(index: usize) -> u64 {
    index as u64 + 1
}

fn class_serial(class: ClassId) -> u32 {
    FIRST_CLASS_SERIAL + class.index() as u32
}

/// Returns the share of the last row if rows were cut off, and otherwise 0.
fn cutoff(sites: &Sites) -> f32 {
    let live_bytes = |row: &Site| row.objects.live_bytes;
    let listed = sites.rows.iter().map(live_bytes).fold(0, u64::saturating_add);
    match sites.rows.last() {
        Some(last) if listed < sites.total.live_bytes => {
            (live_bytes(last) as f64 / sites.total.live_bytes as f64) as f32
        }
        _ => 0.0,
    }
}

/// Returns HPROF's number for the type of the elements of a class, given by its name in source
/// form.
fn element_type(class: &str) -> u8 {
    match ARRAYS.iter().find(|(name, _)| *name == class) {
        Some((_, number)) => *number,
        None if class.ends_with("[]") => OBJECT_ARRAY,
        None => NO_ARRAY,
    }
}

/// The body of a record, built field by field.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    id_size: IdSize,
    /// The numbers that the body has as 2^32 - 1.
    wide: Vec<u64>,
}

impl Body {
    fn u1(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    fn u2(self, value: u16) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    fn u4(self, value: u32) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    /// Adds a number of any size, as 2^32 - 1 if it does not fit.
    fn u4_at_most(mut self, value: u64) -> Self {
        let narrow = u32::try_from(value).unwrap_or(u32::MAX);
        if narrow == u32::MAX {
            self.wide.push(value);
        }
        self.u4(narrow)
    }

    fn u8(self, value: u64) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    fn id(self, value: u64) -> Self {
        let id = self.id_size.own(value);
        match self.id_size {
            IdSize::Eight => self.u8(id),
            IdSize::Four => self.u4(id as u32),
        }
    }

    /// Adds a number in groups of seven bits: see [`Cursor::varint`](super::cursor::Cursor::varint).
    fn varint(mut self, value: u64) -> Self {
        put_varint(&mut self.bytes, value);
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}
