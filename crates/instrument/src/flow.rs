//! The flow through the code of a method: its basic blocks, and the fewest places from whose counts
//! the executions of all blocks follow.
//!
//! As much flows into a block as out of it. So the edges of a spanning tree of the flow graph need no
//! counters: their counts follow from those of the other edges (Knuth, *The Art of Computer
//! Programming*, volume 1, section 2.3.4.1). Each block is an edge, too, from its beginning to its
//! end. Only blocks, and the ways into a block from the instruction before it, can be counted: code
//! can be inserted there. The tree has all other edges, and of these those in loops first.
//!
//! Exceptions leave a block in its middle, and enter another. They are counted by other means.

use perk_classfile::{Code, Error, Reach, opcode};

/// A basic block: instructions that are executed from the first to the last, unless there is an
/// exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The pc of its first instruction.
    pub pc: u16,
    /// The number of its instructions.
    pub instruction_count: u16,
}

/// A range of instructions whose exceptions a block handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The pc of the first instruction.
    pub start_pc: u16,
    /// The pc after the last instruction.
    pub end_pc: u16,
    /// The index of the block.
    pub block: usize,
}

/// A place at which executions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The instruction before which code is inserted.
    pub pc: u16,
    /// The ways to the instruction that are counted.
    pub reach: Reach,
}

/// The flow through a method; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    blocks: Vec<Block>,
    handlers: Vec<Handler>,
    /// The edges without a counter, then those with one, in the order of the counters.
    edges: Vec<Edge>,
    /// The number of edges without a counter.
    tree_len: usize,
    counters: Vec<Counter>,
}

/// An edge between two nodes. Node 0 is all that is outside of the method, nodes 2b + 1 and 2b + 2 are
/// the beginning and the end of block b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    from: u32,
    to: u32,
    /// The block, if it is one.
    block: Option<u32>,
}

/// An edge, before it is known whether it gets a counter.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    edge: Edge,
    counter: Option<Counter>,
    /// How often it is perhaps executed.
    weight: u64,
}

const OUTSIDE: u32 = 0;

fn begin(block: usize) -> u32 {
    2 * block as u32 + 1
}

fn end(block: usize) -> u32 {
    2 * block as u32 + 2
}

/// The ways out of a block.
#[derive(Clone, Debug, Default)]
struct Exits {
    /// The blocks that it jumps to.
    targets: Vec<usize>,
    /// Whether the next block can follow without a jump.
    falls_through: bool,
    returns: bool,
    /// How often the block is perhaps executed.
    weight: u64,
}

impl Flow {
    /// Finds the flow through a method's code.
    ///
    /// # Errors
    /// If an instruction cannot be read.
    pub fn of(code: &Code<'_>) -> Result<Self, Error> {
        let leaders = leaders(code)?;
        let loops = backward_branches(code)?;
        let (mut blocks, mut exits) = (Vec::<Block>::new(), Vec::<Exits>::new());
        let mut has_subroutine = false;
        for instruction in code.instructions() {
            let instruction = instruction?;
            let pc = instruction.pc;
            if leaders.binary_search(&pc).is_ok() {
                blocks.push(Block { pc, instruction_count: 0 });
                let depth = loops.iter().filter(|(to, from)| (*to..=*from).contains(&pc)).count();
                exits.push(Exits { weight: 8_u64.pow(depth.min(6) as u32), ..Exits::default() });
            }
            // The first instruction begins a block.
            let (Some(block), Some(exits)) = (blocks.last_mut(), exits.last_mut()) else {
                continue;
            };
            block.instruction_count += 1;
            let place = |target: i32| leaders.binary_search(&u16::try_from(target).ok()?).ok();
            exits.targets.extend(instruction.targets().filter_map(place));
            exits.returns = instruction.is_return();
            exits.falls_through = instruction.falls_through();
            has_subroutine |= matches!(instruction.opcode, opcode::JSR | opcode::JSR_W);
        }
        let handlers = code.exception_table().filter_map(|it| {
            let block = leaders.binary_search(&it.handler_pc).ok()?;
            Some(Handler { start_pc: it.start_pc, end_pc: it.end_pc, block })
        });
        let handlers = handlers.collect();
        Ok(Self { handlers, ..Self::new(blocks, &exits, has_subroutine) })
    }

    /// Chooses the counters of blocks with these exits. With subroutines all blocks are counted, as
    /// it is not known where they return to.
    fn new(blocks: Vec<Block>, exits: &[Exits], has_subroutine: bool) -> Self {
        let entry = Counter { pc: 0, reach: Reach::FallThrough };
        let mut candidates = vec![Candidate::new(OUTSIDE, begin(0), Some(entry), 1)];
        for (block, Exits { targets, falls_through, returns, weight }) in exits.iter().enumerate() {
            let from = end(block);
            let jumps = targets.iter().map(|&to| Candidate::new(from, begin(to), None, *weight));
            candidates.extend(jumps);
            candidates.extend(returns.then(|| Candidate::new(from, OUTSIDE, None, *weight)));
            if let Some(next) = blocks.get(block + 1).filter(|_| *falls_through) {
                let counter = Counter { pc: next.pc, reach: Reach::FallThrough };
                let weight = exits[block + 1].weight.min(*weight);
                candidates.push(Candidate::new(from, begin(block + 1), Some(counter), weight));
            }
            let counter = Counter { pc: blocks[block].pc, reach: Reach::All };
            let mut itself = Candidate::new(begin(block), from, Some(counter), *weight);
            itself.edge.block = Some(block as u32);
            candidates.push(itself);
        }
        Self::choose(blocks, candidates, has_subroutine)
    }

