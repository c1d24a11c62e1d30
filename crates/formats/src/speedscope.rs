//! Profiles of speedscope: JSON according to <https://www.speedscope.app/file-format-schema.json>.
//! `docs/formats/speedscope.md` has the details.

use std::io::{self, Read, Write};

use perk_profile::Profile;

use crate::Error;
use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};
mod cut;
mod file;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::write;

/// The address of the format's schema, which files name.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";
/// The frame of samples without a stack.
const NO_STACK: &str = "[no stack]";
/// The frame of samples whose stacks the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";

pub(crate) struct Speedscope;

impl FileFormat for Speedscope {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "speedscope",
            title: "speedscope",
            about: "speedscope's JSON",
            endings: &["speedscope.json", "speedscope"],
            page: "speedscope.md",
            keeps: "all metrics by call path, with lines; no total times, no monitor dumps",
            reading: Reading::ToEnd,
            written: Some(FormatContent {
                metrics: Metrics::All,
                detail: Detail::Lines,
                documents: &[Document::Labels],
                accounting: true,
                depth: Depth::Ends,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        recognise(head)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    /// Total times are those of methods, and not of their samples.
    fn holds(&self, metric: &perk_profile::Metric) -> bool {
        *metric != perk_profile::Metric::TotalTime
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view.profile, out)
    }
}

/// Whether a file that begins with `head` is of this format: a JSON object that names the schema,
/// or has its kinds of profiles.
pub fn recognise(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    let has_kind = || has(b"\"sampled\"") || has(b"\"evented\"");
    head.starts_with(b"{")
        && (has(b"speedscope.app/file-format-schema.json")
            || has(b"\"profiles\"") && has_kind()
            || has(b"\"shared\"") && has(b"\"frames\""))
}
