//! Bars of text.

/// A bar of at most `cells` columns for a part of a total, exact to an eighth of a column; a part that
/// is not nothing has some.
pub fn bar(part: u64, total: u64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if part == 0 || total == 0 {
        return String::new();
    }
    let share = (part as f64 / total as f64).min(1.0);
    let eighths = ((share * cells as f64 * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_exact_to_an_eighth() {
        for (part, text) in [
            (0, ""),
            (1, "▏"),
            (500, "█████"),
            (512, "█████▏"),
            (1000, "██████████"),
            (2000, "██████████"),
        ] {
            assert_eq!(bar(part, 1000, 10), text, "{part}");
        }
        assert_eq!(bar(5, 0, 10), "");
    }
}
