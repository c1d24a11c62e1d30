//! The titles of the columns of CPU SAMPLES and CPU TIME.

use crate::lines::word;

/// The columns of the rows. Those of JDK 1.1 have no counts and, if stacks have one frame, no
/// traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuColumns {
    pub(super) count: bool,
    pub(super) trace: bool,
}

impl CpuColumns {
    pub(super) const ALL: Self = Self { count: true, trace: true };

    /// Returns the columns that the line of titles gives, or `None` if `line` is not a line of
    /// titles.
    pub(super) fn of_titles(mut line: &[u8]) -> Option<Self> {
        let begin = [&b"rank"[..], b"self", b"accum"];
        if !begin.iter().all(|&title| word(&mut line) == Some(title)) {
            return None;
        }
        let mut columns = Self { count: false, trace: false };
        loop {
            match word(&mut line)? {
                b"count" if !columns.count && !columns.trace => columns.count = true,
                b"trace" if !columns.trace => columns.trace = true,
                b"method" => return line.trim_ascii().is_empty().then_some(columns),
                _ => return None,
            }
        }
    }
}

/// Whether `line` has the titles of CPU SAMPLES and CPU TIME.
pub(super) fn is_cpu_title(line: &[u8]) -> bool {
    CpuColumns::of_titles(line) == Some(CpuColumns::ALL)
}
