//! Strings, and what is best shown as text: paths, addresses.

use perk_hprof::heap::FieldType;

use crate::{Meaning, Value};

use super::reader::{Instance, MeaningReader};

/// Characters, as many as are shown, and the number of all.
struct Chars {
    text: String,
    count: u64,
}

impl Chars {
    fn meaning(self) -> Meaning {
        Meaning::Text { text: self.text, char_count: self.count }
    }

    /// The text, with dots where it is cut.
    fn whole(self) -> String {
        let is_cut = self.text.encode_utf16().count() as u64 != self.count;
        if is_cut { self.text + "..." } else { self.text }
    }
}

/// The content of a `String`.
pub(super) fn string(it: &Instance<'_, '_>) -> Option<Meaning> {
    if let Some(chars) = chars(it) {
        return Some(chars.meaning());
    }
    // Android's strings have their characters within.
    Some(match it.int("count") {
        Some(0) => Meaning::Text { text: String::new(), char_count: 0 },
        _ => Meaning::Plain("a string whose characters the dump does not have".to_owned()),
    })
}

/// The content of a `StringBuilder` or `StringBuffer`.
pub(super) fn builder(it: &Instance<'_, '_>) -> Option<Meaning> {
    let count = it.size("count")?;
    Some(decode(it.reader, it.address("value")?, it.int("coder"), 0, Some(count))?.meaning())
}

/// The text that a field has.
pub(super) fn field(it: &Instance<'_, '_>, name: &str) -> Option<Meaning> {
    it.text(name).map(Meaning::Plain)
}

/// A path of a file system.
pub(super) fn path(it: &Instance<'_, '_>) -> Option<Meaning> {
    if let Some(text) = it.text("path") {
        return Some(Meaning::Plain(text));
    }
    let (element, bytes) =
        it.reader.primitives(it.address("path")?, it.reader.char_count() as u64)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (element == FieldType::Byte).then_some(Meaning::Plain(text))
}

/// A `URI`: as it was written, or from its parts.
pub(super) fn uri(it: &Instance<'_, '_>) -> Option<Meaning> {
    if let Some(text) = it.text("string") {
        return Some(Meaning::Plain(text));
    }
    let mut uri = it.text("scheme").map(|it| it + ":").unwrap_or_default();
    match it.text("schemeSpecificPart") {
        Some(part) => uri += &part,
        None => {
            let host = || {
                let user = it.text("userInfo").map(|it| it + "@").unwrap_or_default();
                let port = it.int("port").filter(|&it| it >= 0);
                let port = port.map(|it| format!(":{it}")).unwrap_or_default();
                Some(user + &it.text("host")? + &port)
            };
            if let Some(authority) = it.text("authority").or_else(host) {
                uri += &format!("//{authority}");
            }
            uri += &it.text("path").unwrap_or_default();
            uri += &it.text("query").map(|it| format!("?{it}")).unwrap_or_default();
        }
    }
    uri += &it.text("fragment").map(|it| format!("#{it}")).unwrap_or_default();
    (!uri.is_empty()).then_some(Meaning::Plain(uri))
}

/// A `URL`.
pub(super) fn url(it: &Instance<'_, '_>) -> Option<Meaning> {
    let mut url = it.text("protocol")? + ":";
    if let Some(authority) = it.text("authority").filter(|it| !it.is_empty()) {
        url += &format!("//{authority}");
    }
    url += &it.text("file").unwrap_or_default();
    url += &it.text("ref").map(|it| format!("#{it}")).unwrap_or_default();
    Some(Meaning::Plain(url))
}

/// A `Locale`: `de_AT`.
pub(super) fn locale(it: &Instance<'_, '_>) -> Option<Meaning> {
    let base = it.object("baseLocale")?;
    let parts = ["language", "script", "region", "variant"].map(|name| base.text(name));
    let parts = parts.into_iter().flatten().filter(|it| !it.is_empty());
    Some(Meaning::Plain(parts.collect::<Vec<_>>().join("_")))
}

/// An `InetAddress`: `host/10.0.0.1`.
pub(super) fn address(it: &Instance<'_, '_>) -> Option<Meaning> {
    internet_address(it).map(Meaning::Plain)
}

