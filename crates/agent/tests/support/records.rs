//! A strict walker of HPROF binary with CPU samples and sites, written from the format's description: every
//! length exact, every id given before it is used. It is proved on the original agent's file first.

use std::collections::{BTreeMap, BTreeSet};

/// A file that passed.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) version: String,
    pub(crate) id_bytes: usize,
    pub(crate) created_ms: u64,
    /// CONTROL SETTINGS.
    pub(crate) flags: u32,
    pub(crate) depth: u16,
    /// Names by id, as bytes.
    pub(crate) names: BTreeMap<u64, Vec<u8>>,
    /// Ids of names that some record uses.
    used_names: BTreeSet<u64>,
    /// Class names by serial number.
    pub(crate) classes: BTreeMap<u32, String>,
    /// Serial numbers of classes that were unloaded, in order.
    pub(crate) unloaded: Vec<u32>,
    class_objects: BTreeSet<u64>,
    pub(crate) threads: BTreeMap<u32, Thread>,
    pub(crate) ended: Vec<u32>,
    pub(crate) frames: BTreeMap<u64, Frame>,
    pub(crate) traces: BTreeMap<u32, Trace>,
    pub(crate) sections: Vec<Section>,
    pub(crate) sites: Vec<Sites>,
    pub(crate) summaries: Vec<Totals>,
    /// Tags in the order of the records.
    pub(crate) tags: Vec<u8>,
    micros: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) object: u64,
    pub(crate) name: String,
    pub(crate) group: Option<String>,
    pub(crate) parent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) class: u32,
    pub(crate) method: String,
    pub(crate) signature: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) line: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// 0 where threads are not told apart.
    pub(crate) thread: u32,
    pub(crate) frames: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) total: u32,
    /// Samples and trace.
    pub(crate) rows: Vec<(u32, u32)>,
}

/// ALLOC SITES.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sites {
    pub(crate) flags: u16,
    pub(crate) cutoff: f32,
    pub(crate) total: Totals,
    pub(crate) rows: Vec<Site>,
}

/// Live bytes and objects, allocated bytes and objects.
pub(crate) type Totals = [u64; 4];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) class: String,
    pub(crate) trace: u32,
    pub(crate) objects: Totals,
}

pub(crate) const UTF8: u8 = 0x01;
pub(crate) const LOAD_CLASS: u8 = 0x02;
pub(crate) const UNLOAD_CLASS: u8 = 0x03;
pub(crate) const FRAME: u8 = 0x04;
pub(crate) const TRACE: u8 = 0x05;
pub(crate) const ALLOC_SITES: u8 = 0x06;
pub(crate) const HEAP_SUMMARY: u8 = 0x07;
pub(crate) const START_THREAD: u8 = 0x0A;
pub(crate) const END_THREAD: u8 = 0x0B;
pub(crate) const CPU_SAMPLES: u8 = 0x0D;
pub(crate) const CONTROL_SETTINGS: u8 = 0x0E;
pub(crate) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
pub(crate) const HEAP_DUMP_END: u8 = 0x2C;

impl Records {
    /// `class.method` of a frame, with the signature where that is wanted.
    fn method(&self, frame: u64, with_signature: bool) -> String {
        let frame = &self.frames[&frame];
        let signature = frame.signature.as_deref().filter(|_| with_signature).unwrap_or_default();
        format!("{}.{}{signature}", self.classes[&frame.class], frame.method)
    }

    /// Samples by the method on top of the stack.
    pub(crate) fn self_counts(&self, with_signature: bool) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (count, trace) in self.sections.iter().flat_map(|section| &section.rows) {
            let top = self.traces[trace].frames.first();
            let top =
                top.map_or("<empty trace>".to_owned(), |frame| self.method(*frame, with_signature));
            *counts.entry(top).or_default() += u64::from(*count);
        }
        counts
    }

    /// Samples by each method on the stack, recursion counted once.
    pub(crate) fn total_counts(&self, with_signature: bool) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (count, trace) in self.sections.iter().flat_map(|section| &section.rows) {
            let frames = self.traces[trace].frames.iter();
            let methods: BTreeSet<String> =
                frames.map(|frame| self.method(*frame, with_signature)).collect();
            for method in methods {
                *counts.entry(method).or_default() += u64::from(*count);
            }
        }
        counts
    }

    /// Names that no record uses.
    pub(crate) fn unused_names(&self) -> Vec<&[u8]> {
        let unused = self.names.iter().filter(|(id, _)| !self.used_names.contains(id));
        unused.map(|(_, name)| name.as_slice()).collect()
    }
}

