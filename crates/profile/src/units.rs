//! Numbers and names as people read them.

use crate::Unit;

/// Formats a number of some unit: `1234`, `12.3 ms`, `4 MB`.
pub fn amount(number: u64, unit: Unit) -> String {
    match unit {
        Unit::Count => number.to_string(),
        Unit::Nanoseconds => duration(number),
        Unit::Bytes => bytes(number),
    }
}

/// Formats a duration: `85 us`, `12.3 ms`, `1.23 s`, `2 min 5 s`, `3 h 2 min`.
pub fn duration(ns: u64) -> String {
    let ns_f = ns as f64;
    match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", short(ns_f / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", short(ns_f / 1e6)),
        1_000_000_000..60_000_000_000 => format!("{:.2} s", ns_f / 1e9),
        60_000_000_000..3_600_000_000_000 => {
            format!("{} min {} s", ns / 60_000_000_000, ns / 1_000_000_000 % 60)
        }
        _ => format!("{} h {} min", ns / 3_600_000_000_000, ns / 60_000_000_000 % 60),
    }
}

/// Formats a size: `512 B`, `12.3 kB`, `4 MB`.
pub fn bytes(bytes: u64) -> String {
    let size = bytes as f64;
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", short(size / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", short(size / 1e6)),
        _ => format!("{} GB", short(size / 1e9)),
    }
}

/// Formats a number with one decimal, unless it is a zero.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Formats `count` as a share of `total`, in percent with two decimals.
pub fn percent(count: u64, total: u64) -> String {
    format!("{:.2}", if total == 0 { 0.0 } else { count as f64 * 100.0 / total as f64 })
}

/// Formats `count` as a share of `total` in a sentence: `20.8`, `12`, `0.7`.
pub fn short_percent(count: u64, total: u64) -> String {
    short(if total == 0 { 0.0 } else { count as f64 * 100.0 / total as f64 })
}

/// Formats a count with its noun: `1 sample`, `2 samples`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Escapes the characters of `text` that could move a terminal's cursor, break a line, change the
/// direction of text or be invisible (`\u{202e}`).
pub fn printable(text: &str) -> String {
    if !text.contains(is_hidden) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Whether a character is invisible and may change how others are shown: control characters,
/// Unicode's controls of text direction, its line separators, and characters without width. (The
/// two joiners are excluded, as some scripts need them.)
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_readable() {
        for (ns, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (500_000, "500 us"),
            (10_000_000, "10 ms"),
            (12_340_000, "12.3 ms"),
            (1_234_000_000, "1.23 s"),
            (125_000_000_000, "2 min 5 s"),
            (10_920_000_000_000, "3 h 2 min"),
        ] {
            assert_eq!(duration(ns), text);
        }
        for (size, text) in [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (4_000_000, "4 MB")] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(percent(1, 3), "33.33");
        assert_eq!(percent(0, 0), "0.00");
        for (count, text) in [(208, "20.8"), (120, "12"), (7, "0.7"), (1000, "100"), (0, "0")] {
            assert_eq!(short_percent(count, 1000), text);
        }
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\tb\x1b[2J→"), "a\\tb\\u{1b}[2J→");
        assert_eq!(printable("a\u{202e}b\u{2066}\u{feff}"), "a\\u{202e}b\\u{2066}\\u{feff}");
        assert_eq!(printable("नमस्\u{200d}ते"), "नमस्\u{200d}ते");
    }
}
