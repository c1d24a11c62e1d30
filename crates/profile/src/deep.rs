//! Stacks that are too deep to be written whole. If each stack is written with all its frames, a
//! chain of calls in which every frame ends a stack makes a file that grows with the square of its
//! depth.

use crate::{NodeId, Profile};

/// The number of frames that are written however deep the stacks are.
const MANY_FRAMES: usize = 100_000_000;
/// The depth up to which stacks are written whole, unless there are more frames than tools read
/// ([`MOST_FRAMES`]).
const WHOLE_FRAMES: usize = 1024;
/// The most frames that are written of stacks of up to [`WHOLE_FRAMES`].
const MOST_FRAMES: usize = 1_000_000_000;

/// The number of frames to write of each stack of `profiles`, in formats that write stacks whole;
/// `None` if all are written.
pub fn limit(profiles: &[&Profile]) -> Option<usize> {
    profiles.iter().filter_map(|profile| limit_of(profile, MANY_FRAMES)).min()
}

fn limit_of(profile: &Profile, many_frames: usize) -> Option<usize> {
    let depths = depths(profile);
    limit_of_depths(profile.traces().iter().map(|it| depths[it.node.index()]), many_frames)
}

/// As [`limit`], for stacks of these depths.
pub fn limit_of_stacks(depths: impl Iterator<Item = u32>) -> Option<usize> {
    limit_of_depths(depths, MANY_FRAMES)
}

fn limit_of_depths(depths: impl Iterator<Item = u32>, many_frames: usize) -> Option<usize> {
    let mut depths: Vec<u32> = depths.collect();
    let sum = |limit: usize| depths.iter().map(|&depth| (depth as usize).min(limit)).sum::<usize>();
    if sum(usize::MAX) <= many_frames {
        return None;
    }
    let limit = (many_frames / depths.len()).max(WHOLE_FRAMES);
    let limit = if sum(limit) <= MOST_FRAMES { limit } else { MOST_FRAMES / depths.len() };
    depths.sort_unstable();
    depths.last().is_some_and(|&deepest| deepest as usize > limit).then_some(limit.max(2))
}

/// The number of levels of a flame graph that are drawn: more than `perk run` records.
const LEVELS: usize = 2500;

/// The number of levels to draw of a flame graph of `profiles`; `None` if all are drawn.
pub fn levels(profiles: &[&Profile]) -> Option<usize> {
    let is_deep = |profile: &Profile| {
        let depths = depths(profile);
        profile.traces().iter().any(|trace| depths[trace.node.index()] as usize > LEVELS)
    };
    profiles.iter().any(|profile| is_deep(profile)).then_some(LEVELS)
}

/// The number of frames of each node.
pub fn depths(profile: &Profile) -> Vec<u32> {
    let mut depths = vec![0; profile.tree.len()];
    for index in 1..depths.len() {
        let parent = profile.tree.parent(NodeId::new(index)).unwrap_or(profile.tree.root());
        depths[index] = depths[parent.index()] + 1;
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::samples;

    #[test]
    fn deep_stacks_are_cut_where_there_are_too_many_frames() {
        let stacks: Vec<String> = (1..=3000_usize)
            .map(|depth| {
                let frames: Vec<_> = (0..depth).rev().map(|level| format!("T.f{level}")).collect();
                frames.join("<")
            })
            .collect();
        let stacks: Vec<_> = stacks.iter().map(|stack| (stack.as_str(), 1)).collect();
        let profile = samples(&stacks);
        assert_eq!(limit(&[&profile]), None, "4.5 million frames are not too many");
        // The system trace is one more.
        assert_eq!(limit_of(&profile, 4_000_000), Some(4_000_000 / 3001));
        assert_eq!(limit_of(&profile, 1_000_000), Some(WHOLE_FRAMES));
        assert_eq!(levels(&[&Profile::default(), &profile]), Some(LEVELS));
        assert_eq!(levels(&[&samples(&stacks[..LEVELS])]), None);
    }
}
