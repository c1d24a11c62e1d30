//! Where bytes come from, and how messages name it.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use perk_profile::units::printable;

/// A file or a stream.
pub struct Source {
    pub(crate) reader: Box<dyn Read>,
    pub(crate) name: String,
    pub(crate) length_bytes: Option<u64>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    /// The file `path`, or stdin where it is `-`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        let name = display_name(path);
        if is_stream(path) {
            return Ok(Self { reader: Box::new(io::stdin().lock()), name, length_bytes: None });
        }
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let metadata = file.metadata().ok();
        if metadata.as_ref().is_some_and(Metadata::is_dir) {
            bail!("cannot read {name}: it is a folder; name a file in it");
        }
        let length_bytes = metadata.filter(Metadata::is_file).map(|it| it.len());
        Ok(Self { reader: Box::new(file), name, length_bytes })
    }

    /// A stream that messages call `name`.
    pub fn stream(reader: impl Read + 'static, name: impl Into<String>) -> Self {
        Self { reader: Box::new(reader), name: name.into(), length_bytes: None }
    }

    /// The same, read through what `watch` makes of the reader, the name, and the length in bytes where
    /// that is known.
    pub fn watched<R: Read + 'static>(
        self,
        watch: impl FnOnce(Box<dyn Read>, &str, Option<u64>) -> R,
    ) -> Self {
        let Self { reader, name, length_bytes } = self;
        let reader = Box::new(watch(reader, &name, length_bytes));
        Self { reader, name, length_bytes }
    }
}

/// Whether `path` means stdin or stdout.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages and headings call the input `path`.
pub fn display_name(path: &Path) -> String {
    if is_stream(path) { "stdin".to_owned() } else { printable(&path.display().to_string()) }
}
