//! The assets of perk's pages: ES modules, styles and frames of pages, inside the program.
//!
//! `perk serve` answers with them as they are ([`asset`]). Pages that are one file have the modules that they
//! need in one script ([`bundle`]).
#![forbid(unsafe_code)]

mod bundle;
mod table;

pub use bundle::bundle;

/// A file of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its content.
    pub bytes: &'static [u8],
    /// Its media type.
    pub mime: &'static str,
}

/// The asset of a path below the folder of assets: `flame/chart.js`.
pub fn asset(path: &str) -> Option<Asset> {
    let bytes = text(path)?.as_bytes();
    let mime = match path.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    Some(Asset { bytes, mime })
}

/// The text of an asset.
pub fn text(path: &str) -> Option<&'static str> {
    table::ASSETS.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// The paths of all assets.
pub fn paths() -> impl Iterator<Item = &'static str> {
    table::ASSETS.iter().map(|(path, _)| *path)
}
