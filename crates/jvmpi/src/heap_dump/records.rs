//! The records of dumps (JVMPI's specification, "JVMPI Dump Formats"): counts and values are
//! big-endian, ids are as the agent has them, and nothing is padded.

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::{
    JVMPI_BOOLEAN, JVMPI_BYTE, JVMPI_CHAR, JVMPI_CLASS, JVMPI_DOUBLE, JVMPI_DUMP_LEVEL_1,
    JVMPI_DUMP_LEVEL_2, JVMPI_FLOAT, JVMPI_GC_CLASS_DUMP, JVMPI_GC_INSTANCE_DUMP,
    JVMPI_GC_OBJ_ARRAY_DUMP, JVMPI_GC_PRIM_ARRAY_DUMP, JVMPI_INT, JVMPI_LONG, JVMPI_SHORT,
};

use super::super::Id;
use perk_jvm::ValueType;

/// The size of an id.
pub(crate) const ID_BYTES: usize = size_of::<usize>();

/// The values that records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Level 1: references only.
    References,
    /// Level 2: all.
    Whole,
}

impl Level {
    /// Returns the level of a request, except for level 0.
    pub(crate) fn of(level: jint) -> Option<Self> {
        match level {
            JVMPI_DUMP_LEVEL_1 => Some(Self::References),
            JVMPI_DUMP_LEVEL_2 => Some(Self::Whole),
            _ => None,
        }
    }

    /// Returns the size of a value in records.
    pub(crate) fn value_bytes(self, of: ValueType) -> usize {
        match (self, of) {
            (_, ValueType::Reference) => ID_BYTES,
            (Self::References, _) => 0,
            (Self::Whole, _) => of.primitive_bytes(),
        }
    }
}

/// Returns JVMPI's number of a type.
pub(crate) fn code(of: ValueType) -> u8 {
    let code = match of {
        ValueType::Boolean => JVMPI_BOOLEAN,
        ValueType::Byte => JVMPI_BYTE,
        ValueType::Char => JVMPI_CHAR,
        ValueType::Short => JVMPI_SHORT,
        ValueType::Int => JVMPI_INT,
        ValueType::Float => JVMPI_FLOAT,
        ValueType::Long => JVMPI_LONG,
        ValueType::Double => JVMPI_DOUBLE,
        ValueType::Reference => JVMPI_CLASS,
    };
    code as u8
}

/// What a class record has besides the static values.
#[derive(Clone, Debug)]
pub(crate) struct ClassParts<'a> {
    pub(crate) class: Id,
    pub(crate) superclass: Option<Id>,
    pub(crate) loader: Option<Id>,
    pub(crate) signers: Option<Id>,
    pub(crate) protection_domain: Option<Id>,
    pub(crate) instance_bytes: u32,
    pub(crate) interfaces: &'a [Id],
    /// The entries of the constant pool that are resolved to objects, with their numbers.
    pub(crate) constants: &'a [(u16, Id)],
}

/// Records one after another.
#[derive(Debug, Default)]
pub(crate) struct DumpRecords(pub(crate) Vec<u8>);

