//! Compiled methods: the debug information that says which methods are inlined where.
//!
//! Addresses of the code have descriptions (`PcDesc`), sorted, the last one a sentinel. Each refers
//! to a scope in a stream of compressed numbers: the scope of the caller, 0 in the outermost; the
//! index of the method in a table; the bytecode index plus 1.

use super::code::{Blob, CodePlace};
use super::memory::Memory;
use super::notes::{self, Descriptions, Path};
use super::tables::{MissingDescription, Number, Tables};

/// Bytes below this one end a compressed number.
const LAST_BYTE_BELOW: u8 = 192;
/// Bits that each byte but the first adds.
const BITS_PER_BYTE: u32 = 6;
/// The most bytes of a compressed number.
const MAX_BYTES: u32 = 5;
/// The first version in which compressed numbers have no bytes that are 0.
const EXCLUDES_ZERO_SINCE: i64 = 20;
/// The most methods that can be inlined in each other.
const MAX_DEPTH: usize = 256;
/// More steps than a binary search can take.
const MAX_SEARCH: usize = 48;

/// The offsets of the fields of compiled methods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nmethods {
    method: usize,
    level: Number,
    entry_bci: Number,
    original_pc: Number,
    deopt_handlers: [Option<CodePlace>; 2],
    tables: DebugTables,
    desc_size: usize,
    desc_pc: Number,
    desc_scope: Number,
    pub(super) numbers: CompressedNumbers,
}

/// Where the tables of a compiled method are.
#[derive(Clone, Copy, Debug)]
enum DebugTables {
    /// In the blob, up to JDK 21.
    InBlob { descs: CodePlace, descs_end: CodePlace, scopes: CodePlace, metadata: CodePlace },
    /// In memory of their own.
    Apart { data: usize, descs: Number, scopes: Number, metadata: Metadata },
}

/// Where the table of methods is.
#[derive(Clone, Copy, Debug)]
enum Metadata {
    /// JDK 22 to 24.
    InBlob(CodePlace),
    /// After the relocations.
    Mutable { data: usize, relocations: Number },
}

/// Reads compressed numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompressedNumbers {
    /// The excess of each byte over the value that it represents.
    excess: u32,
}

impl CompressedNumbers {
    /// Reads a number and moves on. Async-signal-safe.
    pub(super) fn unsigned(self, memory: &impl Memory, at: &mut usize) -> Option<u32> {
        let mut sum = 0u32;
        for index in 0..MAX_BYTES {
            let byte = memory.u8(*at)?;
            *at = at.wrapping_add(1);
            let value = u32::from(byte).wrapping_sub(self.excess);
            sum = sum.wrapping_add(value.wrapping_shl(index.wrapping_mul(BITS_PER_BYTE)));
            if byte < LAST_BYTE_BELOW {
                break;
            }
        }
        Some(sum)
    }

    /// Reads a number whose lowest bit is its sign.
    pub(super) fn signed(self, memory: &impl Memory, at: &mut usize) -> Option<i32> {
        let number = self.unsigned(memory, at)?;
        Some((number >> 1) as i32 ^ ((number & 1) as i32).wrapping_neg())
    }
}

/// A scope: a method, inlined unless it is the last, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    pub(super) method: usize,
    pub(super) bci: i32,
    pub(super) is_inlined: bool,
}

/// The scopes at an address, innermost first.
pub(super) struct Scopes {
    blob: Blob,
    scopes: usize,
    metadata: usize,
    /// The offset of the next scope; `None` after the last.
    next: Option<usize>,
    depth: usize,
}

impl Nmethods {
    pub(super) fn new(
        memory: &impl Memory,
        tables: &Tables,
    ) -> Result<Nmethods, MissingDescription> {
        let version = tables.address(&["Abstract_VM_Version._vm_major_version"])?;
        let version = memory.u32(version).map(i64::from);
        let version = version.ok_or_else(|| MissingDescription::new("its version"))?;
        let deopt = CodePlace::new(
            tables,
            &["nmethod._deopt_handler_begin", "CompiledMethod._deopt_handler_begin"],
            &["nmethod._deopt_handler_offset", "nmethod._deopt_handler_entry_offset"],
        )?;
        let deopt_mh = CodePlace::new(
            tables,
            &["nmethod._deopt_mh_handler_begin", "CompiledMethod._deopt_mh_handler_begin"],
            &["nmethod._deopt_mh_handler_offset"],
        );
        Ok(Nmethods {
            method: tables.offset(&["nmethod._method", "CompiledMethod._method"])?,
            level: tables.number(&["nmethod._comp_level"])?,
            entry_bci: tables.number(&["nmethod._entry_bci"])?,
            original_pc: tables.number(&["nmethod._orig_pc_offset"])?,
            deopt_handlers: [Some(deopt), deopt_mh.ok()],
            tables: DebugTables::new(tables)?,
            desc_size: tables.size("PcDesc")?,
            desc_pc: tables.number(&["PcDesc._pc_offset"])?,
            desc_scope: tables.number(&["PcDesc._scope_decode_offset"])?,
            numbers: CompressedNumbers { excess: u32::from(version >= EXCLUDES_ZERO_SINCE) },
        })
    }

