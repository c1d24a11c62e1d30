//! The files of the page.

/// A file of the page and its type.
pub(crate) fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    Some(match path {
        "index.html" => (include_bytes!("assets/index.html"), "text/html; charset=utf-8"),
        "app.js" => (include_bytes!("assets/app.js"), "text/javascript; charset=utf-8"),
        _ => return None,
    })
}
