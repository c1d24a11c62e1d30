//! Whether system calls, and code for one processor, are where they belong: another system or processor is
//! one more folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{Metadata, root};

/// The folders that have to keep to the borders.
const FOLDERS: &[&str] =
    &["crates/agent/src", "crates/hotspot/src", "crates/jvm/src", "crates/jvmpi/src"];

/// What only some places may use.
const BORDERS: &[Border] = &[
    Border {
        words: &["libc::", "\"/proc/"],
        places: &["crates/jvm/src/os/linux", "crates/jvm/src/arch"],
    },
    Border {
        words: &["target_arch", "asm!"],
        places: &["crates/jvm/src/arch", "crates/hotspot/src/vm/arch"],
    },
];

struct Border {
    words: &'static [&'static str],
    /// Modules: a file and the folder of the same name.
    places: &'static [&'static str],
}

/// Looks for words outside of their places. Tests may use them.
pub(super) fn check(_: &Metadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in FOLDERS.iter().map(|it| root().join(it)).filter(|it| it.is_dir()) {
        for path in sources(&folder)? {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(root()).unwrap_or(&path);
            found.extend(violations(path, &text));
        }
    }
    Ok(found)
}

/// Returns the Rust files below a folder.
pub(super) fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || format!("cannot read {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(read)? {
        let path = entry.with_context(read)?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the code of a file: without comments, and without the tests at its end.
pub(super) fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn violations(path: &Path, text: &str) -> Vec<String> {
    let code = code(text);
    let module = path.with_extension("");
    let mut found = Vec::new();
    for border in BORDERS {
        if border.places.iter().any(|place| module.starts_with(place)) {
            continue;
        }
        for word in border.words.iter().filter(|word| code.contains(**word)) {
            let place = border.places[0];
            found.push(format!("{}: move what uses {word} to {place}", path.display()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_places() {
        let call = "fn f() { unsafe { libc::getpid() } }";
        let at = |path: &str, text: &str| violations(Path::new(path), text).len();
        assert_eq!(at("crates/agent/src/load.rs", call), 1);
        assert_eq!(at("crates/jvm/src/os/linux/thread.rs", call), 0);
        assert_eq!(at("crates/jvm/src/os/linux.rs", call), 0);
        assert_eq!(at("crates/jvm/src/os.rs", call), 1);
        assert_eq!(at("crates/jvm/src/guard.rs", "#[cfg(target_arch = \"x86_64\")]"), 1);
        assert_eq!(at("crates/jvm/src/arch.rs", "#[cfg(target_arch = \"x86_64\")]"), 0);
        assert_eq!(at("crates/jvm/src/guard.rs", "// libc::free\n"), 0);
        let tests = format!("fn g() {{}}\n\n#[cfg(test)]\nmod tests {{\n{call}\n}}");
        assert_eq!(at("crates/jvm/src/guard.rs", &tests), 0);
    }
}
