//! Numbers of paths, and a sum for each path of a tree.

use std::ops::Range;
use std::sync::Arc;

use perk_profile::{FrameId, PathId, add_up_rows};

use crate::MethodTree;
use crate::bits::{Bits, RankedBits};
use crate::method_tree::Chains;

/// A number of a path.
pub(crate) type Row = (PathId, u64);

/// Numbers in half of the memory where they fit.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Small(Vec<u32>),
    Large(Vec<u64>),
}

/// Rows in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    paths: Vec<PathId>,
    numbers: Numbers,
}

/// Rows in the order of their paths, one of each path, in the least memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedRows {
    /// The paths; empty where `set` has them.
    listed: Vec<PathId>,
    /// The paths of many rows: a bit for each path of the tree takes less memory than a list.
    set: RankedBits,
    numbers: Numbers,
}

/// A sum for each path: the paths of a chain have one.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    chains: Arc<Chains>,
    numbers: Numbers,
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Numbers {
    fn push(&mut self, number: u64) {
        match (&mut *self, u32::try_from(number)) {
            (Self::Small(numbers), Ok(number)) => numbers.push(number),
            (Self::Large(numbers), _) => numbers.push(number),
            (Self::Small(numbers), Err(_)) => {
                let numbers = numbers.iter().map(|&it| it.into()).chain([number]);
                *self = Self::Large(numbers.collect());
            }
        }
    }

    #[inline]
    fn get(&self, index: usize) -> u64 {
        match self {
            Self::Small(numbers) => numbers[index].into(),
            Self::Large(numbers) => numbers[index],
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Small(numbers) => numbers.clear(),
            Self::Large(_) => *self = Self::default(),
        }
    }

    fn shrink_to_fit(&mut self) {
        match self {
            Self::Small(numbers) => numbers.shrink_to_fit(),
            Self::Large(numbers) => numbers.shrink_to_fit(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Small(numbers) => size_of_val(&**numbers),
            Self::Large(numbers) => size_of_val(&**numbers),
        }
    }
}

impl Rows {
    /// None, with the memory for this number of rows.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            paths: Vec::with_capacity(count),
            numbers: Numbers::Small(Vec::with_capacity(count)),
        }
    }

    pub(crate) fn push(&mut self, path: PathId, number: u64) {
        self.paths.push(path);
        self.numbers.push(number);
    }

    pub(crate) fn clear(&mut self) {
        self.paths.clear();
        self.numbers.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> + Clone + '_ {
        self.paths.iter().enumerate().map(|(place, &path)| (path, self.numbers.get(place)))
    }

    /// The rows in order, with one of those of a path.
    pub(crate) fn merged(mut self) -> Self {
        // Traces are in the order of their paths where each has a path of its own.
        if self.paths.is_sorted_by(|one, next| one < next) {
            self.paths.shrink_to_fit();
            self.numbers.shrink_to_fit();
            return self;
        }
        let mut rows: Vec<Row> = self.iter().collect();
        drop(self);
        add_up_rows(&mut rows);
        rows.into_iter().collect()
    }

    /// The same in the least memory.
    pub(crate) fn ordered(self) -> OrderedRows {
        OrderedRows::new(self.merged())
    }
}

impl FromIterator<Row> for Rows {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        let rows = rows.into_iter();
        let mut all = Self::with_capacity(rows.size_hint().0);
        rows.for_each(|(path, number)| all.push(path, number));
        all
    }
}

impl OrderedRows {
    /// The bits of a path in a list.
    const LISTED_BITS: usize = u32::BITS as usize;

    /// Those of rows in order.
    fn new(Rows { paths, numbers }: Rows) -> Self {
        let limit = paths.last().map_or(0, |last| last.index() + 1);
        // The counts before each 64 paths take half a bit for each.
        if paths.len() * Self::LISTED_BITS < limit + limit / 2 {
            return Self { listed: paths, numbers, ..Self::default() };
        }
        let mut set = Bits::new(limit);
        paths.iter().for_each(|path| set.set(path.index()));
        Self { listed: Vec::new(), set: RankedBits::new(set), numbers }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> + Clone + '_ {
        let paths = self.listed.iter().copied().chain(self.set.bits().iter().map(PathId::new));
        paths.enumerate().map(|(place, path)| (path, self.numbers.get(place)))
    }

    /// The number of a path.
    pub(crate) fn get(&self, path: PathId) -> u64 {
        let place = self.set.place(path.index());
        let place = place.or_else(|| self.listed.binary_search(&path).ok());
        place.map_or(0, |place| self.numbers.get(place))
    }

