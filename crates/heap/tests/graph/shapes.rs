//! Shapes that references have: those of programs, and those that are hard to get right.

use super::Dice;

/// Returns the targets of each node.
pub(super) fn random(dice: &mut Dice, count: usize) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); count];
    let mut begin = 0;
    while begin < count {
        let longest = if dice.chance(80) { 9 } else { count };
        let length = (1 + dice.below(longest)).min(count - begin);
        shape(dice, &mut out, begin, begin + length);
        // Some hang on nothing: they are unreachable, unless a root holds them.
        if begin > 0 && dice.chance(80) {
            let parent = dice.below(begin);
            out[parent].push(begin + if dice.chance(80) { 0 } else { dice.below(length) });
        }
        begin += length;
    }
    let more = [0, count / 20, count / 4, count][dice.below(4)];
    for _ in 0..more {
        let from = dice.below(count);
        out[from].push(dice.below(count));
    }
    for _ in 0..count / 16 {
        let from = dice.below(count);
        out[from].push(from);
        let from = dice.below(count);
        if let Some(&to) = out[from].first() {
            out[from].push(to);
        }
    }
    let mut places: Vec<usize> = (0..count).collect();
    dice.shuffle(&mut places);
    let mut shuffled = vec![Vec::new(); count];
    for (from, targets) in out.into_iter().enumerate() {
        shuffled[places[from]] = targets.into_iter().map(|to| places[to]).collect();
    }
    shuffled
}

/// Links the nodes from `begin` to `end`.
fn shape(dice: &mut Dice, out: &mut [Vec<usize>], begin: usize, end: usize) {
    let mut link = |from: usize, to: usize| {
        if to < end {
            out[from].push(to);
        }
    };
    match dice.below(7) {
        // A list.
        0 => (begin..end).for_each(|it| link(it, it + 1)),
        // A list in both directions.
        1 => {
            for it in begin..end {
                link(it, it + 1);
                if it > begin {
                    link(it, it - 1);
                }
            }
        }
        // A cycle.
        2 => {
            (begin..end).for_each(|it| link(it, it + 1));
            link(end - 1, begin);
        }
        // A tree.
        3 => (begin + 1..end).for_each(|it| link(begin + dice.below(it - begin), it)),
        // Something that holds all others.
        4 => (begin + 1..end).for_each(|it| link(begin, it)),
        // Diamonds: what two hold together is held by the one above. Their middles have one
        // referrer each.
        5 => {
            for it in (begin..end).step_by(3) {
                link(it, it + 1);
                link(it, it + 2);
                if it + 2 < end {
                    link(it + 1, it + 3);
                    link(it + 2, it + 3);
                }
            }
        }
        // Diamonds of chains in a chain.
        _ => {
            for it in (begin..end).step_by(6) {
                for (from, to) in [(0, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 6)] {
                    if it + from < end {
                        link(it + from, it + to);
                    }
                }
            }
        }
    }
}
