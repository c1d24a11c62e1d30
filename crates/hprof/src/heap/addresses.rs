//! The addresses that the ids of a file represent.

/// The byte order of the ids of a file.
///
/// HPROF is big-endian. But an agent of JVMPI writes ids in the byte order of memory, so on x86 the
/// lowest byte comes first. As keys they are as good as others; only as addresses they must be
/// turned. The ids of the classes show the order: addresses of one heap have the highest bits in
/// common, and are multiples of eight. Numbers from 1 are no such addresses, however they are
/// turned.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    id_bytes: usize,
    /// The bits that any id of a class has, and those that all have.
    any: u64,
    all: u64,
    is_little: bool,
}

/// The bits that addresses of objects do not have.
const BELOW_ALIGNMENT: u64 = 7;

impl Default for Addresses {
    fn default() -> Self {
        Self::new(8)
    }
}

impl Addresses {
    /// Returns those of a file with ids of this size, of 1 to 8 bytes.
    pub(super) fn new(id_bytes: usize) -> Self {
        Self { id_bytes, any: 0, all: u64::MAX, is_little: false }
    }

    /// Takes the id of a class. LOAD CLASS gives it before any object.
    pub(super) fn learn(&mut self, id: u64) {
        self.any |= id;
        self.all &= id;
        let different = self.any & !self.all;
        self.is_little = self.turned(self.any) & BELOW_ALIGNMENT == 0
            && self.turned(different).leading_zeros() > different.leading_zeros();
    }

    /// Whether the lowest byte comes first.
    pub fn is_little(self) -> bool {
        self.is_little
    }

    /// Returns the address that an id is.
    #[inline]
    pub fn of(self, id: u64) -> u64 {
        if self.is_little { self.turned(id) } else { id }
    }

    fn turned(self, id: u64) -> u64 {
        id.swap_bytes() >> (u64::BITS as usize - 8 * self.id_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether ids are taken for little-endian ones, unchanged and with their bytes turned.
    fn is_little(id_bytes: usize, ids: &[u64]) -> [bool; 2] {
        let turned = |id: u64| Addresses::new(id_bytes).turned(id);
        let of = |ids: &mut dyn Iterator<Item = u64>| {
            let mut addresses = Addresses::new(id_bytes);
            ids.for_each(|id| addresses.learn(id));
            addresses.is_little()
        };
        [of(&mut ids.iter().copied()), of(&mut ids.iter().map(|&id| turned(id)))]
    }

    #[test]
    fn the_order_of_bytes_is_that_of_addresses() {
        for (id_bytes, ids) in [
            (8, &[0x7f00_1234_0010, 0x7f00_1234_0040][..]),
            (8, &[0x7f00_1234_0010, 0x7f07_ffff_fff8, 0x6_0000_0000]),
            // The numbers of perk's own JVMPI, and a JVM of 32 bits.
            (8, &[0x10, 0x20, 0x30]),
            (8, &[0x10, 0x1230, 0x12340]),
            (4, &[0x4010_a038, 0x4020_b0f8, 0x4310_a030]),
            (4, &[0xf000_0008, 0xf100_0110]),
        ] {
            assert_eq!(is_little(id_bytes, ids), [false, true], "{ids:x?}");
        }
    }

    #[test]
    fn numbers_are_not_turned() {
        for (id_bytes, ids) in [
            (8, &[][..]),
            (8, &[0x7f00_1234_0010]),
            (8, &[1, 2, 3, 0x1000]),
            (4, &[0x5000_0001, 0x5000_0002, 0x5000_0108]),
            (4, &[0xdead_beef, 0x1234_5678, 0x9abc_def1]),
            (2, &[1, 2]),
            (1, &[8, 16]),
        ] {
            assert!(!is_little(id_bytes, ids)[0], "{ids:x?}");
        }
    }
}