    pub(crate) fn sum(&self) -> u64 {
        self.iter().map(|row| row.1).fold(0, u64::saturating_add)
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.listed) + self.set.bytes() + self.numbers.bytes()
    }
}

impl Sums {
    /// The sums of the numbers of each path and of all below it; `sum` is that of all numbers.
    pub(crate) fn new(tree: &MethodTree, rows: impl Iterator<Item = Row>, sum: u64) -> Self {
        let chains = Arc::clone(tree.chains());
        let numbers = match u32::try_from(sum) {
            Ok(_) => Numbers::Small(add_up(&chains, rows, |it| it as u32)),
            Err(_) => Numbers::Large(add_up(&chains, rows, |it| it)),
        };
        Self { chains, numbers }
    }

    #[inline]
    pub(crate) fn get(&self, path: PathId) -> u64 {
        self.numbers.get(self.chains.of(path))
    }

    /// Visits the sums other than 0 in the order of the paths, each with the indexes of its paths.
    pub(crate) fn visit(&self, mut visit: impl FnMut(Range<usize>, u64)) {
        for (paths, chain, _) in self.chains.all() {
            let sum = self.numbers.get(chain);
            if sum > 0 {
                visit(paths, sum);
            }
        }
    }

    /// Visits the callees of a path whose sums are not 0, each with its frame and its sum. `sum` is that of the path,
    /// and `next` the frame of the path that follows in the same chain.
    #[inline]
    pub(crate) fn visit_callees(
        &self,
        (path, sum): Row,
        next: Option<FrameId>,
        mut visit: impl FnMut(PathId, FrameId, u64),
    ) {
        match next {
            Some(next) if sum > 0 => visit(PathId::new(path.index() + 1), next, sum),
            Some(_) => {}
            None => {
                let numbers = self.chains.below_last(path);
                let heads = self.chains.heads(numbers.clone()).iter();
                let heads = heads.zip(self.chains.frames(numbers.clone()));
                for ((&head, &frame), chain) in heads.zip(numbers) {
                    let sum = self.numbers.get(chain);
                    if sum > 0 {
                        visit(head, frame, sum);
                    }
                }
            }
        }
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.numbers.bytes()
    }
}

/// A number that is added without going past its end.
trait Number: Copy + Default {
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

/// The sums of the numbers of each chain and of all below it.
fn add_up<T: Number>(
    chains: &Chains,
    rows: impl Iterator<Item = Row>,
    number_of: impl Fn(u64) -> T,
) -> Vec<T> {
    let mut sums = vec![T::default(); chains.len()];
    for (path, number) in rows {
        debug_assert!(chains.is_last(path), "stacks end at the ends of chains");
        let sum = &mut sums[chains.of(path)];
        *sum = sum.plus(number_of(number));
    }
    for (chain, below) in chains.inner_from_below() {
        let all = sums[below].iter().fold(sums[chain], |sum, number| sum.plus(*number));
        sums[chain] = all;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows have the same numbers whether their paths are listed or a set.
    #[test]
    fn ordered_rows_are_those_that_were_pushed() {
        for step in [1, 3, 20, 64, 65, 1000] {
            let paths = || (0..200).map(|it| PathId::new(7 + it * step));
            // The last ones come first, and each comes twice.
            let rows = paths().rev().chain(paths()).map(|path| (path, path.index() as u64));
            let rows = rows.collect::<Rows>().ordered();
            let expected = paths().map(|path| (path, 2 * path.index() as u64));
            assert_eq!(rows.iter().collect::<Vec<_>>(), expected.clone().collect::<Vec<_>>());
            assert_eq!(rows.listed.is_empty(), step < 22, "{step}");
            assert_eq!(rows.sum(), expected.clone().map(|row| row.1).sum::<u64>());
            for (path, number) in expected {
                assert_eq!(rows.get(path), number);
                let next = PathId::new(path.index() + 1);
                assert!(step == 1 || rows.get(next) == 0, "{step}");
            }
            assert_eq!(rows.get(PathId::new(0)), 0);
            assert_eq!(rows.get(PathId::new(1_000_000)), 0);
        }
        let large = [(PathId::new(1), u64::MAX), (PathId::new(2), 1)].into_iter().collect::<Rows>();
        assert_eq!(large.ordered().get(PathId::new(1)), u64::MAX);
        assert_eq!(Rows::default().ordered().iter().count(), 0);
    }
}
