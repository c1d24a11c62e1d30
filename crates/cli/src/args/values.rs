//! Values of arguments, read from text. An error says what to use instead.

use std::net::IpAddr;
use std::time::Duration;

use perk_control::Command;
use perk_control::options::scaled;
pub(super) use perk_report::parse::{name_pattern, share, time, whole_pattern};

/// Reads the length of a part of a run, which is not zero.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    // The agent counts milliseconds with 31 bits.
    let longest = Duration::from_millis(i32::MAX as u64);
    match time(text)? {
        length if length < Duration::from_millis(1) => {
            Err("use a time above 0, such as 10s".to_owned())
        }
        length if length > longest => Err("use a time below 24 days".to_owned()),
        length => Ok(length),
    }
}

/// Reads a size in bytes: `500m`, `8g`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    scaled(text).ok_or_else(|| "use a size such as 500m or 8g".to_owned())
}

/// Reads a command for an agent by its name.
pub(super) fn command(text: &str) -> Result<Command, String> {
    text.parse()
}

/// Reads an address of this machine.
pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "use an IP address of this machine, such as 127.0.0.1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for text in ["0s", "0.1us", "999us", "600h"] {
            assert!(length(text).is_err(), "{text}");
        }
        assert_eq!(length("1.5s"), Ok(Duration::from_millis(1500)));
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("1", 1), ("500m", 500 << 20), ("8G", 8 << 30), ("2k", 2048)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "k", "-1", "+1", "1.5g", "1kk", "1t", "99999999999999g"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
