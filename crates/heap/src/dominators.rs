//! Immediate dominators, by semi-NCA (Georgiadis): semidominators as Lengauer and Tarjan find them,
//! then the nearest common ancestor in the tree that is being made. No recursion.

use crate::core::Csr;

/// The number of the node above all roots, in the order of the search.
const TOP: u32 = 0;

/// A depth-first search from the roots.
#[derive(Debug)]
pub(crate) struct Search {
    /// The nodes in the order in which they were found, from 1 on.
    order: Vec<u32>,
    /// The place of each node in that order, or 0.
    place: Vec<u32>,
    /// For each place, the place of the node from which it was found.
    parent: Vec<u32>,
}

impl Search {
    /// Prepares a search.
    pub(crate) fn new(graph: &Csr) -> Self {
        Self { order: vec![u32::MAX], place: vec![0; graph.len()], parent: vec![TOP] }
    }

    /// Whether a node was found.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.place[node as usize] != 0
    }

    /// Goes from a root to all nodes that were not found before; calls `each` with each.
    pub(crate) fn run(&mut self, graph: &Csr, root: u32, mut each: impl FnMut(u32)) {
        if self.has(root) {
            return;
        }
        let mut stack = vec![(self.visit(root, TOP), 0_u32)];
        each(root);
        while let Some((place, next)) = stack.last_mut() {
            let targets = graph.of(self.order[*place as usize]);
            let Some(&target) = targets.get(*next as usize) else {
                stack.pop();
                continue;
            };
            *next += 1;
            if self.place[target as usize] == 0 {
                let place = self.visit(target, *place);
                each(target);
                stack.push((place, 0));
            }
        }
    }

    fn visit(&mut self, node: u32, parent: u32) -> u32 {
        let place = self.order.len() as u32;
        self.order.push(node);
        self.parent.push(parent);
        self.place[node as usize] = place;
        place
    }

    /// Returns the referrers of each place, as places. The place above all roots is left out.
    fn inbound(&self, graph: &Csr) -> Csr {
        let mut starts = vec![0_u32; self.order.len() + 1];
        for &node in &self.order[1..] {
            for &target in graph.of(node) {
                starts[self.place[target as usize] as usize] += 1;
            }
        }
        let filled = Csr::build(starts, |add| {
            for (place, &node) in (1..).zip(&self.order[1..]) {
                for &target in graph.of(node) {
                    add(self.place[target as usize], place);
                }
            }
        });
        filled.unwrap_or_else(|_| unreachable!("it has no more edges than the graph"))
    }

    /// Returns the nodes that were found and, for each, the node that dominates it, or `None` for
    /// the place above the roots.
    pub(crate) fn dominators(
        mut self,
        graph: Csr,
        roots: &[u32],
    ) -> impl Iterator<Item = (u32, Option<u32>)> + use<> {
        let inbound = self.inbound(&graph);
        drop(graph);
        let root_places: Vec<u32> = roots.iter().map(|&root| self.place[root as usize]).collect();
        self.place = Vec::new();
        let count = self.order.len() as u32;
        let mut is_root = crate::bits::BitSet::new(count);
        root_places.iter().for_each(|&place| {
            is_root.put(place);
        });
        let mut linked = Forest {
            ancestor: self.parent.clone(),
            label: vec![0; count as usize],
            way: Vec::new(),
        };
        // The semidominators, and then the dominators' places.
        let mut semi = vec![TOP; count as usize];
        for place in (1..count).rev() {
            let mut least = if is_root.has(place) { TOP } else { self.parent[place as usize] };
            for &from in inbound.of(place) {
                let found = if from < place { from } else { linked.least(from, place) };
                least = least.min(found);
            }
            semi[place as usize] = least;
            linked.label[place as usize] = least;
        }
        drop((inbound, linked));
        let mut dominator = self.parent;
        for place in 1..count as usize {
            let mut above = dominator[place];
            while above > semi[place] {
                above = dominator[above as usize];
            }
            dominator[place] = above;
        }
        let order = self.order;
        (1..count as usize).map(move |place| {
            let above = dominator[place];
            (order[place], (above != TOP).then(|| order[above as usize]))
        })
    }
}

/// The part of the search tree whose semidominators are known.
struct Forest {
    /// A place above each, at first its parent.
    ancestor: Vec<u32>,
    /// The least semidominator on the way from each place to below its ancestor.
    label: Vec<u32>,
    /// The places that are being compressed.
    way: Vec<u32>,
}

impl Forest {
    /// Returns the least semidominator on the way from a place up to the last one that is above
    /// `limit`. Ways are made shorter.
    #[inline]
    fn least(&mut self, place: u32, limit: u32) -> u32 {
        if self.ancestor[place as usize] > limit {
            self.compress(place, limit);
        }
        self.label[place as usize]
    }

    fn compress(&mut self, place: u32, limit: u32) {
        self.way.push(place);
        let mut at = self.ancestor[place as usize];
        while self.ancestor[at as usize] > limit {
            self.way.push(at);
            at = self.ancestor[at as usize];
        }
        let top = self.ancestor[at as usize];
        let mut least = self.label[at as usize];
        while let Some(place) = self.way.pop() {
            let place = place as usize;
            least = least.min(self.label[place]);
            self.label[place] = least;
            self.ancestor[place] = top;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(count: u32, edges: &[(u32, u32)], roots: &[u32]) -> Vec<Option<Option<u32>>> {
        let mut starts = vec![0; count as usize + 1];
        edges.iter().for_each(|&(from, _)| starts[from as usize] += 1);
        let graph = Csr::build(starts, |add| edges.iter().for_each(|&(from, to)| add(from, to)));
        let graph = graph.unwrap();
        let mut search = Search::new(&graph);
        roots.iter().for_each(|&root| search.run(&graph, root, |_| {}));
        let mut found = vec![None; count as usize];
        for (node, above) in search.dominators(graph, roots) {
            found[node as usize] = Some(above);
        }
        found
    }

    #[test]
    fn a_node_with_two_ways_is_held_where_they_part() {
        // Lengauer and Tarjan's example, as far as it shows semidominators that do not dominate.
        let edges =
            [(0, 1), (0, 2), (0, 3), (2, 1), (2, 4), (1, 4), (3, 5), (4, 6), (5, 6), (6, 4)];
        let found = solve(8, &edges, &[0]);
        let expected = [None, Some(0), Some(0), Some(0), Some(0), Some(3), Some(0)];
        let expected: Vec<_> = expected.into_iter().map(Some).chain([None]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn roots_share() {
        assert_eq!(
            solve(4, &[(0, 1), (1, 2), (3, 2), (0, 3)], &[0, 3]),
            [Some(None), Some(Some(0)), Some(None), Some(None)]
        );
    }

    #[test]
    fn a_long_list_needs_no_stack() {
        let count = 2_000_000;
        let mut edges: Vec<_> = (1..count).map(|node| (node - 1, node)).collect();
        edges.extend((1..count).map(|node| (node, node - 1)));
        let found = solve(count, &edges, &[0]);
        assert_eq!(found[0], Some(None));
        assert!((1..count).all(|node| found[node as usize] == Some(Some(node - 1))));
    }
}
