//! Numbers from percentages. The model has numbers where text has percentages: the self times of
//! CPU TIME, the counts of JDK 1.1's CPU SAMPLES and the total of SITES are found from the
//! percentages and their two decimals.

use perk_profile::Timestamp;

use crate::lines::{hundredths, number, text, word};
use crate::units::{MS_NS, from_ms};

/// Returns the date after a section's parenthesis.
pub(super) fn date(rest: &[u8]) -> Option<Timestamp> {
    rest.strip_prefix(b") ").and_then(|date| Timestamp::from_ctime(&text(date)))
}

/// The beginning of a row: `rank self% accum%`.
#[derive(Clone, Copy)]
pub(super) struct RowHead<'a> {
    pub(super) rank: Option<u64>,
    /// The row's share.
    pub(super) own: &'a [u8],
    /// The share of all rows down to and including this one.
    pub(super) accumulated: &'a [u8],
}

impl<'a> RowHead<'a> {
    /// Takes the head off `line`. Old agents leave no blank before a share of 100 %:
    /// `   1100.00%100.00%`.
    pub(super) fn of(line: &mut &'a [u8]) -> Option<Self> {
        const FULL: [&[u8]; 2] = [b"100.00%", b"100,00%"];
        let (rank, shares) = match word(line)? {
            first if first.contains(&b'%') => {
                let mut parts = first.windows(FULL[0].len());
                first.split_at(parts.position(|part| FULL.contains(&part))?)
            }
            rank => {
                let own = share(line)?;
                return Some(Self { rank: number(rank), own, accumulated: share(line)? });
            }
        };
        let end = shares.iter().position(|&byte| byte == b'%').map_or(shares.len(), |at| at + 1);
        let (own, rest) = shares.split_at(end);
        let accumulated = if rest.is_empty() { share(line)? } else { rest };
        Some(Self { rank: number(rank), own, accumulated })
    }

    /// Returns both shares, in hundredths.
    pub(super) fn hundredths(&self) -> Option<(u32, u32)> {
        hundredths(self.own).zip(hundredths(self.accumulated))
    }
}

/// Takes a percentage off `line`. Some locales have a blank before its sign; old agents have none behind it.
fn share<'a>(line: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = line.iter().position(|&byte| byte == b'%')? + 1;
    let (share, rest) = line.split_at(end);
    let share = share.trim_ascii_start();
    let (_, number) = share.split_last()?;
    if number.trim_ascii_end().contains(&b' ') {
        return None;
    }
    *line = rest;
    Some(share)
}

/// Returns the whole number of which a row prints `own` and `sum` hundredths of a percent, as
/// [`self_ns`].
pub(super) fn part(total: u64, own: u32, sum: u32, so_far: u64) -> u64 {
    // Whole numbers are found in the same way as whole milliseconds.
    self_ns(from_ms(total), own, sum, from_ms(so_far)) / MS_NS
}

/// Returns the self time of a row that prints `own` hundredths of a percent of the total, and `sum`
/// down to it, if the rows above it have `sum_ns`. The result is the number of whole milliseconds
/// that prints so, or a time between two whole milliseconds if none does.
pub(super) fn self_ns(total_ns: u64, own: u32, sum: u32, sum_ns: u64) -> u64 {
    let (total_ns, own) = (u128::from(total_ns), u128::from(own));
    let least_ns = ((2 * own).saturating_sub(1) * total_ns).div_ceil(20_000);
    let most_ns = (2 * own + 1) * total_ns / 20_000;
    let exact_ns = u128::from(sum) * total_ns / 10_000;
    let exact_ns = exact_ns.saturating_sub(sum_ns.into()).clamp(least_ns, most_ns);
    let ms = u128::from(MS_NS);
    let (least_ms, most_ms) = (least_ns.div_ceil(ms), most_ns / ms);
    let self_ns = if least_ms <= most_ms {
        ((exact_ns + ms / 2) / ms).clamp(least_ms, most_ms) * ms
    } else {
        exact_ns
    };
    u64::try_from(self_ns).unwrap_or(u64::MAX)
}

/// The range of the total that the percentages of rows refer to.
#[derive(Clone, Copy)]
pub(super) struct TotalRange {
    least: u64,
    most: u64,
    /// Whether a share is negative.
    has_negative: bool,
}

impl Default for TotalRange {
    fn default() -> Self {
        Self { least: 0, most: u64::MAX, has_negative: false }
    }
}