    /// Chooses the edges that get counters.
    fn choose(blocks: Vec<Block>, mut candidates: Vec<Candidate>, counts_all: bool) -> Self {
        candidates.sort_by_key(|it| std::cmp::Reverse((it.counter.is_none(), it.weight)));
        let mut trees = Trees::new(2 * blocks.len() + 1);
        let (mut edges, mut others) = (Vec::new(), Vec::new());
        for candidate in &candidates {
            let Edge { from, to, .. } = candidate.edge;
            let is_tree = trees.join(from, to);
            if is_tree { edges.push(candidate.edge) } else { others.push(*candidate) }
        }
        // The ways from several switches to the same blocks, and subroutines.
        if counts_all || others.iter().any(|it| it.counter.is_none()) {
            let is_block = |it: &Candidate| it.edge.block.is_some();
            (edges, others) = (Vec::new(), candidates.into_iter().filter(is_block).collect());
        }
        others.sort_by_key(|it| it.counter.map(|it| (it.pc, it.reach)));
        let tree_len = edges.len();
        edges.extend(others.iter().map(|it| it.edge));
        let counters = others.iter().filter_map(|it| it.counter).collect();
        Self { blocks, handlers: Vec::new(), edges, tree_len, counters }
    }

    /// The blocks, in the order of their pcs.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The exception handlers, in the order in which the JVM searches them.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// The places at which executions are counted, in the order of their pcs.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// Returns the number of executions of each block by those of the counters. `left` has for each
    /// block the executions that have not come to its end, `entered` those that began by an
    /// exception, less those that a frame is still in.
    pub fn executions(&self, counts: &[u64], left: &[u64], entered: &[u64]) -> Vec<u64> {
        let (tree, counted) = self.edges.split_at(self.tree_len);
        // The flow out of each node, less that into it, as far as it is known.
        let mut surplus = vec![0_i128; 2 * self.blocks.len() + 1];
        for (block, (left, entered)) in left.iter().zip(entered).enumerate() {
            surplus[end(block) as usize] += i128::from(*left);
            surplus[begin(block) as usize] -= i128::from(*entered);
        }
        let mut executions = vec![0; self.blocks.len()];
        let mut settle = |edge: &Edge, count: i128, surplus: &mut [i128]| {
            surplus[edge.from as usize] += count;
            surplus[edge.to as usize] -= count;
            if let Some(block) = edge.block {
                executions[block as usize] = u64::try_from(count).unwrap_or(0);
            }
        };
        for (edge, count) in counted.iter().zip(counts) {
            settle(edge, i128::from(*count), &mut surplus);
        }
        let mut edges_of: Vec<Vec<u32>> = vec![Vec::new(); surplus.len()];
        for (index, edge) in tree.iter().enumerate() {
            edges_of[edge.from as usize].push(index as u32);
            edges_of[edge.to as usize].push(index as u32);
        }
        // A node with one unknown edge gives its count.
        let mut open: Vec<usize> = edges_of.iter().map(Vec::len).collect();
        let mut leaves: Vec<usize> = (1..open.len()).filter(|node| open[*node] == 1).collect();
        let mut is_known = vec![false; tree.len()];
        while let Some(node) = leaves.pop() {
            let unknown = edges_of[node].iter().find(|edge| !is_known[**edge as usize]);
            let Some(&index) = unknown else { continue };
            is_known[index as usize] = true;
            let edge = &tree[index as usize];
            let is_out = edge.from as usize == node;
            let count = if is_out { -surplus[node] } else { surplus[node] };
            settle(edge, count, &mut surplus);
            for other in [edge.from, edge.to].map(|it| it as usize) {
                open[other] -= 1;
                if open[other] == 1 && other != OUTSIDE as usize {
                    leaves.push(other);
                }
            }
        }
        executions
    }
}

impl Candidate {
    fn new(from: u32, to: u32, counter: Option<Counter>, weight: u64) -> Self {
        Self { edge: Edge { from, to, block: None }, counter, weight }
    }
}

/// Returns the pcs of the first instructions of all blocks, sorted.
pub(crate) fn leaders(code: &Code<'_>) -> Result<Vec<u16>, Error> {
    let mut leaders = vec![0];
    leaders.extend(code.exception_table().map(|handler| handler.handler_pc));
    for instruction in code.instructions() {
        let instruction = instruction?;
        leaders.extend(instruction.targets().filter_map(|it| u16::try_from(it).ok()));
        let ends = !instruction.falls_through() || instruction.targets().next().is_some();
        if ends {
            leaders.push(instruction.next_pc());
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    Ok(leaders)
}

/// Returns the jumps back, as the target and the jump.
fn backward_branches(code: &Code<'_>) -> Result<Vec<(u16, u16)>, Error> {
    let mut found = Vec::new();
    for instruction in code.instructions() {
        let instruction = instruction?;
        let back = instruction.targets().filter(|to| *to <= i32::from(instruction.pc));
        found.extend(back.filter_map(|to| Some((u16::try_from(to).ok()?, instruction.pc))));
    }
    Ok(found)
}

/// Sets of connected nodes.
struct Trees {
    parents: Vec<u32>,
}

impl Trees {
    fn new(nodes: usize) -> Self {
        Self { parents: (0..nodes as u32).collect() }
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let above = self.parents[self.parents[node as usize] as usize];
            self.parents[node as usize] = above;
            node = above;
        }
        node
    }

    /// Connects two nodes. Returns whether they were not connected.
    fn join(&mut self, from: u32, to: u32) -> bool {
        let (from, to) = (self.root(from), self.root(to));
        self.parents[from as usize] = to;
        from != to
    }
}

#[cfg(test)]
mod tests;
