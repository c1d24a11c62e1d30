//! Graphs: for each node what its edges lead to.

use std::ops::Range;

use crate::Error;
use crate::space::{Space, Width, split};
pub(crate) use crate::workers::in_threads;

/// A graph: the targets of the edges of each node.
#[derive(Debug)]
pub(crate) struct Csr<W: Width, S: Space> {
    /// The place of the first target of each node, and the number of all.
    pub(crate) starts: S::Array<W>,
    pub(crate) targets: S::Array<W>,
}

/// Edges, which can be listed several times.
pub(crate) trait EdgeSource<W: Width, S: Space>: Sync {
    /// Calls `add` with the edges from these nodes at least.
    fn each(
        &self,
        space: &mut S,
        nodes: Range<usize>,
        add: impl FnMut(&mut S, W, W) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

impl<W: Width, S: Space> Csr<W, S> {
    /// Makes the graph of these edges.
    pub(crate) fn build(
        space: &mut S,
        node_count: usize,
        thread_count: usize,
        edges: &impl EdgeSource<W, S>,
    ) -> Result<Self, Error> {
        let nodes = split(node_count, thread_count);
        // The numbers of each node lie one place further: at first the number of its edges, then the
        // place of the next one, which at the end is the beginning of the next node.
        let mut starts = space.array(node_count + 1, W::ZERO);
        let shifted: Vec<_> = nodes.iter().map(|nodes| nodes.start + 1..nodes.end + 1).collect();
        let mut sum = 0_u64;
        if let Some(parts) = S::parts(&mut starts, &shifted) {
            let counts = in_threads(nodes.iter().zip(parts), |(nodes, (mut space, starts))| {
                let mut count = 0_u64;
                edges.each(&mut space, nodes.clone(), |_, from, _| {
                    if let Some(at) = starts.get_mut(from.at().wrapping_sub(nodes.start)) {
                        count += 1;
                        *at = more(*at);
                    }
                    Ok(())
                })?;
                Ok(count)
            })?;
            sum += counts.into_iter().sum::<u64>();
        } else {
            edges.each(space, 0..node_count, |space, from, _| {
                sum += 1;
                space.change(&mut starts, from.at() + 1, more)?;
                Ok(())
            })?;
        }
        if sum > W::MOST.at() as u64 {
            return Err(too_many(W::MOST.at()));
        }
        let mut place = 0;
        for at in 1..=node_count {
            place += space.change(&mut starts, at, |_| W::of(place))?.at();
        }
        let mut targets = space.array(place, W::ZERO);
        let mut bounds = Vec::new();
        for nodes in &nodes {
            let is_last = nodes.end == node_count;
            let end = if is_last { place } else { space.get(&starts, nodes.end + 1)?.at() };
            bounds.push(bounds.last().map_or(0, |before: &Range<usize>| before.end)..end);
        }
        if let Some(own_targets) = S::parts(&mut targets, &bounds)
            && let Some(own_starts) = S::parts(&mut starts, &shifted)
        {
            let parts = nodes.iter().zip(&bounds).zip(own_starts).zip(own_targets);
            in_threads(parts, |(((nodes, bounds), (mut space, starts)), (_, targets))| {
                edges.each(&mut space, nodes.clone(), |_, from, to| {
                    if let Some(at) = starts.get_mut(from.at().wrapping_sub(nodes.start)) {
                        targets[at.at() - bounds.start] = to;
                        *at = W::of(at.at() + 1);
                    }
                    Ok(())
                })
            })?;
        } else {
            edges.each(space, 0..node_count, |space, from, to| {
                let next = |at: W| W::of(at.at() + 1);
                let at = space.change(&mut starts, from.at() + 1, next)?;
                space.set(&mut targets, at.at(), to)
            })?;
        }
        Ok(Self { starts, targets })
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        S::count(&self.starts) - 1
    }

    /// Returns the places of the targets of a node.
    #[inline]
    pub(crate) fn range(&self, space: &mut S, node: W) -> Result<(W, W), Error> {
        let node = node.at();
        Ok((space.get(&self.starts, node)?, space.get(&self.starts, node + 1)?))
    }

    pub(crate) fn free(self, space: &mut S) {
        space.free(self.starts);
        space.free(self.targets);
    }
}

/// One more; if there are too many, the sum of all shows it.
#[inline]
fn more<W: Width>(count: W) -> W {
    if count < W::MOST { W::of(count.at() + 1) } else { count }
}

pub(crate) fn too_many(most: usize) -> Error {
    Error::Refused(format!("more than {most} references between the objects of a dump"))
}
