//! Numbers of paths, and a sum for each path of a tree.

use std::ops::Range;
use std::sync::Arc;

use perk_profile::{FrameId, PathId, add_up_rows};

use crate::MethodTree;
use crate::method_tree::Chains;

/// A number of a path.
pub(crate) type Row = (PathId, u64);

/// Numbers in half of the memory where they fit.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Small(Vec<u32>),
    Large(Vec<u64>),
}

/// Rows in the least memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    paths: Vec<PathId>,
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

    fn bytes(&self) -> usize {
        match self {
            Self::Small(numbers) => size_of_val(&**numbers),
            Self::Large(numbers) => size_of_val(&**numbers),
        }
    }
}

impl Rows {
    /// Those of rows in any order, in the order of their paths; a path can have several.
    pub(crate) fn new(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|(path, number)| all.push(path, number));
        all.finish()
    }

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

    /// Orders what was pushed, and makes one of the numbers of a path.
    pub(crate) fn finish(mut self) -> Self {
        // Traces are in the order of their paths where each has a path of its own.
        if self.paths.is_sorted_by(|one, next| one < next) {
            self.paths.shrink_to_fit();
            match &mut self.numbers {
                Numbers::Small(numbers) => numbers.shrink_to_fit(),
                Numbers::Large(numbers) => numbers.shrink_to_fit(),
            }
            return self;
        }
        let mut rows: Vec<Row> = self.iter().collect();
        drop(self);
        add_up_rows(&mut rows);
        let mut finished = Self::with_capacity(rows.len());
        rows.into_iter().for_each(|(path, number)| finished.push(path, number));
        finished
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> + Clone + '_ {
        self.paths.iter().enumerate().map(|(place, &path)| (path, self.numbers.get(place)))
    }

    /// The number of a path; they have to be in order.
    pub(crate) fn get(&self, path: PathId) -> u64 {
        self.paths.binary_search(&path).map_or(0, |place| self.numbers.get(place))
    }

    pub(crate) fn sum(&self) -> u64 {
        self.iter().map(|row| row.1).fold(0, u64::saturating_add)
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.paths) + self.numbers.bytes()
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
