//! Where a cluster is.

use std::fmt;
use std::str::FromStr;

/// The scheme of addresses.
pub(super) const SCHEME: &str = "ballista://";
/// The port of schedulers.
pub(super) const SCHEDULER_PORT: u16 = 50_050;

/// The address of a scheduler: `ballista://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterAddress {
    pub(super) host: String,
    pub(super) port: u16,
}

impl ClusterAddress {
    /// Its address for HTTP.
    pub(super) fn url(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }
}

impl FromStr for ClusterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault =
            || "a cluster is ballista://HOST:PORT, with the port of its scheduler".to_owned();
        let place = text.strip_prefix(SCHEME).ok_or_else(fault)?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !place.ends_with(']') => {
                (host, port.parse().map_err(|_| fault())?)
            }
            _ => (place, SCHEDULER_PORT),
        };
        let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
        if !is_host || port == 0 {
            return Err(fault());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, host, port) in [
            ("ballista://h:1", "h", 1),
            ("ballista://h.example", "h.example", SCHEDULER_PORT),
            ("ballista://[::1]", "[::1]", SCHEDULER_PORT),
            ("ballista://[::1]:7", "[::1]", 7),
        ] {
            let address = ClusterAddress { host: host.to_owned(), port };
            assert_eq!(text.parse(), Ok(address));
        }
        for text in [
            "h:1",
            "http://h:1",
            "ballista://",
            "ballista://:1",
            "ballista://h:0",
            "ballista://h:x",
            "ballista://a/b:1",
        ] {
            let fault = text.parse::<ClusterAddress>().unwrap_err();
            assert!(fault.contains("ballista://HOST:PORT"), "{text}: {fault}");
        }
    }
}
