//! The layouts of binary files that old readers need.

/// The layout of a binary file. Today's tools read the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryForm {
    /// The size of its ids.
    pub id_size: IdSize,
    /// Its version.
    pub version: Version,
}

/// The size of ids, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdSize {
    /// Four, as in the original agent's files. The ids of objects are their addresses divided by 8,
    /// so addresses below 32 GiB fit.
    Four,
    /// Eight. The ids of objects are their addresses.
    #[default]
    Eight,
}

/// The version, which gives the layout of heap dumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// A dump is one record HEAP DUMP, of less than 4 GiB.
    V1_0_1,
    /// A dump is HEAP DUMP SEGMENT records and HEAP DUMP END.
    #[default]
    V1_0_2,
}

/// The alignment of objects in the JVM's heap, in bytes.
const OBJECT_ALIGNMENT_BYTES: u64 = 8;
/// The bits of a table's positions in ids of four bytes. The table's digit is above them.
const SHORT_INDEX_BITS: u32 = 28;

impl IdSize {
    /// Returns the size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Returns the id in the file for an id of one of perk's own tables: a digit 32 bits up, and
    /// the position. Smaller ids stay as they are.
    pub(super) fn own(self, id: u64) -> u64 {
        match self {
            Self::Eight => id,
            Self::Four if id >> 32 == 0 => id,
            Self::Four => (id >> 32) << SHORT_INDEX_BITS | (id & ((1 << SHORT_INDEX_BITS) - 1)),
        }
    }

    /// Returns the id of the object at an address, if it has one.
    pub(super) fn of_address(self, address: u64) -> Option<u64> {
        match self {
            Self::Eight => Some(address),
            Self::Four if !address.is_multiple_of(OBJECT_ALIGNMENT_BYTES) => None,
            Self::Four => {
                Some(address / OBJECT_ALIGNMENT_BYTES).filter(|&id| id <= u32::MAX.into())
            }
        }
    }
}

impl Version {
    pub(super) fn title(self) -> &'static [u8] {
        match self {
            Self::V1_0_1 => b"JAVA PROFILE 1.0.1\0",
            Self::V1_0_2 => b"JAVA PROFILE 1.0.2\0",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_below_32_gib_fit_four_bytes() {
        let id = |address| IdSize::Four.of_address(address);
        assert_eq!(id(0), Some(0));
        assert_eq!(id(0xffe0_08c8), Some(0x1ffc_0119));
        assert_eq!(id((1 << 35) - 8), Some(0xffff_ffff));
        assert_eq!(id(1 << 35), None);
        assert_eq!(id(0x1004), None);
        assert_eq!(IdSize::Eight.of_address(1 << 63 | 1), Some(1 << 63 | 1));
    }

    #[test]
    fn tables_keep_their_digit() {
        assert_eq!(IdSize::Four.own(0xa << 32 | 0x123), 0xa000_0123);
        assert_eq!(IdSize::Four.own(0), 0);
        assert_eq!(IdSize::Eight.own(0xa << 32 | 0x123), 0xa_0000_0123);
    }
}
