//! Times on the command line.

/// A time on the command line, in nanoseconds: `2s`, `1.5s`, `500ms`, `2m`.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] =
        [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];
    let split = UNITS.iter().find_map(|&(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
    let is_number = |it: &&str| {
        it.starts_with(|first: char| first.is_ascii_digit())
            && it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let time_ns = split.and_then(|(number, unit_ns)| {
        let number: f64 = Some(number).filter(is_number)?.parse().ok()?;
        Some(number * unit_ns as f64).filter(|&it| it < u64::MAX as f64)
    });
    time_ns
        .map(|it| it.round() as u64)
        .ok_or_else(|| "use a number and us, ms, s or m, such as 2s or 500ms".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ns) in [
            ("0s", 0),
            ("2s", 2_000_000_000),
            ("1.5s", 1_500_000_000),
            ("500ms", 500_000_000),
            ("20us", 20_000),
            ("2m", 120_000_000_000),
        ] {
            assert_eq!(time(text), Ok(ns), "{text}");
        }
        for text in ["", "2", "s", ".5s", "-1s", "1e3s", "1..2s", "2h", "1 s", "99999999999999m"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