fn internet_address(it: &Instance<'_, '_>) -> Option<String> {
    let holder = it.object("holder")?;
    let host = holder.text("hostName").unwrap_or_default();
    let six = it.object("holder6").and_then(|six| six.address("ipaddress"));
    let number = match six.and_then(|six| it.reader.primitives(six, 16)) {
        Some((FieldType::Byte, bytes)) if bytes.len() == 16 => {
            let bytes: [u8; 16] = bytes.try_into().ok()?;
            std::net::Ipv6Addr::from(bytes).to_string()
        }
        _ => std::net::Ipv4Addr::from(holder.int("address")? as u32).to_string(),
    };
    Some(if host.is_empty() { number } else { format!("{host}/{number}") })
}

/// An `InetSocketAddress`: `host/10.0.0.1:80`.
pub(super) fn socket_address(it: &Instance<'_, '_>) -> Option<Meaning> {
    let holder = it.object("holder")?;
    let address = holder.object("addr").and_then(|it| internet_address(&it));
    let address = address.or_else(|| holder.text("hostname"))?;
    Some(Meaning::Plain(format!("{address}:{}", holder.int("port")?)))
}

impl MeaningReader<'_> {
    /// Returns the characters of the `String` at an address, as many as are shown.
    pub(super) fn text(&self, address: u64) -> Option<String> {
        let object = self.object(address)?;
        if object.class_name() != "java.lang.String" {
            return None;
        }
        Some(chars(&object)?.whole())
    }

    /// Returns the characters of the array at an address, as many as are shown.
    pub(super) fn chars(&self, array: u64) -> Option<String> {
        Some(decode(self, array, None, 0, None)?.whole())
    }
}

fn chars(it: &Instance<'_, '_>) -> Option<Chars> {
    let array = it.address("value").filter(|&it| it != 0)?;
    // Strings were once parts of arrays. Android's `count` is the length only where there is `offset`.
    let offset = it.size("offset");
    let count = offset.and_then(|_| it.size("count"));
    decode(it.reader, array, it.int("coder"), offset.unwrap_or(0), count)
}

/// The characters in an array of `char` or `byte`, from `offset` on, `count` of them or all.
fn decode(
    reader: &MeaningReader<'_>,
    array: u64,
    coder: Option<i64>,
    offset: u64,
    count: Option<u64>,
) -> Option<Chars> {
    const UTF_16: i64 = 1;
    let shown = reader.char_count() as u64;
    let is_wide = coder == Some(UTF_16);
    let unit = if is_wide { 2 } else { 1 };
    let all = reader.length(array)? / unit;
    let count = count.unwrap_or(all.checked_sub(offset)?);
    if offset.checked_add(count)? > all {
        return None;
    }
    let end = offset + count.min(shown);
    let (element, bytes) = reader.primitives(array, end * unit)?;
    let start = offset as usize;
    let units: Vec<u16> = match element {
        FieldType::Char => {
            bytes.chunks_exact(2).map(|it| u16::from_be_bytes([it[0], it[1]])).collect()
        }
        FieldType::Byte if is_wide => {
            // The JVM keeps them in the order of the machine.
            let shift = reader.static_value("java.lang.StringUTF16", "HI_BYTE_SHIFT");
            let is_big_endian = shift == Some(Value::Int(8));
            let unit = |it: &[u8]| match is_big_endian {
                true => u16::from_be_bytes([it[0], it[1]]),
                false => u16::from_le_bytes([it[0], it[1]]),
            };
            bytes.chunks_exact(2).map(unit).collect()
        }
        FieldType::Byte => bytes.iter().map(|&it| u16::from(it)).collect(),
        _ => return None,
    };
    let units = units.get(start..(end as usize).min(units.len()))?;
    // Half a character at the end is left out.
    let units = match units {
        [rest @ .., last] if (count > shown) && (0xD800..0xDC00).contains(last) => rest,
        _ => units,
    };
    Some(Chars { text: String::from_utf16_lossy(units), count })
}

/// The text of an array of `char`, and of an array of `byte` that is plain ASCII.
pub(super) fn of_array(
    reader: &MeaningReader<'_>,
    array: u64,
    element: FieldType,
) -> Option<Meaning> {
    let chars = decode(reader, array, None, 0, None)?;
    let is_plain = |c: char| matches!(c, ' '..='~' | '\t' | '\n' | '\r');
    let is_text = match element {
        FieldType::Char => true,
        _ => !chars.text.is_empty() && chars.text.chars().all(is_plain),
    };
    is_text.then(|| chars.meaning())
}
