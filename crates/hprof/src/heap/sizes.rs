//! How large objects are that a dump tells by their fields alone: HotSpot's rules for laying out
//! fields, and which of them the addresses of a dump's objects tell.

use perk_profile::ObjectLayout;

use super::FieldType;

/// The sizes of fields, largest first.
const SIZES: [u32; 4] = [8, 4, 2, 1];

/// The room around fields that are to stand alone in their cache line.
const CONTENDED_BYTES: u32 = 128;

/// The fields that a class declares, by their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldCounts {
    references: u32,
    /// Primitive ones, in the order of [`SIZES`].
    primitives: [u32; 4],
}

impl FieldCounts {
    /// Of fields of these types.
    pub(super) fn of(fields: impl Iterator<Item = FieldType>) -> Self {
        let mut counts = Self::default();
        for field in fields {
            match field {
                FieldType::Object => counts.references += 1,
                _ => {
                    let index = 3 - field.bytes(0).trailing_zeros() as usize;
                    counts.primitives[index] += 1;
                }
            }
        }
        counts
    }
}

/// In which order fields are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// As JDK 15 and later: a class's fields also fill gaps between those of the classes above.
    Packed,
    /// As JDK 14 and earlier: they stand behind those.
    Stacked,
}

/// Where the fields of a class end, and what is free before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    end: u32,
    /// Begin and length.
    gaps: Vec<(u32, u32)>,
}

/// The rules of a JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) layout: ObjectLayout,
    pub(super) rule: Rule,
}

impl Sizes {
    /// What is most common where nothing tells it: a JVM of 64 bits with compressed references.
    pub(super) fn assumed() -> Self {
        let layout = ObjectLayout {
            header_bytes: 12,
            array_header_bytes: 16,
            reference_bytes: 4,
            alignment_bytes: 8,
            is_inferred: false,
        };
        Self { layout, rule: Rule::Packed }
    }

    /// Android's. What instances take is told by the file.
    pub(super) fn android() -> Self {
        let assumed = Self::assumed();
        let layout = ObjectLayout { header_bytes: 8, array_header_bytes: 12, ..assumed.layout };
        Self { layout, ..assumed }
    }

    /// The fields of a class without a class above.
    pub(super) fn root(&self) -> Placed {
        Placed { end: self.layout.header_bytes, gaps: Vec::new() }
    }

    /// The fields of a class behind those of the class above.
    pub(super) fn place(&self, above: &Placed, fields: &FieldCounts) -> Placed {
        let mut placed = above.clone();
        let reference = self.layout.reference_bytes;
        match self.rule {
            Rule::Packed => {
                for (size, count) in SIZES.into_iter().zip(fields.primitives) {
                    placed.add(size, count);
                }
                placed.add(reference, fields.references);
            }
            Rule::Stacked => {
                // One gap may be filled: that before the first field of eight bytes.
                placed.gaps.clear();
                placed.end = align(placed.end, reference);
                let [eights, smaller @ ..] = fields.primitives;
                placed.add(8, eights);
                for (size, count) in SIZES[1..].iter().zip(smaller) {
                    placed.add(*size, count);
                }
                placed.add(reference, fields.references);
                placed.end = align(placed.end, reference);
            }
        }
        placed
    }

    /// Makes instances as large as was found: smaller, or larger by no more than `most` bytes.
    pub(super) fn correct(&self, placed: &mut Placed, found_bytes: u64, most: u64) {
        let bytes = self.instance_bytes(placed);
        if found_bytes >= bytes.saturating_add(most).saturating_add(1) || found_bytes == bytes {
            return;
        }
        let found = found_bytes as u32;
        let hidden = found.saturating_sub(bytes as u32);
        placed.end = if hidden == 0 || hidden >= CONTENDED_BYTES {
            // Nothing of a class below has room in it.
            placed.gaps.clear();
            found
        } else {
            placed.end.saturating_add(hidden)
        };
    }

    /// The size of an instance with such fields.
    pub(super) fn instance_bytes(&self, placed: &Placed) -> u64 {
        align(placed.end, self.layout.alignment_bytes).into()
    }

    /// The size of the object that stands for a class with such static fields: they stand behind
    /// the fields of `java.lang.Class`, which take `own_bytes`, and fill no gaps.
    pub(super) fn class_bytes(&self, own_bytes: u64, statics: &FieldCounts) -> u64 {
        let end = u32::try_from(own_bytes).unwrap_or(u32::MAX / 2);
        let mut placed = Placed { end, gaps: Vec::new() };
        placed.add(self.layout.reference_bytes, statics.references);
        for (size, count) in SIZES.into_iter().zip(statics.primitives) {
            placed.gaps.clear();
            placed.add(size, count);
        }
        self.instance_bytes(&placed)
    }

