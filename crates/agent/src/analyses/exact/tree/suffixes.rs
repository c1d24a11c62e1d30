//! Contexts that are the innermost frames of a path, with the node that represents each.

use super::memory::{Arena, NO_METHOD, Node, address};
use super::outward;

const FIRST_TABLE: usize = 16;

/// The nodes that represent contexts. A key would only repeat the contents of the nodes, so they
/// are compared frame by frame instead.
#[derive(Debug, Default)]
pub(super) struct Suffixes {
    /// The indexes of the nodes; 0 in a free entry.
    table: Vec<u32>,
    count: usize,
}

impl Suffixes {
    /// Returns the node that represents the `depth` innermost frames of a node's path: the first
    /// node that had them. Without memory for more, each node represents itself.
    pub(super) fn get_or_add(&mut self, arena: &Arena, node: &'static Node, depth: usize) -> u64 {
        // At most three of four entries may be in use.
        if self.table.len() * 3 < 4 * (self.count + 1) {
            let len = (2 * self.table.len()).max(FIRST_TABLE);
            let mut larger = Vec::new();
            if larger.try_reserve_exact(len).is_err() {
                return address(node);
            }
            larger.resize(len, 0);
            let known = std::mem::replace(&mut self.table, larger);
            for known in known.into_iter().filter(|known| *known != 0) {
                let slot = self.slot(hash(arena.get(known), depth), |_| false);
                self.table[slot] = known;
            }
        }
        let slot = self.slot(hash(node, depth), |known| {
            suffix(arena.get(known), depth).eq(suffix(node, depth))
        });
        if self.table[slot] == 0 {
            self.table[slot] = arena.index_of(address(node));
            self.count += 1;
        }
        address(arena.get(self.table[slot]))
    }

    /// Returns the index of the matching entry, or else of the free entry for it.
    fn slot(&self, hash: u64, is_meant: impl Fn(u32) -> bool) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while self.table[slot] != 0 && !is_meant(self.table[slot]) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Returns the methods and lines of the `depth` innermost frames. The line from which the outermost
/// of them was called belongs to the frame before it.
fn suffix(node: &'static Node, depth: usize) -> impl Iterator<Item = (u32, u16)> {
    let frames = outward(node).take_while(|it| it.method() != NO_METHOD);
    frames
        .take(depth)
        .enumerate()
        .map(move |(place, it)| (it.method(), if place + 1 == depth { 0 } else { it.line() }))
}

fn hash(node: &'static Node, depth: usize) -> u64 {
    let hash = suffix(node, depth).fold(0_u64, |hash, (method, line)| {
        let key = u64::from(method) | u64::from(line) << 32;
        (hash.rotate_left(5) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    hash ^ hash >> 32
}
