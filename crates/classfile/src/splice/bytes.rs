//! Numbers in the bytes of a class file.

use crate::SkipReason;

pub(super) const MAX_U16: usize = u16::MAX as usize;

pub(super) fn push_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

/// Returns the value if it does not exceed its limit, which fits into 16 bits.
pub(super) fn limit(what: &'static str, value: usize, limit: usize) -> Result<u16, SkipReason> {
    match u16::try_from(value) {
        Ok(small) if value <= limit => Ok(small),
        _ => Err(SkipReason::TooLarge { what, value, limit }),
    }
}
