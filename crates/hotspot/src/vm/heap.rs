//! Objects of the heap: the encoding of references, the class of an object, and whether collectors
//! have moved objects meanwhile. Async-signal-safe except for its construction.

use super::memory::{CurrentMemory, Memory};
use super::method::Methods;
use super::tables::{MissingDescription, Number, Tables};

/// The bits of a mark, and their value in an object that has been copied: the rest is the address of
/// the copy.
const MARK_BITS: usize = 3;

/// How this JVM lays out its heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap {
    /// The base and the shift of references in fields, if these have 4 bytes.
    narrow: Option<(usize, u32)>,
    collector: Collector,
    class: ClassPlace,
    class_name: usize,
    class_layout: Number,
    /// The address of the collector, whether it has stopped all threads, and how often it has run.
    collections: (usize, Number, Number),
}

#[derive(Clone, Copy, Debug)]
enum Collector {
    /// It moves objects while all threads are stopped.
    Stopping,
    /// It copies objects while the program runs; their old copies lead to the new ones.
    Shenandoah,
    /// References have bits of their own. Addresses of the JVM's numbers: of the bits of those that
    /// may be outdated, and of the places by which the others are shifted, if they are.
    Coloured { bad: usize, shift: Option<usize> },
}

/// Where an object's class is.
#[derive(Clone, Copy, Debug)]
enum ClassPlace {
    Wide(usize),
    Narrow { offset: usize, base: usize, shift: u32 },
    InMark { mark_shift: u32, base: usize, shift: u32 },
}

/// A moment between two moves of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    collection_count: i64,
    /// The bits of outdated references.
    bad: usize,
}

impl Heap {
    pub(super) fn new(memory: &impl Memory, tables: &Tables) -> Result<Heap, MissingDescription> {
        let word = |names: &[&str]| -> Result<usize, MissingDescription> {
            memory
                .word(tables.address(names)?)
                .ok_or_else(|| MissingDescription::new("its own variables"))
        };
        let shift = |names: &[&str]| -> Result<u32, MissingDescription> {
            memory
                .u32(tables.address(names)?)
                .ok_or_else(|| MissingDescription::new("its own variables"))
        };
        let flags = tables.flags(memory, &FLAGS)?;
        let is_on = |name: &str| flags.get(name).is_some_and(|value| *value != 0);
        let narrow = || {
            let base = word(&["CompressedOops._base", "CompressedOops._narrow_oop._base"])?;
            let shift = shift(&["CompressedOops._shift", "CompressedOops._narrow_oop._shift"])?;
            Ok((base, shift))
        };
        let narrow_class = || {
            const BASE: [&str; 2] =
                ["CompressedKlassPointers._base", "CompressedKlassPointers._narrow_klass._base"];
            const SHIFT: [&str; 2] =
                ["CompressedKlassPointers._shift", "CompressedKlassPointers._narrow_klass._shift"];
            Ok((word(&BASE)?, shift(&SHIFT)?))
        };
        let class = if is_on("UseCompactObjectHeaders") {
            let (base, shift) = narrow_class()?;
            let mark_shift = tables.constant("markWord::klass_shift")? as u32;
            ClassPlace::InMark { mark_shift, base, shift }
        } else if is_on("UseCompressedClassPointers") {
            let (base, shift) = narrow_class()?;
            let offset = tables.offset(&["oopDesc._metadata._compressed_klass"])?;
            ClassPlace::Narrow { offset, base, shift }
        } else {
            ClassPlace::Wide(tables.offset(&["oopDesc._metadata._klass"])?)
        };
        let variable = |instance: &str, field: &str| {
            let instance = word(&[instance])?;
            let field = instance + tables.offset(&[field])?;
            memory.word(field).ok_or_else(|| MissingDescription::new("its collector's variables"))
        };
        let collector = if is_on("UseShenandoahGC") {
            Collector::Shenandoah
        } else if !is_on("UseZGC") {
            Collector::Stopping
        } else if flags.get("ZGenerational") == Some(&0) {
            const INSTANCE: &str = "XGlobalsForVMStructs._instance_p";
            let bad = variable(INSTANCE, "XGlobalsForVMStructs._XAddressBadMask")?;
            Collector::Coloured { bad, shift: None }
        } else {
            const INSTANCE: &str = "ZGlobalsForVMStructs._instance_p";
            let bad = variable(INSTANCE, "ZGlobalsForVMStructs._ZPointerLoadBadMask")?;
            let shift = variable(INSTANCE, "ZGlobalsForVMStructs._ZPointerLoadShift")?;
            Collector::Coloured { bad, shift: Some(shift) }
        };
        Ok(Heap {
            narrow: if is_on("UseCompressedOops") { Some(narrow()?) } else { None },
            collector,
            class,
            class_name: tables.offset(&["Klass._name"])?,
            class_layout: tables.number(&["Klass._layout_helper"])?,
            collections: (
                word(&["Universe._collectedHeap"])?,
                tables
                    .number(&["CollectedHeap._is_stw_gc_active", "CollectedHeap._is_gc_active"])?,
                tables.number(&["CollectedHeap._total_collections"])?,
            ),
        })
    }

