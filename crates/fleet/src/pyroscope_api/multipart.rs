//! Bodies of several parts: `multipart/form-data`.

use super::fault::Fault;

/// The most parts of a body.
const MOST_PARTS: usize = 16;

/// A part of a body: its name and its content.
type Part<'a> = (String, &'a [u8]);

/// The parts of a body. `None` if it has another type.
///
/// # Errors
/// A part has no end or no name.
pub(super) fn parts<'a>(
    content_type: &str,
    body: &'a [u8],
) -> Result<Option<Vec<Part<'a>>>, Fault> {
    let mut words = content_type.split(';').map(str::trim);
    if !words.next().is_some_and(|it| it.eq_ignore_ascii_case("multipart/form-data")) {
        return Ok(None);
    }
    let boundary = words.find_map(|it| parameter(it, "boundary")).filter(|it| !it.is_empty());
    let boundary =
        boundary.ok_or_else(|| Fault::argument("the parts of the body have no boundary"))?;
    let delimiter = format!("\r\n--{boundary}");
    let fault = || Fault::argument("a part of the body has no end, or no name");
    // The first delimiter has no line before it.
    let mut rest = body.strip_prefix(&delimiter.as_bytes()[2..]).ok_or_else(fault)?;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let end = find(rest, delimiter.as_bytes()).ok_or_else(fault)?;
        let part = rest[..end].strip_prefix(b"\r\n").ok_or_else(fault)?;
        rest = &rest[end + delimiter.len()..];
        let head_end = find(part, b"\r\n\r\n").ok_or_else(fault)?;
        let head = std::str::from_utf8(&part[..head_end]).map_err(|_| fault())?;
        let name = head.lines().find_map(name_of_part).ok_or_else(fault)?;
        parts.push((name, &part[head_end + 4..]));
        if parts.len() > MOST_PARTS {
            return Err(Fault::argument(format!("the body has more than {MOST_PARTS} parts")));
        }
    }
    Ok(Some(parts))
}

fn find(bytes: &[u8], sought: &[u8]) -> Option<usize> {
    let mut begin = 0;
    // Most bytes are not the first that is sought.
    while let Some(at) = bytes[begin..].iter().position(|it| *it == sought[0]) {
        begin += at;
        if bytes[begin..].starts_with(sought) {
            return Some(begin);
        }
        begin += 1;
    }
    None
}

/// The name that a line of a part's head gives.
fn name_of_part(line: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    let is_named = key.trim().eq_ignore_ascii_case("content-disposition");
    is_named.then(|| value.split(';').find_map(|it| parameter(it.trim(), "name")))?
}

/// The value of a parameter `key=value`.
fn parameter(text: &str, key: &str) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "multipart/form-data; boundary=\"x-y\"";

    fn names(body: &str) -> Option<Vec<(String, String)>> {
        let parts = parts(KIND, body.as_bytes()).ok()??;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some(parts.into_iter().map(|(name, part)| (name, text(part))).collect())
    }

    #[test]
    fn parts_have_names() {
        let body = "--x-y\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p.pb\"\r\n\
                    Content-Type: a/b\r\n\r\nab\r\n\r\nc-\r\n--x-y\r\ncontent-disposition: form-data; \
                    name=labels\r\n\r\n\r\n--x-y--\r\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(names(body), Some(vec![pair("profile", "ab\r\n\r\nc-"), pair("labels", "")]));
        assert!(parts("application/octet-stream", body.as_bytes()).unwrap().is_none());
        for end in 0..body.len() - 2 {
            // The end of the whole is not needed.
            assert!(end >= body.len() - 4 || names(&body[..end]).is_none(), "{end}");
        }
    }
}