impl DumpRecords {
    pub(crate) fn u1(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u2(&mut self, value: u16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn u4(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    /// Writes an id, or a pointer; `None` is NULL.
    pub(crate) fn id(&mut self, id: Option<Id>) {
        self.word(id.map_or(0, |id| id.raw() as usize));
    }

    /// Writes a pointer.
    pub(crate) fn word(&mut self, word: usize) {
        self.0.extend(word.to_ne_bytes());
    }

    /// Begins an instance's record and leaves the values, in which there are only zeroes. Returns the
    /// place of the first.
    pub(crate) fn begin_instance(&mut self, id: Id, class: Id, values_bytes: u32) -> usize {
        self.u1(JVMPI_GC_INSTANCE_DUMP as u8);
        self.id(Some(id));
        self.id(Some(class));
        self.u4(values_bytes);
        self.leave(values_bytes as usize)
    }

    /// Begins the record of an array of objects and leaves the elements, which are NULL. Returns the
    /// place of the first.
    pub(crate) fn begin_objects(&mut self, id: Id, element: Option<Id>, count: u32) -> usize {
        self.u1(JVMPI_GC_OBJ_ARRAY_DUMP as u8);
        self.id(Some(id));
        self.u4(count);
        self.id(element);
        self.leave(count as usize * ID_BYTES)
    }

    /// Writes the record of an array of primitives, whose elements are in the machine's order of
    /// bytes.
    pub(crate) fn primitives(
        &mut self,
        id: Id,
        of: ValueType,
        count: u32,
        elements: &[u8],
        level: Level,
    ) {
        self.u1(JVMPI_GC_PRIM_ARRAY_DUMP as u8);
        self.id(Some(id));
        self.u4(count);
        self.u1(code(of));
        if level == Level::References {
            return;
        }
        let at = self.0.len();
        self.0.extend_from_slice(elements);
        let written = &mut self.0[at..];
        match of.primitive_bytes() {
            2 => swap::<2>(written),
            4 => swap::<4>(written),
            8 => swap::<8>(written),
            _ => {}
        }
    }

    /// Begins the record of a class and leaves the static values, in which there are only zeroes.
    /// Returns the place of the first.
    pub(crate) fn begin_class(&mut self, parts: &ClassParts<'_>, statics_bytes: usize) -> usize {
        self.u1(JVMPI_GC_CLASS_DUMP as u8);
        self.id(Some(parts.class));
        let (name, reserved) = (None, None);
        for id in [parts.superclass, parts.loader, parts.signers, parts.protection_domain] {
            self.id(id);
        }
        self.id(name);
        self.id(reserved);
        self.u4(parts.instance_bytes);
        parts.interfaces.iter().for_each(|it| self.id(Some(*it)));
        let constants = &parts.constants[..parts.constants.len().min(u16::MAX.into())];
        self.u2(constants.len() as u16);
        for (index, id) in constants {
            self.u2(*index);
            self.u1(code(ValueType::Reference));
            self.id(Some(*id));
        }
        self.leave(statics_bytes)
    }

    /// Puts other records before these.
    pub(crate) fn put_first(&mut self, first: &DumpRecords) {
        let (count, added) = (self.0.len(), first.0.len());
        self.0.resize(count + added, 0);
        self.0.copy_within(..count, added);
        self.0[..added].copy_from_slice(&first.0);
    }

    /// Leaves room for values, and returns its place.
    fn leave(&mut self, bytes: usize) -> usize {
        let at = self.0.len();
        self.0.resize(at + bytes, 0);
        at
    }

    /// Sets a reference that was left.
    pub(crate) fn set_id(&mut self, at: usize, id: Option<Id>) {
        set_id(&mut self.0, at, id);
    }

    /// Sets a primitive value that was left, to the bits that its type has.
    pub(crate) fn set_bits(&mut self, at: usize, of: ValueType, bits: u64) {
        set_bits(&mut self.0, at, of, bits);
    }
}

/// Sets a reference in records or values.
pub(crate) fn set_id(records: &mut [u8], at: usize, id: Option<Id>) {
    let word = id.map_or(0, |id| id.raw() as usize);
    if let Some(place) = records.get_mut(at..at + ID_BYTES) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// Sets a primitive value in records or values.
pub(crate) fn set_bits(records: &mut [u8], at: usize, of: ValueType, bits: u64) {
    let count = of.primitive_bytes();
    if let Some(place) = records.get_mut(at..at + count) {
        place.copy_from_slice(&bits.to_be_bytes()[8 - count..]);
    }
}

/// Reverses the bytes of each element.
fn swap<const N: usize>(elements: &mut [u8]) {
    for element in elements.chunks_exact_mut(N) {
        element.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Id = Id(0x0102_0304_0506_0710);

    #[test]
    fn elements_are_big_endian() {
        let mut records = DumpRecords::default();
        let elements: Vec<u8> = [1_i32, -2].iter().flat_map(|it| it.to_ne_bytes()).collect();
        records.primitives(ID, ValueType::Int, 2, &elements, Level::Whole);
        let id = ID.0.to_ne_bytes();
        let rest = [0, 0, 0, 2, 10, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe];
        assert_eq!(records.0, [&[0x23][..], &id, &rest].concat());
        let mut records = DumpRecords::default();
        records.primitives(ID, ValueType::Int, 2, &elements, Level::References);
        assert_eq!(records.0, [&[0x23][..], &id, &rest[..5]].concat());
    }

    #[test]
    fn values_have_the_size_of_their_type() {
        let mut records = DumpRecords::default();
        let at = records.begin_instance(ID, Id(32), 3);
        records.set_bits(at, ValueType::Short, -2_i16 as u64);
        records.set_bits(at + 2, ValueType::Byte, 7);
        let (id, class) = (ID.0.to_ne_bytes(), 32_i64.to_ne_bytes());
        assert_eq!(records.0, [&[0x21][..], &id, &class, &[0, 0, 0, 3, 0xff, 0xfe, 7]].concat());
        records.set_bits(records.0.len() - 1, ValueType::Long, 0);
        assert_eq!(records.0.last(), Some(&7), "a value is not written beyond the end");
    }

    #[test]
    fn a_class_has_its_parts_in_order() {
        let mut records = DumpRecords::default();
        let parts = ClassParts {
            class: Id(16),
            superclass: Some(Id(32)),
            loader: None,
            signers: None,
            protection_domain: Some(Id(48)),
            instance_bytes: 24,
            interfaces: &[Id(64)],
            constants: &[(7, Id(80))],
        };
        let at = records.begin_class(&parts, 8);
        records.set_id(at, Some(Id(96)));
        let word = |word: u64| word.to_ne_bytes();
        let ids = [16, 32, 0, 0, 48, 0, 0].map(word).concat();
        let expected =
            [&[0x20][..], &ids, &[0, 0, 0, 24], &word(64), &[0, 1, 0, 7, 2], &word(80), &word(96)];
        assert_eq!(records.0, expected.concat());
    }
}
