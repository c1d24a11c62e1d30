//! The ids of pieces and recordings.

use std::fmt;

use twox_hash::XxHash3_128;

/// The id of a piece or of a recording: 128 bits of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceId(pub(crate) [u8; 16]);

impl PieceId {
    /// The id of a content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(content).to_be_bytes())
    }

    /// The id as it is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 32 && text.bytes().all(|it| b"0123456789abcdef".contains(&it));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for PieceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}
