//! A sum for each path of a tree.

use perk_profile::PathId;

use crate::MethodTree;

/// Sums by path: half of the memory is enough where the sum of all fits.
#[derive(Debug)]
pub(super) enum Sums {
    Small(Vec<u32>),
    Large(Vec<u64>),
}

/// A number of a path.
pub(super) type Row = (PathId, u64);

impl Sums {
    /// The sums of the numbers of each path and of all below it; `sum` is that of all numbers.
    pub(super) fn new(
        tree: &MethodTree,
        rows: impl Iterator<Item = Row> + Clone,
        sum: u64,
    ) -> Self {
        // Memory that nothing is written to costs nothing.
        match u32::try_from(sum) {
            Ok(_) => Self::Small(add_up(tree, rows, vec![0; tree.len()], |number| number as u32)),
            Err(_) => Self::Large(add_up(tree, rows, vec![0; tree.len()], |number| number)),
        }
    }

    #[inline]
    pub(super) fn get(&self, path: PathId) -> u64 {
        match self {
            Sums::Small(sums) => sums[path.index()].into(),
            Sums::Large(sums) => sums[path.index()],
        }
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Sums::Small(sums) => size_of_val(&**sums),
            Sums::Large(sums) => size_of_val(&**sums),
        }
    }
}

/// A number that is added without going past its end.
trait Number: Copy + Default + PartialEq {
    fn plus(self, other: Self) -> Self;
}

impl Number for u32 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Number for u64 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

fn add_up<T: Number>(
    tree: &MethodTree,
    rows: impl Iterator<Item = Row> + Clone,
    mut sums: Vec<T>,
    number_of: impl Fn(u64) -> T,
) -> Vec<T> {
    let add = |sums: &mut [T], path: PathId, number: T| {
        let sum = &mut sums[path.index()];
        *sum = sum.plus(number);
    };
    // With few rows the paths above them are looked up, with many all paths are visited.
    let is_sparse = rows.clone().nth(tree.len() / SPARSE).is_none();
    if is_sparse {
        let mut order = Vec::new();
        let mut is_met = vec![0_u64; tree.len().div_ceil(64)];
        is_met[0] = 1;
        for (path, number) in rows {
            add(&mut sums, path, number_of(number));
            let begin = order.len();
            let mut at = path;
            while is_met[at.index() / 64] >> (at.index() % 64) & 1 == 0 {
                is_met[at.index() / 64] |= 1 << (at.index() % 64);
                order.push(at);
                at = tree.parent(at);
            }
            order[begin..].reverse();
        }
        // What was met later is below what was met before.
        for path in order.into_iter().rev() {
            let number = sums[path.index()];
            add(&mut sums, tree.parent(path), number);
        }
        return sums;
    }
    rows.for_each(|(path, number)| add(&mut sums, path, number_of(number)));
    for index in (1..sums.len()).rev() {
        let number = sums[index];
        if number != T::default() {
            add(&mut sums, tree.parent(PathId::new(index)), number);
        }
    }
    sums
}

/// Rows are few below this part of the paths.
const SPARSE: usize = 16;
