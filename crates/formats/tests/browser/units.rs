//! The numbers of the page and of the terminal have the same units.

use perk_profile::units;
use serde_json::json;

use super::{BrowserPage, known};

#[test]
fn the_page_and_the_terminal_agree() {
    let Some(page) = BrowserPage::open(&known()) else { return };
    let mut numbers = vec![0, 1, 999, 1_000, 1_049, 1_050, 1_250, 1_350, 12_250, 999_949, 999_950];
    // Every power of two and of ten, and what is next to them, up to what JavaScript has exactly.
    let powers = (0..53).map(|power| 1_u64 << power);
    let powers = powers.chain((0..16).map(|power| 10_u64.pow(power)));
    numbers.extend(powers.flat_map(|it| [it - 1, it, it + 1, it + it / 4, it + it / 3]));
    numbers.extend([
        1_005_000_000,
        1_015_000_000,
        59_999_000_000,
        60_000_000_000,
        3_599_999_999_999,
    ]);
    numbers.retain(|&it| it < 1 << 53);
    let list = json!(numbers);
    let shown = page.run(&format!("return {list}.map((it) => [duration(it), bytes(it)])"));
    for (number, shown) in numbers.iter().zip(shown.as_array().unwrap()) {
        let expected = json!([units::duration(*number), units::bytes(*number)]);
        assert_eq!(*shown, expected, "{number}");
    }
}
