//! Random walks through random flow graphs: the counts of the counters give those of all blocks.

use super::*;

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// The blocks of a random method, with their exits and its handlers.
fn method(random: &mut Random) -> (Vec<Block>, Vec<Exits>, Vec<usize>) {
    let len = 1 + random.below(12);
    let block = |at: usize| Block { pc: 10 * at as u16, instruction_count: 1 };
    let exits = |at: usize| {
        let mut exits = Exits { weight: 1 + random.below(3) as u64, ..Exits::default() };
        let is_last = at + 1 == len;
        match random.below(if is_last { 2 } else { 6 }) {
            0 => exits.returns = true,
            1 => exits.targets.push(random.below(len)),
            // An exception.
            2 if random.below(3) == 0 => {}
            3 => exits.targets.extend((0..2 + random.below(3)).map(|_| random.below(len))),
            4 => {
                exits.targets.push(random.below(len));
                exits.falls_through = true;
            }
            _ => exits.falls_through = true,
        }
        exits
    };
    let exits = (0..len).map(exits).collect();
    let handlers = (0..random.below(3)).map(|_| random.below(len)).collect();
    ((0..len).map(block).collect(), exits, handlers)
}

/// The executions of edges and blocks in random walks.
#[derive(Debug)]
struct Walks {
    /// By the places of counters, whether they are chosen or not.
    places: Vec<(Counter, u64)>,
    executions: Vec<u64>,
    left: Vec<u64>,
    entered: Vec<u64>,
}

impl Walks {
    fn pass(&mut self, pc: u16, reach: Reach) {
        let counter = Counter { pc, reach };
        match self.places.iter_mut().find(|(place, _)| *place == counter) {
            Some((_, count)) => *count += 1,
            None => self.places.push((counter, 1)),
        }
    }

    fn walk(&mut self, random: &mut Random, exits: &[Exits], handlers: &[usize]) {
        self.pass(0, Reach::FallThrough);
        let mut at = 0;
        for _ in 0..random.below(200) {
            self.pass(10 * at as u16, Reach::All);
            self.executions[at] += 1;
            let Exits { targets, falls_through, returns, .. } = &exits[at];
            let is_stuck = targets.is_empty() && !falls_through && !returns;
            if is_stuck || random.below(10) == 0 {
                self.left[at] += 1;
                let Some(&handler) = handlers.get(random.below(3)) else { return };
                self.entered[handler] += 1;
                at = handler;
            } else if *returns {
                return;
            } else if *falls_through && (targets.is_empty() || random.below(2) == 0) {
                at += 1;
                self.pass(10 * at as u16, Reach::FallThrough);
            } else {
                at = targets[random.below(targets.len())];
            }
        }
        // The program ends here, and the block does not.
        self.pass(10 * at as u16, Reach::All);
        self.executions[at] += 1;
        self.left[at] += 1;
    }
}

#[test]
fn all_executions_follow_from_those_of_the_counters() {
    let mut random = Random(1);
    let (mut counters, mut all) = (0, 0);
    for _ in 0..5_000 {
        let (blocks, exits, handlers) = method(&mut random);
        let flow = Flow::new(blocks.clone(), &exits, false);
        let zero = vec![0; blocks.len()];
        let mut walks = Walks {
            places: Vec::new(),
            executions: zero.clone(),
            left: zero.clone(),
            entered: zero,
        };
        for _ in 0..random.below(5) {
            walks.walk(&mut random, &exits, &handlers);
        }
        let count = |counter: &Counter| {
            let place = walks.places.iter().find(|(place, _)| place == counter);
            place.map_or(0, |(_, count)| *count)
        };
        let counts: Vec<_> = flow.counters().iter().map(count).collect();
        let found = flow.executions(&counts, &walks.left, &walks.entered);
        assert_eq!(found, walks.executions, "{flow:#?} {exits:#?} {walks:#?}");
        counters += flow.counters().len();
        all += blocks.len();
    }
    assert!(counters < all, "{counters} counters of {all} blocks");
}
