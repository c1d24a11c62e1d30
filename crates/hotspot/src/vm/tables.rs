//! The tables that libjvm exports about itself: fields with their offsets or addresses, types with
//! their sizes, constants. The layout of their entries is exported, too.

use std::collections::HashMap;
use std::fmt;

use super::memory::{Memory, Symbols};

/// The types whose descriptions are kept. The tables have ten times as many.
const TYPES: [&str; 41] = [
    "AbstractInterpreter",
    "Abstract_VM_Version",
    "Array<u1>",
    "CodeBlob",
    "CodeCache",
    "CodeHeap",
    "CollectedHeap",
    "CompiledMethod",
    "CompressedKlassPointers",
    "CompressedOops",
    "ConstMethod",
    "ConstantPool",
    "GrowableArray<int>",
    "GrowableArrayBase",
    "HeapBlock",
    "HeapBlock::Header",
    "InstanceKlass",
    "InterpreterCodelet",
    "JVMFlag",
    "JavaCallWrapper",
    "JavaFrameAnchor",
    "JavaThread",
    "Klass",
    "LockStack",
    "Method",
    "OSThread",
    "ObjectMonitor",
    "OopHandle",
    "PcDesc",
    "StubQueue",
    "StubRoutines",
    "Symbol",
    "Thread",
    "Universe",
    "UpcallStub",
    "UpcallStub::FrameData",
    "VirtualSpace",
    "XGlobalsForVMStructs",
    "ZGlobalsForVMStructs",
    "nmethod",
    "oopDesc",
];

/// The beginnings of the names of the constants that are kept.
const CONSTANTS: [&str; 6] =
    ["_thread_", "frame::", "ConstMethod", "InvocationEntryBci", "markWord::", "ObjectMonitor::"];

/// The most entries that a table is believed to have.
const MAX_ENTRIES: usize = 20_000;
/// The longest name that is read.
const MAX_NAME: usize = 128;

/// A description that this JVM does not have, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDescription {
    what: String,
}

impl MissingDescription {
    pub(super) fn new(what: impl Into<String>) -> MissingDescription {
        MissingDescription { what: what.into() }
    }
}

impl fmt::Display for MissingDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this JVM does not describe {}", self.what)
    }
}

impl std::error::Error for MissingDescription {}

/// A number in a structure, with the width that its description says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    offset: usize,
    width: Width,
}

#[derive(Clone, Copy, Debug)]
enum Width {
    U8,
    I8,
    U16,
    I16,
    I32,
    Word,
}

impl Number {
    /// Reads it of the structure at `base`. Async-signal-safe.
    pub(super) fn read(self, memory: &impl Memory, base: usize) -> Option<i64> {
        let at = base.wrapping_add(self.offset);
        Some(match self.width {
            Width::U8 => i64::from(memory.u8(at)?),
            Width::I8 => i64::from(memory.u8(at)? as i8),
            Width::U16 => i64::from(memory.u16(at)?),
            Width::I16 => i64::from(memory.u16(at)? as i16),
            Width::I32 => i64::from(memory.u32(at)? as i32),
            Width::Word => memory.word(at)? as i64,
        })
    }
}

struct Field {
    /// Of static fields the address, of others the offset.
    place: usize,
    is_static: bool,
    type_name: String,
}

/// What of the tables is needed.
pub(super) struct Tables {
    fields: HashMap<String, Field>,
    sizes: HashMap<String, usize>,
    constants: HashMap<String, i64>,
}

/// Reads entries of one of the tables.
struct Rows<'a, M, S> {
    memory: &'a M,
    symbols: &'a S,
    prefix: &'static str,
    at: usize,
    stride: usize,
}

impl<'a, M: Memory, S: Symbols> Rows<'a, M, S> {
    /// `table` is the symbol of the table, `prefix` begins those that describe its entries.
    fn new(
        memory: &'a M,
        symbols: &'a S,
        table: &str,
        prefix: &'static str,
    ) -> Result<Self, MissingDescription> {
        let mut rows = Rows { memory, symbols, prefix, at: 0, stride: 0 };
        rows.stride = rows.value(&format!("{prefix}ArrayStride"))?;
        rows.at = rows.value(table)?;
        Ok(rows)
    }

    fn value(&self, symbol: &str) -> Result<usize, MissingDescription> {
        let address =
            self.symbols.address(symbol).ok_or_else(|| MissingDescription::new(symbol))?;
        self.memory.word(address).ok_or_else(|| MissingDescription::new(symbol))
    }

    fn column(&self, name: &str) -> Result<usize, MissingDescription> {
        self.value(&format!("{}{name}Offset", self.prefix))
    }

    /// The address of each entry, until the one without a name in the column.
    fn entries(&self, name: usize) -> impl Iterator<Item = usize> {
        (0..MAX_ENTRIES)
            .map(|index| self.at + index * self.stride)
            .take_while(move |entry| self.memory.word(entry + name).is_some_and(|it| it != 0))
    }
}

impl Tables {
    pub(super) fn read(
        memory: &impl Memory,
        symbols: &impl Symbols,
    ) -> Result<Tables, MissingDescription> {
        Ok(Tables {
            fields: fields(memory, symbols)?,
            sizes: sizes(memory, symbols)?,
            constants: constants(memory, symbols)?,
        })
    }

    fn field(&self, names: &[&str], is_static: bool) -> Result<&Field, MissingDescription> {
        let mut found = names.iter().filter_map(|name| self.fields.get(*name));
        found
            .find(|field| field.is_static == is_static)
            .ok_or_else(|| MissingDescription::new(names.first().copied().unwrap_or_default()))
    }

