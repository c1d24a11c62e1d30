//! Writes HPROF binary.

use std::io::{self, Write};

use perk_profile::profile::SYSTEM_TRACE;
use perk_profile::{ClassId, CpuSamples, FrameId, Profile, StrId, TraceId, mutf8};
use rustc_hash::FxHashMap;

use super::{ACCOUNTING, ACCOUNTING_ID, FLAG_CPU_SAMPLES, NAME, tag};
use crate::write::{ThreadStart, Written, date};

/// The other tables' ids.
const CLASS_OBJECT: u64 = 0x6 << 32;
const FRAME: u64 = 0x7 << 32;
const THREAD_NAME: u64 = 0xb << 32;
/// How many names of threads are remembered: programs that start threads without end name each
/// differently.
const RECENT_THREAD_NAMES: usize = 1024;
const FIRST_CLASS_SERIAL: u32 = 100_000;

/// Writes the records one by one. Names, frames and traces are written once, right before the
/// first record that needs them.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    elapsed_us: u32,
    names: Written,
    thread_names: FxHashMap<String, u64>,
    thread_name_count: u64,
    classes: Written,
    frames: Written,
    traces: Written,
}

impl<W: Write> Writer<W> {
    /// Writes the header, CONTROL SETTINGS and the system trace.
    ///
    /// # Errors
    /// As the sink fails; so do all other methods.
    pub fn begin(mut out: W, profile: &Profile) -> io::Result<Self> {
        out.write_all(b"JAVA PROFILE 1.0.2\0")?;
        out.write_all(&8_u32.to_be_bytes())?;
        out.write_all(&date(None, profile).unix_ms.to_be_bytes())?;
        let mut writer = Self {
            out,
            elapsed_us: 0,
            names: Written::default(),
            thread_names: FxHashMap::default(),
            thread_name_count: 0,
            classes: Written::default(),
            frames: Written::default(),
            traces: Written::default(),
        };
        let depth = u16::try_from(profile.depth.unwrap_or(0)).unwrap_or(u16::MAX);
        writer.record(tag::CONTROL_SETTINGS, Body::default().u4(FLAG_CPU_SAMPLES).u2(depth))?;
        writer.trace(profile, profile.system_trace())?;
        Ok(writer)
    }

    /// Sets the time stamp of the records to come, in microseconds since the file was begun. The
    /// field has 32 bits: it wraps after 71 minutes.
    pub fn set_elapsed_us(&mut self, elapsed_us: u64) {
        self.elapsed_us = elapsed_us as u32;
    }

    /// Writes LOAD CLASS, if it is not written yet.
    pub fn load_class(&mut self, profile: &Profile, class: ClassId) -> io::Result<()> {
        if !self.classes.first(class.index()) {
            return Ok(());
        }
        let name = self.name(profile, Some(profile.symbols.get_class(class).name))?;
        let object = CLASS_OBJECT | index(class.index());
        let body = Body::default();
        let body = body.u4(class_serial(class)).id(object).u4(SYSTEM_TRACE).id(name);
        self.record(tag::LOAD_CLASS, body)
    }