impl TotalRange {
    /// Narrows the range: `part` is printed as `percent` of the total.
    pub(super) fn limit(&mut self, part: u64, percent: &[u8]) {
        let Some(percent) = hundredths(percent).map(u128::from) else {
            self.has_negative |= percent.starts_with(b"-") && percent != b"-nan%";
            return;
        };
        let scaled = u128::from(part) * 20_000;
        let narrow = |limit: u128| u64::try_from(limit).unwrap_or(u64::MAX);
        self.least = self.least.max(narrow(scaled.div_ceil(2 * percent + 1)));
        if percent > 0 {
            self.most = self.most.min(narrow(scaled / (2 * percent - 1)));
        }
    }

    /// Whether the shares fit no total.
    pub(super) fn is_contradicted(&self) -> bool {
        self.has_negative || self.least > self.most
    }

    /// Returns the sum of the rows if it may be the total, and otherwise the middle of the range.
    /// If the numbers fit no total, the sum is returned.
    pub(super) fn nearest(&self, sum: u64) -> u64 {
        if self.least > self.most || (self.least..=self.most).contains(&sum) {
            sum
        } else {
            self.least + (self.most - self.least) / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_with_or_without_blanks() {
        for (line, rank, own, accumulated) in [
            ("   1 25.06% 25.06% 2 x", 1, "25.06%", "25.06%"),
            ("   1100.00%100.00% 2 x", 1, "100.00%", "100.00%"),
            ("  10100.00%100.00% 2 x", 10, "100.00%", "100.00%"),
            ("  10100,00%100,00% 2 x", 10, "100,00%", "100,00%"),
            ("   2  5,00%100,00% 2 x", 2, "5,00%", "100,00%"),
            ("   2  5.00%100.00% 2 x", 2, "5.00%", "100.00%"),
            ("1 100.00% 100.00% 2 x", 1, "100.00%", "100.00%"),
            ("1 nan% nan% 2 x", 1, "nan%", "nan%"),
        ] {
            let mut rest = line.as_bytes();
            let head = RowHead::of(&mut rest).unwrap();
            assert_eq!(head.rank, Some(rank), "{line}");
            assert_eq!((head.own, head.accumulated), (own.as_bytes(), accumulated.as_bytes()));
            assert_eq!(rest.trim_ascii(), b"2 x");
        }
        for wrong in ["", "1", "1 2.00%", "12.00%"] {
            assert!(RowHead::of(&mut wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn counts_are_found_by_their_shares() {
        assert_eq!(part(1712, 1484, 1484, 0), 254);
        assert_eq!(part(1712, 1116, 2599, 254), 191);
    }

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn whole_milliseconds_are_found_again() {
        // Of 814 ms: 204, 200 and 1 ms.
        let total_ns = from_ms(814);
        assert_eq!(self_ns(total_ns, 2506, 2506, 0), from_ms(204));
        assert_eq!(self_ns(total_ns, 2457, 4963, from_ms(204)), from_ms(200));
        assert_eq!(self_ns(total_ns, 12, 4975, from_ms(404)), from_ms(1));
        assert_eq!(self_ns(total_ns, 0, 4975, from_ms(405)), 0);
    }

    #[test]
    fn what_is_shorter_than_a_millisecond_is_found_as_its_share() {
        // 0.3 ms of 814: 0.04 %.
        let found = self_ns(from_ms(814), 4, 4, 0);
        assert!((285_000..=366_000).contains(&found), "{found}");
    }

    #[test]
    fn sums_keep_long_times_together() {
        // 100 equal rows of an hour: each prints 0.33 %, and the sums give the rest.
        let total_ns = 3600 * SECOND_NS;
        let row_ns = 12 * SECOND_NS;
        let mut sum_ns = 0;
        for row in 1..=100 {
            let accumulated = (row * row_ns * 10_000 + total_ns / 2) / total_ns;
            sum_ns += self_ns(total_ns, 33, accumulated as u32, sum_ns);
        }
        let off_ns = sum_ns.abs_diff(100 * row_ns);
        assert!(off_ns <= total_ns / 20_000, "{off_ns} ns off");
    }

    #[test]
    fn a_total_is_what_the_percentages_say() {
        let mut live = TotalRange::default();
        live.limit(24_000, b"4.14%");
        live.limit(36_784, b"6.35%");
        let total = live.nearest(36_784);
        assert!((578_900..579_800).contains(&total), "{total}");
        live.limit(1, b"nan%");
        assert_eq!(live.nearest(36_784), total);
        live.limit(total, b"100.00%");
        assert_eq!(live.nearest(total), total);
        assert!(!live.is_contradicted());
        let mut other = live;
        other.limit(10, b"-0.01%");
        live.limit(10, b"50.00%");
        assert!(live.is_contradicted() && other.is_contradicted());
    }
}