type Result<T> = std::result::Result<T, String>;

fn ensure(condition: bool, what: impl FnOnce() -> String) -> Result<()> {
    if condition { Ok(()) } else { Err(what()) }
}

/// Checks a whole file.
pub(crate) fn check(bytes: &[u8]) -> Result<Records> {
    let nul = bytes.iter().position(|byte| *byte == 0).ok_or("no header")?;
    let version = String::from_utf8_lossy(&bytes[..nul]).into_owned();
    let known = ["JAVA PROFILE 1.0.1", "JAVA PROFILE 1.0.2"].contains(&version.as_str());
    ensure(known, || format!("header {version:?}"))?;
    let mut input = Input { bytes: &bytes[nul + 1..], id_bytes: 4 };
    let id_bytes = input.u4()? as usize;
    ensure([4, 8].contains(&id_bytes), || format!("ids of {id_bytes} bytes"))?;
    input.id_bytes = id_bytes;
    let created_ms = input.number(8)?;
    let mut records = Records { version, id_bytes, created_ms, ..Records::default() };
    while !input.bytes.is_empty() {
        let at = bytes.len() - input.bytes.len();
        records.record(&mut input).map_err(|what| format!("offset {at:#x}: {what}"))?;
    }
    ensure(records.micros.is_sorted(), || "time runs backward".to_owned())?;
    Ok(records)
}

