//! Readers of the values that people write in questions: on the command line, and in addresses of pages. An
//! error says what to use instead.

use std::time::Duration;

use perk_control::options::time_ns;
use perk_profile::{NamePattern, WholePattern};

pub use crate::heap::parse::{address, class, layout, what};

/// Reads a time: `2s`, `1.5s`, `500ms`, `5m`. It needs a unit.
///
/// # Errors
/// The text is no time.
pub fn time(text: &str) -> Result<Duration, String> {
    time_ns(text).map(Duration::from_nanos).map_err(str::to_owned)
}

/// Reads a share, as `0.5%` or `0.5`, in percent.
///
/// # Errors
/// The text is no share.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("use a share from 0% to 100%, such as 0.5%".to_owned()),
    }
}

/// Reads a pattern of method and class names.
///
/// # Errors
/// The text is no name.
pub fn name_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::new(text)
        .ok_or_else(|| "name a method or a class: bar, Foo.bar, Foo, 'com.acme.*'".to_owned())
}

/// The pattern of the name of a thread.
///
/// # Errors
/// The text is no name.
pub fn whole_pattern(text: &str) -> Result<WholePattern, String> {
    WholePattern::new(text).ok_or_else(|| "name a thread: main, 'http-*'".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        assert!(time("2").is_err_and(|it| it.contains("needs a unit")));
    }
}
