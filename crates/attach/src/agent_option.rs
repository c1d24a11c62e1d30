//! Paths as values of the agent's options.

use std::path::Path;

use anyhow::{Context, bail};

/// The value of the agent's option `file` for this path.
///
/// # Errors
/// Options cannot have the path.
pub fn option_of_file(path: &Path) -> anyhow::Result<String> {
    checked_path(path).map(literal_text)
}

/// The text of a path that the agent's options can have.
pub fn checked_path(path: &Path) -> anyhow::Result<&str> {
    let shown = path.display();
    let name = path.to_str().with_context(|| format!("{shown}: not UTF-8"))?;
    if name.contains([',', '\n']) {
        bail!("{shown}: the agent takes no path with a comma or a line break");
    }
    Ok(name)
}

/// The text in which the agent replaces nothing.
pub fn literal_text(text: &str) -> String {
    text.replace('%', "%%")
}
