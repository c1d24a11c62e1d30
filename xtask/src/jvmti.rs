//! `xtask jvmti JAVA_HOME`: writes the tables of `perk-jvmti-sys` from a JDK's `jvmti.h`. bindgen would need
//! libclang, and has no numbers for the bits of capabilities, no names of values and no titles of slots.

#[cfg(test)]
mod compare;
mod emit;
mod header;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;
use header::Header;

/// Writes `crates/jvmti-sys/src/generated.rs` from the header of the JDK at `java_home`.
pub(crate) fn generate(java_home: &Path) -> Result<()> {
    let path = workspace::root().join("crates/jvmti-sys/src/generated.rs");
    let text = formatted(&emit::rust(&Header::of_jdk(java_home)?))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the text as formatted by rustfmt with the workspace's settings.
pub(crate) fn formatted(text: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(workspace::root().join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start rustfmt")?;
    let mut input = rustfmt.stdin.take().context("rustfmt has no input")?;
    // rustfmt reads all of its input before it writes, so this cannot block forever.
    input.write_all(text.as_bytes()).context("cannot write to rustfmt")?;
    drop(input);
    let output = rustfmt.wait_with_output().context("cannot read from rustfmt")?;
    ensure!(output.status.success(), "rustfmt refused the generated text");
    String::from_utf8(output.stdout).context("rustfmt wrote something else than UTF-8")
}