    /// Returns the moment, if no collector is about to move objects that are read here. What is read
    /// between two calls that return the same is right. `may_pass` says whether a collector may begin
    /// and end a pause while the thread is in its signal handler.
    pub(super) fn moment(&self, memory: &impl Memory, may_pass: bool) -> Option<Moment> {
        let memory = &CurrentMemory(memory);
        let (collector, is_active, count) = self.collections;
        let (is_idle, bad) = match self.collector {
            Collector::Shenandoah if may_pass => return None,
            Collector::Shenandoah | Collector::Stopping => {
                (is_active.read(memory, collector)? == 0, 0)
            }
            Collector::Coloured { bad, .. } => (true, memory.word(bad)?),
        };
        let collection_count = count.read(memory, collector)?;
        is_idle.then_some(Moment { collection_count, bad })
    }

    /// Returns the object that a reference of 8 bytes is to, 0 for null; `None` where the reference may
    /// be outdated.
    pub(super) fn object(&self, memory: &impl Memory, reference: usize) -> Option<usize> {
        let object = match self.collector {
            Collector::Shenandoah if reference != 0 => match memory.word(reference)? {
                mark if mark & MARK_BITS == MARK_BITS => mark & !MARK_BITS,
                _ => reference,
            },
            Collector::Stopping | Collector::Shenandoah => reference,
            Collector::Coloured { bad, .. } if reference & memory.word(bad)? != 0 => return None,
            Collector::Coloured { shift: Some(shift), .. } => {
                reference.wrapping_shr(memory.word(shift)? as u32)
            }
            Collector::Coloured { shift: None, .. } => reference,
        };
        object.is_multiple_of(size_of::<usize>()).then_some(object)
    }

    /// Returns the object in a field, as [`Heap::object`].
    pub(super) fn field(&self, memory: &impl Memory, at: usize) -> Option<usize> {
        let reference = match self.narrow {
            Some((base, shift)) => match memory.u32(at)? {
                0 => 0,
                it => base.wrapping_add((it as usize).wrapping_shl(shift)),
            },
            None => memory.word(at)?,
        };
        self.object(memory, reference)
    }

    /// Returns the class of an object, if it has this internal name.
    pub(super) fn class_named(
        &self,
        memory: &impl Memory,
        methods: &Methods,
        object: usize,
        name: &[u8],
    ) -> Option<usize> {
        let wide =
            |narrow: usize, base: usize, shift: u32| base.wrapping_add(narrow.wrapping_shl(shift));
        let class = match self.class {
            ClassPlace::Wide(offset) => memory.word(object.wrapping_add(offset))?,
            ClassPlace::Narrow { offset, base, shift } => {
                wide(memory.u32(object.wrapping_add(offset))? as usize, base, shift)
            }
            ClassPlace::InMark { mark_shift, base, shift } => {
                wide(memory.word(object)?.wrapping_shr(mark_shift), base, shift)
            }
        };
        let symbol = memory.word(class.wrapping_add(self.class_name))?;
        methods.is_symbol(memory, symbol, name).then_some(class)
    }

    /// Returns the bytes of the instances of a class.
    pub(super) fn instance_bytes(&self, memory: &impl Memory, class: usize) -> Option<usize> {
        let layout = self.class_layout.read(memory, class)?;
        // The low bits say how instances are made.
        usize::try_from(layout).ok().map(|layout| layout & !(size_of::<usize>() - 1))
    }
}

/// The flags that it depends on.
const FLAGS: [&str; 6] = [
    "UseCompactObjectHeaders",
    "UseCompressedClassPointers",
    "UseCompressedOops",
    "UseShenandoahGC",
    "UseZGC",
    "ZGenerational",
];