    /// The method that a blob is of. Async-signal-safe.
    pub(super) fn method(&self, memory: &impl Memory, blob: &Blob) -> Option<usize> {
        memory.word(blob.at.wrapping_add(self.method))
    }

    /// The level of compilation. Async-signal-safe.
    pub(super) fn level(&self, memory: &impl Memory, blob: &Blob) -> Option<u8> {
        u8::try_from(self.level.read(memory, blob.at)?).ok()
    }

    /// The bytecode at which the code begins: not the first if it replaces a running method.
    pub(super) fn entry_bci(&self, memory: &impl Memory, blob: &Blob) -> i32 {
        self.entry_bci.read(memory, blob.at).map_or(0, |bci| bci.max(0) as i32)
    }

    /// Returns whether frames that return to `pc` are to be made interpreted ones.
    pub(super) fn is_deopt_handler(&self, memory: &impl Memory, blob: &Blob, pc: usize) -> bool {
        self.deopt_handlers.iter().flatten().any(|place| place.of(memory, blob.at) == Some(pc))
    }

    /// Where such a frame, whose stack pointer is `sp`, would have returned to.
    pub(super) fn original_pc(
        &self,
        memory: &impl Memory,
        blob: &Blob,
        sp: usize,
    ) -> Option<usize> {
        let offset = self.original_pc.read(memory, blob.at)?;
        let pc = memory.word(sp.wrapping_add(offset as usize))?;
        blob.code.contains(pc).then_some(pc)
    }

    /// The scopes at an address: of the first description from it on. The address of an
    /// interrupted instruction is to be increased by 1, as descriptions have the end of theirs. With
    /// `is_interrupted`, those of another description if it knows better. Async-signal-safe.
    pub(super) fn scopes(
        &self,
        memory: &impl Memory,
        blob: &Blob,
        pc: usize,
        is_interrupted: bool,
    ) -> Option<Scopes> {
        let (at, end, scopes, metadata) = self.tables.read(memory, blob)?;
        let count = end.checked_sub(at)?.checked_div(self.desc_size)?;
        let table = DescTable { nmethods: self, memory, blob, at, count, scopes, metadata };
        let wanted = pc.wrapping_sub(blob.code_begin()) as i64;
        let mut low = 0usize;
        let mut high = count;
        for _ in 0..MAX_SEARCH {
            if low >= high {
                break;
            }
            let middle = low.wrapping_add(high.wrapping_sub(low) / 2);
            if table.end(middle)? < wanted {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        if low >= count {
            return None;
        }
        let better = if is_interrupted { notes::better(&table, low) } else { None };
        table.scopes(better.unwrap_or(low))
    }

    /// The next scope further out. `None` after the outermost, and where the information does not
    /// hold together.
    pub(super) fn next_scope(&self, memory: &impl Memory, scopes: &mut Scopes) -> Option<Scope> {
        let offset = scopes.next.take()?;
        if offset == 0 {
            // Only the sentinels have no scope.
            let method = self.method(memory, &scopes.blob)?;
            return Some(Scope { method, bci: -1, is_inlined: false });
        }
        let mut at = scopes.scopes.wrapping_add(offset);
        let caller = self.numbers.unsigned(memory, &mut at)? as usize;
        let index = self.numbers.unsigned(memory, &mut at)? as usize;
        let bci = self.numbers.unsigned(memory, &mut at)?;
        let slot = index.checked_sub(1)?.wrapping_mul(size_of::<usize>());
        let method = memory.word(scopes.metadata.wrapping_add(slot))?;
        scopes.depth = scopes.depth.wrapping_add(1);
        // The callers' scopes were written before.
        if caller != 0 && caller < offset && scopes.depth < MAX_DEPTH {
            scopes.next = Some(caller);
        } else if caller != 0 || Some(method) != self.method(memory, &scopes.blob) {
            return None;
        }
        // The entry, where a synchronized method locks, is before the first bytecode.
        let bci = (bci as i32).wrapping_sub(1).max(0);
        Some(Scope { method, bci, is_inlined: caller != 0 })
    }
}

/// The descriptions of a compiled method.
struct DescTable<'a, M> {
    nmethods: &'a Nmethods,
    memory: &'a M,
    blob: &'a Blob,
    /// The address of the first one.
    at: usize,
    count: usize,
    scopes: usize,
    metadata: usize,
}

impl<M: Memory> DescTable<'_, M> {
    fn read(&self, number: Number, index: usize) -> Option<i64> {
        let desc = index.wrapping_mul(self.nmethods.desc_size);
        number.read(self.memory, self.at.wrapping_add(desc))
    }

