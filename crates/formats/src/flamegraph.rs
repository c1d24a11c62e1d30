//! Flame graphs: one HTML file that shows the samples in any browser, without a network, and that
//! can be read back. `docs/formats/flamegraph.md` describes the embedded data.

mod data;
mod fill;
mod index;
mod label;
mod owner;
mod read;
mod times;

use std::io::{self, Read, Write};

use perk_profile::Profile;

pub(crate) use self::data::NodeKind;
pub(crate) use self::label::FrameLabel;

use self::data::{PageData, is_samples};
use crate::Error;
use crate::fields_page::{self, FieldsPage};
use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};
use crate::page::{DATA_END, HtmlPage};

const PAGE: HtmlPage = HtmlPage {
    html: "flame/page.html",
    styles: &["flame/page.css", "flame/times.css"],
    module: "flame/start.js",
    data_begin: DATA_BEGIN,
};
const DATA_BEGIN: &str = "<script type=\"application/json\" id=\"perk-data\">";
const VERSION: u32 = 1;

pub(crate) struct FlameGraph;

impl FileFormat for FlameGraph {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "html",
            title: "flame graph",
            about: "Flame graph, one HTML file that needs no network",
            endings: &["html"],
            page: "flamegraph.md",
            keeps: "metrics by call path, without lines",
            reading: Reading::ToEnd,
            written: Some(FormatContent {
                metrics: Metrics::Leading,
                detail: Detail::Paths,
                documents: &[Document::Times],
                accounting: true,
                depth: Depth::Folded,
            }),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        let text = head.trim_ascii_start();
        // The data precedes the scripts.
        text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype html"))
            && memchr::memmem::find(text, DATA_BEGIN.as_bytes()).is_some()
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        read(&bytes)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view, out)
    }

    fn has_lead(&self) -> bool {
        true
    }

    fn instead(&self, view: &View<'_>) -> Option<&'static dyn FileFormat> {
        fields_page::is_for(view).then_some(&FieldsPage)
    }
}

/// Writes the shown part of a profile as a page: the chosen metric, or all leading ones, which the
/// reader of the page switches between. Frames are merged by method, and are below their threads if
/// the traces have threads. For objects and locks, the last frame is the class. For two profiles,
/// frames are as wide as their numbers after, and are coloured by the change of their share.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile does not have the metric.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    PAGE.write(&view.heading(), &PageData::new(view)?, out)
}

/// Reads the samples of a page which [`write()`] wrote. Pages without samples are refused, because
/// one number alone does not make calls or allocations; other values beside samples are a note.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let expected = "the data of a flame graph page of perk";
    let begin = find(bytes, DATA_BEGIN).ok_or(Error::Offset { offset: 0, expected })?;
    let begin = begin + DATA_BEGIN.len();
    let expected = "the end of the page's data";
    let length =
        find(&bytes[begin..], DATA_END).ok_or(Error::Offset { offset: bytes.len(), expected })?;
    let json = &bytes[begin..begin + length];
    let data: PageData = serde_json::from_slice(json).map_err(|error| {
        let offset = begin + offset(json, error.line(), error.column());
        Error::Offset {
            offset,
            expected: "a flame graph's data (JSON, docs/formats/flamegraph.md)",
        }
    })?;
    if data.version != VERSION {
        return Err(Error::Offset { offset: begin, expected: "data of version 1" });
    }
    if data.before.is_some() {
        let expected = "a page of one profile, not a comparison";
        return Err(Error::Offset { offset: begin, expected });
    }
    if !is_samples(&data.value) {
        let expected = "samples: a page of another metric holds too little to be read back";
        return Err(Error::Offset { offset: begin, expected });
    }
    data.into_profile()
}

fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

/// Returns the offset of a line and a column, both from 1, as serde_json gives them.
fn offset(json: &[u8], line: usize, column: usize) -> usize {
    let before = json.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1));
    (before.map(<[u8]>::len).sum::<usize>() + column.saturating_sub(1)).min(json.len())
}

#[cfg(test)]
mod tests;
