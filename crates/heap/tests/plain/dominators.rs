//! Dominators by semi-NCA (Georgiadis), over the whole graph.

const NONE: u32 = u32::MAX;

/// The dominator tree of what is reachable from some roots. All arrays are by the number of a node
/// in the walk, which is 0 for a node above the roots.
pub(crate) struct Dominators {
    /// The number of each object in the walk; [`NONE`] if it was not reached.
    number: Vec<u32>,
    /// The object with each number, less those of the node above the roots.
    object: Vec<u32>,
    dominator: Vec<u32>,
}

impl Dominators {
    pub(crate) fn solve<'a>(
        count: usize,
        roots: &'a [u32],
        targets: impl Fn(u32) -> &'a [u32],
    ) -> Self {
        let (number, object, parent) = walk(count, roots, &targets);
        let reached = object.len();
        // The referrers of each node, in ranges that end where the next one's begin.
        let mut begins = vec![0_u32; reached + 1];
        for (from, &object) in object.iter().enumerate() {
            let targets = if from == 0 { roots } else { targets(object) };
            targets.iter().for_each(|&to| begins[number[to as usize] as usize] += 1);
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let mut referrers = vec![0_u32; sum as usize];
        for (from, &object) in object.iter().enumerate() {
            let targets = if from == 0 { roots } else { targets(object) };
            for &to in targets {
                let begin = &mut begins[number[to as usize] as usize];
                *begin -= 1;
                referrers[*begin as usize] = from as u32;
            }
        }
        let mut forest = Forest { ancestor: parent.clone(), best: (0..reached as u32).collect() };
        let mut semi: Vec<u32> = (0..reached as u32).collect();
        for node in (1..reached).rev() {
            let of = &referrers[begins[node] as usize..begins[node + 1] as usize];
            let mut least = parent[node];
            for &from in of {
                let from = forest.best_above(from, node as u32, &semi);
                least = least.min(semi[from as usize]);
            }
            semi[node] = least;
        }
        let mut dominator = parent;
        for node in 1..reached {
            while dominator[node] > semi[node] {
                dominator[node] = dominator[dominator[node] as usize];
            }
        }
        Self { number, object, dominator }
    }

    /// Returns the immediate dominator of an object, unless that is the node above the roots.
    pub(crate) fn immediate(&self, object: u32) -> Option<u32> {
        let number = self.number[object as usize];
        if number == NONE {
            return None;
        }
        let dominator = self.dominator[number as usize];
        (dominator != 0).then(|| self.object[dominator as usize])
    }

    /// Returns for each object the sum of the sizes of those that it dominates and its own; 0 for
    /// those that were not reached.
    pub(crate) fn sums(&self, bytes: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut sums = vec![0; self.number.len()];
        for number in (1..self.object.len()).rev() {
            let object = self.object[number];
            sums[object as usize] += bytes(object);
            let dominator = self.dominator[number];
            if dominator != 0 {
                sums[self.object[dominator as usize] as usize] += sums[object as usize];
            }
        }
        sums
    }
}

/// Walks depth first. Returns the number of each object, and by number its object and the number
/// that it was reached from.
fn walk<'a>(
    count: usize,
    roots: &'a [u32],
    targets: &impl Fn(u32) -> &'a [u32],
) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let (mut number, mut object, mut parent) = (vec![NONE; count], vec![NONE], vec![0]);
    let mut stack = vec![(0, roots.iter())];
    while let Some((from, rest)) = stack.last_mut() {
        match rest.next() {
            None => drop(stack.pop()),
            Some(&to) if number[to as usize] != NONE => {}
            Some(&to) => {
                let reached = object.len() as u32;
                number[to as usize] = reached;
                object.push(to);
                parent.push(*from);
                stack.push((reached, targets(to).iter()));
            }
        }
    }
    (number, object, parent)
}

/// The nodes that are finished, with compressed paths to those above.
struct Forest {
    ancestor: Vec<u32>,
    /// The node with the least semidominator on the path to the ancestor, without it.
    best: Vec<u32>,
}

impl Forest {
    /// Returns the node with the least semidominator on the path from `node` up to those that are
    /// finished: the numbers above `current`. A node that is not finished is returned itself.
    fn best_above(&mut self, node: u32, current: u32, semi: &[u32]) -> u32 {
        if node <= current {
            return node;
        }
        let mut path = vec![node];
        let mut top = self.ancestor[node as usize];
        while top > current {
            path.push(top);
            top = self.ancestor[top as usize];
        }
        // From the uppermost down, each takes what its ancestor has.
        let mut above = path.pop().unwrap_or(node);
        while let Some(below) = path.pop() {
            let (of_above, of_below) = (self.best[above as usize], self.best[below as usize]);
            if semi[of_above as usize] < semi[of_below as usize] {
                self.best[below as usize] = of_above;
            }
            self.ancestor[below as usize] = self.ancestor[above as usize];
            above = below;
        }
        self.best[node as usize]
    }
}

/// The dominators of random graphs are those that taking each node out gives.
#[test]
fn dominators_are_right() {
    use crate::graph::Dice;
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let count = 2 + dice.below(30);
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); count];
        for _ in 0..dice.below(count * 3) {
            out[dice.below(count)].push(dice.below(count) as u32);
        }
        let roots: Vec<u32> = (0..1 + dice.below(3)).map(|_| dice.below(count) as u32).collect();
        let reached = |gone: Option<u32>| {
            let mut seen = vec![false; count];
            let mut todo = roots.clone();
            while let Some(node) = todo.pop() {
                if Some(node) != gone && !std::mem::replace(&mut seen[node as usize], true) {
                    todo.extend(&out[node as usize]);
                }
            }
            seen
        };
        let dominators = Dominators::solve(count, &roots, |it| &out[it as usize]);
        let sums = dominators.sums(|_| 1);
        let all = reached(None).into_iter().filter(|it| *it).count();
        for node in 0..count as u32 {
            let left = reached(Some(node)).into_iter().filter(|it| *it).count();
            assert_eq!(sums[node as usize], (all - left) as u64, "seed {seed}, node {node}");
        }
    }
}
