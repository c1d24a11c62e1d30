//! Readers of what people write.

use perk_profile::{ObjectLayout, WholePattern};

use super::{CLASS_OBJECT, ObjectQuery};

/// An address, `0x` before it, or the name of a class.
///
/// # Errors
/// The text is none.
pub fn what(text: &str) -> Result<ObjectQuery, String> {
    match hexadecimal(text) {
        Some(address) => address.map(ObjectQuery::Address),
        None => match text.strip_prefix(CLASS_OBJECT) {
            Some(name) => class(name.trim_start()).map(ObjectQuery::ClassObject),
            None => class(text).map(ObjectQuery::Class),
        },
    }
}

/// An address, `0x` before it.
///
/// # Errors
/// The text is none.
pub fn address(text: &str) -> Result<u64, String> {
    hexadecimal(text).unwrap_or_else(|| Err("use an address such as 0x7f2a5b1e8".to_owned()))
}

/// The address, if the text begins as one.
fn hexadecimal(text: &str) -> Option<Result<u64, String>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    Some(match u64::from_str_radix(digits, 16) {
        Ok(address) if address > 0 => Ok(address),
        _ => Err("use an address such as 0x7f2a5b1e8, or the name of a class".to_owned()),
    })
}

/// The name of a class in source form; `*` matches any part of it.
///
/// # Errors
/// The text is none.
pub fn class(text: &str) -> Result<WholePattern, String> {
    WholePattern::new(text)
        .ok_or_else(|| "use the name of a class, such as java.util.HashMap".into())
}

/// `12,16,4,8`: header, array header, reference, alignment.
///
/// # Errors
/// The text is none.
pub fn layout(text: &str) -> Result<ObjectLayout, String> {
    let parts: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match parts.as_deref() {
        Ok(&[header_bytes, array_header_bytes, reference_bytes @ (4 | 8), alignment_bytes])
            if alignment_bytes.is_power_of_two()
                && (8..=256).contains(&alignment_bytes)
                && header_bytes <= 64
                && array_header_bytes <= 64 =>
        {
            let is_inferred = false;
            Ok(ObjectLayout {
                header_bytes,
                array_header_bytes,
                reference_bytes,
                alignment_bytes,
                is_inferred,
            })
        }
        _ => Err("use the bytes of an object's header, of an array's, of a reference (4 or 8) and of the \
                  alignment (8 to 256), such as 12,16,4,8"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let read = layout("8,12,4,8").unwrap();
        assert_eq!((read.header_bytes, read.array_header_bytes), (8, 12));
        assert_eq!((read.reference_bytes, read.alignment_bytes), (4, 8));
        for text in ["", "12", "12,16,4", "12,16,5,8", "12,16,4,12", "-1,16,4,8", "12,16,4,8,1"] {
            assert!(layout(text).is_err(), "{text}");
        }
    }
}