    fn scopes(&self, index: usize) -> Option<Scopes> {
        let next = self.scope(index)? as usize;
        let Self { scopes, metadata, .. } = *self;
        Some(Scopes { blob: *self.blob, scopes, metadata, next: Some(next), depth: 0 })
    }
}

impl<M: Memory> Descriptions for DescTable<'_, M> {
    fn count(&self) -> usize {
        self.count
    }

    fn end(&self, index: usize) -> Option<i64> {
        self.read(self.nmethods.desc_pc, index)
    }

    fn scope(&self, index: usize) -> Option<i64> {
        self.read(self.nmethods.desc_scope, index)
    }

    fn path(&self, index: usize) -> Option<Path> {
        let mut scopes = self.scopes(index)?;
        Path::new(|| self.nmethods.next_scope(self.memory, &mut scopes))
    }
}

impl DebugTables {
    fn new(tables: &Tables) -> Result<DebugTables, MissingDescription> {
        let Ok(data) = tables.offset(&["nmethod._immutable_data"]) else {
            let place = |name: &str| CodePlace::new(tables, &[], &[name]);
            return Ok(DebugTables::InBlob {
                descs: place("nmethod._scopes_pcs_offset")?,
                descs_end: place("nmethod._dependencies_offset")?,
                scopes: CodePlace::new(
                    tables,
                    &["nmethod._scopes_data_begin", "CompiledMethod._scopes_data_begin"],
                    &["nmethod._scopes_data_offset"],
                )?,
                metadata: place("nmethod._metadata_offset")?,
            });
        };
        let metadata = match tables.offset(&["CodeBlob._mutable_data"]) {
            Ok(data) => Metadata::Mutable {
                data,
                relocations: tables.number(&["CodeBlob._relocation_size"])?,
            },
            Err(_) => Metadata::InBlob(CodePlace::new(tables, &[], &["nmethod._metadata_offset"])?),
        };
        Ok(DebugTables::Apart {
            data,
            descs: tables.number(&["nmethod._scopes_pcs_offset"])?,
            scopes: tables.number(&["nmethod._scopes_data_offset"])?,
            metadata,
        })
    }

    /// The addresses of the descriptions, of their end, of the scopes and of the methods.
    fn read(&self, memory: &impl Memory, blob: &Blob) -> Option<(usize, usize, usize, usize)> {
        match self {
            DebugTables::InBlob { descs, descs_end, scopes, metadata } => Some((
                descs.of(memory, blob.at)?,
                descs_end.of(memory, blob.at)?,
                scopes.of(memory, blob.at)?,
                metadata.of(memory, blob.at)?,
            )),
            DebugTables::Apart { data, descs, scopes, metadata } => {
                let data = memory.word(blob.at.wrapping_add(*data))?;
                let at = |number: &Number| {
                    Some(data.wrapping_add(number.read(memory, blob.at)? as usize))
                };
                let metadata = match metadata {
                    Metadata::InBlob(place) => place.of(memory, blob.at)?,
                    Metadata::Mutable { data, relocations } => {
                        let data = memory.word(blob.at.wrapping_add(*data))?;
                        data.wrapping_add(relocations.read(memory, blob.at)? as usize)
                    }
                };
                let (descs, scopes) = (at(descs)?, at(scopes)?);
                // The scopes follow the descriptions.
                Some((descs, scopes, scopes, metadata))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(&'static [u8]);

    impl Memory for Bytes {
        fn word(&self, _: usize) -> Option<usize> {
            None
        }

        fn u8(&self, address: usize) -> Option<u8> {
            self.0.get(address).copied()
        }
    }

    /// The bytes are those that HotSpot writes.
    #[test]
    fn numbers_have_six_more_bits_for_each_byte() {
        let memory = Bytes(&[5, 191, 192, 0, 255, 191, 193, 1, 192]);
        let old = CompressedNumbers { excess: 0 };
        let mut at = 0;
        for wanted in [5, 191, 192, 255 + (191 << 6), 193 + (1 << 6)] {
            assert_eq!(old.unsigned(&memory, &mut at), Some(wanted));
        }
        assert_eq!(old.unsigned(&memory, &mut at), None, "the end of what can be read");
        let (new, mut at) = (CompressedNumbers { excess: 1 }, 6);
        assert_eq!(new.unsigned(&memory, &mut at), Some(192));
        let (memory, mut at) = (Bytes(&[6, 7]), 0);
        assert_eq!(old.signed(&memory, &mut at), Some(3));
        assert_eq!(old.signed(&memory, &mut at), Some(-4));
    }
}
