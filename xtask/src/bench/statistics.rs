//! Medians and spreads.

/// The median and the extremes of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Returns the spread of `values`; not a number if there are none.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let upper = values.len() / 2;
        let lower = (values.len() - 1) / 2;
        Self { median: f64::midpoint(values[lower], values[upper]), min, max }
    }

    /// Returns `median (min–max)`, with `decimals` decimals.
    pub(super) fn text(self, decimals: usize) -> String {
        let Self { median, min, max } = self;
        format!("{median:.decimals$} ({min:.decimals$} to {max:.decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert!(Spread::of([]).median.is_nan());
    }

    #[test]
    fn prints_its_parts() {
        assert_eq!(Spread::of([0.5, 1.0, 2.0]).text(2), "1.00 (0.50 to 2.00)");
    }
}
