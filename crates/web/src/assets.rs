//! The files of the page.

/// A file of the page and its type.
pub(crate) fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    perk_page::asset(path).map(|asset| (asset.bytes, asset.mime))
}
