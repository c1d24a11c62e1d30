//! The properties of a JVM's object layout that a dump alone shows, and the sizes of arrays.

use perk_hotspot::layout::{FieldCounts, FieldKind, Jvm};
use perk_profile::{KeyedMap, ObjectLayout};

/// A version whose rules are those of all later versions, in which the types of fields decide.
const PACKING_VERSION: u32 = 17;
/// A version whose rules are those of all versions before JDK 15.
const STACKING_VERSION: u32 = 8;

/// The rules that the sizes of objects follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) jvm: Jvm,
    /// Whether the objects' addresses give the rules. Otherwise they are assumed.
    pub(super) is_inferred: bool,
}

impl Sizes {
    /// Returns the most common rules, for dumps that do not show them: a JVM of 64 bits with
    /// compressed references.
    pub(super) fn assumed() -> Self {
        Self { jvm: Jvm::new(PACKING_VERSION, 12, 4, 8), is_inferred: false }
    }

    /// Returns the rules of Android. The file gives the size of instances.
    pub(super) fn android() -> Self {
        let assumed = Self::assumed();
        let jvm = Jvm { header_bytes: 8, array_header_bytes: 12, ..assumed.jvm };
        Self { jvm, ..assumed }
    }

    /// Returns rules that are known from elsewhere.
    pub(super) fn given(layout: ObjectLayout) -> Self {
        let assumed = Self::assumed();
        let jvm = Jvm {
            header_bytes: layout.header_bytes,
            array_header_bytes: layout.array_header_bytes,
            oop_bytes: layout.reference_bytes,
            alignment_bytes: layout.alignment_bytes,
            ..assumed.jvm
        };
        Self { jvm, ..assumed }
    }

    /// Returns the same by the rules of JDK 14 and earlier.
    pub(super) fn stacking(self) -> Self {
        Self { jvm: Jvm { feature_version: STACKING_VERSION, ..self.jvm }, ..self }
    }

    /// Returns the part of the rules that the profile shows.
    pub(super) fn layout(&self) -> ObjectLayout {
        let Jvm { header_bytes, array_header_bytes, oop_bytes, alignment_bytes, .. } = self.jvm;
        ObjectLayout {
            header_bytes,
            array_header_bytes,
            reference_bytes: oop_bytes,
            alignment_bytes,
            is_inferred: self.is_inferred,
        }
    }

    /// Returns the sum of the sizes of arrays.
    pub(super) fn array_bytes(&self, arrays: &Lengths, element: FieldKind) -> u64 {
        let header = self.jvm.array_base_bytes(element);
        let element_bytes = element.bytes(&self.jvm);
        let mut sum = arrays.sum.saturating_mul(element_bytes);
        for (length, &count) in arrays.by_remainder.iter().enumerate() {
            let end = header + length as u64 * element_bytes;
            let padding = self.jvm.object_bytes(end) - end;
            sum = sum.saturating_add(count.saturating_mul(header + padding));
        }
        sum
    }
}

/// The sizes of the objects of a dump.
#[derive(Clone, Debug)]
pub struct ObjectSizes {
    pub(super) sizes: Sizes,
    /// The size of the instances of each class, by the id of the class.
    pub(super) instance_bytes: KeyedMap<u64, u64>,
    /// The size of an object that represents a class, without the static fields of that class.
    /// Native images have no such objects: their classes are dumped as objects besides.
    pub(super) class_bytes: Option<u64>,
}

impl ObjectSizes {
    /// Returns the rules that the sizes follow from.
    pub fn layout(&self) -> ObjectLayout {
        self.sizes.layout()
    }

    /// Returns the size of the instances of the class with this id, if any instance or a CLASS DUMP
    /// has come.
    pub fn instance_bytes(&self, class: u64) -> Option<u64> {
        self.instance_bytes.get(&class).copied()
    }

    /// Returns the size of an array.
    #[inline]
    pub fn array_bytes(&self, element: FieldKind, length: u32) -> u64 {
        self.sizes.jvm.array_bytes(element, length)
    }

    /// Returns the size of the object that represents a class with these static fields.
    pub fn class_bytes(&self, statics: impl Iterator<Item = FieldKind>) -> u64 {
        let Some(own_bytes) = self.class_bytes else { return 0 };
        self.sizes.jvm.class_bytes(own_bytes, &statics.collect::<FieldCounts>())
    }
}

/// The lengths of arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) count: u64,
    pub(super) sum: u64,
    /// The number of arrays by their length modulo 16. The padding depends on it if objects lie at
    /// multiples of up to 16 bytes.
    by_remainder: [u64; 16],
}

impl Lengths {
    #[inline]
    pub(super) fn add(&mut self, length: u32) {
        self.count += 1;
        self.sum += u64::from(length);
        self.by_remainder[length as usize % 16] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldKind::{EightBytes, FourBytes, OneByte, TwoBytes};

    #[test]
    fn arrays_are_rounded_up_one_by_one() {
        let lengths = [0, 1, 7, 8, 9, 1000, u32::MAX];
        for (header, alignment) in [(16, 8), (12, 8), (20, 8), (16, 16), (24, 8)] {
            for element in [OneByte, TwoBytes, FourBytes, EightBytes] {
                let mut sizes = Sizes::assumed();
                sizes.jvm.array_header_bytes = header;
                sizes.jvm.alignment_bytes = alignment;
                let mut arrays = Lengths::default();
                lengths.iter().for_each(|&length| arrays.add(length));
                let bytes = element.bytes(&sizes.jvm);
                let first = u64::from(header).next_multiple_of(bytes);
                let all = lengths.iter().map(|&length| {
                    (first + u64::from(length) * bytes).next_multiple_of(alignment.into())
                });
                assert_eq!(sizes.array_bytes(&arrays, element), all.sum::<u64>());
            }
        }
    }
}
