//! The parts of a source file worth a look: its hottest lines, and those that never ran.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{Coverage, SourceFile, SourceLine};

/// The most lines of a file that is shown whole.
const SHORT: u32 = 40;
/// Hot lines of a file, at most; by totals as many again.
const HOT: usize = 10;
/// A hot line has more than this share of all numbers, in percent.
const HOT_PERCENT: u64 = 1;
/// Places that never ran, at most: those with most instructions.
const PLACES: usize = 10;
/// Lines of one such place, at most.
const PLACE_LINES: usize = 4;
/// Lines shown before and after each.
const CONTEXT: u32 = 2;
/// A gap of fewer lines is shown.
const LEAST_GAP: u32 = 3;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Lines to show.
    Lines(RangeInclusive<u32>),
    /// Lines to leave out.
    Gap(RangeInclusive<u32>),
}

/// The parts of `file`, which has `line_count` lines, where all files together have `total`.
pub fn excerpt(file: &SourceFile, line_count: u32, total: u64) -> Vec<Piece> {
    if line_count <= SHORT {
        return whole(line_count);
    }
    let marked = hot(file, total).chain(never_run(file));
    let mut shown: BTreeSet<u32> = BTreeSet::new();
    for line in marked.filter(|&line| line <= line_count) {
        let end = line.saturating_add(CONTEXT).min(line_count);
        shown.extend(line.saturating_sub(CONTEXT).max(1)..=end);
    }
    let mut pieces = Vec::new();
    let mut at = 1;
    let mut lines: Option<RangeInclusive<u32>> = None;
    for line in shown {
        if line - at >= LEAST_GAP {
            pieces.extend(lines.take().map(Piece::Lines));
            pieces.push(Piece::Gap(at..=line - 1));
            at = line;
        }
        lines = Some(lines.map_or(at, |it| *it.start())..=line);
        at = line + 1;
    }
    let is_gap = line_count + 1 - at >= LEAST_GAP;
    let end = if is_gap { at - 1 } else { line_count };
    pieces.extend(lines.map(|it| Piece::Lines(*it.start()..=end)));
    if is_gap {
        pieces.push(Piece::Gap(at..=line_count));
    }
    pieces
}

/// All lines.
pub fn whole(line_count: u32) -> Vec<Piece> {
    (line_count > 0).then_some(Piece::Lines(1..=line_count)).into_iter().collect()
}

/// The lines with most of their own, and those with the largest totals.
fn hot(file: &SourceFile, total: u64) -> impl Iterator<Item = u32> {
    let hottest = |number: fn(&SourceLine) -> u64| {
        let is_hot = |it: &&SourceLine| number(it) > total / 100 * HOT_PERCENT;
        let mut hot: Vec<_> = file.lines.iter().filter(is_hot).collect();
        hot.sort_by_key(|it| Reverse(number(it)));
        hot.into_iter().take(HOT).map(|it| it.line)
    };
    hottest(|it| it.own).chain(hottest(|it| it.total))
}

/// The first lines of each of the longest places of which nothing ran.
fn never_run(file: &SourceFile) -> impl Iterator<Item = u32> {
    let known = file.lines.iter().filter(|it| it.counts.coverage().is_some());
    let known: Vec<_> = known.collect();
    let is_never = |it: &SourceLine| it.counts.coverage() == Some(Coverage::Never);
    let mut places: Vec<Vec<u32>> = Vec::new();
    let size = |place: &[&SourceLine]| {
        place.iter().map(|it| it.counts.instructions).fold(0, u64::saturating_add)
    };
    let mut chunks: Vec<_> = known.chunk_by(|a, b| is_never(a) == is_never(b)).collect();
    chunks.retain(|place| is_never(place[0]));
    chunks.sort_by_key(|place| Reverse(size(place)));
    for place in chunks.into_iter().take(PLACES) {
        places.push(place.iter().take(PLACE_LINES).map(|it| it.line).collect());
    }
    places.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LineCounts;

    fn line(line: u32, own: u64, instructions: u64, run: u64) -> SourceLine {
        let counts = LineCounts { executions: run, instructions, run };
        SourceLine { line, own, total: own, counts }
    }

    fn file(lines: impl IntoIterator<Item = SourceLine>) -> SourceFile {
        SourceFile { lines: lines.into_iter().collect(), ..SourceFile::default() }
    }

    #[test]
    fn hot_lines_and_those_that_never_ran_are_shown() {
        let never = (60..80).map(|it| line(it, 0, 3, 0));
        let lines = [line(10, 500, 5, 5), line(13, 9, 5, 5), line(50, 9, 5, 4)].into_iter();
        let file = file(lines.chain(never).chain([line(99, 300, 5, 5)]));
        let pieces = excerpt(&file, 100, 1000);
        use Piece::{Gap, Lines};
        assert_eq!(
            pieces,
            [
                Gap(1..=7),
                Lines(8..=12),
                Gap(13..=57),
                Lines(58..=65),
                Gap(66..=96),
                Lines(97..=100)
            ]
        );
        assert_eq!(whole(100), [Lines(1..=100)]);
        assert_eq!(excerpt(&file, 40, 1000), [Lines(1..=40)]);
        assert_eq!(excerpt(&file, 0, 1000), []);
    }

    #[test]
    fn small_gaps_are_shown_and_lines_after_the_end_are_not() {
        let lines = [5, 12, 20, 90, u32::MAX].map(|it| line(it, 500, 1, 1));
        let pieces = excerpt(&file(lines), 50, 1000);
        use Piece::{Gap, Lines};
        assert_eq!(pieces, [Lines(1..=14), Gap(15..=17), Lines(18..=22), Gap(23..=50)]);
    }

    #[test]
    fn there_are_not_too_many() {
        let hot = (1..1000).map(|it| line(it * 100, 1000 + u64::from(it), 1, 1));
        let count = |file: &SourceFile| {
            let pieces = excerpt(file, 100_000, 1000);
            pieces.iter().filter(|it| matches!(it, Piece::Lines(_))).count()
        };
        assert_eq!(count(&file(hot)), HOT);
        let each = |it: u32| [line(it * 100, 0, u64::from(it), 0), line(it * 100 + 50, 0, 1, 1)];
        assert_eq!(count(&file((1..1000).flat_map(each))), PLACES);
    }
}
