//! Numbers as the locales of the world write them: their digits, the separator of decimals, and the
//! grouping of digits.

/// The characters that group digits: point, comma, apostrophes, spaces that do not break, and the
/// separator of Arabic.
const GROUPING: [char; 8] =
    [',', '.', '\'', '\u{2019}', '\u{A0}', '\u{202F}', '\u{2009}', '\u{66C}'];
/// The characters before decimals: point, comma, and the separator of Arabic.
const DECIMAL: [char; 3] = ['.', ',', '\u{66B}'];
/// The digit 0 of the scripts whose digits Java and the C library write.
const ZEROS: [char; 19] = [
    '0', '\u{660}', '\u{6F0}', '\u{7C0}', '\u{966}', '\u{9E6}', '\u{A66}', '\u{AE6}', '\u{B66}',
    '\u{BE6}', '\u{C66}', '\u{CE6}', '\u{D66}', '\u{E50}', '\u{ED0}', '\u{F20}', '\u{1040}',
    '\u{17E0}', '\u{1810}',
];
/// The digits of a group, from the end, and of the others where they may be fewer.
const GROUP_DIGITS: usize = 3;
const SHORT_GROUP_DIGITS: usize = 2;

/// Returns the value of a digit of any script, as an ASCII digit.
fn digit(c: char) -> Option<u8> {
    ZEROS.into_iter().find_map(|zero| {
        let value = u32::from(c).checked_sub(u32::from(zero)).filter(|&value| value < 10)?;
        Some(b'0' + value as u8)
    })
}

/// Returns the ASCII digits of a number, without what groups them; `None` if it is no whole number.
pub(crate) fn ungrouped(number: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(number).ok()?;
    let (mut digits, mut groups) = (Vec::new(), vec![0]);
    let mut separator = None;
    for c in text.chars() {
        if let Some(digit) = digit(c) {
            digits.push(digit);
            *groups.last_mut()? += 1;
        } else if GROUPING.contains(&c) && *separator.get_or_insert(c) == c {
            groups.push(0);
        } else {
            return None;
        }
    }
    let is_grouped = match &groups[..] {
        [first, inner @ .., last] => {
            (1..=GROUP_DIGITS).contains(first)
                && *last == GROUP_DIGITS
                && inner.iter().all(|it| (SHORT_GROUP_DIGITS..=GROUP_DIGITS).contains(it))
        }
        _ => !digits.is_empty(),
    };
    is_grouped.then_some(digits)
}

/// Returns the length of the number at the beginning of `text`: digits, and single characters
/// between them that can group them.
pub(crate) fn length(text: &[u8]) -> usize {
    let ascii = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut end = ascii;
    let mut is_after_digit = ascii > 0;
    for (at, c) in text.char_indices().skip(ascii) {
        if digit(c).is_some() {
            end = at + c.len_utf8();
            is_after_digit = true;
        } else if GROUPING.contains(&c) && is_after_digit {
            is_after_digit = false;
        } else {
            break;
        }
    }
    end
}

/// Returns a number with decimals in ASCII digits, with a point before them; `None` if it has other
/// characters than digits and one separator.
pub(crate) fn with_point(number: &[u8]) -> Option<Vec<u8>> {
    let mut has_point = false;
    let plain = |c: char| match digit(c) {
        None if DECIMAL.contains(&c) && !has_point => {
            has_point = true;
            Some(b'.')
        }
        digit => digit,
    };
    std::str::from_utf8(number).ok()?.chars().map(plain).collect()
}
