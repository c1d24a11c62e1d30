//! The values of options that several commands have.

use std::str::FromStr;

use perk_control::options::scaled;
use serde::Deserialize;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        scaled(text).map(Self).ok_or_else(|| "use a size such as 500m or 20g".to_owned())
    }
}
