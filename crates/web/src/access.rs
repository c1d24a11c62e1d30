//! Who may ask: the token in the address that the server prints, and the cookie that a browser gets for it.

use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, bail};

/// The random bytes of a token.
const TOKEN_BYTES: usize = 16;
/// The characters that a token of a file has at least: as many as one of ours.
const LEAST_CHARACTERS: usize = 2 * TOKEN_BYTES;
/// The characters that a token of a file has at most.
const MOST_CHARACTERS: usize = 256;

/// The secrets of a server.
pub(crate) struct Access {
    token: String,
    /// What the cookie holds: another secret, so that a cookie does not give the token away.
    session: String,
    /// The name of the cookie. Cookies are not by port, so servers on other ports have another name.
    cookie: String,
}

impl Access {
    /// The access to the server on `port`, by `token` where one is given, otherwise by a new one.
    pub(crate) fn new(port: u16, token: Option<String>) -> anyhow::Result<Self> {
        let token = token.map_or_else(secret, Ok)?;
        Ok(Self { token, session: secret()?, cookie: format!("perk_{port}") })
    }

    /// What the address ends in.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The header that gives a browser the cookie, if `token` is the right one.
    pub(crate) fn exchange(&self, token: &str) -> Option<String> {
        let Self { session, cookie, .. } = self;
        is_same(token, &self.token)
            .then(|| format!("{cookie}={session}; HttpOnly; SameSite=Strict; Path=/"))
    }

    /// Whether one of the cookies is that of this server.
    pub(crate) fn admits(&self, cookies: &str) -> bool {
        cookies
            .split(';')
            .filter_map(|it| it.trim().split_once('='))
            .any(|(name, value)| name == self.cookie && is_same(value, &self.session))
    }
}

/// Compares all characters, so that the time does not depend on how many are right.
pub fn is_same(given: &str, secret: &str) -> bool {
    let (given, secret) = (given.as_bytes(), secret.as_bytes());
    given.len() == secret.len()
        && given.iter().zip(secret).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

fn secret() -> anyhow::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The token in a file, which nobody but its owner may read.
///
/// # Errors
/// The file cannot be read, others may read it, or it has no token that is hard to guess.
pub fn token_of_file(path: &Path) -> anyhow::Result<String> {
    let name = perk_open::display_name(path);
    let facts = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    if !facts.is_file() || facts.len() > 4 * MOST_CHARACTERS as u64 {
        bail!("{name} is no file with a token: write one with `openssl rand -hex 16`");
    }
    if facts.mode() & 0o077 != 0 {
        bail!("others may read {name}: chmod 600 {name}");
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let token = text.trim();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.~".contains(it);
    match token.chars().count() {
        LEAST_CHARACTERS..=MOST_CHARACTERS if token.chars().all(is_plain) => Ok(token.to_owned()),
        _ => bail!(
            "{name} has no token: write {LEAST_CHARACTERS} to {MOST_CHARACTERS} letters and digits, as with \
             `openssl rand -hex 16`"
        ),
    }
}

/// Whether a browser that sends this `Host` has the address of a machine and no name that somebody could
/// give to this one (DNS rebinding).
pub fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()) => {
            name
        }
        _ => host,
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => matches!(name.parse(), Ok(IpAddr::V4(_))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_a_cookie_which_admits() {
        let access = Access::new(4000, None).unwrap();
        assert_eq!(access.token().len(), 32);
        assert_ne!(access.token(), Access::new(4000, None).unwrap().token());
        let cookie = access.exchange(access.token()).unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        assert!(pair.starts_with("perk_4000=") && !pair.contains(access.token()));
        assert!(access.admits(&format!("a=b; {pair}; c")));
        for wrong in
            ["", "perk_4000", "perk_4000=", &pair[..pair.len() - 1], &pair.replace("4000", "4001")]
        {
            assert!(!access.admits(wrong), "{wrong}");
        }
        for wrong in
            ["", "x", &access.token()[1..], &access.token().to_uppercase().replace('0', "o")]
        {
            assert!(access.exchange(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn names_are_no_addresses() {
        for host in
            ["127.0.0.1:4000", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:80", "10.0.0.7:4000"]
        {
            assert!(is_address(host), "{host}");
        }
        for host in [
            "",
            "evil.com",
            "evil.com:4000",
            "localhost.evil.com",
            "127.0.0.1.nip.io:4000",
            "::1",
            "[::1",
            "127.1:80",
            "127.0.0.1:4000@evil.com",
            "localhost:",
            "[evil.com]:80",
            "0x7f000001",
        ] {
            assert!(!is_address(host), "{host}");
        }
    }
}
