//! Profiles of pprof: `profile.proto`, a protocol buffer. `docs/formats/pprof.md` has the details.

use std::io::{self, Read, Write};

use perk_profile::Profile;

use crate::Error;
use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};
mod read;
mod samples;
mod tables;
mod types;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::write;

use wire::{Message, WireField};

/// The label that names the thread of a sample.
const THREAD_LABEL: &str = "thread";
/// The key of the label that numbers the thread, which distinguishes threads of one name.
const THREAD_ID_LABEL: &str = "thread_id";
/// The label that names the class of the objects that a sample counts.
const CLASS_LABEL: &str = "class";
/// The label that gives the state of the threads whose time a sample is.
const STATE_LABEL: &str = "state";
/// The frame of samples without a stack.
const NO_STACK: &str = "[no stack]";
/// The frame of samples whose stacks the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";
/// The name in place of one that the file has lost.
const UNKNOWN: &str = "[unknown]";
/// The mappings of perk's own files: frames of neither other mapping, native methods and functions
/// whose library is not known, and compiled code without a line.
const JAVA: &str = "java";
const NATIVE: &str = "[native]";
const COMPILED: &str = "[compiled]";
/// The mapping of the kernel's code.
const KERNEL: &str = "[kernel.kallsyms]";
/// The first line of the string that holds the data of the run, to which nothing refers: other programs
/// print all comments, and no such string.
const RUN: &str = "perk run\n";
/// The beginning of the line with the interval of sampled allocations, in bytes.
const SITES_INTERVAL: &str = "sites.sample_interval_bytes=";
/// The beginning of a comment that holds a line of the data of the run, in older files.
const OLD_RUN: &str = "perk ";
/// The beginning of a note that holds a comment of another tool.
const COMMENT: &str = "comment: ";

pub(crate) struct Pprof;

impl FileFormat for Pprof {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "pprof",
            title: "pprof",
            about: "pprof's profile.proto",
            endings: &["pb", "pprof"],
            page: "pprof.md",
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

/// Whether a file that begins with `head` is of this format: all visible fields are those of a
/// profile, including the types of its values.
pub fn recognise(head: &[u8]) -> bool {
    let mut file = Message { bytes: head, offset: 0 };
    let mut has_type = false;
    let mut has_fields = false;
    loop {
        let is_field = match file.next() {
            // The last field may be cut off.
            Ok(None) => return has_type,
            Err(_) => return has_type && has_fields,
            Ok(Some((1 | 11, WireField::Bytes(value_type)))) => {
                has_type = true;
                is_value_type(value_type)
            }
            Ok(Some((2..=6 | 13, WireField::Bytes(_)))) => true,
            Ok(Some((7..=10 | 12..=15, WireField::Varint(_)))) => true,
            Ok(Some(_)) => false,
        };
        if !is_field {
            return false;
        }
        has_fields = true;
    }
}

/// Whether the file of a mapping is a library, all of whose code is native.
fn is_library(file: &str) -> bool {
    file.ends_with(".so") || file.contains(".so.")
}

fn is_value_type(mut message: Message<'_>) -> bool {
    let mut fields = 0;
    loop {
        match message.next() {
            Ok(None) => return fields > 0,
            Ok(Some((1 | 2, WireField::Varint(_)))) => fields += 1,
            _ => return false,
        }
    }
}
