//! Contexts that are the innermost frames of a path: which node stands for each.

use std::sync::atomic::Ordering::Relaxed;

use super::memory::{NO_METHOD, Node, address, node_at};
use super::outward;

const FIRST_TABLE: usize = 64;

/// The nodes that stand for contexts. A key would hold what the nodes hold: so there is none, and
/// they are compared frame by frame.
#[derive(Debug, Default)]
pub(super) struct Suffixes {
    table: Vec<Entry>,
    count: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: u64,
    /// The address of the node; 0 in a free entry.
    node: u64,
}

impl Suffixes {
    /// The node that stands for the `depth` innermost frames of a node's path: the first that had
    /// them.
    pub(super) fn get_or_add(&mut self, node: &'static Node, depth: usize) -> u64 {
        if self.table.len() < 2 * (self.count + 1) {
            let larger = vec![Entry::default(); (2 * self.table.len()).max(FIRST_TABLE)];
            let known = std::mem::replace(&mut self.table, larger);
            for known in known.into_iter().filter(|known| known.node != 0) {
                let slot = self.slot(known.hash, |_| false);
                self.table[slot] = known;
            }
        }
        let hash = hash(node, depth);
        let slot = self.slot(hash, |known| {
            // SAFETY: the addresses of the table are those of nodes, which are never freed.
            let known_node = unsafe { node_at(known.node) };
            known.hash == hash && suffix(known_node, depth).eq(suffix(node, depth))
        });
        if self.table[slot].node == 0 {
            self.table[slot] = Entry { hash, node: address(node) };
            self.count += 1;
        }
        self.table[slot].node
    }

    /// Where the entry is that is meant, or else the free one for it.
    fn slot(&self, hash: u64, mut is_meant: impl FnMut(&Entry) -> bool) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while self.table[slot].node != 0 && !is_meant(&self.table[slot]) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The methods and lines of so many innermost frames. The line from which the outermost of them was
/// called belongs to the frame before.
fn suffix(node: &'static Node, depth: usize) -> impl Iterator<Item = (u32, u16)> {
    let frames = outward(node).take_while(|it| it.method.load(Relaxed) != NO_METHOD);
    frames.take(depth).enumerate().map(move |(place, it)| {
        (it.method.load(Relaxed), if place + 1 == depth { 0 } else { it.line() })
    })
}

fn hash(node: &'static Node, depth: usize) -> u64 {
    let hash = suffix(node, depth).fold(0_u64, |hash, (method, line)| {
        let key = u64::from(method) | u64::from(line) << 32;
        (hash.rotate_left(5) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    hash ^ hash >> 32
}
