//! HTML pages: one file with its style, its scripts and its data, which needs no network.

use std::io::{self, Write};

use perk_profile::units;
use serde::{Serialize, Serializer};

/// The end of a page's data.
pub(crate) const DATA_END: &str = "</script>";

/// The start of every page, up to its body, and the style that all pages have.
const HEAD: &str = "head.html";
const BASE_STYLE: &str = "base.css";

/// The largest number that a script has exactly.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A number. A script reads large ones from text.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) u64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number @ ..=MAX_SAFE => serializer.serialize_u64(number),
            number => serializer.collect_str(&number),
        }
    }
}

/// A page without its data.
pub(crate) struct HtmlPage {
    /// The asset that is the page from its body on, with `{{title}}`, `{{data}}` and `{{script}}` in their
    /// places.
    pub(crate) html: &'static str,
    /// The styles beside that of all pages.
    pub(crate) styles: &'static [&'static str],
    /// The module that begins the page.
    pub(crate) module: &'static str,
    /// The beginning of the data.
    pub(crate) data_begin: &'static str,
}

impl HtmlPage {
    /// Writes the page with this title and `data` as JSON.
    pub(crate) fn write(
        &self,
        title: &str,
        data: &impl Serialize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let data = serde_json::to_string(data)?;
        // In JSON, `<` occurs only in strings. Without it nothing can end or nest the script element.
        let data = data.replace('<', "\\u003c");
        let asset = |path: &str| perk_page::text(path).unwrap_or_default();
        for piece in asset(HEAD).split("{{").chain(asset(self.html).split("{{")) {
            let text = match piece.split_once("}}") {
                Some((name, text)) => {
                    match name {
                        "title" => write!(out, "{}", escape_html(title))?,
                        "style" => {
                            let styles =
                                [BASE_STYLE].into_iter().chain(self.styles.iter().copied());
                            for style in styles {
                                write!(out, "{}", asset(style))?;
                            }
                        }
                        "data" => write!(out, "{}{data}{DATA_END}", self.data_begin)?,
                        "script" => write!(out, "{}", perk_page::bundle(&[self.module]))?,
                        name => unreachable!("the page has no place for {name}"),
                    }
                    text
                }
                None => piece,
            };
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

fn escape_html(text: &str) -> String {
    let text = units::printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