struct Input<'a> {
    bytes: &'a [u8],
    id_bytes: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let split = self.bytes.split_at_checked(count);
        let (taken, rest) = split.ok_or_else(|| format!("{count} bytes wanted"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn u4(&mut self) -> Result<u32> {
        Ok(self.number(4)? as u32)
    }

    fn id(&mut self) -> Result<u64> {
        self.number(self.id_bytes)
    }

    fn totals(&mut self) -> Result<Totals> {
        Ok([self.number(4)?, self.number(4)?, self.number(8)?, self.number(8)?])
    }
}

impl Records {
    fn record(&mut self, input: &mut Input<'_>) -> Result<()> {
        let tag = input.number(1)? as u8;
        self.micros.push(input.u4()?);
        let length = input.u4()? as usize;
        let mut body = Input { bytes: input.take(length)?, id_bytes: input.id_bytes };
        ensure(self.tags.is_empty() == (tag == CONTROL_SETTINGS), || {
            "CONTROL SETTINGS is not the first record, or not the only one".to_owned()
        })?;
        match tag {
            UTF8 => self.utf8(&mut body)?,
            LOAD_CLASS => self.load_class(&mut body)?,
            FRAME => self.frame(&mut body)?,
            TRACE => self.trace(&mut body)?,
            START_THREAD => self.start_thread(&mut body)?,
            END_THREAD => self.ended.push(body.u4()?),
            CPU_SAMPLES => self.cpu_samples(&mut body)?,
            UNLOAD_CLASS => {
                let serial = body.u4()?;
                let is_new = self.classes.contains_key(&serial) && !self.unloaded.contains(&serial);
                ensure(is_new, || format!("class {serial} cannot be unloaded"))?;
                self.unloaded.push(serial);
            }
            ALLOC_SITES => self.alloc_sites(&mut body)?,
            HEAP_SUMMARY => self.summaries.push(body.totals()?),
            CONTROL_SETTINGS => {
                self.flags = body.u4()?;
                self.depth = body.number(2)? as u16;
            }
            _ => return Err(format!("tag {tag:#04x}")),
        }
        ensure(body.bytes.is_empty(), || format!("{} bytes left over", body.bytes.len()))?;
        self.tags.push(tag);
        Ok(())
    }

    fn utf8(&mut self, body: &mut Input<'_>) -> Result<()> {
        let id = body.id()?;
        let name = body.take(body.bytes.len())?.to_vec();
        ensure(!name.contains(&0), || "a NUL in a name".to_owned())?;
        ensure(id != 0 && self.names.insert(id, name).is_none(), || format!("name {id:#x} again"))
    }

    /// The name behind an id; 0 stands for none.
    fn name(&mut self, body: &mut Input<'_>) -> Result<Option<String>> {
        let id = body.id()?;
        if id == 0 {
            return Ok(None);
        }
        self.used_names.insert(id);
        let name = self.names.get(&id).ok_or_else(|| format!("name {id:#x} before its UTF8"))?;
        Ok(Some(String::from_utf8_lossy(name).into_owned()))
    }

    fn load_class(&mut self, body: &mut Input<'_>) -> Result<()> {
        let serial = body.u4()?;
        let object = body.id()?;
        body.u4()?;
        let name = self.name(body)?.ok_or("a class without a name")?;
        ensure(serial >= 100_000 && self.classes.insert(serial, name).is_none(), || {
            format!("class {serial} again")
        })?;
        // In short ids perk has none for classes that are in no heap dump.
        let has_none = object == 0 && self.id_bytes == 4;
        ensure(has_none || object != 0 && self.class_objects.insert(object), || {
            format!("object {object:#x}")
        })
    }

    fn frame(&mut self, body: &mut Input<'_>) -> Result<()> {
        let id = body.id()?;
        let method = self.name(body)?.ok_or("a method without a name")?;
        let (signature, source) = (self.name(body)?, self.name(body)?);
        let class = body.u4()?;
        let line = body.u4()?.cast_signed();
        ensure(self.classes.contains_key(&class), || format!("class {class} before its record"))?;
        ensure(line > 0 || [-1, -2, -3].contains(&line), || format!("line {line}"))?;
        let shaped = signature.as_ref().is_none_or(|it| it.starts_with('(') && it.contains(')'));
        ensure(shaped, || format!("signature {signature:?}"))?;
        let frame = Frame { class, method, signature, source, line };
        ensure(self.frames.insert(id, frame).is_none(), || format!("frame {id:#x} again"))
    }

    fn trace(&mut self, body: &mut Input<'_>) -> Result<()> {
        let (serial, thread, count) = (body.u4()?, body.u4()?, body.u4()?);
        let frames = (0..count).map(|_| body.id()).collect::<Result<Vec<u64>>>()?;
        let unknown = frames.iter().find(|frame| !self.frames.contains_key(frame));
        ensure(unknown.is_none(), || format!("trace {serial} before its frame {unknown:?}"))?;
        ensure(thread == 0 || self.threads.contains_key(&thread), || format!("thread {thread}"))?;
        ensure(serial >= 300_000, || format!("trace {serial}"))?;
        let trace = Trace { thread, frames };
        ensure(self.traces.insert(serial, trace).is_none(), || format!("trace {serial} again"))
    }

    fn start_thread(&mut self, body: &mut Input<'_>) -> Result<()> {
        let serial = body.u4()?;
        let object = body.id()?;
        body.u4()?;
        let name = self.name(body)?.ok_or("a thread without a name")?;
        let (group, parent) = (self.name(body)?, self.name(body)?);
        let thread = Thread { object, name, group, parent };
        ensure(serial > 200_000 && self.threads.insert(serial, thread).is_none(), || {
            format!("thread {serial} again")
        })
    }

    fn alloc_sites(&mut self, body: &mut Input<'_>) -> Result<()> {
        let (flags, cutoff) = (body.number(2)? as u16, f32::from_bits(body.u4()?));
        let (total, count) = (body.totals()?, body.u4()?);
        let mut rows = Vec::new();
        for _ in 0..count {
            let (_element, class, trace) = (body.number(1)?, body.u4()?, body.u4()?);
            ensure(self.traces.contains_key(&trace), || format!("no trace {trace}"))?;
            let class = self.classes.get(&class).ok_or_else(|| format!("no class {class}"))?;
            let class = class.clone();
            let objects = [body.number(4)?, body.number(4)?, body.number(4)?, body.number(4)?];
            ensure(objects[0] <= objects[2] && objects[1] <= objects[3], || {
                format!("{class}: more live than allocated: {objects:?}")
            })?;
            rows.push(Site { class, trace, objects });
        }
        let by = |row: &Site| if flags & 2 == 0 { row.objects[0] } else { row.objects[2] };
        ensure(rows.is_sorted_by(|a, b| by(a) >= by(b)), || "sites out of order".to_owned())?;
        self.sites.push(Sites { flags, cutoff, total, rows });
        Ok(())
    }

    fn cpu_samples(&mut self, body: &mut Input<'_>) -> Result<()> {
        let (total, count) = (body.u4()?, body.u4()?);
        let mut section = Section { total, rows: Vec::new() };
        for _ in 0..count {
            let row = (body.u4()?, body.u4()?);
            ensure(self.traces.contains_key(&row.1), || format!("no trace {}", row.1))?;
            ensure(row.0 > 0, || "a row without samples".to_owned())?;
            section.rows.push(row);
        }
        ensure(section.rows.is_sorted_by(|a, b| a.0 >= b.0), || "rows out of order".to_owned())?;
        let sum: u32 = section.rows.iter().map(|row| row.0).sum();
        ensure(sum <= total, || format!("{sum} samples in rows of {total}"))?;
        self.sections.push(section);
        Ok(())
    }
}
