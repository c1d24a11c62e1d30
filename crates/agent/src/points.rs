//! Random points of time, at which samples are taken.
//!
//! Time is cut into parts, of one interval or several. Each part has one point, anywhere in it with
//! equal chances, and the sample at that point represents the part. So the expected number of
//! intervals is right for each place of a program, however the program repeats itself, and however
//! long the parts are, as a part's length is chosen before it begins. Sums are right within one part.

use crate::random::Random;

/// The points of a thread; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Points {
    /// The next point.
    next_ns: u64,
    /// The end of the part with that point.
    end_ns: u64,
    /// The intervals of that part.
    intervals: u64,
    random: Random,
}

impl Points {
    /// Draws the first point.
    pub(crate) fn new(begin_ns: u64, interval_ns: u64, random: Random) -> Self {
        let mut this = Self { next_ns: 0, end_ns: begin_ns, intervals: 1, random };
        this.draw(interval_ns, 1);
        this
    }

    /// Returns the next point.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Passes the points up to a time; later parts have this number of intervals. Returns the
    /// intervals that these points represent.
    pub(crate) fn pass(&mut self, now_ns: u64, interval_ns: u64, intervals: u64) -> u64 {
        let mut passed = 0;
        while self.next_ns <= now_ns {
            // Points of parts that have ended need not be drawn.
            let over = now_ns.saturating_sub(self.end_ns) / interval_ns;
            passed += self.intervals + over;
            self.end_ns = self.end_ns.saturating_add(over * interval_ns);
            self.draw(interval_ns, intervals);
        }
        passed
    }

    /// Draws the point of the next part.
    fn draw(&mut self, interval_ns: u64, intervals: u64) {
        let part_ns = interval_ns.saturating_mul(intervals);
        self.next_ns = self.end_ns.saturating_add(self.random.below(part_ns)).saturating_add(1);
        self.end_ns = self.end_ns.saturating_add(part_ns);
        self.intervals = intervals;
    }

    /// Returns the words of which [`Points::of_words`] makes the same points.
    pub(crate) fn words(self) -> [u64; 4] {
        [self.next_ns, self.end_ns, self.intervals, self.random.state()]
    }

    /// Returns the points of such words.
    pub(crate) fn of_words([next_ns, end_ns, intervals, state]: [u64; 4]) -> Self {
        Self { next_ns, end_ns, intervals, random: Random::of_state(state) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_NS: u64 = 1000;

    #[test]
    fn sums_are_right_within_a_part() {
        let mut points = Points::new(500, INTERVAL_NS, Random::default());
        let (mut now, mut passed) = (500, 0);
        for step in 1..2000 {
            now += step * 7 % 5000;
            passed += points.pass(now, INTERVAL_NS, 1 + step % 3);
            let whole = (now - 500) / INTERVAL_NS;
            assert!(passed.abs_diff(whole) <= 3, "{passed} of {whole}");
            assert_eq!(Points::of_words(points.words()), points);
        }
    }

    /// A program in step with the intervals, whose places have walks of different lengths.
    #[test]
    fn each_place_has_its_share() {
        const ROUNDS: u64 = 40_000;
        for (period_ns, first_ns) in
            [(1000, 500), (1000, 100), (2000, 600), (3500, 1000), (250, 100)]
        {
            let mut points = Points::new(0, INTERVAL_NS, Random::default());
            let (mut first, mut intervals) = (0, 1);
            loop {
                let now = points.next_ns();
                if now > ROUNDS * INTERVAL_NS {
                    break;
                }
                let is_first = now % period_ns < first_ns;
                // What is chosen now is of the part after this.
                let passed = points.pass(now, INTERVAL_NS, intervals);
                intervals = if is_first { 4 } else { 1 };
                first += if is_first { passed } else { 0 };
            }
            let expected = ROUNDS * first_ns / period_ns;
            // Six deviations of independent samples of four intervals.
            assert!(
                first.abs_diff(expected) <= 6 * 2 * 100,
                "{period_ns}: {first}, not {expected}"
            );
        }
    }
}
