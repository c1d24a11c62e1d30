//! Places in the page's tables.

pub(super) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a profile's tables hold less than 2^32 entries")
}