    /// The sizes of arrays, added up.
    pub(super) fn array_bytes(&self, arrays: &Lengths, element_bytes: u32) -> u64 {
        let header = u64::from(self.array_header(element_bytes));
        let element_bytes = u64::from(element_bytes);
        let alignment = u64::from(self.layout.alignment_bytes);
        let mut sum = arrays.sum.saturating_mul(element_bytes);
        for (length, &count) in arrays.by_remainder.iter().enumerate() {
            let end = header + length as u64 * element_bytes;
            let padding = end.next_multiple_of(alignment) - end;
            sum = sum.saturating_add(count.saturating_mul(header + padding));
        }
        sum
    }

    /// The bytes before the first element.
    fn array_header(&self, element_bytes: u32) -> u32 {
        align(self.layout.array_header_bytes, element_bytes)
    }
}

impl Placed {
    /// Places fields of a size, each in the smallest gap that has room for it.
    fn add(&mut self, size: u32, count: u32) {
        let mut left = count;
        while left > 0 {
            let room = |&(begin, length): &(u32, u32)| align(begin, size) + size <= begin + length;
            let gaps = self.gaps.iter().enumerate().filter(|(_, gap)| room(gap));
            let Some((index, &(begin, length))) = gaps.min_by_key(|(_, gap)| gap.1) else { break };
            self.gaps.swap_remove(index);
            let (at, end) = (align(begin, size), begin + length);
            self.gap(begin, at);
            self.gap(at + size, end);
            left -= 1;
        }
        if left > 0 {
            let at = align(self.end, size);
            self.gap(self.end, at);
            self.end = at.saturating_add(size.saturating_mul(left));
        }
    }

    fn gap(&mut self, begin: u32, end: u32) {
        if begin < end {
            self.gaps.push((begin, end - begin));
        }
    }
}

/// The lengths of arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) count: u64,
    pub(super) sum: u64,
    /// How many arrays there are by their length modulo 16, of which padding depends where
    /// objects lie at multiples of up to 16 bytes.
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

fn align(bytes: u32, alignment: u32) -> u32 {
    bytes.checked_next_multiple_of(alignment).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: FieldType = FieldType::Int;
    const LONG: FieldType = FieldType::Long;
    const BYTE: FieldType = FieldType::Byte;
    const REF: FieldType = FieldType::Object;

    /// The size of an instance of the last of these classes.
    fn size(rule: Rule, header: u32, reference: u32, classes: &[&[FieldType]]) -> u64 {
        let mut sizes = Sizes::assumed();
        sizes.rule = rule;
        (sizes.layout.header_bytes, sizes.layout.reference_bytes) = (header, reference);
        let placed = classes.iter().fold(sizes.root(), |above, fields| {
            sizes.place(&above, &FieldCounts::of(fields.iter().copied()))
        });
        sizes.instance_bytes(&placed)
    }

    /// As `jcmd PID GC.class_histogram` of JDK 8, 17 and 25 tells them.
    #[test]
    fn instances_are_laid_out_as_hotspot_does() {
        for rule in [Rule::Packed, Rule::Stacked] {
            assert_eq!(size(rule, 12, 4, &[&[]]), 16);
            // String: value, hash, coder, hashIsZero.
            assert_eq!(size(rule, 12, 4, &[&[], &[REF, INT, BYTE, BYTE]]), 24);
            assert_eq!(size(rule, 16, 8, &[&[], &[REF, INT, BYTE, BYTE]]), 32);
            assert_eq!(size(rule, 12, 4, &[&[LONG]]), 24);
            assert_eq!(size(rule, 12, 4, &[&[LONG, INT]]), 24);
        }
        // The gap in the class above is filled since JDK 15.
        assert_eq!(size(Rule::Packed, 12, 4, &[&[LONG], &[INT]]), 24);
        assert_eq!(size(Rule::Stacked, 12, 4, &[&[LONG], &[INT]]), 32);
        // Compact headers.
        assert_eq!(size(Rule::Packed, 8, 4, &[&[], &[REF, INT, BYTE, BYTE]]), 24);
        assert_eq!(size(Rule::Packed, 8, 4, &[&[], &[INT, REF]]), 16);
    }

    #[test]
    fn arrays_are_rounded_up_one_by_one() {
        let lengths = [0, 1, 7, 8, 9, 1000, u32::MAX];
        for (header, alignment) in [(16, 8), (12, 8), (20, 8), (16, 16), (24, 8)] {
            for element in [1, 2, 4, 8] {
                let mut sizes = Sizes::assumed();
                sizes.layout.array_header_bytes = header;
                sizes.layout.alignment_bytes = alignment;
                let mut arrays = Lengths::default();
                lengths.iter().for_each(|&length| arrays.add(length));
                let first = u64::from(header).next_multiple_of(element);
                let bytes = lengths.iter().map(|&length| {
                    (first + u64::from(length) * element).next_multiple_of(alignment.into())
                });
                assert_eq!(sizes.array_bytes(&arrays, element as u32), bytes.sum::<u64>());
            }
        }
    }
}
