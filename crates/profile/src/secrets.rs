//! Secrets on command lines, which are masked in profiles: passwords, tokens and keys.
//!
//! A command line is kept as the JVM reports it: its words with blanks between them. A value is masked
//! where the name before it says that it is secret: `--password=x`, `-Dapi.token=x`, `--api-key x`,
//! `?access_token=x`, `Bearer x`. So is the password of a URL, as in `jdbc://user:x@host`.

/// The text in place of a secret.
pub const MASK: &str = "***";

/// Words that make a name that of a secret wherever they are in it, also within a word.
const PARTS: [&str; 8] =
    ["password", "passwd", "passphrase", "passcode", "secret", "credential", "apikey", "accesskey"];
/// Words that make a name that of a secret if they are whole words of it.
const WORDS: [&str; 6] = ["token", "pwd", "pass", "pw", "auth", "authorization"];
/// Words that do so before the word `key`.
const KEYS: [&str; 9] =
    ["api", "access", "private", "secret", "signing", "encryption", "license", "account", "master"];
/// Last words of names whose value says something about a secret.
const HARMLESS: [&str; 17] = [
    "file",
    "files",
    "path",
    "dir",
    "directory",
    "url",
    "uri",
    "endpoint",
    "length",
    "type",
    "expiry",
    "timeout",
    "ttl",
    "policy",
    "encoder",
    "size",
    "limit",
];
/// Schemes of HTTP's header, which the secret follows.
const SCHEMES: [&str; 2] = ["bearer", "basic"];
/// The bytes between two parameters of a URL or of a connection.
const SEPARATORS: [char; 4] = ['&', ';', '?', '#'];

/// Returns the command line with [`MASK`] in place of secrets. Masking it again changes nothing.
pub fn mask(command: &str) -> String {
    let mut masked = String::with_capacity(command.len());
    let mut is_next_secret = false;
    for piece in command.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        if word.is_empty() {
            masked.push_str(piece);
            continue;
        }
        let is_option = word.starts_with('-');
        if is_next_secret && !is_option {
            masked.push_str(MASK);
        } else {
            masked.push_str(&without_password(&mask_values(word)));
        }
        is_next_secret = match is_option {
            true => !word.contains('=') && is_secret(word),
            false => SCHEMES.contains(&word.trim_end_matches(':').to_lowercase().as_str()),
        };
        masked.push_str(&piece[word.len()..]);
    }
    masked
}

/// Masks the values of a word's parts `name=value`. The value of the first extends to the end of the word,
/// if the name does, too.
fn mask_values(word: &str) -> String {
    let mut masked = String::new();
    let mut rest = word;
    let mut is_first = true;
    loop {
        let end = rest.find(SEPARATORS).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        match part.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(name) => {
                masked.push_str(name);
                masked.push('=');
                masked.push_str(MASK);
                if is_first {
                    return masked;
                }
            }
            _ => masked.push_str(part),
        }
        let Some(separator) = after.chars().next() else { return masked };
        masked.push(separator);
        rest = &after[separator.len_utf8()..];
        is_first = false;
    }
}

/// Masks the password in the address of a URL.
fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:{MASK}@{host}{path}"),
            None => word.to_owned(),
        },
        None => word.to_owned(),
    }
}

/// Whether the value of a name is secret.
fn is_secret(name: &str) -> bool {
    // What precedes the name itself: `url=jdbc:x:password`.
    let name = name.rsplit(['=', ':', '/', ',']).next().unwrap_or(name);
    let name = name.strip_prefix("-D").unwrap_or(name);
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if HARMLESS.contains(&last.as_str()) {
        return false;
    }
    let joined = words.concat();
    PARTS.iter().any(|part| joined.contains(part))
        || words.iter().any(|word| WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| pair[1] == "key" && KEYS.contains(&pair[0].as_str()))
}

/// The words of a name in lower case: `db.userPassword2` has three.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    let mut is_new = true;
    for c in name.chars() {
        if !c.is_alphabetic() {
            (is_new, was_lower) = (true, false);
            continue;
        }
        if is_new || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        (is_new, was_lower) = (false, c.is_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (command, masked) in [
            ("Main --password=x y", "Main --password=*** y"),
            ("Main -Dtoken=a=b,c", "Main -Dtoken=***"),
            ("Main --api-key x --port 80", "Main --api-key *** --port 80"),
            ("Main --token -v", "Main --token -v"),
            ("Main dbPassword=x", "Main dbPassword=***"),
            ("Main DB_PASSWORD=x mysecret=y", "Main DB_PASSWORD=*** mysecret=***"),
            ("Main https://joe:x:y@host/a?b=c", "Main https://joe:***@host/a?b=c"),
            ("Main --url=https://joe:x@host", "Main --url=https://joe:***@host"),
            (
                "Main https://host/?a=1&access_token=x&b=2",
                "Main https://host/?a=1&access_token=***&b=2",
            ),
            ("jdbc:h2:mem;USER=sa;PASSWORD=x;MODE=y", "jdbc:h2:mem;USER=sa;PASSWORD=***;MODE=y"),
            ("Main -H Authorization: Bearer x", "Main -H Authorization: Bearer ***"),
            ("Main --passwords=x;y", "Main --passwords=***"),
            ("Main\t--pwd  x  ", "Main\t--pwd  ***  "),
            ("Main --private-key=x --Größe=1", "Main --private-key=*** --Größe=1"),
        ] {
            assert_eq!(mask(command), masked);
            assert_eq!(mask(masked), masked);
        }
    }

    #[test]
    fn everything_else_stays() {
        for command in [
            "",
            "Main",
            "com.acme.TokenServer --max-tokens=100 --author=joe --key=5 --compass=north",
            "/opt/my app/app-1.2.jar --x=/y -Dkeystore.password.file=/etc/pw --token-file /etc/t",
            "Main --password-encoder=bcrypt https://host:80/a@b mail@host user:x@host",
            "Main --password= --bypass=1 monkey=2 -Dsession.timeout=3",
        ] {
            assert_eq!(mask(command), command);
        }
    }
}
