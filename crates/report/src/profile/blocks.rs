//! What tables of methods share: the blocks below them, and the words for what is not known.

use perk_profile::units::plural;
use perk_render::{Part, Section};

/// Stands in the place of the caller of a thread's first method.
pub(super) const NO_CALLER: &str = "[thread start, or not known]";

/// The blocks of the first rows, and how many more there are.
pub(super) fn blocks<T>(rows: &[T], top: usize, block: impl Fn(&T) -> Section) -> Vec<Section> {
    let mut blocks: Vec<_> = rows.iter().take(top).map(block).collect();
    if rows.len() > top {
        let more = plural((rows.len() - top) as u64, "more method");
        blocks.push(vec![Part::Sentence(format!("and {more} (--top)"))]);
    }
    blocks
}

/// Stands in the place of the threads' tables where there are none.
pub(super) fn no_threads() -> Part {
    Part::Remark(
        "Threads",
        "the profile does not distinguish threads; a recording with --threads does",
    )
}
