//! Methods by the lines of their source.

use std::cmp::Reverse;

use crate::source::{self, CoverageMetrics, LineCounts};
use crate::top::MethodMerger;
use perk_profile::{FrameId, KeyedMap, Line, MethodId, Profile, TraceId};

/// The numbers of one line of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The method; of several that look the same (loaded by several class loaders) the first.
    pub method: MethodId,
    /// The line.
    pub line: Line,
    /// The number with the line on top of the stack.
    pub own: u64,
    /// The number with the line anywhere on the stack, with recursion counted once.
    pub total: u64,
    /// The executions and instructions, where the profile has them.
    pub counts: LineCounts,
}

/// The lines that `rows` (a trace and a number each) lead through, by self, then by total, both
/// descending, with their coverage.
pub fn lines(
    profile: &Profile,
    rows: &[(TraceId, u64)],
    coverage: Option<&CoverageMetrics>,
) -> Vec<LineRow> {
    let mut merged = MethodMerger::new(profile);
    let mut lines: Vec<LineRow> = Vec::new();
    let mut places: KeyedMap<(MethodId, Line), usize> = KeyedMap::default();
    let place_of = |index| {
        let frame = profile.symbols.get_frame(FrameId::new(index));
        let method = merged.method(frame.method);
        *places.entry((method, frame.line)).or_insert_with(|| {
            let (own, total, counts) = Default::default();
            lines.push(LineRow { method, line: frame.line, own, total, counts });
            lines.len() - 1
        })
    };
    let place_of: Vec<usize> = (0..profile.symbols.frame_count()).map(place_of).collect();
    let own = profile.sums_by_node(rows);
    let totals = profile.tree.totals(&own);
    let place = |frame: FrameId| place_of[frame.index()];
    let line_count = lines.len();
    profile.tree.walk(line_count, place, |node, place, is_outermost| {
        let row = &mut lines[place];
        row.own = row.own.saturating_add(own[node.index()]);
        if is_outermost {
            row.total = row.total.saturating_add(totals[node.index()]);
        }
    });
    for (key, counts) in
        coverage.map(|it| source::line_counts(profile, it, &mut merged)).unwrap_or_default()
    {
        if let Some(&place) = places.get(&key) {
            lines[place].counts = counts;
        }
    }
    lines.retain(|row| row.total > 0);
    lines.sort_by_key(|row| (Reverse((row.own, row.total)), row.method, row.line));
    lines
}

/// The instructions of each method, and those of them that ran; the executions are those of its most executed line.
pub fn method_counts(
    profile: &Profile,
    coverage: &CoverageMetrics,
) -> KeyedMap<MethodId, LineCounts> {
    let mut methods: KeyedMap<MethodId, LineCounts> = KeyedMap::default();
    for ((method, _), counts) in
        source::line_counts(profile, coverage, &mut MethodMerger::new(profile))
    {
        let sum = methods.entry(method).or_default();
        sum.executions = sum.executions.max(counts.executions);
        sum.instructions = sum.instructions.saturating_add(counts.instructions);
        sum.run = sum.run.saturating_add(counts.run);
    }
    methods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::samples;

    #[test]
    fn each_line_is_a_row() {
        let profile = samples(&[
            ("T.f:3<T.f:4<T.f:4<T.main:9", 5),
            ("T.f:4<T.main:9", 2),
            ("T.f:4<T.main:8", 1),
        ]);
        let rows = lines(&profile, &profile.total_cpu_samples().rows, None);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let name = profile.symbols.method_name(row.method);
                (name, row.line.to_hprof(), row.own, row.total)
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("T.f".to_owned(), 3, 5, 5),
                ("T.f".to_owned(), 4, 3, 8),
                ("T.main".to_owned(), 9, 0, 7),
                ("T.main".to_owned(), 8, 0, 1),
            ]
        );
    }
}
