//! The helper class.

use perk_jvm::probes::HelperClass;

/// `java/helper/java/lang/PerkCounts.java`, compiled; a test compares the two.
const HELPER_CLASS: &[u8] = include_bytes!("PerkCounts.class");

/// The constant of the helper class in the place of an address.
const UNREAD: [u8; 8] = 0x5065_726b_436e_7473_u64.to_be_bytes();

/// Returns the helper class, with the address of counters that are not read.
pub(super) fn helper(unread: i64) -> HelperClass {
    let mut bytes = HELPER_CLASS.to_vec();
    let place = bytes.windows(UNREAD.len()).position(|it| it == UNREAD);
    let constant = place.and_then(|place| bytes[place..].first_chunk_mut());
    if let Some(constant) = constant {
        *constant = unread.to_be_bytes();
    }
    let plain = perk_instrument::COUNTS_HELPER;
    HelperClass { plain, bytes: bytes.into(), natives: &[], exchanges: Vec::new() }
}