    /// Writes START THREAD.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        let name = self.thread_name(Some(thread.name))?;
        let group = self.thread_name(thread.group)?;
        let parent = self.thread_name(thread.parent_group)?;
        let body = Body::default().u4(thread.serial).id(thread.object_id).u4(SYSTEM_TRACE);
        self.record(tag::START_THREAD, body.id(name).id(group).id(parent))
    }

    /// Writes END THREAD.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        self.record(tag::END_THREAD, Body::default().u4(serial))
    }

    /// Writes the frames and traces that are new, in the rows' order, and CPU SAMPLES. Counts of
    /// 2^32 and more do not fit the format and are written as 2^32 - 1.
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        let u4 = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let mut body = Body::default().u4(u4(samples.total)).u4(u4(samples.rows.len() as u64));
        for &(trace, count) in &samples.rows {
            self.trace(profile, trace)?;
            body = body.u4(u4(count)).u4(profile.get_trace(trace).serial);
        }
        self.record(tag::CPU_SAMPLES, body)
    }

    /// Writes the accounting, if the profile has one, in a UTF8 record that nothing refers to.
    pub fn accounting(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(accounting) = &profile.accounting else { return Ok(()) };
        let text = format!("{ACCOUNTING}{}", accounting.to_text());
        self.record(tag::UTF8, Body::default().id(ACCOUNTING_ID).bytes(&mutf8::encode(&text)))
    }

    /// The sink.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    fn trace(&mut self, profile: &Profile, id: TraceId) -> io::Result<()> {
        if !self.traces.first(id.index()) {
            return Ok(());
        }
        let trace = profile.get_trace(id);
        let mut frames = Body::default();
        let mut count = 0;
        for frame in profile.tree.frames(trace.node) {
            self.frame(profile, frame)?;
            frames = frames.id(FRAME | index(frame.index()));
            count += 1;
        }
        let thread = trace.thread.map_or(0, |thread| profile.get_thread(thread).serial);
        let body = Body::default().u4(trace.serial).u4(thread).u4(count).bytes(&frames.0);
        self.record(tag::STACK_TRACE, body)
    }

    fn frame(&mut self, profile: &Profile, id: FrameId) -> io::Result<()> {
        if !self.frames.first(id.index()) {
            return Ok(());
        }
        let frame = profile.symbols.get_frame(id);
        let method = profile.symbols.get_method(frame.method);
        self.load_class(profile, method.class)?;
        let name = self.name(profile, Some(method.name))?;
        let signature = self.name(profile, method.signature)?;
        let source = self.name(profile, method.source)?;
        let body = Body::default().id(FRAME | index(id.index())).id(name).id(signature).id(source);
        let line = frame.line.to_hprof().cast_unsigned();
        self.record(tag::STACK_FRAME, body.u4(class_serial(method.class)).u4(line))
    }

    /// The id of a name, which is written if it is new; 0 stands for none.
    fn name(&mut self, profile: &Profile, name: Option<StrId>) -> io::Result<u64> {
        let Some(name) = name else { return Ok(0) };
        let id = NAME | index(name.index());
        if self.names.first(name.index()) {
            let text = mutf8::encode(profile.symbols.strings.get(name));
            self.record(tag::UTF8, Body::default().id(id).bytes(&text))?;
        }
        Ok(id)
    }

    /// The id of a thread's or group's name, which is written unless it is among the recent ones.
    fn thread_name(&mut self, name: Option<&str>) -> io::Result<u64> {
        let Some(name) = name else { return Ok(0) };
        if let Some(&id) = self.thread_names.get(name) {
            return Ok(id);
        }
        self.thread_name_count += 1;
        let id = THREAD_NAME | self.thread_name_count;
        self.record(tag::UTF8, Body::default().id(id).bytes(&mutf8::encode(name)))?;
        if self.thread_names.len() >= RECENT_THREAD_NAMES {
            self.thread_names.clear();
        }
        self.thread_names.insert(name.to_owned(), id);
        Ok(id)
    }

    fn record(&mut self, tag: u8, body: Body) -> io::Result<()> {
        let length = u32::try_from(body.0.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "an HPROF record is limited to 4 GiB")
        })?;
        self.out.write_all(&[tag])?;
        self.out.write_all(&self.elapsed_us.to_be_bytes())?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(&body.0)
    }
}

/// An id's table position; 0 would mean none.
fn index(index: usize) -> u64 {
    index as u64 + 1
}

fn class_serial(class: ClassId) -> u32 {
    FIRST_CLASS_SERIAL + class.index() as u32
}

/// The body of a record, built field by field.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn u2(self, value: u16) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    fn u4(self, value: u32) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    fn id(self, value: u64) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}
