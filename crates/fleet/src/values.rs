//! The values of options that several commands have.

use std::str::FromStr;
use std::time::Duration;

use perk_control::options::scaled;
use perk_report::parse;
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

/// The age of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Age(pub(crate) Duration);

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
        let time = match days.and_then(|days| days.checked_mul(24 * 3600)) {
            Some(seconds) => Duration::from_secs(seconds),
            None => parse::time(text).map_err(|_| "use a time such as 7d or 12h".to_owned())?,
        };
        match time.is_zero() {
            true => Err("use a time above 0, such as 7d".to_owned()),
            false => Ok(Self(time)),
        }
    }
}

/// A key and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyValue {
    /// The key.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: String,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                Ok(Self { key: key.to_owned(), value: value.to_owned() })
            }
            _ => Err("use a key and a value, such as team=shop".to_owned()),
        }
    }
}