    /// The offset of the first of these fields that there is.
    pub(super) fn offset(&self, names: &[&str]) -> Result<usize, MissingDescription> {
        self.field(names, false).map(|field| field.place)
    }

    /// The address of the first of these static fields that there is.
    pub(super) fn address(&self, names: &[&str]) -> Result<usize, MissingDescription> {
        self.field(names, true).map(|field| field.place)
    }

    /// The first of these fields that there is, as a number.
    pub(super) fn number(&self, names: &[&str]) -> Result<Number, MissingDescription> {
        let field = self.field(names, false)?;
        let width = match field.type_name.trim_start_matches("volatile ") {
            "u1" | "bool" | "uint8_t" => Width::U8,
            "signed char" | "CompLevel" => Width::I8,
            "u2" | "uint16_t" | "jushort" => Width::U16,
            "int16_t" | "short" => Width::I16,
            "size_t" | "address" | "int64_t" => Width::Word,
            _ => Width::I32,
        };
        Ok(Number { offset: field.place, width })
    }

    /// The lowest bytes of the flags of these names that there are: 0 is off.
    pub(super) fn flags(
        &self,
        memory: &impl Memory,
        names: &[&'static str],
    ) -> Result<HashMap<&'static str, u8>, MissingDescription> {
        let read = |name: &str| {
            memory.word(self.address(&[name])?).ok_or_else(|| MissingDescription::new("its flags"))
        };
        let (first, count) = (read("JVMFlag.flags")?, read("JVMFlag.numFlags")?);
        let size = self.size("JVMFlag")?;
        let (name, value) = (self.offset(&["JVMFlag._name"])?, self.offset(&["JVMFlag._addr"])?);
        let flags = (0..count.min(MAX_ENTRIES)).filter_map(|index| {
            let flag = first + index * size;
            let found = text(memory, memory.word(flag + name)?);
            let known = names.iter().find(|it| **it == found)?;
            Some((*known, memory.u8(memory.word(flag + value)?)?))
        });
        Ok(flags.collect())
    }

    pub(super) fn size(&self, name: &str) -> Result<usize, MissingDescription> {
        self.sizes
            .get(name)
            .copied()
            .ok_or_else(|| MissingDescription::new(format!("the size of {name}")))
    }

    pub(super) fn constant(&self, name: &str) -> Result<i64, MissingDescription> {
        self.constants.get(name).copied().ok_or_else(|| MissingDescription::new(name))
    }
}

fn fields(
    memory: &impl Memory,
    symbols: &impl Symbols,
) -> Result<HashMap<String, Field>, MissingDescription> {
    let rows = Rows::new(memory, symbols, "gHotSpotVMStructs", "gHotSpotVMStructEntry")?;
    let type_name = rows.column("TypeName")?;
    let field_name = rows.column("FieldName")?;
    let type_string = rows.column("TypeString")?;
    let is_static = rows.column("IsStatic")?;
    let offset = rows.column("Offset")?;
    let address = rows.column("Address")?;
    // Equal names of types are the same string in most builds.
    let mut kept: HashMap<usize, Option<&str>> = HashMap::new();
    let mut fields = HashMap::new();
    for entry in rows.entries(type_name) {
        let Some(name) = memory.word(entry + type_name) else { break };
        let holder = kept.entry(name).or_insert_with(|| {
            let name = text(memory, name);
            TYPES.into_iter().find(|it| *it == name)
        });
        let Some(holder) = holder else { continue };
        let is_static = memory.u32(entry + is_static).is_some_and(|it| it != 0);
        let place = memory.word(entry + if is_static { address } else { offset });
        let Some(place) = place else { continue };
        let pointed = |column: usize| text(memory, memory.word(entry + column).unwrap_or(0));
        let name = format!("{holder}.{}", pointed(field_name));
        fields.insert(name, Field { place, is_static, type_name: pointed(type_string) });
    }
    Ok(fields)
}

fn sizes(
    memory: &impl Memory,
    symbols: &impl Symbols,
) -> Result<HashMap<String, usize>, MissingDescription> {
    let rows = Rows::new(memory, symbols, "gHotSpotVMTypes", "gHotSpotVMTypeEntry")?;
    let name = rows.column("TypeName")?;
    let size = rows.column("Size")?;
    let named = rows.entries(name).filter_map(|entry| {
        let name = text(memory, memory.word(entry + name)?);
        Some((name, memory.word(entry + size)?))
    });
    Ok(named.filter(|(name, _)| TYPES.contains(&name.as_str())).collect())
}

fn constants(
    memory: &impl Memory,
    symbols: &impl Symbols,
) -> Result<HashMap<String, i64>, MissingDescription> {
    let mut constants = HashMap::new();
    for (table, prefix, is_long) in [
        ("gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry", false),
        ("gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntry", true),
    ] {
        let rows = Rows::new(memory, symbols, table, prefix)?;
        let name = rows.column("Name")?;
        let value = rows.column("Value")?;
        for entry in rows.entries(name) {
            let text = text(memory, memory.word(entry + name).unwrap_or(0));
            if !CONSTANTS.iter().any(|kept| text.starts_with(kept)) {
                continue;
            }
            let number = match is_long {
                true => memory.word(entry + value).map(|it| it as i64),
                false => memory.u32(entry + value).map(|it| i64::from(it as i32)),
            };
            constants.extend(number.map(|number| (text, number)));
        }
    }
    Ok(constants)
}

/// Reads a C string; as much of it as can be read.
pub(super) fn text(memory: &impl Memory, at: usize) -> String {
    let bytes = (0..MAX_NAME)
        .map_while(|index| memory.u8(at.wrapping_add(index)).filter(|byte| at != 0 && *byte != 0));
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}
